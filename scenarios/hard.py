"""Questions about one node that a search by trial does not answer within reasonable time, and what the answer is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from .objects import Mapped
from .partitioned import partitioned
from .sweeps import hopeless, too_many
from .tied import tied_claims, tied_lists, tied_requests


@dataclass(frozen=True, slots=True)
class Question:
    """What makes the objects, and whether what is asked for can be allocated."""

    objects: Callable[[], list[Mapped]]
    fits: bool


def _questions() -> Iterator[tuple[str, Question]]:
    yield "8 of 64, then an impossible one", Question(partial(hopeless, 64, 8), False)
    for size in range(12, 32):
        yield f"{size + 1} of {size} devices", Question(partial(too_many, size), False)
    for claims in (32, 33):
        name = f"{claims} claims of 4, each of one of 16 groups of 8"
        yield name, Question(partial(tied_claims, claims), claims == 32)
    yield "32 of 64 with one value in all lists", Question(tied_lists, True)
    yield "32 of 64 without such a value", Question(partial(tied_lists, fits=False), False)
    yield "4 times 4 of 8 groups of 15", Question(partial(tied_requests, [15] * 8), False)
    yield "4 times 4 of 7 groups of 15, then one of 16", Question(partial(tied_requests, [15] * 7 + [16]), True)
    for form in ("claims", "requests", "counts"):
        for small in (16, 17):
            make = partial(partitioned, {"3g.20gb": 8, "2g.10gb": small}, form=form)
            yield f"8 x 3g and {small} x 2g on 8 GPUs, {form}", Question(make, small == 16)


# The hard questions by name.
QUESTIONS: dict[str, Question] = dict(_questions())

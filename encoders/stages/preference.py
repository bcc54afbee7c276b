"""``preference``: better alternatives for earlier list requests, as the scheduler likes them (SRCH-4).

The rank of a list request is the number of alternatives before the one that serves it. Ranks are minimised request by
request in search order; the value is their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...problem.records import Problem
from ..collapsed import MergedRequest
from .stage import Picked, Reached, Stage

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def _parts(model: AllocationModel) -> list[list[Term]]:
    return [part for request in _lists(model) for part in _of_request(model, request)]


def _lists(model: AllocationModel) -> Iterator[MergedRequest]:
    return (request for request in model.merged.requests if request.listed)


def _of_request(model: AllocationModel, request: MergedRequest) -> Iterator[list[Term]]:
    """Rank a single list; of several equal ones as few as possible without the first alternative, then the second."""
    choices = [choice for number in request.branches if (choice := model.choices[number]) is not None]
    if _copies(model, request) == 1:
        yield [(choice, rank) for rank, choice in enumerate(choices) if rank]
        return
    for best in range(len(choices) - 1):
        yield [(choice, 1) for choice in choices[best + 1 :]]


def _copies(model: AllocationModel, request: MergedRequest) -> int:
    return model.merged.branches[request.branches[0]].copies


def _ranks(model: AllocationModel, parts: Sequence[Reached]) -> list[Reached]:
    """List the rank of each request: how requests were merged differs from node to node."""
    ranks: list[Reached] = []
    left = iter(parts)
    for request in _lists(model):
        copies = _copies(model, request)
        if copies == 1:
            ranks.append(next(left))
            continue
        worse = [next(left) for _ in request.branches[1:]]
        proven = all(part.proven for part in worse)
        # The first copies get the first alternative, so that the last ones are in every count of those left over.
        own = [sum(part.value > copies - 1 - copy for part in worse) for copy in range(copies)]
        ranks += [Reached(rank, rank if proven else 0) for rank in own]
    return ranks


def _is_free(problem: Problem, picked: Picked) -> bool:
    """Tell whether every list request is served by its first alternative."""
    later = {
        demand
        for claim in problem.claims
        for request in claim.requests
        if request.listed
        for demand in request.demands[1:]
    }
    return all(demand not in later for demand, _ in picked)


PREFERENCE = Stage(
    "preference",
    "better alternatives for earlier list requests (SRCH-4): sum of the ranks",
    _parts,
    is_free=_is_free,
    comparable=_ranks,
)

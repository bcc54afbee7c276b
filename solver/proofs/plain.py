"""Proofs that look at all requests at once, with no case told from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...problem.messages import Justification
from .amounts import consumed_capacity, incompatible_groups, overdrawn_counters
from .counting import Tally, competition, result_limit, shortage
from .values import too_few_values, too_many_tied_claims


@dataclass(frozen=True, slots=True)
class Proof:
    """A way to show that nothing fits; the function returns None where it cannot."""

    id: str
    description: str
    function: Callable[[Tally], Justification | None]

    def __call__(self, tally: Tally) -> Justification | None:
        """Try it."""
        return self.function(tally)


PLAIN_PROOFS: tuple[Proof, ...] = (
    Proof("shortage", "a request needs more devices than could be used", shortage),
    Proof("resultLimit", "a claim takes more devices than one result may have (SRCH-8)", result_limit),
    Proof("competition", "requests need more dedicated devices than there are for all of them (DEV-1)", competition),
    Proof("distinctValues", "requests need more different values than there are (CON-5)", too_few_values),
    Proof("groups", "more claims tied to one value each than the values have room for (CON-4)", too_many_tied_claims),
    Proof("counters", "partitions draw more than is left of the counters (CTR-2)", overdrawn_counters),
    Proof("capacity", "shared devices have less capacity than is consumed (CAP-6)", consumed_capacity),
    Proof("compatibility", "too few devices of one counter set are compatible (GRP-3)", incompatible_groups),
)


def refute_plainly(tally: Tally) -> Justification | None:
    """Return the first of these proofs that succeeds."""
    for proof in PLAIN_PROOFS:
        found = proof.function(tally)
        if found is not None:
            return found
    return None

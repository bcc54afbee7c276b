"""What ``allocate`` found, as plain records; documents and tables are made of them elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..models.claims import AllocationResult
from ..models.gates import FeatureGates
from ..models.pod_claims import ClaimRef
from ..models.units import Unit
from .tables import DemandTable

if TYPE_CHECKING:
    from .soft_entries import SoftEntry
    from .stage_values import Objective

ALLOCATED = "Allocated"
UNALLOCATABLE = "Unallocatable"
ERROR = "Error"
UNKNOWN = "Unknown"

# The gravest first: one of them makes the whole answer so.
GRAVITY = (ERROR, UNALLOCATABLE, UNKNOWN, ALLOCATED)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why not: a stable id, the claim (``namespace/name``; empty: the unit as a whole) and a sentence."""

    id: str
    claim: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeClassFailure:
    """Nodes on which a unit fails in the same way; ``message`` is the scheduler's (SCHED-6).

    ``proof`` counts on the first of them what is not there, if counting is enough; ``certified``: the no is sure.
    """

    nodes: tuple[str, ...]
    message: str
    tables: tuple[DemandTable, ...]
    proof: Reason | None = None
    certified: bool = False


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """A unit with its node and what its claims got, or why they got nothing.

    ``allocations`` are the new ones only; ``failures`` are the node classes that were tried, the largest first;
    ``objective`` is what the stages came to, if any were asked for; ``soft`` what became of soft entries.
    """

    unit: Unit
    outcome: str
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    allocations: tuple[tuple[ClaimRef, AllocationResult], ...] = ()
    failures: tuple[NodeClassFailure, ...] = ()
    objective: Objective = ()
    soft: tuple[SoftEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Work done; an engine that cannot tell leaves 0.

    ``steps`` are those of the search, ``conflicts`` those of the solver. ``devices`` are all of the cluster,
    ``classes`` the lots of the largest model that the solver was asked with (devices that nothing tells apart count as
    one there), without any model the number of different devices; ``literals`` are the variables of all models.
    ``cel_lowered``, ``cel_tabulated`` and ``cel_lazy`` are the expressions over devices in them, by road (CELC-9).
    """

    steps: int = 0
    conflicts: int = 0
    cel_evaluations: int = 0
    no_goods: int = 0
    cel_lowered: int = 0
    cel_tabulated: int = 0
    cel_lazy: int = 0
    devices: int = 0
    classes: int = 0
    literals: int = 0


class AllocationInterrupted(KeyboardInterrupt):
    """Ctrl-C during the search. ``answer`` is the best there was by then: what was decided counts, and is verified."""

    def __init__(self, answer: AllocationOutcome) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class AllocationOutcome:
    """The answer to one call of ``allocate``. ``verified``: the independent checker found nothing wrong.

    ``notices`` say what of the question was left aside.
    """

    engine: str
    units: tuple[UnitOutcome, ...]
    gates: FeatureGates
    cel_errors: str
    verified: bool = False
    statistics: Statistics = field(default_factory=Statistics)
    seconds: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The gravest of the units' outcomes."""
        return gravest([unit.outcome for unit in self.units])

    def counts(self) -> Counter[str]:
        """Count the units by outcome."""
        return Counter(unit.outcome for unit in self.units)


def gravest(outcomes: Sequence[str]) -> str:
    """Pick the outcome that decides about the whole; nothing asked is all allocated."""
    return min(outcomes, key=GRAVITY.index, default=ALLOCATED)

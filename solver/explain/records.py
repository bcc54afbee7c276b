"""What ``explain`` found, as plain records; documents and tables are made of them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import Reason, RejectedDevices
from ...models.workload.units import Unit
from ..engines.outcome import worst_outcome


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request that is among the reasons, and the node's devices as it sees them one by one.

    ``matching`` devices pass all selectors; ``fallen`` of them cannot be had, by the first obstacle; the others are
    ``free``. ``claim`` is ``namespace/name``, ``request`` the name or ``name/alternative``.
    """

    claim: str
    request: str
    class_name: str
    needed: int
    devices: int
    matching: int
    free: int
    fallen: tuple[RejectedDevices, ...]


@dataclass(frozen=True, slots=True)
class ExplainedNodeClass:
    """Nodes on which a unit fails for the same reasons; what is named is of the first of them.

    ``reasons`` are impossible together; if ``minimal``, not without any one of them. ``certified``: a second
    configuration of the solver, or no search at all, comes to the same result. ``notes`` is what else may matter.
    """

    nodes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    requests: tuple[RequestView, ...] = ()
    notes: tuple[str, ...] = ()
    minimal: bool = True
    certified: bool = True


@dataclass(frozen=True, slots=True)
class UnitRelaxation:
    """Changes with which the unit fits on the node, their cost, and that the allocation with them was verified."""

    changes: tuple[Reason, ...]
    cost: int
    node: str


@dataclass(frozen=True, slots=True)
class UnitExplanation:
    """A unit with its outcome, why it cannot be allocated, and what would help.

    ``complete``: the search for relaxations, and the list of node classes, did not stop early.
    """

    unit: Unit
    outcome: str
    node: str | None = None
    reasons: tuple[Reason, ...] = ()
    classes: tuple[ExplainedNodeClass, ...] = ()
    relaxations: tuple[UnitRelaxation, ...] = ()
    complete: bool = True


class InterruptedExplanation(KeyboardInterrupt):
    """Ctrl-C while explaining. ``answer`` holds what was explained by then; the other units are ``Unknown``."""

    def __init__(self, answer: Explanation) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one call of ``explain``; ``notices`` say what of the question was left aside."""

    units: tuple[UnitExplanation, ...]
    gates: FeatureGates
    cel_errors: str
    seconds: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The gravest of the units' outcomes."""
        return worst_outcome([unit.outcome for unit in self.units])

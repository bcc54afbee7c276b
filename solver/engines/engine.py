"""What an engine is: the session it works for, and the decisions and results that it returns.

An engine answers one question: which devices do these claims get on this node, beside what is in use. Most engines
compile the question to a Problem and have a *decider* decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import ProofKind, Status
from ...models.workload.node_room import DeviceBudget
from ...problem.messages import CountedSum, Justification
from ...problem.node_state import AllocatedState
from ...problem.problem import InUse, Problem
from .outcome import DemandTable

if TYPE_CHECKING:
    from ...encoders.objectives.stage import AllocationStage
    from ...models.results.common import SoftEntry
    from .outcome import Objective

# Deterministic units of work of the solver for a second of the time limit; slow machines do about one.
WORK_PER_SECOND = 1.0


def work_for_time_limit(time_limit: float | None) -> float | None:
    """Return the deterministic units that a time limit, in seconds, stands for."""
    return None if time_limit is None else time_limit * WORK_PER_SECOND


ObjectiveWatch = Callable[[str, int | None, int | None], None]
"""Called about every second with what is being done, the best value and the bound so far, None for none yet."""


@dataclass(frozen=True, slots=True)
class Session:
    """What all attempts of one call have in common.

    ``policy`` is what errors of expressions do: ``kube``, ``strict`` or ``skip``. Without ``stages`` any answer will
    do; with ``stages`` the engine looks for the best one, and calls ``watch`` with its progress. ``work`` is the most
    that the solver may do for one question, in deterministic units, so that the clock does not decide where it stops.
    ``cel_encoding`` is how models encode expressions over devices (CELC-9). ``caller_constraints`` apply to all claims,
    beside their own entries. ``backend`` runs in place of CP-SAT, as in ``cp_sat.Limits``.
    """

    cluster: Cluster
    gates: FeatureGates
    policy: str
    seed: int
    stages: tuple[AllocationStage, ...] = ()
    watch: ObjectiveWatch | None = None
    work: float | None = None
    cel_encoding: str = "auto"
    caller_constraints: tuple[CallerConstraint, ...] = ()
    backend: Callable[..., Any] | None = None


# The rule of a result that the deadline ended.
TIME_LIMIT_RULE = "timeLimit"


@dataclass(frozen=True, slots=True)
class NodeResult:
    """An ending with what belongs to it.

    ``rule`` and ``message`` say why not; ``claim`` is the number of the claim they are about. ``error`` is the text of
    an error of an expression that may be why nothing fits (policy ``strict``); ``rejections`` say how many devices fell
    where. ``witness`` proves a no by counting, ``proof`` is its sentence with the node's names, ``counted`` its sum;
    ``proof_kind`` is what a no rests on. ``objective`` is what the stages of an allocation came to;
    ``interrupted``: Ctrl-C came meanwhile, and it may not be the best. ``soft_entries`` is what became of soft entries.
    """

    status: Status
    allocations: tuple[AllocationResult, ...] = ()
    rule: str = ""
    message: str = ""
    claim: int | None = None
    error: str = ""
    rejections: tuple[DemandTable, ...] = ()
    witness: Justification | None = None
    proof: str = ""
    proof_kind: ProofKind = ProofKind.SOLVER
    counted: CountedSum | None = None
    objective: Objective = ()
    interrupted: bool = False
    soft_entries: tuple[SoftEntry, ...] = ()

    @property
    def timed_out(self) -> bool:
        """Whether the deadline passed."""
        return self.rule == TIME_LIMIT_RULE

    @property
    def fails_here(self) -> bool:
        """Whether the claims get nothing on this node, and another node may still have devices for them."""
        return self.status in (Status.UNALLOCATABLE, Status.UNKNOWN) and not self.timed_out


_ENCODING_COUNTS = {"lower": "cel_lowered", "table": "cel_tabulated", "lazy": "cel_lazy"}


@dataclass(slots=True)
class Counts:
    """The work that an engine did so far; 0 for what it does not count. ``work`` is in the solver's own units.

    ``classes`` are the lots of the largest model, before the first model the different devices there are. The last of
    the counts are expressions over devices, by how models encoded them (CELC-9).
    """

    steps: int = 0
    conflicts: int = 0
    literals: int = 0
    cel_evaluations: int = 0
    devices: int = 0
    classes: int = 0
    no_goods: int = 0
    work: float = 0.0
    cel_lowered: int = 0
    cel_tabulated: int = 0
    cel_lazy: int = 0

    def count_encodings(self, encodings: Iterable[str]) -> None:
        """Count the expressions of a model by their encodings."""
        for encoding in encodings:
            name = _ENCODING_COUNTS[encoding]
            setattr(self, name, getattr(self, name) + 1)


class Engine(Protocol):
    """Makes attempts. ``deadline`` is a reading of ``time.monotonic``; None: no limit.

    ``budget`` is what devices may take of the node in the next question; an engine may leave it aside.
    """

    budget: DeviceBudget | None

    @property
    def counts(self) -> Counts:
        """Work done so far."""
        raise NotImplementedError

    def allocate_on(
        self, node: Node, claims: Sequence[ResourceClaim], allocated_state: AllocatedState, deadline: float | None
    ) -> NodeResult:
        """Allocate the claims on the node beside what the allocated state says is in use."""
        raise NotImplementedError


class Optimizer(Engine, Protocol):
    """Finds the best allocation on a node. ``work`` limits what the solver may do, in its own units."""

    def best(
        self,
        node: Node,
        claims: Sequence[ResourceClaim],
        allocated_state: AllocatedState,
        deadline: float | None,
        work: float | None,
    ) -> NodeResult:
        """Find the best allocation on the node by the session's stages."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Pick:
    """A device taken for a demand, both by their numbers in the Problem."""

    demand: int
    device: int


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer with what belongs to it.

    ``picks`` are the devices of a yes. ``proof_kind`` is what a no rests on; ``witness`` is a bound that anyone can
    check.
    ``message`` says why it is not known; ``retry``: another way may know, as it is not for lack of time.
    ``objective`` has the values of the stages, if there are stages; ``interrupted``: Ctrl-C came meanwhile.
    ``has_relation_error``: a relation may have failed for an error only (CELC-4).
    """

    status: Status
    picks: tuple[Pick, ...] = ()
    proof_kind: ProofKind = ProofKind.SOLVER
    witness: Justification | None = None
    message: str = ""
    retry: bool = False
    objective: Objective = ()
    interrupted: bool = False
    has_relation_error: bool = False


class Decider(Protocol):
    """A way to answer; ``counts`` is the work done so far."""

    counts: Counts

    @property
    def in_order(self) -> bool:
        """Whether it meets devices in the scheduler's order, so that errors on the way are fatal (CEL-7, SRCH-7)."""
        raise NotImplementedError

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Answer for one node. Raises ``FatalError`` and ``DeadlineExceededError``."""
        raise NotImplementedError


class OptimizingDecider(Decider, Protocol):
    """A way to the best answer."""

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Answer for one node. Raises ``FatalError`` and ``DeadlineExceededError``."""
        raise NotImplementedError

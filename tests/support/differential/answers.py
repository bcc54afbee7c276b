"""Both engines' answers to one attempt, and where they differ."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from time import monotonic

from msgspec.structs import replace

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import AllocationResult, ResourceClaim
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.peers.clients import KubeScheduler
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Engine, Session
from drasat.solver.engines.kube_scheduler import KubeSchedulerEngine
from drasat.solver.engines.registry import ENGINES

# Seconds for one attempt of one engine: some of the random clusters need 2^n steps, which both would take.
PATIENCE = 5.0


@dataclass(frozen=True)
class Case:
    """The claims of a unit on a node, beside what the cluster's claims hold."""

    cluster: Cluster
    node: Node
    claims: tuple[ResourceClaim, ...]
    gates: FeatureGates


@dataclass(frozen=True)
class Answer:
    """What must be equal. Share ids are random upstream and left out."""

    status: Status
    message: str
    allocations: tuple[AllocationResult, ...]
    steps: int

    @property
    def decides(self) -> bool:
        """No other node is tried."""
        return self.status is not Status.UNALLOCATABLE


@dataclass(frozen=True)
class Difference:
    """A field of the answer on which the engines disagree."""

    case: Case
    field: str
    ours: object
    theirs: object

    @property
    def kind(self) -> tuple[object, ...]:
        """What must stay while a case is made smaller: the field, and how the attempts end if that is it."""
        return (self.field, self.ours, self.theirs) if self.field == "status" else (self.field,)


def session(case: Case) -> Session:
    return Session(case.cluster, case.gates, "kube", 0)


def ask(engine: Engine, case: Case) -> Answer:
    """Ask an engine that has not been asked before, so that it counts every step."""
    allocated_state = AllocatedState(case.cluster.usage(case.gates))
    attempt = engine.allocate_on(case.node, case.claims, allocated_state, monotonic() + PATIENCE)
    plain = tuple(without_share_ids(allocation) for allocation in attempt.allocations)
    return Answer(attempt.status, attempt.message, plain, engine.counts.steps)


def both(case: Case, peer: KubeScheduler) -> tuple[Answer, Answer]:
    """Our answer, and the real one."""
    return ask(ENGINES["backtracking"](session(case)), case), ask(KubeSchedulerEngine(session(case), peer), case)


def without_share_ids(allocation: AllocationResult) -> AllocationResult:
    results = tuple(replace(result, share_id=None) for result in allocation.devices.results or ())
    return replace(allocation, devices=replace(allocation.devices, results=results or None))


def differences(case: Case, ours: Answer, theirs: Answer) -> Iterator[Difference]:
    """Compare field by field; of the variant that visits pools in random order only what does not depend on it.

    Where cel-go itself breaks down nothing is compared (docs/background/upstream-differences.md).
    """
    if Status.UNKNOWN in (ours.status, theirs.status):
        return
    if theirs.status is Status.ERROR and "failed: internal error: " in theirs.message:
        return
    names = [field.name for field in fields(Answer)]
    if case.gates.variant == "stable" and _sees_several_pools(case):
        names = [] if Status.ERROR in (ours.status, theirs.status) else ["status"]
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            yield Difference(case, name, mine, other)


def _sees_several_pools(case: Case) -> bool:
    return len(case.cluster.pools(case.gates).pools_for(case.node)) > 1

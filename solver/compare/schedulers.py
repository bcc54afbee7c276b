"""Sequential schedulers: units arrive one by one, and each is placed for good on one node, or refused.

A ``SequentialScheduler`` (``solver.plan.first_fit``) has a policy, which scores what a unit makes of a node. The unit
goes to the node with the lowest score, among equal scores to the first by name. ``PLACEMENT_POLICIES`` are the
policies by name, ``ORDERS`` the orders in which units arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random
from time import monotonic

from ...models.results.common import Reason
from ...models.workload.expansion import QueuedUnit
from ...peers.clients import KubeScheduler
from ..allocate.check import LATE_VERIFICATION
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.kube_scheduler import NAME as KUBE_SCHEDULER
from ..engines.kube_scheduler import KubeSchedulerEngine
from ..plan.first_fit import TIME_OVER, SequentialScheduler
from ..plan.node_choice import FirstFitPolicy, PlacementPolicy
from ..plan.node_states import AllocationTrials, NodeState, TimeOverError
from ..plan.outcome import PlannedUnitOutcome, check_plan
from ..verification.verify import VerificationTimeoutError
from .figures import SchedulingContext, SchedulingInput, TargetWorkload


class BestFitPolicy:
    """Prefers the node on which the least is left, summed over free devices and the resources that the queue asks for.

    Each counts in parts of the most that any node has of it at the start. Of nodes of which no amounts are known,
    devices alone count.
    """

    takes_first = False

    def __init__(self, workload: TargetWorkload, states: Iterable[NodeState]) -> None:
        self._workload = workload
        self._most: dict[str, int] = {}
        self._devices = 1
        for state in states:
            self._devices = max(self._devices, sum(workload.free(state.devices).values()))
            for name, amount in (state.room or {}).items():
                self._most[name] = max(self._most.get(name, 1), amount)

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score what is left."""
        room = sum(amount / self._most[name] for name, amount in (after.room or {}).items())
        return room + sum(self._workload.free(after.devices).values()) / self._devices


class FragmentationDescent:
    """Fragmentation gradient descent: prefers the node whose fragmentation for the workload grows the least."""

    takes_first = False

    def __init__(self, workload: TargetWorkload) -> None:
        self._workload = workload

    def score(self, before: NodeState, after: NodeState) -> float:
        """Score by how much it grows, for all units of the queue together."""
        return self._workload.wasted(after) - self._workload.wasted(before)


def _shuffled(units: Iterable[QueuedUnit], seed: int) -> list[QueuedUnit]:
    shuffled = list(units)
    Random(seed).shuffle(shuffled)
    return shuffled


ORDERS: dict[str, Callable[[Iterable[QueuedUnit], int], list[QueuedUnit]]] = {
    "given": lambda units, _: list(units),
    "random": _shuffled,
    "priority": lambda units, _: sorted(units, key=lambda unit: -unit.unit_set.shape.priority),
}


def arrival_order(units: Sequence[QueuedUnit], order: str, seed: int) -> list[QueuedUnit]:
    """Return the units in this order: as read, as the seed decides, or the highest priority first and else as read."""
    return ORDERS[order](units, seed)


FIRST_FIT = "first-fit"
PLACEMENT_POLICIES: dict[str, Callable[[SchedulingContext], PlacementPolicy]] = {
    FIRST_FIT: lambda _context: FirstFitPolicy(),
    "best-fit": lambda context: BestFitPolicy(context.workload, context.node_states.groups),
    "fgd": lambda context: FragmentationDescent(context.workload),
    KUBE_SCHEDULER: lambda _context: FirstFitPolicy(),
}


@dataclass(frozen=True, slots=True)
class SequentialSchedule:
    """The answer of a sequential scheduler; ``in_time``: no unit was left out because time was up.

    ``seconds`` are those of the scheduling, without the verifier. ``version`` is that of a peer.
    """

    units: tuple[PlannedUnitOutcome, ...]
    in_time: bool
    seconds: float
    version: str = ""


def schedule(
    inputs: SchedulingInput, planner: str, order: str, deadline: float | None, latest: float | None = None
) -> SequentialSchedule:
    """Place the units one by one in this order of ``ORDERS``, and check the whole, as ``schedule_units`` does."""
    return schedule_units(inputs, planner, arrival_order(inputs.units, order, inputs.seed), deadline, latest)


def schedule_units(
    inputs: SchedulingInput,
    planner: str,
    queue: Sequence[QueuedUnit],
    deadline: float | None,
    latest: float | None = None,
) -> SequentialSchedule:
    """Place the units one by one, and check the whole.

    Placing ends at ``deadline``, a reading of ``time.monotonic``; what is not verified by ``latest`` is not kept.

    Raises ``VerificationError`` if it does not pass, and ``PeerError`` if the real scheduler fails.
    """
    started = monotonic()
    placed: Sequence[int] = ()
    nothing = tuple(PlannedUnitOutcome(one, None, (TIME_OVER,), ()) for one in inputs.units)
    units, in_time, version = nothing, False, ""
    with suppress(TimeOverError):
        context = SchedulingContext(inputs, deadline)
        with _allocation_trials(planner, context) as (trials, version):
            scheduler = SequentialScheduler(context, PLACEMENT_POLICIES[planner](context), trials)
            scheduler.run(queue)
        units, in_time = tuple(scheduler.outcomes(inputs.units)), scheduler.in_time
        placed = scheduler.order(inputs.units)
    seconds = monotonic() - started
    try:
        check_plan(
            inputs.cluster,
            units,
            inputs.gates,
            inputs.cel_errors,
            order=placed,
            namespace=inputs.namespace,
            selector=inputs.selector,
            deadline=latest,
        )
    except VerificationTimeoutError:
        late = (Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION),)
        nothing = tuple(PlannedUnitOutcome(one, None, late, ()) for one in inputs.units)
        return SequentialSchedule(nothing, False, seconds, version)
    return SequentialSchedule(units, in_time, seconds, version)


@contextmanager
def _allocation_trials(planner: str, context: SchedulingContext) -> Iterator[tuple[AllocationTrials, str]]:
    """Start what allocates devices: our own search, or the real allocator; with the version of the latter."""
    if planner != KUBE_SCHEDULER:
        yield context.trials, ""
        return
    with KubeScheduler() as peer:
        engine = KubeSchedulerEngine(context.session, peer)
        yield AllocationTrials(engine, context.trials.deadline), peer.handshake.version

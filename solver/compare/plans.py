"""Compare plans: one queue planned by sequential schedulers and by ``plan``, which looks at the whole queue at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import PeerError
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.results.comparison import PreemptionAnswer, QuotaComparison
from ...models.results.plan import PlanStage
from ...models.workload.controllers import read_controllers
from ...models.workload.evictions import leaving_pods
from ...models.workload.node_room import unknown_room_notices
from ...problem.messages import KUBE, check_policy
from ..allocate.check import verification_ends
from ..allocate.unsupported import check_engine_support, check_planner_support, ignored_soft_entries
from ..engines.kube_scheduler import NAME as KUBE_SCHEDULER
from ..engines.kube_scheduler import check_peer_policy as check_upstream_policy
from ..plan.lifted import MoveOptions
from ..plan.outcome import UNKNOWN, PlannedUnitOutcome
from . import schedulers
from .admissions import PlacedAdmissions, QuotaQuestion, place_admissions, quota_figures, with_quota
from .consolidation import Consolidation, MovablePods, consolidate
from .figures import (
    Figures,
    FragmentationPoint,
    SchedulingContext,
    SchedulingInput,
    figures,
    fragmentation_curve,
    scheduling_input,
)
from .preemption import PREEMPTOR, SchedulerPreemption, preempt_like_scheduler, with_lost_units, without_victims
from .schedulers import FIRST_FIT, ORDERS, PLACEMENT_POLICIES, SequentialSchedule, schedule
from .victims import preemption_answer

TIME_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class PlannerRun:
    """The answer of a planner for one order of the queue, empty for ``plan``, which takes it as a whole, and ``kueue``.

    ``decided``: nothing was left open for want of time. ``outcome`` and ``objective`` are those of ``plan``. ``quota``
    is there where quota counts. ``inputs`` are those of the run, if it has others than the comparison. ``moves`` is the
    number of running pods that it moves, where they may, and ``move_cost`` what that costs. ``preemption`` says what
    running pods lose, where they may.
    """

    planner: str
    order: str
    units: Sequence[PlannedUnitOutcome]
    figures: Figures
    decided: bool
    seconds: float
    version: str = ""
    outcome: str = ""
    objective: tuple[PlanStage, ...] = ()
    notices: tuple[str, ...] = ()
    quota: QuotaComparison | None = None
    inputs: SchedulingInput | None = None
    moves: int | None = None
    move_cost: int | None = None
    preemption: PreemptionAnswer | None = None

    @property
    def label(self) -> str:
        """The name of the run: ``planner/order``, or the planner alone."""
        return f"{self.planner}/{self.order}" if self.order else self.planner


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """All runs, each checked, of ``inputs``; ``asked`` units and ``gangs`` are in the queue.

    ``skipped`` has the planners that could not answer and the labels of runs for which there was no time (``late``),
    each with the reason.
    """

    asked: int
    gangs: int
    runs: tuple[PlannerRun, ...]
    gates: FeatureGates
    cel_errors: str
    skipped: Mapping[str, str]
    inputs: SchedulingInput
    late: bool = False

    @property
    def sequential(self) -> tuple[PlannerRun, ...]:
        """The runs of planners that place one unit after the other."""
        return tuple(run for run in self.runs if run.planner != PLAN)

    @property
    def plan(self) -> PlannerRun | None:
        """The run of ``plan``; None if it was not asked."""
        return next((run for run in self.runs if run.planner == PLAN), None)

    @property
    def beaten(self) -> bool:
        """Whether a sequential scheduler admits more units than ``plan``."""
        plan = self.plan
        return plan is not None and any(run.figures.admitted > plan.figures.admitted for run in self.sequential)

    @property
    def decided(self) -> bool:
        """Whether all were done in time."""
        return not self.late and all(run.decided for run in self.runs)


@gc_young_only()
def compare_plans(
    cluster: Cluster,
    planners: Sequence[str] | None = None,
    *,
    orders: Sequence[str] = tuple(ORDERS),
    objective: str | Sequence[str] = (),
    gap: float = 0.001,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = KUBE,
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    quota: QuotaQuestion | None = None,
    moves: MoveOptions | None = None,
) -> PlanComparison:
    """Answer ``drasat.compare_plans``, which describes the arguments; ``quota`` is there where it counts.

    ``moves`` are there where running pods may move, or lose their places.

    Raises ``ValueError``, one line, ``PeerError`` if the real scheduler fails and nothing else could answer, and
    ``VerificationError`` if an answer is wrong.
    """
    shares = TimeShares(time_limit)
    check_policy(cel_errors)
    _check_names(planners, orders)
    gates = gates_of(feature_gates)
    cluster = leaving_pods(cluster) if moves is not None and moves.preempts else cluster
    inputs = scheduling_input(
        cluster if quota is None else quota.cluster,
        gates=gates, cel_errors=cel_errors, seed=seed, namespace=namespace, selector=selector,
    )  # fmt: skip
    if quota is not None:
        inputs, _ = with_quota(inputs, quota.open)
    units = inputs.units
    shares.measure_reading()
    asker = _PlannerRunner(inputs, tuple(orders), objective, gap, shares, quota, moves)
    skipped: dict[str, Exception] = {}
    known = SEQUENTIAL_AND_PLAN if quota is None else (KUEUE, PLAN)
    known = known if moves is None else (FIRST_FIT, PREEMPTOR if moves.preempts else DESCHEDULER, PLAN)
    names = [name for name in planners or known if asker.can_answer(name, skipped)]
    gangs = {unit.unit_set.gang for unit in units if unit.unit_set.gang is not None}
    # ``plan`` comes first, for it knows what is wrong with the question.
    shares.parts = sum(_PARTS_OF_WHOLE.get(name, len(orders)) for name in names)
    runs: dict[str, list[PlannerRun]] = {}
    for name in sorted(names, key=lambda name: name != PLAN):
        try:
            runs[name] = list(asker.runs(name))
        except PeerError as error:
            skipped[name] = error
    if not runs and skipped:
        raise next(iter(skipped.values()))
    ordered = tuple(run for name in names for run in runs.get(name, ()))
    reasons = {name: str(error) for name, error in skipped.items()}
    reasons.update((label, "the time limit left no time") for label in asker.late)
    return PlanComparison(len(units), len(gangs), ordered, gates, cel_errors, reasons, inputs, bool(asker.late))


def fragmentation_of_run(inputs: SchedulingInput, run: PlannerRun, deadline: float | None) -> list[FragmentationPoint]:
    """Count the fragmentation while a planner places units, in the order in which they arrive, or in the plan's."""
    numbers = {id(unit.unit): number for number, unit in enumerate(inputs.units)}
    arriving = schedulers.arrival_order(inputs.units, run.order, inputs.seed) if run.order else inputs.units
    order = [numbers[id(unit.unit)] for unit in arriving]
    if not run.order:
        order.sort(key=lambda number: run.units[number].order or 0)
    placed = [number for number in order if run.units[number].node is not None]
    return fragmentation_curve(SchedulingContext(inputs, deadline), inputs.units, run.units, placed)


def _check_names(planners: Sequence[str] | None, orders: Sequence[str]) -> None:
    for name in planners or ():
        check_planner(name)
    for order in orders:
        if order not in ORDERS:
            raise ValueError(f"unknown order {order!r}, known are: {', '.join(ORDERS)}")
    for what, found in (("planner", planners), ("order", orders)):
        if found is not None and (not found or len(set(found)) < len(found)):
            raise ValueError(f"at least one {what} is needed, and none twice")


PLAN, KUEUE, DESCHEDULER = "plan", "kueue", "descheduler-like"
# Planners that take the queue as a whole get as much time as so many runs of a scheduler.
_PARTS_OF_WHOLE = {PLAN: 3, KUEUE: 1, PREEMPTOR: 1}
# ``plan`` keeps this part of its time for what is counted afterwards.
_COUNTING_SHARE = 0.1
# ``plan`` reads and verifies the queue, and schedulers enter nodes: whatever they place, that takes as long as reading
# the queue so many times.
_LEAST_READINGS = 3
# What part of its time a scheduler keeps for verifying and counting, as long as no run has shown how long they take.
_CHECKING_SHARE = 0.4


class TimeShares:
    """A time limit shared out among ``parts`` that are run one after the other; what one leaves goes to the others.

    ``clock`` reads seconds. ``checking`` is the most that verifying and counting took in a run so far, ``reading`` what
    reading the queue took.
    """

    def __init__(self, limit: float | None, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._limit = limit
        self._began = clock()
        self._ends = None if limit is None else self._began + limit
        self._first = True
        self.reading = 0.0
        self.parts = 1
        self.checking: float | None = None

    def latest_end(self) -> float | None:
        """When verifying a run is given up: the limit may be missed by as much as other verbs may miss theirs."""
        return None if self._ends is None else verification_ends(self._began, self._limit)

    def measure_reading(self) -> None:
        """Take the time since the beginning for that of reading the queue."""
        self.reading = self._clock() - self._began

    def take(self, parts: int) -> float | None:
        """The deadline for the next parts; None for no limit. No run gets less than it takes anyway."""
        share, self.parts, self._first = parts / max(parts, self.parts), self.parts - parts, False
        if self._ends is None:
            return None
        now = self._clock()
        left = max(0.0, self._ends - now)
        return now + max(left * share, min(left, self._least()))

    def allows(self) -> bool:
        """Whether another run can begin, as far as is known."""
        latest = self.latest_end()
        if self._ends is None or latest is None:
            return True
        if self._first:
            # Little is known by now, and the tolerance is there.
            return self._least() <= max(0.0, latest - self._clock())
        return self._ends - self._clock() > self._least()

    def _least(self) -> float:
        return self.reading * _LEAST_READINGS + (self.checking or 0.0)

    def search_ends(self, deadline: float | None) -> float | None:
        """When a run with this deadline has to be verified."""
        if deadline is None:
            return None
        left = deadline - self._clock()
        return deadline - (left * _CHECKING_SHARE if self.checking is None else min(left, self.checking))


@dataclass(frozen=True, slots=True)
class _PlannerRunner:
    """Options that all planners are asked with; ``late`` are labels of runs for which there was no time."""

    inputs: SchedulingInput
    orders: tuple[str, ...]
    objective: str | Sequence[str]
    gap: float
    shares: TimeShares
    quota: QuotaQuestion | None = None
    moves: MoveOptions | None = None
    late: list[str] = field(default_factory=list)

    def can_answer(self, planner: str, skipped: dict[str, Exception]) -> bool:
        """Whether a planner knows what all claims demand; the error is put among the skipped ones otherwise."""
        try:
            self.check(planner)
        except ValueError as error:
            skipped[planner] = error
        return planner not in skipped

    def check(self, planner: str) -> None:
        """Raise ``ValueError`` for a planner that does not know what some claims demand (SOFT-3, CEL-6), or quota."""
        if planner == PLAN:
            return
        if planner == DESCHEDULER and (self.moves is None or self.moves.preempts):
            raise ValueError(f"{DESCHEDULER} moves running pods: say by moves how many may")
        if planner == PREEMPTOR and not (self.moves and self.moves.preempts):
            raise ValueError(f"{PREEMPTOR} takes places of running pods: say preempt")
        if planner == KUEUE and self.quota is None:
            raise ValueError("there are no ClusterQueues that count")
        if planner != KUEUE and self.quota is not None:
            raise ValueError("it does not know quota of Kueue; without quota it can answer")
        asked = [one.unit for one in self.inputs.units]
        check_planner_support(planner, self.inputs.cluster, asked)
        if planner == KUBE_SCHEDULER:
            check_upstream_policy(self.inputs.cel_errors)
            check_engine_support(planner, self.inputs.cluster, asked)

    def runs(self, planner: str) -> Iterator[PlannerRun]:
        """Yield the runs of a planner, as far as there is time."""
        for order in ("",) if planner in _PARTS_OF_WHOLE else self.orders:
            if self.shares.allows():
                began = monotonic()
                run = self._scheduled(planner, order) if order else self._of_whole(planner)
                checking = monotonic() - began - run.seconds
                self.shares.checking = max(checking, self.shares.checking or 0.0)
                yield run
            else:
                self.late.append(f"{planner}/{order}" if order else planner)

    def _of_whole(self, planner: str) -> PlannerRun:
        if planner == PREEMPTOR:
            return self._preempted()
        return self._admitted(self.quota) if planner == KUEUE and self.quota is not None else self._plan()

    def _admitted(self, quota: QuotaQuestion) -> PlannerRun:
        deadline = self.shares.take(_PARTS_OF_WHOLE[KUEUE])
        latest = self.shares.latest_end()
        found = place_admissions(quota, self.inputs, self.shares.search_ends(deadline), latest)
        counted = figures(found.inputs, found.units, deadline, latest)
        run = _run_of(KUEUE, "", found, counted)
        return replace(run, notices=found.notices, quota=found.figures, inputs=found.inputs)

    def _notices(self, planner: str) -> tuple[str, ...]:
        units = [one.unit for one in self.inputs.units]
        unknown_rooms = unknown_room_notices(self.inputs.cluster.nodes.values(), units)
        ignored = ignored_soft_entries(planner, self.inputs.cluster, units)
        return (*read_controllers(self.inputs.cluster).notices, *ignored, *unknown_rooms)

    def _consolidated(self, moves: MoveOptions, order: str) -> PlannerRun:
        deadline, latest = self.shares.take(1), self.shares.latest_end()
        found = consolidate(self.inputs, moves, order, self.shares.search_ends(deadline), latest)
        counted = figures(found.inputs, found.units, deadline, latest)
        cost, run = sum(one.cost for one in found.moved), _run_of(DESCHEDULER, order, found, counted)
        notices, number = self._notices(DESCHEDULER), len(found.moved)
        return replace(run, notices=notices, inputs=found.inputs, moves=number, move_cost=cost)

    def _preempted(self) -> PlannerRun:
        deadline, latest = self.shares.take(_PARTS_OF_WHOLE[PREEMPTOR]), self.shares.latest_end()
        found = preempt_like_scheduler(self.inputs, self.shares.search_ends(deadline), latest)
        counted = figures(found.inputs, found.units, deadline, latest)
        chance = ("kube-scheduler begins at random nodes, and tries some only: this is one of its answers",)
        notices = (*self._notices(PREEMPTOR), *(chance if found.is_random else ()))
        answer = preemption_answer(self.inputs, found.units, found.victims)
        run = _run_of(PREEMPTOR, "", found, counted)
        return replace(run, notices=notices, inputs=found.inputs, preemption=answer)

    def _scheduled(self, planner: str, order: str) -> PlannerRun:
        if planner == DESCHEDULER and self.moves is not None:
            return self._consolidated(self.moves, order)
        deadline = self.shares.take(1)
        found = schedule(self.inputs, planner, order, self.shares.search_ends(deadline), self.shares.latest_end())
        notices, counted = self._notices(planner), self._figures(found.units, deadline)
        preempts = self.moves is not None and self.moves.preempts
        moved = None if self.moves is None or preempts else 0
        answer = preemption_answer(self.inputs, found.units, ()) if preempts else None
        run = replace(_run_of(planner, order, found, counted), version=found.version)
        return replace(run, notices=notices, moves=moved, move_cost=moved, preemption=answer)

    def _plan(self) -> PlannerRun:
        # Loads the solver's library, which schedulers do without.
        from ..plan.plan import plan

        inputs, deadline = self.inputs, self.shares.take(_PARTS_OF_WHOLE[PLAN])
        started = monotonic()
        ask = partial(plan, inputs.cluster)
        if self.quota is not None:
            ask = partial(ask, quota=self.quota.open)
        elif self.moves is not None:
            from ..plan.moves import plan_with_moves

            ask = partial(plan_with_moves, inputs.cluster, self.moves)
        found = ask(
            objective=self.objective,
            gap=self.gap,
            namespace=inputs.namespace,
            selector=inputs.selector,
            feature_gates=inputs.gates,
            cel_errors=inputs.cel_errors,
            time_limit=None if deadline is None else (deadline - started) * (1 - _COUNTING_SHARE),
            seed=inputs.seed,
        )
        seconds = monotonic() - started - found.seconds.get("verify", 0.0)
        of_quota = None
        if self.quota is not None and found.quota is not None:
            of_quota = quota_figures(self.quota.open, found.quota.workloads, found.quota.admissions)
        moved = [one.running for one in found.moves]
        units, preempts = found.units, self.moves is not None and self.moves.preempts
        if moved and self.moves is not None:
            pods = MovablePods.of(inputs, self.moves)
            inputs = pods.with_moved(frozenset(one.key for one in moved))
        if preempts:
            inputs = without_victims(inputs, found.victims)
            units = with_lost_units(inputs, units)
        counted = figures(inputs, units, deadline, self.shares.latest_end())
        return PlannerRun(
            PLAN,
            "",
            units,
            counted,
            found.outcome != UNKNOWN,
            seconds,
            outcome=found.outcome,
            objective=found.objective,
            notices=found.notices,
            quota=of_quota,
            inputs=inputs,
            moves=None if self.moves is None or preempts else len(moved),
            move_cost=None if self.moves is None or preempts else sum(one.cost for one in moved),
            preemption=preemption_answer(self.inputs, units, found.victims) if preempts else None,
        )

    def _figures(self, units: Sequence[PlannedUnitOutcome], deadline: float | None) -> Figures:
        return figures(self.inputs, units, deadline, self.shares.latest_end())


def _run_of(
    planner: str,
    order: str,
    found: PlacedAdmissions | Consolidation | SchedulerPreemption | SequentialSchedule,
    counted: Figures,
) -> PlannerRun:
    return PlannerRun(planner, order, found.units, counted, found.in_time, found.seconds)


SEQUENTIAL_AND_PLAN = (*PLACEMENT_POLICIES, PLAN)
PLANNERS = (*SEQUENTIAL_AND_PLAN, KUEUE, DESCHEDULER, PREEMPTOR)


def check_planner(name: str) -> str:
    """Return the name. Raises ``ValueError``, one line, for an unknown one."""
    if name not in PLANNERS:
        raise ValueError(f"unknown planner {name!r}, known are: {', '.join(PLANNERS)}")
    return name

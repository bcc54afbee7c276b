"""The question ``plan``: which units of a queue fit on a cluster, where, and on which devices, best by stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.formats.runtime import gc_paused, gc_young_only
from ...models.kubernetes.extensions import Predicate
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.node_templates import PurchaseLimit
from ...models.results.common import Reason
from ...models.results.plan import ShadowPrice
from ...models.validation.entries import read_caller_constraints
from ...models.workload.expansion import unit_runs
from ...models.workload.queue import GroupSelection
from ...models.workload.quota import QuotaProblem
from ...models.workload.requested import dropped_fields, taint_notices
from ...problem.messages import DeadlineExceededError, check_policy
from ..allocate.check import LATE_VERIFICATION
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.outcome import SearchInterrupted
from ..engines.registry import effective_policy
from ..verification.plan_replay import PlanReplay, PlanVerifier
from ..verification.plans import QueueTimeoutError
from ..verification.verify import VerificationTimeoutError
from .assign import PlanAssignment, admitted_queue, assign_plan, build_plan_outcome
from .build import PlanInstance, PlanRequest, build_plan_instance
from .build.objectives import LEAST_CONSUMPTION, check_stages, last_stages, parse_objective
from .column_generation import stage_bounds
from .gang_dive import plan_of_all
from .heuristics import remove_slack, shrink_plan
from .incumbent import better_plan, settled_plan
from .master_problem import PlanLimits, PlanSolution, empty_plan, is_past, placed_units
from .outcome import PlacementByUnit, PlannedUnitOutcome, PlanOutcome, ReasonsByUnit, placed_outcomes
from .pod_ledger import has_pod_rules
from .price_and_branch import solve_stages
from .question import PlanQuestion, PlanQueue
from .time_budget import PlanTimeBudget, UnitRuns, affordable_request, most_placed, time_notices, verified_part

if TYPE_CHECKING:
    from .early_moves import EarlyMoves
    from .lifted import LiftedPods

TIME_LIMIT = 300.0
GAP = 0.001
PlanWatch = Callable[[str, float, float | None], None]


@gc_young_only()
def plan(
    cluster: Cluster,
    *,
    objective: str | Sequence[str] = (),
    gap: float = GAP,
    namespace: str | None = None,
    selector: str = "",
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    cel_errors: str = "strict",
    time_limit: float | None = TIME_LIMIT,
    seed: int = 0,
    buy: bool = False,
    only_new: bool = False,
    budget: Decimal | None = None,
    mix: Cluster | None = None,
    natural_gangs: bool = False,
    executor: Executor | None = None,
    watch: PlanWatch | None = None,
    constraints: Sequence[Mapping[str, Any] | Predicate] = (),
    quota: QuotaProblem | None = None,
    purchase_limits: Sequence[PurchaseLimit] = (),
    alternatives: str = "any",
    lifted: LiftedPods | None = None,
    duals: bool = False,
    audit: float | None = None,
    group: GroupSelection | None = None,
    may_be_unread: bool = False,
) -> PlanOutcome:
    """Answer ``drasat.plan``, which describes the arguments; ``budget`` is a finite number here.

    ``quota`` is what the workloads of the queue need to be admitted; None: none is needed.
    ``purchase_limits`` are those that NodeTemplates share. ``lifted`` are running pods that may move. With a ``group``
    the queue is what it names, and ``lifted`` pods. ``may_be_unread``: where the time limit leaves no time to read the
    queue twice, the plan names no unit, and ``unread`` says so; else the queue is read, whatever time that takes.

    Raises
    ------
    ValueError
        As ``drasat.plan`` says, for annotations that cannot be read, and for buying without anything to buy; one line.
    VerificationError
        If the plan does not pass the independent check; that is a defect of drasat.
    SearchInterrupted
        For a KeyboardInterrupt during the search, with the best plan by then.

    """
    check_policy(cel_errors)
    time = PlanTimeBudget(time_limit)
    stages = parse_objective(objective, buy, few_nodes=bool(cluster.objects(NodePool)), alternatives=alternatives)
    _check_options(gap, buy, only_new, budget)
    check_stages(
        stages,
        quota=quota is not None,
        moves=bool(lifted and lifted.options.moves),
        preempts=bool(lifted and lifted.options.preempts),
        mix=mix is not None,
    )
    gates = gates_of(feature_gates)
    dropped, cluster = dropped_fields(cluster, gates), cluster.with_gates(gates)
    question = PlanQuestion(
        cluster,
        gates,
        effective_policy("cp-sat", cel_errors),
        stages,
        gap,
        namespace,
        selector,
        natural_gangs,
        group._replace(beside=lifted.keys) if group and lifted else group,
        read_caller_constraints(constraints),
        quota,
        lifted,
        (*dropped, *taint_notices(lifted.given if lifted else cluster, gates)),
    )
    with question.verifier(buy=buy) as verifier:
        try:
            queue = question.read(time.queue_ends() if may_be_unread else None)
        except DeadlineExceededError:
            return question.unread(time.laps)
        time.lap("queue")
        most, runs = None if buy else most_placed(cluster, queue.units, gates), sum(1 for _ in unit_runs(queue.units))
        slowness = 7.0 if buy else 1.0 if verifier else 3.0  # as measured: nodes are named, another process verifies
        time.measure_pace(len(queue.units), len(cluster.nodes), most, runs, slowness)
        if may_be_unread and not time.has_time_to_reread():
            return question.unread(time.laps)
        whole, request = queue.request(
            seed,
            time,
            last_stages=last_stages(objective),
            buy=buy,
            only_new=only_new,
            budget=budget,
            purchase_limits=purchase_limits,
            mix=mix,
        )
        request, instance = _built(affordable_request(request, time), time.build_ends())
        time.lap("build")
        planning = _Planning(queue, whole, request, instance, time, verifier, with_duals=duals or audit is not None)
        searched, assignment = planning.assign(planning.search(executor, watch))
        answer, cluster = planning.answer(searched, assignment, may_be_unread=may_be_unread)
        interrupted = searched.solution.interrupted
        if audit is not None and not answer.unread:
            answer, interrupted = planning.audit(answer, cluster, assignment, time.audit_ends(audit), interrupted)
        answer = replace(answer, verified=True, seconds=time.laps, duals=answer.duals if duals else None)
        if interrupted:
            raise SearchInterrupted(answer)
        return answer


@dataclass(frozen=True, slots=True)
class _Searched:
    """What the solver found, bounds of all plans where its own are of some, and prices at the relaxation's plan."""

    solution: PlanSolution
    limits: PlanLimits
    early: EarlyMoves | None
    relaxed_bounds: Sequence[float | None]
    prices: tuple[ShadowPrice, ...]


class _Planning:
    """From an instance to a verified answer.

    ``whole`` is the request with all units and nodes, ``request`` that for which there is time. Units of the queue that
    are found to have no place are added to those that are refused.
    """

    def __init__(
        self,
        queue: PlanQueue,
        whole: PlanRequest,
        request: PlanRequest,
        instance: PlanInstance,
        time: PlanTimeBudget,
        verifier: PlanVerifier | None,
        *,
        with_duals: bool,
    ) -> None:
        self.verifier = verifier
        self.question, self.queue, self.refused = queue.question, queue.units, queue.refused
        self.whole, self.request, self.instance, self.time = whole, request, instance, time
        # Running pods that may move, of which a request without time has none.
        self.lifted, self.moves = queue.question.lifted, whole.moves
        group = queue.question.group
        # First fit buys nothing; a node without a name stands for all that there could be.
        has_nodes = request.catalogue is None or any(self.question.cluster.nodes)
        is_whole = group is not None and group.exactly is not None
        self.is_filled = has_nodes and not is_whole and not (self.moves and self.moves.preempts)
        self.with_duals = with_duals
        self._told_units: dict[int, PlannedUnitOutcome] = {}

    @property
    def arriving(self) -> UnitRuns:
        """Units that wait for a place, and for which there is time."""
        open_positions = self.request.open_positions
        return list(unit_runs(self.queue, self.moves.arriving(open_positions) if self.moves else open_positions))

    def search(self, executor: Executor | None, watch: PlanWatch | None) -> _Searched:
        """Solve the stages, one after the other."""
        request, instance, whole, time = self.request, self.instance, self.whole, self.time
        # What runs counts in the values of the search, and not in those that are told.
        share = 1.0 if self.moves is None else self.moves.counted_share(len(request.open_positions))
        ends = time.search_ends(self.arriving, is_filled=self.is_filled)
        limits = PlanLimits(self.question.gap * share, deadline=ends)
        early = _early_moves(request, instance, limits)
        self.instance = instance = early.instance(instance) if early else instance
        solution = _solved(request, instance, limits, time, executor, watch, early, with_duals=self.with_duals)
        bounds: Sequence[float | None] = ()
        if instance.is_narrowed and request.node_names is None and not whole.is_narrowed:
            # What coupled units consume is not in the value.
            known = takewhile(lambda name: name != LEAST_CONSUMPTION or not request.earlier.coupled, instance.objective)
            bounds = _relaxed_bounds(replace(whole, objective=tuple(known)), instance, solution, limits)
        # At the plan that the linear program is about: what follows may change it.
        prices = _shadow_prices(request, instance, solution, limits.deadline)
        time.lap("solve")
        return _Searched(solution, limits, early, bounds, prices)

    def assign(self, searched: _Searched) -> tuple[_Searched, PlanAssignment]:
        """Give columns to nodes and devices to units, and place with first fit what it places better."""
        request, instance, limits = self.request, self.instance, searched.limits
        solution = searched.solution
        assignment = assign_plan(request, instance, solution, self._tell if self.verifier else None)
        if has_pod_rules(one for one, _ in unit_runs(request.queue)):
            settled = replace(limits, deadline=self._reasons_end(assignment))
            solution, assignment = settled_plan(request, instance, solution, assignment, settled)
        if self.lifted and self.moves:
            assignment = self.lifted.completed(assignment, self.moves)
        self.time.lap("assign")
        last = self.time.last_first_fit(self.arriving, len(request.session.cluster.nodes))
        if self.is_filled and not is_past(last):
            improve = searched.early.better if searched.early else better_plan
            solution, assignment = improve(request, instance, solution, assignment, replace(limits, deadline=last))
        self.time.lap("fill")
        return replace(searched, solution=solution), assignment

    def _tell(self, placed: PlacementByUnit) -> None:
        """Let the verifier begin with units while others are placed."""
        told = placed_outcomes(self.request.queue, placed, placed, first=len(self._told_units) + 1)
        self._told_units.update(told)
        if self.verifier:
            self.verifier.place(tuple(told.values()), self.time.verification_ends())

    @gc_paused()
    def answer(
        self, searched: _Searched, assignment: PlanAssignment, *, may_be_unread: bool
    ) -> tuple[PlanOutcome, Cluster]:
        """The verified answer, cut to the units for which there was time, and the cluster with what is bought."""
        question, time, lifted = self.question, self.time, self.lifted
        self._refuse_unplaced(assignment)
        admitted = admitted_queue(self.request, assignment)
        given = assignment.assigned, assignment.order, self._told_units
        outcomes = None if lifted else placed_outcomes(admitted, *given)
        begun = None
        if self.verifier and outcomes:
            # It replays units while this process looks for reasons.
            placed = tuple(outcomes.values())
            begun = PlanReplay(placed, self.verifier.about, None, time.verification_ends(), self.verifier)
        why = self._reasons(assignment)
        time.lap("explain")
        answer, cluster = self._told(searched, assignment, why, outcomes)
        check = partial(question.check, cluster, answer.units, order=answer.order, begun=begun)
        check = partial(check, admissions=assignment.admissions)
        told = answer.recounted_stages(is_moving=self.moves is not None)
        moved = [one.running.key for one in answer.moves]
        try:
            ends, queue_ends = time.verification_ends(), time.reread_ends() if may_be_unread else None
            check(stages=told, moved=moved, deadline=ends, queue_deadline=queue_ends)
        except QueueTimeoutError:
            return question.unread(time.laps), cluster
        except VerificationTimeoutError as error:
            answer, cluster = self._verified_part(searched, assignment, answer, why, error.verified)
        if lifted and self.moves:
            answer = lifted.recounted(answer, self.queue, self.moves)
        else:
            answer = answer.with_derived_witnesses(self.queue)
        time.lap("verify")
        return answer, cluster

    def audit(
        self, answer: PlanOutcome, cluster: Cluster, assignment: PlanAssignment, deadline: float, interrupted: bool
    ) -> tuple[PlanOutcome, bool]:
        """Let the verifier find bounds and refusals anew; the second value says whether Ctrl-C ended anything."""
        from .audit import PlanAudit, rests_on_audits

        question, goals = self.question, self.instance.goals
        complete = len(answer.objective) == len(goals) and not interrupted
        # Flavors that are left out of the plan are not read by the audit.
        if not interrupted and (question.quota is None or question.quota.complete):
            judge = PlanAudit(question, self.request, cluster, self._usable(assignment), goals)
            answer, interrupted = judge.audited(answer, deadline)
        answer = rests_on_audits(answer, complete and self.request.catalogue is None)
        self.time.lap("audit")
        return answer, interrupted

    def _refuse_unplaced(self, assignment: PlanAssignment) -> None:
        """Say why units were not given to the solver, had no time, or lost their place."""
        late = Reason(TIME_LIMIT_RULE, "", "the time limit left no time to plan it")
        self.refused.update((place, (Reason("gang", "", said),)) for place, said in self.instance.unplaceable.items())
        if self.request.node_names is not None:
            planned = *self.request.open_positions, *self.request.earlier.positions
            self.refused.update(dict.fromkeys(set(self.whole.open_positions).difference(planned), (late,)))
        if self.moves:
            lost = Reason("preempted", "", "it loses its place for a pod of higher priority")
            self.refused.update(dict.fromkeys(self.moves.homes.keys() - assignment.assigned.keys(), (lost,)))

    def _reasons(self, assignment: PlanAssignment) -> ReasonsByUnit:
        """Why each unit without a node has none."""
        reasons = ReasonsByUnit(self.queue)
        if len(assignment.assigned) + len(self.refused) < len(self.queue):
            # Most queues fit: then nothing of this is loaded.
            from .why_not import reasons_of_plan

            ends, usable = self._reasons_end(assignment), self._usable(assignment)
            reasons = reasons_of_plan(self.request, assignment, self.refused, ends, usable, self.question.given)
        return reasons.beside(self.refused)

    def _reasons_end(self, assignment: PlanAssignment) -> float | None:
        """When only verifying what is placed has time left."""
        if self.time.deadline is None:
            return None
        return self.time.reasons_end(list(unit_runs(self.queue, sorted(assignment.assigned))))

    def _usable(self, assignment: PlanAssignment) -> set[str] | None:
        """Names of the nodes that may be used; None: all."""
        if not self.request.only_new:
            return None
        return {node.metadata.name for nodes in assignment.bought.values() for node in nodes}

    def _told(
        self,
        searched: _Searched,
        assignment: PlanAssignment,
        why: ReasonsByUnit,
        outcomes: Mapping[int, PlannedUnitOutcome] | None,
    ) -> tuple[PlanOutcome, Cluster]:
        """The answer, not yet verified, and the cluster with what is bought."""
        question, request, instance, solution = self.question, self.request, self.instance, searched.solution
        bounds = searched.relaxed_bounds
        answer = build_plan_outcome(request, instance, solution, assignment, why, question.gap, bounds, outcomes)
        buys = request.catalogue is not None
        said = (*question.controller_notices(buy=buys), *answer.notices, *time_notices(self.whole, request))
        quota_notices = question.quota.notices if question.quota else ()
        answer = replace(answer, shadow_prices=searched.prices, notices=(*question.notices, *quota_notices, *said))
        if self.with_duals:
            from .audit import named_duals

            answer = replace(answer, duals=named_duals(request, instance, solution))
        return self.lifted.settled(answer, assignment.cluster) if self.lifted else (answer, assignment.cluster)

    def _verified_part(
        self, searched: _Searched, assignment: PlanAssignment, answer: PlanOutcome, why: ReasonsByUnit, verified: int
    ) -> tuple[PlanOutcome, Cluster]:
        """Cut an answer to the units that were ``verified`` in time, and look at these once more."""
        question, lifted = self.question, self.lifted
        solution, part = verified_part(self.request, self.instance, searched.solution, assignment, verified)
        late_ones = dict.fromkeys(assignment.assigned, (Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION),))
        less = build_plan_outcome(self.request, self.instance, solution, part, why.beside(late_ones), question.gap)
        said = f"the time limit left time to verify {less.placed} of {plural(answer.placed, 'placed unit')}"
        less, cluster = replace(less, notices=(*answer.notices, said)), part.cluster
        if lifted:
            less, cluster = lifted.settled(less, cluster)
        question.check(cluster, less.units, order=less.order, admissions=part.admissions, replay=False)
        return less, cluster


def _early_moves(request: PlanRequest, instance: PlanInstance, limits: PlanLimits) -> EarlyMoves | None:
    """What local search finds where running pods may move and none is lost; few plans load it."""
    if request.moves is None or request.moves.preempts:
        return None
    from .early_moves import find_early_moves

    return find_early_moves(request, instance, limits)


def _shadow_prices(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, deadline: float | None
) -> tuple[ShadowPrice, ...]:
    """What one more of something would change; loaded only where nodes can be bought."""
    if request.catalogue is None or solution.interrupted or not solution.plan.columns or request.moves:
        return ()
    from .shadow_prices import ShadowPricing

    return ShadowPricing(request, request.catalogue, instance, solution, deadline).prices()


@gc_paused()
def _built(request: PlanRequest, deadline: float | None) -> tuple[PlanRequest, PlanInstance]:
    """Build the instance; if that takes too long, nothing is left to be planned."""
    try:
        return request, build_plan_instance(request, deadline)
    except DeadlineExceededError:
        nothing = replace(request, open_positions=(), node_names=frozenset(), moves=None)
        return nothing, build_plan_instance(nothing)


def _solved(
    request: PlanRequest,
    instance: PlanInstance,
    limits: PlanLimits,
    time: PlanTimeBudget,
    executor: Executor | None,
    watch: PlanWatch | None,
    early: EarlyMoves | None,
    *,
    with_duals: bool,
) -> PlanSolution:
    """Solve the instance; of what is found, keep what can be assigned and verified in time."""
    if early is not None and early.interrupted:
        return early.solution(instance)
    if request.node_names is not None and not request.open_positions:
        return PlanSolution(empty_plan(instance.problem), (), ())
    solution = _solve_instance(instance, limits, executor, watch, with_duals=with_duals)
    numbers = placed_units(instance.problem, solution.plan)
    # Those of a mix, for which a stage leaves room, weigh nothing.
    placed = sum(unit.weight * number for unit, number in zip(instance.problem.units, numbers, strict=True))
    most = time.affordable_units(list(unit_runs(request.queue, request.open_positions[:placed])))
    if most >= placed or request.moves:
        return solution
    stages = [goal.stage for goal in instance.goals]
    plan = shrink_plan(instance.problem, stages, solution.plan, most, instance.pricer)
    # Bounds of later stages are about plans that keep what the first one reached.
    kept = [
        replace(result, value=plan.value(stage.terms), bound=None if number else result.bound, proven=False)
        for number, (result, stage) in enumerate(zip(solution.stages, stages, strict=False))
    ]
    return replace(solution, plan=plan, stages=tuple(kept))


def _check_options(gap: float, buy: bool, only_new: bool, budget: Decimal | None) -> None:
    if not 0 <= gap < 1:
        raise ValueError(f"gap {gap} is not at least 0 and below 1")
    if not buy and (only_new or budget is not None):
        raise ValueError("new nodes only, or a budget, make sense with buy alone")
    if budget is not None and not (budget.is_finite() and budget >= 0):
        raise ValueError(f"budget {budget} is not a number that is at least 0")


def _solve_instance(
    instance: PlanInstance, limits: PlanLimits, executor: Executor | None, watch: PlanWatch | None, *, with_duals: bool
) -> PlanSolution:
    stages = [goal.stage for goal in instance.goals]
    display = {goal.stage.name: goal.display_value for goal in instance.goals}

    def tell(stage: str, value: float, bound: float | None) -> None:
        if watch:
            watch(stage, display[stage](value), None if bound is None else display[stage](bound))

    problem, pricer, solution = instance.problem, instance.pricer, None
    if not with_duals and instance.admissions is not None and not instance.admissions.problem.limited:
        # Where admissions are given, mostly all of them fit.
        solution = plan_of_all(problem, stages, pricer, limits.deadline)
    if solution is None:
        solution = solve_stages(problem, stages, pricer, limits=limits, executor=executor, watch=watch and tell)
    plan = remove_slack(instance.problem, solution.plan, instance.pricer)
    plan = instance.problem.followed(instance.losses.put_back(plan) if instance.losses else plan)
    pairs = zip(solution.stages, stages, strict=False)
    # Later stages may have made earlier ones better, and less room than a column has costs less.
    reached = tuple(replace(result, value=plan.value(stage.terms)) for result, stage in pairs)
    return replace(solution, plan=plan, stages=reached)


def _relaxed_bounds(
    whole: PlanRequest, instance: PlanInstance, solution: PlanSolution, limits: PlanLimits
) -> Sequence[float | None]:
    """Return bounds that hold for all plans of the whole queue, where those of an instance do not."""
    try:
        relaxed = build_plan_instance(replace(whole, relaxed=True, last_stages=()), limits.deadline)
    except DeadlineExceededError:
        return ()
    if relaxed.is_narrowed:
        return ()
    display = [goal.display_value(stage.value) for goal, stage in zip(instance.goals, solution.stages, strict=False)]
    stages = [(goal.stage, round(value * goal.scale)) for goal, value in zip(relaxed.goals, display, strict=False)]
    bounds = stage_bounds(relaxed.problem, stages, relaxed.pricer, limits)
    known = zip(relaxed.goals, bounds, strict=False)
    return [None if bound is None else goal.display_bound(bound) for goal, bound in known]

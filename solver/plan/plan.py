"""The question ``plan``: which units of a queue fit on a cluster, where, and on which devices, best by stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import takewhile
from math import ceil
from typing import TYPE_CHECKING, Any

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import plural
from ...models.formats.gc import gc_paused, gc_young_only
from ...models.kubernetes.core import HOSTNAME_LABEL
from ...models.kubernetes.extensions import VALUE_ANNOTATION, Predicate
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.karpenter import NodePool
from ...models.kubernetes.node_templates import PurchaseLimit
from ...models.kubernetes.workloads import DaemonSet
from ...models.results.common import Reason
from ...models.results.plan import ShadowPrice
from ...models.validation.entries import read_caller_constraints
from ...models.workload.controllers import read_controllers
from ...models.workload.expansion import QueuedUnit, expand_units
from ...models.workload.pod_sets import looking
from ...models.workload.queue import GroupSelection, read_queue
from ...models.workload.quota import QuotaProblem, QuotaQueue
from ...models.workload.requested import dropped_fields, taint_notices
from ...models.workload.unit_classes import Gang
from ...problem.messages import DeadlineExceededError, check_deadline, check_policy
from ...problem.selectors import KUEUE_QUOTA, LIFTED_PODS, NodeResourceClaims
from ..allocate.check import LATE_VERIFICATION
from ..engines.engine import TIME_LIMIT_RULE, Session
from ..engines.outcome import SearchInterrupted
from ..engines.registry import effective_policy
from ..verification.plans import QueueTimeoutError
from ..verification.verify import VerificationTimeoutError
from .assign import PlanAssignment, admitted_queue, assign_plan, build_plan_outcome, placed_outcomes, planned_weight
from .build import EarlierPlacements, PlanInstance, PlanRequest, build_plan_instance, no_earlier_placements
from .build.gangs import forbid_coverage
from .build.nodes import build_node_catalogue
from .build.objectives import LEAST_CONSUMPTION, check_stages, last_stages, parse_objective, value_annotation
from .build.preferences import PREFERENCES
from .build.weights import spendable
from .column_generation import stage_bounds
from .gang_dive import plan_of_all
from .heuristics import remove_slack, shrink_plan
from .incumbent import better_plan, settled_plan
from .master_problem import PlanLimits, PlanSolution, empty_plan, is_past, placed_units
from .outcome import PlanOutcome, ReasonsByUnit, begun_replay, check_plan, refused_units, unread_plan
from .price_and_branch import solve_stages
from .time_budget import PlanTimeBudget, most_placed

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
    )
    gates = gates_of(feature_gates)
    dropped, cluster = dropped_fields(cluster, gates), cluster.with_gates(gates)
    dropped = (*dropped, *taint_notices(lifted.given if lifted else cluster, gates))
    policy = effective_policy("cp-sat", cel_errors)
    value = value_annotation(stages) or VALUE_ANNOTATION
    group = group._replace(beside=lifted.keys) if group and lifted else group
    ends = time.queue_ends() if may_be_unread else None
    look = None if ends is None else partial(check_deadline, ends)
    read = partial(read_queue, cluster, namespace=namespace, selector=selector, natural_gangs=natural_gangs)
    unread = partial(unread_plan, cluster, gates, policy, gap, dropped)
    try:
        sets = read(gates=gates, value=value, group=group, prefers=PREFERENCES in stages, look=look)
        charged = None if quota is None else QuotaQueue(quota, sets)
        sets = sets if charged is None else charged.sets
        counted = NodeResourceClaims(cluster, gates, KUEUE_QUOTA if charged else "")
        queue = list(counted.planned(looking(expand_units(cluster, sets, gates), look)))
        if charged or lifted:
            forbid_coverage(queue, KUEUE_QUOTA if charged else LIFTED_PODS)
        refused = refused_units(cluster, queue, charged, look)
    except DeadlineExceededError:
        return unread(time.laps)
    if lifted:
        refused.update(lifted.refused_places(queue))
    time.lap("queue")
    time.measure_pace(len(queue), len(cluster.nodes), None if buy else most_placed(cluster, queue, gates))
    if may_be_unread and not time.has_time_to_reread():
        return unread(time.laps)
    given = read_caller_constraints(constraints)
    session = Session(cluster, gates, policy, seed, caller_constraints=given)
    positions = [place for place in range(len(queue)) if place not in refused]
    before = _with_daemons(session, queue, positions, time.coupling_ends())
    earlier = _with_coupled_units(session, queue, positions, before, time.coupling_ends(), charged, only_new=only_new)
    forbid_coverage((queue[place] for place in earlier.positions), "ConstraintGroups and DaemonSets")
    refused.update(earlier.reasons)
    positions = [place for place in positions if place not in before.positions]
    catalogue = build_node_catalogue(cluster, _single_host_gangs(queue), purchase_limits) if buy else None
    limit = None if budget is None else spendable(budget)
    target = None
    if mix is not None:
        from .target_mix import target_mix_units

        target = target_mix_units(cluster, mix, gates, stages)
    whole = PlanRequest(session, queue, positions, stages, before, catalogue, only_new, limit, target)
    moves = lifted.plan_moves(queue, {*refused, *earlier.positions}) if lifted else None
    whole = replace(whole, last_stages=last_stages(objective), quota=charged, moves=moves)
    whole = replace(whole, is_narrowed=counted.is_incomplete or bool(lifted and lifted.is_narrowed))
    open_positions = [place for place in positions if place not in earlier.positions]
    request = _affordable_request(replace(whole, open_positions=open_positions, earlier=earlier), time)
    request, instance = _built(request, time.build_ends())
    time.lap("build")
    # What runs counts in the values of the search, and not in those that are told.
    share = 1.0 if moves is None else moves.counted_share(len(request.open_positions))
    # Purchases are compared with first fit on the nodes that there are.
    is_filled = any(cluster.nodes) and not (moves and moves.preempts) and not (group and group.exactly is not None)
    units = [queue[place] for place in (moves.arriving(request.open_positions) if moves else request.open_positions)]
    limits = PlanLimits(gap * share, deadline=time.search_ends(units, is_filled=is_filled))
    early = _early_moves(request, instance, limits)
    instance = early.instance(instance) if early else instance
    with_duals = duals or audit is not None
    solution = _solved(request, instance, limits, time, executor, watch, early, with_duals=with_duals)
    is_open = instance.is_narrowed and request.node_names is None and not whole.is_narrowed
    # What coupled units consume is not in the value.
    known = takewhile(lambda name: name != LEAST_CONSUMPTION or not request.earlier.coupled, instance.objective)
    relaxed_bounds = (
        _relaxed_bounds(replace(whole, objective=tuple(known)), instance, solution, limits) if is_open else ()
    )
    # At the plan that the linear program is about: what follows may change it.
    prices = _shadow_prices(request, instance, solution, limits.deadline)
    time.lap("solve")
    solution, assignment = settled_plan(request, instance, solution, assign_plan(request, instance, solution), limits)
    assignment = lifted.completed(assignment, moves) if lifted and moves else assignment
    time.lap("assign")
    last = time.last_first_fit(units, len(cluster.nodes))
    if is_filled and not is_past(last):
        improve = early.better if early else better_plan
        solution, assignment = improve(request, instance, solution, assignment, replace(limits, deadline=last))
    time.lap("fill")
    refused.update((place, (Reason("gang", "", said),)) for place, said in instance.unplaceable.items())
    late = Reason(TIME_LIMIT_RULE, "", "the time limit left no time to plan it")
    refused.update(dict.fromkeys(set(open_positions).difference(request.open_positions), (late,)))
    usable = {node.metadata.name for nodes in assignment.bought.values() for node in nodes} if only_new else None
    if moves:
        lost = Reason("preempted", "", "it loses its place for a pod of higher priority")
        refused.update(dict.fromkeys(moves.homes.keys() - assignment.assigned.keys(), (lost,)))
    outcomes = None if lifted else placed_outcomes(admitted_queue(request, assignment), assignment)
    about = assignment.cluster, gates, policy, given
    with begun_replay(outcomes, about, time.verification_ends()) as begun:
        reasons = ReasonsByUnit(queue)
        if len(assignment.assigned) + len(refused) < len(queue):
            # Most queues fit: then nothing of this is loaded.
            from .why_not import reasons_of_plan

            ends = time.reasons_end([queue[place] for place in assignment.assigned])
            reasons = reasons_of_plan(request, assignment, refused, ends, usable, given)
        time.lap("explain")
        why = reasons.beside(refused)
        answer = build_plan_outcome(request, instance, solution, assignment, why, gap, relaxed_bounds, outcomes)
        said = (*_controller_notices(cluster, natural_gangs, buy=buy), *answer.notices, *_time_notices(whole, request))
        answer = replace(answer, shadow_prices=prices, notices=(*dropped, *(quota.notices if quota else ()), *said))
        if duals or audit is not None:
            from .audit import named_duals

            answer = replace(answer, duals=named_duals(request, instance, solution))
        cluster = assignment.cluster
        if lifted:
            answer, cluster = lifted.settled(answer, cluster)
        check = partial(check_plan, gates=gates, cel_errors=policy, given=given, namespace=namespace, selector=selector)
        check = partial(check, natural_gangs=natural_gangs, quota=quota, group=group)
        try:
            ends, told = time.verification_ends(), answer.recounted_stages(is_moving=moves is not None)
            moved = [one.running.key for one in answer.moves]
            ask = partial(check, order=answer.order, admissions=assignment.admissions, stages=told, moved=moved)
            queue_ends = time.reread_ends() if may_be_unread else None
            ask(cluster, answer.units, deadline=ends, queue_deadline=queue_ends, begun=begun)
        except QueueTimeoutError:
            return unread(time.laps)
        except VerificationTimeoutError as error:
            solution, part = _verified_part(request, instance, solution, assignment, error.verified)
            late_ones = dict.fromkeys(assignment.assigned, (Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION),))
            why = ReasonsByUnit(queue, late_ones).beside(why)
            less = build_plan_outcome(request, instance, solution, part, why, gap)
            said = (f"the time limit left time to verify {less.placed} of {plural(answer.placed, 'placed unit')}",)
            answer = replace(less, notices=(*answer.notices, *said))
            cluster = part.cluster
            if lifted:
                answer, cluster = lifted.settled(answer, cluster)
            check(cluster, answer.units, order=answer.order, admissions=part.admissions, replay=False)
    answer = lifted.recounted(answer, queue, moves) if lifted and moves else answer.with_derived_witnesses(queue)
    time.lap("verify")
    interrupted = solution.interrupted
    if audit is not None:
        from .audit import PlanAudit, rests_on_audits

        # Flavors that are left out of the plan are not read by the audit.
        if not interrupted and (quota is None or quota.complete):
            judge = PlanAudit(request, cluster, usable, instance.goals, namespace, selector, natural_gangs, lifted)
            answer, interrupted = judge.audited(answer, time.audit_ends(audit))
        complete = len(answer.objective) == len(instance.goals) and not solution.interrupted
        answer = rests_on_audits(answer, complete and not buy)
        time.lap("audit")
    answer = replace(answer, verified=True, seconds=time.laps, duals=answer.duals if duals else None)
    if interrupted:
        raise SearchInterrupted(answer)
    return answer


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


def _affordable_request(request: PlanRequest, time: PlanTimeBudget) -> PlanRequest:
    """Leave out nodes and units for which there is no time; the units of the highest priority stay, and whole gangs."""
    queue, nodes = request.queue, list(() if request.only_new else request.session.cluster.nodes)
    share = time.affordable_share([queue[place] for place in request.open_positions], len(nodes))
    if share >= 1 or request.moves:
        return request
    members: dict[Gang | int, list[int]] = defaultdict(list)
    for place in request.open_positions:
        members[queue[place].unit_set.gang or place].append(place)
    kept: list[int] = []
    most = ceil(share * len(request.open_positions))
    for own in sorted(members.values(), key=lambda own: -queue[own[0]].unit_set.shape.priority):
        if len(kept) >= most:
            break
        kept += own
    number = ceil(share * len(nodes))
    names = frozenset(nodes[one * len(nodes) // number] for one in range(number))
    return replace(request, open_positions=sorted(kept), node_names=names)


def _controller_notices(cluster: Cluster, natural_gangs: bool, *, buy: bool) -> Iterator[str]:
    """Say what controllers ask for and is not planned."""
    yield from read_controllers(cluster, natural_gangs=natural_gangs).notices
    daemons = cluster.objects(DaemonSet).values() if buy else ()
    if any(one.spec.template.spec.resource_claims for one in daemons):
        yield "claims of DaemonSet pods on new nodes are not made"


def _time_notices(whole: PlanRequest, request: PlanRequest) -> Iterator[str]:
    """Say what was left out for lack of time."""
    if request.node_names is None:
        return
    units, nodes = len(whole.open_positions) - len(request.earlier.coupled), len(request.session.cluster.nodes)
    if not request.open_positions:
        yield "the time limit ended before anything could be planned"
        return
    yield (
        f"the time limit left time to plan {len(request.open_positions)} of {plural(units, 'unit')} "
        f"on {len(request.node_names)} of {plural(nodes, 'node')}"
    )


def _verified_part(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, assignment: PlanAssignment, verified: int
) -> tuple[PlanSolution, PlanAssignment]:
    """Cut a plan down to the first units that were ``verified``, so that no gang is torn.

    Nothing is left where nodes are bought, where ConstraintGroups count, which are verified at the end, and where
    queues admit in their order.
    """
    strict = request.quota is not None and any(node.strict for node in request.quota.problem.nodes)
    nothing = assignment.bought or assignment.cluster.constraint_groups or strict or request.moves
    kept = [] if nothing else list(assignment.order[:verified])
    ends: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, place in enumerate(assignment.order):
        gang = request.queue[place].unit_set.gang
        if gang is not None:
            ends[gang.root] = ends.get(gang.root, (number, number))[0], number
    # The later gangs begin, the less they pull with them.
    for first, last in sorted(ends.values(), reverse=True):
        if last >= len(kept):
            del kept[first:]
    own = {place: assignment.assigned[place] for place in kept}
    members = [request.quota.member(request.queue[place]) for place in kept] if request.quota else []
    there = {member.workload for member in members if member is not None}
    admissions = {place: one for place, one in assignment.admissions.items() if place in there}
    part = PlanAssignment(request.session.cluster, {}, own, tuple(kept), {}, admissions)
    counted = [
        replace(result, value=int(planned_weight(request, own, goal.weigh) * goal.scale) - goal.earlier, proven=False)
        for goal, result in takewhile(
            lambda pair: pair[0].weigh is not None, zip(instance.goals, solution.stages, strict=False)
        )
        if goal.weigh is not None
    ]
    # Bounds of later stages are about plans that keep what the first one reached.
    stages = (*counted[:1], *(replace(result, bound=None) for result in counted[1:])) if kept else ()
    return replace(solution, stages=stages), part


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
    most = time.affordable_units([request.queue[place] for place in request.open_positions[:placed]])
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


def _with_daemons(
    session: Session, queue: Sequence[QueuedUnit], positions: Sequence[int], deadline: float | None
) -> EarlierPlacements:
    """Place the pods of DaemonSets; most queues have none."""
    found = no_earlier_placements(session)
    if any(planned.unit_set.node for planned in queue):
        from .build.groups import place_daemons

        place_daemons(session, queue, positions, found, deadline)
    return found


def _with_coupled_units(
    session: Session,
    queue: Sequence[QueuedUnit],
    positions: Sequence[int],
    before: EarlierPlacements,
    deadline: float | None,
    charged: QuotaQueue | None,
    *,
    only_new: bool,
) -> EarlierPlacements:
    """Place what ConstraintGroups couple; few clusters have any, so that placing them is loaded only here."""
    if not session.cluster.constraint_groups:
        return before
    from .build.groups import place_coupled_units

    found = before.copied()
    left = [place for place in positions if place not in before.positions]
    needs_quota = charged.member if charged else None
    place_coupled_units(session, queue, left, found, deadline, only_new=only_new, needs_quota=needs_quota)
    return found


def _single_host_gangs(queue: Sequence[QueuedUnit]) -> int:
    """How many gangs must have a node to themselves or share one: no label tells new nodes apart but the host name."""
    gangs = {planned.unit_set.gang for planned in queue}
    return sum(gang is not None and gang.domain == HOSTNAME_LABEL for gang in gangs)


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

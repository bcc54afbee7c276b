"""No plan is worse than first fit: what the search found is compared with first fit, and filled up by it.

Plans are compared by the stages of the objective, the most important first. First fit is tried on an empty plan, in the
order of the queue and by priority, and beside the plan for what it leaves out. The search may be worse where its model
leaves plans out, where gaps remain, or where time was up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

from ...models.kubernetes.core import Node
from ...models.workload.expansion import QueuedUnit, unit_runs
from ...models.workload.gangs import covered_amounts, is_whole
from ...models.workload.unit_classes import Gang
from ...models.workload.units import Allocations
from ...problem.compiler import Question
from ...problem.node_state import NodeContextBuilder
from ...problem.problem import Problem
from ...problem.shapes import NodeView
from ..engines.engine import Pick
from ..engines.engines import NodeCompiler
from .assign import PlanAssignment, assign_plan, bought_cost
from .build import EarlierPlacements, PlanInstance, PlanRequest, build_plan_instance
from .build.objectives import (
    COMPACT,
    COST,
    COVERAGE_STAGE,
    FEWEST_NODES,
    FRAGMENTATION,
    FREE_DOMAINS,
    LEAST_CONSUMPTION,
    LOSS_STAGES,
    MOVE_COST,
    MOVE_STAGES,
    Goal,
)
from .build.preferences import PREFERENCES, counted_preferences
from .build.quota_stages import QUOTA_STAGES
from .build.weights import WeightFunction, planned_weight
from .first_fit import FirstFit, arrival_orders, first_fit, first_fit_placed, remaining_beside
from .master_problem import IntegerPlan, PlanLimits, PlanSolution, is_past
from .outcome import PlacementByUnit
from .pod_ledger import has_pod_rules, ledger_beside, valid_order
from .price_and_branch import solve_stages
from .pricing.bundle import SPREAD, Picks
from .pricing.consumption import ConsumptionMeasure
from .quota_ledger import QuotaLedger


def better_plan(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, assignment: PlanAssignment, limits: PlanLimits
) -> tuple[PlanSolution, PlanAssignment]:
    """Return the better one of a plan and first fit, by stages; the plan itself where nothing can be better.

    Bounds hold as they are: a stage of a plan that is better in an earlier stage is no more free.
    """
    if _is_best(request, instance, solution):
        return solution, assignment
    best, values = assignment, PlanValues(request, instance, assignment)
    interrupted = solution.interrupted

    def may_be_better(placed: Sequence[int]) -> bool:
        """Whether a plan that places these units can be better, as far as stages count units."""
        for number, goal in enumerate(instance.goals):
            if goal.weigh is None:
                return not values.follows(number)
            value, reached = values.of(number), _weighed_value(request, goal, goal.weigh, placed)
            if value is None or reached != value:
                return value is None or (reached > value) == goal.stage.maximise
        return False

    try:
        for candidate in _candidates(request, assignment, limits.deadline, may_be_better):
            interrupted |= candidate.found.interrupted
            reached = PlanValues(request, instance, candidate.assignment)
            if _is_better(reached, values):
                best, values = candidate.assignment, reached
            if interrupted or _reaches(values, solution):
                break
    except KeyboardInterrupt:
        # The best plan by then is there.
        interrupted = True
    solution = replace(solution, interrupted=interrupted)
    if best is assignment:
        return solution, assignment
    pairs = zip(solution.stages, instance.goals, values.all(), strict=False)
    stages = [
        replace(result, value=_residual_value(request, best, goal, limits) if value is None else value)
        for result, goal, value in pairs
    ]
    return replace(solution, stages=tuple(stages)), best


def _reaches(values: PlanValues, solution: PlanSolution) -> bool:
    """Whether no plan is better than one with these values, up to the stages that follow the objective."""
    return len(solution.stages) == len(values.goals) and all(
        values.of(number) == stage.bound is not None
        for number, stage in enumerate(solution.stages)
        if not values.follows(number)
    )


def _is_best(request: PlanRequest, instance: PlanInstance, solution: PlanSolution) -> bool:
    """Whether first fit is not worth trying: stages that follow the objective are not worth it by themselves."""
    complete = len(solution.stages) == len(instance.goals) and not instance.is_narrowed
    own = (stage for stage in solution.stages if stage.name not in request.last_stages)
    return complete and all(stage.value == stage.bound for stage in own)


def _is_better(values: PlanValues, others: PlanValues) -> bool:
    """Compare stage by stage, up to one whose value is not known without a search."""
    for number, goal in enumerate(values.goals):
        value, other = values.of(number), others.of(number)
        if value is None or other is None:
            return False
        if value != other:
            return (value > other) == goal.stage.maximise
    return False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A plan that first fit made."""

    found: FirstFit
    assignment: PlanAssignment


def _candidates(
    request: PlanRequest,
    assignment: PlanAssignment,
    deadline: float | None,
    may_be_better: Callable[[Sequence[int]], bool],
) -> Iterator[_Candidate]:
    """Yield the plan with what first fit adds to it, and first fit on an empty plan where it ``may_be_better``."""
    queue, session = request.queue, replace(request.session, cluster=assignment.cluster)
    bought = {node.metadata.name for nodes in assignment.bought.values() for node in nodes}
    in_order = ((place, assignment.assigned[place]) for place in assignment.order)
    placed = {place: (node.metadata.name, made) for place, (node, made) in in_order}
    left = [place for place in request.open_positions if place not in placed]
    there = request.node_names
    if request.catalogue is not None and there is None:
        # Where no node is known, one without a name stands for all that there could be: these are to be bought.
        there = frozenset(name for name in request.session.cluster.nodes if name)
    usable = bought if request.only_new else None if there is None else there | bought
    added, admissions = FirstFit(placed, True), assignment.admissions
    if request.quota:
        # Few queues need quota.
        from .quota_first_fit import quota_first_fit
    if left and request.quota:
        admit = partial(quota_first_fit, session, queue, request.quota, left, deadline)
        added, admissions = admit(placed=placed, admissions=admissions, usable=usable)
    elif left:
        added = first_fit(session, queue, left, deadline, placed=placed, usable=usable)
    if len(added.assigned) > len(placed):
        yield _Candidate(added, _assignment(request, replace(assignment, admissions=admissions), added))
    if request.only_new or (there is not None and not there):
        return
    nothing = PlanAssignment(request.session.cluster, {}, {}, (), {})
    if request.quota:
        admit = partial(quota_first_fit, request.session, queue, request.quota, request.open_positions, deadline)
        found, admissions = admit(placed=request.earlier.assigned, usable=there)
        yield _Candidate(found, _assignment(request, replace(nothing, admissions=admissions), found))
        return
    if request.earlier.coupled and request.node_names is None:
        # Few clusters have groups.
        from .build.groups import place_in_queue_order

        positions = sorted([*request.open_positions, *request.earlier.coupled])
        daemons = {place: own for place, own in request.earlier.assigned.items() if place in request.earlier.daemons}
        found = place_in_queue_order(request.session, queue, positions, daemons, deadline)
        yield _Candidate(found, _assignment(request, nothing, found))
    start, usable = request.earlier.assigned, there
    nodes, seed = len(request.session.cluster.nodes), request.session.seed
    for arriving, shuffle in arrival_orders(queue, request.open_positions, nodes, seed):
        if is_past(deadline):
            return
        ask = partial(first_fit_placed, request.session, queue, arriving, deadline, placed=start, usable=usable)
        places = None if shuffle else ask()
        if places is not None and not may_be_better([*start, *places]):
            continue
        found = first_fit(request.session, queue, arriving, deadline, placed=start, usable=usable, shuffle=shuffle)
        yield _Candidate(found, _assignment(request, nothing, found))


def _assignment(request: PlanRequest, like: PlanAssignment, found: FirstFit) -> PlanAssignment:
    """The assignment that first fit comes to; nodes that it changed are equal to no others."""
    cluster = like.cluster
    assigned = {place: (cluster.node(name), own) for place, (name, own) in found.assigned.items()}
    changed = {name for place, (name, _) in found.assigned.items() if place not in like.assigned}
    alike = {name: key for name, key in like.equivalence.items() if name not in changed}
    return keep_pod_rules(request, replace(like, assigned=assigned, order=tuple(assigned), equivalence=alike))


def _weighed_value(request: PlanRequest, goal: Goal, weigh: WeightFunction, placed: Iterable[int]) -> int:
    """What units count in a stage; running ones that may move are in every plan."""
    homes = request.moves.homes if request.moves else {}
    counted = [place for place in placed if place not in homes]
    return int(planned_weight(request.queue, counted, weigh) * goal.scale) - goal.earlier


@dataclass(frozen=True, slots=True)
class _TakenDevices:
    """What a unit takes on its node, by the numbers of a Problem."""

    question: Question
    view: NodeView
    problem: Problem
    picks: Picks


class PlanValues:
    """What the stages come to for any assignment, in the steps of the goals, without what came earlier."""

    def __init__(self, request: PlanRequest, instance: PlanInstance, assignment: PlanAssignment) -> None:
        self.goals = instance.goals
        self._request = request
        self._instance = instance
        self._assignment = assignment
        daemons = request.earlier.daemons
        self._own = [pair for place, pair in assignment.assigned.items() if place not in daemons]
        self._nodes = Counter(node.metadata.name for node, _ in self._own)
        self._known: dict[int, int | None] = {}

    def of(self, number: int) -> int | None:
        """The value of a stage; None for ``fragmentation``, which takes a search."""
        if number not in self._known:
            self._known[number] = self._value(self.goals[number])
        return self._known[number]

    def all(self) -> list[int | None]:
        """The values of all stages."""
        return list(map(self.of, range(len(self.goals))))

    def follows(self, number: int) -> bool:
        """Whether a stage follows those of the objective."""
        return self.goals[number].stage.name in self._request.last_stages

    def _value(self, goal: Goal) -> int | None:
        name, admissions = goal.stage.name, self._instance.admissions
        if admissions is not None and name.partition("=")[0] in QUOTA_STAGES:
            ledger = QuotaLedger(admissions.problem, self._assignment.admissions)
            return admissions.stages.value(name, ledger) - goal.earlier
        if goal.weigh is not None:
            return _weighed_value(self._request, goal, goal.weigh, self._assignment.assigned)
        if name == FRAGMENTATION or name.partition("=")[0] in LOSS_STAGES:
            return None
        if name.partition("=")[0] == FREE_DOMAINS:
            return self._free_domains(goal)
        if name in MOVE_STAGES:
            return self._moved(name) - goal.earlier
        if name == COVERAGE_STAGE:
            return self._covered_groups() - goal.earlier
        if name == COST:
            return int(bought_cost(self._assignment) * goal.scale)
        if name == FEWEST_NODES:
            return len(self._nodes.keys() - self._instance.busy) - goal.earlier
        if name == PREFERENCES:
            given = self._assignment
            return counted_preferences(given.cluster, self._request.queue, given.assigned) - goal.earlier
        if name == SPREAD.id:
            return sum(number**2 for number in self._nodes.values())
        return self._consumption() if name == LEAST_CONSUMPTION else self._sum_of_copies(name)

    def _free_domains(self, goal: Goal) -> int:
        """How many domains have no node in use."""
        domains = [one for one in self._instance.problem.domains if one.choice in goal.stage.terms.gangs]
        names = {node.index: {own.metadata.name for own in node.nodes} for node in self._instance.node_classes}
        return sum(all(names[index].isdisjoint(self._nodes) for index in one.node_classes) for one in domains)

    def _moved(self, name: str) -> int:
        """How many running pods go elsewhere, or what that costs."""
        homes, total = self._request.moves.homes if self._request.moves else {}, 0
        for place, home in homes.items():
            node, made = self._assignment.assigned[place]
            if node.metadata.name != home.node or {ref.key: own for ref, own in made} != dict(home.allocations):
                total += home.cost if name == MOVE_COST else 1
        return total

    def _covered_groups(self) -> int:
        queue, assigned = self._request.queue, self._assignment.assigned
        pairs = ((planned.unit_set, place in assigned) for place, planned in enumerate(queue))
        return sum(covered >= (gang.demand or 0) for gang, covered in covered_amounts(pairs).items())

    def _sum_of_copies(self, name: str) -> int:
        """Add up what units cost by what they take."""
        # Only these measures need the stages of ``allocate``.
        from .pricing.measures import COPY_MEASURES

        contexts = NodeContextBuilder(self._assignment.cluster) if name == COMPACT else None
        total = 0
        for taken in self._taken():
            problem = taken.problem
            if contexts is not None:
                problem = replace(problem, node_context=contexts.survey(taken.view, taken.question.visible))
            total += COPY_MEASURES[name].cost(problem, taken.picks)
        return total

    def _consumption(self) -> int | None:
        """Add up what units consume, and on each node the counters of shareable devices that they open."""
        survey = self._instance.consumption
        measures: dict[str, ConsumptionMeasure] = {}
        opened: dict[str, set[int]] = defaultdict(set)
        total = 0
        for taken in self._taken() if survey else ():
            name = taken.view.node.metadata.name
            if survey and name not in measures:
                measures[name] = survey.measure(taken.problem, taken.view)
            total += measures[name].cost(taken.problem, taken.picks)
            opened[name] |= measures[name].opened(taken.problem, taken.picks)
        return total + sum(measures[name].opening_cost(one) for name, devices in opened.items() for one in devices)

    def _taken(self) -> Iterator[_TakenDevices]:
        """Yield what each unit with new claims takes."""
        compiler = NodeCompiler(replace(self._request.session, cluster=self._assignment.cluster))
        for node, made in self._own:
            claims = [ref.claim for ref, _ in made if ref.claim is not None]
            if claims:
                question = compiler.question(claims)
                view = compiler.view(node, question)
                problem = compiler.problem(question, view.shape)
                yield _TakenDevices(question, view, problem, tuple(picks_of(problem, view, made)))


def picks_of(problem: Problem, view: NodeView, made: Allocations) -> Iterator[Pick]:
    """Read from allocations which device serves which request."""
    demands = {(one.claim, one.request, one.subrequest): one.index for one in problem.demands}
    numbers = {device.id: number for number, device in enumerate(view.devices)}
    for claim, (_, allocation) in enumerate(made):
        for result in allocation.devices.results or ():
            request, _, subrequest = result.request.partition("/")
            device = numbers[result.driver, result.pool, result.device]
            yield Pick(demands[claim, request, subrequest], device)


def _residual_value(request: PlanRequest, assignment: PlanAssignment, goal: Goal, limits: PlanLimits) -> int:
    """How much of the target mix could still be placed beside an assignment."""
    session = request.session
    placed = {place: (node.metadata.name, made) for place, (node, made) in assignment.assigned.items()}
    state, rooms = remaining_beside(session, request.queue, placed)
    mix = request.target_workload or [request.queue[place] for place in request.open_positions]
    earlier = EarlierPlacements(state, rooms, placed)
    beside = build_plan_instance(
        replace(request, open_positions=(), earlier=earlier, catalogue=None, target_workload=mix)
    )
    stages = [own.stage for own in beside.goals if own.stage.name == goal.stage.name]
    return solve_stages(beside.problem, stages, beside.pricer, limits=limits).stages[-1].value


def settled_plan(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, assignment: PlanAssignment, limits: PlanLimits
) -> tuple[PlanSolution, PlanAssignment]:
    """Return a plan that keeps the rules of pods about one another, with what its stages come to.

    What has no place in any order is left out; where running pods may go, they all stay then, and first fit places what
    it can beside them. Bounds of stages behind the first that is worse are about plans that are not, and do not hold.
    """
    kept = keep_pod_rules(request, assignment, limits.deadline)
    if kept.assigned.keys() == assignment.assigned.keys():
        return solution, kept
    start = instance.unmoved
    if request.moves and start is not None:
        solution = replace(solution, plan=start)
        before = assign_plan(request, instance, solution)
        kept = filled_beside(request, keep_pod_rules(request, before, limits.deadline), limits)
        more, fewer = kept.assigned.keys() - before.assigned.keys(), before.assigned.keys() - kept.assigned.keys()
        counted = list(values_with_more(request, instance, start, more, fewer))
    else:
        known = zip(instance.goals, PlanValues(request, instance, kept).all(), strict=True)
        counted = [_residual_value(request, kept, goal, limits) if own is None else own for goal, own in known]
    stages, is_worse = [], False
    for result, value in zip(solution.stages, counted, strict=False):
        stages.append(replace(result, value=value, bound=None if is_worse else result.bound, proven=False))
        is_worse |= value != result.value
    return replace(solution, stages=tuple(stages)), kept


def filled_beside(request: PlanRequest, assignment: PlanAssignment, limits: PlanLimits) -> PlanAssignment:
    """The assignment with what first fit places beside it."""
    placed = {place: (node.metadata.name, made) for place, (node, made) in assignment.assigned.items()}
    left = [place for place in request.open_positions if place not in placed]
    found = first_fit(request.session, request.queue, left, limits.deadline, placed=placed, usable=request.node_names)
    return _assignment(request, assignment, found)


def values_with_more(
    request: PlanRequest, instance: PlanInstance, start: IntegerPlan, more: Collection[int], fewer: Collection[int] = ()
) -> Iterator[int]:
    """Yield the values of the stages of the plan to start from with more units, and without the ``fewer``.

    It ends with the stages of which these are all that counts.
    """
    for goal in instance.goals:
        value, terms = start.value(goal.stage.terms), goal.stage.terms
        if goal.weigh is not None:
            added = planned_weight(request.queue, more, goal.weigh) - planned_weight(request.queue, fewer, goal.weigh)
            value += int(added * goal.scale)
        elif (more or fewer) and (terms.nodes or terms.usage or instance.problem.domains):
            return
        yield value


def keep_pod_rules(request: PlanRequest, assignment: PlanAssignment, deadline: float | None = None) -> PlanAssignment:
    """The assignment in an order in which each unit passes, without those that have no place in it, and their gangs.

    None is sought after the ``deadline``, a reading of ``time.monotonic``; each attempt has half of the time left.
    """
    queue = request.queue
    if not has_pod_rules(one for one, _ in unit_runs(queue)):
        return assignment
    assigned = dict(assignment.assigned)
    homes = request.moves.homes if request.moves else {}
    while True:
        staying = {
            place: (queue[place], home.node)
            for place, home in homes.items()
            if place in assigned and home.is_kept(assigned[place][0].metadata.name, assigned[place][1])
        }
        ledger = ledger_beside(assignment.cluster, staying.values())
        moving = [
            (place, queue[place].unit_set.shape.rules, assigned[place][0].metadata.name)
            for place in assignment.order
            if place in assigned and place not in staying
        ]
        ends = None if deadline is None else (monotonic() + deadline) / 2
        order, refused = valid_order(ledger, moving, ends)
        order = [*(place for place in assignment.order if place in staying), *order]
        torn = _torn_with(request, assigned, refused) if refused else set()
        for place in torn:
            assigned.pop(place, None)
        # The order is one of those that are left unless some of them go as well.
        if len(torn) <= len(refused):
            break
    if tuple(order) == assignment.order:
        return assignment
    there = {
        member.workload
        for place in order
        if request.quota and (member := request.quota.member(queue[place])) is not None
    }
    admissions = {key: one for key, one in assignment.admissions.items() if key in there}
    dealt = dict(_dealt_claims(queue, assigned, order))
    return replace(assignment, assigned=dealt, order=tuple(order), admissions=admissions, equivalence={})


def _dealt_claims(
    queue: Sequence[QueuedUnit], assigned: PlacementByUnit, order: Sequence[int]
) -> Iterator[tuple[int, tuple[Node, Allocations]]]:
    """Yield the units in order; what a shared claim has belongs to the first that names it."""
    made = {ref.key: allocation for place in assigned for ref, allocation in assigned[place][1]}
    for place in order:
        refs = [ref for ref in queue[place].unit.requested_claims if ref.key in made]
        yield place, (assigned[place][0], tuple((ref, made.pop(ref.key)) for ref in refs))


def _torn_with(request: PlanRequest, assigned: PlacementByUnit, refused: Sequence[int]) -> set[int]:
    """The refused units with those that cannot stay without them: of gangs, workloads with quota, and coupled sets."""
    queue, quota, gone = request.queue, request.quota, set(refused)
    coupled = set(request.earlier.coupled)
    gone |= coupled if gone & coupled else set()
    if quota is not None:
        members = {place: quota.member(queue[place]) for place in assigned}
        torn = {one.workload for place in gone if (one := members.get(place)) is not None}
        strict = any(node.strict for node in quota.problem.nodes)
        gone |= {
            place for place, one in members.items() if one is not None and torn and (strict or one.workload in torn)
        }
    gangs = {queue[place].unit_set.gang for place in gone}
    sizes: Counter[Gang | None] = Counter(planned.unit_set.gang for planned in queue if planned.unit_set.gang in gangs)
    for gang in gangs:
        own = [place for place in assigned if queue[place].unit_set.gang == gang]
        staying = [queue[place].unit_set for place in own if place not in gone]
        if gang is not None and not is_whole(gang, staying, sizes[gang]):
            gone.update(own)
    return gone

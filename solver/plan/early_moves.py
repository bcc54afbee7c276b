"""Plans with moves that are there early: the plan in which nobody moves, and what local search makes of it.

The search by columns starts from what is found here, so that its result is no worse. Where a plan cannot be written as
columns, for it has members of gangs, it is kept beside the search, and the better one of both is the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ...models.workload.units import Allocations
from ...problem.messages import DeadlineExceededError
from ...problem.shapes import NodeView
from .assign import PlanAssignment, assign_plan
from .build import PlanInstance, PlanRequest, build_plan_instance
from .build.moves import HomeSlots
from .build.nodes import PlanNodeClass
from .build.objectives import MOVE_STAGES
from .first_fit import remaining_beside
from .heuristics import filling_deadline
from .incumbent import PlanValues, filled_beside, picks_of, values_with_more
from .master_problem import Column, IntegerPlan, PlanLimits, PlanSolution, StageResult, is_past, ordered_columns
from .move_search import search_moves
from .price_and_branch import solve_stages
from .pricing.bundle import Bundle, BundleUnit, Picks

# What part of the time that is left local search may take from first fit on, then the plan without moves, and then
# local search from that.
_FIRST_SEARCH_SHARE, _UNMOVED_SHARE, _SEARCH_SHARE = 1 / 6, 1 / 2, 1 / 2


@dataclass(frozen=True, slots=True)
class EarlyMoves:
    """A plan, and the plan to start from, which is the same one if it can be written as columns."""

    assignment: PlanAssignment | None = None
    start: IntegerPlan | None = None
    interrupted: bool = False

    def instance(self, instance: PlanInstance) -> PlanInstance:
        """The instance that starts from here."""
        return replace(instance, problem=replace(instance.problem, start=self.start)) if self.start else instance

    def solution(self, instance: PlanInstance) -> PlanSolution:
        """The plan to start from as a solution without bounds, where Ctrl-C leaves no time for others."""
        plan = self.start or instance.unmoved
        assert plan is not None
        stages = (goal.stage for goal in instance.goals)
        known = tuple(StageResult(one.name, plan.value(one.terms), None, proven=False, rounds=0) for one in stages)
        return PlanSolution(plan, known, (), interrupted=True)

    def better(
        self,
        request: PlanRequest,
        instance: PlanInstance,
        solution: PlanSolution,
        assignment: PlanAssignment,
        limits: PlanLimits,
    ) -> tuple[PlanSolution, PlanAssignment]:
        """Return the best, by stages, of a plan, what was found early, and what first fit makes of it and of no moves.

        Bounds hold as they are, as in ``better_plan``.
        """
        start, stages = instance.unmoved, solution.stages
        if start is None or (
            len(stages) == len(instance.goals) and all(stage.value == stage.bound for stage in stages)
        ):
            return solution, assignment
        best, values = assignment, [stage.value for stage in stages]
        if self.assignment is not None:
            counted = _values(request, instance, self.assignment)
            if _is_better(instance, counted, values):
                best, values = self.assignment, counted
        unmoved = replace(solution, plan=start)
        at_home = assign_plan(request, instance, unmoved)
        for made, before in ((solution, assignment), (unmoved, at_home)):
            if is_past(limits.deadline):
                break
            filled = filled_beside(request, before, limits)
            # An assignment that keeps the rules of pods may have units that the plan in which nobody moves has not.
            own = (at_home if made.plan is start else before).assigned.keys()
            more, fewer = filled.assigned.keys() - own, own - filled.assigned.keys()
            counted = list(values_with_more(request, instance, made.plan, more, fewer))
            if _is_better(instance, counted, values):
                solution, best, values = replace(solution, plan=made.plan), filled, counted
        if best is assignment:
            return solution, assignment
        told = (
            replace(one, value=value, proven=value == one.bound) for one, value in zip(stages, values, strict=False)
        )
        return replace(solution, stages=tuple(told)), best


def find_early_moves(request: PlanRequest, instance: PlanInstance, limits: PlanLimits) -> EarlyMoves:
    """Improve the plans in which nobody moves by local search: that of first fit, and then that of columns.

    Nothing is looked for where nodes are bought or go.
    """
    if request.catalogue is not None or (request.moves and request.moves.prices):
        return EarlyMoves()
    at_home = _unmoved_assignment(request)
    found = given = filled_beside(request, at_home, limits)
    interrupted = False
    for is_first in (True, False):
        if not is_first:
            if interrupted or set(request.open_positions) <= given.assigned.keys() or is_past(limits.deadline):
                break
            planned, interrupted = _unmoved_plan(request, at_home, limits)
            if not _is_better(instance, _values(request, instance, planned), _values(request, instance, given)):
                break
            given = planned
        ends = filling_deadline(limits.deadline, _FIRST_SEARCH_SHARE if is_first else _SEARCH_SHARE)
        searched = given if interrupted else search_moves(request, instance, given, ends)
        if is_first or _is_better(instance, _values(request, instance, searched), _values(request, instance, found)):
            found = searched
    plans = (plan_of_assignment(instance, request, one) for one in dict.fromkeys((found, given)))
    start = next((plan for plan in plans if plan is not None and _starts_better(instance, plan)), None)
    return EarlyMoves(found, start, interrupted)


def _values(request: PlanRequest, instance: PlanInstance, assignment: PlanAssignment) -> list[int]:
    """What the stages come to, up to one that takes a search to be known."""
    known = takewhile(lambda one: one is not None, PlanValues(request, instance, assignment).all())
    return [one for one in known if one is not None]


def _starts_better(instance: PlanInstance, plan: IntegerPlan) -> bool:
    before, terms = instance.unmoved, [goal.stage.terms for goal in instance.goals]
    return before is not None and _is_better(instance, list(map(plan.value, terms)), list(map(before.value, terms)))


def _is_better(instance: PlanInstance, values: Sequence[int], others: Sequence[int]) -> bool:
    """Compare stage by stage, as far as both are known."""
    for goal, value, other in zip(instance.goals, values, others, strict=False):
        if value != other:
            return (value > other) == goal.stage.maximise
    return False


def _unmoved_assignment(request: PlanRequest) -> PlanAssignment:
    """Everything that runs at home, beside what was placed before, and nothing of what waits."""
    nodes, homes = request.session.cluster, request.moves.homes if request.moves else {}
    assigned = {place: (nodes.node(name), made) for place, (name, made) in request.earlier.assigned.items()}
    for place, home in homes.items():
        held = dict(home.allocations)
        refs = request.queue[place].unit.requested_claims
        assigned[place] = nodes.node(home.node), tuple((ref, held[ref.key]) for ref in refs)
    return PlanAssignment(request.session.cluster, {}, assigned, tuple(assigned), {})


def _unmoved_plan(request: PlanRequest, at_home: PlanAssignment, limits: PlanLimits) -> tuple[PlanAssignment, bool]:
    """The plan of what waits beside what runs, and whether Ctrl-C ended it."""
    placed = {place: (node.metadata.name, made) for place, (node, made) in at_home.assigned.items()}
    state, rooms = remaining_beside(request.session, request.queue, placed)
    earlier = replace(request.earlier, allocated_state=state, room_by_node=rooms, assigned=placed)
    waiting = [place for place in request.open_positions if place not in placed]
    stages = tuple(name for name in request.objective if name not in MOVE_STAGES)
    beside = replace(request, moves=None, earlier=earlier, open_positions=waiting, objective=stages)
    part = replace(limits, deadline=filling_deadline(limits.deadline, _UNMOVED_SHARE))
    try:
        instance = build_plan_instance(beside, part.deadline)
    except DeadlineExceededError:
        return at_home, False
    solution = solve_stages(instance.problem, [goal.stage for goal in instance.goals], instance.pricer, limits=part)
    found = assign_plan(beside, instance, solution)
    return filled_beside(request, found, limits), solution.interrupted


def plan_of_assignment(instance: PlanInstance, request: PlanRequest, assignment: PlanAssignment) -> IntegerPlan | None:
    """Write an assignment in which running pods may move as columns; None where that cannot be done."""
    start, slots = instance.unmoved, instance.homes
    if start is None or slots is None:
        return None
    roles = _roles_by_place(instance)
    there: dict[str, list[int]] = defaultdict(list)
    for place, (at, _) in assignment.assigned.items():
        if place not in request.earlier.assigned:
            there[at.metadata.name].append(place)
    homes_on = slots.roles_at_home()
    unmoved = {column.node_class: column for column, _ in start.columns}
    columns = Counter[Column]()
    for node in instance.node_classes:
        for number, one in enumerate(node.nodes):
            own = there[one.metadata.name]
            homes = homes_on.get((node.index, number), {})
            staying = {place: homes[place] for place in own if place in homes and _stays(slots, assignment, place)}
            column = unmoved.get(node.index)
            if len(staying) < max(len(own), len(homes)):
                arriving = {place: roles[place] for place in own if place not in staying and place in roles}
                if len(arriving) + len(staying) < len(own):
                    return None
                column = _column(instance, assignment, node, number, {**staying, **arriving})
                if column is None:
                    return None
            if column is not None:
                columns[column] += 1
    placed = Counter[int]()
    for column, number in columns.items():
        placed.update({unit: amount * number for unit, amount in column.counts})
    units = tuple(placed[unit.index] for unit in instance.problem.units)
    plan = instance.problem.followed(replace(start, columns=ordered_columns(columns), units=units))
    return plan if plan.is_feasible(instance.problem, instance.problem.rows) else None


def _roles_by_place(instance: PlanInstance) -> Mapping[int, int]:
    """The role of each unit that goes somewhere by itself, where it has one alone."""
    found: dict[int, int] = {}
    several: set[int] = set()
    for role in instance.roles:
        for entry in role.ungrouped if role.move_cost is None else ():
            for place in entry.positions:
                if place in found or len(entry.positions) > 1:
                    several.add(place)
                found[place] = role.index
    return {place: role for place, role in found.items() if place not in several}


def _stays(slots: HomeSlots, assignment: PlanAssignment, place: int) -> bool:
    """Whether a running unit has its node and its devices."""
    node, made = assignment.assigned[place]
    return slots.homes[place].is_kept(node.metadata.name, made)


def _column(
    instance: PlanInstance, assignment: PlanAssignment, node: PlanNodeClass, number: int, roles: Mapping[int, int]
) -> Column | None:
    """The column of a node with these units; None if the class cannot express it."""
    question, by_role = instance.questions[node.index], defaultdict[int, list[int]](list)
    for place, role in roles.items():
        by_role[role].append(place)
    if not by_role.keys() <= {unit.index for unit in question.units}:
        return None
    view = instance.compiler.views.of(node.nodes[number], node.visible)
    try:
        copies = tuple(
            tuple(_picks(unit, view, assignment.assigned[place][1]) for place in by_role[unit.index])
            for unit in question.units
        )
    except KeyError:
        return None
    return instance.pricer.column(node.index, Bundle(copies))


def _picks(unit: BundleUnit, view: NodeView, made: Allocations) -> Picks:
    return () if unit.looks_at else tuple(picks_of(unit.problem, view, made))

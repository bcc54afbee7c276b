"""From a plan over classes to the answer: which unit goes to which node, which devices its claims get, what is bought.

A slot is one node's place for units that go together. Devices that nodes share are dealt out among the slots. The
outcome has units in the order of the queue, nodes, and stages.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice, repeat, takewhile

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.formats.runtime import gc_paused
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.results.common import ProofKind
from ...models.results.plan import PlanStage, display_number, plan_stage
from ...models.workload.expansion import OwnAllocations, QueuedUnit, unit_runs
from ...models.workload.node_room import plugin_classes, unknown_room_notices
from ...models.workload.quota import Admissions
from ...models.workload.units import Allocations, ClaimRef
from ...problem.requests import ResolvedRequest
from ...problem.shapes import NodeType, NodeView, NodeViews
from ..engines.result import ResultBuilder
from ..verification.plan_replay import UNITS_AT_ONCE
from .build import PlanInstance, PlanRequest
from .build.departures import Home
from .build.nodes import PlanNodeClass, with_bought_nodes
from .build.objectives import Goal
from .build.preferences import PREFERENCES, counted_preferences
from .build.quota_admission import pod_sets_by_workload
from .build.quota_stages import QUOTA_STAGES
from .build.units import ColocatedUnits, UnitClass
from .build.weights import planned_weight
from .master_problem import IntegerPlan, PlanSolution, StageResult, is_close
from .outcome import (
    FEASIBLE,
    INFEASIBLE,
    OPTIMAL,
    UNKNOWN,
    PlacementByUnit,
    PlannedUnitOutcome,
    PlannedUnits,
    PlanOutcome,
    PlanStatistics,
    ReasonsByUnit,
    TellPlaced,
    covered_groups,
    placed_outcomes,
    planned_nodes,
)
from .pricing.bundle import SPREAD, BundleUnit, Picks
from .pricing.search_order import first_in_search_order
from .quota_ledger import QuotaLedger
from .quota_outcome import planned_quota


class Slot(msgspec.Struct, frozen=True, eq=False):
    """Units that go together, on one node: the number of the node in its class, and the picks of the units' claims.

    ``admin`` are the demands with admin access. ``claims`` are shared ones that this slot is the first to name. A pod
    that stays ``at_home`` has what it has.
    """

    units: ColocatedUnits
    unit_class: UnitClass
    node_class: PlanNodeClass
    number: int
    picks: Picks
    admin: frozenset[int]
    looks: bool
    claims: tuple[tuple[UnitClass, Picks, frozenset[int]], ...]
    at_home: Home | None = None


def assign_slots(instance: PlanInstance, plan: IntegerPlan) -> list[Slot]:
    """Assign the units that a plan places, in the order in which they can be allocated.

    Those with nothing but admin access come first, for they see what is there now. The others are by node.
    """
    staying = instance.homes.staying_by_node(plan) if instance.homes else {}
    by_role = (own for roles in staying.values() for own in roles.values())
    waiting = _waiting_by_role(instance, plan, {place for own in by_role for place in own})
    found: list[Slot] = []
    numbers: Counter[int] = Counter()
    for column, times in plan.columns:
        node, linear = instance.node_classes[column.node_class], instance.pricer.linear
        if column.node_class in linear.devices and not instance.homes:
            own = linear.taken(column.node_class, column.payload)
        else:
            question, bundle = instance.questions[column.node_class], instance.pricer.bundle(column)
            if column.node_class not in linear.devices:
                bundle = first_in_search_order(question, bundle)
            # Where running pods may stay, units without copies count, too.
            own = [one for one in zip(question.units, bundle.copies, strict=True) if one[1] or instance.homes]
        for _ in range(times):
            here = staying.get((node.index, numbers[node.index]), {})
            assignment = list(_node_slots(instance, node, numbers[node.index], own, waiting, here))
            if assignment or instance.homes:
                numbers[node.index] += 1
                found += assignment
    return sorted(found, key=lambda slot: not slot.looks)


def _waiting_by_role(
    instance: PlanInstance, plan: IntegerPlan, staying: set[int]
) -> Mapping[int, deque[ColocatedUnits]]:
    """The units that are placed, by role: those of gangs first. Running pods that do not stay come before others."""
    waiting: dict[int, deque[ColocatedUnits]] = {role.index: deque() for role in instance.roles}
    taken: Counter[int] = Counter()
    for choice, number in zip(instance.gang_alternatives, plan.gangs, strict=True):
        if choice.gang_sets is None:
            continue
        first = taken[id(choice.gang_sets)]
        taken[id(choice.gang_sets)] += number
        for members in choice.gang_sets[first : first + number]:
            for kind, entry in members:
                waiting[choice.roles[kind.index]].append(entry)
    admitted = instance.admissions.admitted(plan.gangs) if instance.admissions else {}
    for one in admitted.values():
        for role_index, entry in one.units:
            waiting[role_index].append(entry)
    homes = instance.homes.homes if instance.homes else {}
    # Roles of one class in several domains have the same entries.
    dealt: Counter[int] = Counter()
    for role, number in zip(instance.roles, plan.units, strict=False):
        ready = role.ungrouped
        if homes:
            free = [one for one in ready if staying.isdisjoint(one.positions)]
            ready = sorted(free, key=lambda one: homes.keys().isdisjoint(one.positions))
        if role.move_cost is None:
            first = dealt[id(role.ungrouped)]
            waiting[role.index].extend(ready[first : first + number])
            dealt[id(role.ungrouped)] += number
    return waiting


def _node_slots(
    instance: PlanInstance,
    node: PlanNodeClass,
    number: int,
    pairs: Sequence[tuple[BundleUnit, Sequence[Picks]]],
    waiting: Mapping[int, deque[ColocatedUnits]],
    staying: Mapping[int, Sequence[int]],
) -> Iterator[Slot]:
    homes = instance.homes
    spare = homes.free_devices(node.index, staying) if homes else None
    claims = {
        unit.provides: (instance.roles[unit.index].unit_class, own[0], _admin_demands(unit))
        for unit, own in pairs
        if unit.provides and own
    }
    for unit, copies in pairs:
        if unit.index not in waiting:
            continue
        looks, unit_class = bool(unit.looks_at), instance.roles[unit.index].unit_class
        admin = _admin_demands(unit)
        for place in staying.get(unit.index, ()) if homes else ():
            if homes:
                home, entry = homes.homes[place], homes.entries[place]
                yield Slot(entry, unit_class, node, number, (), admin, False, (), home)
        for picks in copies:
            if waiting[unit.index]:
                entry = waiting[unit.index].popleft()
                if spare is not None:
                    picks = tuple(replace(pick, device=next(spare)) for pick in picks)
                named = tuple(claims.pop(key) for key in sorted(unit.names) if key in claims)
                yield Slot(entry, unit_class, node, number, unit.looks_at or picks, admin, looks, named)


def _admin_demands(unit: BundleUnit) -> frozenset[int]:
    return frozenset(demand.index for demand in unit.problem.demands if demand.admin)


@dataclass
class SlotAllocator:
    """Makes allocations. ``views`` see the cluster with all bought nodes, ``nodes`` are by node class."""

    instance: PlanInstance
    views: NodeViews
    nodes: Mapping[int, Sequence[Node]]
    builder: ResultBuilder
    _resolved: dict[tuple[UnitClass, NodeType], Sequence[ResolvedRequest]] = field(init=False, default_factory=dict)
    # Those of one unit, for all that have claims with the same specs.
    _claims: dict[Hashable, Sequence[ResourceClaim]] = field(init=False, default_factory=dict)
    _free: dict[DeviceId, Iterator[DeviceId]] = field(init=False, default_factory=dict)
    _class_of: dict[DeviceId, Sequence[DeviceId]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for own in self.instance.shared.classes:
            self._free.update(dict.fromkeys(own, iter(own)))
            self._class_of.update(dict.fromkeys(own, own))

    def placed(self, slot: Slot) -> Iterator[tuple[int, tuple[Node, Allocations]]]:
        """Yield each unit of a slot with its node, and the claims that it is the first to name.

        Raises ``FatalError`` (RES-7).
        """
        node = self.nodes[slot.node_class.index][slot.number]
        if slot.at_home:
            held = dict(slot.at_home.allocations)
            for place, planned in zip(slot.units.positions, slot.units.units, strict=True):
                yield place, (node, tuple((ref, held[ref.key]) for ref in planned.unit.requested_claims))
            return
        view = self.views.of(node, slot.node_class.visible)
        parts = (slot.unit_class, slot.picks, slot.admin), *slot.claims
        if self._free and not slot.looks:
            dealt = self._dealt(parts, view)
            parts = tuple((one, _with_dealt(picks, dealt), admin) for one, picks, admin in parts)
        if len(slot.units.units) == 1 and not (slot.claims or slot.units.apart or slot.unit_class.shared):
            # Most slots have one unit, with claims of its own.
            yield slot.units.positions[0], (node, self._single(slot, parts[0][1], view))
            return
        made: dict[ObjectKey, tuple[ClaimRef, AllocationResult]] = {}
        for unit_class, picks, _ in parts:
            requested = (unit_class.shared,) if unit_class.shared else slot.units.unallocated_claims
            made.update((pair[0].key, pair) for pair in self._built(unit_class, picks, requested, view))
        for place, planned in zip(slot.units.positions, slot.units.units, strict=True):
            mine = [made.pop(ref.key) for ref in planned.unit.requested_claims if ref.key in made]
            yield place, (node, tuple(mine))

    def _single(self, slot: Slot, picks: Picks, view: NodeView) -> Allocations:
        """What the one unit of a slot gets; its claims are not made where results do not depend on their names."""
        unit_class, planned = slot.unit_class, slot.units.units[0]
        expander = planned.expander
        kind = expander.claim_kind(planned.unit_set) if expander and unit_class.has_own_claims else None
        if kind is None or any(view.devices[pick.device].device.allow_multiple_allocations for pick in picks):
            return self._built(unit_class, picks, slot.units.unallocated_claims, view)
        if kind not in self._claims:
            self._claims[kind] = planned.unit.claims_to_allocate
        return OwnAllocations(planned, self._results(unit_class, picks, self._claims[kind], view))

    def _built(self, unit_class: UnitClass, picks: Picks, requested: Sequence[ClaimRef], view: NodeView) -> Allocations:
        claims = [ref.claim for ref in requested if ref.claim is not None]
        return tuple(zip(requested, self._results(unit_class, picks, claims, view), strict=True))

    def _results(
        self, unit_class: UnitClass, picks: Picks, claims: Sequence[ResourceClaim], view: NodeView
    ) -> tuple[AllocationResult, ...]:
        return self.builder.build(claims, self._requests(unit_class, view), picks, view) if claims else ()

    def _requests(self, unit_class: UnitClass, view: NodeView) -> Sequence[ResolvedRequest]:
        key = unit_class, view.shape
        found = self._resolved.get(key)
        if found is None:
            compiler = self.instance.compiler
            found = compiler.resolved_requests(compiler.question(unit_class.claims), view.shape)
            self._resolved[key] = found
        return found

    def _dealt(self, parts: Iterable[tuple[UnitClass, Picks, frozenset[int]]], view: NodeView) -> Mapping[int, int]:
        """For each pick of a shared device that is held, say which one of its class it gets that nobody has.

        Admin access may have any of them that these parts have not: what is apart in the picks stays apart (DEV-1).
        """
        numbers = {device.id: number for number, device in enumerate(view.devices)}
        dealt: dict[int, int] = {}
        flat = [(pick.demand in admin, pick.device) for _, picks, admin in parts for pick in picks]
        for has_admin, device in sorted(flat, key=lambda one: one[0]):
            own = self._class_of.get(view.devices[device].id)
            if own is not None and device not in dealt:
                taken = set(dealt.values())
                spare = (id_ for id_ in own if numbers[id_] not in taken)
                dealt[device] = numbers[next(spare if has_admin else self._free[own[0]])]
        return dealt


def _with_dealt(picks: Picks, dealt: Mapping[int, int]) -> Picks:
    return tuple(replace(pick, device=dealt.get(pick.device, pick.device)) for pick in picks)


@dataclass(frozen=True, slots=True, eq=False)
class PlanAssignment:
    """Where all units go: by position in the queue a node and allocations, and the order in which they are made.

    ``cluster`` has the nodes that are bought, which ``bought`` lists by the name of their template. Nodes with the same
    ``equivalence`` are equal for all planned units, and get equal units with equal devices. ``admissions`` are those of
    workloads that need quota.
    """

    cluster: Cluster
    bought: Mapping[str, tuple[Node, ...]]
    assigned: PlacementByUnit
    order: tuple[int, ...]
    equivalence: Mapping[str, Hashable]
    admissions: Admissions = field(default_factory=dict)


@gc_paused()
def assign_plan(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, tell: TellPlaced | None = None
) -> PlanAssignment:
    """Assign nodes and devices to the units that a plan places; ``tell`` gets them in parts. Raises ``FatalError``."""
    placed = assign_slots(instance, solution.plan)
    cluster, bought, nodes = _with_purchased_nodes(request, instance, placed)
    gates = request.session.gates
    views = (
        NodeViews(cluster.pools(gates), gates, plugin_classes(cluster, gates)) if bought else instance.compiler.views
    )
    assigned = {place: (cluster.node(name), made) for place, (name, made) in request.earlier.assigned.items()}
    allocator = SlotAllocator(instance, views, nodes, ResultBuilder(gates, request.session.seed))
    if tell and assigned:
        tell(assigned)
    units = (unit for slot in placed for unit in allocator.placed(slot))
    while part := dict(islice(units, UNITS_AT_ONCE)):
        assigned.update(part)
        if tell:
            tell(part)
    alike = _node_equivalence(request, nodes, placed)
    admitted = instance.admissions.admitted(solution.plan.gangs) if instance.admissions else {}
    admissions = pod_sets_by_workload(admitted)
    return PlanAssignment(cluster, bought, assigned, tuple(assigned), alike, admissions)


def _node_equivalence(
    request: PlanRequest, nodes: Mapping[int, Sequence[Node]], placed: Sequence[Slot]
) -> Mapping[str, Hashable]:
    """Say of each node what it is and gets, but for those with earlier placements.

    Nodes with one column have the same picks.
    """
    own: dict[tuple[int, int], list[Hashable]] = defaultdict(list)
    for slot in placed:
        own[slot.node_class.index, slot.number].append(
            (slot.unit_class.index, id(slot.picks), *((one.index, id(picks)) for one, picks, _ in slot.claims))
        )
    taken = request.earlier.nodes
    listed = ((kind, number, node.metadata.name) for kind, found in nodes.items() for number, node in enumerate(found))
    # What a node gets is long: it is compared as a number.
    numbers: dict[Hashable, int] = {}
    return {
        name: numbers.setdefault((kind, tuple(own.get((kind, number), ()))), len(numbers))
        for kind, number, name in listed
        if name not in taken
    }


def _with_purchased_nodes(
    request: PlanRequest, instance: PlanInstance, placed: Sequence[Slot]
) -> tuple[Cluster, Mapping[str, tuple[Node, ...]], Mapping[int, Sequence[Node]]]:
    """The cluster with what is bought, and the nodes of each class."""
    nodes: dict[int, Sequence[Node]] = {node.index: node.nodes for node in instance.node_classes}
    numbers = {slot.node_class: slot.number + 1 for slot in sorted(placed, key=lambda slot: slot.number)}
    kinds: dict[str, list[PlanNodeClass]] = defaultdict(list)
    for kind in sorted(numbers, key=lambda kind: kind.index):
        if request.catalogue and kind.template:
            kinds[request.catalogue.offers[kind.template].template.metadata.name].append(kind)
    counts = {name: sum(numbers[kind] for kind in own) for name, own in sorted(kinds.items())}
    cluster, bought = with_bought_nodes(request.session.cluster, counts)
    for name, own in kinds.items():
        free = iter(bought[name])
        nodes.update((kind.index, list(islice(free, numbers[kind]))) for kind in own)
    return cluster, bought, nodes


def admitted_queue(request: PlanRequest, assignment: PlanAssignment) -> Sequence[QueuedUnit]:
    """The queue with the units of admitted workloads as they are with their flavors."""
    quota = request.quota
    return quota.admitted_queue(request.queue, assignment.admissions) if quota else request.queue


def build_plan_outcome(
    request: PlanRequest,
    instance: PlanInstance,
    solution: PlanSolution,
    assignment: PlanAssignment,
    reasons: ReasonsByUnit,
    gap: float,
    relaxed_bounds: Sequence[float | None] = (),
    placed: Mapping[int, PlannedUnitOutcome] | None = None,
) -> PlanOutcome:
    """Return the outcome, which is not verified yet. ``placed`` are the units with nodes, if they are made already.

    ``relaxed_bounds`` hold for all plans, in the order of the stages, where those of a narrowed instance do not.
    """
    results = [
        _counted_again(request, assignment, goal, result)
        for goal, result in zip(instance.goals, solution.stages, strict=False)
    ]
    pairs = zip(instance.goals, results, chain(relaxed_bounds, repeat(None)), strict=False)
    stages = tuple(
        _stage_outcome(instance, request, assignment, goal, result, bound, gap) for goal, result, bound in pairs
    )
    queue = admitted_queue(request, assignment)
    placed = placed_outcomes(queue, assignment.assigned, assignment.order) if placed is None else placed
    statistics = PlanStatistics(
        units=len(request.queue),
        unit_classes=len(instance.unit_classes),
        nodes=len(assignment.cluster.nodes),
        node_classes=len(instance.node_classes),
        devices=assignment.cluster.device_count,
        columns=len(solution.columns),
        rounds=sum(stage.rounds for stage in solution.stages),
    )
    nodes = () if request.only_new else request.session.cluster.nodes.values()
    return PlanOutcome(
        _plan_status(request, instance, solution, stages, len(assignment.assigned)),
        PlannedUnits.of(queue, placed, reasons),
        planned_nodes(assignment.cluster, assignment.bought, assignment.assigned.values()),
        stages,
        request.session.gates,
        request.session.policy,
        gap,
        bought=assignment.bought,
        statistics=statistics,
        notices=(*_unknown_rooms(nodes, request.queue, buys=request.catalogue is not None), *request.earlier.notices),
        quota=planned_quota(request.quota, request.queue, assignment.admissions, reasons) if request.quota else None,
        coverage=tuple(covered_groups(request.queue, assignment.assigned)),
    )


def _unknown_rooms(nodes: Iterable[Node], queue: Sequence[QueuedUnit], *, buys: bool) -> tuple[str, ...]:
    """Say which nodes have unknown room. The one without a name stands for unknown nodes; what is bought is known."""
    listed = [node for node in nodes if node.metadata.name or not buys]
    return unknown_room_notices(listed, (queue[places[0]].unit for _, places in unit_runs(queue)))


def _counted_again(request: PlanRequest, assignment: PlanAssignment, goal: Goal, result: StageResult) -> StageResult:
    """The value of a stage of which the search knows a part only, or with earlier placements."""
    if result.name == PREFERENCES:
        return replace(
            result, value=counted_preferences(assignment.cluster, request.queue, assignment.assigned) - goal.earlier
        )
    if result.name != SPREAD.id or not request.earlier.assigned:
        return result
    own = (node for place, (node, _) in assignment.assigned.items() if place not in request.earlier.daemons)
    units = Counter(node.metadata.name for node in own)
    return replace(result, value=sum(number**2 for number in units.values()))


def bought_cost(assignment: PlanAssignment) -> Fraction:
    """The price of all nodes that are bought."""
    templates = assignment.cluster.node_templates
    bought = assignment.bought.items()
    return sum((Fraction(str(templates[name].spec.price or 0)) * len(nodes) for name, nodes in bought), Fraction(0))


def _stage_value(
    request: PlanRequest, instance: PlanInstance, assignment: PlanAssignment, goal: Goal, result: StageResult
) -> float:
    """The value of a stage in its own unit; it is counted again where the instance rounds."""
    if not goal.rounding or result.name == PREFERENCES:
        return goal.display_value(result.value)
    weigh, admissions = goal.weigh, instance.admissions
    if admissions is not None and result.name.partition("=")[0] in QUOTA_STAGES:
        ledger = QuotaLedger(admissions.problem, assignment.admissions)
        return display_number(admissions.stages.exact_value(result.name, ledger))
    exact = bought_cost(assignment) if weigh is None else planned_weight(request.queue, assignment.assigned, weigh)
    return display_number(exact)


def _stage_outcome(
    instance: PlanInstance,
    request: PlanRequest,
    assignment: PlanAssignment,
    goal: Goal,
    result: StageResult,
    relaxed_bounds: float | None,
    gap: float,
) -> PlanStage:
    """Convert a stage to its own unit. Where the instance is narrowed, the bound comes from a relaxed instance."""
    value = _stage_value(request, instance, assignment, goal, result)
    bound = goal.display_value(goal.limit - goal.earlier)
    if result.bound is not None and not instance.is_narrowed:
        bound = goal.display_bound(result.bound)
        if not goal.stage.maximise or goal.weigh is not None:
            tightest = min if goal.stage.maximise else max
            bound = tightest(bound, goal.display_value(goal.limit - goal.earlier))
    elif relaxed_bounds is not None:
        bound = (min if goal.stage.maximise else max)(bound, relaxed_bounds)
    proven = is_close(value, bound, goal.stage.gap(gap))
    # All units are placed, or nothing is spent.
    everything = goal.weigh is not None and value == goal.display_value(goal.limit - goal.earlier)
    proof = ProofKind.WITNESS if everything or not (goal.stage.maximise or value) else ProofKind.SOLVER
    return plan_stage(result.name, value, bound, proven, goal.stage.maximise, proof)


def _plan_status(
    request: PlanRequest, instance: PlanInstance, solution: PlanSolution, stages: Sequence[PlanStage], placed: int
) -> str:
    complete = len(stages) == len(instance.goals) and not solution.interrupted
    if complete and all(stage.proven for stage in stages):
        is_free = request.catalogue is not None and request.budget is None and request.moves is None
        return INFEASIBLE if is_free and _is_infeasible(instance.goals, stages) else OPTIMAL
    # A bound alone decides nothing.
    nothing = not placed and not any(stage.proven for stage in solution.stages)
    return UNKNOWN if nothing else FEASIBLE


def _is_infeasible(goals: Sequence[Goal], stages: Sequence[PlanStage]) -> bool:
    """Whether no plan places all units: the bound of a stage that counts units is below the value of all of them."""
    of_units = takewhile(lambda pair: pair[0].weigh is not None, zip(goals, stages, strict=True))
    pairs = ((stage.bound, goal.display_value(goal.limit - goal.earlier)) for goal, stage in of_units)
    return any(bound is not None and bound < everything for bound, everything in pairs)

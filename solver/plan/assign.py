"""From a plan over classes to the answer: which unit goes to which node, which devices its claims get, what is bought.

A slot is one node's place for units that go together. Devices that nodes share are dealt out among the slots. The
outcome has units in the order of the queue, nodes, and stages.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat, takewhile

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, PoolId
from ...models.results.common import Reason
from ...models.results.plan import PlannedNode, PlanStage, plan_stage
from ...models.workload.expansion import QueuedUnit
from ...models.workload.units import ClaimRef
from ...problem.shapes import NodeView, NodeViews
from ..engines.search import Pick
from .build import PlanInstance, PlanRequest
from .build.nodes import PlanNodeClass, with_bought_nodes
from .build.objectives import Goal
from .build.units import ColocatedUnits, UnitClass
from .master_problem import IntegerPlan, PlanSolution, StageResult, is_close
from .outcome import FEASIBLE, INFEASIBLE, OPTIMAL, UNKNOWN, PlannedUnitOutcome, PlanOutcome, PlanStatistics
from .pricing.bundle import SPREAD, Bundle, Picks


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A party on a node of a kind: the number of the node there, and the picks of its claims."""

    entry: ColocatedUnits
    kind: UnitClass
    node_kind: PlanNodeClass
    number: int
    picks: Picks


def assign_slots(posed: PlanInstance, plan: IntegerPlan) -> list[Slot]:
    """Seat the parties that a plan places: by node, and there in the order in which they can be allocated."""
    waiting = _waiting_by_role(posed, plan)
    found: list[Slot] = []
    numbers: Counter[int] = Counter()
    for column, times in plan.columns:
        node = posed.nodes[column.node_class]
        bundle = posed.pricer.bundle(column)
        for _ in range(times):
            seated = list(_node_slots(posed, node, numbers[node.index], bundle, waiting))
            if seated:
                numbers[node.index] += 1
                found += seated
    return found


def _waiting_by_role(posed: PlanInstance, plan: IntegerPlan) -> Mapping[int, deque[ColocatedUnits]]:
    """The parties that are placed, by role: those of gangs first."""
    waiting: dict[int, deque[ColocatedUnits]] = {role.index: deque() for role in posed.roles}
    taken: Counter[int] = Counter()
    for choice, number in zip(posed.choices, plan.gangs, strict=True):
        if choice.flock is None:
            continue
        first = taken[id(choice.flock)]
        taken[id(choice.flock)] += number
        for members in choice.flock.sets[first : first + number]:
            for kind, entry in members:
                waiting[choice.roles[kind.index]].append(entry)
    for role, number in zip(posed.roles, plan.units, strict=False):
        waiting[role.index].extend(role.singles[:number])
    return waiting


def _node_slots(
    posed: PlanInstance, node: PlanNodeClass, number: int, bundle: Bundle, waiting: Mapping[int, deque[ColocatedUnits]]
) -> Iterator[Slot]:
    question = posed.questions[node.index]
    for unit, copies in zip(question.units, bundle.copies, strict=True):
        if unit.index not in waiting:
            continue
        for picks in copies:
            if waiting[unit.index]:
                entry = waiting[unit.index].popleft()
                yield Slot(entry, posed.roles[unit.index].kind, node, number, picks)


@dataclass(frozen=True, slots=True, eq=False)
class AllocatedSlot:
    """A seat on its node, with what each claim of the party gets."""

    seat: Slot
    node: Node
    allocations: tuple[tuple[ClaimRef, AllocationResult], ...]


@dataclass
class SlotAllocator:
    """Makes allocations. ``views`` see the cluster as it is when all nodes are there, ``nodes`` are by kind."""

    posed: PlanInstance
    views: NodeViews
    nodes: Mapping[int, Sequence[Node]]
    _classes: dict[DeviceId, int] = field(init=False, default_factory=dict)
    _free: dict[int, Iterator[DeviceId]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for number, own in enumerate(self.posed.shared.classes):
            self._classes.update(dict.fromkeys(own, number))
            self._free[number] = iter(own)

    def placed(self, seats: Sequence[Slot]) -> list[AllocatedSlot]:
        """Allocate, seat by seat. Raises ``FatalError`` (RES-7)."""
        return [self._placed(seat) for seat in seats]

    def _placed(self, seat: Slot) -> AllocatedSlot:
        node = self.nodes[seat.node_kind.index][seat.number]
        asked = seat.entry.asked
        if not asked:
            return AllocatedSlot(seat, node, ())
        compiler = self.posed.engine.compiler
        view = self.views.of(node, seat.node_kind.visible)
        claims = [ref.claim for ref in asked if ref.claim is not None]
        picks = self._dealt(seat, view) if self._classes else seat.picks
        made = self.posed.engine.builder.build(
            claims, compiler.resolved_requests(compiler.question(seat.kind.claims)), picks, view
        )
        return AllocatedSlot(seat, node, tuple(zip(asked, made, strict=True)))

    def _dealt(self, seat: Slot, view: NodeView) -> list[Pick]:
        """Give each pick of a shared device the next one of its class that nobody has."""
        numbers = {device.id: number for number, device in enumerate(view.devices)}
        return [self._next(pick, view, numbers) for pick in seat.picks]

    def _next(self, pick: Pick, view: NodeView, numbers: Mapping[DeviceId, int]) -> Pick:
        own = self._classes.get(view.devices[pick.device].id)
        return pick if own is None else Pick(pick.demand, numbers[next(self._free[own])])


Allocations = tuple[tuple[ClaimRef, AllocationResult], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlanAssignment:
    """Where everything goes: by place in the queue a node and allocations, and the order in which they are made.

    ``cluster`` has the nodes that are bought, which ``bought`` lists by the name of their template. Nodes of which
    ``alike`` says the same are equal for all that is planned, and get equal units with equal devices.
    """

    cluster: Cluster
    bought: Mapping[str, tuple[Node, ...]]
    where: Mapping[int, tuple[Node, Allocations]]
    order: tuple[int, ...]
    alike: Mapping[str, Hashable]


def assign_plan(ask: PlanRequest, posed: PlanInstance, found: PlanSolution) -> PlanAssignment:
    """Put a plan into practice. Raises ``FatalError``."""
    placed = assign_slots(posed, found.plan)
    cluster, bought, nodes = _with_purchased_nodes(ask, posed, placed)
    gates = ask.session.gates
    views = NodeViews(cluster.pools(gates), gates) if bought else posed.engine.views
    where = {place: (cluster.node(name), made) for place, (name, made) in ask.ahead.where.items()}
    for one in SlotAllocator(posed, views, nodes).placed(placed):
        where.update(_unit_allocations(one))
    return PlanAssignment(cluster, bought, where, tuple(where), _node_equivalence(ask, nodes, placed))


def _node_equivalence(
    ask: PlanRequest, nodes: Mapping[int, Sequence[Node]], placed: Sequence[Slot]
) -> Mapping[str, Hashable]:
    """Say of nodes what they are and get; not of those where something was placed ahead."""
    own: dict[tuple[int, int], list[Hashable]] = defaultdict(list)
    for seat in placed:
        own[seat.node_kind.index, seat.number].append((seat.kind.index, seat.picks))
    taken = ask.ahead.nodes
    listed = ((kind, number, node.metadata.name) for kind, found in nodes.items() for number, node in enumerate(found))
    return {name: (kind, tuple(own.get((kind, number), ()))) for kind, number, name in listed if name not in taken}


def _with_purchased_nodes(
    ask: PlanRequest, posed: PlanInstance, placed: Sequence[Slot]
) -> tuple[Cluster, Mapping[str, tuple[Node, ...]], Mapping[int, Sequence[Node]]]:
    """The cluster with what is bought, and the nodes of each kind."""
    nodes: dict[int, Sequence[Node]] = {node.index: node.nodes for node in posed.nodes}
    numbers = {seat.node_kind: seat.number + 1 for seat in sorted(placed, key=lambda seat: seat.number)}
    kinds: dict[str, list[PlanNodeClass]] = defaultdict(list)
    for kind in sorted(numbers, key=lambda kind: kind.index):
        if ask.shop and kind.template:
            kinds[ask.shop.offers[kind.template].template.metadata.name].append(kind)
    counts = {name: sum(numbers[kind] for kind in own) for name, own in sorted(kinds.items())}
    cluster, bought = with_bought_nodes(ask.session.cluster, counts)
    for name, own in kinds.items():
        free = iter(bought[name])
        nodes.update((kind.index, list(islice(free, numbers[kind]))) for kind in own)
    return cluster, bought, nodes


def _unit_allocations(placed: AllocatedSlot) -> Mapping[int, tuple[Node, Allocations]]:
    """Each unit with the claims that it is the first to name."""
    made = {ref.key: (ref, allocation) for ref, allocation in placed.allocations}
    found: dict[int, tuple[Node, Allocations]] = {}
    for place, planned in zip(placed.seat.entry.places, placed.seat.entry.party, strict=True):
        own = [made.pop(ref.key) for ref in planned.unit.requested_claims if ref.key in made]
        found[place] = placed.node, tuple(own)
    return found


def build_plan_outcome(
    ask: PlanRequest,
    posed: PlanInstance,
    found: PlanSolution,
    seated: PlanAssignment,
    reasons: Mapping[int, tuple[Reason, ...]],
    gap: float,
    looser: Sequence[float | None] = (),
) -> PlanOutcome:
    """Write the answer down; it is not verified yet. ``looser`` are bounds of all plans where posed ones are not."""
    results = [_spread_with_earlier_units(ask, seated, result) for result in found.stages]
    told = zip(posed.goals, results, chain(looser, repeat(None)), strict=False)
    stages = tuple(_stage_outcome(posed, goal, result, bound, gap) for goal, result, bound in told)
    units = tuple(
        _unit_outcome(one, seated.where.get(place), reasons.get(place, ())) for place, one in enumerate(ask.queue)
    )
    return PlanOutcome(
        _plan_status(ask, posed, found, stages, len(seated.where)),
        units,
        tuple(_node_outcomes(seated, ask.session.gates)),
        stages,
        ask.session.gates,
        ask.session.policy,
        gap,
        bought=seated.bought,
        statistics=_statistics(ask, posed, found, seated.cluster),
        notices=tuple(ask.ahead.notices),
    )


def _spread_with_earlier_units(ask: PlanRequest, seated: PlanAssignment, result: StageResult) -> StageResult:
    """What a stage came to with what was placed ahead, where that is no sum of both."""
    if result.name != SPREAD.id or not ask.ahead.where:
        return result
    units = Counter(node.metadata.name for node, _ in seated.where.values())
    return replace(result, value=sum(number**2 for number in units.values()))


def _stage_outcome(posed: PlanInstance, goal: Goal, result: StageResult, looser: float | None, gap: float) -> PlanStage:
    """Tell a stage in its own unit. Where the instance leaves something out, what demands less bounds it."""
    value, bound = goal.told(result.value), goal.told(goal.limit - goal.ahead)
    if result.bound is not None and not posed.is_narrowed:
        bound = goal.told(result.bound)
    elif looser is not None:
        bound = (min if goal.stage.maximise else max)(bound, looser)
    return plan_stage(result.name, value, bound, is_close(value, bound, gap), goal.stage.maximise)


def _unit_outcome(
    planned: QueuedUnit, where: tuple[Node, Allocations] | None, reasons: tuple[Reason, ...]
) -> PlannedUnitOutcome:
    node, allocations = (where[0].metadata.name, where[1]) if where else (None, ())
    return PlannedUnitOutcome.of(planned, node, reasons, allocations)


def _plan_status(
    ask: PlanRequest, posed: PlanInstance, found: PlanSolution, stages: Sequence[PlanStage], placed: int
) -> str:
    complete = len(stages) == len(posed.goals) and not found.interrupted
    if complete and all(stage.proven for stage in stages):
        is_free = ask.shop is not None and ask.budget is None
        return INFEASIBLE if is_free and _is_infeasible(posed.goals, stages) else OPTIMAL
    nothing = not placed and all(stage.bound is None for stage in found.stages)
    return UNKNOWN if nothing else FEASIBLE


def _is_infeasible(goals: Sequence[Goal], stages: Sequence[PlanStage]) -> bool:
    """Whether no plan places all units: one that did would be as good in all stages before those about other things."""
    of_units = takewhile(lambda pair: pair[0].is_of_units, zip(goals, stages, strict=True))
    return any(stage.bound is not None and stage.bound < goal.told(goal.limit - goal.ahead) for goal, stage in of_units)


def _node_outcomes(seated: PlanAssignment, gates: FeatureGates) -> list[PlannedNode]:
    """Count devices of nodes' own, those that are held, and planned units."""
    cluster = seated.cluster
    templates = {node.metadata.name: name for name, nodes in seated.bought.items() for node in nodes}
    units = Counter(node.metadata.name for node, _ in seated.where.values())
    own: Counter[str] = Counter()
    home: dict[PoolId, str] = {}
    newest: dict[PoolId, int] = defaultdict(int)
    for slice_ in cluster.slices:
        pool = slice_.spec.driver, slice_.spec.pool.name
        newest[pool] = max(newest[pool], slice_.spec.pool.generation)
    for slice_ in cluster.slices:
        name, pool = slice_.spec.node_name, (slice_.spec.driver, slice_.spec.pool.name)
        if name and slice_.spec.pool.generation == newest[pool]:
            own[name] += len(slice_.spec.devices or ())
            home[pool] = name
    used = _used_devices(seated, home, gates)
    listed = [name for name in cluster.nodes if name not in templates] + list(templates)
    return [
        PlannedNode(
            name=name,
            new=name in templates,
            template=templates.get(name, ""),
            devices=own[name],
            used=len(used[name]),
            units=units[name],
        )
        for name in listed
    ]


def _used_devices(seated: PlanAssignment, home: Mapping[PoolId, str], gates: FeatureGates) -> Mapping[str, set[str]]:
    """Devices of nodes that are held, by node."""
    found: dict[str, set[str]] = defaultdict(set)
    made = [allocation for _, pairs in seated.where.values() for _, allocation in pairs]
    claims = (claim.status for claim in seated.cluster.claims.values())
    held = [status.allocation for status in claims if status is not None and status.allocation is not None]
    for allocation in (*held, *made):
        for result in allocation.devices.results or ():
            name = home.get((result.driver, result.pool))
            if name is not None and not result.admin_access:
                found[name].add(result.device)
    return found


def _statistics(ask: PlanRequest, posed: PlanInstance, found: PlanSolution, cluster: Cluster) -> PlanStatistics:
    return PlanStatistics(
        units=len(ask.queue),
        unit_classes=len(posed.kinds),
        nodes=len(cluster.nodes),
        node_classes=len(posed.nodes),
        devices=cluster.device_count,
        columns=found.columns,
        rounds=sum(stage.rounds for stage in found.stages),
    )

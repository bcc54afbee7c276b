"""The figures by which plans are compared, counted from final allocations: admitted units, gangs and fragmentation.

Fragmentation is what is free of devices and of no use to the units of the queue. A device is free if nobody holds it,
and its counters and compatibility groups let somebody take it; of a device that may be shared the part counts that is
left of the capacity of which the least is left. A class of units (equal ones of the queue, placed or not) can use a
free device of a node if one more unit fits there, by all rules: the node suits it and has room for its requests, and
its claims have an allocation beside all that is held; and if one of its requests could take this device. A class
without claims can use none. Each class counts as often as it has units. This is the measure of fragmentation gradient
descent (Weng and others, USENIX ATC 2023), with devices in place of GPUs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.workload.expansion import QueuedUnit, expand_units
from ...models.workload.gangs import is_whole
from ...models.workload.node_room import missing_resources
from ...models.workload.queue import read_queue
from ...models.workload.requests import format_amount
from ...models.workload.unit_classes import Gang, UnitSet
from ...problem.compiler import Compiler
from ...problem.filters import usable_devices
from ...problem.messages import DeadlineExceededError, FatalError
from ...problem.problem import Demand, InUse, Problem
from ...problem.selectors import NodeResourceClaims
from ...problem.shapes import NodeType
from ..engines.engine import Session
from ..engines.engines import NodeCompiler
from ..engines.registry import backtracking_engine
from ..plan.master_problem import is_past
from ..plan.node_states import (
    AllocationTrials,
    DeviceState,
    NodeState,
    NodeStates,
    SequentialContext,
    TimeOverError,
    UnitRequirements,
)
from ..plan.outcome import PlannedUnitOutcome

# Parts of a device that are counted.
PARTS_OF_DEVICE = 1_000_000
# By the number of a device, how many parts of it are free; those of which none are free are not there.
FreeParts: TypeAlias = Mapping[int, int]
# Numbers of devices, and how many parts of them are free.
_UsableParts: TypeAlias = tuple[frozenset[int], int]
_NO_USABLE_PARTS: _UsableParts = (frozenset(), 0)


class TargetWorkload:
    """The classes of a queue, each with its number of units, and what they can use."""

    def __init__(
        self, classes: Sequence[tuple[UnitRequirements, int]], trials: AllocationTrials, compiler: Compiler
    ) -> None:
        self.classes = classes
        self.units = sum(units for _, units in classes)
        self._trials = trials
        self._compiler = compiler
        self._free: dict[DeviceState, FreeParts] = {}
        self._known: dict[Hashable, _UsableParts] = {}
        self._wasted: dict[NodeState, int] = {}

    def free(self, devices: DeviceState) -> FreeParts:
        """Find what is free of the devices that a node reaches."""
        if devices not in self._free:
            self._free[devices] = _free_parts(devices.view.shape, devices.in_use)
        return self._free[devices]

    def usable(self, requirements: UnitRequirements, state: NodeState) -> frozenset[int]:
        """Find the free devices that a class can use on a node in this state. Raises ``TimeOverError``."""
        return self._of_use(requirements, state)[0]

    def wasted(self, state: NodeState) -> int:
        """Count the free parts on a node in this state that a class cannot use, for each unit of the queue.

        Raises ``TimeOverError``.
        """
        if state not in self._wasted:
            free = sum(self.free(state.devices).values())
            classes = self.classes if free else ()
            used = sum(units * self._of_use(requirements, state)[1] for requirements, units in classes)
            self._wasted[state] = self.units * free - used
        return self._wasted[state]

    def _of_use(self, requirements: UnitRequirements, state: NodeState) -> _UsableParts:
        if requirements.refused or not requirements.claims or not state.suits[requirements.suitable.number]:
            return _NO_USABLE_PARTS
        counted = state if requirements.budget else None
        key = requirements.question.index, state.devices, counted
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._on(requirements, state)
        # Rooms are many and devices few, so that room is asked for last.
        return found if found[1] and not missing_resources(requirements.requests, state.room) else _NO_USABLE_PARTS

    def _on(self, requirements: UnitRequirements, state: NodeState) -> _UsableParts:
        devices = state.devices
        free = self.free(devices)
        if not free or not self._trials.of(requirements, state).fits:
            return _NO_USABLE_PARTS
        try:
            problem = self._compiler.problem(requirements.question, devices.view.shape)
        except FatalError:
            return _NO_USABLE_PARTS
        except DeadlineExceededError as error:
            raise TimeOverError(str(error)) from None
        found = zip(problem.demands, usable_devices(problem, devices.in_use), strict=True)
        taken = {device for demand, candidates in found if not demand.admin for device in candidates}
        numbers = frozenset(taken & free.keys())
        return numbers, sum(free[number] for number in numbers)


def _free_parts(shape: NodeType, in_use: InUse) -> FreeParts:
    """The parts of each device that somebody who asks for any device could take."""
    reached = tuple(number for number, reachable in enumerate(shape.reachable) if reachable)
    anything = Demand(0, 0, "", "", "", 1, all_devices=False, admin=False, candidates=reached)
    problem = Problem(
        len(shape.profiles),
        (),
        (anything,),
        shared=shape.shared,
        capacities=shape.capacities,
        counters=shape.counters,
        groups=shape.groups,
    )
    parts = {number: _free_part(number, shape, in_use) for number in usable_devices(problem, in_use)[0]}
    return {number: part for number, part in parts.items() if part > 0}


def _free_part(device: int, shape: NodeType, in_use: InUse) -> int:
    """Only devices that may be shared are ever held in part."""
    if device not in shape.shared:
        return PARTS_OF_DEVICE
    totals, consumed = shape.capacities.totals, in_use.consumed
    rows = [row for row in shape.capacities.rows.get(device, ()) if totals[row] > 0]
    return min(
        ((totals[row] - consumed.get(row, 0)) * PARTS_OF_DEVICE // totals[row] for row in rows), default=PARTS_OF_DEVICE
    )


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """Devices that are free, and how many of them the average unit of the queue cannot use; see ``fragmentation``.

    Parts of devices count, so that these are no whole numbers. ``all`` are the devices that the nodes reach.
    """

    free: float
    wasted: float
    all: int

    @property
    def of_free(self) -> float:
        """The part of the free devices, 0 to 1."""
        return round(self.wasted / self.free, 6) if self.free else 0.0

    @property
    def of_all(self) -> float:
        """The part of all devices, 0 to 1."""
        return round(self.wasted / self.all, 6) if self.all else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of units and gangs that are placed, and of devices that are used.

    A gang counts if it is whole with those of its members that run. ``used`` are the devices that anybody holds in
    any way, those that ran before included, of ``devices`` that the nodes reach. ``whole`` are those on nodes that
    reach no device in use. What was not known before time was up is None.
    """

    admitted: int
    gangs: int
    used: int | None = None
    devices: int | None = None
    whole: int | None = None
    fragmentation: Fragmentation | None = None


def figures(
    inputs: SchedulingInput,
    outcomes: Sequence[PlannedUnitOutcome],
    deadline: float | None = None,
    latest: float | None = None,
) -> Figures:
    """Count; ``outcomes`` are those of the units, in their order.

    After ``deadline`` it is not asked what classes can use, and after ``latest`` devices are not counted.
    """
    admitted = sum(
        one.node is not None and not inputs.ran_before(unit) for unit, one in zip(inputs.units, outcomes, strict=True)
    )
    counted = Figures(admitted, _whole_gangs(inputs.units, outcomes))
    try:
        context = SchedulingContext(inputs, latest)
        node_states = context.node_states
        for unit, one in zip(inputs.units, outcomes, strict=True):
            if is_past(latest):
                raise TimeOverError
            if one.node is not None:
                made = {ref.key: allocation for ref, allocation in one.allocations}
                node_states.add_pod(node_states.position(one.node), context.requests(unit, made), made.items())
        views = [node_states.view(position) for position in range(node_states.size)]
        in_use = node_states.allocated_state.usage.in_use
        of_nodes = [
            {device.id for device, is_reached in zip(view.devices, view.shape.reachable, strict=True) if is_reached}
            for view in views
        ]
        used = {device for devices in of_nodes for device in devices if in_use(device)}
        reached = {device for devices in of_nodes for device in devices}
        whole = {device for devices in of_nodes if used.isdisjoint(devices) for device in devices}
        counted = replace(counted, used=len(used), devices=len(reached), whole=len(whole))
        context.trials.deadline = deadline
        return replace(counted, fragmentation=_fragmentation(node_states, context.workload, len(reached)))
    except TimeOverError:
        return counted


def _whole_gangs(units: Iterable[QueuedUnit], outcomes: Iterable[PlannedUnitOutcome]) -> int:
    members: Counter[Gang] = Counter()
    placed: dict[Gang, list[UnitSet]] = defaultdict(list)
    for unit, one in zip(units, outcomes, strict=True):
        gang = unit.unit_set.gang
        if gang is not None:
            members[gang] += 1
            placed[gang] += [unit.unit_set] if one.node is not None else []
    return sum(bool(own) and is_whole(gang, own, members[gang]) for gang, own in placed.items())


def _fragmentation(node_states: NodeStates, workload: TargetWorkload, devices: int) -> Fragmentation:
    """Devices that several nodes reach count once: a class can use them if it can on one of these nodes."""
    free: dict[DeviceId, int] = {}
    of_use: list[set[DeviceId]] = [set() for _ in workload.classes]
    for state, positions in node_states.groups.items():
        numbers = [workload.usable(requirements, state) for requirements, _ in workload.classes]
        for position in positions:
            own = node_states.view(position).devices
            free.update((own[number].id, part) for number, part in workload.free(state.devices).items())
            for found, usable in zip(of_use, numbers, strict=True):
                found.update(own[number].id for number in usable)
    total = sum(free.values())
    used = sum(
        units * sum(free[one] for one in found) for found, (_, units) in zip(of_use, workload.classes, strict=True)
    )
    parts = max(1, workload.units) * PARTS_OF_DEVICE
    return Fragmentation(total / PARTS_OF_DEVICE, (workload.units * total - used) / parts, devices)


class MoreUnits(NamedTuple):
    """How many more units like ``unit`` go on each of these nodes, one after the other, and what stops the next."""

    unit: str
    nodes: tuple[str, ...]
    fits: int
    stops: str


# More copies than these are not counted on one node.
_MOST_COPIES = 64


def more_units(
    context: SchedulingContext, units: Sequence[QueuedUnit], outcomes: Sequence[PlannedUnitOutcome]
) -> list[MoreUnits]:
    """Count for each class of units with claims what fits beside a plan; ``context`` is a fresh one.

    Nodes with the same number and the same obstacle are told together. What is not counted when time is up is left out.
    """
    node_states = context.node_states
    for unit, one in zip(units, outcomes, strict=True):
        if one.node is not None:
            made = {ref.key: allocation for ref, allocation in one.allocations}
            node_states.add_pod(node_states.position(one.node), context.requests(unit, made), made.items())
    firsts: dict[bytes, QueuedUnit] = {}
    for unit in units:
        firsts.setdefault(unit.unit_set.shape.signature, unit)
    found: list[MoreUnits] = []
    for unit, (requirements, _) in zip(firsts.values(), context.classes, strict=True):
        if not requirements.claims or requirements.refused:
            continue
        alike: dict[tuple[int, str], list[str]] = defaultdict(list)
        try:
            for state, positions in node_states.groups.items():
                alike[_copies_on(context, requirements, state)] += [
                    node_states.node(position).metadata.name for position in positions
                ]
        except TimeOverError:
            break
        own = unit.unit_set
        title = f"{own.kind} {own.namespace}/{own.name}"
        ordered = sorted(alike.items(), key=lambda item: (-item[0][0], item[0][1]))
        found += [MoreUnits(title, tuple(sorted(names)), fits, stops) for (fits, stops), names in ordered]
    return found


def _copies_on(context: SchedulingContext, requirements: UnitRequirements, state: NodeState) -> tuple[int, str]:
    """Return how many copies fit on a node in this state, and what stops the next. Raises ``TimeOverError``."""
    if not state.suits[requirements.suitable.number]:
        return 0, "the node does not suit the pod"
    for number in range(_MOST_COPIES):
        missing = missing_resources(requirements.requests, state.room)
        if missing:
            amounts = (f"{format_amount(name, amount)} of {name}" for name, amount in sorted(missing.items()))
            return number, f"{' and '.join(amounts)} missing"
        trial = context.trials.of(requirements, state)
        if not trial.fits:
            free = len(context.workload.free(state.devices))
            return number, f"its claims cannot be allocated: {free} {'device is' if free == 1 else 'devices are'} free"
        state = context.node_states.state_with(state, requirements.requests, trial)
    return _MOST_COPIES, "counting ends here"


FragmentationPoint: TypeAlias = tuple[int, int, float, float]
_CURVE_POINTS = 30


def fragmentation_curve(
    context: SchedulingContext,
    units: Sequence[QueuedUnit],
    outcomes: Sequence[PlannedUnitOutcome],
    order: Sequence[int],
) -> list[FragmentationPoint]:
    """Count the fragmentation while units are placed in this order, at some of the steps; ``context`` is a fresh one.

    A point has the units placed, the devices in use, and the part of all devices and of the free ones that is of no
    use. The curve ends early when time is up.
    """
    node_states, points = context.node_states, []
    views = [node_states.view(position) for position in range(node_states.size)]
    pairs = (pair for view in views for pair in zip(view.devices, view.shape.reachable, strict=True))
    reached = {device.id for device, is_reached in pairs if is_reached}
    steps = {round(len(order) * step / _CURVE_POINTS) for step in range(_CURVE_POINTS + 1)}
    try:
        for number in range(len(order) + 1):
            if number in steps:
                found = _fragmentation(node_states, context.workload, len(reached))
                used = sum(node_states.allocated_state.usage.in_use(device) for device in reached)
                points.append((number, used, found.of_all, found.of_free))
            if number < len(order):
                unit, one = units[order[number]], outcomes[order[number]]
                made = {ref.key: allocation for ref, allocation in one.allocations}
                place = node_states.position(one.node or "")
                node_states.add_pod(place, context.requests(unit, made), made.items())
    except TimeOverError:
        pass
    return points


@dataclass(frozen=True)
class SchedulingInput:
    """The cluster, the units in the order of the queue, and the rules that schedulers plan with.

    ``namespace`` and ``selector`` are what the queue was narrowed to. All schedulers share a ``compiler``. ``moved``
    are units that ran before, and only change their places.
    """

    cluster: Cluster
    units: tuple[QueuedUnit, ...]
    gates: FeatureGates
    cel_errors: str
    seed: int = 0
    namespace: str | None = None
    selector: str = ""
    moved: frozenset[ObjectKey] = frozenset()

    def ran_before(self, unit: QueuedUnit) -> bool:
        """Whether a unit is one that has moved."""
        return (unit.unit.namespace, unit.unit.name) in self.moved

    def on(self, cluster: Cluster) -> SchedulingInput:
        """The queue of another cluster, with the same rules."""
        return scheduling_input(
            cluster,
            gates=self.gates,
            cel_errors=self.cel_errors,
            seed=self.seed,
            namespace=self.namespace,
            selector=self.selector,
        )

    @cached_property
    def session(self) -> Session:
        """What engines are made with."""
        return Session(self.cluster, self.gates, self.cel_errors, self.seed)

    @cached_property
    def compiler(self) -> NodeCompiler:
        """What knows the nodes."""
        return NodeCompiler(self.session)


def scheduling_input(
    cluster: Cluster,
    *,
    gates: FeatureGates,
    cel_errors: str,
    seed: int,
    namespace: str | None,
    selector: str,
    natural_gangs: bool = False,
) -> SchedulingInput:
    """The queue of a cluster, with the rules that it is planned by."""
    cluster = cluster.with_gates(gates)
    sets = read_queue(cluster, namespace=namespace, selector=selector, gates=gates, natural_gangs=natural_gangs)
    units = tuple(NodeResourceClaims(cluster, gates).planned(expand_units(cluster, sets, gates)))
    return SchedulingInput(cluster, units, gates, cel_errors, seed, namespace, selector)


class SchedulingContext(SequentialContext):
    """Where all schedulers of a comparison start, with what counts for the whole queue."""

    def __init__(self, inputs: SchedulingInput, deadline: float | None) -> None:
        session = inputs.session
        engine = backtracking_engine(session, inputs.compiler)
        super().__init__(session, engine, inputs.units, deadline)
        queue = [unit for unit in inputs.units if not inputs.ran_before(unit)]
        counts = Counter(unit.unit_set.shape.signature for unit in queue)
        firsts = {unit.unit_set.shape.signature: unit for unit in reversed(queue)}
        classes = [(self.requirements.of(firsts[signature], {}), number) for signature, number in counts.items()]
        self.workload = TargetWorkload(classes, self.trials, engine.compiler)

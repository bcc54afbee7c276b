"""Which nodes have room and devices for a unit, in the state that a plan leaves: equal nodes are screened once.

So that a large cluster stays cheap, only the largest node classes are screened.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain

import msgspec
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from ...models.kubernetes.core import Node, PodSpec
from ...models.kubernetes.extensions import CallerConstraint, annotated_entries
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import ObjectKey, PoolId
from ...models.kubernetes.slices import ResourceSlice
from ...models.results.common import Status
from ...models.workload.expansion import OwnAllocations, QueuedUnit
from ...models.workload.node_resources import NodeResourceError
from ...models.workload.node_room import ROOM, DeviceBudgets, has_room, missing_resources, subtract_requests
from ...models.workload.requests import Requests, effective_requests, sum_requests
from ...models.workload.unit_classes import UnitShape
from ...models.workload.units import Allocations, Unit, allocation_of
from ...problem.messages import check_deadline, claim_text
from ...problem.node_state import AllocatedState
from ...problem.requests import VisibleAttributes
from ...problem.shapes import group_equal, node_class_key
from ..allocate.nodes import FailedNodes, SuitableNodes, pod_suitability_key
from ..allocate.placement import ask_within
from ..engines.engine import NodeResult, Session
from ..engines.registry import auto_engine, effective_policy

# How many node classes are screened for one unit in one state, the largest first.
MOST_NODE_CLASSES = 16
# Deterministic units of work of the solver for one question, and for all of them.
SCREENING_WORK = 0.5
TOTAL_SCREENING_WORK = 30.0
_NO_CLAIMS = NodeResult(Status.ALLOCATED)
_UNDECIDED = NodeResult(Status.UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class ScreenedNodes:
    """Nodes with equal devices, by position, and the result of an attempt on the first of them."""

    nodes: list[int]
    attempt: NodeResult

    @property
    def has_devices(self) -> bool:
        """Whether the unit finds its devices there."""
        return self.attempt.status is Status.ALLOCATED

    @property
    def lacks_devices(self) -> bool:
        """Whether it finds too few of them, and nothing else went wrong."""
        return self.attempt.status is Status.UNALLOCATABLE

    @property
    def is_undecided(self) -> bool:
        """Whether the search ended before the answer was known."""
        return self.attempt.status is Status.UNKNOWN


@dataclass(slots=True)
class ScreeningResult:
    """The nodes that suit a unit, by classes: those with room for it, and those without.

    ``is_cut``: not all classes were screened, or for some it is not known whether they have the devices.
    """

    with_room: list[ScreenedNodes] = field(default_factory=list)
    without_room: list[ScreenedNodes] = field(default_factory=list)
    is_truncated: bool = False

    @property
    def fitting(self) -> list[int]:
        """The nodes that have all of it, in order."""
        return sorted(node for kind in self.with_room if kind.has_devices for node in kind.nodes)


class NodeScreening:
    """Screens the nodes of a cluster for one unit at a time; ``usable`` names the nodes to look at, None: all.

    After ``deadline``, a reading of ``time.monotonic``, its methods raise ``DeadlineExceededError`` (SRCH-10).
    ``given`` are constraints of all claims, beside their own.
    """

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        cel_errors: str,
        seed: int,
        usable: Container[str] | None,
        deadline: float | None = None,
        given: Sequence[CallerConstraint] = (),
    ) -> None:
        self.deadline = deadline
        self.devices_are_local = _have_own_pools(cluster)
        nodes = cluster.nodes.items()
        self.nodes: Sequence[Node] = [node for name, node in nodes if usable is None or name in usable]
        self._names = [node.metadata.name for node in self.nodes]
        policy = effective_policy("auto", cel_errors)
        session = Session(cluster, gates, policy, seed, work=SCREENING_WORK, caller_constraints=tuple(given))
        self._engine = auto_engine(session)
        self.budgets = DeviceBudgets(cluster, gates)
        self._suited: dict[Hashable, tuple[SuitableNodes, list[int]]] = {}
        # Keys of node classes are long: they are compared as numbers.
        self._numbers: dict[Hashable, int] = {}

    def name(self, position: int) -> str:
        """The name of a node."""
        return self._names[position]

    def suitable_nodes(self, demand: UnitDemand) -> tuple[SuitableNodes, list[int]]:
        """Find the nodes that suit the pod and its allocated claims. Raises ``SelectorError``."""
        found = self._suited.get(demand.suitability_key)
        if found is None:
            suitable = SuitableNodes(self.nodes, demand.spec, demand.earlier)
            found = self._suited[demand.suitability_key] = suitable, list(suitable)
        return found

    def screen(self, demand: UnitDemand, state: RemainingResources, among: Sequence[int]) -> ScreeningResult:
        """Look at these nodes. Raises ``SelectorError``."""
        found = ScreeningResult()
        split: dict[bool, list[list[int]]] = {False: [], True: []}
        lacks = self.lacks(demand, state)
        for own in self.equal_nodes(state, among):
            split[lacks(own[0])].append(own)
        for lacks_room, kept in ((False, found.with_room), (True, found.without_room)):
            groups = self._merged(demand, state, split[lacks_room])
            kept += [ScreenedNodes(own, self.attempt(demand, state, own[0])) for own in groups[:MOST_NODE_CLASSES]]
            found.is_truncated |= len(groups) > MOST_NODE_CLASSES or any(kind.is_undecided for kind in kept)
        return found

    def lacks(self, demand: UnitDemand, state: RemainingResources) -> Callable[[int], bool]:
        """Tell whether a node has too little room for a demand; equal nodes are looked at once."""
        known = state.lacking.setdefault(tuple(demand.requests.items()), {})

        def lacks(position: int) -> bool:
            name = self.name(position)
            equivalence = state.equivalence.get(name, name)
            found = known.get(equivalence)
            if found is None:
                check_deadline(self.deadline)
                found = known[equivalence] = state.lacks(name, demand.requests)
            return found

        return lacks

    def open_nodes(self, demand: UnitDemand, state: RemainingResources) -> list[int]:
        """Find the nodes that suit a demand, but for those that surely lack something. Raises ``SelectorError``."""
        found = state.open.get(demand.key)
        if found is None:
            suitable = self.suitable_nodes(demand)[1]
            lacks = self.lacks(demand, state)
            with_room = (node for node in suitable if not lacks(node))
            groups = self.node_classes(demand, state, with_room)
            attempts = ((own, self.attempt(demand, state, own[0])) for own in groups[:MOST_NODE_CLASSES])
            kept = [own for own, attempt in attempts if attempt.status is not Status.UNALLOCATABLE]
            kept += groups[MOST_NODE_CLASSES:]
            found = state.open[demand.key] = sorted(node for own in kept for node in own)
        return found

    def equal_nodes(self, state: RemainingResources, among: Iterable[int]) -> list[list[int]]:
        """Group nodes that are equal in this state, in the order of their positions, which is that of ``among``."""
        names, equivalence = self._names, state.equivalence
        return group_equal(among, lambda position: equivalence.get(names[position], names[position]))

    def node_classes(self, demand: UnitDemand, state: RemainingResources, among: Iterable[int]) -> list[list[int]]:
        """Group nodes with equal devices, the largest classes first. Raises ``SelectorError``."""
        return self._merged(demand, state, self.equal_nodes(state, among))

    def _merged(
        self, demand: UnitDemand, state: RemainingResources, groups: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Merge groups of equal nodes that have equal devices for a demand, as ``node_classes`` has them."""
        if not demand.claims:
            nodes = sorted(chain.from_iterable(groups))
            return [nodes] if nodes else []
        visible = self._engine.compiler.question(demand.claims).visible
        known = state.keys.setdefault(visible, {})

        def key(position: int) -> Hashable:
            name = self.name(position)
            equivalence = state.equivalence.get(name, name)
            if equivalence not in known:
                check_deadline(self.deadline)
                state.allocated_state.look_at(name)
                view = self._engine.compiler.views.of(self.nodes[position], visible)
                seen = node_class_key(view, state.allocated_state.in_use(view))
                # How much devices may take is decided by the room, too.
                room = state.room_by_node.get(name) if self.budgets.devices.devices else None
                whole = seen, None if room is None else tuple(sorted(room.items()))
                known[equivalence] = self._numbers.setdefault(whole, len(self._numbers))
            return known[equivalence]

        merged = group_equal(groups, lambda own: key(own[0]))
        return [sorted(chain.from_iterable(own)) for own in sorted(merged, key=lambda own: -sum(map(len, own)))]

    def attempt(self, demand: UnitDemand, state: RemainingResources, position: int) -> NodeResult:
        """Look for devices on one node; it is not decided any more once the solver has worked enough."""
        check_deadline(self.deadline)
        if not demand.claims:
            return _NO_CLAIMS
        if self._engine.decider.counts.work > TOTAL_SCREENING_WORK:
            return _UNDECIDED
        node, unit = self.nodes[position], demand.unit
        state.allocated_state.look_at(node.metadata.name)
        held = {ref.key: made for ref in unit.claims if (made := allocation_of(ref)) is not None}
        ask = partial(self._engine.allocate_on, node, demand.claims, state.allocated_state, self.deadline)
        room = state.room_by_node.get(node.metadata.name)
        try:
            return ask_within(self._engine, self.budgets.budget(unit, unit.requested_claims, held, room), ask)
        except NodeResourceError as error:
            return NodeResult(Status.UNALLOCATABLE, rule=ROOM, message=str(error))

    def holders(self, position: int, demand: UnitDemand, state: RemainingResources) -> dict[ObjectKey, int]:
        """Find the claims that have devices which a unit may have on a node, and how many each has.

        If there are none: those that have any devices of the node.
        """
        question = self._engine.compiler.question(demand.claims)
        view = self._engine.compiler.view(self.nodes[position], question)
        problem = self._engine.compiler.problem(question, view.shape)
        meant = {number for demand in problem.demands for number in demand.candidates}
        state.allocated_state.look_at(self.name(position))
        usage = state.allocated_state.usage
        held = [(number, hold.claim) for number, device in enumerate(view.devices) for hold in usage.holds(device.id)]
        return dict(Counter(claim for number, claim in held if number in meant) or Counter(claim for _, claim in held))

    def fits(self, demand: UnitDemand, state: RemainingResources, position: int) -> bool:
        """Tell whether one node that suits the unit has room and devices for it."""
        if state.lacks(self.name(position), demand.requests):
            return False
        return self.attempt(demand, state, position).status is Status.ALLOCATED

    def failed(self, groups: Iterable[ScreenedNodes]) -> FailedNodes:
        """Put together how nodes failed that do not have the devices."""
        failed = FailedNodes(self._names)
        for kind in groups:
            for position in kind.nodes:
                failed.add(position, kind.attempt)
        return failed


def _have_own_pools(cluster: Cluster) -> bool:
    """Whether surely no pool is seen by two nodes; slices are looked at once."""
    return cluster.slice_memo("plan.own pools", lambda: _have_homes(cluster.slices))


def _have_homes(slices: Iterable[ResourceSlice]) -> bool:
    homes: dict[PoolId, str] = {}
    return all(
        one.node_name and homes.setdefault((one.driver, one.pool.name), one.node_name) == one.node_name
        for one in (slice_.spec for slice_ in slices)
    )


def allocated_by_plan(
    cluster: Cluster, gates: FeatureGates, placed: Iterable[tuple[str, Allocations]]
) -> tuple[dict[ObjectKey, AllocationResult], AllocatedState]:
    """What a plan allocates that others may ask for, and the state that it leaves; what it makes is given by nodes."""
    by_node: dict[str, list[Allocations]] = defaultdict(list)
    for name, own in placed:
        by_node[name].append(own)
    listed, is_apart = chain.from_iterable(by_node.values()), _have_own_pools(cluster)
    # Nobody else asks for claims of which a unit is the only one to have them.
    asked = (own for own in listed if not (is_apart and isinstance(own, OwnAllocations)))
    made = {ref.key: allocation for own in asked for ref, allocation in own}
    if is_apart:
        # Of equal nodes one is looked at.
        return made, AllocatedState(cluster.usage(gates), by_node)
    state = AllocatedState(cluster.usage(gates))
    state.commit(made.items())
    return made, state


def subtract_placed(
    rooms: Mapping[str, Requests | None],
    cluster: Cluster,
    gates: FeatureGates,
    queue: Sequence[QueuedUnit],
    placed: Mapping[int, tuple[str, Allocations]],
) -> None:
    """Take out of rooms what placed units and their devices take; these are nodes and allocations, by position."""
    budgets = DeviceBudgets(cluster, gates)
    counts = bool(budgets.devices.devices)
    made = {ref.key: allocation for _, own in placed.values() for ref, allocation in own} if counts else {}
    by_node: dict[str, list[UnitShape]] = defaultdict(list)
    for position, (name, _) in placed.items():
        by_node[name].append(queue[position].unit_set.shape)
        if counts:
            subtract_requests(rooms.get(name), budgets.taken(queue[position].unit, made))
    # What equal units take together is added up once.
    known: dict[tuple[int, ...], Requests] = {}
    for name, shapes in by_node.items():
        key = tuple(map(id, shapes))
        if key not in known:
            known[key] = sum_requests(shape.requests for shape in shapes)
        subtract_requests(rooms.get(name), known[key])


RoomByNode = Mapping[str, Requests | None]


@dataclass(frozen=True, slots=True, eq=False)
class RemainingResources:
    """Usage of devices, and what is left of each node; None: it takes anything.

    Nodes with the same ``equivalence``, by name, have equal devices with equal usage. ``keys`` caches the class keys of
    nodes for all questions that see the same attributes, ``lacking`` which of them have too little for requests; copies
    share both. ``open`` caches the nodes that may take a demand, ``pod_changes`` which change of a pod helps where
    units were placed on top of this state.
    """

    allocated_state: AllocatedState
    room_by_node: RoomByNode
    equivalence: dict[str, Hashable] = field(default_factory=dict)
    keys: dict[VisibleAttributes, dict[Hashable, Hashable]] = field(default_factory=dict)
    lacking: dict[Hashable, dict[Hashable, bool]] = field(default_factory=dict)
    open: dict[Hashable, list[int]] = field(default_factory=dict)
    pod_changes: dict[Hashable, str | None] = field(default_factory=dict)

    def lacks(self, node: str, requests: Requests) -> bool:
        """Whether a node has too little for these requests."""
        return not has_room(requests, self.room_by_node.get(node))

    def missing(self, node: str, requests: Requests) -> dict[str, int]:
        """Return the missing amounts of a node for these requests."""
        return missing_resources(requests, self.room_by_node.get(node))

    def copied(self, room_by_node: RoomByNode, *, devices_are_local: bool) -> RemainingResources:
        """Return the same state, beside which more is placed; ``changed`` is called for the nodes that take it.

        Where nodes share devices, a change of one is a change of others: then nodes are looked at one by one.
        """
        state = self.allocated_state.copied()
        if not devices_are_local:
            return RemainingResources(state, room_by_node)
        return RemainingResources(state, room_by_node, dict(self.equivalence), self.keys, self.lacking)

    def changed(self, node: str) -> None:
        """Look at a node again, and by itself: nothing is known of it."""
        self.equivalence[node] = object()

    def without(self, claims: Iterable[ObjectKey]) -> RemainingResources:
        """With what these claims hold free again."""
        state = self.allocated_state.copied()
        state.release(claims)
        return RemainingResources(state, self.room_by_node)


_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, eq=False)
class UnitDemand:
    """A unit whose shared claims hold what the plan gave to others, and the resources that it takes of a node."""

    unit: Unit
    requests: Requests

    @cached_property
    def claims(self) -> list[ResourceClaim]:
        """The claims that need devices."""
        return [ref.claim for ref in self.unit.requested_claims if ref.claim is not None]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [claim_text(ref.key) for ref in self.unit.requested_claims]

    @property
    def spec(self) -> PodSpec | None:
        """The spec of the pod; None for a loose claim."""
        return self.unit.pod.spec if self.unit.pod else None

    @cached_property
    def earlier(self) -> list[AllocationResult]:
        """Allocations that its claims have already, which restrict its nodes (SCHED-2)."""
        return list(self.unit.existing_allocations())

    @cached_property
    def suitability_key(self) -> Hashable:
        """Equal for demands that the same nodes suit."""
        return pod_suitability_key(self.spec, self.earlier)

    @cached_property
    def key(self) -> Hashable:
        """Equal for demands that fit the same nodes."""
        requested = [(claim.spec, annotated_entries(claim.metadata)) for claim in self.claims]
        return self.suitability_key, tuple(self.requests.items()), _encode(requested)

    def after(self, made: Mapping[ObjectKey, AllocationResult]) -> UnitDemand:
        """Return the demand after more allocations, which matter to claims that others share."""
        if not any(ref.key in made for ref in self.unit.requested_claims):
            return self
        refs = tuple(
            replace(ref, claim=replace(ref.claim, status=ResourceClaimStatus(allocation=made[ref.key])))
            if ref.key in made and ref.claim is not None and not ref.allocated
            else ref
            for ref in self.unit.claims
        )
        return dataclasses.replace(self, unit=replace(self.unit, claims=refs))


def unit_demand(unit: Unit, made: Mapping[ObjectKey, AllocationResult], uncounted: Collection[str]) -> UnitDemand:
    """Return the demand of a unit; ``made`` is what the plan allocates, ``uncounted`` as in ``device_resources``."""
    return UnitDemand(unit, effective_requests(unit.pod.spec, uncounted) if unit.pod else {}).after(made)


def share_claims(members: Sequence[UnitDemand]) -> bool:
    """Whether some claim is of several members, so that where one goes says what is left for others."""
    keys = [ref.key for one in members for ref in one.unit.claims]
    return len(set(keys)) < len(keys)

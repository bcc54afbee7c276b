"""The states of nodes as they fill up, and what units require of them, for schedulers that place units one by one.

A ``NodeState`` stands for all nodes that nothing tells apart for the units of the queue: the same units suit them, the
same room is left by pods, and the same devices are left. So the engine tries a unit once on each state, however many
nodes are in it (``AllocationTrials``). Units are grouped, too: equal units have the same ``UnitRequirements``.
``SequentialContext`` is where a scheduler starts.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import count

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey, PoolId
from ...models.results.common import Reason, Status
from ...models.workload.expansion import QueuedUnit
from ...models.workload.node_resources import NodeResourceError
from ...models.workload.node_room import DeviceBudget, DeviceBudgets, remaining_after, remaining_allocatable
from ...models.workload.pod_rules import PodRules
from ...models.workload.requests import Requests, sum_requests
from ...models.workload.units import ClaimRef, Unit, allocation_of, unallocated_claims
from ...problem.compiler import Compiler, Question
from ...problem.node_state import AllocatedState
from ...problem.problem import InUse
from ...problem.requests import VisibleAttributes
from ...problem.shapes import NodeView, NodeViews, node_class_key
from ..allocate.nodes import SuitableNodes, pod_suitability_key
from ..allocate.placement import ask_within
from ..engines.engine import Engine, NodeResult, Session
from ..engines.engines import NodeEngine
from ..engines.outcome import missing_reference_reasons
from .master_problem import is_past


@dataclass(frozen=True, slots=True, eq=False)
class NodeState:
    """The rest of a node: the room that pods leave, and the devices that claims leave.

    ``suits`` says for each ``SuitableNodeSet``, by its number, whether the node is in it. ``room`` is what pods leave
    of the resources that the queue asks for; None: nothing is known, the node takes any pod.
    """

    suits: tuple[bool, ...]
    room: Requests | None
    devices: DeviceState


@dataclass(frozen=True, slots=True)
class SchedulableNode:
    """A node with its room at the start, the sets of suitable nodes that it is in, and the pools that it sees."""

    node: Node
    room: Requests | None
    suits: tuple[bool, ...]
    pools: tuple[PoolId, ...]


class NodeStates:
    """All nodes by position, and for each state the positions of the nodes in it, ascending.

    ``changes`` are the positions of nodes that came into another state, one for each time.
    """

    def __init__(
        self,
        nodes: Sequence[SchedulableNode],
        devices: DeviceStates,
        allocated_state: AllocatedState,
        deadline: float | None = None,
    ) -> None:
        self.allocated_state = allocated_state
        self.groups: dict[NodeState, list[int]] = {}
        self.changes: list[int] = []
        self._nodes = nodes
        self._positions = {one.node.metadata.name: position for position, one in enumerate(nodes)}
        self._devices = devices
        self._rooms = [one.room for one in nodes]
        self._known: dict[Hashable, NodeState] = {}
        self._watchers: dict[PoolId, list[int]] = defaultdict(list)
        self._seen = allocated_state.changes
        self._states: list[NodeState] = []
        for position, one in enumerate(nodes):
            for pool in one.pools:
                self._watchers[pool].append(position)
            if is_past(deadline):
                raise TimeOverError
            state = self._find(position)
            self._states.append(state)
            self.groups.setdefault(state, []).append(position)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self._nodes)

    def node(self, position: int) -> Node:
        """Return the node at a position."""
        return self._nodes[position].node

    def position(self, name: str) -> int:
        """Return the position of the node of this name."""
        return self._positions[name]

    def view(self, position: int) -> NodeView:
        """Return what the node sees, numbered as in its state."""
        return self._devices.view(self._nodes[position].node)

    def add_pod(
        self, position: int, requests: Mapping[str, int], made: Iterable[tuple[ObjectKey, AllocationResult]]
    ) -> None:
        """Place a pod with these requests on the node, and commit the allocations made for it."""
        self.allocated_state.commit(made)
        self._change(position, requests, 1)

    def remove_pod(self, position: int, requests: Mapping[str, int], claims: Iterable[ObjectKey]) -> None:
        """Remove a pod with these requests from the node, and release the allocations of these claims."""
        self.allocated_state.release(claims)
        self._change(position, requests, -1)

    def state_with(self, state: NodeState, requests: Mapping[str, int], trial: Trial) -> NodeState:
        """Return the state after a pod with these requests is placed, with what a trial found for it."""
        devices = self._devices.after(state.devices, trial.made) if trial.made else state.devices
        return self._state(state.suits, remaining_after(state.room, trial.with_draws(requests)), devices)

    def room(self, position: int) -> Requests | None:
        """What is left of the node at a position; None: it takes any pod."""
        return self._rooms[position]

    def _change(self, position: int, requests: Mapping[str, int], sign: int) -> None:
        self._rooms[position] = remaining_after(self._rooms[position], requests, sign)
        pools = self.allocated_state.changed_since(self._seen)
        self._seen = self.allocated_state.changes
        for other in {position}.union(*(self._watchers.get(pool, ()) for pool in pools)):
            self.move(other, self._find(other))

    @property
    def have_common_pools(self) -> bool:
        """Whether some pool is seen by several nodes."""
        return any(len(watchers) > 1 for watchers in self._watchers.values())

    def state(self, position: int) -> NodeState:
        """Return the state of the node at a position."""
        return self._states[position]

    def move(self, position: int, after: NodeState) -> None:
        """Put the node at a position into another state."""
        before = self._states[position]
        if after is before:
            return
        there = self.groups[before]
        del there[bisect_left(there, position)]
        if not there:
            del self.groups[before]
        insort(self.groups.setdefault(after, []), position)
        self._states[position] = after
        self.changes.append(position)

    def _find(self, position: int) -> NodeState:
        one = self._nodes[position]
        return self._state(one.suits, self._rooms[position], self._devices.of(one.node, self.allocated_state))

    def _state(self, suits: tuple[bool, ...], room: Requests | None, devices: DeviceState) -> NodeState:
        key = suits, None if room is None else tuple(room.items()), devices
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = NodeState(suits, None if room is None else dict(room), devices)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class DeviceState:
    """Devices by number, and what is held of them; ``view`` and ``allocated`` are those of the first such node."""

    view: NodeView
    allocated: AllocatedState
    in_use: InUse


class DeviceStates:
    """Finds the states of devices; equal states are one object. ``visible`` is what all questions together see."""

    def __init__(self, views: NodeViews, visible: VisibleAttributes) -> None:
        self._views = views
        self._visible = visible
        self._known: dict[Hashable, DeviceState] = {}
        self._names = count()

    def view(self, node: Node) -> NodeView:
        """Return what a node sees: nothing where a node selector cannot be parsed (NODE-2)."""
        return self._seen(node)[0]

    def of(self, node: Node, allocated_state: AllocatedState) -> DeviceState:
        """Find the state of a node."""
        view, broken = self._seen(node)
        return self._state(view, allocated_state, broken=broken, changes=True)

    def _seen(self, node: Node) -> tuple[NodeView, bool]:
        try:
            return self._views.of(node, self._visible), False
        except SelectorError:
            return self._views.of_pools(node, (), self._visible), True

    def after(self, state: DeviceState, made: Iterable[AllocationResult]) -> DeviceState:
        """Find the state after these allocations are made, too."""
        # No claim has these names, so that what claims of the queue hold already stays.
        named = [(("", str(next(self._names))), allocation) for allocation in made]
        return self._state(state.view, AllocatedState(state.allocated.usage.plus(named)), broken=False, changes=False)

    def _state(self, view: NodeView, allocated_state: AllocatedState, *, broken: bool, changes: bool) -> DeviceState:
        in_use = allocated_state.in_use(view)
        key = broken, node_class_key(view, in_use)
        found = self._known.get(key)
        if found is None:
            own = AllocatedState(allocated_state.usage) if changes else allocated_state
            found = self._known[key] = DeviceState(view, own, in_use)
        return found


_encode = msgspec.msgpack.Encoder().encode
AllocationByClaim = Mapping[ObjectKey, AllocationResult]


@dataclass(frozen=True, slots=True)
class SuitableNodeSet:
    """The positions of the nodes that suit a pod and its allocated claims; sets are numbered as they are met.

    ``problem`` says why no node can be said to suit: a node selector that cannot be parsed.
    """

    number: int
    members: frozenset[int]
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UnitRequirements:
    """What equal units require: requests, claims without an allocation (those of one of them), and suitable nodes.

    ``refused`` says why no node is tried, if none is. ``rules`` are those of the pods and of others about them.
    ``budget`` is what devices may take beside the requests, on a node without any limit; None: they take nothing.
    """

    requests: Mapping[str, int]
    claims: tuple[ResourceClaim, ...]
    question: Question
    suitable: SuitableNodeSet
    refused: tuple[Reason, ...] = ()
    rules: PodRules | None = None
    budget: DeviceBudget | None = None


class UnitRequirementsTable:
    """Finds the requirements of units; those of equal units differ where allocations of shared claims differ."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Node], compiler: Compiler, budgets: DeviceBudgets) -> None:
        self._classes = cluster.classes
        self._budgets = budgets
        self._nodes = nodes
        self._compiler = compiler
        self._known: dict[Hashable, UnitRequirements] = {}
        self._suitable: dict[bytes, SuitableNodeSet] = {}

    @property
    def suitable_sets(self) -> Sequence[SuitableNodeSet]:
        """All sets of suitable nodes met so far, by number."""
        return list(self._suitable.values())

    def of(self, planned: QueuedUnit, made: AllocationByClaim) -> UnitRequirements:
        """Find the requirements of a unit after these allocations of claims of the queue were made."""
        shape = planned.unit_set.shape
        shared = tuple(claim.key for claim in shape.claims if claim.key in made)
        # Nodes of the allocation count, and what its devices take of them.
        key = shape.signature, tuple((key, _encode(made[key])) for key in shared if key is not None)
        found = self._known.get(key)
        if found is None:
            claims = tuple(ref.claim for ref in unallocated_claims(planned.unit, made) if ref.claim is not None)
            question, suitable = self._compiler.question(claims), self._suitable_nodes(planned.unit, made)
            broken = [Reason("nodeSelector", "", suitable.problem)] if suitable.problem else []
            refused = missing_reference_reasons(planned.unit, self._classes) or broken
            budget = self._budget(planned.unit, made)
            found = UnitRequirements(shape.requests, claims, question, suitable, tuple(refused), shape.rules, budget)
            self._known[key] = found
        return found

    def _budget(self, unit: Unit, made: AllocationByClaim) -> DeviceBudget | None:
        if not self._budgets.devices.devices:
            return None
        held = {ref.key: own for ref in unit.claims if (own := made.get(ref.key) or allocation_of(ref)) is not None}
        return self._budgets.budget(unit, unallocated_claims(unit, made), held, None)

    def _suitable_nodes(self, unit: Unit, made: AllocationByClaim) -> SuitableNodeSet:
        earlier = list(unit.existing_allocations(made))
        spec = unit.pod.spec if unit.pod else None
        key = pod_suitability_key(spec, earlier)
        if key not in self._suitable:
            problem, positions = "", frozenset[int]()
            try:
                positions = frozenset(SuitableNodes(self._nodes, spec, earlier))
            except SelectorError as error:
                problem = str(error)
            self._suitable[key] = SuitableNodeSet(len(self._suitable), positions, problem)
        return self._suitable[key]


class TimeOverError(Exception):
    """The time limit passed before the engine was done."""


class TrialAbortedError(Exception):
    """An error ends the attempt for a unit; no other node is tried (SCHED-6)."""

    def __init__(self, node: Node, trial: Trial) -> None:
        super().__init__(f"node {node.metadata.name}: {trial.message}")


@dataclass(frozen=True, slots=True)
class Trial:
    """The status of one attempt of the engine, and the allocations that it found.

    ``draws`` is what all devices of the unit take of the node beside its requests.
    """

    status: Status
    made: tuple[AllocationResult, ...] = ()
    message: str = ""
    draws: Requests = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether there is an allocation."""
        return self.status is Status.ALLOCATED

    def with_draws(self, requests: Mapping[str, int]) -> Mapping[str, int]:
        """What the unit takes of the node: its requests, and what its devices take."""
        return sum_requests((requests, self.draws)) if self.draws else requests


_NO_CLAIMS_TRIAL = Trial(Status.ALLOCATED)


class AllocationTrials:
    """Asks an engine once for each state of devices; ``deadline`` is a reading of ``time.monotonic``, None for none.

    Where devices take resources of their node, it is asked once for each state of the room, too.
    """

    def __init__(self, engine: Engine, deadline: float | None) -> None:
        self.engine = engine
        self.deadline = deadline
        self._known: dict[Hashable, Trial] = {}

    def of(self, requirements: UnitRequirements, state: NodeState) -> Trial:
        """Try the claims on a node in this state. Raises ``TimeOverError``."""
        devices, budget, claims = state.devices, requirements.budget, requirements.claims
        if not claims and budget is None:
            return _NO_CLAIMS_TRIAL
        key = (requirements.question.index, devices) if budget is None else (requirements, state)
        if key not in self._known:
            self._known[key] = self.on(devices.view.node, claims, devices.allocated, budget, state.room)
        return self._known[key]

    def on(
        self,
        node: Node,
        claims: Sequence[ResourceClaim],
        state: AllocatedState,
        budget: DeviceBudget | None,
        room: Requests | None,
    ) -> Trial:
        """Try claims on a node, of which so much ``room`` is left. Raises ``TimeOverError``."""
        ask = partial(self.engine.allocate_on, node, claims, state, self.deadline)
        if budget is None:
            return trial_of(ask())
        within = replace(budget, free=room)
        try:
            found = trial_of(ask_within(self.engine, within, ask))
            draws = within.demand.counted_on_node(within.total(found.made)) if found.fits else {}
        except NodeResourceError as error:
            return Trial(Status.ERROR, message=str(error))
        return replace(found, draws=draws)


def trial_of(attempt: NodeResult) -> Trial:
    """Turn the result of an engine into a trial. Raises ``TimeOverError``."""
    if attempt.timed_out:
        raise TimeOverError(attempt.message)
    return Trial(attempt.status, attempt.allocations, attempt.message)


def allocate_claims(
    requested: Iterable[ClaimRef],
    position: int,
    node_states: NodeStates,
    trials: AllocationTrials,
    budget: DeviceBudget | None = None,
) -> Trial:
    """Allocate claims on the node at a position, which fits. Raises ``TrialAbortedError`` and ``TimeOverError``."""
    claims = [ref.claim for ref in requested if ref.claim is not None]
    if not claims and budget is None:
        return _NO_CLAIMS_TRIAL
    node = node_states.node(position)
    trial = trials.on(node, claims, node_states.allocated_state, budget, node_states.room(position))
    if not trial.fits:
        raise TrialAbortedError(node, trial)
    return trial


class SequentialContext:
    """Where a scheduler starts: nobody of ``units`` is placed. What is found out about states is kept here.

    ``has_pod_rules``: for some unit rules of pods about one another are to be looked at.

    ``nodes`` may be used, and ``state`` and ``room_by_node`` are what is taken and left of them; the defaults are those
    of the session's cluster. ``deadline`` is a reading of ``time.monotonic``, None for none; after it the constructor
    raises ``TimeOverError``.
    """

    def __init__(
        self,
        session: Session,
        engine: NodeEngine,
        units: Iterable[QueuedUnit],
        deadline: float | None,
        nodes: Sequence[Node] | None = None,
        state: AllocatedState | None = None,
        room_by_node: Mapping[str, Requests | None] | None = None,
    ) -> None:
        cluster, gates = session.cluster, session.gates
        there = list(cluster.nodes.values()) if nodes is None else nodes
        self.session = session
        self._budgets = DeviceBudgets(cluster, gates)
        self.requirements = UnitRequirementsTable(cluster, there, engine.compiler, self._budgets)
        counts: Counter[bytes] = Counter()
        firsts: dict[bytes, QueuedUnit] = {}
        for unit in units:
            signature = unit.unit_set.shape.signature
            counts[signature] += 1
            firsts.setdefault(signature, unit)
        self.classes = [(self.requirements.of(first, {}), counts[signature]) for signature, first in firsts.items()]
        self.has_pod_rules = any(first.unit_set.shape.rules is not None for first in firsts.values())
        self.trials = AllocationTrials(engine, deadline)
        seen = (requirements.question.visible for requirements, _ in self.classes)
        devices = DeviceStates(engine.compiler.views, reduce(VisibleAttributes.joined, seen, VisibleAttributes()))
        rooms = remaining_allocatable(cluster, gates) if room_by_node is None else room_by_node
        drawn = {name for terms in self._budgets.devices.devices.values() for name in terms}
        requested = sorted(drawn.union(*(first.unit_set.shape.requests for first in firsts.values())))
        schedulable = [self._schedulable(node, position, rooms, requested) for position, node in enumerate(there)]
        self.node_states = NodeStates(schedulable, devices, state or AllocatedState(cluster.usage(gates)), deadline)

    def requests(self, planned: QueuedUnit, made: AllocationByClaim) -> Mapping[str, int]:
        """What a unit takes of its node, with what devices take that its claims hold or that are ``made``."""
        own: Mapping[str, int] = planned.unit_set.shape.requests
        if not self._budgets.devices.devices:
            return own
        return sum_requests((own, self._budgets.taken(planned.unit, made)))

    def _schedulable(
        self, node: Node, position: int, rooms: Mapping[str, Requests | None], requested: Sequence[str]
    ) -> SchedulableNode:
        if is_past(self.trials.deadline):
            raise TimeOverError
        suits = tuple(position in one.members for one in self.requirements.suitable_sets)
        room = rooms[node.metadata.name]
        left = None if room is None else {name: room[name] for name in requested if name in room}
        try:
            pools = self.session.cluster.pools(self.session.gates).pools_for(node)
        except SelectorError:
            pools = ()
        return SchedulableNode(node, left, suits, tuple(pool.id for pool in pools))

"""Nodes as they fill up: those of one kind in equal states are together.

What is left of the devices that a node sees: equal nodes with equal usage are in one state.

What equal units ask for: their claims, their requests, and the nodes that suit them.

Whether claims fit on devices in some state: asked once, however many nodes are like that.

When the members of a gang that have a node may stay.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.cluster.usage import Usage
from ...models.kubernetes.claims import AllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import ObjectKey, PoolId
from ...models.results.common import Reason
from ...models.workload.expansion import QueuedUnit
from ...models.workload.requests import Requests
from ...models.workload.running import remaining_after
from ...models.workload.unit_classes import Gang
from ...models.workload.units import ClaimRef, Unit
from ...problem.asks import VisibleAttributes
from ...problem.compiler import Compiler, Question
from ...problem.in_use import AllocatedState
from ...problem.node_classes import node_class_key
from ...problem.problem import InUse
from ...problem.shapes import NodeView, NodeViews
from ..allocate.nodes import SuitableNodes, pod_suitability_key
from ..engines.engine import Engine, NodeResult, Status
from ..engines.reasons import missing_reference_reasons


@dataclass(frozen=True, slots=True, eq=False)
class NodeState:
    """What a node still has. ``takes`` says which places of the queue it suits, by their numbers.

    ``room`` is what pods leave of the resources that the queue asks for; None: nothing is known, it takes anything.
    """

    takes: tuple[bool, ...]
    room: Requests | None
    devices: DeviceState


@dataclass(frozen=True, slots=True)
class SchedulableNode:
    """A node: its room at the start, the places of the queue that it suits, and the pools it sees."""

    node: Node
    room: Requests | None
    takes: tuple[bool, ...]
    pools: tuple[PoolId, ...]


class NodeStates:
    """All nodes by position, and the positions in each state, ascending."""

    def __init__(self, sites: Sequence[SchedulableNode], devices: DeviceStates, ledger: AllocatedState) -> None:
        self.ledger = ledger
        self.groups: dict[NodeState, list[int]] = {}
        self._sites = sites
        self._positions = {site.node.metadata.name: position for position, site in enumerate(sites)}
        self._devices = devices
        self._rooms = [site.room for site in sites]
        self._known: dict[Hashable, NodeState] = {}
        self._watchers: dict[PoolId, list[int]] = defaultdict(list)
        self._seen = ledger.changes
        self._states: list[NodeState] = []
        for position, site in enumerate(sites):
            for pool in site.pools:
                self._watchers[pool].append(position)
            state = self._find(position)
            self._states.append(state)
            self.groups.setdefault(state, []).append(position)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self._sites)

    def node(self, position: int) -> Node:
        """The node there."""
        return self._sites[position].node

    def position(self, name: str) -> int:
        """Where the node of this name is."""
        return self._positions[name]

    def view(self, position: int) -> NodeView:
        """What it sees, by the numbers of its state."""
        return self._devices.view(self._sites[position].node)

    def take(
        self, position: int, requests: Mapping[str, int], made: Iterable[tuple[ObjectKey, AllocationResult]]
    ) -> None:
        """Put a pod with these requests there, and commit allocations."""
        self.ledger.commit(made)
        self._change(position, requests, 1)

    def give_back(self, position: int, requests: Mapping[str, int], claims: Iterable[ObjectKey]) -> None:
        """Take a pod away again, and the allocations of these claims."""
        self.ledger.release(claims)
        self._change(position, requests, -1)

    def imagined(self, state: NodeState, requests: Mapping[str, int], made: Iterable[AllocationResult]) -> NodeState:
        """What a state would become with a pod with these requests, and these allocations."""
        made = list(made)
        devices = self._devices.after(state.devices, made) if made else state.devices
        return self._state(state.takes, remaining_after(state.room, requests), devices)

    def _change(self, position: int, requests: Mapping[str, int], sign: int) -> None:
        self._rooms[position] = remaining_after(self._rooms[position], requests, sign)
        pools = self.ledger.changed_since(self._seen)
        self._seen = self.ledger.changes
        for other in {position}.union(*(self._watchers.get(pool, ()) for pool in pools)):
            self._move(other)

    def _move(self, position: int) -> None:
        before, after = self._states[position], self._find(position)
        if after is before:
            return
        there = self.groups[before]
        del there[bisect_left(there, position)]
        if not there:
            del self.groups[before]
        insort(self.groups.setdefault(after, []), position)
        self._states[position] = after

    def _find(self, position: int) -> NodeState:
        site = self._sites[position]
        return self._state(site.takes, self._rooms[position], self._devices.of(site.node, self.ledger))

    def _state(self, takes: tuple[bool, ...], room: Requests | None, devices: DeviceState) -> NodeState:
        key = takes, None if room is None else tuple(room.items()), devices
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = NodeState(takes, None if room is None else dict(room), devices)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class DeviceState:
    """Devices by number, and what is held of them; ``view`` and ``usage`` are those of the first node met like this."""

    view: NodeView
    usage: Usage
    in_use: InUse


class DeviceStates:
    """Finds states; equal ones are one object. ``visible`` is what all questions together look at."""

    def __init__(self, views: NodeViews, visible: VisibleAttributes) -> None:
        self._views = views
        self._visible = visible
        self._known: dict[Hashable, DeviceState] = {}
        self._names = count()

    def view(self, node: Node) -> NodeView:
        """What a node sees: nothing where a node selector cannot be parsed (NODE-2)."""
        return self._seen(node)[0]

    def of(self, node: Node, ledger: AllocatedState) -> DeviceState:
        """Find the state of a node."""
        view, broken = self._seen(node)
        return self._state(view, ledger, broken=broken)

    def _seen(self, node: Node) -> tuple[NodeView, bool]:
        try:
            return self._views.of(node, self._visible), False
        except SelectorError:
            return self._views.of_pools(node, (), self._visible), True

    def after(self, state: DeviceState, made: Iterable[AllocationResult]) -> DeviceState:
        """Find the state once these allocations are there, too."""
        # Names that no claim has: what a claim of the queue holds already must stay.
        named = [(("", str(next(self._names))), allocation) for allocation in made]
        return self._state(state.view, AllocatedState(state.usage.plus(named)), broken=False)

    def _state(self, view: NodeView, ledger: AllocatedState, *, broken: bool) -> DeviceState:
        in_use = ledger.in_use(view)
        key = broken, node_class_key(view, in_use)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = DeviceState(view, ledger.usage, in_use)
        return found


_encode = msgspec.msgpack.Encoder().encode
AllocationByClaim = Mapping[ObjectKey, AllocationResult]


@dataclass(frozen=True, slots=True)
class SuitableNodeSet:
    """The positions of the nodes that suit a pod and its claims that are allocated; ``number`` is the place's own.

    ``problem`` says why none can be told.
    """

    number: int
    members: frozenset[int]
    problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UnitRequirements:
    """What a unit asks for as things are; ``claims`` are those of one of its equals. ``refused``: it must wait."""

    requests: Mapping[str, int]
    claims: tuple[ResourceClaim, ...]
    question: Question
    place: SuitableNodeSet
    refused: tuple[Reason, ...] = ()


class UnitRequirementsTable:
    """Finds the case of a unit. Units that are alike are of different ones where claims that they share differ."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Node], compiler: Compiler) -> None:
        self._classes = cluster.classes
        self._nodes = nodes
        self._compiler = compiler
        self._known: dict[Hashable, UnitRequirements] = {}
        self._places: dict[bytes, SuitableNodeSet] = {}

    @property
    def places(self) -> Sequence[SuitableNodeSet]:
        """All places met so far, by number."""
        return list(self._places.values())

    def of(self, planned: QueuedUnit, made: AllocationByClaim) -> UnitRequirements:
        """Find the case while these allocations of the queue's claims are there."""
        shape = planned.unit_set.shape
        shared = tuple(claim.key for claim in shape.claims if claim.key in made)
        key = shape.signature, tuple((key, _encode(made[key].node_selector)) for key in shared if key is not None)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._case(planned, made)
        return found

    def _case(self, planned: QueuedUnit, made: AllocationByClaim) -> UnitRequirements:
        unit = planned.unit
        claims = tuple(ref.claim for ref in unallocated_claims(unit, made) if ref.claim is not None)
        place = self._place(unit, made)
        refused = missing_reference_reasons(unit, self._classes) or (
            [Reason("nodeSelector", "", place.problem)] if place.problem else ()
        )
        return UnitRequirements(
            planned.unit_set.shape.requests, claims, self._compiler.question(claims), place, tuple(refused)
        )

    def _place(self, unit: Unit, made: AllocationByClaim) -> SuitableNodeSet:
        earlier = list(unit.existing_allocations(made))
        spec = unit.pod.spec if unit.pod else None
        key = pod_suitability_key(spec, earlier)
        if key not in self._places:
            try:
                found = frozenset(SuitableNodes(self._nodes, spec, earlier))
                self._places[key] = SuitableNodeSet(len(self._places), found)
            except SelectorError as error:
                self._places[key] = SuitableNodeSet(len(self._places), frozenset(), str(error))
        return self._places[key]


def unallocated_claims(unit: Unit, made: AllocationByClaim) -> list[ClaimRef]:
    """The claims of a unit that have no allocation yet."""
    return [ref for ref in unit.requested_claims if ref.key not in made]


class TimeOverError(Exception):
    """The time limit passed before the engine was done."""


class TrialAbortedError(Exception):
    """An error ends the attempt for a unit; no other node is tried (SCHED-6)."""

    def __init__(self, node: Node, trial: Trial) -> None:
        super().__init__(f"node {node.metadata.name}: {trial.message}")


@dataclass(frozen=True, slots=True)
class Trial:
    """How an attempt ends in some state, and what is made there."""

    status: Status
    made: tuple[AllocationResult, ...] = ()
    message: str = ""

    @property
    def fits(self) -> bool:
        """There is an allocation."""
        return self.status is Status.ALLOCATED


_NO_CLAIMS_TRIAL = Trial(Status.ALLOCATED)


class AllocationTrials:
    """Asks an engine; ``deadline`` is a reading of ``time.monotonic``, None for none."""

    def __init__(self, engine: Engine, deadline: float | None) -> None:
        self.engine = engine
        self.deadline = deadline
        self._known: dict[tuple[int, DeviceState], Trial] = {}

    def of(self, case: UnitRequirements, devices: DeviceState) -> Trial:
        """Try the claims of a case on devices in this state. Raises ``TimeOverError``."""
        if not case.claims:
            return _NO_CLAIMS_TRIAL
        key = case.question.index, devices
        if key not in self._known:
            attempt = self.engine.allocate_on(
                devices.view.node, case.claims, AllocatedState(devices.usage), self.deadline
            )
            self._known[key] = trial_of(attempt)
        return self._known[key]


def trial_of(attempt: NodeResult) -> Trial:
    """Shorten an attempt. Raises ``TimeOverError``."""
    if attempt.status is Status.TIMEOUT:
        raise TimeOverError(attempt.message)
    return Trial(attempt.status, attempt.allocations, attempt.message)


def is_whole(gang: Gang, nodes: Sequence[str], members: int) -> bool:
    """Whether enough of the gang's members in the queue, so many in all, are on nodes."""
    if gang.minimum is None:
        return len(nodes) == members
    return len(nodes) + len(gang.running_nodes) >= gang.minimum


def in_one_domain(gang: Gang, names: Iterable[str], nodes: Mapping[str, Node]) -> bool:
    """Whether all members are on nodes with one value of the gang's label, those that run included."""
    if gang.domain is None:
        return True
    there = [nodes.get(name) for name in (*names, *gang.running_nodes)]
    values = {(node.metadata.labels or {}).get(gang.domain) if node else None for node in there}
    return None not in values and len(values) <= 1

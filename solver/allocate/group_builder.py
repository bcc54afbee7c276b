"""The parts of a Problem about several nodes: the merged view of their devices, claims, and demands.

A request may be served on any node that its node group may go to. Serving it on a node is an alternative of the
request: first in the order of nodes, then in the request's own order, so that the scheduler's preference (SRCH-4)
prefers nodes that come first. Claims are in the order of their names, because entries of groups see devices in that
order. Claims that hold devices already are among them: they keep their devices, and stand-ins represent these devices.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter

from msgspec.structs import replace as replace_struct

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import node_matches
from ...models.cluster.pools import Pool, PoolDevice, merge_pool_views
from ...models.kubernetes.claims import (
    AllocationResult,
    DeviceClass,
    DeviceDerivedAttribute,
    ExactDeviceRequest,
    ResourceClaim,
)
from ...models.kubernetes.core import Node
from ...models.kubernetes.meta import DeviceId, ObjectKey, PoolId, key_of
from ...problem.compiler import Compiler
from ...problem.problem import Amounts, Claim, Demand, Request
from ...problem.requests import EXACT_COUNT, ResolvedRequest, VisibleAttributes, alternatives, resolve_request
from ...problem.shapes import NodeView, NodeViews
from .coupling import SameNodeUnits

HELD_CLAIM = -1


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """What a demand stands for: a request of a node group on a node; of a held claim neither.

    ``ask`` has the number of the claim in its node group.
    """

    ask: ResolvedRequest
    node_group: int = HELD_CLAIM
    node: Node | None = None


class GroupProblemBuilder:
    """Claims and demands with what they stand for.

    ``keys`` and ``resources`` are the claims, ``of_claim`` lists the demands of each. ``served_requests`` says for
    each demand which request it serves, and on which node.
    """

    def __init__(self, compiler: Compiler, merged_view: MergedView) -> None:
        self._compiler = compiler
        self._merged_view = merged_view
        self.demands: list[Demand] = []
        self.claims: list[Claim] = []
        self.keys: list[ObjectKey] = []
        self.resources: list[ResourceClaim] = []
        self.served_requests: list[ServedRequest] = []
        self.of_claim: dict[int, list[int]] = defaultdict(list)

    def add(
        self, node_groups: Sequence[SameNodeUnits], nodes: Sequence[Sequence[Node]], held: Sequence[HeldClaim]
    ) -> None:
        """Add the claims of node groups, each with its admissible nodes, and those held. Raises ``FatalError``."""
        rows = [
            (key_of(claim.metadata), partial(self._claim, claim, local, node_group, nodes[node_group]))
            for node_group, one in enumerate(node_groups)
            for local, claim in enumerate(one.claims)
        ]
        rows += [(one.key, partial(self._hold, one)) for one in held]
        for key, add in sorted(rows, key=itemgetter(0)):
            self.keys.append(key)
            add()

    def asks_of(self, claim: int) -> list[tuple[int, ResolvedRequest]]:
        """List the asks of a claim with the numbers of their demands."""
        return [(demand, self.served_requests[demand].ask) for demand in self.of_claim.get(claim, ())]

    def of_node_group(self, node_group: int) -> list[int]:
        """List the demands of a node group."""
        return [demand for demand, served in enumerate(self.served_requests) if served.node_group == node_group]

    def is_held(self, claim: int) -> bool:
        """Tell whether a claim has its devices already."""
        return all(self.served_requests[demand].node_group == HELD_CLAIM for demand in self.of_claim[claim])

    def _claim(self, claim: ResourceClaim, local: int, node_group: int, nodes: Sequence[Node]) -> None:
        """Add a claim, which is the ``local``-th of its node group."""
        compiler, number = self._compiler, len(self.claims)
        self.resources.append(claim)
        requests = []
        for request in claim.spec.devices.requests or ():
            parts = alternatives(number, request, compiler.gates)
            resolved = [resolve_request(number, request.name, part, compiler.classes, compiler.gates) for part in parts]
            asks = [replace(ask, claim=local) for ask in resolved]
            demands = tuple(
                self._demand(ServedRequest(ask, node_group, node), number) for node in nodes for ask in asks
            )
            requests.append(Request(request.name, request.exactly is None or len(demands) > 1, demands))
        self.claims.append(Claim(tuple(requests)))

    def _demand(self, served: ServedRequest, claim: int) -> int:
        """Compile a request on a node there, then number its devices as all nodes together do."""
        index = len(self.demands)
        view = self._merged_view.views[served.node.metadata.name if served.node else ""]
        own = self._compiler.demands.demand(served.ask, index, view.shape)
        number = [self._merged_view.number_of[device.id] for device in view.devices]
        self._add(
            replace(
                own,
                claim=claim,
                candidates=tuple(sorted(number[device] for device in own.candidates)),
                error_devices={number[device]: failure for device, failure in own.error_devices.items()},
                untakeable=frozenset(number[device] for device in own.untakeable),
                amounts={number[device]: self._amounts(view, device, own, number) for device in own.amounts},
                # Whoever wants to know why devices fall looks at each node alone.
                failures=(),
            ),
            served,
        )
        return index

    def _amounts(self, view: NodeView, device: int, own: Demand, number: Sequence[int]) -> Amounts:
        rows = view.shape.capacities.rows.get(device, ())
        whole = dict(zip(rows, self._merged_view.view.shape.capacities.rows.get(number[device], ()), strict=True))
        return tuple((whole[row], amount) for row, amount in own.amounts[device])

    def _hold(self, held: HeldClaim) -> None:
        """Add a claim that can only have what it has; several may have admin access to one device (DEV-1)."""
        claim = len(self.claims)
        self.resources.append(held.claim)
        requests = []
        for ask, devices in held.asks(claim):
            index = len(self.demands)
            numbers = (self._merged_view.number_of.get(stand_in_id(id_)) for id_ in devices)
            candidates = tuple(sorted(number for number in numbers if number is not None))
            count, admin = len(candidates), True
            demand = Demand(index, claim, ask.request, ask.subrequest, "", count, False, admin, candidates=candidates)
            self._add(demand, ServedRequest(ask))
            requests.append(Request(ask.request, False, (index,)))
        self.claims.append(Claim(tuple(requests)))

    def _add(self, demand: Demand, served: ServedRequest) -> None:
        self.of_claim[demand.claim].append(demand.index)
        self.demands.append(demand)
        self.served_requests.append(served)


class ContradictingViewsError(Exception):
    """A question about several nodes that cannot be compiled as one; one line says why."""


@dataclass(frozen=True)
class MergedView:
    """The devices of all nodes together and stand-ins for ``held`` ones, and each node's own view of its devices."""

    view: NodeView
    views: Mapping[str, NodeView]
    held: frozenset[DeviceId]
    elsewhere: frozenset[PoolId]
    """Pools of which devices are published that none of these nodes sees."""

    @cached_property
    def number_of(self) -> Mapping[DeviceId, int]:
        """Numbers of the devices in the whole."""
        return {device.id: number for number, device in enumerate(self.view.devices)}

    @cached_property
    def replaced(self) -> frozenset[int]:
        """Devices for which there is a stand-in: what holds them takes that instead."""
        originals = (id_ for id_ in self.held if stand_in_id(id_) in self.number_of)
        return frozenset(self.number_of[id_] for id_ in originals if id_ in self.number_of)

    @cached_property
    def nodes_of(self) -> Mapping[DeviceId, tuple[int, ...]]:
        """By device the numbers of the nodes that reach it."""
        found: dict[DeviceId, list[int]] = defaultdict(list)
        for number, view in enumerate(self.views.values()):
            for device in view.devices:
                if device.reachable:
                    found[device.id].append(number)
        return {id_: tuple(nodes) for id_, nodes in found.items()}

    @cached_property
    def nodes_of_device(self) -> Sequence[tuple[Hashable, ...]]:
        """For each device the nodes that reach it; what no node of the question sees is at a place of its own."""
        return [self.nodes_of.get(id_) or ("/".join(id_),) for id_ in self._ids]

    @cached_property
    def pools(self) -> Sequence[PoolId]:
        """For each device the pool that publishes it."""
        return [id_[:2] for id_ in self._ids]

    @cached_property
    def sites(self) -> Mapping[str, Sequence[Hashable]]:
        """The key of each device's instance, by scope of topologies; None for replaced devices."""
        found: dict[str, Sequence[Hashable]] = {
            "Node": self.nodes_of_device,
            "Pool": self.pools,
            "Cluster": [""] * len(self._ids),
        }
        return {
            scope: [None if number in self.replaced else site for number, site in enumerate(own)]
            for scope, own in found.items()
        }

    @cached_property
    def _ids(self) -> Sequence[DeviceId]:
        """Names of the devices, of stand-ins those that they stand for."""
        originals = {stand_in_id(id_): id_ for id_ in self.held}
        return [originals.get(device.id, device.id) for device in self.view.devices]


def merge_views(
    views: Mapping[str, NodeView],
    all_views: NodeViews,
    cluster: Cluster,
    held: Collection[DeviceId],
    visible: VisibleAttributes,
) -> MergedView:
    """Put together what these views see. Raises ``ContradictingViewsError`` where they contradict each other."""
    seen: dict[PoolId, list[Pool]] = defaultdict(list)
    for pool in dict.fromkeys(pool for view in views.values() for pool in view.pools):
        seen[pool.id].append(pool)
    pools = []
    for id_, own in seen.items():
        whole = merge_pool_views(own)
        if whole is None:
            raise ContradictingViewsError(
                f"nodes see different generations or counters of resource pool {'/'.join(id_)}"
            )
        pools.append(whole)
    there = {device.id for pool in pools for device in pool.devices}
    published = published_devices(cluster)
    stand_ins = stand_in_pool(published, held)
    pools += [stand_ins] if stand_ins else []
    able = next((view for view in views.values() if view.shape.node_skips), next(iter(views.values())))
    view = all_views.of_pools(able.node, pools, visible)
    return MergedView(view, views, frozenset(held), frozenset(id_[:2] for id_ in published.keys() - there))


# No driver's pool can have this name.
STAND_IN_POOL = "//held"


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim with what it holds: for each request the devices, in result order."""

    key: ObjectKey
    claim: ResourceClaim
    allocation: AllocationResult
    requests: Mapping[str, tuple[DeviceId, ...]]

    def asks(self, number: int) -> Iterator[tuple[ResolvedRequest, tuple[DeviceId, ...]]]:
        """Yield requests for just these devices, as the claim of this number."""
        for label, devices in self.requests.items():
            request, _, subrequest = label.partition("/")
            derived = self._derived(request, subrequest)
            spec = ExactDeviceRequest(allocation_mode=EXACT_COUNT, count=len(devices), derived_attributes=derived)
            yield ResolvedRequest(number, request, subrequest, spec, DeviceClass(), {}), devices

    def _derived(self, request: str, subrequest: str) -> tuple[DeviceDerivedAttribute, ...] | None:
        """Find what entries see of the devices beside what they publish (CON-12)."""
        for one in self.claim.spec.devices.requests or ():
            if one.name == request:
                parts = [one.exactly, *(part for part in one.first_available or () if part.name == subrequest)]
                return next((part.derived_attributes for part in parts if part is not None), None)
        return None

    def label_values(self, label: str, nodes: Iterable[Node]) -> frozenset[str]:
        """Find the values of a label on the nodes where the claim can be used. Raises ``SelectorError``."""
        usable = (node for node in nodes if node_matches(self.allocation.node_selector, node))
        found = ((node.metadata.labels or {}).get(label) for node in usable)
        return frozenset(value for value in found if value is not None)


def held_claims(cluster: Cluster, keys: Iterable[ObjectKey]) -> list[HeldClaim]:
    """Find which of these claims hold devices."""
    found = []
    for key in keys:
        claim = cluster.claims.get(key)
        if claim is not None and claim.status is not None and claim.status.allocation is not None:
            allocation = claim.status.allocation
            requests: dict[str, tuple[DeviceId, ...]] = defaultdict(tuple)
            for result in allocation.devices.results or ():
                requests[result.request] += ((result.driver, result.pool, result.device),)
            found.append(HeldClaim(key, claim, allocation, dict(requests)))
    return found


def stand_in_id(id_: DeviceId) -> DeviceId:
    """Name the stand-in of a held device: no other claim can take it, and it draws no counters."""
    driver, pool, name = id_
    return driver, STAND_IN_POOL, f"{pool}/{name}"


def stand_in_pool(published: Mapping[DeviceId, PoolDevice], ids: Iterable[DeviceId]) -> Pool | None:
    """Make a pool of stand-ins for the held devices that are published; None if there are none."""
    devices = []
    for device in (published[id_] for id_ in dict.fromkeys(ids) if id_ in published):
        bare = replace_struct(device.device, consumes_counters=None)
        devices.append(PoolDevice(bare, device.slice, stand_in_id(device.id)))
    return Pool("", STAND_IN_POOL, 1, devices=tuple(devices)) if devices else None


def published_devices(cluster: Cluster) -> Mapping[DeviceId, PoolDevice]:
    """List all devices of a cluster, those of the newest generation where there are several."""

    def find() -> dict[DeviceId, PoolDevice]:
        found: dict[DeviceId, PoolDevice] = {}
        for slice_ in sorted(cluster.slices, key=lambda one: one.spec.pool.generation):
            for device in slice_.spec.devices or ():
                id_ = slice_.spec.driver, slice_.spec.pool.name, device.name
                found[id_] = PoolDevice(device, slice_, id_)
        return found

    return cluster.memo("devices by id", find)


def reduce_nodes(
    nodes_of: Sequence[Sequence[Node]],
    views: Mapping[str, NodeView],
    state: Callable[[NodeView], Hashable],
    labels: Sequence[str],
    held: Collection[DeviceId],
) -> list[list[Node]]:
    """Keep the first of equal nodes that each node group may go to, as many as there are node groups.

    Nodes are equal if exchanging them, with all that they alone see, changes nothing: the same node groups may go there
    and their own devices look and are used alike (``state``); what others see too is the same, and so are the values
    of these labels. A ``held`` device is like no other.
    """
    open_to = [{node.metadata.name for node in own} for own in nodes_of]
    devices = Counter(device.id for view in views.values() for device in view.devices)
    pools = Counter(pool.id for view in views.values() for pool in view.pools)
    shared_devices = {id_ for id_, count in devices.items() if count > 1}.union(held)

    def not_its_own(view: NodeView) -> Hashable:
        """List pools that others see too, whose counters they may share, and devices, by their place in the view."""
        seen_pools = tuple((place, pool.id) for place, pool in enumerate(view.pools) if pools[pool.id] > 1)
        return seen_pools, tuple((place, one.id) for place, one in enumerate(view.devices) if one.id in shared_devices)

    kept: Counter[Hashable] = Counter()
    left: set[str] = set()
    for name, node in {node.metadata.name: node for node in chain.from_iterable(nodes_of)}.items():
        view, own = views[name], node.metadata.labels or {}
        suits = tuple(name in others for others in open_to)
        key = view.shape.index, state(view), suits, tuple(map(own.get, labels)), not_its_own(view)
        kept[key] += 1
        if kept[key] > len(nodes_of):
            left.add(name)
    return [[node for node in own if node.metadata.name not in left] for own in nodes_of]

"""What pods leave of each node's allocatable, and what a pod lacks there.

Every verb asks here whether a node has room for a pod. ``NodeRooms`` follows the rooms while units are placed one after
the other. Amounts are those of ``requests``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import msgspec

from ..cluster.cluster import Cluster, inferred_node
from ..cluster.node_fit import Misfit
from ..formats.decode import QuantityText
from ..formats.errors import plural
from ..kubernetes.claims import AllocationResult
from ..kubernetes.core import Node, Pod, PodSpec
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import DeviceId, ObjectKey
from .node_resources import NodeResourcesOfDevices, PodDemand, claim_users, nano_amount, nano_of, whole_amount
from .requests import (
    PODS,
    Amounts,
    Requests,
    add_requests,
    backed_resources,
    effective_requests,
    format_amount,
    integer_amounts,
    pod_level_headroom,
    pod_level_limits,
    sum_requests,
)
from .units import ClaimRef, PodClaims, Unit, allocation_of, has_finished, is_finished_or_deleting, made_extended_claim

_NOTHING: frozenset[str] = frozenset()


def running_pods(cluster: Cluster) -> Mapping[ObjectKey, Pod]:
    """Pods that are on a node, have not finished, and wait for no claim: they are given.

    Those being deleted still hold what they have. A pod on a node some claim of which has no allocation is planned.
    """
    return cluster.memo("running pods", lambda: dict(_find_running_pods(cluster)))


def remaining_allocatable(cluster: Cluster, gates: FeatureGates | None = None) -> dict[str, Requests | None]:
    """What the running pods leave of each node's allocatable (capacity, if that is not known), by the node's name.

    Amounts are in the units of ``pod_requests``; they are negative where a node has more than it can take. None:
    nothing is known of the node, it takes anything. Without a number of pods it takes any number of them. Resources
    that device classes back are not counted for pods that got devices in their place.
    """
    known = cluster.memo(("remaining allocatable", gates), lambda: _remaining_allocatable(cluster, gates))
    return {name: None if free is None else free.copy() for name, free in known.items()}


def _remaining_allocatable(cluster: Cluster, gates: FeatureGates | None) -> dict[str, Requests | None]:
    # Most nodes have the amounts of others.
    read: dict[tuple[tuple[str, QuantityText], ...], Requests] = {}
    free_by_node: dict[str, Requests | None] = {}
    for name, node in cluster.nodes.items():
        written = _written_amounts(node)
        amounts = tuple(written.items())
        if amounts and amounts not in read:
            read[amounts] = integer_amounts(written)
        free_by_node[name] = dict(read[amounts]) if amounts else None
    backing, plugins = frozenset(backed_resources(cluster, gates)), plugin_resources(cluster, gates)
    counted = frozenset[str]().union(*plugins.values())
    for name, free in free_by_node.items() if counted else ():
        if free is not None:
            free.update(dict.fromkeys(counted - plugins.get(name, _NOTHING), UNLIMITED))
    known: dict[tuple[bytes, frozenset[str]], Requests] = {}
    for pod in running_pods(cluster).values():
        excluded = backing if made_extended_claim(cluster, pod) is not None else _NOTHING
        # Once for all pods with the same containers.
        key = _counted_fields(pod.spec), excluded
        if key not in known:
            known[key] = effective_requests(pod.spec, excluded)
        subtract_requests(free_by_node.get(pod.spec.node_name or ""), known[key])
        subtract_requests(free_by_node.get(pod.spec.node_name or ""), recorded_requests(pod, gates))
    return free_by_node


UNLIMITED = 1 << 62
"""What is left of a resource of which a node gives devices, while others count it: any number of units have it."""


def plugin_resources(cluster: Cluster, gates: FeatureGates | None = None) -> Mapping[str, frozenset[str]]:
    """Resources that a device class backs and that a device plugin of the node provides nevertheless, by the node.

    There the scheduler counts them as the node has them, and makes no claim (KEP-5004). Nodes without any are left out.
    """
    backing = backed_resources(cluster, gates)
    return cluster.memo(("plugin resources", bool(backing)), lambda: dict(_find_plugin_resources(cluster, backing)))


def _find_plugin_resources(cluster: Cluster, backing: Mapping[str, str]) -> Iterator[tuple[str, frozenset[str]]]:
    for name, node in cluster.nodes.items() if backing else ():
        written = (node.status.allocatable if node.status else None) or {}
        amounts = integer_amounts({resource: text for resource, text in written.items() if resource in backing})
        if own := frozenset(resource for resource, amount in amounts.items() if amount > 0):
            yield name, own


def plugin_classes(cluster: Cluster, gates: FeatureGates | None = None) -> Mapping[str, frozenset[str]]:
    """The device classes behind ``plugin_resources``, by the node: pods get no devices of these there."""
    backing = backed_resources(cluster, gates)
    found = plugin_resources(cluster, gates)
    return {name: frozenset(backing[resource] for resource in own) for name, own in found.items()}


def device_resources(cluster: Cluster, gates: FeatureGates | None = None) -> frozenset[str]:
    """Resources that pods have as devices on every node, so that nothing of them is counted on nodes."""
    counted = frozenset[str]().union(*plugin_resources(cluster, gates).values())
    return frozenset(backed_resources(cluster, gates)) - counted


def subtract_requests(free: Requests | None, requests: Mapping[str, int]) -> None:
    """Take requests out of what a node has left; one of which nothing is known takes anything."""
    if free is None:
        return
    for resource, amount in requests.items():
        if (resource in free or resource != PODS) and free.get(resource) != UNLIMITED:
            free[resource] = free.get(resource, 0) - amount


def remaining_after(free: Requests | None, requests: Mapping[str, int], times: int = 1) -> Requests | None:
    """What a node has left of what it has any of, once a pod that fits is there so many times."""
    if free is None:
        return None
    return {
        name: amount if amount == UNLIMITED else amount - times * requests.get(name, 0) for name, amount in free.items()
    }


def missing_resources(requests: Mapping[str, int], free: Mapping[str, int] | None) -> dict[str, int]:
    """How much of which resources is missing for the requests on a node that has so much left; nothing: they fit."""
    if free is None:
        return {}
    lefts = ((name, amount, free.get(name, amount if name == PODS else 0)) for name, amount in requests.items())
    return {name: amount - left for name, amount, left in lefts if amount > left}


def has_room(requests: Mapping[str, int], free: Mapping[str, int] | None) -> bool:
    """Whether requests fit a node that has so much left: nothing is missing."""
    if free is None:
        return True
    # A plain loop: this is asked for very many nodes.
    for name, amount in requests.items():
        if amount > free.get(name, 0) and (name in free or name != PODS):
            break
    else:
        return True
    return False


def recorded_requests(pod: Pod, gates: FeatureGates | None = None) -> Requests:
    """What the devices of a running pod take of its node, as its status says; nothing is computed anew (NAR-11)."""
    statuses = (pod.status.node_allocatable_resource_claim_statuses if pod.status else None) or ()
    if not statuses or (gates is not None and not gates.node_allocatable_resources):
        return {}
    total: Requests = {}
    for status in statuses:
        add_requests(total, {name: nano_amount(text) for name, text in (status.resources or {}).items()})
        add_requests(total, sum_requests({one.name: nano_amount(one.quantity)} for one in status.mapping or ()))
        users = len(status.containers or ())
        for one in status.overhead or ():
            add_requests(total, {one.name: nano_amount(one.per_pod) + users * nano_amount(one.per_container)})
    named = pod_level_headroom(pod.spec)
    return {name: whole_amount(name, amount) for name, amount in total.items() if name not in named}


@dataclass(frozen=True, slots=True)
class DeviceBudget:
    """What devices of a pod's claims may take of one node beside the pod's requests.

    ``free`` is what other pods leave of the node; None: it takes anything. ``users`` are for each claim that needs
    devices the containers that refer to it, and how often. ``given`` is what its other claims take. Amounts are
    billionths, by resource and by the texts of the demand's limits.
    """

    devices: NodeResourcesOfDevices
    demand: PodDemand
    free: Requests | None
    users: Sequence[Counter[str]]
    given: Requests

    def left(self, name: str) -> int | None:
        """What may still be taken of a resource, or of what a limit leaves; None: anything."""
        limit = self.demand.device_limit(self.free, name)
        if limit is None:
            return None
        resource = self.demand.limits[name].resource if name in self.demand.limits else name
        return nano_of(resource, limit) - self.given.get(name, 0)

    def draws(self, claim: int, device: DeviceId, consumed: Amounts | None) -> Requests:
        """What a device takes for one of the claims. Raises ``NodeResourceError``."""
        return self.demand.with_limits(partial(self.devices.of_device, device, consumed), self.users[claim])

    def total(self, allocations: Iterable[AllocationResult]) -> Requests:
        """What all claims of the pod take. Raises ``NodeResourceError``."""
        taken = (
            self.demand.with_limits(partial(self.devices.of_allocation, made), users)
            for made, users in zip(allocations, self.users, strict=True)
        )
        return sum_requests((self.given, *taken))

    def misfit(self, allocations: Iterable[AllocationResult]) -> Misfit | None:
        """Say what the node has too little of for these devices (NAR-6, NAR-7). Raises ``NodeResourceError``."""
        total = self.total(allocations)
        for text, one in self.demand.limits.items():
            if whole_amount(one.resource, total.pop(text, 0)) > one.left:
                return Misfit(ROOM, text, one.resource)
        for resource, nano in sorted(total.items()):
            amount, limit = whole_amount(resource, nano), self.demand.device_limit(self.free, resource)
            if limit is None or amount <= limit:
                continue
            if resource in self.demand.headroom:
                text = f"pod level request for {resource} is insufficient to cover the aggregated container and"
                return Misfit(ROOM, f"{text} node-allocatable DRA requests", resource)
            own = self.demand.requests.get(resource, 0)
            return room_misfit({resource: own + amount}, {resource: amount - limit})
        return None


class DeviceBudgets:
    """What pods take of nodes, and what their devices may take beside that."""

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self._uncounted = device_resources(cluster, gates)
        self._demands: dict[bytes, PodDemand] = {}
        self.devices = NodeResourcesOfDevices(cluster, gates)

    def demand(self, spec: PodSpec | None) -> PodDemand | None:
        """Find what a pod takes, by its spec."""
        if spec is None:
            return None
        key = _counted_fields(spec)
        found = self._demands.get(key)
        if found is None:
            limits = {str(limit): limit for limit in pod_level_limits(spec)}
            requests = effective_requests(spec, self._uncounted)
            found = self._demands[key] = PodDemand(requests, pod_level_headroom(spec), limits)
        return found

    def budget(
        self,
        unit: Unit,
        requested: Sequence[ClaimRef],
        held: Mapping[ObjectKey, AllocationResult],
        free: Requests | None,
    ) -> DeviceBudget | None:
        """What devices for the requested claims of a pod may take of a node, beside those ``held`` by its other claims.

        ``free`` is what other pods leave of the node. None: nothing is counted. Raises ``NodeResourceError``.
        """
        demand = self.demand(unit.pod.spec if unit.pod else None)
        if demand is None or not self.devices.devices:
            return None
        given = sum_requests(
            demand.with_limits(partial(self.devices.of_allocation, held[ref.key]), claim_users(unit, ref))
            for ref in unit.claims
            if ref.key in held
        )
        return DeviceBudget(self.devices, demand, free, [claim_users(unit, ref) for ref in requested], given)

    def taken(self, unit: Unit, made: Mapping[ObjectKey, AllocationResult]) -> Requests:
        """What the devices of a pod take of its node, those that its claims hold already and those that are ``made``.

        Raises ``NodeResourceError``.
        """
        if not self.devices.devices:
            return {}
        held = {ref.key: own for ref in unit.claims if (own := made.get(ref.key) or allocation_of(ref)) is not None}
        budget = self.budget(unit, (), held, None) if held else None
        return budget.demand.counted_on_node(budget.given) if budget else {}


class NodeRooms(DeviceBudgets):
    """The room on each node, by name, while pods are placed one after the other. A loose claim takes none.

    ``changes`` counts the pods placed so far.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        super().__init__(cluster, gates)
        self.changes = 0
        self._free = remaining_allocatable(cluster, gates)

    def misfit(self, demand: PodDemand | None, node: str, after: int = 0) -> Misfit | None:
        """Say in kube-scheduler's words what the node has too little of for the pod, ``after`` so many more of them.

        None: it has room.
        """
        if demand is None:
            return None
        requests, free = demand.requests, self._free.get(node)
        if after:
            free = remaining_after(free, requests, after)
        missing = missing_resources(requests, free)
        return room_misfit(requests, missing) if missing else None

    def lowered_requests(self, demand: PodDemand | None, node: str) -> Requests | None:
        """Requests of the pod, lowered where the node has less; None where it has not even a place for one."""
        free = self._free.get(node)
        if demand is None or free is None:
            return None
        requests = demand.requests
        lowered = {name: min(amount, free.get(name, 0)) for name, amount in requests.items() if name != PODS}
        no_place = free.get(PODS, 1) < 1 or any(amount < 0 for amount in lowered.values())
        return None if no_place else lowered

    def fit_together(self, demands: Iterable[PodDemand | None], *nodes: str) -> bool:
        """Tell whether each of these nodes has room for all of these pods."""
        counts = Counter(demand for demand in demands if demand is not None)
        total = sum_requests(
            {name: times * amount for name, amount in demand.requests.items()} for demand, times in counts.items()
        )
        return not any(missing_resources(total, self._free.get(node)) for node in nodes)

    def left_for(self, demands: Iterable[PodDemand | None], node: str) -> tuple[int, ...] | None:
        """What is left of all that these pods ask for, as far as they could need it; None: the node takes anything."""
        free = self._free.get(node)
        if free is None:
            return None
        total = sum_requests(demand.requests for demand in demands if demand is not None)
        return tuple(min(amount, free.get(name, amount if name == PODS else 0)) for name, amount in total.items())

    def copies(self, demand: PodDemand | None, node: str) -> int | None:
        """Count how many such pods the node has room for; None: any number."""
        free = self._free.get(node)
        if demand is None or free is None:
            return None
        requests = demand.requests
        counts = [
            max(0, free.get(name, 0)) // amount for name, amount in requests.items() if name in free or name != PODS
        ]
        return min(counts, default=None)

    def take(self, demand: PodDemand | None, node: str, devices: Mapping[str, int] | None = None) -> None:
        """Count such a pod as placed on the node; ``devices`` is what its devices take, in billionths."""
        if demand is not None:
            self.changes += 1
            subtract_requests(self._free.get(node), demand.requests)
            subtract_requests(self._free.get(node), demand.counted_on_node(devices or {}))

    def device_budget(
        self, unit: Unit, requested: Sequence[ClaimRef], held: Mapping[ObjectKey, AllocationResult], node: str
    ) -> DeviceBudget | None:
        """The same for a node by its name. Raises ``NodeResourceError``."""
        return self.budget(unit, requested, held, self._free.get(node))


ROOM = "room"
NODE_RESOURCES = "nodeResources"


def room_misfit(requests: Mapping[str, int], missing: Mapping[str, int]) -> Misfit:
    """Say in kube-scheduler's words that resources are missing for these requests."""
    texts = [
        "Too many pods"
        if name == PODS
        else f"Insufficient {name} ({format_amount(name, requests[name])} requested, "
        f"{format_amount(name, max(0, requests[name] - amount))} left)"
        for name, amount in missing.items()
    ]
    return Misfit(ROOM, ", ".join(texts), ", ".join(missing))


_encode = msgspec.msgpack.Encoder().encode


def _counted_fields(spec: PodSpec) -> bytes:
    """Equal for pods that take the same."""
    return _encode((spec.containers, spec.init_containers, spec.overhead, spec.resources))


def allocatable_warnings(cluster: Cluster) -> tuple[str, ...]:
    """Lines about nodes of which no amounts are known, and about pods on nodes that are not there."""
    away = [key for key, pod in running_pods(cluster).items() if pod.spec.node_name not in cluster.nodes]
    such = f"such as {'/'.join(away[0])}" if away else ""
    are = "is on a node that is" if len(away) == 1 else "are on nodes that are"
    lines = [f"{plural(len(away), 'pod')} {are} not in the input, {such}"] if away else []
    return (*_unknown_rooms(cluster.nodes.values()), *lines)


def unknown_room_notices(nodes: Iterable[Node], units: Iterable[Unit]) -> tuple[str, ...]:
    """One line about nodes of which no amounts are known, if any of the units is a pod; loose claims take no room."""
    return _unknown_rooms(nodes) if any(unit.pod is not None for unit in units) else ()


def _unknown_rooms(nodes: Iterable[Node]) -> tuple[str, ...]:
    listed = list(nodes)
    unknown = [node.metadata.name for node in listed if allocatable_of(node) is None]
    if not unknown:
        return ()
    if all(node == inferred_node(node.metadata.name) for node in listed):
        return (
            "there are no Nodes in the input: their labels, taints and room "
            "(cpu, memory, pods, extended resources) are not looked at",
        )
    have = "has" if len(unknown) == 1 else "have"
    such = f"{plural(len(unknown), 'node')} {have} neither status.allocatable nor status.capacity, such as {unknown[0]}"
    return (f"{such}: they are taken to have room for any pods",)


def _find_running_pods(cluster: Cluster) -> Iterator[tuple[ObjectKey, Pod]]:
    resolver = cache(lambda: PodClaims(cluster))
    for key, pod in cluster.pods.items():
        if not pod.spec.node_name:
            continue
        waits = (
            pod.spec.resource_claims
            and not is_finished_or_deleting(pod)
            and any(ref.claim is not None and not ref.allocated for ref in resolver().claims_of(pod))
        )
        if not waits and not has_finished(pod):
            yield key, pod


def allocatable_of(node: Node) -> Requests | None:
    """What a node has for pods: its allocatable, or its capacity; None if nothing is known of it."""
    return integer_amounts(_written_amounts(node)) or None


def _written_amounts(node: Node) -> Amounts:
    return ((node.status.allocatable or node.status.capacity) if node.status else None) or {}

"""What pods leave of each node's allocatable, and what a pod lacks there.

Every verb asks here whether a node has room for a pod. ``NodeRooms`` follows the rooms while units are placed one after
the other. Amounts are those of ``requests``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import msgspec

from ..cluster.cluster import Cluster, inferred_node
from ..cluster.node_fit import Misfit
from ..kubernetes.core import Node, Pod, PodSpec
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey
from .requests import PODS, Requests, backed_resources, effective_requests, format_amount, integer_amounts, sum_requests
from .units import PodClaims, Unit, has_finished, is_finished_or_deleting

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
    free_by_node = {name: allocatable_of(node) for name, node in cluster.nodes.items()}
    backing = frozenset(backed_resources(cluster, gates))
    known: dict[tuple[bytes, frozenset[str]], Requests] = {}
    for pod in running_pods(cluster).values():
        got_devices = pod.status is not None and pod.status.extended_resource_claim_status is not None
        excluded = backing if got_devices else _NOTHING
        # Once for all pods with the same containers.
        key = _counted_fields(pod.spec), excluded
        if key not in known:
            known[key] = effective_requests(pod.spec, excluded)
        subtract_requests(free_by_node.get(pod.spec.node_name or ""), known[key])
    return free_by_node


def plugin_resources(cluster: Cluster, gates: FeatureGates | None = None) -> dict[str, frozenset[str]]:
    """Resources that a device class backs and that a device plugin of the node provides nevertheless, by the node.

    There the scheduler counts them as the node has them, and makes no claim (KEP-5004). Nodes without any are left out.
    """
    backing = backed_resources(cluster, gates)
    found = {}
    for name, node in cluster.nodes.items() if backing else ():
        allocatable = node.status.allocatable if node.status else None
        provided = (resource for resource in allocatable or () if resource in backing)
        amounts = integer_amounts({resource: (allocatable or {})[resource] for resource in provided})
        if own := frozenset(resource for resource, amount in amounts.items() if amount > 0):
            found[name] = own
    return found


def subtract_requests(free: Requests | None, requests: Mapping[str, int]) -> None:
    """Take requests out of what a node has left; one of which nothing is known takes anything."""
    if free is None:
        return
    for resource, amount in requests.items():
        if resource in free or resource != PODS:
            free[resource] = free.get(resource, 0) - amount


def remaining_after(free: Requests | None, requests: Mapping[str, int], times: int = 1) -> Requests | None:
    """What a node has left of what it has any of, once a pod that fits is there so many times."""
    return None if free is None else {name: amount - times * requests.get(name, 0) for name, amount in free.items()}


def missing_resources(requests: Mapping[str, int], free: Mapping[str, int] | None) -> dict[str, int]:
    """How much of which resources is missing for the requests on a node that has so much left; nothing: they fit."""
    if free is None:
        return {}
    lefts = ((name, amount, free.get(name, amount if name == PODS else 0)) for name, amount in requests.items())
    return {name: amount - left for name, amount, left in lefts if amount > left}


@dataclass(frozen=True, slots=True, eq=False)
class PodDemand:
    """What a pod takes of a node; pods that take the same share one object."""

    spec: PodSpec
    backing: frozenset[str]
    _known: dict[frozenset[str], Requests] = field(default_factory=dict)

    def requests(self, plugins: frozenset[str] = _NOTHING) -> Requests:
        """Count the requests on a node whose device plugins provide these of the resources that classes back."""
        if plugins not in self._known:
            self._known[plugins] = effective_requests(self.spec, self.backing - plugins)
        return self._known[plugins]


class NodeRooms:
    """The room on each node, by name, while pods are placed one after the other. A loose claim takes none.

    ``changes`` counts the pods placed so far.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates) -> None:
        self.changes = 0
        self._plugins = plugin_resources(cluster, gates)
        self._backing = frozenset(backed_resources(cluster, gates))
        self._free = remaining_allocatable(cluster, gates)
        self._demands: dict[bytes, PodDemand] = {}

    def demand(self, spec: PodSpec | None) -> PodDemand | None:
        """Find what a pod takes, by its spec."""
        if spec is None:
            return None
        key = _counted_fields(spec)
        found = self._demands.get(key)
        if found is None:
            found = self._demands[key] = PodDemand(spec, self._backing)
        return found

    def plugins_of(self, node: str) -> frozenset[str]:
        """Find the resources that a class backs and that device plugins of the node provide."""
        return self._plugins.get(node, _NOTHING)

    def misfit(self, demand: PodDemand | None, node: str, after: int = 0) -> Misfit | None:
        """Say in kube-scheduler's words what the node has too little of for the pod, ``after`` so many more of them.

        None: it has room.
        """
        if demand is None:
            return None
        requests, free = demand.requests(self.plugins_of(node)), self._free.get(node)
        if after:
            free = remaining_after(free, requests, after)
        missing = missing_resources(requests, free)
        return room_misfit(requests, missing) if missing else None

    def lowered_requests(self, demand: PodDemand | None, node: str) -> Requests | None:
        """Requests of the pod, lowered where the node has less; None where it has not even a place for one."""
        free = self._free.get(node)
        if demand is None or free is None:
            return None
        requests = demand.requests(self.plugins_of(node))
        lowered = {name: min(amount, free.get(name, 0)) for name, amount in requests.items() if name != PODS}
        no_place = free.get(PODS, 1) < 1 or any(amount < 0 for amount in lowered.values())
        return None if no_place else lowered

    def fit_together(self, demands: Iterable[PodDemand | None], *nodes: str) -> bool:
        """Tell whether each of these nodes has room for all of these pods."""
        counts = Counter(demand for demand in demands if demand is not None)
        totals: dict[frozenset[str], Requests] = {}
        for node in nodes:
            plugins = self.plugins_of(node)
            if plugins not in totals:
                totals[plugins] = sum_requests(
                    {name: times * amount for name, amount in demand.requests(plugins).items()}
                    for demand, times in counts.items()
                )
            if missing_resources(totals[plugins], self._free.get(node)):
                return False
        return True

    def left_for(self, demands: Iterable[PodDemand | None], node: str) -> tuple[int, ...] | None:
        """What is left of all that these pods ask for, as far as they could need it; None: the node takes anything."""
        free, plugins = self._free.get(node), self.plugins_of(node)
        if free is None:
            return None
        total = sum_requests(demand.requests(plugins) for demand in demands if demand is not None)
        return tuple(min(amount, free.get(name, amount if name == PODS else 0)) for name, amount in total.items())

    def copies(self, demand: PodDemand | None, node: str) -> int | None:
        """Count how many such pods the node has room for; None: any number."""
        free = self._free.get(node)
        if demand is None or free is None:
            return None
        requests = demand.requests(self.plugins_of(node))
        counts = [
            max(0, free.get(name, 0)) // amount for name, amount in requests.items() if name in free or name != PODS
        ]
        return min(counts, default=None)

    def take(self, demand: PodDemand | None, node: str) -> None:
        """Count such a pod as placed on the node."""
        if demand is not None:
            self.changes += 1
            subtract_requests(self._free.get(node), demand.requests(self.plugins_of(node)))


ROOM = "room"


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
    lines = [f"{len(away)} pods are on nodes that are not in the input, {such}"] if away else []
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
    such = f"{len(unknown)} nodes have neither status.allocatable nor status.capacity, such as {unknown[0]}"
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
    status = node.status
    amounts = (status.allocatable or status.capacity) if status else None
    return integer_amounts(amounts) if amounts else None

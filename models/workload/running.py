"""What runs already, and what it leaves of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from ..kubernetes.core import Node, Pod, PodSpec
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey
from .requests import PODS, Requests, backing_classes, effective_requests, integer_amounts
from .units import ClaimRef, PodClaims, has_finished, is_finished_or_deleting

if TYPE_CHECKING:
    from ..cluster.cluster import Cluster


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
    free_by_node = {name: _allocatable(node) for name, node in cluster.nodes.items()}
    backing = backed_resources(cluster, gates)
    known: dict[bytes, Requests] = {}
    for pod in running_pods(cluster).values():
        excluded = backing if pod.status and pod.status.extended_resource_claim_status else {}
        subtract_requests(free_by_node.get(pod.spec.node_name or ""), _cached_requests(pod.spec, excluded, known))
    return free_by_node


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


def backed_resources(cluster: Cluster, gates: FeatureGates | None = None) -> dict[str, str]:
    """The class of each resource that one backs; none with the gate DRAExtendedResource off."""
    if gates is not None and "DRAExtendedResource" not in gates.enabled:
        return {}
    return backing_classes(cluster.classes)


def missing_resources(requests: Mapping[str, int], free: Mapping[str, int] | None) -> dict[str, int]:
    """How much of which resources is missing for the requests on a node that has so much left; nothing: they fit."""
    if free is None:
        return {}
    lefts = ((name, amount, free.get(name, amount if name == PODS else 0)) for name, amount in requests.items())
    return {name: amount - left for name, amount, left in lefts if amount > left}


def allocatable_warnings(cluster: Cluster) -> tuple[str, ...]:
    """Lines about nodes of which no amounts are known, and about pods on nodes that are not there."""
    unbounded = [name for name, node in cluster.nodes.items() if _allocatable(node) is None]
    away = [key for key, pod in running_pods(cluster).items() if pod.spec.node_name not in cluster.nodes]
    lines = []
    if unbounded:
        such = f", such as {unbounded[0]}" if unbounded[0] else ""
        lines.append(
            f"{len(unbounded)} nodes have neither status.allocatable nor status.capacity{such}: "
            "they are taken to have room for any pods"
        )
    if away:
        lines.append(f"{len(away)} pods are on nodes that are not in the input, such as {'/'.join(away[0])}")
    return tuple(lines)


def _find_running_pods(cluster: Cluster) -> Iterator[tuple[ObjectKey, Pod]]:
    resolver = cache(lambda: PodClaims(cluster))
    for key, pod in cluster.pods.items():
        if not pod.spec.node_name:
            continue
        waits = (
            pod.spec.resource_claims
            and not is_finished_or_deleting(pod)
            and any(map(_is_unallocated, resolver().claims_of(pod)))
        )
        if not waits and not has_finished(pod):
            yield key, pod


def _is_unallocated(ref: ClaimRef) -> bool:
    return ref.claim is not None and not ref.allocated


def _allocatable(node: Node) -> Requests | None:
    status = node.status
    amounts = (status.allocatable or status.capacity) if status else None
    return integer_amounts(amounts) if amounts else None


def _cached_requests(spec: PodSpec, excluded: Mapping[str, str], known: dict[bytes, Requests]) -> Requests:
    """Requests, once for all pods with the same containers."""
    key = msgspec.msgpack.encode((bool(excluded), spec.containers, spec.init_containers, spec.overhead, spec.resources))
    found = known.get(key)
    if found is None:
        found = known[key] = effective_requests(spec, excluded)
    return found

"""What pods take from a node's allocatable, counted as kube-scheduler counts it, and what running pods leave of it.

Amounts are exact integers: thousandths of cpu, bytes of memory and storage, pieces of anything else.

Containers ask for extended resources by number; for those that device classes back they get devices (KEP-5004). The
scheduler makes one claim for all of them of a pod, beside those of its ``spec.resourceClaims``, and such a resource is
not counted on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache

import msgspec

from ..cluster.cluster import Cluster
from ..formats.decode import QuantityText
from ..kubernetes.claims import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from ..kubernetes.core import Container, Node, Pod, PodSpec, ResourceRequirements
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey, ObjectMeta
from ..kubernetes.quantity import BINARY_SI, DECIMAL_SI, NANO, Quantity
from .units import PodClaims, has_finished, is_finished_or_deleting

CPU = "cpu"
PODS = "pods"
Requests = dict[str, int]
Amounts = Mapping[str, QuantityText]
_SIDECAR = "Always"
# What may be given for the pod as a whole; of these only huge pages may not be overcommitted.
_POD_LEVEL_RESOURCES = (CPU, "memory")
_HUGE_PAGES = "hugepages-"


def effective_requests(spec: PodSpec, excluded: Collection[str] = ()) -> Requests:
    """What the pod takes of each resource, its overhead and 1 of ``pods`` included.

    It is the sum over containers and sidecars or, if more, what an init container takes with the sidecars before it.
    Requests of the pod as a whole stand in place of both. Resources in ``excluded`` are left out (those that device
    classes back), as is what is zero.
    """
    total = _containers_requests(spec)
    if spec.resources is not None:
        total |= _pod_level_requests(spec.resources, total)
    add_requests(total, integer_amounts(spec.overhead))
    kept = {name: amount for name, amount in sorted(total.items()) if amount and name not in excluded}
    return {**kept, PODS: 1}


def container_requests(container: Container) -> Amounts:
    """What a container asks for, as written; a request that is absent is the limit."""
    resources = container.resources
    return {} if resources is None else {**(resources.limits or {}), **(resources.requests or {})}


def integer_amounts(amounts: Amounts | None) -> Requests:
    """Amounts as integers, rounded up: cpu in thousandths, all else whole."""
    return {name: _integer_amount(name, text) for name, text in (amounts or {}).items()}


def add_requests(total: Requests, more: Mapping[str, int]) -> None:
    """Add requests to a total."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def sum_requests(requests: Iterable[Mapping[str, int]]) -> Requests:
    """What several take together."""
    total: Requests = {}
    for own in requests:
        add_requests(total, own)
    return total


def format_amount(resource: str, amount: int) -> str:
    """An amount in units as manifests have it: ``1500m`` of cpu, ``2Gi`` of memory."""
    if resource == CPU:
        return str(Quantity.from_nano(amount * NANO // 1000))
    return str(Quantity.from_nano(amount * NANO, DECIMAL_SI if amount % 1024 else BINARY_SI))


@lru_cache(maxsize=1 << 14)
def _integer_amount(name: str, text: QuantityText) -> int:
    quantity = Quantity.parse(text)
    return quantity.milli if name == CPU else quantity.value


def _containers_requests(spec: PodSpec) -> Requests:
    total = sum_requests(integer_amounts(container_requests(container)) for container in spec.containers or ())
    sidecars: Requests = {}
    highest: Requests = {}
    for container in spec.init_containers or ():
        own = integer_amounts(container_requests(container))
        if container.restart_policy == _SIDECAR:
            add_requests(total, own)
            add_requests(sidecars, own)
            own = sidecars
        else:
            add_requests(own, sidecars)
        _raise_to_maximum(highest, own)
    _raise_to_maximum(total, highest)
    return total


def _pod_level_requests(resources: ResourceRequirements, containers: Requests) -> Requests:
    """Pod-level requests; without one the containers' counts, without these the pod-level limit."""
    requests = _pod_level_resources(integer_amounts(resources.requests))
    limits = _pod_level_resources(integer_amounts(resources.limits))
    return {**{name: amount for name, amount in limits.items() if name not in containers}, **requests}


def _pod_level_resources(amounts: Requests) -> Requests:
    return {
        name: amount for name, amount in amounts.items() if name in _POD_LEVEL_RESOURCES or name.startswith(_HUGE_PAGES)
    }


def _raise_to_maximum(highest: Requests, other: Requests) -> None:
    for name, amount in other.items():
        highest[name] = max(highest.get(name, 0), amount)


# Every class backs a resource of this name with its own behind it.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
EXTENDED_CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
# Stands for the entry of spec.resourceClaims that such a claim does not have; the claim is POD-extended-resources.
EXTENDED_ENTRY = "extended-resources"


def backing_classes(classes: Mapping[str, DeviceClass]) -> dict[str, str]:
    """The device class of each resource that one backs.

    Of several classes with one ``extendedResourceName`` the newest counts, of equally old ones the first by name.
    """
    found: dict[str, DeviceClass] = {}
    for _, one in sorted(classes.items()):
        resource = one.spec.extended_resource_name
        if resource and (resource not in found or _creation_time(one) > _creation_time(found[resource])):
            found[resource] = one
    explicit = {resource: one.metadata.name for resource, one in found.items()}
    return {**explicit, **{f"{IMPLICIT_PREFIX}{name}": name for name in classes}}


def _creation_time(one: DeviceClass) -> str:
    """The moment, as the API server writes it: texts are in the order of times; none is the oldest."""
    return one.metadata.creation_timestamp or ""


def extended_claim_spec(spec: PodSpec, backing: Mapping[str, str]) -> ResourceClaimSpec | None:
    """The claim for the backed resources of a pod: a request for each container and resource; None if there are none.

    Requests are ``container-I-request-J``: containers are counted from 0, init containers first, and the backed
    resources of a container by name.
    """
    requests = tuple(_device_requests(spec, backing)) if backing else ()
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests)) if requests else None


def extended_claim(namespace: str, name: str, spec: ResourceClaimSpec) -> ResourceClaim:
    """The claim of this name, marked as the scheduler marks it."""
    metadata = ObjectMeta(name=name, namespace=namespace, annotations={EXTENDED_CLAIM_ANNOTATION: "true"})
    return ResourceClaim(metadata=metadata, spec=spec)


def _device_requests(spec: PodSpec, backing: Mapping[str, str]) -> Iterator[DeviceRequest]:
    for index, container in enumerate((*(spec.init_containers or ()), *(spec.containers or ()))):
        counts = sorted(integer_amounts(container_requests(container)).items()) if container.resources else ()
        backed = [(backing[name], count) for name, count in counts if count and name in backing]
        for number, (device_class, count) in enumerate(backed):
            exactly = ExactDeviceRequest(device_class_name=device_class, allocation_mode="ExactCount", count=count)
            yield DeviceRequest(name=f"container-{index}-request-{number}", exactly=exactly)


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
        spec = pod.spec
        # Once for all pods with the same containers.
        parts = bool(excluded), spec.containers, spec.init_containers, spec.overhead, spec.resources
        key = msgspec.msgpack.encode(parts)
        if key not in known:
            known[key] = effective_requests(spec, excluded)
        subtract_requests(free_by_node.get(spec.node_name or ""), known[key])
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
            and any(ref.claim is not None and not ref.allocated for ref in resolver().claims_of(pod))
        )
        if not waits and not has_finished(pod):
            yield key, pod


def _allocatable(node: Node) -> Requests | None:
    status = node.status
    amounts = (status.allocatable or status.capacity) if status else None
    return integer_amounts(amounts) if amounts else None

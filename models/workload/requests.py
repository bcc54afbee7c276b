"""What pods take from a node's allocatable, counted as kube-scheduler counts it, and what running pods leave of it.

Amounts are exact integers: thousandths of cpu, bytes of memory and storage, pieces of anything else.

Containers ask for extended resources by number; for those that device classes back they get devices (KEP-5004). The
scheduler makes one claim for all of them of a pod, beside those of its ``spec.resourceClaims``, and such a resource is
not counted on the node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..formats.decode import QuantityText
from ..kubernetes.claims import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from ..kubernetes.core import Container, Pod, PodSpec, ResourceRequirements
from ..kubernetes.gates import FeatureGates
from ..kubernetes.kinds import kind_of
from ..kubernetes.meta import ObjectMeta, OwnerReference
from ..kubernetes.quantity import BINARY_SI, DECIMAL_SI, NANO, Quantity
from ..kubernetes.workloads import PodGroup
from ..manifests.reader import Manifest

CPU = "cpu"
PODS = "pods"
Requests = dict[str, int]
Amounts = Mapping[str, QuantityText]
AmountsReader = Callable[[Amounts | None], Requests]
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
    total = pod_requests(spec)
    kept = {name: amount for name, amount in sorted(total.items()) if amount and name not in excluded}
    return {**kept, PODS: 1}


def pod_requests(spec: PodSpec, read: AmountsReader | None = None) -> Requests:
    """The same with zeros and without ``pods``; ``read`` gives the amounts in other units than integers'."""
    read = read or integer_amounts
    total = _containers_requests(spec, read)
    if spec.resources is not None:
        total |= _pod_level_requests(spec.resources, total, read)
    add_requests(total, read(spec.overhead))
    return total


def pod_level_headroom(spec: PodSpec) -> Requests:
    """What the requests of the pod as a whole leave beside its containers', of resources that they name (NAR-6)."""
    if spec.resources is None:
        return {}
    containers = _containers_requests(spec, integer_amounts)
    named = _pod_level_requests(spec.resources, containers, integer_amounts)
    return {name: amount - containers.get(name, 0) for name, amount in named.items()}


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """What a limit of the pod as a whole leaves for devices beside a limit of its containers (NAR-6).

    It is that of one container, whose claims count, or ("") that of all together, where all claims of the pod do.
    """

    resource: str
    container: str
    left: int

    def __str__(self) -> str:
        covered = f"limit and DRA overhead for container {self.container}"
        if not self.container:
            covered = "aggregated container and node-allocatable DRA limits"
        return f"pod level limit for {self.resource} is insufficient to cover the {covered}"


def pod_level_limits(spec: PodSpec) -> tuple[DeviceLimit, ...]:
    """What limits of the pod as a whole leave for devices: of huge pages in all, of the rest for each container."""
    limits = integer_amounts(spec.resources.limits) if spec.resources is not None else {}
    return tuple(_device_limits(spec, _pod_level_resources(limits)))


def _device_limits(spec: PodSpec, limits: Requests) -> Iterator[DeviceLimit]:
    together = _containers_requests(spec, integer_amounts)
    for resource, most in limits.items():
        if resource.startswith(_HUGE_PAGES):
            yield DeviceLimit(resource, "", most - together.get(resource, 0))
            continue
        for container in (*(spec.init_containers or ()), *(spec.containers or ())):
            own = integer_amounts(container.resources.limits) if container.resources is not None else {}
            if resource in own:
                yield DeviceLimit(resource, container.name, most - own[resource])


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


def _containers_requests(spec: PodSpec, read: AmountsReader) -> Requests:
    total = sum_requests(read(container_requests(container)) for container in spec.containers or ())
    sidecars: Requests = {}
    highest: Requests = {}
    for container in spec.init_containers or ():
        own = read(container_requests(container))
        if container.restart_policy == _SIDECAR:
            add_requests(total, own)
            add_requests(sidecars, own)
            own = sidecars
        else:
            add_requests(own, sidecars)
        _raise_to_maximum(highest, own)
    _raise_to_maximum(total, highest)
    return total


def _pod_level_requests(resources: ResourceRequirements, containers: Requests, read: AmountsReader) -> Requests:
    """Pod-level requests; without one the containers' counts, without these the pod-level limit."""
    requests = _pod_level_resources(read(resources.requests))
    limits = _pod_level_resources(read(resources.limits))
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


def is_extended_claim(claim: ResourceClaim) -> bool:
    """The claim is for the extended resources of a pod."""
    return (claim.metadata.annotations or {}).get(EXTENDED_CLAIM_ANNOTATION) == "true"


class ClaimMaker(NamedTuple):
    """Makes the claims of entries of one name from a template: its spec and labels; equal annotations are one mapping.

    The owner is the pod or its PodGroup. Its reference needs its uid; for one that is not in a cluster yet there is
    none.
    """

    spec: ResourceClaimSpec
    labels: dict[str, str] | None
    annotations: dict[str, str]
    manifest: Manifest | None

    @classmethod
    def of(cls, template: ResourceClaimTemplate, annotations: dict[str, str], manifest: Manifest | None) -> ClaimMaker:
        """Read a template; its claims have these annotations."""
        copied = template.spec.metadata
        return cls(template.spec.spec, copied.labels if copied else None, annotations, manifest)

    def claim(self, owner: Pod | PodGroup, namespace: str, name: str) -> ResourceClaim:
        """Make the claim of this name."""
        references = None
        if owner.metadata.uid:
            kind, known = kind_of(type(owner)), owner.metadata
            version = kind.api_versions()[0]
            references = (
                OwnerReference(api_version=version, kind=kind.name, name=known.name, uid=known.uid, controller=True),
            )
        metadata = ObjectMeta(
            name=name,
            namespace=namespace,
            labels=self.labels,
            annotations=self.annotations,
            owner_references=references,
        )
        return ResourceClaim(metadata=metadata, spec=self.spec)


def without_plugin_requests(claim: ResourceClaim, plugin_classes: Collection[str]) -> ResourceClaim:
    """A claim for extended resources as it is on a node whose device plugins provide those of these classes."""
    requests = claim.spec.devices.requests or ()
    if not plugin_classes or not is_extended_claim(claim):
        return claim
    kept = tuple(one for one in requests if one.exactly and one.exactly.device_class_name not in plugin_classes)
    return replace(claim, spec=replace(claim.spec, devices=replace(claim.spec.devices, requests=kept)))


def _device_requests(spec: PodSpec, backing: Mapping[str, str]) -> Iterator[DeviceRequest]:
    for index, container in enumerate((*(spec.init_containers or ()), *(spec.containers or ()))):
        if container.resources is None:
            continue
        asked = container_requests(container)
        if backing.keys().isdisjoint(asked):
            continue
        amounts = {name: text for name, text in asked.items() if name in backing}
        backed = [(backing[name], count) for name, count in sorted(integer_amounts(amounts).items()) if count]
        for number, (device_class, count) in enumerate(backed):
            exactly = ExactDeviceRequest(device_class_name=device_class, allocation_mode="ExactCount", count=count)
            yield DeviceRequest(name=f"container-{index}-request-{number}", exactly=exactly)


def backed_resources(cluster: Cluster, gates: FeatureGates | None = None) -> dict[str, str]:
    """The class of each resource that one backs; none with the gate DRAExtendedResource off."""
    if gates is not None and "DRAExtendedResource" not in gates.enabled:
        return {}
    return backing_classes(cluster.classes)

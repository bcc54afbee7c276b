"""Extended resources that device classes back: containers ask for them by number, and get devices (KEP-5004).

The scheduler makes one claim for all of them of a pod, beside those of its ``spec.resourceClaims``; the resource then
is not counted on the node.
"""

from collections.abc import Iterator, Mapping

from .claims import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from .core import PodSpec
from .meta import ObjectMeta
from .pod_requests import in_units, requests_of

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
        if resource and (resource not in found or _created(one) > _created(found[resource])):
            found[resource] = one
    explicit = {resource: one.metadata.name for resource, one in found.items()}
    return {**explicit, **{f"{IMPLICIT_PREFIX}{name}": name for name in classes}}


def _created(one: DeviceClass) -> str:
    """The moment, as the API server writes it: texts are in the order of times; none is the oldest."""
    return one.metadata.creation_timestamp or ""


def extended_spec(spec: PodSpec, backing: Mapping[str, str]) -> ResourceClaimSpec | None:
    """The claim for the backed resources of a pod: a request for each container and resource; None if there are none.

    Requests are ``container-I-request-J``: containers are counted from 0, init containers first, and the backed
    resources of a container by name.
    """
    requests = tuple(_requests(spec, backing)) if backing else ()
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests)) if requests else None


def extended_claim(namespace: str, name: str, spec: ResourceClaimSpec) -> ResourceClaim:
    """The claim of this name, marked as the scheduler marks it."""
    metadata = ObjectMeta(name=name, namespace=namespace, annotations={EXTENDED_CLAIM_ANNOTATION: "true"})
    return ResourceClaim(metadata=metadata, spec=spec)


def _requests(spec: PodSpec, backing: Mapping[str, str]) -> Iterator[DeviceRequest]:
    for index, container in enumerate((*(spec.init_containers or ()), *(spec.containers or ()))):
        counts = sorted(in_units(requests_of(container)).items()) if container.resources else ()
        backed = [(backing[name], count) for name, count in counts if count and name in backing]
        for number, (device_class, count) in enumerate(backed):
            exactly = ExactDeviceRequest(device_class_name=device_class, allocation_mode="ExactCount", count=count)
            yield DeviceRequest(name=f"container-{index}-request-{number}", exactly=exactly)

"""Pods, their claims, and templates for these, in short forms."""

from drasat.models.claims import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from drasat.models.core import Pod, PodResourceClaim, PodResourceClaimStatus, PodSpec, PodStatus
from drasat.models.meta import ObjectMeta

SPEC = ResourceClaimSpec(
    devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=ExactDeviceRequest(device_class_name="gpu")),))
)


def by_name(entry, name=None):
    return PodResourceClaim(name=entry, resource_claim_name=name or entry)


def from_template(entry, name="t"):
    return PodResourceClaim(name=entry, resource_claim_template_name=name)


def pod(name, *entries, statuses=None, phase="", node_name=None, namespace="default", **metadata):
    made = tuple(PodResourceClaimStatus(name=key, resource_claim_name=value) for key, value in (statuses or {}).items())
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, **metadata),
        spec=PodSpec(node_name=node_name, resource_claims=entries or None),
        status=PodStatus(phase=phase, resource_claim_statuses=made or None),
    )


def template(name="t", namespace="default", **metadata):
    return ResourceClaimTemplate(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=ResourceClaimTemplateSpec(metadata=ObjectMeta(**metadata) if metadata else None, spec=SPEC),
    )

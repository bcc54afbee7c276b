"""What the API server fills in (CLM-1), on typed objects; the allocator itself defaults nothing."""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from .claims import (
    AllocationResult,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from .constraint_groups import ConstraintGroup
from .core import Pod
from .kinds import ApiObject
from .pod_groups import PodGroup, Workload
from .taints import DeviceToleration
from .workloads import Deployment, Job, ReplicaSet, StatefulSet

T = TypeVar("T")
Exact = TypeVar("Exact", ExactDeviceRequest, DeviceSubRequest)
Namespaced = TypeVar(
    "Namespaced",
    ResourceClaim,
    ResourceClaimTemplate,
    Pod,
    ConstraintGroup,
    Job,
    Deployment,
    StatefulSet,
    ReplicaSet,
    Workload,
    PodGroup,
)

_FLAT_VERSIONS = frozenset({"v1beta1", "v1alpha3"})


def with_defaults(read: ApiObject, version: str = "v1") -> ApiObject:
    """Give the object as the API server would store it; ``version`` is the one it was written in (VER-3).

    Filled in are the namespace ``default``, and in claims and templates allocation mode, count and
    the operator of tolerations. The time of a taint is not: it would be the time of reading.
    """
    fill = _FILLERS.get(type(read))
    filled: ApiObject = fill(read, version in _FLAT_VERSIONS) if fill else read
    return filled


def spec_with_defaults(spec: ResourceClaimSpec, flat: bool = False) -> ResourceClaimSpec:
    """Fill in a claim's spec; ``flat`` says that its requests were written in the form of VER-3."""
    requests = _each(spec.devices.requests, lambda request: _request(request, flat))
    return replace(spec, devices=replace(spec.devices, requests=requests))


def _claim(claim: ResourceClaim, flat: bool) -> ResourceClaim:
    status = claim.status
    if status is not None and status.allocation is not None:
        status = replace(status, allocation=_allocation(status.allocation))
    return replace(_in_namespace(claim), spec=spec_with_defaults(claim.spec, flat), status=status)


def _template(template: ResourceClaimTemplate, flat: bool) -> ResourceClaimTemplate:
    spec = replace(template.spec, spec=spec_with_defaults(template.spec.spec, flat))
    return replace(_in_namespace(template), spec=spec)


def _in_namespace(read: Namespaced, _flat: bool = False) -> Namespaced:
    if read.metadata.namespace:
        return read
    return replace(read, metadata=replace(read.metadata, namespace="default"))


def _request(request: DeviceRequest, flat: bool) -> DeviceRequest:
    exactly = request.exactly
    # A flat request without a class may be a list of alternatives, so nothing is filled in (VER-3).
    if exactly is not None and (exactly.device_class_name or not flat):
        exactly = _counted(exactly)
    return replace(request, exactly=exactly, first_available=_each(request.first_available, _counted))


def _counted(request: Exact) -> Exact:
    """Fill in a request or alternative; a count of 0 counts as absent, as it does in Go."""
    mode = request.allocation_mode or "ExactCount"
    count = (request.count or 1) if mode == "ExactCount" else request.count
    return replace(request, allocation_mode=mode, count=count, tolerations=_each(request.tolerations, _toleration))


def _toleration(toleration: DeviceToleration) -> DeviceToleration:
    return toleration if toleration.operator else replace(toleration, operator="Equal")


def _allocation(allocation: AllocationResult) -> AllocationResult:
    results = _each(allocation.devices.results, _result)
    return replace(allocation, devices=replace(allocation.devices, results=results))


def _result(result: DeviceRequestAllocationResult) -> DeviceRequestAllocationResult:
    return replace(result, tolerations=_each(result.tolerations, _toleration)) if result.tolerations else result


def _each(items: tuple[T, ...] | None, change: Callable[[T], T]) -> tuple[T, ...] | None:
    return None if items is None else tuple(map(change, items))


_FILLERS: dict[type, Callable[[Any, bool], Any]] = {
    ResourceClaim: _claim,
    ResourceClaimTemplate: _template,
    Pod: _in_namespace,
    ConstraintGroup: _in_namespace,
    Job: _in_namespace,
    Deployment: _in_namespace,
    StatefulSet: _in_namespace,
    ReplicaSet: _in_namespace,
    Workload: _in_namespace,
    PodGroup: _in_namespace,
}

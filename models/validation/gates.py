"""Fields that an API server with a feature gate off drops on write: reported, never dropped here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..formats.model import Model, api_name
from ..kubernetes.claims import SEMANTICS_FIELDS, DeviceClaim, ResourceClaim, ResourceClaimTemplate
from ..kubernetes.gates import FeatureGates
from ..kubernetes.slices import ResourceSlice
from .devices import has_list
from .findings import Findings, Path, render_path

# Field to gate, of each part of an object that has gated fields (dra-semantics 2 and 17).
_SLICE = {
    "shared_counters": "DRAPartitionableDevices",
    "per_device_node_selection": "DRAPartitionableDevices",
    "partition_type_attribute": "DRAPartitionableDevicesType",
    "skip_node_operations": "DRAOptionalNodeOperations",
}
_DEVICE = {
    "consumes_counters": "DRAPartitionableDevices",
    "taints": "DRADeviceTaints",
    "binds_to_node": "DRADeviceBindingConditions",
    "binding_conditions": "DRADeviceBindingConditions",
    "binding_failure_conditions": "DRADeviceBindingConditions",
    "allow_multiple_allocations": "DRAConsumableCapacity",
    "node_allocatable_resources": "DRANodeAllocatableResources",
}
_REQUEST = {"first_available": "DRAPrioritizedList"}
_DEVICE_REQUEST = {
    "capacity": "DRAConsumableCapacity",
    "tolerations": "DRADeviceTaints",
    "derived_attributes": "DRADerivedAttributes",
}
_EXACT_REQUEST = {**_DEVICE_REQUEST, "admin_access": "DRAAdminAccess"}
_LIST_ATTRIBUTES = "DRAListTypeAttributes"
_CONSTRAINT = {"cel": "DRACELDeviceConstraint", **dict.fromkeys(SEMANTICS_FIELDS, _LIST_ATTRIBUTES)}
_TABLES = (_SLICE, _DEVICE, _REQUEST, _EXACT_REQUEST, _CONSTRAINT)
_KNOWN_GATES = frozenset(gate for table in _TABLES for gate in table.values())
# Where a gated field is used, and the gate.
_Use = tuple[Path, str]


def _gated_uses(path: Path, part: Model, table: Mapping[str, str]) -> Iterator[_Use]:
    for field, gate in table.items():
        if getattr(part, field) not in (None, ()):
            yield (*path, api_name(field)), gate


def _slice_uses(resource_slice: ResourceSlice) -> Iterator[_Use]:
    path: Path = ("spec",)
    yield from _gated_uses(path, resource_slice.spec, _SLICE)
    for index, device in enumerate(resource_slice.spec.devices or ()):
        where = (*path, "devices", index)
        yield from _gated_uses(where, device, _DEVICE)
        if has_list(device.attributes):
            yield (*where, "attributes"), _LIST_ATTRIBUTES


def _claim_uses(path: Path, claim: DeviceClaim) -> Iterator[_Use]:
    for index, request in enumerate(claim.requests or ()):
        where = (*path, "requests", index)
        yield from _gated_uses(where, request, _REQUEST)
        if request.exactly is not None:
            yield from _gated_uses((*where, "exactly"), request.exactly, _EXACT_REQUEST)
        for position, alternative in enumerate(request.first_available or ()):
            yield from _gated_uses((*where, "firstAvailable", position), alternative, _DEVICE_REQUEST)
    for index, constraint in enumerate(claim.constraints or ()):
        yield from _gated_uses((*path, "constraints", index), constraint, _CONSTRAINT)


def _of_claim(claim: ResourceClaim) -> Iterator[_Use]:
    return _claim_uses(("spec", "devices"), claim.spec.devices)


def _of_template(template: ResourceClaimTemplate) -> Iterator[_Use]:
    return _claim_uses(("spec", "spec", "devices"), template.spec.spec.devices)


_FINDERS: dict[str, Callable[[Any], Iterator[_Use]]] = {
    "ResourceSlice": _slice_uses,
    "ResourceClaim": _of_claim,
    "ResourceClaimTemplate": _of_template,
}


def check_gates(found: Findings, kind: str, obj: Any, gates: FeatureGates) -> None:
    """Warn of each gated field in use while its gate is off, once for all devices or requests."""
    finder = _FINDERS.get(kind)
    off = _KNOWN_GATES - gates.enabled
    if not off or finder is None:
        return
    places: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path, gate in finder(obj):
        if gate in off:
            places[str(path[-1]), gate].append(path)
    for (_, gate), paths in places.items():
        others = f" (also in {len(paths) - 1} other places, last {render_path(paths[-1])})" if len(paths) > 1 else ""
        found.warning(paths[0], f"an API server drops this field on write while feature gate {gate} is off{others}")

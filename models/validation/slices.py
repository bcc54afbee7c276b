"""ResourceSlices (dra-semantics 2.1)."""

from __future__ import annotations

from ..kubernetes.gates import FeatureGates
from ..kubernetes.slices import Device, ResourceSlice, ResourceSliceSpec
from .devices import check_counter_sets, check_device
from .findings import Findings, Path
from .nodes import check_node_operations, check_slice_nodes

DEVICES_MAX = 128
COMPLEX_DEVICES_MAX = 64


def check_slice(findings: Findings, resource_slice: ResourceSlice, gates: FeatureGates) -> None:
    """Check a ResourceSlice; neither devices nor counter sets is legal (SLC-3)."""
    findings.check_metadata(resource_slice.metadata, namespaced=False)
    path: Path = ("spec",)
    spec = resource_slice.spec
    _check_pool(findings, (*path, "pool"), spec)
    check_slice_nodes(findings, path, spec)
    check_published(findings, path, spec, gates)
    if spec.devices and spec.shared_counters:
        findings.forbidden((*path, "sharedCounters"), "`devices` and `sharedCounters` exclude each other in one slice")


def check_published(findings: Findings, path: Path, spec: ResourceSliceSpec, gates: FeatureGates) -> None:
    """Check what a slice publishes, apart from the pool and the nodes it is for."""
    findings.check_driver((*path, "driver"), spec.driver)
    if spec.devices:
        _check_devices(findings, (*path, "devices"), spec, gates.fractional_capacity_range)
    if spec.shared_counters:
        check_counter_sets(findings, (*path, "sharedCounters"), spec.shared_counters)
    if spec.partition_type_attribute is not None:
        _check_partition_type(findings, path, spec, spec.partition_type_attribute)
    check_node_operations(findings, (*path, "skipNodeOperations"), spec.skip_node_operations)


def _check_pool(findings: Findings, path: Path, spec: ResourceSliceSpec) -> None:
    findings.check_pool((*path, "name"), spec.pool.name)
    if spec.pool.generation < 0:
        findings.invalid((*path, "generation"), spec.pool.generation, "must be greater than or equal to zero")
    if spec.pool.resource_slice_count < 1:
        detail = "must be greater than zero"
        findings.invalid((*path, "resourceSliceCount"), spec.pool.resource_slice_count, detail)


def _check_devices(findings: Findings, path: Path, spec: ResourceSliceSpec, fractional: bool) -> None:
    devices = spec.devices or ()
    findings.unique(path, (device.name for device in devices), ("name",))
    # A list, for every device must be looked at.
    halved = [check_device(findings, (*path, index), device, spec, fractional) for index, device in enumerate(devices)]
    findings.at_most(path, devices, COMPLEX_DEVICES_MAX if any(halved) else DEVICES_MAX)


def _check_partition_type(findings: Findings, path: Path, spec: ResourceSliceSpec, name: str) -> None:
    where = (*path, "partitionTypeAttribute")
    findings.check_fully_qualified(where, name)
    partitions = [(index, device) for index, device in enumerate(spec.devices or ()) if device.consumes_counters]
    if not partitions:
        findings.invalid(where, name, "some device must consume counters")
    for index, device in partitions:
        if not _has_string(device, name, spec.driver):
            findings.required(
                (*path, "devices", index, "attributes"),
                f"devices that consume counters must have the string attribute {name}",
            )


def _has_string(device: Device, name: str, driver: str) -> bool:
    attributes = device.attributes or {}
    attribute = attributes.get(name) or attributes.get(name.removeprefix(f"{driver}/"))
    return attribute is not None and attribute.string is not None

"""ResourceSlices and their devices (dra-semantics 2.1)."""

from __future__ import annotations

from msgspec.structs import astuple

from ..formats.decode import QuantityText, api_name
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import label_complaints
from ..kubernetes.slices import Device, DeviceCapacity, ResourceSlice, ResourceSliceSpec
from . import devices
from .findings import Findings, MapKey, Path, parse_nano
from .nodes import check_device_nodes, check_device_taints, check_node_operations, check_slice_nodes

DEVICES_MAX = 128
COMPLEX_DEVICES_MAX = 64
CONDITIONS_MAX = 4
# Fields of a device beside its name, attributes and capacities, of which most have none.
_PUBLISHED = 3
_NOTHING_ELSE = astuple(Device())[_PUBLISHED:]


def check_slice(findings: Findings, resource_slice: ResourceSlice, gates: FeatureGates) -> None:
    """Check a ResourceSlice; neither devices nor counter sets is legal (SLC-3)."""
    findings.check_metadata(resource_slice.metadata, namespaced=False)
    path: Path = ("spec",)
    spec = resource_slice.spec
    findings.check_pool((*path, "pool", "name"), spec.pool.name)
    if spec.pool.generation < 0:
        detail = "must be greater than or equal to zero"
        findings.invalid((*path, "pool", "generation"), spec.pool.generation, detail)
    if (count := spec.pool.resource_slice_count) < 1:
        findings.invalid((*path, "pool", "resourceSliceCount"), count, "must be greater than zero")
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
        devices.check_counter_sets(findings, (*path, "sharedCounters"), spec.shared_counters)
    if spec.partition_type_attribute is not None:
        _check_partition_type(findings, path, spec, spec.partition_type_attribute)
    check_node_operations(findings, (*path, "skipNodeOperations"), spec.skip_node_operations)


def _check_devices(findings: Findings, path: Path, spec: ResourceSliceSpec, fractional: bool) -> None:
    published = spec.devices or ()
    names = tuple([device.name for device in published])
    findings.unique(path, names, ("name",))
    attributes = [device.attributes for device in published if device.attributes]
    capacities = [device.capacity for device in published if device.capacity]
    plain = [devices.are_plain(values, spec.driver) for values in (attributes, capacities)]
    entries = max(map(len, attributes), default=0) + max(map(len, capacities), default=0)
    is_large = entries > devices.ENTRIES_PER_DEVICE or spec.per_device_node_selection
    usual = all(plain) and not is_large and not devices.bad_labels(names)
    # A list, for all devices must be looked at that may have something wrong.
    halved = [
        _check_device(findings, (*path, index), device, spec, fractional, plain)
        for index, device in enumerate(published)
        if not usual or astuple(device)[_PUBLISHED:] != _NOTHING_ELSE
    ]
    findings.at_most(path, published, COMPLEX_DEVICES_MAX if any(halved) else DEVICES_MAX)


def _check_device(
    findings: Findings, path: Path, device: Device, spec: ResourceSliceSpec, fractional: bool, plain: list[bool]
) -> bool:
    """Check one device; ``fractional`` as in ``check_policy``. Return whether it halves the size of its slice (SLC-2).

    ``plain`` says whether there is nothing wrong with its attributes, and with its capacities. Paths are extended only
    where something is looked at, for a cluster has very many devices.
    """
    if not device.name or label_complaints(device.name):
        findings.check_label((*path, "name"), device.name)
    attributes, capacity = device.attributes, device.capacity
    lists = False
    if attributes and not plain[0]:
        lists = devices.check_attributes(findings, (*path, "attributes"), attributes, spec.driver)
    if capacity and not plain[1]:
        shared = bool(device.allow_multiple_allocations)
        _check_capacities(findings, (*path, "capacity"), capacity, spec.driver, shared, fractional)
    entries = len(attributes or ()) + len(capacity or ())
    if entries > devices.ENTRIES_PER_DEVICE:
        detail = f"the total number of attributes and capacities must not exceed {devices.ENTRIES_PER_DEVICE}"
        findings.invalid(path, entries, detail)
    if device.consumes_counters:
        devices.check_consumption(findings, (*path, "consumesCounters"), device.consumes_counters)
    if device.taints:
        check_device_taints(findings, (*path, "taints"), device.taints)
    if device.binding_conditions or device.binding_failure_conditions:
        _check_binding(findings, path, device)
    named = device.node_name is not None or device.node_selector is not None or device.all_nodes is not None
    if named or spec.per_device_node_selection:
        check_device_nodes(findings, path, device, bool(spec.per_device_node_selection))
    if device.node_allocatable_resources or device.node_allocatable_resource_mappings:
        _check_node_resources(findings, path, device)
    return lists or bool(device.taints or device.consumes_counters)


def _check_node_resources(findings: Findings, path: Path, device: Device) -> None:
    """Check what a device takes of its node, in the fields of Kubernetes 1.37 and 1.36 (groups 4)."""
    for name, terms in (device.node_allocatable_resources or {}).items():
        where = (*path, "nodeAllocatableResources", MapKey(name))
        _check_node_resource_name(findings, where, name)
        mapping, overhead = terms.mapping, terms.overhead
        if mapping is None and overhead is None:
            findings.required(where, "at least one of `mapping` and `overhead` must be set")
        if mapping is not None:
            by_capacity = mapping.capacity_key is not None or mapping.capacity_multiplier is not None
            if by_capacity == (mapping.device_multiplier is not None):
                detail = "must specify exactly one of: `deviceMultiplier`, `capacityKey` with `capacityMultiplier`"
                findings.required((*where, "mapping"), detail)
            elif by_capacity and (mapping.capacity_key is None or mapping.capacity_multiplier is None):
                findings.required((*where, "mapping"), "`capacityKey` and `capacityMultiplier` must be set together")
            for field in ("device_multiplier", "capacity_multiplier"):
                _check_multiplier(findings, (*where, "mapping", api_name(field)), getattr(mapping, field))
        if overhead is not None:
            if overhead.per_pod is None and overhead.per_container is None:
                detail = "at least one of `perPod` and `perContainer` must be set"
                findings.required((*where, "overhead"), detail)
            for field in ("per_pod", "per_container"):
                _check_multiplier(findings, (*where, "overhead", api_name(field)), getattr(overhead, field))
    for name, old in (device.node_allocatable_resource_mappings or {}).items():
        where = (*path, "nodeAllocatableResourceMappings", MapKey(name))
        _check_node_resource_name(findings, where, name)
        _check_multiplier(findings, (*where, "allocationMultiplier"), old.allocation_multiplier)


def _check_node_resource_name(findings: Findings, path: Path, name: str) -> None:
    if name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith("hugepages-"):
        findings.unsupported(path, name, ("cpu", "memory", "ephemeral-storage", "hugepages-*"))


def _check_multiplier(findings: Findings, path: Path, text: QuantityText | None) -> None:
    amount = None if text is None else parse_nano(text)
    if text is not None and amount is None:
        findings.check_quantity(path, text)
    elif amount is not None and amount < 0:
        findings.invalid(path, text, "must be greater than or equal to 0")


def _check_binding(findings: Findings, path: Path, device: Device) -> None:
    conditions, failures = device.binding_conditions or (), device.binding_failure_conditions or ()
    for field, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        where = (*path, field)
        findings.at_most(where, listed, CONDITIONS_MAX)
        findings.unique(where, listed)
        for index, condition in enumerate(listed):
            findings.check_label_key((*where, index), condition)
    if not failures:
        findings.required((*path, "bindingFailureConditions"), "required with `bindingConditions`")
    if not conditions:
        findings.required((*path, "bindingConditions"), "required with `bindingFailureConditions`")
    both = set(failures).intersection(conditions)
    for index, condition in enumerate(failures):
        if condition in both:
            detail = "must not be listed in both `bindingConditions` and `bindingFailureConditions`"
            findings.invalid((*path, "bindingFailureConditions", index), condition, detail)


def _check_capacities(
    findings: Findings, path: Path, capacities: dict[str, DeviceCapacity], driver: str, shared: bool, fractional: bool
) -> None:
    """All capacities of a device; policies need a device that may be ``shared`` (POL-1)."""
    devices.check_names(findings, path, tuple(capacities), driver)
    for name, capacity in capacities.items():
        if parse_nano(capacity.value) is None:
            findings.check_quantity((*path, MapKey(name), "value"), capacity.value)
        if capacity.request_policy is None:
            continue
        where = (*path, MapKey(name), "requestPolicy")
        if not shared:
            findings.forbidden(where, "may only be set when `allowMultipleAllocations` is true")
        devices.check_policy(findings, where, capacity.request_policy, capacity.value, fractional)


def _check_partition_type(findings: Findings, path: Path, spec: ResourceSliceSpec, name: str) -> None:
    where = (*path, "partitionTypeAttribute")
    findings.check_fully_qualified(where, name)
    partitions = [(index, device) for index, device in enumerate(spec.devices or ()) if device.consumes_counters]
    if not partitions:
        findings.invalid(where, name, "some device must consume counters")
    for index, device in partitions:
        attributes = device.attributes or {}
        attribute = attributes.get(name) or attributes.get(name.removeprefix(f"{spec.driver}/"))
        if attribute is None or attribute.string is None:
            findings.required(
                (*path, "devices", index, "attributes"),
                f"devices that consume counters must have the string attribute {name}",
            )

"""Devices of a slice."""

from ..slices import Device, DeviceCapacity, ResourceSliceSpec
from . import names
from .amounts import check_quantity, nano
from .attributes import ENTRIES_PER_DEVICE, check_attributes, check_names
from .checked_names import check_label
from .counters import check_consumption
from .findings import Findings, Key, Path
from .node_selectors import check_device_nodes
from .policies import check_policy
from .taints import check_taints

CONDITIONS_MAX = 4


def check_device(found: Findings, path: Path, device: Device, spec: ResourceSliceSpec, fractional: bool) -> bool:
    """Check one device; ``fractional`` as in ``check_policy``. Says whether it halves the size of its slice (SLC-2).

    Runs for every device of a cluster, so paths are extended only where something is looked at.
    """
    if not device.name or names.label(device.name):
        check_label(found, (*path, "name"), device.name)
    attributes, capacity = device.attributes, device.capacity
    lists = False
    if attributes:
        lists = check_attributes(found, (*path, "attributes"), attributes, spec.driver)
    if capacity:
        shared = bool(device.allow_multiple_allocations)
        _check_capacities(found, (*path, "capacity"), capacity, spec.driver, shared, fractional)
    entries = len(attributes or ()) + len(capacity or ())
    if entries > ENTRIES_PER_DEVICE:
        detail = f"the total number of attributes and capacities must not exceed {ENTRIES_PER_DEVICE}"
        found.invalid(path, entries, detail)
    if device.consumes_counters:
        check_consumption(found, (*path, "consumesCounters"), device.consumes_counters)
    if device.taints:
        check_taints(found, (*path, "taints"), device.taints)
    if device.binding_conditions or device.binding_failure_conditions:
        _check_binding(found, path, device)
    if _names_nodes(device) or spec.per_device_node_selection:
        check_device_nodes(found, path, device, bool(spec.per_device_node_selection))
    for resource in device.node_allocatable_resources or ():
        where = (*path, "nodeAllocatableResources", Key(resource))
        found.each_invalid(where, resource, names.label_key(resource))
    return lists or bool(device.taints or device.consumes_counters)


def _names_nodes(device: Device) -> bool:
    return device.node_name is not None or device.node_selector is not None or device.all_nodes is not None


def _check_binding(found: Findings, path: Path, device: Device) -> None:
    conditions, failures = device.binding_conditions or (), device.binding_failure_conditions or ()
    for field, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        where = (*path, field)
        found.at_most(where, listed, CONDITIONS_MAX)
        found.unique(where, listed)
        for index, condition in enumerate(listed):
            found.each_invalid((*where, index), condition, names.label_key(condition))
    if not failures:
        found.required((*path, "bindingFailureConditions"), "required with `bindingConditions`")
    if not conditions:
        found.required((*path, "bindingConditions"), "required with `bindingFailureConditions`")
    both = set(failures).intersection(conditions)
    for index, condition in enumerate(failures):
        if condition in both:
            detail = "must not be listed in both `bindingConditions` and `bindingFailureConditions`"
            found.invalid((*path, "bindingFailureConditions", index), condition, detail)


def _check_capacities(
    found: Findings, path: Path, capacities: dict[str, DeviceCapacity], driver: str, shared: bool, fractional: bool
) -> None:
    """All capacities of a device; policies need a device that may be ``shared`` (POL-1)."""
    check_names(found, path, tuple(capacities), driver)
    for name, capacity in capacities.items():
        if nano(capacity.value) is None:
            check_quantity(found, (*path, Key(name), "value"), capacity.value)
        if capacity.request_policy is None:
            continue
        where = (*path, Key(name), "requestPolicy")
        if not shared:
            found.forbidden(where, "may only be set when `allowMultipleAllocations` is true")
        check_policy(found, where, capacity.request_policy, capacity.value, fractional)

"""ResourceSlice and what it publishes: devices with their attributes, and counter sets (dra-semantics 2.1)."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import force_setattr

from ..formats.decode import Int64, Model, QuantityText
from .claims import DeviceTaint
from .core import NodeSelector
from .meta import KubernetesObject
from .quantity import Quantity


class DeviceAttribute(Model, cache_hash=True):
    """The value of an attribute: one field is set, scalar or list (ATTR-2)."""

    int_value: Int64 | None = None
    bool_value: bool | None = None
    string: str | None = None
    version: str | None = None
    ints: tuple[Int64, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None


class UnknownValue(DeviceAttribute):
    """A value that nobody knows before the node is there; those with one ``token`` are equal (karpenter-dra 3.6).

    No manifest has one. It is equal to no other value, and not known to differ from one.
    """

    token: str = ""


class CapacityRange(Model):
    """``validRange`` of a request policy (POL-3)."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Model):
    """How much of a shared capacity a request may take (POL-1 to POL-3)."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(Model, cache_hash=True):
    """One capacity of a device: the total, and how it may be shared."""

    value: QuantityText = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(Model, cache_hash=True):
    """A counter's value, in a set or as consumed by a device."""

    value: QuantityText = "0"


class CounterSet(Model):
    """A named set of counters shared by the devices of a pool (CNT-1)."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class DeviceCounterConsumption(Model):
    """What a device takes from one counter set; groups serve section 12 (GRP-1)."""

    counter_set: str = ""
    counters: dict[str, Counter] | None = None
    compatibility_groups: tuple[str, ...] | None = None


class NodeResourceMapping(Model):
    """``mapping``: what a device, or each unit of a capacity that is consumed, takes of the node (NAR-2)."""

    device_multiplier: QuantityText | None = None
    capacity_key: str | None = None
    capacity_multiplier: QuantityText | None = None


class NodeResourceOverhead(Model):
    """``overhead``: what each pod, and each reference of a container to the claim, pays for a device (NAR-3)."""

    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


class NodeAllocatableResource(Model):
    """What a device takes of a resource of its node (Kubernetes 1.37)."""

    mapping: NodeResourceMapping | None = None
    overhead: NodeResourceOverhead | None = None


class NodeAllocatableResourceMapping(Model):
    """What a device takes of a resource of its node (Kubernetes 1.36)."""

    capacity_key: str | None = None
    allocation_multiplier: QuantityText | None = None


class Device(Model):
    """A device of a pool, or a partition that could be made of one."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[DeviceCounterConsumption, ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] | None = None
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool | None = None
    node_allocatable_resources: dict[str, NodeAllocatableResource] | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] | None = None

    @property
    def node_resources(self) -> dict[str, NodeAllocatableResource]:
        """What the device takes of its node, in the words of Kubernetes 1.37; a multiplier is 1 by default."""
        if not self.node_allocatable_resources and not self.node_allocatable_resource_mappings:
            return {}
        found = dict(self.node_allocatable_resources or {})
        for name, old in (self.node_allocatable_resource_mappings or {}).items():
            times = old.allocation_multiplier or "1"
            mapping = (
                NodeResourceMapping(capacity_key=old.capacity_key, capacity_multiplier=times)
                if old.capacity_key
                else NodeResourceMapping(device_multiplier=times)
            )
            found.setdefault(name, NodeAllocatableResource(mapping=mapping))
        return found


class ResourcePool(Model):
    """The pool a slice belongs to, and how many slices the pool has (POOL-3, POOL-4)."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Model):
    """``spec`` of a ResourceSlice."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] | None = None


class ResourceSlice(KubernetesObject):
    """A part of a pool of devices, published by a driver."""

    spec: ResourceSliceSpec = ResourceSliceSpec()


_encode = msgspec.msgpack.Encoder().encode


def share_values(read: ResourceSlice, seen: dict[Any, Any]) -> None:
    """Replace what devices of a new slice have by equal values seen before: readers gain a quick test, too."""
    if sets := read.spec.shared_counters:
        force_setattr(read.spec, "shared_counters", seen.setdefault(_encode(sets), sets))
    for device in read.spec.devices or ():
        if attributes := device.attributes:
            for key, value in attributes.items():
                attributes[key] = seen.setdefault(value, value)
        force_setattr(device, "name", sys.intern(device.name))
        # Most devices of a kind have equal capacities and counters.
        if capacity := device.capacity:
            force_setattr(device, "capacity", seen.setdefault(tuple(capacity.items()), capacity))
        if consumed := device.consumes_counters:
            force_setattr(device, "consumes_counters", seen.setdefault(_encode(consumed), consumed))


class Scalar(NamedTuple):
    """A value with its type: values of two types are never equal."""

    type: str
    value: bool | int | str


class DescribedDevice(Protocol):
    """A device with its driver, in whatever form it is known."""

    @property
    def driver(self) -> str:
        """The driver's name."""
        raise NotImplementedError

    @property
    def device(self) -> Device:
        """The device with its attributes."""
        raise NotImplementedError


def published_value(entry: DescribedDevice, name: str) -> DeviceAttribute | None:
    """Look an attribute up: by its full name, else by its identifier if the domain is the driver's (CON-2)."""
    attributes = entry.device.attributes or {}
    value = attributes.get(name)
    if value is None:
        domain, _, identifier = name.partition("/")
        if domain == entry.driver:
            value = attributes.get(identifier)
    return value


_SCALAR_FIELDS = {"int": "int_value", "bool": "bool_value", "string": "string", "version": "version"}


def scalar_value(value: DeviceAttribute) -> Scalar | None:
    """Type and value of a scalar, of unknown ones the token; None for lists and for no value at all."""
    if isinstance(value, UnknownValue):
        return Scalar("unknown", value.token)
    for type_, field in _SCALAR_FIELDS.items():
        if (scalar := getattr(value, field)) is not None:
            return Scalar(type_, scalar)
    return None


def member_values(value: DeviceAttribute) -> tuple[Scalar, ...]:
    """Type and value of each element; a scalar is the only element of its set (CON-7)."""
    scalar = scalar_value(value)
    if scalar is not None:
        return (scalar,)
    for type_ in _SCALAR_FIELDS:
        if (elements := getattr(value, f"{type_}s")) is not None:
            return tuple(Scalar(type_, element) for element in elements)
    return ()


def capacity_drawn(capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity | None:
    """What Kueue and Karpenter count for a request: rounded by the device's policy; None if it offers no such amount.

    Without a request it is the policy's default, or all. Without a policy it is what the request says, though the
    device may have less (kueue-dra 5.3 and 9.16, karpenter-dra 3.7). The allocator counts otherwise (CAP-3, CAP-4).
    """
    policy = capacity.request_policy
    if wanted is None:
        wanted = Quantity.parse(capacity.value if policy is None or policy.default is None else policy.default)
    if policy is None:
        return wanted
    if policy.valid_values:
        offered = [value for value in map(Quantity.parse, policy.valid_values) if value >= wanted]
        return min(offered, default=None)
    return wanted if policy.valid_range is None else _in_range(policy.valid_range, wanted)


def _in_range(bounds: CapacityRange, wanted: Quantity) -> Quantity | None:
    least = Quantity.parse(bounds.min or 0)
    amount = max(wanted, least)
    if bounds.step is not None and (step := Quantity.parse(bounds.step).nano) > 0:
        steps = -(-(amount.nano - least.nano) // step)
        amount = Quantity.from_nano(least.nano + steps * step, amount.format)
    return None if bounds.max is not None and amount > Quantity.parse(bounds.max) else amount

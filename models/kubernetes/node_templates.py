"""NodeTemplate (``drasat.dev/v1alpha1``): a node that could be bought, with its devices, and what it becomes.

Devices of nodes that are not there yet may have attributes whose values nobody knows. Only that some of them are equal
is known: these have an ``UnknownValue`` with one token (karpenter-dra 2.3, 3.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from ..formats.decode import Int64, Model, QuantityText
from .core import HOSTNAME_LABEL, Node, NodeSpec, NodeStatus, Taint
from .meta import KubernetesObject, ObjectMeta
from .slices import CounterSet, Device, DeviceAttribute, ResourcePool, ResourceSlice, ResourceSliceSpec, UnknownValue


class TemplateSlice(Model):
    """``spec`` of a ResourceSlice without node and pool; slices of one driver are one pool of the node.

    Unlike a ResourceSlice it may have devices and counter sets at once.
    """

    driver: str = ""
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] | None = None


class PooledSlice(TemplateSlice):
    """A slice of one of several pools that a driver has on a node; ``pool`` is a part of the pool's name there."""

    pool: str = ""


class NodeTemplateSpec(Model):
    """``spec`` of a NodeTemplate.

    ``price`` is a decimal number of any unit, for one node. ``limit`` is how many there are to be had; absent, there is
    no limit. Labels, taints and allocatable are those of each node. ``capacity`` is what a node counts against the
    limits of its NodePool.
    """

    price: QuantityText | None = None
    limit: Int64 | None = None
    labels: dict[str, str] | None = None
    taints: tuple[Taint, ...] | None = None
    allocatable: dict[str, QuantityText] | None = None
    capacity: dict[str, QuantityText] | None = None
    slices: tuple[TemplateSlice, ...] | None = None


class NodeTemplate(KubernetesObject):
    """A kind of node that could be bought."""

    spec: NodeTemplateSpec = NodeTemplateSpec()


# On nodes that are not there yet: the NodeTemplate that they are made from.
NODE_TEMPLATE_ANNOTATION = "drasat.dev/node-template"


@dataclass(frozen=True, slots=True)
class PurchaseLimit:
    """A limit that several NodeTemplates share (R16, R17).

    A node of a template counts its amount; all that are bought may count at most ``most``, beside what is there.
    """

    label: str
    amounts: Mapping[str, int]
    most: int


def node_from_template(template: NodeTemplate, name: str) -> Node:
    """The node of this name as it would be if it were bought; its host name is its own."""
    spec = template.spec
    return Node(
        metadata=ObjectMeta(
            name=name,
            labels={**(spec.labels or {}), HOSTNAME_LABEL: name},
            annotations={NODE_TEMPLATE_ANNOTATION: template.metadata.name},
        ),
        spec=NodeSpec(taints=spec.taints),
        status=NodeStatus(allocatable=spec.allocatable, capacity=spec.capacity),
    )


def slices_from_template(template: NodeTemplate, node: str) -> tuple[ResourceSlice, ...]:
    """The slices that its drivers would publish on the node of this name.

    The pool of a driver is named as the node; where it has several, their names follow behind a slash.
    """
    parts = [part for one in template.spec.slices or () for part in _slice_parts(one)]
    pools: dict[str, dict[str, int]] = {}
    for part in parts:
        own = pools.setdefault(part.driver, {})
        own[_pool_of(part)] = own.get(_pool_of(part), 0) + 1
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{node}-{number}"),
            spec=ResourceSliceSpec(
                driver=part.driver,
                devices=part.devices and tuple(_device_of_node(device, node) for device in part.devices),
                shared_counters=part.shared_counters,
                partition_type_attribute=part.partition_type_attribute,
                skip_node_operations=part.skip_node_operations,
                pool=ResourcePool(
                    name=node if len(pools[part.driver]) == 1 else f"{node}/{_pool_of(part)}",
                    generation=1,
                    resource_slice_count=pools[part.driver][_pool_of(part)],
                ),
                node_name=node,
            ),
        )
        for number, part in enumerate(parts)
    )


def is_pool_of_node(pool: str, node: str) -> bool:
    """Whether a pool of this name is one that a node made from a template has for itself."""
    return pool == node or pool.startswith(f"{node}/")


def _pool_of(part: TemplateSlice) -> str:
    return (part.pool if isinstance(part, PooledSlice) else "") or "default"


def _slice_parts(one: TemplateSlice) -> Iterator[TemplateSlice]:
    """A slice may not have both devices and counter sets."""
    if one.devices and one.shared_counters:
        yield msgspec.structs.replace(one, devices=None)
        one = msgspec.structs.replace(one, shared_counters=None)
    yield one


def _device_of_node(device: Device, node: str) -> Device:
    """Unknown values of two nodes are never equal."""
    if not any(isinstance(value, UnknownValue) for value in (device.attributes or {}).values()):
        return device
    attributes: dict[str, DeviceAttribute] = {
        name: UnknownValue(token=f"{node}/{value.token}") if isinstance(value, UnknownValue) else value
        for name, value in (device.attributes or {}).items()
    }
    return msgspec.structs.replace(device, attributes=attributes)

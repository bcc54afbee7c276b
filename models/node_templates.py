"""NodeTemplate: a node that could be bought, with its devices.

A kind of our own, ``drasat.dev/v1alpha1``.
"""

from collections import Counter
from collections.abc import Iterator

from .base import Int64, Model, QuantityText
from .core import HOSTNAME_LABEL, Node, NodeSpec, NodeStatus, Taint
from .meta import ObjectMeta
from .slices import CounterSet, Device, ResourcePool, ResourceSlice, ResourceSliceSpec


class TemplateSlice(Model):
    """``spec`` of a ResourceSlice without node and pool; slices of one driver are one pool of the node.

    Unlike a ResourceSlice it may have devices and counter sets at once.
    """

    driver: str = ""
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] | None = None


class NodeTemplateSpec(Model):
    """``spec`` of a NodeTemplate.

    ``price`` is a decimal number of any unit, for one node. ``limit`` is how many there are to be had; absent, there is
    no limit. Labels, taints and allocatable are those of each node.
    """

    price: QuantityText | None = None
    limit: Int64 | None = None
    labels: dict[str, str] | None = None
    taints: tuple[Taint, ...] | None = None
    allocatable: dict[str, QuantityText] | None = None
    slices: tuple[TemplateSlice, ...] | None = None


class NodeTemplate(Model):
    """A kind of node that could be bought."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeTemplateSpec = NodeTemplateSpec()


def node_of(template: NodeTemplate, name: str) -> Node:
    """The node of this name as it would be if it were bought; its host name is its own."""
    spec = template.spec
    return Node(
        metadata=ObjectMeta(name=name, labels={**(spec.labels or {}), HOSTNAME_LABEL: name}),
        spec=NodeSpec(taints=spec.taints),
        status=NodeStatus(allocatable=spec.allocatable),
    )


def slices_of(template: NodeTemplate, node: str) -> tuple[ResourceSlice, ...]:
    """The slices that its drivers would publish on the node of this name: one pool a driver, named as the node."""
    parts = [part for one in template.spec.slices or () for part in _parts(one)]
    counts = Counter(part.driver for part in parts)
    return tuple(
        ResourceSlice(
            metadata=ObjectMeta(name=f"{node}-{number}"),
            spec=ResourceSliceSpec(
                driver=part.driver,
                pool=ResourcePool(name=node, generation=1, resource_slice_count=counts[part.driver]),
                node_name=node,
                devices=part.devices,
                shared_counters=part.shared_counters,
                partition_type_attribute=part.partition_type_attribute,
                skip_node_operations=part.skip_node_operations,
            ),
        )
        for number, part in enumerate(parts)
    )


def _parts(one: TemplateSlice) -> Iterator[TemplateSlice]:
    """A slice may not have both devices and counter sets."""
    if not (one.devices and one.shared_counters):
        yield one
        return
    yield TemplateSlice(driver=one.driver, shared_counters=one.shared_counters)
    yield TemplateSlice(
        driver=one.driver,
        devices=one.devices,
        partition_type_attribute=one.partition_type_attribute,
        skip_node_operations=one.skip_node_operations,
    )

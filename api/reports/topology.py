"""Topologies as rows of a table and as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..topology_documents import FreeShapeAnswer, InstanceAnswer, TopologyAnswer, TopologyDocument

HEADERS = ("topology", "shape", "where", "size", "devices", "used", "free", "largest free")
CHOSEN_HEADERS = (*HEADERS[:6], "chosen", "free", "largest free", "after")
DEVICE_HEADERS = ("topology", "where", "device", "coordinates", "state")
DEVICE_COLUMNS = ("topology", "instance", "driver", "pool", "device", "coordinates", "state")


def headers(document: TopologyDocument) -> tuple[str, ...]:
    """The headers of ``rows``: where devices are chosen, what is free is told before and after."""
    return CHOSEN_HEADERS if _chosen(document) else HEADERS


def rows(document: TopologyDocument) -> Iterator[tuple[str, ...]]:
    """One row for each instance, under ``headers``."""
    chosen = _chosen(document)
    for topology in document.topologies:
        for one in topology.instances:
            counts = [str(one.chosen)] * chosen + [str(one.free)]
            free = [_largest(one.largest, one.levels)] + [_largest(one.left, one.levels_left)] * chosen
            head = (topology.name, topology.shape, where(topology, one), _size(one), str(len(one.devices)))
            yield (*head, str(one.used), *counts, *free)


def wide_rows(document: TopologyDocument) -> Iterator[tuple[str, ...]]:
    """One row for each device, under ``DEVICE_HEADERS``; those without coordinates come last."""
    for topology in document.topologies:
        for one in topology.instances:
            place = where(topology, one)
            for device in one.devices:
                told = ", ".join(map(str, device.coordinates))
                yield topology.name, place, f"{device.driver}/{device.pool}/{device.device}", told, device.state
            for bare in one.unplaced:
                yield topology.name, place, f"{bare.driver}/{bare.pool}/{bare.device}", "none", ""


def device_rows(document: TopologyDocument) -> Iterator[tuple[object, ...]]:
    """One row for each device in its place, under ``DEVICE_COLUMNS``."""
    for topology in document.topologies:
        for one in topology.instances:
            for device in one.devices:
                name = (device.driver, device.pool, device.device)
                yield (topology.name, one.name, *name, device.coordinates, device.state)


def remarks(document: TopologyDocument) -> Iterator[str]:
    """What is missing: topologies without devices, and devices without coordinates."""
    if not document.topologies:
        yield "no DeviceTopology is asked about"
    for topology in document.topologies:
        if not topology.instances:
            yield f"DeviceTopology {topology.name}: no devices"
        for one in topology.instances:
            if one.unplaced:
                count = len(one.unplaced)
                told = f"{count} device has" if count == 1 else f"{count} devices have"
                yield f"DeviceTopology {topology.name}: {where(topology, one)}: {told} no coordinates"


def where(topology: TopologyAnswer, instance: InstanceAnswer) -> str:
    """The instance as tables and titles have it."""
    return f"{topology.scope.lower()} {instance.name}".strip()


def _chosen(document: TopologyDocument) -> bool:
    return any(one.chosen for topology in document.topologies for one in topology.instances)


def _size(instance: InstanceAnswer) -> str:
    return "x".join(f"{axis.size}{'~' if axis.periodic else ''}" for axis in instance.axes)


def _largest(shape: FreeShapeAnswer, levels: Sequence[FreeShapeAnswer]) -> str:
    if shape.kind == "Subtree":
        return ", ".join(f"{one.level}: {one.count}" for one in levels)
    if not shape.count:
        return "none"
    size = "x".join(map(str, shape.size))
    return f"{size} ({shape.count})" if shape.kind == "Box" else str(shape.count)

"""Topologies as rows of tables, as lines, as Graphviz text and as networkx graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..models.formats.errors import plural

if TYPE_CHECKING:
    import networkx

    from ..models.kubernetes.meta import DeviceId
    from ..models.results.inventory import (
        FreeShapeAnswer,
        InstanceAnswer,
        PlacedDevice,
        TopologyAnswer,
        TopologyDocument,
    )

HEADERS = ("topology", "shape", "where", "size", "devices", "used", "free", "largest free")
CHOSEN_HEADERS = (*HEADERS[:6], "chosen", "free", "largest free", "after")
DEVICE_HEADERS = ("topology", "where", "device", "coordinates", "state")
DEVICE_COLUMNS = ("topology", "instance", "driver", "pool", "device", "coordinates", "state")


def headers(document: TopologyDocument) -> tuple[str, ...]:
    """The headers of ``rows``: where devices are chosen, what is free is told before and after."""
    return CHOSEN_HEADERS if _has_chosen(document) else HEADERS


def rows(document: TopologyDocument) -> Iterator[tuple[str, ...]]:
    """One row for each instance, under ``headers``."""
    chosen = _has_chosen(document)
    for topology in document.topologies:
        for one in topology.instances:
            counts = [str(one.chosen)] * chosen + [str(one.free)]
            free = [_display_largest(one.largest, one.levels)] + [_display_largest(one.left, one.levels_left)] * chosen
            size = "x".join(f"{axis.size}{'~' if axis.periodic else ''}" for axis in one.axes)
            head = topology.name, topology.shape, instance_label(topology, one), size, str(len(one.devices))
            yield (*head, str(one.used), *counts, *free)


def wide_rows(document: TopologyDocument) -> Iterator[tuple[str, ...]]:
    """One row for each device, under ``DEVICE_HEADERS``; those without coordinates come last."""
    for topology in document.topologies:
        for one in topology.instances:
            place = instance_label(topology, one)
            for device in one.devices:
                coordinates = ", ".join(map(str, device.coordinates))
                yield topology.name, place, f"{device.driver}/{device.pool}/{device.device}", coordinates, device.state
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
    """Yield a line for each topology without devices, and for devices without coordinates."""
    if not document.topologies:
        yield "the input has no such DeviceTopology"
    for topology in document.topologies:
        if not topology.instances:
            yield f"DeviceTopology {topology.name}: no devices"
        for one in topology.instances:
            if one.unplaced:
                count = len(one.unplaced)
                devices = f"{plural(count, 'device')} {'has' if count == 1 else 'have'}"
                yield f"DeviceTopology {topology.name}: {instance_label(topology, one)}: {devices} no coordinates"


def instance_label(topology: TopologyAnswer, instance: InstanceAnswer) -> str:
    """The instance as tables and titles have it."""
    return f"{topology.scope.lower()} {instance.name}".strip()


def _has_chosen(document: TopologyDocument) -> bool:
    return any(one.chosen for topology in document.topologies for one in topology.instances)


def _display_largest(shape: FreeShapeAnswer, levels: Sequence[FreeShapeAnswer]) -> str:
    if shape.kind == "Subtree":
        return ", ".join(f"{one.level}: {one.count}" for one in levels)
    if not shape.count:
        return "none"
    size = "x".join(map(str, shape.size))
    return f"{size} ({shape.count})" if shape.kind == "Box" else str(shape.count)


COLOURS = {"free": "#d9ead3", "used": "#999999", "chosen": "#f6b26b"}
"""The fill colour of devices by state, in graphs and pictures."""


def topology_dot(document: TopologyDocument) -> str:
    """All graphs, one after the other. Devices in one row or plane have positions, for ``neato -n``."""
    return "".join(
        "\n".join(_dot_graph(topology, one)) + "\n" for topology in document.topologies for one in topology.instances
    )


def _dot_graph(topology: TopologyAnswer, instance: InstanceAnswer) -> Iterator[str]:
    yield f"graph {_dot_string(f'{topology.name} {instance_label(topology, instance)}')} {{"
    yield "  node [shape=box, style=filled];"
    for number, device in enumerate(instance.devices):
        yield f"  {number} [{_dot_attributes(device, len(instance.axes))}];"
    links = (f"  {one} -- {other};" for one, other in instance.links)
    yield from _dot_tree_edges(instance) if instance.levels else links
    yield "}"


def _dot_attributes(device: PlacedDevice, axes: int) -> str:
    label = f"{device.device}\n{', '.join(map(str, device.coordinates))}"
    found = {"label": label, "tooltip": f"{device.driver}/{device.pool}/{device.device}", "class": device.state}
    found["fillcolor"] = COLOURS[device.state]
    if axes in (1, 2):
        # The last axis to the right, the one before it downwards, as in the pictures.
        *down, right = map(int, device.coordinates)
        found["pos"] = f"{right * 100},{-sum(down) * 100}"
    return ", ".join(f"{name}={_dot_string(value)}" for name, value in found.items())


def _dot_tree_edges(instance: InstanceAnswer) -> Iterator[str]:
    """A Tree with its tree nodes, which are no devices, as points."""
    nodes: dict[tuple[object, ...], str] = {(): "tree"}
    yield '  tree [shape=point, label=""];'
    for number, device in enumerate(instance.devices):
        for depth in range(1, len(device.coordinates) + 1):
            path = tuple((type(value).__name__, value) for value in device.coordinates[:depth])
            if path not in nodes:
                nodes[path] = f"tree{len(nodes)}"
                yield f"  {nodes[path]} [shape=plaintext, style=solid, label={_dot_string(str(path[-1][1]))}];"
                yield f"  {nodes[path[:-1]]} -- {nodes[path]};"
        yield f"  {nodes[path]} -- {number};"


def _dot_string(text: str) -> str:
    """A string of the language, in which a line break is written as one; whatever moves a cursor is escaped."""
    lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    printable = (
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode().replace("\\", "\\\\") for c in line)
        for line in lines
    )
    return '"' + "\\n".join(printable) + '"'


def to_networkx(instance: InstanceAnswer) -> networkx.Graph[DeviceId]:
    """A node for each device (driver, pool, name) with ``coordinates`` and ``state``, an edge for each link."""
    import networkx

    made: networkx.Graph[DeviceId] = networkx.Graph(name=instance.name)
    ids = [(one.driver, one.pool, one.device) for one in instance.devices]
    for id_, device in zip(ids, instance.devices, strict=True):
        made.add_node(id_, coordinates=device.coordinates, state=device.state)
    made.add_edges_from((ids[one], ids[other]) for one, other in instance.links)
    return made

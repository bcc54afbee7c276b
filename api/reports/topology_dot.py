"""Topologies in the language of Graphviz: a graph for each instance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .topology import where

if TYPE_CHECKING:
    from ..topology_documents import InstanceAnswer, PlacedDevice, TopologyAnswer, TopologyDocument

COLOURS = {"free": "#d9ead3", "used": "#999999", "chosen": "#f6b26b"}
"""What a device in each state is filled with, in graphs and pictures."""


def dot(document: TopologyDocument) -> str:
    """All graphs, one after the other. Devices in one row or plane have positions, for ``neato -n``."""
    return "".join(
        "\n".join(_graph(topology, one)) + "\n" for topology in document.topologies for one in topology.instances
    )


def _graph(topology: TopologyAnswer, instance: InstanceAnswer) -> Iterator[str]:
    yield f"graph {_quoted(f'{topology.name} {where(topology, instance)}')} {{"
    yield "  node [shape=box, style=filled];"
    for number, device in enumerate(instance.devices):
        yield f"  {number} [{_attributes(device, len(instance.axes))}];"
    yield from _branches(instance) if instance.levels else _links(instance)
    yield "}"


def _attributes(device: PlacedDevice, axes: int) -> str:
    told = f"{device.device}\n{', '.join(map(str, device.coordinates))}"
    found = {"label": told, "tooltip": f"{device.driver}/{device.pool}/{device.device}", "class": device.state}
    found["fillcolor"] = COLOURS[device.state]
    if axes in (1, 2):
        # The last axis to the right, the one before it downwards, as in the pictures.
        *down, right = map(int, device.coordinates)
        found["pos"] = f"{right * 100},{-sum(down) * 100}"
    return ", ".join(f"{name}={_quoted(value)}" for name, value in found.items())


def _links(instance: InstanceAnswer) -> Iterator[str]:
    for one, other in instance.links:
        yield f"  {one} -- {other};"


def _branches(instance: InstanceAnswer) -> Iterator[str]:
    """A Tree with its tree nodes, which are no devices, as points."""
    nodes: dict[tuple[object, ...], str] = {(): "tree"}
    yield '  tree [shape=point, label=""];'
    for number, device in enumerate(instance.devices):
        for depth in range(1, len(device.coordinates) + 1):
            path = tuple((type(value).__name__, value) for value in device.coordinates[:depth])
            if path not in nodes:
                nodes[path] = f"tree{len(nodes)}"
                yield f"  {nodes[path]} [shape=plaintext, style=solid, label={_quoted(str(path[-1][1]))}];"
                yield f"  {nodes[path[:-1]]} -- {nodes[path]};"
        yield f"  {nodes[path]} -- {number};"


def _quoted(text: str) -> str:
    """A string of the language, in which a line break is written as one; whatever moves a cursor is escaped."""
    lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    printable = (
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode().replace("\\", "\\\\") for c in line)
        for line in lines
    )
    return '"' + "\\n".join(printable) + '"'

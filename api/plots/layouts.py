"""Where devices are drawn: plain points for each picture of a topology, with no drawing library."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import cos, pi, sin
from typing import TYPE_CHECKING

from ..reports.topology import where

if TYPE_CHECKING:
    from ..topology_documents import AxisAnswer, InstanceAnswer, TopologyAnswer

Point = tuple[float, float]

# With more devices than these a layout by springs takes too long, and shows nothing.
_SPRINGS = 300


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: devices by number with their points, places without device, lines, and what stands in nodes."""

    title: str
    points: Mapping[int, Point]
    holes: Sequence[Point] = ()
    lines: Sequence[tuple[Point, Point]] = ()
    texts: Mapping[Point, str] = field(default_factory=dict)
    """Names of places where no device is, such as the inner nodes of a Tree."""
    square: bool = False
    """Whether devices fill cells of one unit, instead of standing apart."""


def panels(topology: TopologyAnswer, instance: InstanceAnswer) -> Iterator[Panel]:
    """The pictures of an instance: one, or one for each layer where there are more than two axes."""
    title = f"{topology.name}, {where(topology, instance)}"
    yield from _LAYOUTS[topology.shape](title, instance)


def _ring(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    (axis,) = instance.axes
    places = [_on_circle(place, axis.size) for place in range(axis.size)]
    points = {number: places[cell[0]] for number, cell in _cells(instance).items()}
    closed = zip(places, [*places[1:], places[0]], strict=True)
    yield Panel(title, points, _holes(places, points), [*closed] if axis.size > 1 else [])


def _on_circle(place: int, size: int) -> Point:
    """The first place at the top, the others clockwise, a unit apart."""
    radius, angle = max(size / (2 * pi), 0.5), 2 * pi * place / size
    return round(radius * sin(angle), 9), round(radius * cos(angle), 9)


def _layers(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    """The last axis to the right, the one before it downwards, a picture for each layer of the others."""
    cells = _cells(instance)
    layers, plane = instance.axes[:-2], instance.axes[-2:]
    by_layer: dict[tuple[int, ...], dict[int, Point]] = defaultdict(dict)
    for number, cell in cells.items():
        by_layer[cell[:-2]][number] = _flat(cell[-2:])
    whole = [_flat(cell) for cell in product(*(range(axis.size) for axis in plane))]
    for layer in product(*(range(axis.size) for axis in layers)):
        at = ", ".join(f"{_short(axis)} {axis.first + place}" for axis, place in zip(layers, layer, strict=True))
        points = by_layer[layer]
        below = ", ".join(filter(None, [at, _wraps(plane)]))
        yield Panel(f"{title}\n{below}" if below else title, points, _holes(whole, points), square=True)


def _flat(cell: Sequence[int]) -> Point:
    *down, right = cell
    return float(right), float(-sum(down))


def _wraps(axes: Sequence[AxisAnswer]) -> str:
    around = [_short(axis) for axis in axes if axis.periodic]
    return f"wraps along {' and '.join(around)}" if around else ""


def _short(axis: AxisAnswer) -> str:
    return axis.attribute.rpartition("/")[2]


def _cells(instance: InstanceAnswer) -> dict[int, tuple[int, ...]]:
    return {
        number: tuple(int(place) - axis.first for place, axis in zip(device.coordinates, instance.axes, strict=True))
        for number, device in enumerate(instance.devices)
    }


def _holes(places: Sequence[Point], points: Mapping[int, Point]) -> list[Point]:
    taken = set(points.values())
    return [place for place in places if place not in taken]


def _tree(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    """The root at the top, devices side by side at the bottom, each tree node above the middle of what it has."""
    paths = {
        number: tuple((type(part).__name__, part) for part in device.coordinates)
        for number, device in enumerate(instance.devices)
    }
    depth = len(instance.levels) + 1
    ordered = sorted(paths, key=lambda number: [(kind, str(part)) for kind, part in paths[number]])
    points = {number: (float(right), float(-depth)) for right, number in enumerate(ordered)}
    below: dict[tuple[tuple[str, object], ...], list[float]] = defaultdict(list)
    for number in ordered:
        for length in range(depth):
            below[paths[number][:length]].append(points[number][0])
    nodes = {path: (sum(found) / len(found), float(-len(path))) for path, found in below.items()}
    lines = [(nodes[path[:-1]], nodes[path]) for path in nodes if path]
    lines += [(nodes[paths[number]], points[number]) for number in ordered]
    yield Panel(title, points, (), lines, {nodes[path]: str(path[-1][1]) for path in nodes if path})


def _graph(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    """By springs, so that neighbours stand close; the same every time."""
    count = len(instance.devices)
    points = {number: _on_circle(number, count) for number in range(count)}
    if instance.links and count <= _SPRINGS:
        points = _springs(instance, points)
    yield Panel(title, points, (), [(points[one], points[other]) for one, other in instance.links])


def _springs(instance: InstanceAnswer, start: Mapping[int, Point]) -> dict[int, Point]:
    import networkx

    graph: networkx.Graph[int] = networkx.Graph()
    graph.add_nodes_from(start)
    graph.add_edges_from(instance.links)
    scale = len(start) ** 0.5
    found = networkx.spring_layout(graph, pos=dict(start), iterations=200, seed=0, scale=scale)
    return {number: (float(x), float(y)) for number, (x, y) in found.items()}


_LAYOUTS: dict[str, Callable[[str, InstanceAnswer], Iterator[Panel]]] = {
    "Ring": _ring,
    "Line": _layers,
    "Grid": _layers,
    "Torus": _layers,
    "Tree": _tree,
    "Links": _graph,
}

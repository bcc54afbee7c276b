"""Pictures of topologies: where each device is drawn, and the chart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import ceil, cos, pi, prod, sin, sqrt
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from .charts import BLUE, GREY, HOLE, INK, ORANGE, Chart, data
from .topology import instance_label

if TYPE_CHECKING:
    from ..models.results.inventory import AxisAnswer, InstanceAnswer, TopologyAnswer, TopologyDocument

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
    """Whether devices are drawn as adjacent cells of one unit."""


def panels(topology: TopologyAnswer, instance: InstanceAnswer) -> Iterator[Panel]:
    """The pictures of an instance: one, or one for each layer where there are more than two axes."""
    title = f"{topology.name}, {instance_label(topology, instance)}"
    yield from _LAYOUTS[topology.shape](title, instance)


def _ring_panels(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    (axis,) = instance.axes
    places = [_on_circle(place, axis.size) for place in range(axis.size)]
    points = {number: places[cell[0]] for number, cell in _cells(instance).items()}
    closed = zip(places, [*places[1:], places[0]], strict=True)
    yield Panel(title, points, _holes(places, points), [*closed] if axis.size > 1 else [])


def _on_circle(place: int, size: int) -> Point:
    """The first place at the top, the others clockwise, a unit apart."""
    radius, angle = max(size / (2 * pi), 0.5), 2 * pi * place / size
    return round(radius * sin(angle), 9), round(radius * cos(angle), 9)


def _layer_panels(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    """The last axis to the right, the one before it downwards, a picture for each layer of the others."""
    cells = _cells(instance)
    layers, plane = instance.axes[:-2], instance.axes[-2:]
    by_layer: dict[tuple[int, ...], dict[int, Point]] = defaultdict(dict)
    for number, cell in cells.items():
        by_layer[cell[:-2]][number] = _project_cell(cell[-2:])
    whole = [_project_cell(cell) for cell in product(*(range(axis.size) for axis in plane))]
    around = " and ".join(_short_axis_name(axis) for axis in plane if axis.periodic)
    for layer in product(*(range(axis.size) for axis in layers)):
        at = ", ".join(
            f"{_short_axis_name(axis)} {axis.first + place}" for axis, place in zip(layers, layer, strict=True)
        )
        points = by_layer[layer]
        below = ", ".join(filter(None, [at, around and f"wraps along {around}"]))
        yield Panel(f"{title}\n{below}" if below else title, points, _holes(whole, points), square=True)


def _project_cell(cell: Sequence[int]) -> Point:
    *down, right = cell
    return float(right), float(-sum(down))


def _short_axis_name(axis: AxisAnswer) -> str:
    return axis.attribute.rpartition("/")[2]


def _cells(instance: InstanceAnswer) -> dict[int, tuple[int, ...]]:
    return {
        number: tuple(int(place) - axis.first for place, axis in zip(device.coordinates, instance.axes, strict=True))
        for number, device in enumerate(instance.devices)
    }


def _holes(places: Sequence[Point], points: Mapping[int, Point]) -> list[Point]:
    taken = set(points.values())
    return [place for place in places if place not in taken]


def _tree_panels(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
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


def _spring_panels(title: str, instance: InstanceAnswer) -> Iterator[Panel]:
    """By springs, so that neighbours stand close; the same every time."""
    count = len(instance.devices)
    points = {number: _on_circle(number, count) for number in range(count)}
    if instance.links and count <= _SPRINGS:
        points = _spring_layout(instance, points)
    yield Panel(title, points, (), [(points[one], points[other]) for one, other in instance.links])


def _spring_layout(instance: InstanceAnswer, start: Mapping[int, Point]) -> dict[int, Point]:
    import networkx

    graph: networkx.Graph[int] = networkx.Graph()
    graph.add_nodes_from(start)
    graph.add_edges_from(instance.links)
    scale = len(start) ** 0.5
    found = networkx.spring_layout(graph, pos=dict(start), iterations=200, seed=0, scale=scale)
    return {number: (float(x), float(y)) for number, (x, y) in found.items()}


_LAYOUTS: dict[str, Callable[[str, InstanceAnswer], Iterator[Panel]]] = {
    "Ring": _ring_panels,
    "Line": _layer_panels,
    "Grid": _layer_panels,
    "Torus": _layer_panels,
    "Tree": _tree_panels,
    "Links": _spring_panels,
}
# Pixels of a picture's side, the side of a cell, and with how many devices names can still be read.
_PANEL_SIZE, _CELL, _MOST_LABELS = 300, 64, 40
_COLOURS = {"free": "#A9DCCB", "used": GREY, "chosen": ORANGE}
_LARGEST = "in the largest free shape"
MOST_PANELS = 64
MOST_PLACES = 50_000


def topology_chart(document: TopologyDocument) -> Chart:
    """All instances in one chart, the largest free shape framed. Raises ``ValueError``, one line."""
    instances = [one for topology in document.topologies for one in topology.instances]
    places = sum(max(len(one.devices), prod(axis.size for axis in one.axes)) for one in instances)
    if places > MOST_PLACES:
        raise ValueError(f"{places:,} places are too many for one file, which holds {MOST_PLACES:,}")
    drawn = [
        (panel, one)
        for topology in document.topologies
        for one in topology.instances
        if one.devices
        for panel in islice(panels(topology, one), MOST_PANELS + 1)
    ]
    if not drawn:
        raise ValueError("there is nothing to draw: no device has a place")
    if len(drawn) > MOST_PANELS:
        raise ValueError(f"{len(drawn)} or more pictures are too many for one file, which holds {MOST_PANELS}")
    states = [state for state in _COLOURS if any(one.state == state for _, found in drawn for one in found.devices)]
    charts = [_panel_chart(number, panel, one, states) for number, (panel, one) in enumerate(drawn)]
    return alt.concat(*charts, columns=ceil(sqrt(len(drawn)))) if len(charts) > 1 else charts[0]


def _panel_chart(number: int, panel: Panel, instance: InstanceAnswer, states: Sequence[str]) -> Any:
    """One picture. A device's place is its point, in a frame that is equal on both axes but for a Tree."""
    all_points = [*panel.points.values(), *panel.holes, *panel.texts]
    across, up = zip(*all_points, strict=True)
    wide, high = max(across) - min(across) + 1, max(up) - min(up) + 1
    cell = min(_CELL, _PANEL_SIZE / max(wide, high)) if not panel.texts else 0.0
    size = {"width": _PANEL_SIZE if panel.texts else wide * cell, "height": _PANEL_SIZE if panel.texts else high * cell}
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[min(across) - 0.5, max(across) + 0.5], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[min(up) - 0.5, max(up) + 0.5], nice=False, zero=False))
    largest = set((instance.left if instance.chosen else instance.largest).devices)
    rows = [
        {
            "x": point[0],
            "y": point[1],
            "device": instance.devices[one].device,
            "pool": f"{instance.devices[one].driver}/{instance.devices[one].pool}",
            "at": ", ".join(map(str, instance.devices[one].coordinates)),
            "state": instance.devices[one].state,
            "shape": _LARGEST if one in largest else "",
        }
        for one, point in panel.points.items()
    ]
    layers: list[alt.Chart] = []
    if panel.lines:
        ends = [{"x": one[0], "y": one[1], "x2": other[0], "y2": other[1]} for one, other in panel.lines]
        lines = alt.Chart(data(ends, f"lines{number}")).mark_rule(color=HOLE)
        layers.append(lines.encode(x=x, y=y, x2="x2", y2="y2"))
    area = (cell * 0.9) ** 2 if cell else 300.0
    shape: Literal["square", "circle"] = "square" if panel.square else "circle"
    if not panel.square:
        area = (cell * 0.7) ** 2 if cell else 300.0
    if panel.holes:
        holes = alt.Chart(data(({"x": one, "y": other} for one, other in panel.holes), f"holes{number}"))
        layers.append(holes.mark_point(shape=shape, size=area, color=HOLE).encode(x=x, y=y))
    base = alt.Chart(data(rows, f"places{number}")).encode(x=x, y=y)
    colour = alt.Scale(domain=list(states), range=[_COLOURS[one] for one in states])
    layers.append(
        base.mark_point(shape=shape, size=area, filled=True, opacity=1).encode(
            color=alt.Color("state:N", scale=colour, legend=alt.Legend(title=None, orient="bottom")),
            stroke=alt.condition(f"datum.shape == '{_LARGEST}'", alt.value(BLUE), alt.value(GREY)),
            strokeWidth=alt.condition(f"datum.shape == '{_LARGEST}'", alt.value(3), alt.value(0.8)),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("device", "pool", "at", "state", "shape")],
        )
    )
    if len(rows) <= _MOST_LABELS:
        layers.append(base.mark_text(fontSize=9, limit=cell or 60, color=INK).encode(text="device:N"))
    if panel.texts:
        named = [{"x": one[0], "y": one[1], "name": name} for one, name in panel.texts.items()]
        tree = alt.Chart(data(named, f"names{number}")).encode(x=x, y=y)
        layers.append(tree.mark_text(fontSize=10, dy=-8).encode(text="name:N"))
    title = panel.title.split("\n")
    return alt.layer(*layers).properties(title=title if len(title) > 1 else panel.title, **size)

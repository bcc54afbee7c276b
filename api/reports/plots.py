"""Pictures of topologies: where each device is drawn, the drawing with matplotlib, and the file.

The file name is checked before anything is computed, and the file appears when it is complete.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from itertools import islice, product
from math import ceil, cos, pi, prod, sin, sqrt
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from .topology import COLOURS, instance_label

if TYPE_CHECKING:
    from ..models.results.topology import AxisAnswer, InstanceAnswer, PlacedDevice, TopologyAnswer, TopologyDocument

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
# Inches of a picture's side, and with how many devices names can still be read.
_PANEL_SIZE = 4.0
_MOST_LABELS = 40
_HOLE = "#cccccc"


@cache
def _inline_figure_class() -> type[Any]:
    """A figure that notebooks show by themselves, whatever backend they use."""
    from matplotlib.figure import Figure

    class InlineFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png", dpi=100, metadata=_METADATA["png"])
            return picture.getvalue()

    return InlineFigure


def draw_figure(drawn: Sequence[tuple[Panel, Sequence[PlacedDevice]]]) -> Any:
    """A matplotlib ``Figure`` of all panels, each with the devices that its numbers mean. Raises ``ImportError``."""
    from matplotlib.patches import Patch

    across = ceil(sqrt(len(drawn)))
    down = ceil(len(drawn) / across)
    made = _inline_figure_class()(figsize=(_PANEL_SIZE * across, _PANEL_SIZE * down + 0.5), layout="constrained")
    grid = made.subplots(down, across, squeeze=False).flat
    for axes, (panel, devices) in zip(grid, drawn, strict=False):
        _draw(axes, panel, devices)
    for axes in list(made.axes)[len(drawn) :]:
        axes.set_axis_off()
    states = {device.state for _, devices in drawn for device in devices}
    handles = [Patch(facecolor=COLOURS[state], edgecolor="black", label=state) for state in COLOURS if state in states]
    made.legend(handles=handles, loc="outside lower center", ncols=len(COLOURS))
    return made


def _draw(axes: Any, panel: Panel, devices: Sequence[PlacedDevice]) -> None:
    for start, end in panel.lines:
        axes.plot(*zip(start, end, strict=True), color=_HOLE, linewidth=1, zorder=1)
    _draw_devices(axes, panel, devices)
    for (x, y), text in panel.texts.items():
        axes.text(x, y, text, ha="center", va="center", fontsize=7, bbox={"facecolor": "white", "edgecolor": _HOLE})
    if len(panel.points) <= _MOST_LABELS:
        for number, (x, y) in panel.points.items():
            axes.text(x, y, devices[number].device, ha="center", va="center", fontsize=6, zorder=3)
    axes.set_title(panel.title, fontsize=8)
    axes.set_aspect("equal" if panel.square or not panel.texts else "auto")
    axes.set_axis_off()
    axes.margins(0.1)
    axes.autoscale_view()


def _draw_devices(axes: Any, panel: Panel, devices: Sequence[PlacedDevice]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Patch, Rectangle

    filled = [COLOURS[devices[number].state] for number in panel.points]
    if panel.texts:
        # A Tree is drawn at any aspect, in which circles would become ovals.
        across, up = zip(*panel.points.values(), strict=True)
        axes.scatter(across, up, s=300, c=filled, edgecolors="black", zorder=2)
        return
    places = (*panel.holes, *panel.points.values())
    shapes: list[Patch]
    if panel.square:
        shapes = [Rectangle((x - 0.45, y - 0.45), 0.9, 0.9) for x, y in places]
    else:
        shapes = [Circle(place, 0.35) for place in places]
    colours = ["none"] * len(panel.holes) + filled
    edges = [_HOLE] * len(panel.holes) + ["black"] * len(panel.points)
    axes.add_collection(PatchCollection(shapes, facecolors=colours, edgecolors=edges, linewidths=0.8, zorder=2))


PLOT_FORMATS = (".png", ".svg")
MOST_PANELS = 64
MOST_PLACES = 50_000


def check_plot_path(path: Path) -> None:
    """Refuse what cannot be drawn into, and say what is missing. Raises ``ValueError``, one line."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise ValueError(f"a picture is a {' or '.join(PLOT_FORMATS)} file, not {str(path)!r}")
    _check_matplotlib()


def _check_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ValueError("a picture needs matplotlib: pip install 'drasat[plot]'")


def save_plot(document: TopologyDocument, path: Path) -> None:
    """Draw all instances into a file. Raises ``ValueError``, and ``OSError`` if the file cannot be written."""
    check_plot_path(path)
    _write_figure(draw_topologies(document), path)


def draw_topologies(document: TopologyDocument) -> Any:
    """Draw all instances into one matplotlib ``Figure``. Raises ``ValueError``, one line."""
    _check_matplotlib()
    instances = [one for topology in document.topologies for one in topology.instances]
    places = sum(max(len(one.devices), prod(axis.size for axis in one.axes)) for one in instances)
    if places > MOST_PLACES:
        raise ValueError(f"{places:,} places are too many for one file, which holds {MOST_PLACES:,}")
    drawn = [
        (panel, one.devices)
        for topology in document.topologies
        for one in topology.instances
        if one.devices
        for panel in islice(panels(topology, one), MOST_PANELS + 1)
    ]
    if not drawn:
        raise ValueError("there is nothing to draw: no device has a place")
    if len(drawn) > MOST_PANELS:
        raise ValueError(f"{len(drawn)} or more pictures are too many for one file, which holds {MOST_PANELS}")
    return draw_figure(drawn)


# No file may hold when or with what it was made.
_METADATA: dict[str, dict[str, None]] = {"svg": {"Date": None}, "png": {"Software": None}}


def _write_figure(figure: object, path: Path) -> None:
    """Write beside the file and rename, so that what has its name is always complete; the same input, the same file."""
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False) as part:
        try:
            with rc_context({"svg.hashsalt": "drasat"}):
                figure.savefig(part, format=kind, dpi=150, metadata=_METADATA[kind])  # type: ignore[attr-defined]
        except BaseException:
            part.close()
            with suppress(OSError):
                Path(part.name).unlink()
            raise
    # The mask can only be read by setting one.
    mask = os.umask(0)
    os.umask(mask)
    Path(part.name).chmod(0o666 & ~mask)
    Path(part.name).replace(path)

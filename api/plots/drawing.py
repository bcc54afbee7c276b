"""Panels drawn with matplotlib: filled squares or circles by state, places without device as outlines."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from ..reports.topology_dot import COLOURS
from .layouts import Panel, Point

if TYPE_CHECKING:
    from ..topology_documents import PlacedDevice

# Inches of a picture's side, and with how many devices names can still be read.
_SIDE = 4.0
_NAMED = 40
_HOLE = "#cccccc"


def figure(drawn: Sequence[tuple[Panel, Sequence[PlacedDevice]]]) -> Any:
    """A matplotlib ``Figure`` of all panels, each with the devices that its numbers mean. Raises ``ImportError``."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    across = ceil(sqrt(len(drawn)))
    down = ceil(len(drawn) / across)
    made = Figure(figsize=(_SIDE * across, _SIDE * down + 0.5), layout="constrained")
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
    _place(axes, panel, devices)
    for (x, y), text in panel.texts.items():
        axes.text(x, y, text, ha="center", va="center", fontsize=7, bbox={"facecolor": "white", "edgecolor": _HOLE})
    if len(panel.points) <= _NAMED:
        for number, (x, y) in panel.points.items():
            axes.text(x, y, devices[number].device, ha="center", va="center", fontsize=6, zorder=3)
    axes.set_title(panel.title, fontsize=8)
    axes.set_aspect("equal" if panel.square or not panel.texts else "auto")
    axes.set_axis_off()
    axes.margins(0.1)
    axes.autoscale_view()


def _place(axes: Any, panel: Panel, devices: Sequence[PlacedDevice]) -> None:
    from matplotlib.collections import PatchCollection

    if panel.texts:
        # A Tree is drawn at any aspect, in which circles would become ovals.
        _mark(axes, panel, devices)
        return
    shapes = [_shape(point, panel.square) for point in (*panel.holes, *panel.points.values())]
    colours = ["none"] * len(panel.holes) + [COLOURS[devices[number].state] for number in panel.points]
    edges = [_HOLE] * len(panel.holes) + ["black"] * len(panel.points)
    axes.add_collection(PatchCollection(shapes, facecolors=colours, edgecolors=edges, linewidths=0.8, zorder=2))


def _shape(point: Point, square: bool) -> Any:
    from matplotlib.patches import Circle, Rectangle

    x, y = point
    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9) if square else Circle(point, 0.35)


def _mark(axes: Any, panel: Panel, devices: Sequence[PlacedDevice]) -> None:
    across, up = zip(*panel.points.values(), strict=True)
    colours = [COLOURS[devices[number].state] for number in panel.points]
    axes.scatter(across, up, s=300, c=colours, edgecolors="black", zorder=2)

"""Whether what an entry asks of a topology makes sense there (TOPO-2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from .entries import TopologyAsk
from .placed_devices import level_named
from .topologies import LATTICES, STRAIGHT, DeviceTopologySpec

AskedShape = Literal["Segment", "Box", "Connected", "Compact", "Subtree"]

ASKED_SHAPES: tuple[AskedShape, ...] = ("Segment", "Box", "Connected", "Compact", "Subtree")
FIXED = "Fixed"
ORIENTATIONS = ("Any", FIXED)


def misfit(ask: TopologyAsk, spec: DeviceTopologySpec) -> str:
    """Say in one line why a valid topology has no such shape; empty: it has."""
    if ask.shape not in ASKED_SHAPES:
        return f"unknown shape {ask.shape!r}, known are: {', '.join(ASKED_SHAPES)}"
    return _MISFITS[ask.shape](ask, spec)


def _segment(_ask: TopologyAsk, spec: DeviceTopologySpec) -> str:
    return "" if spec.shape in STRAIGHT else f"there are segments on a Ring or Line, not in a topology {spec.shape}"


def _box(ask: TopologyAsk, spec: DeviceTopologySpec) -> str:
    if spec.shape not in LATTICES:
        return f"there are no boxes in a topology {spec.shape}"
    size, axes = ask.size or (), len(spec.coordinates or ())
    if len(size) != axes or min(size) < 1:
        return f"a box needs a size of {axes} positive numbers, one an axis"
    if ask.orientation not in ("", *ORIENTATIONS):
        return f"unknown orientation {ask.orientation!r}, known are: {', '.join(ORIENTATIONS)}"
    return ""


def _compact(ask: TopologyAsk, _spec: DeviceTopologySpec) -> str:
    return "maxDistance must not be negative" if (ask.max_distance or 0) < 0 else ""


def _subtree(ask: TopologyAsk, spec: DeviceTopologySpec) -> str:
    if spec.shape != "Tree":
        return f"there are subtrees in a Tree, not in a topology {spec.shape}"
    levels = spec.coordinates or ()
    if level_named(levels, ask.level) is None:
        return f"no one level {ask.level!r}, there are: {', '.join(levels) or 'none'}"
    return ""


def _any(_ask: TopologyAsk, _spec: DeviceTopologySpec) -> str:
    return ""


_MISFITS: dict[str, Callable[[TopologyAsk, DeviceTopologySpec], str]] = {
    "Segment": _segment,
    "Box": _box,
    "Connected": _any,
    "Compact": _compact,
    "Subtree": _subtree,
}

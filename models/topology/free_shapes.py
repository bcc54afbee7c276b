"""The largest free shape of a topology: how broken up what is free has become (TOPO-4, TOPO-6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Literal

from ..kubernetes.extensions import LATTICES, STRAIGHT, TopologyShape
from ..kubernetes.meta import DeviceId
from .places import Cell, Key, PlacedDevices, Places

FreeKind = Literal["Segment", "Box", "Component", "Subtree"]


@dataclass(frozen=True, slots=True)
class FreeShape:
    """A set of free devices: a segment or box with its first cell and its size, or a component or subtree."""

    kind: FreeKind
    devices: tuple[DeviceId, ...] = ()
    size: tuple[int, ...] = ()
    """Places along each axis, for a segment or a box."""
    first: Cell = ()
    """The cell from which a segment or box goes up each axis, wrapping where the axis does."""
    level: str = ""
    """The level of a subtree's tree node."""


def largest_free_shape(places: PlacedDevices, free: Collection[DeviceId]) -> FreeShape:
    """Find the largest shape made of these devices only; of several as large always the same one.

    On a Ring or Line the longest segment, on a Grid or Torus the box of most cells, parallel to the axes and wrapping
    where they do; in a Tree the most devices under one lowest tree node, with Links the largest connected component.
    """
    return _LARGEST[places.shape](places, frozenset(free))


def largest_free_size(places: Places[Key], free: Collection[Key]) -> int:
    """Count the cells of the largest box of a lattice, of a Ring or Line the longest segment, made of these devices."""
    cells = [places.cells[device] for device in free]
    return prod(_Boxes(places.sizes, places.periodic, cells).largest()[1]) if cells else 0


def largest_free_by_level(places: PlacedDevices, free: Collection[DeviceId]) -> tuple[FreeShape, ...]:
    """The most of these devices under one tree node, for each level of a Tree from the root."""
    there = frozenset(free)
    return tuple(_largest_subtree(places, there, level) for level in range(len(places.levels)))


def _largest_subtree(places: PlacedDevices, free: frozenset[DeviceId], level: int) -> FreeShape:
    groups = (tuple(one for one in members if one in free) for members in places.groups(level).values())
    return FreeShape("Subtree", max(groups, key=len, default=()), level=places.levels[level])


def _largest_component(places: PlacedDevices, free: frozenset[DeviceId]) -> FreeShape:
    import networkx  # not needed for a plain allocate, and slow to load

    graph = places.graph()
    graph.remove_nodes_from([device for device in places.devices if device not in free])
    largest = max(networkx.connected_components(graph), key=len, default=set())
    return FreeShape("Component", tuple(device for device in places.devices if device in largest))


def _largest_box(places: PlacedDevices, free: frozenset[DeviceId]) -> FreeShape:
    kind: FreeKind = "Segment" if places.shape in STRAIGHT else "Box"
    cells = [cell for device, cell in places.cells.items() if device in free]
    if not cells:
        return FreeShape(kind)
    first, size = _Boxes(places.sizes, places.periodic, cells).largest()
    inside = product(*(range(start, start + length) for start, length in zip(first, size, strict=True)))
    found = (places.wrapped(cell) for cell in inside)
    return FreeShape(kind, tuple(places.at[cell] for cell in found if cell is not None), size, first)


class _Boxes:
    """Search for the largest box of marked cells: ranges of all axes but the longest, and runs of bits along that one.

    Of a range of an axis the rows of all its places are joined by AND, so that what is left is marked all through.
    With n places on each of d axes there are n^2 ranges on each of d - 1 axes, most of them cut off by the best so far.
    """

    def __init__(self, sizes: Sequence[int], periodic: Sequence[bool], cells: Collection[Cell]) -> None:
        # The longest axis last.
        self._order = sorted(range(len(sizes)), key=lambda axis: sizes[axis])
        self._sizes = [sizes[axis] for axis in self._order]
        self._periodic = [periodic[axis] for axis in self._order]
        *self._outer, self._length = self._sizes
        self._rows = [0] * prod(self._outer)
        for cell in cells:
            *outer, place = (cell[axis] for axis in self._order)
            self._rows[self._row(outer)] |= 1 << place
        self._volume = 0
        self._found: list[tuple[int, int]] = []

    def _row(self, outer: Sequence[int]) -> int:
        number = 0
        for place, size in zip(outer, self._outer, strict=True):
            number = number * size + place
        return number

    def largest(self) -> tuple[Cell, tuple[int, ...]]:
        """The first cell and the size of the largest box, axes in their own order."""
        self._narrow(0, self._rows, [], 1)
        spans = dict(zip(self._order, self._found, strict=True))
        return tuple(spans[axis][0] for axis in sorted(spans)), tuple(spans[axis][1] for axis in sorted(spans))

    def _narrow(self, axis: int, rows: Sequence[int], chosen: list[tuple[int, int]], volume: int) -> None:
        """Try all ranges of an axis; ``rows`` are those of what is left of the axes from here on."""
        if axis == len(self._outer):
            self._runs(rows[0], chosen, volume)
            return
        size, most = self._sizes[axis], prod(self._sizes[axis + 1 :])
        width = len(rows) // size
        for start in range(size):
            joined = list(rows[start * width : (start + 1) * width])
            for length in range(1, self._longest(axis, start) + 1):
                if length > 1:
                    place = (start + length - 1) % size
                    others = rows[place * width : (place + 1) * width]
                    joined = [one & other for one, other in zip(joined, others, strict=True)]
                if not any(joined):
                    break
                # No box that begins here and is wider than this can hold more than so.
                if volume * self._longest(axis, start) * most > self._volume:
                    self._narrow(axis + 1, joined, [*chosen, (start, length)], volume * length)

    def _longest(self, axis: int, start: int) -> int:
        """The longest range that begins here; all around an axis only from its first place."""
        size = self._sizes[axis]
        if not self._periodic[axis]:
            return size - start
        return size if start == 0 else size - 1

    def _runs(self, bits: int, chosen: list[tuple[int, int]], volume: int) -> None:
        """See whether the longest run along the last axis makes a larger box than the best so far."""
        size, wraps = self._length, self._periodic[-1]
        around = wraps and bits != (1 << size) - 1
        doubled = bits | bits << size if around else bits
        needed = self._volume // volume + 1
        starts = _run_starts(doubled, needed)
        while starts and needed <= size:
            start = (starts & -starts).bit_length() - 1
            self._volume, self._found = volume * needed, [*chosen, (start % size, needed)]
            starts &= doubled >> needed
            needed += 1


def _run_starts(bits: int, length: int) -> int:
    """The places at which runs of so many set bits begin; the number of steps grows with the log of that."""
    done = 1
    while done < length and bits:
        step = min(done, length - done)
        bits &= bits >> step
        done += step
    return bits


_LARGEST: dict[TopologyShape, Callable[[PlacedDevices, frozenset[DeviceId]], FreeShape]] = {
    **dict.fromkeys(LATTICES, _largest_box),
    "Tree": lambda places, free: _largest_subtree(places, free, len(places.levels) - 1),
    "Links": _largest_component,
}

"""Where a segment or a box can be: all sets of devices that make it (TOPO-2, TOPO-4).

What is not among the devices given is a hole: no placement goes over it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import permutations, product
from math import prod

from ...models.entries import TopologyAsk
from ...models.placed_devices import Axis, Places
from ...models.topology_asks import FIXED

Placement = tuple[int, ...]
"""Devices that make a shape, each once."""


def segments(places: Places[int], devices: Collection[int], lengths: Iterable[int]) -> Iterator[Placement]:
    """Yield the segments of these lengths on a Ring or Line."""
    for length in lengths:
        yield from _boxes(places, devices, (length,))


def boxes(
    places: Places[int], devices: Collection[int], ask: TopologyAsk, sizes: Collection[int]
) -> Iterator[Placement]:
    """Yield the boxes that are asked for in each orientation, if they have a number of devices that is possible."""
    size = tuple(ask.size or ())
    if prod(size) in sizes:
        turned = [size] if ask.orientation == FIXED else sorted(set(permutations(size)))
        for edges in turned:
            yield from _boxes(places, devices, edges)


def _boxes(places: Places[int], devices: Collection[int], edges: Sequence[int]) -> Iterator[Placement]:
    """Yield the boxes of these edges from every cell, those all around an axis from its first cell only."""
    strides = _strides(places.sizes)
    grid: list[int | None] = [None] * prod(places.sizes)
    for device in devices:
        grid[_index(places.cells[device], strides)] = device
    ranges = [list(_ranges(axis, edge, stride)) for axis, edge, stride in zip(places.axes, edges, strides, strict=True)]
    for chosen in product(*ranges):
        found: list[int] = []
        for offsets in product(*chosen):
            there = grid[sum(offsets)]
            if there is None:
                break
            found.append(there)
        else:
            yield tuple(found)


def _ranges(axis: Axis, edge: int, stride: int) -> Iterator[list[int]]:
    """Yield the places of each range of an axis, as offsets in the grid."""
    last = 1 if edge == axis.size else axis.size if axis.periodic else axis.size - edge + 1
    for start in range(last if 0 < edge <= axis.size else 0):
        yield [place % axis.size * stride for place in range(start, start + edge)]


def _strides(sizes: Sequence[int]) -> list[int]:
    return [prod(sizes[number + 1 :]) for number in range(len(sizes))]


def _index(cell: Sequence[int], strides: Sequence[int]) -> int:
    return sum(place * stride for place, stride in zip(cell, strides, strict=True))

"""What an allocation takes from the largest free segment or box of each topology that entries name (TOPO-6).

The value of an instance is the number of cells of its largest free box before, less that of the largest one after: on a
Ring or Line of the longest segment. Free is what is there, reached, held by nobody, and not taken. In a Tree or with
Links the largest free component is no box; they have no value here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TYPE_CHECKING

from ...models.free_shapes import largest_size
from ...models.placed_devices import Cell, Places
from ...problem.topology import TopologyCondition
from ..collapsed import Lot
from ..topology.free_box import post_free_box
from .holding import held, post_implied

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term

MOST_CELLS = 20_000
"""Larger instances are not looked at."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """An instance of which something can be taken: its free devices, and by device the lots that can be taken."""

    places: Places[int]
    free: tuple[int, ...]
    lots: dict[int, Lot]

    @property
    def too_large(self) -> bool:
        """Whether it is not looked at."""
        return prod(self.places.sizes) > MOST_CELLS


def lattices(model: AllocationModel) -> Iterator[Lattice]:
    """Yield the instances of Rings, Lines, Grids and Tori that entries name, each once, if something can be taken."""
    in_use = model.merged.in_use
    # The encoder of shapes tells all devices with a place in a lattice apart.
    lots = {lot.first: lot for lot in model.collapsed.lots if held(model, lot)}
    for places in _instances(model):
        free = tuple(one for one in places.devices if one not in in_use.dedicated and not in_use.shares.get(one))
        taken = {device: lots[device] for device in free if device in lots}
        if taken:
            yield Lattice(places, free, taken)


def _instances(model: AllocationModel) -> Iterator[Places[int]]:
    conditions = (relation.record.condition for relation in model.merged.relations)
    named = chain.from_iterable(one.places for one in conditions if isinstance(one, TopologyCondition))
    found = {(places.topology, places.devices): places for places in named if places.axes}
    yield from found.values()


def losses(model: AllocationModel) -> list[Term]:
    """Terms for the cells that the largest free box of each instance loses, once they are as few as they can be."""
    return [term for lattice in lattices(model) if not lattice.too_large for term in _loss(model, lattice)]


def unknown_losses(model: AllocationModel) -> int:
    """Cells that the largest free boxes of instances that are too large may lose: all that is free, at most."""
    return sum(len(lattice.free) for lattice in lattices(model) if lattice.too_large)


def _loss(model: AllocationModel, lattice: Lattice) -> Iterator[Term]:
    before = largest_size(lattice.places, lattice.free)
    takers: dict[Cell, list[int]] = {
        lattice.places.cells[device]: _takers(model, lattice.lots.get(device)) for device in lattice.free
    }
    for literal, size in post_free_box(model.rows, lattice.places, takers, before):
        yield literal, before - size


def _takers(model: AllocationModel, lot: Lot | None) -> list[int]:
    """Literals of which one is true if a device is taken: with one share of it too."""
    terms = [] if lot is None else held(model, lot)
    if all(model.rows.range_of(variable) == (0, 1) for variable, _ in terms):
        return [variable for variable, _ in terms]
    literal = model.rows.boolean()
    post_implied(model, terms, literal)
    return [literal]

"""``compact``: chosen devices close together.

The value counts the places that the unit's devices are spread over: its pools, and for each attribute that says what
lies close together the distinct values, where lacking the attribute is a value of its own. Such attributes are
``resource.kubernetes.io/pcieRoot`` and those that the claims' constraints compare. For entries that ask for ``Compact``
in a topology without a greatest distance, the distances of all pairs of their devices are added (TOPO-2).

Among choices that are equally close together, the one is best that takes the least from the largest free segments and
boxes of the topologies that entries name (TOPO-6). The value of an instance is the number of cells of its largest free
box before, less that of the largest one after: on a Ring or Line of the longest segment. A cell is free if its device
is there, reached, held by nobody, and not taken. In a Tree or with Links the largest free component is no box; they
have no value here.

The box is chosen by what lies inside it along each axis, so that there is a literal for each place of an axis and for
each size, and a clause for each cell: a lattice of n cells has as many boxes as n squared, and none is written down.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING

from ...models.topology.free_shapes import largest_free_size
from ...models.topology.places import Axis, Cell, Places
from ...problem.problem import BoundedValue
from ...problem.topology import TopologyCondition
from ..constraints.topology import distance_terms
from ..rows import CpSatRows, Term
from ..symmetry import MergedProblem, Signature, SymmetryClass
from .stage import AllocationStage, held_terms

if TYPE_CHECKING:
    from ..model import AllocationModel


def _sign_compact(merged: MergedProblem) -> Signature:
    return lambda device: tuple(_locality_keys(merged, device))


def _locality_keys(merged: MergedProblem, device: int) -> Iterator[Hashable]:
    node_context = merged.problem.node_context
    yield "pool", node_context.pools[device]
    for number, grouping in enumerate(node_context.groupings):
        yield number, grouping[device]


def _compact_parts(model: AllocationModel) -> list[list[Term]]:
    literals: dict[Hashable, int] = {}
    for class_ in model.reduced.classes:
        for place in _locality_keys(model.merged, class_.representative):
            if place not in literals:
                literals[place] = model.rows.boolean()
            model.post_implied(
                [(model.takes[alternative, class_.index], 1) for alternative in class_.alternatives], literals[place]
            )
    spread = [*((literal, 1) for literal in literals.values()), *distance_terms(model)]
    return [spread, list(largest_box_losses(model))]


def _with_unexamined_losses(model: AllocationModel, parts: Sequence[BoundedValue]) -> Sequence[BoundedValue]:
    """Count what was not looked at as lost, and as not proven."""
    places, lost = parts
    # The largest free boxes of instances that are too large may lose all that is free.
    unexamined = sum(len(lattice.free) for lattice in lattices(model) if lattice.too_large)
    return [places, BoundedValue(lost.value + unexamined, lost.bound)]


MOST_CELLS = 20_000
"""Larger instances are not looked at."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """An instance with devices to take: those that are free, and by device the symmetry class that can be taken."""

    places: Places[int]
    free: tuple[int, ...]
    classes: dict[int, SymmetryClass]

    @property
    def too_large(self) -> bool:
        """Whether it is not looked at."""
        return prod(self.places.sizes) > MOST_CELLS


def lattices(model: AllocationModel) -> Iterator[Lattice]:
    """Yield the instances of Rings, Lines, Grids and Tori that entries name, each once, if something can be taken."""
    in_use = model.merged.in_use
    # The encoder of shapes tells all devices with a place in a lattice apart.
    classes = {class_.representative: class_ for class_ in model.reduced.classes if held_terms(model, class_)}
    conditions = (relation.record.condition for relation in model.merged.relations)
    named = chain.from_iterable(one.places for one in conditions if isinstance(one, TopologyCondition))
    instances = {(places.topology, places.devices): places for places in named if places.axes}
    for places in instances.values():
        free = tuple(one for one in places.devices if one not in in_use.dedicated and not in_use.shares.get(one))
        taken = {device: classes[device] for device in free if device in classes}
        if taken:
            yield Lattice(places, free, taken)


def largest_box_losses(model: AllocationModel) -> Iterator[Term]:
    """Terms for the cells that the largest free box of each instance loses, once they are as few as they can be."""
    for lattice in lattices(model):
        if not lattice.too_large:
            places, before = lattice.places, largest_free_size(lattice.places, lattice.free)
            takers = {places.cells[one]: _taken_literals(model, lattice.classes.get(one)) for one in lattice.free}
            for literal, size in post_free_box(model.rows, places, takers, before):
                yield literal, before - size


def _taken_literals(model: AllocationModel, class_: SymmetryClass | None) -> list[int]:
    """Literals of which one is true if a device is taken: with one share of it too."""
    terms = [] if class_ is None else held_terms(model, class_)
    if all(model.rows.range_of(variable) == (0, 1) for variable, _ in terms):
        return [variable for variable, _ in terms]
    literal = model.rows.boolean()
    model.post_implied(terms, literal)
    return [literal]


def post_free_box(
    rows: CpSatRows, places: Places[int], takers: Mapping[Cell, Sequence[int]], most: int
) -> Iterator[tuple[int, int]]:
    """Choose a free box of at most so many cells, or none; yield for each size a literal and the number of cells.

    Exactly one of the literals is true. ``takers`` are the literals under which a free cell is taken, one of them is
    enough; cells that are not there are holes. On a Ring or Line the box is a segment.
    """
    nothing = rows.boolean()
    sizes = {
        size: rows.boolean()
        for size in product(*(range(1, length + 1) for length in places.sizes))
        if prod(size) <= most
    }
    rows.one_of([nothing, *sizes.values()])
    inside = [_axis_range_literals(rows, axis) for axis in places.axes]
    for number, literals in enumerate(inside):
        lengths = [(literal, -size[number]) for size, literal in sizes.items()]
        rows.between([*((literal, 1) for literal in literals), *lengths], 0, None)
    for cell in product(*map(range, places.sizes)):
        outside = [~literals[place] for literals, place in zip(inside, cell, strict=True)]
        if cell not in takers:
            rows.clause(outside)
        for taker in takers.get(cell, ()):
            rows.clause([~taker, *outside])
    yield nothing, 0
    yield from ((literal, prod(size)) for size, literal in sizes.items())


def _axis_range_literals(rows: CpSatRows, axis: Axis) -> list[int]:
    """Literals for what is inside a range of an axis: at most one place inside is the first.

    All around an axis that wraps none need be.
    """
    inside: list[int] = [rows.boolean() for _ in range(axis.size)]
    firsts: list[Term] = [(rows.boolean(), 1) for _ in range(axis.size)]
    for place, (first, _) in enumerate(firsts):
        before = [inside[place - 1]] if place or axis.periodic else []
        rows.clause([~inside[place], first, *before])
    rows.at_most(firsts, 1)
    return inside


COMPACT = AllocationStage(
    "compact",
    "fewest pools, PCIe roots and values of compared attributes in all, and least distances in topologies, then least "
    "of the largest free segments and boxes",
    _compact_parts,
    _sign_compact,
    comparable=_with_unexamined_losses,
)

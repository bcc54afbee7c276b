"""A box of a lattice that stays free, as rows: ranges of places along each axis whose cells are all free.

The box is chosen by what lies inside it along each axis, so that there is a literal for each place of an axis and for
each size, and a clause for each cell: a lattice of n cells has as many boxes as n squared, and none is written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from ...models.placed_devices import Axis, Cell, Places
from ..rows import Rows, Term


def post_free_box(
    rows: Rows, places: Places[int], takers: Mapping[Cell, Sequence[int]], most: int
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
    inside = [_range(rows, axis) for axis in places.axes]
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


def _range(rows: Rows, axis: Axis) -> list[int]:
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

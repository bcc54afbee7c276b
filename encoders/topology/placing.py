"""One literal for each placement: exactly one is true, and what is taken is what lies in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from .covered import Covered
from .placements import Placement


def post_placements(covered: Covered, placements: Iterable[Placement]) -> None:
    """Take the devices of one placement and no others; of a placement with a hole there is none.

    Where the shape may be let go, or requests may (guards), what is taken lies in the placement; the number of devices
    then makes it all of them.
    """
    rows, guard = covered.model.rows, covered.guard
    covered.allow_only(covered.taken)
    over: dict[int, list[int]] = defaultdict(list)
    chosen: list[tuple[int, int]] = []
    for placement in placements:
        literal = rows.boolean()
        chosen.append((literal, len(placement)))
        for device in placement:
            over[device].append(literal)
    least = 0 if guard is not None or 0 in covered.sizes else 1
    rows.between([(literal, 1) for literal, _ in chosen], least, 1)
    for device, terms in covered.taken.items():
        inside = [(literal, -1) for literal in over[device]]
        rows.between([*terms, *inside], 0 if guard is None else None, 0, guard)
    if guard is not None and covered.certain is None:
        _fill(covered, chosen, guard)


def _fill(covered: Covered, chosen: list[tuple[int, int]], guard: int) -> None:
    """Take as many devices as the placement has."""
    taken = [term for terms in covered.taken.values() for term in terms]
    covered.model.rows.equal([*taken, *((literal, -size) for literal, size in chosen)], 0, guard)

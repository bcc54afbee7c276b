"""One literal for each placement: one is true for each claim, and what is taken is what lies in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ..model import Bundle
from ..rows import Term
from .covered import Covered
from .placements import Placement


def post_placements(covered: Covered, placements: Iterable[Placement]) -> None:
    """Take the devices of one placement for each claim, and no others; a placement with a hole is none.

    Where the shape may be let go, or requests may (guards), what is taken lies in the placement; the number of devices
    then makes it all of them.
    """
    rows, guard = covered.model.rows, covered.guard
    covered.allow_only(covered.taken)
    over: dict[int, list[int]] = defaultdict(list)
    chosen = [(rows.boolean(), placement) for placement in placements]
    for literal, placement in chosen:
        for device in placement:
            over[device].append(literal)
    copies = covered.relation.copies
    least = 0 if guard is not None or 0 in covered.sizes else copies
    rows.between([(literal, 1) for literal, _ in chosen], least, copies)
    for device, terms in covered.taken.items():
        _link(covered, terms, over[device])
    if guard is not None and covered.certain is None:
        _fill(covered, chosen, guard)
    if copies > 1:
        # All that is covered is one branch of equal claims, so that it does not matter which of them gets which.
        covered.model.bundles[covered.relation.branches[0]] = chosen


def _link(covered: Covered, terms: list[Term], over: list[int]) -> None:
    """Take a device if one of the placements over it is chosen, which are never two."""
    rows, guard = covered.model.rows, covered.guard
    if guard is not None:
        rows.at_most([*terms, *((literal, -1) for literal in over)], 0, guard)
    elif len(terms) == 1 and rows.range_of(terms[0][0]) == (0, 1):
        # Either it is not taken, or it is in one of them.
        rows.one_of([~terms[0][0], *over])
    else:
        rows.equal([*terms, *((literal, -1) for literal in over)], 0)


def _fill(covered: Covered, chosen: Iterable[Bundle], guard: int) -> None:
    """Take as many devices as the placement has."""
    taken = [term for terms in covered.taken.values() for term in terms]
    covered.model.rows.equal([*taken, *((literal, -len(placement)) for literal, placement in chosen)], 0, guard)

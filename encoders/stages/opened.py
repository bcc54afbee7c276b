"""``fewest-devices-opened``: as little as possible is taken into use that nobody used before.

The value counts what the answer opens: each dedicated device, each shareable device without shares, and in place of
devices that draw counters each counter set, that is each physical card, of which nothing was drawn yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...problem.order import draws_anew
from ...problem.records import Problem
from ..collapsed import Merged
from .holding import held, post_implied
from .stage import Stage

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term

Card = tuple[int, str]
"""A pool and one of its counter sets."""


def cards(problem: Problem, device: int) -> frozenset[Card]:
    """Find the cards that a device is a part of."""
    counters = problem.counters
    rows = (row for row, _ in counters.consumption.get(device, ()))
    return frozenset((counters.pool_of_row[row], counters.names[row][0]) for row in rows)


def _untouched(merged: Merged) -> Callable[[Card], bool]:
    """Tell cards apart of which nothing is drawn."""
    problem = merged.problem
    touched = {
        (pool, name)
        for pool, (name, _), total, left in zip(
            problem.counters.pool_of_row,
            problem.counters.names,
            problem.landscape.totals,
            merged.in_use.available,
            strict=True,
        )
        if total != left
    }
    return lambda card: card not in touched


def _parts(model: AllocationModel) -> list[list[Term]]:
    problem, in_use = model.merged.problem, model.merged.in_use
    is_untouched = _untouched(model.merged)
    terms: list[Term] = []
    opening: dict[Card, list[Term]] = defaultdict(list)
    for lot in model.collapsed.lots:
        parts = cards(problem, lot.first)
        if parts:
            for card in filter(is_untouched, parts if draws_anew(problem, in_use, lot.first) else ()):
                opening[card] += held(model, lot)
        elif lot.first not in problem.shared:
            terms += held(model, lot)
        elif not in_use.shares.get(lot.first):
            terms.append((_any_of(model, held(model, lot)), 1))
    return [[*terms, *((_any_of(model, opening[card]), 1) for card in sorted(opening))]]


def _any_of(model: AllocationModel, terms: list[Term]) -> int:
    literal = model.rows.boolean()
    post_implied(model, terms, literal)
    return literal


OPENED = Stage("fewest-devices-opened", "fewest devices and cards that nobody used before", _parts)

"""Pools where a device gives counters back: whether they suffice is asked device by device, in order (CTR-2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .collapsed import Lot
from .model import AllocationModel
from .rows import Term
from .wording import about_counter

Draw = tuple[int, int, int]
"""Branch, lot (of one device each), and the literal that says that this very pick draws the counters."""


def post_in_order(model: AllocationModel, lots: Iterable[Lot]) -> None:
    """Post for each device of these pools that, when it is taken, every counter of its pool is not overdrawn."""
    problem = model.merged.problem
    by_pool: dict[int, list[Lot]] = defaultdict(list)
    for lot in lots:
        by_pool[problem.counters.pool_of_row[problem.counters.consumption[lot.first][0][0]]].append(lot)
    for pool, members in by_pool.items():
        draws = sorted(draw for lot in members for draw in _draws(model, lot))
        for row, owner in enumerate(problem.counters.pool_of_row):
            if owner == pool:
                _post_row(model, row, draws)


def _draws(model: AllocationModel, lot: Lot) -> Iterator[Draw]:
    """Only the first share of a device draws (CTR-3)."""
    rows, shared = model.rows, lot.first in model.merged.problem.shared
    before: list[Term] = []
    for branch in lot.branches:
        taken = model.takes[branch, lot.index]
        drawing = taken
        if shared and before:
            drawing = rows.boolean()
            # Drawing if it is taken and nobody took it before.
            rows.at_most([(drawing, 1), (taken, -1)], 0)
            rows.at_most([(drawing, len(before)), *before], len(before))
            rows.at_most([(taken, 1), (drawing, -1), *((one, -1) for one, _ in before)], 0)
        before.append((taken, 1))
        yield branch, lot.index, drawing


def _post_row(model: AllocationModel, row: int, draws: Sequence[Draw]) -> None:
    problem, available = model.merged.problem, model.merged.in_use.available[row]
    guard = model.guard(about_counter(problem, row))
    terms: list[Term] = []
    for _, lot, literal in draws:
        device = model.collapsed.lots[lot].first
        amount = dict(problem.counters.consumption[device]).get(row, 0)
        most = sum(max(coefficient, 0) for _, coefficient in [*terms, (literal, amount)])
        slack = max(0, most - available)
        # With the literal the row holds, without it there is room for whatever comes before.
        model.rows.at_most([*terms, (literal, amount + slack)], available + slack, guard)
        terms.append((literal, amount))

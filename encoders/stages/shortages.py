"""Literals for counters that run short: what a free device would draw is no longer there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ...problem.order import draws_anew, giving_pools
from ...problem.records import Amounts
from .holding import held, post_implied

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


class Shortages:
    """Makes a literal a row and amount, and one for each set of them; all are true only if they must be."""

    def __init__(self, model: AllocationModel) -> None:
        self._model = model
        self._giving = giving_pools(model.merged.problem)
        self._drawn = _drawn(model)
        self._short: dict[tuple[int, int], int | None] = {}
        self._blocked: dict[Amounts, int | None] = {}

    def blocked(self, amounts: Amounts) -> int | None:
        """Return the literal that says that some of these amounts cannot be drawn; None if they always can."""
        if amounts not in self._blocked:
            short = [literal for row, amount in amounts if (literal := self._literal(row, amount)) is not None]
            self._blocked[amounts] = self._any_of(short)
        return self._blocked[amounts]

    def blocks_itself(self, amounts: Amounts) -> bool:
        """Tell whether these amounts cannot be drawn twice, however little else is drawn."""
        counters, available = self._model.merged.problem.counters, self._model.merged.in_use.available
        giving = any(counters.pool_of_row[row] in self._giving for row, _ in amounts)
        return not giving and any(2 * amount > available[row] for row, amount in amounts)

    def _any_of(self, literals: list[int]) -> int | None:
        if len(literals) <= 1:
            return literals[0] if literals else None
        literal = self._model.rows.boolean()
        post_implied(self._model, [(short, 1) for short in literals], literal)
        return literal

    def _literal(self, row: int, amount: int) -> int | None:
        key = row, amount
        if key not in self._short:
            self._short[key] = self._post(row, amount)
        return self._short[key]

    def _post(self, row: int, amount: int) -> int | None:
        rows, terms = self._model.rows, self._drawn.get(row, [])
        room = self._model.merged.in_use.available[row] - amount
        excess = sum(max(0, coefficient) * rows.range_of(variable)[1] for variable, coefficient in terms) - room
        if self._model.merged.problem.counters.pool_of_row[row] not in self._giving:
            # What is drawn is there, so that no more than the amount itself is missing.
            excess = min(excess, amount)
        if excess <= 0:
            return None
        literal = rows.boolean()
        rows.at_most([*terms, (literal, -excess)], room)
        return literal


def _drawn(model: AllocationModel) -> dict[int, list[Term]]:
    """List terms for what is drawn of each row and stays so: not by admin access (IN-3)."""
    problem, in_use = model.merged.problem, model.merged.in_use
    terms: dict[int, list[Term]] = defaultdict(list)
    for lot in model.collapsed.lots:
        if not draws_anew(problem, in_use, lot.first):
            continue
        amounts = problem.counters.consumption.get(lot.first, ())
        holders = held(model, lot)
        if amounts and lot.first in problem.shared:
            literal = model.rows.boolean()
            post_implied(model, holders, literal)
            holders = [(literal, 1)]
        for row, amount in amounts:
            terms[row] += [(variable, coefficient * amount) for variable, coefficient in holders]
    return terms

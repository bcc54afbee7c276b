"""Literals that say that a number of devices is at least so many, one for each bound (the order encoding)."""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import Rows, Term


class OrderLiterals:
    """Makes and keeps, for the count of each item, the literals ``count >= bound``; ``counts[item]`` are its terms."""

    def __init__(self, rows: Rows, counts: Sequence[Sequence[Term]]) -> None:
        self.rows = rows
        self.counts = counts
        self._variables: dict[tuple[Term, ...], int] = {}
        self._literals: dict[tuple[int, int], int] = {}

    def range_of(self, item: int) -> tuple[int, int]:
        """Return the least and the greatest count that the variables allow."""
        return self.rows.extent(self.counts[item])

    def at_least(self, item: int, bound: int) -> int:
        """Return the literal that is true exactly if the count is at least the bound."""
        literal = self._literals.get((item, bound))
        if literal is None:
            literal = self._literals[item, bound] = self._made(self.variable(self.counts[item]), bound)
        return literal

    def _made(self, variable: int, bound: int) -> int:
        least, most = self.rows.range_of(variable)
        if not least < bound <= most:
            return self.rows.integer(bound <= least, bound <= least)
        if (least, most) == (0, 1):
            return variable
        literal = self.rows.boolean()
        # On one variable the solver takes such rows as the meaning of the literal: they cost nothing.
        self.rows.between([(variable, 1)], bound, None, literal)
        self.rows.between([(variable, 1)], None, bound - 1, ~literal)
        return literal

    def variable(self, terms: Sequence[Term]) -> int:
        """Return a variable whose value is the sum of the terms, the same one each time."""
        if len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        key = tuple(terms)
        variable = self._variables.get(key)
        if variable is None:
            variable = self._variables[key] = self.rows.integer(*self.rows.extent(terms))
            self.rows.equal([*terms, (variable, -1)], 0)
        return variable

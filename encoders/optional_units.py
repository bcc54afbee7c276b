"""Units that may be left out: how many of several equal ones are served, the first ones of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .collapsed import UnitCopies
from .rows import Rows, Term


@dataclass(frozen=True, slots=True)
class Number:
    """A number that may depend on what is chosen: a constant and terms that add to it."""

    constant: int
    terms: tuple[Term, ...] = ()

    def times(self, factor: int) -> list[Term]:
        """Return the terms, multiplied."""
        return [(variable, coefficient * factor) for variable, coefficient in self.terms]

    def scaled(self, factor: int) -> Number:
        """Return so many times the number."""
        return self if factor == 1 else Number(self.constant * factor, tuple(self.times(factor)))


class OptionalUnits:
    """Variables for how many copies of each unit are served; ``placed`` has one for each unit.

    Equal claims that are merged only need the number. Where claims of a unit stay alone, a literal a copy says whether
    it is served; copies are equal, so that the first ones are.
    """

    def __init__(self, rows: Rows, units: Sequence[UnitCopies]) -> None:
        self.placed = [rows.integer(0, len(unit.claims)) for unit in units]
        self._rows = rows
        self._units = units
        self._copy_of = {
            claim: (number, copy)
            for number, unit in enumerate(units)
            for copy, claims in enumerate(unit.claims)
            for claim in claims
        }
        self._literals: dict[int, list[int]] = {}

    def __contains__(self, claim: int) -> bool:
        return claim in self._copy_of

    def together(self, one: int, other: int) -> bool:
        """Tell whether two claims are of one unit; those that must be served are."""
        return self._copy_of.get(one) == self._copy_of.get(other)

    def served(self, claims: Sequence[int]) -> Number:
        """Return how many of these claims are served."""
        if not self._units:
            return Number(len(claims))
        copies = Counter(self._copy_of[claim] for claim in claims if claim in self._copy_of)
        by_unit: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (unit, copy), times in copies.items():
            by_unit[unit].append((copy, times))
        terms = [term for unit, own in by_unit.items() for term in self._of_unit(unit, own)]
        return Number(len(claims) - copies.total(), tuple(terms))

    def _of_unit(self, unit: int, copies: Sequence[tuple[int, int]]) -> list[Term]:
        """Count by the number of copies if all have equally many of the claims, else copy by copy."""
        times = {number for _, number in copies}
        if len(copies) == len(self._units[unit].claims) and len(times) == 1:
            return [(self.placed[unit], times.pop())]
        literals = self._of_copies(unit)
        return [(literals[copy], number) for copy, number in copies]

    def _of_copies(self, unit: int) -> Sequence[int]:
        literals = self._literals.get(unit)
        if literals is None:
            literals = self._literals[unit] = [self._rows.boolean() for _ in self._units[unit].claims]
            self._rows.equal([*((literal, 1) for literal in literals), (self.placed[unit], -1)], 0)
            for before, after in pairwise(literals):
                self._rows.at_most([(after, 1), (before, -1)], 0)
        return literals

    def left_out(self, values: Sequence[int]) -> frozenset[int]:
        """List the claims that are not served."""
        return frozenset(
            claim
            for unit, placed in zip(self._units, self.placed, strict=True)
            for claim in _all(unit.claims[values[placed] :])
        )


def _all(copies: Iterable[Iterable[int]]) -> Iterable[int]:
    return (claim for claims in copies for claim in claims)

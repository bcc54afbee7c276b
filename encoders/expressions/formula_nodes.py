"""The nodes that formulas are made of: thresholds on sums, and conjunctions.

Equal nodes are kept once, so that equal handles are one formula (hash-consing, as in BDD packages). A sum is linear in
counts of devices, and each of its terms counts only while a formula, its *gate*, holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Handle: TypeAlias = int
"""A formula by number; ``~handle`` is its negation."""
RowTerm: TypeAlias = tuple[int, Handle, int]
"""Item (or ``ONE``), gate and coefficient of a sum of whole numbers."""
RowTerms: TypeAlias = tuple[RowTerm, ...]
TRUE: Handle = 0
FALSE: Handle = ~TRUE
ONE = -1
"""Stands for an item of which always one is there: a term of it is worth its coefficient while the gate holds."""
Amount: TypeAlias = int | Fraction
SumTerm: TypeAlias = tuple[int, Handle, Amount]
"""Item (or ``ONE``), gate and coefficient."""

CONJUNCTION = -1
"""In place of the number of a sum: the node is a conjunction (``TRUE`` is the empty one)."""


@dataclass(frozen=True, slots=True)
class GatedSum:
    """``constant`` and, for every term whose gate holds, the coefficient times the count of its item.

    Sums made by the functions here are normal: terms sorted, no two alike, no zeros, gates not negated, whole numbers
    as int. Adding many sums one by one is quadratic: ``Sum.total`` adds them at once.
    """

    constant: Amount = 0
    terms: tuple[SumTerm, ...] = ()

    @staticmethod
    def of_number(value: Amount) -> GatedSum:
        """Return the sum that always has this value."""
        return GatedSum(as_integer(value))

    @staticmethod
    def of_count(item: int, coefficient: Amount = 1) -> GatedSum:
        """Return how many devices of the item are chosen, times the coefficient."""
        return GatedSum.of_terms(0, [(item, TRUE, coefficient)])

    @staticmethod
    def of_terms(constant: Amount, terms: Iterable[SumTerm]) -> GatedSum:
        """Return the normal form of a sum: what a negated gate counts is all but what the gate counts."""
        merged: dict[tuple[int, Handle], Amount] = {}
        for item, gate, coefficient in terms:
            if gate < 0:
                merged[item, TRUE] = merged.get((item, TRUE), 0) + coefficient
                gate, coefficient = ~gate, -coefficient
            merged[item, gate] = merged.get((item, gate), 0) + coefficient
        constant += merged.pop((ONE, TRUE), 0)
        kept = sorted((*key, as_integer(coefficient)) for key, coefficient in merged.items() if coefficient)
        return GatedSum(as_integer(constant), tuple(kept))

    @staticmethod
    def total(sums: Iterable[GatedSum]) -> GatedSum:
        """Return the sum of many."""
        every = list(sums)
        return GatedSum.of_terms(sum(one.constant for one in every), (term for one in every for term in one.terms))

    def scaled(self, factor: Amount) -> GatedSum:
        """Return the sum times a number."""
        return GatedSum.of_terms(
            self.constant * factor, ((item, gate, coefficient * factor) for item, gate, coefficient in self.terms)
        )

    def __add__(self, other: GatedSum) -> GatedSum:
        return GatedSum.total((self, other))

    def __sub__(self, other: GatedSum) -> GatedSum:
        return GatedSum.total((self, -other))

    def __neg__(self) -> GatedSum:
        return self.scaled(-1)


def as_integer(value: Amount) -> Amount:
    """Return a whole number as int."""
    return value.numerator if value.denominator == 1 else value


class FormulaNodes:
    """Thresholds (a sum is at least a bound) and conjunctions. A node's parts always have lower numbers than it.

    ``sum_of[node]`` is the number of the threshold's sum or ``CONJUNCTION``, ``bound_of[node]`` its bound,
    ``children[node]`` the handles of a conjunction, ``terms[number]`` those of a sum, ``ranges[number]`` its range;
    ``counts_only[number]``: the sum is a number of devices, without gates and coefficients.
    """

    def __init__(self, most: Sequence[int], least_total: int, most_total: int) -> None:
        self.most = [max(0, min(one, most_total)) for one in most]
        self.all_most = sum(self.most)
        self.most_total = min(most_total, self.all_most)
        self.least_total = max(0, min(least_total, self.most_total))
        self.sum_of = [CONJUNCTION]
        self.bound_of = [0]
        self.children: list[tuple[Handle, ...]] = [()]
        self.terms: list[RowTerms] = []
        self.ranges: list[tuple[int, int]] = []
        self.counts_only: list[bool] = []
        self._sums: dict[RowTerms, int] = {}
        self._thresholds: dict[tuple[int, int], Handle] = {}
        self._conjunctions: dict[tuple[Handle, ...], Handle] = {(): TRUE}

    def sum(self, terms: RowTerms, counts_only: bool = False) -> int:
        """Return the number of a sum; ``counts_only`` if it is known to be a number of devices."""
        number = self._sums.get(terms)
        if number is None:
            number = self._sums[terms] = len(self.terms)
            self.terms.append(terms)
            counts_only = counts_only or all(gate == TRUE and factor == 1 for _, gate, factor in terms)
            self.counts_only.append(counts_only)
            self.ranges.append(self._extent_of_counts(terms) if counts_only else self.extent(terms))
        return number

    def threshold(self, number: int, bound: int) -> Handle:
        """Return the node of ``sum >= bound``."""
        node = self._thresholds.get((number, bound))
        if node is None:
            node = self._thresholds[number, bound] = self._add(number, bound, ())
        return node

    def conjunction(self, children: tuple[Handle, ...]) -> Handle:
        """Return the node of all of these."""
        node = self._conjunctions.get(children)
        if node is None:
            node = self._conjunctions[children] = self._add(CONJUNCTION, 0, children)
        return node

    def _add(self, number: int, bound: int, children: tuple[Handle, ...]) -> Handle:
        self.sum_of.append(number)
        self.bound_of.append(bound)
        self.children.append(children)
        return len(self.sum_of) - 1

    def parts(self, node: int) -> Iterable[int]:
        """Nodes that a node is made of directly: children, or the gates of its sum."""
        number = self.sum_of[node]
        if number == CONJUNCTION:
            return (child if child >= 0 else ~child for child in self.children[node])
        return (gate for _, gate, _ in self.terms[number] if gate != TRUE)

    def below(self, handle: Handle) -> list[int]:
        """All nodes that a formula is made of and its own, parts first."""
        found = {handle if handle >= 0 else ~handle}
        waiting = list(found)
        while waiting:
            for part in self.parts(waiting.pop()):
                if part not in found:
                    found.add(part)
                    waiting.append(part)
        return sorted(found)

    def _extent_of_counts(self, terms: RowTerms) -> tuple[int, int]:
        """Do quickly for sums without gates and coefficients what ``extent`` does for all."""
        most = self.most
        here = sum([most[item] for item, _, _ in terms])
        return max(0, self.least_total - (self.all_most - here)), min(here, self.most_total)

    def extent(self, terms: RowTerms) -> tuple[int, int]:
        """Least and greatest value of a sum, each gate taken as free: exact for sums without gates."""
        least: dict[int, int] = defaultdict(int)
        most: dict[int, int] = defaultdict(int)
        for item, gate, coefficient in terms:
            free = gate != TRUE
            least[item] += min(coefficient, 0) if free else coefficient
            most[item] += max(coefficient, 0) if free else coefficient
        low, high = least.pop(ONE, 0), most.pop(ONE, 0)
        negated = {item: -coefficient for item, coefficient in most.items()}
        return low + self._cheapest(least), high - self._cheapest(negated)

    def _cheapest(self, costs: dict[int, int]) -> int:
        """Least cost of choosing devices, those of other items for nothing: greedily, what is cheap first."""
        offers = [(cost, self.most[item]) for item, cost in costs.items()]
        offers.append((0, self.all_most - sum(size for _, size in offers)))
        offers.sort()
        value = taken = 0
        for cost, size in offers:
            number = min(size, (self.most_total if cost < 0 else self.least_total) - taken)
            if number > 0:
                value += cost * number
                taken += number
        return value

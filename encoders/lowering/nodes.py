"""Where formulas are kept, equal ones once, so that equal handles are one formula: hash-consing, as in BDD packages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .sums import ONE, TRUE, Handle

RowTerm: TypeAlias = tuple[int, Handle, int]
"""Item (or ``ONE``), gate and coefficient of a sum of whole numbers."""
RowTerms: TypeAlias = tuple[RowTerm, ...]

CONJUNCTION = -1
"""In place of the number of a sum: the node is a conjunction (``TRUE`` is the empty one)."""


class Nodes:
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

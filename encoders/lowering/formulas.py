"""Conditions on how many devices of each item are chosen, simplified as they are built.

An *item* is a set of devices that an expression cannot tell apart. Formulas are handles, as in a package for decision
diagrams: equal conditions mostly have equal handles, ``~handle`` is the negation. All is linear in what is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from operator import ne

from .conjunctions import conjunction
from .evaluation import Evaluator
from .nodes import Nodes, RowTerms
from .sums import FALSE, ONE, TRUE, Handle, Number, Sum, SumTerm, plain


class Formulas:
    """Makes formulas over items 0, 1, ... with at most ``most[item]`` chosen of each, and a total between bounds.

    What these bounds decide is ``TRUE`` or ``FALSE``. Formulas mean nothing outside them.
    """

    def __init__(self, most: Sequence[int], least_total: int, most_total: int) -> None:
        self.nodes = Nodes(most, least_total, most_total)

    def __len__(self) -> int:
        """Number of different formulas so far, a formula and its negation being one."""
        return len(self.nodes.sum_of)

    def present(self, item: int) -> Handle:
        """At least one device of the item is chosen."""
        return self._at_least(((item, TRUE, 1),), 1)

    def equal(self, sum_: Sum, value: Number) -> Handle:
        """Return the formula that the sum has this value."""
        return self.between(sum_, value, value)

    def between(self, sum_: Sum, least: Number | None, most: Number | None) -> Handle:
        """Return ``least <= sum <= most``, exactly; None: no bound."""
        sum_ = self._simplified(sum_)
        if not sum_.terms:
            above = least is None or sum_.constant >= least
            return TRUE if above and (most is None or sum_.constant <= most) else FALSE
        coefficients = [coefficient for _, _, coefficient in sum_.terms]
        scale = lcm(*(coefficient.denominator for coefficient in coefficients))
        whole = [int(coefficient * scale) for coefficient in coefficients]
        divisor = gcd(*whole)
        lower = None if least is None else -((sum_.constant - least) * scale // divisor)
        upper = None if most is None else (most - sum_.constant) * scale // divisor
        if whole[0] < 0:
            divisor = -divisor
            lower, upper = None if upper is None else -upper, None if lower is None else -lower
        terms = tuple((item, gate, one // divisor) for (item, gate, _), one in zip(sum_.terms, whole, strict=True))
        bounds = [] if lower is None else [self._at_least(terms, lower)]
        if upper is not None:
            bounds.append(~self._at_least(terms, upper + 1))
        return bounds[0] if len(bounds) == 1 else self.conj(bounds)

    def conj(self, handles: Iterable[Handle]) -> Handle:
        """Return the formula that all hold."""
        return conjunction(self.nodes, handles)

    def disj(self, handles: Iterable[Handle]) -> Handle:
        """Return the formula that any holds."""
        return ~self.conj([~handle for handle in handles])

    def implies(self, condition: Handle, consequence: Handle) -> Handle:
        """Return the formula that the second holds if the first does."""
        return ~self.conj((condition, ~consequence))

    def choose(self, condition: Handle, then: Handle, otherwise: Handle) -> Handle:
        """Return the second formula where the first holds, and the third elsewhere."""
        if then == otherwise:
            return then
        return self.conj((self.implies(condition, then), self.implies(~condition, otherwise)))

    def gated(self, sum_: Sum, gate: Handle) -> Sum:
        """Return the sum while the gate holds, else 0."""
        terms = [(item, self.conj((one, gate)), coefficient) for item, one, coefficient in sum_.terms]
        return Sum.of_terms(0, [*terms, (ONE, gate, sum_.constant)])

    def range_of(self, sum_: Sum) -> tuple[Number, Number]:
        """Return a least and a greatest value; exact for sums without gates, else perhaps out of reach."""
        sum_ = self._simplified(sum_)
        scale = lcm(*(coefficient.denominator for _, _, coefficient in sum_.terms))
        least, most = self.nodes.extent(tuple((item, gate, int(one * scale)) for item, gate, one in sum_.terms))
        return plain(sum_.constant + Fraction(least, scale)), plain(sum_.constant + Fraction(most, scale))

    def holds(self, handle: Handle, counts: Sequence[int]) -> bool:
        """Tell whether a formula holds when ``counts[item]`` devices are chosen; an ``Evaluator`` is for many."""
        return Evaluator(self.nodes, handle).holds(counts)

    def _at_least(self, terms: RowTerms, bound: int) -> Handle:
        """Return ``sum of the terms >= bound``; coefficients have no common divisor, the first is positive."""
        least, most = self.nodes.ranges[self.nodes.sum(terms)]
        if bound <= least:
            return TRUE
        if bound > most:
            return FALSE
        smallest = min(coefficient for _, _, coefficient in terms)
        if 0 < bound <= smallest:
            return self._any(terms)
        if 0 < smallest > most - bound and all(item == ONE for item, _, _ in terms):
            return self.conj(gate for _, gate, _ in terms)
        return self.nodes.threshold(self.nodes.sum(terms), bound)

    def _any(self, terms: RowTerms) -> Handle:
        """Return the formula that any term is more than zero; no coefficient is less."""
        plain = tuple((item, TRUE, 1) for item, gate, _ in terms if gate == TRUE)
        gated = [(item, gate) for item, gate, _ in terms if gate != TRUE]
        if not gated:
            return self.nodes.threshold(self.nodes.sum(plain), 1)
        chosen = [self._at_least(plain, 1)] if plain else []
        return self.disj(
            [*chosen, *(gate if item == ONE else self.conj((self.present(item), gate)) for item, gate in gated)]
        )

    def _simplified(self, sum_: Sum) -> Sum:
        """Leave out gates that only say that the item is there."""
        terms = [self._ungated(term) for term in sum_.terms]
        return Sum.of_terms(sum_.constant, terms) if any(map(ne, terms, sum_.terms)) else sum_

    def _ungated(self, term: SumTerm) -> SumTerm:
        item, gate, coefficient = term
        if gate == TRUE or self.nodes.bound_of[gate] != 1:
            return term
        ((wanted, other, _), *more) = self.nodes.terms[self.nodes.sum_of[gate]]
        if more or other != TRUE:
            return term
        if item == wanted or (item == ONE and self.nodes.most[wanted] == 1):
            return wanted, TRUE, coefficient
        return term

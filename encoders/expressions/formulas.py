"""Conditions on how many devices of each item are chosen, simplified as they are built.

An *item* is a set of devices that an expression cannot tell apart. Formulas are handles, as in a package for decision
diagrams: equal conditions mostly have equal handles, ``~handle`` is the negation. All is linear in what is passed in.

Conjunctions as simple as comparing their parts makes them.

What a formula says of given counts.

Where formulas are kept, equal ones once, so that equal handles are one formula: hash-consing, as in BDD packages.

Linear sums over counts of devices, each term counted only while a formula, its *gate*, holds.

Formulas as sentences, for explanations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import gcd, lcm
from operator import ne
from typing import TypeAlias


class Formulas:
    """Makes formulas over items 0, 1, ... with at most ``most[item]`` chosen of each, and a total between bounds.

    What these bounds decide is ``TRUE`` or ``FALSE``. Formulas mean nothing outside them.
    """

    def __init__(self, most: Sequence[int], least_total: int, most_total: int) -> None:
        self.nodes = FormulaNodes(most, least_total, most_total)

    def __len__(self) -> int:
        """Number of different formulas so far, a formula and its negation being one."""
        return len(self.nodes.sum_of)

    def present(self, item: int) -> Handle:
        """At least one device of the item is chosen."""
        return self._at_least(((item, TRUE, 1),), 1)

    def equal(self, sum_: GatedSum, value: Amount) -> Handle:
        """Return the formula that the sum has this value."""
        return self.between(sum_, value, value)

    def between(self, sum_: GatedSum, least: Amount | None, most: Amount | None) -> Handle:
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

    def gated(self, sum_: GatedSum, gate: Handle) -> GatedSum:
        """Return the sum while the gate holds, else 0."""
        terms = [(item, self.conj((one, gate)), coefficient) for item, one, coefficient in sum_.terms]
        return GatedSum.of_terms(0, [*terms, (ONE, gate, sum_.constant)])

    def range_of(self, sum_: GatedSum) -> tuple[Amount, Amount]:
        """Return a least and a greatest value; exact for sums without gates, else perhaps out of reach."""
        sum_ = self._simplified(sum_)
        scale = lcm(*(coefficient.denominator for _, _, coefficient in sum_.terms))
        least, most = self.nodes.extent(tuple((item, gate, int(one * scale)) for item, gate, one in sum_.terms))
        return as_integer(sum_.constant + Fraction(least, scale)), as_integer(sum_.constant + Fraction(most, scale))

    def holds(self, handle: Handle, counts: Sequence[int]) -> bool:
        """Tell whether a formula holds when ``counts[item]`` devices are chosen; see also ``FormulaEvaluator``."""
        return FormulaEvaluator(self.nodes, handle).holds(counts)

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

    def _simplified(self, sum_: GatedSum) -> GatedSum:
        """Leave out gates that only say that the item is there."""
        terms = [self._ungated(term) for term in sum_.terms]
        return GatedSum.of_terms(sum_.constant, terms) if any(map(ne, terms, sum_.terms)) else sum_

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


# Conjunctions of up to so many parts dissolve in one that contains them; beyond, chains would cost their square.
_SMALL = 16


def conjunction(nodes: FormulaNodes, handles: Iterable[Handle]) -> Handle:
    """Return the formula that all hold: flat, without repetitions, ``FALSE`` if two parts contradict each other.

    Of thresholds on one sum the sharpest are kept. "None of these" and "none of those" become one sum that is zero.
    """
    parts = _ConjunctionParts(nodes)
    if not all(map(parts.add, handles)) or not parts.join_absent():
        return FALSE
    children = parts.handles()
    if len(children) < 2:
        return children[0] if children else TRUE
    return nodes.conjunction(tuple(sorted(children)))


class _ConjunctionParts:
    """Parts of one conjunction: the sharpest threshold below and above of each sum, and other formulas."""

    def __init__(self, nodes: FormulaNodes) -> None:
        self._nodes = nodes
        self._at_least: dict[int, Handle] = {}
        self._below: dict[int, Handle] = {}
        self._others: set[Handle] = set()
        self._dissolved: set[Handle] = set()

    def add(self, handle: Handle) -> bool:
        """Take a part in; False if the whole is thereby false."""
        if handle >= 0 and self._nodes.sum_of[handle] == CONJUNCTION and len(self._nodes.children[handle]) <= _SMALL:
            # Parts of a conjunction are never small conjunctions themselves.
            self._dissolved.add(handle)
            return ~handle not in self._others and all(map(self._take, self._nodes.children[handle]))
        return self._take(handle)

    def _take(self, handle: Handle) -> bool:
        node = handle if handle >= 0 else ~handle
        number = self._nodes.sum_of[node]
        if number != CONJUNCTION:
            return self._bound(handle, node, number)
        self._others.add(handle)
        return handle != FALSE and ~handle not in self._others and ~handle not in self._dissolved

    def _bound(self, handle: Handle, node: int, number: int) -> bool:
        bounds = self._nodes.bound_of
        if handle >= 0:
            least = self._at_least.get(number)
            if least is None or bounds[node] > bounds[least]:
                self._at_least[number] = handle
        else:
            below = self._below.get(number)
            if below is None or bounds[node] < bounds[~below]:
                self._below[number] = handle
        least, below = self._at_least.get(number), self._below.get(number)
        return least is None or below is None or bounds[least] < bounds[~below]

    def join_absent(self) -> bool:
        """Make "none chosen" of several sets of items that of one set; False if the whole is thereby false."""
        if len(self._below) < 2:
            return True
        nodes = self._nodes
        bounds, counts_only = nodes.bound_of, nodes.counts_only
        absent = [number for number, below in self._below.items() if bounds[~below] == 1 and counts_only[number]]
        if len(absent) < 2:
            return True
        # Terms of a sum are sorted, so that sorting those of several merges them.
        terms = dict.fromkeys(sorted(chain.from_iterable(map(nodes.terms.__getitem__, absent))))
        for number in absent:
            del self._below[number]
        joined = nodes.sum(tuple(terms), counts_only=True)
        least, most = nodes.ranges[joined]
        if most >= 1:
            self._below[joined] = ~nodes.threshold(joined, 1)
        wanted = (number for number in self._at_least if counts_only[number])
        return least < 1 and not any(terms.keys() >= set(nodes.terms[number]) for number in wanted)

    def handles(self) -> list[Handle]:
        """Return the parts that are left."""
        return [*self._at_least.values(), *self._below.values(), *self._others]


class FormulaEvaluator:
    """Evaluates one formula for many vectors of counts."""

    def __init__(self, nodes: FormulaNodes, handle: Handle) -> None:
        self._nodes = nodes
        self._handle = handle
        self._order = [node for node in nodes.below(handle) if node != TRUE]

    def holds(self, counts: Sequence[int]) -> bool:
        """Tell whether the formula holds when ``counts[item]`` devices are chosen of each item."""
        nodes = self._nodes
        truth = {TRUE: True, FALSE: False}
        for node in self._order:
            number = nodes.sum_of[node]
            if number == CONJUNCTION:
                value = all(map(truth.__getitem__, nodes.children[node]))
            else:
                value = self._sum(number, counts, truth) >= nodes.bound_of[node]
            truth[node], truth[~node] = value, not value
        return truth[self._handle]

    def _sum(self, number: int, counts: Sequence[int], truth: dict[Handle, bool]) -> int:
        return sum(
            coefficient if item == ONE else coefficient * counts[item]
            for item, gate, coefficient in self._nodes.terms[number]
            if truth[gate]
        )


CONJUNCTION = -1
"""In place of the number of a sum: the node is a conjunction (``TRUE`` is the empty one)."""


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
    def of_literal(handle: Handle, coefficient: Amount = 1) -> GatedSum:
        """Return the coefficient while the formula holds, else 0."""
        return GatedSum.of_terms(0, [(ONE, handle, coefficient)])

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


# What a sentence shows: characters in all, members of one list, and formulas inside one another.
_MOST_CHARACTERS = 2_000
_MOST_MEMBERS = 8
_MOST_NESTING = 12
_SHORTENED = " ... (shortened)"


def formula_text(formulas: Formulas, handle: Handle, name_of_item: Callable[[int], str]) -> str:
    """Return a sentence that says when a formula holds, of at most 2,000 characters; long lists are shortened."""
    sentence = _FormulaText(formulas, name_of_item).of(handle, _MOST_NESTING)
    return (
        sentence if len(sentence) <= _MOST_CHARACTERS else sentence[: _MOST_CHARACTERS - len(_SHORTENED)] + _SHORTENED
    )


class _FormulaText:
    """Says formulas until enough is said."""

    def __init__(self, formulas: Formulas, name_of_item: Callable[[int], str]) -> None:
        self._nodes = formulas.nodes
        self._name = name_of_item
        self._left = _MOST_CHARACTERS

    def of(self, handle: Handle, depth: int) -> str:
        """Say one formula; ``depth``: so many inside one another."""
        if depth == 0 or self._left < 0:
            return "..."
        if handle in (TRUE, FALSE):
            return "always" if handle == TRUE else "never"
        node = handle if handle >= 0 else ~handle
        if self._nodes.sum_of[node] != CONJUNCTION:
            sentence = self._bounds([handle], depth)
            self._left -= len(sentence)
            return sentence
        children = self._nodes.children[node]
        return self._all(children, depth) if handle >= 0 else self._any([~child for child in children], depth)

    def _all(self, handles: Iterable[Handle], depth: int) -> str:
        """Say a conjunction, both bounds of a sum together."""
        bounds: dict[tuple[int, Handle | None], list[Handle]] = {}
        for handle in handles:
            number = self._nodes.sum_of[handle if handle >= 0 else ~handle]
            bounds.setdefault((number, handle if number == CONJUNCTION else None), []).append(handle)
        parts = list(bounds.values())
        said = [
            self._bounds(one, depth) if len(one) > 1 else self._inner(one[0], depth) for one in parts[:_MOST_MEMBERS]
        ]
        return _join_texts(said, " and ", len(parts), "conditions")

    def _any(self, handles: Sequence[Handle], depth: int) -> str:
        """Say a disjunction; parts that limit something are said as the condition of the others."""
        limits = [handle for handle in handles if self._is_limit(handle)]
        others = [handle for handle in handles if not self._is_limit(handle)]
        if not others:
            limits, others = limits[:-1], limits[-1:]
        then = _join_texts(
            [self._inner(one, depth) for one in others[:_MOST_MEMBERS]], " or ", len(others), "conditions"
        )
        if not limits:
            return then
        conditions = [self._inner(~one, depth) for one in limits[:_MOST_MEMBERS]]
        return f"{then} if {_join_texts(conditions, ' and ', len(limits), 'conditions')}"

    def _is_limit(self, handle: Handle) -> bool:
        return handle < 0 and self._nodes.sum_of[~handle] != CONJUNCTION

    def _inner(self, handle: Handle, depth: int) -> str:
        said = self.of(handle, depth - 1)
        return f"({said})" if self._nodes.sum_of[handle if handle >= 0 else ~handle] == CONJUNCTION else said

    def _bounds(self, handles: Iterable[Handle], depth: int) -> str:
        """Say thresholds on one sum."""
        least = most = None
        for handle in handles:
            if handle >= 0:
                number, least = self._nodes.sum_of[handle], self._nodes.bound_of[handle]
            else:
                number, most = self._nodes.sum_of[~handle], self._nodes.bound_of[~handle] - 1
        if not self._nodes.counts_only[number]:
            return f"{self._sum(number, depth)} is {_range_text(least, most)}"
        names = [self._name(item) for item, _, _ in self._nodes.terms[number][:_MOST_MEMBERS]]
        several = len(self._nodes.terms[number])
        listed = _join_texts(names, ", ", several, "in all")
        if (least, most) == (1, None):
            return f"any of {listed} is chosen" if several > 1 else f"{listed} is chosen"
        if (least, most) == (None, 0):
            return f"none of {listed} is chosen" if several > 1 else f"{listed} is not chosen"
        return f"{_range_text(least, most)} of {listed}"

    def _sum(self, number: int, depth: int) -> str:
        terms = self._nodes.terms[number]
        said = [self._term(*term, depth) for term in terms[:_MOST_MEMBERS]]
        return _join_texts(said, " + ", len(terms), "terms")

    def _term(self, item: int, gate: Handle, coefficient: int, depth: int) -> str:
        counted = str(coefficient) if item == ONE else self._name(item)
        factor = f"{coefficient}*" if item != ONE and coefficient != 1 else ""
        return f"{factor}{counted}" if gate == TRUE else f"({factor}{counted} if {self.of(gate, depth - 1)})"


def _range_text(least: int | None, most: int | None) -> str:
    if least is None:
        return f"at most {most}"
    if most is None:
        return f"at least {least}"
    return f"exactly {least}" if least == most else f"{least} to {most}"


def _join_texts(said: Sequence[str], word: str, number: int, what: str) -> str:
    """Join what is said of so many, and tell how many there are if they are more."""
    return word.join(said) + (f" ... ({number} {what})" if number > len(said) else "")

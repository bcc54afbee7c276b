"""Conditions on how many devices of each item are chosen, simplified as they are built.

An *item* is a set of devices that an expression cannot tell apart. Formulas are handles, as in a package for decision
diagrams: equal conditions mostly have equal handles, ``~handle`` is the negation. All is linear in what is passed in.
Conjunctions are as simple as comparing their parts makes them. ``FormulaEvaluator`` tells what a formula says of given
counts; ``formula_text`` writes it as a sentence for explanations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import gcd, lcm
from operator import ne

from . import formula_nodes


class Formulas:
    """Makes formulas over items 0, 1, ... with at most ``most[item]`` chosen of each, and a total between bounds.

    What these bounds decide is ``TRUE`` or ``FALSE``. Formulas mean nothing outside them.
    """

    def __init__(self, most: Sequence[int], least_total: int, most_total: int) -> None:
        self.nodes = formula_nodes.FormulaNodes(most, least_total, most_total)

    def __len__(self) -> int:
        """Number of different formulas so far, a formula and its negation being one."""
        return len(self.nodes.sum_of)

    def present(self, item: int) -> formula_nodes.Handle:
        """At least one device of the item is chosen."""
        return self._at_least(((item, formula_nodes.TRUE, 1),), 1)

    def equal(self, sum_: formula_nodes.GatedSum, value: formula_nodes.Amount) -> formula_nodes.Handle:
        """Return the formula that the sum has this value."""
        return self.between(sum_, value, value)

    def between(
        self, sum_: formula_nodes.GatedSum, least: formula_nodes.Amount | None, most: formula_nodes.Amount | None
    ) -> formula_nodes.Handle:
        """Return ``least <= sum <= most``, exactly; None: no bound."""
        sum_ = self._simplified(sum_)
        if not sum_.terms:
            above = least is None or sum_.constant >= least
            return formula_nodes.TRUE if above and (most is None or sum_.constant <= most) else formula_nodes.FALSE
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

    def conj(self, handles: Iterable[formula_nodes.Handle]) -> formula_nodes.Handle:
        """Return the formula that all hold."""
        return conjunction(self.nodes, handles)

    def disj(self, handles: Iterable[formula_nodes.Handle]) -> formula_nodes.Handle:
        """Return the formula that any holds."""
        return ~self.conj([~handle for handle in handles])

    def implies(self, condition: formula_nodes.Handle, consequence: formula_nodes.Handle) -> formula_nodes.Handle:
        """Return the formula that the second holds if the first does."""
        return ~self.conj((condition, ~consequence))

    def choose(
        self, condition: formula_nodes.Handle, then: formula_nodes.Handle, otherwise: formula_nodes.Handle
    ) -> formula_nodes.Handle:
        """Return the second formula where the first holds, and the third elsewhere."""
        if then == otherwise:
            return then
        return self.conj((self.implies(condition, then), self.implies(~condition, otherwise)))

    def gated(self, sum_: formula_nodes.GatedSum, gate: formula_nodes.Handle) -> formula_nodes.GatedSum:
        """Return the sum while the gate holds, else 0."""
        terms = [(item, self.conj((one, gate)), coefficient) for item, one, coefficient in sum_.terms]
        return formula_nodes.GatedSum.of_terms(0, [*terms, (formula_nodes.ONE, gate, sum_.constant)])

    def range_of(self, sum_: formula_nodes.GatedSum) -> tuple[formula_nodes.Amount, formula_nodes.Amount]:
        """Return a least and a greatest value; exact for sums without gates, else perhaps out of reach."""
        sum_ = self._simplified(sum_)
        scale = lcm(*(coefficient.denominator for _, _, coefficient in sum_.terms))
        least, most = self.nodes.extent(tuple((item, gate, int(one * scale)) for item, gate, one in sum_.terms))
        return formula_nodes.as_integer(sum_.constant + Fraction(least, scale)), formula_nodes.as_integer(
            sum_.constant + Fraction(most, scale)
        )

    def holds(self, handle: formula_nodes.Handle, counts: Sequence[int]) -> bool:
        """Tell whether a formula holds when ``counts[item]`` devices are chosen; see also ``FormulaEvaluator``."""
        return FormulaEvaluator(self.nodes, handle).holds(counts)

    def _at_least(self, terms: formula_nodes.RowTerms, bound: int) -> formula_nodes.Handle:
        """Return ``sum of the terms >= bound``; coefficients have no common divisor, the first is positive."""
        least, most = self.nodes.ranges[self.nodes.sum(terms)]
        if bound <= least:
            return formula_nodes.TRUE
        if bound > most:
            return formula_nodes.FALSE
        smallest = min(coefficient for _, _, coefficient in terms)
        if 0 < bound <= smallest:
            return self._any(terms)
        if 0 < smallest > most - bound and all(item == formula_nodes.ONE for item, _, _ in terms):
            return self.conj(gate for _, gate, _ in terms)
        return self.nodes.threshold(self.nodes.sum(terms), bound)

    def _any(self, terms: formula_nodes.RowTerms) -> formula_nodes.Handle:
        """Return the formula that any term is more than zero; no coefficient is less."""
        plain = tuple((item, formula_nodes.TRUE, 1) for item, gate, _ in terms if gate == formula_nodes.TRUE)
        gated = [(item, gate) for item, gate, _ in terms if gate != formula_nodes.TRUE]
        if not gated:
            return self.nodes.threshold(self.nodes.sum(plain), 1)
        chosen = [self._at_least(plain, 1)] if plain else []
        return self.disj(
            [
                *chosen,
                *(gate if item == formula_nodes.ONE else self.conj((self.present(item), gate)) for item, gate in gated),
            ]
        )

    def _simplified(self, sum_: formula_nodes.GatedSum) -> formula_nodes.GatedSum:
        """Leave out gates that only say that the item is there."""
        terms = [self._ungated(term) for term in sum_.terms]
        return formula_nodes.GatedSum.of_terms(sum_.constant, terms) if any(map(ne, terms, sum_.terms)) else sum_

    def _ungated(self, term: formula_nodes.SumTerm) -> formula_nodes.SumTerm:
        item, gate, coefficient = term
        if gate == formula_nodes.TRUE or self.nodes.bound_of[gate] != 1:
            return term
        ((wanted, other, _), *more) = self.nodes.terms[self.nodes.sum_of[gate]]
        if more or other != formula_nodes.TRUE:
            return term
        if item == wanted or (item == formula_nodes.ONE and self.nodes.most[wanted] == 1):
            return wanted, formula_nodes.TRUE, coefficient
        return term


# Conjunctions of up to so many parts dissolve in one that contains them; beyond, chains would cost their square.
_SMALL = 16


def conjunction(nodes: formula_nodes.FormulaNodes, handles: Iterable[formula_nodes.Handle]) -> formula_nodes.Handle:
    """Return the formula that all hold: flat, without repetitions, ``FALSE`` if two parts contradict each other.

    Of thresholds on one sum the sharpest are kept. "None of these" and "none of those" become one sum that is zero.
    """
    parts = _ConjunctionParts(nodes)
    if not all(map(parts.add, handles)) or not parts.join_absent():
        return formula_nodes.FALSE
    children = parts.handles()
    if len(children) < 2:
        return children[0] if children else formula_nodes.TRUE
    return nodes.conjunction(tuple(sorted(children)))


class _ConjunctionParts:
    """Parts of one conjunction: the sharpest threshold below and above of each sum, and other formulas."""

    def __init__(self, nodes: formula_nodes.FormulaNodes) -> None:
        self._nodes = nodes
        self._at_least: dict[int, formula_nodes.Handle] = {}
        self._below: dict[int, formula_nodes.Handle] = {}
        self._others: set[formula_nodes.Handle] = set()
        self._dissolved: set[formula_nodes.Handle] = set()

    def add(self, handle: formula_nodes.Handle) -> bool:
        """Take a part in; False if the whole is thereby false."""
        if (
            handle >= 0
            and self._nodes.sum_of[handle] == formula_nodes.CONJUNCTION
            and len(self._nodes.children[handle]) <= _SMALL
        ):
            # Parts of a conjunction are never small conjunctions themselves.
            self._dissolved.add(handle)
            return ~handle not in self._others and all(map(self._take, self._nodes.children[handle]))
        return self._take(handle)

    def _take(self, handle: formula_nodes.Handle) -> bool:
        node = handle if handle >= 0 else ~handle
        number = self._nodes.sum_of[node]
        if number != formula_nodes.CONJUNCTION:
            return self._bound(handle, node, number)
        self._others.add(handle)
        return handle != formula_nodes.FALSE and ~handle not in self._others and ~handle not in self._dissolved

    def _bound(self, handle: formula_nodes.Handle, node: int, number: int) -> bool:
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

    def handles(self) -> list[formula_nodes.Handle]:
        """Return the parts that are left."""
        return [*self._at_least.values(), *self._below.values(), *self._others]


class FormulaEvaluator:
    """Evaluates one formula for many vectors of counts."""

    def __init__(self, nodes: formula_nodes.FormulaNodes, handle: formula_nodes.Handle) -> None:
        self._nodes = nodes
        self._handle = handle
        self._order = [node for node in nodes.below(handle) if node != formula_nodes.TRUE]

    def holds(self, counts: Sequence[int]) -> bool:
        """Tell whether the formula holds when ``counts[item]`` devices are chosen of each item."""
        nodes = self._nodes
        truth = {formula_nodes.TRUE: True, formula_nodes.FALSE: False}
        for node in self._order:
            number = nodes.sum_of[node]
            if number == formula_nodes.CONJUNCTION:
                value = all(map(truth.__getitem__, nodes.children[node]))
            else:
                value = self._sum(number, counts, truth) >= nodes.bound_of[node]
            truth[node], truth[~node] = value, not value
        return truth[self._handle]

    def _sum(self, number: int, counts: Sequence[int], truth: dict[formula_nodes.Handle, bool]) -> int:
        return sum(
            coefficient if item == formula_nodes.ONE else coefficient * counts[item]
            for item, gate, coefficient in self._nodes.terms[number]
            if truth[gate]
        )


# What a sentence shows: characters in all, members of one list, and formulas inside one another.
_MOST_CHARACTERS = 2_000
_MOST_MEMBERS = 8
_MOST_NESTING = 12
_SHORTENED = " ... (shortened)"


def formula_text(formulas: Formulas, handle: formula_nodes.Handle, name_of_item: Callable[[int], str]) -> str:
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

    def of(self, handle: formula_nodes.Handle, depth: int) -> str:
        """Say one formula; ``depth``: so many inside one another."""
        if depth == 0 or self._left < 0:
            return "..."
        if handle in (formula_nodes.TRUE, formula_nodes.FALSE):
            return "always" if handle == formula_nodes.TRUE else "never"
        node = handle if handle >= 0 else ~handle
        if self._nodes.sum_of[node] != formula_nodes.CONJUNCTION:
            sentence = self._bounds([handle], depth)
            self._left -= len(sentence)
            return sentence
        children = self._nodes.children[node]
        return self._all(children, depth) if handle >= 0 else self._any([~child for child in children], depth)

    def _all(self, handles: Iterable[formula_nodes.Handle], depth: int) -> str:
        """Say a conjunction, both bounds of a sum together."""
        bounds: dict[tuple[int, formula_nodes.Handle | None], list[formula_nodes.Handle]] = {}
        for handle in handles:
            number = self._nodes.sum_of[handle if handle >= 0 else ~handle]
            bounds.setdefault((number, handle if number == formula_nodes.CONJUNCTION else None), []).append(handle)
        parts = list(bounds.values())
        said = [
            self._bounds(one, depth) if len(one) > 1 else self._inner(one[0], depth) for one in parts[:_MOST_MEMBERS]
        ]
        return _join_texts(said, " and ", len(parts), "conditions")

    def _any(self, handles: Sequence[formula_nodes.Handle], depth: int) -> str:
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

    def _is_limit(self, handle: formula_nodes.Handle) -> bool:
        return handle < 0 and self._nodes.sum_of[~handle] != formula_nodes.CONJUNCTION

    def _inner(self, handle: formula_nodes.Handle, depth: int) -> str:
        said = self.of(handle, depth - 1)
        return (
            f"({said})" if self._nodes.sum_of[handle if handle >= 0 else ~handle] == formula_nodes.CONJUNCTION else said
        )

    def _bounds(self, handles: Iterable[formula_nodes.Handle], depth: int) -> str:
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

    def _term(self, item: int, gate: formula_nodes.Handle, coefficient: int, depth: int) -> str:
        counted = str(coefficient) if item == formula_nodes.ONE else self._name(item)
        factor = f"{coefficient}*" if item != formula_nodes.ONE and coefficient != 1 else ""
        return (
            f"{factor}{counted}" if gate == formula_nodes.TRUE else f"({factor}{counted} if {self.of(gate, depth - 1)})"
        )


def _range_text(least: int | None, most: int | None) -> str:
    if least is None:
        return f"at most {most}"
    if most is None:
        return f"at least {least}"
    return f"exactly {least}" if least == most else f"{least} to {most}"


def _join_texts(said: Sequence[str], word: str, number: int, what: str) -> str:
    """Join what is said of so many, and tell how many there are if they are more."""
    return word.join(said) + (f" ... ({number} {what})" if number > len(said) else "")

"""Rows and clauses of formulas: conjunctions part by part, thresholds as rows, and literals where nothing less will do.

A literal is tied to its formula only in the direction in which it is used (Plaisted and Greenbaum, 1986), and what a
literal implies is posted under it: a threshold becomes one row that the literal enforces. Measured, this is as good as
order encodings of the sums. Only sets that contain one another, as a minimum or maximum makes them ("at least 3", "at
least 4" ... of an attribute), go by clauses, each set from a smaller one: the rows of 128 such sets took ten times as
long. Disjunctions of ranges of one sum, as ``devices.size() in [1, 2, 4]``, become one row with these ranges.

``OrderLiterals`` are literals that a count is at least so many, one for each bound (the order encoding). ``forbid`` is
a no-good over counts: a clause of order literals that excludes one vector of counts, or all from one on (CELC-10).
``post_table`` posts the vectors of counts that are allowed, which ``vectors`` makes one by one (the encoding
``table``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from ...problem.problem import members_of_mask
from ..rows import COEFFICIENT_LIMIT, CpSatRows, Term
from .formula_nodes import CONJUNCTION, ONE, TRUE, FormulaNodes, Handle
from .formulas import Formulas

# So many devices beyond an inner set are named one by one; a row is better for more.
_BEYOND = 16


class FormulaPosting:
    """Posts formulas into one model; ``counts[item]`` are terms whose sum is how many devices of it are chosen.

    Formulas posted by one object share literals. Both methods raise ``CoefficientError`` where a sum is too large.
    """

    def __init__(
        self, rows: CpSatRows, formulas: Formulas, counts: Sequence[Sequence[Term]], order: OrderLiterals | None = None
    ) -> None:
        self._rows = rows
        self._nodes = formulas.nodes
        self._counts = counts
        self._order = order or OrderLiterals(rows, counts)
        self._literals: dict[int, int] = {}
        self._tied: set[Handle] = set()
        self._products: dict[tuple[int, int], int] = {}
        self._bounded: set[tuple[int, int, bool]] = set()
        self._inner: dict[int, tuple[int, list[int]]] = {}
        self._waiting: list[tuple[Handle, int | None]] = []
        self._held: set[Handle] = set()

    def require(self, handle: Handle, guard: int | None = None) -> None:
        """Post that the formula holds; with a guard only if that literal is true."""
        self._find_inner_sets(handle)
        self._waiting.append((handle, guard))
        self._post_waiting()

    def literal(self, handle: Handle) -> int:
        """Return a literal that is true exactly if the formula holds."""
        self._find_inner_sets(handle)
        self._implying(~handle)
        literal = self._implying(handle)
        self._post_waiting()
        return literal

    def _find_inner_sets(self, handle: Handle) -> None:
        nodes = self._nodes
        numbers = (nodes.sum_of[node] for node in nodes.below(handle) if nodes.bound_of[node] == 1)
        sets = {number: [item for item, _, _ in nodes.terms[number]] for number in numbers if nodes.counts_only[number]}
        self._inner = {
            number: (inner, beyond)
            for number, (inner, beyond) in nested_sets(sets).items()
            if inner is not None and len(beyond) <= _BEYOND
        }

    def _post_waiting(self) -> None:
        while self._waiting:
            handle, guard = self._waiting.pop()
            if guard is None:
                if handle in self._held:
                    continue
                self._held.add(handle)
            node = _node_number(handle)
            if self._nodes.sum_of[node] != CONJUNCTION:
                self._all_of((handle,), guard)
            elif handle >= 0:
                self._all_of(self._nodes.children[node], guard)
            else:
                self._any_of([~child for child in self._nodes.children[node]], guard)

    def _all_of(self, handles: Sequence[Handle], guard: int | None) -> None:
        """Post each part; both bounds of a sum in one row."""
        nodes = self._nodes
        bounds: dict[int, tuple[int | None, int | None]] = {}
        for handle in handles:
            node = _node_number(handle)
            number, bound = nodes.sum_of[node], nodes.bound_of[node]
            if number == CONJUNCTION:
                # Post part of a conjunction; one that is a conjunction itself may have many parents, and is posted
                # once.
                if handle < 0 or guard is None:
                    self._waiting.append((handle, guard))
                else:
                    self._rows.clause([~guard, self._implying(handle)])
            else:
                least, most = bounds.get(number, (None, None))
                bounds[number] = (bound, most) if handle >= 0 else (least, bound - 1)
        for number, (least, most) in bounds.items():
            self._bounds(number, least, most, guard)

    def _any_of(self, handles: list[Handle], guard: int | None) -> None:
        """Post a clause; of two parts the second is posted under the first one's literal, and needs none itself."""
        ranges = ranges_of(self._nodes, handles)
        if ranges is not None and max(map(abs, self._nodes.ranges[ranges[0]])) < COEFFICIENT_LIMIT:
            number, allowed = ranges
            self._rows.within(self._order.variable(self._terms(number, True, True)), allowed, guard)
        elif guard is None and len(handles) == 2:
            handles.sort(
                key=lambda handle: (
                    _node_number(handle) in self._literals or self._is_count(self._nodes.sum_of[_node_number(handle)])
                )
            )
            self._waiting.append((handles[0], ~self._implying(handles[1])))
        else:
            literals = [self._implying(handle) for handle in handles]
            self._rows.clause(literals if guard is None else [*literals, ~guard])

    def _is_count(self, number: int) -> bool:
        """Tell whether a sum is one item's count."""
        return number != CONJUNCTION and len(self._nodes.terms[number]) == 1 and self._nodes.counts_only[number]

    def _bounds(self, number: int, least: int | None, most: int | None, guard: int | None) -> None:
        any_or_none = (least, most) in ((1, None), (None, 0))
        if guard is not None and any_or_none and number in self._inner:
            self._by_inner_set(number, least == 1, guard)
        else:
            terms = self._terms(number, least is not None, most is not None)
            self._rows.between(terms, least, most, guard)

    def _by_inner_set(self, number: int, holds: bool, guard: int) -> None:
        """Post that any of a set is chosen, or none, by the literal of the set inside it and those beyond it."""
        inner, beyond = self._inner[number]
        literals = [self._order.at_least(item, 1) for item in beyond]
        node = self._nodes.threshold(inner, 1)
        literals.append(self._implying(node) if holds else ~self._implying(~node))
        if holds:
            self._rows.clause([~guard, *literals])
        else:
            for literal in literals:
                self._rows.clause([~guard, ~literal])

    def _terms(self, number: int, enough: bool, limited: bool) -> list[Term]:
        """Return a sum's terms as good as equal to it for a bound below (``enough``), above (``limited``), or both.

        Where it must not be too small, a gate that counts upwards need only be implied by its literal.
        """
        terms: list[Term] = []
        for item, gate, coefficient in self._nodes.terms[number]:
            if gate == TRUE:
                terms.extend((variable, coefficient * factor) for variable, factor in self._counts[item])
            else:
                over, under = (limited, enough) if coefficient < 0 else (enough, limited)
                # The variable is not true without the gate (``over``), not false with it, or neither.
                if over:
                    self._implying(gate)
                if under:
                    self._implying(~gate)
                variable = self._of_node(gate)
                terms.append((variable if item == ONE else self._product(item, gate, over, under), coefficient))
        return terms

    def _product(self, item: int, gate: int, over: bool, under: bool) -> int:
        """Return a variable for the count while the gate holds, not over it, not under it, or neither."""
        most = self._rows.extent(self._counts[item])[1]
        literal = self._of_node(gate)
        product = self._products.get((item, gate))
        if product is None:
            product = self._products[item, gate] = self._rows.integer(0, most)
        less_count = [(variable, -factor) for variable, factor in self._counts[item]]
        wanted = {(item, gate, way) for way, needed in ((True, over), (False, under)) if needed} - self._bounded
        self._bounded |= wanted
        if (item, gate, True) in wanted:
            self._rows.at_most([(product, 1), (literal, -most)], 0)
            self._rows.at_most([(product, 1), *less_count], 0)
        if (item, gate, False) in wanted:
            self._rows.between([(product, 1), (literal, -most), *less_count], -most, None)
        return product

    def _implying(self, handle: Handle) -> int:
        """Return a literal that implies the formula: its node's, or that negated."""
        variable = self._of_node(_node_number(handle))
        literal = variable if handle >= 0 else ~variable
        if handle not in self._tied:
            self._tied.add(handle)
            self._waiting.append((handle, literal))
        return literal

    def _of_node(self, node: int) -> int:
        variable = self._literals.get(node)
        if variable is None:
            number = self._nodes.sum_of[node]
            if self._is_count(number):
                self._tied.update((node, ~node))
                variable = self._order.at_least(self._nodes.terms[number][0][0], self._nodes.bound_of[node])
            else:
                variable = self._rows.boolean()
            self._literals[node] = variable
        return variable


def _node_number(handle: Handle) -> int:
    return handle if handle >= 0 else ~handle


# How many of the next smaller sets are tried: chains find theirs at once, and others are not worth a long search.
_TRIES = 64


def nested_sets(sets: Mapping[int, Iterable[int]]) -> dict[int, tuple[int | None, list[int]]]:
    """Return for each set, by key, a large one that it contains (None: there is none), and what it has beyond it."""
    masks = {key: sum(1 << member for member in set(members)) for key, members in sets.items()}
    keys = sorted(masks, key=lambda key: (masks[key].bit_count(), key))
    return {key: _split_off_subset(key, masks, keys[max(0, place - _TRIES) : place]) for place, key in enumerate(keys)}


def _split_off_subset(key: int, masks: Mapping[int, int], smaller: list[int]) -> tuple[int | None, list[int]]:
    mask = masks[key]
    inner = next((other for other in reversed(smaller) if not masks[other] & ~mask), None)
    return inner, list(members_of_mask(mask if inner is None else mask & ~masks[inner]))


Range: TypeAlias = tuple[int, int]
"""Least and greatest value."""


def ranges_of(nodes: FormulaNodes, handles: Sequence[Handle]) -> tuple[int, list[Range]] | None:
    """Return the number of the one sum that all these formulas bound and where it may lie by any of them, else None."""
    number = _single_sum_of(nodes, handles[0]) if len(handles) > 1 else None
    if number is None or any(_single_sum_of(nodes, handle) != number for handle in handles):
        return None
    united: list[Range] = []
    for least, most in sorted(
        _range_of_thresholds(nodes, number, _formula_thresholds(nodes, handle)) for handle in handles
    ):
        if united and least <= united[-1][1] + 1:
            united[-1] = united[-1][0], max(most, united[-1][1])
        else:
            united.append((least, most))
    return number, united


def _formula_thresholds(nodes: FormulaNodes, handle: Handle) -> Sequence[Handle]:
    """Return the thresholds that a formula consists of; empty if there is more to it."""
    if nodes.sum_of[handle if handle >= 0 else ~handle] != CONJUNCTION:
        return (handle,)
    children = nodes.children[handle] if handle >= 0 else ()
    return children if len(children) == 2 else ()


def _single_sum_of(nodes: FormulaNodes, handle: Handle) -> int | None:
    """Return the number of the sum if the formula bounds that alone."""
    numbers = {nodes.sum_of[one if one >= 0 else ~one] for one in _formula_thresholds(nodes, handle)}
    return numbers.pop() if len(numbers) == 1 and CONJUNCTION not in numbers else None


def _range_of_thresholds(nodes: FormulaNodes, number: int, bounds: Iterable[Handle]) -> Range:
    least, most = nodes.ranges[number]
    for handle in bounds:
        if handle >= 0:
            least = max(least, nodes.bound_of[handle])
        else:
            most = min(most, nodes.bound_of[~handle] - 1)
    return least, most


class OrderLiterals:
    """Makes and keeps, for the count of each item, the literals ``count >= bound``; ``counts[item]`` are its terms."""

    def __init__(self, rows: CpSatRows, counts: Sequence[Sequence[Term]]) -> None:
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


def forbid(order: OrderLiterals, vector: Sequence[int], guard: int | None = None) -> None:
    """Exclude that all counts are those of the vector, and nothing else; with a guard while that literal is true."""
    _exclude_vectors(order, vector, guard, both_ways=True)


def forbid_at_least(order: OrderLiterals, vector: Sequence[int], guard: int | None = None) -> None:
    """Exclude every vector whose counts are all at least these: for conditions that more devices never make true."""
    _exclude_vectors(order, vector, guard, both_ways=False)


def _exclude_vectors(order: OrderLiterals, vector: Sequence[int], guard: int | None, *, both_ways: bool) -> None:
    ranges = list(map(order.range_of, range(len(vector))))
    if any(count > most or (both_ways and count < least) for count, (least, most) in zip(vector, ranges, strict=True)):
        return
    clause = [] if guard is None else [~guard]
    for item, (count, (least, most)) in enumerate(zip(vector, ranges, strict=True)):
        if count > least:
            clause.append(~order.at_least(item, count))
        if both_ways and count < most:
            clause.append(order.at_least(item, count + 1))
    order.rows.clause(clause)


# Measured with an objective: clauses of what is forbidden are solved faster than tables up to about this ratio, and
# a hundred times faster where little is forbidden.
_CLAUSES_PER_LINE = 4
Vector = Sequence[int]
"""How many devices of each item are chosen."""


def count_vectors(most: Sequence[int], least_total: int, most_total: int) -> int:
    """Return how many vectors there are up to ``most[item]``, with a total between the bounds, without making them."""
    ways = [1]
    for size in most:
        # ways[total] of one item more: the sum of those of the last ``size + 1`` totals.
        sums = list(accumulate([*ways, *([0] * size)]))[: most_total + 1]
        ways = [through - (sums[total - size - 1] if total > size else 0) for total, through in enumerate(sums)]
    return sum(ways[max(least_total, 0) : most_total + 1])


def vectors(most: Sequence[int], least_total: int, most_total: int) -> Iterator[tuple[int, ...]]:
    """Make these vectors in lexicographic order, each in time linear in its length."""
    rest = [*accumulate(reversed(most), initial=0)][::-1]

    def counts() -> Iterator[int]:
        place = len(vector)
        total = sum(vector)
        return iter(range(max(0, least_total - total - rest[place + 1]), min(most[place], most_total - total) + 1))

    vector: list[int] = []
    if not most:
        yield from [()] if least_total <= 0 <= most_total else []
        return
    choices = [counts()]
    while choices:
        count = next(choices[-1], None)
        if count is None:
            choices.pop()
            if vector:
                vector.pop()
            continue
        vector.append(count)
        if len(vector) < len(most):
            choices.append(counts())
        else:
            yield tuple(vector)
            vector.pop()


def post_table(
    rows: CpSatRows,
    counts: Sequence[Sequence[Term]],
    allowed: Sequence[Vector],
    guard: int | None = None,
    forbidden: Sequence[Vector] | None = None,
) -> None:
    """Post that the counts are one of the allowed vectors; with a guard while that literal is true.

    ``forbidden``: all other vectors that the rest of the model allows, so that to exclude them is enough; that is
    faster unless they are many.
    """
    order = OrderLiterals(rows, counts)
    if forbidden is not None and len(forbidden) <= _CLAUSES_PER_LINE * len(allowed):
        for vector in forbidden:
            forbid(order, vector, guard)
    elif allowed:
        rows.table([order.variable(terms) for terms in counts], allowed, guard)
    else:
        rows.clause([] if guard is None else [~guard])

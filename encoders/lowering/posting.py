"""Rows and clauses of formulas: conjunctions part by part, thresholds as rows, and literals where nothing less will do.

A literal is tied to its formula only in the direction in which it is used (Plaisted and Greenbaum, 1986), and what a
literal implies is posted under it: a threshold becomes one row that the literal enforces. Measured, this is as good as
order encodings of the sums. Only sets that contain one another, as a minimum or maximum makes them, go by clauses:
the rows of 128 such sets took ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import COEFFICIENT_LIMIT, Rows, Term
from .formulas import Formulas
from .nesting import nested
from .nodes import CONJUNCTION
from .order_literals import OrderLiterals
from .ranges import ranges_of
from .sums import ONE, TRUE, Handle

# So many devices beyond an inner set are named one by one; a row is better for more.
_BEYOND = 16


class Posting:
    """Posts formulas into one model; ``counts[item]`` are terms whose sum is how many devices of it are chosen.

    Formulas posted by one object share literals. Both methods raise ``CoefficientError`` where a sum is too large.
    """

    def __init__(
        self, rows: Rows, formulas: Formulas, counts: Sequence[Sequence[Term]], order: OrderLiterals | None = None
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
            for number, (inner, beyond) in nested(sets).items()
            if inner is not None and len(beyond) <= _BEYOND
        }

    def _post_waiting(self) -> None:
        while self._waiting:
            handle, guard = self._waiting.pop()
            if guard is None:
                if handle in self._held:
                    continue
                self._held.add(handle)
            node = _node(handle)
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
            node = _node(handle)
            number, bound = nodes.sum_of[node], nodes.bound_of[node]
            if number == CONJUNCTION:
                self._part(handle, guard)
            else:
                least, most = bounds.get(number, (None, None))
                bounds[number] = (bound, most) if handle >= 0 else (least, bound - 1)
        for number, (least, most) in bounds.items():
            self._bounds(number, least, most, guard)

    def _part(self, handle: Handle, guard: int | None) -> None:
        """Post part of a conjunction; one that is a conjunction itself may have many parents, and is posted once."""
        if handle < 0 or guard is None:
            self._waiting.append((handle, guard))
        else:
            self._rows.clause([~guard, self._implying(handle)])

    def _any_of(self, handles: list[Handle], guard: int | None) -> None:
        """Post a clause; of two parts the second is posted under the first one's literal, and needs none itself."""
        ranges = ranges_of(self._nodes, handles)
        if ranges is not None and max(map(abs, self._nodes.ranges[ranges[0]])) < COEFFICIENT_LIMIT:
            number, allowed = ranges
            self._rows.within(self._order.variable(self._terms(number, True, True)), allowed, guard)
        elif guard is None and len(handles) == 2:
            handles.sort(key=self._has_literal)
            self._waiting.append((handles[0], ~self._implying(handles[1])))
        else:
            literals = [self._implying(handle) for handle in handles]
            self._rows.clause(literals if guard is None else [*literals, ~guard])

    def _has_literal(self, handle: Handle) -> bool:
        return _node(handle) in self._literals or self._is_count(self._nodes.sum_of[_node(handle)])

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
                variable = self._gate(gate, over, under)
                terms.append((variable if item == ONE else self._product(item, gate, over, under), coefficient))
        return terms

    def _gate(self, gate: int, over: bool, under: bool) -> int:
        """Return the variable of a gate that is not true without it (``over``), not false with it, or neither."""
        if over:
            self._implying(gate)
        if under:
            self._implying(~gate)
        return self._of_node(gate)

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
        variable = self._of_node(_node(handle))
        literal = variable if handle >= 0 else ~variable
        if handle not in self._tied:
            self._tied.add(handle)
            self._waiting.append((handle, literal))
        return literal

    def _of_node(self, node: int) -> int:
        variable = self._literals.get(node)
        if variable is None:
            variable = self._literals[node] = self._new(node)
        return variable

    def _new(self, node: int) -> int:
        number = self._nodes.sum_of[node]
        if not self._is_count(number):
            return self._rows.boolean()
        self._tied.update((node, ~node))
        return self._order.at_least(self._nodes.terms[number][0][0], self._nodes.bound_of[node])


def _node(handle: Handle) -> int:
    return handle if handle >= 0 else ~handle

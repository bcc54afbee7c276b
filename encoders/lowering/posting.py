"""Rows and clauses of formulas: conjunctions part by part, thresholds as rows, and literals where nothing less will do.

A literal is tied to its formula only in the direction in which it is used (Plaisted and Greenbaum, 1986), and what a
literal implies is posted under it: a threshold becomes one row that the literal enforces.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from ..rows import Rows, Term
from .formulas import Formulas
from .nodes import CONJUNCTION
from .order_literals import OrderLiterals
from .sums import ONE, TRUE, Handle


class Posting:
    """Posts formulas into one model; ``counts[item]`` are terms whose sum is how many devices of it are chosen.

    What is posted has rows in common. ``CoefficientError`` comes out where a sum is too large for the solver.
    """

    def __init__(
        self, rows: Rows, formulas: Formulas, counts: Sequence[Sequence[Term]], order: OrderLiterals | None = None
    ) -> None:
        self._rows = rows
        self._nodes = formulas.nodes
        self._counts = counts
        self._order = order or OrderLiterals(rows, counts)
        self._literals: dict[int, int] = {}
        self._products: dict[tuple[int, int], int] = {}
        self._tied: set[Handle] = set()
        self._bounded: set[tuple[int, int, bool]] = set()
        self._chains: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._waiting: list[tuple[Handle, int | None]] = []

    def require(self, handle: Handle, guard: int | None = None) -> None:
        """Post that the formula holds; with a guard only if that literal is true."""
        self._waiting.append((handle, guard))
        self._post_waiting()

    def literal(self, handle: Handle) -> int:
        """Return a literal that is true exactly if the formula holds."""
        literal = self._either_way(handle)
        self._post_waiting()
        return literal

    def _post_waiting(self) -> None:
        while self._waiting:
            handle, guard = self._waiting.pop()
            node = handle if handle >= 0 else ~handle
            if self._nodes.sum_of[node] != CONJUNCTION:
                self._all_of((handle,), guard)
            elif handle >= 0:
                self._all_of(self._nodes.children[node], guard)
            else:
                self._any_of([~child for child in self._nodes.children[node]], guard)

    def _all_of(self, handles: Sequence[Handle], guard: int | None) -> None:
        """Post each part; both bounds of a sum in one row."""
        nodes = self._nodes
        bounds: dict[int, list[int | None]] = {}
        for handle in handles:
            node = handle if handle >= 0 else ~handle
            number = nodes.sum_of[node]
            if number == CONJUNCTION:
                self._waiting.append((handle, guard))
            elif handle >= 0:
                bounds.setdefault(number, [None, None])[0] = nodes.bound_of[node]
            else:
                bounds.setdefault(number, [None, None])[1] = nodes.bound_of[node] - 1
        for number, (least, most) in bounds.items():
            self._row(number, least, most, guard)

    def _any_of(self, handles: list[Handle], guard: int | None) -> None:
        """Post a clause; of two parts the second is posted under the first one's literal, and needs none itself."""
        if guard is None and len(handles) == 2:
            handles.sort(key=self._has_literal)
            self._waiting.append((handles[0], ~self._implying(handles[1])))
            return
        literals = [self._implying(handle) for handle in handles]
        self._rows.clause(literals if guard is None else [*literals, ~guard])

    def _has_literal(self, handle: Handle) -> bool:
        node = handle if handle >= 0 else ~handle
        return node in self._literals or self._count_of(node) is not None

    def _count_of(self, node: int) -> int | None:
        """Return the item if the node is a threshold on one count."""
        number = self._nodes.sum_of[node]
        if number == CONJUNCTION or len(self._nodes.terms[number]) > 1 or not self._nodes.counts_only[number]:
            return None
        return self._nodes.terms[number][0][0]

    def _row(self, number: int, least: int | None, most: int | None, guard: int | None) -> None:
        """Post bounds of a sum; where it must not be too small, a gate need only be implied, and vice versa."""
        terms: list[Term] = []
        constant = 0
        for item, gate, coefficient in self._nodes.terms[number]:
            if gate == TRUE:
                terms.extend((variable, coefficient * factor) for variable, factor in self._counts[item])
                continue
            over = (most if coefficient < 0 else least) is not None
            under = (least if coefficient < 0 else most) is not None
            tie = self._gate if item == ONE else self._product
            terms.append((tie(item, gate, over, under), coefficient))
        self._rows.between(terms, least, most, guard)

    def _gate(self, _item: int, gate: int, over: bool, under: bool) -> int:
        if over:
            self._implying(gate)
        if under:
            self._implying(~gate)
        return self._of_node(gate)

    def _product(self, item: int, gate: int, over: bool, under: bool) -> int:
        """Return a variable for the count while the gate holds, not over it, not under it, or neither."""
        literal = self._gate(item, gate, over, under)
        most = self._order.range_of(item)[1]
        product = self._products.get((item, gate))
        if product is None:
            product = self._products[item, gate] = self._rows.integer(0, most)
        less_count = [(variable, -factor) for variable, factor in self._counts[item]]
        if over and (item, gate, True) not in self._bounded:
            self._rows.at_most([(product, 1), (literal, -most)], 0)
            self._rows.at_most([(product, 1), *less_count], 0)
        if under and (item, gate, False) not in self._bounded:
            self._rows.between([(product, 1), (literal, -most), *less_count], -most, None)
        self._bounded.update((item, gate, way) for way, wanted in ((True, over), (False, under)) if wanted)
        return product

    def _either_way(self, handle: Handle) -> int:
        self._implying(~handle)
        return self._implying(handle)

    def _implying(self, handle: Handle) -> int:
        """Return a literal that implies the formula: its node's, or that negated."""
        node = handle if handle >= 0 else ~handle
        variable = self._of_node(node)
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
        item = self._count_of(node)
        if item is not None:
            self._tied.update((node, ~node))
            return self._order.at_least(item, self._nodes.bound_of[node])
        variable = self._rows.boolean()
        if self._nodes.sum_of[node] != CONJUNCTION:
            self._chain(self._nodes.sum_of[node], self._nodes.bound_of[node], variable)
        return variable

    def _chain(self, number: int, bound: int, variable: int) -> None:
        """What is at least five is at least four."""
        chain = self._chains[number]
        place = bisect_left(chain, (bound, variable))
        if place:
            self._rows.clause([~variable, chain[place - 1][1]])
        if place < len(chain):
            self._rows.clause([variable, ~chain[place][1]])
        chain.insert(place, (bound, variable))

"""The lowering of one expression: what it remembers, and the macros over lists whose length depends on the counts.

The body of a macro is evaluated once for each group of equal elements. As in cel-go, ``all`` and ``exists`` absorb
errors where another element decides; ``exists_one``, ``filter`` and ``map`` do not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...cel.program import Program
from ...cel.syntax import Macro, Node, Postfix, Step
from ...cel.values import NONE, CelMap, Optional, Value
from . import joins
from . import values as cel_values
from .formula_nodes import FALSE, TRUE, GatedSum, Handle, SumTerm
from .formulas import Formulas
from .functions import StrictFunctions
from .lists import as_bag, optional_of
from .scopes import DEVICES, Closures, Operation, Scopes, SymbolEnvironment

NodeRule: TypeAlias = "Callable[[ExpressionLowering, Any, SymbolEnvironment], cel_values.Symbol]"
StepRule: TypeAlias = "Callable[[ExpressionLowering, Any, cel_values.Symbol, SymbolEnvironment], cel_values.Symbol]"
# Levels of the tree; each takes about ten of Python's frames.
_MOST_DEPTH = 50


class ExpressionLowering:
    """The lowering of one expression by rules for nodes and for steps of chains, and what it remembers."""

    def __init__(
        self,
        program: Program,
        formulas: Formulas,
        budget: cel_values.StepBudget,
        node_rules: Mapping[type[Node], NodeRule],
        step_rules: Mapping[type[Step], StepRule],
    ) -> None:
        self._node_rules = node_rules
        self._step_rules = step_rules
        self.formulas = formulas
        self.budget = budget
        self.cases = cel_values.SymbolBuilder(formulas, budget)
        self.scopes = Scopes(program.checked.tree, frozenset({DEVICES}))
        self.closures = Closures(program, budget)
        self._functions = StrictFunctions(self.cases, self.closures)
        self._operations: dict[Hashable, Operation] = {}
        self._prefixes: dict[tuple[int, int], Postfix] = {}
        self._paths: dict[int, joins.Paths] = {}
        self._plans: dict[tuple[int, bool], joins.JoinPlan | None] = {}
        self._values: dict[Hashable, tuple[cel_values.Symbol, list[cel_values.Symbol]]] = {}
        self._depth = 0

    def value(self, node: Node, environment: SymbolEnvironment) -> cel_values.Symbol:
        """The symbol of a node."""
        names = self.scopes.ordered(node)
        values = self.known_values(names, environment)
        if values is not None:
            return self.closures.evaluator(node, names, values).symbol()
        key = (id(node), -1)
        return self._remembered(key, names, environment, lambda: self._node_rules[type(node)](self, node, environment))

    def _remembered(
        self,
        key: tuple[int, int],
        names: Iterable[str],
        environment: SymbolEnvironment,
        compute: Callable[[], cel_values.Symbol],
    ) -> cel_values.Symbol:
        """What was found for the same values of the variables, which are kept so that none takes the place of one."""
        read = [environment.symbol(name) for name in names]
        whole = (key, *map(id, read))
        found = self._values.get(whole)
        if found is None:
            self.budget.spend(1)
            if self._depth >= _MOST_DEPTH:
                raise cel_values.NotLoweredError("nested too deeply")
            self._depth += 1
            found = self._values[whole] = (compute(), read)
            self._depth -= 1
        return found[0]

    def known_values(self, names: Sequence[str], environment: SymbolEnvironment) -> list[Value] | None:
        """The values of variables, unless one of them depends on the counts or fails."""
        leaves = [environment.symbol(name).only for name in names]
        values = [leaf.value for leaf in leaves if type(leaf) is cel_values.KnownValue]
        return values if len(values) == len(leaves) else None

    def apply(
        self, key: Hashable, make: Callable[[], Operation], symbols: Sequence[cel_values.Symbol]
    ) -> cel_values.Symbol:
        """A strict function; ``make`` makes the operation of a place in the tree, once."""
        found = self._operations.get(key)
        if found is None:
            found = self._operations[key] = make()
        return self._functions.apply(found, symbols)

    # --- chains of steps

    def prefix(self, node: Postfix, length: int) -> Node:
        """The operand with the first steps."""
        if length == 0:
            return node.operand
        found = self._prefixes.get((id(node), length))
        if found is None:
            found = self._prefixes[id(node), length] = Postfix(node.operand, node.steps[:length], node.pos)
            self.scopes.add(found, self.scopes.prefixes(node)[length])
        return found

    def step(
        self, node: Postfix, place: int, receiver: cel_values.Symbol, environment: SymbolEnvironment
    ) -> cel_values.Symbol:
        """One step on what those before it gave."""
        step = node.steps[place]
        names = sorted(self.scopes.prefixes(node)[place + 1])
        compute = self._step_rules[type(step)]
        return self._remembered(
            (id(node), place), names, environment, lambda: compute(self, step, receiver, environment)
        )

    # --- macros

    def paths(self, step: Macro, nodes: Sequence[Node]) -> joins.Paths:
        """What a macro reads of its elements."""
        found = self._paths.get(id(step))
        if found is None:
            found = self._paths[id(step)] = joins.paths_read(nodes, step.variables[-1])
        return found

    def plan(self, step: Macro, condition: Node, skipped: bool) -> joins.JoinPlan | None:
        """The plan of a macro's condition."""
        key = (id(step), skipped)
        if key not in self._plans:
            self._plans[key] = joins.JoinPlanner(self.scopes, step.variables[-1]).plan(condition, skipped)
        return self._plans[key]


_MacroRule: TypeAlias = "Callable[[ExpressionLowering, Macro, MacroLoop], cel_values.Symbol]"
_NumberedCell: TypeAlias = tuple[int, cel_values.BagCell]


def _quantifier_rule(decisive: bool) -> _MacroRule:
    """``exists`` (true decides) and ``all`` (false decides)."""

    def fold(lowering: ExpressionLowering, _step: Macro, loop: MacroLoop) -> cel_values.Symbol:
        conj, disj = lowering.formulas.conj, lowering.formulas.disj
        deciding: list[Handle] = []
        failing: list[Handle] = []
        for group, symbol in loop.elements(skipped=not decisive):
            verdict = lowering.cases.verdict(symbol)
            decides = verdict.true if decisive else verdict.false
            if decides != FALSE:
                deciding.append(conj((group.present(lowering.cases), decides)))
            if verdict.error != FALSE:
                failing.append(conj((group.present(lowering.cases), verdict.error)))
        decided = disj(deciding)
        error = conj((disj(failing), ~decided))
        return lowering.cases.boolean(decided if decisive else conj((~decided, ~error)), error)

    return fold


class _CollectedElements:
    """Elements that a macro keeps, and when it fails."""

    def __init__(self, lowering: ExpressionLowering) -> None:
        self._lowering = lowering
        self._failing: list[Handle] = []
        self.placed: list[_NumberedCell] = []

    def fail(self, group: joins.ElementGroup, error: Handle) -> None:
        """An error, where any of the group is there."""
        if error != FALSE:
            present = group.present(self._lowering.cases)
            self._failing.append(self._lowering.formulas.conj((present, error)))

    def keep(self, group: joins.ElementGroup, value: cel_values.Symbol | None, condition: Handle) -> None:
        """Elements with this value, or their own, where the condition holds."""
        self._lowering.budget.spend(len(group.cells))
        for place, cell in zip(group.places, group.cells, strict=True):
            gate = cell.gate if condition == TRUE else self._lowering.formulas.conj((cell.gate, condition))
            self.placed.append((place, cel_values.BagCell(cell.value if value is None else value, cell.item, gate)))

    def symbol(self, make: Callable[[list[cel_values.BagCell]], cel_values.Symbol]) -> cel_values.Symbol:
        """What is made of the elements, in their order."""
        cells = [cell for _, cell in sorted(self.placed, key=lambda placed: placed[0])]
        return self._lowering.cases.failing(self._lowering.formulas.disj(self._failing), make(cells))


def _selected_elements(lowering: ExpressionLowering, loop: MacroLoop) -> _CollectedElements:
    """The elements for which the condition holds."""
    kept = _CollectedElements(lowering)
    for group, symbol in loop.elements(skipped=False):
        verdict = lowering.cases.verdict(symbol)
        kept.fail(group, verdict.error)
        if verdict.true != FALSE:
            kept.keep(group, None, verdict.true)
    return kept


def _lower_exists_one(lowering: ExpressionLowering, _step: Macro, loop: MacroLoop) -> cel_values.Symbol:
    def once(cells: Iterable[cel_values.BagCell]) -> cel_values.Symbol:
        terms: list[SumTerm] = [(cell.item, cell.gate, 1) for cell in cells]
        return lowering.cases.boolean(lowering.formulas.equal(GatedSum.of_terms(0, terms), 1))

    return _selected_elements(lowering, loop).symbol(once)


def _lower_map_macro(lowering: ExpressionLowering, step: Macro, loop: MacroLoop) -> cel_values.Symbol:
    assert step.body is not None
    kept = _CollectedElements(lowering)
    body = loop.body(step.body)
    found = loop.elements(skipped=False) if step.condition is not None else ((group, None) for group in loop.groups)
    for group, symbol in found:
        condition = TRUE
        if symbol is not None:
            verdict = lowering.cases.verdict(symbol)
            kept.fail(group, verdict.error)
            condition = verdict.true
        if condition != FALSE:
            value = body(group)
            kept.fail(group, lowering.formulas.conj((condition, value.error)))
            kept.keep(group, value if value.error == FALSE else cel_values.Symbol(value.cases), condition)
    return kept.symbol(lambda cells: cel_values.single_case(cel_values.Bag(cells)))


def lower_macro(
    lowering: ExpressionLowering, step: Macro, receiver: cel_values.Symbol, environment: SymbolEnvironment
) -> cel_values.Symbol:
    """A macro on its receiver; ``NotLoweredError`` for those that have no formula."""
    if step.name in _OPTIONAL_MACROS:
        return lowering.cases.combine(
            (receiver,), lambda leaves: _lower_optional_macro(lowering, step, leaves[0], environment)
        )
    fold = _MACRO_RULES.get(step.name)
    if fold is None:
        raise cel_values.NotLoweredError(f"{step.name} of what depends on the counts")

    def apply(leaves: tuple[cel_values.Leaf, ...]) -> cel_values.Symbol:
        source = _loop_source(leaves[0], len(step.variables))
        return (
            cel_values.FAILED_SYMBOL
            if source is None
            else _ordered_as(source.bag, fold(lowering, step, MacroLoop(lowering, step, source, environment)))
        )

    return lowering.cases.combine((receiver,), apply)


def _ordered_as(bag: cel_values.Bag, made: cel_values.Symbol) -> cel_values.Symbol:
    """Lists made of one without order have none."""
    if not bag.ordered:
        for _, leaf in made.cases:
            if type(leaf) is cel_values.Bag:
                leaf.ordered = False
    return made


def _loop_source(leaf: cel_values.Leaf, variables: int) -> LoopSource | None:
    """What a macro goes over; None where that is no list or map."""
    if type(leaf) is cel_values.KnownValue and type(leaf.value) is CelMap:
        keys = list(map(cel_values.known_symbol, leaf.value))
        values = [cel_values.known_symbol(value) for value in leaf.value.values()] if variables == 2 else keys
        return LoopSource(cel_values.Bag([cel_values.BagCell(value) for value in values]), keys)
    bag = as_bag(leaf)
    if bag is None:
        return None
    return LoopSource(bag, list(map(cel_values.known_symbol, range(len(bag.cells)))) if bag.is_literal else None)


_OPTIONAL_MACROS = frozenset({"optMap", "optFlatMap"})


def _lower_optional_macro(
    lowering: ExpressionLowering, step: Macro, leaf: cel_values.Leaf, environment: SymbolEnvironment
) -> cel_values.Symbol:
    if type(leaf) is not cel_values.KnownValue or type(leaf.value) is not Optional:
        return cel_values.FAILED_SYMBOL
    if not leaf.value.present:
        return cel_values.known_symbol(NONE)
    assert step.body is not None
    value = lowering.value(step.body, environment.with_({step.variables[0]: cel_values.known_symbol(leaf.value.value)}))
    return optional_of(lowering.cases, value) if step.name == "optMap" else value


_Body: TypeAlias = Callable[[joins.ElementGroup], cel_values.Symbol]


@dataclass(frozen=True, slots=True)
class LoopSource:
    """What a macro goes over: elements, and the keys or indexes beside them where they are known."""

    bag: cel_values.Bag
    keys: Sequence[cel_values.Symbol] | None = None


class MacroLoop:
    """One macro over one list: evaluates nodes for each group of elements."""

    def __init__(
        self, lowering: ExpressionLowering, step: Macro, source: LoopSource, environment: SymbolEnvironment
    ) -> None:
        self._lowering = lowering
        self._step = step
        self._environment = environment
        self._nodes = [node for node in (step.condition, step.body) if node is not None]
        self._variable = step.variables[-1]
        self._keys = self._keys_read(source)
        self._grouping = self._grouped(source.bag)

    def _keys_read(self, source: LoopSource) -> Sequence[cel_values.Symbol] | None:
        """The keys, where the body looks at them."""
        first = self._step.variables[0]
        if len(self._step.variables) == 1 or not any(first in self._lowering.scopes.free(node) for node in self._nodes):
            return None
        if source.keys is None:
            raise cel_values.NotLoweredError("the index of an element in a list whose length depends on the counts")
        return source.keys

    def _grouped(self, bag: cel_values.Bag) -> joins.ElementGrouping:
        if self._keys is None:
            read = self._lowering.paths(self._step, self._nodes)
            return joins.group_elements(self._lowering.cases, bag, read)
        # Each element by itself, as each has another key.
        return joins.ElementGrouping([_group_of_one(cell, place) for place, cell in enumerate(bag.cells)])

    def elements(self, skipped: bool) -> Iterator[tuple[joins.ElementGroup, cel_values.Symbol]]:
        """The condition for each group, but some for which it gives the ``skipped`` verdict."""
        assert self._step.condition is not None
        body = self.body(self._step.condition)
        for group in self._chosen(skipped):
            yield group, body(group)

    @property
    def groups(self) -> Sequence[joins.ElementGroup]:
        """All groups."""
        return self._grouping.groups

    def body(self, node: Node) -> _Body:
        """What evaluates a node for a group."""
        if self._keys is not None:
            return lambda group: self._lowering.value(node, self._bound(group))
        names = sorted(self._lowering.scopes.free(node) - {self._variable})
        outer = self._lowering.known_values(names, self._environment)
        if outer is None:
            return lambda group: self._lowering.value(node, self._bound(group))
        evaluator = self._lowering.closures.evaluator(node, (*names, self._variable), (*outer, None))

        def evaluate(group: joins.ElementGroup) -> cel_values.Symbol:
            leaf = group.symbol.only
            if type(leaf) is cel_values.KnownValue:
                return evaluator.of(leaf.value)
            return self._lowering.value(node, self._bound(group))

        return evaluate

    def _bound(self, group: joins.ElementGroup) -> SymbolEnvironment:
        bound: Mapping[str, cel_values.Symbol] = {self._variable: group.symbol}
        if self._keys is not None:
            bound = {self._step.variables[0]: self._keys[group.places[0]], **bound}
        return self._environment.with_(bound)

    # --- joins

    def _chosen(self, skipped: bool) -> Sequence[joins.ElementGroup]:
        plan = self._plan(skipped) if self._keys is None and len(self.groups) > 1 else None
        if plan is None:
            return self.groups
        join = joins.JoinExecution(plan, self._grouping)
        return [self.groups[place] for place in join.choose(self._outer, self._inner)]

    def _plan(self, skipped: bool) -> joins.JoinPlan | None:
        """The plan of the condition, if it looks anything up that changes from one outer element to the next."""
        assert self._step.condition is not None
        plan = self._lowering.plan(self._step, self._step.condition, skipped)
        return plan if plan is not None and self._is_join(plan) else None

    def _is_join(self, plan: joins.JoinPlan) -> bool:
        if type(plan) is joins.PlanCombination:
            return any(map(self._is_join, plan.plans))
        assert type(plan) is joins.JoinLookup
        return bool(self._lowering.scopes.free(plan.outer))

    def _outer(self, node: Node) -> cel_values.Symbol:
        names = sorted(self._lowering.scopes.free(node))
        values = self._lowering.known_values(names, self._environment)
        return (
            cel_values.FAILED_SYMBOL
            if values is None
            else self._lowering.closures.evaluator(node, names, values).symbol()
        )

    def _inner(self, node: Node) -> Sequence[cel_values.Symbol]:
        evaluator = self._lowering.closures.evaluator(node, (self._variable,), (None,))
        leaves = [group.symbol.only for group in self.groups]
        return [
            evaluator.of(leaf.value) if type(leaf) is cel_values.KnownValue else cel_values.FAILED_SYMBOL
            for leaf in leaves
        ]


_MACRO_RULES: dict[str, _MacroRule] = {
    "all": _quantifier_rule(False),
    "exists": _quantifier_rule(True),
    "exists_one": _lower_exists_one,
    "filter": lambda lowering, _step, loop: _selected_elements(lowering, loop).symbol(
        lambda cells: cel_values.single_case(cel_values.Bag(cells))
    ),
    "map": _lower_map_macro,
    "transformList": _lower_map_macro,
}


def _group_of_one(cell: cel_values.BagCell, place: int) -> joins.ElementGroup:
    group = joins.ElementGroup(cell.value)
    group.cells.append(cell)
    group.places.append(place)
    return group

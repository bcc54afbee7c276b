"""Expressions over ``devices`` as formulas over how many devices are chosen of each item (CELC-9).

A partial evaluator: goes over the syntax tree as an evaluation does, with symbols in place of values.

What does not depend on the counts is evaluated by the language's own closures.

What each kind of node, and each step of a chain, gives out of the symbols of its parts.

Macros over lists whose length depends on the counts.

As in cel-go, ``all`` and ``exists`` absorb errors where another element decides; ``exists_one``, ``filter`` and ``map``
do not.

The bodies of macros, evaluated for the elements of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...cel import syntax
from ...cel.program import Program
from ...cel.syntax import Macro, Method, Node, Postfix, Step
from ...cel.values import NONE, CelMap, Optional, Value
from .bounds import require_within_limit
from .formulas import FALSE, TRUE, Formulas, GatedSum, Handle, SumTerm
from .functions import StrictFunctions
from .joins import (
    ElementGroup,
    ElementGrouping,
    JoinExecution,
    JoinLookup,
    JoinPlan,
    JoinPlanner,
    Paths,
    PlanCombination,
    group_elements,
    paths_read,
)
from .lists import as_bag, optional_of
from .scopes import (
    DEVICES,
    Closures,
    DeferredSymbol,
    Operation,
    Scopes,
    SymbolEnvironment,
    binary_operation,
    limited_work,
    literal_operation,
    operation_of,
)
from .values import (
    FAILED_SYMBOL,
    FALSE_SYMBOL,
    TRUE_SYMBOL,
    Bag,
    BagCell,
    KnownValue,
    Leaf,
    NotLoweredError,
    StepBudget,
    Symbol,
    SymbolBuilder,
    known_symbol,
    single_case,
)

MOST_LOWERING_STEPS = 500_000
"""A budget that ends within seconds."""


@dataclass(frozen=True, slots=True)
class LoweredExpression:
    """When an expression is true, and when it is an error or of another type than bool.

    ``ordered``: that is so only if the devices stand in the order of the items (CELC-7).
    """

    true: Handle
    error: Handle
    ordered: bool


def lower_expression(
    expression: Program, items: Sequence[Value], formulas: Formulas, *, budget: int = MOST_LOWERING_STEPS
) -> LoweredExpression:
    """The formulas of an expression over the one variable ``devices``, a list of devices.

    For every vector of counts that ``formulas`` allows they say what evaluation gives for the list of ``counts[i]``
    copies of ``items[i]``, in the order of the items. Items that the expression compares with each other as a whole
    must be different values. Raises ``NotLoweredError``, also where more than ``budget`` steps would be needed, or
    where evaluating might exceed the limit of costs.
    """
    steps = StepBudget(budget)
    require_within_limit(expression, items, formulas)
    lowering = ExpressionLowering(expression, formulas, steps)
    devices = single_case(Bag([BagCell(known_symbol(value), item) for item, value in enumerate(items)]))
    with limited_work():
        try:
            symbol = lowering.value(expression.checked.tree, SymbolEnvironment({DEVICES: devices}))
        except RecursionError:
            raise NotLoweredError("nested too deeply") from None
    verdict = lowering.cases.verdict(symbol)
    return LoweredExpression(verdict.true, verdict.error, steps.ordered)


# Levels of the tree; each takes about ten of Python's frames.
_MOST_DEPTH = 50


class ExpressionLowering:
    """The evaluation of one expression, and what it remembers."""

    def __init__(self, program: Program, formulas: Formulas, budget: StepBudget) -> None:
        self.formulas = formulas
        self.budget = budget
        self.cases = SymbolBuilder(formulas, budget)
        self.scopes = Scopes(program.checked.tree, frozenset({DEVICES}))
        self.closures = Closures(program, budget)
        self._functions = StrictFunctions(self.cases, self.closures)
        self._operations: dict[Hashable, Operation] = {}
        self._prefixes: dict[tuple[int, int], Postfix] = {}
        self._paths: dict[int, Paths] = {}
        self._plans: dict[tuple[int, bool], JoinPlan | None] = {}
        self._values: dict[Hashable, tuple[Symbol, list[Symbol]]] = {}
        self._depth = 0

    def value(self, node: Node, environment: SymbolEnvironment) -> Symbol:
        """The symbol of a node."""
        names = self.scopes.ordered(node)
        values = self.known_values(names, environment)
        if values is not None:
            return self.closures.evaluator(node, names, values).symbol()
        key = (id(node), -1)
        return self._remembered(key, names, environment, lambda: NODE_RULES[type(node)](self, node, environment))

    def _remembered(
        self, key: tuple[int, int], names: Iterable[str], environment: SymbolEnvironment, compute: Callable[[], Symbol]
    ) -> Symbol:
        """What was found for the same values of the variables, which are kept so that none takes the place of one."""
        read = [environment.symbol(name) for name in names]
        whole = (key, *map(id, read))
        found = self._values.get(whole)
        if found is None:
            self.budget.spend(1)
            if self._depth >= _MOST_DEPTH:
                raise NotLoweredError("nested too deeply")
            self._depth += 1
            found = self._values[whole] = (compute(), read)
            self._depth -= 1
        return found[0]

    def known_values(self, names: Sequence[str], environment: SymbolEnvironment) -> list[Value] | None:
        """The values of variables, unless one of them depends on the counts or fails."""
        leaves = [environment.symbol(name).only for name in names]
        values = [leaf.value for leaf in leaves if type(leaf) is KnownValue]
        return values if len(values) == len(leaves) else None

    def apply(self, key: Hashable, make: Callable[[], Operation], symbols: Sequence[Symbol]) -> Symbol:
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

    def step(self, node: Postfix, place: int, receiver: Symbol, environment: SymbolEnvironment) -> Symbol:
        """One step on what those before it gave."""
        step = node.steps[place]
        names = sorted(self.scopes.prefixes(node)[place + 1])
        compute = STEP_RULES[type(step)]
        return self._remembered(
            (id(node), place), names, environment, lambda: compute(self, step, receiver, environment)
        )

    # --- macros

    def paths(self, step: Macro, nodes: Sequence[Node]) -> Paths:
        """What a macro reads of its elements."""
        found = self._paths.get(id(step))
        if found is None:
            found = self._paths[id(step)] = paths_read(nodes, step.variables[-1])
        return found

    def plan(self, step: Macro, condition: Node, skipped: bool) -> JoinPlan | None:
        """The plan of a macro's condition."""
        key = (id(step), skipped)
        if key not in self._plans:
            self._plans[key] = JoinPlanner(self.scopes, step.variables[-1]).plan(condition, skipped)
        return self._plans[key]


_Rebuild: TypeAlias = Callable[[tuple[Node, ...]], Node]


def _lower_ident(_lowering: ExpressionLowering, node: syntax.Ident, environment: SymbolEnvironment) -> Symbol:
    return environment.symbol(node.name)


def _lower_bind(lowering: ExpressionLowering, node: syntax.Bind, environment: SymbolEnvironment) -> Symbol:
    """``cel.bind``: what its variable stands for is looked at only where it is read."""
    pending = DeferredSymbol(lambda: lowering.value(node.init, environment))
    return lowering.value(node.body, environment.with_({node.variable: pending}))


# --- literals


def _lower_list_literal(
    lowering: ExpressionLowering, node: syntax.ListLiteral, environment: SymbolEnvironment
) -> Symbol:
    """A list written out, of as many elements unless some are optional."""
    symbols = [lowering.value(element, environment) for element in node.elements]
    if node.optional:
        return _lower_literal(
            lowering, node, node.elements, symbols, lambda parts: syntax.ListLiteral(parts, node.optional, node.pos)
        )
    bag = Bag([BagCell(Symbol(symbol.cases) if symbol.error != FALSE else symbol) for symbol in symbols])
    return lowering.cases.failing(lowering.formulas.disj([symbol.error for symbol in symbols]), single_case(bag))


def _lower_map_literal(lowering: ExpressionLowering, node: syntax.MapLiteral, environment: SymbolEnvironment) -> Symbol:
    parts = [part for entry in node.entries for part in entry]
    symbols = [lowering.value(part, environment) for part in parts]

    def rebuild(names: tuple[Node, ...]) -> Node:
        return syntax.MapLiteral(tuple(zip(names[::2], names[1::2], strict=True)), node.optional, node.pos)

    return _lower_literal(lowering, node, parts, symbols, rebuild)


def _lower_literal(
    lowering: ExpressionLowering, node: Node, parts: Sequence[Node], symbols: Sequence[Symbol], rebuild: _Rebuild
) -> Symbol:
    return lowering.apply(id(node), lambda: literal_operation(parts, rebuild), symbols)


# --- operators


def _lower_strict_operand(
    lowering: ExpressionLowering, node: syntax.Unary | syntax.Has, environment: SymbolEnvironment
) -> Symbol:
    return lowering.apply(id(node), lambda: operation_of(node), (lowering.value(node.operand, environment),))


def _lower_call(lowering: ExpressionLowering, node: syntax.Call, environment: SymbolEnvironment) -> Symbol:
    symbols = [lowering.value(arg, environment) for arg in node.args]
    return lowering.apply(id(node), lambda: operation_of(node), symbols)


def _lower_chain(lowering: ExpressionLowering, node: syntax.Chain, environment: SymbolEnvironment) -> Symbol:
    """Operators of one precedence, from the left."""
    left = lowering.value(node.first, environment)
    for place, (operator, operand, pos) in enumerate(node.rest):
        constant = operator == "in" and type(operand) is syntax.ListLiteral and not lowering.scopes.free(operand)
        if constant and type(operand) is syntax.ListLiteral and not operand.elements:
            # The language does not even look at the left side.
            left = FALSE_SYMBOL
            continue
        right = lowering.value(operand, environment)
        left = lowering.apply((id(node), place), _binary(operator, operand, pos, constant), (left, right))
    return left


def _binary(operator: str, operand: Node, pos: int, constant: bool) -> Callable[[], Operation]:
    return lambda: binary_operation(operator, operand, pos, constant=constant)


def _lower_logical(lowering: ExpressionLowering, node: syntax.Logical, environment: SymbolEnvironment) -> Symbol:
    """``&&`` (false decides) and ``||`` (true decides): errors count where no operand decides."""
    decisive = node.operator == "||"
    conj, disj = lowering.formulas.conj, lowering.formulas.disj
    deciding: list[Handle] = []
    failing: list[Handle] = []
    for operand in node.operands:
        verdict = lowering.cases.verdict(lowering.value(operand, environment))
        deciding.append(verdict.true if decisive else verdict.false)
        failing.append(verdict.error)
        if deciding[-1] == TRUE:
            return TRUE_SYMBOL if decisive else FALSE_SYMBOL
    decided = disj(deciding)
    error = conj((disj(failing), ~decided))
    return lowering.cases.boolean(decided if decisive else conj((~decided, ~error)), error)


def _lower_conditional(
    lowering: ExpressionLowering, node: syntax.Conditional, environment: SymbolEnvironment
) -> Symbol:
    """``c1 ? v1 : c2 ? v2 : otherwise``; what no counts lead to is not looked at."""
    conj = lowering.formulas.conj
    left: Handle = TRUE
    branches: list[tuple[Handle, Symbol]] = []
    errors: list[Handle] = []
    for condition, value in node.branches:
        verdict = lowering.cases.verdict(lowering.value(condition, environment))
        taken = conj((left, verdict.true))
        if taken != FALSE:
            branches.append((taken, lowering.value(value, environment)))
        errors.append(conj((left, verdict.error)))
        left = conj((left, verdict.false))
        if left == FALSE:
            break
    else:
        branches.append((left, lowering.value(node.otherwise, environment)))
    return lowering.cases.gather(branches, errors)


# --- chains of steps


def _lower_postfix(lowering: ExpressionLowering, node: Postfix, environment: SymbolEnvironment) -> Symbol:
    """Selections, methods and macros; those before anything depends on the counts are evaluated at once."""
    prefixes = lowering.scopes.prefixes(node)
    done = 0
    while lowering.known_values(sorted(prefixes[done + 1]), environment) is not None:
        done += 1
    symbol = lowering.value(lowering.prefix(node, done), environment)
    for place in range(done, len(node.steps)):
        symbol = lowering.step(node, place, symbol, environment)
    return symbol


def _lower_select(
    lowering: ExpressionLowering, step: syntax.Select, receiver: Symbol, _environment: SymbolEnvironment
) -> Symbol:
    return lowering.apply(id(step), lambda: operation_of(step), (receiver,))


def _lower_index(
    lowering: ExpressionLowering, step: syntax.Index, receiver: Symbol, environment: SymbolEnvironment
) -> Symbol:
    return lowering.apply(id(step), lambda: operation_of(step), (receiver, lowering.value(step.key, environment)))


def _lower_method(
    lowering: ExpressionLowering, step: Method, receiver: Symbol, environment: SymbolEnvironment
) -> Symbol:
    if step.name in ("or", "orValue") and len(step.args) == 1:
        return lowering.cases.combine(
            (receiver,), lambda leaves: _lower_optional_or(lowering, step, leaves[0], environment)
        )
    symbols = [receiver, *(lowering.value(arg, environment) for arg in step.args)]
    return lowering.apply(id(step), lambda: operation_of(step), symbols)


def _lower_optional_or(
    lowering: ExpressionLowering, step: Method, leaf: Leaf, environment: SymbolEnvironment
) -> Symbol:
    """The other value is evaluated only where there is none."""
    if type(leaf) is not KnownValue or type(leaf.value) is not Optional:
        return FAILED_SYMBOL
    if not leaf.value.present:
        return lowering.value(step.args[0], environment)
    return known_symbol(leaf.value.value) if step.name == "orValue" else single_case(leaf)


NODE_RULES: dict[type[Node], Callable[[ExpressionLowering, Any, SymbolEnvironment], Symbol]] = {
    syntax.Ident: _lower_ident,
    syntax.Bind: _lower_bind,
    syntax.ListLiteral: _lower_list_literal,
    syntax.MapLiteral: _lower_map_literal,
    syntax.Unary: _lower_strict_operand,
    syntax.Has: _lower_strict_operand,
    syntax.Call: _lower_call,
    syntax.Chain: _lower_chain,
    syntax.Logical: _lower_logical,
    syntax.Conditional: _lower_conditional,
    Postfix: _lower_postfix,
}
"""Nodes that depend on the counts; others there are none."""
_MacroRule: TypeAlias = "Callable[[ExpressionLowering, Macro, MacroLoop], Symbol]"
_NumberedCell: TypeAlias = tuple[int, BagCell]


def _quantifier_rule(decisive: bool) -> _MacroRule:
    """``exists`` (true decides) and ``all`` (false decides)."""

    def fold(lowering: ExpressionLowering, _step: Macro, loop: MacroLoop) -> Symbol:
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

    def fail(self, group: ElementGroup, error: Handle) -> None:
        """An error, where any of the group is there."""
        if error != FALSE:
            present = group.present(self._lowering.cases)
            self._failing.append(self._lowering.formulas.conj((present, error)))

    def keep(self, group: ElementGroup, value: Symbol | None, condition: Handle) -> None:
        """Elements with this value, or their own, where the condition holds."""
        self._lowering.budget.spend(len(group.cells))
        for place, cell in zip(group.places, group.cells, strict=True):
            gate = cell.gate if condition == TRUE else self._lowering.formulas.conj((cell.gate, condition))
            self.placed.append((place, BagCell(cell.value if value is None else value, cell.item, gate)))

    def symbol(self, make: Callable[[list[BagCell]], Symbol]) -> Symbol:
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


def _lower_exists_one(lowering: ExpressionLowering, _step: Macro, loop: MacroLoop) -> Symbol:
    def once(cells: Iterable[BagCell]) -> Symbol:
        terms: list[SumTerm] = [(cell.item, cell.gate, 1) for cell in cells]
        return lowering.cases.boolean(lowering.formulas.equal(GatedSum.of_terms(0, terms), 1))

    return _selected_elements(lowering, loop).symbol(once)


def _lower_filter(lowering: ExpressionLowering, _step: Macro, loop: MacroLoop) -> Symbol:
    return _selected_elements(lowering, loop).symbol(lambda cells: single_case(Bag(cells)))


def _lower_map_macro(lowering: ExpressionLowering, step: Macro, loop: MacroLoop) -> Symbol:
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
            kept.keep(group, value if value.error == FALSE else Symbol(value.cases), condition)
    return kept.symbol(lambda cells: single_case(Bag(cells)))


def lower_macro(lowering: ExpressionLowering, step: Macro, receiver: Symbol, environment: SymbolEnvironment) -> Symbol:
    """A macro on its receiver; ``NotLoweredError`` for those that have no formula."""
    if step.name in _OPTIONAL_MACROS:
        return lowering.cases.combine(
            (receiver,), lambda leaves: _lower_optional_macro(lowering, step, leaves[0], environment)
        )
    fold = _MACRO_RULES.get(step.name)
    if fold is None:
        raise NotLoweredError(f"{step.name} of what depends on the counts")

    def apply(leaves: tuple[Leaf, ...]) -> Symbol:
        source = _loop_source(leaves[0], len(step.variables))
        return (
            FAILED_SYMBOL
            if source is None
            else _ordered_as(source.bag, fold(lowering, step, MacroLoop(lowering, step, source, environment)))
        )

    return lowering.cases.combine((receiver,), apply)


def _ordered_as(bag: Bag, made: Symbol) -> Symbol:
    """Lists made of one without order have none."""
    if not bag.ordered:
        for _, leaf in made.cases:
            if type(leaf) is Bag:
                leaf.ordered = False
    return made


def _loop_source(leaf: Leaf, variables: int) -> LoopSource | None:
    """What a macro goes over; None where that is no list or map."""
    if type(leaf) is KnownValue and type(leaf.value) is CelMap:
        keys = list(map(known_symbol, leaf.value))
        values = [known_symbol(value) for value in leaf.value.values()] if variables == 2 else keys
        return LoopSource(Bag([BagCell(value) for value in values]), keys)
    bag = as_bag(leaf)
    if bag is None:
        return None
    return LoopSource(bag, list(map(known_symbol, range(len(bag.cells)))) if bag.is_literal else None)


_OPTIONAL_MACROS = frozenset({"optMap", "optFlatMap"})


def _lower_optional_macro(
    lowering: ExpressionLowering, step: Macro, leaf: Leaf, environment: SymbolEnvironment
) -> Symbol:
    if type(leaf) is not KnownValue or type(leaf.value) is not Optional:
        return FAILED_SYMBOL
    if not leaf.value.present:
        return known_symbol(NONE)
    assert step.body is not None
    value = lowering.value(step.body, environment.with_({step.variables[0]: known_symbol(leaf.value.value)}))
    return optional_of(lowering.cases, value) if step.name == "optMap" else value


_Body: TypeAlias = Callable[[ElementGroup], Symbol]


@dataclass(frozen=True, slots=True)
class LoopSource:
    """What a macro goes over: elements, and the keys or indexes beside them where they are known."""

    bag: Bag
    keys: Sequence[Symbol] | None = None


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

    def _keys_read(self, source: LoopSource) -> Sequence[Symbol] | None:
        """The keys, where the body looks at them."""
        first = self._step.variables[0]
        if len(self._step.variables) == 1 or not any(first in self._lowering.scopes.free(node) for node in self._nodes):
            return None
        if source.keys is None:
            raise NotLoweredError("the index of an element in a list whose length depends on the counts")
        return source.keys

    def _grouped(self, bag: Bag) -> ElementGrouping:
        if self._keys is None:
            read = self._lowering.paths(self._step, self._nodes)
            return group_elements(self._lowering.cases, bag, read)
        # Each element by itself, as each has another key.
        return ElementGrouping([_group_of_one(cell, place) for place, cell in enumerate(bag.cells)])

    def elements(self, skipped: bool) -> Iterator[tuple[ElementGroup, Symbol]]:
        """The condition for each group, but some for which it gives the ``skipped`` verdict."""
        assert self._step.condition is not None
        body = self.body(self._step.condition)
        for group in self._chosen(skipped):
            yield group, body(group)

    @property
    def groups(self) -> Sequence[ElementGroup]:
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

        def evaluate(group: ElementGroup) -> Symbol:
            leaf = group.symbol.only
            if type(leaf) is KnownValue:
                return evaluator.of(leaf.value)
            return self._lowering.value(node, self._bound(group))

        return evaluate

    def _bound(self, group: ElementGroup) -> SymbolEnvironment:
        bound: Mapping[str, Symbol] = {self._variable: group.symbol}
        if self._keys is not None:
            bound = {self._step.variables[0]: self._keys[group.places[0]], **bound}
        return self._environment.with_(bound)

    # --- joins

    def _chosen(self, skipped: bool) -> Sequence[ElementGroup]:
        plan = self._plan(skipped) if self._keys is None and len(self.groups) > 1 else None
        if plan is None:
            return self.groups
        join = JoinExecution(plan, self._grouping)
        return [self.groups[place] for place in join.choose(self._outer, self._inner)]

    def _plan(self, skipped: bool) -> JoinPlan | None:
        """The plan of the condition, if it looks anything up that changes from one outer element to the next."""
        assert self._step.condition is not None
        plan = self._lowering.plan(self._step, self._step.condition, skipped)
        return plan if plan is not None and self._is_join(plan) else None

    def _is_join(self, plan: JoinPlan) -> bool:
        if type(plan) is PlanCombination:
            return any(map(self._is_join, plan.plans))
        assert type(plan) is JoinLookup
        return bool(self._lowering.scopes.free(plan.outer))

    def _outer(self, node: Node) -> Symbol:
        names = sorted(self._lowering.scopes.free(node))
        values = self._lowering.known_values(names, self._environment)
        return FAILED_SYMBOL if values is None else self._lowering.closures.evaluator(node, names, values).symbol()

    def _inner(self, node: Node) -> Sequence[Symbol]:
        evaluator = self._lowering.closures.evaluator(node, (self._variable,), (None,))
        leaves = [group.symbol.only for group in self.groups]
        return [evaluator.of(leaf.value) if type(leaf) is KnownValue else FAILED_SYMBOL for leaf in leaves]


_MACRO_RULES: dict[str, _MacroRule] = {
    "all": _quantifier_rule(False),
    "exists": _quantifier_rule(True),
    "exists_one": _lower_exists_one,
    "filter": _lower_filter,
    "map": _lower_map_macro,
    "transformList": _lower_map_macro,
}
STEP_RULES: dict[type[Step], Callable[[ExpressionLowering, Any, Symbol, SymbolEnvironment], Symbol]] = {
    syntax.Select: _lower_select,
    syntax.Index: _lower_index,
    Method: _lower_method,
    Macro: lower_macro,
}


def _group_of_one(cell: BagCell, place: int) -> ElementGroup:
    group = ElementGroup(cell.value)
    group.cells.append(cell)
    group.places.append(place)
    return group

"""Expressions over ``devices`` as formulas over how many devices are chosen of each item (CELC-9).

A partial evaluator: it goes over the syntax tree as an evaluation does, with symbols in place of values. What does not
depend on the counts is evaluated by the language's own closures.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...cel import syntax
from ...cel.program import Program
from ...cel.syntax import Macro, Method, Node, Postfix, Step
from ...cel.values import Optional, Value
from .formulas import Formulas
from .sums import FALSE, TRUE, Handle
from .symbolic_cases import Cases
from .symbolic_closures import Closures, limited_work
from .symbolic_costs import require_within_limit
from .symbolic_environment import Environment, Pending
from .symbolic_functions import Functions
from .symbolic_groups import Paths, paths
from .symbolic_joins import Plan
from .symbolic_loops import planned
from .symbolic_macros import macro
from .symbolic_operations import Operation, binary_operation, literal_operation, operation
from .symbolic_scopes import Scopes
from .symbolic_values import FAILED, NO, YES, Bag, Budget, Cell, Known, Leaf, NotLoweredError, Symbol, known, one

__all__ = ["DEVICES", "Lowered", "NotLoweredError", "lower"]

DEVICES = "devices"
_MOST_DEPTH = 50
_MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Lowered:
    """When an expression is true, and when it is an error or of another type than bool.

    ``ordered``: that is so only if the devices stand in the order of the items (CELC-7).
    """

    true: Handle
    error: Handle
    ordered: bool


def lower(expression: Program, items: Sequence[Value], formulas: Formulas, *, budget: int = _MOST_STEPS) -> Lowered:
    """The formulas of an expression over the one variable ``devices``, a list of devices.

    For every vector of counts that ``formulas`` allows they say what evaluation gives for the list of ``counts[i]``
    copies of ``items[i]``, in the order of the items. Items that the expression compares with each other as a whole
    must be different values. Raises ``NotLoweredError``, also where more than ``budget`` steps would be needed, or
    where evaluating might exceed the limit of costs.
    """
    steps = Budget(budget)
    require_within_limit(expression, items, formulas)
    lowering = Lowering(expression, formulas, steps)
    devices = one(Bag([Cell(known(value), item) for item, value in enumerate(items)]))
    with limited_work():
        try:
            symbol = lowering.value(expression.checked.tree, Environment({DEVICES: devices}))
        except RecursionError:
            raise NotLoweredError("nested too deeply") from None
    verdict = lowering.cases.verdict(symbol)
    return Lowered(verdict.true, verdict.error, steps.ordered)


class Lowering:
    """The evaluation of one expression."""

    def __init__(self, program: Program, formulas: Formulas, budget: Budget) -> None:
        self.formulas = formulas
        self.budget = budget
        self.cases = Cases(formulas, budget)
        self.scopes = Scopes(program.checked.tree, frozenset({DEVICES}))
        self.closures = Closures(program, budget)
        self._functions = Functions(self.cases, self.closures)
        self._operations: dict[Hashable, Operation] = {}
        self._prefixes: dict[tuple[int, int], Postfix] = {}
        self._paths: dict[tuple[int, str], Paths] = {}
        self._plans: dict[tuple[int, bool], Plan | None] = {}
        self._values: dict[Hashable, tuple[Symbol, list[Symbol]]] = {}
        self._depth = 0

    # --- what loops ask for

    def known_values(self, names: Sequence[str], environment: Environment) -> list[Value] | None:
        """The values of variables, unless one of them depends on the counts or fails."""
        leaves = [environment.symbol(name).only for name in names]
        values = [leaf.value for leaf in leaves if type(leaf) is Known]
        return values if len(values) == len(leaves) else None

    def paths(self, step: Macro, variable: str, nodes: Sequence[Node]) -> Paths:
        """What a macro reads of its elements."""
        found = self._paths.get((id(step), variable))
        if found is None:
            # Without a body the elements themselves are kept, which does not set them apart.
            found = self._paths[id(step), variable] = paths(nodes, variable)
        return found

    def plan(self, step: Macro, variable: str, skipped: bool) -> Plan | None:
        """The plan of a macro's condition."""
        key = (id(step), skipped)
        if key not in self._plans:
            self._plans[key] = planned(self, step, variable, skipped)
        return self._plans[key]

    # --- nodes

    def value(self, node: Node, environment: Environment) -> Symbol:
        """The symbol of a node."""
        names = sorted(self.scopes.free(node))
        values = self.known_values(names, environment)
        if values is not None:
            return self.closures.evaluator(node, names, values).symbol()
        return self._remembered((id(node), -1), names, environment, lambda: _NODES[type(node)](self, node, environment))

    def _remembered(
        self, key: tuple[int, int], names: Iterable[str], environment: Environment, compute: Callable[[], Symbol]
    ) -> Symbol:
        """What was found for the same values of the variables."""
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

    def _apply(self, key: Hashable, make: Callable[[], Operation], symbols: Sequence[Symbol]) -> Symbol:
        found = self._operations.get(key)
        if found is None:
            found = self._operations[key] = make()
        return self._functions.apply(found, symbols)

    def ident(self, node: syntax.Ident, environment: Environment) -> Symbol:
        """A variable."""
        return environment.symbol(node.name)

    def bind(self, node: syntax.Bind, environment: Environment) -> Symbol:
        """``cel.bind``: what its variable stands for is looked at only where it is read."""
        pending = Pending(lambda: self.value(node.init, environment))
        return self.value(node.body, environment.with_({node.variable: pending}))

    def list_literal(self, node: syntax.ListLiteral, environment: Environment) -> Symbol:
        """A list written out, of as many elements unless some are optional."""
        symbols = [self.value(element, environment) for element in node.elements]
        if node.optional:
            return self._literal(
                node, node.elements, symbols, lambda parts: syntax.ListLiteral(parts, node.optional, node.pos)
            )
        bag = Bag([Cell(Symbol(symbol.cases) if symbol.error != FALSE else symbol) for symbol in symbols])
        return self.cases.failing(self.formulas.disj([symbol.error for symbol in symbols]), one(bag))

    def map_literal(self, node: syntax.MapLiteral, environment: Environment) -> Symbol:
        """A map written out."""
        parts = [part for entry in node.entries for part in entry]
        symbols = [self.value(part, environment) for part in parts]
        return self._literal(
            node,
            parts,
            symbols,
            lambda names: syntax.MapLiteral(tuple(zip(names[::2], names[1::2], strict=True)), node.optional, node.pos),
        )

    def _literal(
        self, node: Node, parts: Sequence[Node], symbols: Sequence[Symbol], rebuild: Callable[[tuple[Node, ...]], Node]
    ) -> Symbol:
        return self._apply(id(node), lambda: literal_operation(parts, rebuild), symbols)

    def strict(self, node: syntax.Unary | syntax.Call | syntax.Has, environment: Environment) -> Symbol:
        """A function or operator of all its operands."""
        operands = node.args if type(node) is syntax.Call else (node.operand,)  # type: ignore[union-attr]
        symbols = [self.value(operand, environment) for operand in operands]
        return self._apply(id(node), lambda: operation(node), symbols)

    def chain(self, node: syntax.Chain, environment: Environment) -> Symbol:
        """Operators of one precedence, from the left."""
        left = self.value(node.first, environment)
        for place, (operator, operand, pos) in enumerate(node.rest):
            constant = operator == "in" and type(operand) is syntax.ListLiteral and not self.scopes.free(operand)
            if constant and not operand.elements:
                # The language does not even look at the left side.
                left = NO
                continue
            right = self.value(operand, environment)
            left = self._apply((id(node), place), _binary(operator, operand, pos, constant), (left, right))
        return left

    def logical(self, node: syntax.Logical, environment: Environment) -> Symbol:
        """``&&`` (false decides) and ``||`` (true decides): errors count where no operand decides."""
        decisive = node.operator == "||"
        conj, disj = self.formulas.conj, self.formulas.disj
        deciding: list[Handle] = []
        failing: list[Handle] = []
        for operand in node.operands:
            verdict = self.cases.verdict(self.value(operand, environment))
            deciding.append(verdict.true if decisive else verdict.false)
            failing.append(verdict.error)
            if deciding[-1] == TRUE:
                return YES if decisive else NO
        decided = disj(deciding)
        error = conj((disj(failing), ~decided))
        return self.cases.boolean(decided if decisive else conj((~decided, ~error)), error)

    def conditional(self, node: syntax.Conditional, environment: Environment) -> Symbol:
        """``c1 ? v1 : c2 ? v2 : otherwise``; what no counts lead to is not looked at."""
        conj = self.formulas.conj
        left: Handle = TRUE
        branches: list[tuple[Handle, Symbol]] = []
        errors: list[Handle] = []
        for condition, value in node.branches:
            verdict = self.cases.verdict(self.value(condition, environment))
            taken = conj((left, verdict.true))
            if taken != FALSE:
                branches.append((taken, self.value(value, environment)))
            errors.append(conj((left, verdict.error)))
            left = conj((left, verdict.false))
            if left == FALSE:
                break
        else:
            branches.append((left, self.value(node.otherwise, environment)))
        return self.cases.gather(branches, errors)

    # --- postfix steps

    def postfix(self, node: Postfix, environment: Environment) -> Symbol:
        """Selections, methods and macros; as many as possible are evaluated at once."""
        prefixes = self.scopes.prefixes(node)
        done = 0
        while done < len(node.steps) and self._is_known(prefixes[done + 1], environment):
            done += 1
        symbol = self.value(self._prefix(node, done), environment)
        for place in range(done, len(node.steps)):
            symbol = self._step(node, place, symbol, environment)
        return symbol

    def _is_known(self, names: Iterable[str], environment: Environment) -> bool:
        return self.known_values(sorted(names), environment) is not None

    def _prefix(self, node: Postfix, length: int) -> Node:
        if length == 0:
            return node.operand
        found = self._prefixes.get((id(node), length))
        if found is None:
            found = self._prefixes[id(node), length] = Postfix(node.operand, node.steps[:length], node.pos)
            self.scopes.add(found, self.scopes.prefixes(node)[length])
        return found

    def _step(self, node: Postfix, place: int, symbol: Symbol, environment: Environment) -> Symbol:
        step = node.steps[place]
        names = sorted(self.scopes.prefixes(node)[place + 1])
        return self._remembered(
            (id(node), place), names, environment, lambda: _STEPS[type(step)](self, step, symbol, environment)
        )

    def select(self, step: syntax.Select, receiver: Symbol, environment: Environment) -> Symbol:
        """``.field``."""
        return self._apply(id(step), lambda: operation(step), (receiver,))

    def index(self, step: syntax.Index, receiver: Symbol, environment: Environment) -> Symbol:
        """``[key]``."""
        return self._apply(id(step), lambda: operation(step), (receiver, self.value(step.key, environment)))

    def method(self, step: Method, receiver: Symbol, environment: Environment) -> Symbol:
        """``.name(args)``."""
        if step.name in ("or", "orValue") and len(step.args) == 1:
            return self.cases.combine((receiver,), lambda leaves: self._or(step, leaves[0], environment))
        symbols = [receiver, *(self.value(arg, environment) for arg in step.args)]
        return self._apply(id(step), lambda: operation(step), symbols)

    def _or(self, step: Method, leaf: Leaf, environment: Environment) -> Symbol:
        """The other value is evaluated only where there is none."""
        if type(leaf) is not Known or type(leaf.value) is not Optional:
            return FAILED
        if not leaf.value.present:
            return self.value(step.args[0], environment)
        return known(leaf.value.value) if step.name == "orValue" else one(leaf)

    def macro(self, step: Macro, receiver: Symbol, environment: Environment) -> Symbol:
        """A macro."""
        return macro(self, step, receiver, environment)


def _binary(operator: str, operand: Node, pos: int, constant: bool) -> Callable[[], Operation]:
    return lambda: binary_operation(operator, operand, pos, constant=constant)


_NODES: dict[type[Node], Callable[[Lowering, Any, Environment], Symbol]] = {
    syntax.Ident: Lowering.ident,
    syntax.Bind: Lowering.bind,
    syntax.ListLiteral: Lowering.list_literal,
    syntax.MapLiteral: Lowering.map_literal,
    syntax.Unary: Lowering.strict,
    syntax.Call: Lowering.strict,
    syntax.Has: Lowering.strict,
    syntax.Chain: Lowering.chain,
    syntax.Logical: Lowering.logical,
    syntax.Conditional: Lowering.conditional,
    Postfix: Lowering.postfix,
}
_STEPS: dict[type[Step], Callable[[Lowering, Any, Symbol, Environment], Symbol]] = {
    syntax.Select: Lowering.select,
    syntax.Index: Lowering.index,
    Method: Lowering.method,
    Macro: Lowering.macro,
}

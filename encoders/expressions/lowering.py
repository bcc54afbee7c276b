"""CEL expressions over ``devices`` as formulas over how many devices are chosen of each item (CELC-9).

A partial evaluator goes over the syntax tree as an evaluation does, with symbols in place of values. What does not
depend on the counts is evaluated by the language's own closures. Each kind of node, and each step of a chain, has a
rule that makes its symbol of the symbols of its parts; the rules of macros are in ``macros``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...cel import syntax
from ...cel.errors import CelDeadlineError
from ...cel.meter import metered_work
from ...cel.program import Program
from ...cel.syntax import Macro, Method, Node, Postfix, Step
from ...cel.values import Optional, Value
from ...problem.messages import check_deadline
from . import scopes, values
from .bounds import require_within_limit
from .formula_nodes import FALSE, TRUE, Handle
from .formulas import Formulas
from .macros import ExpressionLowering, NodeRule, StepRule, lower_macro

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
    expression: Program,
    items: Sequence[Value],
    formulas: Formulas,
    *,
    budget: int = MOST_LOWERING_STEPS,
    deadline: float | None = None,
) -> LoweredExpression:
    """The formulas of an expression over the one variable ``devices``, a list of devices.

    For every vector of counts that ``formulas`` allows they say what evaluation gives for the list of ``counts[i]``
    copies of ``items[i]``, in the order of the items. Items that the expression compares with each other as a whole
    must be different values. Raises ``NotLoweredError``, also where more than ``budget`` steps would be needed, or
    where evaluating might exceed the limit of costs; ``DeadlineExceededError`` once ``deadline`` is over, a reading of
    ``time.monotonic``.
    """
    steps = values.StepBudget(budget, deadline)
    require_within_limit(expression, items, formulas)
    lowering = ExpressionLowering(expression, formulas, steps, _NODE_RULES, _STEP_RULES)
    devices = values.single_case(
        values.Bag([values.BagCell(values.known_symbol(value), item) for item, value in enumerate(items)])
    )
    with metered_work(deadline):
        try:
            symbol = lowering.value(expression.checked.tree, scopes.SymbolEnvironment({scopes.DEVICES: devices}))
        except RecursionError:
            raise values.NotLoweredError("nested too deeply") from None
        except CelDeadlineError:
            check_deadline(deadline)
            raise
    verdict = lowering.cases.verdict(symbol)
    return LoweredExpression(verdict.true, verdict.error, steps.ordered)


_Rebuild: TypeAlias = Callable[[tuple[Node, ...]], Node]


def _lower_bind(
    lowering: ExpressionLowering, node: syntax.Bind, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    """``cel.bind``: what its variable stands for is looked at only where it is read."""
    pending = scopes.DeferredSymbol(lambda: lowering.value(node.init, environment))
    return lowering.value(node.body, environment.with_({node.variable: pending}))


# --- literals


def _lower_list_literal(
    lowering: ExpressionLowering, node: syntax.ListLiteral, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    """A list written out, of as many elements unless some are optional."""
    symbols = [lowering.value(element, environment) for element in node.elements]
    if node.optional:
        return _lower_literal(
            lowering, node, node.elements, symbols, lambda parts: syntax.ListLiteral(parts, node.optional, node.pos)
        )
    bag = values.Bag(
        [values.BagCell(values.Symbol(symbol.cases) if symbol.error != FALSE else symbol) for symbol in symbols]
    )
    return lowering.cases.failing(lowering.formulas.disj([symbol.error for symbol in symbols]), values.single_case(bag))


def _lower_map_literal(
    lowering: ExpressionLowering, node: syntax.MapLiteral, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    parts = [part for entry in node.entries for part in entry]
    symbols = [lowering.value(part, environment) for part in parts]

    def rebuild(names: tuple[Node, ...]) -> Node:
        return syntax.MapLiteral(tuple(zip(names[::2], names[1::2], strict=True)), node.optional, node.pos)

    return _lower_literal(lowering, node, parts, symbols, rebuild)


def _lower_literal(
    lowering: ExpressionLowering, node: Node, parts: Sequence[Node], symbols: Sequence[values.Symbol], rebuild: _Rebuild
) -> values.Symbol:
    return lowering.apply(id(node), lambda: scopes.literal_operation(parts, rebuild), symbols)


# --- operators


def _lower_strict_operand(
    lowering: ExpressionLowering, node: syntax.Unary | syntax.Has, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    return lowering.apply(id(node), lambda: scopes.operation_of(node), (lowering.value(node.operand, environment),))


def _lower_call(
    lowering: ExpressionLowering, node: syntax.Call, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    symbols = [lowering.value(arg, environment) for arg in node.args]
    return lowering.apply(id(node), lambda: scopes.operation_of(node), symbols)


def _lower_chain(
    lowering: ExpressionLowering, node: syntax.Chain, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    """Operators of one precedence, from the left."""
    left = lowering.value(node.first, environment)
    for place, (operator, operand, pos) in enumerate(node.rest):
        constant = operator == "in" and type(operand) is syntax.ListLiteral and not lowering.scopes.free(operand)
        if constant and type(operand) is syntax.ListLiteral and not operand.elements:
            # The language does not even look at the left side.
            left = values.FALSE_SYMBOL
            continue
        right = lowering.value(operand, environment)
        left = lowering.apply((id(node), place), _binary(operator, operand, pos, constant), (left, right))
    return left


def _binary(operator: str, operand: Node, pos: int, constant: bool) -> Callable[[], scopes.Operation]:
    return lambda: scopes.binary_operation(operator, operand, pos, constant=constant)


def _lower_logical(
    lowering: ExpressionLowering, node: syntax.Logical, environment: scopes.SymbolEnvironment
) -> values.Symbol:
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
            return values.TRUE_SYMBOL if decisive else values.FALSE_SYMBOL
    decided = disj(deciding)
    error = conj((disj(failing), ~decided))
    return lowering.cases.boolean(decided if decisive else conj((~decided, ~error)), error)


def _lower_conditional(
    lowering: ExpressionLowering, node: syntax.Conditional, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    """``c1 ? v1 : c2 ? v2 : otherwise``; what no counts lead to is not looked at."""
    conj = lowering.formulas.conj
    left: Handle = TRUE
    branches: list[tuple[Handle, values.Symbol]] = []
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


def _lower_postfix(lowering: ExpressionLowering, node: Postfix, environment: scopes.SymbolEnvironment) -> values.Symbol:
    """Selections, methods and macros; those before anything depends on the counts are evaluated at once."""
    prefixes = lowering.scopes.prefixes(node)
    done = 0
    while lowering.known_values(sorted(prefixes[done + 1]), environment) is not None:
        done += 1
    symbol = lowering.value(lowering.prefix(node, done), environment)
    for place in range(done, len(node.steps)):
        symbol = lowering.step(node, place, symbol, environment)
    return symbol


def _lower_method(
    lowering: ExpressionLowering, step: Method, receiver: values.Symbol, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    if step.name in ("or", "orValue") and len(step.args) == 1:
        return lowering.cases.combine(
            (receiver,), lambda leaves: _lower_optional_or(lowering, step, leaves[0], environment)
        )
    symbols = [receiver, *(lowering.value(arg, environment) for arg in step.args)]
    return lowering.apply(id(step), lambda: scopes.operation_of(step), symbols)


def _lower_optional_or(
    lowering: ExpressionLowering, step: Method, leaf: values.Leaf, environment: scopes.SymbolEnvironment
) -> values.Symbol:
    """The other value is evaluated only where there is none."""
    if type(leaf) is not values.KnownValue or type(leaf.value) is not Optional:
        return values.FAILED_SYMBOL
    if not leaf.value.present:
        return lowering.value(step.args[0], environment)
    return values.known_symbol(leaf.value.value) if step.name == "orValue" else values.single_case(leaf)


_NODE_RULES: dict[type[Node], NodeRule] = {
    syntax.Ident: lambda _lowering, node, environment: environment.symbol(node.name),
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
_STEP_RULES: dict[type[Step], StepRule] = {
    syntax.Select: lambda lowering, step, receiver, _environment: lowering.apply(
        id(step), lambda: scopes.operation_of(step), (receiver,)
    ),
    syntax.Index: lambda lowering, step, receiver, environment: lowering.apply(
        id(step), lambda: scopes.operation_of(step), (receiver, lowering.value(step.key, environment))
    ),
    Method: _lower_method,
    Macro: lower_macro,
}

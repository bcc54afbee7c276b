"""What each kind of node, and each step of a chain, gives out of the symbols of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...cel import syntax
from ...cel.syntax import Macro, Method, Node, Postfix, Step
from ...cel.values import Optional
from .sums import FALSE, TRUE, Handle
from .symbolic_environment import Environment, Pending
from .symbolic_macros import macro
from .symbolic_operations import Operation, binary_operation, literal_operation, operation
from .symbolic_values import FAILED, NO, YES, Bag, Cell, Known, Leaf, Symbol, known, one

if TYPE_CHECKING:
    from .symbolic_lowering import Lowering

_Rebuild: TypeAlias = Callable[[tuple[Node, ...]], Node]


def _ident(_lowering: Lowering, node: syntax.Ident, environment: Environment) -> Symbol:
    return environment.symbol(node.name)


def _bind(lowering: Lowering, node: syntax.Bind, environment: Environment) -> Symbol:
    """``cel.bind``: what its variable stands for is looked at only where it is read."""
    pending = Pending(lambda: lowering.value(node.init, environment))
    return lowering.value(node.body, environment.with_({node.variable: pending}))


# --- literals


def _list(lowering: Lowering, node: syntax.ListLiteral, environment: Environment) -> Symbol:
    """A list written out, of as many elements unless some are optional."""
    symbols = [lowering.value(element, environment) for element in node.elements]
    if node.optional:
        return _literal(
            lowering, node, node.elements, symbols, lambda parts: syntax.ListLiteral(parts, node.optional, node.pos)
        )
    bag = Bag([Cell(Symbol(symbol.cases) if symbol.error != FALSE else symbol) for symbol in symbols])
    return lowering.cases.failing(lowering.formulas.disj([symbol.error for symbol in symbols]), one(bag))


def _map(lowering: Lowering, node: syntax.MapLiteral, environment: Environment) -> Symbol:
    parts = [part for entry in node.entries for part in entry]
    symbols = [lowering.value(part, environment) for part in parts]

    def rebuild(names: tuple[Node, ...]) -> Node:
        return syntax.MapLiteral(tuple(zip(names[::2], names[1::2], strict=True)), node.optional, node.pos)

    return _literal(lowering, node, parts, symbols, rebuild)


def _literal(
    lowering: Lowering, node: Node, parts: Sequence[Node], symbols: Sequence[Symbol], rebuild: _Rebuild
) -> Symbol:
    return lowering.apply(id(node), lambda: literal_operation(parts, rebuild), symbols)


# --- operators


def _strict_one(lowering: Lowering, node: syntax.Unary | syntax.Has, environment: Environment) -> Symbol:
    return lowering.apply(id(node), lambda: operation(node), (lowering.value(node.operand, environment),))


def _call(lowering: Lowering, node: syntax.Call, environment: Environment) -> Symbol:
    symbols = [lowering.value(arg, environment) for arg in node.args]
    return lowering.apply(id(node), lambda: operation(node), symbols)


def _chain(lowering: Lowering, node: syntax.Chain, environment: Environment) -> Symbol:
    """Operators of one precedence, from the left."""
    left = lowering.value(node.first, environment)
    for place, (operator, operand, pos) in enumerate(node.rest):
        constant = operator == "in" and type(operand) is syntax.ListLiteral and not lowering.scopes.free(operand)
        if constant and type(operand) is syntax.ListLiteral and not operand.elements:
            # The language does not even look at the left side.
            left = NO
            continue
        right = lowering.value(operand, environment)
        left = lowering.apply((id(node), place), _binary(operator, operand, pos, constant), (left, right))
    return left


def _binary(operator: str, operand: Node, pos: int, constant: bool) -> Callable[[], Operation]:
    return lambda: binary_operation(operator, operand, pos, constant=constant)


def _logical(lowering: Lowering, node: syntax.Logical, environment: Environment) -> Symbol:
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
            return YES if decisive else NO
    decided = disj(deciding)
    error = conj((disj(failing), ~decided))
    return lowering.cases.boolean(decided if decisive else conj((~decided, ~error)), error)


def _conditional(lowering: Lowering, node: syntax.Conditional, environment: Environment) -> Symbol:
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


def _postfix(lowering: Lowering, node: Postfix, environment: Environment) -> Symbol:
    """Selections, methods and macros; those before anything depends on the counts are evaluated at once."""
    prefixes = lowering.scopes.prefixes(node)
    done = 0
    while lowering.known_values(sorted(prefixes[done + 1]), environment) is not None:
        done += 1
    symbol = lowering.value(lowering.prefix(node, done), environment)
    for place in range(done, len(node.steps)):
        symbol = lowering.step(node, place, symbol, environment)
    return symbol


def _select(lowering: Lowering, step: syntax.Select, receiver: Symbol, _environment: Environment) -> Symbol:
    return lowering.apply(id(step), lambda: operation(step), (receiver,))


def _index(lowering: Lowering, step: syntax.Index, receiver: Symbol, environment: Environment) -> Symbol:
    return lowering.apply(id(step), lambda: operation(step), (receiver, lowering.value(step.key, environment)))


def _method(lowering: Lowering, step: Method, receiver: Symbol, environment: Environment) -> Symbol:
    if step.name in ("or", "orValue") and len(step.args) == 1:
        return lowering.cases.combine((receiver,), lambda leaves: _or(lowering, step, leaves[0], environment))
    symbols = [receiver, *(lowering.value(arg, environment) for arg in step.args)]
    return lowering.apply(id(step), lambda: operation(step), symbols)


def _or(lowering: Lowering, step: Method, leaf: Leaf, environment: Environment) -> Symbol:
    """The other value is evaluated only where there is none."""
    if type(leaf) is not Known or type(leaf.value) is not Optional:
        return FAILED
    if not leaf.value.present:
        return lowering.value(step.args[0], environment)
    return known(leaf.value.value) if step.name == "orValue" else one(leaf)


NODES: dict[type[Node], Callable[[Lowering, Any, Environment], Symbol]] = {
    syntax.Ident: _ident,
    syntax.Bind: _bind,
    syntax.ListLiteral: _list,
    syntax.MapLiteral: _map,
    syntax.Unary: _strict_one,
    syntax.Has: _strict_one,
    syntax.Call: _call,
    syntax.Chain: _chain,
    syntax.Logical: _logical,
    syntax.Conditional: _conditional,
    Postfix: _postfix,
}
"""Nodes that depend on the counts; others there are none."""
STEPS: dict[type[Step], Callable[[Lowering, Any, Symbol, Environment], Symbol]] = {
    syntax.Select: _select,
    syntax.Index: _index,
    Method: _method,
    Macro: macro,
}

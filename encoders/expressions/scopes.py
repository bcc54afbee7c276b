"""Scopes and closures of an expression while it is lowered.

``SymbolEnvironment`` has the symbols of the variables in scope, ``Scopes`` the variables that each part of the
expression reads. ``Closures`` evaluate the parts that do not depend on the counts. An ``Operation`` is a strict
function of the expression apart from its arguments: a node with names where the operands stood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ...cel import syntax
from ...cel import syntax as cel_syntax
from ...cel.closures import Closure, Frame
from ...cel.errors import CelCostError, CelRuntimeError
from ...cel.program import Program
from ...cel.values import Value
from .values import FAILED_SYMBOL, NotLoweredError, StepBudget, Symbol, known_symbol

DEVICES = "devices"
"""The variable of expressions over sets of devices."""


class DeferredSymbol:
    """A variable of ``cel.bind``, whose value is made when it is first read."""

    __slots__ = ("_compute", "_symbol")

    def __init__(self, compute: Callable[[], Symbol]) -> None:
        self._compute = compute
        self._symbol: Symbol | None = None

    def symbol(self) -> Symbol:
        """The value."""
        if self._symbol is None:
            self._symbol = self._compute()
        return self._symbol


_Variables: TypeAlias = Mapping[str, "Symbol | DeferredSymbol"]


class SymbolEnvironment:
    """Names and their values; never changed, only extended."""

    __slots__ = ("_variables",)

    def __init__(self, variables: _Variables) -> None:
        self._variables = variables

    def with_(self, variables: _Variables) -> SymbolEnvironment:
        """These variables and, where not hidden by them, the ones in scope."""
        return SymbolEnvironment({**self._variables, **variables})

    def symbol(self, name: str) -> Symbol:
        """The value of a variable."""
        found = self._variables[name]
        return found.symbol() if type(found) is DeferredSymbol else found  # type: ignore[return-value]


VariableNames: TypeAlias = frozenset[str]
_NO_VARIABLES: VariableNames = frozenset()


class Scopes:
    """The free variables of every node of a tree; names that nothing binds are those of types."""

    def __init__(self, tree: cel_syntax.Node, variables: VariableNames) -> None:
        self._bound = variables | _bound(tree)
        self._free: dict[int, VariableNames] = {}
        self._handlers: dict[type, Callable[[Any], cel_syntax.Walk[VariableNames] | VariableNames]] = {
            **dict.fromkeys(
                (
                    syntax.Literal, syntax.ListLiteral, syntax.MapLiteral, syntax.Struct, syntax.Unary, syntax.Chain,
                    syntax.Logical, syntax.Conditional, syntax.Call, syntax.Has,
                ),
                self._plain,
            ),
            syntax.Ident: self._ident, syntax.Bind: self._bind, cel_syntax.Postfix: self._postfix,
        }  # fmt: skip
        self._steps: dict[type, Callable[[Any], cel_syntax.Walk[VariableNames]]] = {
            syntax.Select: self._step,
            syntax.Index: self._step,
            syntax.Method: self._step,
            syntax.Macro: self._macro,
        }
        self._ordered: dict[int, tuple[str, ...]] = {}
        self._prefixes: dict[int, tuple[VariableNames, ...]] = {}
        cel_syntax.walk(self._handlers, tree)

    def free(self, node: cel_syntax.Node) -> VariableNames:
        """The variables that a node reads and does not bind itself."""
        return self._free[id(node)]

    def ordered(self, node: cel_syntax.Node) -> tuple[str, ...]:
        """The free variables of a node, sorted."""
        found = self._ordered.get(id(node))
        if found is None:
            found = self._ordered[id(node)] = tuple(sorted(self._free[id(node)]))
        return found

    def prefixes(self, node: cel_syntax.Postfix) -> tuple[VariableNames, ...]:
        """The free variables of the operand, of the operand with one step, with two, ..."""
        return self._prefixes[id(node)]

    def add(self, node: cel_syntax.Node, names: VariableNames) -> None:
        """Take in a node made of parts of the tree."""
        self._free[id(node)] = names

    def _keep(self, node: cel_syntax.Node, names: VariableNames) -> VariableNames:
        self._free[id(node)] = names
        return names

    def _ident(self, node: syntax.Ident) -> VariableNames:
        if node.name.startswith("."):
            raise NotLoweredError("a name with a leading dot")
        return self._keep(node, frozenset({node.name}) & self._bound)

    def _plain(self, node: cel_syntax.Node) -> cel_syntax.Walk[VariableNames]:
        names = _NO_VARIABLES
        for child in cel_syntax.children(node):
            names |= yield child
        return self._keep(node, names)

    def _bind(self, node: syntax.Bind) -> cel_syntax.Walk[VariableNames]:
        init = yield node.init
        body = yield node.body
        return self._keep(node, init | (body - {node.variable}))

    def _postfix(self, node: cel_syntax.Postfix) -> cel_syntax.Walk[VariableNames]:
        names = yield node.operand
        prefixes = [names]
        for step in node.steps:
            names |= yield from self._steps[type(step)](step)
            prefixes.append(names)
        self._prefixes[id(node)] = tuple(prefixes)
        return self._keep(node, names)

    def _step(self, step: cel_syntax.Step) -> cel_syntax.Walk[VariableNames]:
        names = _NO_VARIABLES
        for child in cel_syntax.children(step):
            names |= yield child
        return names

    def _macro(self, step: syntax.Macro) -> cel_syntax.Walk[VariableNames]:
        names = yield from self._step(step)
        return names - frozenset(step.variables)


def _bound(tree: cel_syntax.Node) -> VariableNames:
    """All names that macros bind anywhere."""
    names: set[str] = set()
    pending: list[cel_syntax.Node] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Bind):
            names.add(node.variable)
        elif isinstance(node, cel_syntax.Postfix):
            names.update(name for step in node.steps if isinstance(step, syntax.Macro) for name in step.variables)
        pending.extend(cel_syntax.children(node))
    return frozenset(names)


class ClosureEvaluator:
    """A closure over some variables; the last of them may be set time and again."""

    def __init__(self, run: Closure, frame: Frame, budget: StepBudget, slot: int) -> None:
        self._run = run
        self._frame = frame
        self._budget = budget
        self._slot = slot

    def of(self, value: Value) -> Symbol:
        """Evaluate with this value of the last variable."""
        self._frame[self._slot] = value
        return self.symbol()

    def symbol(self) -> Symbol:
        """Evaluate; an error becomes that of a symbol, and ``NotLoweredError`` is too much work."""
        self._budget.spend(1)
        try:
            value = self._run(self._frame)
        except CelCostError as error:
            raise NotLoweredError(str(error)) from None
        except CelRuntimeError:
            return FAILED_SYMBOL
        return known_symbol(value)


class Closures:
    """Compiles parts when they are first evaluated."""

    def __init__(self, program: Program, budget: StepBudget) -> None:
        self._program = program
        self._budget = budget
        self._compiled: dict[
            tuple[int, tuple[str, ...]], tuple[cel_syntax.Node, Callable[[Sequence[Value]], ClosureEvaluator]]
        ] = {}

    def evaluator(self, node: cel_syntax.Node, names: Sequence[str], values: Sequence[Value]) -> ClosureEvaluator:
        """Prepare to evaluate a node with these variables."""
        key = (id(node), tuple(names))
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = (node, self._compile(node, names))
        return found[1](values)

    def _compile(self, node: cel_syntax.Node, names: Sequence[str]) -> Callable[[Sequence[Value]], ClosureEvaluator]:
        compiled = self._program.part(node, names)
        budget, slot = self._budget, len(names)
        return lambda values: ClosureEvaluator(compiled.run, compiled.frame(None, values), budget, slot)


_MOST_ARGUMENTS = 64


class Operation:
    """A function by cel-go's ``name``, e.g. ``_+_``; ``node`` computes it from variables ``names``."""

    __slots__ = ("name", "names", "node")

    def __init__(self, name: str, node: cel_syntax.Node, arity: int) -> None:
        self.name = name
        self.node = node
        self.names = tuple(_name(number) for number in range(arity))


def _name(number: int) -> str:
    if number >= _MOST_ARGUMENTS:
        raise NotLoweredError("a function of many arguments")
    return f"@{number}"


def _stand_ins(args: Sequence[cel_syntax.Node], first: int) -> tuple[cel_syntax.Node, ...]:
    """Names for arguments; constants stay, for some functions look at them beforehand."""
    return tuple(
        arg if type(arg) is cel_syntax.Literal else cel_syntax.Ident(_name(number), arg.pos)
        for number, arg in enumerate(args, first)
    )


def _of_method(step: cel_syntax.Method) -> Operation:
    made = cel_syntax.Method(step.name, _stand_ins(step.args, 1), step.pos)
    return Operation(
        step.name, cel_syntax.Postfix(cel_syntax.Ident(_name(0), step.pos), (made,), step.pos), 1 + len(step.args)
    )


def _of_index(step: cel_syntax.Index) -> Operation:
    made = cel_syntax.Index(cel_syntax.Ident(_name(1), step.pos), step.optional, step.pos)
    return Operation(
        "_[?_]" if step.optional else "_[_]",
        cel_syntax.Postfix(cel_syntax.Ident(_name(0), step.pos), (made,), step.pos),
        2,
    )


_MAKERS: dict[type, Callable[[Any], Operation]] = {
    cel_syntax.Call: lambda node: Operation(
        node.function, cel_syntax.Call(node.function, _stand_ins(node.args, 0), node.pos), len(node.args)
    ),
    cel_syntax.Unary: lambda node: Operation(
        f"{node.operator}_", cel_syntax.Unary(node.operator, cel_syntax.Ident(_name(0), node.pos), node.pos), 1
    ),
    cel_syntax.Has: lambda node: Operation(
        "has", cel_syntax.Has(cel_syntax.Ident(_name(0), node.pos), node.field, node.pos), 1
    ),
    cel_syntax.Method: _of_method,
    cel_syntax.Index: _of_index,
    cel_syntax.Select: lambda step: Operation(
        "_?._" if step.optional else "_._",
        cel_syntax.Postfix(cel_syntax.Ident(_name(0), step.pos), (step,), step.pos),
        1,
    ),
}


def operation_of(
    part: cel_syntax.Call
    | cel_syntax.Unary
    | cel_syntax.Has
    | cel_syntax.Method
    | cel_syntax.Index
    | cel_syntax.Select,
) -> Operation:
    """The function that a node or a step applies; the receiver is the first argument."""
    return _MAKERS[type(part)](part)


def binary_operation(operator: str, right: cel_syntax.Node, pos: int, *, constant: bool) -> Operation:
    """An operator of a chain; a ``constant`` list on its right side stays, for ``in`` looks at it beforehand."""
    operand = right if constant else cel_syntax.Ident(_name(1), pos)
    name = "@in" if operator == "in" else f"_{operator}_"
    return Operation(name, cel_syntax.Chain(cel_syntax.Ident(_name(0), pos), ((operator, operand, pos),), pos), 2)


def literal_operation(
    parts: Sequence[cel_syntax.Node], rebuild: Callable[[tuple[cel_syntax.Node, ...]], cel_syntax.Node]
) -> Operation:
    """A literal list or map of these parts."""
    return Operation("{}", rebuild(_stand_ins(parts, 0)), len(parts))

"""Strict functions of an expression, apart from their arguments: nodes with names where the operands stood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...cel.syntax import Call, Chain, Has, Ident, Index, Literal, Method, Node, Postfix, Select, Unary
from .symbolic_values import NotLoweredError

_MOST_ARGUMENTS = 64


class Operation:
    """A function by cel-go's ``name``, e.g. ``_+_``; ``node`` computes it from variables ``names``."""

    __slots__ = ("name", "names", "node")

    def __init__(self, name: str, node: Node, arity: int) -> None:
        self.name = name
        self.node = node
        self.names = tuple(_name(number) for number in range(arity))


def _name(number: int) -> str:
    if number >= _MOST_ARGUMENTS:
        raise NotLoweredError("a function of many arguments")
    return f"@{number}"


def _stand_ins(args: Sequence[Node], first: int) -> tuple[Node, ...]:
    """Names for arguments; constants stay, for some functions look at them beforehand."""
    return tuple(
        arg if type(arg) is Literal else Ident(_name(number), arg.pos) for number, arg in enumerate(args, first)
    )


def _of_call(node: Call) -> Operation:
    return Operation(node.function, Call(node.function, _stand_ins(node.args, 0), node.pos), len(node.args))


def _of_unary(node: Unary) -> Operation:
    return Operation(f"{node.operator}_", Unary(node.operator, Ident(_name(0), node.pos), node.pos), 1)


def _of_has(node: Has) -> Operation:
    return Operation("has", Has(Ident(_name(0), node.pos), node.field, node.pos), 1)


def _of_method(step: Method) -> Operation:
    made = Method(step.name, _stand_ins(step.args, 1), step.pos)
    return Operation(step.name, Postfix(Ident(_name(0), step.pos), (made,), step.pos), 1 + len(step.args))


def _of_index(step: Index) -> Operation:
    made = Index(Ident(_name(1), step.pos), step.optional, step.pos)
    return Operation("_[?_]" if step.optional else "_[_]", Postfix(Ident(_name(0), step.pos), (made,), step.pos), 2)


def _of_select(step: Select) -> Operation:
    return Operation("_?._" if step.optional else "_._", Postfix(Ident(_name(0), step.pos), (step,), step.pos), 1)


_MAKERS: dict[type, Callable[[Any], Operation]] = {
    Call: _of_call,
    Unary: _of_unary,
    Has: _of_has,
    Method: _of_method,
    Index: _of_index,
    Select: _of_select,
}


def operation(part: Call | Unary | Has | Method | Index | Select) -> Operation:
    """The function that a node or a step applies; the receiver is the first argument."""
    return _MAKERS[type(part)](part)


def binary_operation(operator: str, right: Node, pos: int, *, constant: bool) -> Operation:
    """An operator of a chain; a ``constant`` list on its right side stays, for ``in`` looks at it beforehand."""
    operand = right if constant else Ident(_name(1), pos)
    name = "@in" if operator == "in" else f"_{operator}_"
    return Operation(name, Chain(Ident(_name(0), pos), ((operator, operand, pos),), pos), 2)


def literal_operation(parts: Sequence[Node], rebuild: Callable[[tuple[Node, ...]], Node]) -> Operation:
    """A literal list or map of these parts."""
    return Operation("{}", rebuild(_stand_ins(parts, 0)), len(parts))

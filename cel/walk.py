"""Passes over the syntax tree without recursion."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from types import GeneratorType
from typing import Any, TypeAlias, TypeVar, cast

from . import syntax
from .syntax import Node, Step

R = TypeVar("R")
Walk: TypeAlias = Generator[Node, R, R]
"""A visit that yields the nodes it wants visited, is sent their results, and returns its own."""


def walk(handlers: Mapping[type, Callable[[Any], Walk[R] | R]], root: Node) -> R:
    """Visit a tree: the handler of a node's class gives a result at once, or a ``Walk`` to it.

    Trees may be as deep as brackets nest times the levels of precedence; this takes one Python frame.
    """
    stack: list[Walk[R]] = []
    visited: Any = handlers[type(root)](root)
    while True:
        sent: Any = None
        if type(visited) is GeneratorType:
            stack.append(visited)
        elif stack:
            sent = visited
        else:
            return cast("R", visited)
        try:
            node = stack[-1].send(sent)
        except StopIteration as stop:
            stack.pop()
            visited = stop.value
        else:
            visited = handlers[type(node)](node)


def children(node: Node | Step) -> Iterator[Node]:
    """The nodes directly below a node or step, in the order they are written."""
    below = _CHILDREN.get(type(node))
    return below(node) if below else iter(())


def _of_postfix(node: syntax.Postfix) -> Iterator[Node]:
    yield node.operand
    for step in node.steps:
        yield from children(step)


def _of_conditional(node: syntax.Conditional) -> Iterator[Node]:
    for branch in node.branches:
        yield from branch
    yield node.otherwise


def _of_chain(node: syntax.Chain) -> Iterator[Node]:
    yield node.first
    yield from (operand for _, operand, _ in node.rest)


_CHILDREN: dict[type, Callable[[Any], Iterator[Node]]] = {
    syntax.ListLiteral: lambda node: iter(node.elements),
    syntax.MapLiteral: lambda node: (part for entry in node.entries for part in entry),
    syntax.Struct: lambda node: (value for _, value in node.entries),
    syntax.Unary: lambda node: iter((node.operand,)),
    syntax.Chain: _of_chain,
    syntax.Logical: lambda node: iter(node.operands),
    syntax.Conditional: _of_conditional,
    syntax.Call: lambda node: iter(node.args),
    syntax.Has: lambda node: iter((node.operand,)),
    syntax.Bind: lambda node: iter((node.init, node.body)),
    syntax.Postfix: _of_postfix,
    syntax.Index: lambda node: iter((node.key,)),
    syntax.Method: lambda node: iter(node.args),
    syntax.Macro: lambda node: (part for part in (node.condition, node.body) if part is not None),
}

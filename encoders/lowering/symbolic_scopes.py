"""Which variables the parts of an expression read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...cel import syntax
from ...cel.syntax import Node, Postfix, Step
from ...cel.walk import Walk, children, walk
from .symbolic_values import NotLoweredError

Names: TypeAlias = frozenset[str]
_NONE: Names = frozenset()


class Scopes:
    """The free variables of every node of a tree; names that nothing binds are those of types."""

    def __init__(self, tree: Node, variables: Names) -> None:
        self._bound = variables | _bound(tree)
        self._free: dict[int, Names] = {}
        self._handlers: dict[type, Callable[[Any], Walk[Names] | Names]] = {
            **dict.fromkeys(
                (
                    syntax.Literal, syntax.ListLiteral, syntax.MapLiteral, syntax.Struct, syntax.Unary, syntax.Chain,
                    syntax.Logical, syntax.Conditional, syntax.Call, syntax.Has,
                ),
                self._plain,
            ),
            syntax.Ident: self._ident, syntax.Bind: self._bind, Postfix: self._postfix,
        }  # fmt: skip
        self._steps: dict[type, Callable[[Any], Walk[Names]]] = {
            syntax.Select: self._step,
            syntax.Index: self._step,
            syntax.Method: self._step,
            syntax.Macro: self._macro,
        }
        self._ordered: dict[int, tuple[str, ...]] = {}
        self._prefixes: dict[int, tuple[Names, ...]] = {}
        walk(self._handlers, tree)

    def free(self, node: Node) -> Names:
        """The variables that a node reads and does not bind itself."""
        return self._free[id(node)]

    def ordered(self, node: Node) -> tuple[str, ...]:
        """The free variables of a node, sorted."""
        found = self._ordered.get(id(node))
        if found is None:
            found = self._ordered[id(node)] = tuple(sorted(self._free[id(node)]))
        return found

    def prefixes(self, node: Postfix) -> tuple[Names, ...]:
        """The free variables of the operand, of the operand with one step, with two, ..."""
        return self._prefixes[id(node)]

    def add(self, node: Node, names: Names) -> None:
        """Take in a node made of parts of the tree."""
        self._free[id(node)] = names

    def _keep(self, node: Node, names: Names) -> Names:
        self._free[id(node)] = names
        return names

    def _ident(self, node: syntax.Ident) -> Names:
        if node.name.startswith("."):
            raise NotLoweredError("a name with a leading dot")
        return self._keep(node, frozenset({node.name}) & self._bound)

    def _plain(self, node: Node) -> Walk[Names]:
        names = _NONE
        for child in children(node):
            names |= yield child
        return self._keep(node, names)

    def _bind(self, node: syntax.Bind) -> Walk[Names]:
        init = yield node.init
        body = yield node.body
        return self._keep(node, init | (body - {node.variable}))

    def _postfix(self, node: Postfix) -> Walk[Names]:
        names = yield node.operand
        prefixes = [names]
        for step in node.steps:
            names |= yield from self._steps[type(step)](step)
            prefixes.append(names)
        self._prefixes[id(node)] = tuple(prefixes)
        return self._keep(node, names)

    def _step(self, step: Step) -> Walk[Names]:
        names = _NONE
        for child in children(step):
            names |= yield child
        return names

    def _macro(self, step: syntax.Macro) -> Walk[Names]:
        names = yield from self._step(step)
        return names - frozenset(step.variables)


def _bound(tree: Node) -> Names:
    """All names that macros bind anywhere."""
    names: set[str] = set()
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Bind):
            names.add(node.variable)
        elif isinstance(node, Postfix):
            names.update(name for step in node.steps if isinstance(step, syntax.Macro) for name in step.variables)
        pending.extend(children(node))
    return frozenset(names)

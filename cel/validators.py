"""What cel-go refuses in a tree that type-checks: mixed literals, constants that will not parse (cel.md 1.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .checker import Checked
from .errors import CelRuntimeError, Issue
from .syntax import Call, ListLiteral, Literal, MapLiteral, Method, Node, Postfix, position
from .types import Type, optional_of
from .validators_format import format_issues
from .walk import children

_PARSED = frozenset({"duration", "timestamp", "matches"})


def validate(checked: Checked, *, mixed_literals: bool = False) -> list[Issue]:
    """All complaints of the validators; with ``mixed_literals`` none about lists and maps of several types."""
    return [
        issue for node, exempt in _nodes(checked.tree) for issue in _issues(checked, node, exempt or mixed_literals)
    ]


def _nodes(tree: Node) -> Iterator[tuple[Node, bool]]:
    """Every node, and whether it is part of a call of ``format``, whose arguments may be mixed."""
    pending = [(tree, False)]
    while pending:
        node, exempt = pending.pop()
        yield node, exempt
        exempt = exempt or (type(node) is Postfix and any(_is_format(step) for step in node.steps))
        pending.extend((child, exempt) for child in children(node))


def _is_format(step: object) -> bool:
    return type(step) is Method and step.name == "format"


def _issues(checked: Checked, node: Node, exempt: bool) -> Iterator[Issue]:
    validator = _VALIDATORS.get(type(node))
    if validator is not None and not (exempt and type(node) in (ListLiteral, MapLiteral)):
        yield from validator(checked, node)


def _list(checked: Checked, node: ListLiteral) -> Iterator[Issue]:
    return _same_type(checked, node.elements, node.optional)


def _map(checked: Checked, node: MapLiteral) -> Iterator[Issue]:
    yield from _same_type(checked, [key for key, _ in node.entries], frozenset())
    yield from _same_type(checked, [value for _, value in node.entries], node.optional)


def _same_type(checked: Checked, nodes: Iterable[Node], optional: frozenset[int]) -> Iterator[Issue]:
    """At most one complaint: about the first that differs from the first of all."""
    first: Type | None = None
    for number, node in enumerate(nodes):
        found = checked.type_of(node)
        if number in optional and found.params and found is optional_of(found.params[0]):
            found = found.params[0]
        if first is None:
            first = found
        elif found is not first:
            yield Issue(position(node), f"expected type '{first}' but found '{found}'")
            return


def _call(checked: Checked, node: Call) -> Iterator[Issue]:
    if node.function in _PARSED and node.args:
        argument = node.args[0]
        # cel-go looks at the first argument of ``matches(s, re)`` too, though that is not the pattern.
        parts = (argument,) if node.function != "matches" else ("", argument)
        yield from _constant(checked, node.function, node.pos, argument, parts)


def _postfix(checked: Checked, node: Postfix) -> Iterator[Issue]:
    for number, step in enumerate(node.steps):
        if type(step) is not Method:
            continue
        if step.name == "matches" and len(step.args) == 1:
            yield from _constant(checked, "matches", step.pos, step.args[0], ("", step.args[0]))
        elif step.name == "format" and number == 0:
            yield from format_issues(checked, node.operand, step)


def _constant(checked: Checked, name: str, pos: int, argument: Node, parts: tuple[Any, ...]) -> Iterator[Issue]:
    """Try a function on a constant string."""
    if type(argument) is not Literal or type(argument.value) is not str:
        return
    values = [part.value if type(part) is Literal else part for part in parts]
    try:
        checked.overloads[pos][0].apply(*values)
    except CelRuntimeError:
        yield Issue(argument.pos, f"invalid {name} argument")


_VALIDATORS: dict[type, Callable[[Checked, Any], Iterator[Issue]]] = {
    ListLiteral: _list,
    MapLiteral: _map,
    Call: _call,
    Postfix: _postfix,
}

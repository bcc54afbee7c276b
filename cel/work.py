"""Whether what an expression costs tells how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .syntax import Bind, Call, Macro, Method, Node, Postfix, Step
from .walk import children

# Their work depends on what the pattern is, not on how long.
_PATTERNS = frozenset({"find", "findAll", "matches"})


def cost_shows_work(tree: Node) -> bool:
    """Whether an expression can do no work that its cost does not show.

    It may where it can put a value more than once into another, time and again: to compare or to print what comes of
    that costs next to nothing and takes for ever. A search for a pattern may take long too.
    """
    pending: list[Node] = [tree]
    while pending:
        node = pending.pop()
        parts = (node, *node.steps) if type(node) is Postfix else (node,)
        if any(_HIDING[type(part)](part) for part in parts if type(part) in _HIDING):
            return False
        pending.extend(children(node))
    return True


_HIDING: dict[type[Node | Step], Callable[[Any], bool]] = {
    Bind: lambda node: True,
    Macro: lambda step: step.body is not None,
    Call: lambda node: node.function in _PATTERNS,
    Method: lambda step: step.name in _PATTERNS,
}

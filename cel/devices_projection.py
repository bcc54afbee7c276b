"""Which part of a device an expression can see."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from .syntax import Has, Ident, Index, Literal, Node, Postfix, Select, Step
from .walk import children

Path: TypeAlias = tuple[str, ...]
"""Constant selections from the device: ``("attributes", "gpu.example.com", "model")``; ``()`` is all of it."""

_LONGEST = 3


def projection(tree: Node, variable: str = "device") -> frozenset[Path]:
    """The paths of a device that an expression can depend on; those that begin with another are left out."""
    found: set[Path] = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        path = _path(node, variable)
        if path is None:
            pending.extend(children(node))
        else:
            found.add(path[:_LONGEST])
            pending.extend(_keys(node))
    return outermost(found)


def outermost(paths: Collection[Path]) -> frozenset[Path]:
    """The paths but those that begin with another."""
    return frozenset(path for path in paths if not any(path[:length] in paths for length in range(len(path))))


def _path(node: Node, variable: str) -> Path | None:
    """The constant selections from the device that a node begins with; None where it is not about the device."""
    selected: list[Path] = []
    while True:
        if isinstance(node, Has):
            selected.append((node.field,))
            node = node.operand
        elif isinstance(node, Postfix):
            names = _constants(node.steps)
            if len(names) < len(node.steps):
                # What follows selects from something computed.
                selected.clear()
            selected.append(names)
            node = node.operand
        else:
            break
    if not isinstance(node, Ident) or node.name.removeprefix(".") != variable:
        return None
    return tuple(name for names in reversed(selected) for name in names)


def _constants(steps: tuple[Step, ...]) -> Path:
    """The constant selections that a chain of steps begins with."""
    names: list[str] = []
    for step in steps:
        if isinstance(step, Select):
            names.append(step.field)
        elif isinstance(step, Index) and isinstance(step.key, Literal) and type(step.key.value) is str:
            names.append(step.key.value)
        else:
            break
    return tuple(names)


def _keys(node: Node) -> list[Node]:
    """What is computed along a path: keys, and all that follows the constant selections."""
    keys: list[Node] = []
    while isinstance(node, (Has, Postfix)):
        if isinstance(node, Postfix):
            keys.extend(part for step in node.steps for part in children(step))
        node = node.operand
    return keys

"""Which part of a device an expression can see."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from .syntax import Has, Ident, Index, Literal, Node, Postfix, Select

Path: TypeAlias = tuple[str, ...]
"""Constant selections from the device: ``("attributes", "gpu.example.com", "model")``; ``()`` is all of it."""

WHOLE: frozenset[Path] = frozenset({()})


def projection(tree: Node, variable: str = "device") -> frozenset[Path]:
    """The paths of a device that the value of an expression can depend on; those with a shorter one are left out.

    A name that ``cel.bind`` gives to a path of the device counts as that path.
    """
    found: set[Path] = set()
    aliases: dict[str, Path] = {variable: ()}
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending.extend(node)
        elif is_dataclass(node):
            path, rest = _path(node, aliases)
            if path is not None:
                found.add(path)
            pending.extend(rest)
    return frozenset(path for path in found if not any(path[:length] in found for length in range(len(path))))


def _path(node: Any, aliases: dict[str, Path]) -> tuple[Path | None, list[Any]]:
    """The path that a node begins with, and the parts of it that are still to be searched."""
    if isinstance(node, Ident):
        return aliases.get(node.name.removeprefix(".")), []
    if isinstance(node, Has):
        return _path(Postfix(node.operand, (Select(node.field, False, node.pos),), node.pos), aliases)
    if isinstance(node, Postfix):
        path, rest = _path(node.operand, aliases)
        if path is None:
            return None, [*rest, *node.steps]
        constants = _constants(node)
        return (path + constants)[:3], [*rest, *node.steps[len(constants) :]]
    return None, [getattr(node, field.name) for field in fields(node)]


def _constants(node: Postfix) -> Path:
    names: list[str] = []
    for step in node.steps:
        if isinstance(step, Select):
            names.append(step.field)
        elif isinstance(step, Index) and isinstance(step.key, Literal) and type(step.key.value) is str:
            names.append(step.key.value)
        else:
            break
    return tuple(names)

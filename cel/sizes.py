"""What the static cost estimate knows of a value: its cost, its size, where it comes from.

Whether what an expression costs tells how long it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import types
from .declarations import UNBOUNDED, Range
from .syntax import Bind, Call, Literal, Macro, Method, Node, Postfix, Step, children
from .types import Type

Path = tuple[str, ...]
SizeOf = Callable[[Path], Range | None]
"""Declared sizes: of a variable, a field, and of ``@items``, ``@keys``, ``@values`` below it."""
ITEMS, KEYS, VALUES = "@items", "@keys", "@values"
ZERO_RANGE = Range(0, 0)
ONE_RANGE = Range(1, 1)
UNKNOWN_RANGE = Range(0, UNBOUNDED)
_SCALARS = frozenset(
    {types.BOOL, types.INT, types.UINT, types.DOUBLE, types.NULL, types.DURATION, types.TIMESTAMP}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeEstimate:
    """What is known of the value of a node.

    ``size`` is known of itself, else it follows from ``path`` or type. ``key`` and ``item`` are the sizes of what
    a literal list or map holds, one level deep as cel-go has it. ``literal`` is the node of a constant.
    """

    cost: Range
    type: Type
    size: Range | None = None
    path: Path | None = None
    key: Range | None = None
    item: Range | None = None
    literal: Literal | None = None


def fixed_range(amount: int) -> Range:
    """A range of one number."""
    return Range(amount, amount)


def add_ranges(*ranges: Range) -> Range:
    """The sum; beyond 64 bits it stays there."""
    low, high = 0, 0
    for one in ranges:
        low, high = low + one.min, high + one.max
    return Range(min(low, UNBOUNDED), min(high, UNBOUNDED))


def multiply_ranges(one: Range, other: Range) -> Range:
    """The product; beyond 64 bits it stays there."""
    return Range(min(one.min * other.min, UNBOUNDED), min(one.max * other.max, UNBOUNDED))


def scale_range(one: Range, factor: float) -> Range:
    """A part of each end, rounded up; in floating point, as cel-go has it."""
    return Range(min(math.ceil(one.min * factor), UNBOUNDED), min(math.ceil(one.max * factor), UNBOUNDED))


def range_union(one: Range, other: Range) -> Range:
    """From the lesser minimum to the greater maximum."""
    return Range(min(one.min, other.min), max(one.max, other.max))


def range_union_if_known(one: Range | None, other: Range | None) -> Range | None:
    """``range_union`` where both are known."""
    return range_union(one, other) if one is not None and other is not None else None


def size_at(path: Path | None, type_: Type, declared: SizeOf) -> Range:
    """The size of what stands at a path, from its declaration or its type."""
    found = declared(path) if path else None
    return size_by_type(type_) if found is None else found


def size_by_type(type_: Type) -> Range:
    """The size of what is known by its type alone; an optional is as large as its value."""
    while type_.name == "optional_type":
        type_ = type_.params[0]
    return ONE_RANGE if type_ in _SCALARS else UNKNOWN_RANGE


def child_path(path: Path | None, name: str) -> Path | None:
    """A path one step longer."""
    return (*path, name) if path is not None else None


_DEVICE: dict[Path, int] = {
    (): 0, ("driver",): 63, ("attributes",): 32, ("capacity",): 32, ("allowMultipleAllocations",): 1,
    ("capacity", VALUES, VALUES): 0,
}  # fmt: skip
_DOMAINS: dict[Path, int] = {(KEYS,): 63, (VALUES,): 32, (VALUES, KEYS): 32}
_ATTRIBUTE = 64


def device_sizes(path: Path) -> Range | None:
    """The sizes of the variable ``device`` (cel.md 1.1): 32 domains of 63, 32 names of 32, attribute values of 64."""
    if path[0] != "device":
        return None
    path = tuple(VALUES if part == ITEMS else part for part in path)
    limit = _DEVICE.get(path[1:])
    if limit is None and path[1] in ("attributes", "capacity"):
        limit = _DOMAINS.get(path[2:])
    if limit is None and len(path) == 4 and path[1:3] == ("attributes", VALUES):
        limit = _ATTRIBUTE
    return None if limit is None else Range(0, limit)


def device_set_sizes(most: int) -> SizeOf:
    """The sizes of the variable ``devices``: at most so many, each as ``device``, but of size 1 itself (CELC-6)."""

    def sizes(path: Path) -> Range | None:
        if path[0] != "devices":
            return None
        if len(path) <= 2:
            return Range(0, most if len(path) == 1 else 1)
        return device_sizes(("device", *path[2:]))

    return sizes


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

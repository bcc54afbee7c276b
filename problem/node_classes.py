"""Node classes: nodes that nothing tells apart for a question, so that the answer for one of them holds for all.

Two nodes are of one class for a question if what the question sees of their devices is of one node type (see
``shapes.NodeType``), and the same of these devices is in use. Some callers add more to the key, such as what pods leave
of a node, or the values of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from .problem import InUse
from .shapes import NodeView

Item = TypeVar("Item")


def node_class_key(view: NodeView, in_use: InUse) -> Hashable:
    """Return a key that is equal for nodes of one class; their views must be for questions that see the same."""
    return view.shape.index, in_use.key


def group_equal(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items with equal keys; the groups are in the order of their first items.

    Whatever ``key`` raises is raised, such as ``SelectorError`` for a node selector that cannot be parsed.
    """
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def group_equal_largest_first(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items as ``group_equal`` does, the largest groups first."""
    return sorted(group_equal(items, key), key=lambda group: -len(group))

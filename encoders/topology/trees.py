"""Devices under one tree node, or in one instance of a topology: the common value that a matchAttribute asks for."""

from __future__ import annotations

from collections.abc import Hashable

from ..common_value import post_common_value
from .covered import Covered


def post_common_node(covered: Covered) -> None:
    """Take devices under one tree node only, and none without a place.

    All shapes in a Tree say how far up that node may be; an instance that is no Tree counts as one node.
    """
    model, condition = covered.model, covered.condition
    numbers: dict[Hashable, int] = {}
    values: dict[tuple[int, int], int] = {}
    for branch in covered.relation.branches:
        for lot in model.collapsed.lots_of[branch]:
            device = model.collapsed.lots[lot].first
            if device in condition.homes:
                values[branch, lot] = 1 << numbers.setdefault(condition.node_of(device), len(numbers))
            else:
                values[branch, lot] = 0
    post_common_value(model, values, covered.guard, whole=True)

"""Devices under one tree node, or in one instance of a topology: the common value that a matchAttribute asks for."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..common_value import post_common_value
from .covered import Covered


def post_common_node(covered: Covered) -> None:
    """Take devices under one tree node only: all shapes in a Tree say how far up it may be."""
    post_common(covered, covered.condition.sight)


def post_common(covered: Covered, value_of: Callable[[int], Hashable]) -> None:
    """Take devices of one value only, and none without a place."""
    model = covered.model
    numbers: dict[Hashable, int] = {}
    values: dict[tuple[int, int], int] = {}
    for branch in covered.relation.branches:
        for lot in model.collapsed.lots_of[branch]:
            device = model.collapsed.lots[lot].first
            placed = device in covered.condition.homes
            values[branch, lot] = 1 << numbers.setdefault(value_of(device), len(numbers)) if placed else 0
    post_common_value(model, values, covered.guard, whole=True)

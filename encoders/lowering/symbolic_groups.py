"""The elements of a list, those together that a loop cannot tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from ...cel.devices_projection import projection
from ...cel.syntax import Node
from .sums import Handle
from .symbolic_bags import presence
from .symbolic_cases import Cases
from .symbolic_keys import identity_at
from .symbolic_values import Bag, Cell, Known, Symbol

Paths: TypeAlias = frozenset[tuple[str, ...]]


class Group:
    """Elements for which a loop's body gives the same; ``symbol`` is the value of one of them."""

    __slots__ = ("_present", "cells", "places", "symbol")

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol
        self.cells: list[Cell] = []
        self.places: list[int] = []
        self._present: Handle | None = None

    def present(self, cases: Cases) -> Handle:
        """The formula that any of them is there."""
        if self._present is None:
            self._present = cases.formulas.disj([presence(cases, cell.item, cell.gate) for cell in self.cells])
        return self._present


class Grouping:
    """All groups of a list, for loops that read the same of its elements."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.indexes: dict[Hashable, Any] = {}
        """What joins look groups up in."""


def paths(nodes: Sequence[Node], variable: str) -> Paths:
    """What the nodes read of a variable."""
    return frozenset(path for node in nodes for path in projection(node, variable))


def grouping(cases: Cases, bag: Bag, read: Paths) -> Grouping:
    """The groups of a list by what is read of its elements."""
    found: Grouping | None = bag.remembered.get(read)
    if found is None:
        cases.budget.spend(len(bag.cells))
        groups: dict[Hashable, Group] = {}
        ordered = tuple(read)
        for place, cell in enumerate(bag.cells):
            key = _key(cell, ordered)
            group = groups.get(place if key is None else key)
            if group is None:
                group = groups[place if key is None else key] = Group(cell.value)
            group.cells.append(cell)
            group.places.append(place)
        found = bag.remembered[read] = Grouping(list(groups.values()))
    return found


def _key(cell: Cell, read: tuple[tuple[str, ...], ...]) -> Hashable | None:
    leaf = cell.value.only
    if type(leaf) is not Known:
        return None
    keys = tuple(identity_at(leaf.value, path) for path in read)
    return None if None in keys else keys

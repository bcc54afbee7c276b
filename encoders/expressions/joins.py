"""Joins: an inner loop looks only at elements that a look-up on equal values finds, instead of at all pairs.

Elements of a list that a loop cannot tell apart form a group. A *plan* follows from the predicate of the loop. It gives
the groups for which the predicate may be other than a verdict that changes nothing (false for ``exists`` and
``filter``, true for ``all``); for the others it has that verdict without an error. ``&&`` is false where any operand
is, whatever the others do, and ``||`` true: there groups are intersected, elsewhere they are united.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

from ...cel.devices import read_paths
from ...cel.syntax import Chain, Logical, Method, Node, Postfix, Unary
from ...cel.values import Value
from .formula_nodes import Handle
from .lists import presence_formula
from .scopes import Scopes
from .values import LIST_TYPES, OPAQUE, Bag, BagCell, KnownValue, Symbol, SymbolBuilder, identity_at, loose_equality

GroupNumbers: TypeAlias = frozenset[int]
Evaluate: TypeAlias = Callable[[Node], Symbol]
"""Evaluates a node for the elements of the outer loops, or (with the inner variable set) of the inner one."""
Spread: TypeAlias = Callable[[Value], Sequence[Value] | None]
"""The values that any one of which may be equal; None: not known."""


def _single_value(value: Value) -> Sequence[Value]:
    return (value,)


def _list_elements(value: Value) -> Sequence[Value] | None:
    return value if type(value) in LIST_TYPES else None


def _elements_or_itself(value: Value) -> Sequence[Value]:
    return value if type(value) in LIST_TYPES else (value,)


@dataclass(frozen=True, slots=True)
class JoinLookup:
    """Groups whose ``own`` side may equal the ``outer`` side of a comparison."""

    own: Node
    outer: Node
    own_spread: Spread = _single_value
    outer_spread: Spread = _single_value


@dataclass(frozen=True, slots=True)
class PlanCombination:
    """Groups that are in all of the plans (``intersect``), or in any."""

    plans: tuple[JoinPlan, ...]
    intersect: bool


JoinPlan: TypeAlias = JoinLookup | PlanCombination


class JoinPlanner:
    """Plans for the loop over one variable; None is a plan of all groups."""

    def __init__(self, scopes: Scopes, variable: str) -> None:
        self._scopes = scopes
        self._variable = variable

    def plan(self, node: Node, verdict: bool) -> JoinPlan | None:
        """Which elements may give other than the verdict."""
        make = _PLANS.get(type(node))
        return None if make is None else make(self, node, verdict)

    def logical(self, node: Logical, verdict: bool) -> JoinPlan | None:
        """``&&`` and ``||``."""
        plans = [self.plan(operand, verdict) for operand in node.operands]
        found = tuple(plan for plan in plans if plan is not None)
        intersect = (node.operator == "||") is verdict
        if not found or (not intersect and len(found) < len(plans)):
            return None
        return PlanCombination(found, intersect)

    def unary(self, node: Unary, verdict: bool) -> JoinPlan | None:
        """``!``, as runs of it are folded."""
        return self.plan(node.operand, not verdict) if node.operator == "!" else None

    def chain(self, node: Chain, verdict: bool) -> JoinPlan | None:
        """A comparison that is not part of a longer chain."""
        if len(node.rest) != 1 or (node.rest[0][0], verdict) not in _COMPARISONS:
            return None
        operator, right, _ = node.rest[0]
        spreads = (_single_value, _list_elements) if operator == "in" else (_single_value, _single_value)
        return self._lookup((node.first, right), spreads)

    def postfix(self, node: Postfix, verdict: bool) -> JoinPlan | None:
        """``a.includes(b)``."""
        *before, last = node.steps
        if verdict or type(last) is not Method or last.name not in ("include", "includes") or len(last.args) != 1:
            return None
        receiver = Postfix(node.operand, tuple(before), node.pos) if before else node.operand
        if before:
            self._scopes.add(receiver, self._scopes.prefixes(node)[-2])
        return self._lookup((receiver, last.args[0]), (_elements_or_itself, _single_value))

    def _lookup(self, sides: tuple[Node, Node], spreads: tuple[Spread, Spread]) -> JoinPlan | None:
        free = [self._scopes.free(side) for side in sides]
        for own in (0, 1):
            if free[own] == {self._variable} and self._variable not in free[1 - own]:
                return JoinLookup(sides[own], sides[1 - own], spreads[own], spreads[1 - own])
        return None


_COMPARISONS = frozenset({("==", False), ("!=", True), ("in", False)})
_PLANS: dict[type, Callable[[JoinPlanner, Any, bool], JoinPlan | None]] = {
    Logical: JoinPlanner.logical,
    Unary: JoinPlanner.unary,
    Chain: JoinPlanner.chain,
    Postfix: JoinPlanner.postfix,
}


@dataclass(slots=True)
class JoinIndex:
    """Groups by the values that one side of a comparison has for them."""

    by_key: dict[Hashable, set[int]] = field(default_factory=dict)
    always: set[int] = field(default_factory=set)
    """Those for which it fails, or has a value that cannot be looked up."""
    opaque: dict[type, set[int]] = field(default_factory=dict)
    """Those with values that nothing of another type can be compared with, by their type."""


def build_join_index(own: Spread, symbols: Sequence[Symbol]) -> JoinIndex:
    """The index of what a side gives for each group."""
    index = JoinIndex()
    for group, symbol in enumerate(symbols):
        keys = _equality_keys(own, symbol)
        if keys is None:
            index.always.add(group)
            continue
        for kind, key in keys:
            index.by_key.setdefault(key, set()).add(group)
            if kind in OPAQUE:
                index.opaque.setdefault(kind, set()).add(group)
    return index


def _equality_keys(spread: Spread, symbol: Symbol) -> list[tuple[type, Hashable]] | None:
    leaf = symbol.only
    values = spread(leaf.value) if type(leaf) is KnownValue else None
    if values is None:
        return None
    keys = [(type(value), loose_equality(value)) for value in values]
    return None if any(key is None for _, key in keys) else keys


def _matching_groups_of(index: JoinIndex, keys: list[tuple[type, Hashable]], every: GroupNumbers) -> GroupNumbers:
    found = set(index.always)
    for kind, key in keys:
        found |= index.by_key.get(key, set())
        if kind in OPAQUE:
            found |= every - index.opaque.get(kind, set())
        for other, groups in index.opaque.items():
            if other is not kind:
                found |= groups
    return frozenset(found)


class JoinExecution:
    """A plan carried out: ``choose`` gives the groups to look at for the present values of the outer variables."""

    def __init__(self, plan: JoinPlan, grouping: ElementGrouping) -> None:
        self._plan = plan
        self._grouping = grouping
        self._every: GroupNumbers = frozenset(range(len(grouping.groups)))

    def choose(self, outer: Evaluate, inner: Callable[[Node], Sequence[Symbol]]) -> list[int]:
        """The groups, in order; ``inner`` evaluates a node for all groups."""
        return sorted(self._chosen(self._plan, outer, inner))

    def _chosen(self, plan: JoinPlan, outer: Evaluate, inner: Callable[[Node], Sequence[Symbol]]) -> GroupNumbers:
        if type(plan) is PlanCombination:
            parts = [self._chosen(part, outer, inner) for part in plan.plans]
            if plan.intersect:
                return reduce(frozenset.intersection, sorted(parts, key=len))
            return frozenset().union(*parts)
        assert type(plan) is JoinLookup
        keys = _equality_keys(plan.outer_spread, outer(plan.outer))
        return self._every if keys is None else _matching_groups_of(self._index(plan, inner), keys, self._every)

    def _index(self, plan: JoinLookup, inner: Callable[[Node], Sequence[Symbol]]) -> JoinIndex:
        key = (id(plan.own), plan.own_spread)
        index: JoinIndex | None = self._grouping.indexes.get(key)
        if index is None:
            index = self._grouping.indexes[key] = build_join_index(plan.own_spread, inner(plan.own))
        return index


Paths: TypeAlias = frozenset[tuple[str, ...]]


class ElementGroup:
    """Elements for which a loop's body gives the same; ``symbol`` is the value of one of them."""

    __slots__ = ("_present", "cells", "places", "symbol")

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol
        self.cells: list[BagCell] = []
        self.places: list[int] = []
        self._present: Handle | None = None

    def present(self, cases: SymbolBuilder) -> Handle:
        """The formula that any of them is there."""
        if self._present is None:
            self._present = cases.formulas.disj([presence_formula(cases, cell.item, cell.gate) for cell in self.cells])
        return self._present


class ElementGrouping:
    """All groups of a list, for loops that read the same of its elements."""

    def __init__(self, groups: Sequence[ElementGroup]) -> None:
        self.groups = groups
        self.indexes: dict[Hashable, Any] = {}
        """What joins look groups up in."""


def paths_read(nodes: Sequence[Node], variable: str) -> Paths:
    """What the nodes read of a variable."""
    return frozenset(path for node in nodes for path in read_paths(node, variable))


def group_elements(cases: SymbolBuilder, bag: Bag, read: Paths) -> ElementGrouping:
    """The groups of a list by what is read of its elements."""
    found: ElementGrouping | None = bag.remembered.get(read)
    if found is None:
        cases.budget.spend(len(bag.cells))
        groups: dict[Hashable, ElementGroup] = {}
        ordered = tuple(read)
        for place, cell in enumerate(bag.cells):
            key = _cell_key(cell, ordered)
            group = groups.get(place if key is None else key)
            if group is None:
                group = groups[place if key is None else key] = ElementGroup(cell.value)
            group.cells.append(cell)
            group.places.append(place)
        found = bag.remembered[read] = ElementGrouping(list(groups.values()))
    return found


def _cell_key(cell: BagCell, read: tuple[tuple[str, ...], ...]) -> Hashable | None:
    leaf = cell.value.only
    if type(leaf) is not KnownValue:
        return None
    keys = tuple(identity_at(leaf.value, path) for path in read)
    return None if None in keys else keys

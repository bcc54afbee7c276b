"""Finding the elements that an inner loop can be about by look-up: a join on equal values instead of all pairs.

A *plan* follows from the predicate. It gives the groups of a list for which the predicate may be other than a verdict
that changes nothing (false for ``exists`` and ``filter``, true for ``all``); for the others it has that verdict without
an error. ``&&`` is false where any operand is, whatever the others do, and ``||`` true: there groups are met, elsewhere
joined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

from ...cel.syntax import Chain, Logical, Method, Node, Postfix, Unary
from ...cel.values import Value
from .symbolic_groups import Grouping
from .symbolic_keys import OPAQUE, loose_equality
from .symbolic_scopes import Scopes
from .symbolic_values import Known, Symbol

Chosen: TypeAlias = frozenset[int]
Evaluate: TypeAlias = Callable[[Node], Symbol]
"""Evaluates a node for the elements of the outer loops, or (with the inner variable set) of the inner one."""
Spread: TypeAlias = Callable[[Value], Sequence[Value] | None]
"""The values that any one of which may be equal; None: not known."""

_LISTS = frozenset({list, tuple})


def _itself(value: Value) -> Sequence[Value]:
    return (value,)


def _elements(value: Value) -> Sequence[Value] | None:
    return value if type(value) in _LISTS else None


def _any_of(value: Value) -> Sequence[Value]:
    return value if type(value) in _LISTS else (value,)


@dataclass(frozen=True, slots=True)
class Lookup:
    """Groups whose ``own`` side may equal the ``outer`` side of a comparison."""

    own: Node
    outer: Node
    own_spread: Spread = _itself
    outer_spread: Spread = _itself


@dataclass(frozen=True, slots=True)
class Together:
    """Groups that are in all of the plans (``met``), or in any."""

    plans: tuple[Plan, ...]
    met: bool


Plan: TypeAlias = Lookup | Together


class Planner:
    """Plans for the loop over one variable; None is a plan of all groups."""

    def __init__(self, scopes: Scopes, variable: str) -> None:
        self._scopes = scopes
        self._variable = variable

    def plan(self, node: Node, verdict: bool) -> Plan | None:
        """Which elements may give other than the verdict."""
        make = _PLANS.get(type(node))
        return None if make is None else make(self, node, verdict)

    def logical(self, node: Logical, verdict: bool) -> Plan | None:
        """``&&`` and ``||``."""
        plans = [self.plan(operand, verdict) for operand in node.operands]
        found = tuple(plan for plan in plans if plan is not None)
        met = (node.operator == "||") is verdict
        if not found or (not met and len(found) < len(plans)):
            return None
        return Together(found, met)

    def unary(self, node: Unary, verdict: bool) -> Plan | None:
        """``!``, as runs of it are folded."""
        return self.plan(node.operand, not verdict) if node.operator == "!" else None

    def chain(self, node: Chain, verdict: bool) -> Plan | None:
        """A comparison that is not part of a longer chain."""
        if len(node.rest) != 1 or (node.rest[0][0], verdict) not in _COMPARISONS:
            return None
        operator, right, _ = node.rest[0]
        spreads = (_itself, _elements) if operator == "in" else (_itself, _itself)
        return self._lookup((node.first, right), spreads)

    def postfix(self, node: Postfix, verdict: bool) -> Plan | None:
        """``a.includes(b)``."""
        *before, last = node.steps
        if verdict or type(last) is not Method or last.name not in ("include", "includes") or len(last.args) != 1:
            return None
        receiver = Postfix(node.operand, tuple(before), node.pos) if before else node.operand
        if before:
            self._scopes.add(receiver, self._scopes.prefixes(node)[-2])
        return self._lookup((receiver, last.args[0]), (_any_of, _itself))

    def _lookup(self, sides: tuple[Node, Node], spreads: tuple[Spread, Spread]) -> Plan | None:
        free = [self._scopes.free(side) for side in sides]
        for own in (0, 1):
            if free[own] == {self._variable} and self._variable not in free[1 - own]:
                return Lookup(sides[own], sides[1 - own], spreads[own], spreads[1 - own])
        return None


_COMPARISONS = frozenset({("==", False), ("!=", True), ("in", False)})
_PLANS: dict[type, Callable[[Planner, Any, bool], Plan | None]] = {
    Logical: Planner.logical,
    Unary: Planner.unary,
    Chain: Planner.chain,
    Postfix: Planner.postfix,
}


@dataclass(slots=True)
class Index:
    """Groups by the values that one side of a comparison has for them."""

    by_key: dict[Hashable, set[int]] = field(default_factory=dict)
    always: set[int] = field(default_factory=set)
    """Those for which it fails, or has a value that cannot be looked up."""
    opaque: dict[type, set[int]] = field(default_factory=dict)
    """Those with values that nothing of another type can be compared with, by their type."""


def make_index(own: Spread, symbols: Sequence[Symbol]) -> Index:
    """The index of what a side gives for each group."""
    index = Index()
    for group, symbol in enumerate(symbols):
        keys = _keys(own, symbol)
        if keys is None:
            index.always.add(group)
            continue
        for kind, key in keys:
            index.by_key.setdefault(key, set()).add(group)
            if kind in OPAQUE:
                index.opaque.setdefault(kind, set()).add(group)
    return index


def _keys(spread: Spread, symbol: Symbol) -> list[tuple[type, Hashable]] | None:
    leaf = symbol.only
    values = spread(leaf.value) if type(leaf) is Known else None
    if values is None:
        return None
    keys = [(type(value), loose_equality(value)) for value in values]
    return None if any(key is None for _, key in keys) else keys


def _found(index: Index, keys: list[tuple[type, Hashable]], every: Chosen) -> Chosen:
    found = set(index.always)
    for kind, key in keys:
        found |= index.by_key.get(key, set())
        if kind in OPAQUE:
            found |= every - index.opaque.get(kind, set())
        for other, groups in index.opaque.items():
            if other is not kind:
                found |= groups
    return frozenset(found)


class Join:
    """A plan carried out: ``choose`` gives the groups to look at for the present values of the outer variables."""

    def __init__(self, plan: Plan, grouping: Grouping) -> None:
        self._plan = plan
        self._grouping = grouping
        self._every: Chosen = frozenset(range(len(grouping.groups)))

    def choose(self, outer: Evaluate, inner: Callable[[Node], Sequence[Symbol]]) -> list[int]:
        """The groups, in order; ``inner`` evaluates a node for all groups."""
        return sorted(self._chosen(self._plan, outer, inner))

    def _chosen(self, plan: Plan, outer: Evaluate, inner: Callable[[Node], Sequence[Symbol]]) -> Chosen:
        if type(plan) is Together:
            parts = [self._chosen(part, outer, inner) for part in plan.plans]
            if plan.met:
                return reduce(frozenset.intersection, sorted(parts, key=len))
            return frozenset().union(*parts)
        assert type(plan) is Lookup
        keys = _keys(plan.outer_spread, outer(plan.outer))
        return self._every if keys is None else _found(self._index(plan, inner), keys, self._every)

    def _index(self, plan: Lookup, inner: Callable[[Node], Sequence[Symbol]]) -> Index:
        key = (id(plan.own), plan.own_spread)
        index: Index | None = self._grouping.indexes.get(key)
        if index is None:
            index = self._grouping.indexes[key] = make_index(plan.own_spread, inner(plan.own))
        return index

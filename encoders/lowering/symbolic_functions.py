"""Strict functions on leaves: by a rule for what depends on the counts, else case by case, by closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from . import symbolic_bags as bags
from . import symbolic_equality as equality
from .sums import Handle
from .symbolic_arithmetic import RULES as NUMBER_RULES
from .symbolic_bags import as_bag
from .symbolic_cases import Cases
from .symbolic_closures import Closures
from .symbolic_folds import FOLDS, total
from .symbolic_numbers import expanded
from .symbolic_operations import Operation
from .symbolic_values import FAILED, Bag, Known, Leaf, NotLoweredError, Number, Symbol, known, one

_Rule: TypeAlias = Callable[..., Symbol | None]
_ALIKE: frozenset[str] = frozenset({"_._", "_?._", "has", "type"})
"""Functions to which all numbers are alike, and all lists."""


def _of_list(rule: Callable[[Cases, Bag], Symbol]) -> _Rule:
    """A rule for a function of one list."""

    def apply(cases: Cases, leaf: Leaf) -> Symbol | None:
        return rule(cases, leaf) if type(leaf) is Bag else None

    return apply


def _flatten(cases: Cases, leaf: Leaf, *depths: Leaf) -> Symbol | None:
    levels = [depth.value for depth in depths if type(depth) is Known and type(depth.value) is int]
    if type(leaf) is not Bag or len(levels) < len(depths):
        return None
    return bags.flatten(cases, leaf, *levels)


def _element(optional: bool) -> _Rule:
    def apply(cases: Cases, leaf: Leaf, key: Leaf) -> Symbol | None:
        if type(leaf) is not Bag or type(key) is not Known:
            return None
        return bags.element(cases, leaf, key.value, optional=optional)

    return apply


def _join(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
    left, right = as_bag(a), as_bag(b)
    if left is None or right is None:
        return FAILED
    return bags.join(cases, left, right)


_LIST_RULES: dict[tuple[str, int], _Rule] = {
    ("size", 1): _of_list(bags.size),
    ("reverse", 1): _of_list(bags.reverse),
    ("first", 1): _of_list(bags.first),
    ("last", 1): _of_list(bags.last),
    ("flatten", 1): _flatten,
    ("flatten", 2): _flatten,
    ("_[_]", 2): _element(optional=False),
    ("_[?_]", 2): _element(optional=True),
    ("_+_", 2): _join,
    ("dyn", 1): NUMBER_RULES["dyn", 1],
    **{(name, 1): _of_list(fold) for name, fold in FOLDS.items()},
}
_ANY_RULES: dict[tuple[str, int], _Rule] = {
    ("_==_", 2): equality.equals,
    ("_!=_", 2): equality.differs,
    ("@in", 2): equality.is_in,
    ("includes", 2): equality.includes,
    ("include", 2): equality.includes,
    ("sets.contains", 2): equality.set_contains,
    ("sets.intersects", 2): equality.set_intersects,
    ("sets.equivalent", 2): equality.set_equivalent,
    ("optional.of", 1): lambda cases, leaf: bags.wrapped(cases, one(leaf)),
}


class Functions:
    """Applies the strict functions of one expression."""

    def __init__(self, cases: Cases, closures: Closures) -> None:
        self._cases = cases
        self._closures = closures

    def apply(self, operation: Operation, symbols: Sequence[Symbol]) -> Symbol:
        """The function of these arguments."""
        return self._cases.combine(symbols, lambda leaves: self._on_leaves(operation, leaves))

    def _on_leaves(self, operation: Operation, leaves: tuple[Leaf, ...]) -> Symbol:
        kinds = set(map(type, leaves))
        if kinds <= {Known}:
            return self._evaluated(operation, leaves)
        found = self._by_rule(operation, leaves, listed=Bag in kinds)
        return self._spread(operation, leaves) if found is None else found

    def _evaluated(self, operation: Operation, leaves: tuple[Leaf, ...]) -> Symbol:
        values = [leaf.value for leaf in leaves if type(leaf) is Known]
        return self._closures.evaluator(operation.node, operation.names, values).symbol()

    def _by_rule(self, operation: Operation, leaves: tuple[Leaf, ...], *, listed: bool) -> Symbol | None:
        key = (operation.name, len(leaves))
        if key == ("sum", 1) and type(leaves[0]) is Bag:
            return total(self._cases, leaves[0], self._evaluated(operation, (Known([]),)))
        rule = _ANY_RULES.get(key) or (_LIST_RULES if listed else NUMBER_RULES).get(key)
        return None if rule is None else rule(self._cases, *leaves)

    def _spread(self, operation: Operation, leaves: tuple[Leaf, ...]) -> Symbol:
        """By the cases of the one number, or list written out, that has the fewest."""
        if operation.name in _ALIKE:
            return self._evaluated(operation, tuple(map(_sample, leaves)))
        place, cases = min(self._expansions(leaves), key=lambda found: len(found[1]), default=(-1, []))
        if place < 0:
            raise NotLoweredError(f"{operation.name} of what depends on the counts in too many ways")
        before, after = leaves[:place], leaves[place + 1 :]
        return self._cases.gather((guard, self._on_leaves(operation, (*before, leaf, *after))) for guard, leaf in cases)

    def _expansions(self, leaves: tuple[Leaf, ...]) -> Iterator[tuple[int, Sequence[tuple[Handle, Leaf]]]]:
        for place, leaf in enumerate(leaves):
            if type(leaf) is Known:
                continue
            try:
                yield place, self._expanded(leaf)
            except NotLoweredError:
                continue

    def _expanded(self, leaf: Leaf) -> Sequence[tuple[Handle, Leaf]]:
        if type(leaf) is Number:
            return expanded(self._cases, leaf)
        if type(leaf) is Bag and leaf.is_literal:
            return self._cases.combine([cell.value for cell in leaf.cells], self._listed).cases
        raise NotLoweredError("a list whose length depends on the counts")

    def _listed(self, leaves: tuple[Leaf, ...]) -> Symbol:
        """A list written out, of these elements."""
        place = next((place for place, leaf in enumerate(leaves) if type(leaf) is not Known), None)
        if place is None:
            return known([leaf.value for leaf in leaves if type(leaf) is Known])
        before, after = leaves[:place], leaves[place + 1 :]
        return self._cases.gather(
            (guard, self._listed((*before, leaf, *after))) for guard, leaf in self._expanded(leaves[place])
        )


def _sample(leaf: Leaf) -> Leaf:
    return Known(equality.sample(leaf))

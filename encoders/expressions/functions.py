"""Strict functions on symbols: by a rule for what depends on the counts, else case by case, by closures.

The rules of ``==`` and of what is built upon it, ``in``, ``includes`` and ``sets``, stand here; those of numbers are in
``numbers``, those of lists in ``lists``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...cel.errors import CelRuntimeError
from ...cel.libraries.kubernetes import ComputedQuantity as QuantitySum
from ...cel.values import Duration, UInt, Value, equal
from ...models.kubernetes.quantity import Quantity
from . import lists as bags
from . import numbers
from . import values as cel_values
from .formula_nodes import FALSE, TRUE, Handle
from .lists import FOLDS, as_bag, bag_is_empty, bag_total, bag_values
from .scopes import Closures, Operation

_ZEROS: dict[type, Value] = {
    **{kind: kind(0) for kind in (int, UInt, float, Duration, Quantity)},
    QuantitySum: QuantitySum.of(Quantity(0)),
}
_FAMILIES: tuple[frozenset[type], ...] = (numbers.NUMERIC, numbers.QUANTITIES, frozenset({Duration}))


@dataclass(frozen=True, slots=True)
class LeafMatch:
    """Where two leaves are equal, and where comparing them fails."""

    true: Handle
    error: Handle = FALSE


_ALWAYS_MATCHES, _NEVER_MATCHES, _MATCH_FAILS = LeafMatch(TRUE), LeafMatch(FALSE), LeafMatch(FALSE, TRUE)


def match_leaves(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> LeafMatch:
    """``a == b``."""
    if type(a) is cel_values.Bag or type(b) is cel_values.Bag:
        return _match_lists(cases, a, b)
    if type(a) is cel_values.LinearNumber or type(b) is cel_values.LinearNumber:
        left, right = numbers.as_compared_number(a), numbers.as_compared_number(b)
        if left and right and any(left.kind in family and right.kind in family for family in _FAMILIES):
            return _match_numbers(cases, left, right)
        # What is left of numbers are doubles without a value, and no number equals those.
    return _match_values(sample_value(a), sample_value(b))


def sample_value(leaf: cel_values.Leaf) -> Value:
    """A value of the type of a leaf: all are alike to what is of another type."""
    if type(leaf) is cel_values.LinearNumber:
        return _ZEROS[leaf.kind]
    return leaf.value if type(leaf) is cel_values.KnownValue else []


def _match_values(a: Value, b: Value) -> LeafMatch:
    try:
        return _ALWAYS_MATCHES if equal(a, b) else _NEVER_MATCHES
    except CelRuntimeError:
        return _MATCH_FAILS


def _match_numbers(
    cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber
) -> LeafMatch:
    if b.kind is QuantitySum:
        # Held by reference, which nothing compares with.
        return _MATCH_FAILS
    if float in (a.kind, b.kind) and not (numbers.fits_double(cases, a) and numbers.fits_double(cases, b)):
        raise cel_values.NotLoweredError("an integer that is rounded to be compared with a double")
    return LeafMatch(numbers.equal_numbers(cases, a, b))


def _match_lists(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> LeafMatch:
    left, right = as_bag(a), as_bag(b)
    if left is None or right is None:
        return _match_values(sample_value(a), sample_value(b))
    if not left.cells or not right.cells:
        return LeafMatch(bag_is_empty(cases, left if left.cells else right))
    if not left.is_literal or not right.is_literal:
        raise cel_values.NotLoweredError("lists compared, whose order depends on that of the devices")
    if len(left.cells) != len(right.cells):
        return _NEVER_MATCHES
    pairs = zip(left.cells, right.cells, strict=True)
    return LeafMatch(cases.formulas.conj([_match_inside(cases, one.value, other.value) for one, other in pairs]))


def _match_inside(cases: cel_values.SymbolBuilder, a: cel_values.Symbol, b: cel_values.Symbol) -> Handle:
    """Elements of two lists, where what cannot be compared counts as equal."""
    conj, disj = cases.formulas.conj, cases.formulas.disj
    found = []
    for guard, leaf in a.cases:
        for other_guard, other in b.cases:
            matched = match_leaves(cases, leaf, other)
            found.append(conj((guard, other_guard, disj((matched.true, matched.error)))))
    return disj(found)


def equals(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol:
    """``==``."""
    found = match_leaves(cases, a, b)
    return cases.boolean(found.true, found.error)


def differs(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol:
    """``!=``, which holds where ``==`` fails."""
    return cases.boolean(~match_leaves(cases, a, b).true)


# --- membership


@dataclass(frozen=True, slots=True)
class _BagMembers:
    """The values in a list, those that can be looked up apart from the others."""

    keyed: dict[Hashable, Handle]
    others: Sequence[tuple[cel_values.Leaf, Handle]]
    all: Sequence[tuple[cel_values.Leaf, Handle]]


def _bag_members(cases: cel_values.SymbolBuilder, bag: cel_values.Bag) -> _BagMembers:
    found: _BagMembers | None = bag.remembered.get("members")
    if found is None:
        keyed: dict[Hashable, list[Handle]] = {}
        others: list[tuple[cel_values.Leaf, Handle]] = []
        every = bag_values(cases, bag)
        for leaf, handle in every:
            key = cel_values.exact_equality(leaf.value) if type(leaf) is cel_values.KnownValue else None
            if key is None:
                others.append((leaf, handle))
            else:
                keyed.setdefault(key, []).append(handle)
        found = _BagMembers({key: cases.formulas.disj(handles) for key, handles in keyed.items()}, others, every)
        bag.remembered["members"] = found
    return found


_ComparisonOrder: TypeAlias = Callable[[cel_values.Leaf, cel_values.Leaf], tuple[cel_values.Leaf, cel_values.Leaf]]


def _wanted_first(wanted: cel_values.Leaf, element: cel_values.Leaf) -> tuple[cel_values.Leaf, cel_values.Leaf]:
    return wanted, element


def _element_first(wanted: cel_values.Leaf, element: cel_values.Leaf) -> tuple[cel_values.Leaf, cel_values.Leaf]:
    return element, wanted


def contains(
    cases: cel_values.SymbolBuilder,
    bag: cel_values.Bag,
    wanted: cel_values.Leaf,
    order: _ComparisonOrder = _wanted_first,
) -> Handle:
    """The formula that a list has an element equal to ``wanted``; ``order`` tells which stands left of ``==``."""
    members = _bag_members(cases, bag)
    key = cel_values.exact_equality(wanted.value) if type(wanted) is cel_values.KnownValue else None
    rest = members.all if key is None else members.others
    cases.budget.spend(1 + len(rest))
    found = [] if key is None else [members.keyed.get(key, FALSE)]
    for leaf, handle in rest:
        matched = match_leaves(cases, *order(wanted, leaf)).true
        if matched != FALSE:
            found.append(cases.formulas.conj((handle, matched)))
    return cases.formulas.disj(found)


def is_in(
    cases: cel_values.SymbolBuilder, wanted: cel_values.Leaf, container: cel_values.Leaf
) -> cel_values.Symbol | None:
    """``in``; maps have no rule."""
    bag = as_bag(container)
    return None if bag is None else cases.boolean(contains(cases, bag, wanted))


def includes(
    cases: cel_values.SymbolBuilder, value: cel_values.Leaf, wanted: cel_values.Leaf
) -> cel_values.Symbol | None:
    """``includes``: of a list or of a single value."""
    bag = as_bag(value)
    if bag is None:
        return cases.boolean(match_leaves(cases, value, wanted).true)
    return cases.boolean(contains(cases, bag, wanted, _element_first))


# --- sets


def _all_in(cases: cel_values.SymbolBuilder, wanted: cel_values.Bag, bag: cel_values.Bag) -> Handle:
    disj = cases.formulas.disj
    return cases.formulas.conj(
        [disj((~handle, contains(cases, bag, leaf))) for leaf, handle in bag_values(cases, wanted)]
    )


def _set_rule(
    condition: Callable[[cel_values.SymbolBuilder, cel_values.Bag, cel_values.Bag], Handle],
) -> Callable[[cel_values.SymbolBuilder, cel_values.Leaf, cel_values.Leaf], cel_values.Symbol]:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol:
        left, right = as_bag(a), as_bag(b)
        if left is None or right is None:
            return cel_values.FAILED_SYMBOL
        return cases.boolean(condition(cases, left, right))

    return rule


set_contains = _set_rule(lambda cases, a, b: _all_in(cases, b, a))
set_intersects = _set_rule(
    lambda cases, a, b: cases.formulas.disj(
        [cases.formulas.conj((handle, contains(cases, b, leaf))) for leaf, handle in bag_values(cases, a)]
    )
)
set_equivalent = _set_rule(lambda cases, a, b: cases.formulas.conj((_all_in(cases, b, a), _all_in(cases, a, b))))
_TYPE_ONLY_FUNCTIONS: frozenset[str] = frozenset({"_._", "_?._", "has", "type"})
"""Functions to which all numbers are alike, and all lists."""


def _list_rule(rule: Callable[[cel_values.SymbolBuilder, cel_values.Bag], cel_values.Symbol]) -> numbers.NumberRule:
    """A rule for a function of one list."""

    def apply(cases: cel_values.SymbolBuilder, leaf: cel_values.Leaf) -> cel_values.Symbol | None:
        return rule(cases, leaf) if type(leaf) is cel_values.Bag else None

    return apply


def _flatten_rule(
    cases: cel_values.SymbolBuilder, leaf: cel_values.Leaf, *depths: cel_values.Leaf
) -> cel_values.Symbol | None:
    levels = [depth.value for depth in depths if type(depth) is cel_values.KnownValue and type(depth.value) is int]
    if type(leaf) is not cel_values.Bag or len(levels) < len(depths):
        return None
    return bags.flattened_bag(cases, leaf, *levels)


def _element_rule(optional: bool) -> numbers.NumberRule:
    def apply(cases: cel_values.SymbolBuilder, leaf: cel_values.Leaf, key: cel_values.Leaf) -> cel_values.Symbol | None:
        if type(leaf) is not cel_values.Bag or type(key) is not cel_values.KnownValue:
            return None
        return bags.element_at(cases, leaf, key.value, optional=optional)

    return apply


def _join_rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
    left, right = as_bag(a), as_bag(b)
    if left is None or right is None:
        return cel_values.FAILED_SYMBOL
    return bags.concatenated_bags(cases, left, right)


_LIST_RULES: dict[tuple[str, int], numbers.NumberRule] = {
    ("size", 1): _list_rule(bags.bag_size),
    ("reverse", 1): _list_rule(bags.reversed_bag),
    ("first", 1): _list_rule(bags.first_element),
    ("last", 1): _list_rule(bags.last_element),
    ("flatten", 1): _flatten_rule,
    ("flatten", 2): _flatten_rule,
    ("_[_]", 2): _element_rule(optional=False),
    ("_[?_]", 2): _element_rule(optional=True),
    ("_+_", 2): _join_rule,
    ("dyn", 1): numbers.NUMBER_RULES["dyn", 1],
    **{(name, 1): _list_rule(fold) for name, fold in FOLDS.items()},
}
_ANY_RULES: dict[tuple[str, int], numbers.NumberRule] = {
    ("_==_", 2): equals,
    ("_!=_", 2): differs,
    ("@in", 2): is_in,
    ("includes", 2): includes,
    ("include", 2): includes,
    ("sets.contains", 2): set_contains,
    ("sets.intersects", 2): set_intersects,
    ("sets.equivalent", 2): set_equivalent,
    ("optional.of", 1): lambda cases, leaf: bags.optional_of(cases, cel_values.single_case(leaf)),
}


class StrictFunctions:
    """Applies the strict functions of one expression."""

    def __init__(self, cases: cel_values.SymbolBuilder, closures: Closures) -> None:
        self._cases = cases
        self._closures = closures

    def apply(self, operation: Operation, symbols: Sequence[cel_values.Symbol]) -> cel_values.Symbol:
        """The function of these arguments."""
        return self._cases.combine(symbols, lambda leaves: self._on_leaves(operation, leaves))

    def _on_leaves(self, operation: Operation, leaves: tuple[cel_values.Leaf, ...]) -> cel_values.Symbol:
        kinds = set(map(type, leaves))
        if kinds <= {cel_values.KnownValue}:
            return self._evaluated(operation, leaves)
        found = self._by_rule(operation, leaves, listed=cel_values.Bag in kinds)
        return self._spread(operation, leaves) if found is None else found

    def _evaluated(self, operation: Operation, leaves: tuple[cel_values.Leaf, ...]) -> cel_values.Symbol:
        values = [leaf.value for leaf in leaves if type(leaf) is cel_values.KnownValue]
        return self._closures.evaluator(operation.node, operation.names, values).symbol()

    def _by_rule(
        self, operation: Operation, leaves: tuple[cel_values.Leaf, ...], *, listed: bool
    ) -> cel_values.Symbol | None:
        key = (operation.name, len(leaves))
        if key == ("sum", 1) and type(leaves[0]) is cel_values.Bag:
            return bag_total(self._cases, leaves[0], self._evaluated(operation, (cel_values.KnownValue([]),)))
        rule = _ANY_RULES.get(key) or (_LIST_RULES if listed else numbers.NUMBER_RULES).get(key)
        return None if rule is None else rule(self._cases, *leaves)

    def _spread(self, operation: Operation, leaves: tuple[cel_values.Leaf, ...]) -> cel_values.Symbol:
        """By the cases of the one number, or list written out, that has the fewest."""
        if operation.name in _TYPE_ONLY_FUNCTIONS:
            return self._evaluated(operation, tuple(cel_values.KnownValue(sample_value(leaf)) for leaf in leaves))
        place, cases = min(self._expansions(leaves), key=lambda found: len(found[1]), default=(-1, []))
        if place < 0:
            raise cel_values.NotLoweredError(f"{operation.name} of what depends on the counts in too many ways")
        before, after = leaves[:place], leaves[place + 1 :]
        return self._cases.gather((guard, self._on_leaves(operation, (*before, leaf, *after))) for guard, leaf in cases)

    def _expansions(
        self, leaves: tuple[cel_values.Leaf, ...]
    ) -> Iterator[tuple[int, Sequence[tuple[Handle, cel_values.Leaf]]]]:
        for place, leaf in enumerate(leaves):
            if type(leaf) is cel_values.KnownValue:
                continue
            try:
                yield place, self._expanded(leaf)
            except cel_values.NotLoweredError:
                continue

    def _expanded(self, leaf: cel_values.Leaf) -> Sequence[tuple[Handle, cel_values.Leaf]]:
        if type(leaf) is cel_values.LinearNumber:
            return numbers.number_cases(self._cases, leaf)
        if type(leaf) is cel_values.Bag and leaf.is_literal:
            return self._cases.combine([cell.value for cell in leaf.cells], self._listed).cases
        raise cel_values.NotLoweredError("a list whose length depends on the counts")

    def _listed(self, leaves: tuple[cel_values.Leaf, ...]) -> cel_values.Symbol:
        """A list written out, of these elements."""
        place = next((place for place, leaf in enumerate(leaves) if type(leaf) is not cel_values.KnownValue), None)
        if place is None:
            return cel_values.known_symbol([leaf.value for leaf in leaves if type(leaf) is cel_values.KnownValue])
        before, after = leaves[:place], leaves[place + 1 :]
        return self._cases.gather(
            (guard, self._listed((*before, leaf, *after))) for guard, leaf in self._expanded(leaves[place])
        )

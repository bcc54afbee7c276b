"""``==``, and what is built upon it: ``in``, ``includes`` and ``sets``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...cel.errors import CelRuntimeError
from ...cel.libraries.quantities import Sum as QuantitySum
from ...cel.values import Duration, UInt, Value, equal
from ...models.quantity import Quantity
from .sums import FALSE, TRUE, Handle
from .symbolic_bags import as_bag, empty, values
from .symbolic_cases import Cases
from .symbolic_keys import exact_equality
from .symbolic_numbers import NUMERIC, QUANTITIES, compared, fits_double, same
from .symbolic_values import FAILED, Bag, Known, Leaf, NotLoweredError, Number, Symbol

_ZEROS: dict[type, Value] = {
    **{kind: kind(0) for kind in (int, UInt, float, Duration, Quantity)},
    QuantitySum: QuantitySum.of(Quantity(0)),
}
_FAMILIES: tuple[frozenset[type], ...] = (NUMERIC, QUANTITIES, frozenset({Duration}))


@dataclass(frozen=True, slots=True)
class Match:
    """Where two leaves are equal, and where comparing them fails."""

    true: Handle
    error: Handle = FALSE


_SURE, _NEVER, _BROKEN = Match(TRUE), Match(FALSE), Match(FALSE, TRUE)


def match(cases: Cases, a: Leaf, b: Leaf) -> Match:
    """``a == b``."""
    if type(a) is Bag or type(b) is Bag:
        return _match_lists(cases, a, b)
    if type(a) is Number or type(b) is Number:
        left, right = compared(a), compared(b)
        if left and right and any(left.kind in family and right.kind in family for family in _FAMILIES):
            return _match_numbers(cases, left, right)
        # What is left of numbers are doubles without a value, and no number equals those.
    return _match_values(sample(a), sample(b))


def sample(leaf: Leaf) -> Value:
    """A value of the type of a leaf: all are alike to what is of another type."""
    if type(leaf) is Number:
        return _ZEROS[leaf.kind]
    return leaf.value if type(leaf) is Known else []


def _match_values(a: Value, b: Value) -> Match:
    try:
        return _SURE if equal(a, b) else _NEVER
    except CelRuntimeError:
        return _BROKEN


def _match_numbers(cases: Cases, a: Number, b: Number) -> Match:
    if b.kind is QuantitySum:
        # Held by reference, which nothing compares with.
        return _BROKEN
    if float in (a.kind, b.kind) and not (fits_double(cases, a) and fits_double(cases, b)):
        raise NotLoweredError("an integer that is rounded to be compared with a double")
    return Match(same(cases, a, b))


def _match_lists(cases: Cases, a: Leaf, b: Leaf) -> Match:
    left, right = as_bag(a), as_bag(b)
    if left is None or right is None:
        return _match_values(sample(a), sample(b))
    if not left.cells or not right.cells:
        return Match(empty(cases, left if left.cells else right))
    if not left.is_literal or not right.is_literal:
        raise NotLoweredError("lists compared, whose order depends on that of the devices")
    if len(left.cells) != len(right.cells):
        return _NEVER
    pairs = zip(left.cells, right.cells, strict=True)
    return Match(cases.formulas.conj([_match_inside(cases, one.value, other.value) for one, other in pairs]))


def _match_inside(cases: Cases, a: Symbol, b: Symbol) -> Handle:
    """Elements of two lists, where what cannot be compared counts as equal."""
    conj, disj = cases.formulas.conj, cases.formulas.disj
    found = []
    for guard, leaf in a.cases:
        for other_guard, other in b.cases:
            matched = match(cases, leaf, other)
            found.append(conj((guard, other_guard, disj((matched.true, matched.error)))))
    return disj(found)


def equals(cases: Cases, a: Leaf, b: Leaf) -> Symbol:
    """``==``."""
    found = match(cases, a, b)
    return cases.boolean(found.true, found.error)


def differs(cases: Cases, a: Leaf, b: Leaf) -> Symbol:
    """``!=``, which holds where ``==`` fails."""
    return cases.boolean(~match(cases, a, b).true)


# --- membership


@dataclass(frozen=True, slots=True)
class _Members:
    """The values in a list, those that can be looked up apart from the others."""

    keyed: dict[Hashable, Handle]
    others: Sequence[tuple[Leaf, Handle]]
    all: Sequence[tuple[Leaf, Handle]]


def _members(cases: Cases, bag: Bag) -> _Members:
    found: _Members | None = bag.remembered.get("members")
    if found is None:
        keyed: dict[Hashable, list[Handle]] = {}
        others: list[tuple[Leaf, Handle]] = []
        every = values(cases, bag)
        for leaf, handle in every:
            key = exact_equality(leaf.value) if type(leaf) is Known else None
            if key is None:
                others.append((leaf, handle))
            else:
                keyed.setdefault(key, []).append(handle)
        found = _Members({key: cases.formulas.disj(handles) for key, handles in keyed.items()}, others, every)
        bag.remembered["members"] = found
    return found


_Order: TypeAlias = Callable[[Leaf, Leaf], tuple[Leaf, Leaf]]


def _wanted_first(wanted: Leaf, element: Leaf) -> tuple[Leaf, Leaf]:
    return wanted, element


def _element_first(wanted: Leaf, element: Leaf) -> tuple[Leaf, Leaf]:
    return element, wanted


def contains(cases: Cases, bag: Bag, wanted: Leaf, order: _Order = _wanted_first) -> Handle:
    """The formula that a list has an element equal to ``wanted``; ``order`` tells which stands left of ``==``."""
    members = _members(cases, bag)
    key = exact_equality(wanted.value) if type(wanted) is Known else None
    rest = members.all if key is None else members.others
    cases.budget.spend(1 + len(rest))
    found = [] if key is None else [members.keyed.get(key, FALSE)]
    for leaf, handle in rest:
        matched = match(cases, *order(wanted, leaf)).true
        if matched != FALSE:
            found.append(cases.formulas.conj((handle, matched)))
    return cases.formulas.disj(found)


def is_in(cases: Cases, wanted: Leaf, container: Leaf) -> Symbol | None:
    """``in``; maps have no rule."""
    bag = as_bag(container)
    return None if bag is None else cases.boolean(contains(cases, bag, wanted))


def includes(cases: Cases, value: Leaf, wanted: Leaf) -> Symbol | None:
    """``includes``: of a list or of a single value."""
    bag = as_bag(value)
    if bag is None:
        return cases.boolean(match(cases, value, wanted).true)
    return cases.boolean(contains(cases, bag, wanted, _element_first))


# --- sets


def _all_in(cases: Cases, wanted: Bag, bag: Bag) -> Handle:
    disj = cases.formulas.disj
    return cases.formulas.conj([disj((~handle, contains(cases, bag, leaf))) for leaf, handle in values(cases, wanted)])


def _any_in(cases: Cases, wanted: Bag, bag: Bag) -> Handle:
    conj = cases.formulas.conj
    return cases.formulas.disj([conj((handle, contains(cases, bag, leaf))) for leaf, handle in values(cases, wanted)])


def _set_rule(condition: Callable[[Cases, Bag, Bag], Handle]) -> Callable[[Cases, Leaf, Leaf], Symbol]:
    def rule(cases: Cases, a: Leaf, b: Leaf) -> Symbol:
        left, right = as_bag(a), as_bag(b)
        if left is None or right is None:
            return FAILED
        return cases.boolean(condition(cases, left, right))

    return rule


set_contains = _set_rule(lambda cases, a, b: _all_in(cases, b, a))
set_intersects = _set_rule(lambda cases, a, b: _any_in(cases, a, b))
set_equivalent = _set_rule(lambda cases, a, b: cases.formulas.conj((_all_in(cases, b, a), _all_in(cases, a, b))))

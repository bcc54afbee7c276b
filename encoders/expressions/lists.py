"""Lists whose length depends on the counts: what is in them, lists made of them, and their aggregates.

The aggregates are ``sum``, ``min``, ``max`` and ``distinct``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...cel.values import NONE, Duration, Optional, Timestamp, UInt, Value, surely_equal
from . import values
from .formula_nodes import FALSE, ONE, TRUE, GatedSum, Handle, SumTerm
from .numbers import amount_of, as_number, checked_result, is_exact, number_by_levels, number_cases

_MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class BagElement:
    """One case of an element: as many copies as there are devices of ``item``, while ``gate`` holds."""

    leaf: values.Leaf
    item: int
    gate: Handle


def as_bag(leaf: values.Leaf) -> values.Bag | None:
    """A leaf as a list; None where it is of another type."""
    if type(leaf) is values.Bag:
        return leaf
    if type(leaf) is values.KnownValue and type(leaf.value) in values.LIST_TYPES:
        return values.Bag([values.BagCell(values.known_symbol(value)) for value in leaf.value])
    return None


def presence_formula(cases: values.SymbolBuilder, item: int, gate: Handle) -> Handle:
    """The formula that any copy of an element is there."""
    return gate if item == ONE else cases.formulas.conj((cases.formulas.present(item), gate))


def bag_elements(cases: values.SymbolBuilder, bag: values.Bag) -> list[BagElement]:
    """The elements, each case of their values by itself."""
    found: list[BagElement] | None = bag.remembered.get("entries")
    if found is None:
        conj = cases.formulas.conj
        cases.budget.spend(len(bag.cells))
        found = [
            BagElement(leaf, cell.item, cell.gate if guard == TRUE else conj((cell.gate, guard)))
            for cell in bag.cells
            for guard, leaf in cell.value.cases
        ]
        bag.remembered["entries"] = found
    return found


def bag_values(cases: values.SymbolBuilder, bag: values.Bag) -> list[tuple[values.Leaf, Handle]]:
    """The different leaves in a list, each with the condition that it is there; those told apart by no one are one."""
    found: list[tuple[values.Leaf, Handle]] | None = bag.remembered.get("values")
    if found is None:
        merged: dict[object, tuple[values.Leaf, list[Handle]]] = {}
        for entry in bag_elements(cases, bag):
            key = values.identity(entry.leaf.value) if type(entry.leaf) is values.KnownValue else None
            handle = presence_formula(cases, entry.item, entry.gate)
            merged.setdefault(id(entry) if key is None else key, (entry.leaf, []))[1].append(handle)
        found = [(leaf, cases.formulas.disj(handles)) for leaf, handles in merged.values()]
        bag.remembered["values"] = found
    return found


def known_bag_values(cases: values.SymbolBuilder, bag: values.Bag) -> list[tuple[Value, Handle]]:
    """As ``bag_values``, numbers by their cases; ``NotLoweredError`` where elements are lists of unknown length."""
    found: list[tuple[Value, Handle]] = []
    for leaf, handle in bag_values(cases, bag):
        if type(leaf) is values.KnownValue:
            found.append((leaf.value, handle))
        elif type(leaf) is values.LinearNumber:
            more = [(cases.formulas.conj((guard, handle)), case) for guard, case in number_cases(cases, leaf)]
            found.extend((case.value, guard) for guard, case in more if type(case) is values.KnownValue)
        else:
            raise values.NotLoweredError("lists in a list")
    return found


def copy_conditions(cases: values.SymbolBuilder, item: int, gate: Handle) -> list[Handle]:
    """The conditions of a first, a second, ... copy of an element."""
    if item == ONE:
        return [gate]
    count = GatedSum.of_count(item)
    most = int(cases.formulas.range_of(count)[1])
    if most > _MOST_COPIES:
        raise values.NotLoweredError("a product of counts")
    cases.budget.spend(most)
    return [cases.formulas.conj((gate, cases.formulas.between(count, number, None))) for number in range(1, most + 1)]


def bag_size(cases: values.SymbolBuilder, bag: values.Bag) -> values.Symbol:
    """The number of elements."""
    return values.single_case(
        values.LinearNumber(int, GatedSum.of_terms(0, [(cell.item, cell.gate, 1) for cell in bag.cells]))
    )


def bag_is_empty(cases: values.SymbolBuilder, bag: values.Bag) -> Handle:
    """The formula that there is no element."""
    return ~cases.formulas.disj([presence_formula(cases, cell.item, cell.gate) for cell in bag.cells])


def concatenated_bags(_cases: values.SymbolBuilder, a: values.Bag, b: values.Bag) -> values.Symbol:
    """Two lists, one after the other."""
    return values.single_case(values.Bag((*a.cells, *b.cells), ordered=a.ordered and b.ordered))


def reversed_bag(_cases: values.SymbolBuilder, bag: values.Bag) -> values.Symbol:
    """The elements from the last to the first."""
    return values.single_case(values.Bag(bag.cells[::-1], ordered=bag.ordered))


def flattened_bag(cases: values.SymbolBuilder, bag: values.Bag, depth: int = 1) -> values.Symbol:
    """The elements, and in place of lists theirs, ``depth`` times."""
    if depth < 0:
        return values.FAILED_SYMBOL
    while depth > 0 and any(as_bag(entry.leaf) for entry in bag_elements(cases, bag)):
        bag, depth = _flat_once(cases, bag), depth - 1
    return values.single_case(bag)


def _flat_once(cases: values.SymbolBuilder, bag: values.Bag) -> values.Bag:
    cells: list[values.BagCell] = []
    ordered = bag.ordered
    for entry in bag_elements(cases, bag):
        inner = as_bag(entry.leaf)
        if inner is None:
            cells.append(values.BagCell(values.single_case(entry.leaf), entry.item, entry.gate))
            continue
        # Copies of a list follow each other whole.
        ordered = ordered and inner.ordered and (entry.item == ONE or len(inner.cells) < 2)
        cells.extend(_repeated_elements(cases, entry, inner))
        cases.budget.spend(len(inner.cells))
    return values.Bag(cells, ordered=ordered)


def _repeated_elements(cases: values.SymbolBuilder, entry: BagElement, inner: values.Bag) -> Iterable[values.BagCell]:
    conj = cases.formulas.conj
    for cell in inner.cells:
        if cell.item == ONE:
            yield values.BagCell(cell.value, entry.item, conj((entry.gate, cell.gate)))
        else:
            for gate in copy_conditions(cases, entry.item, entry.gate):
                yield values.BagCell(cell.value, cell.item, conj((gate, cell.gate)))


# --- single elements


def _ordered_cells(cases: values.SymbolBuilder, bag: values.Bag) -> None:
    if not bag.ordered:
        raise values.NotLoweredError("the order of a list that has none")
    if not bag.is_literal:
        cases.budget.ordered = True


def _first_of(
    cases: values.SymbolBuilder,
    cells: Iterable[values.BagCell],
    missing: values.Symbol,
    make: Callable[[values.Symbol], values.Symbol],
) -> values.Symbol:
    branches: list[tuple[Handle, values.Symbol]] = []
    before: Handle = FALSE
    for cell in cells:
        so_far = cases.formulas.disj((before, presence_formula(cases, cell.item, cell.gate)))
        branches.append((cases.formulas.conj((so_far, ~before)), make(cell.value)))
        before = so_far
    return cases.gather([*branches, (~before, missing)])


def first_element(cases: values.SymbolBuilder, bag: values.Bag) -> values.Symbol:
    """The optional first element."""
    _ordered_cells(cases, bag)
    return _first_of(cases, bag.cells, values.known_symbol(NONE), lambda value: optional_of(cases, value))


def last_element(cases: values.SymbolBuilder, bag: values.Bag) -> values.Symbol:
    """The optional last element."""
    _ordered_cells(cases, bag)
    return _first_of(cases, bag.cells[::-1], values.known_symbol(NONE), lambda value: optional_of(cases, value))


def element_at(cases: values.SymbolBuilder, bag: values.Bag, key: Value, *, optional: bool) -> values.Symbol:
    """``list[key]``, an error beyond the ends, or ``list[?key]``."""
    position = _position(key)
    if position is None:
        return values.FAILED_SYMBOL
    _ordered_cells(cases, bag)
    missing = values.known_symbol(NONE) if optional else values.FAILED_SYMBOL

    def make(value: values.Symbol) -> values.Symbol:
        return optional_of(cases, value) if optional else value

    if position == 0:
        return _first_of(cases, bag.cells, missing, make)
    if position < 0:
        return missing
    # By how many elements are before each.
    branches: list[tuple[Handle, values.Symbol]] = []
    passed: Handle = FALSE
    terms: list[tuple[int, Handle, int]] = []
    for cell in bag.cells:
        terms.append((cell.item, cell.gate, 1))
        cases.budget.spend(len(terms))
        here = cases.formulas.between(GatedSum.of_terms(0, terms), position + 1, None)
        branches.append((cases.formulas.conj((here, ~passed)), make(cell.value)))
        passed = here
    return cases.gather([*branches, (~passed, missing)])


def _position(key: Value) -> int | None:
    if type(key) is float and key.is_integer() and abs(key) < 2.0**63:
        return int(key)
    return int(key) if type(key) in (int, UInt) else None


def optional_of(cases: values.SymbolBuilder, symbol: values.Symbol) -> values.Symbol:
    """``optional.of``: an optional of each case."""
    return cases.combine((symbol,), lambda leaves: _optional_of_leaf(cases, leaves[0]))


def _optional_of_leaf(cases: values.SymbolBuilder, leaf: values.Leaf) -> values.Symbol:
    if type(leaf) is values.KnownValue:
        return values.known_symbol(Optional(leaf.value))
    if type(leaf) is values.LinearNumber:
        return cases.gather((guard, _optional_of_leaf(cases, case)) for guard, case in number_cases(cases, leaf))
    raise values.NotLoweredError("an optional list whose length depends on the counts")


_ADDABLE_TYPES: tuple[type, ...] = (int, UInt, float, Duration)
_ORDERED_TYPES = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp})


def _element_kind(entry: BagElement) -> type:
    if type(entry.leaf) is values.LinearNumber:
        return entry.leaf.kind
    return type(entry.leaf.value) if type(entry.leaf) is values.KnownValue else list


def bag_total(cases: values.SymbolBuilder, bag: values.Bag, zero: values.Symbol) -> values.Symbol:
    """``sum``; ``zero`` is that of an empty list. Elements of two types, or that cannot be added, are an error."""
    by_kind: dict[type, list[BagElement]] = {}
    for entry in bag_elements(cases, bag):
        by_kind.setdefault(_element_kind(entry), []).append(entry)
    there = {
        kind: cases.formulas.disj([presence_formula(cases, entry.item, entry.gate) for entry in found])
        for kind, found in by_kind.items()
    }
    branches = []
    for kind in _ADDABLE_TYPES:
        if there.get(kind, FALSE) != FALSE:
            others = [~handle for other, handle in there.items() if other is not kind]
            alone = cases.formulas.conj((there[kind], *others))
            branches.append((alone, _sum_of_kind(cases, kind, by_kind[kind])))
    nothing = ~cases.formulas.disj(there.values())
    return _simplified_total(cases, branches, nothing, zero)


def _simplified_total(
    cases: values.SymbolBuilder, branches: list[tuple[Handle, values.Symbol]], nothing: Handle, zero: values.Symbol
) -> values.Symbol:
    """Nothing adds up to 0 without being told, where 0 is of the same type."""
    if len(branches) == 1 and branches[0][1].only is not None:
        alone, symbol = branches[0]
        if _symbol_kind(symbol) is _symbol_kind(zero):
            either = cases.formulas.disj((alone, nothing))
            return cases.gather(((either, symbol),), (~either,))
    conditions = [condition for condition, _ in branches]
    return cases.gather([*branches, (nothing, zero)], (~cases.formulas.disj([*conditions, nothing]),))


def _symbol_kind(symbol: values.Symbol) -> type | None:
    number = as_number(symbol.only) if symbol.only is not None else None
    return None if number is None else number.kind


def _sum_of_kind(cases: values.SymbolBuilder, kind: type, found: list[BagElement]) -> values.Symbol:
    terms: list[SumTerm] = []
    for entry in found:
        number = as_number(entry.leaf)
        if number is None:
            raise values.NotLoweredError("a double that is no number, in a sum")
        if not number.sum.terms:
            terms.append((entry.item, entry.gate, number.sum.constant))
            continue
        for gate in copy_conditions(cases, entry.item, entry.gate):
            gated = cases.formulas.gated(number.sum, gate)
            terms.extend((*gated.terms, (-1, TRUE, gated.constant)))
    cases.budget.spend(len(terms))
    if kind is float and not is_exact(cases, 0, terms):
        raise values.NotLoweredError("a sum of doubles that is rounded")
    symbol = checked_result(cases, kind, GatedSum.of_terms(0, terms))
    if symbol is None:
        raise values.NotLoweredError("a sum of doubles that is rounded")
    return symbol


def bag_extreme(cases: values.SymbolBuilder, bag: values.Bag, *, largest: bool) -> values.Symbol:
    """``max`` or ``min``, an error where there is nothing, or anything that has no order."""
    found = known_bag_values(cases, bag)
    wrong = cases.formulas.disj([handle for value, handle in found if type(value) not in _ORDERED_TYPES])
    ordered = [(value, handle) for value, handle in found if type(value) in _ORDERED_TYPES and handle != FALSE]
    if not ordered:
        return values.FAILED_SYMBOL
    if len({type(value) for value, _ in ordered}) > 1:
        raise values.NotLoweredError("the least or greatest of values of several types")
    error = cases.formulas.disj((wrong, bag_is_empty(cases, bag)))
    return cases.failing(error, _extreme_of_values(cases, ordered, largest))


def _extreme_of_values(cases: values.SymbolBuilder, found: list[tuple[Value, Handle]], largest: bool) -> values.Symbol:
    kind = type(found[0][0])
    if kind not in _ADDABLE_TYPES:
        levels = _extreme_levels(cases, [(value, handle) for value, handle in found], largest)
        after = [*(handle for _, handle in levels[1:]), FALSE]
        conj = cases.formulas.conj
        return cases.each(
            (conj((handle, ~above)), values.KnownValue(value))
            for (value, handle), above in zip(levels, after, strict=True)
        )
    amounts = [(amount_of(value), handle) for value, handle in found]
    exact = [(value, handle) for value, handle in amounts if value is not None]
    if len(exact) < len(amounts):
        raise values.NotLoweredError("the least or greatest of doubles that are no numbers")
    return number_by_levels(cases, kind, _extreme_levels(cases, exact, largest))


def _extreme_levels(
    cases: values.SymbolBuilder, found: list[tuple[Value, Handle]], largest: bool
) -> list[tuple[Value, Handle]]:
    """The values, ascending, each with the condition that the result is at least that, if there is any element."""
    disj = cases.formulas.disj
    by_value: dict[Value, list[Handle]] = {}
    for value, handle in found:
        by_value.setdefault(value, []).append(handle)
    ascending = sorted(by_value)
    there = [disj(by_value[value]) for value in ascending]
    cases.budget.spend(2 * len(there))
    # The greatest is at least a value if any from there on is present, the least if none below is.
    passed: list[Handle] = []
    any_: Handle = FALSE
    for handle in reversed(there) if largest else there:
        before, any_ = any_, disj((any_, handle))
        passed.append(any_ if largest else ~before)
    handles = passed[::-1] if largest else passed
    return [
        (value, TRUE if place == 0 else handle)
        for place, (value, handle) in enumerate(zip(ascending, handles, strict=True))
    ]


def distinct_elements(cases: values.SymbolBuilder, bag: values.Bag) -> values.Symbol:
    """One of each group of equal elements; which one must not matter."""
    found = known_bag_values(cases, bag)
    groups: dict[object, tuple[Value, list[Handle]]] = {}
    unkeyed: list[tuple[Value, list[Handle]]] = []
    for value, handle in found:
        key = values.exact_equality(value)
        if key is None:
            unkeyed.append((value, [handle]))
        elif values.identity(groups.setdefault(key, (value, []))[0]) != values.identity(value):
            raise values.NotLoweredError("equal values of several types")
        else:
            groups[key][1].append(handle)
    kept = [*groups.values(), *_merge_identical(unkeyed)]
    _require_different(cases, [value for value, _ in kept], len(groups))
    return values.single_case(
        values.Bag(
            [values.BagCell(values.known_symbol(value), gate=cases.formulas.disj(handles)) for value, handles in kept],
            ordered=False,
        )
    )


def _merge_identical(found: list[tuple[Value, list[Handle]]]) -> list[tuple[Value, list[Handle]]]:
    """Those that nobody can tell apart as one."""
    merged: dict[object, tuple[Value, list[Handle]]] = {}
    for value, handles in found:
        key = values.identity(value)
        merged.setdefault(id(handles) if key is None else key, (value, []))[1].extend(handles)
    return list(merged.values())


def _require_different(cases: values.SymbolBuilder, found: list[Value], keyed: int) -> None:
    """See that each value is equal to itself and to no other; of the first ``keyed`` that is known."""
    for place in range(keyed, len(found)):
        value = found[place]
        cases.budget.spend(1 + place)
        if not surely_equal(value, value) or any(
            surely_equal(value, other) or surely_equal(other, value) for other in found[:place]
        ):
            raise values.NotLoweredError("equal values that an expression can tell apart")


FOLDS: dict[str, Callable[[values.SymbolBuilder, values.Bag], values.Symbol]] = {
    "min": lambda cases, bag: bag_extreme(cases, bag, largest=False),
    "max": lambda cases, bag: bag_extreme(cases, bag, largest=True),
    "distinct": distinct_elements,
}

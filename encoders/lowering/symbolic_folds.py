"""What becomes of a list as a whole: ``sum``, ``min``, ``max``, ``distinct``."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...cel.values import Duration, Timestamp, UInt, Value, surely_equal
from .sums import FALSE, TRUE, Handle, Sum, SumTerm
from .symbolic_bags import Entry, copies, empty, entries, known_values, presence
from .symbolic_cases import Cases
from .symbolic_keys import exact_equality, identity
from .symbolic_numbers import amount, graded, is_exact, lifted, settled
from .symbolic_values import FAILED, Bag, Cell, Known, NotLoweredError, Number, Symbol, known, one

_ADDED: tuple[type, ...] = (int, UInt, float, Duration)
_ORDERED = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp})


def _kind(entry: Entry) -> type:
    if type(entry.leaf) is Number:
        return entry.leaf.kind
    return type(entry.leaf.value) if type(entry.leaf) is Known else list


def _any_present(cases: Cases, found: Iterable[Entry]) -> Handle:
    return cases.formulas.disj([presence(cases, entry.item, entry.gate) for entry in found])


def total(cases: Cases, bag: Bag, zero: Symbol) -> Symbol:
    """``sum``; ``zero`` is that of an empty list. Elements of two types, or that cannot be added, are an error."""
    by_kind: dict[type, list[Entry]] = {}
    for entry in entries(cases, bag):
        by_kind.setdefault(_kind(entry), []).append(entry)
    there = {kind: _any_present(cases, found) for kind, found in by_kind.items()}
    branches = []
    for kind in _ADDED:
        if there.get(kind, FALSE) != FALSE:
            others = [~handle for other, handle in there.items() if other is not kind]
            alone = cases.formulas.conj((there[kind], *others))
            branches.append((alone, _added(cases, kind, by_kind[kind])))
    nothing = ~cases.formulas.disj(there.values())
    return _simplified(cases, branches, nothing, zero)


def _simplified(cases: Cases, branches: list[tuple[Handle, Symbol]], nothing: Handle, zero: Symbol) -> Symbol:
    """Nothing adds up to 0 without being told, where 0 is of the same type."""
    if len(branches) == 1 and branches[0][1].only is not None:
        alone, symbol = branches[0]
        if _kind_of(symbol) is _kind_of(zero):
            either = cases.formulas.disj((alone, nothing))
            return cases.gather(((either, symbol),), (~either,))
    conditions = [condition for condition, _ in branches]
    return cases.gather([*branches, (nothing, zero)], (~cases.formulas.disj([*conditions, nothing]),))


def _kind_of(symbol: Symbol) -> type | None:
    number = lifted(symbol.only) if symbol.only is not None else None
    return None if number is None else number.kind


def _added(cases: Cases, kind: type, found: list[Entry]) -> Symbol:
    terms: list[SumTerm] = []
    for entry in found:
        number = lifted(entry.leaf)
        if number is None:
            raise NotLoweredError("a double that is no number, in a sum")
        if not number.sum.terms:
            terms.append((entry.item, entry.gate, number.sum.constant))
            continue
        for gate in copies(cases, entry.item, entry.gate):
            terms.extend(_gated(cases, number.sum, gate))
    cases.budget.spend(len(terms))
    if kind is float and not is_exact(cases, 0, terms):
        raise NotLoweredError("a sum of doubles that is rounded")
    symbol = settled(cases, kind, Sum.of_terms(0, terms))
    if symbol is None:
        raise NotLoweredError("a sum of doubles that is rounded")
    return symbol


def _gated(cases: Cases, number: Sum, gate: Handle) -> Iterable[SumTerm]:
    gated = cases.formulas.gated(number, gate)
    return (*gated.terms, (-1, TRUE, gated.constant))


def extreme(cases: Cases, bag: Bag, *, largest: bool) -> Symbol:
    """``max`` or ``min``, an error where there is nothing, or anything that has no order."""
    found = known_values(cases, bag)
    wrong = cases.formulas.disj([handle for value, handle in found if type(value) not in _ORDERED])
    ordered = [(value, handle) for value, handle in found if type(value) in _ORDERED and handle != FALSE]
    if not ordered:
        return FAILED
    if len({type(value) for value, _ in ordered}) > 1:
        raise NotLoweredError("the least or greatest of values of several types")
    error = cases.formulas.disj((wrong, empty(cases, bag)))
    return cases.failing(error, _extreme(cases, ordered, largest))


def _extreme(cases: Cases, found: list[tuple[Value, Handle]], largest: bool) -> Symbol:
    kind = type(found[0][0])
    if kind not in _ADDED:
        levels = _levels(cases, [(value, handle) for value, handle in found], largest)
        after = [*(handle for _, handle in levels[1:]), FALSE]
        conj = cases.formulas.conj
        return cases.each(
            (conj((handle, ~above)), Known(value)) for (value, handle), above in zip(levels, after, strict=True)
        )
    amounts = [(amount(value), handle) for value, handle in found]
    exact = [(value, handle) for value, handle in amounts if value is not None]
    if len(exact) < len(amounts):
        raise NotLoweredError("the least or greatest of doubles that are no numbers")
    return graded(cases, kind, _levels(cases, exact, largest))


def _levels(cases: Cases, found: list[tuple[Value, Handle]], largest: bool) -> list[tuple[Value, Handle]]:
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


def distinct(cases: Cases, bag: Bag) -> Symbol:
    """One of each group of equal elements; which one must not matter."""
    found = known_values(cases, bag)
    groups: dict[object, tuple[Value, list[Handle]]] = {}
    unkeyed: list[tuple[Value, list[Handle]]] = []
    for value, handle in found:
        key = exact_equality(value)
        if key is None:
            unkeyed.append((value, [handle]))
        elif identity(groups.setdefault(key, (value, []))[0]) != identity(value):
            raise NotLoweredError("equal values of several types")
        else:
            groups[key][1].append(handle)
    kept = [*groups.values(), *_merged(unkeyed)]
    _require_different(cases, [value for value, _ in kept], len(groups))
    return one(Bag([Cell(known(value), gate=cases.formulas.disj(handles)) for value, handles in kept], ordered=False))


def _merged(found: list[tuple[Value, list[Handle]]]) -> list[tuple[Value, list[Handle]]]:
    """Those that nobody can tell apart as one."""
    merged: dict[object, tuple[Value, list[Handle]]] = {}
    for value, handles in found:
        key = identity(value)
        merged.setdefault(id(handles) if key is None else key, (value, []))[1].extend(handles)
    return list(merged.values())


def _require_different(cases: Cases, found: list[Value], keyed: int) -> None:
    """See that each value is equal to itself and to no other; of the first ``keyed`` that is known."""
    for place in range(keyed, len(found)):
        value = found[place]
        cases.budget.spend(1 + place)
        if not surely_equal(value, value) or any(
            surely_equal(value, other) or surely_equal(other, value) for other in found[:place]
        ):
            raise NotLoweredError("equal values that an expression can tell apart")


FOLDS: dict[str, Callable[[Cases, Bag], Symbol]] = {
    "min": lambda cases, bag: extreme(cases, bag, largest=False),
    "max": lambda cases, bag: extreme(cases, bag, largest=True),
    "distinct": distinct,
}

"""Numbers that are linear in the counts: what they are made of, their bounds, and the values they may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ...cel.libraries.quantities import Sum as QuantitySum
from ...cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, UInt, Value
from ...models.quantity import Quantity
from .sums import FALSE, ONE, TRUE, Handle, Sum, SumTerm
from .sums import Number as Amount
from .symbolic_cases import Cases
from .symbolic_values import Known, Leaf, NotLoweredError, Number, Symbol, known, one

NUMERIC: frozenset[type] = frozenset({int, UInt, float})
QUANTITIES: frozenset[type] = frozenset({Quantity, QuantitySum})
_MOST_CASES = 256
_MOST_EXACT = 2**53


def _double(value: float) -> Fraction | None:
    """The exact value; none for what is no number, and for the negative zero, which only division can tell."""
    return None if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0) else Fraction(value)


_AMOUNTS: dict[type, Callable[[Any], Amount | None]] = {
    int: int,
    UInt: int,
    float: _double,
    Quantity: lambda value: value.nano,
    QuantitySum: lambda value: value.nano,
    Duration: lambda value: value.ns,
}
_VALUES: dict[type, Callable[[Amount], Value]] = {
    int: int,
    UInt: UInt,
    float: float,
    Duration: lambda ns: Duration(int(ns)),
}
_BOUNDS: dict[type, tuple[int, int]] = {
    int: (INT_MIN, INT_MAX),
    UInt: (0, UINT_MAX),
    Duration: (INT_MIN, INT_MAX),
}


def amount(value: Value) -> Amount | None:
    """What a value counts in sums of its kind; None where it cannot be added up exactly, or is no number."""
    measure = _AMOUNTS.get(type(value))
    return None if measure is None else measure(value)


def lifted(leaf: Leaf) -> Number | None:
    """A leaf as a number."""
    if type(leaf) is Number:
        return leaf
    if type(leaf) is not Known:
        return None
    found = amount(leaf.value)
    return None if found is None else Number(type(leaf.value), Sum.of_number(found))


def compared(leaf: Leaf) -> Number | None:
    """As ``lifted``, where zero has no sign."""
    if type(leaf) is Known and type(leaf.value) is float and leaf.value == 0:
        return Number(float, Sum())
    return lifted(leaf)


def settled(cases: Cases, kind: type, total: Sum, levels: tuple[tuple[Amount, Handle], ...] = ()) -> Symbol | None:
    """The result of an operation, an error where it is out of range; None where a double would have to be rounded."""
    if kind is float and not is_exact(cases, total.constant, total.terms):
        return None
    if not total.terms and kind in _VALUES:
        return _constant(kind, total.constant)
    number = one(Number(kind, total, levels))
    if kind not in _BOUNDS:
        return number
    least, most = _BOUNDS[kind]
    low, high = cases.formulas.range_of(total)
    if least <= low and high <= most:
        return number
    return cases.failing(~cases.formulas.between(total, least, most), number)


def _constant(kind: type, value: Amount) -> Symbol:
    least, most = _BOUNDS.get(kind, (value, value))
    return known(_VALUES[kind](value)) if least <= value <= most else Symbol((), TRUE)


def is_exact(cases: Cases, constant: Amount, terms: Sequence[SumTerm]) -> bool:
    """Whether doubles add up to a sum without rounding, in any order."""
    parts = [Fraction(part) for part in (constant, *(part for _, _, part in terms)) if part]
    # All partial sums are multiples of one power of two, and have few enough digits.
    denominator = max((part.denominator for part in parts), default=1)
    shift = min((_trailing_zeros(int(part * denominator)) for part in parts), default=0)
    magnitudes = Sum.of_terms(_magnitude(constant), [(item, gate, _magnitude(part)) for item, gate, part in terms])
    return cases.formulas.range_of(magnitudes)[1] * denominator <= _MOST_EXACT << shift


def _magnitude(value: Amount) -> Amount:
    return value if value >= 0 else -value


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def fits_double(cases: Cases, number: Number) -> bool:
    """Whether all values of the number are doubles."""
    if number.kind is float:
        return True
    low, high = cases.formulas.range_of(number.sum)
    return low >= -_MOST_EXACT and high <= _MOST_EXACT


def at_least(cases: Cases, a: Number, b: Number) -> Handle:
    """The formula ``a >= b``."""
    if a.levels and not b.sum.terms:
        return next((handle for value, handle in a.levels if value >= b.sum.constant), FALSE)
    if b.levels and not a.sum.terms:
        return ~next((handle for value, handle in b.levels if value > a.sum.constant), FALSE)
    return cases.formulas.between(a.sum - b.sum, 0, None)


def same(cases: Cases, a: Number, b: Number) -> Handle:
    """The formula ``a == b``."""
    if a.levels or b.levels:
        return cases.formulas.conj((at_least(cases, a, b), at_least(cases, b, a)))
    return cases.formulas.equal(a.sum - b.sum, 0)


def graded(cases: Cases, kind: type, levels: list[tuple[Amount, Handle]]) -> Symbol:
    """The number that has the greatest value whose condition holds; each condition follows from the next."""
    terms = [(ONE, handle, value - before) for (before, _), (value, handle) in pairwise(levels)]
    found = settled(cases, kind, Sum.of_terms(levels[0][0], terms), tuple(levels))
    if found is None:
        raise NotLoweredError("doubles that are far apart")
    return found


def expanded(cases: Cases, number: Number) -> list[tuple[Handle, Leaf]]:
    """All values that a number may have; ``NotLoweredError`` where they are too many or not known."""
    make = _VALUES.get(number.kind)
    if make is None:
        raise NotLoweredError("an amount that depends on the counts, used as a value")
    if number.levels:
        return _by_levels(cases, number, make)
    if not number.sum.terms:
        return [(TRUE, Known(make(number.sum.constant)))]
    step = _step(number.sum)
    low, high = (math.ceil((bound - number.sum.constant) / step) for bound in cases.formulas.range_of(number.sum))
    if high - low >= _MOST_CASES:
        raise NotLoweredError(f"a number with more than {_MOST_CASES} values, used otherwise than in sums")
    cases.budget.spend(high - low + 1)
    values = [number.sum.constant + step * position for position in range(low, high + 1)]
    found = [(cases.formulas.equal(number.sum, value), Known(make(value))) for value in values]
    return [case for case in found if case[0] != FALSE]


def _by_levels(cases: Cases, number: Number, make: Callable[[Amount], Value]) -> list[tuple[Handle, Leaf]]:
    handles = [*(handle for _, handle in number.levels), FALSE]
    cases.budget.spend(len(handles))
    return [
        (cases.formulas.conj((handle, ~after)), Known(make(value)))
        for (value, handle), after in zip(number.levels, handles[1:], strict=True)
    ]


def _step(total: Sum) -> Fraction:
    """What all values of a sum are apart, at least."""
    parts = [Fraction(part) for _, _, part in total.terms]
    denominator = math.lcm(*(part.denominator for part in parts))
    return Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)

"""Numbers that are linear in the counts: their parts, bounds and possible values, and the operators on them.

A rule of an operator or function gives the symbol of the result, or None where it is not linear; then cases are made of
the operands. No rule is called where all operands are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from ...cel.libraries.kubernetes import ComputedQuantity as QuantitySum
from ...cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt, Value
from ...models.kubernetes.quantity import NANO, Quantity
from . import values as cel_values
from .formula_nodes import FALSE, ONE, TRUE, Amount, GatedSum, Handle, SumTerm

NumberRule: TypeAlias = Callable[..., cel_values.Symbol | None]
_INTEGERS: frozenset[type] = frozenset({int, UInt})
_MOST_QUOTIENTS = 256
# Values beside numbers that some operator takes together with a number or a duration.
_OPERANDS: frozenset[type] = frozenset({float, Timestamp})


def _number_pair(
    a: cel_values.Leaf, b: cel_values.Leaf
) -> tuple[cel_values.LinearNumber, cel_values.LinearNumber] | None:
    left, right = as_number(a), as_number(b)
    return None if left is None or right is None else (left, right)


def _type_mismatch(*leaves: cel_values.Leaf) -> cel_values.Symbol | None:
    """The error of an operator that does not go together with one of the types, if that is so."""
    values = [leaf.value for leaf in leaves if type(leaf) is cel_values.KnownValue and as_number(leaf) is None]
    return cel_values.FAILED_SYMBOL if any(type(value) not in _OPERANDS for value in values) else None


def _addition_rule(sign: int) -> NumberRule:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
        numbers = _number_pair(a, b)
        if numbers is None:
            return _type_mismatch(a, b)
        left, right = numbers
        if left.kind is not right.kind or left.kind not in _ADDABLE_NUMBERS:
            return cel_values.FAILED_SYMBOL
        return checked_result(cases, left.kind, left.sum + right.sum.scaled(sign))

    return rule


def _multiply(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
    numbers = _number_pair(a, b)
    if numbers is None:
        return _type_mismatch(a, b)
    left, right = numbers
    if left.kind is not right.kind or left.kind not in NUMERIC:
        return cel_values.FAILED_SYMBOL
    if left.sum.terms and right.sum.terms:
        return None
    factor, other = (right, left) if left.sum.terms else (left, right)
    return _scaled_number(cases, other, factor.sum.constant)


def _scaled_number(
    cases: cel_values.SymbolBuilder, number: cel_values.LinearNumber, factor: Amount
) -> cel_values.Symbol | None:
    """A double times what is not positive may be the negative zero."""
    if number.kind is float and factor <= 0:
        return None
    return checked_result(cases, number.kind, number.sum.scaled(factor))


def _negate(cases: cel_values.SymbolBuilder, a: cel_values.Leaf) -> cel_values.Symbol | None:
    number = as_number(a)
    return checked_result(cases, number.kind, -number.sum) if number and number.kind in (int, Duration) else None


def _divide(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
    numbers = _number_pair(a, b)
    if numbers is None or numbers[1].sum.terms or numbers[0].kind is not numbers[1].kind:
        return None
    number, divisor = numbers[0], numbers[1].sum.constant
    if number.kind in _INTEGERS:
        return _quotient(cases, number, int(divisor))
    # Only a power of two divides doubles without rounding.
    if number.kind is float and divisor > 0 and (Fraction(divisor).numerator & (Fraction(divisor).numerator - 1)) == 0:
        return _scaled_number(cases, number, 1 / Fraction(divisor))
    return None


def _quotient(
    cases: cel_values.SymbolBuilder, number: cel_values.LinearNumber, divisor: int
) -> cel_values.Symbol | None:
    """Rounded towards zero: at least k > 0 from k times the divisor on, at least k <= 0 above (k - 1) times that."""
    if divisor == 0:
        return cel_values.FAILED_SYMBOL
    if divisor == -1:
        return checked_result(cases, number.kind, -number.sum)
    total = number.sum.scaled(1 if divisor > 0 else -1)
    divisor = abs(divisor)
    low, high = (int(Fraction(bound) / divisor) for bound in cases.formulas.range_of(total))
    if high - low >= _MOST_QUOTIENTS:
        return None
    cases.budget.spend((high - low) * (1 + len(total.terms)))
    bounds = [(k, k * divisor if k > 0 else (k - 1) * divisor + 1) for k in range(low + 1, high + 1)]
    return number_by_levels(
        cases, number.kind, [(low, TRUE), *((k, cases.formulas.between(total, bound, None)) for k, bound in bounds)]
    )


def _comparison_rule(
    compare: Callable[[cel_values.SymbolBuilder, cel_values.LinearNumber, cel_values.LinearNumber], Handle],
) -> NumberRule:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
        left, right = as_compared_number(a), as_compared_number(b)
        if left is None or right is None:
            return _type_mismatch(a, b)
        numbers = (left, right)
        kinds = {left.kind, right.kind}
        if not (kinds <= NUMERIC or kinds == {Duration}):
            return cel_values.FAILED_SYMBOL
        if float in kinds and not all(fits_double(cases, number) for number in numbers):
            return None
        return cases.boolean(compare(cases, *numbers))

    return rule


def _below(cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber) -> Handle:
    return ~at_least(cases, a, b)


def _at_most(cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber) -> Handle:
    return at_least(cases, b, a)


def _above(cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber) -> Handle:
    return ~at_least(cases, b, a)


# --- quantities


def _quantity_pair(
    a: cel_values.Leaf, b: cel_values.Leaf
) -> tuple[cel_values.LinearNumber, cel_values.LinearNumber] | None:
    numbers = _number_pair(a, b)
    return numbers if numbers and all(number.kind in QUANTITIES for number in numbers) else None


def _quantity_addition_rule(sign: int) -> NumberRule:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
        numbers = _number_pair(a, b)
        if numbers is None or numbers[0].kind not in QUANTITIES:
            return None
        left, right = numbers
        if right.kind not in QUANTITIES and right.kind is not int:
            return cel_values.FAILED_SYMBOL
        unit = NANO if right.kind is int else 1
        return cel_values.single_case(cel_values.LinearNumber(QuantitySum, left.sum + right.sum.scaled(sign * unit)))

    return rule


def _quantity_comparison_rule(
    compare: Callable[[cel_values.SymbolBuilder, cel_values.LinearNumber, cel_values.LinearNumber], Handle],
) -> NumberRule:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
        numbers = _quantity_pair(a, b)
        return None if numbers is None else cases.boolean(compare(cases, *numbers))

    return rule


def _compare_to(cases: cel_values.SymbolBuilder, a: cel_values.Leaf, b: cel_values.Leaf) -> cel_values.Symbol | None:
    numbers = _quantity_pair(a, b)
    if numbers is None:
        return None
    at_most, at_least_ = _at_most(cases, *numbers), at_least(cases, *numbers)
    signs = ((~at_least_, -1), (cases.formulas.conj((at_most, at_least_)), 0), (~at_most, 1))
    return cases.each((handle, cel_values.KnownValue(sign)) for handle, sign in signs if handle != FALSE)


# --- conversions


def _integer_rule(kind: type) -> NumberRule:
    def rule(cases: cel_values.SymbolBuilder, a: cel_values.Leaf) -> cel_values.Symbol | None:
        number = as_number(a)
        if number is None or number.kind not in _INTEGERS:
            return None
        return checked_result(cases, kind, number.sum, number.levels)

    return rule


def _to_double(cases: cel_values.SymbolBuilder, a: cel_values.Leaf) -> cel_values.Symbol | None:
    number = as_number(a)
    if number is None or number.kind not in NUMERIC or not fits_double(cases, number):
        return None
    return checked_result(cases, float, number.sum, number.levels)


NUMERIC: frozenset[type] = frozenset({int, UInt, float})
_ADDABLE_NUMBERS: frozenset[type] = NUMERIC | {Duration}
QUANTITIES: frozenset[type] = frozenset({Quantity, QuantitySum})
_MOST_CASES = 256
_MOST_EXACT = 2**53


def _exact_double(value: float) -> Fraction | None:
    """The exact value; none for what is no number, and for the negative zero, which only division can tell."""
    return None if not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0) else Fraction(value)


_AMOUNT_RULES: dict[type, Callable[[Any], Amount | None]] = {
    int: int,
    UInt: int,
    float: _exact_double,
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
_BOUNDS: dict[type, tuple[int, int]] = {int: (INT_MIN, INT_MAX), UInt: (0, UINT_MAX), Duration: (INT_MIN, INT_MAX)}


def amount_of(value: Value) -> Amount | None:
    """What a value counts in sums of its kind; None where it cannot be added up exactly, or is no number."""
    measure = _AMOUNT_RULES.get(type(value))
    return None if measure is None else measure(value)


def as_number(leaf: cel_values.Leaf) -> cel_values.LinearNumber | None:
    """A leaf as a number."""
    if type(leaf) is cel_values.LinearNumber:
        return leaf
    if type(leaf) is not cel_values.KnownValue:
        return None
    found = amount_of(leaf.value)
    return None if found is None else cel_values.LinearNumber(type(leaf.value), GatedSum.of_number(found))


def as_compared_number(leaf: cel_values.Leaf) -> cel_values.LinearNumber | None:
    """As ``as_number``, where zero has no sign."""
    if type(leaf) is cel_values.KnownValue and type(leaf.value) is float and leaf.value == 0:
        return cel_values.LinearNumber(float, GatedSum())
    return as_number(leaf)


def checked_result(
    cases: cel_values.SymbolBuilder, kind: type, total: GatedSum, levels: tuple[tuple[Amount, Handle], ...] = ()
) -> cel_values.Symbol | None:
    """The result of an operation, an error where it is out of range; None where a double would have to be rounded."""
    if kind is float and not is_exact(cases, total.constant, total.terms):
        return None
    if not total.terms and kind in _VALUES:
        return _constant_symbol(kind, total.constant)
    number = cel_values.single_case(cel_values.LinearNumber(kind, total, levels))
    if kind not in _BOUNDS:
        return number
    least, most = _BOUNDS[kind]
    low, high = cases.formulas.range_of(total)
    if least <= low and high <= most:
        return number
    return cases.failing(~cases.formulas.between(total, least, most), number)


def _constant_symbol(kind: type, value: Amount) -> cel_values.Symbol:
    least, most = _BOUNDS.get(kind, (value, value))
    return cel_values.known_symbol(_VALUES[kind](value)) if least <= value <= most else cel_values.Symbol((), TRUE)


def is_exact(cases: cel_values.SymbolBuilder, constant: Amount, terms: Sequence[SumTerm]) -> bool:
    """Whether doubles add up to a sum without rounding, in any order."""
    parts = [Fraction(part) for part in (constant, *(part for _, _, part in terms)) if part]
    # All partial sums are multiples of one power of two, and have few enough digits.
    denominator = max((part.denominator for part in parts), default=1)
    shift = min((_trailing_zeros(int(part * denominator)) for part in parts), default=0)
    magnitudes = GatedSum.of_terms(_magnitude(constant), [(item, gate, _magnitude(part)) for item, gate, part in terms])
    return cases.formulas.range_of(magnitudes)[1] * denominator <= _MOST_EXACT << shift


def _magnitude(value: Amount) -> Amount:
    return value if value >= 0 else -value


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def fits_double(cases: cel_values.SymbolBuilder, number: cel_values.LinearNumber) -> bool:
    """Whether all values of the number are doubles."""
    if number.kind is float:
        return True
    low, high = cases.formulas.range_of(number.sum)
    return low >= -_MOST_EXACT and high <= _MOST_EXACT


def at_least(cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber) -> Handle:
    """The formula ``a >= b``."""
    if a.levels and not b.sum.terms:
        return next((handle for value, handle in a.levels if value >= b.sum.constant), FALSE)
    if b.levels and not a.sum.terms:
        return ~next((handle for value, handle in b.levels if value > a.sum.constant), FALSE)
    return cases.formulas.between(a.sum - b.sum, 0, None)


def equal_numbers(cases: cel_values.SymbolBuilder, a: cel_values.LinearNumber, b: cel_values.LinearNumber) -> Handle:
    """The formula ``a == b``."""
    if a.levels or b.levels:
        return cases.formulas.conj((at_least(cases, a, b), at_least(cases, b, a)))
    return cases.formulas.equal(a.sum - b.sum, 0)


def number_by_levels(
    cases: cel_values.SymbolBuilder, kind: type, levels: list[tuple[Amount, Handle]]
) -> cel_values.Symbol:
    """The number that has the greatest value whose condition holds; each condition follows from the next."""
    terms = [(ONE, handle, value - before) for (before, _), (value, handle) in pairwise(levels)]
    found = checked_result(cases, kind, GatedSum.of_terms(levels[0][0], terms), tuple(levels))
    if found is None:
        raise cel_values.NotLoweredError("doubles that are far apart")
    return found


NUMBER_RULES: dict[tuple[str, int], NumberRule] = {
    ("_+_", 2): _addition_rule(1),
    ("_-_", 2): _addition_rule(-1),
    ("_*_", 2): _multiply,
    ("_/_", 2): _divide,
    ("-_", 1): _negate,
    ("_<_", 2): _comparison_rule(_below),
    ("_<=_", 2): _comparison_rule(_at_most),
    ("_>_", 2): _comparison_rule(_above),
    ("_>=_", 2): _comparison_rule(at_least),
    ("add", 2): _quantity_addition_rule(1),
    ("sub", 2): _quantity_addition_rule(-1),
    ("isGreaterThan", 2): _quantity_comparison_rule(_above),
    ("isLessThan", 2): _quantity_comparison_rule(_below),
    ("compareTo", 2): _compare_to,
    ("sign", 1): lambda cases, a: _compare_to(cases, a, cel_values.LinearNumber(QuantitySum, GatedSum())),
    ("int", 1): _integer_rule(int),
    ("uint", 1): _integer_rule(UInt),
    ("double", 1): _to_double,
    ("dyn", 1): lambda _cases, a: cel_values.single_case(a),
}
"""Rules by cel-go's name and the number of arguments."""


def number_cases(
    cases: cel_values.SymbolBuilder, number: cel_values.LinearNumber
) -> list[tuple[Handle, cel_values.Leaf]]:
    """All values that a number may have; ``NotLoweredError`` where they are too many or not known."""
    make = _VALUES.get(number.kind)
    if make is None:
        raise cel_values.NotLoweredError("an amount that depends on the counts, used as a value")
    if number.levels:
        handles = [*(handle for _, handle in number.levels), FALSE]
        cases.budget.spend(len(handles))
        return [
            (cases.formulas.conj((handle, ~after)), cel_values.KnownValue(make(value)))
            for (value, handle), after in zip(number.levels, handles[1:], strict=True)
        ]
    if not number.sum.terms:
        return [(TRUE, cel_values.KnownValue(make(number.sum.constant)))]
    # What all values of a sum are apart, at least.
    parts = [Fraction(part) for _, _, part in number.sum.terms]
    denominator = math.lcm(*(part.denominator for part in parts))
    step = Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)
    low, high = (math.ceil((bound - number.sum.constant) / step) for bound in cases.formulas.range_of(number.sum))
    if high - low >= _MOST_CASES:
        raise cel_values.NotLoweredError(f"a number with more than {_MOST_CASES} values, used otherwise than in sums")
    cases.budget.spend(high - low + 1)
    values = [number.sum.constant + step * position for position in range(low, high + 1)]
    found = [(cases.formulas.equal(number.sum, value), cel_values.KnownValue(make(value))) for value in values]
    return [case for case in found if case[0] != FALSE]

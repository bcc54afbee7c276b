"""Operators and functions on numbers that are linear in the counts.

A rule gives the symbol of the result, or None where it is not linear; then cases are made of the operands. No rule is
asked where all operands are known.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from ...cel.libraries.quantities import Sum as QuantitySum
from ...cel.values import Duration, Timestamp, UInt
from ...models.quantity import NANO
from .sums import FALSE, TRUE, Handle, Sum
from .sums import Number as Amount
from .symbolic_cases import Cases
from .symbolic_numbers import (
    NUMERIC,
    QUANTITIES,
    at_least,
    compared,
    fits_double,
    graded,
    lifted,
    settled,
)
from .symbolic_values import FAILED, Known, Leaf, Number, Symbol, one

Rule: TypeAlias = Callable[..., Symbol | None]
_ADDED: frozenset[type] = NUMERIC | {Duration}
_WHOLE: frozenset[type] = frozenset({int, UInt})
_MOST_QUOTIENTS = 256


# Values beside numbers that some operator takes together with a number or a duration.
_OPERANDS: frozenset[type] = frozenset({float, Timestamp})


def _two(a: Leaf, b: Leaf) -> tuple[Number, Number] | None:
    left, right = lifted(a), lifted(b)
    return None if left is None or right is None else (left, right)


def _undefined(*leaves: Leaf) -> Symbol | None:
    """The error of an operator that does not go together with one of the types, if that is so."""
    values = [leaf.value for leaf in leaves if type(leaf) is Known and lifted(leaf) is None]
    return FAILED if any(type(value) not in _OPERANDS for value in values) else None


def _adding(sign: int) -> Rule:
    def rule(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
        numbers = _two(a, b)
        if numbers is None:
            return _undefined(a, b)
        left, right = numbers
        if left.kind is not right.kind or left.kind not in _ADDED:
            return FAILED
        return settled(cases, left.kind, left.sum + right.sum.scaled(sign))

    return rule


def _multiply(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
    numbers = _two(a, b)
    if numbers is None:
        return _undefined(a, b)
    left, right = numbers
    if left.kind is not right.kind or left.kind not in NUMERIC:
        return FAILED
    if left.sum.terms and right.sum.terms:
        return None
    factor, other = (right, left) if left.sum.terms else (left, right)
    return _scaled(cases, other, factor.sum.constant)


def _scaled(cases: Cases, number: Number, factor: Amount) -> Symbol | None:
    """A double times what is not positive may be the negative zero."""
    if number.kind is float and factor <= 0:
        return None
    return settled(cases, number.kind, number.sum.scaled(factor))


def _negate(cases: Cases, a: Leaf) -> Symbol | None:
    number = lifted(a)
    return settled(cases, number.kind, -number.sum) if number and number.kind in (int, Duration) else None


def _divide(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
    numbers = _two(a, b)
    if numbers is None or numbers[1].sum.terms or numbers[0].kind is not numbers[1].kind:
        return None
    number, divisor = numbers[0], numbers[1].sum.constant
    if number.kind in _WHOLE:
        return _quotient(cases, number, int(divisor))
    # Only a power of two divides doubles without rounding.
    if number.kind is float and divisor > 0 and (Fraction(divisor).numerator & (Fraction(divisor).numerator - 1)) == 0:
        return _scaled(cases, number, 1 / Fraction(divisor))
    return None


def _quotient(cases: Cases, number: Number, divisor: int) -> Symbol | None:
    """Rounded towards zero: at least k > 0 from k times the divisor on, at least k <= 0 above (k - 1) times that."""
    if divisor == 0:
        return FAILED
    if divisor == -1:
        return settled(cases, number.kind, -number.sum)
    total = number.sum.scaled(1 if divisor > 0 else -1)
    divisor = abs(divisor)
    low, high = (int(Fraction(bound) / divisor) for bound in cases.formulas.range_of(total))
    if high - low >= _MOST_QUOTIENTS:
        return None
    cases.budget.spend((high - low) * (1 + len(total.terms)))
    bounds = [(k, k * divisor if k > 0 else (k - 1) * divisor + 1) for k in range(low + 1, high + 1)]
    return graded(
        cases, number.kind, [(low, TRUE), *((k, cases.formulas.between(total, bound, None)) for k, bound in bounds)]
    )


def _comparison(compare: Callable[[Cases, Number, Number], Handle]) -> Rule:
    def rule(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
        left, right = compared(a), compared(b)
        if left is None or right is None:
            return _undefined(a, b)
        numbers = (left, right)
        kinds = {left.kind, right.kind}
        if not (kinds <= NUMERIC or kinds == {Duration}):
            return FAILED
        if float in kinds and not all(fits_double(cases, number) for number in numbers):
            return None
        return cases.boolean(compare(cases, *numbers))

    return rule


def _below(cases: Cases, a: Number, b: Number) -> Handle:
    return ~at_least(cases, a, b)


def _at_most(cases: Cases, a: Number, b: Number) -> Handle:
    return at_least(cases, b, a)


def _above(cases: Cases, a: Number, b: Number) -> Handle:
    return ~at_least(cases, b, a)


# --- quantities


def _quantities(a: Leaf, b: Leaf) -> tuple[Number, Number] | None:
    numbers = _two(a, b)
    return numbers if numbers and all(number.kind in QUANTITIES for number in numbers) else None


def _adding_quantities(sign: int) -> Rule:
    def rule(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
        numbers = _two(a, b)
        if numbers is None or numbers[0].kind not in QUANTITIES:
            return None
        left, right = numbers
        if right.kind not in QUANTITIES and right.kind is not int:
            return FAILED
        unit = NANO if right.kind is int else 1
        return one(Number(QuantitySum, left.sum + right.sum.scaled(sign * unit)))

    return rule


def _comparing_quantities(compare: Callable[[Cases, Number, Number], Handle]) -> Rule:
    def rule(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
        numbers = _quantities(a, b)
        return None if numbers is None else cases.boolean(compare(cases, *numbers))

    return rule


def _compare_to(cases: Cases, a: Leaf, b: Leaf) -> Symbol | None:
    numbers = _quantities(a, b)
    if numbers is None:
        return None
    at_most, at_least_ = _at_most(cases, *numbers), at_least(cases, *numbers)
    signs = ((~at_least_, -1), (cases.formulas.conj((at_most, at_least_)), 0), (~at_most, 1))
    return cases.each((handle, Known(sign)) for handle, sign in signs if handle != FALSE)


def _sign(cases: Cases, a: Leaf) -> Symbol | None:
    return _compare_to(cases, a, Number(QuantitySum, Sum()))


# --- conversions


def _whole(kind: type) -> Rule:
    def rule(cases: Cases, a: Leaf) -> Symbol | None:
        number = lifted(a)
        if number is None or number.kind not in _WHOLE:
            return None
        return settled(cases, kind, number.sum, number.levels)

    return rule


def _to_double(cases: Cases, a: Leaf) -> Symbol | None:
    number = lifted(a)
    if number is None or number.kind not in NUMERIC or not fits_double(cases, number):
        return None
    return settled(cases, float, number.sum, number.levels)


def _itself(_cases: Cases, a: Leaf) -> Symbol:
    return one(a)


RULES: dict[tuple[str, int], Rule] = {
    ("_+_", 2): _adding(1),
    ("_-_", 2): _adding(-1),
    ("_*_", 2): _multiply,
    ("_/_", 2): _divide,
    ("-_", 1): _negate,
    ("_<_", 2): _comparison(_below),
    ("_<=_", 2): _comparison(_at_most),
    ("_>_", 2): _comparison(_above),
    ("_>=_", 2): _comparison(at_least),
    ("add", 2): _adding_quantities(1),
    ("sub", 2): _adding_quantities(-1),
    ("isGreaterThan", 2): _comparing_quantities(_above),
    ("isLessThan", 2): _comparing_quantities(_below),
    ("compareTo", 2): _compare_to,
    ("sign", 1): _sign,
    ("int", 1): _whole(int),
    ("uint", 1): _whole(UInt),
    ("double", 1): _to_double,
    ("dyn", 1): _itself,
}
"""Rules by cel-go's name and the number of arguments."""

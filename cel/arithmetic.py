"""What the operators compute: 64-bit integers that overflow loudly, IEEE doubles, points in time and spans."""

from __future__ import annotations

import math
from collections.abc import Callable

from .cost_meter import paced, tick
from .errors import CelCostError, CelRuntimeError
from .values import INT_MAX, INT_MIN, UINT_MAX, CelMap, Duration, Timestamp, UInt, Value, stored_key, surely_equal

# A chain of concatenations doubles its result at every step; what outgrows this costs more than any budget to look at.
# Elements copied in the time of a step.
_QUICK = 64
_MOST_CHARACTERS, _MOST_ELEMENTS = 10_000_000, 1_000_000


def checked_int(number: int) -> int:
    """The number, or ``CelRuntimeError`` when it is out of int64."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise CelRuntimeError("integer overflow")


def checked_uint(number: int) -> UInt:
    """The number as a uint, or ``CelRuntimeError`` when it is out of uint64."""
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise CelRuntimeError("unsigned integer overflow")


def _quotient(a: int, b: int) -> int:
    """Division rounding towards zero."""
    if b == 0:
        raise CelRuntimeError("division by zero")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    """What ``_quotient`` leaves; it has the sign of ``a``."""
    if b == 0:
        raise CelRuntimeError("modulus by zero")
    if b == -1 and a == INT_MIN:
        raise CelRuntimeError("integer overflow")
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _divide_doubles(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


_Binary = Callable[[Value, Value], Value]

ADD: dict[str, _Binary] = {
    "int64": lambda a, b: checked_int(a + b),
    "uint64": lambda a, b: checked_uint(int(a) + int(b)),
    "double": lambda a, b: a + b,
}
SUBTRACT: dict[str, _Binary] = {
    "int64": lambda a, b: checked_int(a - b),
    "uint64": lambda a, b: checked_uint(int(a) - int(b)),
    "double": lambda a, b: a - b,
}
MULTIPLY: dict[str, _Binary] = {
    "int64": lambda a, b: checked_int(a * b),
    "uint64": lambda a, b: checked_uint(int(a) * int(b)),
    "double": lambda a, b: a * b,
}
DIVIDE: dict[str, _Binary] = {
    "int64": lambda a, b: checked_int(_quotient(a, b)),
    "uint64": lambda a, b: UInt(_quotient(int(a), int(b))),
    "double": _divide_doubles,
}
MODULO: dict[str, _Binary] = {"int64": _remainder, "uint64": lambda a, b: UInt(_remainder(int(a), int(b)))}


def negate_int(a: int) -> int:
    """``-a``; the smallest int has no negative."""
    return checked_int(-a)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise CelCostError("operation cancelled: actual cost limit exceeded")


def concatenate(a: Value, b: Value) -> Value:
    """Two strings, or two bytes, one after the other."""
    _check_size(len(a) + len(b), _MOST_CHARACTERS)
    return a + b


def join_lists(a: Value, b: Value) -> Value:
    """The elements of two lists."""
    size = len(a) + len(b)
    _check_size(size, _MOST_ELEMENTS)
    tick(size // _QUICK)
    return [*a, *b]


def add_durations(a: Duration, b: Duration) -> Duration:
    """The sum of two spans."""
    return Duration.checked(a.ns + b.ns)


def subtract_durations(a: Duration, b: Duration) -> Duration:
    """The difference of two spans."""
    return Duration.checked(a.ns - b.ns)


def shift(a: Timestamp, b: Duration) -> Timestamp:
    """The point in time a span later."""
    return Timestamp.checked(a.ns + b.ns)


def shift_back(a: Timestamp, b: Duration) -> Timestamp:
    """The point in time a span earlier."""
    return Timestamp.checked(a.ns - b.ns)


def between(a: Timestamp, b: Timestamp) -> Duration:
    """The span from ``b`` to ``a``."""
    return Duration.checked(a.ns - b.ns)


def has_key(container: CelMap, key: Value) -> bool:
    """``key in map``."""
    try:
        return stored_key(key) in container.entries
    except TypeError:  # A list or a map can be no key.
        return False


def has_element(container: Value, element: Value) -> bool:
    """``element in list``; what cannot be compared is not equal."""
    return any(surely_equal(element, other) for other in paced(container))

"""Lists as the API server extends them: ``min max sum isSorted indexOf lastIndexOf``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from ..cost_meter import paced
from ..errors import CelRuntimeError
from ..library import Function
from ..types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type, list_of, parameter
from ..values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, UInt, Value, compare, surely_equal
from .costs import traversal
from .declare import method, no_overload

_T = parameter("T")
_COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_ORDERED = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp})


def _order(a: Value, b: Value) -> int:
    """As ``compare``, but values that cannot be compared (NaN, other types) count as in order."""
    try:
        return compare(a, b)
    except CelRuntimeError:
        return 0


def _extreme(name: str, sign: int, values: Sequence[Value]) -> Value:
    if not values:
        raise CelRuntimeError(f"{name} called on empty list")
    _check_ordered(name, values)
    if len(set(map(type, values))) == 1 and type(values[0]) is not float:
        return (max if sign > 0 else min)(values)
    best = values[0]
    for value in paced(values):
        if _order(value, best) == sign:
            best = value
    return best


def _check_ordered(name: str, values: Sequence[Value]) -> None:
    wrong = next((index for index, value in enumerate(values) if type(value) not in _ORDERED), None)
    if wrong is not None:
        raise no_overload() if wrong else no_overload(name, "list")


def _is_sorted(values: Sequence[Value]) -> bool:
    _check_ordered("isSorted", values)
    return all(_order(a, b) <= 0 for a, b in paced(pairwise(values)))


def _add_int(numbers: Sequence[int]) -> int:
    total = sum(numbers)
    if INT_MIN <= total <= INT_MAX:
        return total
    raise CelRuntimeError("integer overflow")


def _add_uint(numbers: Sequence[UInt]) -> UInt:
    total = sum(numbers)
    if total <= UINT_MAX:
        return UInt(total)
    raise CelRuntimeError("unsigned integer overflow")


def _add_double(numbers: Sequence[float]) -> float:
    total = numbers[0]
    for number in numbers[1:]:
        total += number
    return total


def _add_duration(durations: Sequence[Duration]) -> Duration:
    total = sum(duration.ns for duration in durations)
    if INT_MIN <= total <= INT_MAX:
        return Duration(total)
    raise CelRuntimeError("integer overflow")


_ADDERS: dict[type, Callable[[Sequence[Any]], Value]] = {
    int: _add_int,
    UInt: _add_uint,
    float: _add_double,
    Duration: _add_duration,
}
_ZEROS: tuple[tuple[Type, Value], ...] = ((INT, 0), (UINT, UInt(0)), (DOUBLE, 0.0), (DURATION, Duration(0)))


def _sum(zero: Value, values: Sequence[Value]) -> Value:
    if not values:
        return zero
    adder = _ADDERS.get(type(values[0]))
    if adder is None:
        raise no_overload("sum", "list")
    if any(type(value) is not type(values[0]) for value in values):
        raise no_overload()
    return adder(values)


def _index_of(values: Sequence[Value], wanted: Value) -> int:
    return next((index for index, value in enumerate(paced(values)) if surely_equal(value, wanted)), -1)


def _last_index_of(values: Sequence[Value], wanted: Value) -> int:
    return next((index for index in paced(range(len(values) - 1, -1, -1)) if surely_equal(values[index], wanted)), -1)


def _extremes(name: str, sign: int) -> Function:
    fold = partial(_extreme, name, sign)
    return Function(
        name,
        tuple(method(f"list_{one}_{name}_{one}", (list_of(one),), one, fold, **traversal()) for one in _COMPARABLE),
    )


FUNCTIONS: tuple[Function, ...] = (
    _extremes("min", -1),
    _extremes("max", 1),
    Function(
        "sum",
        tuple(
            method(f"list_{one}_sum_{one}", (list_of(one),), one, partial(_sum, zero), **traversal())
            for one, zero in _ZEROS
        ),
    ),
    Function(
        "isSorted",
        tuple(
            method(f"list_{one}_is_sorted_bool", (list_of(one),), BOOL, _is_sorted, **traversal())
            for one in _COMPARABLE
        ),
    ),
    Function("indexOf", (method("list_a_index_of_int", (list_of(_T), _T), INT, _index_of, **traversal()),)),
    Function(
        "lastIndexOf", (method("list_a_last_index_of_int", (list_of(_T), _T), INT, _last_index_of, **traversal()),)
    ),
)

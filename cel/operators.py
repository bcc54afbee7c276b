"""The operators, as functions under cel-go's names.

``&&``, ``||``, ``?:`` and the selections are declared here for the checker only: they are not strict, so closures
carry them out. Overload ids are cel-go's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from . import arithmetic
from .library import Function, Overload
from .types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, list_of, map_of, optional_of
from .types import parameter as type_parameter
from .values import CelMap, Value, compare, equal, inner_size, is_measured, unequal

_A, _K, _V = type_parameter("A"), type_parameter("K"), type_parameter("V")
_Cost = Callable[[tuple[Value, ...], Value], int]
_NUMBERS = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))
_ORDERED = (
    ("bool", BOOL), *_NUMBERS, ("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION),
)  # fmt: skip


def _tenth(size: int) -> int:
    return math.ceil(size * 0.1)


def _traverse_both(args: tuple[Value, ...], _result: Value) -> int:
    return _tenth(min(inner_size(args[0]), inner_size(args[1])))


def _traverse_equal(args: tuple[Value, ...], result: Value) -> int:
    """Addresses and networks have a size, but to ``==`` they are as one."""
    return 1 if all(map(is_measured, args)) else _traverse_both(args, result)


def _concatenate(args: tuple[Value, ...], _result: Value) -> int:
    return _tenth(inner_size(args[0]) + inner_size(args[1]))


def _search(args: tuple[Value, ...], _result: Value) -> int:
    return inner_size(args[1])


def _not_applied(*_args: Value) -> Value:
    raise AssertionError("closures carry this operator out")


def _binary(
    id_: str, left: Type, right: Type, result: Type, apply: Callable[..., Value], cost: _Cost | None = None
) -> Overload:
    return Overload(id_, (left, right), result, apply, cost=cost)


def _less(a: Value, b: Value) -> bool:
    return compare(a, b) < 0


def _less_equal(a: Value, b: Value) -> bool:
    return compare(a, b) <= 0


def _greater(a: Value, b: Value) -> bool:
    return compare(a, b) > 0


def _greater_equal(a: Value, b: Value) -> bool:
    return compare(a, b) >= 0


def _comparison(name: str, prefix: str, apply: Callable[[Value, Value], bool]) -> Function:
    """One of the four orders: within each ordered type, and between the types of numbers."""
    sized = {"string": _traverse_both, "bytes": _traverse_both}
    same = [_binary(f"{prefix}_{id_}", type_, type_, BOOL, apply, sized.get(id_)) for id_, type_ in _ORDERED]
    crossed = [
        _binary(f"{prefix}_{left_id}_{right_id}", left, right, BOOL, apply)
        for left_id, left in _NUMBERS
        for right_id, right in _NUMBERS
        if left is not right
    ]
    return Function(name, (*same, *crossed))


def _numeric(name: str, prefix: str, apply: dict[str, Callable[..., Value]], *more: Overload) -> Function:
    numbers = (_binary(f"{prefix}_{id_}", t, t, t, apply[id_]) for id_, t in _NUMBERS if id_ in apply)
    return Function(name, (*numbers, *more))


def _add() -> Function:
    lists = list_of(_A)
    return _numeric(
        "_+_", "add", arithmetic.ADD,
        _binary("add_string", STRING, STRING, STRING, arithmetic.concatenate, _concatenate),
        _binary("add_bytes", BYTES, BYTES, BYTES, arithmetic.concatenate, _concatenate),
        _binary("add_list", lists, lists, lists, arithmetic.join_lists),
        _binary("add_duration_duration", DURATION, DURATION, DURATION, arithmetic.add_durations),
        _binary("add_duration_timestamp", DURATION, TIMESTAMP, TIMESTAMP, lambda a, b: arithmetic.shift(b, a)),
        _binary("add_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, arithmetic.shift),
    )  # fmt: skip


def _subtract() -> Function:
    return _numeric(
        "_-_", "subtract", arithmetic.SUBTRACT,
        _binary("subtract_timestamp_timestamp", TIMESTAMP, TIMESTAMP, DURATION, arithmetic.between),
        _binary("subtract_timestamp_duration", TIMESTAMP, DURATION, TIMESTAMP, arithmetic.shift_back),
        _binary("subtract_duration_duration", DURATION, DURATION, DURATION, arithmetic.subtract_durations),
    )  # fmt: skip


def _contains(element: Value, container: Value) -> bool:
    if type(container) is CelMap:
        return arithmetic.has_key(container, element)
    return arithmetic.has_element(container, element)


def _negate() -> Function:
    return Function(
        "-_",
        (
            Overload("negate_int64", (INT,), INT, arithmetic.negate_int),
            Overload("negate_double", (DOUBLE,), DOUBLE, lambda a: -a),
        ),
    )


def _unchecked(name: str, *signatures: tuple[str, tuple[Type, ...], Type]) -> Function:
    return Function(name, tuple(Overload(id_, args, result, _not_applied) for id_, args, result in signatures))


def _selections() -> Iterator[Function]:
    lists, maps = list_of(_V), map_of(_K, _V)
    one = optional_of(_V)
    yield _unchecked(
        "_[_]",
        ("index_list", (lists, INT), _V),
        ("index_map", (maps, _K), _V),
        ("optional_list_index_int", (optional_of(lists), INT), one),
        ("optional_map_index_value", (optional_of(maps), _K), one),
    )
    yield _unchecked(
        "_[?_]",
        ("list_optindex_optional_int", (lists, INT), one),
        ("optional_list_optindex_optional_int", (optional_of(lists), INT), one),
        ("map_optindex_optional_value", (maps, _K), one),
        ("optional_map_optindex_optional_value", (optional_of(maps), _K), one),
    )
    yield _unchecked("_?._", ("select_optional_field", (DYN, STRING), optional_of(DYN)))


def _functions() -> Iterator[Function]:
    yield Function("_==_", (_binary("equals", _A, _A, BOOL, equal, _traverse_equal),))
    yield Function("_!=_", (_binary("not_equals", _A, _A, BOOL, unequal, _traverse_both),))
    yield _comparison("_<_", "less", _less)
    yield _comparison("_<=_", "less_equals", _less_equal)
    yield _comparison("_>_", "greater", _greater)
    yield _comparison("_>=_", "greater_equals", _greater_equal)
    yield _add()
    yield _subtract()
    yield _numeric("_*_", "multiply", arithmetic.MULTIPLY)
    yield _numeric("_/_", "divide", arithmetic.DIVIDE)
    yield _numeric("_%_", "modulo", arithmetic.MODULO)
    yield Function("!_", (Overload("logical_not", (BOOL,), BOOL, lambda a: not a),))
    yield _negate()
    yield Function(
        "@in",
        (
            _binary("in_list", _A, list_of(_A), BOOL, _contains, _search),
            _binary("in_map", _K, map_of(_K, _V), BOOL, _contains),
        ),
    )
    yield from _selections()
    yield _unchecked("_&&_", ("logical_and", (BOOL, BOOL), BOOL))
    yield _unchecked("_||_", ("logical_or", (BOOL, BOOL), BOOL))
    yield _unchecked("_?_:_", ("conditional", (BOOL, _A, _A), _A))


OPERATORS: tuple[Function, ...] = tuple(_functions())
BY_NAME: dict[str, Function] = {function.name: function for function in OPERATORS}

# The written form of the binary operators.
NAMES: dict[str, str] = {"in": "@in"} | {
    sign: f"_{sign}_" for sign in ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
}
UNARY_NAMES: dict[str, str] = {"!": "!_", "-": "-_"}

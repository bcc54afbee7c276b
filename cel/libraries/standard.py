"""Functions of the language itself: ``size``, conversions between types, optional values.

The conversions are ``int``, ``uint``, ``double``, ``bool``, ``string``, ``bytes``, ``duration``, ``timestamp``, ``dyn``
and ``type``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from .. import types, values
from ..declarations import UNBOUNDED, Estimate, Function, Operand, Range
from ..errors import CelRuntimeError
from ..operators import checked_int, checked_uint
from ..types import Type
from ..values import NANOS, NONE, Duration, Optional, Timestamp, TypeValue, UInt, Value, size_of, type_name
from . import declare
from .declare import function, method, no_overload
from .times import format_duration, format_timestamp, parse_duration, parse_timestamp

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def _refusal(to: str) -> CelRuntimeError:
    return CelRuntimeError(f"type conversion error from 'string' to '{to}'")


def _double_to_int(number: float) -> int:
    """Truncation; cel-go refuses the very ends of the range too."""
    if -(2.0**63) < number < 2.0**63:
        return int(number)
    raise CelRuntimeError("integer overflow")


def _double_to_uint(number: float) -> UInt:
    if 0 <= number < 2.0**64:
        return UInt(int(number))
    raise CelRuntimeError("unsigned integer overflow")


def _parse_int(text: str) -> int:
    number = declare.parse_integer(text)
    if number is None or not values.INT_MIN <= number <= values.INT_MAX:
        raise _refusal("int")
    return number


def _parse_uint(text: str) -> UInt:
    number = declare.parse_integer(text) if text[:1] not in "+-" else None
    if number is None or number > values.UINT_MAX:
        raise _refusal("uint")
    return UInt(number)


def _parse_double(text: str) -> float:
    number = declare.parse_double(text)
    if number is None:
        raise _refusal("double")
    return number


def _parse_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _refusal("bool")


def _parse_duration(text: str) -> Duration:
    ns = parse_duration(text)
    if ns is None:
        raise _refusal("google.protobuf.Duration")
    return Duration(ns)


def _parse_timestamp(text: str) -> Timestamp:
    ns = parse_timestamp(text)
    if ns is None:
        raise _refusal("google.protobuf.Timestamp")
    return Timestamp.checked(ns)


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelRuntimeError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same(value: Value) -> Value:
    return value


def _decoded_size(operands: tuple[Operand, ...]) -> Range:
    """Characters take up to four bytes."""
    return Range(operands[0].size.min // 4, operands[0].size.max)


def _encoded_size(operands: tuple[Operand, ...]) -> Range:
    return Range(operands[0].size.min, min(operands[0].size.max * 4, UNBOUNDED))


_Source: TypeAlias = tuple[str, Type, Callable[..., Value]]


def _conversions(name: str, to: Type, *sources: _Source) -> Iterator[Function]:
    for source, type_, apply in sources:
        yield function(name, f"{source}_to_{name}", (type_,), to, apply)


def _coded(name: str, id_: str, source: Type, to: Type, apply: Callable[..., Value]) -> Function:
    """Between string and bytes."""
    result = _decoded_size if to is types.STRING else _encoded_size
    return function(
        name,
        id_,
        (source,),
        to,
        apply,
        cost=lambda args, _: declare.scaled_cost(size_of(args[0]), declare.STRING_FACTOR),
        estimate=lambda operands: Estimate(operands[0].size.scaled(declare.STRING_FACTOR), result(operands)),
    )


_T = types.parameter("T")
CONVERSION_FUNCTIONS: tuple[Function, ...] = (
    *_conversions(
        "int",
        types.INT,
        ("int64", types.INT, _same),
        ("uint64", types.UINT, lambda value: checked_int(int(value))),
        ("double", types.DOUBLE, _double_to_int),
        ("string", types.STRING, _parse_int),
        ("timestamp", types.TIMESTAMP, lambda timestamp: timestamp.ns // NANOS),
        ("duration", types.DURATION, lambda value: value.ns),
    ),
    *_conversions(
        "uint",
        types.UINT,
        ("uint64", types.UINT, _same),
        ("int64", types.INT, checked_uint),
        ("double", types.DOUBLE, _double_to_uint),
        ("string", types.STRING, _parse_uint),
    ),
    *_conversions(
        "double",
        types.DOUBLE,
        ("double", types.DOUBLE, _same),
        ("int64", types.INT, float),
        ("uint64", types.UINT, float),
        ("string", types.STRING, _parse_double),
    ),
    *_conversions("bool", types.BOOL, ("bool", types.BOOL, _same), ("string", types.STRING, _parse_bool)),
    *_conversions(
        "string",
        types.STRING,
        ("string", types.STRING, _same),
        ("bool", types.BOOL, declare.format_bool),
        ("int64", types.INT, str),
        ("uint64", types.UINT, str),
        ("double", types.DOUBLE, declare.format_double),
        ("timestamp", types.TIMESTAMP, lambda value: format_timestamp(value.ns)),
        ("duration", types.DURATION, lambda value: format_duration(value.ns)),
    ),
    _coded("string", "bytes_to_string", types.BYTES, types.STRING, _decode),
    function("bytes", "bytes_to_bytes", (types.BYTES,), types.BYTES, _same),
    _coded("bytes", "string_to_bytes", types.STRING, types.BYTES, lambda text: text.encode("utf-8", "surrogatepass")),
    *_conversions(
        "duration", types.DURATION, ("duration", types.DURATION, _same), ("string", types.STRING, _parse_duration)
    ),
    *_conversions(
        "timestamp",
        types.TIMESTAMP,
        ("timestamp", types.TIMESTAMP, _same),
        ("int64", types.INT, lambda seconds: Timestamp.checked(seconds * NANOS)),
        ("string", types.STRING, _parse_timestamp),
    ),
    function("dyn", "to_dyn", (_T,), types.DYN, _same, **declare.sized_result(declare.of_size(0))),
    function("type", "type", (_T,), types.type_of(_T), lambda value: TypeValue(type_name(value))),
)
_TYPES_WITH_SIZE = (
    ("string", types.STRING),
    ("bytes", types.BYTES),
    ("list", types.list_of(types.parameter("A"))),
    ("map", types.map_of(types.parameter("A"), types.parameter("B"))),
)
SIZE_FUNCTIONS: tuple[Function, ...] = (
    *(function("size", f"size_{name}", (type_,), types.INT, len) for name, type_ in _TYPES_WITH_SIZE),
    *(method("size", f"{name}_size", (type_,), types.INT, len) for name, type_ in _TYPES_WITH_SIZE),
)
_V = types.parameter("V")
_OPTIONAL = types.optional_of(_V)
_VALUE_LIST = types.list_of(_V)
_OPTIONALS = types.list_of(_OPTIONAL)
_ZERO_VALUES: dict[type, Value] = {Timestamp: Timestamp(values.TIMESTAMP_MIN), Duration: Duration(0)}
# Objects without a zero are true in Python too.
_NEVER_ZERO = frozenset({Optional})


def _is_zero(value: Value) -> bool:
    kind = type(value)
    if kind in _ZERO_VALUES:
        return bool(value == _ZERO_VALUES[kind])
    return kind not in _NEVER_ZERO and not value


def _optional_value(optional: Optional) -> Value:
    if not optional.present:
        raise CelRuntimeError("optional.none() dereference")
    return optional.value


def _unwrap(name: str, optionals: Sequence[Optional]) -> list[Value]:
    if any(type(optional) is not Optional for optional in optionals):
        raise no_overload(name, "list")
    return [optional.value for optional in optionals if optional.present]


# The compiler evaluates the argument of or and orValue only where it is needed; these serve where both are at hand.
OPTIONAL_FUNCTIONS: tuple[Function, ...] = (
    function("optional.of", "optional_of", (_V,), _OPTIONAL, Optional),
    function("optional.none", "optional_none", (), _OPTIONAL, lambda: NONE),
    function(
        "optional.ofNonZeroValue",
        "optional_ofNonZeroValue",
        (_V,),
        _OPTIONAL,
        lambda value: NONE if _is_zero(value) else Optional(value),
    ),
    method("hasValue", "optional_hasValue", (_OPTIONAL,), types.BOOL, lambda optional: optional.present),
    method("value", "optional_value", (_OPTIONAL,), _V, _optional_value),
    method(
        "or",
        "optional_or_optional",
        (_OPTIONAL, _OPTIONAL),
        _OPTIONAL,
        lambda optional, other: optional if optional.present else other,
        **declare.free_call(),
    ),
    method(
        "orValue",
        "optional_orValue_value",
        (_OPTIONAL, _V),
        _V,
        lambda optional, other: optional.value if optional.present else other,
        **declare.free_call(),
    ),
    method("first", "list_first", (_VALUE_LIST,), _OPTIONAL, lambda values: Optional(values[0]) if values else NONE),
    method("last", "list_last", (_VALUE_LIST,), _OPTIONAL, lambda values: Optional(values[-1]) if values else NONE),
    function("optional.unwrap", "optional_unwrap", (_OPTIONALS,), _VALUE_LIST, partial(_unwrap, "optional.unwrap")),
    method("unwrapOpt", "optional_unwrapOpt", (_OPTIONALS,), _VALUE_LIST, partial(_unwrap, "unwrapOpt")),
)

"""Conversions between types: ``int``, ``uint``, ``double``, ``bool``, ``string``, ``bytes``, ``dyn``, ``type``."""

from __future__ import annotations

from collections.abc import Callable

from ..declarations import UNBOUNDED, Estimate, Function, Operand, Overload, Range
from ..errors import CelRuntimeError
from ..types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type, parameter, type_of
from ..values import INT_MAX, INT_MIN, NANOS, UINT_MAX, Duration, Timestamp, TypeValue, UInt, Value, size_of, type_name
from .declare import (
    STRING_FACTOR,
    format_bool,
    format_double,
    function,
    of_size,
    parse_double,
    parse_integer,
    scaled_cost,
    single_overload,
    sized_result,
)
from .times import format_duration, format_timestamp, parse_duration, parse_timestamp

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def _refusal(to: str) -> CelRuntimeError:
    return CelRuntimeError(f"type conversion error from 'string' to '{to}'")


def _to_int(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return int(number)
    raise CelRuntimeError("integer overflow")


def _to_uint(number: int) -> UInt:
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise CelRuntimeError("unsigned integer overflow")


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
    number = parse_integer(text)
    if number is None or not INT_MIN <= number <= INT_MAX:
        raise _refusal("int")
    return number


def _parse_uint(text: str) -> UInt:
    number = parse_integer(text) if text[:1] not in "+-" else None
    if number is None or number > UINT_MAX:
        raise _refusal("uint")
    return UInt(number)


def _parse_double(text: str) -> float:
    number = parse_double(text)
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


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unix(timestamp: Timestamp) -> int:
    return timestamp.ns // NANOS


def _from_unix(seconds: int) -> Timestamp:
    return Timestamp.checked(seconds * NANOS)


def _same(value: Value) -> Value:
    return value


def _decoded_size(operands: tuple[Operand, ...]) -> Range:
    """Characters take up to four bytes."""
    return Range(operands[0].size.min // 4, operands[0].size.max)


def _encoded_size(operands: tuple[Operand, ...]) -> Range:
    return Range(operands[0].size.min, min(operands[0].size.max * 4, UNBOUNDED))


def _from(source: str, type_: Type, apply: Callable[..., Value]) -> tuple[str, Type, Callable[..., Value]]:
    return source, type_, apply


def _conversions(name: str, to: Type, *sources: tuple[str, Type, Callable[..., Value]]) -> Function:
    return Function(
        name, tuple(function(f"{source}_to_{name}", (type_,), to, apply) for source, type_, apply in sources)
    )


def _coded(id_: str, source: Type, to: Type, apply: Callable[..., Value]) -> Overload:
    """Between string and bytes."""
    result = _decoded_size if to is STRING else _encoded_size
    return function(
        id_,
        (source,),
        to,
        apply,
        cost=lambda args, _: scaled_cost(size_of(args[0]), STRING_FACTOR),
        estimate=lambda operands: Estimate(operands[0].size.scaled(STRING_FACTOR), result(operands)),
    )


_T = parameter("T")
_TO_STRING = _conversions(
    "string",
    STRING,
    _from("string", STRING, _same),
    _from("bool", BOOL, format_bool),
    _from("int64", INT, str),
    _from("uint64", UINT, str),
    _from("double", DOUBLE, format_double),
    _from("timestamp", TIMESTAMP, lambda value: format_timestamp(value.ns)),
    _from("duration", DURATION, lambda value: format_duration(value.ns)),
)
CONVERSION_FUNCTIONS: tuple[Function, ...] = (
    _conversions(
        "int",
        INT,
        _from("int64", INT, _same),
        _from("uint64", UINT, _to_int),
        _from("double", DOUBLE, _double_to_int),
        _from("string", STRING, _parse_int),
        _from("timestamp", TIMESTAMP, _unix),
        _from("duration", DURATION, lambda value: value.ns),
    ),
    _conversions(
        "uint",
        UINT,
        _from("uint64", UINT, _same),
        _from("int64", INT, _to_uint),
        _from("double", DOUBLE, _double_to_uint),
        _from("string", STRING, _parse_uint),
    ),
    _conversions(
        "double",
        DOUBLE,
        _from("double", DOUBLE, _same),
        _from("int64", INT, float),
        _from("uint64", UINT, float),
        _from("string", STRING, _parse_double),
    ),
    _conversions("bool", BOOL, _from("bool", BOOL, _same), _from("string", STRING, _parse_bool)),
    _TO_STRING,
    Function("string", (_coded("bytes_to_string", BYTES, STRING, _decode),)),
    Function(
        "bytes", (function("bytes_to_bytes", (BYTES,), BYTES, _same), _coded("string_to_bytes", STRING, BYTES, _encode))
    ),
    _conversions("duration", DURATION, _from("duration", DURATION, _same), _from("string", STRING, _parse_duration)),
    _conversions(
        "timestamp",
        TIMESTAMP,
        _from("timestamp", TIMESTAMP, _same),
        _from("int64", INT, _from_unix),
        _from("string", STRING, _parse_timestamp),
    ),
    single_overload("dyn", function("to_dyn", (_T,), DYN, _same, **sized_result(of_size(0)))),
    single_overload("type", function("type", (_T,), type_of(_T), lambda value: TypeValue(type_name(value)))),
)

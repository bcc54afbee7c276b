"""Functions of the language itself: ``size``, conversions between types, optional values.

The conversions are ``int``, ``uint``, ``double``, ``bool``, ``string``, ``bytes``, ``duration``, ``timestamp``, ``dyn``
and ``type``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from .. import types, values
from ..declarations import UNBOUNDED, Function, Operand, Range
from ..errors import CelRuntimeError
from ..operators import checked_int, checked_uint
from ..types import Type
from ..values import NANOS, NONE, Duration, Optional, Timestamp, TypeValue, UInt, Value, type_name
from . import declare
from .declare import function, method, no_overload
from .times import format_duration, format_timestamp, parse_duration, parse_timestamp

_BOOLS = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True)
_BOOLS |= dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False)
_P = TypeVar("_P")


def _required(parsed: _P | None, to: str) -> _P:
    """What a text was read as; ``CelRuntimeError`` where that is nothing."""
    if parsed is None:
        raise CelRuntimeError(f"type conversion error from 'string' to '{to}'")
    return parsed


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
    number = _required(declare.parse_integer(text), "int")
    return _required(number if values.INT_MIN <= number <= values.INT_MAX else None, "int")


def _parse_uint(text: str) -> UInt:
    number = _required(declare.parse_integer(text) if text[:1] not in "+-" else None, "uint")
    return UInt(_required(number if number <= values.UINT_MAX else None, "uint"))


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
    return function(name, id_, (source,), to, apply, **declare.cost_per_length(result=result))


_T = types.parameter("T")
CONVERSION_FUNCTIONS: tuple[Function, ...] = (
    *_conversions(
        "int", types.INT,
        ("int64", types.INT, _same),
        ("uint64", types.UINT, lambda value: checked_int(int(value))),
        ("double", types.DOUBLE, _double_to_int),
        ("string", types.STRING, _parse_int),
        ("timestamp", types.TIMESTAMP, lambda timestamp: timestamp.ns // NANOS),
        ("duration", types.DURATION, lambda value: value.ns),
    ),
    *_conversions(
        "uint", types.UINT,
        ("uint64", types.UINT, _same),
        ("int64", types.INT, checked_uint),
        ("double", types.DOUBLE, _double_to_uint),
        ("string", types.STRING, _parse_uint),
    ),
    *_conversions(
        "double", types.DOUBLE,
        ("double", types.DOUBLE, _same),
        ("int64", types.INT, float),
        ("uint64", types.UINT, float),
        ("string", types.STRING, lambda text: _required(declare.parse_double(text), "double")),
    ),
    *_conversions(
        "bool", types.BOOL,
        ("bool", types.BOOL, _same),
        ("string", types.STRING, lambda text: _required(_BOOLS.get(text), "bool")),
    ),
    *_conversions(
        "string", types.STRING,
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
        "duration", types.DURATION,
        ("duration", types.DURATION, _same),
        ("string", types.STRING, lambda text: Duration(_required(parse_duration(text), "google.protobuf.Duration"))),
    ),
    *_conversions(
        "timestamp", types.TIMESTAMP,
        ("timestamp", types.TIMESTAMP, _same),
        ("int64", types.INT, lambda seconds: Timestamp.checked(seconds * NANOS)),
        (
            "string", types.STRING,
            lambda text: Timestamp.checked(_required(parse_timestamp(text), "google.protobuf.Timestamp")),
        ),
    ),
    function("dyn", "to_dyn", (_T,), types.DYN, _same),
    function("type", "type", (_T,), types.type_of(_T), lambda value: TypeValue(type_name(value))),
)  # fmt: skip
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
        "optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), _OPTIONAL,
        lambda value: NONE if _is_zero(value) else Optional(value),
    ),
    method("hasValue", "optional_hasValue", (_OPTIONAL,), types.BOOL, lambda optional: optional.present),
    method("value", "optional_value", (_OPTIONAL,), _V, _optional_value),
    method(
        "or", "optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL,
        lambda optional, other: optional if optional.present else other, **declare.free_call(),
    ),
    method(
        "orValue", "optional_orValue_value", (_OPTIONAL, _V), _V,
        lambda optional, other: optional.value if optional.present else other, **declare.free_call(),
    ),
    method("first", "list_first", (_VALUE_LIST,), _OPTIONAL, lambda values: Optional(values[0]) if values else NONE),
    method("last", "list_last", (_VALUE_LIST,), _OPTIONAL, lambda values: Optional(values[-1]) if values else NONE),
    function("optional.unwrap", "optional_unwrap", (_OPTIONALS,), _VALUE_LIST, partial(_unwrap, "optional.unwrap")),
    method("unwrapOpt", "optional_unwrapOpt", (_OPTIONALS,), _VALUE_LIST, partial(_unwrap, "unwrapOpt")),
)  # fmt: skip

"""Python's own objects as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from .errors import CelError, CelRuntimeError
from .values import INT_MAX, INT_MIN, NANOS, UINT_MAX, CelMap, Duration, Timestamp, UInt, Value, put_key, runtime_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_NESTING = 100


def from_native(value: Any) -> Value:
    """The value of a Python object.

    Taken as they are: ``None``, ``bool``, ``int`` in int64, ``UInt``, ``float``, ``str``, ``bytes`` and all other
    values of ``drasat.cel.values``. Lists, tuples and mappings are copied. ``datetime`` (naive ones count as UTC)
    becomes a timestamp, ``timedelta`` a duration. Raises ``CelRuntimeError`` for anything else, and for numbers out
    of range.
    """
    try:
        return _convert(value, 0)
    except (CelError, RecursionError):
        raise
    except Exception as error:
        # Mappings of others may fail in any way.
        raise CelRuntimeError(f"value of type {type(value).__name__} cannot be read: {error!r}") from None


def _convert(value: Any, depth: int) -> Value:
    convert = _CONVERSIONS.get(type(value))
    if convert is not None:
        return convert(value, depth)
    if isinstance(value, Mapping) and type(value) is not CelMap:
        return _map(value, depth)
    prepared = getattr(value, "cel_value", None)
    if prepared is not None:
        return prepared
    runtime_type(type(value))
    return value


def _int(value: int, _depth: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelRuntimeError(f"integer overflow: {value if abs(value) < 1 << 80 else 'a huge number'} is out of int64")


def _uint(value: UInt, _depth: int) -> UInt:
    if 0 <= value <= UINT_MAX:
        return value
    raise CelRuntimeError("unsigned integer overflow")


def _check_depth(depth: int) -> int:
    if depth > _MOST_NESTING:
        raise CelRuntimeError(f"value nested deeper than {_MOST_NESTING} levels")
    return depth + 1


def _list(value: Any, depth: int) -> list[Value]:
    deeper = _check_depth(depth)
    return [_convert(element, deeper) for element in value]


def _map(value: Mapping[Any, Any], depth: int) -> CelMap:
    deeper = _check_depth(depth)
    entries: dict[Any, Value] = {}
    for key, element in value.items():
        put_key(entries, _convert(key, deeper), _convert(element, deeper))
    return CelMap.of(entries)


def _datetime(value: datetime, _depth: int) -> Timestamp:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return Timestamp.checked(_nanoseconds(moment - _EPOCH))


def _timedelta(value: timedelta, _depth: int) -> Duration:
    return Duration.checked(_nanoseconds(value))


def _nanoseconds(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * NANOS + span.microseconds * 1_000


def _same(value: Any, _depth: int) -> Value:
    return value


_CONVERSIONS: dict[type, Callable[[Any, int], Value]] = {
    **dict.fromkeys((type(None), bool, float, str, bytes), _same),
    int: _int,
    UInt: _uint,
    list: _list,
    tuple: _list,
    dict: _map,
    Timestamp: lambda value, _depth: Timestamp.checked(value.ns),
    Duration: lambda value, _depth: Duration.checked(value.ns),
    datetime: _datetime,
    timedelta: _timedelta,
}

"""Selection: fields, keys and indexes, plain and optional, as cel-go's attributes have them.

What selects from a map also selects from every other value but lists and then finds no key; once a step is
optional, or the value it starts from is an optional, all later ones are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .errors import CelRuntimeError
from .values import NONE, CelMap, Duration, Optional, Timestamp, TypeValue, UInt, Value, runtime_type, stored_key

MISSING: Final = object()

_GO_NAMES = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
    list: "*types.baseList",
    tuple: "*types.baseList",
    CelMap: "*types.baseMap",
}
_KEYS = frozenset({bool, int, UInt, float, str})


def go_name(value: Value) -> str:
    """The name of a value's Go type, which some of cel-go's texts show."""
    return _GO_NAMES.get(type(value)) or f"cel.{runtime_type(type(value)).name.rpartition('.')[2]}"


def spelled(key: Value) -> str:
    """A key as ``no such key`` spells it."""
    if type(key) is float:
        return _spelled_double(key)
    return str(key).lower() if type(key) is bool else str(key)


def _spelled_double(number: float) -> str:
    """As Go's ``%v`` has it: whole numbers without a point, an exponent from 1e21 on."""
    return str(int(number)) if number.is_integer() and abs(number) < 1e21 else repr(number)


def check_key(key: Value) -> Value:
    """The key, or ``CelRuntimeError`` when values of its type select nothing."""
    if type(key) in _KEYS:
        return key
    raise CelRuntimeError(f"invalid qualifier type: {go_name(key)}")


def _position(elements: Sequence[Value], key: Value) -> Value:
    """The element at an index, ``MISSING`` beyond the ends; doubles without a fraction are indexes too."""
    if type(key) is float:
        if not key.is_integer() or not -(2.0**63) <= key < 2.0**63:
            raise CelRuntimeError(f"unsupported index value {spelled(key)} in list")
        key = int(key)
    elif type(key) not in (int, UInt):
        raise CelRuntimeError(f"unsupported index type '{runtime_type(type(key)).name}' in list")
    return elements[key] if 0 <= key < len(elements) else MISSING


def find(value: Value, key: Value) -> Value:
    """What ``key`` selects in ``value``, or ``MISSING``."""
    if type(value) is CelMap:
        try:
            return value.entries[stored_key(key)]
        except KeyError:
            return MISSING
    if type(value) is list or type(value) is tuple:
        return _position(value, key)
    return MISSING


def select(value: Value, key: Value) -> Value:
    """``value[key]``; ``CelRuntimeError`` where there is nothing."""
    if type(value) is Optional:
        return select_optional(value, key)
    found = find(value, key)
    if found is not MISSING:
        return found
    if type(value) is list or type(value) is tuple:
        raise CelRuntimeError(f"index out of bounds: {int(key)}")
    raise CelRuntimeError(f"no such key: {spelled(key)}")


def select_optional(value: Value, key: Value) -> Optional:
    """``value[?key]``."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    found = find(value, key)
    return NONE if found is MISSING else Optional(found)


def present(value: Value, key: Value) -> bool:
    """``has(value.key)``."""
    if type(value) is Optional:
        return value.present and find(value.value, key) is not MISSING
    return find(value, key) is not MISSING

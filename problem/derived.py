"""Derived attributes: what an expression may return, and the attribute it makes (CON-12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cel.errors import CelCompileError, CelRuntimeError
from ..cel.types import BOOL, DYN, INT, NULL, SEMVER, STRING, Type
from ..cel.values import Value, type_name
from ..models.slices import DeviceAttribute
from ..models.versions import Version

_SCALARS = frozenset({BOOL, DYN, INT, SEMVER, STRING})
_KINDS = "a primitive scalar (string, integer, boolean, semver) or a list of these scalars"

# Fields of an attribute for a value of this type, alone and in a list.
_FIELDS: dict[type, tuple[str, str]] = {
    bool: ("bool_value", "bools"),
    int: ("int_value", "ints"),
    str: ("string", "strings"),
    Version: ("version", "versions"),
}
# What upstream calls the types it does not take, in its own language.
_FOREIGN = {
    "double": "float64",
    "uint": "uint64",
    "null_type": "structpb.NullValue",
    "map": "map[ref.Val]ref.Val",
    "list": "[]ref.Val",
    "bytes": "[]uint8",
}


def check_type(type_: Type) -> None:
    """Refuse an expression whose result can be no attribute; ``CelCompileError``."""
    element = type_.params[0] if type_.name == "list" else type_
    if element not in _SCALARS:
        name = "null_type" if type_ is NULL else str(type_)
        raise CelCompileError(f"must evaluate to {_KINDS}, not {name}")


def to_attribute(value: Value) -> DeviceAttribute:
    """Turn a result into an attribute, an empty list into one without value; ``CelRuntimeError`` for other types."""
    if isinstance(value, (list, tuple)):
        return _list_attribute(value)
    fields = _FIELDS.get(type(value))
    if fields is None:
        raise CelRuntimeError(f"unsupported CEL return type: {_foreign(value)}")
    return _attribute(fields[0], _plain(value))


def _list_attribute(values: Sequence[Value]) -> DeviceAttribute:
    if not values:
        return DeviceAttribute()
    first = type(values[0])
    if first not in _FIELDS:
        raise CelRuntimeError(f"unsupported list element type: {_foreign(values[0])}")
    for index, value in enumerate(values):
        if type(value) is not first:
            expected, got = type_name(values[0]), type_name(value)
            raise CelRuntimeError(f"expected list element at index {index} to be {expected}, got {got}")
    return _attribute(_FIELDS[first][1], tuple(map(_plain, values)))


def _attribute(field: str, value: Any) -> DeviceAttribute:
    return DeviceAttribute(**{field: value})


def _plain(value: Value) -> Any:
    return value.text if type(value) is Version else value


def _foreign(value: Value) -> str:
    name = type_name(value)
    return _FOREIGN.get(name, name)

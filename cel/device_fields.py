"""How the single attributes and capacities of devices are told apart by kind, and read (CEL-2, CEL-3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..models.quantity import Quantity
from ..models.slices import DeviceAttribute
from ..models.versions import Version
from .values import Value

Read: TypeAlias = Callable[[Any], Value]
"""From a plain value to the one that expressions see; ``ValueError`` for what cannot be read."""

HIDDEN = "hidden"
"""The kind of an attribute that expressions do not see."""


def plain(attribute: DeviceAttribute) -> tuple[str, Any]:
    """The kind and the value of an attribute; the first field that is set counts."""
    # Nearly all are scalars.
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.string is not None:
        return "string", attribute.string
    if attribute.version is not None:
        return "version", attribute.version
    for kind in LISTS:
        value = getattr(attribute, kind)
        if value is not None:
            return kind, value
    return "none", None


LISTS = "ints", "bools", "strings", "versions"
"""Kinds whose values are lists, and the fields that hold them."""
# Amounts written differently are different values, though Python may call them equal.
AMOUNTS = {str: "amount", int: "whole amount", float: "number amount"}


def _versions(texts: tuple[str, ...]) -> Value:
    return [Version.parse(text) for text in texts]


def _unsupported(_value: None) -> Value:
    raise ValueError("unsupported attribute value")


READ: Mapping[str, Read] = {
    **dict.fromkeys(("ints", "bools", "strings"), list),
    "version": Version.parse,
    "versions": _versions,
    **dict.fromkeys(AMOUNTS.values(), Quantity.parse),
    "none": _unsupported,
}
"""How values of a kind are read; those of other kinds are seen as they are."""

# What may turn out to be unreadable, and how the error begins.
_FALLIBLE = {
    "version": "attribute {}: parse semantic version: {}",
    "versions": "attribute {}: parse semantic version: {}",
    **dict.fromkeys(AMOUNTS.values(), "capacity {}: {}"),
    "none": "attribute {}: {}",
}


def is_fallible(kind: str) -> bool:
    """Whether a value of the kind may turn out to be unreadable."""
    return kind in _FALLIBLE


def complaint(kind: str, name: str, value: Any) -> str | None:
    """Why a value cannot be read, as upstream words it."""
    if kind in _FALLIBLE:
        try:
            READ[kind](value)
        except ValueError as error:
            return _FALLIBLE[kind].format(name, error)
    return None


# Limits of the API (ATTR-3): characters of texts, values of a list.
MOST_TEXT, _MOST_VALUES = 64, 48
TEXTS = frozenset({"string", "version", AMOUNTS[str]})
"""Kinds whose values are texts."""


def is_long_list(values: tuple[Any, ...]) -> bool:
    """Whether a list, or a text in it, exceeds limits of the API; all its values are of one type."""
    texts = values and type(values[0]) is str
    return len(values) > _MOST_VALUES or bool(texts and max(map(len, values)) > MOST_TEXT)

"""Keys of values, by which equal or indistinguishable ones are found without comparing all pairs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from ...cel.closures_select import MISSING, find
from ...cel.values import CelMap, Duration, Timestamp, UInt, Value
from ...models.quantity import Quantity
from ...models.versions import Version

_SCALARS: tuple[type, ...] = (str, bool, bytes, type(None), Timestamp, Duration)
_LISTS = frozenset({list, tuple})


def _typed(value: Any) -> Hashable:
    return type(value), value


def _amount(value: Quantity) -> Hashable:
    return Quantity, value.nano, value.format, value.scale, value.small


def _each(values: Any) -> Hashable | None:
    keys = tuple(map(identity, values))
    return None if None in keys else (list, keys)


_IDENTITIES: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys((*_SCALARS, int, UInt), _typed),
    float: lambda value: (float, repr(value)),
    Version: lambda value: (Version, value.text),
    Quantity: _amount,
    **dict.fromkeys(_LISTS, _each),
}


def identity(value: Value) -> Hashable | None:
    """A key that two values share only if no expression can tell them apart; None: not known."""
    make = _IDENTITIES.get(type(value))
    return None if make is None else make(value)


def identity_at(value: Value, path: tuple[str, ...]) -> Hashable | None:
    """As ``identity``, for what constant selections read of a value."""
    for depth, name in enumerate(path):
        if type(value) is not CelMap:
            break
        value = find(value, name)
        if value is MISSING:
            return "missing", depth
    return identity(value)


_EQUALITIES: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys(_SCALARS, _typed),
    **dict.fromkeys((int, UInt), int),
}


def exact_equality(value: Value) -> Hashable | None:
    """A key that two values share exactly if they are equal, provided that both have one; None: it has none."""
    make = _EQUALITIES.get(type(value))
    return None if make is None else make(value)


_LOOSE: dict[type, Callable[[Any], Hashable | None]] = {
    **dict.fromkeys(_SCALARS, _typed),
    **dict.fromkeys((int, UInt, float), float),
    **dict.fromkeys((Version, Quantity), _typed),
}
OPAQUE: frozenset[type] = frozenset({Version, Quantity})
"""Classes whose values cannot be compared with those of others, but which have a ``loose_equality``."""


def loose_equality(value: Value) -> Hashable | None:
    """A key that equal values always share, and perhaps others; None: it has none.

    Numbers are equal across types, and rounded where one is a double.
    """
    make = _LOOSE.get(type(value))
    return None if make is None else make(value)

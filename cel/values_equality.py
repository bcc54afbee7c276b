"""Equality and order of values, as cel-go has them (cel.md 1.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from .cost_meter import PACE, tick
from .errors import CelCostError, CelRuntimeError
from .values_core import BY_REFERENCE, CelMap, Optional, TypeValue, UInt, Value, runtime_type
from .values_time import Duration, Timestamp

_NUMBERS = frozenset({int, float, UInt})
_LISTS = frozenset({list, tuple})
_ORDERED = frozenset({bool, int, UInt, float, str, bytes, Timestamp, Duration})
_MISSING = object()


def equal(a: Value, b: Value) -> bool:
    """Equality as cel-go has it (cel.md 1.4): between all types, numbers by value, NaN equal to nothing.

    ``CelRuntimeError`` (no such overload) where an opaque type stands on the left of another type; inside lists and
    maps such an error counts as equal.
    """
    leaf = _LEAVES.get(type(a))
    if leaf is not None:
        return leaf(a, b)
    if type(a) is Optional:
        if type(b) is not Optional or a.present != b.present:
            return False
        return not a.present or equal(a.value, b.value)
    pairs = _PAIRS.get(type(a))
    return _equal_opaque(a, b) if pairs is None else _equal_deep(pairs(a, b))


def surely_equal(a: Value, b: Value) -> bool:
    """Tell whether ``==`` holds, as searches ask; a comparison that is not defined finds nothing."""
    try:
        return equal(a, b)
    except CelCostError:
        raise
    except CelRuntimeError:
        return False


def unequal(a: Value, b: Value) -> bool:
    """Tell whether ``!=`` holds: where ``==`` is an error, as for an opaque left side, cel-go says that it does."""
    return not surely_equal(a, b)


def comparable(a: Value, b: Value) -> bool:
    """Whether ``<`` is defined between the two."""
    left, right = type(a), type(b)
    return (left in _ORDERED and left is right) or (left in _NUMBERS and right in _NUMBERS)


def compare(a: Value, b: Value) -> int:
    """-1, 0 or 1; numbers across types, otherwise two values of one ordered type (else ``CelRuntimeError``)."""
    if not comparable(a, b):
        raise CelRuntimeError("no such overload")
    if type(a) is float or type(b) is float:
        a, b = float(a), float(b)
        if a != a or b != b:
            raise CelRuntimeError("NaN values cannot be ordered")
    return int(a > b) - int(a < b)


def _equal_number(a: Value, b: Value) -> bool:
    return type(b) in _NUMBERS and (float(a) == b if type(b) is float else a == b)


def _equal_double(a: float, b: Value) -> bool:
    # Integers beyond 2**53 are rounded before they are compared with a double, as cel-go does.
    return type(b) in _NUMBERS and a == float(b)


def _equal_same_type(a: Value, b: Value) -> bool:
    return type(a) is type(b) and bool(a == b)


def _equal_opaque(a: Value, b: Value) -> bool:
    if b is None:
        return False
    if runtime_type(type(a)) is runtime_type(type(b)) and type(b) not in BY_REFERENCE:
        return bool(a == b)
    raise CelRuntimeError("no such overload")


_LEAVES: dict[type, Callable[[Value, Value], bool]] = {
    **dict.fromkeys((bool, str, bytes, Timestamp, Duration, TypeValue, type(None)), _equal_same_type),
    **dict.fromkeys((int, UInt), _equal_number),
    float: _equal_double,
}

_Pairs: TypeAlias = "Iterable[tuple[Value, Value]] | None"


def _list_pairs(a: Value, b: Value) -> _Pairs:
    if type(b) not in _LISTS or len(a) != len(b):
        return None
    return zip(a, b, strict=True)


def _map_pairs(a: CelMap, b: Value) -> _Pairs:
    if type(b) is not CelMap or len(a.entries) != len(b.entries):
        return None
    other = b.entries
    return [(value, other.get(key, _MISSING)) for key, value in a.entries.items()]


def _optional_pairs(a: Optional, b: Value) -> _Pairs:
    if type(b) is not Optional or a.present != b.present:
        return None
    return ((a.value, b.value),) if a.present else ()


_PAIRS: dict[type, Callable[[Any, Value], _Pairs]] = {
    list: _list_pairs,
    tuple: _list_pairs,
    CelMap: _map_pairs,
    Optional: _optional_pairs,
}


def _equal_deep(top: _Pairs) -> bool:
    """Equality of all pairs, and of the pairs inside them; with a stack of its own, as values may be deep."""
    if top is None:
        return False
    stack, seen = [iter(top)], 0
    try:
        while stack:
            for a, b in stack[-1]:
                seen += 1
                if seen == PACE:
                    seen = 0
                    tick(PACE)
                nested = _PAIRS.get(type(a))
                if nested is None:
                    if not _equal_or_error(a, b):
                        return False
                    continue
                pairs = nested(a, b)
                if pairs is None:
                    return False
                stack.append(iter(pairs))
                break
            else:
                stack.pop()
        return True
    finally:
        # Short comparisons count too, for there may be many.
        tick(seen)


def _equal_or_error(a: Value, b: Value) -> bool:
    if b is _MISSING:
        return False
    try:
        return equal(a, b)
    except CelRuntimeError:
        return True

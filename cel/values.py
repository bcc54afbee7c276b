"""Values while an expression runs: their Python classes, types, equality and order.

The docstring of ``drasat.cel`` lists the class for each type of CEL; bools are never ints here, and ints are within
int64. Opaque Kubernetes types are objects of their own: ``Quantity`` and ``Version`` of ``models.kubernetes``, and the
url, ip, cidr and format values of the function libraries. They are made values by ``register``. Equality and order are
cel-go's (cel.md 1.4). Points in time and spans are integers of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from . import types
from .errors import CelCostError, CelRuntimeError
from .meter import PACE, tick
from .types import Type

Value: TypeAlias = Any
INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX = 2**64 - 1


class UInt(int):
    """A uint; equal to the int of the same value, as CEL has it, but of another type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value, e.g. what ``type(1)`` gives; parameters are not told apart."""

    name: str


class Optional:
    """An optional value; ``NONE`` is the one without a value."""

    __slots__ = ("present", "value")

    def __init__(self, value: Value = None, *, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Optional) and equal(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Optional({self.value!r})" if self.present else "NONE"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Optional, (self.value,)) if self.present else "NONE"  # type: ignore[return-value]


NONE = Optional(present=False)


class _BoolKey:
    """Stands for a bool key inside ``CelMap.entries``, where True would meet 1."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return (stored_key, (self.value,))


_FALSE, _TRUE = _BoolKey(False), _BoolKey(True)


@dataclass(frozen=True, slots=True)
class _NumberKey:
    """Stands for a uint or a double as a key inside ``CelMap.entries``, where it would meet the int."""

    kind: type
    value: Value


def stored_key(key: Value) -> Any:
    """The form of a key inside ``CelMap.entries``: itself, but for bools, uints and doubles."""
    kind = type(key)
    return _NumberKey(kind, key) if kind is UInt or kind is float else set_member(key)


def set_member(value: Value) -> Any:
    """The form of a value in a Python set: equal numbers are one, and no bool is a number."""
    if value is True:
        return _TRUE
    return _FALSE if value is False else value


MISSING: Final = object()
# Which keys a number finds beside its own.
_OTHER_NUMBERS: dict[type, tuple[type, ...]] = {int: (UInt,), UInt: (int,), float: (int, UInt)}


def find_entry(entries: Mapping[Any, Value], key: Value) -> Value:
    """What the dict of a map has for a key, else ``MISSING``: an int and a uint find each other, a double both.

    ``TypeError`` for what can be no key.
    """
    found = entries.get(stored_key(key), MISSING)
    kind = type(key)
    if found is MISSING and kind in _OTHER_NUMBERS and (kind is not float or key.is_integer()):
        for other in _OTHER_NUMBERS[kind]:
            found = entries.get(int(key) if other is int else _NumberKey(other, int(key)), MISSING)
            if found is not MISSING:
                break
    return found


_STAND_INS = frozenset({_BoolKey, _NumberKey})


def put_key(entries: dict[Any, Value], key: Value, value: Value) -> None:
    """Set an entry of the dict of a map that is being made; ``CelRuntimeError`` for what can be no key."""
    try:
        entries[stored_key(key)] = value
    except TypeError:
        raise CelRuntimeError("unsupported key type") from None


class CelMap(Mapping[Value, Value]):
    """A map with keys of type bool, int, uint and string, in insertion order.

    Equal numbers of the types int, uint and double are different keys, but find each other where one is missing.
    ``entries`` is the plain dict behind it, for quick look-ups of strings.
    """

    __slots__ = ("entries",)
    entries: dict[Any, Value]

    def __init__(self, pairs: Iterable[tuple[Value, Value]] = ()) -> None:
        self.entries = {stored_key(key): value for key, value in pairs}

    @classmethod
    def of(cls, entries: dict[Any, Value]) -> CelMap:
        """A map over a dict of keys in their stored form, which it then owns."""
        made = cls.__new__(cls)
        made.entries = entries
        return made

    def __getitem__(self, key: Value) -> Value:
        found = find_entry(self.entries, key)
        if found is MISSING:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return find_entry(self.entries, key) is not MISSING

    def __iter__(self) -> Iterator[Value]:
        for key in self.entries:
            yield key.value if type(key) in _STAND_INS else key

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return equal(self, other if isinstance(other, CelMap) else CelMap(other.items()))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self.items()) + "}"


def size_of(value: Value) -> int:
    """The size that costs go by (cel.md 1.5): length of strings, bytes and lists, entries of maps, 1 for all else."""
    measure = _SIZES.get(type(value))
    if measure is not None:
        return measure(value)
    return len(value) if hasattr(value, "__len__") else 1


def is_measured(value: Value) -> bool:
    """Whether the value is of an opaque type that has a size."""
    return type(value) in _SIZES


def inner_size(value: Value) -> int:
    """As ``size_of``, but that of an optional is that of its value: so cel-go measures, other than the API server."""
    while type(value) is Optional and value.present:
        value = value.value
    return size_of(value)


BY_REFERENCE: set[type] = set()
"""The classes whose values stand for Go pointers."""
_SIZES: dict[type, Callable[[Any], int]] = {}


def register(
    python: type, type_: Type, *, by_reference: bool = False, size: Callable[[Any], int] | None = None
) -> None:
    """Make instances of a Python class values of an opaque type; they are compared by ``==``.

    A value ``by_reference`` stands for a Go pointer, which no value equals, nor compares with at all. ``size`` is what
    ``size_of`` gives for a value; without it that is 1.
    """
    _RUNTIME_TYPES[python] = type_
    if size is not None:
        _SIZES[python] = size
    if by_reference:
        BY_REFERENCE.add(python)


def type_spelling(type_: Type) -> str:
    """The name of a type as expressions and messages show it, without parameters."""
    return types.FULL_NAMES.get(type_.name, type_.name)


def type_name(value: Value) -> str:
    """The name of a value's type, e.g. ``google.protobuf.Duration`` or ``list``."""
    return type_spelling(runtime_type(type(value)))


def runtime_type(python: type) -> Type:
    """The CEL type of the instances of a Python class; ``CelRuntimeError`` when they are no values."""
    try:
        return _RUNTIME_TYPES[python]
    except KeyError:
        raise CelRuntimeError(f"unsupported value of type {python.__name__}") from None


_NUMBERS = frozenset({int, float, UInt})
_LISTS = frozenset({list, tuple})


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


_Pairs: TypeAlias = "Iterable[tuple[Value, Value]] | None"


def _list_pairs(a: Value, b: Value) -> _Pairs:
    if type(b) not in _LISTS or len(a) != len(b):
        return None
    return zip(a, b, strict=True)


def _map_pairs(a: CelMap, b: Value) -> _Pairs:
    if type(b) is not CelMap or len(a.entries) != len(b.entries):
        return None
    other = b.entries
    return [(value, find_entry(other, key)) for key, value in a.items()]


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
    if b is MISSING:
        return False
    try:
        return equal(a, b)
    except CelRuntimeError:
        return True


NANOS = 1_000_000_000
# Years 1 to 9999, as seconds of the Unix epoch.
TIMESTAMP_MIN, TIMESTAMP_MAX = -62_135_596_800 * NANOS, 253_402_300_800 * NANOS - 1
DURATION_MIN, DURATION_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970-01-01T00:00:00Z."""

    ns: int

    @classmethod
    def checked(cls, ns: int) -> Timestamp:
        """A timestamp within the years 1 to 9999, or ``CelRuntimeError``."""
        if TIMESTAMP_MIN <= ns <= TIMESTAMP_MAX:
            return cls(ns)
        raise CelRuntimeError("timestamp overflow")


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span in nanoseconds."""

    ns: int

    @classmethod
    def checked(cls, ns: int) -> Duration:
        """A duration that fits int64 nanoseconds (292 years), or ``CelRuntimeError``."""
        if DURATION_MIN <= ns <= DURATION_MAX:
            return cls(ns)
        raise CelRuntimeError("integer overflow")


_RUNTIME_TYPES: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.list_of(types.DYN),
    tuple: types.list_of(types.DYN),
    CelMap: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    TypeValue: types.type_of(types.DYN),
    Optional: types.optional_of(types.DYN),
}
_ORDERED = frozenset({bool, int, UInt, float, str, bytes, Timestamp, Duration})
_LEAVES: dict[type, Callable[[Value, Value], bool]] = {
    **dict.fromkeys((bool, str, bytes, Timestamp, Duration, TypeValue, type(None)), _equal_same_type),
    **dict.fromkeys((int, UInt), _equal_number),
    float: _equal_double,
}

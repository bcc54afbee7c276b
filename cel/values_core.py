"""The classes of values that Python does not have, and the types of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import types
from .errors import CelRuntimeError
from .types import Type
from .values_time import Duration, Timestamp

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
        from .values_equality import equal

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


def stored_key(key: Value) -> Any:
    """The form of a key inside ``CelMap.entries``: itself, but for bools."""
    if key is True:
        return _TRUE
    return _FALSE if key is False else key


def put_key(entries: dict[Any, Value], key: Value, value: Value) -> None:
    """Set an entry of the dict of a map that is being made; ``CelRuntimeError`` for what can be no key."""
    try:
        entries[stored_key(key)] = value
    except TypeError:
        raise CelRuntimeError("unsupported key type") from None


class CelMap(Mapping[Value, Value]):
    """A map with keys of type bool, int, uint and string, in insertion order.

    Equal numbers of the types int, uint and double find each other; ``True`` and ``1`` are different keys.
    ``entries`` is the plain dict behind it, for quick look-ups of keys that are not bools.
    """

    __slots__ = ("entries",)
    entries: dict[Any, Value]

    def __init__(self, pairs: Iterable[tuple[Value, Value]] = ()) -> None:
        self.entries = {stored_key(key): value for key, value in pairs}

    @classmethod
    def of(cls, entries: dict[Any, Value]) -> CelMap:
        """A map over a dict without bool keys, which it then owns."""
        made = cls.__new__(cls)
        made.entries = entries
        return made

    def __getitem__(self, key: Value) -> Value:
        return self.entries[stored_key(key)]

    def __contains__(self, key: object) -> bool:
        return stored_key(key) in self.entries

    def __iter__(self) -> Iterator[Value]:
        for key in self.entries:
            yield key.value if type(key) is _BoolKey else key

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        from .values_equality import equal

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


_SPELLINGS = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type"}


def type_spelling(type_: Type) -> str:
    """The name of a type as expressions and messages show it, without parameters."""
    return _SPELLINGS.get(type_.name, type_.name)


def type_name(value: Value) -> str:
    """The name of a value's type, e.g. ``google.protobuf.Duration`` or ``list``."""
    return type_spelling(runtime_type(type(value)))


def runtime_type(python: type) -> Type:
    """The CEL type of the instances of a Python class; ``CelRuntimeError`` when they are no values."""
    try:
        return _RUNTIME_TYPES[python]
    except KeyError:
        raise CelRuntimeError(f"unsupported value of type {python.__name__}") from None

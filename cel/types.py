"""Static types of CEL expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from weakref import WeakValueDictionary

MAX_SIZE = 10_000
"""How many names a type may be written with; types that repeat themselves double at every level."""


class TypeTooLarge(Exception):
    """A type of more than ``MAX_SIZE`` names."""


class Type:
    """A type: a name, and parameters for ``list``, ``map``, ``optional_type`` and ``type``.

    Opaque types carry their full name, e.g. ``kubernetes.Quantity``. ``param`` marks a type parameter
    of an overload, to be bound where the overload is used. Equal types are one object, so that comparing
    and hashing deep ones costs nothing.
    """

    __slots__ = ("__weakref__", "name", "param", "params", "size")
    _known: ClassVar[WeakValueDictionary[tuple[str, tuple[Type, ...], bool], Type]] = WeakValueDictionary()

    name: str
    params: tuple[Type, ...]
    param: bool
    size: int

    def __new__(cls, name: str, params: tuple[Type, ...] = (), param: bool = False) -> Type:  # noqa: PYI034
        """The one type of this description."""
        key = (name, params, param)
        known = cls._known.get(key)
        if known is not None:
            return known
        size = 1 + sum(inner.size for inner in params)
        if size > MAX_SIZE:
            raise TypeTooLarge
        made = super().__new__(cls)
        made.name, made.params, made.param, made.size = name, params, param, size
        return cls._known.setdefault(key, made)

    def __reduce__(self) -> tuple[type[Type], tuple[str, tuple[Type, ...], bool]]:
        return Type, (self.name, self.params, self.param)

    def __repr__(self) -> str:
        return f"Type({self})"

    def __str__(self) -> str:
        """As cel-go writes it in messages: ``list(int)``, ``map(string, dyn)``."""
        return _text(self, {})


_FULL_NAMES = {
    "null": "null_type",
    "any": "google.protobuf.Any",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def full_name(type_: Type) -> str:
    """As Kubernetes writes it where it complains of a result: ``google.protobuf.Duration``."""
    return _text(type_, _FULL_NAMES)


def _text(type_: Type, names: Mapping[str, str]) -> str:
    name = names.get(type_.name, type_.name)
    if not type_.params:
        return name
    return f"{name}({', '.join([_text(inner, names) for inner in type_.params])})"


DYN = Type("dyn")
ANY = Type("any")
"""As dyn, but no loop goes over it: attributes without the feature of lists (cel.md 1.1)."""
ERROR = Type("!error!")
NULL = Type("null")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
QUANTITY = Type("kubernetes.Quantity")
SEMVER = Type("kubernetes.Semver")
URL = Type("kubernetes.URL")
IP = Type("net.IP")
CIDR = Type("net.CIDR")
FORMAT = Type("kubernetes.NamedFormat")
DEVICE = Type("kubernetes.DRADevice")


def list_of(element: Type) -> Type:
    """The type of lists of ``element``."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from ``key`` to ``value``."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of optional values."""
    return Type("optional_type", (value,))


def type_of(value: Type) -> Type:
    """The type of a type as a value, e.g. of ``int``."""
    return Type("type", (value,))


def parameter(name: str) -> Type:
    """A type parameter of an overload."""
    return Type(name, param=True)

"""Static types of CEL expressions: the types, which of them fits which, and what type parameters stand for."""

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


FULL_NAMES = {
    "null": "null_type",
    "any": "google.protobuf.Any",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def full_name(type_: Type) -> str:
    """As Kubernetes writes it where it complains of a result: ``google.protobuf.Duration``."""
    return _text(type_, FULL_NAMES)


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


_WILD = frozenset({DYN, ANY, ERROR})
_DYNAMIC = frozenset({DYN, ANY})
_NOT_NULLABLE = frozenset({BOOL.name, INT.name, UINT.name, DOUBLE.name, STRING.name, BYTES.name, "list", "map", "type"})


class Substitution:
    """What the type parameters of one expression stand for, as far as it is known."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []
        self._made = 0

    def fresh(self) -> Type:
        """A type parameter that nothing else uses."""
        self._made += 1
        return Type(f"_var{self._made - 1}", param=True)

    def instance(self, type_: Type, names: dict[Type, Type]) -> Type:
        """A declared type with its parameters replaced by fresh ones, kept in ``names`` for the next."""
        if type_.param:
            if type_ not in names:
                names[type_] = self.fresh()
            return names[type_]
        if not type_.params:
            return type_
        return Type(type_.name, tuple([self.instance(inner, names) for inner in type_.params]))

    def resolve(self, type_: Type, free: Type | None = None) -> Type:
        """The type with bound parameters replaced; unbound ones stay, or become ``free``."""
        while type_.param:
            bound = self._bound.get(type_)
            if bound is None:
                return free or type_
            type_ = bound
        if not type_.params:
            return type_
        return Type(type_.name, tuple([self.resolve(inner, free) for inner in type_.params]))

    def assignable(self, targets: list[Type], sources: list[Type]) -> bool:
        """Whether every source fits its target; what that says of parameters is kept if so, forgotten if not."""
        if len(targets) != len(sources):
            return False
        self._trail.clear()
        if all(map(self._fits, targets, sources)):
            return True
        for parameter, before in reversed(self._trail):
            if before is None:
                del self._bound[parameter]
            else:
                self._bound[parameter] = before
        return False

    def join(self, one: Type | None, other: Type) -> Type:
        """The element type of a literal that holds both: the more general, or dyn where they have nothing in common."""
        if one is None:
            return other
        return more_general(one, other) if self.assignable([one], [other]) else DYN

    def _fits(self, target: Type, source: Type) -> bool:
        if target is source:
            return True
        if source.param or target.param:
            return self._bind(source, target) if source.param else self._bind(target, source)
        if target in _WILD or source in _WILD:
            return True
        if target is NULL or source is NULL:
            return (source if target is NULL else target).name not in _NOT_NULLABLE
        if target.name != source.name or len(target.params) != len(source.params):
            return False
        if target.name == "type":
            return True
        for inner, other in zip(target.params, source.params, strict=True):  # noqa: SIM110 (a frame less a level)
            if not self._fits(inner, other):
                return False
        return True

    def _bind(self, parameter: Type, type_: Type) -> bool:
        bound = self._bound.get(parameter)
        if bound is not None:
            if bound is type_:
                return True
            if not self._fits(bound, type_):
                return False
            type_ = more_general(type_, bound)
        elif type_.param and (other := self._bound.get(type_)) is not None:
            return self._bind(type_, parameter) if other is not parameter else True
        if not self._mentions(type_, parameter):
            self._trail.append((parameter, bound))
            self._bound[parameter] = type_
            return True
        return bound is not None or type_ is parameter

    def _mentions(self, type_: Type, parameter: Type) -> bool:
        if type_ is parameter:
            return True
        bound = self._bound.get(type_)
        if bound is not None and self._mentions(bound, parameter):
            return True
        for inner in type_.params:  # noqa: SIM110
            if self._mentions(inner, parameter):
                return True
        return False


def more_general(one: Type, other: Type) -> Type:
    """The less specific of two types that fit each other; the second where neither is."""
    return one if _at_most_as_specific(one, other) else other


def _at_most_as_specific(one: Type, other: Type) -> bool:
    if one is other or one in _DYNAMIC or one.param:
        return True
    if other in _DYNAMIC or other.param or one.name != other.name or len(one.params) != len(other.params):
        return False
    if one.name == "type":
        return True
    for inner, against in zip(one.params, other.params, strict=True):  # noqa: SIM110
        if not _at_most_as_specific(inner, against):
            return False
    return True

"""Static types of CEL expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A type: a name, and parameters for ``list``, ``map``, ``optional_type`` and ``type``.

    Opaque types carry their full name, e.g. ``kubernetes.Quantity``. ``param`` marks a type parameter
    of an overload, to be bound where the overload is used.
    """

    name: str
    params: tuple[Type, ...] = ()
    param: bool = False

    def __str__(self) -> str:
        """As cel-go writes it in messages: ``list(int)``, ``map(string, dyn)``."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


DYN = Type("dyn")
ERROR = Type("*error*")
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

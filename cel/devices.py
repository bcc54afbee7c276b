"""Devices as expressions see them (CEL-1 to CEL-4).

A cluster holds very many devices of few kinds. What devices of a kind have in common, the names and types of
what they publish, is their *shape*; a prepared device is its shape and a tuple of plain values. The maps that
expressions read are made from both when an expression is really evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..models.quantity import Quantity
from ..models.slices import Device, DeviceAttribute
from ..models.versions import Version
from .errors import CelRuntimeError
from .types import QUANTITY, SEMVER
from .values import CelMap, Value, register

ATTRIBUTES, CAPACITY = "attributes", "capacity"
_EMPTY = CelMap()

register(Quantity, QUANTITY)
register(Version, SEMVER)


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute or capacity: where expressions find it, and how its plain value is to be read."""

    section: str
    domain: str
    id: str
    kind: str


class Shape:
    """What devices of a kind have in common; equal to itself only."""

    __slots__ = ("__weakref__", "driver", "fields", "oversized", "shareable")

    def __init__(self, driver: str, shareable: bool, fields: tuple[Field, ...]) -> None:
        self.driver = driver
        self.shareable = shareable
        self.fields = fields
        self.oversized = len(driver) > _MOST_DOMAIN or len(fields) > _MOST_FIELDS or any(map(_long_name, fields))

    def positions(self, path: tuple[str, ...]) -> list[int]:
        """Which values a path reads: ``()`` all, ``("attributes", domain)`` a domain's, ..."""
        wanted = path[:3]
        return [
            position
            for position, field in enumerate(self.fields)
            if (field.section, field.domain, field.id)[: len(wanted)] == wanted
        ]


class PreparedDevice:
    """A device ready for evaluation; made by ``DeviceShapes.prepare``.

    ``values`` are hashable and, together with the shape, all that an expression can see. ``error`` is what every
    evaluation on the device fails with (CEL-3).
    """

    __slots__ = ("_oversized", "_value", "error", "shape", "values")

    def __init__(self, shape: Shape, values: tuple[Any, ...], error: str | None) -> None:
        self.shape = shape
        self.values = values
        self.error = error
        self._value: CelMap | None = None
        self._oversized: bool | None = None

    @property
    def oversized(self) -> bool:
        """Whether it exceeds limits of the API (ATTR-3), on which estimates of cost rely."""
        if self._oversized is None:
            self._oversized = self.shape.oversized or any(map(_long_value, self.values))
        return self._oversized

    @property
    def cel_value(self) -> CelMap:
        """The device as a value, kept for the next evaluation; ``CelRuntimeError`` (CEL-3)."""
        if self._value is None:
            self._value = self.fresh_value()
        return self._value

    def fresh_value(self) -> CelMap:
        """The device as a value, not kept."""
        if self.error is not None:
            raise CelRuntimeError(self.error)
        return _device_value(self.shape, self.values)


class DeviceShapes:
    """Prepares devices, and sees to it that those of one kind share their shape."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[Any, ...], Shape] = {}

    def prepare(self, device: Device, driver: str) -> PreparedDevice:
        """A device that a driver publishes."""
        attributes, capacity = device.attributes or {}, device.capacity or {}
        kinds: list[str] = []
        values: list[Any] = []
        for attribute in attributes.values():
            kind, value = _plain(attribute)
            kinds.append(kind)
            values.append(value)
        for amount in capacity.values():
            kinds.append(_AMOUNTS[type(amount.value)])
            values.append(amount.value)
        key = (driver, device.allow_multiple_allocations is True, tuple(attributes), tuple(capacity), tuple(kinds))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _shape(*key)
        return PreparedDevice(shape, tuple(values), _error([*attributes, *capacity], kinds, values))


def is_readable(attribute: DeviceAttribute) -> bool:
    """Whether expressions can run on a device with this attribute (CEL-3)."""
    kind, value = _plain(attribute)
    return _error([""], [kind], [value]) is None


def prepare_device(device: Device, driver: str) -> PreparedDevice:
    """A single device; use one ``DeviceShapes`` for many."""
    return DeviceShapes().prepare(device, driver)


# Limits of the API: characters of domains, names and texts, fields of a device, values of a list.
_MOST_DOMAIN, _MOST_ID, _MOST_TEXT, _MOST_FIELDS, _MOST_VALUES = 63, 32, 64, 32, 48


def _long_name(field: Field) -> bool:
    return len(field.domain) > _MOST_DOMAIN or len(field.id) > _MOST_ID


def _long_value(value: Any) -> bool:
    if type(value) is tuple:
        # All of one type.
        texts = value and type(value[0]) is str
        return len(value) > _MOST_VALUES or bool(texts and max(map(len, value)) > _MOST_TEXT)
    return type(value) is str and len(value) > _MOST_TEXT


def _shape(
    driver: str, shareable: bool, attributes: tuple[str, ...], capacity: tuple[str, ...], kinds: tuple[str, ...]
) -> Shape:
    named = [(ATTRIBUTES, name) for name in attributes] + [(CAPACITY, name) for name in capacity]
    fields = []
    for (section, name), kind in zip(named, kinds, strict=True):
        domain, slash, rest = name.partition("/")
        if slash:
            fields.append(Field(section, domain, rest, kind))
        elif (section, f"{driver}/{name}") in named:
            # Published twice: the qualified one is seen (CEL-10, CON-2).
            fields.append(Field("", "", "", _HIDDEN))
        else:
            fields.append(Field(section, driver, name, kind))
    return Shape(driver, shareable, tuple(fields))


def _plain(attribute: DeviceAttribute) -> tuple[str, Any]:
    """The kind and the value of an attribute; the first field that is set counts."""
    if attribute.string is not None and attribute.int_value is None and attribute.bool_value is None:
        return "string", attribute.string
    for kind, field in _ATTRIBUTE_FIELDS:
        value = getattr(attribute, field)
        if value is not None:
            return kind, value
    return "none", None


_ATTRIBUTE_FIELDS = (
    ("int", "int_value"), ("bool", "bool_value"), ("string", "string"), ("version", "version"),
    ("ints", "ints"), ("bools", "bools"), ("strings", "strings"), ("versions", "versions"),
)  # fmt: skip

# Amounts written differently are different values, though Python may call them equal.
_HIDDEN = "hidden"
_AMOUNTS = {str: "amount", int: "whole amount", float: "number amount"}

_Read: TypeAlias = Callable[[Any], Value]


def _same(value: Any) -> Value:
    return value


def _versions(texts: tuple[str, ...]) -> Value:
    return [Version.parse(text) for text in texts]


_READ: Mapping[str, _Read] = {
    **dict.fromkeys(("int", "bool", "string"), _same),
    **dict.fromkeys(("ints", "bools", "strings"), list),
    "version": Version.parse,
    "versions": _versions,
    **dict.fromkeys(_AMOUNTS.values(), Quantity.parse),
}
# What may turn out to be unreadable, and how the error begins.
_FALLIBLE = {
    "version": "attribute {}: parse semantic version: {}",
    "versions": "attribute {}: parse semantic version: {}",
    **dict.fromkeys(_AMOUNTS.values(), "capacity {}: {}"),
}


def _error(names: list[str], kinds: list[str], values: list[Any]) -> str | None:
    """The first value that cannot be read, as upstream words it."""
    for name, kind, value in zip(names, kinds, values, strict=True):
        if kind == "none":
            return f"attribute {name}: unsupported attribute value"
        if kind in _FALLIBLE:
            try:
                _READ[kind](value)
            except ValueError as error:
                return _FALLIBLE[kind].format(name, error)
    return None


class _Domains(dict[Any, Value]):
    """Entries of the outer maps: an unknown domain is an empty map, though it is not *in* them (CEL-2)."""

    __slots__ = ()

    def __missing__(self, _domain: object) -> CelMap:
        return _EMPTY


def _device_value(shape: Shape, values: tuple[Any, ...]) -> CelMap:
    sections: dict[str, dict[str, dict[Any, Value]]] = {ATTRIBUTES: {}, CAPACITY: {}}
    for field, value in zip(shape.fields, values, strict=True):
        if field.kind != _HIDDEN:
            sections[field.section].setdefault(field.domain, {})[field.id] = _READ[field.kind](value)
    maps = {
        section: CelMap.of(_Domains({domain: CelMap.of(ids) for domain, ids in domains.items()}))
        for section, domains in sections.items()
    }
    return CelMap.of({"driver": shape.driver, "allowMultipleAllocations": shape.shareable, **maps})

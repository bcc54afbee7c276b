"""Devices as expressions see them (CEL-1 to CEL-4).

A cluster holds very many devices of few kinds. What devices of a kind have in common, the names and types of
what they publish, is their *shape*; a prepared device is its shape and a tuple of plain values. The maps that
expressions read are made from both when an expression is really evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..models.quantity import Quantity
from ..models.slices import Device, DeviceAttribute
from ..models.versions import Version
from .device_fields import AMOUNTS, HIDDEN, LISTS, MOST_TEXT, READ, TEXTS, complaint, is_fallible, is_long_list, plain
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


_Places: TypeAlias = Sequence[tuple[str, Sequence[tuple[str, int]]]]


class Shape:
    """What devices of a kind have in common; equal to itself only.

    ``published`` are names, as they are written, and kinds of all fields, hidden ones included.
    """

    __slots__ = (
        "__weakref__", "_attributes", "_capacity", "_fallible", "_lists", "_read", "_texts", "driver", "fields",
        "oversized", "shareable",
    )  # fmt: skip

    def __init__(
        self, driver: str, shareable: bool, fields: tuple[Field, ...], published: Sequence[tuple[str, str]]
    ) -> None:
        self.driver = driver
        self.shareable = shareable
        self.fields = fields
        self.oversized = len(driver) > _MOST_DOMAIN or len(fields) > _MOST_FIELDS or any(map(_long_name, fields))
        # Worked out once, as devices are very many: what can be unreadable or long, what is to be read, and where
        # expressions find it.
        kinds = [(position, name, kind) for position, (name, kind) in enumerate(published)]
        self._fallible = [one for one in kinds if is_fallible(one[2])]
        self._texts = [position for position, _, kind in kinds if kind in TEXTS]
        self._lists = [position for position, _, kind in kinds if kind in LISTS]
        self._read = [(position, READ[field.kind]) for position, field in enumerate(fields) if field.kind in READ]
        self._attributes, self._capacity = _places(fields, ATTRIBUTES), _places(fields, CAPACITY)

    def positions(self, path: tuple[str, ...]) -> list[int]:
        """Which values a path reads: ``()`` all, ``("attributes", domain)`` a domain's, ..."""
        wanted = path[:3]
        return [
            position
            for position, field in enumerate(self.fields)
            if (field.section, field.domain, field.id)[: len(wanted)] == wanted
        ]

    def complaint(self, values: Sequence[Any]) -> str | None:
        """Why a device with these plain values cannot be read, if so: the first of them (CEL-3)."""
        for position, name, kind in self._fallible:
            found = complaint(kind, name, values[position])
            if found is not None:
                return found
        return None

    def has_long(self, values: Sequence[Any]) -> bool:
        """Whether some of the plain values are longer than the API allows."""
        for position in self._texts:
            if len(values[position]) > MOST_TEXT:
                return True
        return any(is_long_list(values[position]) for position in self._lists)

    def cel_value(self, values: Sequence[Any]) -> CelMap:
        """A device with these plain values, which can all be read, as expressions see it."""
        seen = list(values)
        for position, read in self._read:
            seen[position] = read(seen[position])
        return CelMap.of(
            {
                "driver": self.driver,
                "allowMultipleAllocations": self.shareable,
                ATTRIBUTES: _section(self._attributes, seen),
                CAPACITY: _section(self._capacity, seen),
            }
        )


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
            self._oversized = self.shape.oversized or self.shape.has_long(self.values)
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
        return self.shape.cel_value(self.values)


class DeviceShapes:
    """Prepares devices, and sees to it that those of one kind share their shape."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[Any, ...], Shape] = {}

    def prepare(self, device: Device, driver: str) -> PreparedDevice:
        """A device that a driver publishes."""
        attributes, capacity = device.attributes or {}, device.capacity or {}
        told = [plain(attribute) for attribute in attributes.values()]
        told += [(AMOUNTS[type(amount.value)], amount.value) for amount in capacity.values()]
        kinds, values = zip(*told, strict=True) if told else ((), ())
        key = driver, device.allow_multiple_allocations is True, tuple(attributes), tuple(capacity), kinds
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _shape(*key)
        return PreparedDevice(shape, values, shape.complaint(values))


def is_readable(attribute: DeviceAttribute) -> bool:
    """Whether expressions can run on a device with this attribute (CEL-3)."""
    kind, value = plain(attribute)
    return complaint(kind, "", value) is None


def prepare_device(device: Device, driver: str) -> PreparedDevice:
    """A single device; use one ``DeviceShapes`` for many."""
    return DeviceShapes().prepare(device, driver)


# Limits of the API: characters of domains and names, fields of a device.
_MOST_DOMAIN, _MOST_ID, _MOST_FIELDS = 63, 32, 32


def _long_name(field: Field) -> bool:
    return len(field.domain) > _MOST_DOMAIN or len(field.id) > _MOST_ID


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
            fields.append(Field("", "", "", HIDDEN))
        else:
            fields.append(Field(section, driver, name, kind))
    published = zip((*attributes, *capacity), kinds, strict=True)
    return Shape(driver, shareable, tuple(fields), tuple(published))


class _Domains(dict[Any, Value]):
    """Entries of the outer maps: an unknown domain is an empty map, though it is not *in* them (CEL-2)."""

    __slots__ = ()

    def __missing__(self, _domain: object) -> CelMap:
        return _EMPTY


def _places(fields: Sequence[Field], section: str) -> _Places:
    """The identifiers of each domain of a section, with the positions of their values."""
    domains: dict[str, list[tuple[str, int]]] = {}
    for position, field in enumerate(fields):
        if field.section == section:
            domains.setdefault(field.domain, []).append((field.id, position))
    return tuple(domains.items())


def _section(places: _Places, seen: Sequence[Value]) -> CelMap:
    domains = _Domains()
    for domain, ids in places:
        domains[domain] = CelMap.of({id_: seen[position] for id_, position in ids})
    return CelMap.of(domains)

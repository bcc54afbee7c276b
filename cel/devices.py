"""Devices as expressions see them (CEL-1 to CEL-4).

A cluster holds very many devices of few kinds. The names and types of what devices of a kind publish are their
*shape*; a prepared device is its shape and a tuple of plain values. The maps that expressions read are made from both
when an expression is really evaluated. ``read_paths`` tells which part of a device an expression can see.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..models.kubernetes.quantity import Quantity
from ..models.kubernetes.semver import Version
from ..models.kubernetes.slices import Device, DeviceAttribute, UnknownValue
from .errors import CelRuntimeError
from .syntax import Has, Ident, Index, Literal, Node, Postfix, Select, Step, children
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


class DeviceShape:
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
        long_names = any(len(field.domain) > _MOST_DOMAIN or len(field.id) > _MOST_ID for field in fields)
        self.oversized = len(driver) > _MOST_DOMAIN or len(fields) > _MOST_FIELDS or long_names
        # Worked out once, as devices are very many: what can be unreadable or long, what is to be read, and where
        # expressions find it.
        kinds = [(position, name, kind) for position, (name, kind) in enumerate(published)]
        self._fallible = [one for one in kinds if one[2] in _FALLIBLE]
        self._texts = [position for position, _, kind in kinds if kind in _TEXT_KINDS]
        self._lists = [position for position, _, kind in kinds if kind in _LIST_KINDS]
        self._read = [
            (position, _READERS[field.kind]) for position, field in enumerate(fields) if field.kind in _READERS
        ]
        self._attributes, self._capacity = _value_positions(fields, ATTRIBUTES), _value_positions(fields, CAPACITY)

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
            found = _unreadable_message(kind, name, values[position])
            if found is not None:
                return found
        return None

    def has_long(self, values: Sequence[Any]) -> bool:
        """Whether some of the plain values are longer than the API allows."""
        for position in self._texts:
            if len(values[position]) > _MOST_TEXT:
                return True
        return any(_is_long_list(values[position]) for position in self._lists)

    def cel_value(self, values: Sequence[Any]) -> CelMap:
        """A device with these plain values, which can all be read, as expressions see it."""
        seen = list(values)
        for position, read in self._read:
            seen[position] = read(seen[position])
        return CelMap.of(
            {
                "driver": self.driver,
                "allowMultipleAllocations": self.shareable,
                ATTRIBUTES: _section_map(self._attributes, seen),
                CAPACITY: _section_map(self._capacity, seen),
            }
        )


class PreparedDevice:
    """A device ready for evaluation; made by ``DeviceShapes.prepare``.

    ``values`` are hashable and, together with the shape, all that an expression can see. ``error`` is what every
    evaluation on the device fails with (CEL-3).
    """

    __slots__ = ("_oversized", "_value", "error", "shape", "values")

    def __init__(self, shape: DeviceShape, values: tuple[Any, ...], error: str | None) -> None:
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
        self._shapes: dict[tuple[Any, ...], DeviceShape] = {}

    def prepare(self, device: Device, driver: str) -> PreparedDevice:
        """A device that a driver publishes."""
        attributes, capacity = device.attributes or {}, device.capacity or {}
        published = [_kind_and_value(attribute) for attribute in attributes.values()]
        published += [(_AMOUNT_KINDS[type(amount.value)], amount.value) for amount in capacity.values()]
        kinds, values = zip(*published, strict=True) if published else ((), ())
        key = driver, device.allow_multiple_allocations is True, tuple(attributes), tuple(capacity), kinds
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _build_shape(*key)
        return PreparedDevice(shape, values, shape.complaint(values))


def is_readable(attribute: DeviceAttribute) -> bool:
    """Whether expressions can run on a device with this attribute (CEL-3)."""
    kind, value = _kind_and_value(attribute)
    return _unreadable_message(kind, "", value) is None


def prepare_device(device: Device, driver: str) -> PreparedDevice:
    """A single device; use one ``DeviceShapes`` for many."""
    return DeviceShapes().prepare(device, driver)


# Limits of the API: characters of domains and names, fields of a device.
_MOST_DOMAIN, _MOST_ID, _MOST_FIELDS = 63, 32, 32


def _build_shape(
    driver: str, shareable: bool, attributes: tuple[str, ...], capacity: tuple[str, ...], kinds: tuple[str, ...]
) -> DeviceShape:
    named = [(ATTRIBUTES, name) for name in attributes] + [(CAPACITY, name) for name in capacity]
    fields = []
    for (section, name), kind in zip(named, kinds, strict=True):
        domain, slash, rest = name.partition("/")
        if kind == _HIDDEN:
            fields.append(Field("", "", "", _HIDDEN))
        elif slash:
            fields.append(Field(section, domain, rest, kind))
        elif (section, f"{driver}/{name}") in named:
            # Published twice: the qualified one is seen (CEL-10, CON-2).
            fields.append(Field("", "", "", _HIDDEN))
        else:
            fields.append(Field(section, driver, name, kind))
    published = zip((*attributes, *capacity), kinds, strict=True)
    return DeviceShape(driver, shareable, tuple(fields), tuple(published))


class _Domains(dict[Any, Value]):
    """Entries of the outer maps: an unknown domain is an empty map, though it is not *in* them (CEL-2)."""

    __slots__ = ()

    def __missing__(self, _domain: object) -> CelMap:
        return _EMPTY


def _value_positions(fields: Sequence[Field], section: str) -> _Places:
    """The identifiers of each domain of a section, with the positions of their values."""
    domains: dict[str, list[tuple[str, int]]] = {}
    for position, field in enumerate(fields):
        if field.section == section:
            domains.setdefault(field.domain, []).append((field.id, position))
    return tuple(domains.items())


def _section_map(places: _Places, seen: Sequence[Value]) -> CelMap:
    domains = _Domains()
    for domain, ids in places:
        domains[domain] = CelMap.of({id_: seen[position] for id_, position in ids})
    return CelMap.of(domains)


Read: TypeAlias = Callable[[Any], Value]
"""From a plain value to the one that expressions see; ``ValueError`` for what cannot be read."""
_HIDDEN = "hidden"
"""The kind of an attribute that expressions do not see."""


def _kind_and_value(attribute: DeviceAttribute) -> tuple[str, Any]:
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
    if isinstance(attribute, UnknownValue):
        # As if it were not there (karpenter-dra 3.6).
        return _HIDDEN, attribute.token
    for kind in _LIST_KINDS:
        value = getattr(attribute, kind)
        if value is not None:
            return kind, value
    return "none", None


_LIST_KINDS = "ints", "bools", "strings", "versions"
"""Kinds whose values are lists, and the fields that hold them."""
# Amounts written differently are different values, though Python may call them equal.
_AMOUNT_KINDS = {str: "amount", int: "whole amount", float: "number amount"}


def _unsupported(_value: None) -> Value:
    raise ValueError("unsupported attribute value")


_READERS: Mapping[str, Read] = {
    **dict.fromkeys(("ints", "bools", "strings"), list),
    "version": Version.parse,
    "versions": lambda texts: [Version.parse(text) for text in texts],
    **dict.fromkeys(_AMOUNT_KINDS.values(), Quantity.parse),
    "none": _unsupported,
}
"""How values of a kind are read; those of other kinds are seen as they are."""
# What may turn out to be unreadable, and how the error begins.
_FALLIBLE = {
    "version": "attribute {}: parse semantic version: {}",
    "versions": "attribute {}: parse semantic version: {}",
    **dict.fromkeys(_AMOUNT_KINDS.values(), "capacity {}: {}"),
    "none": "attribute {}: {}",
}


def _unreadable_message(kind: str, name: str, value: Any) -> str | None:
    """Why a value cannot be read, as upstream words it."""
    if kind in _FALLIBLE:
        try:
            _READERS[kind](value)
        except ValueError as error:
            return _FALLIBLE[kind].format(name, error)
    return None


# Limits of the API (ATTR-3): characters of texts, values of a list.
_MOST_TEXT, _MOST_VALUES = 64, 48
_TEXT_KINDS = frozenset({"string", "version", _AMOUNT_KINDS[str]})
"""Kinds whose values are texts."""


def _is_long_list(values: tuple[Any, ...]) -> bool:
    """Whether a list, or a text in it, exceeds limits of the API; all its values are of one type."""
    texts = values and type(values[0]) is str
    return len(values) > _MOST_VALUES or bool(texts and max(map(len, values)) > _MOST_TEXT)


Path: TypeAlias = tuple[str, ...]
"""Constant selections from the device: ``("attributes", "gpu.example.com", "model")``; ``()`` is all of it."""
_LONGEST = 3


def read_paths(tree: Node, variable: str = "device") -> frozenset[Path]:
    """The paths of a device that an expression can depend on; those that begin with another are left out."""
    found: set[Path] = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        path = _path(node, variable)
        if path is None:
            pending.extend(children(node))
        else:
            found.add(path[:_LONGEST])
            pending.extend(_computed_nodes(node))
    return shortest_paths(found)


def shortest_paths(paths: Collection[Path]) -> frozenset[Path]:
    """The paths but those that begin with another."""
    return frozenset(path for path in paths if not any(path[:length] in paths for length in range(len(path))))


def _path(node: Node, variable: str) -> Path | None:
    """The constant selections from the device that a node begins with; None where it is not about the device."""
    selected: list[Path] = []
    while True:
        if isinstance(node, Has):
            selected.append((node.field,))
            node = node.operand
        elif isinstance(node, Postfix):
            names = _constants(node.steps)
            if len(names) < len(node.steps):
                # What follows selects from something computed.
                selected.clear()
            selected.append(names)
            node = node.operand
        else:
            break
    if not isinstance(node, Ident) or node.name.removeprefix(".") != variable:
        return None
    return tuple(name for names in reversed(selected) for name in names)


def _constants(steps: tuple[Step, ...]) -> Path:
    """The constant selections that a chain of steps begins with."""
    names: list[str] = []
    for step in steps:
        if isinstance(step, Select):
            names.append(step.field)
        elif isinstance(step, Index) and isinstance(step.key, Literal) and type(step.key.value) is str:
            names.append(step.key.value)
        else:
            break
    return tuple(names)


def _computed_nodes(node: Node) -> list[Node]:
    """What is computed along a path: keys, and all that follows the constant selections."""
    keys: list[Node] = []
    while isinstance(node, (Has, Postfix)):
        if isinstance(node, Postfix):
            keys.extend(part for step in node.steps for part in children(step))
        node = node.operand
    return keys

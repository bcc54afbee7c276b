"""The catalogue: which instance types there are, what a node of each has, and how it can be bought.

Types are objects of kind InstanceType, or come from the JSON file of Karpenter's test provider (``kwok``), whose
DRAConfig objects say which devices its nodes publish (karpenter-dra 3.1, 4.1).

Attribute bindings say which devices of a node to be have one unknown value of an attribute (2.3, 3.6). They are
symmetric and transitive. A group of one device says nothing. A device that has the attribute keeps its value, and is
equal to no unknown one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import term_matches
from ...models.formats.decode import QuantityText
from ...models.formats.errors import Unreadable
from ...models.formats.json import read_json
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSelectorRequirement, NodeSelectorTerm
from ...models.kubernetes.karpenter import AttributeBinding, BoundDevice, ResourceSliceTemplate
from ...models.kubernetes.meta import ObjectMeta
from ...models.kubernetes.node_templates import PooledSlice
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.slices import Device, DeviceAttribute, UnknownValue
from ...problem.messages import until
from .requirements import NodeRequirements

Amounts = Mapping[str, Quantity]
_HUGE_PAGES = "hugepages-"
_KWOK_GROUP = "karpenter.kwok.sh"
_KWOK_PODS = "110"
_KWOK_SIZE = 64 << 20
_KWOK_RESERVED = {"cpu": "100m", "memory": "10Mi"}
_NO_AMOUNT = Quantity(0)
_REMEMBERED = 1 << 12
T = TypeVar("T")


@dataclass(frozen=True)
class CatalogueOffering:
    """One way to buy a type. ``price`` is for a node; ``reserved`` is how many a reservation has left, None without."""

    number: int
    requirements: NodeRequirements
    price: Quantity
    available: bool
    reserved: int | None
    capacity: Amounts
    allocatable: Amounts
    overhead: Amounts

    @property
    def zone(self) -> str:
        """The zone, empty where it is not one."""
        return self.requirements.single_values().get(karpenter.ZONE_LABEL, "")

    @property
    def capacity_type(self) -> str:
        """``spot``, ``on-demand`` or ``reserved``; empty where it is not one."""
        return self.requirements.single_values().get(karpenter.CAPACITY_TYPE_LABEL, "")

    @property
    def launchable(self) -> bool:
        """A node can be had now: it is available, and a reservation has room."""
        return self.available and self.reserved != 0


class _Room(NamedTuple):
    """What a node has, what pods may use of it, and what it keeps."""

    capacity: Amounts
    allocatable: Amounts
    overhead: Amounts

    @classmethod
    def of(cls, capacity: Amounts, overhead: Amounts) -> _Room:
        return cls(capacity, allocatable_amounts(capacity, overhead), overhead)


@dataclass(frozen=True)
class CatalogueType:
    """An instance type as its object or its provider says, before overlays."""

    name: str
    requirements: NodeRequirements
    capacity: Amounts
    offerings: tuple[CatalogueOffering, ...]
    slices: tuple[karpenter.ResourceSliceTemplate, ...] = ()
    bindings: tuple[karpenter.AttributeBinding, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """All instance types, by name."""

    cluster: Cluster
    deadline: float | None = None

    @cached_property
    def types(self) -> tuple[CatalogueType, ...]:
        """Types by name, with the devices that DRAConfigs give them.

        Raises ``ValueError`` with the type's name, and ``DeadlineExceededError``.
        """
        written = sorted(self.cluster.objects(karpenter.InstanceType).values(), key=lambda one: one.metadata.name)
        return tuple(self._read(one) for one in until(written, self.deadline))

    def _read(self, written: karpenter.InstanceType) -> CatalogueType:
        name, spec = written.metadata.name, written.spec
        room = _Room.of(_amounts(spec.capacity), _total(spec.overhead))
        try:
            requirements = NodeRequirements.of(spec.requirements or ())
            requirements &= NodeRequirements.of_labels({karpenter.INSTANCE_TYPE_LABEL: name})
            offerings = tuple(self._offering(number, one, room) for number, one in enumerate(spec.offerings or ()))
        except ValueError as error:
            raise ValueError(f"InstanceType {name}: {error}") from None
        slices = (*(spec.slices or ()), *self._configured_slices(requirements))
        bindings = spec.attribute_bindings or ()
        return CatalogueType(name, requirements, room.capacity, offerings, slices, bindings)

    def _offering(self, number: int, written: karpenter.Offering, room: _Room) -> CatalogueOffering:
        """Offerings without amounts of their own share those of the type."""
        if written.capacity or written.overhead is not None:
            capacity = {**room.capacity, **_amounts(written.capacity)}
            room = _Room.of(capacity, {**room.overhead, **_total(written.overhead)})
        return CatalogueOffering(
            number,
            self._offered(written.requirements or ()),
            Quantity.parse(written.price if written.price is not None else 0),
            written.available,
            written.reservation_capacity,
            room.capacity,
            room.allocatable,
            room.overhead,
        )

    @cached_property
    def _offered(self) -> Callable[[tuple[NodeSelectorRequirement, ...]], NodeRequirements]:
        """Read the requirements of offerings; those of most types are the same few."""
        return lru_cache(_REMEMBERED)(NodeRequirements.of)

    def _configured_slices(self, known: NodeRequirements) -> Iterator[karpenter.ResourceSliceTemplate]:
        """Slices of DRAConfigs, for types whose labels pass one of the terms of a pool."""
        for config in self.cluster.objects(karpenter.DRAConfig).values():
            for pool in config.spec.pools or ():
                if any(known.accepts(_term(term)) for term in pool.node_selector_terms or ()):
                    for one in pool.resource_slices or ():
                        yield karpenter.ResourceSliceTemplate(
                            driver=config.spec.driver, devices=one.devices, pool=pool.name
                        )


def _term(term: NodeSelectorTerm) -> NodeRequirements:
    return NodeRequirements.of(term.match_expressions or ())


def allocatable_amounts(capacity: Amounts, reserved: Amounts) -> dict[str, Quantity]:
    """Give what pods may use: capacity less overhead, and of memory also less huge pages; never below zero."""
    left = {name: amount - reserved.get(name, _NO_AMOUNT) for name, amount in capacity.items()}
    for name, amount in capacity.items():
        if name.startswith(_HUGE_PAGES) and "memory" in left:
            left["memory"] = left["memory"] - amount
    return {name: amount if amount.nano > 0 else _NO_AMOUNT for name, amount in left.items()}


def _total(overhead: karpenter.Overhead | None) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    if overhead is not None:
        for part in (overhead.kube_reserved, overhead.system_reserved, overhead.eviction_threshold):
            for name, amount in _amounts(part).items():
                total[name] = total.get(name, _NO_AMOUNT) + amount
    return total


def _amounts(written: Mapping[str, QuantityText] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in (written or {}).items()}


def read_kwok_types(path: str) -> list[dict[str, Any]]:
    """Read a JSON file of Karpenter's test provider. Raises ``ValueError`` with the file and the place."""
    try:
        with open(path, "rb") as file:
            data = file.read(_KWOK_SIZE + 1)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if len(data) > _KWOK_SIZE:
        raise ValueError(f"{path}: is larger than {_KWOK_SIZE >> 20} MiB")
    read = read_json(data, 0, data)
    if isinstance(read, Unreadable):
        place, message = read.reasons[0]
        raise ValueError(f"{path}: {place}{': ' if place else ''}{message}")
    try:
        return instance_types_from_kwok(read)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def instance_types_from_kwok(listed: object) -> list[dict[str, Any]]:
    """Turn the list of instance types of Karpenter's test provider into InstanceType objects.

    Raises ``ValueError`` with the place of what is wrong.
    """
    if not isinstance(listed, list):
        raise ValueError("must be a list of instance types")
    return [_kwok_type(one, f"[{number}]") for number, one in enumerate(listed)]


def _kwok_type(one: object, place: str) -> dict[str, Any]:
    read = _Fields(one, place)
    name, resources = read.text("name"), {"pods": _KWOK_PODS, **read.mapping("resources")}
    offerings = [
        _kwok_offering(_Fields(offering, f"{place}.offerings[{number}]"))
        for number, offering in enumerate(read.sequence("offerings"))
    ]
    values = {
        karpenter.ARCH_LABEL: [read.text("architecture")],
        karpenter.OS_LABEL: [str(system) for system in read.sequence("operatingSystems")],
        **{label: _offered_values(offerings, label) for label in (karpenter.ZONE_LABEL, karpenter.CAPACITY_TYPE_LABEL)},
        f"{_KWOK_GROUP}/instance-size": [_kwok_size(name, str(resources.get("cpu", "")))],
        f"{_KWOK_GROUP}/instance-family": [_kwok_family(name)],
        f"{_KWOK_GROUP}/instance-cpu": [str(resources.get("cpu", ""))],
        f"{_KWOK_GROUP}/instance-memory": [str(resources.get("memory", ""))],
    }
    requirements = [{"key": key, "operator": "In", "values": listed} for key, listed in values.items() if any(listed)]
    return {
        "apiVersion": "drasat.dev/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": name},
        "spec": {
            "requirements": requirements,
            "capacity": resources,
            "overhead": {"kubeReserved": dict(_KWOK_RESERVED)},
            "offerings": offerings,
        },
    }


def _kwok_offering(read: _Fields) -> dict[str, Any]:
    price = read.value("Price")
    if isinstance(price, bool) or not isinstance(price, (int, float)):
        raise ValueError(f"{read.place}.Price: must be a number")
    made = {"requirements": list(read.sequence("Requirements")), "price": price}
    if read.found.get("Available") is False:
        made["available"] = False
    reserved = read.found.get("ReservationCapacity")
    return made if reserved is None else {**made, "reservationCapacity": reserved}


def _offered_values(offerings: Sequence[Mapping[str, Any]], label: str) -> list[str]:
    found = (
        value
        for offering in offerings
        for one in offering["requirements"]
        if isinstance(one, Mapping) and one.get("key") == label
        for value in one.get("values") or ()
    )
    return list(dict.fromkeys(map(str, found)))


def _kwok_size(name: str, cpu: str) -> str:
    """The part behind the dot of names such as ``m5.2xlarge``; the number of CPUs otherwise."""
    _, dot, size = name.partition(".")
    return (
        size
        if dot and size.isalnum() and size.endswith(("large", "nano", "micro", "small", "medium", "metal"))
        else cpu
    )


def _kwok_family(name: str) -> str:
    """The part before the first dot or hyphen, or the first letter."""
    cut = min((name.find(mark) for mark in ".-" if mark in name), default=1)
    return name[:cut]


@dataclass(frozen=True)
class _Fields:
    """Fields of a JSON object, with the place for messages."""

    found: Any
    place: str

    def value(self, field: str) -> Any:
        if not isinstance(self.found, dict):
            raise ValueError(f"{self.place}: must be an object")
        if field not in self.found:
            raise ValueError(f"{self.place}.{field}: is missing")
        return self.found[field]

    def text(self, field: str) -> str:
        return self._typed(field, str, "a string")

    def sequence(self, field: str) -> list[Any]:
        return self._typed(field, list, "a list")

    def mapping(self, field: str) -> dict[str, Any]:
        return self._typed(field, dict, "an object")

    def _typed(self, field: str, kind: type[T], words: str) -> T:
        value = self.value(field)
        if not isinstance(value, kind):
            raise ValueError(f"{self.place}.{field}: must be {words}")
        return value


def price_text(price: Quantity) -> str:
    """A price as a decimal number without exponent or suffix."""
    whole, rest = divmod(price.nano, NANO)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


_Place = tuple[int, int]
"""The numbers of a slice and of a device in it."""


def with_unknown_values(
    slices: Sequence[ResourceSliceTemplate], bindings: Sequence[AttributeBinding]
) -> tuple[PooledSlice, ...]:
    """Slices of a node with the unknown values that bindings give to their devices."""
    groups = _groups(slices, bindings)
    made = []
    for number, one in enumerate(slices):
        devices = one.devices and tuple(
            _bound(one.driver, device, groups.get((number, place), {})) for place, device in enumerate(one.devices)
        )
        made.append(
            PooledSlice(
                driver=one.driver,
                devices=devices,
                shared_counters=one.shared_counters,
                partition_type_attribute=one.partition_type_attribute,
                skip_node_operations=one.skip_node_operations,
                pool=one.pool,
            )
        )
    return tuple(made)


def is_reached(one: ResourceSliceTemplate, labels: Mapping[str, str]) -> bool:
    """The node itself reaches the devices that its driver publishes (karpenter-dra 2.2)."""
    if one.node_selector is None:
        return True
    node = Node(metadata=ObjectMeta(labels=dict(labels)))
    return any(
        labels.keys() >= set(term.match_label_keys or ())
        and (term_matches(term, node) if term.match_expressions or term.match_fields else bool(term.match_label_keys))
        for term in one.node_selector.node_selector_terms or ()
    )


def _groups(
    slices: Sequence[ResourceSliceTemplate], bindings: Sequence[AttributeBinding]
) -> dict[_Place, dict[str, str]]:
    """For each device its attributes of which the value is that of others, with a name for the group."""
    leaders: dict[tuple[str, _Place], _Place] = {}

    def leader(attribute: str, place: _Place) -> _Place:
        while (above := leaders.setdefault((attribute, place), place)) != place:
            place = above
        return place

    for binding in bindings:
        places = sorted({place for bound in _devices_of(binding) for place in _places(slices, bound)})
        for attribute in dict.fromkeys(filter(None, (binding.attribute, *(binding.attributes or ())))):
            for place in places:
                leaders[attribute, leader(attribute, place)] = leader(attribute, places[0])
    members: defaultdict[tuple[str, _Place], list[_Place]] = defaultdict(list)
    for attribute, place in sorted(leaders):
        members[attribute, leader(attribute, place)].append(place)
    found: defaultdict[_Place, dict[str, str]] = defaultdict(dict)
    for number, ((attribute, _), group) in enumerate(members.items()):
        for place in group if len(group) > 1 else ():
            found[place][attribute] = str(number)
    return found


def _devices_of(binding: AttributeBinding) -> tuple[BoundDevice, ...]:
    return (*(binding.device_selectors or ()), *(binding.devices or ()))


def _places(slices: Sequence[ResourceSliceTemplate], bound: BoundDevice) -> Iterator[_Place]:
    """Where the device is: in the template of that name, or in the driver's pool."""
    for number, one in enumerate(slices):
        if bound.template:
            fits = one.metadata.name == bound.template and bound.driver in ("", one.driver)
        else:
            fits = one.driver == bound.driver and bound.pool in ("", one.pool)
        if fits:
            for place, device in enumerate(one.devices or ()):
                if device.name == bound.device:
                    yield number, place


def _bound(driver: str, device: Device, groups: dict[str, str]) -> Device:
    known = {_qualified(driver, name) for name in device.attributes or ()}
    unknown: dict[str, DeviceAttribute] = {
        name: UnknownValue(token=group) for name, group in groups.items() if _qualified(driver, name) not in known
    }
    return structs.replace(device, attributes={**(device.attributes or {}), **unknown}) if unknown else device


def _qualified(driver: str, name: str) -> str:
    return name if "/" in name else f"{driver}/{name}"

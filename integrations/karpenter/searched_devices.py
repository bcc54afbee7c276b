"""Devices that Karpenter's search sees: what slices of the cluster publish, and what nodes to be will publish.

How much of them is taken, which values their attributes have, and what a request takes of a shared one, stands here as
well (karpenter-dra 3.1, 3.2, 3.6, 3.7).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...cel.devices import DeviceShapes, PreparedDevice
from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import RequestSpec
from ...models.kubernetes.core import NodeSelector
from ...models.kubernetes.quantity import Quantity
from ...models.kubernetes.slices import Device, ResourceSlice, UnknownValue, capacity_drawn, scalar_value
from .instance_types import with_unknown_values
from .overlays import PooledType
from .requirements import NodeRequirements

EVERYTHING = NodeRequirements({})
DeviceKey = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class SearchedDevice:
    """A device as the search sees it. ``reach`` restricts the node; a template's device has no restriction.

    ``budgets`` are the counters of its pool, by set and counter.
    """

    key: DeviceKey
    device: Device
    prepared: PreparedDevice
    reach: NodeRequirements
    node_name: str
    is_template: bool
    budgets: Mapping[tuple[str, str], int]


@dataclass
class DeviceUse:
    """What is taken: devices that serve one request alone, capacity of shared ones, counters of pools."""

    exclusive: set[DeviceKey] = field(default_factory=set)
    capacity: Counter[tuple[DeviceKey, str]] = field(default_factory=Counter)
    counters: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(self, other: DeviceUse) -> None:
        """Take what another takes, too."""
        self.exclusive |= other.exclusive
        self.capacity.update(other.capacity)
        self.counters.update(other.counters)

    @classmethod
    def most_of(cls, uses: Sequence[DeviceUse]) -> DeviceUse:
        """What is taken whichever of them it comes to (3.8)."""
        made = cls()
        for one in uses:
            made.exclusive |= one.exclusive
            # Most are empty, and joining counters is slow.
            if one.capacity:
                made.capacity |= one.capacity
            if one.counters:
                made.counters |= one.counters
        return made


class Chosen(NamedTuple):
    """A device for a request, and the capacity that it gives."""

    found: SearchedDevice
    consumed: Mapping[str, int]


class ComparedValue(NamedTuple):
    """The value that all devices of a matchAttribute must have: a real one, or the group of an unknown one."""

    kind: str
    value: object


class PublishedPools:
    """The pools of the cluster: complete ones of the newest generation (3.2)."""

    def __init__(self, cluster: Cluster) -> None:
        newest: dict[tuple[str, str], list[ResourceSlice]] = defaultdict(list)
        for one in sorted(cluster.slices, key=lambda one: one.metadata.name):
            known = newest[one.spec.driver, one.spec.pool.name]
            if known and one.spec.pool.generation > known[0].spec.pool.generation:
                known.clear()
            if not known or one.spec.pool.generation == known[0].spec.pool.generation:
                known.append(one)
        shapes = DeviceShapes()
        self.devices: list[SearchedDevice] = []
        self.incomplete = False
        for (driver, pool), slices in newest.items():
            names = Counter(device.name for one in slices for device in one.spec.devices or ())
            if len(slices) != slices[0].spec.pool.resource_slice_count or max(names.values(), default=1) > 1:
                self.incomplete = True
                continue
            budgets = {
                (counters.name, name): Quantity.parse(counter.value).nano
                for one in slices
                for counters in one.spec.shared_counters or ()
                for name, counter in (counters.counters or {}).items()
            }
            for one in slices:
                reach = selector_requirements(one.spec.node_selector)
                for device in one.spec.devices or ():
                    key = driver, pool, device.name
                    prepared = shapes.prepare(device, driver)
                    node = one.spec.node_name or ""
                    self.devices.append(SearchedDevice(key, device, prepared, reach, node, False, budgets))


def selector_requirements(selector: NodeSelector | None) -> NodeRequirements:
    """What a slice's selector demands of a node: all its terms together (correction 6)."""
    made = EVERYTHING
    for term in selector.node_selector_terms or () if selector else ():
        made = made.with_written(term.match_expressions or ())
    return made


def template_devices(one: PooledType, shapes: DeviceShapes) -> Iterator[SearchedDevice]:
    """The devices of a node of this type (3.1), with the unknown values that bindings give them."""
    slices = with_unknown_values(one.slices, one.bindings)
    budgets: defaultdict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for published in slices:
        for counters in published.shared_counters or ():
            for name, counter in (counters.counters or {}).items():
                pool = published.driver, published.pool or published.driver
                budgets[pool][counters.name, name] = Quantity.parse(counter.value).nano
    for published in slices:
        pool = published.driver, published.pool or published.driver
        for device in published.devices or ():
            prepared = shapes.prepare(device, published.driver)
            yield SearchedDevice((*pool, device.name), device, prepared, EVERYTHING, "", True, budgets[pool])


def compared_value(found: SearchedDevice, name: str) -> ComparedValue | None:
    """The value of an attribute: what is published, else the group of the binding; None if there is neither."""
    published = found.device.attributes or {}
    domain, _, identifier = name.partition("/")
    value = published.get(name) or (published.get(identifier) if domain == found.key[0] else None)
    if isinstance(value, UnknownValue):
        return ComparedValue("bound", value.token)
    scalar = scalar_value(value) if value is not None else None
    return None if scalar is None else ComparedValue(*scalar)


def consumed_capacity(device: Device, spec: RequestSpec) -> dict[str, int] | None:
    """Amounts of each dimension of a shared device, rounded by its policies; None if one does not offer them (3.7)."""
    asked = (spec.capacity.requests or {}) if spec.capacity else {}
    capacity = device.capacity or {}
    if any(name not in capacity for name in asked):
        return None
    made: dict[str, int] = {}
    for name, offered in capacity.items():
        drawn = capacity_drawn(offered, Quantity.parse(asked[name]) if name in asked else None)
        if drawn is None or drawn > Quantity.parse(offered.value):
            return None
        made[name] = drawn.nano
    return made

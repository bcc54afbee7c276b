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
from ...models.kubernetes.slices import Device, ResourceSlice, scalar_value
from .overlays import PooledType
from .requirements import NodeRequirements

EVERYTHING = NodeRequirements({})
DeviceKey = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class SearchedDevice:
    """A device as the search sees it. ``reach`` restricts the node; a template's device has no restriction.

    ``bound`` has the group of each attribute whose value is unknown but common to the group; ``budgets`` are the
    counters of its pool, by set and counter.
    """

    key: DeviceKey
    device: Device
    prepared: PreparedDevice
    reach: NodeRequirements
    node_name: str
    is_template: bool
    bound: Mapping[str, str]
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
            made.capacity |= one.capacity
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
                    self.devices.append(SearchedDevice(key, device, prepared, reach, node, False, {}, budgets))


def selector_requirements(selector: NodeSelector | None) -> NodeRequirements:
    """What a slice's selector demands of a node: all its terms together (correction 6)."""
    made = EVERYTHING
    for term in selector.node_selector_terms or () if selector else ():
        made = made.with_written(term.match_expressions or ())
    return made


def template_devices(one: PooledType, shapes: DeviceShapes) -> Iterator[SearchedDevice]:
    """The devices of a node of this type (3.1)."""
    budgets: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for template in one.slices:
        for counters in template.shared_counters or ():
            for name, counter in (counters.counters or {}).items():
                pool = template.pool or template.driver
                budgets[f"{template.driver}/{pool}"][counters.name, name] = Quantity.parse(counter.value).nano
    groups = binding_groups(one)
    for template in one.slices:
        pool = template.pool or template.driver
        for device in template.devices or ():
            key = template.driver, pool, device.name
            prepared = shapes.prepare(device, template.driver)
            own = budgets[f"{template.driver}/{pool}"]
            yield SearchedDevice(key, device, prepared, EVERYTHING, "", True, groups.get(key, {}), own)


def binding_groups(one: PooledType) -> dict[DeviceKey, dict[str, str]]:
    """For each device of a type the group of each bound attribute: bindings are symmetric and transitive (3.6)."""
    templates = {template.metadata.name: template for template in one.slices if template.metadata.name}
    edges: defaultdict[str, list[list[DeviceKey]]] = defaultdict(list)
    for binding in one.bindings:
        members = []
        for device in (*(binding.devices or ()), *(binding.device_selectors or ())):
            template = templates.get(device.template)
            driver = template.driver if template else device.driver
            members.append((driver, (template.pool if template else device.pool) or driver, device.device))
        for attribute in dict.fromkeys((*filter(None, [binding.attribute]), *(binding.attributes or ()))):
            if len(members) > 1:
                edges[attribute].append(members)
    groups: dict[DeviceKey, dict[str, str]] = defaultdict(dict)
    for attribute, listed in edges.items():
        merged: list[set[DeviceKey]] = []
        for members in listed:
            touching = [group for group in merged if group & set(members)]
            merged = [group for group in merged if group not in touching]
            merged.append(set(members).union(*touching))
        for number, group in enumerate(merged):
            for key in group:
                groups[key][attribute] = f"{attribute} {number}"
    return groups


def compared_value(found: SearchedDevice, name: str) -> ComparedValue | None:
    """The value of an attribute: what is published, else the group of the binding; None if there is neither."""
    published = found.device.attributes or {}
    domain, _, identifier = name.partition("/")
    value = published.get(name) or (published.get(identifier) if domain == found.key[0] else None)
    scalar = scalar_value(value) if value is not None else None
    if scalar is not None:
        return ComparedValue(*scalar)
    group = found.bound.get(name)
    return None if group is None else ComparedValue("bound", group)


def consumed_capacity(device: Device, spec: RequestSpec) -> dict[str, int] | None:
    """Amounts of each dimension of a shared device, rounded by its policies; None if one does not offer them (3.7)."""
    asked = (spec.capacity.requests or {}) if spec.capacity else {}
    capacity = device.capacity or {}
    if any(name not in capacity for name in asked):
        return None
    made: dict[str, int] = {}
    for name, offered in capacity.items():
        policy, total = offered.request_policy, Quantity.parse(offered.value).nano
        wanted = asked.get(name)
        default = policy.default if policy and policy.default is not None else offered.value
        amount = Quantity.parse(default if wanted is None else wanted).nano
        if policy and policy.valid_values:
            rounded = min(
                (v for v in (Quantity.parse(t).nano for t in policy.valid_values) if v >= amount), default=None
            )
        elif policy and policy.valid_range:
            rounded = _in_range(policy.valid_range.min, policy.valid_range.max, policy.valid_range.step, amount)
        else:
            rounded = amount
        if rounded is None or rounded > total:
            return None
        made[name] = rounded
    return made


def _in_range(least_text: object, most_text: object, step_text: object, amount: int) -> int | None:
    least = Quantity.parse(str(least_text or 0)).nano
    amount = max(amount, least)
    step = Quantity.parse(str(step_text)).nano if step_text is not None else 0
    if step > 0:
        amount = least + -(-(amount - least) // step) * step
    return None if most_text is not None and amount > Quantity.parse(str(most_text)).nano else amount

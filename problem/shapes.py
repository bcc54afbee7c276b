"""Node types: what one node can see, without names. Equal nodes have one type, and a question is compiled once for it.

A ``Profile`` is what filters see of a device, without its name; devices that look the same share one. Nodes are of one
node class for a question if what it sees of their devices is of one type, and the same of these devices is in use: the
answer for one of them holds for all. Some callers add more to the key, such as what pods leave of a node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..cel.devices import is_readable
from ..models.cluster.pools import COMPLETE, INVALID, Pool, PoolDevice, PoolIndex
from ..models.kubernetes.core import Node
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import PoolId
from ..models.kubernetes.quantity import Quantity
from ..models.kubernetes.slices import Device, DeviceAttribute, DeviceCounterConsumption
from .problem import Amounts, Capacities, CompatibilityGroups, Counters, InUse
from .requests import ALL_VISIBLE, VisibleAttributes

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"
# Bit 0 of a group set says that there are groups at all.
GROUPED = 1
_NO_CLASSES: frozenset[str] = frozenset()
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class PoolType:
    """A pool without names. Equal ones are one object."""

    index: int
    status: str
    profiles: tuple[Profile, ...]
    reachable: tuple[bool, ...]
    # Counter set and counter of each row, in the pool's order.
    rows: tuple[tuple[str, str], ...]
    # Bit of each group, by counter set; a set is missing if no device of the pool declares groups.
    group_bits: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class NodeType:
    """All pools of a node together, devices numbered in visiting order (POOL-11). Equal ones are one object."""

    index: int
    pools: tuple[PoolType, ...]
    node_skips: bool
    """The node can do without the operations that a slice says to skip (DEV-9)."""
    plugin_classes: frozenset[str]
    """Device plugins of the node provide the extended resources of these classes: no devices are chosen for them."""
    profiles: tuple[Profile, ...]
    reachable: tuple[bool, ...]
    shared: frozenset[int]
    capacities: Capacities
    counters: Counters
    groups: CompatibilityGroups

    @property
    def invalid(self) -> bool:
        """Some pool is invalid (POOL-13)."""
        return any(pool.status == INVALID for pool in self.pools)


class NodeView(msgspec.Struct, frozen=True, eq=False):
    """A node, its shape for questions that look at the same, and the devices by number."""

    node: Node
    pools: tuple[Pool, ...]
    shape: NodeType
    devices: tuple[PoolDevice, ...]


class _NodePools(msgspec.Struct, frozen=True, eq=False):
    """What a node sees, for any question."""

    node: Node
    pools: tuple[Pool, ...]
    devices: tuple[PoolDevice, ...]


class NodeViews:
    """Views of nodes, made when first asked for; knows all shapes met so far.

    Questions that look at different things each have a projection of their own: what one of them sees must not keep
    apart what is alike for another.
    """

    def __init__(
        self, pools: PoolIndex, gates: FeatureGates, plugin_classes: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        self._pools = pools
        self._plugin_classes = plugin_classes or {}
        self._gates = gates
        self._numbers = count()
        self._groups = _GroupBits()
        self._sights: dict[str, _NodePools] = {}
        self._projections: dict[VisibleAttributes, NodeProjection] = {}

    @property
    def classes(self) -> int:
        """Number of profiles met so far, through the projection that tells most of them apart."""
        return max((len(projection.profiles) for projection in self._projections.values()), default=0)

    def of(self, node: Node, visible: VisibleAttributes = ALL_VISIBLE) -> NodeView:
        """Find what the node sees, for questions that look at this. Raises ``SelectorError`` (NODE-2)."""
        name = node.metadata.name
        sight = self._sights.get(name)
        if sight is None or sight.node is not node:
            sight = self._sights[name] = _node_pools(node, self._pools.pools_for(node))
        return self._lens(visible).of(sight)

    def of_pools(self, node: Node, pools: Iterable[Pool], visible: VisibleAttributes = ALL_VISIBLE) -> NodeView:
        """Find what a node like this one would see of these pools; nothing is kept."""
        ordered = tuple(sorted(pools, key=lambda pool: (pool.binds, pool.driver, pool.name)))
        return self._lens(visible).once(_node_pools(node, ordered))

    def _lens(self, visible: VisibleAttributes) -> NodeProjection:
        projection = self._projections.get(visible)
        if projection is None:
            projection = self._projections[visible] = NodeProjection(
                self._gates, visible, self._numbers, self._groups, self._plugin_classes
            )
        return projection


def _node_pools(node: Node, pools: tuple[Pool, ...]) -> _NodePools:
    return _NodePools(node, pools, tuple(chain.from_iterable(pool.devices for pool in pools)))


class NodeProjection:
    """Shapes and profiles as far as certain questions can see them. Numbers are unique over all projections."""

    def __init__(
        self,
        gates: FeatureGates,
        visible: VisibleAttributes,
        numbers: Iterator[int],
        groups: _GroupBits,
        plugin_classes: Mapping[str, frozenset[str]],
    ) -> None:
        self._plugin_classes = plugin_classes
        self.profiles = Profiles(gates, visible, numbers)
        self._operations = gates.optional_node_operations
        self._numbers = numbers
        self._groups = groups
        self._views: dict[str, NodeView] = {}
        self._pool_shapes: dict[Any, PoolType] = {}
        self._of_pool: dict[Pool, PoolType] = {}
        self._shapes: dict[Any, NodeType] = {}

    def of(self, sight: _NodePools) -> NodeView:
        """Find the view of what a node sees."""
        name = sight.node.metadata.name
        view = self._views.get(name)
        if view is None or view.node is not sight.node:
            view = self._views[name] = self.once(sight)
        return view

    def once(self, sight: _NodePools) -> NodeView:
        """Make a view that is not kept."""
        return NodeView(sight.node, sight.pools, self._shape(sight.node, sight.pools), sight.devices)

    def _shape(self, node: Node, pools: Iterable[Pool]) -> NodeType:
        declared = (node.status.declared_features if node.status else None) or ()
        skips = self._operations and OPTIONAL_NODE_OPERATIONS in declared
        parts = tuple(self._pool_shape(pool) for pool in pools)
        plugin_classes = self._plugin_classes.get(node.metadata.name, _NO_CLASSES)
        key = (skips, plugin_classes, *(part.index for part in parts))
        shape = self._shapes.get(key)
        if shape is None:
            profiles = tuple(profile for pool in parts for profile in pool.profiles)
            shape = self._shapes[key] = NodeType(
                next(self._numbers),
                parts,
                skips,
                plugin_classes,
                profiles,
                tuple(reachable for pool in parts for reachable in pool.reachable),
                frozenset(number for number, profile in enumerate(profiles) if profile.shared),
                _capacity_rows(profiles),
                _counter_table(parts),
                _compatibility_groups(parts),
            )
        return shape

    def _pool_shape(self, pool: Pool) -> PoolType:
        known = self._of_pool.get(pool)
        if known is not None:
            return known
        profiles = self.profiles.of_all(pool.devices)
        reachable = tuple(device.reachable for device in pool.devices)
        bits = self._groups.of(pool)
        key = (
            pool.status,
            tuple(profile.index for profile in profiles),
            reachable,
            _encode(pool.counter_sets),
            tuple(bits.items()),
        )
        shape = self._pool_shapes.get(key)
        if shape is None:
            shape = PoolType(next(self._numbers), pool.status, profiles, reachable, counter_rows(pool), bits)
            self._pool_shapes[key] = shape
        self._of_pool[pool] = shape
        return shape


class _GroupBits:
    """Numbers of the compatibility groups of whole generations, also of devices elsewhere (GRP-2)."""

    def __init__(self) -> None:
        self._known: dict[tuple[PoolId, int], dict[str, int]] = {}

    def of(self, pool: Pool) -> dict[str, int]:
        """Find the bit of each group."""
        if not pool.counter_sets:
            return {}
        key = pool.id, pool.generation
        bits = self._known.get(key)
        if bits is None:
            bits = self._known[key] = {}
            for device in (*pool.devices, *pool.other_devices):
                for consumption in device.device.consumes_counters or ():
                    for group in consumption.compatibility_groups or ():
                        bits.setdefault(group, len(bits) + 1)
        return bits


def counter_rows(pool: Pool) -> tuple[tuple[str, str], ...]:
    """List counter set and counter of each row of a pool."""
    return tuple((set_.name, counter) for set_ in pool.counter_sets for counter in set_.counters or ())


def group_set(consumption: DeviceCounterConsumption, bits: dict[str, int]) -> int:
    """Write the groups of a device in one counter set as bits; 0 without groups."""
    groups = consumption.compatibility_groups
    return sum(1 << bits[group] for group in set(groups)) | GROUPED if groups else 0


def consumed_amounts(profile: Profile, row_of: dict[tuple[str, str], int]) -> Amounts:
    """List what a device draws from each counter row (CTR-2)."""
    return tuple(
        (row_of[consumption.counter_set, name], Quantity.parse(counter.value).nano)
        for consumption in profile.device.consumes_counters or ()
        for name, counter in (consumption.counters or {}).items()
    )


def _capacity_rows(profiles: Sequence[Profile]) -> Capacities:
    names: list[str] = []
    totals: list[int] = []
    rows: dict[int, tuple[int, ...]] = {}
    for number, profile in enumerate(profiles):
        capacity = profile.device.capacity
        if capacity:
            rows[number] = tuple(range(len(names), len(names) + len(capacity)))
            names += sorted(capacity)
            totals += [Quantity.parse(capacity[name].value).nano for name in sorted(capacity)]
    return Capacities(tuple(names), tuple(totals), rows)


def _numbered_devices(pools: Iterable[PoolType]) -> Iterator[tuple[int, int, PoolType, Profile]]:
    """Yield each complete pool's devices: pool number, device number, pool, profile."""
    number = 0
    for pool_number, pool in enumerate(pools):
        for profile in pool.profiles:
            if pool.status == COMPLETE:
                yield pool_number, number, pool, profile
            number += 1


def _counter_table(pools: Sequence[PoolType]) -> Counters:
    names = tuple(row for pool in pools for row in pool.rows)
    if not names:
        return Counters()
    pool_of_row = tuple(number for number, pool in enumerate(pools) for _ in pool.rows)
    row_of: list[dict[tuple[str, str], int]] = [{} for _ in pools]
    for row, (pool_number, name) in enumerate(zip(pool_of_row, names, strict=True)):
        row_of[pool_number][name] = row
    consumption = {
        number: amounts
        for pool_number, number, _, profile in _numbered_devices(pools)
        if (amounts := consumed_amounts(profile, row_of[pool_number]))
    }
    return Counters(names, pool_of_row, consumption)


def _compatibility_groups(pools: Sequence[PoolType]) -> CompatibilityGroups:
    sets = tuple(
        (number, name)
        for number, pool in enumerate(pools)
        if pool.group_bits
        for name in dict.fromkeys(set_ for set_, _ in pool.rows)
    )
    place = {key: position for position, key in enumerate(sets)}
    membership = {
        number: tuple(
            (place[pool_number, consumption.counter_set], group_set(consumption, pool.group_bits))
            for consumption in profile.device.consumes_counters
        )
        for pool_number, number, pool, profile in _numbered_devices(pools)
        if pool.group_bits and profile.device.consumes_counters
    }
    return CompatibilityGroups(sets, membership)


_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Everything that can be seen of a device, less its name, pool and node. Equal ones are one object.

    ``device`` is one of those that look like this; its name and values that nobody looks at mean nothing.
    """

    index: int
    driver: str
    device: Device
    skips_node_operations: bool
    # May be held by several at once; never while ConsumableCapacity is off.
    shared: bool


# Where values are not shared, nothing is found by identity.
_MOST_IDENTITIES = 10_000


class _DeviceKind(NamedTuple):
    """Devices whose attributes have the same names: those that are seen, the others, and the profiles.

    Profiles are also by the identities of what is seen, which a device has that is kept: readers share equal values.
    """

    seen: tuple[str, ...]
    hidden: tuple[str, ...]
    by_content: dict[bytes, Profile]
    by_identity: dict[tuple[int, ...], tuple[Profile, Device]]


class Profiles:
    """All profiles met so far under one set of gates, for questions that look at the same; ``numbers`` are theirs."""

    def __init__(self, gates: FeatureGates, visible: VisibleAttributes, numbers: Iterator[int]) -> None:
        self._sharing = gates.consumable_capacity
        # The stable variant hides from expressions that devices can be shared.
        self._hides_sharing = gates.variant == "stable"
        self._visible = visible
        self._numbers = numbers
        self._kinds: dict[tuple[str, bool, tuple[str, ...]], _DeviceKind] = {}
        self._readable: dict[DeviceAttribute, bool] = {}

    def __len__(self) -> int:
        return sum(len(kind.by_content) for kind in self._kinds.values())

    def of_all(self, devices: Sequence[PoolDevice]) -> tuple[Profile, ...]:
        """Find the profiles of the devices of a pool."""
        found: list[Profile] = []
        latest: tuple[str, bool, tuple[str, ...]] | None = None
        for entry in devices:
            device = entry.device
            if self._hides_sharing and device.allow_multiple_allocations:
                device = msgspec.structs.replace(device, allow_multiple_allocations=None)
            # Devices of a slice mostly have the same names.
            key = entry.id[0], bool(entry.slice.spec.skip_node_operations), tuple(device.attributes or ())
            if latest is None or key != latest:
                latest, kind = key, self._kind(key)
            attributes, seen = device.attributes or {}, kind.seen
            for name in kind.hidden:
                value = attributes[name]
                # Plain values are by far the most and never wrong; as keys they would only fill the memory.
                is_plain = value.string is not None or value.int_value is not None or value.bool_value is not None
                if not (is_plain or self._is_readable(value)):
                    # All of it is seen where a value fails every expression (CEL-3).
                    seen = key[2]
                    break
            parts = [attributes[name] for name in seen]
            others = (
                device.capacity,
                device.consumes_counters,
                device.taints,
                device.binding_conditions,
                device.allow_multiple_allocations,
                device.node_allocatable_resources,
                device.node_allocatable_resource_mappings,
            )
            identity = (*map(id, parts), *map(id, others))
            known = kind.by_identity.get(identity)
            if known is None:
                content = _encode((parts, *others[:-2], device.node_resources))
                profile = kind.by_content.get(content)
                if profile is None:
                    shared = self._sharing and bool(device.allow_multiple_allocations)
                    profile = Profile(next(self._numbers), key[0], device, key[1], shared)
                    kind.by_content[content] = profile
                known = profile, device
                if len(kind.by_identity) < _MOST_IDENTITIES:
                    kind.by_identity[identity] = known
            found.append(known[0])
        return tuple(found)

    def _kind(self, key: tuple[str, bool, tuple[str, ...]]) -> _DeviceKind:
        found = self._kinds.get(key)
        if found is None:
            driver, _, names = key
            seen = self._visible.of(driver, names)
            found = self._kinds[key] = _DeviceKind(seen, tuple(name for name in names if name not in seen), {}, {})
        return found

    def _is_readable(self, attribute: DeviceAttribute) -> bool:
        known = self._readable.get(attribute)
        if known is None:
            known = self._readable[attribute] = is_readable(attribute)
        return known


def node_class_key(view: NodeView, in_use: InUse) -> Hashable:
    """Return a key that is equal for nodes of one class; their views must be for questions that see the same."""
    return view.shape.index, in_use.key


def group_equal(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items with equal keys; the groups are in the order of their first items.

    Whatever ``key`` raises is raised, such as ``SelectorError`` for a node selector that cannot be parsed.
    """
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def group_equal_largest_first(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Group items as ``group_equal`` does, the largest groups first."""
    return sorted(group_equal(items, key), key=lambda group: -len(group))

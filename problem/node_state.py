"""The state of nodes by the numbers of their devices and rows: what is in use, and what objectives see of a node.

``AllocatedState`` is the usage while units are placed one after the other (IN-2, CTR-1, GRP-2). ``NodeContextBuilder``
says which devices lie close together, how large they are, and what a card has in all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from ..models.cluster.cluster import Cluster
from ..models.cluster.pools import COMPLETE, Pool, PoolDevice
from ..models.cluster.usage import Usage
from ..models.formats.decode import QuantityText
from ..models.kubernetes.claims import AllocationResult
from ..models.kubernetes.meta import ObjectKey, PoolId
from ..models.kubernetes.quantity import Quantity
from ..models.kubernetes.slices import DeviceCapacity, published_value
from ..models.workload.units import Allocations
from .problem import InUse, NodeContext, groups_after_joining
from .requests import VisibleAttributes
from .shapes import NodeType, NodeView, group_set

ClaimAllocation = tuple[ObjectKey, AllocationResult]
"""A claim by its key, and what it gets."""


class AllocatedState:
    """The usage while units are placed one after the other, and when each pool last changed.

    What is derived from it is kept until the pools concerned change. ``waiting`` is what is allocated on nodes that
    share no pool, by their names: it counts for a node once ``look_at`` was called for it.
    """

    def __init__(self, usage: Usage, waiting: Mapping[str, Sequence[Allocations]] = MappingProxyType({})) -> None:
        self.usage = usage
        self._waiting = waiting
        self._looked_at: set[str] = set()
        self._log: list[PoolId] = []
        self._changed: dict[PoolId, int] = {}
        self._in_use: dict[str, tuple[NodeView, int, InUse]] = {}
        # What is in use where nothing is held, by type.
        self._unused: dict[NodeType, InUse] = {}
        self._baselines: dict[tuple[PoolId, int], tuple[int, tuple[int, ...]]] = {}

    def copied(self) -> AllocatedState:
        """Return the same state, with what is known of it; changes of either do not touch the other."""
        copy = AllocatedState(self.usage, self._waiting)
        copy._looked_at = set(self._looked_at)
        copy._log, copy._changed = list(self._log), dict(self._changed)
        copy._in_use, copy._baselines = dict(self._in_use), dict(self._baselines)
        copy._unused = dict(self._unused)
        return copy

    def look_at(self, node: str) -> None:
        """Count what waits for this node, before anything that it sees is looked at."""
        if node in self._waiting and node not in self._looked_at:
            self._looked_at.add(node)
            self.usage = self.usage.plus([(ref.key, made) for own in self._waiting[node] for ref, made in own])

    def commit(self, allocations: Iterable[ClaimAllocation]) -> None:
        """Take what was allocated out of what is free."""
        made = list(allocations)
        self.usage = self.usage.plus(made)
        self._note({(result.driver, result.pool) for _, made_ in made for result in made_.devices.results or ()})

    def release(self, claims: Iterable[ObjectKey]) -> None:
        """Give what these claims hold back to what is free."""
        gone = list(claims)
        pools = {(driver, pool) for claim in gone for driver, pool, _ in self.usage.held_by(claim)}
        self.usage = self.usage.without(gone)
        self._note(pools)

    def _note(self, pools: AbstractSet[PoolId]) -> None:
        self._log += sorted(pools)
        self._changed.update(dict.fromkeys(pools, len(self._log)))

    @property
    def changes(self) -> int:
        """Count the changes of pools so far."""
        return len(self._log)

    def changed_since(self, changes: int) -> AbstractSet[PoolId]:
        """Find the pools that changed after so many changes."""
        return set(self._log[changes:])

    def stamp(self, view: NodeView) -> int:
        """Tell when anything that the node sees last changed; equal stamps mean equal usage."""
        return max((self._changed.get(pool.id, 0) for pool in view.pools), default=0)

    def in_use(self, view: NodeView) -> InUse:
        """Return what is in use on a node, by number."""
        stamp = self.stamp(view)
        known = self._in_use.get(view.node.metadata.name)
        # Views of a node differ in what questions see of its devices, never in their numbers.
        if known is None or known[0].devices is not view.devices or known[1] != stamp:
            known = view, stamp, self._number(view)
            self._in_use[view.node.metadata.name] = known
        return known[2]

    def _number(self, view: NodeView) -> InUse:
        is_unused = self.usage.is_empty
        if is_unused and view.shape in self._unused:
            return self._unused[view.shape]
        found = self._number_held(view, () if is_unused else view.devices)
        if is_unused:
            self._unused[view.shape] = found
        return found

    def _number_held(self, view: NodeView, devices: Sequence[PoolDevice]) -> InUse:
        """Number what is in use; others than these devices are free."""
        holds = self.usage.holds
        held = [(number, found) for number, device in enumerate(devices) if (found := holds(device.id))]
        counts = ((number, sum(hold.share_id is not None for hold in found)) for number, found in held)
        shares = {number: count for number, count in counts if count}
        return InUse(
            frozenset(number for number, found in held if shares.get(number, 0) < len(found)),
            shares,
            {row: amount for number in shares for row, amount in self._consumed(view, number)},
            tuple(amount for pool in view.pools for amount in self._available(pool)),
            tuple(self._group_state(view, pool, name) for pool, name in view.shape.groups.sets),
        )

    def _consumed(self, view: NodeView, number: int) -> Iterable[tuple[int, int]]:
        """Only shares consume."""
        consumed = self.usage.consumed_on(view.devices[number].id)
        rows = view.shape.capacities.rows.get(number, ())
        names = view.shape.capacities.names
        return ((row, consumed[names[row]]) for row in rows if consumed.get(names[row]))

    def _available(self, pool: Pool) -> tuple[int, ...]:
        """Compute what is left of a pool's counters, the same for all nodes that see the pool (CTR-1, CTR-4)."""
        if not pool.counter_sets:
            return ()
        key, changed = (pool.id, pool.generation), self._changed.get(pool.id, 0)
        known = self._baselines.get(key)
        if known is None or known[0] != changed:
            left = {
                (set_.name, name): Quantity.parse(counter.value).nano
                for set_ in pool.counter_sets
                for name, counter in (set_.counters or {}).items()
            }
            for device in self._holders(pool):
                for consumption in device.device.consumes_counters or ():
                    for name, counter in (consumption.counters or {}).items():
                        left[consumption.counter_set, name] -= Quantity.parse(counter.value).nano
            known = self._baselines[key] = changed, tuple(left.values())
        return known[1]

    def _holders(self, pool: Pool) -> Iterable[PoolDevice]:
        """Find the allocated devices of a pool's generation, on any node."""
        return (device for device in (*pool.devices, *pool.other_devices) if self.usage.in_use(device.id))

    def _group_state(self, view: NodeView, pool_number: int, set_name: str) -> int | None:
        bits = view.shape.pools[pool_number].group_bits
        state: int | None = None
        for device in self._holders(view.pools[pool_number]):
            for consumption in device.device.consumes_counters or ():
                if consumption.counter_set == set_name:
                    state = groups_after_joining(state, group_set(consumption, bits))
        return state


# Attributes that every driver gives one meaning; a claim adds those that its constraints compare.
STANDARD_GROUPINGS = ("resource.kubernetes.io/pcieRoot",)
# The size of the largest device there could be.
FULL_SIZE = 1_000_000
# What an average card or device of a driver counts if all of it is drawn.
FULL_CONSUMPTION = 1_000_000
Scarcity = tuple[int, int]
"""What one of a counter or capacity counts: a numerator and a denominator."""
CapacityName = tuple[str, str]
"""Driver and name."""


class NodeContextBuilder:
    """Makes landscapes of one cluster; equal ones are one object."""

    def __init__(self, cluster: Cluster) -> None:
        tally = cluster.slice_memo("amounts", lambda: _tally_amounts(cluster))
        self._largest = _largest_capacities(tally)
        self._names: dict[str, int] = defaultdict(int)
        for driver, _ in self._largest:
            self._names[driver] += 1
        self._scarcity = _scarcity(tally)
        self._known: dict[NodeContext, NodeContext] = {}
        self._surveyed: dict[tuple[str, tuple[str, ...]], tuple[NodeView, NodeContext]] = {}

    def survey(self, view: NodeView, visible: VisibleAttributes) -> NodeContext:
        """Describe a node for questions whose constraints look at these attributes."""
        names = (*STANDARD_GROUPINGS, *sorted(visible.names.difference(STANDARD_GROUPINGS)))
        key = view.node.metadata.name, names
        found = self._surveyed.get(key)
        if found is None or found[0] is not view:
            made = self._survey(view, names)
            found = self._surveyed[key] = view, self._known.setdefault(made, made)
        return found[1]

    def _survey(self, view: NodeView, names: Iterable[str]) -> NodeContext:
        pools = [number for number, pool in enumerate(view.pools) for _ in pool.devices]
        drivers = {driver: number for number, driver in enumerate(sorted({pool.driver for pool in view.pools}))}
        return NodeContext(
            tuple(pools),
            tuple(drivers[view.pools[pool].driver] for pool in pools),
            tuple(
                device.reachable and view.pools[pool].status == COMPLETE
                for device, pool in zip(view.devices, pools, strict=True)
            ),
            tuple(_grouping(view, name) for name in names),
            tuple(self._weights(view)),
            tuple(
                Quantity.parse(counter.value).nano
                for pool in view.pools
                for set_ in pool.counter_sets
                for counter in (set_.counters or {}).values()
            ),
            tuple(
                self._scarcity.capacities[device.driver, name]
                for device in view.devices
                for name in sorted(device.device.capacity or {})
            ),
            tuple(
                self._scarcity.counters[pool.driver, name]
                for pool in view.pools
                for set_ in pool.counter_sets
                for name in set_.counters or ()
            ),
        )

    def _weights(self, view: NodeView) -> Iterator[int]:
        """Weigh each row of capacity; a driver's names count alike."""
        for device in view.devices:
            capacity = device.device.capacity or {}
            for name in sorted(capacity):
                largest = self._largest[device.driver, name] * self._names[device.driver]
                total = Quantity.parse(capacity[name].value).nano
                yield total * FULL_SIZE // largest if total > 0 else 0


@dataclass(frozen=True, slots=True)
class _AmountTally:
    """How often a driver publishes each amount, as it is written, so that equal ones are read once.

    ``capacities`` and ``counters`` are by driver, name and amount; capacities also by whether they count in their own
    right: devices that draw counters and are not shared count with these alone. ``devices`` and ``cards`` are by
    driver: devices that have a capacity which counts, and sets of counters.
    """

    capacities: Counter[tuple[str, str, QuantityText, bool]] = field(default_factory=Counter)
    counters: Counter[tuple[str, str, QuantityText]] = field(default_factory=Counter)
    devices: Counter[str] = field(default_factory=Counter)
    cards: Counter[str] = field(default_factory=Counter)


def _tally_amounts(cluster: Cluster) -> _AmountTally:
    found, kinds = _AmountTally(), dict[tuple[str, bool, int], tuple[int, Mapping[str, DeviceCapacity]]]()
    for slice_ in cluster.slices:
        driver = slice_.spec.driver
        for set_ in slice_.spec.shared_counters or ():
            found.cards[driver] += 1
            found.counters.update((driver, name, counter.value) for name, counter in (set_.counters or {}).items())
        for device in slice_.spec.devices or ():
            if capacity := device.capacity:
                # Readers share equal capacities: what they hold is looked at once.
                key = driver, bool(device.allow_multiple_allocations or not device.consumes_counters), id(capacity)
                kinds[key] = kinds.get(key, (0,))[0] + 1, capacity
    for (driver, counted, _), (number, held) in kinds.items():
        found.devices[driver] += number * counted
        for name, amount in held.items():
            found.capacities[driver, name, amount.value, counted] += number
    return found


def _largest_capacities(tally: _AmountTally) -> Mapping[CapacityName, int]:
    """Find the greatest total of each capacity."""
    found: dict[CapacityName, int] = defaultdict(int)
    for driver, name, value, _ in tally.capacities:
        found[driver, name] = max(found[driver, name], Quantity.parse(value).nano)
    return found


@dataclass(frozen=True, slots=True)
class ClusterScarcity:
    """What one of each kind counts, by driver and name: of capacities that devices have, and of shared counters."""

    capacities: Mapping[CapacityName, Scarcity]
    counters: Mapping[CapacityName, Scarcity]


def _scarcity(tally: _AmountTally) -> ClusterScarcity:
    """Add up what there is of each kind."""
    capacities: Counter[CapacityName] = Counter()
    counters: Counter[CapacityName] = Counter()
    for (driver, name, value), number in tally.counters.items():
        counters[driver, name] += max(0, Quantity.parse(value).nano) * number
    for (driver, name, amount, counted), number in tally.capacities.items():
        capacities[driver, name] += max(0, Quantity.parse(amount).nano) * number if counted else 0
    return ClusterScarcity(_shares(capacities, tally.devices), _shares(counters, tally.cards))


def _shares(totals: Mapping[CapacityName, int], holders: Mapping[str, int]) -> dict[CapacityName, Scarcity]:
    """Let the kinds of a driver weigh alike, and an average holder count in full; of what there is none nothing."""
    kinds = Counter(driver for (driver, _), total in totals.items() if total)
    found: dict[CapacityName, Scarcity] = {}
    for (driver, name), total in totals.items():
        weight = Fraction(FULL_CONSUMPTION * holders[driver], total * kinds[driver]) if total else Fraction(0)
        found[driver, name] = weight.as_integer_ratio()
    return found


def _grouping(view: NodeView, name: str) -> tuple[int, ...]:
    """Number the values of an attribute in the order of the devices."""
    values = [published_value(device, name) for device in view.devices]
    there = dict.fromkeys(value for value in values if value is not None)
    numbers = {value: number for number, value in enumerate(there, 1)}
    return tuple(0 if value is None else numbers[value] for value in values)

"""Pools of devices as one node sees them (dra-semantics section 5).

A pool depends on the newest generation of its slices on whatever node, and on their counters (POOL-8, POOL-9).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import msgspec

from ..kubernetes.claims import DeviceTaintRule
from ..kubernetes.core import Node
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import DeviceId, PoolId
from ..kubernetes.slices import CounterSet, Device, ResourceSlice
from .node_fit import ReachIndex, TaintRules, per_device, reachable_devices

COMPLETE = "complete"
INCOMPLETE = "incomplete"
INVALID = "invalid"


class PoolDevice(msgspec.Struct, frozen=True, eq=False):
    """A device of a pool; taints of rules are merged into ``device`` (TNT-5)."""

    device: Device
    slice: ResourceSlice
    id: DeviceId
    # Whether the asking node is one the device names, under perDeviceNodeSelection (DEV-4); else True.
    reachable: bool = True

    @property
    def driver(self) -> str:
        """The driver's name."""
        return self.id[0]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool as a node sees it. Compared by identity: nodes that see the same share one object.

    ``status`` is ``complete``, ``incomplete`` (POOL-6) or ``invalid`` (POOL-9); only a complete pool has devices.
    """

    driver: str
    name: str
    generation: int
    status: str = COMPLETE
    reason: str = ""
    # The devices of node-relevant slices in POOL-11 order, also those not reachable themselves (DEV-4).
    devices: tuple[PoolDevice, ...] = ()
    # Counter sets of the whole generation (POOL-8); empty with PartitionableDevices off.
    counter_sets: tuple[CounterSet, ...] = ()
    # Some node-relevant device has binding conditions, so the pool comes last (POOL-11).
    binds: bool = False
    _generation: PoolGeneration | None = field(default=None, repr=False)
    _positions: tuple[int, ...] = field(default=(), repr=False)

    @property
    def id(self) -> PoolId:
        """Driver and name (CTR-5)."""
        return self.driver, self.name

    @property
    def other_devices(self) -> tuple[PoolDevice, ...]:
        """Devices of slices that are not relevant for the node: they matter for counters only (POOL-8, CTR-1).

        None in a pool without counter sets. Made at each call: pools over many nodes would hold them many times.
        """
        if self._generation is None or not self.counter_sets:
            return ()
        others = self._generation.others(self._positions)
        return tuple(device for slice_ in others for device in _pool_devices(slice_))


def merge_pool_views(views: Sequence[Pool]) -> Pool | None:
    """Return a pool as a node would see it that reaches whatever these views of it reach.

    None if there is no such view: they are of several generations, or count in counter sets of their own.
    """
    complete = [view for view in views if view.status == COMPLETE]
    if len(complete) < 2:
        return next(iter(complete), views[0])
    first = complete[0]
    counting = any(view.counter_sets for view in complete)
    if any(view.generation != first.generation for view in complete):
        return None
    if counting and any(view._generation is not first._generation for view in complete):  # noqa: SLF001 - Pool's own
        return None
    devices: dict[DeviceId, PoolDevice] = {}
    for device in chain.from_iterable(view.devices for view in complete):
        if device.reachable or device.id not in devices:
            devices[device.id] = device
    kept = tuple(sorted({position for view in complete for position in view._positions}))  # noqa: SLF001 - Pool's own
    return replace(first, devices=tuple(devices.values()), _positions=kept)


def _pool_devices(slice_: ResourceSlice, reachable: Sequence[bool] | None = None) -> list[PoolDevice]:
    driver, pool, devices = slice_.spec.driver, slice_.spec.pool.name, slice_.spec.devices or ()
    if reachable is None:
        return [PoolDevice(device, slice_, (driver, pool, device.name)) for device in devices]
    return [
        PoolDevice(device, slice_, (driver, pool, device.name), reached)
        for device, reached in zip(devices, reachable, strict=True)
    ]


# What a pool depends on: the kept slices, and per slice the devices the node reaches.
_PoolViewKey = tuple[tuple[int, ...], tuple[tuple[bool, ...] | None, ...]]


class PoolIndex:
    """All slices of a cluster, indexed for what one node sees. Built once per cluster and gates.

    Building looks at slices only. Devices become objects when a node that sees them asks, once for all nodes
    that see the same.
    """

    def __init__(
        self, slices: Iterable[ResourceSlice], gates: FeatureGates, rules: Iterable[DeviceTaintRule] = ()
    ) -> None:
        ordered = sorted(slices, key=lambda slice_: slice_.metadata.name)
        self._partitionable = gates.partitionable_devices
        self._slices: list[ResourceSlice] = []
        self._rules = TaintRules(rules, gates)
        self._generations: dict[PoolId, dict[int, PoolGeneration]] = defaultdict(lambda: defaultdict(PoolGeneration))
        for slice_ in ordered:
            if _is_understood(slice_, gates):
                self._generation(slice_).add(len(self._slices), slice_)
                self._slices.append(slice_)
            else:
                self._generation(slice_).ignored += _is_counted(slice_, gates)
        self._reach = ReachIndex(self._slices)
        # The stable variant has two rules of its own.
        self._stable = gates.variant == "stable"
        # In it those with counter sets are relevant for every node (POOL-8).
        counting = (position for position, slice_ in enumerate(self._slices) if slice_.spec.shared_counters)
        self._everywhere = tuple(counting) if self._stable else ()
        self._pools: dict[_PoolViewKey, Pool] = {}
        self._answers: dict[str, tuple[Node, tuple[Pool, ...]]] = {}

    def _generation(self, slice_: ResourceSlice) -> PoolGeneration:
        pool = slice_.spec.pool
        return self._generations[slice_.spec.driver, pool.name][pool.generation]

    @property
    def node_names(self) -> Iterable[str]:
        """All names of nodes that slices or devices give."""
        return self._reach.node_names

    def pools_for(self, node: Node) -> tuple[Pool, ...]:
        """The pools the node sees, in POOL-11 order (POOL-1 to POOL-14).

        Raises ``SelectorError`` if a slice or device has a node selector that cannot be parsed (NODE-2).
        """
        known = self._answers.get(node.metadata.name)
        if known and known[0] is node:
            return known[1]
        grouped: dict[PoolId, list[int]] = defaultdict(list)
        for position in sorted({*self._reach.positions(node), *self._everywhere}):
            spec = self._slices[position].spec
            grouped[spec.driver, spec.pool.name].append(position)
        seen = (self._pool(id_, positions, node) for id_, positions in grouped.items())
        pools = tuple(sorted(filter(None, seen), key=lambda pool: (pool.binds, pool.driver, pool.name)))
        self._answers[node.metadata.name] = (node, pools)
        return pools

    def _pool(self, id_: PoolId, relevant: list[int], node: Node) -> Pool | None:
        """The pool made of these relevant slices; None if it is obsolete for the node (POOL-5)."""
        generations = self._generations[id_]
        newest = max(self._slices[position].spec.pool.generation for position in relevant)
        kept = tuple(position for position in relevant if self._slices[position].spec.pool.generation == newest)
        declared = self._declared(kept)
        if len(kept) == declared:
            return self._shared(id_, kept, self._only(kept, generations[newest]), node)
        if max(generations) > newest:
            return None
        there = generations[newest].published
        if there != declared:
            reason = f"generation {newest} has {there} slices and declares {declared}"
            return Pool(*id_, newest, INCOMPLETE, reason)
        return self._shared(id_, kept, generations[newest], node)

    def _declared(self, kept: Sequence[int]) -> int:
        """The number of slices that one slice declares: the first with a node name, which the scheduler lists first.

        The stable variant takes them as they come.
        """
        local = (position for position in kept if self._slices[position].spec.node_name and not self._stable)
        return self._slices[next(local, kept[0])].spec.pool.resource_slice_count

    def _only(self, kept: Sequence[int], generation: PoolGeneration) -> PoolGeneration:
        """The kept slices: where they are as many as declared, surplus ones elsewhere are not looked at (POOL-4)."""
        if len(generation.slices) == len(kept):
            return generation
        alone = PoolGeneration()
        for position in kept:
            alone.add(position, self._slices[position])
        return alone

    def _shared(self, id_: PoolId, kept: tuple[int, ...], generation: PoolGeneration, node: Node) -> Pool:
        slices = (self._slices[position] for position in kept)
        view = kept, tuple(reachable_devices(slice_, node) if per_device(slice_) else None for slice_ in slices)
        pool = self._pools.get(view)
        if pool is None:
            pool = self._pools[view] = self._make(id_, view, generation)
        return pool

    def _make(self, id_: PoolId, view: _PoolViewKey, generation: PoolGeneration) -> Pool:
        newest = generation.slices[0].spec.pool.generation
        kept, reachable = view
        names = [device.name for position in kept for device in self._slices[position].spec.devices or ()]
        if len(set(names)) < len(names):
            twice = first_duplicate(names)
            return Pool(*id_, newest, INVALID, f"duplicate device {twice}")
        if self._partitionable and generation.counter_problem:
            return Pool(*id_, newest, INVALID, generation.counter_problem)
        devices: list[PoolDevice] = []
        for position, reached in zip(kept, reachable, strict=True):
            devices += _pool_devices(self._rules.apply(self._slices[position]), reached)
        binds = any(member.device.binding_conditions is not None for member in devices)
        return Pool(*id_, newest, COMPLETE, "", tuple(devices), generation.counter_sets, binds, generation, kept)


def _is_understood(slice_: ResourceSlice, gates: FeatureGates) -> bool:
    """Slices with features that are off are ignored, but for their generation and (POOL-2) their number in POOL-6.

    Upstream, with DRADeviceCompatibilityGroups off, a single device that declares groups is enough (GRP-5).
    """
    spec = slice_.spec
    if not gates.partitionable_devices and (spec.per_device_node_selection or spec.shared_counters):
        return False
    return _is_counted(slice_, gates)


def _is_counted(slice_: ResourceSlice, gates: FeatureGates) -> bool:
    """Slices that declare groups while those are off do not even count (POOL-6)."""
    if gates.compatibility_groups:
        return True
    consumers = (device.consumes_counters for device in slice_.spec.devices or ())
    return not any(consumption.compatibility_groups for consumed in consumers for consumption in consumed or ())


class PoolGeneration:
    """All slices of one generation of a pool, on any node."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.slices: list[ResourceSlice] = []
        # Slices that are ignored for their features, but count where the whole pool is counted (POOL-6).
        self.ignored = 0

    @property
    def published(self) -> int:
        """How many slices there are, ignored ones too."""
        return len(self.slices) + self.ignored

    def add(self, position: int, slice_: ResourceSlice) -> None:
        """Add a slice with its position in the index."""
        self.positions.append(position)
        self.slices.append(slice_)

    @cached_property
    def counter_sets(self) -> tuple[CounterSet, ...]:
        """The counter sets of all slices (POOL-8)."""
        return tuple(counters for slice_ in self.slices for counters in slice_.spec.shared_counters or ())

    @cached_property
    def counter_problem(self) -> str:
        """What is wrong with the counters of the pool (POOL-9); empty: nothing."""
        names = [counters.name for counters in self.counter_sets]
        if twice := first_duplicate(names):
            return f"duplicate counter set {twice}"
        known = {counters.name: frozenset(counters.counters or ()) for counters in self.counter_sets}
        consumers = (device for slice_ in self.slices for device in slice_.spec.devices or ())
        problems = (_counter_problem(device, known) for device in consumers if device.consumes_counters)
        return next(filter(None, problems), "")

    def others(self, kept: Iterable[int]) -> Iterator[ResourceSlice]:
        """The slices beside the kept ones."""
        relevant = frozenset(kept)
        pairs = zip(self.positions, self.slices, strict=True)
        return (slice_ for position, slice_ in pairs if position not in relevant)


def _counter_problem(device: Device, known: dict[str, frozenset[str]]) -> str:
    for consumption in device.consumes_counters or ():
        if consumption.counter_set not in known:
            return f"device {device.name} consumes from unknown counter set {consumption.counter_set}"
        for counter in consumption.counters or ():
            if counter not in known[consumption.counter_set]:
                return f"device {device.name} consumes unknown counter {counter} of set {consumption.counter_set}"
    return ""


def first_duplicate(names: Iterable[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None

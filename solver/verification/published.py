"""What a node can see of the published pools (section 5, read anew)."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ...models.core import Node, NodeSelector
from ...models.gates import FeatureGates
from ...models.selection import node_matches
from ...models.slices import Counter, Device, ResourceSlice

PoolId: TypeAlias = tuple[str, str]
DeviceId: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Published:
    """A device with the slice that publishes it."""

    device: Device
    slice: ResourceSlice

    @property
    def driver(self) -> str:
        """The driver that published the device."""
        return self.slice.spec.driver

    @property
    def pool_id(self) -> PoolId:
        """Driver and pool name."""
        return self.slice.spec.driver, self.slice.spec.pool.name

    @property
    def id(self) -> DeviceId:
        """Driver, pool and device name."""
        return *self.pool_id, self.device.name

    @property
    def selection(self) -> Device | ResourceSlice:
        """Whose node selection counts: the device's own or the slice's."""
        return self.device if self.slice.spec.per_device_node_selection else self.slice


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool as one node sees it; ``trouble`` says why it offers nothing (POOL-6, POOL-9)."""

    id: PoolId
    devices: dict[str, Published]
    everywhere: tuple[Published, ...]
    counters: dict[str, dict[str, Counter]]
    trouble: str | None


class Inventory:
    """All slices, looked at through the eyes of one node at a time."""

    def __init__(self, slices: Iterable[ResourceSlice], gates: FeatureGates) -> None:
        self._gates = gates
        self._pools: dict[PoolId, list[ResourceSlice]] = defaultdict(list)
        self._by_node: dict[str, dict[PoolId, None]] = defaultdict(dict)
        self._anywhere: dict[PoolId, None] = {}
        self._views: dict[tuple[PoolId, str], PoolView | None] = {}
        for piece in slices:
            if self._understood(piece):
                self._add(piece)

    def _understood(self, piece: ResourceSlice) -> bool:
        """POOL-2: without partitionable devices their slices do not exist."""
        spec = piece.spec
        return self._gates.partitionable_devices or not (spec.per_device_node_selection or spec.shared_counters)

    def _add(self, piece: ResourceSlice) -> None:
        pool = piece.spec.driver, piece.spec.pool.name
        self._pools[pool].append(piece)
        if piece.spec.node_name:
            self._by_node[piece.spec.node_name][pool] = None
        else:
            self._anywhere[pool] = None

    def views(self, node: Node) -> Iterator[PoolView]:
        """Every pool that exists for the node (POOL-14)."""
        for pool in self._by_node.get(node.metadata.name, {}) | self._anywhere:
            view = self.view(pool, node)
            if view is not None:
                yield view

    def view(self, pool: PoolId, node: Node) -> PoolView | None:
        """One pool as the node sees it; None where it does not exist or is obsolete (POOL-5, POOL-14)."""
        key = pool, node.metadata.name
        if key not in self._views:
            self._views[key] = self._look(pool, node)
        return self._views[key]

    def _look(self, pool: PoolId, node: Node) -> PoolView | None:
        pieces = self._pools.get(pool, [])
        relevant = [piece for piece in pieces if _relevant(piece, node)]
        if not relevant:
            return None
        generation = max(piece.spec.pool.generation for piece in relevant)
        kept = [piece for piece in relevant if piece.spec.pool.generation == generation]
        current = [piece for piece in pieces if piece.spec.pool.generation == generation]
        declared = kept[0].spec.pool.resource_slice_count
        if len(kept) != declared:
            if any(piece.spec.pool.generation > generation for piece in pieces):
                return None
            if len(current) != declared:
                return PoolView(pool, {}, (), {}, "is currently being updated")
        return self._complete(pool, kept, current)

    def _complete(self, pool: PoolId, kept: list[ResourceSlice], current: list[ResourceSlice]) -> PoolView:
        offered = list(_published(kept))
        everywhere = tuple(_published(current))
        sets = [found for piece in current for found in piece.spec.shared_counters or ()]
        counters = {found.name: found.counters or {} for found in sets}
        trouble = _duplicate(name.device.name for name in offered)
        if trouble is None and self._gates.partitionable_devices:
            trouble = _duplicate(found.name for found in sets) or _unknown_counter(everywhere, counters)
        return PoolView(pool, {entry.device.name: entry for entry in offered}, everywhere, counters, trouble)


def _published(pieces: Iterable[ResourceSlice]) -> Iterator[Published]:
    for piece in pieces:
        for device in piece.spec.devices or ():
            yield Published(device, piece)


def _duplicate(names: Iterable[str]) -> str | None:
    """POOL-9: the first name that occurs twice."""
    twice = [name for name, times in Tally(names).items() if times > 1]
    return f"publishes {twice[0]} twice" if twice else None


def _unknown_counter(devices: Iterable[Published], counters: dict[str, dict[str, Counter]]) -> str | None:
    """POOL-9: a device that draws from a counter nobody declares."""
    for entry in devices:
        for taken in entry.device.consumes_counters or ():
            missing = (taken.counters or {}).keys() - counters.get(taken.counter_set, {}).keys()
            if taken.counter_set not in counters or missing:
                return f"device {entry.device.name} consumes unknown counters of {taken.counter_set}"
    return None


def reachable(chosen: Device | ResourceSlice, node: Node) -> bool:
    """NODE-1 on a device or a slice."""
    place = chosen if isinstance(chosen, Device) else chosen.spec
    if place.node_name:
        return place.node_name == node.metadata.name
    if place.all_nodes:
        return True
    return place.node_selector is not None and node_matches(place.node_selector, node)


def selector_of(entry: Published) -> NodeSelector | None:
    """The node selector of the device's own node selection."""
    chosen = entry.selection
    return chosen.node_selector if isinstance(chosen, Device) else chosen.spec.node_selector


def node_name_of(entry: Published) -> str | None:
    """The node name of the device's own node selection."""
    chosen = entry.selection
    return chosen.node_name if isinstance(chosen, Device) else chosen.spec.node_name


def _relevant(piece: ResourceSlice, node: Node) -> bool:
    """POOL-1."""
    if piece.spec.per_device_node_selection:
        return any(reachable(device, node) for device in piece.spec.devices or ())
    return reachable(piece, node)

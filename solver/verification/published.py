"""What is published, and what a node can see of it (sections 4 and 5, read anew).

Devices and the generations of pools they belong to (POOL-2, POOL-8), and for each node the pools that it sees (NODE-1,
POOL-1 to POOL-14), found with an index of the nodes that slices and devices are for.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from ...models.cluster.node_fit import SelectorError, node_matches
from ...models.formats.decode import QuantityText
from ...models.kubernetes.core import Node, NodeSelector
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, ObjectMeta, PoolId
from ...models.kubernetes.quantity import Quantity
from ...models.kubernetes.slices import CounterSet, Device, DeviceCounterConsumption, ResourceSlice, ResourceSliceSpec


class Finding(NamedTuple):
    """A broken rule, by its id, and what is wrong.

    ``fatal`` says that the rule does more than keep a device away: a request for all devices cannot leave it out.
    """

    rule: str
    message: str
    fatal: bool = False


@lru_cache(maxsize=4096, typed=True)
def nano(text: QuantityText) -> int:
    """Read a quantity as an exact integer of billionths."""
    return Quantity.parse(text).nano


CounterKey: TypeAlias = tuple[str, str]
"""A counter set and a counter in it."""


class PublishedDevice(NamedTuple):
    """A device with the slice that publishes it."""

    device: Device
    slice: ResourceSlice
    id: DeviceId

    @property
    def driver(self) -> str:
        """The driver that published the device."""
        return self.id[0]

    @property
    def pool_id(self) -> PoolId:
        """Driver and pool name."""
        return self.id[:2]

    @property
    def place(self) -> Located:
        """The object whose node selection counts: the device or the slice."""
        return self.device if self.slice.spec.per_device_node_selection else self.slice.spec

    @property
    def consumption(self) -> Sequence[tuple[CounterKey, int]]:
        """The amounts that the device draws from counters, in billionths."""
        consumed = self.device.consumes_counters
        return _drawn_amounts(_encode(consumed)) if consumed else ()


_encode = msgspec.msgpack.Encoder().encode
_decode_drawing = msgspec.msgpack.Decoder(tuple[DeviceCounterConsumption, ...]).decode
_decode_sets = msgspec.msgpack.Decoder(tuple[CounterSet, ...]).decode


# Cards of one model have equal counters: what is written of them is read once.
@lru_cache(maxsize=4096)
def _drawn_amounts(written: bytes) -> Sequence[tuple[CounterKey, int]]:
    return [
        ((taken.counter_set, counter), nano(amount.value))
        for taken in _decode_drawing(written)
        for counter, amount in (taken.counters or {}).items()
    ]


@lru_cache(maxsize=4096)
def _declared_values(written: bytes) -> Mapping[CounterKey, int]:
    return {
        (found.name, name): nano(counter.value)
        for found in _decode_sets(written)
        for name, counter in (found.counters or {}).items()
    }


@lru_cache(maxsize=4096)
def _unknown_counter(sets: bytes, drawing: bytes) -> tuple[int, str] | None:
    """Which of some consumers takes from a counter that nobody declares, and what; None: all are declared."""
    names, counters = {found.name for found in _decode_sets(sets)}, _declared_values(sets)
    for number, consumed in enumerate(msgspec.msgpack.decode(drawing, type=list[tuple[DeviceCounterConsumption, ...]])):
        for taken in consumed:
            name = taken.counter_set
            if name not in names:
                return number, f"consumes from unknown counter set {name}"
            for counter in taken.counters or ():
                if (name, counter) not in counters:
                    return number, f"consumes unknown counter {counter} of set {name}"
    return None


def published_devices(pieces: Iterable[ResourceSlice]) -> Iterator[PublishedDevice]:
    """List the devices of slices, in their order."""
    for piece in pieces:
        driver, pool = piece.spec.driver, piece.spec.pool.name
        for device in piece.spec.devices or ():
            yield PublishedDevice(device, piece, (driver, pool, device.name))


class PublishedGeneration:
    """The slices of one generation of a pool, for whatever nodes they are."""

    def __init__(self) -> None:
        self.slices: list[ResourceSlice] = []
        # Slices that offer nothing for want of a feature, though the pool counts them (POOL-6).
        self.ignored = 0

    @cached_property
    def counter_sets(self) -> tuple[CounterSet, ...]:
        """The sets of all slices (POOL-8)."""
        return tuple(found for piece in self.slices for found in piece.spec.shared_counters or ())

    @cached_property
    def counters(self) -> Mapping[CounterKey, int]:
        """The declared values, in billionths."""
        return _declared_values(_encode(self.counter_sets))

    @cached_property
    def consumers(self) -> tuple[PublishedDevice, ...]:
        """The devices that take from counters, on any node."""
        # Most slices have none.
        some = [piece for piece in self.slices if any(device.consumes_counters for device in piece.spec.devices or ())]
        return tuple(entry for entry in published_devices(some) if entry.device.consumes_counters)

    @cached_property
    def is_grouped(self) -> bool:
        """Whether a consumer has compatibility groups (GRP-2)."""
        return any(taken.compatibility_groups for one in self.consumers for taken in one.device.consumes_counters or ())

    @cached_property
    def consumers_by_name(self) -> dict[str, list[PublishedDevice]]:
        """Consumers by device name, which the slices of several nodes may share."""
        found: dict[str, list[PublishedDevice]] = defaultdict(list)
        for entry in self.consumers:
            found[entry.device.name].append(entry)
        return found

    @cached_property
    def consumers_by_set(self) -> dict[str, list[PublishedDevice]]:
        """Consumers by the counter sets they take from."""
        found: dict[str, list[PublishedDevice]] = defaultdict(list)
        for entry in self.consumers:
            for taken in entry.device.consumes_counters or ():
                found[taken.counter_set].append(entry)
        return found

    @cached_property
    def unknown_counter(self) -> str:
        """POOL-9: a device that takes from a counter which nobody declares; empty: none."""
        if not self.consumers:
            return ""
        drawing = _encode([entry.device.consumes_counters for entry in self.consumers])
        found = _unknown_counter(_encode(self.counter_sets), drawing)
        return "" if found is None else f"device {self.consumers[found[0]].device.name} {found[1]}"


def missing_feature_rule(piece: ResourceSlice, gates: FeatureGates) -> str | None:
    """Name the rule by which a slice is ignored altogether, if any: its feature is off."""
    if not gates.partitionable_devices and (piece.spec.per_device_node_selection or piece.spec.shared_counters):
        return "POOL-2"
    taken = (taken for device in piece.spec.devices or () for taken in device.consumes_counters or ())
    if not gates.compatibility_groups and any(consumption.compatibility_groups for consumption in taken):
        return "GRP-5"
    return None


_ANONYMOUS_NODE = Node(metadata=ObjectMeta())


@dataclass(frozen=True, slots=True, eq=False)
class PoolView:
    """A pool as a node sees it; ``trouble`` says why it offers nothing (POOL-5, POOL-6, POOL-9)."""

    id: PoolId
    generation: PublishedGeneration
    devices: dict[str, PublishedDevice]
    trouble: Finding | None = None

    @property
    def stops_all(self) -> bool:
        """PRE-8: requests for all devices fail at incomplete and invalid pools, not at obsolete ones."""
        return self.trouble is not None and self.trouble.rule != "POOL-5"


class _PoolSlices:
    """The slices of a pool by generation, and where they are."""

    def __init__(self) -> None:
        # Slices that nobody has asked about yet.
        self.unread: list[ResourceSlice] = []
        self.generations: dict[int, PublishedGeneration] = defaultdict(PublishedGeneration)
        self.places: ItemsByNode[int] = ItemsByNode()
        # The view of every node, once known, if the slices are all for all nodes.
        self.alike = True
        self.common: PoolView | None = None
        # The names of nodes that slices are for, empty ones for others; with one name there is one view.
        self.homes: set[str] = set()
        self.own: PoolView | None = None


class Inventory:
    """All slices, looked at through the eyes of one node at a time; a pool is read when it is first asked about.

    ``unreadable`` is the first node selector that cannot be parsed, which is fatal for everybody (NODE-2).
    """

    def __init__(self, slices: Iterable[ResourceSlice], gates: FeatureGates) -> None:
        self.unreadable = ""
        self._gates = gates
        self._slices: list[ResourceSlice] = []
        self._pools: dict[PoolId, _PoolSlices] = defaultdict(_PoolSlices)
        self._places: ItemsByNode[PoolId] = ItemsByNode()
        self._ignored: dict[DeviceId, str] = {}
        self._views: dict[tuple[PoolId, tuple[int, ...]], PoolView] = {}
        for piece in sorted(slices, key=lambda piece: piece.metadata.name):
            name = piece.spec.driver, piece.spec.pool.name
            self._pools[name].unread.append(piece)
            for place in node_selections(piece):
                # A selector that cannot be read is fatal even if it is no node's, unless its slice is ignored.
                selector = place.node_selector
                if selector is None or missing_feature_rule(piece, gates) or self._readable(selector):
                    self._places.add(name, place)

    def _pool(self, name: PoolId) -> _PoolSlices | None:
        """A pool with all of its slices, in the order of their names."""
        pool = self._pools.get(name)
        if pool is not None and pool.unread:
            for piece in pool.unread:
                self._add(piece, pool)
            pool.unread = []
        return pool

    def _add(self, piece: ResourceSlice, pool: _PoolSlices) -> None:
        spec = piece.spec
        generation = pool.generations[spec.pool.generation]
        rule = missing_feature_rule(piece, self._gates)
        if rule is not None:
            generation.ignored += rule == "POOL-2"
            self._ignored |= {entry.id: rule for entry in published_devices([piece])}
            return
        pool.alike = pool.alike and bool(spec.all_nodes) and not spec.node_name
        pool.homes.add("" if spec.per_device_node_selection else spec.node_name or "")
        for place in node_selections(piece):
            if self._readable(place.node_selector):
                pool.places.add(len(self._slices), place)
        generation.slices.append(piece)
        self._slices.append(piece)

    def _readable(self, selector: object) -> bool:
        try:
            node_matches(selector, _ANONYMOUS_NODE)  # type: ignore[arg-type]
        except SelectorError as error:
            self.unreadable = self.unreadable or str(error)
            return False
        return True

    def views(self, node: Node) -> Iterator[PoolView]:
        """Every pool of which the node sees a slice (POOL-14)."""
        for pool in self._places.near(node):
            view = self.view(pool, node)
            if view is not None:
                yield view

    def view(self, name: PoolId, node: Node) -> PoolView | None:
        """One pool as the node sees it; None where it does not exist for the node (POOL-14)."""
        pool = self._pool(name)
        if pool is not None and pool.common is not None:
            return pool.common
        if pool is not None and pool.own is not None:
            return pool.own if node.metadata.name in pool.homes else None
        seen = [place for place in pool.places.near(node) if self._relevant(place, node)] if pool else []
        if pool is None or not seen:
            return None
        newest = max([self._slices[place].spec.pool.generation for place in seen])
        kept = tuple(sorted([place for place in seen if self._slices[place].spec.pool.generation == newest]))
        view = self._views.get((name, kept))
        if view is None:
            view = self._views[name, kept] = self._look(name, pool, newest, [self._slices[place] for place in kept])
        if pool.alike:
            pool.common = view
        if len(pool.homes) == 1 and "" not in pool.homes:
            pool.own = view
        return view

    def _relevant(self, place: int, node: Node) -> bool:
        """POOL-1."""
        spec = self._slices[place].spec
        if not spec.per_device_node_selection:
            return reaches(spec, node)
        return any(reaches(part, node) for part in node_selections(self._slices[place]))

    def _look(self, name: PoolId, pool: _PoolSlices, newest: int, kept: list[ResourceSlice]) -> PoolView:
        """POOL-3 to POOL-9."""
        generation = pool.generations[newest]
        # Where slices disagree the word of those counts that are listed first: those with a node name (POOL-4).
        local = (piece for piece in kept if piece.spec.node_name and self._gates.variant != "stable")
        declared = next(local, kept[0]).spec.pool.resource_slice_count
        if len(kept) != declared:
            if max(pool.generations) > newest:
                return PoolView(name, generation, {}, Finding("POOL-5", f"pool {name[1]} is obsolete for the node"))
            if len(generation.slices) + generation.ignored != declared:
                return PoolView(name, generation, {}, Finding("POOL-6", f"pool {name[1]} is incomplete"))
        offered = {entry.id[2]: entry for entry in published_devices(kept)}
        if problem := self._invalid(kept, len(offered), generation):
            return PoolView(name, generation, {}, Finding("POOL-9", f"pool {name[1]} is invalid: {problem}"))
        return PoolView(name, generation, offered)

    def _invalid(self, kept: Sequence[ResourceSlice], names: int, generation: PublishedGeneration) -> str:
        """POOL-9; the slices give devices so many different names."""
        if sum([len(piece.spec.devices or ()) for piece in kept]) > names:
            twice = _first_duplicate([device.name for piece in kept for device in piece.spec.devices or ()])
            return f"device {twice} is published twice"
        if not self._gates.partitionable_devices:
            return ""
        if twice := _first_duplicate([found.name for found in generation.counter_sets]):
            return f"counter set {twice} is published twice"
        return generation.unknown_counter

    def find(self, device: DeviceId, node: Node) -> tuple[PublishedDevice, PoolView] | Finding:
        """Find the device as the node sees it, with its pool, or why the node cannot have it."""
        return self.among(device, self.view(device[:2], node))

    def among(self, device: DeviceId, view: PoolView | None) -> tuple[PublishedDevice, PoolView] | Finding:
        """Find the device in its pool as a node sees it, or why the node cannot have it."""
        if view is not None and view.trouble is not None:
            return view.trouble
        entry = view.devices.get(device[2]) if view else None
        return (entry, view) if entry is not None and view is not None else self._unseen(device, view)

    def _unseen(self, device: DeviceId, view: PoolView | None) -> Finding:
        """Why a device is not among those the node sees."""
        pool = self._pool(device[:2]) or _PoolSlices()
        if device in self._ignored:
            return Finding(self._ignored[device], "the feature is off that the device's slice needs")
        homes = [
            generation
            for generation in pool.generations.values()
            if any(entry.id == device for entry in published_devices(generation.slices))
        ]
        if not homes:
            return Finding("POOL-8", "the device is not published")
        if view is not None and view.generation not in homes:
            return Finding("POOL-3", "the device is not in the generation that the node sees")
        return Finding("POOL-1", "the device is published for other nodes")


def _first_duplicate(given: Sequence[str]) -> str:
    if len(set(given)) == len(given):
        return ""
    return next(name for name, times in Tally(given).items() if times > 1)


Located: TypeAlias = Device | ResourceSliceSpec
Item = TypeVar("Item")


def reaches(place: Located, node: Node) -> bool:
    """NODE-1 on the fields of a device or a slice."""
    if place.node_name:
        return place.node_name == node.metadata.name
    if place.all_nodes:
        return True
    return place.node_selector is not None and node_matches(place.node_selector, node)


def node_selections(piece: ResourceSlice) -> tuple[Located, ...]:
    """Return what says where a slice is: its devices under perDeviceNodeSelection, else the slice (POOL-1)."""
    return piece.spec.devices or () if piece.spec.per_device_node_selection else (piece.spec,)


class ItemsByNode(Generic[Item]):
    """Items by the nodes they may be for, so that a node need not ask all of them."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Item]] = defaultdict(list)
        self._by_label: dict[tuple[str, str], list[Item]] = defaultdict(list)
        self._labels: set[str] = set()
        self._elsewhere: list[Item] = []

    def add(self, item: Item, place: Located) -> None:
        """Add an item that is where ``place`` says; the same item may be in several places."""
        if place.node_name:
            self._by_name[place.node_name].append(item)
            return
        label, values = (None, ()) if place.all_nodes else _required_label(place.node_selector)
        if label is None:
            self._elsewhere.append(item)
            return
        self._labels.add(label)
        for value in values:
            self._by_label[label, value].append(item)

    def near(self, node: Node) -> dict[Item, None]:
        """All items that may be for the node, and perhaps others."""
        labels = node.metadata.labels or {}
        labelled = (self._by_label.get((label, labels[label]), ()) for label in self._labels & labels.keys())
        return dict.fromkeys(chain(self._by_name.get(node.metadata.name, ()), self._elsewhere, *labelled))


def _required_label(selector: NodeSelector | None) -> tuple[str | None, tuple[str, ...]]:
    """Find a label, and values of which the selector asks for one; no label where it is not so simple."""
    terms = (selector.node_selector_terms if selector else None) or ()
    if len(terms) == 1:
        for requirement in terms[0].match_expressions or ():
            if requirement.operator == "In":
                return requirement.key, requirement.values or ()
    return None, ()

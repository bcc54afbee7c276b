"""What a node can see of the published pools (section 5, read anew)."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...models.core import Node
from ...models.gates import FeatureGates
from ...models.identity import DeviceId, PoolId
from ...models.meta import ObjectMeta
from ...models.selection import SelectorError, node_matches
from ...models.slices import ResourceSlice
from .findings import Finding
from .places import Places, located, reaches
from .published import Generation, Published, feature_missing, published

_NOWHERE = Node(metadata=ObjectMeta())


@dataclass(frozen=True, slots=True, eq=False)
class PoolView:
    """A pool as a node sees it; ``trouble`` says why it offers nothing (POOL-5, POOL-6, POOL-9)."""

    id: PoolId
    generation: Generation
    devices: dict[str, Published]
    trouble: Finding | None = None

    @property
    def stops_all(self) -> bool:
        """PRE-8: requests for all devices fail at incomplete and invalid pools, not at obsolete ones."""
        return self.trouble is not None and self.trouble.rule != "POOL-5"


class _Pool:
    """The slices of a pool by generation, and where they are."""

    def __init__(self) -> None:
        self.generations: dict[int, Generation] = defaultdict(Generation)
        self.places: Places[int] = Places()
        # The view of every node, once known, if the slices are all for all nodes.
        self.alike = True
        self.common: PoolView | None = None


class Inventory:
    """All slices, looked at through the eyes of one node at a time.

    ``unreadable`` is the first node selector that cannot be parsed, which is fatal for everybody (NODE-2).
    """

    def __init__(self, slices: Iterable[ResourceSlice], gates: FeatureGates) -> None:
        self.unreadable = ""
        self._gates = gates
        self._slices: list[ResourceSlice] = []
        self._pools: dict[PoolId, _Pool] = defaultdict(_Pool)
        self._places: Places[PoolId] = Places()
        self._ignored: dict[DeviceId, str] = {}
        self._views: dict[tuple[PoolId, tuple[int, ...]], PoolView] = {}
        for piece in sorted(slices, key=lambda piece: piece.metadata.name):
            self._add(piece)

    def _add(self, piece: ResourceSlice) -> None:
        name, spec = (piece.spec.driver, piece.spec.pool.name), piece.spec
        pool = self._pools[name]
        generation = pool.generations[spec.pool.generation]
        rule = feature_missing(piece, self._gates)
        if rule is not None:
            generation.ignored += rule == "POOL-2"
            self._ignored |= {entry.id: rule for entry in published([piece])}
            return
        pool.alike = pool.alike and bool(spec.all_nodes) and not spec.node_name
        for place in located(piece):
            if self._readable(place.node_selector):
                pool.places.add(len(self._slices), place)
                self._places.add(name, place)
        generation.slices.append(piece)
        self._slices.append(piece)

    def _readable(self, selector: object) -> bool:
        try:
            node_matches(selector, _NOWHERE)  # type: ignore[arg-type]
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
        pool = self._pools.get(name)
        if pool is not None and pool.common is not None:
            return pool.common
        seen = [place for place in pool.places.near(node) if self._relevant(place, node)] if pool else []
        if pool is None or not seen:
            return None
        newest = max(self._slices[place].spec.pool.generation for place in seen)
        kept = tuple(sorted(place for place in seen if self._slices[place].spec.pool.generation == newest))
        view = self._views.get((name, kept))
        if view is None:
            view = self._views[name, kept] = self._look(name, pool, newest, [self._slices[place] for place in kept])
        if pool.alike:
            pool.common = view
        return view

    def _relevant(self, place: int, node: Node) -> bool:
        """POOL-1."""
        return any(reaches(part, node) for part in located(self._slices[place]))

    def _look(self, name: PoolId, pool: _Pool, newest: int, kept: list[ResourceSlice]) -> PoolView:
        """POOL-3 to POOL-9."""
        generation = pool.generations[newest]
        declared = self._declaring(kept).spec.pool.resource_slice_count
        if len(kept) != declared:
            if max(pool.generations) > newest:
                return PoolView(name, generation, {}, Finding("POOL-5", f"pool {name[1]} is obsolete for the node"))
            if len(generation.slices) + generation.ignored != declared:
                return PoolView(name, generation, {}, Finding("POOL-6", f"pool {name[1]} is incomplete"))
        offered = list(published(kept))
        if problem := self._invalid(offered, generation):
            return PoolView(name, generation, {}, Finding("POOL-9", f"pool {name[1]} is invalid: {problem}"))
        return PoolView(name, generation, {entry.device.name: entry for entry in offered})

    def _declaring(self, kept: list[ResourceSlice]) -> ResourceSlice:
        """The slice whose word counts where they disagree: those with a node name are listed first (POOL-4)."""
        local = (piece for piece in kept if piece.spec.node_name and self._gates.variant != "stable")
        return next(local, kept[0])

    def _invalid(self, offered: list[Published], generation: Generation) -> str:
        """POOL-9."""
        if twice := _duplicate(entry.device.name for entry in offered):
            return f"device {twice} is published twice"
        if not self._gates.partitionable_devices:
            return ""
        if twice := _duplicate(found.name for found in generation.counter_sets):
            return f"counter set {twice} is published twice"
        return generation.unknown_counter

    def find(self, device: DeviceId, node: Node) -> tuple[Published, PoolView] | Finding:
        """Find the device as the node sees it, with its pool, or why the node cannot have it."""
        return self.among(device, self.view(device[:2], node))

    def among(self, device: DeviceId, view: PoolView | None) -> tuple[Published, PoolView] | Finding:
        """Find the device in its pool as a node sees it, or why the node cannot have it."""
        if view is not None and view.trouble is not None:
            return view.trouble
        entry = view.devices.get(device[2]) if view else None
        return (entry, view) if entry is not None and view is not None else self._unseen(device, view)

    def _unseen(self, device: DeviceId, view: PoolView | None) -> Finding:
        """Why a device is not among those the node sees."""
        if device in self._ignored:
            return Finding(self._ignored[device], "the feature is off that the device's slice needs")
        pool = self._pools.get(device[:2]) or _Pool()
        homes = [
            generation
            for generation in pool.generations.values()
            if any(entry.id == device for entry in published(generation.slices))
        ]
        if not homes:
            return Finding("POOL-8", "the device is not published")
        if view is not None and view.generation not in homes:
            return Finding("POOL-3", "the device is not in the generation that the node sees")
        return Finding("POOL-1", "the device is published for other nodes")


def _duplicate(names: Iterable[str]) -> str:
    given = list(names)
    if len(set(given)) == len(given):
        return ""
    return next(name for name, times in Tally(given).items() if times > 1)

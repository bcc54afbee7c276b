"""The shapes of topologies, judged with networkx on the devices that were chosen (TOPO-1 to TOPO-5, read anew).

A ``TopologyInstanceView`` says where published devices stand in a DeviceTopology, and makes the graph of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product
from math import prod
from typing import TYPE_CHECKING

from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import DeviceTopology, DeviceTopologySpec, TopologyLinks, TopologyRequest
from ...models.kubernetes.meta import DeviceId
from .devices import VerificationContext
from .published import Finding, PublishedDevice, reaches
from .state import TypedValue, published_value

if TYPE_CHECKING:
    import networkx

DeviceIds = Sequence[DeviceId]


class TopologyRules:
    """Judges entries about topologies; a node's devices are put in place once."""

    def __init__(self, context: VerificationContext) -> None:
        self._context = context
        self._sites: dict[tuple[str, tuple[str, ...], tuple[str, ...]], TopologyInstanceView] = {}

    def findings(self, ask: TopologyRequest, entries: Sequence[PublishedDevice], node: Node) -> Iterator[Finding]:
        """Yield what is wrong with the devices that an entry covers; one that is taken twice counts once."""
        topology = self._context.topologies.get(ask.name)
        if topology is None:
            yield Finding("TOPO-1", f"there is no DeviceTopology {ask.name}")
        else:
            yield from self._judged(ask, entries, self._site(topology, entries[0], [node]))

    def findings_across_nodes(
        self, ask: TopologyRequest, entries: Sequence[PublishedDevice], nodes: Sequence[Node]
    ) -> Iterator[Finding]:
        """Judge devices on several nodes: where each node has a topology of its own, all devices must be in one."""
        topology = self._context.topologies.get(ask.name)
        if topology is None:
            yield Finding("TOPO-1", f"there is no DeviceTopology {ask.name}")
        elif topology.spec.scope == "Node":
            sites = (self._site(topology, entries[0], [node]) for node in nodes)
            yield from min((list(self._judged(ask, entries, site)) for site in sites), key=len)
        else:
            everywhere = {node.metadata.name: node for node in (*self._context.nodes, *nodes)}
            yield from self._judged(ask, entries, self._site(topology, entries[0], list(everywhere.values())))

    def instance(self, ask: TopologyRequest, entry: PublishedDevice, node: Node) -> TopologyInstanceView | None:
        """The instance, as the node sees it, that a set with this device is in; None: there is no such topology."""
        topology = self._context.topologies.get(ask.name)
        return None if topology is None else self._site(topology, entry, [node])

    def _judged(
        self, ask: TopologyRequest, entries: Sequence[PublishedDevice], site: TopologyInstanceView
    ) -> Iterator[Finding]:
        chosen = list(dict.fromkeys(entry.id for entry in entries))
        outside = [name for name in chosen if name not in site.members]
        placeless = [name for name in chosen if name in site.members and name not in site.spots]
        for name in outside:
            yield Finding("TOPO-1", f"device {'/'.join(name)} is not of topology {ask.name} where the others are")
        for name in placeless:
            yield Finding("TOPO-3", f"device {'/'.join(name)} has no coordinates in topology {ask.name}")
        if not outside and not placeless and not _CHECK_OF_SHAPE[ask.shape](ask, site, chosen):
            yield Finding("TOPO-2", f"the devices are no {ask.shape} in topology {ask.name}")

    def _site(self, topology: DeviceTopology, device: PublishedDevice, nodes: Sequence[Node]) -> TopologyInstanceView:
        """Find the instance that a device is in, as these nodes see it together."""
        pool = device.id[:2] if topology.spec.scope == "Pool" else ()
        key = topology.metadata.name, tuple(node.metadata.name for node in nodes), pool
        if key not in self._sites:
            seen = (entry for node in nodes for entry in self._seen(topology, node))
            here = [entry for entry in seen if entry.id[: len(pool)] == pool]
            # Its axes are those of the whole cluster, of which a node may see a part only.
            wide = topology.spec.scope == "Cluster" and not topology.spec.size
            around = [entry for one in self._context.nodes for entry in self._seen(topology, one)] if wide else ()
            self._sites[key] = TopologyInstanceView.of(topology.spec, here, around)
        return self._sites[key]

    def _seen(self, topology: DeviceTopology, node: Node) -> Iterator[PublishedDevice]:
        """The devices of a topology that a node reaches."""
        for view in self._context.inventory.views(node):
            for entry in view.devices.values():
                if reaches(entry.place, node) and self._belongs(topology, entry):
                    yield entry

    def _belongs(self, topology: DeviceTopology, entry: PublishedDevice) -> bool:
        """A device of the driver, or one that the class selects."""
        spec = topology.spec
        if spec.device_class_name is None:
            return entry.driver == spec.driver
        known = self._context.classes.get(spec.device_class_name)
        selectors = (known.spec.selectors or ()) if known else None
        texts = [one.cel.expression if one.cel else "" for one in selectors or ()]
        return selectors is not None and all(self._context.expressions.refuses(text, entry) is None for text in texts)


def _is_connected(_ask: TopologyRequest, site: TopologyInstanceView, chosen: DeviceIds) -> bool:
    """All hang together; in a Tree, under one lowest tree node. On a Ring or Line that is a segment."""
    import networkx

    if site.spec.shape == "Tree":
        return len({site.spots[name] for name in chosen}) == 1
    return networkx.is_connected(site.graph(chosen))


def _is_box(ask: TopologyRequest, site: TopologyInstanceView, chosen: DeviceIds) -> bool:
    """From one of the devices, all cells of the box in some orientation are those of the devices."""
    size = tuple(ask.size or ())
    cells = {site.cell(name) for name in chosen}
    turned = [size] if ask.orientation == "Fixed" else set(permutations(size))
    if prod(size) != len(chosen):
        return False
    return any(
        cells == {site.moved(corner, step) for step in product(*map(range, edges))}
        for edges in turned
        for corner in cells
    )


def _is_compact(ask: TopologyRequest, site: TopologyInstanceView, chosen: DeviceIds) -> bool:
    """No two are farther apart than asked; a level of a Tree that is climbed is two steps of its graph."""
    import networkx

    if ask.max_distance is None:
        return True
    graph = site.graph(site.spots)
    cutoff = ask.max_distance * (2 if site.spec.shape == "Tree" else 1)
    reached = (networkx.single_source_shortest_path_length(graph, name, cutoff) for name in chosen)
    return all(set(chosen) <= found.keys() for found in reached)


def _is_subtree(ask: TopologyRequest, site: TopologyInstanceView, chosen: DeviceIds) -> bool:
    levels = site.spec.coordinates or ()
    wanted = [depth for depth, level in enumerate(levels, 1) if ask.level in (level, level.partition("/")[2])]
    return len(wanted) == 1 and len({site.spots[name][: wanted[0]] for name in chosen}) == 1


WRAPPING_SHAPES = ("Ring", "Torus")
Coordinates = tuple[TypedValue, ...]
"""The coordinates of a device; the id alone for links."""


@dataclass(frozen=True)
class TopologyInstanceView:
    """An instance of a topology, or what is seen of it: ``spots`` are the coordinates of devices that have any.

    ``around`` are those of all devices of the instance, if more of them are known of.
    """

    spec: DeviceTopologySpec
    members: Mapping[DeviceId, PublishedDevice]
    spots: Mapping[DeviceId, Coordinates]
    around: tuple[Coordinates, ...]

    @classmethod
    def of(
        cls, spec: DeviceTopologySpec, members: Iterable[PublishedDevice], around: Iterable[PublishedDevice] = ()
    ) -> TopologyInstanceView:
        """Read the coordinates of these devices."""
        known = {entry.id: entry for entry in members}
        spots = {name: spot for name, entry in known.items() if (spot := _coordinates_of(entry, spec)) is not None}
        others = (spot for entry in around if (spot := _coordinates_of(entry, spec)) is not None)
        return cls(spec, known, spots, (*spots.values(), *others))

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Which axes of a lattice wrap around."""
        return self.spec.periodic or (self.spec.shape in WRAPPING_SHAPES,) * len(self.spec.coordinates or ())

    @cached_property
    def axes(self) -> list[tuple[int, int]]:
        """The lowest place on each axis of a lattice and the number of places: as given, else as present."""
        if self.spec.size:
            return [(0, length) for length in self.spec.size]
        columns = zip(*map(_lattice_cell, self.around), strict=True)
        return [(min(column), max(column) - min(column) + 1) for column in map(set, columns)]

    def cell(self, name: DeviceId) -> tuple[int, ...]:
        """The coordinates of a device in a lattice, as published."""
        return _lattice_cell(self.spots[name])

    def moved(self, cell: Iterable[int], by: Iterable[int]) -> tuple[int, ...]:
        """The cell reached from another one, around the axes that wrap."""
        return tuple(
            (place + step - low) % length + low if wraps else place + step
            for place, step, (low, length), wraps in zip(cell, by, self.axes, self.wraps, strict=True)
        )

    def graph(self, names: Iterable[DeviceId]) -> networkx.Graph[object]:
        """The graph of these devices alone; in a Tree with its tree nodes, each known by its path."""
        import networkx

        graph: networkx.Graph[object] = networkx.Graph()
        chosen = list(names)
        graph.add_nodes_from(chosen)
        if self.spec.shape == "Tree":
            graph.add_edges_from(self._climbing(chosen))
        else:
            graph.add_edges_from(self._linked(chosen) if self.spec.shape == "Links" else self._beside(chosen))
        return graph

    def neighbours(self, names: Iterable[DeviceId]) -> dict[DeviceId, list[DeviceId]]:
        """Those of the devices that are beside each of them, but for trees, where none is beside another."""
        chosen = list(names)
        found: dict[DeviceId, dict[DeviceId, None]] = {name: {} for name in chosen}
        for one, other in self._linked(chosen) if self.spec.shape == "Links" else self._beside(chosen):
            found[one][other] = found[other][one] = None
        return {name: list(around) for name, around in found.items()}

    def _beside(self, names: list[DeviceId]) -> Iterable[tuple[DeviceId, DeviceId]]:
        there = {self.cell(name): name for name in names}
        axes = range(len(self.spec.coordinates or ()))
        for cell, name in there.items():
            for axis in axes:
                other = there.get(self.moved(cell, [int(axis == one) for one in axes]), name)
                if other != name:
                    yield name, other

    def _linked(self, names: list[DeviceId]) -> Iterable[tuple[DeviceId, DeviceId]]:
        holders = {self._id(name): name for name in names}
        peers = (self.spec.links or TopologyLinks()).peers
        for name in names:
            listed = published_value(self.members[name], peers)
            kind, elements, _ = listed or ("", (), False)
            for element in elements:
                other = holders.get((kind, element), name)
                if other != name:
                    yield name, other

    def _id(self, name: DeviceId) -> tuple[str, object]:
        ((kind, (element,), _),) = self.spots[name]
        return kind, element

    def _climbing(self, names: list[DeviceId]) -> Iterable[tuple[object, object]]:
        for name in names:
            path = self.spots[name]
            yield name, path
            for depth in range(len(path)):
                yield path[: depth + 1], path[:depth]


_CHECK_OF_SHAPE: dict[str, Callable[[TopologyRequest, TopologyInstanceView, DeviceIds], bool]] = {
    "Segment": _is_connected,
    "Box": _is_box,
    "Connected": _is_connected,
    "Compact": _is_compact,
    "Subtree": _is_subtree,
}


def _lattice_cell(spot: Coordinates) -> tuple[int, ...]:
    return tuple(int(elements[0]) for _, elements, _ in spot)


def _coordinates_of(entry: PublishedDevice, spec: DeviceTopologySpec) -> Coordinates | None:
    """None if a coordinate is missing, a list or, in a lattice, no integer."""
    links = spec.links or TopologyLinks()
    names = (links.id,) if spec.shape == "Links" else spec.coordinates or ()
    kinds = ("int", "bool", "string", "version") if spec.shape in ("Links", "Tree") else ("int",)
    values = tuple(value for name in names if (value := published_value(entry, name)) is not None)
    fits = all(kind in kinds and not is_list for kind, _, is_list in values)
    return values if fits and len(values) == len(names) else None

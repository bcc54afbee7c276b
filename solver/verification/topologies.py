"""Shapes in a topology, judged with networkx on the devices that were chosen (TOPO-1 to TOPO-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import prod

from ...models.core import Node
from ...models.entries import TopologyAsk
from ...models.identity import DeviceId
from ...models.topologies import DeviceTopology
from .findings import Finding
from .places import reaches
from .published import Published
from .scene import Scene
from .topology_sites import Site

Names = Sequence[DeviceId]


class TopologyRules:
    """Judges entries about topologies; a node's devices are put in place once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._sites: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Site] = {}

    def broken(self, ask: TopologyAsk, entries: Sequence[Published], node: Node) -> Iterator[Finding]:
        """Say what is wrong with the devices that an entry applies to; one that is taken twice counts once."""
        topology = self._scene.topologies.get(ask.name)
        if topology is None:
            yield Finding("TOPO-1", f"there is no DeviceTopology {ask.name}")
        else:
            yield from self._judged(ask, entries, self._site(topology, entries[0], [node]))

    def spanned(self, ask: TopologyAsk, entries: Sequence[Published], nodes: Sequence[Node]) -> Iterator[Finding]:
        """Say the same of devices on several nodes: where each node has a topology, all devices must be in one."""
        topology = self._scene.topologies.get(ask.name)
        if topology is None:
            yield Finding("TOPO-1", f"there is no DeviceTopology {ask.name}")
        elif topology.spec.scope == "Node":
            sites = (self._site(topology, entries[0], [node]) for node in nodes)
            yield from min((list(self._judged(ask, entries, site)) for site in sites), key=len)
        else:
            everywhere = {node.metadata.name: node for node in (*self._scene.nodes, *nodes)}
            yield from self._judged(ask, entries, self._site(topology, entries[0], list(everywhere.values())))

    def _judged(self, ask: TopologyAsk, entries: Sequence[Published], site: Site) -> Iterator[Finding]:
        chosen = list(dict.fromkeys(entry.id for entry in entries))
        outside = [name for name in chosen if name not in site.members]
        placeless = [name for name in chosen if name in site.members and name not in site.spots]
        for name in outside:
            yield Finding("TOPO-1", f"device {'/'.join(name)} is not of topology {ask.name} where the others are")
        for name in placeless:
            yield Finding("TOPO-3", f"device {'/'.join(name)} has no coordinates in topology {ask.name}")
        if not outside and not placeless and not _SHAPES[ask.shape](ask, site, chosen):
            yield Finding("TOPO-2", f"the devices are no {ask.shape} in topology {ask.name}")

    def _site(self, topology: DeviceTopology, device: Published, nodes: Sequence[Node]) -> Site:
        """Find the instance that a device is in, as these nodes see it together."""
        pool = device.id[:2] if topology.spec.scope == "Pool" else ()
        key = topology.metadata.name, tuple(node.metadata.name for node in nodes), pool
        if key not in self._sites:
            seen = (entry for node in nodes for entry in self._seen(topology, node))
            here = [entry for entry in seen if entry.id[: len(pool)] == pool]
            # Its axes are those of the whole cluster, of which a node may see a part only.
            wide = topology.spec.scope == "Cluster" and not topology.spec.size
            around = [entry for one in self._scene.nodes for entry in self._seen(topology, one)] if wide else ()
            self._sites[key] = Site.of(topology.spec, here, around)
        return self._sites[key]

    def _seen(self, topology: DeviceTopology, node: Node) -> Iterator[Published]:
        """The devices of a topology that a node reaches."""
        for view in self._scene.inventory.views(node):
            for entry in view.devices.values():
                if reaches(entry.place, node) and self._belongs(topology, entry):
                    yield entry

    def _belongs(self, topology: DeviceTopology, entry: Published) -> bool:
        """A device of the driver, or one that the class selects."""
        spec = topology.spec
        if spec.device_class_name is None:
            return entry.driver == spec.driver
        known = self._scene.classes.get(spec.device_class_name)
        selectors = (known.spec.selectors or ()) if known else None
        texts = [one.cel.expression if one.cel else "" for one in selectors or ()]
        return selectors is not None and all(self._scene.expressions.refuses(text, entry) is None for text in texts)


def _is_connected(_ask: TopologyAsk, site: Site, chosen: Names) -> bool:
    """All hang together; in a Tree, under one lowest tree node. On a Ring or Line that is a segment."""
    import networkx

    if site.spec.shape == "Tree":
        return len({site.spots[name] for name in chosen}) == 1
    return networkx.is_connected(site.graph(chosen))


def _is_box(ask: TopologyAsk, site: Site, chosen: Names) -> bool:
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


def _is_compact(ask: TopologyAsk, site: Site, chosen: Names) -> bool:
    """No two are farther apart than asked; a level of a Tree that is climbed is two steps of its graph."""
    import networkx

    if ask.max_distance is None:
        return True
    graph = site.graph(site.spots)
    cutoff = ask.max_distance * (2 if site.spec.shape == "Tree" else 1)
    reached = (networkx.single_source_shortest_path_length(graph, name, cutoff) for name in chosen)
    return all(set(chosen) <= found.keys() for found in reached)


def _is_subtree(ask: TopologyAsk, site: Site, chosen: Names) -> bool:
    levels = site.spec.coordinates or ()
    wanted = [depth for depth, level in enumerate(levels, 1) if ask.level in (level, level.partition("/")[2])]
    return len(wanted) == 1 and len({site.spots[name][: wanted[0]] for name in chosen}) == 1


_SHAPES: dict[str, Callable[[TopologyAsk, Site, Names], bool]] = {
    "Segment": _is_connected,
    "Box": _is_box,
    "Connected": _is_connected,
    "Compact": _is_compact,
    "Subtree": _is_subtree,
}

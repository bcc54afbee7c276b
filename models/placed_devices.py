"""Devices in their places: what is known of one instance of a DeviceTopology, and the graph it makes (TOPO-2, TOPO-3).

One instance holds the devices among which coordinates are unique: those of a node, of a pool, or all. What is in use
plays no part here: it is in place as well, and shapes avoid it (TOPO-4).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from .attribute_values import Scalar
from .identity import DeviceId
from .topologies import TopologyShape

if TYPE_CHECKING:
    import networkx

Cell = tuple[int, ...]
"""A place on a Ring, Line, Grid or Torus: one number an axis, from 0."""


Key = TypeVar("Key", bound=Hashable)
"""What a device is known by: its id, or a number."""


class TopologyError(ValueError):
    """Devices contradict their topology; one line that names them. ``device`` is the last of them."""

    def __init__(self, text: str, device: Hashable = None) -> None:
        super().__init__(text)
        self.device = device


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a lattice: the attribute, the lowest coordinate on it, the number of places, and whether it wraps."""

    name: str
    first: int
    size: int
    periodic: bool

    def neighbours(self, place: int) -> Iterable[int]:
        """The places next to this one; on an axis of one or two places that wraps none is named twice."""
        beside = {place - 1, place + 1}
        if self.periodic:
            return sorted({other % self.size for other in beside} - {place})
        return sorted(other for other in beside if 0 <= other < self.size)


@dataclass(frozen=True, eq=False)
class Places(Generic[Key]):
    """Where devices stand, each of one of three sorts of shape; devices without coordinates are ``unplaced`` only.

    - Ring, Line, Grid, Torus: ``axes``, and by device its cell in ``cells``.
    - Tree: the names of the ``levels`` from the root, and by device its tree nodes in ``paths``, one a level. Several
      devices may share the lowest tree node.
    - Links: by device its own id in ``ids``, and those it is linked with in ``neighbours``.
    """

    topology: str
    shape: TopologyShape
    devices: tuple[Key, ...] = ()
    """All that have a place, in the order given."""
    unplaced: tuple[Key, ...] = ()
    """Devices of the topology without coordinates: never part of a shape (TOPO-3)."""
    axes: tuple[Axis, ...] = ()
    cells: Mapping[Key, Cell] = field(default_factory=dict)
    levels: tuple[str, ...] = ()
    paths: Mapping[Key, tuple[Scalar, ...]] = field(default_factory=dict)
    ids: Mapping[Key, Scalar] = field(default_factory=dict)
    peers: Mapping[Key, tuple[Scalar, ...]] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Places along each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def periodic(self) -> tuple[bool, ...]:
        """Which axes wrap."""
        return tuple(axis.periodic for axis in self.axes)

    def __contains__(self, device: Key) -> bool:
        return device in self._places

    @cached_property
    def _places(self) -> frozenset[Key]:
        return frozenset(self.devices)

    @cached_property
    def at(self) -> Mapping[Cell, Key]:
        """The device in each cell of a lattice; what is missing is a hole."""
        return {cell: device for device, cell in self.cells.items()}

    def wrapped(self, cell: Cell) -> Cell | None:
        """The cell that these numbers lead to, around axes that wrap; None beyond the end of another."""
        found = [place % axis.size if axis.periodic else place for place, axis in zip(cell, self.axes, strict=True)]
        inside = all(0 <= place < axis.size for place, axis in zip(found, self.axes, strict=True))
        return tuple(found) if inside else None

    def level(self, name: str) -> int:
        """The number of a Tree's level, from the root, by its full name or its identifier alone.

        Raises ``TopologyError`` if there is no such level, or several.
        """
        found = level_named(self.levels, name)
        if found is None:
            known = ", ".join(self.levels) or "none"
            raise TopologyError(f"DeviceTopology {self.topology}: no one level {name!r}, there are: {known}")
        return found

    def groups(self, level: int) -> Mapping[tuple[Scalar, ...], tuple[Key, ...]]:
        """The devices under each tree node of a level: nodes are known by their path from the root."""
        found: dict[tuple[Scalar, ...], list[Key]] = {}
        for device, path in self.paths.items():
            found.setdefault(path[: level + 1], []).append(device)
        return {path: tuple(members) for path, members in found.items()}

    @cached_property
    def neighbours(self) -> Mapping[Key, tuple[Key, ...]]:
        """By device those next to it: one step along an axis, linked, or under the same lowest tree node."""
        return _NEIGHBOURS[self.shape](self)

    @cached_property
    def links(self) -> tuple[tuple[Key, Key], ...]:
        """Each pair of neighbours once, in the order of the devices."""
        order = {device: number for number, device in enumerate(self.devices)}
        pairs = ((one, other) for one in self.devices for other in self.neighbours[one])
        return tuple((one, other) for one, other in pairs if order[one] < order[other])

    def graph(self) -> networkx.Graph[Key]:
        """The graph: a node for each placed device, an edge for each pair of neighbours. Made at each call."""
        import networkx

        graph: networkx.Graph[Key] = networkx.Graph(name=self.topology)
        graph.add_nodes_from(self.devices)
        graph.add_edges_from(self.links)
        return graph

    def distances(self, start: Key) -> Mapping[Key, int]:
        """Distance from a device to all that it is connected with, itself included.

        Steps from neighbour to neighbour, over devices that are in use as well. In a Tree the number of levels to
        climb: 1 under one lowest tree node, one more for each level above it, and the root is above them all.
        """
        if self.shape == "Tree":
            return {device: self._climb(start, device) for device in self.devices}
        found, edge, steps = {start: 0}, [start], 0
        while edge:
            steps += 1
            beside = dict.fromkeys(other for device in edge for other in self.neighbours[device] if other not in found)
            found.update(dict.fromkeys(beside, steps))
            edge = list(beside)
        return found

    def _climb(self, one: Key, other: Key) -> int:
        if one == other:
            return 0
        pairs = zip(self.paths[one], self.paths[other], strict=True)
        return 1 + next((len(self.levels) - depth for depth, (a, b) in enumerate(pairs) if a != b), 0)


def level_named(levels: Sequence[str], name: str) -> int | None:
    """The number of the one level of this name, its full name or its identifier alone; None if there is no such one."""
    found = [number for number, level in enumerate(levels) if name in (level, level.partition("/")[2])]
    return found[0] if len(found) == 1 else None


PlacedDevices: TypeAlias = Places[DeviceId]
"""Devices of a cluster in their places."""


def _in_lattice(places: Places[Key]) -> Mapping[Key, tuple[Key, ...]]:
    return {device: tuple(_beside(places, cell)) for device, cell in places.cells.items()}


def _beside(places: Places[Key], cell: Cell) -> Iterable[Key]:
    for number, axis in enumerate(places.axes):
        for place in axis.neighbours(cell[number]):
            other = places.at.get((*cell[:number], place, *cell[number + 1 :]))
            if other is not None:
                yield other


def _in_tree(places: Places[Key]) -> Mapping[Key, tuple[Key, ...]]:
    siblings = places.groups(len(places.levels) - 1)
    return {
        device: tuple(other for other in siblings[path] if other != device) for device, path in places.paths.items()
    }


def _linked(places: Places[Key]) -> Mapping[Key, tuple[Key, ...]]:
    """A link that one of two devices names is a link of both; ids of nobody lead nowhere."""
    by_id = {id_: device for device, id_ in places.ids.items()}
    found: dict[Key, set[Key]] = {device: set() for device in places.devices}
    for device in places.devices:
        for peer in places.peers.get(device, ()):
            other = by_id.get(peer, device)
            if other != device:
                found[device].add(other)
                found[other].add(device)
    return {
        device: tuple(other for other in places.devices if other in linked) if linked else ()
        for device, linked in found.items()
    }


_NEIGHBOURS: dict[TopologyShape, Callable[[Places[Any]], Mapping[Any, tuple[Any, ...]]]] = {
    "Ring": _in_lattice,
    "Line": _in_lattice,
    "Grid": _in_lattice,
    "Torus": _in_lattice,
    "Tree": _in_tree,
    "Links": _linked,
}

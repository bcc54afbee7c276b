"""Where published devices stand in a DeviceTopology, and the graph that they make (TOPO-1, TOPO-3, read anew)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...models.identity import DeviceId
from ...models.topologies import DeviceTopologySpec, TopologyLinks
from .expressions import Typed, typed
from .published import Published

if TYPE_CHECKING:
    import networkx

WRAPPING = ("Ring", "Torus")

Spot = tuple[Typed, ...]
"""The coordinates of a device; the id alone for links."""


def value_of(entry: Published, name: str) -> Typed | None:
    """Read an attribute by its full name, else by its identifier if the domain is the driver's (CON-2)."""
    attributes = entry.device.attributes or {}
    domain, _, identifier = name.partition("/")
    spellings = (name, identifier) if domain == entry.driver else (name,)
    return next((typed(attributes[spelling]) for spelling in spellings if spelling in attributes), None)


@dataclass(frozen=True)
class Site:
    """An instance of a topology, or what is seen of it: ``spots`` are the coordinates of devices that have any.

    ``around`` are those of all devices of the instance, if more of them are known of.
    """

    spec: DeviceTopologySpec
    members: Mapping[DeviceId, Published]
    spots: Mapping[DeviceId, Spot]
    around: tuple[Spot, ...]

    @classmethod
    def of(cls, spec: DeviceTopologySpec, members: Iterable[Published], around: Iterable[Published] = ()) -> Site:
        """Read the coordinates of these devices."""
        known = {entry.id: entry for entry in members}
        spots = {name: spot for name, entry in known.items() if (spot := _spot(entry, spec)) is not None}
        others = (spot for entry in around if (spot := _spot(entry, spec)) is not None)
        return cls(spec, known, spots, (*spots.values(), *others))

    @property
    def links(self) -> TopologyLinks:
        """The attributes that name neighbours."""
        return self.spec.links or TopologyLinks()

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Which axes of a lattice wrap around."""
        return self.spec.periodic or (self.spec.shape in WRAPPING,) * len(self.spec.coordinates or ())

    @cached_property
    def axes(self) -> list[tuple[int, int]]:
        """The lowest place on each axis of a lattice and the number of places: as given, else as present."""
        if self.spec.size:
            return [(0, length) for length in self.spec.size]
        columns = zip(*map(_cell, self.around), strict=True)
        return [(min(column), max(column) - min(column) + 1) for column in map(set, columns)]

    def cell(self, name: DeviceId) -> tuple[int, ...]:
        """The coordinates of a device in a lattice, as published."""
        return _cell(self.spots[name])

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
        edges = {"Links": self._linked, "Tree": self._climbing}.get(self.spec.shape, self._beside)
        graph.add_edges_from(edges(chosen))
        return graph

    def _beside(self, names: list[DeviceId]) -> Iterable[tuple[object, object]]:
        there = {self.cell(name): name for name in names}
        axes = range(len(self.spec.coordinates or ()))
        for cell, name in there.items():
            for axis in axes:
                other = there.get(self.moved(cell, [int(axis == one) for one in axes]), name)
                if other != name:
                    yield name, other

    def _linked(self, names: list[DeviceId]) -> Iterable[tuple[object, object]]:
        holders = {self._id(name): name for name in names}
        for name in names:
            listed = value_of(self.members[name], self.links.peers)
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


def _cell(spot: Spot) -> tuple[int, ...]:
    return tuple(int(elements[0]) for _, elements, _ in spot)


def _spot(entry: Published, spec: DeviceTopologySpec) -> Spot | None:
    """None if a coordinate is missing, a list or, in a lattice, no integer."""
    links = spec.links or TopologyLinks()
    names = (links.id,) if spec.shape == "Links" else spec.coordinates or ()
    kinds = ("int", "bool", "string", "version") if spec.shape in ("Links", "Tree") else ("int",)
    values = tuple(value for name in names if (value := value_of(entry, name)) is not None)
    fits = all(kind in kinds and not is_list for kind, _, is_list in values)
    return values if fits and len(values) == len(names) else None

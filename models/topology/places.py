"""Devices of one instance of a DeviceTopology at their places, and the graph of neighbours (TOPO-1 to TOPO-3).

An instance holds the devices among which coordinates are unique: those of a node, of a pool, or all. Devices in use
have places as well; shapes avoid them (TOPO-4).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from ..kubernetes import extensions
from ..kubernetes.meta import DeviceId
from ..kubernetes.slices import DescribedDevice, Scalar, UnknownValue, member_values, published_value, scalar_value

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
    shape: extensions.TopologyShape
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
        found = find_level(self.levels, name)
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

    def distances(self, start: Key, most: int | None = None) -> Mapping[Key, int]:
        """Distance from a device to all that it is connected with, itself included; ``most`` ends the walk there.

        Steps from neighbour to neighbour, over devices that are in use as well. In a Tree the number of levels to
        climb: 1 under one lowest tree node, one more for each level above it, and the root is above them all.
        """
        if self.shape == "Tree":
            return {device: self._climb(start, device) for device in self.devices}
        found, edge, steps = {start: 0}, [start], 0
        while edge and (most is None or steps < most):
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


def find_level(levels: Sequence[str], name: str) -> int | None:
    """The number of the one level of this name, its full name or its identifier alone; None if there is no such one."""
    found = [number for number, level in enumerate(levels) if name in (level, level.partition("/")[2])]
    return found[0] if len(found) == 1 else None


PlacedDevices: TypeAlias = Places[DeviceId]
"""Devices of a cluster in their places."""


def _adjacent_cells(places: Places[Key], cell: Cell) -> Iterable[Key]:
    for number, axis in enumerate(places.axes):
        for place in axis.neighbours(cell[number]):
            other = places.at.get((*cell[:number], place, *cell[number + 1 :]))
            if other is not None:
                yield other


def _tree_neighbours(places: Places[Key]) -> Mapping[Key, tuple[Key, ...]]:
    siblings = places.groups(len(places.levels) - 1)
    return {
        device: tuple(other for other in siblings[path] if other != device) for device, path in places.paths.items()
    }


def _link_neighbours(places: Places[Key]) -> Mapping[Key, tuple[Key, ...]]:
    """A link that one of two devices names is a link of both; ids that no device has are ignored."""
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


_NEIGHBOURS: dict[extensions.TopologyShape, Callable[[Places[Any]], Mapping[Any, tuple[Any, ...]]]] = {
    **dict.fromkeys(
        extensions.LATTICES,
        lambda places: {one: tuple(_adjacent_cells(places, cell)) for one, cell in places.cells.items()},
    ),
    "Tree": _tree_neighbours,
    "Links": _link_neighbours,
}
MOST_CELLS = 1_000_000
"""A lattice spans at most so many cells: coordinates that are addresses are not places."""
Place = TypeVar("Place", bound=Hashable)
Key_co = TypeVar("Key_co", bound=Hashable, covariant=True)


class Placeable(DescribedDevice, Protocol[Key_co]):
    """A device that may have a place, and what it is known by."""

    @property
    def id(self) -> Key_co:
        """What the device is known by."""
        raise NotImplementedError


def place_devices(
    topology: extensions.DeviceTopology,
    devices: Iterable[Placeable[Key]],
    where: str = "",
    axes: tuple[Axis, ...] | None = None,
) -> Places[Key]:
    """Put devices in their places; all of them belong to the topology and to one instance of it.

    Parameters
    ----------
    topology
        A valid one, see ``validation.topologies``.
    devices
        See ``topology_scopes`` for those of a node, a pool or the cluster.
    where
        The instance, for messages, e.g. ``node n1``.
    axes
        The axes of the instance, where these devices are a part of it only; None: as given, else as present.

    Raises
    ------
    TopologyError
        One line, if two devices have one coordinate, or one is beyond the given size (TOPO-3).

    """
    members = tuple({entry.id: entry for entry in devices}.values())
    try:
        made = _PLACERS[topology.spec.shape](topology, members, axes)
    except TopologyError as error:
        message = ": ".join(filter(None, [f"DeviceTopology {topology.metadata.name}", where, str(error)]))
        raise TopologyError(message, error.device) from None
    unplaced = tuple(member.id for member in members if member.id not in made)
    return replace(made, unplaced=unplaced)


def display_device(device: Hashable) -> str:
    """A device as messages have it."""
    return "/".join(device) if isinstance(device, tuple) else str(device)


_KnownAxes = tuple[Axis, ...] | None


def _place_on_lattice(
    topology: extensions.DeviceTopology, members: Sequence[Placeable[Key]], known: _KnownAxes
) -> Places[Key]:
    spec = topology.spec
    names = spec.coordinates or ()
    coordinates = {member.id: _coordinates(member, names) for member in members}
    found = {device: numbers for device, numbers in coordinates.items() if numbers is not None}
    axes = _axes(spec, found) if known is None else known
    _check_distinct_places(
        found, lambda numbers: ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))
    )
    cells = {
        device: tuple(number - axis.first for number, axis in zip(numbers, axes, strict=True))
        for device, numbers in found.items()
    }
    return Places(topology.metadata.name, topology.known_shape, tuple(cells), axes=axes, cells=cells)


def _coordinates(member: Placeable[Key], names: Sequence[str]) -> Cell | None:
    """The integers of a device; None if one is missing or of another type."""
    values = (published_value(member, name) for name in names)
    numbers = tuple(None if value is None else value.int_value for value in values)
    return None if None in numbers else tuple(number for number in numbers if number is not None)


def _axes(spec: extensions.DeviceTopologySpec, found: dict[Key, Cell]) -> tuple[Axis, ...]:
    """The axes as given, from 0, else from the lowest to the highest coordinate there is."""
    names = spec.coordinates or ()
    periodic = spec.periodic or (spec.shape in extensions.WRAPPED,) * len(names)
    if spec.size:
        for device, numbers in found.items():
            for name, size, number in zip(names, spec.size, numbers, strict=True):
                if not 0 <= number < size:
                    text = f"device {display_device(device)} has {name} {number}, beyond 0 to {size - 1}"
                    raise TopologyError(text, device)
        spans = tuple((0, size) for size in spec.size)
    else:
        columns = [sorted(numbers) for numbers in zip(*found.values(), strict=True)] or [[0]] * len(names)
        spans = tuple((column[0], column[-1] - column[0] + 1) for column in columns)
    if (cells := prod(size for _, size in spans)) > MOST_CELLS:
        raise TopologyError(f"the coordinates span {cells:,} cells, more than {MOST_CELLS:,}")
    return tuple(Axis(name, *span, wraps) for name, span, wraps in zip(names, spans, periodic, strict=True))


def _check_distinct_places(found: dict[Key, Place], display: Callable[[Place], str]) -> None:
    """TOPO-3: no two devices in one place."""
    taken: dict[Place, Key] = {}
    for device, place in found.items():
        first = taken.setdefault(place, device)
        if first != device:
            raise TopologyError(
                f"devices {display_device(first)} and {display_device(device)} both have {display(place)}", device
            )


def _place_in_tree(
    topology: extensions.DeviceTopology, members: Sequence[Placeable[Key]], _known: _KnownAxes
) -> Places[Key]:
    levels = topology.spec.coordinates or ()
    found = ((member.id, [_published_scalar(member, name) for name in levels]) for member in members)
    paths = {id_: tuple(value for value in path if value is not None) for id_, path in found if None not in path}
    return Places(topology.metadata.name, topology.known_shape, tuple(paths), levels=levels, paths=paths)


def _published_scalar(member: Placeable[Key], name: str) -> Scalar | None:
    value = published_value(member, name)
    return None if value is None or isinstance(value, UnknownValue) else scalar_value(value)


def _place_by_links(
    topology: extensions.DeviceTopology, members: Sequence[Placeable[Key]], _known: _KnownAxes
) -> Places[Key]:
    links = topology.spec.links or extensions.TopologyLinks()
    ids = {member.id: id_ for member in members if (id_ := _published_scalar(member, links.id)) is not None}
    _check_distinct_places(ids, lambda id_: f"{links.id} {id_.value}")
    listed = {member.id: published_value(member, links.peers) for member in members}
    peers = {device: member_values(value) for device, value in listed.items() if device in ids and value is not None}
    return Places(topology.metadata.name, topology.known_shape, tuple(ids), ids=ids, peers=peers)


_PLACERS: dict[str, Callable[[extensions.DeviceTopology, Sequence[Placeable[Any]], _KnownAxes], Places[Any]]] = {
    **dict.fromkeys(extensions.LATTICES, _place_on_lattice),
    "Tree": _place_in_tree,
    "Links": _place_by_links,
}
RequestedShape = Literal["Segment", "Box", "Connected", "Compact", "Subtree"]
REQUESTED_SHAPES: tuple[RequestedShape, ...] = ("Segment", "Box", "Connected", "Compact", "Subtree")
FIXED_ORIENTATION = "Fixed"
ORIENTATIONS = ("Any", FIXED_ORIENTATION)


def shape_mismatch(request: extensions.TopologyRequest, spec: extensions.DeviceTopologySpec) -> str:
    """Say in one line why a valid topology has no such shape; empty: it has."""
    if request.shape not in REQUESTED_SHAPES:
        return f"unknown shape {request.shape!r}, known are: {', '.join(REQUESTED_SHAPES)}"
    return _SHAPE_MISMATCHES[request.shape](request, spec)


def _box_mismatch(request: extensions.TopologyRequest, spec: extensions.DeviceTopologySpec) -> str:
    if spec.shape not in extensions.LATTICES:
        return f"there are no boxes in a topology {spec.shape}"
    size, axes = request.size or (), len(spec.coordinates or ())
    if len(size) != axes or min(size) < 1:
        return f"a box needs a size of {axes} positive numbers, one an axis"
    if request.orientation not in ("", *ORIENTATIONS):
        return f"unknown orientation {request.orientation!r}, known are: {', '.join(ORIENTATIONS)}"
    return ""


def _subtree_mismatch(request: extensions.TopologyRequest, spec: extensions.DeviceTopologySpec) -> str:
    if spec.shape != "Tree":
        return f"there are subtrees in a Tree, not in a topology {spec.shape}"
    levels = spec.coordinates or ()
    if find_level(levels, request.level) is None:
        return f"no one level {request.level!r}, there are: {', '.join(levels) or 'none'}"
    return ""


_SHAPE_MISMATCHES: dict[str, Callable[[extensions.TopologyRequest, extensions.DeviceTopologySpec], str]] = {
    "Segment": lambda _request, spec: (
        ""
        if spec.shape in extensions.STRAIGHT
        else f"there are segments on a Ring or Line, not in a topology {spec.shape}"
    ),
    "Box": _box_mismatch,
    "Connected": lambda _request, _spec: "",
    "Compact": lambda request, _spec: "maxDistance must not be negative" if (request.max_distance or 0) < 0 else "",
    "Subtree": _subtree_mismatch,
}

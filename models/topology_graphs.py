"""From devices and a DeviceTopology to devices in their places (TOPO-1, TOPO-3)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol, TypeVar

from .attribute_values import Described, Scalar, members_of, published, scalar_of
from .placed_devices import Axis, Cell, Key, Places, TopologyError
from .topologies import WRAPPED, DeviceTopology, DeviceTopologySpec, TopologyLinks

MOST_CELLS = 1_000_000
"""A lattice spans at most so many cells: coordinates that are addresses are not places."""

Place = TypeVar("Place", bound=Hashable)
Key_co = TypeVar("Key_co", bound=Hashable, covariant=True)


class Placeable(Described, Protocol[Key_co]):
    """A device that may have a place, and what it is known by."""

    @property
    def id(self) -> Key_co:
        """What the device is known by."""
        raise NotImplementedError


def placed(
    topology: DeviceTopology,
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
        told = ": ".join(filter(None, [f"DeviceTopology {topology.metadata.name}", where, str(error)]))
        raise TopologyError(told, error.device) from None
    unplaced = tuple(member.id for member in members if member.id not in made)
    return replace(made, unplaced=unplaced)


def named(device: Hashable) -> str:
    """A device as messages have it."""
    return "/".join(device) if isinstance(device, tuple) else str(device)


_KnownAxes = tuple[Axis, ...] | None


def _lattice(topology: DeviceTopology, members: Sequence[Placeable[Key]], known: _KnownAxes) -> Places[Key]:
    spec = topology.spec
    names = spec.coordinates or ()
    coordinates = {member.id: _coordinates(member, names) for member in members}
    found = {device: numbers for device, numbers in coordinates.items() if numbers is not None}
    axes = _axes(spec, found) if known is None else known
    _unique(found, lambda numbers: _told(names, numbers))
    cells = {
        device: tuple(number - axis.first for number, axis in zip(numbers, axes, strict=True))
        for device, numbers in found.items()
    }
    return Places(topology.metadata.name, topology.known_shape, tuple(cells), axes=axes, cells=cells)


def _coordinates(member: Placeable[Key], names: Sequence[str]) -> Cell | None:
    """The integers of a device; None if one is missing or of another type."""
    values = (published(member, name) for name in names)
    numbers = tuple(None if value is None else value.int_value for value in values)
    return None if None in numbers else tuple(number for number in numbers if number is not None)


def _axes(spec: DeviceTopologySpec, found: dict[Key, Cell]) -> tuple[Axis, ...]:
    """The axes as given, from 0, else from the lowest to the highest coordinate there is."""
    names = spec.coordinates or ()
    periodic = spec.periodic or (spec.shape in WRAPPED,) * len(names)
    if spec.size:
        _inside(names, spec.size, found)
        spans = tuple((0, size) for size in spec.size)
    else:
        columns = [sorted(numbers) for numbers in zip(*found.values(), strict=True)] or [[0]] * len(names)
        spans = tuple((column[0], column[-1] - column[0] + 1) for column in columns)
    if (cells := prod(size for _, size in spans)) > MOST_CELLS:
        raise TopologyError(f"the coordinates span {cells:,} cells, more than {MOST_CELLS:,}")
    return tuple(Axis(name, *span, wraps) for name, span, wraps in zip(names, spans, periodic, strict=True))


def _inside(names: Sequence[str], sizes: Sequence[int], found: dict[Key, Cell]) -> None:
    for device, numbers in found.items():
        for name, size, number in zip(names, sizes, numbers, strict=True):
            if not 0 <= number < size:
                raise TopologyError(f"device {named(device)} has {name} {number}, beyond 0 to {size - 1}", device)


def _unique(found: dict[Key, Place], told: Callable[[Place], str]) -> None:
    """TOPO-3: no two devices in one place."""
    taken: dict[Place, Key] = {}
    for device, place in found.items():
        first = taken.setdefault(place, device)
        if first != device:
            raise TopologyError(f"devices {named(first)} and {named(device)} both have {told(place)}", device)


def _told(names: Sequence[str], values: Iterable[object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


def _tree(topology: DeviceTopology, members: Sequence[Placeable[Key]], _known: _KnownAxes) -> Places[Key]:
    levels = topology.spec.coordinates or ()
    paths = {member.id: path for member in members if (path := _path(member, levels)) is not None}
    return Places(topology.metadata.name, topology.known_shape, tuple(paths), levels=levels, paths=paths)


def _path(member: Placeable[Key], levels: Sequence[str]) -> tuple[Scalar, ...] | None:
    values = tuple(_scalar(member, name) for name in levels)
    return None if None in values else tuple(value for value in values if value is not None)


def _scalar(member: Placeable[Key], name: str) -> Scalar | None:
    value = published(member, name)
    return None if value is None else scalar_of(value)


def _links(topology: DeviceTopology, members: Sequence[Placeable[Key]], _known: _KnownAxes) -> Places[Key]:
    links = topology.spec.links or TopologyLinks()
    ids = {member.id: id_ for member in members if (id_ := _scalar(member, links.id)) is not None}
    _unique(ids, lambda id_: f"{links.id} {id_.value}")
    listed = {member.id: published(member, links.peers) for member in members}
    peers = {device: members_of(value) for device, value in listed.items() if device in ids and value is not None}
    return Places(topology.metadata.name, topology.known_shape, tuple(ids), ids=ids, peers=peers)


_PLACERS: dict[str, Callable[[DeviceTopology, Sequence[Placeable[Any]], _KnownAxes], Places[Any]]] = {
    "Ring": _lattice,
    "Line": _lattice,
    "Grid": _lattice,
    "Torus": _lattice,
    "Tree": _tree,
    "Links": _links,
}

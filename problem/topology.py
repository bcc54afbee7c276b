"""Shapes in a topology as conditions on complete sets of devices (TOPO-1 to TOPO-4).

A shape is made of distinct devices of one instance of the topology: a shareable device that is taken several times
counts once. What is in use is no candidate, so that shapes avoid it; an admin request alone may have it (DEV-15).
``TopologyPlaces`` says where devices stand in each instance of a DeviceTopology (TOPO-1, TOPO-3). The devices of a
topology are those of a driver, or those that a class selects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import prod

from ..cel.devices import DeviceShapes
from ..cel.errors import CelDeadlineError, CelError
from ..cel.selector import compile_selector
from ..models.cluster.cluster import TopologyMembership, driver_membership
from ..models.kubernetes.claims import DeviceClass, DeviceSelector
from ..models.kubernetes.extensions import STRAIGHT, DeviceTopology, TopologyRequest
from ..models.kubernetes.slices import DescribedDevice, Device
from ..models.topology.places import FIXED_ORIENTATION, Axis, Places, place_devices
from .messages import DeadlineExceededError
from .problem import Member
from .shapes import NodeType

DeviceNumbers = AbstractSet[int]


@dataclass(frozen=True)
class TopologyCondition:
    """A shape that is asked for, and where the devices of a Problem stand: one ``Places`` for each instance."""

    ask: TopologyRequest
    places: tuple[Places[int], ...]
    ordered: bool = False

    @cached_property
    def instance_of(self) -> Mapping[int, int]:
        """By device the number of its instance; those without coordinates have none (TOPO-3)."""
        return {device: number for number, places in enumerate(self.places) for device in places.devices}

    @cached_property
    def enumerable(self) -> bool:
        """Whether the sets of devices that make the shape are few and can be listed: segments and boxes."""
        shapes = {places.shape for places in self.places}
        return self.ask.shape in ("Segment", "Box") or (self.ask.shape == "Connected" and shapes <= STRAIGHT)

    @property
    def minimizes_distance(self) -> bool:
        """Whether devices only ought to be near each other, which the objective ``compact`` minds."""
        return self.ask.shape == "Compact" and self.ask.max_distance is None

    def visible_key(self, device: int) -> Hashable:
        """Return the device itself; in a Tree the tree node that must be the same for all."""
        home = self.instance_of.get(device)
        if home is None:
            return None
        return self.node_of(device) if self.places[home].shape == "Tree" and not self.minimizes_distance else device

    def node_of(self, device: int) -> Hashable:
        """Return the tree node under which all must be; the instance alone for what is no Tree."""
        home = self.instance_of[device]
        places = self.places[home]
        shared = self._shared_levels(places)
        return device if shared is None else (home, places.paths.get(device, ())[:shared])

    def _shared_levels(self, places: Places[int]) -> int | None:
        """Tell how many levels of a Tree, from the root, devices must have in common; None: there may be one only."""
        lowest = len(places.levels)
        if self.ask.shape == "Subtree":
            return places.level(self.ask.level) + 1
        if self.ask.shape == "Connected":
            return lowest
        climbed = lowest + 1 if self.ask.max_distance is None else self.ask.max_distance
        return max(0, lowest + 1 - climbed) if climbed else None

    def demand_key(self, demand: int) -> Hashable:
        """Return nothing: it does not matter which request a device is for."""
        return None

    def evaluate(self, members: Sequence[Member]) -> bool:
        """Tell whether the devices make the shape."""
        devices = frozenset(device for _, device in members)
        homes = {self.instance_of.get(device) for device in devices}
        home = homes.pop()
        if homes or home is None:
            return False
        return _SHAPE_TESTS[self.ask.shape](self, self.places[home], devices)

    def renumbered(self, demands: Mapping[int, int]) -> TopologyCondition:
        """Return itself: it is about devices, whoever takes them."""
        return self

    def distances(self, device: int) -> Mapping[int, int]:
        """Steps from a device to all others of its instance; more than to any other where nothing leads there."""
        places = self.places[self.instance_of[device]]
        return {**dict.fromkeys(places.devices, len(places.devices) + len(places.levels)), **places.distances(device)}

    def near(self, device: int) -> DeviceNumbers:
        """Find the devices within the greatest distance of one, itself included."""
        found = self._near.get(device)
        if found is None:
            most = self.ask.max_distance or 0
            distances = self.places[self.instance_of[device]].distances(device, most)
            found = frozenset(other for other, steps in distances.items() if steps <= most)
            self._near[device] = found
        return found

    @cached_property
    def _near(self) -> dict[int, DeviceNumbers]:
        return {}


def _is_segment(_condition: TopologyCondition, places: Places[int], devices: DeviceNumbers) -> bool:
    (axis,) = places.axes
    return _is_range({places.cells[device][0] for device in devices}, axis)


def _is_box(condition: TopologyCondition, places: Places[int], devices: DeviceNumbers) -> bool:
    """As many devices as the box has cells, and along each axis the range of one of its edges."""
    ask = condition.ask
    size = ask.size or ()
    columns = [set(column) for column in zip(*(places.cells[device] for device in devices), strict=True)]
    edges = tuple(map(len, columns))
    if len(devices) != prod(edges) or not all(map(_is_range, columns, places.axes)):
        return False
    return edges == size if ask.orientation == FIXED_ORIENTATION else edges in set(permutations(size))


def _is_range(positions: Collection[int], axis: Axis) -> bool:
    """Tell whether positions follow each other, around the end of an axis that wraps: at most one has no next."""
    following = ((position + 1) % axis.size if axis.periodic else position + 1 for position in positions)
    return sum(position not in positions for position in following) <= 1


def _is_connected(_condition: TopologyCondition, places: Places[int], devices: DeviceNumbers) -> bool:
    start = min(devices)
    reached, edge = {start}, [start]
    while edge:
        beside: set[int] = {other for device in edge for other in places.neighbours[device] if other in devices}
        edge = list(beside - reached)
        reached |= beside
    return len(reached) == len(devices)


def _is_subtree(condition: TopologyCondition, places: Places[int], devices: Iterable[int]) -> bool:
    level = places.level(condition.ask.level)
    return len({places.paths[device][: level + 1] for device in devices}) == 1


_SHAPE_TESTS: dict[str, Callable[[TopologyCondition, Places[int], DeviceNumbers], bool]] = {
    "Segment": _is_segment,
    "Box": _is_box,
    "Connected": _is_connected,
    "Compact": lambda condition, _places, devices: (
        condition.ask.max_distance is None or all(devices <= condition.near(device) for device in devices)
    ),
    "Subtree": _is_subtree,
}


@dataclass(frozen=True, slots=True)
class _NumberedDevice:
    """A device of a shape, known by its number."""

    id: int
    driver: str
    device: Device


AxesFinder = Callable[[DeviceTopology, float | None], tuple[Axis, ...] | None]
"""Finds the axes of a topology until a deadline; None: those of the devices at hand."""


class TopologyPlaces:
    """Places of the topologies of a cluster, each found once for all questions about a shape.

    ``sites``: for shapes of several nodes together, by scope what tells instances apart, for each device; a device
    with None is in none. ``axes`` finds those of topologies whose only instance is the cluster, of which a shape may be
    a part. After ``deadline`` finding places of a topology with a class raises ``DeadlineExceededError``.
    """

    def __init__(
        self,
        topologies: Mapping[str, DeviceTopology],
        classes: Mapping[str, DeviceClass],
        sites: Mapping[str, Sequence[Hashable]] | None = None,
        axes: AxesFinder | None = None,
    ) -> None:
        self._sites = sites or {}
        self.axes = axes
        self.topologies = topologies
        self.deadline: float | None = None
        self._classes = classes
        self._found: dict[tuple[str, int], tuple[Places[int], ...]] = {}

    def of(self, topology: DeviceTopology, shape: NodeType) -> tuple[Places[int], ...]:
        """Find the places in each instance. Raises ``TopologyError`` whose ``device`` is a number (TOPO-3)."""
        key = topology.metadata.name, shape.index
        found = self._found.get(key)
        if found is None:
            instances = self._instances(topology, shape)
            axes = self.axes(topology, self.deadline) if self.axes else None
            found = self._found[key] = tuple(place_devices(topology, own, axes=axes) for own in instances)
        return found

    def selectors(self, topology: DeviceTopology) -> tuple[DeviceSelector, ...]:
        """List the selectors of the class whose devices a topology places, if it names one."""
        known = self._classes.get(topology.spec.device_class_name or "")
        return tuple((known.spec.selectors if known else None) or ())

    def _instances(self, topology: DeviceTopology, shape: NodeType) -> list[list[_NumberedDevice]]:
        """Group the members; those of a single node are one instance, but for the scope ``Pool``."""
        scope = topology.spec.scope
        pools = [number for number, pool in enumerate(shape.pools) for _ in pool.profiles]
        site = self._sites.get(scope) or (pools if scope == "Pool" else [0] * len(pools))
        instances: dict[Hashable, list[_NumberedDevice]] = defaultdict(list)
        belongs = membership_of(topology, self._classes, self.deadline)
        belonging = {profile: belongs(profile) for profile in dict.fromkeys(shape.profiles)}
        for number, (profile, reachable) in enumerate(zip(shape.profiles, shape.reachable, strict=True)):
            if reachable and belonging[profile] and site[number] is not None:
                instances[site[number]].append(_NumberedDevice(number, profile.driver, profile.device))
        return list(instances.values())


def coordinate_names(topology: DeviceTopology) -> Iterable[str]:
    """List the attributes that say where a device stands."""
    spec = topology.spec
    return filter(None, (*(spec.coordinates or ()), *((spec.links.id, spec.links.peers) if spec.links else ())))


def membership_of(
    topology: DeviceTopology, classes: Mapping[str, DeviceClass], deadline: float | None = None
) -> TopologyMembership:
    """Membership of a topology; a class that is not there, or whose selectors fail on a device, has no such device.

    After ``deadline``, a reading of ``time.monotonic``, asking raises ``DeadlineExceededError`` (CEL-11).
    """
    name = topology.spec.device_class_name
    if name is None:
        return driver_membership(topology)
    if name not in classes:
        return lambda _device: False
    texts = [selector.cel.expression for selector in classes[name].spec.selectors or () if selector.cel is not None]
    shapes = DeviceShapes()

    def selected(device: DescribedDevice) -> bool:
        prepared = shapes.prepare(device.device, device.driver)
        try:
            return all(compile_selector(text).matches(prepared, deadline=deadline) for text in texts)
        except CelDeadlineError as error:
            raise DeadlineExceededError(f"filter operation aborted: {error}") from error
        except CelError:
            return False

    return selected

"""Where the devices of a shape stand, in each instance of a DeviceTopology (TOPO-1, TOPO-3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..models.claims import DeviceClass, DeviceSelector
from ..models.placed_devices import Axis, Places
from ..models.slices import Device
from ..models.topologies import DeviceTopology
from ..models.topology_graphs import placed
from .profiles import Profile
from .shapes import Shape
from .topology_members import membership


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A device of a shape, known by its number."""

    id: int
    driver: str
    device: Device


class TopologyPlaces:
    """Places of the topologies of a cluster, each found once for all questions about a shape.

    ``sites``: for shapes of several nodes together, by scope what tells instances apart, for each device; a device
    with None is in none. ``axes``: those of topologies whose only instance is the cluster, of which a shape may be a
    part.
    """

    def __init__(
        self,
        topologies: Mapping[str, DeviceTopology],
        classes: Mapping[str, DeviceClass],
        sites: Mapping[str, Sequence[Hashable]] | None = None,
        axes: Mapping[str, tuple[Axis, ...]] | None = None,
    ) -> None:
        self._sites = sites or {}
        self.axes = axes or {}
        self.topologies = topologies
        self._classes = classes
        self._found: dict[tuple[str, int], tuple[Places[int], ...]] = {}

    def of(self, topology: DeviceTopology, shape: Shape) -> tuple[Places[int], ...]:
        """Find the places in each instance. Raises ``TopologyError`` whose ``device`` is a number (TOPO-3)."""
        key = topology.metadata.name, shape.index
        found = self._found.get(key)
        if found is None:
            instances = self._instances(topology, shape)
            axes = self.axes.get(topology.metadata.name)
            found = self._found[key] = tuple(placed(topology, own, axes=axes) for own in instances)
        return found

    def selectors(self, topology: DeviceTopology) -> tuple[DeviceSelector, ...]:
        """List the selectors of the class whose devices a topology places, if it names one."""
        known = self._classes.get(topology.spec.device_class_name or "")
        return tuple((known.spec.selectors if known else None) or ())

    def _instances(self, topology: DeviceTopology, shape: Shape) -> list[list[_Numbered]]:
        """Group the members; those of a single node are one instance, but for the scope ``Pool``."""
        scope = topology.spec.scope
        pools = [number for number, pool in enumerate(shape.pools) for _ in pool.profiles]
        site = self._sites.get(scope) or (pools if scope == "Pool" else [0] * len(pools))
        instances: dict[Hashable, list[_Numbered]] = defaultdict(list)
        for member in self._members(topology, shape):
            if site[member.id] is not None:
                instances[site[member.id]].append(member)
        return list(instances.values())

    def _members(self, topology: DeviceTopology, shape: Shape) -> Iterator[_Numbered]:
        belongs = membership(topology, self._classes)
        belonging: dict[Profile, bool] = {}
        for number, (profile, reachable) in enumerate(zip(shape.profiles, shape.reachable, strict=True)):
            if profile not in belonging:
                belonging[profile] = belongs(profile)
            if reachable and belonging[profile]:
                yield _Numbered(number, profile.driver, profile.device)


def coordinate_names(topology: DeviceTopology) -> Iterable[str]:
    """List the attributes that say where a device stands."""
    spec = topology.spec
    return filter(None, (*(spec.coordinates or ()), *((spec.links.id, spec.links.peers) if spec.links else ())))

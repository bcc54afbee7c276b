"""The question ``topology``: where devices stand, what is free, and the largest shape that still fits (TOPO-6)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...models.cluster.cluster import Cluster, TopologyInstance, topology_instances
from ...models.kubernetes.extensions import DeviceTopology
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId
from ...models.topology.free_shapes import FreeShape, largest_free_by_level, largest_free_shape
from ...models.topology.places import PlacedDevices, place_devices
from ...problem.topology import membership_of
from .allocate import gates_of


@dataclass(frozen=True, slots=True)
class InstanceSurvey:
    """One instance of a topology: ``used`` are devices that claims hold (TOPO-4), ``chosen`` those to be shown so.

    ``largest`` is the largest free shape without regard to what is chosen, ``left`` the one beside it; ``levels`` and
    ``levels_left`` are the same by level of a Tree.
    """

    instance: TopologyInstance
    places: PlacedDevices
    used: frozenset[DeviceId]
    chosen: frozenset[DeviceId]
    largest: FreeShape
    left: FreeShape
    levels: tuple[FreeShape, ...]
    levels_left: tuple[FreeShape, ...]


@dataclass(frozen=True, slots=True)
class TopologySurvey:
    """A topology and its instances that hold devices."""

    topology: DeviceTopology
    instances: tuple[InstanceSurvey, ...]


@dataclass(frozen=True, slots=True)
class TopologyOutcome:
    """All requested topologies, by name."""

    surveys: tuple[TopologySurvey, ...]
    gates: FeatureGates


def topology(
    cluster: Cluster,
    *,
    names: Sequence[str] = (),
    node: str | None = None,
    chosen: Collection[DeviceId] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> TopologyOutcome:
    """Answer ``drasat.topology``, which describes the arguments; ``chosen`` are device ids here.

    Raises ``ValueError``, one line, for an unknown gate or name, or devices that contradict their topology (TOPO-3).
    """
    gates = gates_of(feature_gates)
    for name in names:
        if name not in cluster.topologies:
            raise ValueError(f"DeviceTopology {name} not found")
    requested = [one for name, one in cluster.topologies.items() if not names or name in names]
    there = frozenset(chosen)
    surveys = (TopologySurvey(one, tuple(_instance_surveys(one, cluster, gates, node, there))) for one in requested)
    return TopologyOutcome(tuple(surveys), gates)


def _instance_surveys(
    topology: DeviceTopology, cluster: Cluster, gates: FeatureGates, node: str | None, chosen: frozenset[DeviceId]
) -> Iterator[InstanceSurvey]:
    usage = cluster.usage(gates)
    belongs = membership_of(topology, cluster.classes)
    for instance in topology_instances(topology, cluster, gates, belongs, node):
        places = place_devices(topology, instance.devices, instance.label)
        used = frozenset(device for device in places.devices if usage.in_use(device))
        yield _instance_survey(instance, places, used, chosen.intersection(places.devices) - used)


def _instance_survey(
    instance: TopologyInstance, places: PlacedDevices, used: frozenset[DeviceId], chosen: frozenset[DeviceId]
) -> InstanceSurvey:
    free = frozenset(places.devices) - used
    largest, levels = largest_free_shape(places, free), largest_free_by_level(places, free)
    if not chosen:
        return InstanceSurvey(instance, places, used, chosen, largest, largest, levels, levels)
    left, levels_left = largest_free_shape(places, free - chosen), largest_free_by_level(places, free - chosen)
    return InstanceSurvey(instance, places, used, chosen, largest, left, levels, levels_left)

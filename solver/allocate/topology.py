"""The question ``topology``: where devices stand, what is free, and the largest shape that still fits (TOPO-6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    usage, surveys = cluster.usage(gates), []
    for one in requested:
        found = []
        for instance in topology_instances(one, cluster, gates, membership_of(one, cluster.classes), node):
            places = place_devices(one, instance.devices, instance.label)
            used = frozenset(device for device in places.devices if usage.in_use(device))
            free, here = frozenset(places.devices) - used, frozenset(chosen).intersection(places.devices) - used
            largest, levels = largest_free_shape(places, free), largest_free_by_level(places, free)
            left, levels_left = largest, levels
            if here:
                left, levels_left = largest_free_shape(places, free - here), largest_free_by_level(places, free - here)
            found.append(InstanceSurvey(instance, places, used, here, largest, left, levels, levels_left))
        surveys.append(TopologySurvey(one, tuple(found)))
    return TopologyOutcome(tuple(surveys), gates)

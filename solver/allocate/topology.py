"""The question ``topology``: where devices stand, what is free, and the largest shape that still fits (TOPO-6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import msgspec

from ...models.cluster.cluster import Cluster, TopologyInstance, topology_instances
from ...models.kubernetes.extensions import DeviceTopology, TopologyScope
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.meta import DeviceId
from ...models.results import inventory as records
from ...models.topology.free_shapes import FreeShape, largest_free_by_level, largest_free_shape
from ...models.topology.places import PlacedDevices, place_devices
from ...problem.messages import DeadlineExceededError
from ...problem.topology import membership_of

MEMBER_SECONDS = 60.0
"""For finding the devices of topologies."""


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

    def document(self) -> records.TopologyDocument:
        """The result document."""
        answers = tuple(map(_topology_answer, self.surveys))
        return records.TopologyDocument(topologies=answers, feature_gates=self.gates.to_dict())


def topology(
    cluster: Cluster,
    *,
    names: Sequence[str] = (),
    node: str | None = None,
    chosen: Collection[DeviceId] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    seconds: float = MEMBER_SECONDS,
) -> TopologyOutcome:
    """Answer ``drasat.topology``, which describes the arguments; ``chosen`` are device ids here.

    Raises ``ValueError``, one line, for an unknown gate or name, devices that contradict their topology (TOPO-3), or if
    finding devices by the selectors of classes takes longer than so many ``seconds`` (CEL-11).
    """
    gates = gates_of(feature_gates)
    for name in names:
        if name not in cluster.topologies:
            raise ValueError(f"DeviceTopology {name} not found")
    requested = [one for name, one in cluster.topologies.items() if not names or name in names]
    usage, surveys, deadline = cluster.usage(gates), [], monotonic() + seconds
    for one in requested:
        found = []
        for instance in _instances(one, cluster, gates, node, deadline):
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


def _instances(
    topology: DeviceTopology, cluster: Cluster, gates: FeatureGates, node: str | None, deadline: float
) -> list[TopologyInstance]:
    belongs = membership_of(topology, cluster.classes, deadline)
    try:
        return list(topology_instances(topology, cluster, gates, belongs, node))
    except DeadlineExceededError as error:
        name = topology.metadata.name
        raise ValueError(f"finding the devices of DeviceTopology {name} takes too long: {error}") from None


def _topology_answer(survey: TopologySurvey) -> records.TopologyAnswer:
    spec = survey.topology.spec
    return records.TopologyAnswer(
        name=survey.topology.metadata.name,
        driver=spec.driver,
        device_class_name=spec.device_class_name,
        scope=msgspec.convert(spec.scope, TopologyScope),
        shape=survey.topology.known_shape,
        coordinates=spec.coordinates or ((spec.links.id,) if spec.links else ()),
        instances=tuple(_instance_answer(one) for one in survey.instances),
    )


def _instance_answer(found: InstanceSurvey) -> records.InstanceAnswer:
    places = found.places
    numbers = {device: number for number, device in enumerate(places.devices)}
    free = len(places.devices) - len(found.used) - len(found.chosen)
    devices = []
    for device in places.devices:
        state: records.DeviceState = "used" if device in found.used else "chosen" if device in found.chosen else "free"
        driver, pool, name = device
        at = _published_coordinates(device, places)
        devices.append(records.PlacedDevice(driver=driver, pool=pool, device=name, coordinates=at, state=state))
    return records.InstanceAnswer(
        name=found.instance.name,
        axes=tuple(
            records.AxisAnswer(attribute=axis.name, first=axis.first, size=axis.size, periodic=axis.periodic)
            for axis in places.axes
        ),
        levels=tuple(_free_shape_answer(shape, places, numbers) for shape in found.levels),
        levels_left=tuple(_free_shape_answer(shape, places, numbers) for shape in found.levels_left),
        free=free,
        used=len(found.used),
        chosen=len(found.chosen),
        largest=_free_shape_answer(found.largest, places, numbers),
        left=_free_shape_answer(found.left, places, numbers),
        devices=tuple(devices),
        unplaced=tuple(
            records.UnplacedDevice(driver=driver, pool=pool, device=device) for driver, pool, device in places.unplaced
        ),
        links=tuple((numbers[one], numbers[other]) for one, other in places.links),
    )


def _published_coordinates(device: DeviceId, places: PlacedDevices) -> tuple[int | str | bool, ...]:
    """Return the coordinates as the device publishes them."""
    if device in places.cells:
        return tuple(axis.first + place for axis, place in zip(places.axes, places.cells[device], strict=True))
    scalars = places.paths.get(device) or (places.ids[device],)
    return tuple(scalar.value for scalar in scalars)


def _free_shape_answer(
    shape: FreeShape, places: PlacedDevices, numbers: Mapping[DeviceId, int]
) -> records.FreeShapeAnswer:
    first = tuple(axis.first + place for axis, place in zip(places.axes, shape.first, strict=False))
    return records.FreeShapeAnswer(
        kind=shape.kind,
        count=len(shape.devices),
        size=shape.size,
        first=first,
        level=shape.level,
        devices=tuple(sorted(numbers[device] for device in shape.devices)),
    )

"""The public function ``topology``, its result, and the document made of the survey of topologies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.extensions import TopologyScope
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.meta import DeviceId
from ..models.results import topology as records
from ..models.topology.free_shapes import FreeShape
from ..models.topology.places import PlacedDevices
from ..solver.allocate.topology import InstanceSurvey, TopologySurvey
from ..solver.allocate.topology import topology as survey
from . import Result
from .allocate import AllocationResult

if TYPE_CHECKING:
    import networkx
    import pandas


class TopologyResult(Result[records.TopologyDocument]):
    """The answer of ``topology``."""

    @property
    def topologies(self) -> tuple[records.TopologyAnswer, ...]:
        """The topologies by name, each with its instances."""
        return self.document.topologies

    def to_frame(self) -> pandas.DataFrame:
        """One row a device, those without coordinates left out."""
        from ..reports import topology as report

        return self._frame(report.device_rows(self.document), report.DEVICE_COLUMNS)

    def to_dot(self) -> str:
        """One graph for each instance, for Graphviz."""
        from ..reports.topology import topology_dot

        return topology_dot(self.document)

    def graphs(self) -> dict[tuple[str, str], networkx.Graph[DeviceId]]:
        """A graph for each topology and instance, by their names; nodes carry ``coordinates`` and ``state``."""
        from ..reports.topology import to_networkx

        return {
            (one.name, instance.name): to_networkx(instance) for one in self.topologies for instance in one.instances
        }

    def __repr__(self) -> str:
        instances = sum(len(one.instances) for one in self.topologies)
        return f"TopologyResult({len(self.topologies)} topologies, {instances} instances)"


def topology(
    cluster: Cluster,
    *,
    names: Sequence[str] = (),
    node: str | None = None,
    chosen: AllocationResult | Sequence[DeviceId] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
) -> TopologyResult:
    """Put the devices of each DeviceTopology in their places: used and free, and the largest free shape.

    Parameters
    ----------
    cluster
        What there is; see ``load``.
    names
        Only these topologies.
    node
        Only what this node reaches devices of.
    chosen
        An allocation that is not in the cluster yet, or devices by driver, pool and name, to be told apart: the
        largest free shape is then given before and after.
    feature_gates
        Switches by upstream name; what is not named is on.

    Raises
    ------
    ValueError
        One line, for an unknown gate or topology, or devices that contradict their topology.

    """
    devices = chosen_devices(chosen) if isinstance(chosen, AllocationResult) else tuple(chosen)
    found = survey(cluster, names=names, node=node, chosen=devices, feature_gates=feature_gates)
    answers = tuple(map(_topology_answer, found.surveys))
    return TopologyResult(records.TopologyDocument(topologies=answers, feature_gates=found.gates.to_dict()), cluster)


def chosen_devices(result: AllocationResult) -> tuple[DeviceId, ...]:
    """The devices that an allocation chose, those with admin access left out (IN-3)."""
    return tuple(
        (one.driver, one.pool, one.device)
        for unit in result.units
        for claim in unit.claims
        if claim.allocation is not None
        for one in claim.allocation.devices.results or ()
        if not one.admin_access
    )


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

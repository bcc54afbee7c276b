"""From surveys of topologies to the document of ``topology``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .models.free_shapes import FreeShape
from .models.identity import DeviceId
from .models.placed_devices import PlacedDevices
from .models.topologies import TopologyScope
from .solver.topology import InstanceSurvey, TopologyOutcome, TopologySurvey
from .topology_documents import (
    AxisAnswer,
    FreeShapeAnswer,
    InstanceAnswer,
    PlacedDevice,
    State,
    TopologyAnswer,
    TopologyDocument,
    UnplacedDevice,
)


def topology_document(found: TopologyOutcome) -> TopologyDocument:
    """The document of a ``topology``."""
    answers = tuple(_topology(survey) for survey in found.surveys)
    return TopologyDocument(topologies=answers, feature_gates=found.gates.to_dict())


def _topology(survey: TopologySurvey) -> TopologyAnswer:
    spec = survey.topology.spec
    return TopologyAnswer(
        name=survey.topology.metadata.name,
        driver=spec.driver,
        device_class_name=spec.device_class_name,
        scope=msgspec.convert(spec.scope, TopologyScope),
        shape=survey.topology.known_shape,
        coordinates=spec.coordinates or ((spec.links.id,) if spec.links else ()),
        instances=tuple(_instance(one) for one in survey.instances),
    )


def _instance(found: InstanceSurvey) -> InstanceAnswer:
    places = found.places
    numbers = {device: number for number, device in enumerate(places.devices)}
    free = len(places.devices) - len(found.used) - len(found.chosen)
    return InstanceAnswer(
        name=found.instance.name,
        axes=tuple(
            AxisAnswer(attribute=axis.name, first=axis.first, size=axis.size, periodic=axis.periodic)
            for axis in places.axes
        ),
        levels=tuple(_shape(shape, places, numbers) for shape in found.levels),
        levels_left=tuple(_shape(shape, places, numbers) for shape in found.levels_left),
        free=free,
        used=len(found.used),
        chosen=len(found.chosen),
        largest=_shape(found.largest, places, numbers),
        left=_shape(found.left, places, numbers),
        devices=tuple(_device(device, found) for device in places.devices),
        unplaced=tuple(
            UnplacedDevice(driver=driver, pool=pool, device=device) for driver, pool, device in places.unplaced
        ),
        links=tuple((numbers[one], numbers[other]) for one, other in places.links),
    )


def _device(device: DeviceId, found: InstanceSurvey) -> PlacedDevice:
    state: State = "used" if device in found.used else "chosen" if device in found.chosen else "free"
    driver, pool, name = device
    coordinates = _coordinates(device, found.places)
    return PlacedDevice(driver=driver, pool=pool, device=name, coordinates=coordinates, state=state)


def _coordinates(device: DeviceId, places: PlacedDevices) -> tuple[int | str | bool, ...]:
    """What the device publishes of its place."""
    if device in places.cells:
        return tuple(axis.first + place for axis, place in zip(places.axes, places.cells[device], strict=True))
    scalars = places.paths.get(device) or (places.ids[device],)
    return tuple(scalar.value for scalar in scalars)


def _shape(shape: FreeShape, places: PlacedDevices, numbers: Mapping[DeviceId, int]) -> FreeShapeAnswer:
    first = tuple(axis.first + place for axis, place in zip(places.axes, shape.first, strict=False))
    return FreeShapeAnswer(
        kind=shape.kind,
        count=len(shape.devices),
        size=shape.size,
        first=first,
        level=shape.level,
        devices=tuple(sorted(numbers[device] for device in shape.devices)),
    )

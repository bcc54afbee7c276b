"""Which devices belong to a DeviceTopology: those of a driver, or those that a class selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..cel.cache import compile_selector
from ..cel.devices import DeviceShapes
from ..cel.errors import CelError
from ..models.attribute_values import Described
from ..models.claims import DeviceClass, DeviceSelector
from ..models.topologies import DeviceTopology
from ..models.topology_scopes import Membership, by_driver


def membership(topology: DeviceTopology, classes: Mapping[str, DeviceClass]) -> Membership:
    """Membership of a topology; a class that is not there, or whose selectors fail on a device, has no such device."""
    name = topology.spec.device_class_name
    if name is None:
        return by_driver(topology)
    device_class = classes.get(name)
    return _nobody if device_class is None else _Selected(device_class.spec.selectors or ())


def _nobody(_device: Described) -> bool:
    return False


class _Selected:
    """Devices that all selectors take; each selector remembers its results by what it sees."""

    def __init__(self, selectors: Sequence[DeviceSelector]) -> None:
        self._texts = [selector.cel.expression for selector in selectors if selector.cel is not None]
        self._shapes = DeviceShapes()

    def __call__(self, device: Described) -> bool:
        return all(self._takes(text, device) for text in self._texts)

    def _takes(self, text: str, device: Described) -> bool:
        try:
            return compile_selector(text).matches(self._shapes.prepare(device.device, device.driver))
        except CelError:
            return False

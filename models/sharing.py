"""Equal values of many devices as one object: a large cluster repeats most of them."""

from typing import Any

from .slices import ResourceSlice


class SharedValues:
    """Replaces attribute and capacity values by equal ones seen before.

    Beside the memory, readers gain a quick test: values that are one object are equal.
    """

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def share(self, read: ResourceSlice) -> None:
        """Share the values of a slice's devices, which nobody else may hold yet."""
        for device in read.spec.devices or ():
            for values in (device.attributes, device.capacity):
                if values:
                    self._replace(values)

    def __contains__(self, value: object) -> bool:
        """Whether such a value has been seen."""
        return value in self._seen

    def _replace(self, values: dict[str, Any]) -> None:
        seen = self._seen
        for key, value in values.items():
            values[key] = seen.setdefault(value, value)

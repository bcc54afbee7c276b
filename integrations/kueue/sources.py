"""What is charged for devices whose class has sources: counters that they consume, or capacity (kueue-dra 5.2, 5.3).

The charge is the largest amount among all devices that could be meant, times the number of devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...cel.errors import CelCompileError
from ...models.kubernetes.claims import ExactDeviceRequest
from ...models.kubernetes.kueue_configuration import DeviceAmountSource, DeviceClassMapping
from ...models.kubernetes.quantity import INT64_MAX, Quantity
from ...models.kubernetes.slices import Device, capacity_drawn
from ...models.validation.findings import Path, quote_whole
from .devices import MatchingDevices, SeenDevices, SelectorEvaluator, internal, invalid


class SourceCharges:
    """Charges requests of classes that have sources; devices are matched once for equal selectors."""

    def __init__(self, devices: SeenDevices, evaluator: SelectorEvaluator) -> None:
        self._devices = devices
        self._evaluator = evaluator
        self._matching: dict[tuple[str, ...], tuple[Device, ...]] = {}
        self._consumed: dict[tuple[str, ...], int | None] = {}
        self._drawn: dict[tuple[tuple[str, ...], Quantity | None], int | None] = {}

    def charge(self, mapping: DeviceClassMapping, request: ExactDeviceRequest, path: Path) -> int:
        """What one claim pays for a request; several sources of a mapping add up. Raises ``CountingError``."""
        total = 0
        for source in mapping.sources or ():
            if source.counter is not None:
                total += self._counter_charge(source.counter, request, path)
            if source.capacity is not None:
                total += self._capacity_charge(source.capacity, request, path)
        return min(total, INT64_MAX)

    def _counter_charge(self, source: DeviceAmountSource, request: ExactDeviceRequest, path: Path) -> int:
        matching, key = self._matching_devices(source, request, path, "counter")
        if key not in self._consumed:
            amounts = (amount for device in matching for amount in _consumption(device, source.name))
            self._consumed[key] = max(amounts, default=None)
        most = self._consumed[key]
        if most is None:
            missing = f"matched devices have no consumesCounters entry for counter {quote_whole(source.name)}"
            raise internal(path, missing)
        return most * (request.count or 0)

    def _capacity_charge(self, source: DeviceAmountSource, request: ExactDeviceRequest, path: Path) -> int:
        matching, key = self._matching_devices(source, request, path, "capacity")
        asked = (request.capacity.requests or {}).get(source.name) if request.capacity else None
        wanted = None if asked is None else Quantity.parse(asked)
        dimension = quote_whole(source.name)
        if (key, wanted) not in self._drawn:
            capacities = ((device.capacity or {}).get(source.name) for device in matching)
            offered = [one for one in capacities if one is not None]
            if not offered:
                raise internal(path, f"matched devices have no capacity dimension {dimension}")
            drawn = (amount for amount in (capacity_drawn(one, wanted) for one in offered) if amount is not None)
            self._drawn[key, wanted] = max((amount.value for amount in drawn), default=None)
        most = self._drawn[key, wanted]
        if most is None:
            beyond = "capacity request cannot be satisfied by any matched device's RequestPolicy for dimension"
            raise invalid(path, f"{beyond} {dimension}")
        return max(0, most) * (request.count or 0)

    def _matching_devices(
        self, source: DeviceAmountSource, request: ExactDeviceRequest, path: Path, what: str
    ) -> tuple[tuple[Device, ...], tuple[str, ...]]:
        """Current devices of the driver that the source's, the class's and the request's selectors match.

        Also what they and the source's name depend on.
        """
        own = source.device_selector.cel.expression if source.device_selector and source.device_selector.cel else ""
        asked = [one.cel.expression if one.cel else "" for one in request.selectors or ()]
        key = source.driver, request.device_class_name, own, *asked
        found = self._matching.get(key)
        if found is None:
            found = self._matching[key] = tuple(self._match(source.driver, request.device_class_name, key[2:], path))
        count = request.count or 0
        if len(found) < count:
            numbers = f"{len(found)} device(s) match but {count} requested"
            raise internal(path, f"insufficient matching devices for {what} driver: {numbers}")
        return found, (source.name, *key)

    def _match(self, driver: str, device_class: str, expressions: Sequence[str], path: Path) -> Iterator[Device]:
        try:
            own, *asked = map(self._evaluator.compile, expressions)
        except CelCompileError as error:
            raise internal(path, f"CEL compilation failed: {error}") from None
        selectors = [own, *self._evaluator.of_class(device_class, path), *asked]
        devices = self._devices.current(driver)
        for position, failure in MatchingDevices(devices, selectors, self._evaluator):
            if failure is not None:
                raise internal(path, f"CEL evaluation failed for DeviceClass {device_class}: {failure}")
            yield devices[position].device


def _consumption(device: Device, counter: str) -> Sequence[int]:
    """What a device consumes of counters of this name, rounded up; negative amounts count as 0."""
    entries = ((consumed.counters or {}).get(counter) for consumed in device.consumes_counters or ())
    return [max(0, Quantity.parse(entry.value).value) for entry in entries if entry is not None]

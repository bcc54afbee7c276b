"""What is charged for devices whose class has sources: counters that they consume, or capacity (kueue-dra 5.2, 5.3).

The charge is the largest amount among all devices that could be meant, times the number of devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...cel.errors import CelError
from ...models.kubernetes.claims import ExactDeviceRequest
from ...models.kubernetes.kueue_configuration import DeviceAmountSource, DeviceClassMapping
from ...models.kubernetes.quantity import INT64_MAX, Quantity
from ...models.kubernetes.slices import CapacityRange, Device, DeviceCapacity
from ...models.validation.findings import Path, quote_whole
from .devices import SeenDevice, SeenDevices, SelectorEvaluator, internal, invalid


class SourceCharges:
    """Charges requests of classes that have sources; devices are matched once for equal selectors."""

    def __init__(self, devices: SeenDevices, evaluator: SelectorEvaluator) -> None:
        self._devices = devices
        self._evaluator = evaluator
        self._matching: dict[tuple[str, ...], tuple[Device, ...]] = {}

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
        matching = self._matching_devices(source, request, path, "counter")
        consumed = [amount for device in matching for amount in _consumption(device, source.name)]
        if not consumed:
            missing = f"matched devices have no consumesCounters entry for counter {quote_whole(source.name)}"
            raise internal(path, missing)
        return max(consumed) * (request.count or 0)

    def _capacity_charge(self, source: DeviceAmountSource, request: ExactDeviceRequest, path: Path) -> int:
        matching = self._matching_devices(source, request, path, "capacity")
        offered = [one for one in ((device.capacity or {}).get(source.name) for device in matching) if one is not None]
        dimension = quote_whole(source.name)
        if not offered:
            raise internal(path, f"matched devices have no capacity dimension {dimension}")
        asked = (request.capacity.requests or {}).get(source.name) if request.capacity else None
        wanted = None if asked is None else Quantity.parse(asked)
        drawn = [amount for amount in (_capacity_drawn(one, wanted) for one in offered) if amount is not None]
        if not drawn:
            beyond = "capacity request cannot be satisfied by any matched device's RequestPolicy for dimension"
            raise invalid(path, f"{beyond} {dimension}")
        return max(0, *(amount.value for amount in drawn)) * (request.count or 0)

    def _matching_devices(
        self, source: DeviceAmountSource, request: ExactDeviceRequest, path: Path, what: str
    ) -> tuple[Device, ...]:
        """Current devices of the driver that the source's, the class's and the request's selectors match."""
        own = source.device_selector.cel.expression if source.device_selector and source.device_selector.cel else ""
        asked = [one.cel.expression if one.cel else "" for one in request.selectors or ()]
        key = source.driver, own, request.device_class_name, *asked
        found = self._matching.get(key)
        if found is None:
            found = self._matching[key] = tuple(one.device for one in self._match(source.driver, own, request, path))
        count = request.count or 0
        if len(found) < count:
            short = (
                f"insufficient matching devices for {what} driver: {len(found)} device(s) match but {count} requested"
            )
            raise internal(path, short)
        return found

    def _match(self, driver: str, own: str, request: ExactDeviceRequest, path: Path) -> Iterator[SeenDevice]:
        name = request.device_class_name
        evaluator = self._evaluator
        try:
            of_class = evaluator.of_class(name, path)
            selectors = [evaluator.compile(own), *of_class, *evaluator.compile_all(request.selectors)]
            for seen in self._devices.current(driver):
                evaluator.check_deadline()
                if evaluator.matches(selectors, seen):
                    yield seen
        except CelError as error:
            failed = f"CEL evaluation failed for DeviceClass {name}: {error}"
            raise internal(path, failed) from None


def _consumption(device: Device, counter: str) -> Sequence[int]:
    """What a device consumes of counters of this name, rounded up; negative amounts count as 0."""
    entries = ((consumed.counters or {}).get(counter) for consumed in device.consumes_counters or ())
    return [max(0, Quantity.parse(entry.value).value) for entry in entries if entry is not None]


def _capacity_drawn(capacity: DeviceCapacity, wanted: Quantity | None) -> Quantity | None:
    """What a request takes of a device's capacity, as the device's policy rounds it; None if it offers no such amount.

    Without a policy it is what the request says, though the device may have less (kueue-dra 9.16).
    """
    policy = capacity.request_policy
    if wanted is None:
        wanted = Quantity.parse(capacity.value if policy is None or policy.default is None else policy.default)
    if policy is None:
        return wanted
    if policy.valid_values:
        offered = [value for value in map(Quantity.parse, policy.valid_values) if value >= wanted]
        return min(offered, default=None)
    return wanted if policy.valid_range is None else _in_range(policy.valid_range, wanted)


def _in_range(bounds: CapacityRange, wanted: Quantity) -> Quantity | None:
    least = Quantity.parse(bounds.min or 0)
    amount = max(wanted, least)
    if bounds.step is not None and (step := Quantity.parse(bounds.step).nano) > 0:
        steps = -(-(amount.nano - least.nano) // step)
        amount = Quantity.from_nano(least.nano + steps * step, amount.format)
    return None if bounds.max is not None and amount > Quantity.parse(bounds.max) else amount

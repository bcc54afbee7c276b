"""How many devices a claim template asks for, of each device class, and what that is charged as (kueue-dra 3.1 to 3.5).

Templates of equal content are counted once. Requests are looked at in order, and the first error ends the count:
forms that Kueue does not support, selectors that do not compile, too few devices for selectors, classes that no
resource stands for, and then what sources say. A class with sources is charged the counters or the capacity of its
devices (5.2, 5.3): the largest amount among all devices that could be meant, times the number of devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from ...cel.errors import CelCompileError
from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, ResourceClaimSpec
from ...models.kubernetes.kueue_configuration import PRIORITIZED_LIST, DeviceAmountSource, DeviceClassMapping
from ...models.kubernetes.quantity import INT64_MAX, Quantity
from ...models.kubernetes.slices import Device, capacity_drawn
from ...models.validation.findings import Path, quote_whole
from .devices import CountingError, CountingProblem, MatchingDevices, SeenDevices, SelectorEvaluator, internal, invalid


class ClassMappings:
    """The resources of quota that device classes are charged to (kueue-dra 2)."""

    def __init__(self, mappings: Iterable[DeviceClassMapping]) -> None:
        self._first: dict[str, DeviceClassMapping] = {}
        self._with_sources: dict[str, list[DeviceClassMapping]] = defaultdict(list)
        for mapping in mappings:
            for name in mapping.device_class_names or ():
                # Of several mappings of one class the first counts; their sources all count (rule V9a).
                self._first.setdefault(name, mapping)
                if mapping.sources:
                    self._with_sources[name].append(mapping)

    def resource(self, device_class: str) -> str | None:
        """The resource that devices of a class are charged to."""
        mapping = self._first.get(device_class)
        return None if mapping is None else mapping.name

    def with_sources(self, device_class: str) -> tuple[DeviceClassMapping, ...]:
        """The mappings of a class that charge counters or capacity instead of the number of devices."""
        return tuple(self._with_sources.get(device_class, ()))

    def source_drivers(self, device_class: str) -> frozenset[str]:
        """The drivers of the class's sources."""
        sources = (source for mapping in self.with_sources(device_class) for source in mapping.sources or ())
        return frozenset(one.driver for source in sources for one in (source.counter, source.capacity) if one)


@dataclass(frozen=True, slots=True)
class ClaimCharge:
    """What one claim is charged as, of each resource; ``unmapped`` is a class that no resource stands for."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    unmapped: str = ""


class DeviceRequestCounter:
    """Counts claims made from templates; remembers what it found for templates of equal content."""

    def __init__(
        self, cluster: Cluster, mappings: ClassMappings, gates: Mapping[str, bool], evaluator: SelectorEvaluator
    ) -> None:
        self._mappings = mappings
        self._prioritized = gates[PRIORITIZED_LIST]
        self._devices = SeenDevices.of(cluster)
        self._evaluator = evaluator
        self._sources = SourceCharges(self._devices, evaluator)
        self._matches: dict[tuple[str | frozenset[str] | None, ...], MatchingDevices] = {}
        self._known: dict[bytes, ClaimCharge | CountingError] = {}

    def charge(self, spec: ResourceClaimSpec) -> ClaimCharge:
        """What a claim of this content is charged as.

        Raises ``CountingError`` with a path relative to the claim, ``DeadlineExceededError``.
        """
        requests = spec.devices.requests or ()
        key = msgspec.json.encode(requests)
        found = self._known.get(key)
        if found is None:
            try:
                found = self._charge(requests)
            except CountingError as error:
                found = error
            self._known[key] = found
        if isinstance(found, CountingError):
            raise found.with_traceback(None)
        return found

    def _charge(self, requests: Iterable[DeviceRequest]) -> ClaimCharge:
        placed = [(("devices", "requests", index), request) for index, request in enumerate(requests)]
        for path, request in placed:
            self._check_form(path, request)
        self._check_availability([(path, one.exactly) for path, one in placed if one.exactly and one.exactly.selectors])
        charged = [(path, one) for path, one in placed if one.exactly is None or not one.exactly.admin_access]
        for _, request in charged:
            for name in _device_classes(request):
                if self._mappings.resource(name) is None:
                    return ClaimCharge(unmapped=name)
        total: dict[str, int] = {}
        for path, request in charged:
            for resource, amount in self._request_charge(path, request).items():
                total[resource] = min(total.get(resource, 0) + amount, INT64_MAX)
        return ClaimCharge(total)

    def _check_form(self, path: Path, request: DeviceRequest) -> None:
        """Refuse what Kueue does not count; a selector must compile even where nothing is charged."""
        if request.first_available:
            if not self._prioritized:
                raise invalid(path, "FirstAvailable device selection is not supported", of_template=True)
            for index, alternative in enumerate(request.first_available):
                self._check_request((*path, "firstAvailable", index), alternative)
            return
        if request.exactly is None:
            raise invalid(path, "Exactly must be set if FirstAvailable is nil", of_template=True)
        self._check_request((*path, "exactly"), request.exactly)

    def _check_request(self, path: Path, request: ExactDeviceRequest | DeviceSubRequest) -> None:
        for index, selector in enumerate(request.selectors or ()):
            text = selector.cel.expression if selector.cel else ""
            try:
                self._evaluator.compile(text)
            except CelCompileError as error:
                place = (*path, "selectors", index, "cel", "expression")
                broken = invalid(place, f"CEL compilation failed: {error}", text)
                raise invalid((*path, "selectors"), str(broken), of_template=True) from None
        if isinstance(request, ExactDeviceRequest) and request.admin_access:
            return
        mode = request.allocation_mode
        if mode in ("ExactCount", ""):
            return
        unknown = f"unsupported allocation mode: {mode}"
        detail = "AllocationMode 'All' is not supported" if mode == "All" else unknown
        raise invalid((*path, "allocationMode"), detail, mode, of_template=True)

    def _check_availability(self, requests: list[tuple[Path, ExactDeviceRequest]]) -> None:
        """Each request with selectors takes the first devices that match, of those that earlier ones left (3.5).

        The problems of all requests are reported together.
        """
        drivers = [self._mappings.source_drivers(request.device_class_name) for _, request in requests]
        only = frozenset[str]().union(*drivers) if all(drivers) else None
        taken: set[int] = set()
        problems: list[CountingProblem] = []
        for path, request in requests:
            try:
                self._take_devices(path, request, only, taken)
            except CountingError as error:
                problems += error.problems
        if problems:
            raise CountingError(*problems)

    def _take_devices(
        self, path: Path, request: ExactDeviceRequest, drivers: frozenset[str] | None, taken: set[int]
    ) -> None:
        name, wanted, found = request.device_class_name, request.count or 0, 0
        place = (*path, "exactly", "selectors")
        if wanted > 0:
            for position, error in self._matching(path, request, drivers):
                if position in taken:
                    continue
                if error is not None:
                    failed = f"CEL evaluation failed for DeviceClass {name}: {error}"
                    raise invalid(place, failed, of_template=True)
                taken.add(position)
                found += 1
                if found == wanted:
                    return
            short = f"insufficient matching devices for CEL selector in DeviceClass {name}"
            counts = f"{found} device(s) match in the cluster but {wanted} requested"
            raise internal(place, f"{short}: {counts}", of_template=True)

    def _matching(self, path: Path, request: ExactDeviceRequest, drivers: frozenset[str] | None) -> MatchingDevices:
        """Devices that the class and the request select; searched once for equal selectors."""
        of_class = self._evaluator.of_class(request.device_class_name, path)
        own = [one.cel.expression if one.cel else "" for one in request.selectors or ()]
        key = request.device_class_name, drivers, *own
        found = self._matches.get(key)
        if found is None:
            selectors = [*of_class, *map(self._evaluator.compile, own)]
            found = self._matches[key] = MatchingDevices(self._devices.every(drivers), selectors, self._evaluator)
        return found

    def _request_charge(self, path: Path, request: DeviceRequest) -> dict[str, int]:
        if request.exactly is not None and not request.first_available:
            return self._exact_charge(path, request.exactly)
        alternatives = [self._exact_charge(path, _as_exact(one)) for one in request.first_available or ()]
        resources = {frozenset(one) for one in alternatives if one}
        if len(resources) > 1:
            mixed = "FirstAvailable alternatives must be mapped to the same resources"
            raise invalid(path, mixed, of_template=True)
        return {name: max(one.get(name, 0) for one in alternatives) for names in resources for name in names}

    def _exact_charge(self, path: Path, request: ExactDeviceRequest) -> dict[str, int]:
        name = request.device_class_name
        resource = self._mappings.resource(name)
        if resource is None:  # without a class nothing is charged
            return {}
        with_sources = self._mappings.with_sources(name)
        if not with_sources:
            return {resource: request.count or 0}
        return {mapping.name: self._sources.charge(mapping, request, path) for mapping in with_sources}


def _device_classes(request: DeviceRequest) -> list[str]:
    asked = request.first_available or ((request.exactly,) if request.exactly else ())
    return [one.device_class_name for one in asked if one.device_class_name]


def _as_exact(alternative: DeviceSubRequest) -> ExactDeviceRequest:
    return ExactDeviceRequest(
        device_class_name=alternative.device_class_name,
        selectors=alternative.selectors,
        allocation_mode=alternative.allocation_mode,
        count=alternative.count,
        capacity=alternative.capacity,
    )


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

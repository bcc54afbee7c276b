"""Requests: each exact request or alternative with its class, checked (section 6), and what it takes of capacities.

``VisibleAttributes`` are the attributes that the expressions and constraints of a question read: all others make no
difference to it. ``compute_capacity_draw`` says how much a request takes of a device's capacities, and whether the
device can ever give it (CAP-1 to CAP-6); what is consumed already plays no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..cel.devices import Path
from ..models.kubernetes.claims import DeviceClass, DeviceRequest, ExactDeviceRequest, RequestSpec
from ..models.kubernetes.gates import FeatureGates
from ..models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ..models.kubernetes.slices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from .messages import FatalError, Placeholder

EXACT_COUNT = "ExactCount"
ALL = "All"


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative of a list request, or (without a name) an exact request."""

    name: str
    spec: RequestSpec


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedRequest:
    """An exact request or one alternative of a list, before it is known which devices there are."""

    claim: int
    request: str
    subrequest: str
    spec: RequestSpec
    device_class: DeviceClass
    capacity: Mapping[str, Quantity]

    @property
    def own_name(self) -> str:
        """Name of the request or the alternative, whichever this is."""
        return self.subrequest or self.request

    @property
    def admin(self) -> bool:
        """Asks for admin access; alternatives cannot."""
        return isinstance(self.spec, ExactDeviceRequest) and bool(self.spec.admin_access)

    @property
    def all_devices(self) -> bool:
        """Asks for every matching device instead of a count."""
        return self.spec.allocation_mode == ALL


def alternatives(claim: int, request: DeviceRequest, gates: FeatureGates) -> tuple[Alternative, ...]:
    """List what a request consists of: itself, or its alternatives. Raises ``FatalError`` (PRE-1, PRE-2)."""
    if request.exactly is not None:
        _check_capacity(claim, "request", request.name, request.exactly, gates)
        return (Alternative("", request.exactly),)
    if request.first_available is None:
        raise _request_error(claim, "request", request.name, "neither exactly nor firstAvailable is set")
    if not gates.prioritized_list:
        problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
        raise _request_error(claim, "request", request.name, problem)
    for sub in request.first_available:
        _check_capacity(claim, "subrequest", sub.name, sub, gates)
    return tuple(Alternative(sub.name, sub) for sub in request.first_available)


def resolve_request(
    claim: int, request: str, alternative: Alternative, classes: Mapping[str, DeviceClass], gates: FeatureGates
) -> ResolvedRequest:
    """Check an exact request or alternative and look up its class. Raises ``FatalError`` (PRE-3 to PRE-6)."""
    spec = alternative.spec
    name = alternative.name or request
    if spec.derived_attributes and not gates.derived_attributes:
        problem = "cannot handle request with derived attributes, the feature is disabled"
        raise _request_error(claim, "request", name, problem)
    for index, selector in enumerate(spec.selectors or ()):
        if selector.cel is None:
            place = f", request {name}, selector #{index}"
            problem = f"{place}: CEL expression empty (unsupported selector type?)"
            raise FatalError("request", ("claim ", Placeholder.CLAIM, problem), claim=claim)
    if isinstance(spec, ExactDeviceRequest) and spec.admin_access is not None and not gates.admin_access:
        raise _request_error(claim, "request", name, "admin access is requested, but the feature is disabled")
    class_name = spec.device_class_name
    if not class_name:
        raise _request_error(claim, "request", name, "missing device class name (unsupported request type?)")
    if class_name not in classes:
        missing = f'could not retrieve device class {class_name}: deviceclass.resource.k8s.io "{class_name}" not found'
        raise _request_error(claim, "request", name, missing, "deviceClass")
    amounts = _requested_capacity(claim, name, spec)
    return ResolvedRequest(claim, request, alternative.name, spec, classes[class_name], amounts)


def _request_error(claim: int, kind: str, name: str, problem: str, rule: str = "request") -> FatalError:
    return FatalError(rule, ("claim ", Placeholder.CLAIM, f", {kind} {name}: {problem}"), claim=claim)


def _check_capacity(claim: int, kind: str, name: str, spec: RequestSpec, gates: FeatureGates) -> None:
    """PRE-2; the stable variant has never heard of capacity requests and does not mind them."""
    if spec.capacity is not None and not gates.consumable_capacity and gates.variant != "stable":
        problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise _request_error(claim, kind, name, problem)


def _requested_capacity(claim: int, name: str, spec: RequestSpec) -> dict[str, Quantity]:
    requests = (spec.capacity.requests if spec.capacity else None) or {}
    try:
        return {capacity: Quantity.parse(amount) for capacity, amount in requests.items()}
    except ValueError as error:
        raise _request_error(claim, "request", name, f"bad capacity: {error}") from None


ATTRIBUTES = "attributes"


@dataclass(frozen=True, slots=True)
class VisibleAttributes:
    """Which attributes are looked at: those on the ``paths`` of expressions, and those that constraints name.

    ``names`` are compared, so that devices match by them; ``coordinates`` only say where devices stand. Of all of them
    the values are seen; which attributes there are, and everything else of a device, can always be seen.
    """

    paths: frozenset[Path] = frozenset()
    names: frozenset[str] = frozenset()
    coordinates: frozenset[str] = frozenset()

    def joined(self, other: VisibleAttributes) -> VisibleAttributes:
        """What either of two sees: devices that look the same so look the same to each."""
        return VisibleAttributes(
            self.paths | other.paths, self.names | other.names, self.coordinates | other.coordinates
        )

    def of(self, driver: str, attributes: Iterable[str]) -> tuple[str, ...]:
        """List the names that are seen among those of a device's attributes."""
        return tuple(name for name in attributes if self._sees(driver, name))

    def _sees(self, driver: str, name: str) -> bool:
        """CEL-10, CON-2: a name without a domain is the driver's."""
        domain, slash, identifier = name.partition("/")
        path = (ATTRIBUTES, domain, identifier) if slash else (ATTRIBUTES, driver, name)
        if any(path[:length] in self.paths for length in range(len(path) + 1)):
            return True
        full = f"{driver}/{name}"
        return any(one in known for known in (self.names, self.coordinates) for one in (name, full))


ALL_VISIBLE = VisibleAttributes(frozenset({()}))

# Range arithmetic works in thousandths if it can (CAP-4).
MILLI = NANO // 1000
_UNREPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic: "


class CapacityError(Exception):
    """An amount that the arithmetic cannot work with; fatal for the allocation (CAP-4, CAP-6)."""


@dataclass(frozen=True, slots=True)
class CapacityDraw:
    """What a request takes of each capacity of a device, or why the device does not match."""

    amounts: Mapping[str, Quantity]
    mismatch: str = ""


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    """Steps of a range counted in units of ``unit`` billionths; what does not fit an int64 of them is an error."""

    unit: int
    request_problem: str
    range_name: str

    def holds(self, quantity: Quantity) -> bool:
        return quantity.nano % MILLI == 0 and abs(quantity.nano // self.unit) <= INT64_MAX

    def count(self, quantity: Quantity) -> int:
        """Express the quantity in units, rounded up."""
        return quantity.milli if self.unit == MILLI else quantity.value


_MILLI = _Arithmetic(MILLI, "is not a representable milli value", "the milli-value range")
_WHOLE_UNITS = _Arithmetic(NANO, "exceeds MaxInt64", "MaxInt64")


def compute_capacity_draw(device: Device, requests: Mapping[str, Quantity], fractional: bool) -> CapacityDraw:
    """Compute what a request for these capacities takes of the device.

    ``fractional`` is the gate of fractional ranges. Raises ``CapacityError``.
    """
    capacities = device.capacity or {}
    lacking = sorted(requests.keys() - capacities.keys())
    if lacking:
        return CapacityDraw({}, f"{lacking[0]} missing")
    amounts: dict[str, Quantity] = {}
    for name in sorted(capacities):
        try:
            amounts[name], mismatch = _amount_taken(capacities[name], requests.get(name), fractional)
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from None
        if mismatch:
            return CapacityDraw({}, f"{name} {mismatch}")
    return CapacityDraw(amounts)


def _amount_taken(capacity: DeviceCapacity, requested: Quantity | None, fractional: bool) -> tuple[Quantity, str]:
    """Return the amount taken of one capacity, and why it cannot be (empty: it can)."""
    value = Quantity.parse(capacity.value)
    policy = capacity.request_policy or CapacityRequestPolicy()
    default = None if policy.default is None else Quantity.parse(policy.default)
    untold = value if default is None else default
    amount = untold if requested is None else _rounded(policy, requested, fractional)
    if amount.nano < 0:
        raise CapacityError("capacity value is negative")
    if amount != default and (violation := _violation(policy, amount, fractional)):
        return amount, violation
    return amount, f"{value} is less than {amount}" if amount > value else ""


def _rounded(policy: CapacityRequestPolicy, requested: Quantity, fractional: bool) -> Quantity:
    """Round a request up to what the policy offers (CAP-3)."""
    if policy.valid_range is not None:
        return _rounded_in_range(policy.valid_range, requested, fractional)
    offered = (Quantity.parse(value) for value in policy.valid_values or ())
    return next((value for value in offered if value >= requested), requested)


def _rounded_in_range(bounds: CapacityRange, requested: Quantity, fractional: bool) -> Quantity:
    least = Quantity.parse(bounds.min or 0)
    if requested < least:
        return least
    if bounds.step is None:
        return requested
    step = Quantity.parse(bounds.step)
    arithmetic = _arithmetic(bounds, fractional)
    exact = arithmetic.holds(requested) if arithmetic is _MILLI else requested.nano <= INT64_MAX * NANO
    if not exact:
        raise CapacityError(f"{_UNREPRESENTABLE}request {requested} {arithmetic.request_problem}")
    start, width = arithmetic.count(least), arithmetic.count(step)
    steps = -(-(arithmetic.count(requested) - start) // width) if width > 0 else INT64_MAX
    total = start + steps * width
    if width <= 0 or total > INT64_MAX:
        raise CapacityError(
            f"{_UNREPRESENTABLE}rounding request {requested} up to the next step passes {arithmetic.range_name}"
        )
    return Quantity.from_nano(total * arithmetic.unit, step.format)


def _arithmetic(bounds: CapacityRange, fractional: bool) -> _Arithmetic:
    """Choose thousandths if the gate is on and all bounds can be written in them (CAP-4)."""
    parts = [Quantity.parse(part) for part in (bounds.min, bounds.max, bounds.step) if part is not None]
    forwards = Quantity.parse(bounds.step or 0).nano > 0
    return _MILLI if fractional and forwards and all(map(_MILLI.holds, parts)) else _WHOLE_UNITS


def _violation(policy: CapacityRequestPolicy, amount: Quantity, fractional: bool) -> str:
    """Say how the amount breaks the policy, if it does (CAP-5)."""
    bounds = policy.valid_range
    if bounds is not None:
        if bounds.max is not None and amount > Quantity.parse(bounds.max):
            return f"{amount} is above the range's {bounds.max}"
        return "" if _on_grid(bounds, amount, fractional) else f"{amount} is not on a step of the range"
    values = policy.valid_values
    offered = values is None or any(Quantity.parse(value) == amount for value in values)
    return "" if offered else f"{amount} is not one of the valid values"


def _on_grid(bounds: CapacityRange, amount: Quantity, fractional: bool) -> bool:
    if bounds.step is None:
        return True
    arithmetic = _arithmetic(bounds, fractional)
    width = arithmetic.count(Quantity.parse(bounds.step))
    offset = arithmetic.count(amount) - arithmetic.count(Quantity.parse(bounds.min or 0))
    return width > 0 and offset % width == 0

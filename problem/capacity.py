"""How much a request takes of a device's capacities, and whether the device can ever give it (CAP-1 to CAP-6).

What is consumed already plays no part here; the search knows that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ..models.kubernetes.slices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity

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
        return CapacityDraw({}, f"no capacity {lacking[0]}")
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

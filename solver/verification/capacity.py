"""How much of each capacity an allocation takes, and whether the policy allows it (section 10, read anew)."""

from __future__ import annotations

from collections.abc import Mapping

from ...models.base import QuantityText
from ...models.gates import FeatureGates
from ...models.quantity import Quantity
from ...models.slices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity

NANO_PER_UNIT = 10**9
NANO_PER_MILLI = 10**6


class PolicyError(Exception):
    """The device cannot serve the request: CAP-2 or CAP-5."""


def nano(text: QuantityText) -> int:
    """A quantity as an exact integer of billionths."""
    return Quantity.parse(text).nano


def amounts(device: Device, requested: Mapping[str, QuantityText], gates: FeatureGates) -> dict[str, int]:
    """What one allocation takes of every capacity of the device, in billionths (CAP-3).

    Raises
    ------
    PolicyError
        If the device lacks a requested capacity (CAP-2) or a policy forbids the amount (CAP-5).
    """
    offered = device.capacity or {}
    missing = sorted(requested.keys() - offered.keys())
    if missing:
        raise PolicyError(f"CAP-2: the device has no capacity {missing[0]}")
    return {name: _amount(name, entry, requested.get(name), gates) for name, entry in offered.items()}


def _amount(name: str, capacity: DeviceCapacity, request: QuantityText | None, gates: FeatureGates) -> int:
    policy = capacity.request_policy
    if request is None:
        default = policy.default if policy else None
        taken = nano(capacity.value if default is None else default)
    else:
        taken = _rounded(nano(request), policy, gates)
    if policy is not None and not _allowed(taken, policy):
        raise PolicyError(f"CAP-5: the request policy of {name} does not allow {Quantity.from_nano(taken)}")
    return taken


def _rounded(request: int, policy: CapacityRequestPolicy | None, gates: FeatureGates) -> int:
    """CAP-3: up to the next amount that the policy offers."""
    if policy is None:
        return request
    if policy.valid_range is not None:
        return _into_range(request, policy.valid_range, gates)
    larger = [nano(value) for value in policy.valid_values or () if nano(value) >= request]
    return min(larger, default=request)


def _into_range(request: int, offered: CapacityRange, gates: FeatureGates) -> int:
    least = nano(offered.min or 0)
    if request < least:
        return least
    if offered.step is None:
        return request
    unit = _resolution(offered, gates)
    start, step, wanted = (-(-value // unit) for value in (least, nano(offered.step), request))
    return (start + -(-(wanted - start) // step) * step) * unit


def _resolution(offered: CapacityRange, gates: FeatureGates) -> int:
    """CAP-4: thousandths where every bound is made of them, else whole units."""
    bounds = [nano(value) for value in (offered.min, offered.max, offered.step) if value is not None]
    exact = all(value % NANO_PER_MILLI == 0 for value in bounds)
    return NANO_PER_MILLI if gates.fractional_capacity_range and exact else NANO_PER_UNIT


def _allowed(taken: int, policy: CapacityRequestPolicy) -> bool:
    """CAP-5."""
    if policy.default is not None and taken == nano(policy.default):
        return True
    if policy.valid_range is not None:
        offered = policy.valid_range
        above = offered.max is not None and taken > nano(offered.max)
        between = offered.step is not None and (taken - nano(offered.min or 0)) % nano(offered.step)
        return not (above or between)
    return not policy.valid_values or taken in map(nano, policy.valid_values)

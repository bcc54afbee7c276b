"""How much of each capacity an allocation takes, and whether that is allowed (section 10, read anew)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...models.base import QuantityText
from ...models.quantity import INT64_MAX, NANO, Quantity
from ...models.slices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from .findings import Finding

_NANO_PER_MILLI = NANO // 1000
_NO_POLICY = CapacityRequestPolicy()


class CapacityRefusedError(Exception):
    """The device cannot serve the request; carries the finding."""

    def __init__(self, rule: str, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.finding = Finding(rule, message, fatal)


def nano(text: QuantityText) -> int:
    """Read a quantity as an exact integer of billionths."""
    return Quantity.parse(text).nano


def amounts(device: Device, requested: Mapping[str, QuantityText], *, fractional: bool) -> dict[str, int]:
    """Compute what one allocation takes of every capacity of the device, in billionths (CAP-3).

    ``fractional`` is the gate of fractional ranges. Raises ``CapacityRefusedError`` if the device lacks a capacity
    (CAP-2), a policy forbids the amount (CAP-5), it is more than the device has in all (CAP-6), or it is no amount the
    arithmetic can work with, which is fatal (CAP-4, CAP-6).
    """
    offered = device.capacity or {}
    for name in requested:
        if name not in offered:
            raise CapacityRefusedError("CAP-2", f"the device has no capacity {name}")
    return {name: _amount(name, entry, requested.get(name), fractional) for name, entry in sorted(offered.items())}


def _amount(name: str, capacity: DeviceCapacity, request: QuantityText | None, fractional: bool) -> int:
    policy, whole = capacity.request_policy or _NO_POLICY, nano(capacity.value)
    if request is None:
        taken = whole if policy.default is None else nano(policy.default)
    else:
        taken = _rounded(nano(request), policy, fractional)
    if taken < 0:
        raise CapacityRefusedError("CAP-6", f"the amount {_text(taken)} of {name} is negative", fatal=True)
    if policy is not _NO_POLICY and not _allowed(taken, policy, fractional):
        raise CapacityRefusedError("CAP-5", f"the request policy of {name} does not allow {_text(taken)}")
    if taken > whole:
        raise CapacityRefusedError("CAP-6", f"{_text(taken)} of {name} is more than the device has, {capacity.value}")
    return taken


def _text(taken: int) -> Quantity:
    return Quantity.from_nano(taken)


def _rounded(request: int, policy: CapacityRequestPolicy, fractional: bool) -> int:
    """CAP-3: up to the next amount that the policy offers."""
    if policy.valid_range is not None:
        return _into_range(request, policy.valid_range, fractional)
    return min((value for value in map(nano, policy.valid_values or ()) if value >= request), default=request)


def _into_range(request: int, offered: CapacityRange, fractional: bool) -> int:
    least = nano(offered.min or 0)
    if request < least:
        return least
    if offered.step is None:
        return request
    grid = _Grid.of(offered, fractional)
    taken = grid.next(request)
    if not grid.holds(request) or taken is None:
        raise CapacityRefusedError("CAP-4", f"{Quantity.from_nano(request)} is beyond the arithmetic", fatal=True)
    return taken


@dataclass(frozen=True, slots=True)
class _Grid:
    """The amounts of a range with steps, counted in ``unit`` billionths (CAP-4)."""

    unit: int
    start: int
    step: int

    @classmethod
    def of(cls, offered: CapacityRange, fractional: bool) -> _Grid:
        """Thousandths where the gate is on and every bound is made of them, else whole units, rounded up."""
        start, step = nano(offered.min or 0), nano(offered.step or 0)
        bounds = (start, step, nano(offered.max or 0))
        exact = step >= _NANO_PER_MILLI and all(map(_is_milli, bounds))
        unit = _NANO_PER_MILLI if fractional and exact else NANO
        return cls(unit, _up(start, unit), _up(step, unit))

    def holds(self, request: int) -> bool:
        """Whether the arithmetic can work with the request."""
        return _is_milli(request) if self.unit == _NANO_PER_MILLI else request <= INT64_MAX * NANO

    def next(self, request: int) -> int | None:
        """Return the amount at or above the request, in billionths; None if there is none in 64 bits."""
        if self.step <= 0:
            return None
        place = self.start + _up(_up(request, self.unit) - self.start, self.step) * self.step
        return place * self.unit if place <= INT64_MAX else None

    def has(self, amount: int) -> bool:
        """Whether the amount is one of the grid's."""
        return self.step > 0 and (_up(amount, self.unit) - self.start) % self.step == 0


def _up(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _is_milli(amount: int) -> bool:
    return amount % _NANO_PER_MILLI == 0 and abs(amount) <= INT64_MAX * _NANO_PER_MILLI


def _allowed(taken: int, policy: CapacityRequestPolicy, fractional: bool) -> bool:
    """CAP-5."""
    if policy.default is not None and taken == nano(policy.default):
        return True
    offered = policy.valid_range
    if offered is not None:
        above = offered.max is not None and taken > nano(offered.max)
        return not above and (offered.step is None or _Grid.of(offered, fractional).has(taken))
    return not policy.valid_values or taken in map(nano, policy.valid_values)


def overfull(device: Device, taken: Mapping[str, int], used: Mapping[str, int]) -> Iterator[Finding]:
    """CAP-6: the capacities that ``taken`` exceeds beside what is ``used``, in billionths."""
    for name, amount in taken.items():
        value = (device.capacity or {})[name].value
        if used[name] + amount > nano(value):
            yield Finding("CAP-6", f"{Quantity.from_nano(used[name] + amount)} of {name} are used of {value}")

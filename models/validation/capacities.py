"""Capacities of a device."""

from ..slices import DeviceCapacity
from .amounts import check_quantity, nano
from .attributes import check_names
from .findings import Findings, Key, Path
from .policies import check_policy

Capacities = dict[str, DeviceCapacity]


def check_capacities(
    found: Findings, path: Path, capacities: Capacities, driver: str, shared: bool, fractional: bool
) -> None:
    """All capacities of a device; policies need a device that may be ``shared`` (POL-1)."""
    check_names(found, path, tuple(capacities), driver)
    for name, capacity in capacities.items():
        if nano(capacity.value) is None:
            check_quantity(found, (*path, Key(name), "value"), capacity.value)
        if capacity.request_policy is None:
            continue
        where = (*path, Key(name), "requestPolicy")
        if not shared:
            found.forbidden(where, "may only be set when `allowMultipleAllocations` is true")
        check_policy(found, where, capacity.request_policy, capacity.value, fractional)

"""Devices without their names: what filters see of a device, once for all that look the same."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..models.gates import FeatureGates
from ..models.pools import PoolDevice
from ..models.slices import Device

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Everything about a device but its name, pool and node. Equal ones are one object.

    ``device`` is one of those that look like this; its name means nothing.
    """

    index: int
    driver: str
    device: Device
    skips_node_operations: bool
    # May be held by several at once; never while ConsumableCapacity is off.
    shared: bool


class Profiles:
    """All profiles met so far under one set of gates."""

    def __init__(self, gates: FeatureGates) -> None:
        self._sharing = gates.consumable_capacity
        # The stable variant hides from expressions that devices can be shared.
        self._hides_sharing = gates.variant == "stable"
        self._by_content: dict[tuple[str, bool, bytes], Profile] = {}

    def __len__(self) -> int:
        return len(self._by_content)

    def of(self, entry: PoolDevice) -> Profile:
        """Find the profile of a device of a pool."""
        device = entry.device
        if self._hides_sharing and device.allow_multiple_allocations:
            device = msgspec.structs.replace(device, allow_multiple_allocations=None)
        skips = bool(entry.slice.spec.skip_node_operations)
        key = (entry.driver, skips, _content(device))
        profile = self._by_content.get(key)
        if profile is None:
            shared = self._sharing and bool(device.allow_multiple_allocations)
            profile = Profile(len(self._by_content), entry.driver, device, skips, shared)
            self._by_content[key] = profile
        return profile


def _content(device: Device) -> bytes:
    return _encode(
        (
            device.attributes,
            device.capacity,
            device.consumes_counters,
            device.taints,
            device.binding_conditions,
            device.allow_multiple_allocations,
        )
    )

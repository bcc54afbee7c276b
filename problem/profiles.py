"""Devices without their names: what filters see of a device, once for all that look the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from ..cel.devices import is_readable
from ..models.gates import FeatureGates
from ..models.pools import PoolDevice
from ..models.slices import Device, DeviceAttribute
from .visible import Visible

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Everything that can be seen of a device, less its name, pool and node. Equal ones are one object.

    ``device`` is one of those that look like this; its name and values that nobody looks at mean nothing.
    """

    index: int
    driver: str
    device: Device
    skips_node_operations: bool
    # May be held by several at once; never while ConsumableCapacity is off.
    shared: bool


class Profiles:
    """All profiles met so far under one set of gates, for questions that look at the same; ``numbers`` are theirs."""

    def __init__(self, gates: FeatureGates, visible: Visible, numbers: Iterator[int]) -> None:
        self._sharing = gates.consumable_capacity
        # The stable variant hides from expressions that devices can be shared.
        self._hides_sharing = gates.variant == "stable"
        self._visible = visible
        self._numbers = numbers
        self._seen: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._readable: dict[DeviceAttribute, bool] = {}
        self._by_content: dict[tuple[str, bool, tuple[str, ...], bytes], Profile] = {}

    def __len__(self) -> int:
        return len(self._by_content)

    def of(self, entry: PoolDevice) -> Profile:
        """Find the profile of a device of a pool."""
        device = entry.device
        if self._hides_sharing and device.allow_multiple_allocations:
            device = msgspec.structs.replace(device, allow_multiple_allocations=None)
        skips = bool(entry.slice.spec.skip_node_operations)
        names = tuple(device.attributes or ())
        key = (entry.driver, skips, names, self._content(entry.driver, device, names))
        profile = self._by_content.get(key)
        if profile is None:
            shared = self._sharing and bool(device.allow_multiple_allocations)
            profile = Profile(next(self._numbers), entry.driver, device, skips, shared)
            self._by_content[key] = profile
        return profile

    def _content(self, driver: str, device: Device, names: tuple[str, ...]) -> bytes:
        """Write down what can be seen, beside the names; all of it where a value fails every expression (CEL-3)."""
        attributes = device.attributes or {}
        seen, hidden = self._split(driver, names)
        for name in hidden:
            # Plain texts are by far the most and never wrong; as keys they would only fill the memory.
            if attributes[name].string is None and not self._is_readable(attributes[name]):
                seen = names
                break
        return _encode(
            (
                [attributes[name] for name in seen],
                device.capacity,
                device.consumes_counters,
                device.taints,
                device.binding_conditions,
                device.allow_multiple_allocations,
            )
        )

    def _split(self, driver: str, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of attributes that are seen, and of those that are not."""
        found = self._seen.get((driver, names))
        if found is None:
            seen = self._visible.of(driver, names)
            found = self._seen[driver, names] = seen, tuple(name for name in names if name not in seen)
        return found

    def _is_readable(self, attribute: DeviceAttribute) -> bool:
        known = self._readable.get(attribute)
        if known is None:
            known = self._readable[attribute] = is_readable(attribute)
        return known

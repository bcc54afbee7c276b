"""What is published: devices, and the generations of pools they belong to (POOL-2, POOL-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeAlias

from ...models.gates import FeatureGates
from ...models.identity import DeviceId, PoolId
from ...models.slices import CounterSet, Device, ResourceSlice
from .capacity import nano
from .places import Located

CounterKey: TypeAlias = tuple[str, str]
"""A counter set and a counter in it."""


class Published(NamedTuple):
    """A device with the slice that publishes it."""

    device: Device
    slice: ResourceSlice
    id: DeviceId

    @property
    def driver(self) -> str:
        """The driver that published the device."""
        return self.id[0]

    @property
    def pool_id(self) -> PoolId:
        """Driver and pool name."""
        return self.id[:2]

    @property
    def place(self) -> Located:
        """Whose node selection counts: the device's own or the slice's."""
        return self.device if self.slice.spec.per_device_node_selection else self.slice.spec

    @property
    def consumption(self) -> Iterator[tuple[CounterKey, int]]:
        """What the device takes of counters, in billionths."""
        for taken in self.device.consumes_counters or ():
            for counter, amount in (taken.counters or {}).items():
                yield (taken.counter_set, counter), nano(amount.value)


def published(pieces: Iterable[ResourceSlice]) -> Iterator[Published]:
    """List the devices of slices, in their order."""
    for piece in pieces:
        driver, pool = piece.spec.driver, piece.spec.pool.name
        for device in piece.spec.devices or ():
            yield Published(device, piece, (driver, pool, device.name))


class Generation:
    """The slices of one generation of a pool, for whatever nodes they are."""

    def __init__(self) -> None:
        self.slices: list[ResourceSlice] = []
        # Slices that offer nothing for want of a feature, though the pool counts them (POOL-6).
        self.ignored = 0

    @cached_property
    def counter_sets(self) -> tuple[CounterSet, ...]:
        """The sets of all slices (POOL-8)."""
        return tuple(found for piece in self.slices for found in piece.spec.shared_counters or ())

    @cached_property
    def counters(self) -> dict[CounterKey, int]:
        """The declared values, in billionths."""
        return {
            (found.name, name): nano(counter.value)
            for found in self.counter_sets
            for name, counter in (found.counters or {}).items()
        }

    @cached_property
    def consumers(self) -> tuple[Published, ...]:
        """The devices that take from counters, on any node."""
        # Most slices have none.
        some = [piece for piece in self.slices if any(device.consumes_counters for device in piece.spec.devices or ())]
        return tuple(entry for entry in published(some) if entry.device.consumes_counters)

    @cached_property
    def consumers_by_name(self) -> dict[str, list[Published]]:
        """Consumers by device name, which the slices of several nodes may share."""
        found: dict[str, list[Published]] = defaultdict(list)
        for entry in self.consumers:
            found[entry.device.name].append(entry)
        return found

    @cached_property
    def consumers_by_set(self) -> dict[str, list[Published]]:
        """Consumers by the counter sets they take from."""
        found: dict[str, list[Published]] = defaultdict(list)
        for entry in self.consumers:
            for taken in entry.device.consumes_counters or ():
                found[taken.counter_set].append(entry)
        return found

    @cached_property
    def unknown_counter(self) -> str:
        """POOL-9: a device that takes from a counter which nobody declares; empty: none."""
        sets, counters = {found.name for found in self.counter_sets}, self.counters
        for entry in self.consumers:
            for taken in entry.device.consumes_counters or ():
                name = taken.counter_set
                if name not in sets:
                    return f"device {entry.device.name} consumes from unknown counter set {name}"
                for counter in taken.counters or ():
                    if (name, counter) not in counters:
                        return f"device {entry.device.name} consumes unknown counter {counter} of set {name}"
        return ""


def feature_missing(piece: ResourceSlice, gates: FeatureGates) -> str | None:
    """Name the rule by which a slice is ignored altogether, if any: its feature is off."""
    if not gates.partitionable_devices and (piece.spec.per_device_node_selection or piece.spec.shared_counters):
        return "POOL-2"
    taken = (taken for device in piece.spec.devices or () for taken in device.consumes_counters or ())
    if not gates.compatibility_groups and any(consumption.compatibility_groups for consumption in taken):
        return "GRP-5"
    return None

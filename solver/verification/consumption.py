"""What devices consume, in the stage ``least-consumption``: read again from the slices, as the guide says.

A kind is a driver with the name of a counter or of a capacity. Its weight is the inverse of what slices publish of it.
All kinds of a driver weigh alike, and an average card, or device with capacities that count, is 1,000,000. Amounts are
rounded up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

from ...models.cluster.cluster import Cluster
from .published import PublishedDevice, nano

_FULL = 1_000_000
_Kind = tuple[str, str]
"""Driver and name."""


class ConsumptionWeights:
    """The weights of all kinds of a cluster, for one billionth each."""

    def __init__(self, cluster: Cluster) -> None:
        counters, capacities = Counter[_Kind](), Counter[_Kind]()
        cards, devices = Counter[str](), Counter[str]()
        for one in cluster.slices:
            driver = one.spec.driver
            for counter_set in one.spec.shared_counters or ():
                cards[driver] += 1
                for name, counter in (counter_set.counters or {}).items():
                    counters[driver, name] += max(0, nano(counter.value))
            for device in one.spec.devices or ():
                # Others that draw counters count with these alone.
                counts = bool(device.allow_multiple_allocations or not device.consumes_counters)
                devices[driver] += bool(device.capacity) and counts
                for name, capacity in (device.capacity or {}).items() if counts else ():
                    capacities[driver, name] += max(0, nano(capacity.value))
        self._counters = _weights(counters, cards)
        self._capacities = _weights(capacities, devices)

    def of_share(self, entry: PublishedDevice, amounts: Iterable[tuple[str, int]]) -> int:
        """What a share counts that takes so much of each capacity, without counters of the device."""
        return _weighed(self._capacities, entry, amounts)

    def of_device(self, entry: PublishedDevice, draws: bool) -> int:
        """What a device counts that is taken alone; ``draws``: what it consumes of counters is drawn."""
        if entry.device.consumes_counters:
            drawn = ((name, amount) for (_, name), amount in entry.consumption) if draws else ()
            return _weighed(self._counters, entry, drawn)
        offered = (entry.device.capacity or {}).items()
        return _weighed(self._capacities, entry, ((name, nano(one.value)) for name, one in offered))


def _weights(totals: Mapping[_Kind, int], holders: Mapping[str, int]) -> Mapping[_Kind, Fraction]:
    kinds = Counter(driver for (driver, _), total in totals.items() if total)
    return {kind: Fraction(_FULL * holders[kind[0]], total * kinds[kind[0]]) for kind, total in totals.items() if total}


def _weighed(weights: Mapping[_Kind, Fraction], entry: PublishedDevice, amounts: Iterable[tuple[str, int]]) -> int:
    driver = entry.id[0]
    return sum(ceil(amount * weights.get((driver, name), 0)) for name, amount in amounts if amount > 0)

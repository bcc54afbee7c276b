"""Sums that witnesses name: of counters, capacities, compatibility groups and values (CTR-2, CAP-6, GRP-3, CON-7).

Amounts are billionths, as published. Counters of pools where a device gives some, instead of taking, count for nothing:
there the order decides. Shared devices draw no counters here, for a share of them may be in use (CTR-3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...models.kubernetes.meta import DeviceId
from .devices import groups_of
from .offers import DeviceOption, NodeOffers
from .published import PoolView, PublishedDevice

Row = tuple[Hashable, str]
"""A place that amounts are drawn from, such as a counter set or a device, and the name of the amount."""


class Amounts(Protocol):
    """What devices draw, and what is left."""

    def draws(self, option: DeviceOption, entry: PublishedDevice, view: PoolView) -> Mapping[Row, int]:
        """What a device draws if the option takes it."""

    def left(self, row: Row) -> int:
        """What is left of a row."""


class CounterAmounts:
    """Counters; a place is a counter set of a pool."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._left: dict[Row, int] = {}

    def draws(self, _: DeviceOption, entry: PublishedDevice, view: PoolView) -> Mapping[Row, int]:
        """What a partition takes of its counter sets."""
        if not self._offers.draws(entry) or self._offers.is_shared(entry) or self._offers.gives(view):
            return {}
        left = self._offers.stock(view).left() or {}
        found: Counter[Row] = Counter()
        for (counter_set, name), amount in entry.consumption:
            row = (view.id, counter_set), name
            found[row] += amount
            self._left[row] = left.get((counter_set, name), 0)
        return found

    def left(self, row: Row) -> int:
        """What what is in use leaves of a counter."""
        return self._left[row]


class CapacityAmounts:
    """Capacities of shared devices; a place is a device. Those of others are tested, not consumed (CAP-7)."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._left: dict[Row, int] = {}

    def draws(self, option: DeviceOption, entry: PublishedDevice, _: PoolView) -> Mapping[Row, int]:
        """What a share takes of the capacities of its device."""
        if not self._offers.is_shared(entry):
            return {}
        self._left.update(((entry.id, name), amount) for name, amount in self._offers.capacity_left(entry))
        return {(entry.id, name): amount for name, amount in self._offers.amounts(entry, option.requested)}

    def left(self, row: Row) -> int:
        """What the shares in use leave of a capacity."""
        return self._left[row]


def least_draw(rows: Amounts, options: Sequence[DeviceOption], name: str) -> tuple[int, set[Row]]:
    """What a request draws of rows of a name at least, whatever devices it takes, and the rows that it may touch."""
    totals: list[int] = []
    touched: set[Row] = set()
    for option in options:
        amounts: list[int] = []
        for entry, view in option.devices:
            own = {row: amount for row, amount in rows.draws(option, entry, view).items() if row[1] == name}
            touched |= own.keys()
            amounts += [sum(own.values())] if own else []
        # Its devices are all different; those that draw nothing come first.
        lacking = len(option.devices) - option.count
        totals.append(sum(sorted(amounts)[: max(0, len(amounts) - lacking)]))
    return min(totals), touched


@dataclass(slots=True)
class _Place:
    """The devices of a place, and the least amounts of the rows that all of them draw; None: no device yet."""

    devices: set[DeviceId]
    least: dict[Row, int] | None = None
    takers: int = 0


def room_of_places(
    rows: Amounts, needs: Sequence[Sequence[DeviceOption]], is_shared: Callable[[PublishedDevice], bool]
) -> int:
    """How many devices all places have room for; each request may take a shared device once."""
    places: dict[Hashable, _Place] = defaultdict(lambda: _Place(set()))
    for options in needs:
        shared: dict[Hashable, set[DeviceId]] = defaultdict(set)
        for option in options:
            for entry, view in option.devices:
                drawn = rows.draws(option, entry, view)
                key = next(iter(drawn))[0] if drawn else None
                place = places[key]
                here = {row: amount for row, amount in drawn.items() if row[0] == key}
                if place.least is None:
                    place.least = here
                else:
                    place.least = {row: min(at, here[row]) for row, at in place.least.items() if row in here}
                if is_shared(entry):
                    shared[key].add(entry.id)
                else:
                    place.devices.add(entry.id)
        for key, own in shared.items():
            places[key].takers += len(own)
    total = 0
    for place in places.values():
        fitting = [max(0, rows.left(row)) // amount for row, amount in (place.least or {}).items() if amount > 0]
        total += min([len(place.devices) + place.takers, *fitting])
    return total


def compatible_room(offers: NodeOffers, needs: Sequence[Sequence[DeviceOption]], counter_sets: Collection[str]) -> int:
    """How many devices requests can take at most if those of a counter set must be compatible (GRP-2).

    What draws from a counter set first decides whether groups count there, and of which groups all others are. Each
    device counts on the first of its counter sets that are among these.
    """
    room = 0
    single: dict[DeviceId, tuple[PublishedDevice, PoolView]] = {}
    for options in needs:
        own = {entry.id: (entry, view) for option in options for entry, view in option.devices}
        room += sum(offers.is_shared(entry) for entry, _ in own.values())
        single.update({key: pair for key, pair in own.items() if not offers.is_shared(pair[0])})
    places: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for entry, view in single.values():
        drawn = (entry.device.consumes_counters or ()) if offers.draws(entry) else ()
        taken = next((one for one in drawn if one.counter_set in counter_sets), None)
        if taken is None:
            room += 1
        else:
            places[view.id, taken.counter_set].update(groups_of(taken))
    return room + sum(max(counts.values(), default=1) for counts in places.values())


def cluster_number(lists: Collection[frozenset[object]]) -> int:
    """How many lists can be taken of which no two have a value in common, at most: one of each cluster."""
    left, clusters = set(lists), 0
    while left:
        times = Counter(value for token in left for value in token)
        most = max(times.values(), default=0)
        common = next((value for value, number in times.items() if number == most), None)
        left = {token for token in left if common not in token} if times else set()
        clusters += 1
    return clusters


Bundle = dict[frozenset[DeviceId], int]
"""What a claim takes from one value: numbers of devices of its own, by those that they may be."""


def room_of_values(bundles: Sequence[Bundle], values: Mapping[DeviceId, frozenset[object]]) -> int:
    """How many claims the devices of all values suffice for, rounded down for each value (CON-4, CON-7)."""
    union = frozenset[DeviceId]().union(*(devices for bundle in bundles for devices in bundle))
    least, first = min(sum(bundle.values()) for bundle in bundles), bundles[0]
    alike = all(bundle == first for bundle in bundles)
    room = 0
    for value in frozenset[object]().union(*values.values()):
        there = {device for device in union if value in values.get(device, ())}
        fitting = [len(there) // least]
        fitting += [len(there & devices) // count for devices, count in first.items() if count] if alike else []
        room += min(fitting)
    return room

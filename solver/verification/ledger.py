"""What is in use: before a unit (the allocated state), and within one (the attempt). Sections 4, 10, 11, 12."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterator

from ...models.claims import AllocationResult, DeviceRequestAllocationResult
from ...models.gates import FeatureGates
from ...models.slices import DeviceCounterConsumption
from .capacity import nano
from .published import DeviceId, PoolView, Published


def device_id(result: DeviceRequestAllocationResult) -> DeviceId:
    """The triple that names the device of a result."""
    return result.driver, result.pool, result.device


class Ledger:
    """Everything held by claims outside the unit being looked at (IN-2, IN-3)."""

    def __init__(self, gates: FeatureGates) -> None:
        self._gates = gates
        self.dedicated: set[DeviceId] = set()
        self.shares: Tally[DeviceId] = Tally()
        self.consumed: dict[DeviceId, Tally[str]] = defaultdict(Tally)

    def enter(self, allocation: AllocationResult) -> None:
        """Count an allocation as held; admin access does not hold (IN-3)."""
        for result in allocation.devices.results or ():
            if result.admin_access:
                continue
            held = device_id(result)
            if result.share_id is None or not self._gates.consumable_capacity:
                self.dedicated.add(held)
                continue
            self.shares[held] += 1
            for name, amount in (result.consumed_capacity or {}).items():
                self.consumed[held][name] += nano(amount)

    def holds(self, device: DeviceId) -> bool:
        """IN-4: whether the device counts as allocated."""
        return device in self.dedicated or device in self.shares


class Attempt:
    """What one unit has taken so far, result by result."""

    def __init__(self, before: Ledger) -> None:
        self.before = before
        self.picked: dict[DeviceId, set[int]] = defaultdict(set)
        self.shared: set[DeviceId] = set()
        self.consumed: dict[DeviceId, Tally[str]] = defaultdict(Tally)
        self._placed: list[Published] = []

    def take(self, entry: Published, claim: int, shared: bool) -> None:
        """Mark the device as taken: named for this claim, or as one more share (DEV-12)."""
        first_use = not (self.before.holds(entry.id) or entry.id in self.shared or entry.id in self.picked)
        if first_use or not shared:
            self._placed.append(entry)
        if shared:
            self.shared.add(entry.id)
        else:
            self.picked[entry.id].add(claim)

    def overdrawn(self, view: PoolView) -> Iterator[tuple[str, str]]:
        """CTR-1, CTR-2: the counters of the pool that the devices in use and taken exceed."""
        drawn: Tally[tuple[str, str]] = Tally()
        for entry in [*self._in_use(view), *self._taken(view)]:
            for name, counter, amount in _consumption(entry):
                drawn[name, counter] += amount
        for name, counters in view.counters.items():
            for counter, declared in counters.items():
                if drawn[name, counter] > nano(declared.value):
                    yield name, counter

    def groups_clash(self, view: PoolView) -> Iterator[str]:
        """GRP-2, GRP-3: the counter sets whose devices have no compatibility group in common."""
        seen: dict[str, list[frozenset[str]]] = defaultdict(list)
        for entry in [*self._in_use(view), *self._taken(view)]:
            for taken in entry.device.consumes_counters or ():
                seen[taken.counter_set].append(frozenset(taken.compatibility_groups or ()))
        for name, groups in seen.items():
            if any(groups) and not frozenset.intersection(*groups):
                yield name

    def declared_groups(self, view: PoolView, sets: tuple[DeviceCounterConsumption, ...]) -> bool:
        """GRP-5: whether the device, or one in use on a set it draws from, declares groups."""
        names = {taken.counter_set for taken in sets}
        others = (taken for entry in self._in_use(view) for taken in entry.device.consumes_counters or ())
        return any(taken.compatibility_groups for taken in sets) or any(
            taken.compatibility_groups for taken in others if taken.counter_set in names
        )

    def _in_use(self, view: PoolView) -> list[Published]:
        return [entry for entry in view.everywhere if self.before.holds(entry.id)]

    def _taken(self, view: PoolView) -> list[Published]:
        return [entry for entry in self._placed if entry.pool_id == view.id]


def _consumption(entry: Published) -> Iterator[tuple[str, str, int]]:
    for taken in entry.device.consumes_counters or ():
        for counter, amount in (taken.counters or {}).items():
            yield taken.counter_set, counter, nano(amount.value)

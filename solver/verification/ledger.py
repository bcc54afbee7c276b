"""What is in use: before a unit (the allocated state), and within one (the attempt). Sections 4 and 10."""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict

from ...models.claims import AllocationResult, DeviceRequestAllocationResult
from ...models.gates import FeatureGates
from ...models.identity import DeviceId, PoolId
from .capacity import nano
from .published import Published


def device_id(result: DeviceRequestAllocationResult) -> DeviceId:
    """Return the triple that names the device of a result."""
    return result.driver, result.pool, result.device


class Ledger:
    """Everything held by claims outside the unit being looked at (IN-2, IN-3)."""

    def __init__(self, gates: FeatureGates) -> None:
        self._gates = gates
        self.dedicated: set[DeviceId] = set()
        self.shares: dict[DeviceId, set[str]] = defaultdict(set)
        self.consumed: dict[DeviceId, Tally[str]] = {}
        # Devices of each pool in the order in which they came into use.
        self.newly_held: dict[PoolId, list[DeviceId]] = defaultdict(list)

    def enter(self, allocation: AllocationResult) -> None:
        """Count an allocation as held; admin access does not hold (IN-3)."""
        for result in allocation.devices.results or ():
            if not result.admin_access:
                self._enter(result)

    def _enter(self, result: DeviceRequestAllocationResult) -> None:
        held = device_id(result)
        if not self.holds(held):
            self.newly_held[held[:2]].append(held)
        if result.share_id is None or not self._gates.consumable_capacity:
            self.dedicated.add(held)
            return
        self.shares[held].add(result.share_id)
        if result.consumed_capacity is not None:
            used = self.consumed.setdefault(held, Tally())
            for name, amount in result.consumed_capacity.items():
                used[name] += nano(amount)

    def holds(self, device: DeviceId) -> bool:
        """IN-4: whether the device counts as allocated."""
        return device in self.dedicated or device in self.shares


class Attempt:
    """What one unit has taken so far, result by result."""

    def __init__(self, before: Ledger) -> None:
        self.before = before
        # Numbers of the claims that hold a dedicated device.
        self.picked: dict[DeviceId, set[int]] = defaultdict(set)
        self.shared: set[DeviceId] = set()
        self.consumed: dict[DeviceId, Tally[str]] = defaultdict(Tally)
        # Devices that took from the counters of each pool.
        self.drawing: dict[PoolId, list[Published]] = defaultdict(list)

    def shared_already(self, device: DeviceId) -> bool:
        """CTR-3: whether a share of the device is in use, so that another one costs no counters."""
        return device in self.before.shares or device in self.shared

    def take(self, entry: Published, claim: int, shared: bool) -> None:
        """Mark the device as taken: for this claim, or as one more share (DEV-12)."""
        if entry.device.consumes_counters and not (shared and self.shared_already(entry.id)):
            self.drawing[entry.pool_id].append(entry)
        if shared:
            self.shared.add(entry.id)
        else:
            self.picked[entry.id].add(claim)

    def used(self, device: DeviceId, capacity: str) -> int:
        """Add up what others and this unit consume of a capacity, in billionths."""
        before = self.before.consumed.get(device)
        return (before[capacity] if before else 0) + self.consumed[device][capacity]

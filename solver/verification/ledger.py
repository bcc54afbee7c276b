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
    """Everything held by claims outside the unit being looked at (IN-2, IN-3).

    It may go on where another one, ``before``, ends; that one must not change any more.
    """

    def __init__(self, gates: FeatureGates, before: Ledger | None = None) -> None:
        self._gates = gates
        self._before = before
        self._dedicated: set[DeviceId] = set()
        self._shared: set[DeviceId] = set()
        self._share_ids: set[str] = set()
        self._consumed: dict[DeviceId, Tally[str]] = {}
        # Devices of each pool in the order in which they came into use.
        self._held: dict[PoolId, list[DeviceId]] = defaultdict(list)

    def enter(self, allocation: AllocationResult) -> None:
        """Count an allocation as held; admin access does not hold (IN-3)."""
        for result in allocation.devices.results or ():
            if not result.admin_access:
                self._enter(result)

    def _enter(self, result: DeviceRequestAllocationResult) -> None:
        held = device_id(result)
        if not self.holds(held):
            self._held[held[:2]].append(held)
        if result.share_id is None or not self._gates.consumable_capacity:
            self._dedicated.add(held)
            return
        self._shared.add(held)
        self._share_ids.add(result.share_id)
        if result.consumed_capacity is not None:
            used = self._consumed.setdefault(held, Tally())
            for name, amount in result.consumed_capacity.items():
                used[name] += nano(amount)

    def holds(self, device: DeviceId) -> bool:
        """IN-4: whether the device counts as allocated."""
        if device in self._dedicated or device in self._shared:
            return True
        return self._before is not None and self._before.holds(device)

    def dedicates(self, device: DeviceId) -> bool:
        """Whether somebody has the device alone."""
        return device in self._dedicated or (self._before is not None and self._before.dedicates(device))

    def shares(self, device: DeviceId) -> bool:
        """Whether a share of the device is in use."""
        return device in self._shared or (self._before is not None and self._before.shares(device))

    def knows_share(self, share_id: str) -> bool:
        """Whether a share has this id."""
        return share_id in self._share_ids or (self._before is not None and self._before.knows_share(share_id))

    def consumed(self, device: DeviceId, capacity: str) -> int:
        """Add up what shares consume of a capacity, in billionths."""
        used = self._consumed.get(device)
        before = self._before.consumed(device, capacity) if self._before is not None else 0
        return before + (used[capacity] if used else 0)

    def held_since(self, pool: PoolId, known: int) -> list[DeviceId]:
        """List the pool's devices in the order in which they came into use, but for the first ``known``."""
        own = self._held.get(pool, [])
        if self._before is None:
            return own[known:]
        earlier = self._before.held_number(pool)
        before = self._before.held_since(pool, known) if known < earlier else []
        return before + own[max(0, known - earlier) :]

    def held_number(self, pool: PoolId) -> int:
        """Count the pool's devices in use."""
        before = self._before.held_number(pool) if self._before is not None else 0
        return before + len(self._held.get(pool, ()))


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
        return device in self.shared or self.before.shares(device)

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
        return self.before.consumed(device, capacity) + self.consumed[device][capacity]

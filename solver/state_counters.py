"""Shared counters while devices come and go (CTR-2, CTR-3, CTR-6)."""

from __future__ import annotations

from collections.abc import Sequence

from ..problem.records import Counters, InUse


class CounterTracker:
    """What this attempt draws from every counter row, and in which pools a row is overdrawn."""

    __slots__ = ("available", "consumption", "overdrawn", "pool_of_row", "shared", "shares", "used")
    fatal_under_all = False

    def __init__(self, counters: Counters, shared: frozenset[int], shares: Sequence[int], in_use: InUse) -> None:
        self.consumption = counters.consumption
        self.pool_of_row = counters.pool_of_row
        self.available = in_use.available
        self.used = [0] * len(counters.names)
        self.shared = shared
        self.shares = shares
        self.overdrawn: dict[int, int] = dict.fromkeys(counters.pool_of_row, 0)
        for row, pool in enumerate(counters.pool_of_row):
            self.overdrawn[pool] += in_use.available[row] < 0

    def add(self, device: int) -> bool:
        """Draw the device's counters; one overdrawn row anywhere in its pool is a no (CTR-2)."""
        amounts = self.consumption.get(device)
        if amounts is None or (device in self.shared and self.shares[device]):
            return True
        self._draw(amounts, 1)
        if self.overdrawn[self.pool_of_row[amounts[0][0]]]:
            self._draw(amounts, -1)
            return False
        return True

    def undo(self, device: int) -> None:
        """Give the device's counters back, unless another share still holds them."""
        amounts = self.consumption.get(device)
        if amounts is not None and not (device in self.shared and self.shares[device]):
            self._draw(amounts, -1)

    def _draw(self, amounts: Sequence[tuple[int, int]], sign: int) -> None:
        used, available, overdrawn = self.used, self.available, self.overdrawn
        for row, amount in amounts:
            before = used[row]
            after = used[row] = before + sign * amount
            limit = available[row]
            if (before > limit) != (after > limit):
                overdrawn[self.pool_of_row[row]] += 1 if after > limit else -1

"""Consumed capacity of shared devices (CAP-6 to CAP-8)."""

from __future__ import annotations

from collections.abc import Mapping

from ..problem.records import Amounts, Capacities, InUse


class CapacityState:
    """What is consumed of every capacity row, by the cluster and by this attempt."""

    __slots__ = ("consumed", "shared", "totals")

    def __init__(self, capacities: Capacities, shared: frozenset[int], in_use: InUse) -> None:
        self.totals = capacities.totals
        self.shared = shared
        self.consumed = [in_use.consumed.get(row, 0) for row in range(len(capacities.totals))]


class CapacityTracker:
    """The capacities as one demand draws on them."""

    __slots__ = ("amounts", "state")
    fatal_under_all = False

    def __init__(self, state: CapacityState, amounts: Mapping[int, Amounts]) -> None:
        self.state = state
        self.amounts = amounts

    def add(self, device: int) -> bool:
        """Consume the demand's amounts if they fit; a dedicated device is only tested (CAP-7)."""
        state = self.state
        amounts = self.amounts.get(device, ())
        consumed, totals = state.consumed, state.totals
        for row, amount in amounts:
            if consumed[row] + amount > totals[row]:
                return False
        if device in state.shared:
            for row, amount in amounts:
                consumed[row] += amount
        return True

    def undo(self, device: int) -> None:
        """Give back what ``add`` consumed."""
        if device in self.state.shared:
            consumed = self.state.consumed
            for row, amount in self.amounts.get(device, ()):
                consumed[row] -= amount

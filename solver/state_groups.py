"""Compatibility groups of the devices drawn from one counter set (section 12).

A counter set's state is None while nothing draws from it, 0 if only devices without groups do, and else a bit set:
bit 0 says "grouped", the others are the groups that all devices have in common.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..problem.records import Groups, InUse, compatible, joined_groups


class GroupTracker:
    """The running intersection of groups of every counter set."""

    __slots__ = ("history", "membership", "shared", "shares", "state")
    fatal_under_all = False

    def __init__(self, groups: Groups, shared: frozenset[int], shares: Sequence[int], in_use: InUse) -> None:
        self.membership = groups.membership
        self.state: list[int | None] = list(in_use.groups)
        self.shared = shared
        self.shares = shares
        self.history: list[tuple[int, int | None]] = []

    def add(self, device: int) -> bool:
        """Place the device on all its counter sets; a further share is not judged again (GRP-4)."""
        membership = self.membership.get(device, ())
        if device in self.shared and self.shares[device]:
            return True
        state = self.state
        for counter_set, groups in membership:
            if not compatible(state[counter_set], groups):
                return False
        for counter_set, groups in membership:
            self.history.append((counter_set, state[counter_set]))
            state[counter_set] = joined_groups(state[counter_set], groups)
        return True

    def undo(self, device: int) -> None:
        """Restore the states before the device came."""
        if device in self.shared and self.shares[device]:
            return
        for _ in self.membership.get(device, ()):
            counter_set, before = self.history.pop()
            self.state[counter_set] = before

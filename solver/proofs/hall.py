"""Requests that compete for the same devices, by Hall's theorem (P. Hall, On Representatives of Subsets, 1935).

Some set of requests needs more devices than all of its devices together, or every request can be served: the maximum
flow decides, and its minimum cut is the set. Devices that the same requests may take are one cell of the flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...problem.justification import Justification
from .tally import Need, Tally, members
from .wording import justified, plural, verb, who


def competition(tally: Tally) -> Justification | None:
    """A set of requests needs more dedicated devices than there are for all of them (DEV-1, DEV-13)."""
    if len(tally.needs) < 2:
        return None
    own = [(need, *own_devices(tally, need)) for need in tally.competing()]
    wanted: dict[int, int] = {}
    for _, count, mask in own:
        if count:
            wanted[mask] = wanted.get(mask, 0) + count
    sets = deficient(wanted)
    if not sets:
        return None
    needs = [need for need, count, mask in own if count and mask in sets]
    return _justification(tally, needs, sum(wanted[mask] for mask in sets), union(sets).bit_count())


def deficient(wanted: Mapping[int, int]) -> tuple[int, ...]:
    """Find sets (keys) whose wanted numbers are more in total than the members of their union; empty if none are."""
    for mask, count in wanted.items():
        if count > mask.bit_count():
            return (mask,)
    if len(wanted) < 2 or sum(wanted.values()) <= min(mask.bit_count() for mask in wanted):
        return ()
    return _Flow(wanted).run()


def union(masks: Sequence[int]) -> int:
    """Unite bit sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found


def own_devices(tally: Tally, need: Need) -> tuple[int, int]:
    """Return how many dedicated devices the request takes at least, and which these may be."""
    if len(need.options) == 1:
        mask = tally.masks[need.options[0]]
        return max(0, tally.least(need) - (mask & tally.shared).bit_count()), mask & ~tally.shared
    counts = [
        tally.problem.demands[option].count - (tally.masks[option] & tally.shared).bit_count()
        for option in need.options
    ]
    return max(0, min(counts)), tally.devices(need) & ~tally.shared


def _justification(tally: Tally, needs: Sequence[Need], wanted: int, there: int) -> Justification:
    own = " of their own" if tally.shared else ""
    needed = f"{who(tally, needs)} {verb(needs, 'needs', 'need')} {plural(wanted, 'device')}{own}"
    return justified("devices", f"{needed}, {there} can be used", tally, needs)


class _Flow:
    """Members flow from cells to sets, along shortest augmenting paths."""

    def __init__(self, wanted: Mapping[int, int]) -> None:
        # Sets with few members first: fewer paths must be changed.
        self._sets = sorted(wanted, key=lambda mask: (mask.bit_count(), mask))
        self._missing = [wanted[mask] for mask in self._sets]
        cells = _cells(self._sets)
        self._left = list(cells.values())
        self._reach: list[list[int]] = [[] for _ in self._sets]
        for cell, owners in enumerate(cells):
            for number in members(owners):
                self._reach[number].append(cell)
        # What each cell gives to which set.
        self._given: list[dict[int, int]] = [{} for _ in cells]

    def run(self) -> tuple[int, ...]:
        """Serve one set after the other; the sets on the way to a dead end are deficient."""
        for start in range(len(self._sets)):
            while self._missing[start]:
                reached, cell = self._search(start)
                if cell is None:
                    return tuple(self._sets[number] for number in reached)
                self._augment(start, cell, reached)
        return ()

    def _search(self, start: int) -> tuple[dict[int, int], int | None]:
        """Find a cell with something left; also, for each set on the way, the cell it was reached by."""
        reached = {start: -1}
        self._source: dict[int, int] = {}
        queue = [start]
        for number in queue:
            for cell in self._reach[number]:
                if cell in self._source:
                    continue
                self._source[cell] = number
                if self._left[cell]:
                    return reached, cell
                for other in self._given[cell]:
                    if other not in reached:
                        reached[other] = cell
                        queue.append(other)
        return reached, None

    def _augment(self, start: int, end: int, reached: Mapping[int, int]) -> None:
        """Give along the path that ends at this cell, each set on it from another cell than before."""
        steps = []
        cell = end
        while cell >= 0:
            number = self._source[cell]
            steps.append((cell, number))
            cell = reached[number]
        replaced = [self._given[reached[number]][number] for _, number in steps if number != start]
        given = min(self._missing[start], self._left[end], *replaced)
        for cell, number in steps:
            self._move(cell, number, given)
            if number != start:
                self._move(reached[number], number, -given)
        self._left[end] -= given
        self._missing[start] -= given

    def _move(self, cell: int, number: int, given: int) -> None:
        gifts = self._given[cell]
        gifts[number] = gifts.get(number, 0) + given
        if not gifts[number]:
            del gifts[number]


def _cells(sets: Sequence[int]) -> Counter[int]:
    """Count the members that are in the same sets: the keys are bit sets of the sets' numbers."""
    owners: dict[int, int] = {}
    for number, mask in enumerate(sets):
        for member in members(mask):
            owners[member] = owners.get(member, 0) | 1 << number
    return Counter(owners.values())

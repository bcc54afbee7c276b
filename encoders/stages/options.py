"""What a node still offers before a choice is made: its free devices, and its whole groups of matching devices.

Each of them is something that a later claim may ask for. Its size is that of its capacities, in thousandths of the
largest device that the cluster's driver has (the mean over the names of its capacities); of what is left of them on a
shareable device; without capacities the part of a card that it draws; without counters too a whole device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...problem.landscape import WHOLE
from ...problem.order import draws_anew
from ...problem.records import InUse, Problem
from ..collapsed import Merged
from .opened import cards

# The square of a size must be a coefficient that the solver can take.
LARGEST_SIZE = 46_340

_THOUSANDTHS = WHOLE // 1000


@dataclass(frozen=True, slots=True)
class Group:
    """Free devices of one driver with one value of an attribute; a card counts as its largest free device."""

    members: frozenset[int]
    size: int


@dataclass(frozen=True, slots=True)
class Options:
    """Sizes of the free devices, the groups, and which groups each device is a member of."""

    sizes: dict[int, int]
    groups: tuple[Group, ...]
    groups_of: dict[int, tuple[int, ...]]


def options(merged: Merged) -> Options:
    """List what is on offer beside what is in use."""
    problem, in_use = merged.problem, merged.in_use
    sizes = {device: size for device in _free(problem, in_use) if (size := _size(problem, in_use, device))}
    groups = tuple(_groups(problem, sizes))
    groups_of: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for device in sorted(group.members):
            groups_of[device].append(number)
    return Options(sizes, groups, {device: tuple(numbers) for device, numbers in groups_of.items()})


def worth(size: int) -> int:
    """What losing an option of this size costs: twice the size counts four times."""
    return min(size, LARGEST_SIZE) ** 2


def _free(problem: Problem, in_use: InUse) -> Iterator[int]:
    """Yield the devices that nobody holds and that the counters have room for."""
    counters, available = problem.counters, in_use.available
    blocked = {pool for pool, left in zip(counters.pool_of_row, available, strict=True) if left < 0}
    for device in range(problem.size):
        if device in in_use.dedicated or not problem.landscape.reachable[device]:
            continue
        amounts = counters.consumption.get(device, ()) if draws_anew(problem, in_use, device) else ()
        if all(amount <= available[row] and counters.pool_of_row[row] not in blocked for row, amount in amounts):
            yield device


def _size(problem: Problem, in_use: InUse, device: int) -> int:
    """Measure a free device; 0 for what cannot be used up: a shareable device without capacities."""
    rows = problem.capacities.rows.get(device, ())
    if device in problem.shared:
        return _thousandths(sum(_left(problem, in_use, row) for row in rows))
    if rows:
        return max(1, _thousandths(sum(problem.landscape.weights[row] for row in rows)))
    amounts = problem.counters.consumption.get(device)
    if not amounts:
        return _thousandths(WHOLE)
    totals = problem.landscape.totals
    parts = [amount * WHOLE // totals[row] for row, amount in amounts if totals[row] > 0]
    return min(1000, max(1, _thousandths(sum(parts) // max(1, _card_rows(problem, device)))))


def _left(problem: Problem, in_use: InUse, row: int) -> int:
    total = problem.capacities.totals[row]
    left = max(0, total - in_use.consumed.get(row, 0))
    return problem.landscape.weights[row] * left // total if total > 0 else 0


def _card_rows(problem: Problem, device: int) -> int:
    counters, parts = problem.counters, cards(problem, device)
    return sum((pool, name) in parts for pool, (name, _) in zip(counters.pool_of_row, counters.names, strict=True))


def _thousandths(size: int) -> int:
    return -(-size // _THOUSANDTHS)


def _groups(problem: Problem, sizes: dict[int, int]) -> Iterable[Group]:
    """Find groups of two or more; two attributes with the same groups count once."""
    landscape = problem.landscape
    found: dict[frozenset[int], Group] = {}
    for grouping in landscape.groupings:
        matching: dict[tuple[int, int], list[int]] = defaultdict(list)
        for device in sizes:
            if grouping[device]:
                matching[landscape.drivers[device], grouping[device]].append(device)
        for devices in matching.values():
            group = _group(problem, sizes, devices)
            if group is not None:
                found.setdefault(group.members, group)
    return found.values()


def _group(problem: Problem, sizes: dict[int, int], devices: Iterable[int]) -> Group | None:
    by_card: dict[object, list[int]] = defaultdict(list)
    for device in devices:
        by_card[cards(problem, device) or device].append(device)
    if len(by_card) < 2:
        return None
    largest = [max(sizes[device] for device in members) for members in by_card.values()]
    members = frozenset(
        device
        for size, members in zip(largest, by_card.values(), strict=True)
        for device in members
        if sizes[device] == size
    )
    return Group(members, sum(largest))

"""Devices in parts that have nothing to do with each other, where every copy stays within one of them.

What fits on all parts is then the sum, and each of them is small: eight partitioned GPUs are eight times one. A solver
that has to find out by itself that the parts are independent tries their combinations.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from ..problem.constraints import ODD
from ..problem.order import giving_pools
from ..problem.records import Constraint, Problem
from .capacity_copies import has_admin

T = TypeVar("T", bound=Hashable)


def linked(keys: Mapping[T, Sequence[Hashable]]) -> list[tuple[T, ...]]:
    """Group what has keys in common, also by way of others; groups and members in the order given."""
    parent: dict[Hashable, Hashable] = {}

    def root(item: Hashable) -> Hashable:
        while (up := parent.setdefault(item, item)) != item:
            parent[item] = item = parent[up]
        return item

    for item, own in keys.items():
        for key in own:
            parent[root(("key", key))] = root(("item", item))
    groups: dict[Hashable, list[T]] = {}
    for item in keys:
        groups.setdefault(root(("item", item)), []).append(item)
    return list(map(tuple, groups.values()))


def parts(problem: Problem, candidates: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Divide the usable devices; one part or none where it is not known that copies stay within parts.

    A copy that takes one device does; so does one all of whose devices have a value in common. Devices that draw from
    one counter set stay together.
    """
    if has_admin(problem) or giving_pools(problem):
        return []
    ties: list[Constraint] = [] if _takes_one(problem) else [one for one in problem.constraints if _ties(problem, one)]
    if not ties and not _takes_one(problem):
        return []
    devices = sorted({device for own in candidates for device in own})
    keys = {device: [*_stocks(problem, device), *_values(ties[:1], device)] for device in devices}
    return list(map(frozenset, linked(keys)))


def _takes_one(problem: Problem) -> bool:
    requests = [request for claim in problem.claims for request in claim.requests]
    return len(requests) == 1 and all(one.count == 1 and not one.all_devices for one in problem.demands)


def _ties(problem: Problem, constraint: Constraint) -> bool:
    """Tell whether a constraint ties all devices of a copy to one value, which each device has whoever asks."""
    if constraint.kind != "matchAttribute" or len(constraint.tokens) < len(problem.demands):
        return False
    first, *others = constraint.tokens.values()
    alike = all(tokens is first or tokens == first for tokens in others)
    return alike and (constraint.sets or ODD not in first.values())


def _stocks(problem: Problem, device: int) -> Iterator[Hashable]:
    """Yield the counter sets that a device draws from."""
    names = problem.counters.names
    for row, _ in problem.counters.consumption.get(device, ()):
        yield problem.counters.pool_of_row[row], names[row][0]
    for place, _ in problem.groups.membership.get(device, ()):
        yield problem.groups.sets[place]


def _values(ties: Sequence[Constraint], device: int) -> Iterator[Hashable]:
    """Yield the value that ties the device to others, of a list every member."""
    for tie in ties:
        token = next(iter(tie.tokens.values())).get(device, 0)
        if not tie.sets:
            yield token
            continue
        yield from (bit for bit in range(token.bit_length()) if token >> bit & 1)

"""Many copies of the claims of one unit, side by side in one Problem, and devices in independent parts.

Where every copy stays within one part, what fits is the sum over the parts: eight partitioned GPUs are eight times one.
A solver that has to find that out by itself tries the combinations of the parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from ...problem.constraints import INCOMPARABLE, pools_with_negative_draws
from ...problem.problem import Constraint, Demand, Problem
from .engine import Pick


def per_copy(problem: Problem, picks: tuple[Pick, ...], times: int) -> list[tuple[Pick, ...]]:
    """Tell the picks for so many copies of a problem apart again, by the numbers of the problem itself."""
    size = len(problem.demands)
    copies: list[list[Pick]] = [[] for _ in range(times)]
    for pick in picks:
        copy, demand = divmod(pick.demand, size)
        copies[copy].append(Pick(demand, pick.device))
    return list(map(tuple, copies))


def only_unlimited_devices(problem: Problem) -> Problem:
    """Leave only devices that can be taken any number of times: with admin access, or shares that consume nothing.

    A copy that is content with them fits as often as one likes: the second takes the same again, draws no counters
    (CTR-3) and no capacity. A copy that is not holds a device alone or some of a capacity, so that the number ends.
    """

    def is_unlimited(demand: Demand, device: int) -> bool:
        amounts = demand.amounts.get(device, ())
        return demand.admin or (device in problem.shared and not any(amount > 0 for _, amount in amounts))

    return problem.restricted(is_unlimited)


T = TypeVar("T", bound=Hashable)


def connected_groups(keys: Mapping[T, Sequence[Hashable]]) -> list[tuple[T, ...]]:
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


def independent_parts(problem: Problem, candidates: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Divide the usable devices; one part or none where it is not known that copies stay within parts.

    A copy that takes one device does; so does one all of whose devices have a value in common. Devices that draw from
    one counter set stay together.
    """
    if problem.has_admin or pools_with_negative_draws(problem):
        return []
    ties: list[Constraint] = (
        [] if _takes_one(problem) else [one for one in problem.constraints if _is_tie(problem, one)]
    )
    if not ties and not _takes_one(problem):
        return []
    devices = sorted({device for own in candidates for device in own})
    keys = {device: [*_counter_sets(problem, device), *_tie_values(ties[:1], device)] for device in devices}
    return list(map(frozenset, connected_groups(keys)))


def _takes_one(problem: Problem) -> bool:
    requests = [request for claim in problem.claims for request in claim.requests]
    return len(requests) == 1 and all(one.count == 1 and not one.all_devices for one in problem.demands)


def _is_tie(problem: Problem, constraint: Constraint) -> bool:
    """Tell whether a constraint ties all devices of a copy to one value, the same value for all requests."""
    if constraint.kind != "matchAttribute" or len(constraint.tokens) < len(problem.demands):
        return False
    first, *others = constraint.tokens.values()
    alike = all(tokens is first or tokens == first for tokens in others)
    return alike and (constraint.sets or INCOMPARABLE not in first.values())


def _counter_sets(problem: Problem, device: int) -> Iterator[Hashable]:
    """Yield the counter sets that a device draws from."""
    names = problem.counters.names
    for row, _ in problem.counters.consumption.get(device, ()):
        yield problem.counters.pool_of_row[row], names[row][0]
    for place, _ in problem.groups.membership.get(device, ()):
        yield problem.groups.sets[place]


def _tie_values(ties: Sequence[Constraint], device: int) -> Iterator[Hashable]:
    """Yield the value that ties the device to others, of a list every member."""
    for tie in ties:
        token = next(iter(tie.tokens.values())).get(device, 0)
        if not tie.sets:
            yield token
            continue
        yield from (bit for bit in range(token.bit_length()) if token >> bit & 1)

"""Devices folded into sums: node classes where what a unit takes is an amount of each of some limits, and no more.

Every request of such a unit has a set of devices that are alike: they draw the same counters, and sets of different
requests have nothing in common. So a unit counts what it draws of each counter, and how many devices of a set it takes.
A set may also be one device that claims share: then a unit counts what it consumes of each capacity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from ....problem.constraints import pools_with_negative_draws
from ....problem.filters import usable_devices
from ....problem.problem import Demand, InUse, Problem
from ...engines.engine import Pick
from .bundle import BundleQuestion, BundleUnit, Picks
from .lagrangian import LinearNode, LinearUnit

Limit = tuple[str, int]
"""What is limited: a resource of the node, a row of counters or of capacities, or the devices of a set, by number."""
_RESOURCE, _COUNTER, _CAPACITY, _SET = "resource", "counter", "capacity", "set"


@dataclass(frozen=True, slots=True)
class FoldedNode:
    """A node class as sums: the node, the units that it takes, and for each unit the devices of each of its demands.

    ``most`` is how many of a unit there are devices for, where no other unit takes these.
    """

    node: LinearNode
    units: Mapping[int, LinearUnit]
    most: Mapping[int, int]
    demands: Mapping[int, Sequence[tuple[Demand, tuple[int, ...]]]]
    shared: frozenset[int]

    def copies(self, units: Sequence[int]) -> dict[int, list[Picks]]:
        """Give devices to units, each set in its order; equal units may come several times."""
        taken = Counter[tuple[int, ...]]()
        found: dict[int, list[Picks]] = {unit: [] for unit in units}
        for unit in units:
            picks: list[Pick] = []
            for demand, devices in self.demands[unit]:
                first = 0 if devices[0] in self.shared else taken[devices]
                picks += [Pick(demand.index, device) for device in devices[first : first + demand.count]]
                taken[devices] += demand.count
            found[unit].append(tuple(picks))
        return found


def fold_devices(question: BundleQuestion) -> FoldedNode | None:
    """Fold the devices of a node class; None where sums do not express it."""
    if any(question.meters) or any(unit.provides or unit.names for unit in question.units):
        return None
    if not all(_has_plain_requests(unit.problem) for unit in question.units):
        return None
    if any(left < 0 for left in question.in_use.available):
        return None
    demands: dict[int, list[tuple[Demand, tuple[int, ...]]]] = {}
    for unit in question.units:
        own = list(zip(unit.problem.demands, usable_devices(unit.problem, question.in_use), strict=True))
        if all(len(devices) >= demand.count for demand, devices in own):
            demands[unit.index] = own
    units = [unit for unit in question.units if unit.index in demands]
    sets = [(unit, demand, devices) for unit in units for demand, devices in demands[unit.index]]
    if not _are_apart({devices for _, _, devices in sets}) or not all(
        _is_alike(unit.problem, demand, devices) for unit, demand, devices in sets
    ):
        return None
    shared = frozenset(device for unit in units for device in unit.problem.shared)
    users = Counter(devices for _, _, devices in sets)
    numbers = {devices: number for number, devices in enumerate(sorted(users))}
    amounts = {unit.index: _amounts(unit, demands[unit.index], shared) for unit in units}
    most: dict[int, int] = {}
    limits = {(_RESOURCE, number): left for number, left in enumerate(question.left)}
    for unit, demand, devices in sets:
        if devices[0] in shared:
            continue
        if users[devices] == 1:
            most[unit.index] = min(most.get(unit.index, len(devices)), len(devices) // demand.count)
        else:
            amounts[unit.index][_SET, numbers[devices]] += demand.count
            limits[_SET, numbers[devices]] = len(devices)
    for unit in units:
        limits.update(_row_limits(unit.problem, question.in_use, amounts[unit.index]))
    return _folded(limits, amounts, most, demands, shared)


def _folded(
    limits: Mapping[Limit, int],
    amounts: Mapping[int, Mapping[Limit, int]],
    most: Mapping[int, int],
    demands: Mapping[int, Sequence[tuple[Demand, tuple[int, ...]]]],
    shared: frozenset[int],
) -> FoldedNode:
    """Write limits in the steps in which units take of them."""
    steps = {limit: gcd(*(own.get(limit, 0) for own in amounts.values())) or 1 for limit in limits}
    left = tuple(max(0, amount) // steps[limit] for limit, amount in limits.items())
    units = {
        index: LinearUnit(needs=tuple(own.get(limit, 0) // step for limit, step in steps.items()))
        for index, own in amounts.items()
    }
    return FoldedNode(LinearNode((), 1, left, frozenset(units)), units, most, demands, shared)


def _has_plain_requests(problem: Problem) -> bool:
    """Whether nothing relates devices, and every request is for a number of them."""
    if problem.constraints or problem.relations or problem.has_lists:
        return False
    if pools_with_negative_draws(problem):
        return False
    demands = problem.demands
    return not any(one.all_devices or one.admin or one.node_draws or one.count <= 0 for one in demands)


def _are_apart(sets: set[tuple[int, ...]]) -> bool:
    """Whether no device is in two of the sets."""
    return sum(map(len, sets)) == len({device for devices in sets for device in devices})


def _is_alike(problem: Problem, demand: Demand, devices: Sequence[int]) -> bool:
    """Whether it makes no difference which of the devices a demand takes."""
    if any(problem.groups.membership.get(device) for device in devices):
        return False
    drawn = {tuple(sorted(problem.counters.consumption.get(device, ()))) for device in devices}
    if problem.shared.isdisjoint(devices):
        return len(drawn) == 1
    others = sum(own.claim == demand.claim for own in problem.demands) > 1
    return len(devices) == demand.count == 1 and drawn == {()} and not others


def _amounts(
    unit: BundleUnit, demands: Sequence[tuple[Demand, tuple[int, ...]]], shared: frozenset[int]
) -> Counter[Limit]:
    """What one unit takes of resources, counters and capacities."""
    found = Counter({(_RESOURCE, number): need for number, need in enumerate(unit.needs)})
    for demand, devices in demands:
        if devices[0] in shared:
            found.update({(_CAPACITY, row): amount for row, amount in demand.amounts.get(devices[0], ())})
        else:
            drawn = unit.problem.counters.consumption.get(devices[0], ())
            found.update({(_COUNTER, row): amount * demand.count for row, amount in drawn})
    return found


def _row_limits(problem: Problem, in_use: InUse, amounts: Mapping[Limit, int]) -> Iterator[tuple[Limit, int]]:
    """Yield what is left of the rows that a unit takes of."""
    for kind, row in amounts:
        if kind == _COUNTER:
            yield (kind, row), in_use.available[row]
        elif kind == _CAPACITY:
            yield (kind, row), problem.capacities.totals[row] - in_use.consumed.get(row, 0)

"""From counts back to devices: by name order, and always in the same way.

Devices of a lot are interchangeable, so that the first free ones are taken. What a merged branch takes is dealt out to
its copies: sorted by device and then in turn, so that a shareable device, which comes at most once for each copy, goes
to different ones (DEV-13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, groupby

from .classes import MergedAlternative, MergedConstraint, SymmetryReducedProblem
from .constraints.attributes import DISTINCT, MATCH
from .model import AllocationModel, ConfiguredUnit, PlacementLiteral, TakeKey

DemandDevice = tuple[int, int]
"""A demand and a device, by their numbers in the Problem."""


def decode_solution(model: AllocationModel, values: Sequence[int]) -> tuple[DemandDevice, ...]:
    """List what each demand takes, in search order; ``values`` are those of the model's variables."""
    counts = {key: values[variable] for key, variable in model.takes.items()}
    devices = _taken_devices(model.collapsed, counts)
    chosen = _served_demands(model, values)
    entries = {
        branch: constraint
        for constraint in model.merged.constraints
        if len(constraint.claims) > 1
        for branch in constraint.branches
    }
    taken: list[DemandDevice] = []
    for unit in model.configured:
        taken += _deal_by_configuration(model, unit, devices, values)
    dealt = {branch for unit in model.configured for branch in unit.branches}
    for branch in model.merged.branches:
        if branch.index in dealt:
            continue
        demands, constraint = chosen[branch.index], entries.get(branch.index)
        if branch.index in model.bundles:
            taken += _deal_by_placement(branch, demands, model.bundles[branch.index], values)
        elif constraint is None:
            taken += _deal_in_turn(devices[branch.index], demands)
        else:
            taken += _DEALING[constraint.record.kind](branch, demands, constraint, devices[branch.index])
    return tuple(sorted(taken))


def _taken_devices(collapsed: SymmetryReducedProblem, counts: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Find for each branch the devices it takes, a shareable one as often as it does."""
    shared = collapsed.merged.problem.shared
    branches = collapsed.merged.branches
    found: list[list[int]] = [[] for _ in branches]
    for lot in collapsed.lots:
        free = iter(lot.devices)
        for branch in lot.branches:
            count = counts[branch, lot.index]
            alone = lot.first in shared or branches[branch].admin or lot.size == 1
            found[branch] += [lot.first] * count if alone else [next(free) for _ in range(count)]
    return [sorted(devices) for devices in found]


def _served_demands(model: AllocationModel, values: Sequence[int]) -> list[tuple[int, ...]]:
    """Serve the first copies by the first alternative, the next ones by the next (SRCH-4); of units the first ones."""
    chosen: list[tuple[int, ...]] = []
    problem, left_out = model.merged.problem, model.units.left_out(values)
    for request in model.merged.requests:
        start = 0
        for number in request.branches:
            branch, choice = model.merged.branches[number], model.choices[number]
            served = branch.demands
            if left_out:
                served = tuple(demand for demand in served if problem.demands[demand].claim not in left_out)
            count = len(served) if choice is None else values[choice]
            chosen.append(served[start : start + count])
            start += count
    return chosen


def _deal_in_turn(devices: Iterable[int], demands: Sequence[int]) -> Iterator[DemandDevice]:
    """Deal devices out in turn: those that come several times go to different demands."""
    return zip(cycle(demands), devices) if demands else iter(())


def _deal_by_placement(
    branch: MergedAlternative, demands: Sequence[int], bundles: Iterable[PlacementLiteral], values: Sequence[int]
) -> Iterator[DemandDevice]:
    """Give each claim the devices of one bundle."""
    chosen = sorted(sorted(own) for literal, own in bundles if values[literal])
    for number, own in enumerate(chosen):
        start = number * branch.per_claim
        yield from _deal_in_turn(own, demands[start : start + branch.per_claim])


def _deal_by_configuration(
    model: AllocationModel, unit: ConfiguredUnit, devices: Sequence[Iterable[int]], values: Sequence[int]
) -> Iterator[DemandDevice]:
    """Give each copy of a unit the devices of one configuration."""
    lot_of = {device: lot.index for lot in model.collapsed.lots for device in lot.devices}
    left: dict[TakeKey, list[int]] = defaultdict(list)
    for branch in unit.branches:
        for device in reversed(list(devices[branch])):
            left[branch, lot_of[device]].append(device)
    chosen = [places for variable, places in unit.choices for _ in range(values[variable])]
    for copy, places in enumerate(chosen):
        own: dict[int, list[int]] = defaultdict(list)
        for place, count in places:
            own[place[0]] += [left[place].pop() for _ in range(count)]
        for request in sorted({model.merged.branches[branch].request for branch in unit.branches}):
            yield from _deal_to_copy(model, request, copy, unit.copies, own)


def _deal_to_copy(
    model: AllocationModel, request: int, copy: int, copies: int, own: Mapping[int, Sequence[int]]
) -> Iterator[DemandDevice]:
    """Deal out what one copy of a unit takes for a request: its first part to the first alternative."""
    start = 0
    for number in model.merged.requests[request].branches:
        branch, devices = model.merged.branches[number], sorted(own.get(number, ()))
        size, count = branch.copies // copies, len(devices) // max(1, branch.count)
        first = copy * size + start
        yield from _deal_in_turn(devices, branch.demands[first : first + count])
        start += count


def _deal_by_equal_value(
    branch: MergedAlternative, demands: Sequence[int], constraint: MergedConstraint, devices: Iterable[int]
) -> Iterator[DemandDevice]:
    """Give each claim all it takes of one value; claims go through the values in order."""
    tokens = constraint.record.tokens[branch.demands[0]]
    start = 0
    for _, group in groupby(sorted(devices, key=lambda device: (tokens[device], device)), key=tokens.__getitem__):
        own = list(group)
        end = start + len(own) // branch.count
        yield from _deal_in_turn(own, demands[start:end])
        start = end


def _deal_by_distinct_value(
    branch: MergedAlternative, demands: Sequence[int], constraint: MergedConstraint, devices: Iterable[int]
) -> Iterator[DemandDevice]:
    """Deal out by value, to one claim after the other: no claim gets a value twice."""
    tokens = constraint.record.tokens[branch.demands[0]]
    # Only one request of each claim is covered, so that every copy is of another claim.
    return _deal_in_turn(sorted(devices, key=lambda device: (tokens[device], device)), demands)


_DEALING: dict[
    str, Callable[[MergedAlternative, Sequence[int], MergedConstraint, Iterable[int]], Iterator[DemandDevice]]
] = {MATCH: _deal_by_equal_value, DISTINCT: _deal_by_distinct_value}

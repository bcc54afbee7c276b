"""From counts back to devices: by name order, and always in the same way.

Devices of a symmetry class are interchangeable, so that the first free ones are taken. What a merged alternative takes
is dealt out to its copies: sorted by device and then in turn, so that a shareable device, which comes at most once for
each copy, goes to different ones (DEV-13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, groupby, islice

from .constraints.attributes import DISTINCT, MATCH
from .model import AllocationModel, ConfiguredUnit, PlacementLiteral, TakeKey
from .symmetry import MergedAlternative, MergedConstraint, SymmetryReducedProblem

DemandDevice = tuple[int, int]
"""A demand and a device, by their numbers in the Problem."""


def decode_solution(model: AllocationModel, values: Sequence[int]) -> tuple[DemandDevice, ...]:
    """List what each demand takes, in search order; ``values`` are those of the model's variables."""
    counts = {key: values[variable] for key, variable in model.takes.items()}
    devices = _taken_devices(model.reduced, counts)
    chosen = _served_demands(model, values)
    entries = {
        alternative: constraint
        for constraint in model.merged.constraints
        if len(constraint.claims) > 1
        for alternative in constraint.alternatives
    }
    taken: list[DemandDevice] = []
    for unit in model.configured_units:
        taken += _deal_by_configuration(model, unit, devices, values)
    dealt = {alternative for unit in model.configured_units for alternative in unit.alternatives}
    for alternative in model.merged.alternatives:
        if alternative.index in dealt:
            continue
        demands, constraint = chosen[alternative.index], entries.get(alternative.index)
        if alternative.index in model.dealt_placements:
            taken += _deal_by_placement(alternative, demands, model.dealt_placements[alternative.index], values)
        elif constraint is None:
            taken += _deal_in_turn(devices[alternative.index], demands)
        else:
            taken += _DEALING[constraint.record.kind](alternative, demands, constraint, devices[alternative.index])
    return tuple(sorted(taken))


def _taken_devices(reduced: SymmetryReducedProblem, counts: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Find for each alternative the devices it takes, a shareable one as often as it does."""
    shared = reduced.merged.problem.shared
    alternatives = reduced.merged.alternatives
    found: list[list[int]] = [[] for _ in alternatives]
    for class_ in reduced.classes:
        free = iter(class_.devices)
        for alternative in class_.alternatives:
            count = counts[alternative, class_.index]
            alone = class_.representative in shared or alternatives[alternative].admin or class_.size == 1
            found[alternative] += [class_.representative] * count if alone else list(islice(free, count))
    return [sorted(devices) for devices in found]


def _served_demands(model: AllocationModel, values: Sequence[int]) -> list[tuple[int, ...]]:
    """Serve the first copies by the first alternative, the next ones by the next (SRCH-4); of units the first ones."""
    chosen: list[tuple[int, ...]] = []
    problem, unplaced = model.merged.problem, model.units.unplaced_claims(values)
    for request in model.merged.requests:
        start = 0
        for number in request.alternatives:
            alternative, choice = model.merged.alternatives[number], model.choices[number]
            served = alternative.demands
            if unplaced:
                served = tuple(demand for demand in served if problem.demands[demand].claim not in unplaced)
            count = len(served) if choice is None else values[choice]
            chosen.append(served[start : start + count])
            start += count
    return chosen


def _deal_in_turn(devices: Iterable[int], demands: Sequence[int]) -> Iterator[DemandDevice]:
    """Deal devices out in turn: those that come several times go to different demands."""
    return zip(cycle(demands), devices) if demands else iter(())


def _deal_by_placement(
    alternative: MergedAlternative, demands: Sequence[int], bundles: Iterable[PlacementLiteral], values: Sequence[int]
) -> Iterator[DemandDevice]:
    """Give each claim the devices of one bundle."""
    chosen = sorted(sorted(own) for literal, own in bundles if values[literal])
    for number, own in enumerate(chosen):
        start = number * alternative.per_claim
        yield from _deal_in_turn(own, demands[start : start + alternative.per_claim])


def _deal_by_configuration(
    model: AllocationModel, unit: ConfiguredUnit, devices: Sequence[Iterable[int]], values: Sequence[int]
) -> Iterator[DemandDevice]:
    """Give each copy of a unit the devices of one configuration."""
    class_of = {device: class_.index for class_ in model.reduced.classes for device in class_.devices}
    left: dict[TakeKey, list[int]] = defaultdict(list)
    for alternative in unit.alternatives:
        for device in reversed(list(devices[alternative])):
            left[alternative, class_of[device]].append(device)
    chosen = [places for variable, places in unit.choices for _ in range(values[variable])]
    for copy, places in enumerate(chosen):
        own: dict[int, list[int]] = defaultdict(list)
        for place, count in places:
            # Of values that contradict each other the verifier says what is missing.
            own[place[0]] += [left[place].pop() for _ in range(min(count, len(left[place])))]
        for request in sorted({model.merged.alternatives[alternative].request for alternative in unit.alternatives}):
            yield from _deal_to_copy(model, request, copy, unit.copies, own)


def _deal_to_copy(
    model: AllocationModel, request: int, copy: int, copies: int, own: Mapping[int, Sequence[int]]
) -> Iterator[DemandDevice]:
    """Deal out what one copy of a unit takes for a request: its first part to the first alternative."""
    start = 0
    for number in model.merged.requests[request].alternatives:
        alternative, devices = model.merged.alternatives[number], sorted(own.get(number, ()))
        size, count = alternative.copies // copies, len(devices) // max(1, alternative.count)
        first = copy * size + start
        yield from _deal_in_turn(devices, alternative.demands[first : first + count])
        start += count


def _deal_by_equal_value(
    alternative: MergedAlternative, demands: Sequence[int], constraint: MergedConstraint, devices: Iterable[int]
) -> Iterator[DemandDevice]:
    """Give each claim all it takes of one value; claims go through the values in order."""
    tokens = constraint.record.tokens[alternative.demands[0]]
    start = 0
    for _, group in groupby(sorted(devices, key=lambda device: (tokens[device], device)), key=tokens.__getitem__):
        own = list(group)
        end = start + len(own) // alternative.count
        yield from _deal_in_turn(own, demands[start:end])
        start = end


def _deal_by_distinct_value(
    alternative: MergedAlternative, demands: Sequence[int], constraint: MergedConstraint, devices: Iterable[int]
) -> Iterator[DemandDevice]:
    """Deal out by value, to one claim after the other: no claim gets a value twice."""
    tokens = constraint.record.tokens[alternative.demands[0]]
    # Only one request of each claim is covered, so that every copy is of another claim.
    return _deal_in_turn(sorted(devices, key=lambda device: (tokens[device], device)), demands)


_DEALING: dict[
    str, Callable[[MergedAlternative, Sequence[int], MergedConstraint, Iterable[int]], Iterator[DemandDevice]]
] = {MATCH: _deal_by_equal_value, DISTINCT: _deal_by_distinct_value}

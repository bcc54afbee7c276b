"""Node kinds whose devices are all alike, so that a plan needs no more of them than sums: they are priced far quicker.

On such a node every unit takes some whole devices, or a share of one, or none; no constraint ties them, no counter is
drawn, and no other node reaches them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from ....problem.records import Demand, InUse, Problem
from ...search import Pick
from ..bundles.question import Bundle, BundleQuestion, Picks
from ..linear.pricer import LinearPricer
from ..linear.resources import LinearNode, LinearUnit

# With smaller shares of a device than this part of it, tables of its fillings become too large.
_SHARES = 1000


@dataclass(frozen=True, slots=True)
class _Devices:
    """The devices of a node by number with what is free of each, and what one has when all of it is free."""

    free: Mapping[int, int]
    capacity: int

    def in_steps(self, step: int) -> _Devices:
        """The same in larger units."""
        return _Devices({device: free // step for device, free in self.free.items()}, self.capacity // step)

    def node(self, left: tuple[int, ...], takes: Iterable[int]) -> LinearNode:
        """A node with these devices, which takes these unit classes."""
        free = tuple(self.free[device] for device in sorted(self.free))
        return LinearNode(free, self.capacity, left, frozenset(takes))


@dataclass(frozen=True, slots=True)
class LinearPart:
    """The linear node kinds of an instance: their pricer, and how what it finds becomes a bundle."""

    pricer: LinearPricer
    devices: Mapping[int, _Devices]
    questions: Mapping[int, BundleQuestion]

    def bundle(self, node_class: int, groups: Sequence[Sequence[int]]) -> Bundle:
        """Give devices to the groups of units that the pricer put on one device each, or on several as a whole."""
        question = self.questions[node_class]
        copies: dict[int, list[Picks]] = {unit.index: [] for unit in question.units}
        for group, devices in self._matched(node_class, groups):
            for index in group:
                copies[index].append(tuple(Pick(0, device) for device in devices))
        return Bundle(tuple(tuple(copies[unit.index]) for unit in question.units))

    def _matched(self, node_class: int, groups: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], list[int]]]:
        """The fullest groups get the devices with most left: if there is any way, this is one."""
        there = self.devices[node_class]
        left = sorted(there.free, key=lambda device: (there.free[device], -device))
        for group in sorted(groups, key=lambda group: -self._size(there, group)):
            number = max((self._number(index) for index in group), default=0)
            yield group, sorted(left.pop() for _ in range(number))

    def _size(self, there: _Devices, group: Sequence[int]) -> int:
        units = [self.pricer.units[index] for index in group]
        return there.capacity if any(unit.devices for unit in units) else sum(unit.share for unit in units)

    def _number(self, index: int) -> int:
        unit = self.pricer.units[index]
        return unit.devices or int(unit.share > 0)


def linear_part(questions: Mapping[int, BundleQuestion], roles: int) -> LinearPart:
    """Find the node kinds that are linear; ``roles`` is how many unit classes there are."""
    units: dict[int, LinearUnit] = {}
    found: dict[int, _Linear] = {}
    for index, question in questions.items():
        linear = None if any(question.meters) or question.measures else _linear(question)
        if linear is not None and all(units.get(number, own) == own for number, own in linear.units.items()):
            found[index] = linear
            units.update(linear.units)
    step = gcd(*_amounts(found.values())) or 1
    devices = {index: linear.devices.in_steps(step) for index, linear in found.items()}
    resources = max((len(question.left) for question in questions.values()), default=0)
    nowhere = _Devices({}, 1).node((0,) * resources, ())
    nodes = (
        devices[index].node(questions[index].left, found[index].units) if index in found else nowhere
        for index in sorted(questions)
    )
    nothing = LinearUnit(needs=(0,) * resources)
    asked = (units.get(number, nothing) for number in range(roles))
    pricer = LinearPricer(tuple(replace(unit, share=unit.share // step) for unit in asked), tuple(nodes))
    return LinearPart(pricer, devices, {index: questions[index] for index in found})


@dataclass(frozen=True, slots=True)
class _Linear:
    """A linear node kind: its devices, and what it may take."""

    devices: _Devices
    units: Mapping[int, LinearUnit]


def _amounts(found: Iterable[_Linear]) -> Iterator[int]:
    """All amounts of devices."""
    for linear in found:
        yield from (linear.devices.capacity, *linear.devices.free.values())
        yield from (unit.share for unit in linear.units.values())


def _linear(question: BundleQuestion) -> _Linear | None:
    """Say a question in sums, None where these do not say it all."""
    asking = {unit.index: unit.problem for unit in question.units if unit.problem.demands}
    if not all(map(_is_simple, asking.values())):
        return None
    wanted = {index: frozenset(own.demands[0].candidates) - question.in_use.dedicated for index, own in asking.items()}
    sets = {devices: asking[index] for index, devices in wanted.items() if devices}
    if len(sets) > 1:
        return None
    there = next((_devices(own, devices, question.in_use) for devices, own in sets.items()), _Devices({}, 1))
    if there is None:
        return None
    units: dict[int, LinearUnit] = {}
    for unit in question.units:
        if not wanted.get(unit.index, True):
            continue
        taken = _taken(unit.problem, there) if unit.index in wanted else (0, 0)
        if taken is None:
            return None
        units[unit.index] = LinearUnit(*taken, unit.needs)
    least = min((unit.share for unit in units.values() if unit.share), default=there.capacity)
    return None if there.capacity > _SHARES * least else _Linear(there, units)


def _is_simple(problem: Problem) -> bool:
    """Whether one exact request is all that is asked for."""
    if len(problem.demands) != 1 or problem.constraints or problem.relations:
        return False
    demand = problem.demands[0]
    return not demand.all_devices and not demand.admin and demand.count > 0


def _devices(problem: Problem, devices: frozenset[int], in_use: InUse) -> _Devices | None:
    """What is free of the devices; None where they are not alike, or draw on what others draw on."""
    drawing = problem.counters.consumption.keys() | problem.groups.membership.keys()
    if not devices.isdisjoint(drawing):
        return None
    if devices.isdisjoint(problem.shared):
        return _Devices(dict.fromkeys(devices, 1), 1)
    if not devices <= problem.shared:
        return None
    rows = {device: problem.capacities.rows.get(device, ()) for device in devices}
    if any(len(own) != 1 for own in rows.values()):
        return None
    totals = {problem.capacities.totals[own[0]] for own in rows.values()}
    left = {device: problem.capacities.totals[own[0]] - in_use.consumed.get(own[0], 0) for device, own in rows.items()}
    total = totals.pop()
    return None if totals or total <= 0 else _Devices({d: max(0, free) for d, free in left.items()}, total)


def _taken(problem: Problem, there: _Devices) -> tuple[int, int] | None:
    """Whole devices and the share of one that a unit takes; None where it is neither."""
    demand = problem.demands[0]
    if not problem.shared.intersection(there.free):
        return demand.count, 0
    amounts = {_amount(demand, device) for device in there.free}
    if len(amounts) != 1:
        return None
    amount = amounts.pop()
    if amount == there.capacity and demand.count > 1:
        return demand.count, 0
    return (0, amount) if amount > 0 and demand.count == 1 else None


def _amount(demand: Demand, device: int) -> int:
    return sum(amount for _, amount in demand.amounts.get(device, ()))

"""Devices that several nodes reach: rows of the master problem limit what all nodes together take of them.

Free devices that no planned unit can tell apart, and that the same nodes reach, are one class, which one meter counts.
Another meter counts each counter of their pools. Of devices that several claims may hold at once, a measure counts the
capacity. Admin access holds no device. What it draws while its unit is allocated (DEV-15) counts as if it stayed so;
then the bounds do not hold for all plans. Where a count does not suffice (devices with counters that several claims
hold, or compatibility groups), one node at a time may use the pool: then the bounds do not hold for all plans either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from ....models.kubernetes.meta import DeviceId, PoolId
from ....problem.problem import InUse, Problem
from ....problem.shapes import NodeType
from ..master_problem import CouplingRow, Terms
from ..pricing.bundle import Measure, SharedDraw, SharedUse
from .nodes import PlanNodeClass

CounterName = tuple[PoolId, str, str]
"""Pool, counter set and name."""
CapacityName = tuple[DeviceId, str]
"""Device and name."""


@dataclass(frozen=True, eq=False)
class NodeReach:
    """What a node class sees: its question's problems, and what is in use.

    ``shapes_by_unit_class`` are the node types that each unit class sees; none where no devices are shared.
    """

    node: PlanNodeClass
    shapes_by_unit_class: Sequence[NodeType]
    in_use: InUse
    problems: Sequence[Problem]

    @property
    def shape(self) -> NodeType:
        """The node type that all unit classes together see; rows and numbers are the same for each class."""
        return self.node.view.shape

    @cached_property
    def shared(self) -> Sequence[int]:
        """Numbers of the devices of shared pools that are free, within reach, and may be of use."""
        return [number for number in self.drawn if number not in self.in_use.dedicated]

    @cached_property
    def drawn(self) -> Sequence[int]:
        """These, and such as are in use and open to admin access, which draws again (DEV-15)."""
        pools = {pool.id for pool in self.node.shared}
        demands = [demand for problem in self.problems for demand in problem.demands] if pools else []
        held = self.in_use.dedicated
        candidates = {one for demand in demands for one in demand.candidates if demand.admin or one not in held}
        devices = ((number, self.node.view.devices[number]) for number in sorted(candidates))
        return [number for number, device in devices if device.id[:2] in pools and device.reachable]

    def id(self, number: int) -> DeviceId:
        """The device of this number."""
        return self.node.view.devices[number].id


@dataclass(frozen=True, slots=True)
class SharedDevices:
    """The rows, and by node class the meters and measures that they are about.

    ``classes`` are devices of which any may stand for any other, one class for each of the first meters. ``counters``
    and ``capacities`` have the meters that follow, each with the step in which it is counted.
    """

    classes: tuple[tuple[DeviceId, ...], ...]
    counters: tuple[tuple[CounterName, int], ...]
    capacities: tuple[tuple[CapacityName, int], ...]
    limits: tuple[int, ...]
    meters: Mapping[int, tuple[Mapping[int, int], ...]]
    measures: Mapping[int, tuple[Measure, ...]]
    is_narrowed: bool

    @property
    def rows(self) -> list[CouplingRow]:
        """No more is taken of anything than there is."""
        return [CouplingRow(Terms(usage={meter: 1}), upper=limit) for meter, limit in enumerate(self.limits)]


def shared_devices(reaches: Sequence[NodeReach], *, relaxed: bool = False) -> SharedDevices:
    """Find out how what nodes share can be counted; ``relaxed``: what cannot be counted has no limit."""
    return _SharedDeviceBuilder(reaches, relaxed).found()


class _SharedDeviceBuilder:
    def __init__(self, reaches: Sequence[NodeReach], relaxed: bool) -> None:
        self._reaches = reaches
        self._relaxed = relaxed
        self._difficult = frozenset(pool for reach in reaches for pool in _uncountable_pools(reach))
        self._classes, class_limits = self._device_classes()
        self._counters, counter_limits = self._counter_rows()
        self._steps = self._counter_steps()
        counter_rows = [counter_limits[name] // self._steps[name] for name in self._counters]
        self._capacities, self._capacity_steps, capacity_limits = self._capacity_rows()
        whole = [sum(reach.node.count for reach in reaches) if relaxed else 1] * len(self._difficult)
        self._limits = (*class_limits, *counter_rows, *capacity_limits, *whole)

    def found(self) -> SharedDevices:
        return SharedDevices(
            tuple(self._classes),
            tuple((name, self._steps[name]) for name in self._counters),
            tuple((name, self._capacity_steps[name]) for name in self._capacities),
            self._limits,
            {reach.node.index: tuple(self._meters(reach)) for reach in self._reaches},
            {reach.node.index: tuple(self._measures(reach)) for reach in self._reaches},
            not self._relaxed and (bool(self._difficult) or any(map(_draws_with_admin_access, self._reaches))),
        )

    def _countable(self, reach: NodeReach, *, by_several: bool) -> Iterator[int]:
        """Devices that several claims may hold at once, or those that one holds at a time."""
        for number in reach.shared:
            if (number in reach.shape.shared) is by_several and reach.id(number)[:2] not in self._difficult:
                yield number

    def _device_classes(self) -> tuple[list[tuple[DeviceId, ...]], list[int]]:
        seen: dict[DeviceId, list[Hashable]] = defaultdict(list)
        for reach in self._reaches:
            for number in self._countable(reach, by_several=False):
                looks = tuple(shape.profiles[number].index for shape in reach.shapes_by_unit_class)
                seen[reach.id(number)].append((reach.node.index, looks))
        classes: dict[Hashable, list[DeviceId]] = defaultdict(list)
        for id_, places in sorted(seen.items(), key=lambda item: item[0]):
            classes[id_[:2], tuple(places)].append(id_)
        found = [tuple(ids) for ids in classes.values()]
        return found, list(map(len, found))

    def _counter_rows(self) -> tuple[list[CounterName], dict[CounterName, int]]:
        """Counters of shared pools, and what is left of them."""
        left: dict[CounterName, int] = {}
        for reach in self._reaches:
            pools = {pool.id for pool in reach.node.shared} - self._difficult
            for name, available in zip(_counter_names(reach), reach.in_use.available, strict=True):
                if name[0] in pools:
                    left[name] = max(0, available)
        return sorted(left), left

    def _counter_steps(self) -> dict[CounterName, int]:
        steps: dict[CounterName, int] = dict.fromkeys(self._counters, 0)
        for reach in self._reaches:
            for name, drawn in _counter_draws(reach).items():
                if name in steps:
                    steps[name] = gcd(steps[name], *drawn.values())
        return {name: step or 1 for name, step in steps.items()}

    def _capacity_rows(self) -> tuple[list[CapacityName], dict[CapacityName, int], list[int]]:
        """Capacities of devices that several hold at once: the step in which it is drawn, and what is left."""
        left: dict[CapacityName, int] = {}
        steps: dict[CapacityName, int] = defaultdict(int)
        for reach in self._reaches:
            for number in self._countable(reach, by_several=True):
                capacities = reach.shape.capacities
                for row in capacities.rows.get(number, ()):
                    name = reach.id(number), capacities.names[row]
                    left[name] = max(0, capacities.totals[row] - reach.in_use.consumed.get(row, 0))
                    steps[name] = gcd(steps[name], *_row_draws(reach, number, row))
        names = sorted(name for name in left if steps[name])
        return names, dict(steps), [left[name] // steps[name] for name in names]

    def _meters(self, reach: NodeReach) -> Iterator[Mapping[int, int]]:
        """For each class and counter what each device of the node counts."""
        number_of = {reach.id(number): number for number in self._countable(reach, by_several=False)}
        for ids in self._classes:
            yield {number_of[id_]: 1 for id_ in ids if id_ in number_of}
        draws = _counter_draws(reach)
        for name in self._counters:
            yield {device: amount // self._steps[name] for device, amount in draws.get(name, {}).items()}

    def _measures(self, reach: NodeReach) -> Iterator[Measure]:
        there = {reach.id(number): number for number in reach.shared}
        for name in self._capacities:
            device = there.get(name[0])
            if device is None:
                yield SharedDraw(frozenset())
                continue
            capacities = reach.shape.capacities
            row = next(row for row in capacities.rows[device] if capacities.names[row] == name[1])
            yield SharedDraw(frozenset([device]), row, self._capacity_steps[name])
        for pool in sorted(self._difficult):
            yield SharedUse(frozenset(number for id_, number in there.items() if id_[:2] == pool))


def _uncountable_pools(reach: NodeReach) -> Iterator[PoolId]:
    """Pools of which counting does not say what several nodes may take."""
    for number in reach.shared:
        drawing = number in reach.shape.shared and number in reach.shape.counters.consumption
        if drawing or number in reach.shape.groups.membership:
            yield reach.id(number)[:2]


def _draws_with_admin_access(reach: NodeReach) -> bool:
    """Whether admin access may draw counters or capacity of what other nodes reach, too."""
    drawing = reach.shape.counters.consumption.keys() | (reach.shape.capacities.rows.keys() & reach.shape.shared)
    drawing &= set(reach.drawn)
    demands = (demand for problem in reach.problems for demand in problem.demands if drawing)
    return any(demand.admin and not drawing.isdisjoint(demand.candidates) for demand in demands)


def _counter_names(reach: NodeReach) -> list[CounterName]:
    """Pool, set and name of each counter row of a node."""
    pools, counters = reach.node.view.pools, reach.shape.counters
    return [(pools[pool].id, *name) for pool, name in zip(counters.pool_of_row, counters.names, strict=True)]


def _counter_draws(reach: NodeReach) -> Mapping[CounterName, Mapping[int, int]]:
    """The amount that each device of shared pools draws of each counter."""
    found: dict[CounterName, dict[int, int]] = defaultdict(dict)
    names = _counter_names(reach) if reach.node.shared else []
    for number in reach.drawn:
        for row, amount in reach.shape.counters.consumption.get(number, ()):
            found[names[row]][number] = amount
    return found


def _row_draws(reach: NodeReach, device: int, row: int) -> Iterator[int]:
    """Yield the amounts that requests would draw of a row of a device."""
    for problem in reach.problems:
        for demand in problem.demands:
            yield from (amount for own, amount in demand.amounts.get(device, ()) if own == row)

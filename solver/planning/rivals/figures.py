"""What a plan comes to, whoever made it: counted from its final allocations, the same way for all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....models.identity import DeviceId
from ....models.planned_sets import Gang
from ....models.planned_units import PlannedUnit
from ...plan_outcome import PlannedUnitOutcome
from .floor import Floor
from .fragmentation import WHOLE, Mix
from .gangs import is_whole
from .setting import Setting
from .trials import TimeOverError


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """Devices that are free, and how many of them the average unit of the queue cannot use; see ``fragmentation``.

    Parts of devices count, so that these are no whole numbers. ``all`` are the devices that the nodes reach.
    """

    free: float
    wasted: float
    all: int

    @property
    def of_free(self) -> float:
        """The part of the free devices, 0 to 1."""
        return round(self.wasted / self.free, 6) if self.free else 0.0

    @property
    def of_all(self) -> float:
        """The part of all devices, 0 to 1."""
        return round(self.wasted / self.all, 6) if self.all else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """How many units and gangs are placed, and what becomes of devices.

    A gang counts if it is whole with those of its members that run. ``used`` are the devices that anybody holds in
    any way, those that ran before included, of ``devices`` that the nodes reach. ``fragmentation`` is None if time was
    up before it was known.
    """

    admitted: int
    gangs: int
    used: int
    devices: int
    fragmentation: Fragmentation | None


def figures(setting: Setting, units: Sequence[PlannedUnit], outcomes: Sequence[PlannedUnitOutcome]) -> Figures:
    """Count; ``setting`` is a fresh one, and ``outcomes`` are those of the units, in their order."""
    floor = setting.floor
    _carry_out(floor, units, outcomes)
    reached = _reached(floor)
    used = sum(floor.ledger.usage.in_use(device) for device in reached)
    try:
        found = _fragmentation(floor, setting.mix, len(reached))
    except TimeOverError:
        found = None
    admitted = sum(one.node is not None for one in outcomes)
    return Figures(admitted, _whole_gangs(units, outcomes), used, len(reached), found)


def _carry_out(floor: Floor, units: Sequence[PlannedUnit], outcomes: Sequence[PlannedUnitOutcome]) -> None:
    for unit, one in zip(units, outcomes, strict=True):
        if one.node is not None:
            made = [(ref.key, allocation) for ref, allocation in one.allocations]
            floor.take(floor.position(one.node), unit.set.shape.requests, made)


def _whole_gangs(units: Iterable[PlannedUnit], outcomes: Iterable[PlannedUnitOutcome]) -> int:
    nodes: dict[Gang, list[str | None]] = defaultdict(list)
    for unit, one in zip(units, outcomes, strict=True):
        if unit.set.gang is not None:
            nodes[unit.set.gang].append(one.node)
    placed = ((gang, [node for node in all_ if node is not None], len(all_)) for gang, all_ in nodes.items())
    return sum(bool(there) and is_whole(gang, there, members) for gang, there, members in placed)


def _reached(floor: Floor) -> set[DeviceId]:
    return {
        device.id
        for position in range(floor.size)
        for view in (floor.view(position),)
        for device, reached in zip(view.devices, view.shape.reachable, strict=True)
        if reached
    }


def _fragmentation(floor: Floor, mix: Mix, devices: int) -> Fragmentation:
    """Devices that several nodes reach count once: a class can use them if it can on one of these nodes."""
    free: dict[DeviceId, int] = {}
    of_use: list[set[DeviceId]] = [set() for _ in mix.classes]
    for state, positions in floor.groups.items():
        numbers = [mix.usable(case, state) for case, _ in mix.classes]
        for position in positions:
            own = floor.view(position).devices
            free.update((own[number].id, part) for number, part in mix.free(state.devices).items())
            for found, usable in zip(of_use, numbers, strict=True):
                found.update(own[number].id for number in usable)
    total = sum(free.values())
    used = sum(units * sum(free[one] for one in found) for found, (_, units) in zip(of_use, mix.classes, strict=True))
    parts = max(1, mix.units) * WHOLE
    return Fragmentation(total / WHOLE, (mix.units * total - used) / parts, devices)

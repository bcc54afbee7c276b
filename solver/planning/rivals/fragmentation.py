"""Fragmentation: what is free of devices, and of no use to the units of the queue.

A device is free if nobody holds it and its counters and compatibility groups let somebody take it; of a device that
may be shared the part counts that is left of the capacity of which the least is left. A class of units (equal ones of
the queue, placed or not) can use a free device of a node if one more unit fits there, by all rules: the node suits it
and has room for its requests, and its claims have an allocation beside all that is held; and if one of its requests
could take this device. A class without claims can use none. Each class counts as often as it has units.

This is the measure of fragmentation gradient descent (Weng and others, USENIX ATC 2023), with devices in place of GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ....models.running_pods import lacking
from ....problem.compile import Compiler
from ....problem.outcomes import FatalError
from ....problem.records import Demand, InUse, Problem
from ....problem.shapes import Shape
from ....problem.usable import usable
from .cases import Case
from .device_states import DeviceState
from .floor import NodeState
from .trials import Trials

# Parts of a device that are counted.
WHOLE = 1_000_000

# By the number of a device, how many parts of it are free; those of which none are free are not there.
Free: TypeAlias = Mapping[int, int]

# Numbers of devices, and how many parts of them are free.
_OfUse: TypeAlias = tuple[frozenset[int], int]
_NOTHING: _OfUse = (frozenset(), 0)


class Mix:
    """The classes of a queue, each with its number of units, and what they can use."""

    def __init__(self, classes: Sequence[tuple[Case, int]], trials: Trials, compiler: Compiler) -> None:
        self.classes = classes
        self.units = sum(units for _, units in classes)
        self._trials = trials
        self._compiler = compiler
        self._free: dict[DeviceState, Free] = {}
        self._known: dict[tuple[int, DeviceState], _OfUse] = {}
        self._wasted: dict[NodeState, int] = {}

    def free(self, devices: DeviceState) -> Free:
        """Find what is free of the devices that a node reaches."""
        if devices not in self._free:
            self._free[devices] = _free(devices.view.shape, devices.in_use)
        return self._free[devices]

    def usable(self, case: Case, state: NodeState) -> frozenset[int]:
        """Find the free devices that a class can use on a node in this state. Raises ``TimeOverError``."""
        return self._of_use(case, state)[0]

    def wasted(self, state: NodeState) -> int:
        """Count the free parts on a node in this state that a class cannot use, for each unit of the queue.

        Raises ``TimeOverError``.
        """
        if state not in self._wasted:
            free = sum(self.free(state.devices).values())
            used = sum(units * self._of_use(case, state)[1] for case, units in self.classes) if free else 0
            self._wasted[state] = self.units * free - used
        return self._wasted[state]

    def _of_use(self, case: Case, state: NodeState) -> _OfUse:
        if case.refused or not case.claims or not state.takes[case.place.number]:
            return _NOTHING
        key = case.question.index, state.devices
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._on(case, state.devices)
        # Rooms are many and devices few, so that room is asked for last.
        return found if found[1] and not lacking(case.requests, state.room) else _NOTHING

    def _on(self, case: Case, devices: DeviceState) -> _OfUse:
        if not self.free(devices) or not self._trials.of(case, devices).fits:
            return _NOTHING
        numbers = self._takeable(case, devices)
        return numbers, sum(self.free(devices)[number] for number in numbers)

    def _takeable(self, case: Case, devices: DeviceState) -> frozenset[int]:
        try:
            problem = self._compiler.problem(case.question, devices.view.shape)
        except FatalError:
            return frozenset()
        found = zip(problem.demands, usable(problem, devices.in_use), strict=True)
        taken = {device for demand, candidates in found if not demand.admin for device in candidates}
        return frozenset(taken & self.free(devices).keys())


def _free(shape: Shape, in_use: InUse) -> Free:
    """The parts of each device that somebody who asks for any device could take."""
    reached = tuple(number for number, reachable in enumerate(shape.reachable) if reachable)
    anything = Demand(0, 0, "", "", "", 1, all_devices=False, admin=False, candidates=reached)
    problem = Problem(
        len(shape.profiles),
        (),
        (anything,),
        shared=shape.shared,
        capacities=shape.capacities,
        counters=shape.counters,
        groups=shape.groups,
    )
    parts = {number: _part(number, shape, in_use) for number in usable(problem, in_use)[0]}
    return {number: part for number, part in parts.items() if part > 0}


def _part(device: int, shape: Shape, in_use: InUse) -> int:
    """Only devices that may be shared are ever held in part."""
    if device not in shape.shared:
        return WHOLE
    totals, consumed = shape.capacities.totals, in_use.consumed
    rows = [row for row in shape.capacities.rows.get(device, ()) if totals[row] > 0]
    return min(((totals[row] - consumed.get(row, 0)) * WHOLE // totals[row] for row in rows), default=WHOLE)

"""What columns have room for, counted up: a plan at once, where there is no time to choose the best one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .instance import Column, Instance, Stage
from .plan import Plan, covered, joined


def counted(instance: Instance, stages: Sequence[Stage], columns: Iterable[tuple[Column, int]]) -> Plan:
    """Take columns in order while nodes are free, then place whole gangs in them, and then single units.

    What the first of the stages gains most by comes first. Rows are not looked at.
    """
    taken = _taken(instance, columns)
    room = covered(instance, taken)
    gangs = [0] * len(instance.gangs)
    for index in _order(stages, [stage.terms.gangs for stage in stages]):
        gang = instance.gangs[index]
        gangs[index] = min([gang.demand, *(room[unit] // size for unit, size in gang.members)])
        for unit, size in gang.members:
            room[unit] -= size * gangs[index]
    units = [0] * len(instance.units)
    for index in _order(stages, [stage.terms.units for stage in stages]):
        units[index] = min(instance.units[index].demand, room[index])
    return Plan(taken, tuple(units), tuple(gangs))


def _taken(instance: Instance, columns: Iterable[tuple[Column, int]]) -> tuple[tuple[Column, int], ...]:
    free = {node.index: node.count for node in instance.nodes}
    taken = Counter[Column]()
    for column, number in columns:
        fits = min(number, free[column.node_class])
        free[column.node_class] -= fits
        taken[column] += fits
    return joined(taken)


def _order(stages: Sequence[Stage], gains: Sequence[Mapping[int, int]]) -> list[int]:
    """Indices by which some stage gains and none before it loses, the best first."""
    signs = [-1 if stage.maximise else 1 for stage in stages]
    keys = {
        index: tuple(sign * gain.get(index, 0) for sign, gain in zip(signs, gains, strict=True))
        for gain in gains
        for index in gain
    }
    nothing = (0,) * len(stages)
    return sorted((index for index, key in keys.items() if key < nothing), key=lambda index: (keys[index], index))

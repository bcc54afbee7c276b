"""A plan in whole numbers: how many nodes take which column, and how many units and gangs are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .instance import Column, Instance, Row, Terms


@dataclass(frozen=True, slots=True)
class Plan:
    """``columns`` with the number of nodes that take each; ``units`` are those placed one by one, without gangs'."""

    columns: tuple[tuple[Column, int], ...]
    units: tuple[int, ...]
    gangs: tuple[int, ...]

    def value(self, terms: Terms) -> int:
        """What the plan is worth by these terms."""
        total = sum(terms.of_column(column) * nodes for column, nodes in self.columns)
        total += sum(coefficient * self.units[index] for index, coefficient in terms.units.items())
        return total + sum(coefficient * self.gangs[index] for index, coefficient in terms.gangs.items())

    def is_feasible(self, instance: Instance, rows: Sequence[Row]) -> bool:
        """Check the plan against demand, nodes, coverage and rows."""
        nodes: Counter[int] = Counter()
        for column, number in self.columns:
            nodes[column.node_class] += number
        needed, given = asked(instance, self), covered(instance, self.columns)
        return (
            all(nodes[node.index] <= node.count for node in instance.nodes)
            and all(0 <= number <= unit.demand for number, unit in zip(self.units, instance.units, strict=True))
            and all(0 <= number <= gang.demand for number, gang in zip(self.gangs, instance.gangs, strict=True))
            and all(need <= room for need, room in zip(needed, given, strict=True))
            and all(_holds(row, self.value(row.terms)) for row in rows)
        )


def _holds(row: Row, value: int) -> bool:
    return (row.lower is None or value >= row.lower) and (row.upper is None or value <= row.upper)


def asked(instance: Instance, plan: Plan) -> list[int]:
    """How many units of each class a plan places, those of gangs included."""
    needed = list(plan.units)
    for gang, placed in zip(instance.gangs, plan.gangs, strict=True):
        for unit, size in gang.members:
            needed[unit] += size * placed
    return needed


def covered(instance: Instance, columns: Sequence[tuple[Column, int]]) -> list[int]:
    """How many units of each class columns have room for."""
    room = [0] * len(instance.units)
    for column, nodes in columns:
        for unit, amount in column.counts:
            room[unit] += amount * nodes
    return room


def empty_plan(instance: Instance) -> Plan:
    """The plan that places nothing."""
    return Plan((), (0,) * len(instance.units), (0,) * len(instance.gangs))


def joined(columns: Mapping[Column, int]) -> tuple[tuple[Column, int], ...]:
    """Columns that are taken, in a fixed order."""
    taken = [(column, nodes) for column, nodes in columns.items() if nodes]
    return tuple(sorted(taken, key=lambda each: (each[0].node_class, each[0].counts, each[0].usage)))

"""The master over the columns that are known, in whole numbers, by CP-SAT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...encoders.rows import CoefficientError, Rows
from ..cp_sat_run import USUAL, Limits, Status, run
from .instance import Column, Instance, Row, Stage, Terms
from .plan import Plan, covered, joined


@dataclass(frozen=True, slots=True)
class Choice:
    """A column, and how many nodes may take it."""

    column: Column
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan, if any was found, and what the solver says of it."""

    plan: Plan | None
    status: Status


def choose(
    instance: Instance,
    rows: Sequence[Row],
    stage: Stage,
    choices: Sequence[Choice],
    hint: Plan,
    limits: Limits,
) -> Chosen:
    """Find the best plan over columns. Numbers that are too large for the solver leave it unknown."""
    model = _Model(instance, choices)
    try:
        model.post(rows)
        model.aim(stage)
    except CoefficientError:
        return Chosen(None, Status.UNKNOWN)
    model.hint(hint)
    found = run(model.rows, limits, USUAL)
    return Chosen(model.plan(found.values) if found.values else None, found.status)


class _Model:
    def __init__(self, instance: Instance, choices: Sequence[Choice]) -> None:
        self.rows = Rows()
        self.rows.packs = True
        self._instance = instance
        self._choices = choices
        room = covered(instance, [(choice.column, choice.most) for choice in choices])
        self._amounts = [self.rows.integer(choice.least, choice.most) for choice in choices]
        self._units = [
            self.rows.integer(0, min(unit.demand, most)) for unit, most in zip(instance.units, room, strict=True)
        ]
        self._gangs = [
            self.rows.integer(0, min([gang.demand, *(room[unit] // size for unit, size in gang.members)]))
            for gang in instance.gangs
        ]

    def post(self, rows: Sequence[Row]) -> None:
        """Post nodes, coverage and rows."""
        cover: list[list[tuple[int, int]]] = [[(variable, -1)] for variable in self._units]
        nodes: dict[int, list[tuple[int, int]]] = {node.index: [] for node in self._instance.nodes}
        for variable, gang in zip(self._gangs, self._instance.gangs, strict=True):
            for unit, size in gang.members:
                cover[unit].append((variable, -size))
        for variable, choice in zip(self._amounts, self._choices, strict=True):
            nodes[choice.column.node_class].append((variable, 1))
            for unit, amount in choice.column.counts:
                cover[unit].append((variable, amount))
        for node in self._instance.nodes:
            self.rows.at_most(nodes[node.index], node.count)
        for terms in cover:
            self.rows.between(terms, 0, None)
        for row in rows:
            self.rows.between(self._terms(row.terms), row.lower, row.upper)

    def aim(self, stage: Stage) -> None:
        """Post the objective."""
        sign = -1 if stage.maximise else 1
        self.rows.minimize([(variable, sign * value) for variable, value in self._terms(stage.terms) if value])

    def _terms(self, terms: Terms) -> list[tuple[int, int]]:
        found = [(self._units[index], value) for index, value in terms.units.items()]
        found += [(self._gangs[index], value) for index, value in terms.gangs.items()]
        amounts = zip(self._amounts, self._choices, strict=True)
        return found + [(variable, terms.of_column(choice.column)) for variable, choice in amounts]

    def hint(self, plan: Plan) -> None:
        """Start from a plan."""
        taken: Mapping[Column, int] = dict(plan.columns)
        values = {
            variable: taken.get(choice.column, 0) for variable, choice in zip(self._amounts, self._choices, strict=True)
        }
        values |= dict(zip(self._units, plan.units, strict=True)) | dict(zip(self._gangs, plan.gangs, strict=True))
        self.rows.hint(values)

    def plan(self, values: Sequence[int]) -> Plan:
        """Read a plan from the solver's values."""
        taken: dict[Column, int] = {}
        for variable, choice in zip(self._amounts, self._choices, strict=True):
            taken[choice.column] = taken.get(choice.column, 0) + values[variable]
        units = tuple(values[variable] for variable in self._units)
        return Plan(joined(taken), units, tuple(values[variable] for variable in self._gangs))

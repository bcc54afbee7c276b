"""What is planned: classes of equal units and of equal nodes, gangs, rows that couple nodes, stages.

All data are integers. A *column* is what one node takes jointly; a plan says how many nodes take which column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class UnitClass:
    """Equal units; ``demand`` of them are asked for one by one, beside those that gangs ask for."""

    index: int
    demand: int
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Gang:
    """Equal gangs, each all or nothing: ``members`` are unit classes and how many of each one gang has."""

    members: tuple[tuple[int, int], ...]
    demand: int
    weight: int = 0


@dataclass(frozen=True, slots=True)
class NodeClass:
    """``count`` equal nodes."""

    index: int
    count: int


@dataclass(frozen=True, slots=True)
class Column:
    """What one node of a class takes jointly: units by class, and what it uses of coupling rows.

    A node that takes less uses no more of a row's ``upper``; ``payload`` is the caller's own, and is not compared.
    """

    node_class: int
    counts: tuple[tuple[int, int], ...]
    usage: tuple[tuple[int, int], ...] = ()
    payload: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Terms:
    """A linear form over a plan: coefficients of units and gangs that are placed, nodes in use, and rows' usage."""

    units: Mapping[int, int] = field(default_factory=dict)
    gangs: Mapping[int, int] = field(default_factory=dict)
    nodes: Mapping[int, int] = field(default_factory=dict)
    usage: Mapping[int, int] = field(default_factory=dict)

    def of_column(self, column: Column) -> int:
        """What one node with this column adds."""
        used = sum(self.usage.get(row, 0) * amount for row, amount in column.usage)
        return self.nodes.get(column.node_class, 0) + used


@dataclass(frozen=True, slots=True)
class Row:
    """A coupling row: ``lower <= terms <= upper``, where None is no limit.

    ``usage`` in its terms refers to *meters*: what columns count by number, such as devices of a shared pool.
    """

    terms: Terms
    lower: int | None = None
    upper: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One goal. Later stages keep what earlier ones reached."""

    name: str
    terms: Terms
    maximise: bool = True


@dataclass(frozen=True, slots=True)
class Instance:
    """A question of planning. ``meters`` is how many numbers of usage columns may carry.

    ``sizes`` says by meter, roughly, by how much one more unit may raise the usage of a column; without it by 1.

    Rows must hold for a plan without any node: the empty plan is where planning starts.
    """

    units: tuple[UnitClass, ...]
    nodes: tuple[NodeClass, ...]
    gangs: tuple[Gang, ...] = ()
    rows: tuple[Row, ...] = ()
    meters: int = 0
    sizes: tuple[int, ...] = ()

    def most(self) -> tuple[int, ...]:
        """How many units of each class are asked for, gangs included."""
        asked = [unit.demand for unit in self.units]
        for gang in self.gangs:
            for unit, size in gang.members:
                asked[unit] += size * gang.demand
        return tuple(asked)

    def largest(self, terms: Terms) -> int:
        """The most that one more unit, gang or node may add to a form, roughly."""
        sizes = dict(enumerate(self.sizes))
        usage = (abs(value) * sizes.get(meter, 1) for meter, value in terms.usage.items())
        kinds = (terms.units, terms.gangs, terms.nodes)
        return max((*usage, *(abs(value) for kind in kinds for value in kind.values())), default=0)

    def admitted(self, name: str = "admitted") -> Stage:
        """The stage that places as much weight as possible."""
        members = {unit.index: unit.weight for unit in self.units}
        return Stage(name, Terms(units=members, gangs=dict(enumerate(gang.weight for gang in self.gangs))))

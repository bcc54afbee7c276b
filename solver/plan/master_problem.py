"""The master problem: classes of equal units, gangs and nodes, rows that couple nodes, and stages of the objective.

All data are integers. A *column* is what one node takes jointly; an integer plan says how many nodes take which column,
and how many units and gangs are placed. A solution has the values and bounds of its stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from time import monotonic
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class MasterUnitClass:
    """Equal units; ``demand`` of them are queued one by one, beside those of gangs.

    Of units ``at_home`` no nodes together can hold more than are in demand.
    """

    index: int
    demand: int
    weight: int = 1
    at_home: bool = False


@dataclass(frozen=True, slots=True)
class MasterGangClass:
    """Equal gangs, each all or nothing: ``members`` are unit classes and how many of each one gang has."""

    members: tuple[tuple[int, int], ...]
    demand: int
    weight: int = 0


@dataclass(frozen=True, slots=True)
class MasterNodeClass:
    """``count`` equal nodes."""

    index: int
    count: int


@dataclass(frozen=True, slots=True)
class Column:
    """What one node of a class takes jointly: units by class, and its usage of meters.

    A node that takes less uses no more of a row's ``upper``; ``payload`` is the caller's own, and is not compared.
    """

    node_class: int
    counts: tuple[tuple[int, int], ...]
    usage: tuple[tuple[int, int], ...] = ()
    payload: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Terms:
    """A linear form over a plan: coefficients of placed units and gangs, of nodes in use, and of usage by meter."""

    units: Mapping[int, int] = field(default_factory=dict)
    gangs: Mapping[int, int] = field(default_factory=dict)
    nodes: Mapping[int, int] = field(default_factory=dict)
    usage: Mapping[int, int] = field(default_factory=dict)

    def of_column(self, column: Column) -> int:
        """The amount that one node with this column adds."""
        used = sum(self.usage.get(row, 0) * amount for row, amount in column.usage)
        return self.nodes.get(column.node_class, 0) + used


@dataclass(frozen=True, slots=True)
class CouplingRow:
    """A coupling row: ``lower <= terms <= upper``, where None is no limit.

    ``usage`` in its terms refers to *meters*: what columns count by number, such as devices of a shared pool.
    """

    terms: Terms
    lower: int | None = None
    upper: int | None = None

    def holds(self, plan: IntegerPlan) -> bool:
        """Whether a plan keeps the row."""
        value = plan.value(self.terms)
        return (self.lower is None or value >= self.lower) and (self.upper is None or value <= self.upper)


BRIEF_GAP_FACTOR = 10


@dataclass(frozen=True, slots=True)
class ObjectiveStage:
    """One stage of the objective. Later stages keep the values of earlier ones.

    A ``brief`` one takes little of the time of a plan: it ends with what is quickly found, at a wider gap. ``least``
    is, by unit class, what a placed unit adds at least to a stage that minimises usage. What a stage is about is its
    terms and ``offset`` together: gaps are relative to that.
    """

    name: str
    terms: Terms
    maximise: bool = True
    brief: bool = False
    least: Mapping[int, int] = field(default_factory=dict)
    offset: int = 0

    def gap(self, gap: float) -> float:
        """The gap at which the stage is proven, where other stages are at this one."""
        return gap * BRIEF_GAP_FACTOR if self.brief else gap

    def kept_at(self, value: int) -> CouplingRow:
        """Return the row that keeps the stage at this value or a better one."""
        return CouplingRow(self.terms, lower=value) if self.maximise else CouplingRow(self.terms, upper=value)

    def trivial_bound(self, instance: MasterProblem) -> int | None:
        """Bound the stage by what there is: all units, gangs and nodes that make it better, and none of the others.

        None where usage makes it better, for columns alone say how much there may be.
        """
        sign = 1 if self.maximise else -1
        if any(sign * value > 0 for value in self.terms.usage.values()):
            return None
        counts = ((self.terms.units, instance.units), (self.terms.gangs, instance.gangs))
        total = sum(max(0, sign * value) * own[index].demand for terms, own in counts for index, value in terms.items())
        total += sum(max(0, sign * value) * instance.nodes[index].count for index, value in self.terms.nodes.items())
        return sign * total

    def tightest(self, *bounds: int | None) -> int | None:
        """The bound that says most; None where there is none."""
        known = [bound for bound in bounds if bound is not None]
        return (min if self.maximise else max)(known) if known else None

    def least_value(self, instance: MasterProblem, rows: Sequence[CouplingRow]) -> int | None:
        """Bound a stage that minimises: each row that asks for units gets those that add least; None: nothing is known.

        A row counts if no unit is in a row that counted before, so that their sums hold together.
        """
        if self.maximise or not self.least:
            return None
        total, known = Fraction(0), set[tuple[bool, int]]()
        for row in rows:
            terms = row.terms
            items = [
                *(
                    (False, index, weight, unit.demand, self.least.get(index, 0))
                    for index, weight in terms.units.items()
                    for unit in (instance.units[index],)
                ),
                *(
                    (
                        True,
                        index,
                        weight,
                        gang.demand,
                        sum(size * self.least.get(unit, 0) for unit, size in gang.members),
                    )
                    for index, weight in terms.gangs.items()
                    for gang in (instance.gangs[index],)
                ),
            ]
            names = {(is_gang, index) for is_gang, index, *_ in items}
            plain = not terms.nodes and not terms.usage and all(weight > 0 for _, _, weight, *_ in items)
            if row.lower is None or not plain or names & known:
                continue
            known |= names
            left = Fraction(row.lower)
            for _, _, weight, demand, cost in sorted(items, key=lambda item: Fraction(item[4], item[2])):
                taken = min(Fraction(demand), left / weight)
                total += max(Fraction(0), taken) * cost
                left -= taken * weight
        return ceil(total)

    def gain(self, plan: IntegerPlan, before: IntegerPlan) -> int:
        """By how much a plan is better than another; below zero: it is worse."""
        gain = plan.value(self.terms) - before.value(self.terms)
        return gain if self.maximise else -gain


def implied_bound(stage: ObjectiveStage, earlier: Sequence[tuple[ObjectiveStage, int | None]]) -> int | None:
    """Bound a stage whose terms are those of earlier stages together; None where they are not.

    ``earlier`` are stages with their bounds. Each holds for what keeps the stages before it, so that the sum does.
    """
    left, total = _coefficients(stage), 0
    for other, bound in earlier:
        own = _coefficients(other)
        if own and bound is not None and other.maximise == stage.maximise and own.items() <= left.items():
            left = {term: value for term, value in left.items() if term not in own}
            total += bound
    return None if left else total


def _coefficients(stage: ObjectiveStage) -> dict[tuple[int, int], int]:
    """Coefficients other than zero, by kind and index."""
    terms = stage.terms
    kinds = enumerate((terms.units, terms.gangs, terms.nodes, terms.usage))
    return {(kind, index): value for kind, own in kinds for index, value in own.items() if value}


class PlanCompletion(Protocol):
    """Chooses gangs in room that is there, so that the rows about them hold."""

    @property
    def sizes(self) -> Sequence[int]:
        """What each unit takes of a node, roughly; a large one counts more than smaller ones that take the same."""

    @property
    def decided(self) -> Sequence[Sequence[int]]:
        """The gang classes that are chosen, in groups that compete; others that it is about follow from them."""

    def settled(self, gangs: Sequence[int]) -> tuple[int, ...]:
        """The gangs of a plan, where those that follow from others are as good as they can be."""

    def choose(self, room: list[int], stages: Sequence[ObjectiveStage], wished: Sequence[float]) -> dict[int, int]:
        """Return the number of each gang class that it is about, zeros included, and take their members out of room.

        What is ``wished`` for by gang class comes first, if anything is, and then what the first stages gain most by.
        """


class GangFollowers(Protocol):
    """Gangs without members whose best numbers follow from the units that are placed."""

    def settled(self, units: Sequence[int], gangs: Sequence[int]) -> tuple[int, ...]:
        """The gangs of a plan, where these are as good as rows allow."""


@dataclass(frozen=True, slots=True)
class FreeDomain:
    """A gang class without members that says whether no node of these classes has a column."""

    choice: int
    node_classes: frozenset[int]


@dataclass(frozen=True, slots=True)
class MasterProblem:
    """What is planned. ``meters`` is how many numbers of usage a column has.

    ``sizes`` says by meter, roughly, by how much one more unit may raise the usage of a column; without it by 1.

    Rows must hold for the plan where planning ``start``s; without one they must hold for the empty plan. ``completion``
    chooses among gangs where rows keep most choices from being plans. ``domains`` follow from what nodes have, and
    ``followers`` from the units that are placed.
    """

    units: tuple[MasterUnitClass, ...]
    nodes: tuple[MasterNodeClass, ...]
    gangs: tuple[MasterGangClass, ...] = ()
    rows: tuple[CouplingRow, ...] = ()
    meters: int = 0
    sizes: tuple[int, ...] = ()
    completion: PlanCompletion | None = None
    start: IntegerPlan | None = None
    domains: tuple[FreeDomain, ...] = ()
    followers: GangFollowers | None = None

    def followed(self, plan: IntegerPlan) -> IntegerPlan:
        """The plan with those gangs as good as they can be that follow from what it has: domains are free or not."""
        if not (self.domains or self.followers):
            return plan
        used = {column.node_class for column, number in plan.columns if number}
        gangs = list(self.followers.settled(plan.units, plan.gangs) if self.followers else plan.gangs)
        for domain in self.domains:
            gangs[domain.choice] = int(used.isdisjoint(domain.node_classes))
        return replace(plan, gangs=tuple(gangs))

    def demands(self) -> tuple[int, ...]:
        """How many units of each class are queued, those of gangs included."""
        requested = [unit.demand for unit in self.units]
        for gang in self.gangs:
            for unit, size in gang.members:
                requested[unit] += size * gang.demand
        return tuple(requested)

    def most_nodes(self, stages: Sequence[ObjectiveStage], rows: Sequence[CouplingRow]) -> int:
        """So many nodes suffice for a best plan.

        Where no form gains by nodes and their usage, those can go that no unit needs. Each of the others has a unit
        that would be missing without it.
        """
        forms = [(stage.terms, stage.maximise, not stage.maximise) for stage in stages]
        forms += [(row.terms, row.lower is not None, row.upper is not None) for row in rows]
        for terms, more_is_better, less_is_better in forms:
            values = (*terms.nodes.values(), *terms.usage.values())
            if (more_is_better and max(values, default=0) > 0) or (less_is_better and min(values, default=0) < 0):
                return sum(node.count for node in self.nodes)
        return sum(self.demands())

    def largest_coefficient(self, terms: Terms) -> int:
        """The most that one more unit, gang or node may add to a form, roughly."""
        sizes = dict(enumerate(self.sizes))
        usage = (abs(value) * sizes.get(meter, 1) for meter, value in terms.usage.items())
        kinds = (terms.units, terms.gangs, terms.nodes)
        return max((*usage, *(abs(value) for kind in kinds for value in kind.values())), default=0)

    def admitted(self, name: str = "admitted") -> ObjectiveStage:
        """The stage that places as much weight as possible."""
        members = {unit.index: unit.weight for unit in self.units}
        return ObjectiveStage(name, Terms(units=members, gangs=dict(enumerate(gang.weight for gang in self.gangs))))


def is_past(deadline: float | None) -> bool:
    """Whether a reading of ``time.monotonic`` has been passed; None never is."""
    return deadline is not None and monotonic() > deadline


def is_close(value: float, bound: float | None, gap: float) -> bool:
    """Whether a value is no farther from its bound than the gap, which is relative to the bound; None is unknown."""
    return bound is not None and abs(bound - value) <= gap * abs(bound)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """When to stop: a relative ``gap`` counts as proven; ``rounds`` of pricing for each stage; a monotonic time."""

    gap: float = 0.001
    rounds: int = 400
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Duals:
    """What one more unit of each class is worth (never below zero), and one more of each row's upper side."""

    units: tuple[float, ...]
    rows: tuple[float, ...]

    def mixed(self, other: Duals, part: float) -> Duals:
        """Mix with this part of ``other`` (Wentges 1997)."""
        return Duals(_weighted_mean(self.units, other.units, part), _weighted_mean(self.rows, other.rows, part))


def _weighted_mean(one: Sequence[float], other: Sequence[float], part: float) -> tuple[float, ...]:
    return tuple((1 - part) * mine + part * theirs for mine, theirs in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class StageResult:
    """The value of a stage, the bound on all plans (None: unknown), and whether the gap is small enough.

    ``duals`` are those of the linear program at its bound; None where it was not solved. Its rows are those of the
    instance, and one for each stage that is ``kept``, by name.
    """

    name: str
    value: int
    bound: int | None
    proven: bool
    rounds: int
    duals: Duals | None = None
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanSolution:
    """A plan with the results of all stages that were begun; ``columns`` are all that were generated.

    ``interrupted``: Ctrl-C ended it, and the plan is the best so far.
    """

    plan: IntegerPlan
    stages: tuple[StageResult, ...]
    columns: tuple[Column, ...]
    interrupted: bool = False

    @classmethod
    def not_begun(cls, instance: MasterProblem) -> PlanSolution:
        """The plan to start from, where Ctrl-C came before any stage."""
        return cls(instance.start or empty_plan(instance), (), (), interrupted=True)


@dataclass(frozen=True, slots=True)
class IntegerPlan:
    """``columns`` with the number of nodes that take each; ``units`` are those placed one by one, without gangs'."""

    columns: tuple[tuple[Column, int], ...]
    units: tuple[int, ...]
    gangs: tuple[int, ...]

    def value(self, terms: Terms) -> int:
        """Return the value of a linear form."""
        total = sum(terms.of_column(column) * nodes for column, nodes in self.columns)
        total += sum(coefficient * self.units[index] for index, coefficient in terms.units.items())
        return total + sum(coefficient * self.gangs[index] for index, coefficient in terms.gangs.items())

    def is_feasible(self, instance: MasterProblem, rows: Sequence[CouplingRow]) -> bool:
        """Check the plan against demand, nodes, coverage and rows."""
        nodes: Counter[int] = Counter()
        for column, number in self.columns:
            nodes[column.node_class] += number
        needed, given = placed_units(instance, self), covered_units(instance, self.columns)
        return (
            all(nodes[node.index] <= node.count for node in instance.nodes)
            and all(0 <= number <= unit.demand for number, unit in zip(self.units, instance.units, strict=True))
            and all(0 <= number <= gang.demand for number, gang in zip(self.gangs, instance.gangs, strict=True))
            and all(need <= room for need, room in zip(needed, given, strict=True))
            and all(row.holds(self) for row in rows)
        )


def forces_all(instance: MasterProblem, row: CouplingRow) -> bool:
    """Whether a row forces a plan to place all units and gangs that it counts."""
    terms = row.terms
    plain = not terms.nodes and not terms.usage and all(v > 0 for v in (*terms.units.values(), *terms.gangs.values()))
    total = sum(value * instance.units[index].demand for index, value in terms.units.items())
    total += sum(value * instance.gangs[index].demand for index, value in terms.gangs.items())
    return plain and row.lower is not None and row.lower >= total


def required_units(instance: MasterProblem, rows: Sequence[CouplingRow]) -> list[int]:
    """How many units of each class rows force a plan to place."""
    forcing = [row.terms for row in rows if forces_all(instance, row)]
    units = {unit for terms in forcing for unit in terms.units}
    gangs = {gang for terms in forcing for gang in terms.gangs}
    found = [unit.demand if unit.index in units else 0 for unit in instance.units]
    for index in gangs:
        for unit, size in instance.gangs[index].members:
            found[unit] += size * instance.gangs[index].demand
    return found


def placed_units(instance: MasterProblem, plan: IntegerPlan) -> list[int]:
    """How many units of each class a plan places, those of gangs included."""
    needed = list(plan.units)
    for gang, placed in zip(instance.gangs, plan.gangs, strict=True):
        for unit, size in gang.members:
            needed[unit] += size * placed
    return needed


def covered_units(instance: MasterProblem, columns: Sequence[tuple[Column, int]]) -> list[int]:
    """How many units of each class columns have room for."""
    room = [0] * len(instance.units)
    for column, nodes in columns:
        for unit, amount in column.counts:
            room[unit] += amount * nodes
    return room


def empty_plan(instance: MasterProblem) -> IntegerPlan:
    """The plan that places nothing."""
    return IntegerPlan((), (0,) * len(instance.units), (0,) * len(instance.gangs))


def ordered_columns(columns: Mapping[Column, int]) -> tuple[tuple[Column, int], ...]:
    """Columns that are taken, in a fixed order."""
    taken = [(column, nodes) for column, nodes in columns.items() if nodes]
    return tuple(sorted(taken, key=lambda each: (each[0].node_class, each[0].counts, each[0].usage)))

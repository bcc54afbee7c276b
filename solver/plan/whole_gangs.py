"""Gangs in whole numbers: a bound where rows decide which gangs are placed, and the gangs of nearly the best plan.

The linear relaxation admits parts of gangs, of which many rows of quota together leave much room. Here gangs are whole,
and *capacity rows* stand for the nodes: at prices for units that are not below zero, no plan places units for more than
the sum, over the node classes, of the number of nodes times the worth of the best column. The prices are duals of the
linear relaxation. Gangs that the nodes cannot hold together give further prices, as the cuts of Benders (1962) do, at
which they cost too much. Each solution is a wish for a plan, and each bound holds for all plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...encoders.rows import CoefficientError, CpSatRows
from ..engines.cp_sat import Limits, SolverConfiguration, SolverStatus, run_solver
from . import column_generation
from .column_generation import ColumnGenerator, Effort, GenerationLimits, Prices, PricingLimits
from .gang_dive import fill_for_gangs
from .heuristics import fill_greedily
from .master import (
    LinearMaster,
    MasterRelaxation,
    open_choices,
    plan_from_columns,
    solve_integer_program,
    solve_restricted_master,
)
from .master_problem import (
    Column,
    CouplingRow,
    IntegerPlan,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
    covered_units,
    ordered_columns,
    placed_units,
)

# Rows about the same few amounts, as those of quota, need presolve and cuts to be bounded well.
ROWS_OF_QUOTA = SolverConfiguration(symmetry=0)
# With larger numbers HiGHS goes wrong, and says so on the standard output.
_LARGEST_NUMBER = 1 << 31
# The largest price of a capacity row where no small whole numbers have the same ratios, and how near these must be.
_LARGEST_PRICE = 1 << 16
_MOST_MULTIPLES = 64
_RATIO_TOLERANCE = 1e-5
# Rounds of pricing, and work for choosing columns, to find out what nodes can hold of some gangs.
_COVER_ROUNDS, _COVER_WORK, _COVER_TOLERANCE = 60, 2.0, 1e-7


@dataclass(frozen=True, slots=True)
class GangPlacement:
    """A plan in which the nodes hold all that was wished for, or else columns that hold much of it.

    ``row`` is a capacity row that excludes the wish, where its units do not even fit nodes in parts.
    """

    plan: IntegerPlan | None
    columns: Sequence[tuple[Column, int]] = ()
    row: CouplingRow | None = None


@dataclass
class WholeGangSolver:
    """Solves the relaxation of a master problem in which gangs are whole; ``capacity`` rows grow with each question."""

    generator: ColumnGenerator
    limits_by_class: Sequence[int]
    capacity: list[CouplingRow] = field(default_factory=list)

    def filled(
        self,
        stages: Sequence[ObjectiveStage],
        relaxation: MasterRelaxation,
        fixed: Mapping[int, int],
        deadline: float | None,
    ) -> IntegerPlan:
        """A plan to start from, which may break rows: ``fixed`` gangs come first, then those of the relaxation."""
        columns = fill_for_gangs(self.generator, relaxation, fixed, self._sizes, deadline)
        wished = [float(fixed.get(index, amount)) for index, amount in enumerate(relaxation.gangs)]
        return plan_from_columns(self.generator.instance, stages, columns, wished)

    def wish(self, stage: ObjectiveStage, gap: float, deadline: float | None) -> IntegerPlan | None:
        """Find whole gangs that are nearly best for a stage, as far as rows about units and gangs say.

        HiGHS finds them far sooner than CP-SAT; what it says of bounds is not asked, as it counts in floating point.
        """
        if stage.terms.nodes or stage.terms.usage:
            return None
        units, rows = len(self.generator.instance.units), self._rows()
        numbers = (abs(number) for row in rows for number in (*row.terms.units.values(), *row.terms.gangs.values()))
        if max((*self._most(), *numbers), default=0) > _LARGEST_NUMBER:
            return None
        values = solve_integer_program(
            self._most(),
            [(self._terms(row.terms), row.lower, row.upper) for row in rows],
            self._terms(stage.terms),
            maximise=stage.maximise,
            gap=gap,
            deadline=deadline,
            following=self._following,
        )
        if values is None:
            return None
        completion, gangs = self.generator.instance.completion, tuple(values[units:])
        wished = IntegerPlan((), tuple(values[:units]), completion.settled(gangs) if completion else gangs)
        return wished if all(row.holds(wished) for row in rows) else None

    def bound(self, stage: ObjectiveStage, hint: IntegerPlan, limits: Limits) -> int | None:
        """Bound a stage by CP-SAT; None for unknown. ``hint`` keeps the rows, and is as good as is known."""
        instance = self.generator.instance
        if stage.terms.nodes or stage.terms.usage:
            return None
        rows = CpSatRows()
        rows.has_packing_rows = True
        variables = [rows.integer(0, most) for most in self._most()]
        sign = -1 if stage.maximise else 1
        try:
            for row in self._rows():
                rows.between(self._terms(row.terms), row.lower, row.upper)
            rows.minimize([(variable, sign * value) for variable, value in self._terms(stage.terms) if value])
        except CoefficientError:
            return None
        rows.hint(dict(zip(variables, (*hint.units, *hint.gangs), strict=True)))
        found = run_solver(rows, limits, ROWS_OF_QUOTA)
        if found.status not in (SolverStatus.OPTIMAL, SolverStatus.FEASIBLE):
            return None
        step = column_generation.value_step(instance, stage.terms)
        return sign * -(-found.bound // step) * step

    @property
    def _sizes(self) -> list[int]:
        """What each unit takes of a node, roughly."""
        completion = self.generator.instance.completion
        known = completion.sizes if completion else ()
        return [max(1, size) for size in known] or [1] * len(self.generator.instance.units)

    @property
    def _following(self) -> frozenset[int]:
        """The variables of gangs that only count what others come to."""
        instance = self.generator.instance
        if instance.completion is None:
            return frozenset()
        decided = {gang for own in instance.completion.decided for gang in own}
        first = len(instance.units)
        pairs = enumerate(instance.gangs)
        return frozenset(first + index for index, gang in pairs if not gang.members and index not in decided)

    def _most(self) -> list[int]:
        """How many there are of each unit class, and then of each gang class."""
        instance = self.generator.instance
        return [*(unit.demand for unit in instance.units), *(gang.demand for gang in instance.gangs)]

    def _rows(self) -> list[CouplingRow]:
        """Rows about units and gangs: to leave out the others leaves out no plan."""
        rows = (*self.generator.master.rows, *self.capacity)
        return [row for row in rows if not row.terms.nodes and not row.terms.usage]

    def _terms(self, form: Terms) -> list[tuple[int, int]]:
        """A form over the units and then the gangs, by number."""
        first = len(self.generator.instance.units)
        return [*form.units.items(), *((first + index, value) for index, value in form.gangs.items())]

    def add_prices(self, prices: Sequence[float], deadline: float | None) -> CouplingRow | None:
        """Add the capacity row at prices near these; None where pricing ends too early, or units are worth nothing."""
        row = self._capacity_row(whole_prices(prices), deadline)
        if row is not None and row not in self.capacity:
            self.capacity.append(row)
        return row

    def _capacity_row(self, prices: Sequence[int], deadline: float | None) -> CouplingRow | None:
        instance, total = self.generator.instance, 0
        if not any(prices):
            return None
        asked, limits = Prices(tuple(prices), (0,) * instance.meters), PricingLimits(Effort.THOROUGH, deadline=deadline)
        for node in instance.nodes:
            priced = self.generator.pricer.price(node.index, asked, self.limits_by_class, limits)
            if priced.bound is None:
                return None
            total += node.count * max(0, priced.bound)
        units = {unit.index: prices[unit.index] for unit in instance.units if unit.demand and prices[unit.index]}
        worth = (sum(prices[unit] * size for unit, size in gang.members) for gang in instance.gangs)
        gangs = {index: one for index, one in enumerate(worth) if one}
        return CouplingRow(Terms(units=units, gangs=gangs), upper=total)

    def place(self, wished: IntegerPlan, deadline: float | None) -> GangPlacement:
        """Look for columns that hold all that is wished for; units count by their sizes where not all can be held.

        What nodes do not hold in parts either gives a capacity row, which is added.
        """
        instance, given = self.generator.instance, placed_units(self.generator.instance, wished)
        weights = self._sizes
        units = tuple(
            MasterUnitClass(index, number, weight)
            for index, (number, weight) in enumerate(zip(given, weights, strict=True))
        )
        cover = MasterProblem(units, instance.nodes, (), (), instance.meters, instance.sizes)
        stage, master = cover.admitted(), LinearMaster(cover)
        generator = replace(self.generator, instance=cover, master=master)
        prices = Prices(tuple(weights), (0,) * instance.meters)
        filled = list(fill_greedily(generator, prices, deadline))
        if _covers(cover, filled):
            return GangPlacement(replace(wished, columns=ordered_columns(_counted(filled))))
        for column in (*self.generator.master.columns, *(column for column, _ in filled)):
            master.add(column)
        master.set_objective(stage)
        budget = GenerationLimits(_COVER_ROUNDS, _COVER_TOLERANCE, deadline)
        relaxation = generator.run(stage, budget, self.limits_by_class).relaxation
        if relaxation is None:
            return GangPlacement(None, filled)
        row, asked = None, sum(number * weight for number, weight in zip(given, weights, strict=True))
        if relaxation.value < asked * (1 - _COVER_TOLERANCE):
            duals = relaxation.duals.units
            row = self.add_prices([min(dual, weight) for dual, weight in zip(duals, weights, strict=True)], deadline)
        choices = open_choices(instance, master.columns)
        start = plan_from_columns(cover, [stage], filled)
        limits = Limits(deadline=deadline, work=_COVER_WORK)
        chosen = solve_restricted_master(cover, (), stage, choices, start, limits).plan or start
        plan = replace(wished, columns=chosen.columns) if _covers(cover, chosen.columns) else None
        return GangPlacement(plan, chosen.columns, row)


def _covers(cover: MasterProblem, columns: Sequence[tuple[Column, int]]) -> bool:
    room = covered_units(cover, columns)
    return all(unit.demand <= there for unit, there in zip(cover.units, room, strict=True))


def _counted(columns: Sequence[tuple[Column, int]]) -> Counter[Column]:
    found = Counter[Column]()
    for column, number in columns:
        found[column] += number
    return found


def whole_prices(prices: Sequence[float]) -> list[int]:
    """Whole numbers, small ones if any have nearly the ratios of these prices; nothing is below zero."""
    positive = [price for price in prices if price > 0]
    if not positive:
        return [0] * len(prices)
    largest = max(positive)
    least = min(price for price in positive if price > largest * _RATIO_TOLERANCE)
    for times in range(1, _MOST_MULTIPLES + 1):
        numbers = [max(0.0, price) / least * times for price in prices]
        if largest / least * times > _LARGEST_PRICE:
            break
        if all(abs(number - round(number)) <= _RATIO_TOLERANCE * max(1.0, number) for number in numbers):
            return [round(number) for number in numbers]
    return [round(max(0.0, price) / largest * _LARGEST_PRICE) for price in prices]

"""Column generation: the pricer gets the master's duals and returns columns, and each round proves a bound.

Duals are smoothed (Wentges 1997): prices lie between the duals that proved the best bound and those of the last
solution. They are rounded to whole numbers, so that the Lagrangian bound is exact whatever the linear solver did.
Rounds, tolerance and pricing work end the generation; the clock does so for safety only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import IntEnum
from math import gcd
from typing import Protocol

from .filling_graph import Fillings, VectorNode
from .master import LinearMaster, MasterRelaxation
from .master_problem import Column, CouplingRow, Duals, MasterProblem, ObjectiveStage, PlanLimits, Terms, is_past

# How much of the last duals is in the prices.
_CURRENT_DUAL_WEIGHT = 0.25
# A column whose worth exceeds its node's by less, relative to the stage's value, changes nothing.
_REDUCED_COST_TOLERANCE = 1e-9


class Effort(IntEnum):
    """Effort of pricing: ``QUICK`` while it finds columns, ``THOROUGH`` to prove that there are none."""

    QUICK = 0
    THOROUGH = 1


@dataclass(frozen=True, slots=True)
class GenerationLimits:
    """Limits of one run: rounds of pricing, and a monotonic time; ``tolerance`` is relative, of value against bound.

    A relaxation that is no worse than a ``known_bound`` ends the run, for it bounds no better.
    """

    rounds: int
    tolerance: float
    deadline: float | None = None
    thorough: bool = True
    known_bound: int | None = None


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """The last relaxation, the best bound in 1 / ``scale`` (None for none) with its duals, and the rounds it took."""

    relaxation: MasterRelaxation | None
    bound: int | None
    scale: int
    rounds: int
    duals: Duals | None = None

    def rounded(self, instance: MasterProblem, stage: ObjectiveStage) -> int | None:
        """The bound as the next value that a plan can have."""
        if self.bound is None:
            return None
        step = value_step(instance, stage.terms)
        sign = 1 if stage.maximise else -1
        return sign * (self.bound // (self.scale * step)) * step


def value_step(instance: MasterProblem, terms: Terms) -> int:
    """Return the step of a form: the values of all plans are multiples of it."""
    # There are units that only gangs ask for.
    units = (terms.units.get(unit.index, 0) for unit in instance.units if unit.demand)
    gangs = (terms.gangs.get(index, 0) for index, gang in enumerate(instance.gangs) if gang.demand)
    nodes = (terms.nodes.get(node.index, 0) for node in instance.nodes if node.count)
    return gcd(*terms.usage.values(), *units, *gangs, *nodes) or 1


RoundWatch = Callable[[float, float | None], None]
"""Called after each round with the value of the relaxation and its bound."""


@dataclass(frozen=True, slots=True)
class ColumnGenerator:
    """Generates columns of a master problem for its linear master, stage by stage."""

    instance: MasterProblem
    master: LinearMaster
    pricer: Pricer
    executor: Executor | None = None

    def run(
        self,
        stage: ObjectiveStage,
        budget: GenerationLimits,
        limits_by_class: Sequence[int],
        classes: Sequence[int] | None = None,
    ) -> GenerationResult:
        """Generate columns as ``begin`` says, to the end."""
        run = self.begin(stage, budget, limits_by_class, classes)
        run.to_the_end()
        return run.known()

    def begin(
        self,
        stage: ObjectiveStage,
        budget: GenerationLimits,
        limits_by_class: Sequence[int],
        classes: Sequence[int] | None = None,
        watch: RoundWatch | None = None,
    ) -> GenerationRun:
        """Return a run for columns of these node classes (None for all) that take at most so many units.

        Bounds hold if all classes are asked for, and nothing in the master is restricted.
        """
        asked = range(len(self.instance.nodes)) if classes is None else classes
        return GenerationRun(self, stage, budget, limits_by_class, asked, watch)

    def stage_pricing(self, stage: ObjectiveStage, duals: Duals, floor: int = 0) -> StagePricing:
        """The stage at these duals, with the rows that the master has by now."""
        return StagePricing(self.instance, stage, self.master.rows, duals, floor)

    def price(
        self, prices: StagePricing, classes: Sequence[int], limits_by_class: Sequence[int], limits: PricingLimits
    ) -> list[PricingResult]:
        """Price node classes, at once where there is an executor; answers are in the order of the classes."""
        asked = [(node_class, prices.prices, tuple(limits_by_class), limits) for node_class in classes]
        if self.executor is None:
            return [self.pricer.price(*one) for one in asked]
        futures = [self.executor.submit(self.pricer.price, *one) for one in asked]
        return [future.result() for future in futures]


@dataclass
class GenerationRun:
    """Rounds of pricing, which may go on with another ``budget``; what is ``known`` is there after Ctrl-C, too."""

    generator: ColumnGenerator
    stage: ObjectiveStage
    budget: GenerationLimits
    limits_by_class: Sequence[int]
    classes: Sequence[int]
    watch: RoundWatch | None
    tried: Duals = field(init=False)
    center: Duals | None = None
    bound: int | None = None
    effort: Effort = Effort.QUICK
    smooth: bool = True
    relaxation: MasterRelaxation | None = None
    scale: int = 1
    rounds: int = 0

    def known(self) -> GenerationResult:
        """Return the result by now; the bound has the scale at which it was found."""
        return GenerationResult(self.relaxation, self.bound, self.scale, self.rounds, self.center)

    def to_the_end(self) -> None:
        """Go on until a limit is reached, or nothing more is found."""
        if any(unit.at_home for unit in self.generator.instance.units):
            # The plan to start from is good there, and what is missing is a bound.
            self.effort = Effort.THOROUGH
        relaxation = self._relaxed()
        while relaxation is not None and self.rounds < self.budget.rounds and not is_past(self.budget.deadline):
            self.rounds += 1
            pricing, is_smoothed = self._pricing(relaxation)
            is_new = self._round(pricing, relaxation)
            if self.watch:
                self.watch(relaxation.value, self.bound and self.bound / self.scale)
            if is_new:
                self.smooth = True
                relaxation = self._relaxed()
            if self._is_closed(relaxation) or not (is_new or self._tries_harder(is_smoothed)):
                break

    def _relaxed(self) -> MasterRelaxation | None:
        """Solve; the last relaxation that could be solved is kept."""
        found = self.generator.master.solve(self.budget.deadline)
        self.relaxation = found or self.relaxation
        return found

    def _pricing(self, relaxation: MasterRelaxation) -> tuple[StagePricing, bool]:
        is_smoothed = self.smooth and self.center is not None
        self.tried = relaxation.duals
        if is_smoothed and self.center:
            self.tried = self.center.mixed(self.tried, _CURRENT_DUAL_WEIGHT)
        return self.generator.stage_pricing(self.stage, self.tried), is_smoothed

    def _round(self, pricing: StagePricing, relaxation: MasterRelaxation) -> bool:
        """Price once; tell whether a column is new that the relaxation would take."""
        limits = PricingLimits(self.effort, deadline=self.budget.deadline)
        priced = self.generator.price(pricing, self.classes, self.limits_by_class, limits)
        has_all = len(priced) == len(self.generator.instance.nodes)
        bound = pricing.bound([one.bound for one in priced]) if has_all else None
        if bound is not None and (self.bound is None or bound * self.scale < self.bound * pricing.scale):
            self.bound, self.scale, self.center = bound, pricing.scale, self.tried
        same = self.tried is relaxation.duals
        exact = pricing if same else self.generator.stage_pricing(self.stage, relaxation.duals)
        least = _REDUCED_COST_TOLERANCE * max(1.0, abs(relaxation.value)) * exact.scale
        is_new = False
        for column in (column for one in priced for column in one.columns):
            if exact.worth(column) > relaxation.nodes[column.node_class] * exact.scale + least:
                is_new |= self.generator.master.add(column)
        return is_new

    def _tries_harder(self, was_smoothed: bool) -> bool:
        """After a round in vain: price without smoothing, then with more effort; False if both are done."""
        if was_smoothed:
            self.smooth = False
            return True
        if self.effort is Effort.QUICK and self.budget.thorough:
            self.effort = Effort.THOROUGH
            self.smooth = True
            return True
        return False

    def _is_closed(self, relaxation: MasterRelaxation | None) -> bool:
        if relaxation is None:
            return False
        known = self.budget.known_bound
        if known is not None and (relaxation.value >= known if self.stage.maximise else relaxation.value <= known):
            return True
        if self.bound is None:
            return False
        value = relaxation.value if self.stage.maximise else -relaxation.value
        about = value + (self.stage.offset if self.stage.maximise else -self.stage.offset)
        return self.bound / self.scale - value <= self.budget.tolerance * max(1.0, abs(about))


def stage_bounds(
    instance: MasterProblem, stages: Sequence[tuple[ObjectiveStage, int]], pricer: Pricer, limits: PlanLimits
) -> Iterator[int | None]:
    """Bound each stage for plans that are as good as these values in the stages before; None for unknown."""
    master = LinearMaster(instance)
    generator = ColumnGenerator(instance, master, pricer)
    budget = GenerationLimits(limits.rounds, limits.gap, limits.deadline)
    for stage, value in stages:
        master.set_objective(stage)
        bound = generator.run(stage, budget, instance.demands()).rounded(instance, stage)
        yield stage.tightest(stage.trivial_bound(instance), bound)
        master.add_row(stage.kept_at(value))


def vector_nodes(instance: MasterProblem, pricer: Pricer) -> dict[int, VectorNode] | None:
    """The node classes that there are, as vectors; None where some class is not one."""
    found: dict[int, VectorNode] = {}
    for node in instance.nodes:
        if node.count:
            one = pricer.vector(node.index)
            if one is None:
                return None
            found[node.index] = one
    return found


MANY_NODE_CLASSES = 64
"""With more node classes sizes say little."""


# What one more unit may add to a stage, times the stage's scale, is about this.
_PRECISION = 1 << 26
# Prices of rows about nodes alone are whole numbers of this part: coefficients there, such as costs, may be large.
_ROW_PART = 1 << 24
# A price that is whole but for such a part is whole.
_WHOLE_BITS = 30
# A gang class without members of which there are more than so many counts an amount.
_MANY_FOLLOWERS = 1000
# Duals above so many times that are cut off where nodes count: sums there must stay below what the solvers take.
_LARGEST_DUAL = 1 << 30


class StagePricing:
    """A stage with its rows at integer prices: the worth of columns, and the Lagrangian bound.

    Everything is in 1 / ``scale`` of the stage's unit, and in the sense of maximising. No unit that the stage, a row or
    a gang names is worth less than ``floor``, and no row about usage costs less.
    """

    def __init__(
        self, instance: MasterProblem, stage: ObjectiveStage, rows: Sequence[CouplingRow], duals: Duals, floor: int = 0
    ) -> None:
        largest = max(duals.units, default=0.0)
        finest = _LARGEST_DUAL / largest if largest > 1 else _PRECISION
        self.scale = max(1, int(min(finest, _PRECISION // max(1, instance.largest_coefficient(stage.terms)))))
        self._instance = instance
        self._rows = rows
        self._row_prices = [self._row_price(row, dual, floor) for row, dual in zip(rows, duals.rows, strict=True)]
        self._settle_followers(stage)
        sign = self.scale if stage.maximise else -self.scale
        pairs = [(stage.terms, sign * _ROW_PART)]
        pairs += [(row.terms, -price) for row, price in zip(rows, self._row_prices, strict=True) if price]
        self._terms = _rounded_up(combined_terms(pairs))
        self._most_nodes = instance.most_nodes([stage], rows)
        units = [min(max(0, round(dual * self.scale)), _LARGEST_DUAL) for dual in duals.units]
        named = set[int]()
        if floor:
            # Rows that cost nothing count, too.
            members = {unit for gang in instance.gangs for unit, _ in gang.members}
            named = members.union(stage.terms.units, *(row.terms.units for row in rows))
        self.prices = Prices(
            tuple(max(floor, price) if unit in named else price for unit, price in enumerate(self._capped(units))),
            tuple(self._terms.usage.get(m, 0) for m in range(instance.meters)),
        )

    def _settle_followers(self, stage: ObjectiveStage) -> None:
        """Let gangs without members gain nothing by rounding, which would be worth much where they are many.

        Such a gang only carries an amount from one row to others. The price of the first becomes no more than those of
        the others. Gangs that are made later carry what earlier ones do, so that they come first.
        """
        many = {
            index
            for index, gang in enumerate(self._instance.gangs)
            if not gang.members and gang.demand > _MANY_FOLLOWERS and index not in stage.terms.gangs
        }
        rows: dict[int, list[int]] = {index: [] for index in many}
        for number, row in enumerate(self._rows if many else ()):
            for index in many.intersection(row.terms.gangs) if self._row_prices[number] else ():
                rows[index].append(number)
        for index in sorted(many, reverse=True):
            own = [(number, self._rows[number].terms.gangs[index]) for number in rows[index]]
            gain = -sum(self._row_prices[number] * coefficient for number, coefficient in own)
            for number, coefficient in own:
                if gain > 0 and coefficient == -1 and self._row_prices[number] > 0:
                    less = min(gain, self._row_prices[number])
                    self._row_prices[number] -= less
                    gain -= less

    def _row_price(self, row: CouplingRow, dual: float, floor: int) -> int:
        """The price in 1 / ``_ROW_PART``."""
        price = round(dual * self.scale)
        if row.terms.usage:
            price = max(-_LARGEST_DUAL, min(_LARGEST_DUAL, price))
        if row.terms.usage and abs(price) < floor:
            price = floor if row.upper is not None else -floor
        if row.terms.nodes and not row.terms.usage:
            exact = round(dual * self.scale * _ROW_PART)
            price = price * _ROW_PART if abs(exact - price * _ROW_PART) <= abs(exact) >> _WHOLE_BITS else exact
        else:
            price *= _ROW_PART
        if (price > 0 and row.upper is None) or (price < 0 and row.lower is None):
            return 0
        return price

    def _capped(self, units: list[int]) -> tuple[int, ...]:
        """Lower prices to what a stage or a gang gains by a unit: that never makes the bound worse."""
        caps = [max(0, self._terms.units.get(index, 0)) for index in range(len(units))]
        gangs = self._instance.gangs
        for index, gain in self._terms.gangs.items():
            # Less than nothing gains nothing.
            for unit, size in gangs[index].members if gain > 0 else ():
                cap = -(-gain // size)
                if cap > caps[unit]:
                    caps[unit] = cap
        return tuple(map(min, units, caps))

    def constant(self, node_class: int) -> int:
        """The coefficient of a node of the class when it is in use."""
        return self._terms.nodes.get(node_class, 0)

    def worth(self, column: Column) -> int:
        """The worth of a column on a node."""
        return self.prices.value(column) + self.constant(column.node_class)

    def bound(self, columns: Sequence[int | None]) -> int | None:
        """Bound the stage, given bounds on the worth of each node class's columns; None for none."""
        total, left = 0, self._most_nodes
        worths: list[tuple[int, int]] = []
        for node, worth in zip(self._instance.nodes, columns, strict=True):
            if worth is None:
                return None
            worths.append((worth + self.constant(node.index), node.count))
        for worth, number in sorted(worths, reverse=True):
            taken = min(number, left) if worth > 0 else 0
            total, left = total + taken * worth, left - taken
        for unit in self._instance.units:
            total += unit.demand * max(0, self._terms.units.get(unit.index, 0) - self.prices.units[unit.index])
        prices = self.prices.units
        for index, gain in self._terms.gangs.items():
            # Prices are not below zero.
            if gain > 0:
                gang = self._instance.gangs[index]
                for number, size in gang.members:
                    gain -= size * prices[number]
                if gain > 0:
                    total += gang.demand * gain
        paid_for_rows = 0
        for row, price in zip(self._rows, self._row_prices, strict=True):
            limit = row.upper if price > 0 else row.lower
            paid_for_rows += price * (limit or 0)
        return total - (-paid_for_rows // _ROW_PART)


def combined_terms(pairs: Sequence[tuple[Terms, int]]) -> Terms:
    """Add up terms, each times a number."""
    sums: tuple[dict[int, int], ...] = ({}, {}, {}, {})
    for terms, factor in pairs:
        kinds = (terms.units, terms.gangs, terms.nodes, terms.usage)
        for total, kind in zip(sums, kinds, strict=True):
            for index, coefficient in kind.items():
                total[index] = total.get(index, 0) + factor * coefficient
    return Terms(*sums)


def _rounded_up(terms: Terms) -> Terms:
    """Whole numbers for coefficients in 1 / ``_ROW_PART``; those of usage are whole."""
    kinds = (terms.units, terms.gangs, terms.nodes, terms.usage)
    return Terms(*({index: -(-value // _ROW_PART) for index, value in kind.items()} for kind in kinds))


@dataclass(frozen=True, slots=True)
class PricingLimits:
    """Limits of pricing: ``work`` steps, which each pricer defines, and, for safety only, a monotonic time."""

    effort: Effort = Effort.QUICK
    work: int | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """The worth of each unit in a column, and of each unit of a meter that it uses (mostly below zero)."""

    units: tuple[int, ...]
    meters: tuple[int, ...] = ()

    def value(self, column: Column) -> int:
        """Return the worth of a column."""
        units = sum(self.units[unit] * amount for unit, amount in column.counts)
        return units + sum(self.meters[meter] * amount for meter, amount in column.usage)


@dataclass(frozen=True, slots=True)
class PricingResult:
    """Columns, the best first, and a number that no column of the class is worth more than; None for unknown."""

    columns: tuple[Column, ...]
    bound: int | None


class Pricer(Protocol):
    """Finds columns. Equal questions must get equal answers, in any process."""

    def price(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], limits: PricingLimits
    ) -> PricingResult:
        """Find valuable columns that take at most so many units of each class.

        The bound must hold for all columns within these limits, even where pricing stopped early.
        """

    def enumerate(
        self, node_class: int, prices: Prices, limits_by_class: Sequence[int], least_value: int, limits: PricingLimits
    ) -> tuple[Column, ...] | None:
        """Return all columns within these limits that are worth ``least_value`` or more, None if they are too many.

        Columns that another one covers, class by class, at no more use of meters may be left out.
        """

    def reduced(self, column: Column, counts: Mapping[int, int]) -> Column:
        """Take units out of a column until it has so many of each class, at no more use of any meter.

        It may stay as it is where what is left would not do without the rest.
        """

    def completed(self, column: Column, prices: Prices, left: Sequence[int], limits: PricingLimits) -> Column:
        """Return the column with the most valuable units that it has room for beside its own, of those that are left.

        Another column may be found that has more; what is not found quickly is not looked for.
        """

    def lightened(self, column: Column) -> Column:
        """Return a column of the same units that uses no more of any meter; the same one if none is found quickly."""

    def vector(self, node_class: int) -> VectorNode | None:
        """A node of the class as a vector; None where what units take is none."""

    def sizes(self, node_class: int) -> VectorNode:
        """A node of the class as a vector to which all columns keep; they may have to keep to more than that."""

    def fillings(self, node_class: int, limits_by_class: Sequence[int]) -> Fillings | None:
        """All fillings within these limits, and perhaps more, as a graph or as a list; None where there is none."""

    def filled(self, node_class: int, counts: Sequence[tuple[int, int]]) -> Column:
        """The column of a path of a graph: so many units of each class."""

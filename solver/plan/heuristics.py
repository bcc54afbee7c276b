"""Heuristics that find plans: greedy filling, dives, large neighbourhood search, removal of slack, counting.

Greedy filling takes one node class after the other, each time with the most valuable column of what is left. Large
neighbourhood search empties a few nodes, prices for what they may take, and chooses again by CP-SAT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heapreplace
from math import floor, inf
from operator import mul
from random import Random
from time import monotonic

from ..engines.cp_sat import Limits
from .column_generation import ColumnGenerator, GenerationLimits, Pricer, Prices, PricingLimits
from .master import INTEGRALITY_TOLERANCE, ColumnBounds, MasterRelaxation, solve_restricted_master
from .master_problem import (
    Column,
    IntegerPlan,
    MasterNodeClass,
    MasterProblem,
    ObjectiveStage,
    covered_units,
    empty_plan,
    is_past,
    ordered_columns,
    placed_units,
)

# Where columns cannot be repeated because units are few of a kind, each node is priced: so often for every node class
# on average with all that is left, and then with so many unit classes only, those of the highest prices.
_PRICINGS = 12
_WINDOW = 32
# Plans that are filled at the duals, while each raises the relaxation by such a part.
_DUAL_FILLINGS, _LEAST_IMPROVEMENT = 8, 0.0005
# What part of the time that is left may go into filling, for safety.
_FILLING_TIME_SHARE = 1 / 3


def fill_greedily(
    generator: ColumnGenerator, prices: Prices, deadline: float | None = None, most: Sequence[int] | None = None
) -> Iterator[tuple[Column, int]]:
    """Fill the nodes of each class with what earlier ones left; a column is repeated while it can be.

    There are ``most`` units of each class, None for all that are asked for.
    """
    instance = generator.instance
    yield from fill_nodes(instance, generator.pricer, prices, deadline, instance.demands() if most is None else most)


def fill_at_duals(generator: ColumnGenerator, stage: ObjectiveStage, deadline: float | None) -> None:
    """Add columns of whole plans that are filled greedily at the duals to the master.

    They go together, which those of single pricings do not, and save most of the rounds.
    """
    before = -inf
    for _ in range(_DUAL_FILLINGS):
        relaxation = generator.master.solve(deadline)
        if relaxation is None or relaxation.value - before <= _LEAST_IMPROVEMENT * abs(relaxation.value):
            break
        before = relaxation.value
        for column, _ in fill_greedily(generator, generator.stage_pricing(stage, relaxation.duals).prices, deadline):
            generator.master.add(column)


def fill_nodes(
    instance: MasterProblem, pricer: Pricer, prices: Prices, deadline: float | None, most: Sequence[int]
) -> Iterator[tuple[Column, int]]:
    """Fill the nodes as ``fill_greedily`` does, without a master problem."""
    filling = _GreedyFilling(pricer, prices, deadline, most, _PRICINGS * len(instance.nodes))
    for node in instance.nodes:
        yield from filling.fill(node)


def filling_deadline(deadline: float | None, share: float = _FILLING_TIME_SHARE) -> float | None:
    """When to stop filling, so that time remains for more than a plan to start from: after a share of what is left."""
    now = monotonic()
    return None if deadline is None else now + max(0.0, deadline - now) * share


class _GreedyFilling:
    def __init__(
        self, pricer: Pricer, prices: Prices, deadline: float | None, most: Sequence[int], pricings: int
    ) -> None:
        self._pricer = pricer
        self._prices = prices
        self._limits = PricingLimits(deadline=deadline)
        self._left = list(most)
        self._pricings = pricings
        self._order = sorted(range(len(self._left)), key=lambda unit: (-prices.units[unit], unit))

    def fill(self, node: MasterNodeClass) -> Iterator[tuple[Column, int]]:
        number = node.count
        while number and not is_past(self._limits.deadline):
            column = self._best(node.index)
            if column is None:
                break
            times = min([number, *(self._left[unit] // amount for unit, amount in column.counts)])
            for unit, amount in column.counts:
                self._left[unit] -= amount * times
            number -= times
            yield column, times

    def _best(self, node_class: int) -> Column | None:
        """The most valuable column, or nearly so once pricing has taken long enough."""
        self._pricings -= 1
        column = self._priced(node_class, self._window()) if self._pricings < 0 else None
        return column or self._priced(node_class, self._left)

    def _priced(self, node_class: int, most: list[int]) -> Column | None:
        priced = self._pricer.price(node_class, self._prices, most, self._limits)
        useful = (column for column in priced.columns if self._prices.value(column) > 0)
        return max(useful, key=self._prices.value, default=None)

    def _window(self) -> list[int]:
        """The remaining units of the classes with the highest prices."""
        self._order = [unit for unit in self._order if self._left[unit]]
        most = [0] * len(self._left)
        for unit in self._order[:_WINDOW]:
            most[unit] = self._left[unit]
        return most


def fill_beside_start(generator: ColumnGenerator, stage: ObjectiveStage, deadline: float | None) -> Iterator[Column]:
    """Columns around those of the plan to start from: its units with room for others of their rows, and units beyond.

    What is in the plan to start from may go elsewhere in the row that keeps it; what the stage counts besides comes in.
    """
    instance = generator.instance
    start = instance.start or empty_plan(instance)
    own = {unit for unit, number in enumerate(start.units) if number}
    rows = [row for row in instance.rows if row.lower and not own.isdisjoint(row.terms.units)]
    moved = {unit for row in rows for unit in row.terms.units if unit not in own}
    wanted = [unit for unit, worth in stage.terms.units.items() if worth > 0 and unit not in own | moved]
    ways = [dict.fromkeys(moved, 1), *({unit: _ENTERING} for unit in wanted[:_MOST_ENTERING])]
    for way in ways:
        worth = [_STAYING if unit in own else way.get(unit, 0) for unit in range(len(instance.units))]
        prices = Prices(tuple(worth), (0,) * instance.meters)
        yield from (column for column, _ in fill_greedily(generator, prices, deadline))


def fill_up(
    generator: ColumnGenerator, stage: ObjectiveStage, plan: IntegerPlan, deadline: float | None
) -> Iterator[tuple[Column, int]]:
    """The columns of a plan, each with what it has room for beside its units of those that are left and count."""
    instance = generator.instance
    left = _left_units(instance, plan.columns)
    worth = tuple(max(0, stage.terms.units.get(unit, 0)) for unit in range(len(left)))
    prices, limits = Prices(worth, (0,) * instance.meters), PricingLimits(deadline=deadline)
    for column, number in plan.columns:
        while number and not is_past(deadline) and any(map(mul, worth, left)):
            best = generator.pricer.completed(column, prices, left, limits)
            more = Counter(dict(best.counts)) - Counter(dict(column.counts))
            if not more:
                break
            times = min(number, *(left[unit] // amount for unit, amount in more.items()))
            left = [one - more[unit] * times for unit, one in enumerate(left)]
            number -= times
            yield best, times
        if number:
            yield column, number


# What is worth how much beside a plan to start from, and how many unit classes are let in.
_STAYING, _ENTERING, _MOST_ENTERING = 1000, 100_000, 8
# Nodes that are emptied at once: those that lose most against the relaxation, and others at random.
_WORST_NODES = 5
_RANDOM_NODES = 7
# Columns that are chosen from, and what that may cost, in deterministic units of work.
_NEIGHBOURHOOD_COLUMNS = 240
_NEIGHBOURHOOD_WORK, _NEIGHBOURHOOD_WORK_WITH_GANGS = 0.5, 0.2
# Rounds in vain after which it is over.
_ROUNDS_IN_VAIN = 12


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The columns that a plan keeps, the free nodes of each class, and the units left to place there."""

    kept: Counter[Column]
    nodes: dict[int, int]
    left: list[int]


class LargeNeighbourhoodSearch:
    """Rounds of improvement. Pseudo-random choices depend on the round alone."""

    def __init__(
        self, generator: ColumnGenerator, stage: ObjectiveStage, relaxation: MasterRelaxation, budget: GenerationLimits
    ) -> None:
        self._generator = generator
        self._instance = generator.instance
        self._master = generator.master
        self._stage = stage
        self._budget = budget
        self._pricing = generator.stage_pricing(stage, relaxation.duals)
        self._node_values = [worth * self._pricing.scale for worth in relaxation.nodes]

    def plans(self, plan: IntegerPlan) -> Iterator[IntegerPlan]:
        """Yield ever better plans, or others that are as good, until nothing more is found."""
        vain = number = 0
        while vain < _ROUNDS_IN_VAIN and not is_past(self._budget.deadline):
            number += 1
            better = self._round(plan, Random(number))
            gain = self._stage.gain(better, plan) if better else 0
            vain = 0 if gain > 0 else vain + 1
            if better and gain >= 0:
                plan = better
                yield plan

    def _round(self, plan: IntegerPlan, random: Random) -> IntegerPlan | None:
        emptied = self._empty(plan, random)
        index_of = {column: index for index, column in enumerate(self._master.columns)}
        if not self._stage.maximise:
            # Other columns would have room for more than is left, which is paid for in vain.
            own = {column for column, _ in plan.columns}
            for index, column in enumerate(self._master.columns):
                if column not in own:
                    self._master.restrict(index, 0, fitting_nodes(column, emptied.left))
        for column, number in emptied.kept.items():
            self._master.restrict(index_of[column], number)
        classes = [node_class for node_class, number in emptied.nodes.items() if number]
        relaxation = self._generator.run(self._stage, self._budget, emptied.left, classes).relaxation
        self._master.release()
        if relaxation is None:
            return None
        choices = self._choices(emptied, plan, relaxation)
        work = _NEIGHBOURHOOD_WORK_WITH_GANGS if self._instance.gangs else _NEIGHBOURHOOD_WORK
        limits = Limits(deadline=self._budget.deadline, work=work)
        return solve_restricted_master(self._instance, self._master.rows, self._stage, choices, plan, limits).plan

    def _empty(self, plan: IntegerPlan, random: Random) -> Neighbourhood:
        """Choose nodes to empty by how much less they are worth than the best one, at the relaxation's prices."""
        losses = [self._node_values[column.node_class] - self._pricing.worth(column) for column, _ in plan.columns]
        pairs = zip(losses, plan.columns, strict=True)
        nodes = [(loss, column) for loss, (column, number) in pairs for _ in range(number)]
        order = sorted(range(len(nodes)), key=lambda place: (-nodes[place][0], place))
        chosen = order[:_WORST_NODES]
        chosen += random.sample(order[_WORST_NODES:], min(_RANDOM_NODES, len(order[_WORST_NODES:])))
        kept = Counter(dict(plan.columns))
        free = {node.index: node.count for node in self._instance.nodes}
        for place in chosen:
            kept[nodes[place][1]] -= 1
        kept = +kept
        for column, number in kept.items():
            free[column.node_class] -= number
        return Neighbourhood(kept, free, _left_units(self._instance, list(kept.items())))

    def _choices(self, emptied: Neighbourhood, plan: IntegerPlan, relaxation: MasterRelaxation) -> list[ColumnBounds]:
        """Columns that stay where they are, and the most promising ones for the free nodes."""
        pricing = self._generator.stage_pricing(self._stage, relaxation.duals)
        taken = dict(plan.columns)
        ranked: list[tuple[bool, float, int]] = []
        for index, column in enumerate(self._master.columns):
            fits = all(amount <= emptied.left[unit] for unit, amount in column.counts)
            if fits and emptied.nodes[column.node_class]:
                loss = relaxation.nodes[column.node_class] * pricing.scale - pricing.worth(column)
                ranked.append((column not in taken, loss, index))
        open_columns = {self._master.columns[index] for _, _, index in sorted(ranked)[:_NEIGHBOURHOOD_COLUMNS]}
        choices = []
        for column in self._master.columns:
            kept = emptied.kept[column]
            most = kept + (emptied.nodes[column.node_class] if column in open_columns or column in taken else 0)
            if most:
                choices.append(ColumnBounds(column, kept, most))
        return choices


def _left_units(instance: MasterProblem, columns: Sequence[tuple[Column, int]]) -> list[int]:
    """The units of each class that columns have no room for."""
    there = covered_units(instance, columns)
    return [max(0, requested - number) for requested, number in zip(instance.demands(), there, strict=True)]


def remove_slack(instance: MasterProblem, plan: IntegerPlan, pricer: Pricer) -> IntegerPlan:
    """Take surplus units out of columns, so that these have exactly the units of the plan, and cost what these do.

    No stage becomes worse that counts placed units, or that minimises nodes or usage. Equal plans have equal results.
    """
    placed = placed_units(instance, plan)
    surplus = [there - needed for there, needed in zip(covered_units(instance, plan.columns), placed, strict=True)]
    if not any(surplus):
        return plan
    columns = _remove_slack_from_columns(plan.columns, surplus, pricer)
    smaller = replace(plan, columns=ordered_columns(columns))
    # A row could ask for usage, or a pricer could not do it.
    return smaller if smaller.is_feasible(instance, instance.rows) else plan


def shrink_plan(
    instance: MasterProblem, stages: Sequence[ObjectiveStage], plan: IntegerPlan, most: int, pricer: Pricer
) -> IntegerPlan:
    """Keep about ``most`` of what a plan places, by weight: what counts most in the first stages."""
    wanted = [stage.terms for stage in stages if stage.maximise]
    weights = [unit.weight for unit in instance.units]
    sizes = [sum(number * weights[unit] for unit, number in gang.members) or 1 for gang in instance.gangs]
    kinds = [
        *((tuple(-terms.units.get(i, 0) for terms in wanted), False, i, n) for i, n in enumerate(plan.units)),
        *((tuple(-terms.gangs.get(i, 0) / sizes[i] for terms in wanted), True, i, n) for i, n in enumerate(plan.gangs)),
    ]
    units, gangs, left = [0] * len(plan.units), [0] * len(plan.gangs), most
    for _, is_gang, index, placed in sorted(kinds):
        size = sizes[index] if is_gang else weights[index]
        kept = min(placed, max(0, left) // size) if size else placed
        (gangs if is_gang else units)[index] = kept
        left -= kept * size
    smaller = remove_slack(instance, replace(plan, units=tuple(units), gangs=tuple(gangs)), pricer)
    return smaller if smaller.is_feasible(instance, instance.rows) else empty_plan(instance)


def needed_columns(instance: MasterProblem, columns: Iterable[tuple[Column, int]]) -> Iterator[tuple[Column, int]]:
    """Columns in their order, each on no more nodes than what is asked for still needs."""
    left = list(instance.demands())
    for column, number in columns:
        nodes = min(number, max((-(-left[unit] // amount) for unit, amount in column.counts), default=0))
        if nodes > 0:
            yield column, nodes
            for unit, amount in column.counts:
                left[unit] -= amount * nodes


def _remove_slack_from_columns(
    columns: Sequence[tuple[Column, int]], surplus: list[int], pricer: Pricer
) -> Counter[Column]:
    left, done = Counter(dict(columns)), Counter[Column]()
    # Keys only grow as surplus goes: who comes first with the key of now is the least.
    waiting = [(_removal_key(one, surplus), place, one) for place, one in enumerate(left)]
    heapify(waiting)
    while waiting:
        key, place, column = waiting[0]
        if key != (now := _removal_key(column, surplus)):
            heapreplace(waiting, (now, place, column))
            continue
        cut = _removable_units(column, surplus)
        if not cut:
            break
        times = min(left[column], *(surplus[unit] // number for unit, number in cut.items()))
        for unit, number in cut.items():
            surplus[unit] -= number * times
        left[column] -= times
        if not left[column]:
            heappop(waiting)
        counts = {unit: amount - cut.get(unit, 0) for unit, amount in column.counts}
        if any(counts.values()):
            done[pricer.reduced(column, counts)] += times
    return left + done


def _removable_units(column: Column, surplus: Sequence[int]) -> dict[int, int]:
    """How many units of each class one node with this column need not have."""
    cuts = ((unit, min(amount, surplus[unit])) for unit, amount in column.counts)
    return {unit: number for unit, number in cuts if number}


def _removal_key(column: Column, surplus: Sequence[int]) -> tuple[int, int, object]:
    """First nodes that become empty, then those that lose most of what they have."""
    number = sum(_removable_units(column, surplus).values())
    rest = sum(amount for _, amount in column.counts) - number
    return min(rest, 1) if number else 2, -number, (column.node_class, column.counts, column.usage)


# What part of the columns in question is rounded up at once where nothing is whole.
_ROUNDED_SHARE = 0.1


@dataclass
class DivingHeuristic:
    """A dive: what is whole is fixed, and the rest priced again. At its end the master is released.

    ``gangs`` are those of the last relaxation: few of them are not whole.
    """

    generator: ColumnGenerator
    stage: ObjectiveStage
    budget: GenerationLimits
    gangs: list[float] = field(init=False, default_factory=list)
    _fixed: Counter[int] = field(init=False, default_factory=Counter)

    def run(self, relaxation: MasterRelaxation) -> Iterator[tuple[Column, int]]:
        """Dive from a relaxation; what is found keeps to nodes, but may have room for more than is asked for.

        Ctrl-C ends it behind what it has found so far.
        """
        interrupted: KeyboardInterrupt | None = None
        try:
            self._dive(relaxation)
        except KeyboardInterrupt as stopped:
            interrupted = stopped
        self.generator.master.release()
        for index, number in sorted(self._fixed.items()):
            yield self.generator.master.columns[index], number
        if interrupted:
            raise interrupted

    def _dive(self, relaxation: MasterRelaxation) -> None:
        found: MasterRelaxation | None = relaxation
        while found is not None and not is_past(self.budget.deadline) and self._fix(found):
            self.gangs[:] = found.gangs
            left, nodes = self._left()
            classes = [node_class for node_class, number in nodes.items() if number]
            narrowed = not self.stage.maximise and self._narrow(found, left)
            found = self.generator.run(self.stage, self.budget, left, classes).relaxation if classes else None
            if found is None and narrowed:
                self._widen()
                found = self.generator.run(self.stage, self.budget, left, classes).relaxation

    def _narrow(self, found: MasterRelaxation, left: Sequence[int]) -> bool:
        """Let no more nodes take a column than there are units left for it: what is paid for is then of use.

        Parts of columns come in their place, and what is priced next combines the rests of several units.
        """
        master, pricer = self.generator.master, self.generator.pricer
        for index, amount in enumerate(found.columns):
            column = master.columns[index]
            if amount > self._fixed[index] + INTEGRALITY_TOLERANCE and _is_wasteful(column, left):
                part = pricer.reduced(column, {unit: min(number, left[unit]) for unit, number in column.counts})
                if part.counts and not _is_wasteful(part, left):
                    master.add(part)
        for index, column in enumerate(master.columns):
            master.restrict(index, self._fixed[index], self._fixed[index] + fitting_nodes(column, left))
        return True

    def _widen(self) -> None:
        self.generator.master.release()
        for index, number in self._fixed.items():
            self.generator.master.restrict(index, number)

    def _fix(self, found: MasterRelaxation) -> bool:
        """Fix more nodes; False if the relaxation uses no more of them."""
        new = False
        for index, amount in enumerate(found.columns):
            whole = floor(amount + INTEGRALITY_TOLERANCE)
            if whole > self._fixed[index]:
                self._set(index, whole)
                new = True
        return new or self._round_up(found)

    def _set(self, index: int, number: int) -> None:
        self._fixed[index] = number
        self.generator.master.restrict(index, number)

    def _round_up(self, found: MasterRelaxation) -> bool:
        """Round up the columns that are nearly taken; first those all of whose units are still queued."""
        columns, (left, nodes) = self.generator.master.columns, self._left()
        open_columns: list[tuple[bool, float, int]] = []
        for index, amount in enumerate(found.columns):
            part = amount - self._fixed[index]
            if part > INTEGRALITY_TOLERANCE:
                open_columns.append((_is_wasteful(columns[index], left), -part, index))
        most = max(1, int(len(open_columns) * _ROUNDED_SHARE))
        rounded = 0
        for _, _, index in sorted(open_columns):
            column = columns[index]
            if not nodes[column.node_class] or (rounded and _is_wasteful(column, left)):
                continue
            self._set(index, self._fixed[index] + 1)
            nodes[column.node_class] -= 1
            for unit, amount in column.counts:
                left[unit] = max(0, left[unit] - amount)
            rounded += 1
            if rounded == most:
                break
        return rounded > 0

    def _left(self) -> tuple[list[int], dict[int, int]]:
        """Units that are asked for still, and nodes that are free, after what is fixed."""
        left = list(self.generator.instance.demands())
        nodes = {node.index: node.count for node in self.generator.instance.nodes}
        for index, number in self._fixed.items():
            column = self.generator.master.columns[index]
            nodes[column.node_class] -= number
            for unit, amount in column.counts:
                left[unit] = max(0, left[unit] - amount * number)
        return left, nodes


def fitting_nodes(column: Column, left: Sequence[int]) -> int:
    """How many nodes can have this column and nothing in vain, when so many units are left."""
    return min((left[unit] // amount for unit, amount in column.counts), default=0)


def _is_wasteful(column: Column, left: Sequence[int]) -> bool:
    return any(amount > left[unit] for unit, amount in column.counts)

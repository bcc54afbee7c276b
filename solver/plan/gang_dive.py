"""A dive over gangs: where rows of quota decide, it is gangs that must become whole, and columns follow easily.

The relaxation is solved again and again over the columns that are there, while whole parts are fixed and the gangs that
are nearly placed are rounded up. A rounding with which nothing is feasible is taken back.

With many different gangs greedy filling would place few whole: then the gangs that the relaxation takes whole are
chosen, and nodes are filled with their members alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import floor
from random import Random

from ..engines.cp_sat import Limits
from . import master_problem
from .column_generation import ColumnGenerator, Effort, Pricer, Prices, PricingLimits
from .first_fit_decreasing import pack_decreasing
from .heuristics import fill_greedily, fill_nodes
from .master import INTEGRALITY_TOLERANCE, MasterRelaxation, open_choices, plan_from_columns, solve_restricted_master

# What part of the gangs in question is rounded up at once; if so few cannot be, none of them is.
_ROUNDED_SHARE, _FEW = 0.1, 3
# How often the relaxation is solved at most.
_MOST_SOLVES = 80
# Groups whose gangs are chosen anew at once, the work for that, and after how many rounds in vain it is over.
_FREE_GROUPS, _ROUND_WORK, _ROUNDS_IN_VAIN = 24, 0.5, 8


def fill_whole_gangs(
    generator: ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    relaxation: MasterRelaxation,
    deadline: float | None,
) -> Iterator[tuple[master_problem.Column, int]]:
    """Fill nodes at the duals for whole gangs of a relaxation, and for single units."""
    pairs = zip(generator.instance.gangs, relaxation.gangs, strict=True)
    whole = tuple(replace(gang, demand=floor(amount + INTEGRALITY_TOLERANCE)) for gang, amount in pairs)
    # A unit that is worth nothing at the duals is still needed for its gang.
    prices = generator.stage_pricing(stage, relaxation.duals, floor=1).prices
    yield from fill_greedily(generator, prices, deadline, replace(generator.instance, gangs=whole).demands())


def rounded_gangs(
    generator: ColumnGenerator,
    relaxation: MasterRelaxation,
    among: frozenset[int],
    fixed: Mapping[int, int],
    deadline: float | None,
) -> MasterRelaxation:
    """Return a relaxation in which gangs ``among`` these are whole, or as near to it as time and solves allow.

    Those that are ``fixed`` are placed so often.
    """
    try:
        for gang, number in fixed.items():
            generator.master.restrict_gang(gang, number, number)
        found = generator.master.solve(deadline) if fixed else None
        return _GangDive(generator, found or relaxation, among.difference(fixed), deadline).run()
    finally:
        generator.master.release()


def fill_for_gangs(
    generator: ColumnGenerator,
    relaxation: MasterRelaxation,
    fixed: Mapping[int, int],
    sizes: Sequence[int],
    deadline: float | None,
) -> list[tuple[master_problem.Column, int]]:
    """Fill nodes with the members of fixed gangs, then of all whole gangs of a relaxation, and then with all others.

    Prices are the ``sizes`` of units, of which a large one is worth more than smaller ones in its place: so nodes are
    filled well, and large units come first.
    """
    instance, prices = generator.instance, Prices(tuple(sizes), (0,) * generator.instance.meters)
    whole = [floor(amount + INTEGRALITY_TOLERANCE) for amount in relaxation.gangs]
    wished = [[fixed.get(index, 0) for index in range(len(whole))], whole, [gang.demand for gang in instance.gangs]]
    columns: list[tuple[master_problem.Column, int]] = []
    for numbers in wished if fixed else wished[1:]:
        pairs = zip(instance.gangs, numbers, strict=True)
        asked = replace(instance, gangs=tuple(replace(gang, demand=number) for gang, number in pairs)).demands()
        room = master_problem.covered_units(instance, columns)
        left = [max(0, number - there) for number, there in zip(asked, room, strict=True)]
        taken: Counter[int] = Counter()
        for column, number in columns:
            taken[column.node_class] += number
        nodes = tuple(replace(node, count=node.count - taken[node.index]) for node in instance.nodes)
        beside = replace(generator, instance=replace(instance, nodes=nodes))
        columns += fill_greedily(beside, prices, deadline, left)
    return columns


# Orders of units that are packed before a linear program is asked.
_MOST_PACKINGS = 2


def plan_of_all(
    instance: master_problem.MasterProblem,
    stages: Sequence[master_problem.ObjectiveStage],
    pricer: Pricer,
    deadline: float | None,
) -> master_problem.PlanSolution | None:
    """Place all units but those that no empty node takes, and their gangs; None where packing misses some.

    No plan is better in any stage then: each counts all that is there, which is a bound without a linear program.
    """
    if not all(stage.maximise for stage in stages):
        return None
    tightened = replace(instance, gangs=tuple(_tightened_gangs(instance)))
    nodes = {node.index: own for node in instance.nodes if node.count and (own := pricer.vector(node.index))}
    bounds: Sequence[int | None] | None = None
    for packed in islice(pack_decreasing(instance, pricer, nodes, tightened.demands(), {}), _MOST_PACKINGS):
        columns = [*packed, *_filled_beside(tightened, pricer, packed, deadline)]
        if bounds is None:
            bounds = _counted_bounds(tightened, stages, pricer, columns, deadline)
        plan = plan_from_columns(instance, stages, columns)
        values = [plan.value(stage.terms) for stage in stages]
        if values == bounds and plan.is_feasible(instance, instance.rows):
            pairs = zip(stages, values, strict=True)
            results = [
                master_problem.StageResult(stage.name, value, value, proven=True, rounds=0) for stage, value in pairs
            ]
            return master_problem.PlanSolution(plan, tuple(results), tuple(column for column, _ in columns))
    return None


def _tightened_gangs(instance: master_problem.MasterProblem) -> Iterator[master_problem.MasterGangClass]:
    """The gang classes, with no more gangs than single rows over gangs allow where all others help most."""
    most = [gang.demand for gang in instance.gangs]
    for row in instance.rows:
        own = row.terms.gangs
        if row.upper is None or row.terms.units or row.terms.nodes or row.terms.usage:
            continue
        room = row.upper - sum(value * instance.gangs[index].demand for index, value in own.items() if value < 0)
        for index, value in own.items():
            if value > 0:
                most[index] = min(most[index], max(0, room // value))
    for gang, number in zip(instance.gangs, most, strict=True):
        yield gang if gang.demand == number else replace(gang, demand=number)


def _filled_beside(
    instance: master_problem.MasterProblem,
    pricer: Pricer,
    packed: Sequence[tuple[master_problem.Column, int]],
    deadline: float | None,
) -> Iterator[tuple[master_problem.Column, int]]:
    """Fill nodes that are left with units that are, the large ones first."""
    sizes = (instance.completion.sizes if instance.completion else ()) or [1] * len(instance.units)
    prices = Prices(tuple(max(1, size) for size in sizes), (0,) * instance.meters)
    room, taken = master_problem.covered_units(instance, packed), Counter[int]()
    for column, number in packed:
        taken[column.node_class] += number
    left = [max(0, number - there) for number, there in zip(instance.demands(), room, strict=True)]
    nodes = tuple(replace(node, count=node.count - taken[node.index]) for node in instance.nodes)
    return fill_nodes(replace(instance, nodes=nodes), pricer, prices, deadline, left)


def _counted_bounds(
    instance: master_problem.MasterProblem,
    stages: Sequence[master_problem.ObjectiveStage],
    pricer: Pricer,
    columns: Sequence[tuple[master_problem.Column, int]],
    deadline: float | None,
) -> list[int | None]:
    """Bound stages by all units and gangs but those that no empty node takes; units with room in columns are taken."""
    room = master_problem.covered_units(instance, columns)
    without = (unit for unit, number in enumerate(instance.demands()) if number and not room[unit])
    refused = {unit for unit in without if _is_refused(instance, pricer, unit, deadline)}
    left = replace(
        instance,
        units=tuple(replace(unit, demand=0) if unit.index in refused else unit for unit in instance.units),
        gangs=tuple(
            replace(gang, demand=0) if any(unit in refused for unit, _ in gang.members) else gang
            for gang in instance.gangs
        ),
    )
    return [stage.trivial_bound(left) for stage in stages]


def _is_refused(instance: master_problem.MasterProblem, pricer: Pricer, unit: int, deadline: float | None) -> bool:
    """Whether it is certain that no node takes a single unit of a class."""
    one = tuple(int(index == unit) for index in range(len(instance.units)))
    prices, limits = Prices(one, (0,) * instance.meters), PricingLimits(Effort.THOROUGH, deadline=deadline)
    found = (pricer.price(node.index, prices, one, limits) for node in instance.nodes if node.count)
    return all(priced.bound is not None and priced.bound < 1 for priced in found)


def improved_by_gangs(
    generator: ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    plan: master_problem.IntegerPlan,
    groups: Sequence[Sequence[int]],
    deadline: float | None,
) -> Iterator[master_problem.IntegerPlan]:
    """Yield ever better plans: each time the gangs of some groups are chosen anew, and all others stay.

    Pseudo-random choices depend on the round alone.
    """
    vain = number = 0
    while vain < _ROUNDS_IN_VAIN and not master_problem.is_past(deadline):
        number += 1
        chosen = Random(number).sample(range(len(groups)), min(_FREE_GROUPS, len(groups)))
        kept = frozenset(gang for index, own in enumerate(groups) if index not in chosen for gang in own)
        choices = open_choices(generator.instance, generator.master.columns)
        limits = Limits(deadline=deadline, work=_ROUND_WORK)
        rows = generator.master.rows
        better = solve_restricted_master(generator.instance, rows, stage, choices, plan, limits, kept).plan
        gain = stage.gain(better, plan) if better else 0
        vain = 0 if gain > 0 else vain + 1
        if better and gain >= 0:
            plan = better
            yield plan


class _GangDive:
    def __init__(
        self, generator: ColumnGenerator, relaxation: MasterRelaxation, among: frozenset[int], deadline: float | None
    ) -> None:
        self._generator = generator
        self._found = relaxation
        self._lower = dict.fromkeys(sorted(among), 0)
        self._upper = {gang: generator.instance.gangs[gang].demand for gang in self._lower}
        self._deadline = deadline

    def run(self) -> MasterRelaxation:
        share = _ROUNDED_SHARE
        for _ in range(_MOST_SOLVES):
            parts = self._parts()
            if not parts or master_problem.is_past(self._deadline):
                break
            number = max(1, int(len(parts) * share))
            chosen = [gang for _, gang in parts[:number]]
            if self._solve_with(chosen):
                share = _ROUNDED_SHARE
            elif number > _FEW:
                share = share / 4
            else:
                for gang in chosen:
                    self._upper[gang] = self._lower[gang]
                    self._restrict(gang)
                self._solve_with([])
        return self._found

    def _parts(self) -> list[tuple[float, int]]:
        """Fix what is whole, and list the gangs that are not, those that are nearly placed first."""
        parts: list[tuple[float, int]] = []
        for gang, lower in self._lower.items():
            amount = self._found.gangs[gang]
            whole = floor(amount + INTEGRALITY_TOLERANCE)
            if whole > lower:
                self._lower[gang] = whole
                self._restrict(gang)
            part = amount - whole
            if part > INTEGRALITY_TOLERANCE and whole < self._upper[gang]:
                parts.append((-part, gang))
        return sorted(parts)

    def _restrict(self, gang: int) -> None:
        self._generator.master.restrict_gang(gang, self._lower[gang], self._upper[gang])

    def _solve_with(self, chosen: list[int]) -> bool:
        """Round these up and solve; nothing is changed where that is not feasible."""
        for gang in chosen:
            self._lower[gang] += 1
            self._restrict(gang)
        found = self._generator.master.solve(self._deadline)
        if found is not None:
            self._found = found
            return True
        for gang in chosen:
            self._lower[gang] -= 1
            self._restrict(gang)
        return False

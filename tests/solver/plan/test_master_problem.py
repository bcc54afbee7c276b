"""Bounds of stages by what units add at least."""

from itertools import product
from random import Random

import pytest

from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
)


def least_by_force(instance, stage, rows):
    """The least of all choices of units and gangs that keep the rows."""
    kinds = [range(one.demand + 1) for one in (*instance.units, *instance.gangs)]
    found = []
    for numbers in product(*kinds):
        units, gangs = numbers[: len(instance.units)], numbers[len(instance.units) :]
        placed = list(units)
        for gang, number in zip(instance.gangs, gangs, strict=True):
            for unit, size in gang.members:
                placed[unit] += size * number
        sums = [
            sum(weight * units[index] for index, weight in row.terms.units.items())
            + sum(weight * gangs[index] for index, weight in row.terms.gangs.items())
            for row in rows
        ]
        if all(row.lower is None or total >= row.lower for row, total in zip(rows, sums, strict=True)):
            found.append(sum(stage.least.get(unit, 0) * number for unit, number in enumerate(placed)))
    return min(found)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_is_below_all_choices_and_is_met_where_each_unit_counts_one(seed):
    rng = Random(seed)
    units = tuple(MasterUnitClass(index, rng.randint(0, 3)) for index in range(3))
    gangs = (MasterGangClass(((0, 1), (2, 2)), rng.randint(0, 2)),)
    instance = MasterProblem(units, (), gangs)
    least = {index: rng.randint(0, 9) for index in range(3)}
    stage = ObjectiveStage("least", Terms(usage={0: 1}), maximise=False, least=least)
    plain = seed % 2 == 0
    worth = {index: 1 if plain else rng.randint(1, 4) for index in range(3)}
    terms = Terms(units=worth, gangs={} if plain else {0: rng.randint(1, 9)})
    most = sum(worth[one.index] * one.demand for one in units)
    rows = [CouplingRow(terms, lower=rng.randint(0, most)), CouplingRow(terms, lower=0), CouplingRow(terms, upper=99)]
    bound, known = stage.least_value(instance, rows), least_by_force(instance, stage, rows)
    assert bound == known if plain else bound <= known


def test_rows_about_different_units_add_up():
    instance = MasterProblem(tuple(MasterUnitClass(index, 5) for index in range(2)), ())
    stage = ObjectiveStage("least", Terms(usage={0: 1}), maximise=False, least={0: 3, 1: 4})
    rows = [CouplingRow(Terms(units={index: 2}), lower=4) for index in range(2)]
    assert stage.least_value(instance, rows) == 2 * 3 + 2 * 4
    assert stage.least_value(instance, [*rows, CouplingRow(Terms(units={0: 1, 1: 1}), lower=5)]) == 14


def test_nothing_is_known_without_what_units_add_or_of_a_stage_that_maximises():
    instance = MasterProblem((MasterUnitClass(0, 1),), ())
    rows = [CouplingRow(Terms(units={0: 1}), lower=1)]
    assert ObjectiveStage("least", Terms(), maximise=False).least_value(instance, rows) is None
    assert ObjectiveStage("most", Terms(), least={0: 1}).least_value(instance, rows) is None


def test_a_bound_of_a_cost_is_never_below_nothing():
    """What is there says that much: no node costs less than nothing, and no more units are placed than there are."""
    instance = MasterProblem(
        (MasterUnitClass(0, 3), MasterUnitClass(1, 4)), (MasterNodeClass(0, 5),), (MasterGangClass(((0, 2),), 2, 7),)
    )
    cost = ObjectiveStage("cost", Terms(nodes={0: 9}), maximise=False)
    assert cost.trivial_bound(instance) == 0
    assert ObjectiveStage("worth", Terms(units={0: 2, 1: -5}, gangs={0: 7})).trivial_bound(instance) == 3 * 2 + 2 * 7
    assert ObjectiveStage("gain", Terms(nodes={0: -2}), maximise=False).trivial_bound(instance) == -10
    assert ObjectiveStage("use", Terms(usage={0: 1}), maximise=False).trivial_bound(instance) == 0
    assert ObjectiveStage("use", Terms(usage={0: 1})).trivial_bound(instance) is None
    assert cost.tightest(-4, None, 0) == 0
    assert ObjectiveStage("worth", Terms()).tightest(7, 9, None) == 7
    assert cost.tightest(None) is None

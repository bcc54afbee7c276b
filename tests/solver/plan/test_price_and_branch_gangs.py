"""Queues of many different gangs: they are chosen first, and bounds are multiples of what a gang adds."""

from __future__ import annotations

from random import Random

import pytest
from support.planning import Scene, fits_column

from drasat.solver.plan.column_generation import ColumnGenerator, GenerationLimits, StagePricing, value_step
from drasat.solver.plan.gang_dive import fill_whole_gangs
from drasat.solver.plan.heuristics import fill_greedily
from drasat.solver.plan.master import LinearMaster
from drasat.solver.plan.master_problem import (
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
    covered_units,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer

MEMBERS = 8


def distinct_gangs(gangs: int, nodes: int) -> Scene:
    """Gangs of eight units of 1, 2, 4 or 8 devices, no two of them with the same needs; nodes of eight devices."""
    random = Random(f"distinct/{gangs}")
    units: list[LinearUnit] = []
    made: list[MasterGangClass] = []
    for number in range(gangs):
        sizes = random.choices((1, 2, 4, 8), (60, 25, 10, 5), k=MEMBERS)
        members = []
        for size in sorted(set(sizes)):
            members.append((len(units), sizes.count(size)))
            units.append(LinearUnit(devices=size, needs=(1000 * size + number,)))
        made.append(MasterGangClass(tuple(members), 1))
    asked = tuple(MasterUnitClass(index, 0) for index in range(len(units)))
    node = LinearNode((1,) * 8, 1, (9000,))
    return Scene(MasterProblem(asked, (MasterNodeClass(0, nodes),), tuple(made)), LinearPricer(tuple(units), (node,)))


def members_placed(instance: MasterProblem) -> ObjectiveStage:
    """As many members as possible."""
    gangs = {index: sum(size for _, size in gang.members) for index, gang in enumerate(instance.gangs)}
    return ObjectiveStage("members", Terms(units={unit.index: 1 for unit in instance.units}, gangs=gangs))


@pytest.mark.parametrize(("gangs", "nodes"), [(14, 22), (20, 30)])
def test_of_many_different_gangs_as_many_as_possible_are_placed(gangs, nodes):
    scene = distinct_gangs(gangs, nodes)
    stage = members_placed(scene.instance)
    found = solve_stages(scene.instance, [stage], scene.pricer)
    (result,) = found.stages
    assert found.plan.is_feasible(scene.instance, ())
    assert all(fits_column(scene, column) for column, _ in found.plan.columns)
    assert result.proven
    assert result.value == result.bound == MEMBERS * sum(found.plan.gangs)
    assert 0 < sum(found.plan.gangs) < gangs


def relaxed(scene: Scene, stage: ObjectiveStage):
    master = LinearMaster(scene.instance)
    master.set_objective(stage)
    generator = ColumnGenerator(scene.instance, master, scene.pricer)
    return generator, generator.run(stage, GenerationLimits(400, 0.0), scene.instance.demands()).relaxation


def test_nodes_are_filled_with_members_of_whole_gangs_alone():
    scene = distinct_gangs(14, 22)
    stage = members_placed(scene.instance)
    generator, relaxation = relaxed(scene, stage)
    assert any(1e-6 < amount < 1 - 1e-6 for amount in relaxation.gangs)
    whole = {index for index, amount in enumerate(relaxation.gangs) if amount > 1 - 1e-6}
    wanted = [0] * len(scene.units)
    for index in whole:
        for unit, size in scene.instance.gangs[index].members:
            wanted[unit] += size
    filled = list(fill_whole_gangs(generator, stage, relaxation, None))
    room = covered_units(scene.instance, filled)
    assert sum(number for _, number in filled) <= 22
    assert all(there <= asked for there, asked in zip(room, wanted, strict=True))
    pricing = StagePricing(scene.instance, stage, [], relaxation.duals)
    everything = covered_units(scene.instance, list(fill_greedily(generator, pricing.prices)))
    assert any(there > asked for there, asked in zip(everything, wanted, strict=True))


def test_the_bound_is_a_multiple_of_what_a_gang_adds_where_no_unit_is_asked_for_alone():
    scene = distinct_gangs(14, 22)
    stage = members_placed(scene.instance)
    assert value_step(scene.instance, stage.terms) == MEMBERS
    single = MasterProblem(
        (MasterUnitClass(0, 1), *scene.instance.units[1:]), scene.instance.nodes, scene.instance.gangs
    )
    assert value_step(single, stage.terms) == 1


def test_steps_of_a_form_are_those_of_units_gangs_and_nodes_that_there_are_and_of_every_meter():
    units, nodes = (MasterUnitClass(0, 4), MasterUnitClass(1, 0)), (MasterNodeClass(0, 3), MasterNodeClass(1, 0))
    instance = MasterProblem(units, nodes, (MasterGangClass(((1, 2),), 1), MasterGangClass(((1, 1),), 0)), meters=1)
    assert value_step(instance, Terms(units={0: 12, 1: 5}, gangs={0: 18, 1: 7}, nodes={0: 30, 1: 1})) == 6
    assert value_step(instance, Terms(units={0: 12}, usage={0: 8})) == 4
    assert value_step(instance, Terms(units={0: 12}, nodes={0: 9})) == 3
    assert value_step(instance, Terms()) == 1

"""Bounds of an instance that demands less hold for every plan of the one that demands more."""

from dataclasses import replace

import pytest
from support.planning import fewest_nodes, optimum, random_scene

from drasat.solver.plan.column_generation import stage_bounds
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer

EXACT = PlanLimits(gap=0.0)


def bound_of(scene, stages, values, limits=EXACT):
    return list(stage_bounds(scene.instance, list(zip(stages, values, strict=True)), scene.pricer, limits))


def is_bound(stage, bound, value):
    return bound is not None and (bound >= value if stage.maximise else bound <= value)


def goals(instance):
    """Two goals of units against each other, then nodes."""
    odd = ObjectiveStage("odd", Terms(units={unit.index: 1 + unit.index % 2 for unit in instance.units}))
    return [odd, instance.admitted(), fewest_nodes(instance)]


@pytest.mark.parametrize("seed", range(25))
def test_no_plan_exceeds_bounds(seed):
    scene = random_scene(seed)
    stages = goals(scene.instance)
    best = optimum(scene, stages)
    found = bound_of(scene, stages, best)
    assert all(is_bound(*one) for one in zip(stages, found, best, strict=True))
    # Rounds of pricing come close; it is no bound that says nothing.
    assert found[0] <= max(2 * best[0], best[0] + 2)


@pytest.mark.parametrize("seed", range(30, 50))
def test_bounds_hold_for_plans_that_are_worse_in_the_stages_before(seed):
    """Some plan reaches less at first, so that a later stage may be better."""
    scene = random_scene(seed)
    stages = goals(scene.instance)
    first = max(0, optimum(scene, stages[:1])[0] - 2)
    kept = replace(scene, instance=replace(scene.instance, rows=(CouplingRow(stages[0].terms, lower=first),)))
    reached = optimum(kept, stages[1:])
    found = bound_of(scene, stages, [first, *reached])
    assert all(is_bound(*one) for one in zip(stages[1:], found[1:], reached, strict=True))


@pytest.mark.parametrize("seed", range(60, 80))
def test_what_is_asked_without_gangs_and_rows_bounds_what_is_asked_with_them(seed):
    """Members that need not come together are what is left of a question that demands less."""
    scene = random_scene(seed, gangs=True)
    instance = scene.instance
    row = CouplingRow(Terms(units={0: 1}), upper=1)
    demanding = replace(scene, instance=replace(instance, rows=(row,)))
    stage = instance.admitted()
    (value,) = optimum(demanding, [stage])
    asked = tuple(replace(unit, demand=most) for unit, most in zip(instance.units, instance.demands(), strict=True))
    worth = {unit.index: unit.weight for unit in instance.units}
    for gang in instance.gangs:
        # A member is worth no less than the whole gang is.
        for unit, _ in gang.members:
            worth[unit] = max(worth[unit], gang.weight)
    loose = replace(scene, instance=MasterProblem(asked, instance.nodes))
    (bound,) = bound_of(loose, [ObjectiveStage("admitted", Terms(units=worth))], [value])
    assert bound >= value


@pytest.mark.parametrize("seed", range(80, 90))
def test_bounds_are_no_worse_than_the_relaxation_of_the_core(seed):
    scene = random_scene(seed)
    stages = [scene.instance.admitted(), fewest_nodes(scene.instance)]
    solved = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT)
    found = bound_of(scene, stages, [one.value for one in solved.stages])
    for stage, bound, known in zip(stages, found, solved.stages, strict=True):
        assert is_bound(stage, bound, known.value)


def small(demand=3, devices=2):
    instance = MasterProblem((MasterUnitClass(0, demand),), (MasterNodeClass(0, 1),))
    pricer = LinearPricer((LinearUnit(devices=1, needs=(1,)),), (LinearNode((1,) * devices, 1, (9,)),))
    return instance, pricer


def test_stages_come_one_by_one():
    instance, pricer = small()
    asked = [(instance.admitted(), 2), (fewest_nodes(instance), 1)]
    found = stage_bounds(instance, asked, pricer, EXACT)
    assert next(found) == 2
    assert next(found) == 1
    assert list(found) == []


def test_a_value_that_was_given_up_is_not_demanded_of_later_stages():
    instance, pricer = small()
    assert list(stage_bounds(instance, [(instance.admitted(), 0), (fewest_nodes(instance), 0)], pricer, EXACT)) == [
        2,
        0,
    ]


def test_bounds_are_values_that_a_plan_can_have():
    """One and a half devices are no number of units: a stage in steps of three is told in these."""
    instance, pricer = small()
    stage = ObjectiveStage("thrice", Terms(units={0: 3}))
    assert list(stage_bounds(instance, [(stage, 6)], pricer, EXACT)) == [6]


def test_without_stages_there_are_no_bounds():
    instance, pricer = small()
    assert list(stage_bounds(instance, [], pricer, EXACT)) == []


def test_without_units_nothing_is_reached():
    instance, pricer = small(demand=0)
    assert list(stage_bounds(instance, [(instance.admitted(), 0)], pricer, EXACT)) == [0]


@pytest.mark.parametrize(
    "limits", [PlanLimits(0.0, rounds=0), PlanLimits(0.0, rounds=1), PlanLimits(0.0, deadline=0.0)]
)
def test_what_ends_early_is_unknown_or_holds(limits):
    instance, pricer = small()
    (found,) = stage_bounds(instance, [(instance.admitted(), 2)], pricer, limits)
    assert found is None or found >= 2


def bought(demands, nodes):
    """Units that take one device; nodes of so many devices at a price, for one kind of unit or all."""
    units = tuple(MasterUnitClass(index, number) for index, number in enumerate(demands))
    classes = tuple(MasterNodeClass(index, 1000) for index in range(len(nodes)))
    linear = [LinearNode((1,) * size, 1, (), None if kind is None else {kind}) for size, _, kind in nodes]
    cost = ObjectiveStage("cost", Terms(nodes={i: price for i, (_, price, _) in enumerate(nodes)}), maximise=False)
    pricer = LinearPricer(tuple(LinearUnit(devices=1, needs=()) for _ in demands), tuple(linear))
    return MasterProblem(units, classes), pricer, cost


def test_the_number_of_nodes_is_bounded_behind_costs():
    """A dear kind is worth thousands of nodes where a little money saves some."""
    single, large, dear = (1, 1_000_000, 0), (8, 8_100_000, 0), (1, 60_000_000, 1)
    instance, pricer, cost = bought([80, 10], [single, large, dear])
    # Money is left for five large nodes.
    asked = [(instance.admitted(), 90), (cost, 680_500_000), (fewest_nodes(instance), 55)]
    assert list(stage_bounds(instance, asked, pricer, EXACT)) == [90, 680_000_000, 55]


def test_what_several_kinds_leave_goes_to_nodes_that_they_share():
    """Each of 20 kinds leaves half a node; enumerating all ways to fill one would take too long."""
    instance, pricer, cost = bought([50] * 20, [(3, 5_000_000, None), (4, 4_572_000, None)])
    found = solve_stages(instance, [instance.admitted(), cost], pricer)
    placed, paid = (stage.value for stage in found.stages)
    assert placed == 1000
    assert paid <= 1.005 * 250 * 4_572_000

"""What else would fit beside a plan: guests of a target mix, against all plans of small instances."""

from dataclasses import replace
from random import Random

import pytest
from support.plan_measures import random_bench, totals
from support.planning import Scene, optimum, random_scene

from drasat.solver.plan.build.objectives import TargetUnitClass, build_residual_workload
from drasat.solver.plan.master_problem import (
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.bundle import OccupiedMeasure
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer


def linear_units(mix, units):
    """The guests behind units that are known by their place."""
    return (*units, *(units[guest.same_as] for guest in mix.units))


def linear_node(mix, node):
    """A node that has guests wherever it may take what they are like."""
    if node.takes is None:
        return node
    return replace(node, takes=node.takes.union(one.unit.index for one in mix.units if one.same_as in node.takes))


EXACT = PlanLimits(gap=0.0)


def test_the_whole_mix_comes_so_often_that_it_asks_for_all_devices():
    mix = build_residual_workload([TargetUnitClass(4, 3, 1), TargetUnitClass(7, 2, 4)], 9, 23)
    assert [(guest.unit.index, guest.same_as, guest.unit.demand) for guest in mix.units] == [(9, 4, 9), (10, 7, 6)]
    assert mix.stage == ObjectiveStage("fragmentation", Terms(units={9: 1, 10: 4}))


@pytest.mark.parametrize("devices", [0, 1, 11])
def test_a_mix_that_asks_for_more_comes_once(devices):
    assert [
        guest.unit.demand
        for guest in build_residual_workload([TargetUnitClass(0, 3, 1), TargetUnitClass(1, 2, 4)], 2, devices).units
    ] == [3, 2]


def test_units_without_devices_are_not_in_the_mix():
    mix = build_residual_workload([TargetUnitClass(0, 5, 0), TargetUnitClass(1, 0, 3), TargetUnitClass(2, 1, 2)], 3, 8)
    assert [(guest.same_as, guest.unit.index, guest.unit.demand) for guest in mix.units] == [(2, 3, 4)]
    assert build_residual_workload([TargetUnitClass(0, 5, 0)], 1, 8).units == ()


def test_guests_are_placed_by_their_stage_only():
    """The usual stage gives them no weight, so that it reaches what it would reach alone."""
    mix = build_residual_workload([TargetUnitClass(0, 1, 1)], 1, 6)
    instance = mix.instance(MasterProblem((MasterUnitClass(0, 4),), (MasterNodeClass(0, 1),)))
    node, unit = LinearNode((1,) * 6, 1, ()), LinearUnit(devices=1)
    pricer = LinearPricer(linear_units(mix, (unit,)), (linear_node(mix, node),))
    found = solve_stages(instance, [instance.admitted(), mix.stage], pricer, limits=EXACT)
    assert [(result.value, result.bound) for result in found.stages] == [(4, 4), (2, 2)]
    assert found.plan.units == (4, 2)


def test_small_units_go_where_large_ones_do_not_fit_anyway():
    """Two halves fit on each of three devices: those that are placed leave two devices whole."""
    units = (LinearUnit(share=5), LinearUnit(devices=1))
    mix = build_residual_workload([TargetUnitClass(1, 1, 1)], 2, 3)
    instance = mix.instance(MasterProblem((MasterUnitClass(0, 2), MasterUnitClass(1, 0)), (MasterNodeClass(0, 3),)))
    pricer = LinearPricer(linear_units(mix, units), (LinearNode((10,), 10, ()),))
    found = solve_stages(instance, [instance.admitted(), mix.stage], pricer, limits=EXACT)
    assert [result.value for result in found.stages] == [2, 2]


def test_a_node_takes_guests_like_what_it_may_take():
    mix = build_residual_workload([TargetUnitClass(0, 1, 1), TargetUnitClass(1, 1, 1)], 2, 2)
    assert linear_node(mix, LinearNode((1,), 1, (), frozenset((1,)))).takes == {1, 3}
    question = random_bench(Random("guests"), 2).question
    (unit, *_) = question.units
    made = mix.question(replace(question, units=(unit,)))
    assert [(one.index, one.measured, one.most) for one in made.units] == [(0, True, unit.most), (2, False, 1)]


@pytest.mark.parametrize("seed", range(25))
def test_linear_nodes_leave_as_much_room_as_any_plan(seed):
    scene = random_scene(seed)
    devices = [unit.devices or bool(unit.share) for unit in scene.units]
    mixed = [TargetUnitClass(unit.index, unit.demand, devices[unit.index]) for unit in scene.instance.units]
    mix = build_residual_workload(mixed, len(mixed), Random(seed).randint(0, 9))
    nodes = tuple(linear_node(mix, node) for node in scene.nodes)
    scene = Scene(mix.instance(scene.instance), LinearPricer(linear_units(mix, scene.units), nodes))
    stages = [scene.instance.admitted(), mix.stage]
    found = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT)
    assert [result.value for result in found.stages] == optimum(scene, stages)
    assert all(result.proven for result in found.stages)


def bundles_with_guests(seed):
    """Nodes with entries and lists, which take two unit classes; guests are like them."""
    rng = Random(f"guests/{seed}")
    nodes = [(random_bench(rng, 1, 4).question, rng.choice((1, 1, 2))) for _ in range(rng.choice((1, 2)))]
    demand = [rng.randint(0, 2) for _ in range(2)]
    mix = build_residual_workload(
        [TargetUnitClass(index, rng.randint(1, 2), rng.randint(1, 2)) for index in range(2)], 2, 0
    )
    units = tuple(MasterUnitClass(index, asked, rng.choice((1, 3))) for index, asked in enumerate(demand))
    classes = tuple(MasterNodeClass(index, number) for index, (_, number) in enumerate(nodes))
    instance = mix.instance(MasterProblem(units, classes))
    return mix, instance, [(mix.question(question), number) for question, number in nodes]


def weighed(terms, placed):
    return sum(weight * placed[unit] for unit, weight in terms.units.items())


def test_nodes_with_every_rule_leave_as_much_room_as_any_plan():
    fitting = 0
    for seed in range(25):
        mix, instance, nodes = bundles_with_guests(seed)
        stages = [instance.admitted(), mix.stage]
        found = solve_stages(instance, stages, BundlePricer({n: q for n, (q, _) in enumerate(nodes)}), limits=EXACT)
        demand = [unit.demand for unit in instance.units]
        best = max([weighed(stage.terms, placed) for stage in stages] for placed in totals(nodes, demand, None))
        assert [result.value for result in found.stages] == best
        assert all(result.bound >= result.value for result in found.stages)
        fitting += best[1] > 0
    assert fitting > 9


def test_nodes_with_guests_only_are_not_in_use():
    """What is in use is counted by a measure: guests have all nodes that are left."""
    shared = 0
    for seed in range(20):
        mix, instance, nodes = bundles_with_guests(f"in use/{seed}")
        nodes = [(replace(question, measures=(OccupiedMeasure(),)), number) for question, number in nodes]
        instance = replace(instance, meters=1)
        few = ObjectiveStage("fewest-nodes", Terms(usage={0: 1}), maximise=False)
        stages = [instance.admitted(), few, mix.stage]
        found = solve_stages(instance, stages, BundlePricer({n: q for n, (q, _) in enumerate(nodes)}), limits=EXACT)
        plans = totals(nodes, [unit.demand for unit in instance.units], occupied)
        admitted, cost, guests = max(
            (weighed(stages[0].terms, placed), -cost, weighed(mix.stage.terms, placed))
            for placed, cost in plans.items()
        )
        assert [result.value for result in found.stages] == [admitted, -cost, guests]
        shared += sum(number for _, number in found.plan.columns) > -cost
    assert shared > 5


def occupied(question, bundle):
    return int(any(own for unit, own in zip(question.units, bundle.copies, strict=True) if unit.measured))

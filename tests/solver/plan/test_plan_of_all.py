"""Plans of everything that nodes take: as good as any, by counting, or none at all."""

from dataclasses import replace
from random import Random

import pytest
from support.planning import Scene, optimum, random_scene

from drasat.solver.plan.gang_dive import plan_of_all
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
)
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer


def eight_devices(nodes: int, sizes, gangs=(), rows=()) -> Scene:
    """Nodes of eight devices; a class for each pair of a size and a number of units."""
    units = tuple(LinearUnit(devices=size, needs=(1,)) for size, _ in sizes)
    asked = tuple(MasterUnitClass(index, number) for index, (_, number) in enumerate(sizes))
    made = MasterProblem(asked, (MasterNodeClass(0, nodes),), tuple(gangs), tuple(rows))
    return Scene(made, LinearPricer(units, (LinearNode((1,) * 8, 1, (20,)),)))


def found_in(scene: Scene, *stages: ObjectiveStage):
    return plan_of_all(scene.instance, stages or [scene.instance.admitted()], scene.pricer, None)


def kept(scene: Scene, seed: int) -> Scene:
    """With some gangs limited by others, as pods are by their workload."""
    random, gangs = Random(f"plan of all/{seed}"), len(scene.instance.gangs)
    if gangs < 2:
        return scene
    one, other = random.sample(range(gangs), 2)
    row = CouplingRow(
        Terms(gangs={one: random.randint(1, 2), other: -random.randint(1, 2)}), upper=random.randint(0, 1)
    )
    return replace(scene, instance=replace(scene.instance, rows=(*scene.instance.rows, row)))


@pytest.mark.parametrize("seed", range(60))
def test_it_is_as_good_as_any_plan(seed):
    scene = random_scene(seed, gangs=seed % 2 == 0)
    scene = kept(scene, seed) if seed % 4 == 0 else scene
    stage = scene.instance.admitted()
    found = found_in(scene, stage)
    if found is not None:
        (best,) = optimum(scene, [stage])
        (result,) = found.stages
        assert found.plan.is_feasible(scene.instance, scene.instance.rows)
        assert (result.value, result.bound) == (best, best) == (found.plan.value(stage.terms), best)


def test_it_finds_plans_of_random_scenes():
    assert sum(found_in(random_scene(seed, gangs=True)) is not None for seed in range(60)) >= 5


def test_what_fits_is_placed_where_sizes_fill_nodes_exactly():
    scene = eight_devices(4, [(1, 6), (2, 5), (4, 2), (8, 1)])
    found = found_in(scene)
    assert found is not None
    assert [(one.value, one.bound, one.proven) for one in found.stages] == [(14, 14, True)]


def test_what_no_node_takes_is_left_out_with_its_gang():
    """Nine devices are on no node, so that the other member of their gang has no place, either."""
    gangs = [MasterGangClass(((0, 1), (1, 1)), 2, weight=2), MasterGangClass(((0, 2),), 1, weight=2)]
    scene = eight_devices(1, [(4, 0), (9, 0)], gangs)
    found = found_in(scene)
    assert found is not None
    assert found.plan.gangs == (0, 1)


def test_there_is_none_where_something_that_a_node_takes_is_left_over():
    assert found_in(eight_devices(2, [(4, 5)])) is None


def test_there_is_none_where_a_stage_minimises():
    scene = eight_devices(2, [(4, 2)])
    nodes = ObjectiveStage("fewest-nodes", Terms(nodes={0: 1}), maximise=False)
    assert found_in(scene, scene.instance.admitted(), nodes) is None

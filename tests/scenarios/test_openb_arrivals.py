from __future__ import annotations

import pytest
from openb import LinearBestFit, LinearFirstFit
from support.planning import optimum, random_scene

from drasat.scenarios.openb import Arrivals, FragmentationGradient, in_random_order, initial_state
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit

HALF, MOST, WHOLE = LinearUnit(share=5, needs=(1,)), LinearUnit(share=8, needs=(1,)), LinearUnit(devices=1, needs=(1,))


def policies(units, demands, nodes):
    return [LinearFirstFit(), LinearBestFit(nodes), FragmentationGradient(units, demands, nodes)]


@pytest.mark.parametrize("seed", range(40))
def test_no_rival_places_more_than_the_optimum_or_more_than_is_there(seed):
    scene = random_scene(seed)
    instance = scene.instance
    best = optimum(scene, [instance.admitted()])[0]
    demands, counts = [unit.demand for unit in instance.units], [node.count for node in instance.nodes]
    for policy in policies(scene.units, demands, scene.nodes):
        found = Arrivals(scene.units, scene.nodes, counts, policy).run(in_random_order(demands, seed))
        assert all(0 <= placed <= asked for placed, asked in zip(found.placed, demands, strict=True))
        assert sum(placed * unit.weight for placed, unit in zip(found.placed, instance.units, strict=True)) <= best
        assert sum(nodes for _, nodes in found.states) == sum(node.count for node in instance.nodes)
        check_resources(scene, found)


def check_resources(scene, found):
    """What is gone from nodes is what the placed units need."""
    for resource in range(2):
        gone = sum(
            nodes * (scene.nodes[state.node_class].left[resource] - state.left[resource])
            for state, nodes in found.states
        )
        needs = [unit.needs[resource] for unit in scene.units]
        assert gone == sum(placed * need for placed, need in zip(found.placed, needs, strict=True))
    gone = sum(nodes * (sum(scene.nodes[state.node_class].free) - sum(state.free)) for state, nodes in found.states)
    sizes = [unit.devices * 10 + unit.share for unit in scene.units]
    assert gone == sum(placed * size for placed, size in zip(found.placed, sizes, strict=True))


def test_first_fit_fills_the_first_node_before_it_opens_another():
    nodes = (LinearNode((10, 10), 10, (9,)), LinearNode((10, 10), 10, (9,)))
    arrivals = Arrivals([HALF], nodes, [1, 1], LinearFirstFit())
    assert [arrivals.place(0)[1].node_class for _ in range(6)] == [0, 0, 0, 0, 1, 1]


def test_best_fit_takes_the_node_on_which_the_least_is_left():
    nodes = (LinearNode((10,) * 4, 10, (9,)), LinearNode((10,), 10, (2,)))
    arrivals = Arrivals([WHOLE], nodes, [1, 1], LinearBestFit(nodes))
    assert [arrivals.place(0)[1].node_class for _ in range(2)] == [1, 0]


def test_fragmentation_descends_where_best_fit_leaves_a_useless_rest():
    # Half of a device is of use to the queue's other half-device units, and a fifth to none.
    units, demands = [HALF, MOST], [9, 1]
    nodes = (LinearNode((10, 8), 10, (9,)),)
    policy = FragmentationGradient(units, demands, nodes)
    assert Arrivals(units, nodes, [1], policy).place(1)[1].free == (10, 0)
    assert Arrivals(units, nodes, [1], policy).place(0)[1].free == (8, 5)


def test_fragmentation_is_what_units_of_the_mix_cannot_use():
    nodes = (LinearNode((10, 4), 10, (1,)),)
    policy = FragmentationGradient([HALF, WHOLE, LinearUnit(needs=(1,))], [2, 1, 1], nodes)
    # Half and whole devices cannot use the 4, and what asks for no device uses none of the 14.
    assert policy.fragmentation([(initial_state(0, nodes[0]), 1)]) == (3 * 4 + 14) / 4


def test_the_order_of_arrival_depends_on_the_seed_alone():
    demands = [20, 20]
    assert in_random_order(demands, 1) == in_random_order(demands, 1) != in_random_order(demands, 2)
    assert sorted(in_random_order(demands, 3)) == [0] * 20 + [1] * 20

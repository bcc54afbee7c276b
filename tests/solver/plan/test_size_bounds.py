"""Bounds by the sizes of units are never above the least cost, whatever prices the linear solver finds."""

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
from support.bundles import Bench
from support.objects import claim, device_class, devices, node, pool, want
from support.planning import all_columns, fewest_nodes, optimum, random_scene, vector_scene
from support.vector_packing import random_packing

from drasat.encoders.solver_library import mathopt
from drasat.models.cluster.cluster import Cluster
from drasat.solver.plan import size_bounds
from drasat.solver.plan.column_generation import (
    MANY_NODE_CLASSES,
    Effort,
    GenerationResult,
    PricingLimits,
    StagePricing,
    value_step,
    vector_nodes,
)
from drasat.solver.plan.filling_graph import VectorNode
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
)
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.size_bounds import SizePrices, cost_bound, volume_bound


@pytest.mark.parametrize("seed", range(100, 140))
def test_sizes_never_bound_a_cost_above_the_least(seed):
    scene, cost = vector_scene(seed)
    nodes = vector_nodes(scene.instance, scene.pricer)
    best = optimum(scene, [scene.instance.admitted(), cost])[1]
    units, costs = scene.instance.demands(), cost.terms.nodes
    assert 0 < volume_bound(nodes, units, costs) <= best
    assert 0 < SizePrices.of(scene.instance, nodes, units, costs).bound <= best


@pytest.mark.parametrize("seed", range(100, 130))
def test_nodes_are_bounded_beside_a_cost_that_is_kept(seed):
    """The cost is the least one: fewer nodes for more money are no plan any more."""
    scene, cost = vector_scene(seed)
    stages = [scene.instance.admitted(), cost, fewest_nodes(scene.instance)]
    _, least, number = optimum(scene, stages)
    nodes, units = vector_nodes(scene.instance, scene.pricer), scene.instance.demands()
    alone, beside = (
        SizePrices.of(scene.instance, nodes, units, stages[2].terms.nodes, rows).bound
        for rows in ([], [CouplingRow(cost.terms, upper=least)])
    )
    assert alone <= beside <= number


def test_a_cost_that_is_kept_forbids_large_nodes():
    """Ten units of one need five small nodes for a cost of 10; one large node would cost 11."""
    instance = MasterProblem((MasterUnitClass(0, 10),), (MasterNodeClass(0, 9), MasterNodeClass(1, 9)))
    nodes = {0: VectorNode((2,), {0: (1,)}, {}), 1: VectorNode((10,), {0: (1,)}, {})}
    rows = [CouplingRow(Terms(nodes={0: 2, 1: 11}), upper=10)]
    each = {0: 1, 1: 1}
    assert SizePrices.of(instance, nodes, [10], each).bound == 1
    assert SizePrices.of(instance, nodes, [10], each, rows).bound == 5


def test_units_that_complement_each_other_are_bounded_in_all_dimensions_at_once():
    """Two kinds of nodes, each good for one dimension: in each dimension alone half of the cost would do."""
    instance = MasterProblem(
        (MasterUnitClass(0, 4), MasterUnitClass(1, 4)), (MasterNodeClass(0, 99), MasterNodeClass(1, 99))
    )
    needs = {0: (4, 1), 1: (1, 4)}
    nodes = {0: VectorNode((20, 5), needs, {}), 1: VectorNode((5, 20), needs, {})}
    costs = {0: 10, 1: 10}
    assert volume_bound(nodes, [4, 4], costs) == 10
    assert SizePrices.of(instance, nodes, [4, 4], costs).bound == 16


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("found", ["noise", "nothing", "an error"])
def test_the_bound_holds_whatever_the_linear_solver_says(seed, found, monkeypatch):
    instance, nodes, costs, plan = random_packing(seed)
    rng = Random(seed)

    def solve(model, *_):
        if found == "an error":
            raise RuntimeError(found)
        values = {one: rng.uniform(-1, 3) if found == "noise" else 0.0 for one in model.variables()}
        return SimpleNamespace(variable_values=lambda: values)

    monkeypatch.setattr(mathopt, "solve", solve)
    spent = sum(costs[column.node_class] * number for column, number in plan.columns)
    assert 0 <= SizePrices.of(instance, nodes, plan.units, costs).bound <= spent


def test_sizes_hold_all_that_nodes_with_shared_devices_take():
    """Several devices that are shared are one sum; a unit that fits no node is in no vector."""
    sums = 0
    for seed in range(40):
        scene = random_scene(seed)
        for index in range(len(scene.instance.nodes)):
            sizes = scene.pricer.sizes(index)
            sums += scene.pricer.vector(index) is None
            for counts in all_columns(scene, index):
                assert sizes.holds({unit: number for unit, number in enumerate(counts) if number})
    assert sums > 10


def test_a_cost_is_bounded_where_nodes_are_no_vectors():
    """Nine units have two of the four devices of a node for themselves, or take seven eighths of its cpu."""
    there = Cluster.of([pool(*devices("a", "b", "c", "d")), device_class(), node()])
    for cpu, nodes_needed in ((1, 5), (7, 8)):
        pricer = BundlePricer({0: Bench(there, [[claim(want(count=2))]], [9], needs=[(cpu,)], left=(8,)).question})
        instance = MasterProblem((MasterUnitClass(0, 9),), (MasterNodeClass(0, 20),))
        rows = [CouplingRow(Terms(units={0: 1}), lower=9)]
        assert pricer.vector(0) is None
        found, _ = cost_bound(instance, pricer, ObjectiveStage("cost", Terms(nodes={0: 3}), maximise=False), rows)
        assert found == 3 * nodes_needed


def test_large_units_have_a_node_each():
    """Six of 8 need six nodes of 10, though their sum would fit five."""
    node = VectorNode((10,), {0: (8,)}, {})
    assert volume_bound({0: node}, [6], {0: 7}) == 6 * 7


def test_many_kinds_of_nodes_have_a_bound():
    """A hundred kinds of nodes, which cost what they hold: 300 is what all units take."""
    classes = range(MANY_NODE_CLASSES + 36)
    nodes = {index: VectorNode((10 + index,), {0: (3,)}, {}) for index in classes}
    instance = MasterProblem((MasterUnitClass(0, 100),), tuple(MasterNodeClass(index, 100) for index in classes))
    stage = ObjectiveStage("cost", Terms(nodes={index: 10 + index for index in classes}), maximise=False)
    rows = [CouplingRow(Terms(units={0: 1}), lower=100)]
    pricer = SimpleNamespace(vector=nodes.get, sizes=nodes.get)
    assert cost_bound(instance, pricer, stage, rows)[0] == 300
    assert cost_bound(instance, pricer, replace(stage, brief=True), rows) == (None, None)


def test_no_node_class_is_bounded_by_nothing():
    assert SizePrices.of(MasterProblem((), ()), {}, [], {}) == SizePrices((), {}, {}, {}, 0)
    assert size_bounds.volume_bound({}, [], {}) == 0


@pytest.mark.parametrize("seed", range(100, 130))
def test_duals_of_sizes_prove_the_bound_by_pricing(seed):
    """The Lagrangian bound at these duals, from exact longest paths, is rounded to the same value or a better one."""
    scene, cost = vector_scene(seed)
    every = scene.instance.admitted()
    rows = [every.kept_at(sum(scene.instance.demands()))]
    instance = replace(scene.instance, rows=tuple(rows))
    bound, duals = cost_bound(instance, scene.pricer, cost, rows)
    least = optimum(scene, [every, cost])[1]
    assert bound <= least
    if duals is None:
        step, nodes = value_step(instance, cost.terms), vector_nodes(instance, scene.pricer)
        assert bound == -(-volume_bound(nodes, instance.demands(), cost.terms.nodes) // step) * step
        return
    pricing = StagePricing(instance, cost, rows, duals)
    limits = PricingLimits(Effort.THOROUGH)
    priced = [scene.pricer.price(node.index, pricing.prices, instance.demands(), limits) for node in instance.nodes]
    value = pricing.bound([one.bound for one in priced])
    assert bound <= GenerationResult(None, value, pricing.scale, 1).rounded(instance, cost) <= least

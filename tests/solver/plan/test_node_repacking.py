"""Nodes that are packed anew keep to all that they take, and cost less."""

from collections import Counter
from itertools import count
from operator import le
from random import Random

import pytest
from support.vector_packing import random_packing, vector_pricer

from drasat.solver.plan import node_repacking
from drasat.solver.plan.filling_graph import VectorNode
from drasat.solver.plan.first_fit_decreasing import pack_decreasing
from drasat.solver.plan.master_problem import (
    Column,
    IntegerPlan,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    Terms,
    ordered_columns,
)
from drasat.solver.plan.node_repacking import NodeRepacking, settle_units


@pytest.mark.parametrize("others_cost", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_repacked_plans_place_the_same_units_and_cost_ever_less(seed, others_cost):
    """Where one class alone costs something, all units are packed on one node less."""
    instance, nodes, costs, plan = random_packing(seed)
    costs = costs if others_cost else {index: cost if not index else 0 for index, cost in costs.items()}
    repacking = NodeRepacking.of(instance, vector_pricer(nodes), costs)
    terms = Terms(nodes=costs)
    before = plan.value(terms)
    for better in repacking.plans(plan, count(1), 2.0, None):
        assert better.units == plan.units
        assert better.is_feasible(instance, ())
        assert better.value(terms) < before
        before = better.value(terms)
        for column, _ in better.columns:
            node = nodes[column.node_class]
            assert all(unit in node.needs and number <= node.most.get(unit, number) for unit, number in column.counts)
            used = [sum(node.needs[u][d] * number for u, number in column.counts) for d in range(len(node.left))]
            assert all(map(le, used, node.left))


def random_vectors(nodes, dimensions, rng):
    """Four units for each of some nodes, which leave at most a tenth of it in any dimension."""
    for _ in range(nodes):
        cuts = [sorted(rng.randint(10, 90) for _ in range(3)) for _ in range(dimensions)]
        edges = [(0, *own, 100 - rng.randint(0, 10)) for own in cuts]
        yield from (tuple(max(1, own[n + 1] - own[n]) for own in edges) for n in range(4))


def most_taken(needs, places):
    """The most that any of the nodes has of a dimension, as units are placed."""
    totals = Counter()
    for own, place in zip(needs, places, strict=True):
        totals.update({(place, dimension): need for dimension, need in enumerate(own)})
    return max(totals.values())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_units_that_fill_nodes_but_for_a_tenth_are_placed_where_decreasing_sizes_need_more_nodes(seed, dimensions):
    needs = list(random_vectors(8, dimensions, Random(seed)))
    instance = MasterProblem(tuple(MasterUnitClass(unit, 1) for unit in range(32)), (MasterNodeClass(0, 32),))
    node = VectorNode((102,) * dimensions, dict(enumerate(needs)), {})
    pricer = vector_pricer({0: node})
    packed = list(pack_decreasing(instance, pricer, {0: node}, instance.demands(), {0: 1}))
    fewest = min(packed, key=len)
    plan = IntegerPlan(ordered_columns(dict(fewest)), instance.demands(), ())
    plans = [plan, *NodeRepacking.of(instance, pricer, {0: 1}).plans(plan, count(1), 1.0, None)]
    assert sum(number for _, number in plans[-1].columns) <= 8
    assert dimensions < 3 or len(plans) > 1
    for better in plans:
        assert better.is_feasible(instance, ())
        assert all(node.holds(dict(column.counts)) for column, _ in better.columns)


@pytest.mark.parametrize("seed", range(30))
def test_settled_units_keep_to_the_room_of_every_node_and_what_does_not_fit_is_not_settled(seed):
    rng = Random(seed)
    dimensions = rng.randint(1, 3)
    needs = list(random_vectors(3, dimensions, rng))
    room = [tuple(rng.randint(80, 120) for _ in range(dimensions)) for _ in range(rng.randint(2, 4))]
    places = settle_units(needs, room, 200, None)
    assert places == settle_units(needs, room, 200, None)
    if places is None:
        assert settle_units(needs, [(100,) * dimensions] * 3, 2000, None) is not None
    else:
        for place, own in enumerate(room):
            there = [need for need, at in zip(needs, places, strict=True) if at == place]
            assert all(sum(amounts) <= most for amounts, most in zip(zip(*there, strict=True), own, strict=False))
    assert settle_units([*needs, (1000,) * dimensions], room, 200, None) is None
    assert settle_units(needs, [], 200, None) is None


@pytest.mark.parametrize("size", [101, 100])
def test_fewer_exchanges_are_tried_where_nodes_have_to_be_full(monkeypatch, size):
    """Units of 26 do not fit four at a time, though three nodes have room for twelve of them by size."""
    asked = []
    settle = node_repacking.is_past
    monkeypatch.setattr(node_repacking, "is_past", lambda deadline: asked.append(deadline) or settle(deadline))
    needs = [(26,)] * 11 + [(size * 3 - 26 * 11 - (size > 100),)]
    assert settle_units(needs, [(size,)] * 3, 400, None) is None
    assert (len(asked) > 400) == (size > 100)


@pytest.mark.parametrize("costs", [{0: 7}, {0: 7, 1: 8}])
def test_what_is_left_over_comes_together_until_a_node_is_empty(costs):
    """Four nodes are full of 5, 5 or 4, 4 of ten; the 4s fit three nodes only if the rest is brought together."""
    units = (MasterUnitClass(0, 3), MasterUnitClass(1, 3))
    instance = MasterProblem(units, tuple(MasterNodeClass(index, 9) for index in costs))
    nodes = {index: VectorNode((9,), {0: (5,), 1: (4,)}, {}) for index in costs}
    columns = {Column(0, ((0, 1),)): 3, Column(0, ((1, 2),)): 1, Column(0, ((1, 1),)): 1}
    plan = IntegerPlan(ordered_columns(columns), (3, 3), ())
    repacking = NodeRepacking.of(instance, vector_pricer(nodes), costs)
    *_, last = repacking.plans(plan, count(1), 2.0, None)
    assert last.columns == ((Column(0, ((0, 1), (1, 1))), 3),)


def test_the_same_nodes_are_packed_anew_once(monkeypatch):
    """Three full nodes are all that there are to choose from."""
    asked = []
    solve = node_repacking.run_solver

    def counted(*arguments):
        asked.append(arguments)
        return solve(*arguments)

    monkeypatch.setattr(node_repacking, "run_solver", counted)
    instance = MasterProblem((MasterUnitClass(0, 3),), (MasterNodeClass(0, 9), MasterNodeClass(1, 9)))
    nodes = {index: VectorNode((9,), {0: (5,)}, {}) for index in range(2)}
    plan = IntegerPlan(((Column(0, ((0, 1),)), 3),), (3,), ())
    repacking = NodeRepacking.of(instance, vector_pricer(nodes), {0: 7, 1: 8})
    assert not list(repacking.plans(plan, count(1), 2.0, None))
    assert len(asked) == 1


def test_units_that_take_something_else_on_other_nodes_are_not_repacked():
    instance = MasterProblem((MasterUnitClass(0, 3),), (MasterNodeClass(0, 9), MasterNodeClass(1, 9)))
    nodes = {0: VectorNode((9,), {0: (5,)}, {}), 1: VectorNode((9,), {0: (4,)}, {})}
    assert NodeRepacking.of(instance, vector_pricer(nodes), {0: 7, 1: 7}) is None

"""Packing by size keeps to what a node takes of one kind of unit."""

from collections import Counter
from functools import partial
from time import monotonic
from types import SimpleNamespace

import pytest
from support.vector_packing import random_packing, vector_pricer

from drasat.solver.plan import price_and_branch
from drasat.solver.plan.filling_graph import VectorNode
from drasat.solver.plan.first_fit_decreasing import pack_decreasing
from drasat.solver.plan.master_problem import (
    Column,
    IntegerPlan,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
    ordered_columns,
)
from drasat.solver.plan.price_and_branch import solve_stages


def test_a_node_that_takes_two_of_a_kind_gets_no_more_of_it_once_others_are_opened():
    """The large unit opens a node, which small ones fill as far as they may, and then open others."""
    instance = MasterProblem((MasterUnitClass(0, 1), MasterUnitClass(1, 7)), (MasterNodeClass(0, 3),))
    nodes = {0: VectorNode((100,), {0: (50,), 1: (1,)}, {1: 2})}
    pricer = SimpleNamespace(filled=Column)
    plans = list(pack_decreasing(instance, pricer, nodes, [1, 7], {}))
    assert plans
    for columns in plans:
        small = [dict(column.counts)[1] for column, number in columns for _ in range(number)]
        assert small == [2, 2, 2]


def test_after_the_deadline_nothing_more_is_packed():
    instance = MasterProblem((MasterUnitClass(0, 3), MasterUnitClass(1, 7)), (MasterNodeClass(0, 9),))
    nodes = {0: VectorNode((100,), {0: (50,), 1: (30,)}, {})}
    packed = partial(pack_decreasing, instance, vector_pricer(nodes), nodes, [3, 7], {0: 1})
    assert all(packed())
    late = list(packed(monotonic() - 1))
    assert late == [[]] * len(late)
    assert late


@pytest.mark.parametrize("seed", range(60))
def test_each_packing_has_all_units_and_keeps_to_what_nodes_take(seed):
    """Node classes take some unit classes only and some of each at most; there are nodes of one class for all."""
    instance, nodes, costs, plan = random_packing(seed)
    packed = list(pack_decreasing(instance, vector_pricer(nodes), nodes, plan.units, costs))
    assert len(packed) > 1
    for columns in packed:
        counts = Counter[Column]()
        for column, number in columns:
            assert nodes[column.node_class].holds(dict(column.counts))
            counts[column] += number
        assert IntegerPlan(ordered_columns(counts), plan.units, ()).is_feasible(instance, ())


def test_many_classes_are_packed_at_prices_and_by_size_once_each():
    """Unlike units on a hundred kinds of nodes, twenty of each."""
    needs = {unit: (1 + unit % 30, 1 + unit % 7) for unit in range(210)}
    nodes = {index: VectorNode((40 + index, 200 - index), needs, {}) for index in range(100)}
    units = tuple(MasterUnitClass(unit, 1) for unit in needs)
    instance = MasterProblem(units, tuple(MasterNodeClass(index, 20) for index in nodes))
    costs = {index: 100 + index for index in nodes}
    plans = list(pack_decreasing(instance, vector_pricer(nodes), nodes, instance.demands(), costs))
    assert len(plans) == 2
    for columns in plans:
        placed = Counter(
            unit for column, number in columns for unit, amount in column.counts for _ in range(amount * number)
        )
        assert placed == dict.fromkeys(needs, 1)
        assert all(nodes[column.node_class].holds(dict(column.counts)) for column, _ in columns)


def test_stages_that_count_units_pack_them_on_nodes_that_cost_little_later(monkeypatch):
    """Later stages may have no time for more: nodes of the first class were taken, whatever they cost."""
    needs = {unit: (1 + unit % 30, 1 + unit % 7) for unit in range(210)}
    nodes = {index: VectorNode((40 + index, 200 - index), needs, {}) for index in range(9)}
    units = tuple(MasterUnitClass(unit, 1) for unit in needs)
    instance = MasterProblem(units, tuple(MasterNodeClass(index, 300) for index in nodes))
    cost = ObjectiveStage("cost", Terms(nodes={index: 900 - 100 * index for index in nodes}), maximise=False)
    first = []

    def packed(*asked, **options):
        for columns in pack_decreasing(*asked, **options):
            first.append(sum(cost.terms.nodes[column.node_class] * number for column, number in columns))
            yield columns

    monkeypatch.setattr(price_and_branch, "pack_decreasing", packed)
    found = solve_stages(instance, [instance.admitted(), cost], vector_pricer(nodes))
    assert found.stages[0].value == len(units)
    assert first[0] <= 1.5 * found.stages[1].value


def test_units_that_complement_each_other_share_nodes_of_the_kind_that_is_cheapest_for_both():
    """Small nodes are cheapest for what they hold, but hold no large unit; the nodes of the third kind are balanced."""
    needs = {0: (8, 2), 1: (2, 8), 2: (1, 1)}
    left = {0: (1, 1), 1: (16, 4), 2: (10, 10), 3: (4, 16)}
    nodes = {
        index: VectorNode(own, {u: n for u, n in needs.items() if max(n) <= min(own) or index}, {})
        for index, own in left.items()
    }
    instance = MasterProblem(
        tuple(MasterUnitClass(unit, 20) for unit in needs), tuple(MasterNodeClass(index, 99) for index in nodes)
    )
    costs = {0: 2, 1: 20, 2: 20, 3: 20}
    pricer = vector_pricer(nodes)
    spent = [
        sum(costs[column.node_class] * number for column, number in columns)
        for columns in pack_decreasing(instance, pricer, nodes, instance.demands(), costs)
    ]
    assert min(spent) == 20 * 20 + 20 * 2


def test_sizes_that_only_whole_fillings_bring_together_fill_two_nodes():
    """Decreasing sizes put 44 and 38 together first, and need a third node."""
    sizes = (44, 38, 37, 31, 25)
    instance = MasterProblem(
        tuple(MasterUnitClass(unit, 1 + (unit == 4)) for unit in range(5)), (MasterNodeClass(0, 9),)
    )
    nodes = {0: VectorNode((100,), {unit: (size,) for unit, size in enumerate(sizes)}, {})}
    used = [
        sum(number for _, number in columns)
        for columns in pack_decreasing(instance, vector_pricer(nodes), nodes, instance.demands(), {0: 1})
    ]
    assert used[0] == min(used) == 2
    assert max(used) == 3


@pytest.mark.parametrize(("other", "nodes_used"), [(0, 2), (1, 4)])
def test_whole_fillings_heed_the_dimensions_that_are_not_scarce(other, nodes_used):
    """5, 3 and 2 fill a node of ten, unless each 5 and each 2 takes more than half of something else."""
    instance = MasterProblem(tuple(MasterUnitClass(unit, 2) for unit in range(3)), (MasterNodeClass(0, 9),))
    nodes = {0: VectorNode((10, 4), {0: (5, other * 3), 1: (3, 0), 2: (2, other * 3)}, {})}
    columns = next(pack_decreasing(instance, vector_pricer(nodes), nodes, instance.demands(), {0: 1}))
    assert sum(number for _, number in columns) == nodes_used


def test_units_that_take_nothing_are_packed_with_others():
    """Many unlike units, and a million of a kind that takes nothing of a node."""
    needs = {unit: (1 + unit % 30,) for unit in range(210)} | {210: (0,)}
    nodes = {index: VectorNode((40 + index,), needs, {}) for index in range(100)}
    demands = [1] * 210 + [1_000_000]
    instance = MasterProblem(
        tuple(MasterUnitClass(unit, number) for unit, number in enumerate(demands)),
        tuple(MasterNodeClass(index, 1_000) for index in nodes),
    )
    costs = {index: 100 + index for index in nodes}
    columns = next(pack_decreasing(instance, vector_pricer(nodes), nodes, demands, costs))
    placed = Counter[int]()
    for column, number in columns:
        placed.update({unit: amount * number for unit, amount in column.counts})
    assert placed == dict(enumerate(demands))


def test_what_few_units_need_is_not_bought_for_all():
    """One class takes everything and is dear; all others take everything but one unit."""
    needs = {unit: (1 + unit % 30, 1) for unit in range(300)}
    others = {unit: own for unit, own in needs.items() if unit}
    nodes = {index: VectorNode((60, 40), others if index else needs, {}) for index in range(100)}
    instance = MasterProblem(
        tuple(MasterUnitClass(unit, 1) for unit in needs), tuple(MasterNodeClass(index, 300) for index in nodes)
    )
    costs = {index: 10 + index if index else 1_000 for index in nodes}
    priced = next(
        columns
        for columns in pack_decreasing(instance, vector_pricer(nodes), nodes, instance.demands(), costs)
        if sum(number for column, number in columns if column.node_class == 0) == 1
    )
    least = -(-sum(own[0] for own in needs.values()) // 60)
    assert sum(number for _, number in priced) <= least + 1
    assert {column.node_class for column, _ in priced} == {0, 1}

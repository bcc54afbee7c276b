"""Plans without what they do not place: exact counts and costs, and never worse by any stage."""

from dataclasses import replace
from random import Random

import pytest
from support.bundles import Bench
from support.objects import claim, device_class, devices, either, node, option, pool, want
from support.plan_measures import COSTS, random_bench
from support.planning import fits_column, random_scene

from drasat.models.cluster.cluster import Cluster
from drasat.problem.problem import Counters
from drasat.solver.plan import heuristics
from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.heuristics import remove_slack
from drasat.solver.plan.master_problem import (
    Column,
    CouplingRow,
    IntegerPlan,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    PlanLimits,
    Terms,
    covered_units,
    placed_units,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.bundle import SPREAD
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer
from drasat.solver.plan.pricing.measures import COMPACT, PREFERENCE, SOFT

THOROUGH = PricingLimits(Effort.THOROUGH)
SHARES = LinearPricer((LinearUnit(share=4), LinearUnit(devices=2), LinearUnit()), (LinearNode((10,) * 4, 10, ()),))


def column(pricer, prices, most, node_class=0):
    """The most valuable column."""
    return pricer.price(node_class, prices, most, THOROUGH).columns[0]


def linear(demand, nodes, gangs=(), rows=()):
    units = tuple(MasterUnitClass(index, number) for index, number in enumerate(demand))
    return MasterProblem(units, (MasterNodeClass(0, nodes),), gangs, rows)


def counts_of(plan):
    return [(dict(column.counts), number) for column, number in plan.columns]


def test_a_plan_that_places_all_it_has_room_for_stays_as_it_is():
    full = column(SHARES, Prices((1, 0, 0)), [4, 0, 0])
    plan = IntegerPlan(((full, 2),), (8, 0, 0), ())
    assert remove_slack(linear([8, 0, 0], 2), plan, SHARES) is plan


def test_nodes_that_need_not_be_used_become_empty_first():
    full = column(SHARES, Prices((1, 0, 0)), [4, 0, 0])
    plan = IntegerPlan(((full, 3),), (9, 0, 0), ())
    assert sorted(counts_of(remove_slack(linear([9, 0, 0], 3), plan, SHARES)), key=str) == [({0: 1}, 1), ({0: 4}, 2)]
    plan = IntegerPlan(((full, 3),), (4, 0, 0), ())
    assert counts_of(remove_slack(linear([4, 0, 0], 3), plan, SHARES)) == [({0: 4}, 1)]


def test_a_node_that_can_be_emptied_goes_before_one_that_loses_more_units():
    pricer = replace(SHARES, nodes=SHARES.nodes * 2)
    full, little = column(pricer, Prices((1, 1, 0)), [3, 1, 0]), column(pricer, Prices((1, 0, 0)), [1, 0, 0], 1)
    instance = replace(linear([3, 1, 0], 1), nodes=(MasterNodeClass(0, 1), MasterNodeClass(1, 1)))
    plan = IntegerPlan(((full, 1), (little, 1)), (3, 0, 0), ())
    assert counts_of(remove_slack(instance, plan, pricer)) == [({0: 3}, 1)]


def test_members_of_gangs_are_placed_too():
    full = column(SHARES, Prices((1, 0, 0)), [4, 0, 0])
    instance = linear([9, 0, 0], 2, gangs=(MasterGangClass(((0, 2),), 3),))
    assert counts_of(remove_slack(instance, IntegerPlan(((full, 1),), (1, 0, 0), (1,)), SHARES)) == [({0: 3}, 1)]


def test_devices_of_a_linear_node_lose_what_is_not_placed():
    full = column(SHARES, Prices((2, 3, 1)), [4, 1, 2])
    assert full.counts == ((0, 4), (1, 1), (2, 2))
    less = SHARES.reduced(full, {0: 3, 1: 1})
    assert less.counts == ((0, 3), (1, 1))
    assert sorted(unit for taken in less.payload for unit in taken) == [0, 0, 0, 1]
    assert len(less.payload) == len(full.payload)


def test_a_plan_whose_rows_ask_for_usage_keeps_it():
    instance = replace(linear([4], 1, rows=(CouplingRow(Terms(units={0: -2}, usage={0: 1}), lower=0),)), meters=1)
    plan = IntegerPlan(((Column(0, ((0, 3),), ((0, 2),)), 1),), (1,), ())
    assert remove_slack(instance, plan, Metered()) is plan


def test_of_many_columns_each_is_looked_at_a_few_times(monkeypatch):
    """Of a plan for which there is no time all goes, one column after the other."""
    looked_at, key = [], heuristics._removal_key
    monkeypatch.setattr(heuristics, "_removal_key", lambda *given: looked_at.append(given) or key(*given))
    kinds = 200
    columns = tuple((Column(0, ((unit, 1), (kinds, 1))), 1) for unit in range(kinds))
    plan = IntegerPlan(columns, (0,) * (kinds + 1), ())
    assert counts_of(remove_slack(linear([1] * kinds + [kinds], kinds), plan, Metered())) == []
    assert kinds <= len(looked_at) < 5 * kinds


class Metered:
    """Half of the units count."""

    def reduced(self, column, counts):
        number = counts[0]
        return Column(column.node_class, ((0, number),), ((0, number // 2),) if number > 1 else ())


def check(instance, plan, pricer):
    """Columns have what the plan places and nothing else, in fewer nodes and at less use of every meter."""
    smaller = remove_slack(instance, plan, pricer)
    assert covered_units(instance, smaller.columns) == placed_units(instance, smaller) == placed_units(instance, plan)
    assert smaller.is_feasible(instance, instance.rows)
    for meter in range(instance.meters):
        terms = Terms(usage={meter: 1})
        assert smaller.value(terms) <= plan.value(terms)
    assert sum(number for _, number in smaller.columns) <= sum(number for _, number in plan.columns)
    reversed_ = replace(plan, columns=plan.columns[::-1])
    assert dict(remove_slack(instance, reversed_, pricer).columns) == dict(smaller.columns)
    return smaller


@pytest.mark.parametrize("seed", range(15))
def test_linear_plans_are_trimmed_to_what_they_place(seed):
    scene = random_scene(seed, gangs=seed % 2 == 0)
    found = solve_stages(scene.instance, [scene.instance.admitted()], scene.pricer, limits=PlanLimits(gap=0.0))
    units = tuple(Random(seed).randint(0, number) for number in found.plan.units)
    smaller = check(scene.instance, replace(found.plan, units=units), scene.pricer)
    assert all(fits_column(scene, one) for one, _ in smaller.columns)


def test_bundles_that_are_left_are_valid_and_cost_what_they_use():
    shorter = cheaper = 0
    for seed in range(80):
        rng = Random(f"trimmed/{seed}")
        bench = random_bench(rng)
        question = replace(bench.question, measures=(PREFERENCE, SOFT, COMPACT, SPREAD))
        pricer = BundlePricer({0: question})
        most = [unit.most for unit in question.units]
        columns = pricer.price(0, Prices(tuple(1 for _ in most), (0,) * 4), most, THOROUGH).columns
        if not columns:
            continue
        counts = dict(columns[0].counts)
        units = tuple(rng.randint(0, counts.get(unit, 0)) for unit in range(len(most)))
        instance = MasterProblem(
            tuple(MasterUnitClass(unit, number) for unit, number in enumerate(most)), (MasterNodeClass(0, 1),), meters=4
        )
        plan = IntegerPlan(((columns[0], 1),), units, ())
        for one, _ in check(instance, plan, pricer).columns:
            assert not bench.violations(one.payload)
            costs = [COSTS[measure](question, one.payload) for measure in question.measures]
            assert one.usage == tuple((number, cost) for number, cost in enumerate(costs) if cost)
            shorter += one.counts != columns[0].counts
            cheaper += dict(one.usage).get(0, 0) < dict(columns[0].usage).get(0, 0)
    assert shorter > 9
    assert cheaper > 1


def test_copies_that_cost_most_go_first():
    """Of three copies the first ones get the alternative that they like best, whatever their order."""
    kind = "device.attributes['d.x'].kind == '{}'".format
    lists = claim(either("r", option("big", 1, kind("big")), option("small", 1, kind("small"))))
    supply = [pool(*devices("b", kind="big"), *devices("s", "t", kind="small"))]
    made = Bench(Cluster.of([*supply, device_class(), node()]), [[lists]], [3])
    pricer = BundlePricer({0: replace(made.question, measures=(PREFERENCE,))})
    full = column(pricer, Prices((5,), (-1,)), [3])
    assert (full.counts, full.usage) == (((0, 3),), ((0, 2),))
    swapped = replace(full, payload=replace(full.payload, copies=(full.payload.copies[0][::-1],)))
    for one in (full, swapped):
        assert pricer.reduced(one, {0: 1}).usage == ()
        assert pricer.reduced(one, {0: 2}).usage == ((0, 1),)


def test_bundles_whose_devices_give_counters_stay_as_they_are():
    """What one copy gives another one may draw."""
    made = Bench(Cluster.of([pool(*devices("a", "b")), device_class(), node()]), [[claim(want())]], [2])
    (unit,) = made.question.units
    giving = replace(unit.problem, counters=Counters((("s", "m"),), (0,), {0: ((0, -1),), 1: ((0, 1),)}))
    question = replace(
        made.question, units=(replace(unit, problem=giving),), in_use=replace(made.question.in_use, available=(0,))
    )
    pricer = BundlePricer({0: question})
    full = column(pricer, Prices((1,)), [2])
    assert pricer.reduced(full, {0: 1}) == full

"""What bundles cost by measures: against all bundles of small questions, and on nodes whose answer is known."""

import pickle
from collections import Counter
from dataclasses import replace
from math import comb
from random import Random

import pytest
from support.bundles import Bench, random_question
from support.objects import claim, device, device_class, draws, either, node, option, partitions, pool, want
from support.plan_measures import COSTS, bundles, random_bench
from support.soft import near, wishing
from support.topology import line_of, shape, together, topology

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import Status
from drasat.problem.constraints import pools_with_negative_draws
from drasat.solver.allocate.allocate import allocate
from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.pricing.bundle import SPREAD, OccupiedMeasure, cheap_measures, without_admin_access
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.cp_sat_model import BundleModel
from drasat.solver.plan.pricing.measures import COMPACT, PREFERENCE, SOFT

KIND = "device.attributes['d.x'].kind == '{}'"
THOROUGH = PricingLimits(Effort.THOROUGH)


def check_best(question, listed, rng, seen):
    """The most valuable bundle at prices by chance is that of enumeration, and its usage is what it costs."""
    pricer = BundlePricer({0: question})
    for _ in range(4):
        most = [rng.randint(0, unit.most) for unit in question.units]
        costly = tuple(-rng.choice((0, 1, 1, 3, 9)) for _ in question.measures)
        prices = Prices(tuple(rng.randint(0, 40) for _ in question.units), costly)
        answer = pricer.price(0, prices, most, THOROUGH)
        within = [
            value_at(prices, bundle, costs) for bundle, costs in listed if all(map(int.__le__, bundle.counts, most))
        ]
        assert max(within) == answer.bound == sum(map(prices.value, answer.columns))
        for column in answer.columns:
            costs = costs_of(question, column)
            assert column.usage == tuple((number, cost) for number, cost in enumerate(costs) if cost)
            seen["columns"] += 1
            seen["costly"] += bool(column.usage)


def check_bound(question, listed, rng, seen):
    """What can be allocated in one order is no better than the bound, and the usage is what the bundle costs."""
    prices = Prices(tuple(rng.randint(0, 40) for _ in question.units), (-rng.randint(0, 9), -rng.randint(0, 3)))
    answer = BundlePricer({0: question}).price(0, prices, [unit.most for unit in question.units], THOROUGH)
    values = [value_at(prices, bundle, costs) for bundle, costs in listed]
    assert answer.bound >= max(values)
    for column in answer.columns:
        assert dict(column.usage) == {number: cost for number, cost in enumerate(costs_of(question, column)) if cost}
        assert prices.value(column) <= answer.bound
        seen["columns"] += 1


def value_at(prices, bundle, costs):
    units = sum(price * count for price, count in zip(prices.units, bundle.counts, strict=True))
    return units + sum(price * cost for price, cost in zip(prices.meters, costs, strict=True))


def costs_of(question, column):
    return [COSTS[measure](question, column.payload) for measure in question.measures]


def too_large(question, most):
    """Whether one copy of each unit could take more sets of devices than are worth trying."""
    found = 1
    for unit in question.units:
        for request in (request for one in unit.problem.claims for request in one.requests):
            demands = [unit.problem.demands[number] for number in request.demands]
            found *= max(1, sum(comb(len(one.candidates), one.count) for one in demands))
    return found > most


def all_with_costs(question):
    return [(bundle, [COSTS[one](question, bundle) for one in question.measures]) for bundle in bundles(question)]


@pytest.mark.parametrize("listed", [600, 0], ids=["listed", "side by side"])
@pytest.mark.parametrize("measure", [PREFERENCE, SOFT, COMPACT, SPREAD], ids=lambda one: one.id)
def test_the_most_valuable_bundle_is_that_of_enumeration(measure, listed):
    """SRCH-4, SOFT-1, SOFT-2: also where copies are not listed but stay side by side."""
    seen = Counter()
    for seed in range(20):
        rng = Random(f"measured/{measure.id}/{seed}")
        question = replace(random_bench(rng, 2).question, measures=(measure,), most_configurations=listed)
        check_best(question, all_with_costs(question), rng, seen)
    assert seen["columns"] > 20
    assert seen["costly"] > 9


def test_several_measures_and_units_that_none_of_them_sees():
    seen = Counter()
    for seed in range(40):
        rng = Random(f"all measures/{seed}")
        question = random_bench(rng, 2, 4).question
        units = question.units
        if len(units) == 1:
            units = (*units, replace(units[0], index=1, measured=False))
        measures = tuple(rng.sample((PREFERENCE, SOFT, COMPACT, SPREAD), 3))
        question = replace(question, units=units, measures=measures)
        check_best(question, all_with_costs(question), rng, seen)
    assert seen["costly"] > 20


@pytest.mark.parametrize("admins", [False, True])
def test_measures_beside_every_rule_that_counts_can_state(admins):
    """With counters, capacity, groups, shares and admin access; bounds hold, and nothing known is better."""
    seen = Counter()
    for seed in range(150 if admins else 60):
        rng = Random(f"measured rules/{seed}")
        question = replace(random_question(rng, admins), measures=(PREFERENCE, SPREAD))
        if pools_with_negative_draws(question.units[0].problem) or too_large(question, 40 if admins else 400):
            continue
        listed = all_with_costs(question)
        if admins:
            check_bound(question, listed, rng, seen)
        else:
            check_best(question, listed, rng, seen)
    assert seen["columns"] > 20


@pytest.mark.parametrize(
    "measures", [(SOFT, PREFERENCE), (SOFT, SPREAD), (COMPACT,)], ids=["lists", "spread", "compact"]
)
def test_all_bundles_of_some_worth_are_listed_up_to_those_that_place_as_much_at_no_more(measures):
    several = 0
    for seed in range(30):
        rng = Random(f"listed measures/{seed}")
        question = replace(random_bench(rng, 2).question, measures=measures)
        known = all_with_costs(question)
        prices = Prices(tuple(rng.randint(1, 30) for _ in question.units), tuple(-rng.randint(1, 4) for _ in measures))
        least = rng.choice((1, max(value_at(prices, *one) for one in known) - rng.randint(0, 9)))
        columns = BundlePricer({0: question}).enumerate(0, prices, [2, 2], least, THOROUGH)
        listed = [(column.payload.counts, costs_of(question, column)) for column in columns]
        assert all(prices.value(column) >= least for column in columns)
        for bundle, costs in known:
            covered = any(
                all(map(int.__le__, bundle.counts, counts)) and all(map(int.__ge__, costs, less))
                for counts, less in listed
            )
            assert covered or value_at(prices, bundle, costs) < least or not any(bundle.counts)
        several += len(listed) > 1
    assert several > 2


def torn():
    """A unit whose first alternative breaks a wish, and whose second one is of two pools."""
    kind = "device.attributes['d.x'].kind == '{}'".format
    lists = either("r", option("first", 2, kind("a")), option("second", 2, kind("b")))
    supply = [pool(device("a1", kind="a", root=1), device("a2", kind="a", root=2), device("b1", kind="b", root=3))]
    supply.append(pool(device("b2", kind="b", root=3), name="q"))
    asked = [wishing(claim(lists), near(attribute="d.x/root", weight=7))]
    made = Bench(Cluster.of([*supply, device_class(), node()]), [asked], [1])
    return replace(made.question, measures=(PREFERENCE, SOFT, COMPACT, SPREAD, OccupiedMeasure(5)))


def test_bundles_with_equal_units_and_different_costs_are_all_possible():
    pricer, places = BundlePricer({0: torn()}), []
    for prices in ((-9, -1, 0, 0, 0), (-1, -1, 0, 0, 0)):
        (column,) = pricer.price(0, Prices((20,), prices), [1], THOROUGH).columns
        places.append(dict(column.usage))
    # The places are pool and root, and the attribute that the wish compares.
    assert [(one.get(0, 0), one.get(1, 0)) for one in places] == [(0, 7), (1, 0)]
    assert [(one[3], one[4]) for one in places] == [(1, 5), (1, 5)]
    columns = pricer.enumerate(0, Prices((20,), (-1, -1, 0, 0, 0)), [1], 1, THOROUGH)
    assert sorted(dict(column.usage).get(1, 0) for column in columns) == [0, 7]


def test_a_measure_without_a_price_leaves_the_model_as_it_was():
    question = torn()
    plain = BundleModel(replace(question, measures=()), (1,)).allocation.rows.variables
    assert BundleModel(question, (1,)).allocation.rows.variables == plain
    assert BundleModel(question, (1,), measures=(1,)).allocation.rows.variables > plain


@pytest.mark.parametrize("measure", [PREFERENCE, SOFT, COMPACT], ids=lambda one: one.id)
def test_a_copy_alone_costs_what_its_stage_of_allocate_says(measure):
    several = 0
    for seed in range(60):
        bench = random_bench(Random(f"alone/{seed}"), 1)
        asked = [bench.units[0]]
        question = replace(bench.question, units=bench.question.units[:1], measures=(measure,))
        columns = BundlePricer({0: question}).price(0, Prices((1000,), (-1,)), [1], THOROUGH).columns
        unit = allocate(with_pod(bench.cluster, *asked), objective=measure.id).units[0]
        assert (unit.outcome == Status.ALLOCATED) == bool(columns)
        if columns:
            (stage,) = unit.objective
            assert stage.proven
            assert stage.value == dict(columns[0].usage).get(0, 0)
            several += stage.value > 0
    assert several > 2


def with_pod(cluster, claims):
    return Cluster.of(
        [*cluster.slices, device_class(), node(), *claims, *([together(*claims)] if len(claims) > 1 else [])]
    )


@pytest.mark.parametrize("weight", [None, 3])
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("listed", [600, 0], ids=["listed", "side by side"])
def test_distances_count_where_an_entry_asks_for_what_is_compact(weight, copies, listed):
    """TOPO-2: pairs of a line with gaps. With two copies these are d0 and d3 beside d7 and d8, whatever is first."""
    line = [topology("Line", "at"), line_of(9, 1, 2, 4, 5, 6)]
    asked = [wishing(claim(want(count=2)), shape("Compact", weight=weight))]
    made = Bench(Cluster.of([*line, device_class(), node()]), [asked], [2])
    pricer = BundlePricer({0: replace(made.question, measures=(COMPACT,), most_configurations=listed)})
    (column,) = pricer.price(0, Prices((100,), (-1,)), [copies], THOROUGH).columns
    names = {number: name for name, number in made.numbers().items()}
    pairs = {tuple(names[pick.device] for pick in picks) for picks in column.payload.copies[0]}
    assert pairs == {("d7", "d8"), ("d0", "d3")} if copies == 2 else pairs == {("d7", "d8")}
    # Each copy is at one pool, and at one value of each attribute that says what lies close together.
    places = copies * (1 + len(made.question.units[0].problem.node_context.groupings))
    # No steps lead over a gap: that is as far as there are devices.
    assert column.usage == ((0, places + (1 if copies == 1 else 1 + 4)),)


def test_prices_beyond_what_the_solver_takes_give_bounds_that_hold():
    pricer = BundlePricer({0: torn()})
    prices = Prices((10**16,), (-(10**15) - 1, -(10**15), 0, -(10**14), 0))
    answer = pricer.price(0, prices, [1], THOROUGH)
    values = [prices.value(column) for column in answer.columns]
    best = max(10**16 - (10**15 + 1) * rank - 10**15 * cost - 10**14 for rank, cost in ((0, 7), (1, 0)))
    assert values == [best]
    assert best <= answer.bound <= best + 10**8


def test_what_pays_for_itself_is_taken_for_it():
    """A price above zero is unusual, and no reason for a wrong bound."""
    pricer = BundlePricer({0: torn()})
    answer = pricer.price(0, Prices((0,), (0, 0, 0, 0, 2)), [1], THOROUGH)
    assert [column.counts for column in answer.columns] == [((0, 1),)]
    assert answer.bound == 10


def test_the_same_answer_whatever_was_asked_before():
    """Models are made by what has a price, and none knows what was asked of another."""
    question = replace(random_bench(Random("asked before/3")).question, measures=(PREFERENCE, SOFT, COMPACT, SPREAD))
    asked = [(0, Prices((20, 31), prices), [3, 3], THOROUGH) for prices in ((-1, 0, -2, 0), (0, -3, 0, -1), (0,) * 4)]
    used = BundlePricer({0: question})
    for one in asked:
        used.price(*one)
    for one in asked:
        fresh, again = BundlePricer({0: question}).price(*one), used.price(*one)
        assert fresh == again
        assert [column.payload for column in fresh.columns] == [column.payload for column in again.columns]
    assert pickle.loads(pickle.dumps(used)).price(*asked[0]) == used.price(*asked[0])


def test_measures_that_ask_for_more_than_counts_are_heavy():
    question = torn()
    assert cheap_measures(question) == {0, 3, 4}
    single = replace(question.units[0], problem=replace(question.units[0].problem, claims=(), demands=(), relations=()))
    assert cheap_measures(replace(question, units=(single,))) == {0, 1, 2, 3, 4}


def test_bounds_without_admin_access_hold_where_costs_pay():
    """What has admin access is left out of bounds where it draws counters; here it is what makes a copy worth more."""
    members = [device("a", draws("g", slices=1), kind="a"), device("b", draws("g", slices=1), kind="b")]
    looking = claim(want("own", select=KIND.format("a")), want("looks", select=KIND.format("b"), admin=True))
    supply = partitions(*members, sets={"g": {"slices": 9}})
    made = Bench(Cluster.of([*supply, device_class(), node()]), [[looking]], [1])
    assert without_admin_access(made.question) is not None
    costs = replace(COMPACT, cost=lambda _problem, picks: len(picks), rest=two_for_each_copy)
    pricer = BundlePricer({0: replace(made.question, measures=(costs,))})
    dear = pricer.price(0, Prices((9,), (-1,)), [1], THOROUGH)
    assert [column.usage for column in dear.columns] == [((0, 2),)]
    assert dear.bound >= 7
    paid = pricer.price(0, Prices((1,), (5,)), [1], THOROUGH)
    assert [column.usage for column in paid.columns] == [((0, 2),)]
    assert paid.bound is None or paid.bound >= 11


def two_for_each_copy(measured):
    """What is left of a copy without admin access counts once."""
    size = len(measured.units[0].problem.demands)
    return [(variable, size) for variable, _ in measured.placed()]

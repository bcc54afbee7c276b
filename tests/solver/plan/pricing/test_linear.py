from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from time import monotonic

import pytest
from support.planning import all_columns, fits_column, random_scene

from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearOffers, LinearUnit, best_relaxation, relax_at_prices
from drasat.solver.plan.pricing.linear import LinearPricer


def best_value(scene, node_class, prices):
    return max(sum(map(int.__mul__, counts, prices.units)) for counts in all_columns(scene, node_class))


def random_prices(seed, scene):
    random = Random(seed)
    return Prices(tuple(random.choice((0, random.randint(1, 50), random.randint(100, 900))) for _ in scene.units))


@pytest.mark.parametrize("effort", Effort)
@pytest.mark.parametrize("seed", range(60))
def test_no_column_is_worth_more_than_the_bound_and_every_column_fits(seed, effort):
    scene = random_scene(seed)
    prices, most = random_prices(seed, scene), scene.instance.demands()
    for node_class in range(len(scene.nodes)):
        priced = scene.pricer.price(node_class, prices, most, PricingLimits(effort))
        assert priced.bound >= best_value(scene, node_class, prices)
        for column in priced.columns:
            assert fits_column(scene, column)
            assert all(amount <= most[unit] for unit, amount in column.counts)
            assert prices.value(column) <= priced.bound


@pytest.mark.parametrize("seed", range(60))
def test_a_thorough_look_finds_the_most_valuable_column(seed):
    scene = random_scene(seed)
    prices = random_prices(seed, scene)
    for node_class in range(len(scene.nodes)):
        priced = scene.pricer.price(node_class, prices, scene.instance.demands(), PricingLimits(Effort.THOROUGH))
        found = max((prices.value(column) for column in priced.columns), default=0)
        assert found == priced.bound == best_value(scene, node_class, prices)


@pytest.mark.parametrize("seed", range(40))
def test_enumeration_misses_no_column_of_the_asked_worth(seed):
    scene = random_scene(seed)
    prices = Prices(tuple(max(1, price) for price in random_prices(seed, scene).units))
    for node_class in range(len(scene.nodes)):
        least = max(1, best_value(scene, node_class, prices) * 3 // 4)
        listed = scene.pricer.enumerate(node_class, prices, scene.instance.demands(), least, PricingLimits())
        expected = {
            tuple((unit, amount) for unit, amount in enumerate(counts) if amount)
            for counts in all_columns(scene, node_class)
            if sum(map(int.__mul__, counts, prices.units)) >= least
        }
        assert {column.counts for column in listed} >= expected


@pytest.mark.parametrize("seed", range(40))
def test_what_units_use_lowers_their_worth(seed):
    """Usage costs as much as lower prices, and is told by the column."""
    scene, random = random_scene(seed), Random(seed)
    units = range(len(scene.instance.units))
    usage = {0: {unit: ((0, random.randint(0, 5)), (1, random.randint(0, 3))) for unit in units}}
    pricer = LinearPricer(scene.pricer.units, scene.pricer.nodes, usage)
    prices = Prices(random_prices(seed, scene).units, (-2, -1))
    costs = [sum(amount * -prices.meters[meter] for meter, amount in usage[0][unit]) for unit in units]
    lowered = Prices(tuple(max(0, price - cost) for price, cost in zip(prices.units, costs, strict=True)))
    most = scene.instance.demands()
    priced = pricer.price(0, prices, most, PricingLimits(Effort.THOROUGH))
    assert priced.bound == best_value(scene, 0, lowered)
    assert max((prices.value(column) for column in priced.columns), default=0) == priced.bound
    for column in priced.columns:
        used = {meter: sum(dict(usage[0][unit])[meter] * count for unit, count in column.counts) for meter in (0, 1)}
        assert column.usage == tuple((meter, amount) for meter, amount in used.items() if amount)


@pytest.mark.parametrize("seed", range(60))
def test_a_completed_column_keeps_its_units_and_fills_what_they_leave(seed):
    scene, random = random_scene(seed), Random(seed)
    prices, demands, meters = random_prices(seed, scene), scene.instance.demands(), Prices((1,) * len(scene.units))
    for node_class in range(len(scene.nodes)):
        priced = scene.pricer.price(node_class, meters, [random.randint(0, 2) for _ in demands], PricingLimits())
        for column in priced.columns:
            left = [random.randint(0, 3) for _ in demands]
            full = scene.pricer.completed(column, prices, left, PricingLimits())
            more = Counter(dict(full.counts))
            more.subtract(dict(column.counts))
            assert all(0 <= amount <= left[unit] for unit, amount in more.items())
            assert fits_column(scene, full)
            assert all(set(group) <= set(other) for group, other in zip(column.payload, full.payload, strict=False))


@pytest.mark.parametrize("seed", range(40))
def test_completion_of_an_empty_column_is_worth_as_much_as_the_best_one_of_a_quick_look(seed):
    scene = random_scene(seed)
    prices, demands = random_prices(seed, scene), scene.instance.demands()
    for node_class in range(len(scene.nodes)):
        empty = scene.pricer.column(node_class, ())
        priced = scene.pricer.price(node_class, prices, demands, PricingLimits())
        best = max(map(prices.value, priced.columns), default=0)
        assert prices.value(scene.pricer.completed(empty, prices, demands, PricingLimits())) == best


def test_columns_are_not_listed_where_some_units_cost_more_than_they_are_worth():
    """Such a unit may be in a column that is worth enough."""
    units, node = (LinearUnit(devices=1, needs=()),) * 2, LinearNode((1, 1), 1, ())
    prices = Prices((9, 3), (-1,))
    cheap, dear = (LinearPricer(units, (node,), {0: {1: ((0, amount),)}}) for amount in (1, 4))
    assert cheap.enumerate(0, prices, (1, 1), 7, PricingLimits()) is not None
    assert dear.enumerate(0, prices, (1, 1), 7, PricingLimits()) is None


def test_node_wide_resources_that_bind_change_what_is_best():
    units = (LinearUnit(devices=1, needs=(6,)), LinearUnit(devices=1, needs=(1,)))
    pricer = LinearPricer(units, (LinearNode((10,) * 4, 10, (10,)),))
    priced = pricer.price(0, Prices((10, 7)), [9, 9], PricingLimits(Effort.THOROUGH))
    assert priced.columns[0].counts == ((0, 1), (1, 3))
    assert priced.bound == 31


def test_a_unit_of_several_devices_needs_devices_that_are_free_as_a_whole():
    units = (LinearUnit(devices=2, needs=()), LinearUnit(share=4, needs=()))
    pricer = LinearPricer(units, (LinearNode((10, 10, 6), 10, ()),))
    priced = pricer.price(0, Prices((100, 1)), [9, 9], PricingLimits(Effort.THOROUGH))
    assert priced.columns[0].counts == ((0, 1), (1, 1))
    assert sorted(priced.columns[0].payload) == [(0,), (1,)]


def test_shares_that_have_no_step_in_common_are_rounded_to_the_safe_side():
    units = (LinearUnit(share=9_973, needs=()), LinearUnit(share=50_021, needs=()))
    pricer = LinearPricer(units, (LinearNode((100_003,), 100_003, ()),))
    priced = pricer.price(0, Prices((10, 51)), [99, 99], PricingLimits(Effort.THOROUGH))
    assert priced.columns[0].counts == ((0, 5), (1, 1))
    assert priced.bound >= 101


@pytest.mark.parametrize("seed", range(20))
def test_a_unit_is_replaced_by_those_that_take_no_more_of_anything(seed):
    random = Random(f"replacing/{seed}")
    # More than what numbers of an array hold.
    units = [
        LinearUnit(devices, 0 if devices else random.randrange(3), (random.randrange(3) * 10**20, random.randrange(3)))
        for devices in (random.randrange(3) for _ in range(30))
    ]
    node = LinearNode((5,) * 4, 5, (10**22, 10))
    offers = LinearOffers.of(node, units)
    for rank, index in enumerate(offers.indices):
        one = units[index]
        others = [
            (units[other], bool(offers.replacing[rank] >> place & 1)) for place, other in enumerate(offers.indices)
        ]
        for other, replaces in others:
            fits = other.devices <= one.devices and (one.devices or other.share <= one.share)
            assert replaces == (fits and all(need <= most for need, most in zip(other.needs, one.needs, strict=True)))


def test_what_is_worth_nothing_is_not_taken():
    pricer = LinearPricer((LinearUnit(share=1, needs=()),), (LinearNode((5,), 5, ()),))
    assert pricer.price(0, Prices((0,)), [3], PricingLimits()).columns == ()
    assert pricer.price(0, Prices((0,)), [3], PricingLimits()).bound == 0


def bound_question(seed):
    """Eight devices that all units together fill long after each of two resources is used up."""
    random = Random(f"bound/{seed}")
    units = [
        LinearUnit(share=random.choice((2, 3, 5)), needs=(random.randint(1, 9), random.randint(1, 9)))
        for _ in range(12)
    ]
    values = [random.randint(50, 900) for _ in units]
    return LinearOffers.of(LinearNode((10,) * 8, 10, (30, 30)), units).question(values, [99] * len(units))


@pytest.mark.parametrize("seed", range(12))
def test_prices_of_resources_that_bind_together_make_the_bound_the_lowest(seed):
    asked = bound_question(seed)
    best = best_relaxation(asked)
    highest = 2 * best.bound // 30
    grid = [highest * step // 24 for step in range(25)]
    assert best.bound <= min(relax_at_prices(asked, prices).bound for prices in product(grid, grid)) * (1 + 1e-3)
    assert best.bound == relax_at_prices(asked, best.resource_prices).bound


def test_a_relaxation_whose_time_is_over_is_still_a_bound():
    for seed in range(12):
        asked = bound_question(seed)
        late = best_relaxation(asked, monotonic() - 1)
        assert late.bound == relax_at_prices(asked, late.resource_prices).bound >= best_relaxation(asked).bound

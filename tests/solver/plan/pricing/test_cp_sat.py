"""What a pricer of bundles says of small nodes whose best bundle is known."""

import pickle
from dataclasses import replace

import pytest
from support.bundles import Bench
from support.objects import (
    claim,
    device,
    device_class,
    devices,
    distinct,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)
from support.soft import cel, wishing

from drasat.models.cluster.cluster import Cluster
from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.cp_sat_model import BundleModel

THOROUGH = PricingLimits(Effort.THOROUGH)


def bench(objects, asked, most, **fields):
    return Bench(Cluster.of([*objects, device_class(), node()]), asked, most, **fields)


def best(made, units, meters=(), limits=THOROUGH, most=None):
    """The counts and the usage of the best column, and the bound; the column is valid."""
    pricer = BundlePricer({0: made.question})
    asked = most or [unit.most for unit in made.question.units]
    prices = Prices(tuple(units), tuple(meters))
    answer = pricer.price(0, prices, asked, limits)
    if not answer.columns:
        return {}, {}, answer.bound
    (column,) = answer.columns
    assert not made.violations(column.payload)
    assert prices.value(column) <= answer.bound
    return dict(column.counts), dict(column.usage), answer.bound


def test_units_share_devices():
    """Four devices: a pair and two singles, or two pairs, whichever is worth more."""
    made = bench([pool(*devices("a", "b", "c", "d"))], [[claim(want())], [claim(want(count=2))]], [2, 9])
    assert best(made, (3, 5)) == ({0: 2, 1: 1}, {}, 11)
    assert best(made, (2, 5)) == ({1: 2}, {}, 10)


def test_other_resources_count_beside_devices():
    made = bench([pool(*devices("a", "b", "c"))], [[claim(want())], []], [9, 9], needs=[(2, 0), (1, 5)], left=(5, 12))
    assert best(made, (4, 1)) == ({0: 2, 1: 1}, {}, 9)
    assert best(made, (1, 4)) == ({0: 1, 1: 2}, {}, 9)


def test_a_node_that_is_short_of_a_resource_takes_nothing_that_needs_it():
    made = bench([pool(*devices("a"))], [[claim(want())], [claim(want())]], [9, 9], needs=[(1,), (0,)], left=(-3,))
    assert best(made, (9, 1)) == ({1: 1}, {}, 1)


def test_claims_of_a_unit_come_together():
    """A unit with two claims takes both of them or none."""
    pair = [claim(want(count=2), name="c1"), claim(want(), name="c2")]
    made = bench([pool(*devices("a", "b", "c", "d", "e"))], [pair, [claim(want())]], [9, 9])
    assert best(made, (9, 1)) == ({0: 1, 1: 2}, {}, 11)


def test_copies_left_out_leave_their_values_to_others():
    """CON-5: of equal claims only those that are served may take a value once each."""
    supply = pool(device("a", v=1), device("b", v=1), device("c", v=2))
    made = bench([supply], [[claim(want(count=2), constraints=[distinct("d.x/v")])]], [3])
    assert best(made, (5,)) == ({0: 1}, {}, 5)


def test_matching_pairs_beside_singles():
    """CON-4: two roots of three devices hold a pair and a single each."""
    supply = pool(*(device(f"d{n}", v=n // 3) for n in range(6)))
    asked = [[claim(want(count=2), constraints=[match("d.x/v")])], [claim(want())]]
    made = bench([supply], asked, [9, 9])
    assert best(made, (3, 1)) == ({0: 2, 1: 2}, {}, 8)
    assert best(made, (1, 1)) == ({1: 6}, {}, 6)


def test_copies_that_cannot_be_merged_are_served_from_the_first():
    """Two entries: each copy stays alone, and what is left out is the last of them."""
    supply = pool(*(device(f"d{n}", v=n // 2, w=n // 4) for n in range(8)))
    asked = [[claim(want(count=2), constraints=[match("d.x/v"), match("d.x/w")])], [claim(want(count=3))]]
    made = bench([supply], asked, [9, 9])
    assert best(made, (4, 5)) == ({0: 4}, {}, 16)
    assert best(made, (4, 7)) == ({0: 1, 1: 2}, {}, 18)


def test_alternatives_are_chosen_copy_by_copy():
    """SRCH-4 is about one claim alone: which alternative a copy gets is open."""
    kind = "device.attributes['d.x'].kind == '{}'".format
    lists = claim(either("r", option("big", 1, kind("big")), option("small", 2, kind("small"))))
    supply = pool(device("b", kind="big"), *devices("s1", "s2", "s3", kind="small"))
    made = bench([supply], [[lists], [claim(want(select=kind("big")))]], [9, 9])
    assert best(made, (2, 1)) == ({0: 2}, {}, 4)
    assert best(made, (2, 3)) == ({0: 1, 1: 1}, {}, 5)


def test_partitions_and_their_counters():
    """CTR-2: of a device in seven slices a half is four, a third two."""
    members = [device(f"h{n}", draws("g", slices=4), kind="half") for n in range(2)]
    members += [device(f"t{n}", draws("g", slices=2), kind="third") for n in range(3)]
    kind = "device.attributes['d.x'].kind == '{}'".format
    made = bench(
        partitions(*members, sets={"g": {"slices": 7}}),
        [[claim(want(select=kind(one)))] for one in ("half", "third")],
        [9, 9],
    )
    assert best(made, (5, 2)) == ({0: 1, 1: 1}, {}, 7)
    assert best(made, (3, 2)) == ({1: 3}, {}, 6)


def test_shares_of_a_device():
    """CAP-6, with a device whose shares take nothing and so never end."""
    supply = pool(
        device("s", multi=True, kind="some", capacity={"memory": shared("10")}), device("u", multi=True, kind="any")
    )
    kind = "device.attributes['d.x'].kind == '{}'".format
    asked = [[claim(want(select=kind("some"), capacity={"memory": amount}))] for amount in ("4", "3")]
    made = bench([supply], [*asked, [claim(want(select=kind("any")))]], [9, 9, 5])
    assert best(made, (5, 4, 1)) == ({0: 1, 1: 2, 2: 5}, {}, 18)
    assert best(made, (8, 4, 0)) == ({0: 2}, {}, 16)


def test_all_devices_go_to_one_copy_at_most():
    """SRCH-6."""
    made = bench([pool(*devices("a", "b", "c"))], [[claim(want(count="All"))], [claim(want())]], [9, 9])
    assert best(made, (9, 2)) == ({0: 1}, {}, 9)
    assert best(made, (5, 2)) == ({1: 3}, {}, 6)


def test_devices_that_others_reach_are_metered():
    """What a device costs decides which one is taken, and whether any is."""
    supply = pool(*devices("near", "far1", "far2"))
    made = bench([supply], [[claim(want())]], [9])
    made.question = replace(made.question, meters=({1: 1, 2: 3}, {0: 1}))
    assert best(made, (5,), (-2, 0)) == ({0: 2}, {0: 1, 1: 1}, 8)
    assert best(made, (5,), (-1, -6)) == ({0: 2}, {0: 4}, 6)
    assert best(made, (5,), (0, 0))[0] == {0: 3}
    assert best(made, (0,), (0, 4)) == ({0: 1}, {1: 1}, 4)
    assert best(made, (-1,), (2, -9)) == ({0: 2}, {0: 4}, 6)


def test_limits_of_a_question_hold():
    made = bench([pool(*devices("a", "b", "c"))], [[claim(want())], [claim(want())]], [3, 3])
    assert best(made, (3, 2), most=[1, 1]) == ({0: 1, 1: 1}, {}, 5)
    assert best(made, (3, 2), most=[0, 3]) == ({1: 3}, {}, 6)


def test_nothing_worth_taking_is_no_column():
    made = bench([pool(*devices("a"))], [[claim(want())], [claim(want(count=2))]], [3, 3])
    assert best(made, (0, 5)) == ({}, {}, 0)
    assert best(made, (2, 5), most=[0, 3]) == ({}, {}, 0)


def test_a_node_that_no_unit_may_go_to_has_no_columns():
    made = bench([pool(*devices("a"))], [[claim(want())]], [3])
    made.question = replace(made.question, units=())
    assert best(made, (4,), most=[3]) == ({}, {}, 0)


def test_units_that_the_question_leaves_out_are_not_taken():
    """Units are known by their numbers among all classes."""
    made = bench([pool(*devices("a"))], [[claim(want())]], [1])
    (unit,) = made.question.units
    made.question = replace(made.question, units=(replace(unit, index=2),))
    assert best(made, (9, 9, 4), most=[5, 5, 5])[::2] == ({2: 1}, 4)


def test_copies_with_too_many_configurations_stay_side_by_side():
    """Six of fifteen devices, in every way: copies are told apart by their rows instead."""
    asked = [[claim(want(count=6), constraints=[distinct("d.x/v"), distinct("d.x/u")])], [claim(want())]]
    supply = pool(*(device(f"d{n:02}", v=n, u=n + 1) for n in range(15)))
    made = bench([supply], asked, [9, 9])
    assert not BundleModel(made.question, (2, 9)).allocation.configured_units
    assert best(made, (10, 1)) == ({0: 2, 1: 3}, {}, 23)


def test_configurations_keep_to_relations_that_no_rows_say():
    """CELC-9: with the lazy encoding what a copy could take is judged one by one."""
    kinds = [device(f"{kind}{n}", kind=kind) for kind in "ab" for n in range(3)]
    text = "devices.filter(d, d.attributes['d.x'].kind == 'a').size() == 1"
    made = bench([pool(*kinds)], [[wishing(claim(want(count=2)), cel(text, weight=None))]], [9], cel_encoding="lazy")
    assert BundleModel(made.question, (3,)).allocation.configured_units
    assert best(made, (4,)) == ({0: 3}, {}, 12)


def test_lists_in_copies_that_stay_alone_choose_for_each_copy():
    """One copy is content with a large device, others with two small ones of a row."""
    kind = "device.attributes['d.x'].kind == '{}'".format
    lists = either("r", option("big", 1, kind("big")), option("small", 2, kind("small")))
    supply = pool(device("b", kind="big", v=9), *(device(f"s{n}", kind="small", v=n // 3) for n in range(7)))
    tied = claim(lists, want("s", 1, kind("small")), constraints=[match("d.x/v", "r/small", "s")])
    made = bench([supply], [[tied]], [9])
    assert BundleModel(made.question, (3,)).allocation.configured_units
    assert best(made, (4,)) == ({0: 3}, {}, 12)


def test_a_pricer_may_be_sent_to_another_process():
    made = mesh()
    pricer = BundlePricer({0: made.question})
    asked = (0, Prices((21, 30, 20)), [9, 9, 9], THOROUGH)
    answer = pricer.price(*asked)
    assert pickle.loads(pickle.dumps(pricer)).price(*asked) == answer


def test_columns_are_listed_but_for_those_that_others_cover():
    made = bench([pool(*devices("a", "b", "c", "d"))], [[claim(want())], [claim(want(count=2))]], [9, 9])

    def listed(least, **fields):
        question = replace(made.question, **fields)
        found = BundlePricer({0: question}).enumerate(0, Prices((2, 5), (-1,)), [9, 9], least, THOROUGH)
        return [column.payload.counts for column in found]

    assert listed(0) == [(0, 2), (2, 1), (4, 0)]
    assert listed(9) == [(0, 2), (2, 1)]
    assert listed(11) == []
    # Without the metered device fewer units cost less.
    assert listed(0, meters=({0: 1},)) == [(0, 2), (2, 1), (4, 0), (1, 1), (3, 0)]
    assert listed(8, meters=({0: 1},)) == [(0, 2), (2, 1)]
    assert listed(0, units=()) == []
    # What pays for itself may be wanted without end.
    metered = BundlePricer({0: replace(made.question, meters=({0: 1},))})
    assert metered.enumerate(0, Prices((2, 5), (1,)), [9, 9], 0, THOROUGH) is None


def mesh():
    """Copies that stay alone, and many ways to serve them."""
    supply = pool(*(device(f"d{n:02}", v=n % 5, w=n % 3, u=n % 4) for n in range(16)))
    asked = [
        [claim(want(count=2), constraints=[match("d.x/v"), distinct("d.x/w")])],
        [claim(want(count=3), constraints=[distinct("d.x/v"), match("d.x/u")])],
        [claim(want(count=2), constraints=[distinct("d.x/v"), match("d.x/w")])],
    ]
    return bench([supply], asked, [9, 9, 9])


@pytest.mark.parametrize("work", [0, 1, 10])
def test_a_bound_holds_however_early_pricing_stops(work):
    made = mesh()
    known = best(made, (21, 30, 20))[2]
    counts, _, bound = best(made, (21, 30, 20), limits=PricingLimits(Effort.THOROUGH, work))
    assert sum(price * counts.get(unit, 0) for unit, price in enumerate((21, 30, 20))) <= known <= bound


def test_a_deadline_that_is_over_leaves_a_bound():
    made = bench([pool(*devices("a", "b"))], [[claim(want())]], [9], needs=[(1,)], left=(1,))
    counts, _, bound = best(made, (7,), limits=PricingLimits(Effort.THOROUGH, deadline=0.0))
    assert counts == {}
    assert bound == 7


def test_the_same_answer_whatever_was_asked_before():
    made = mesh()
    fresh, used = BundlePricer({0: made.question}), BundlePricer({0: made.question})
    for prices in ((5, 0, 1), (1, 9, 3), (0, 1, 1)):
        used.price(0, Prices(prices), [3, 9, 2], THOROUGH)
    answers = [pricer.price(0, Prices((20, 31, 20)), [9, 9, 9], THOROUGH) for pricer in (fresh, used)]
    assert answers[0] == answers[1]
    assert answers[0].columns[0].payload == answers[1].columns[0].payload


def test_prices_beyond_what_the_solver_takes_give_bounds_that_hold():
    made = bench([pool(*devices("a", "b", "c"))], [[claim(want())], [claim(want(count=2))]], [9, 9])
    huge = (10**15 + 7, 2 * 10**15 + 15)
    counts, _, bound = best(made, huge)
    assert counts == {0: 1, 1: 1}
    assert sum(huge) <= bound <= sum(huge) + 10**7


def test_no_model_is_made_after_the_deadline(monkeypatch):
    """With a thousand node classes models that nobody solves would outlast the limit."""
    made = bench([pool(*devices("a", "b", "c", "d"))], [[claim(want())]], [9])
    monkeypatch.setattr(BundleModel, "__init__", lambda *_: pytest.fail("a model is made"))
    assert best(made, (7,), limits=PricingLimits(Effort.THOROUGH, deadline=0.0))[0] == {}

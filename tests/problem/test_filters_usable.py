"""Which devices a demand could take, looked at alone: what is decided before any model."""

from dataclasses import replace

import pytest

from drasat.problem.filters import usable_devices
from drasat.problem.problem import (
    Capacities,
    Claim,
    CompatibilityGroups,
    Constraint,
    Counters,
    Demand,
    FilterFailure,
    InUse,
    Problem,
    Request,
)

DEMAND = Demand(0, 0, "r", "", "class", 1, all_devices=False, admin=False, candidates=(0, 1, 2))
NOTHING = InUse()
UNIT = 10**9


def problem(*demands, **fields):
    numbered = tuple(replace(demand, index=index) for index, demand in enumerate(demands))
    requests = tuple(Request("r", listed=False, demands=(demand.index,)) for demand in numbered)
    return Problem(3, (Claim(requests),), numbered, **fields)


def found(in_use=NOTHING, demand=DEMAND, **fields):
    return usable_devices(problem(demand, **fields), in_use)[0]


def test_what_is_in_use_is_free_for_admin_access_only():
    """DEV-14, DEV-15."""
    in_use = InUse(dedicated=frozenset({1}))
    assert found(in_use) == (0, 2)
    assert found(in_use, replace(DEMAND, admin=True)) == (0, 1, 2)


def test_a_trap_is_not_used():
    """CEL-7: who does not replay the order must not depend on errors on the way."""
    assert found(demand=replace(DEMAND, error_devices={2: FilterFailure("requestSelector", error=("no",))})) == (0, 1)


@pytest.mark.parametrize(
    "missing", [{"untakeable": frozenset({0})}, {"error_devices": {0: FilterFailure("taint", error=("no",))}}]
)
def test_all_takes_everything_or_nothing(missing):
    """SRCH-6."""
    everything = replace(DEMAND, all_devices=True, count=3)
    assert found(demand=everything) == (0, 1, 2)
    assert found(demand=replace(everything, **missing)) == ()
    assert found(InUse(dedicated=frozenset({0})), everything) == ()


def test_a_list_of_all_says_nothing_about_a_request_for_the_same_devices():
    everything = replace(DEMAND, all_devices=True, count=3)
    for demands in ((everything, DEMAND), (DEMAND, everything)):
        asked = problem(*demands)
        assert sorted(usable_devices(asked, InUse(dedicated=frozenset({0})))) == [(), (1, 2)]


CARDS = Counters((("s", "m"), ("t", "m"), ("u", "m")), (0, 0, 1), {0: ((0, 2),), 1: ((1, 1),), 2: ((2, 1),)})


@pytest.mark.parametrize(
    ("available", "left"), [((2, 1, 1), (0, 1, 2)), ((1, 1, 1), (1, 2)), ((-1, 1, 1), (2,)), ((2, 1, -1), (0, 1))]
)
def test_counters_last_for_one_device_and_none_of_its_pool_is_overdrawn(available, left):
    """CTR-2."""
    assert found(InUse(available=available), counters=CARDS) == left


def test_further_shares_draw_nothing():
    """CTR-3."""
    in_use = InUse(available=(-1, 1, 1), shares={0: 1})
    assert found(in_use, counters=CARDS, shared=frozenset({0, 1})) == (0, 2)


def test_where_a_device_gives_counters_back_others_may_wait_for_it():
    giving = replace(CARDS, consumption={**CARDS.consumption, 1: ((0, -1),)})
    assert found(InUse(available=(1, 1, 0)), counters=giving) == (0, 1)


@pytest.mark.parametrize(("consumed", "left"), [(0, (0, 1, 2)), (1, (1, 2))])
def test_capacity_lasts_for_the_request(consumed, left):
    """CAP-6."""
    capacities = Capacities(("memory",), (4 * UNIT,), {0: (0,)})
    demand = replace(DEMAND, amounts={0: ((0, 4 * UNIT),)})
    in_use = InUse(consumed={0: consumed * UNIT})
    assert found(in_use, demand, capacities=capacities, shared=frozenset({0})) == left


@pytest.mark.parametrize(("state", "left"), [(None, (0, 1, 2)), (0, (2,)), (1, ()), (0b11, (0,)), (0b111, (0, 1))])
def test_groups_fit_to_those_in_use(state, left):
    """GRP-3."""
    groups = CompatibilityGroups(((0, "s"),), {0: ((0, 0b11),), 1: ((0, 0b101),), 2: ((0, 0),)})
    assert found(InUse(groups=(state,)), groups=groups) == left


@pytest.mark.parametrize(("sets", "left"), [(False, (0, 1)), (True, (0,))])
def test_devices_without_a_value_cannot_be_compared(sets, left):
    """CON-3, CON-8: for sets, nor can those with an empty one."""
    entry = Constraint(0, "matchAttribute", "d/a", sets, {0: {0: 2, 1: 0}})
    assert found(demand=replace(DEMAND, constraints=(0,)), constraints=(entry,)) == left

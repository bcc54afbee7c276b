"""Counters, consumable capacity, compatibility groups and admin access."""

from dataclasses import replace

import pytest
from support.modelling import collapse_problem, fits, picked, question
from support.objects import after, claim, device, devices, draws, either, option, partitions, pool, shared, want

from drasat.encoders.constraints import ENCODERS
from drasat.encoders.model import build_model
from drasat.solver.engines.cp_sat import Limits, SolverStatus, run_solver

SETS = {"s": {"m": 4, "k": 4}}


def part(name, m, **fields):
    return device(name, draws("s", m=m), **fields)


@pytest.mark.parametrize(("count", "possible"), [(2, True), (3, False)])
def test_counters_last_for_what_draws_from_them(count, possible):
    """CTR-2."""
    slices = partitions(part("a", 3), part("b", 2), part("c", 1), sets=SETS)
    assert fits(*slices, claim(want(count=count))) == possible


def test_counters_are_shared_by_claims():
    """CTR-4."""
    slices = partitions(part("a", 3), part("b", 2), part("c", 1), sets=SETS)
    assert fits(*slices, claim(want(), name="x"), claim(want(), name="y"))
    assert not fits(*slices, *(claim(want(), name=name) for name in "xyz"))


def test_what_is_allocated_elsewhere_has_drawn_too():
    """CTR-1, CTR-4."""
    slices = partitions(part("a", 3), part("b", 2), part("c", 1), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert {name for _, name in picked(*slices, *held, claim(want()))} == {"c"}
    assert not fits(*slices, *held, claim(want(count=2)))


def test_an_overdrawn_counter_blocks_all_that_draw_in_its_pool():
    """CTR-2."""
    sets = {"s": {"m": 4}, "t": {"m": 4}}
    members = device("a", draws("s", m=4)), device("b", draws("t", m=1)), device("free")
    held = after(*partitions(*members, sets=sets), claim(want(), name="before"))
    now = partitions(*members, sets={"s": {"m": 3}, "t": {"m": 4}})
    assert {name for _, name in picked(*now, *held, claim(want()))} == {"free"}


@pytest.mark.parametrize(("order", "possible"), [((-1, 4), True), ((4, -1), False)])
def test_a_device_that_gives_back_must_come_first(order, possible):
    """CTR-2: looked at device by device."""
    members = [part(f"{index}", amount) for index, amount in enumerate(order)]
    assert fits(*partitions(*members, sets={"s": {"m": 3}}), claim(want(count=2))) == possible


def test_a_shared_device_draws_once():
    """CTR-3."""
    slices = partitions(part("a", 3, multi=True), part("b", 2), sets=SETS)
    assert fits(*slices, claim(want("r"), want("s"), want("t")))
    assert not fits(*slices, claim(want("r", 2)))


def test_a_shared_device_in_use_has_drawn_already():
    """CTR-3."""
    slices = partitions(part("a", 3, multi=True), part("b", 2), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert {name for _, name in picked(*slices, *held, claim(want()))} == {"a"}


def test_bytes_without_a_common_divisor_are_counted_exactly():
    """A row that the solver cannot take as it is goes by digits."""
    total = 85_899_345_921
    third = total // 3
    members = [part(name, third + extra) for name, extra in (("a", 0), ("b", 0), ("c", 0))]
    assert fits(*partitions(*members, sets={"s": {"m": total}}), claim(want(count=3)))
    members = [part(name, third + extra) for name, extra in (("a", 1), ("b", 0), ("c", 0))]
    assert not fits(*partitions(*members, sets={"s": {"m": total}}), claim(want(count=3)))


POLICIES = {
    "none": (shared("10"), "4", 2),
    "default": (shared("10", default="3"), None, 3),
    "range": (shared("10", default="2", min="2", step="2", max="8"), "3", 2),
    "values": (shared("10", default="1", values=("1", "5")), "2", 2),
    "everything": (shared("10"), None, 1),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_capacity_lasts_for_what_requests_take(policy):
    """CAP-3, CAP-6, CAP-9."""
    capacity, asked, most = POLICIES[policy]
    supply = pool(device("s", multi=True, capacity={"memory": capacity}))
    requests = [want(f"r{n}", capacity={"memory": asked} if asked else None) for n in range(most + 1)]
    assert fits(supply, claim(*requests[:most]))
    assert not fits(supply, claim(*requests))
    assert not fits(supply, *(claim(request, name=request.name) for request in requests))


def test_what_is_consumed_already_counts():
    """CAP-6."""
    supply = pool(device("s", multi=True, capacity={"memory": "10"}))
    wanted = [want(f"r{n}", capacity={"memory": "4"}) for n in range(2)]
    held = after(supply, claim(wanted[0], name="before"))
    assert fits(supply, *held, claim(wanted[0]))
    assert not fits(supply, *held, claim(*wanted))


def test_capacity_filters_dedicated_devices_only():
    """CAP-7."""
    supply = pool(device("small", capacity={"memory": "4"}), device("large", capacity={"memory": "8"}))
    assert {name for _, name in picked(supply, claim(want(capacity={"memory": "5"})))} == {"large"}
    assert fits(supply, claim(want("r", capacity={"memory": "4"}), want("s", capacity={"memory": "4"})))


@pytest.mark.parametrize(
    ("groups", "possible"),
    [
        ((("x",), ("x", "y"), ("x",)), True),
        ((("x", "y"), ("y", "z"), ("z", "x")), False),
        ((None, None, None), True),
        ((None, ("x",), None), False),
    ],
)
def test_devices_of_a_counter_set_have_a_group_in_common(groups, possible):
    """GRP-3: a running intersection, or no groups at all."""
    members = [device(f"d{n}", draws("s", own, m=1)) for n, own in enumerate(groups)]
    assert fits(*partitions(*members, sets=SETS), claim(want(count=3))) == possible


def test_groups_of_different_counter_sets_do_not_meet():
    members = [device("a", draws("s", ("x",), m=1)), device("b", draws("t", ("y",), m=1))]
    assert fits(*partitions(*members, sets={"s": {"m": 4}, "t": {"m": 4}}), claim(want(count=2)))


def test_groups_in_use_decide_what_may_come():
    """GRP-2."""
    members = [
        device("a", draws("s", ("x", "y"), m=1)),
        device("b", draws("s", ("z",), m=1)),
        device("c", draws("s", ("y",), m=1)),
    ]
    slices = partitions(*members, sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert {name for _, name in picked(*slices, *held, claim(want()))} == {"c"}
    assert not fits(*slices, *held, claim(want(count=2)))


@pytest.mark.parametrize(("state", "possible"), [(None, {"x", "none"}), (0, {"none"}), (1, set()), (3, {"x"})])
def test_groups_in_use_decide_without_any_filter(state, possible):
    """GRP-3: with nothing in common left (1), not even a device without groups may come."""
    members = {"x": device("x", draws("s", ("x",), m=1)), "none": device("none", draws("s", m=1))}
    for name, member in members.items():
        asked = question(*partitions(member, device("y", draws("s", ("x",), m=9)), sets=SETS), claim(want()))
        in_use = replace(asked.in_use, groups=(state,))
        model = build_model(collapse_problem(asked.problem, in_use, ((0,),)), ENCODERS)
        assert (run_solver(model.rows, Limits()).status is SolverStatus.OPTIMAL) == (name in possible)


ONE = pool(*devices("a"))


def test_an_admin_pick_is_in_the_way_of_later_normal_requests():
    """DEV-1: but not of earlier ones in another claim."""
    admin, normal = want("admin", admin=True), want("normal")
    assert not fits(ONE, claim(admin, name="first"), claim(normal, name="second"))
    assert fits(ONE, claim(normal, name="first"), claim(admin, name="second"))
    assert not fits(ONE, claim(normal, admin))
    assert not fits(ONE, claim(admin, normal))


def test_equal_claims_on_both_sides_of_an_admin_are_not_one():
    """DEV-1: the one before may have the device, the one after may not."""
    supply = pool(*devices("a", "b"))
    admin, normal = claim(want(count=2, admin=True), name="b"), want()
    assert fits(supply, claim(normal, name="a"), admin)
    assert not fits(supply, claim(normal, name="a"), admin, claim(normal, name="c"))


def test_admins_do_not_mind_each_other_across_claims():
    """DEV-1, DEV-15."""
    admin = want("admin", admin=True)
    assert fits(ONE, claim(admin, name="first"), claim(admin, name="second"))
    assert not fits(ONE, claim(admin, want("again", admin=True)))


def test_admin_access_does_not_mind_what_is_in_use_but_counters_do():
    """DEV-15."""
    held = after(ONE, claim(want(), name="before"))
    assert fits(ONE, *held, claim(want(admin=True)))
    slices = partitions(part("a", 3), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert not fits(*slices, *held, claim(want(admin=True)))


def test_a_list_goes_where_counters_are_left():
    slices = partitions(part("large", 4), part("s1", 2), part("s2", 2), sets=SETS)
    large = option("large", 1, "device.attributes['d.x'].size == 4")
    members = partitions(part("large", 4, size=4), part("s1", 2, size=2), part("s2", 2, size=2), sets=SETS)
    small = option("small", 2, "device.attributes['d.x'].size == 2")
    assert fits(*slices, claim(want()))
    assert {label for label, _ in picked(*members, claim(either("r", large, small)))} <= {"r/large", "r/small"}
    assert not fits(*members, claim(either("r", large, small), want("more")))

"""From classes to units: who goes where, with which devices, and what becomes of nodes."""

from collections import Counter

import pytest
from support.plan_building import (
    claim,
    device,
    devices,
    entry,
    fabric,
    holding,
    maker,
    node,
    nodes,
    of,
    placed,
    planning,
    pod,
    posed,
    published,
    sharing,
    template,
    to_buy,
    user,
    where,
)

from drasat.solver.plan.assign import assign_slots
from drasat.solver.plan.column_generation import Prices, PricingLimits
from drasat.solver.plan.master_problem import Column, IntegerPlan


def test_units_are_in_the_order_of_the_queue():
    given = [user("z"), claim("c"), maker("Deployment", "d", entry("g", template="t"), spec={"replicas": 2}), user("a")]
    found = planning(*nodes("n1"), *given)
    assert [(one.kind, one.name, one.replica, one.unit.name) for one in found.units] == [
        ("Pod", "z", 0, "z"),
        ("ResourceClaim", "c", 0, "c"),
        ("Deployment", "d", 0, "d-0"),
        ("Deployment", "d", 1, "d-1"),
        ("Pod", "a", 0, "a"),
    ]
    assert {one.namespace for one in found.units} == {"default"}


def test_of_equal_units_the_first_ones_are_placed():
    found = planning(*nodes("n1", devices=2), *(user(name) for name in "zyx"))
    assert placed(found) == ["y", "z"]


def test_of_equal_gangs_the_first_ones_are_placed():
    given = [user(f"{name}{number}", GANG=f"g{number}") for number in (3, 1, 2) for name in "ab"]
    found = planning(*nodes("n1", devices=4), *given)
    assert placed(found) == ["a1", "a3", "b1", "b3"]
    assert [one.gang for one in found.units] == ["g3", "g3", "g1", "g1", "g2", "g2"]


def test_members_of_gangs_have_the_places_before_single_units():
    given = [*(user(name) for name in "xyz"), *(user(name, GANG="g", VALUE="9") for name in "ab")]
    found = planning(*nodes("n1", devices=3), *given, objective="admitted=annotation:drasat.dev/value")
    assert placed(found) == ["a", "b", "x"]


def test_every_claim_has_devices_of_its_own():
    found = planning(*nodes("n1", "n2"), user("a", REPLICAS="8"))
    taken = Counter(one for own in devices(found).values() for one in own)
    assert len(taken) == 8
    assert set(taken.values()) == {1}
    assert all(own[0][0] == node for own, node in zip(devices(found).values(), where(found).values(), strict=True))


def test_a_pod_without_claims_has_a_node_and_no_allocations():
    (one,) = planning(*nodes("n1"), pod("p")).units
    assert (one.node, one.allocations, one.reasons) == ("n1", (), ())


def test_a_unit_that_is_left_out_has_reasons_and_no_node():
    (one,) = planning(*nodes("n1"), user("p", cpu="99")).units
    assert (one.outcome, one.node, one.allocations) == ("NotPlaced", None, ())
    assert one.reasons


def test_a_shared_claim_is_in_the_first_of_its_units():
    found = planning(*nodes("n1"), claim("s"), sharing("a", "s"), sharing("b", "s"))
    assert [len(one.allocations) for one in found.units] == [1, 0]


def test_names_of_made_claims_are_in_their_allocations():
    found = planning(*nodes("n1"), user("a", REPLICAS="2"))
    assert [ref.name for one in found.units for ref, _ in one.allocations] == ["a-0-g", "a-1-g"]


def test_nodes_tell_devices_of_their_own_and_what_is_held():
    held = holding("h", "n1", "gpu-0")
    found = planning(*nodes("n1"), *nodes("n2", devices=2), fabric(3), held, user("a", spec="t2"))
    told = {one.name: (one.devices, one.used, one.units) for one in found.nodes}
    assert told in ({"n1": (4, 3, 1), "n2": (2, 0, 0)}, {"n1": (4, 1, 0), "n2": (2, 2, 1)})
    assert [one.name for one in found.nodes] == ["n1", "n2"]
    assert found.statistics.devices == 9


def test_slices_of_older_generations_are_no_devices():
    old = published("n1", "gpu-0", "gpu-1", slice_name="old")
    old["spec"]["pool"]["generation"] = 0
    found = planning(*nodes("n1"), old, user("a"))
    assert [(one.devices, one.used) for one in found.nodes] == [(4, 1)]


def test_what_is_held_and_no_longer_published_is_not_in_use():
    found = planning(*nodes("n1"), holding("h", "n1", "gpu-9"), user("a"))
    assert [(one.devices, one.used) for one in found.nodes] == [(4, 1)]


def test_devices_of_two_pools_count_each_even_if_they_have_one_name():
    second = published("n1", "gpu-0", pool="second")
    found = planning(*nodes("n1", devices=1), second, user("a"), user("b"))
    assert [(one.devices, one.used, one.units) for one in found.nodes] == [(2, 2, 2)]


def test_a_device_that_several_hold_counts_once():
    wide = device("f0", allowMultipleAllocations=True, capacity={"width": {"value": "10"}})
    two = template("w", of(1, capacity={"requests": {"width": "2"}}))
    found = planning(node("n1"), published("n1", wide), two, *(user(name, spec="w") for name in "abc"))
    assert [(one.devices, one.used, one.units) for one in found.nodes] == [(1, 1, 3)]


def test_new_nodes_come_behind_the_others_template_by_template():
    given = [*nodes("zz", devices=1), to_buy("big", 2, "2"), to_buy("ample", 1, "1")]
    found = planning(*given, user("a", spec="t2"), user("b"), user("c"), user("d"), buy=True)
    templates = [one.template for one in found.nodes]
    assert (found.nodes[0].name, templates[0]) == ("zz", "")
    assert templates[1:] == sorted(templates[1:])
    assert all(templates[1:])
    assert len(placed(found)) == 4


def test_shared_devices_are_dealt_out_in_order():
    given = [*nodes("n1", "n2"), fabric(3)]
    found = planning(*given, *(pod(name, entry("f", template="f"), cpu="3") for name in "ab"))
    assert sorted(one for own in devices(found).values() for one in own) == [("fabric", "f0"), ("fabric", "f1")]


def test_shared_devices_are_dealt_out_to_new_nodes():
    big = to_buy("big", 1, allocatable={"cpu": "3", "pods": "9"})
    found = planning(fabric(2), big, *(user(name, entry("f", template="f"), cpu="3") for name in "abc"), buy=True)
    assert len(placed(found)) == 2
    assert len({one for own in devices(found).values() for one in own}) == 4


def question():
    """A node with four devices and a queue of five equal units, and the column that has as many as fit."""
    made = posed(*nodes("n1", "n2"), user("a", REPLICAS="5"))
    column = made.pricer.price(0, Prices((10,)), (5,), PricingLimits()).columns[0]
    return made, column


def test_seats_are_one_for_each_unit_that_is_placed():
    made, column = question()
    assert dict(column.counts) == {0: 4}
    taken = assign_slots(made, IntegerPlan(((column, 2),), (5,), ()))
    assert [(seat.units.positions[0], seat.number) for seat in taken] == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)]
    assert [len(seat.picks) for seat in taken] == [1] * 5


def test_room_that_nobody_needs_stays_free():
    made, column = question()
    assert [seat.units.positions[0] for seat in assign_slots(made, IntegerPlan(((column, 2),), (1,), ()))] == [0]
    assert assign_slots(made, IntegerPlan(((column, 1),), (0,), ())) == []
    assert assign_slots(made, IntegerPlan((), (0,), ())) == []


def test_a_column_without_anybody_opens_no_node():
    made, column = question()
    empty = Column(0, (), (), column.payload)
    taken = assign_slots(made, IntegerPlan(((column, 1), (empty, 1)), (2,), ()))
    assert {seat.number for seat in taken} == {0}


@pytest.mark.parametrize("count", [1, 3, 7])
def test_as_many_nodes_are_bought_as_have_units(count):
    found = planning(to_buy("big", 1), user("a", REPLICAS=str(count)), buy=True)
    assert [one.metadata.name for one in found.bought["big"]] == [f"big-{number + 1}" for number in range(count)]
    assert [one.units for one in found.nodes] == [1] * count


def test_statistics_count_units_and_nodes_with_their_classes():
    found = planning(*nodes("n1", "n2"), *nodes("n3", devices=1), user("a", REPLICAS="3"), user("b", cpu="2"))
    told = found.statistics
    assert (told.units, told.unit_classes, told.nodes, told.node_classes, told.devices) == (4, 2, 3, 2, 9)
    assert told.columns > 0


def test_an_empty_cluster_is_told_as_it_is():
    found = planning()
    assert (list(found.units), found.asked, found.placed, found.bought) == ([], 0, 0, {})
    assert found.statistics.units == 0

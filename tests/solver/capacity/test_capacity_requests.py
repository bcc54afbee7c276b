"""Copies of every kind of request, the limit of counting, coupled nodes, and what ends a count early."""

import pytest
from support.capacity import KIND, ask, exactly
from support.objects import (
    after,
    claim,
    device,
    devices,
    distinct,
    draws,
    either,
    labels,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    taint,
    tolerate,
    want,
)

from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.capacity import capacity
from drasat.solver.capacity.records import Room, total_room
from drasat.solver.engines.outcome import SearchInterrupted


def kinds(**counts):
    return pool(*(device(f"{kind}{number}", kind=kind) for kind, many in counts.items() for number in range(many)))


def listed(*names, count=1):
    return either("r", *(option(name, count, KIND.format(name)) for name in names))


@pytest.mark.parametrize(
    ("asked", "copies"),
    [
        (claim(listed("big", "small")), 5),
        (claim(listed("small")), 3),
        (claim(listed("none", "big")), 2),
        (claim(listed("none")), 0),
        (claim(listed("big", "small", count=2)), 2),
        (claim(either("r", option("big", 1, KIND.format("big")), option("two", 2, KIND.format("small")))), 3),
    ],
    ids=["either", "one", "second", "none", "two-each", "one-or-two"],
)
def test_copies_of_a_list_take_what_leaves_most(asked, copies):
    assert ask(kinds(big=2, small=3), asked).total.fits == copies


def test_two_lists_of_a_claim():
    first, second = (either(name, *(option(kind, 1, KIND.format(kind)) for kind in ("big", "small"))) for name in "ab")
    assert ask(kinds(big=2, small=3), claim(first, second)).total == exactly(2)


def test_all_of_what_a_selector_means_is_had_once():
    found = ask(kinds(big=2, small=3), claim(want(count="All", select=KIND.format("small"))))
    assert found.total == exactly(1)
    assert ask(kinds(big=2), claim(want(count="All", select=KIND.format("small")))).total == exactly(0)


def test_all_beside_one_more():
    asked = claim(want("all", "All", KIND.format("small")), want("one", 1, KIND.format("big")))
    assert ask(kinds(big=2, small=3), asked).total == exactly(1)


def test_all_on_each_of_two_nodes():
    slices = [pool(*devices("a", "b"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    assert ask(*slices, node("n1"), node("n2"), claim(want(count="All"))).total == exactly(2)


def test_tolerations_make_room():
    there = pool(device("a"), device("b", taints=(taint("k"),)))
    assert ask(there, claim(want())).total == exactly(1)
    assert ask(there, claim(want(tolerations=(tolerate("k"),)))).total == exactly(2)


def test_constraints_of_different_requests_hold_for_each_copy():
    members = [device(f"{kind}{rail}", kind=kind, rail=rail) for kind in ("gpu", "nic") for rail in range(4)]
    pair = [want(kind, select=KIND.format(kind)) for kind in ("gpu", "nic")]
    assert ask(pool(*members), claim(*pair, constraints=[match("d.x/rail")])).total.fits == 4
    assert ask(pool(*members), claim(*pair, constraints=[distinct("d.x/rail")])).total.fits == 4
    assert ask(pool(*members[:5]), claim(*pair, constraints=[match("d.x/rail")])).total == exactly(1)


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 8, 9])
def test_the_limit_is_of_one_node_and_proof_ends_there(limit):
    slices = [pool(*devices(*"abcdefgh"), name=name, node_name=name, slice_name=name) for name in ("n1", "n2")]
    found = ask(*slices, node("n1"), node("n2"), claim(want()), limit=limit)
    fits = min(limit, 8)
    assert found.total.fits == 2 * fits
    assert found.total.proven == (limit >= 8)
    assert [reason.id for reason in found.nodes[0].reasons] == (["limit"] if limit < 8 else ["inUse"])
    assert found.limit == limit


def test_the_limit_of_nodes_that_share_everything():
    found = ask(pool(*devices(*"abcdef"), all_nodes=True), node("n1"), node("n2"), claim(want()), limit=4)
    assert found.total.fits == 4
    assert not found.total.proven


def test_pools_that_several_nodes_draw_counters_from():
    where = {"n1": ("a", "b"), "n2": ("c", "d"), "n3": ("e",)}
    members = [device(name, draws("s", m=2), node_name=at) for at, names in where.items() for name in names]
    sliced = partitions(*members, sets={"s": {"m": 7}}, per_device_node_selection=True)
    found = ask(*sliced, *map(node, where), claim(want()))
    assert {one.nodes: one.room.fits for one in found.nodes} == {("n1", "n2"): 2, ("n3",): 1}
    assert found.total == exactly(3)
    # What one node takes is missing on the others.
    held = after(*sliced, *map(node, where), claim(want(count=2), name="x"), on="n2")
    assert ask(*sliced, *map(node, where), *held, claim(want())).total == exactly(1)


def test_two_shared_pools_tie_nodes_to_each_other_in_a_chain():
    zones = {"n1": ("a",), "n2": ("a", "b"), "n3": ("b",)}
    nodes = [node(name, **dict.fromkeys(zone, "yes")) for name, zone in zones.items()]
    slices = [
        pool(*devices("x", "y"), name=zone, node_selector=labels({zone: ("yes",)}), slice_name=zone) for zone in "ab"
    ]
    found = ask(*nodes, *slices, claim(want(count=2)))
    assert {one.nodes: one.room.fits for one in found.nodes} == {("n2",): 2, ("n1", "n3"): 1}
    assert [one.nodes for one in found.shared] == [("n1", "n2", "n3")]
    assert found.total.fits == 2
    assert found.total.bound >= 2


def test_devices_in_use_by_shares_leave_the_rest_of_them():
    there = pool(*(device(name, multi=True, capacity={"mem": shared("8", default="8", min="1")}) for name in "ab"))
    held = after(there, claim(want(capacity={"mem": "5"}), name="x"))
    found = ask(there, *held, claim(want(capacity={"mem": "3"})))
    assert found.total == exactly(3)


def test_a_feature_that_is_off_is_what_stops_the_first_copy():
    sliced = partitions(device("a", draws("s", m=1)), sets={"s": {"m": 5}})
    gates = {"DRAPartitionableDevices": False}
    found = ask(*sliced, claim(want()), feature_gates=gates)
    assert found.total == exactly(0)
    assert found.gates == FeatureGates.all_on().with_(gates)
    assert "DRAPartitionableDevices" in found.nodes[0].reasons[0].message


def test_an_expression_that_fails_on_some_devices_leaves_the_others():
    there = pool(device("a", size=1), device("b"), device("c", size=1))
    select = "device.attributes['d.x'].size == 1"
    found = ask(there, claim(want(select=select)))
    assert found.total == exactly(2)
    assert ask(pool(device("b")), claim(want(select=select))).total == exactly(0)


def test_an_interrupt_among_nodes_that_share_keeps_the_best_node(monkeypatch):
    def interrupted(*_given):
        raise KeyboardInterrupt

    members = [device("x", node_selector=labels({"z": ("1",)})), device("y", node_name="n1")]
    nodes = [node("n1", z="1"), node("n2", z="1")]
    monkeypatch.setattr(capacity, "count_on_shared_nodes", interrupted)
    with pytest.raises(SearchInterrupted) as raised:
        ask(pool(*members, per_device_node_selection=True), *nodes, claim(want()))
    answer = raised.value.answer
    assert answer.verified
    assert (answer.total.fits, answer.total.bound) == (2, 3)
    assert answer.total.first_fit is None


def test_rooms_that_are_not_known_make_the_sum_not_known():
    assert total_room([Room(1, 1, 1), Room(2, None, 2)]) == Room(3, None, 3)
    assert total_room([Room(1, 1, 1), Room(2, 3, None)]) == Room(3, 4, None)
    assert total_room([]) == Room(0, 0, 0)
    assert total_room([Room(1, 1, 1), Room(unbounded=True)]).unbounded
    assert not Room(1, None).proven
    assert Room(unbounded=True).proven

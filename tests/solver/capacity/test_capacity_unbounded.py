"""Copies that leave nothing in use, alone and beside nodes where copies end."""

import pytest
from support.capacity import KIND, ask, exactly
from support.objects import (
    after,
    claim,
    device,
    devices,
    draws,
    either,
    labels,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)


def rooms(found):
    return {name: one.room for one in found.nodes for name in one.nodes}


def three_nodes(*members, sets=None):
    """A pool whose devices say themselves for which of the nodes n1, n2 and n3 they are."""
    nodes = [node(name, reached="yes") for name in ("n1", "n2", "n3")]
    if sets is None:
        return [pool(*members, per_device_node_selection=True), *nodes]
    return [pool(*members, per_device_node_selection=True, count=2), pool(sets=sets, count=2, all_nodes=True), *nodes]


EVERY = labels({"reached": ("yes",)})


def test_one_node_without_end_makes_the_sum_endless_whatever_the_others_share():
    # The device x is reached by all three, so that n2 and n3 must not both have it in what is verified.
    members = [
        device("s", multi=True, node_name="n1"),
        device("x", node_selector=EVERY),
        device("y", node_name="n2"),
        device("z", node_name="n3"),
    ]
    found = ask(*three_nodes(*members), claim(want()))
    assert found.total.unbounded
    assert found.verified
    assert rooms(found)["n1"].unbounded
    assert (rooms(found)["n2"], rooms(found)["n3"]) == (exactly(2), exactly(2))
    assert [(one.nodes, one.room.unbounded) for one in found.shared] == [(("n1", "n2", "n3"), True)]


def test_two_nodes_without_end_that_draw_from_one_counter_set():
    # Each alone is endless; the counters are enough for the shares of one of the two devices only.
    members = [
        device("a", draws("s", m=5), multi=True, node_name="n1"),
        device("b", draws("s", m=5), multi=True, node_name="n2"),
    ]
    found = ask(*three_nodes(*members, sets={"s": {"m": 5}}), claim(want()))
    assert found.total.unbounded
    assert found.verified
    assert rooms(found)["n1"].unbounded
    assert rooms(found)["n2"].unbounded
    assert rooms(found)["n3"] == exactly(0)


def test_a_node_without_end_that_shares_nothing_leaves_the_others_their_numbers():
    slices = [
        pool(device("a", multi=True), name="n1", node_name="n1", slice_name="n1"),
        pool(*devices("a", "b"), name="n2", node_name="n2", slice_name="n2"),
    ]
    found = ask(*slices, node("n1"), node("n2"), claim(want()))
    assert found.total.unbounded
    assert rooms(found)["n2"] == exactly(2)
    assert found.shared == ()
    # Nodes without end come first.
    assert [one.nodes for one in found.nodes] == [("n1",), ("n2",)]


def test_a_share_that_draws_counters_needs_them_once():
    sliced = partitions(device("a", draws("s", m=5), multi=True), device("b", draws("s", m=3)), sets={"s": {"m": 5}})
    assert ask(*sliced, claim(want())).total.unbounded


def test_a_share_whose_counters_are_taken_does_not_fit_once():
    members = [device("a", draws("s", m=5), multi=True, kind="share"), device("b", draws("s", m=3), kind="whole")]
    sliced = partitions(*members, sets={"s": {"m": 5}})
    held = after(*sliced, claim(want(select=KIND.format("whole")), name="x"))
    assert ask(*sliced, *held, claim(want(select=KIND.format("share")))).total == exactly(0)


@pytest.mark.parametrize(("amount", "room"), [("0", None), ("1", exactly(8)), ("3", exactly(2)), ("9", exactly(0))])
def test_what_a_share_consumes_decides_whether_there_is_an_end(amount, room):
    members = pool(device("a", multi=True, capacity={"mem": shared("8", default="0", min="0")}))
    found = ask(members, claim(want(capacity={"mem": amount}))).total
    assert found.unbounded if room is None else found == room


def test_without_the_feature_a_device_for_many_is_had_once():
    members = pool(device("a", multi=True), device("b", multi=True))
    assert ask(members, claim(want())).total.unbounded
    off = {"DRAConsumableCapacity": False}
    assert not ask(members, claim(want()), feature_gates=off).total.unbounded


def test_an_alternative_that_is_endless_makes_the_list_endless():
    members = pool(*devices("a", "b", kind="whole"), device("s", multi=True, kind="share"))
    options = [option(kind, select=KIND.format(kind)) for kind in ("whole", "share")]
    assert ask(members, claim(either("r", *options))).total.unbounded
    assert ask(members, claim(either("r", options[0]))).total == exactly(2)


def test_two_shares_of_one_claim_must_agree_where_they_are_tied():
    apart = pool(device("s", multi=True, rail=0), device("t", multi=True, rail=1))
    asked = claim(want(count=2), constraints=[match("d.x/rail")])
    assert ask(apart, claim(want(count=2))).total.unbounded
    assert ask(apart, asked).total == exactly(0)


def test_all_devices_are_endless_only_if_each_can_be_shared():
    shares = [device(name, multi=True) for name in "ab"]
    assert ask(pool(*shares), claim(want(count="All"))).total.unbounded
    assert ask(pool(*shares, device("c")), claim(want(count="All"))).total == exactly(1)


def test_admin_access_to_some_and_a_device_of_its_own():
    members = pool(device("watched", kind="w"), *devices("a", "b", "c", kind="gpu"))
    watch = want("watch", select=KIND.format("w"), admin=True)
    assert ask(members, claim(watch)).total.unbounded
    found = ask(members, claim(watch, want("gpu", 2, KIND.format("gpu"))))
    assert found.total == exactly(1)
    assert [reason.id for reason in found.nodes[0].reasons] == ["inUse"]


def test_admin_access_to_all_needs_them_not_to_be_there_but_to_suit():
    members = pool(*devices("a", "b"))
    held = after(members, claim(want(count=2), name="held"))
    assert ask(members, *held, claim(want(count="All", admin=True))).total.unbounded
    assert ask(members, *held, claim(want(count="All"))).total == exactly(0)
    assert ask(members, *held, claim(want(count="All", admin=True, select="false"))).total == exactly(0)


def test_the_reason_of_an_endless_node_says_so():
    (answer,) = ask(pool(device("a", multi=True)), claim(want())).nodes
    assert [(reason.id, reason.message) for reason in answer.reasons] == [
        ("unbounded", "a copy leaves nothing in use that the next one needs: any number fit")
    ]
    assert answer.proof == ""
    assert answer.room.proven

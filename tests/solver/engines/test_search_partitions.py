"""Shared counters and compatibility groups (sections 11 and 12)."""

import pytest
from support.objects import after, attempt, claim, device, draws, fails, names, partitions, pool, taint, want

SETS = {"s": {"m": 4, "k": 4}}


def part(name, m, **fields):
    return device(name, draws("s", m=m), **fields)


def test_devices_are_taken_while_their_counters_last():
    """CTR-1, CTR-2."""
    slices = partitions(part("a", 3), part("b", 2), part("c", 1), sets=SETS)
    assert names(*slices, claim(want(count=2))) == ["a", "c"]
    assert fails(*slices, claim(want(count=3)))


def test_what_is_allocated_is_subtracted():
    """CTR-1: also what a claim elsewhere holds."""
    slices = partitions(part("a", 3), part("b", 2), part("c", 1), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert names(*slices, *held, claim(want())) == ["c"]


def test_a_vanished_device_frees_its_counters():
    """CTR-1, BUG-11: computed from what is published now."""
    before = partitions(part("a", 3), part("b", 2), sets=SETS)
    held = after(*before, claim(want(), name="before"))
    assert names(*partitions(part("b", 2), sets=SETS), *held, claim(want())) == ["b"]


def test_an_overdrawn_set_blocks_every_consumer_of_the_pool():
    """CTR-2: even one that draws from another set; devices without counters do not mind."""
    sets = {"s": {"m": 4}, "t": {"m": 4}}
    before = partitions(device("a", draws("s", m=4)), device("b", draws("t", m=1)), device("free"), sets=sets)
    held = after(*before, claim(want(), name="before"))
    now = partitions(
        device("a", draws("s", m=4)), device("b", draws("t", m=1)), device("free"), sets={"s": {"m": 3}, "t": {"m": 4}}
    )
    assert names(*before, *held, claim(want())) == ["b"]
    assert names(*now, *held, claim(want())) == ["free"]


def test_a_device_that_draws_a_negative_amount_can_lift_an_overdraft():
    """CTR-2: what counts is the sum after the device came."""
    slices = partitions(device("a", draws("s", m=-1)), part("b", 4), sets={"s": {"m": 3}})
    assert names(*slices, claim(want(count=2))) == ["a", "b"]


def shared_part(name="a", m=3):
    return part(name, m, multi=True, capacity={"c": "10"})


def test_a_further_share_draws_no_counters_again():
    """CTR-3: within the attempt, and of what is in use."""
    slices = partitions(shared_part(), sets=SETS)
    twice = [claim(want(capacity={"c": "1"}), name=name) for name in ("c1", "c2")]
    assert names(*slices, *twice) == ["a", "a"]
    held = after(*slices, twice[0])
    assert names(*slices, *held, twice[1]) == ["a"]


def test_a_share_without_capacity_counts_as_in_use():
    """CTR-3, BUG-6."""
    slices = partitions(part("a", 3, multi=True), part("b", 3), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert names(*slices, *held, claim(want())) == ["a"]
    assert fails(*slices, *held, claim(want(select="!device.allowMultipleAllocations")))


def test_counters_are_shared_by_all_claims_of_the_attempt():
    """CTR-4."""
    slices = partitions(part("a", 3), part("b", 2), sets=SETS)
    assert fails(*slices, claim(want(), name="c1"), claim(want(), name="c2"))


def test_counters_are_shared_with_other_nodes():
    """CTR-4: the device in use is one that this node does not even see."""
    sets = pool(sets=SETS, count=3, all_nodes=True)
    here = pool(part("a", 3), count=3, slice_name="here", node_name="n1")
    there = pool(part("b", 2), count=3, slice_name="there", node_name="n2")
    held = after(sets, here, there, claim(want(), name="before"), on="n2")
    assert fails(sets, here, there, *held, claim(want()), on="n1")
    assert names(sets, here, there, claim(want()), on="n1") == ["a"]


def test_equally_named_pools_of_two_drivers_have_nothing_in_common():
    """CTR-5, BUG-4."""
    one = partitions(part("a", 4), sets=SETS)
    other = partitions(part("b", 4), sets=SETS, driver="e.x")
    assert names(*one, *other, claim(want(count=2))) == ["a", "b"]
    held = after(*one, *other, claim(want(), name="before"))
    assert names(*one, *other, *held, claim(want())) == ["b"]


@pytest.mark.parametrize(
    ("obstacle", "asking"),
    [
        pytest.param({"taints": (taint(),)}, {}, id="CTR-6-taint"),
        pytest.param({"kind": 2}, {"constrained": True}, id="CTR-6-constraint"),
    ],
)
def test_counters_of_a_rejected_candidate_are_given_back(obstacle, asking):
    """CTR-6, BUG-3: the second device would take all that is left, but cannot be had."""
    from support.objects import match

    fields = {"kind": 1, **obstacle}
    slices = partitions(part("a", 1, kind=1), part("b", 3, **fields), part("c", 3, kind=1), sets=SETS)
    constraints = [match("d.x/kind")] if asking else []
    assert names(*slices, claim(want(count=2), constraints=constraints)) == ["a", "c"]


def test_counters_of_an_undone_shared_device_are_given_back():
    """CTR-6, BUG-3."""
    slices = partitions(shared_part("a", 3), part("b", 4), sets=SETS)
    asked = claim(want("q"), want("r", select="!device.allowMultipleAllocations"))
    assert fails(*slices, asked)
    big = partitions(shared_part("a", 3), part("b", 1, multi=True), part("c", 3), sets=SETS)
    needs_c = claim(want("q"), want("r", select="!device.allowMultipleAllocations"))
    assert names(*big, needs_c) == ["b", "c"]


def grouped(name, *groups, set_name="s", m=1):
    return device(name, draws(set_name, groups or None, m=m))


def chosen(*members, count=2, gates=None, sets=None):
    answer = attempt(*partitions(*members, sets=sets or SETS), claim(want(count=count)), gates=gates)
    return answer.names or None


@pytest.mark.parametrize(
    ("members", "found"),
    [
        pytest.param([grouped("a", "x"), grouped("b", "y"), grouped("c", "x", "y")], ["a", "c"], id="GRP-3-common"),
        pytest.param([grouped("a"), grouped("b", "x"), grouped("c")], ["a", "c"], id="GRP-1-none-is-a-kind"),
        pytest.param([grouped("a", "x"), grouped("b")], None, id="GRP-3-mixed"),
        pytest.param([grouped("a", "x"), grouped("b", "y")], None, id="GRP-3-disjoint"),
    ],
)
def test_devices_on_one_set_must_be_compatible(members, found):
    assert chosen(*members) == found


def test_the_running_intersection_decides():
    """GRP-2, GRP-3: pairwise overlap is not enough."""
    ring = [grouped("a", "x", "y"), grouped("b", "y", "z"), grouped("c", "z", "x")]
    assert chosen(*ring, count=2) == ["a", "b"]
    assert chosen(*ring, count=3) is None


def test_groups_of_different_sets_do_not_meet():
    """GRP-2: and a device must fit every set that it draws from."""
    sets = {"s": {"m": 9}, "t": {"m": 9}}
    apart = [grouped("a", "x"), grouped("b", "y", set_name="t")]
    assert chosen(*apart, sets=sets) == ["a", "b"]
    both = device("c", draws("s", ("x",), m=1), draws("t", ("x",), m=1))
    assert chosen(*apart, both, sets=sets, count=3) is None


def test_groups_of_allocated_devices_count():
    """GRP-2, GRP-6: read from the slices as they are now."""
    slices = partitions(grouped("a", "x"), grouped("b", "y"), grouped("c", "x"), sets=SETS)
    held = after(*slices, claim(want(), name="before"))
    assert names(*slices, *held, claim(want())) == ["c"]


def test_a_further_share_is_not_judged_again():
    """GRP-4: the slices say now that the device in use is compatible with nobody."""
    multi = {"multi": True}
    then = partitions(device("a", draws("s", ("x",), m=1), **multi), device("b", draws("s", ("x",), m=1)), sets=SETS)
    held = after(*then, claim(want(count=2), name="before"))
    now = partitions(device("a", draws("s", ("z",), m=1), **multi), device("b", draws("s", ("x",), m=1)), sets=SETS)
    assert names(*now, *held, claim(want())) == ["a"]


def test_groups_are_undone_exactly():
    """GRP-2, SRCH-3: the first choice narrows the set to x, and is taken back."""
    members = [grouped("a", "x", "y"), grouped("b", "x"), grouped("c", "y"), grouped("d", "y")]
    slices = partitions(*members, sets=SETS)
    assert names(*slices, claim(want(count=3))) == ["a", "c", "d"]


def test_without_the_feature_a_slice_with_groups_is_ignored():
    """GRP-5: its pool is then incomplete."""
    off = {"DRADeviceCompatibilityGroups": False}
    assert chosen(grouped("a", "x"), device("b"), count=1, gates=off) is None
    assert chosen(grouped("a"), device("b"), count=1, gates=off) == ["a"]

"""Defects of released schedulers that the current one no longer has (section 19): one test for each."""

from support.objects import (
    after,
    attempt,
    claim,
    config,
    device,
    distinct,
    draws,
    either,
    fails,
    match,
    names,
    option,
    partitions,
    pool,
    shared,
    taint,
    want,
)


def valued(*values):
    return pool(*(device(f"v{number}", k=value) for number, value in enumerate(values)))


def test_distinct_remembers_every_device_of_a_request():
    """BUG-1: released schedulers accept 1, 2, 1."""
    assert names(valued(1, 2, 1, 3), claim(want(count=3), constraints=[distinct("d.x/k")])) == ["v0", "v1", "v3"]


def test_the_intersection_is_restored():
    """BUG-2: released schedulers find nothing."""
    members = valued((1, 2), (1,), (2,), (2,))
    assert names(members, claim(want(count=3), constraints=[match("d.x/k")])) == ["v0", "v2", "v3"]


def test_counters_of_rejected_and_undone_candidates_come_back():
    """BUG-3: released schedulers count them as consumed."""
    slices = partitions(
        device("a", draws("s", m=4), taints=(taint(),)),
        device("b", draws("s", m=4), multi=True, k=1),
        device("c", draws("s", m=4), k=2),
        sets={"s": {"m": 4}},
    )
    assert names(*slices, claim(want(select='device.attributes["d.x"].?k.orValue(0) == 2'))) == ["c"]
    asked = claim(either("r", option("s", 2), option("t", select='device.attributes["d.x"].?k.orValue(0) == 2')))
    assert names(*slices, asked) == ["c"]


def test_pools_of_one_name_are_told_apart_by_their_drivers():
    """BUG-4."""
    one = partitions(device("a", draws("s", m=2)), sets={"s": {"m": 2}})
    other = partitions(device("b", draws("s", m=2)), sets={"s": {"m": 2}}, driver="e.x")
    assert names(*one, *other, claim(want(count=2))) == ["a", "b"]


def test_all_fails_over_an_exhausted_shared_device():
    """BUG-5: released schedulers leave it out."""
    members = pool(device("a", multi=True, capacity={"m": "4"}), device("b", multi=True, capacity={"m": "4"}))
    held = after(members, claim(want(capacity={"m": "3"}), name="before"))
    assert fails(members, *held, claim(want(count="All", capacity={"m": "2"})))


def test_a_share_without_capacity_is_seen_as_in_use():
    """BUG-6: its counters are drawn once."""
    slices = partitions(device("a", draws("s", m=2), multi=True), sets={"s": {"m": 2}})
    held = after(*slices, claim(want(), name="before"))
    assert names(*slices, *held, claim(want())) == ["a"]


def test_all_of_devices_with_counters():
    """BUG-7: schedulers before May 2026 crash."""
    slices = partitions(device("a", draws("s", m=1)), device("b", draws("s", m=1)), sets={"s": {"m": 2}})
    assert names(*slices, claim(want(count="All"))) == ["a", "b"]


def test_a_config_for_alternatives_of_one_request_is_not_widened():
    """BUG-8."""
    asked = claim(either("q", option("s"), option("t")), want("r"), configs=[config("v", "q/s", "q/t")])
    (entry,) = attempt(valued(1, 2), asked).allocations[0].devices.config
    assert entry.requests == ("q/s", "q/t")


def test_fractional_ranges_are_reckoned_in_thousandths():
    """BUG-9: released schedulers round 2.55 to whole steps."""
    member = pool(device("a", multi=True, capacity={"m": shared("10", default="1", min="0", step="100m")}))
    (result,) = attempt(member, claim(want(capacity={"m": "2550m"}))).results
    assert dict(result.consumed_capacity) == {"m": "2600m"}


def test_all_fails_over_devices_whose_feature_is_off():
    """BUG-10: still so."""
    member = pool(device("a", draws("s", m=1)), device("b"))
    assert fails(member, claim(want(count="All")), gates={"DRAPartitionableDevices": False})


def test_counters_of_a_vanished_device_are_free():
    """BUG-11: still so."""
    held = after(*partitions(device("a", draws("s", m=2)), sets={"s": {"m": 2}}), claim(want(), name="before"))
    now = partitions(device("b", draws("s", m=2)), sets={"s": {"m": 2}})
    assert names(*now, *held, claim(want())) == ["b"]

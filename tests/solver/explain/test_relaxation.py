"""The smallest changes with which a unit fits: cheapest first, single ones before pairs."""

import pytest
from support.engines import changed
from support.explaining import explained, relaxations, unit
from support.objects import (
    after,
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
    taint,
    want,
)

from drasat.models.results.common import Status
from drasat.solver.engines.engine import TIME_LIMIT_RULE, NodeResult


def single(message, cost):
    return (message,), cost


def test_as_many_devices_as_there_are():
    assert relaxations(pool(*devices("a", "b", "c")), claim(want(count=8))) == [
        single("count 3 instead of 8 in request r of claim ns/c", 5)
    ]


def test_no_count_is_offered_that_cannot_be_had(register):
    asked = []
    register("cp-sat", changed(lambda ask: asked.append(ask) or ask(), "cp-sat"))
    members = pool(*(device(f"g{number:02}") for number in range(40)))
    listed = either("r", option("most", count=2**63 - 1), option("none", select="false"))
    assert relaxations(members, claim(listed))[-1] == (
        (f"count 32 instead of {2**63 - 1} in request r/most of claim ns/c",),
        2**63 - 33,
    )
    assert 0 < len(asked) <= 8


def test_the_node_that_needs_least_change_is_told():
    nodes = [node(f"n{number}") for number in range(3)]
    pools = [pool(*devices(*"abc"[:size]), name=f"n{at}", node_name=f"n{at}") for at, size in enumerate((1, 3, 2))]
    (found,) = unit(*nodes, *pools, claim(want(count=4))).relaxations
    assert (found.changes[0].message, found.node) == ("count 3 instead of 4 in request r of claim ns/c", "n1")


def test_a_selector_is_dropped_by_its_number():
    select = ("true", 'device.driver == "nobody"')
    assert relaxations(pool(device("a")), claim(want(select=select))) == [
        single("drop selector 1 of request r of claim ns/c", 2)
    ]


def test_a_selector_of_a_class_is_the_last_resort():
    cls = device_class("gpu", 'device.driver == "nobody"')
    assert relaxations(cls, pool(device("a")), claim(want(cls="gpu"))) == [single("drop selector 0 of class gpu", 6)]


@pytest.mark.parametrize("value", ["", "ml"])
def test_a_taint_is_tolerated(value):
    tainted = pool(device("a", taints=(taint("dedicated", value),)))
    text = f"dedicated={value}:NoSchedule" if value else "dedicated:NoSchedule"
    assert relaxations(tainted, claim(want())) == [single(f"tolerate {text} in request r of claim ns/c", 1)]


def test_two_taints_of_a_device_are_tolerated_together():
    tainted = pool(device("a", taints=(taint("one"), taint("two"))))
    (changes,) = relaxations(tainted, claim(want()))
    assert sorted(changes[0]) == [f"tolerate {key}:NoSchedule in request r of claim ns/c" for key in ("one", "two")]
    assert changes[1] == 2


def test_one_device_of_a_claim_is_enough():
    there = (pool(*devices("a", "b", "c")),)
    held = after(*there, claim(want(count=2), name="x"))
    assert relaxations(*there, *held, claim(want(count=2))) == [
        single("count 1 instead of 2 in request r of claim ns/c", 1),
        single("free one device of claim ns/x: a", 2),
    ]


def test_the_whole_claim_has_to_go():
    there = (pool(*devices("a", "b", "c")),)
    held = after(*there, claim(want(count=2), name="x"))
    found = relaxations(*there, *held, claim(want(count=3)))
    assert single("free claim ns/x", 3) in found
    assert not any("free one device" in text for texts, _ in found for text in texts)


def test_many_claims_have_to_go():
    there = (pool(*devices("a", "b", "c", "d")),)
    held = after(*there, *(claim(want(), name=name) for name in "xyz"))
    assert relaxations(*there, *held, claim(want(count="All"))) == [single("free claims ns/x, ns/y, ns/z", 9)]


def test_an_entry_is_dropped():
    there = pool(device("a", numa=0), device("b", numa=1))
    assert relaxations(there, claim(want(count=2), constraints=[match("d.x/numa")])) == [
        single("count 1 instead of 2 in request r of claim ns/c", 1),
        single("drop constraint 0 (matchAttribute d.x/numa) of claim ns/c", 2),
    ]


def test_two_entries_are_dropped_by_their_numbers_as_read():
    there = pool(device("a", numa=0, rack=0), device("b", numa=1, rack=1))
    entries = [match("d.x/numa"), distinct("d.x/numa"), match("d.x/rack")]
    pair = next(
        texts for texts, _ in relaxations(there, claim(want("r"), want("s"), constraints=entries)) if len(texts) == 2
    )
    assert sorted(pair) == [
        "drop constraint 0 (matchAttribute d.x/numa) of claim ns/c",
        "drop constraint 2 (matchAttribute d.x/rack) of claim ns/c",
    ]


def test_a_request_is_dropped_with_what_names_it_alone():
    there = pool(device("a", numa=0), device("b", numa=1))
    entries = [match("d.x/none", "s"), match("d.x/numa", "r", "s")]
    found = relaxations(there, claim(want("r"), want("s"), constraints=entries))
    assert single("drop request s of claim ns/c", 4) in found


def test_two_of_many_equal_requests_are_dropped():
    asked = claim(*(want(f"r{number}") for number in range(5)))
    assert relaxations(pool(*devices("a", "b", "c")), asked)[0] == (
        ("drop request r4 of claim ns/c", "drop request r3 of claim ns/c"),
        8,
    )


def test_less_of_a_capacity():
    there = (pool(device("a", multi=True, capacity={"memory": shared("40Gi")})),)
    held = after(*there, claim(want(capacity={"memory": "30Gi"}), name="x"))
    assert relaxations(*there, *held, claim(want(capacity={"memory": "20Gi"}))) == [
        single("ask for 10Gi of memory instead of 20Gi in request r of claim ns/c", 2),
        single("free claim ns/x", 3),
    ]


def test_counters_come_back_with_the_devices_that_draw_on_them():
    there = partitions(
        device("a", draws("gpu", memory=30)), device("b", draws("gpu", memory=30)), sets={"gpu": {"memory": 40}}
    )
    held = after(*there, claim(want(), name="x"))
    assert single("free claim ns/x", 3) in relaxations(*there, *held, claim(want()))


def test_a_gate_is_switched_on():
    there = pool(device("a", binding=("ready",)))
    assert relaxations(there, claim(want()), feature_gates={"DRADeviceBindingConditions": False}) == [
        single("switch feature gate DRADeviceBindingConditions on", 5)
    ]


def test_an_alternative_asks_for_fewer():
    asked = either("r", option("two", count=2), option("three", count=3))
    assert relaxations(pool(device("a")), claim(asked)) == [
        single("count 1 instead of 2 in request r/two of claim ns/c", 1),
        single("count 1 instead of 3 in request r/three of claim ns/c", 2),
    ]


def test_a_count_and_a_toleration_as_weak_as_they_can_be():
    tainted = (device("b", taints=(taint("k"),)), device("c", taints=(taint("k"),), size=1))
    select = '!("size" in device.attributes["d.x"])'
    found = relaxations(pool(*tainted), claim(want(count=3, select=select)))
    assert (
        ("count 1 instead of 3 in request r of claim ns/c", "tolerate k:NoSchedule in request r of claim ns/c"),
        3,
    ) in found


def test_single_changes_come_before_pairs_and_cheap_ones_before_dear_ones():
    there = (pool(*devices("a", "b", "c"), device("d", taints=(taint("k"),))),)
    held = after(*there, claim(want(count=2), name="x"))
    found = relaxations(*there, *held, claim(want(count=2)))
    assert found == sorted(found, key=lambda one: (len(one[0]), one[1]))
    assert len(found) >= 3


def test_nothing_helps():
    found = unit(claim(want()))
    assert found.relaxations == ()
    assert found.complete


def test_an_early_end_is_told(register):
    late = NodeResult(Status.UNKNOWN, rule=TIME_LIMIT_RULE)
    register("cp-sat", changed(lambda _: late, "cp-sat"))
    there = pool(device("a", numa=0), device("b", numa=1))
    found = unit(there, claim(want(count=2), constraints=[match("d.x/numa")]))
    assert not found.complete


def test_what_earlier_units_got_counts_as_held():
    first, second = explained(pool(*devices("a", "b")), claim(want(count=2), name="a"), claim(want(), name="b"))
    assert first.outcome == "Allocated"
    assert "free one device of claim ns/a: a" in [
        change.message for one in second.relaxations for change in one.changes
    ]

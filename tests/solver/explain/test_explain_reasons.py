"""Each kind of thing that can be in the way is named, alone or with what it takes beside it."""

import pytest
from support.explaining import reasons, unit
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
    option,
    partitions,
    pool,
    shared,
    taint,
    want,
)

NEEDS_ONE = ("exactCount", "request r of claim ns/c needs 1 device")
NEEDS_TWO = ("exactCount", "request r of claim ns/c needs 2 devices")


def test_too_few_devices_at_all():
    assert reasons(pool(*devices("a", "b")), claim(want(count=3))) == [
        ("exactCount", "request r of claim ns/c needs 3 devices")
    ]


def test_nothing_is_there():
    assert reasons(claim(want())) == [NEEDS_ONE]


def test_a_selector_of_the_class():
    cls = device_class("gpu", "true", 'device.driver == "other"')
    assert reasons(cls, pool(*devices("a", "b")), claim(want(cls="gpu"))) == [
        NEEDS_ONE,
        ("classSelector", 'selector 1 of class gpu rules out 2 devices: device.driver == "other"'),
    ]


def test_a_selector_of_the_request_behind_others_that_are_true():
    select = ("true", 'device.attributes["d.x"].size > 4')
    assert reasons(pool(device("a", size=2), device("b", size=8)), claim(want(count=2, select=select))) == [
        NEEDS_TWO,
        (
            "requestSelector",
            'selector 1 of request r of claim ns/c rules out 1 device: device.attributes["d.x"].size > 4',
        ),
    ]


def test_both_of_two_selectors_that_share_no_device():
    select = ('device.attributes["d.x"].size > 4', 'device.attributes["d.x"].size < 4')
    found = reasons(pool(device("a", size=2), device("b", size=8)), claim(want(select=select)))
    assert [id_ for id_, _ in found] == ["exactCount", "requestSelector", "requestSelector"]


@pytest.mark.parametrize(
    ("expression", "error"),
    [('device.attributes["d.x"].size > 4', "no such key: size"), ("device.", "compilation failed")],
)
def test_a_selector_that_fails_says_how(expression, error):
    (request, selector) = reasons(pool(device("a")), claim(want(select=expression)))
    assert request == NEEDS_ONE
    assert selector[0] == "requestSelector"
    assert error in selector[1]


def test_a_long_expression_is_cut():
    long = " || ".join(['device.driver == "nobody.example.com"'] * 9)
    _, (_, message) = reasons(pool(device("a")), claim(want(select=long)))
    assert message.endswith("...")
    assert len(message) < 180


def test_a_taint_with_key_value_and_effect():
    tainted = device("b", taints=(taint("dedicated", "ml"),))
    assert reasons(pool(device("a"), tainted), claim(want(count=2))) == [
        NEEDS_TWO,
        ("taint", "taint dedicated=ml:NoSchedule: b"),
    ]


def test_each_of_two_taints_of_a_device_is_no_reason_alone():
    tainted = device("b", taints=(taint("one"), taint("two", effect="NoExecute")))
    found = reasons(pool(tainted), claim(want()))
    assert found == [NEEDS_ONE, ("taint", "taint one:NoSchedule: b")]


def test_devices_in_use_by_claims_all_of_which_matter():
    there = (pool(*devices("a", "b", "c", "d")),)
    held = after(*there, claim(want(count=1), name="x"), claim(want(count=1), name="y"))
    assert reasons(*there, *held, claim(want(count=3))) == [
        ("exactCount", "request r of claim ns/c needs 3 devices"),
        ("inUse", "devices in use by claim ns/x: a"),
        ("inUse", "devices in use by claim ns/y: b"),
    ]


def test_a_claim_that_holds_too_little_to_matter_is_not_named():
    there = (pool(*devices("a", "b", "c", "d", "e")),)
    held = after(*there, claim(want(count=3), name="x"), claim(want(count=1), name="y"))
    assert reasons(*there, *held, claim(want(count=3))) == [
        ("exactCount", "request r of claim ns/c needs 3 devices"),
        ("inUse", "devices in use by claim ns/x: a, b, c"),
    ]


def test_devices_for_other_nodes():
    elsewhere = device("b", node_name="n2")
    there = pool(device("a", node_name="n1"), elsewhere, per_device_node_selection=True)
    assert reasons(there, claim(want(count=2))) == [NEEDS_TWO, ("deviceNode", "devices for other nodes: b")]


def test_capacity_that_no_device_has():
    there = pool(device("a", capacity={"memory": "40Gi"}))
    assert reasons(there, claim(want(capacity={"memory": "80Gi"}))) == [
        NEEDS_ONE,
        ("capacity", "capacity of request r of claim ns/c (memory 40Gi is less than 80Gi): a"),
    ]


def test_capacity_that_is_consumed_already():
    there = (pool(device("a", multi=True, capacity={"memory": shared("40Gi")})),)
    held = after(*there, claim(want(capacity={"memory": "30Gi"}), name="x"))
    assert reasons(*there, *held, claim(want(capacity={"memory": "20Gi"}))) == [
        NEEDS_ONE,
        ("capacity", "capacity memory: 10Gi of 40Gi left of device a"),
    ]


def test_a_counter_of_a_counter_set():
    there = partitions(
        device("a", draws("gpu", memory=30)), device("b", draws("gpu", memory=20)), sets={"gpu": {"memory": 40}}
    )
    assert reasons(*there, claim(want(count=2))) == [
        NEEDS_TWO,
        ("counters", "counter memory of counter set gpu, pool d.x/p: 40 of 40 left"),
    ]


def test_a_counter_that_a_device_in_use_has_drawn_on():
    there = partitions(
        device("a", draws("gpu", memory=30)), device("b", draws("gpu", memory=20)), sets={"gpu": {"memory": 40}}
    )
    held = after(*there, claim(want(), name="x"))
    select = 'device.attributes["d.x"].?none.orValue(0) == 0'
    found = reasons(*there, *held, claim(want(select=select)))
    assert found[0] == NEEDS_ONE
    assert ("counters", "counter memory of counter set gpu, pool d.x/p: 10 of 40 left") in found


def test_compatibility_groups():
    there = partitions(
        device("a", draws("gpu", ("left",), memory=1)),
        device("b", draws("gpu", ("right",), memory=1)),
        sets={"gpu": {"memory": 40}},
    )
    assert reasons(*there, claim(want(count=2))) == [
        NEEDS_TWO,
        ("compatibilityGroups", "compatibility groups of counter set gpu, pool d.x/p"),
    ]


def test_an_entry_that_matches():
    there = pool(device("a", numa=0), device("b", numa=1))
    assert reasons(there, claim(want(count=2), constraints=[match("d.x/numa")])) == [
        NEEDS_TWO,
        ("matchAttribute", "constraint 0 of claim ns/c, matchAttribute d.x/numa"),
    ]


def test_an_entry_says_how_many_devices_lack_its_attribute():
    there = pool(device("a", numa=0), device("b"), device("c"))
    entries = [match("d.x/numa")]
    assert reasons(there, claim(want(count=2), constraints=entries))[1] == (
        "matchAttribute",
        "constraint 0 of claim ns/c, matchAttribute d.x/numa (2 devices without a value)",
    )


def test_an_entry_that_keeps_values_apart_by_its_number():
    there = pool(device("a", numa=0, rack=0), device("b", numa=0, rack=0))
    entries = [match("d.x/rack"), distinct("d.x/numa")]
    assert reasons(there, claim(want(count=2), constraints=entries)) == [
        NEEDS_TWO,
        ("distinctAttribute", "constraint 1 of claim ns/c, distinctAttribute d.x/numa"),
    ]


def test_a_derived_attribute_that_cannot_be_computed():
    asked = want(derived={"d.x/half": 'device.attributes["d.x"].size / 2'})
    _, (id_, message) = reasons(pool(device("a")), claim(asked, constraints=[match("d.x/half")]))
    assert id_ == "matchAttribute"
    assert "no such key: size" in message


def test_a_list_of_which_no_alternative_can_be_had():
    there = pool(device("a"))
    asked = either("r", option("two", count=2), option("other", select="false"))
    assert reasons(there, claim(asked)) == [
        ("firstAvailable", "request r of claim ns/c needs one of its alternatives"),
        ("requestSelector", "selector 0 of request r/other of claim ns/c rules out 1 device: false"),
    ]


def test_all_devices_of_which_one_is_tainted():
    there = pool(device("a"), device("b", taints=(taint("k"),)))
    assert reasons(there, claim(want(count="All"))) == [
        ("all", "request r of claim ns/c needs all 2 devices that it selects"),
        ("taint", "taint k:NoSchedule: b"),
    ]


def test_all_devices_where_none_is_meant():
    assert [id_ for id_, _ in reasons(pool(device("a")), claim(want(count="All", select="false")))] == [
        "exactCount",
        "requestSelector",
    ]


def test_a_claim_that_counts_more_than_a_result_may_have():
    there = pool(*(device(f"g{number:02}") for number in range(40)))
    (kind,) = unit(there, claim(want("a", 17), want("b", 17))).failures
    ((id_, message),) = [(reason.id, reason.message) for reason in kind.reasons]
    assert id_ == "devicesPerClaim"
    assert message.startswith("claim ns/c, request b: adding 17 devices exceeds the claim limit of 32")


def test_the_limit_of_results_where_the_cheap_alternatives_cannot_be_had():
    there = pool(*(device(f"g{number:02}") for number in range(40)))
    lists = [either(name, option("none", select="false"), option("some", count=17)) for name in ("a", "b")]
    found = reasons(there, claim(*lists))
    assert found[0] == ("firstAvailable", "request a of claim ns/c (and 1 equal) needs one of its alternatives each")
    assert found[-1] == ("resultLimit", "claim ns/c gets at most 32 devices")


def test_a_feature_that_is_off():
    there = pool(device("a", binding=("ready",)))
    assert reasons(there, claim(want()), feature_gates={"DRADeviceBindingConditions": False}) == [
        NEEDS_ONE,
        ("bindingConditions", "feature gate DRADeviceBindingConditions is off (ready): a"),
    ]


def test_requests_that_are_short_only_together():
    there = pool(*devices("a", "b", "c"))
    assert reasons(there, claim(want("x", 1), want("y", 3))) == [
        ("exactCount", "request x of claim ns/c needs 1 device"),
        ("exactCount", "request y of claim ns/c needs 3 devices"),
    ]


def test_equal_requests_are_one_reason():
    there = pool(*devices("a", "b", "c"))
    assert reasons(there, claim(*(want(name, 1) for name in "abcd"))) == [
        ("exactCount", "request a of claim ns/c (and 3 equal) needs 1 device each")
    ]


def test_the_request_that_is_short_alone_is_named_alone():
    there = pool(*devices("a", "b", "c"))
    found = reasons(there, claim(want("x", 2), want("y", 1, select="false")))
    assert [message.split(":")[0] for _, message in found] == [
        "request y of claim ns/c needs 1 device",
        "selector 0 of request y of claim ns/c rules out 3 devices",
    ]


def test_devices_that_are_not_meant_are_not_listed():
    cls = device_class("gpu", 'device.attributes["d.x"].?kind.orValue("") == "gpu"')
    gpus = [device(f"g{number}", kind="gpu") for number in range(3)]
    there = (cls, device_class(), pool(*gpus, device("nic", kind="nic")))
    nic = want("n", select='device.attributes["d.x"].kind == "nic"')
    held = after(*there, claim(want(count=1, cls="gpu"), nic, name="x"))
    found = dict(reasons(*there, *held, claim(want(count=3, cls="gpu"))))
    assert found["inUse"] == "devices in use by claim ns/x: g0"


def test_many_devices_are_counted():
    there = (pool(*devices(*"abcdefgh")),)
    held = after(*there, claim(want(count=7), name="x"))
    assert reasons(*there, *held, claim(want(count=2)))[1] == (
        "inUse",
        "devices in use by claim ns/x: a, b, c, d and 3 more",
    )


def test_pools_whose_devices_do_not_count_are_noted():
    there = pool(*devices("a", "b"), count=2)
    (kind,) = unit(there, claim(want())).failures
    (note,) = kind.notes
    assert note.startswith("pool d.x/p is incomplete, its devices do not count: generation 1 has 1 slices")


def test_what_becomes_of_the_devices():
    there = (pool(*devices("a", "b", "c"), device("d", taints=(taint("k"),)), device("e", kind="x"), all_nodes=True),)
    held = after(*there, claim(want(count=2), name="x"))
    asked = claim(want(count=4, select='!("kind" in device.attributes["d.x"])'))
    (kind,) = unit(*there, *held, asked).failures
    (view,) = kind.requests
    assert (view.needed, view.devices, view.matching, view.free) == (4, 5, 4, 1)
    assert [(row.filter, row.detail, row.devices) for row in view.fallen] == [
        ("inUse", "ns/x", 2),
        ("taint", "k:NoSchedule", 1),
    ]

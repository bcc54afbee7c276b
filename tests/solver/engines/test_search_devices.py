"""May this device serve this request: in use, features, selectors, node, operations, taints (sections 7 and 9)."""

import pytest
from support.objects import (
    NODE,
    after,
    attempt,
    claim,
    device,
    device_class,
    devices,
    draws,
    either,
    fails,
    fatal,
    labels,
    names,
    node,
    option,
    partitions,
    picks,
    pool,
    taint,
    tolerate,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine

TWO = pool(*devices("a", "b"))


def test_a_device_in_use_is_skipped():
    """DEV-1."""
    held = after(TWO, claim(want(), name="before"))
    assert names(TWO, *held, claim(want())) == ["b"]


def test_a_device_picked_by_another_claim_of_the_attempt_is_skipped():
    """DEV-1."""
    assert names(TWO, claim(want(), name="c1"), claim(want(), name="c2")) == ["a", "b"]


def test_admin_access_may_have_what_is_in_use():
    """DEV-1, DEV-15."""
    held = after(TWO, claim(want(), name="before"))
    assert names(TWO, *held, claim(want(admin=True))) == ["a"]


def test_admin_access_may_have_what_another_claim_picked():
    """DEV-1: only picks of its own claim count."""
    assert names(TWO, claim(want(), name="c1"), claim(want(admin=True), name="c2")) == ["a", "a"]


def test_admin_access_does_not_take_a_device_twice_for_one_claim():
    """DEV-1."""
    assert names(TWO, claim(want("q"), want("r", admin=True))) == ["a", "b"]


def test_an_admin_pick_blocks_a_later_normal_request():
    """DEV-1: also of another claim, although nobody will hold the device."""
    assert names(TWO, claim(want(admin=True), name="c1"), claim(want(), name="c2")) == ["a", "b"]
    one = pool(device("a"))
    assert fails(one, claim(want(admin=True), name="c1"), claim(want(), name="c2"))


def test_an_admin_pick_is_forgotten_when_undone():
    """DEV-1, SRCH-3: two claims may hold marks on one device; undoing one leaves the other."""
    kinds = pool(device("a", kind=1), device("b", kind=2))
    asked = (
        claim(want(), name="c1"),
        claim(want(admin=True), name="c2"),
        claim(want(select='device.attributes["d.x"].kind == 2'), name="c3"),
    )
    assert names(kinds, *asked) == ["a", "a", "b"]


BINDING_OFF = {"DRADeviceBindingConditions": False}


@pytest.mark.parametrize(
    ("gates", "chosen"), [pytest.param({}, "a", id="DEV-2-on"), pytest.param(BINDING_OFF, "b", id="DEV-2-off")]
)
def test_binding_conditions_need_their_feature(gates, chosen):
    """DEV-2: the pool with conditions comes last only among pools, not within (POOL-11)."""
    member = pool(device("a", binding=("ready",)), device("b"))
    assert names(member, claim(want()), gates=gates) == [chosen]


def test_pools_with_binding_conditions_come_last():
    """POOL-11."""
    early, late = pool(device("a", binding=("ready",)), name="a"), pool(device("z"), name="z")
    assert names(early, late, claim(want())) == ["z"]


def test_class_selectors_and_request_selectors_must_all_hold():
    """DEV-3, CEL-8."""
    members = [device(name, x=x, y=y) for name, x, y in (("a", 1, 2), ("b", 2, 1), ("c", 1, 1))]
    cls = device_class("x1", 'device.attributes["d.x"].x == 1', "true")
    asked = claim(want(select=("true", 'device.attributes["d.x"].y == 1'), cls="x1"))
    assert names(pool(*members), cls, asked) == ["c"]


def per_device(*members):
    return pool(*members, per_device_node_selection=True)


def test_a_device_for_another_node_is_not_used():
    """DEV-4."""
    members = per_device(device("a", node_name="n2"), device("b", node_selector=labels({"zone": ("z",)})))
    assert names(members, node(NODE, zone="z"), claim(want())) == ["b"]


def test_expressions_see_devices_that_the_node_cannot_reach():
    """DEV-4: it comes after CEL, so that such a device can be fatal."""
    members = per_device(device("a", node_name="n2"), device("b", all_nodes=True, x=1))
    asked = claim(want(select='device.attributes["d.x"].x == 1'))
    assert "selector #0 on device d.x/p/a: CEL runtime error: no such key: x" in fatal(members, asked)


def test_an_expression_is_evaluated_once_for_equal_devices():
    """DEV-5: however often the search comes by, and however many devices look alike."""
    asked = claim(want("q", 3, 'device.attributes["d.x"].x == 1'), want("r", 1, "false"))
    answer = attempt(pool(*devices(*"abcdefgh", x=1)), asked)
    assert answer.steps > 100
    assert answer.evaluations <= 2


def test_a_capacity_request_filters_dedicated_devices():
    """DEV-6, CAP-7."""
    members = pool(device("a", capacity={"m": "10"}), device("b", capacity={"m": "12"}), device("c"))
    assert names(members, claim(want(capacity={"m": "11"}))) == ["b"]


COUNTERS_OFF = {"DRAPartitionableDevices": False}


def test_a_device_that_draws_counters_needs_the_feature():
    """DEV-7."""
    member = pool(device("a", draws("s", m=1)), device("b"))
    assert names(member, claim(want()), gates=COUNTERS_OFF) == ["b"]


def test_all_fails_over_counters_without_the_feature():
    """DEV-7, BUG-10: the device is on the list and cannot be taken."""
    member = pool(device("a", draws("s", m=1)), device("b"))
    assert fails(member, claim(want(count="All")), gates=COUNTERS_OFF)


SKIPPING = pool(*devices("a"), skip_node_operations=("*",))
DECLARED = node(NODE, features=("DRAOptionalNodeOperations",))
INCUBATING = {
    "DRADeviceCompatibilityGroups": False,
    "DRAListTypeAttributes": False,
    "DRAOptionalNodeOperations": False,
    "DRADerivedAttributes": False,
}


@pytest.mark.parametrize(
    ("objects", "gates", "failing"),
    [
        pytest.param((SKIPPING, DECLARED), {}, False, id="DEV-9-declared"),
        pytest.param((SKIPPING, node()), {}, True, id="DEV-9-undeclared"),
        pytest.param((SKIPPING, DECLARED), {"DRAOptionalNodeOperations": False}, True, id="DEV-9-off"),
        pytest.param((SKIPPING, node()), INCUBATING, False, id="DEV-9-unknown-to-incubating"),
    ],
)
def test_skipping_node_operations_needs_the_feature_and_the_node(objects, gates, failing):
    assert fails(*objects, claim(want()), gates=gates) is failing


def test_all_fails_over_a_device_that_skips_node_operations():
    """DEV-9, DEV-14: not part of the list's tests."""
    assert fails(SKIPPING, node(), claim(want(count="All")))


@pytest.mark.parametrize(
    ("taints", "tolerations", "failing"),
    [
        pytest.param([taint()], [], True, id="TNT-1-no-schedule"),
        pytest.param([taint(effect="NoExecute")], [], True, id="TNT-1-no-execute"),
        pytest.param([taint(effect="None")], [], False, id="TNT-1-none"),
        pytest.param([taint(effect="Later")], [], False, id="TNT-1-unknown-effect"),
        pytest.param([taint()], [tolerate("k")], False, id="TNT-2-exists"),
        pytest.param([taint(value="v")], [tolerate("k", "Equal", "v")], False, id="TNT-2-equal"),
        pytest.param([taint(value="v")], [tolerate("k", "", "v")], False, id="TNT-2-no-operator"),
        pytest.param([taint(value="v")], [tolerate("k", "Equal", "w")], True, id="TNT-2-other-value"),
        pytest.param([taint(value="v")], [tolerate("", "Equal", "v")], False, id="TNT-2-any-key"),
        pytest.param([taint()], [tolerate("k", "In")], True, id="TNT-2-odd-operator"),
        pytest.param([taint()], [tolerate("k", effect="NoExecute")], True, id="TNT-2-other-effect"),
        pytest.param([taint("k"), taint("l")], [tolerate("k")], True, id="TNT-1-every-taint"),
    ],
)
def test_a_taint_keeps_requests_away_that_do_not_tolerate_it(taints, tolerations, failing):
    """DEV-10."""
    asked = claim(want(tolerations=tuple(tolerations) or None))
    assert fails(pool(device("a", taints=tuple(taints))), asked) is failing


def test_the_tolerations_of_the_alternative_count():
    """TNT-1."""
    tainted = pool(device("a", taints=(taint(),)))
    asked = claim(either("r", option("s"), option("t", tolerations=(tolerate(),))))
    assert picks(tainted, asked) == [("r/t", "a")]


def test_taints_keep_admin_access_away_too():
    """TNT-3, DEV-15."""
    assert fails(pool(device("a", taints=(taint(),))), claim(want(admin=True)))


def test_one_tainted_device_fails_all():
    """TNT-3, DEV-14: without error."""
    assert fails(pool(device("a", taints=(taint(),)), device("b")), claim(want(count="All")))


def test_without_the_feature_taints_are_ignored_and_tolerations_copied():
    """TNT-4."""
    asked = claim(want(tolerations=(tolerate("other"),)))
    answer = attempt(pool(device("a", taints=(taint(),))), asked, gates={"DRADeviceTaints": False})
    assert answer.names == ["a"]
    assert answer.results[0].tolerations == (tolerate("other"),)


def rule(**selector):
    spec = DeviceTaintRuleSpec(device_selector=DeviceTaintSelector(**selector), taint=taint())
    return DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=spec)


@pytest.mark.parametrize(
    ("criteria", "chosen"),
    [
        pytest.param({"driver": "d.x", "pool": "p", "device": "a"}, "b", id="TNT-5-device"),
        pytest.param({"driver": "d.x", "pool": "other"}, "a", id="TNT-5-other-pool"),
    ],
)
def test_a_taint_rule_taints_the_devices_it_selects(criteria, chosen):
    assert names(TWO, rule(**criteria), claim(want())) == [chosen]


def test_an_empty_selector_of_a_rule_selects_every_device():
    """TNT-6."""
    assert fails(TWO, rule(), claim(want()))


def test_an_evicting_taint_with_seconds_counts_like_any_other():
    """TNT-7: tolerationSeconds mean nothing here."""
    tolerated = tolerate(effect="NoExecute")
    assert names(pool(device("a", taints=(taint(effect="NoExecute"),))), claim(want(tolerations=(tolerated,)))) == ["a"]


def test_a_count_needs_different_devices():
    """DEV-13: even of one that can be shared."""
    member = pool(device("a", multi=True))
    assert fails(member, claim(want(count=2)))
    assert names(member, claim(want("q"), want("r"), name="c1"), claim(want(), name="c2")) == ["a", "a", "a"]


def test_all_does_not_judge_by_dynamic_state_before_the_search():
    """DEV-14, PRE-8: a device in use is listed, so All fails instead of taking the rest."""
    held = after(TWO, claim(want(), name="before"))
    assert fails(TWO, *held, claim(want(count="All")))


def test_admin_access_takes_all_even_of_what_is_in_use():
    """DEV-14, DEV-15."""
    held = after(TWO, claim(want(), name="before"))
    assert names(TWO, *held, claim(want(count="All", admin=True))) == ["a", "b"]


def test_admin_access_to_a_used_up_partition_is_refused():
    """DEV-15: its counters are gone, by its own allocation."""
    slices = partitions(device("a", draws("s", m=4)), sets={"s": {"m": 4}})
    held = after(*slices, claim(want(), name="before"))
    assert fails(*slices, *held, claim(want(admin=True)))


def test_a_device_that_is_no_longer_shared_is_held_back_by_its_records_only():
    """DEV-16: it is not in use by DEV-1, but what was consumed counts."""
    then = pool(device("a", multi=True, capacity={"m": "10"}))
    now = pool(device("a", capacity={"m": "10"}))
    held = after(then, claim(want(capacity={"m": "6"}), name="before"))
    assert names(now, *held, claim(want(capacity={"m": "4"}))) == ["a"]
    assert fails(now, *held, claim(want(capacity={"m": "5"})))


def test_equal_nodes_share_what_was_compiled_and_differ_in_what_is_in_use():
    """DEV-5: one question, two nodes of one shape, one of them taken."""
    gates = FeatureGates.all_on()
    pools = [pool(device("a"), name=name, node_name=name) for name in ("n1", "n2")]
    cluster = Cluster.of([*pools, device_class()])
    engine, allocated_state = (
        backtracking_engine(Session(cluster, gates, "kube", 0)),
        AllocatedState(cluster.usage(gates)),
    )
    first = claim(want(), name="c1")
    made = engine.allocate_on(cluster.node("n1"), [first], allocated_state, None)
    allocated_state.commit([(("ns", "c1"), made.allocations[0])])
    endings = [
        engine.allocate_on(cluster.node(name), [claim(want(), name="c2")], allocated_state, None).status.name
        for name in ("n1", "n2")
    ]
    assert endings == ["UNALLOCATABLE", "ALLOCATED"]

"""Rules about single devices that other tables leave out, one test each (sections 4, 7, 9 and 12)."""

import copy
import re

import pytest
from support.objects import (
    after,
    attempt,
    claim,
    device,
    device_class,
    devices,
    distinct,
    draws,
    either,
    fails,
    fatal,
    match,
    names,
    node,
    option,
    partitions,
    picks,
    pool,
    taint,
    want,
)

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine

STABLE = {
    "DRADeviceCompatibilityGroups": False,
    "DRAListTypeAttributes": False,
    "DRAOptionalNodeOperations": False,
    "DRADerivedAttributes": False,
    "DRADeviceBindingConditions": False,
    "DRAConsumableCapacity": False,
    "DRAFractionalCapacityRange": False,
}


def grouped(name, *groups, m=1):
    return device(name, draws("s", groups or None, m=m))


def test_groups_and_counters_must_both_allow_a_device():
    """DEV-8: ``b`` is of another group, ``c`` wants too much; neither leaves traces for ``d``."""
    members = [grouped("a", "x", m=2), grouped("b", "y", m=1), grouped("c", "x", m=3), grouped("d", "x", m=2)]
    slices = partitions(*members, sets={"s": {"m": 4}})
    assert names(*slices, claim(want(count=2))) == ["a", "d"]


@pytest.mark.parametrize(
    ("order", "ending"),
    [(("k", "n/k"), Status.UNALLOCATABLE), (("n/k", "k"), Status.ERROR)],
    ids=["the-first-rejects", "the-first-goes-wrong"],
)
def test_constraints_are_asked_in_the_order_written(order, ending):
    """DEV-11: what a device lacks for an earlier one spares it the error of a later one."""
    constraints = [match({"k": "d.x/k", "n/k": "n/k"}[name]) for name in order]
    asked = claim(want(derived={"n/k": 'device.attributes["d.x"].none'}), constraints=constraints)
    assert attempt(pool(device("a")), asked).status is ending


def test_a_device_must_satisfy_every_constraint():
    """DEV-11."""
    members = [device(name, k=k, m=m) for name, k, m in (("a", 1, 1), ("b", 1, 1), ("c", 2, 2), ("d", 1, 2))]
    asked = claim(want(count=2), constraints=[match("d.x/k"), distinct("d.x/m")])
    assert names(pool(*members), asked) == ["a", "d"]


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def test_a_share_gets_an_id_of_its_own_and_a_dedicated_device_none():
    """DEV-12, CAP-8."""
    members = pool(device("a", multi=True, capacity={"m": "4"}), device("b", capacity={"m": "4"}))
    asked = claim(*(want(name, capacity={"m": "2"}) for name in "qrs"))
    shares = {result.request: result for result in attempt(members, asked).results}
    assert [shares[name].device for name in "qrs"] == ["a", "a", "b"]
    ids = [shares[name].share_id for name in "qr"]
    assert all(UUID.fullmatch(id_) for id_ in ids)
    assert len(set(ids)) == 2
    assert [dict(shares[name].consumed_capacity) for name in "qr"] == [{"m": "2"}] * 2
    assert (shares["s"].share_id, shares["s"].consumed_capacity) == (None, None)


def test_slices_named_for_other_nodes_offer_nothing_but_complete_a_pool():
    """IN-6, POOL-6: on n1 only ``a`` can be had, and only because there is the slice of n2."""
    here, there = (
        pool(device(name), slice_name=name, count=2, node_name=where) for name, where in (("a", "n1"), ("b", "n2"))
    )
    assert names(here, there, claim(want())) == ["a"]
    assert fails(here, there, claim(want(count=2)))
    assert fails(here, claim(want()))


def test_classes_are_looked_up_by_name_and_slices_carry_the_taints_of_rules():
    """IN-1."""
    odd = device_class("odd", 'device.attributes["d.x"].n == 1')
    members = pool(*(device(f"v{n}", n=n % 2) for n in range(4)))
    (held_back,) = tainting(DeviceTaintSelector(device="v1"))
    assert names(members, odd, device_class("other", "false"), held_back, claim(want(cls="odd"))) == ["v3"]


def tainting(selector):
    spec = DeviceTaintRuleSpec(device_selector=selector, taint=taint())
    return (DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=spec),)


TWO = pool(*devices("a", "b"))


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        pytest.param(None, ["a"], id="TNT-6-BUG-12-no-selector-taints-nothing"),
        pytest.param(DeviceTaintSelector(), None, id="TNT-6-empty-selector-taints-everything"),
        pytest.param(DeviceTaintSelector(driver="d.x", device="a"), ["b"], id="TNT-5-criteria-are-a-conjunction"),
        pytest.param(DeviceTaintSelector(driver="e.x", device="a"), ["a"], id="TNT-5-all-of-them"),
    ],
)
def test_what_a_taint_rule_selects(selector, chosen):
    assert (attempt(TWO, *tainting(selector), claim(want())).names or None) == chosen


def test_an_attempt_leaves_its_inputs_alone():
    """IN-5: claims, slices and the record of what is in use are as before, and the next answer is the same."""
    slices = partitions(grouped("a", "x"), grouped("b", "x"), sets={"s": {"m": 4}})
    gates = FeatureGates.all_on()
    cluster = Cluster.of([*slices, device_class(), node()])
    allocated_state, asked = AllocatedState(cluster.usage(gates)), claim(want(count=2))
    before = copy.deepcopy((slices, asked))
    engine = backtracking_engine(Session(cluster, gates, "kube", 0))
    answers = [engine.allocate_on(cluster.node("n1"), [asked], allocated_state, None).allocations for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert (slices, asked) == before
    assert allocated_state.usage == cluster.usage(gates)


@pytest.mark.parametrize("gates", [{}, STABLE], ids=["experimental", "stable"])
def test_pools_and_slices_are_sorted_however_they_were_read(gates):
    """POOL-12: stable leaves the order to chance; drasat sorts there too, so that answers repeat."""
    slices = [
        pool(device(f"{name}{part}"), name=name, slice_name=f"s-{name}{part}", count=2)
        for name in "ba"
        for part in "21"
    ]
    for given in (slices, slices[::-1]):
        assert names(*given, claim(want(count=4)), gates=gates) == ["a1", "a2", "b1", "b2"]


def test_groups_are_those_published_now():
    """GRP-6: the device in use was of group x, and now is of y."""
    multi = {"sets": {"s": {"m": 4}}}
    held = after(*partitions(grouped("a", "x"), **multi), claim(want(), name="before"))
    now = partitions(grouped("a", "y"), grouped("b", "x"), grouped("c", "y"), **multi)
    assert names(*now, *held, claim(want())) == ["c"]


def test_all_with_admin_access_skips_only_that_devices_are_in_use():
    """DEV-14, DEV-15, TNT-3: a tainted device still fails it, without error."""
    held = after(TWO, claim(want(), name="before"))
    assert names(TWO, *held, claim(want(count="All", admin=True))) == ["a", "b"]
    (rule,) = tainting(DeviceTaintSelector(device="b"))
    assert fails(TWO, rule, *held, claim(want(count="All", admin=True)))


def test_selectors_stop_at_the_first_that_is_false():
    """CEL-8, DEV-3: what stands behind a false one may be nonsense for the device."""
    members = pool(device("a"), device("b", n=1))
    has, is_one = '"n" in device.attributes["d.x"]', 'device.attributes["d.x"].n == 1'
    assert names(members, claim(want(select=(has, is_one)))) == ["b"]
    assert "no such key: n" in fatal(members, claim(want(select=(is_one, has))))


def test_an_alternative_has_its_own_mode_capacity_and_tolerations():
    """SRCH-5, DEV-6, TNT-1: nothing is inherited from the alternative before."""
    members = pool(device("a", capacity={"m": "1"}, taints=(taint(),)), device("b"))
    asked = claim(either("q", option("s", "All"), option("t", capacity={"m": "1"}), option("u", 1)))
    assert picks(members, asked) == [("q/u", "b")]


ENDLESS = "lists.range(900).all(a, lists.range(900).all(b, a + b >= 0))"


@pytest.mark.parametrize("policy", ["kube", "strict", "skip"])
@pytest.mark.parametrize("count", [1, "All"])
def test_a_deadline_inside_an_expression_is_no_error_of_it(policy, count):
    """CEL-11, SRCH-10: no policy takes it for a false selector, no outcome for a no."""
    answer = attempt(TWO, claim(want(count=count, select=f"{ENDLESS} || true")), policy=policy, limit=0)
    assert (answer.status, answer.error) == (Status.UNKNOWN, "")
    assert answer.message == "filter operation aborted: operation interrupted"

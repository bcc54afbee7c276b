"""The engine ``kube-scheduler``: what the peer is asked, and what its answers become. No Go is needed."""

from time import monotonic

import pytest
from support.gates import ALL
from support.objects import allocated, claim, device, device_class, devices, either, labels, node, option, pool, want
from support.peers import FakePeer, allocation, answer, result

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import PeerError
from drasat.models.kubernetes.claims import DeviceTaint, DeviceTaintRule, DeviceTaintRuleSpec
from drasat.models.kubernetes.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.results.common import Status
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.allocate import allocate
from drasat.solver.engines import kube_scheduler
from drasat.solver.engines.engine import Session
from drasat.solver.engines.kube_scheduler import KubeSchedulerEngine

SHARE = "11111111-2222-4333-8444-555555555555"


def engine(cluster, *answers, policy="kube", gates=ALL):
    peer = FakePeer(*answers)
    return KubeSchedulerEngine(Session(cluster, gates, policy, 7), peer), peer


def ask(objects, *answers, claims=None, limit=None, on="n1", gates=ALL):
    """One attempt; the attempt, what the peer was asked (None: nothing), and the engine."""
    cluster = Cluster.of([node("n1"), node("n2"), device_class(), *objects])
    asked = [one for one in cluster.claims.values() if not one.status] if claims is None else claims
    found, peer = engine(cluster, *answers, gates=gates)
    made = found.allocate_on(cluster.node(on), asked, AllocatedState(cluster.usage(gates)), limit)
    return made, peer.requests[0] if peer.requests else None, found


def named(things):
    return [thing.metadata.name for thing in things]


def test_the_peer_gets_what_the_node_can_see():
    """POOL-5, POOL-6, POOL-8: all slices of a pool of which the node sees one, and of no other."""
    slices = [
        pool(device("a"), name="own", slice_name="s1"),
        pool(device("b"), name="own", slice_name="s2", node_name="n2"),
        pool(device("c"), name="own", slice_name="s3", node_name="n2", generation=2),
        pool(device("d"), name="own", slice_name="s4", node_name="n2", driver="e.x"),
        pool(device("e"), name="everywhere", slice_name="s5", all_nodes=True),
        pool(device("f"), name="far", slice_name="s6", node_name="n2"),
    ]
    _, request, _ = ask([*slices, claim(want())], answer("unallocatable"))
    assert named(request.slices) == ["s1", "s2", "s3", "s5"]
    assert request.node.metadata.name == "n1"


def test_all_slices_go_where_a_selector_cannot_be_parsed():
    """NODE-2: the peer then says what is wrong."""
    bad = NodeSelector(
        node_selector_terms=(NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="k", operator="Odd"),)),)
    )
    slices = [
        pool(device("a"), name="p", slice_name="s1", node_name="n2"),
        pool(device("b"), name="q", slice_name="s2", node_selector=bad),
    ]
    made, request, _ = ask([*slices, claim(want())], answer("error", error="unparsable"))
    assert named(request.slices) == ["s1", "s2"]
    assert (made.status, made.message) == (Status.ERROR, "unparsable")


def test_the_peer_gets_the_classes_that_are_named():
    """PRE-6: a class that does not exist is the peer's to complain about."""
    wanted = claim(want("a", cls="x"), either("b", option("s", cls="y"), option("t", cls="missing")))
    classes = [device_class("x"), device_class("y"), device_class("z")]
    _, request, _ = ask([pool(device("d")), *classes, wanted], answer("unallocatable"))
    assert named(request.classes) == ["x", "y"]


def test_rules_gates_and_claims_go_as_they_are():
    rule = DeviceTaintRule(
        metadata=ObjectMeta(name="rule"), spec=DeviceTaintRuleSpec(taint=DeviceTaint(key="k", effect="NoSchedule"))
    )
    gates = FeatureGates.for_version("1.36")
    wanted = claim(want())
    _, request, _ = ask([pool(device("d")), rule, wanted], answer("unallocatable"), gates=gates)
    assert request.taint_rules == (rule,)
    assert request.claims == [wanted]
    assert (request.features.consumable_capacity, request.features.list_type_attributes) == (True, False)
    assert (request.features.device_taint_rules, request.variant) == (False, "")


def test_what_is_in_use_goes_as_claims():
    """IN-2, IN-3: whole devices, shares with what they took, nothing of administrators; only of slices that go."""
    held = [
        allocated(claim(name="whole"), allocation(result("a"), result("b", admin_access=True))),
        allocated(claim(name="share"), allocation(result("c", share_id=SHARE, consumed_capacity={"m": "1500m"}))),
        allocated(claim(name="bare"), allocation(result("c", share_id=SHARE))),
        allocated(claim(name="far"), allocation(result("x", pool="far"))),
    ]
    slices = [pool(*devices("a", "b", "c")), pool(device("x"), name="far", node_name="n2")]
    _, request, _ = ask([*slices, *held, claim(want())], answer("unallocatable"))
    found = {one.metadata.name: one.status.allocation.devices.results for one in request.allocated}
    assert {name: [one.device for one in results] for name, results in found.items()} == {
        "whole": ["a"],
        "share": ["c"],
        "bare": ["c"],
    }
    assert (found["share"][0].share_id, found["share"][0].consumed_capacity) == (SHARE, {"m": "1500m"})
    assert (found["bare"][0].share_id, found["bare"][0].consumed_capacity) == (SHARE, None)
    assert all(one.metadata.namespace == "ns" for one in request.allocated)


def test_shares_are_whole_devices_without_the_feature():
    """IN-3."""
    held = allocated(claim(name="share"), allocation(result("a", share_id=SHARE, consumed_capacity={"m": "1"})))
    gates = ALL.with_({"DRAConsumableCapacity": False})
    _, request, _ = ask([pool(device("a")), held, claim(want())], answer("unallocatable"), gates=gates)
    (used,) = request.allocated[0].status.allocation.devices.results
    assert (used.device, used.share_id, used.consumed_capacity) == ("a", None, None)


@pytest.mark.parametrize(
    ("verdict", "ending", "rule", "message"),
    [
        (answer("unallocatable"), Status.UNALLOCATABLE, "", "cannot allocate all claims"),
        (
            answer("unallocatable", error="invalid resource pools were encountered"),
            Status.UNALLOCATABLE,
            "pool",
            "invalid resource pools were encountered",
        ),
        (answer("error", error="claim x: CEL runtime error"), Status.ERROR, "error", "claim x: CEL runtime error"),
        (answer("timeout", error="aborted"), Status.UNKNOWN, "timeLimit", "aborted"),
        (answer("timeout"), Status.UNKNOWN, "timeLimit", "the time limit passed"),
    ],
    ids=["none", "POOL-13", "CEL-6", "SRCH-10", "silent-timeout"],
)
def test_endings(verdict, ending, rule, message):
    made, _, found = ask([pool(device("a")), claim(want())], verdict)
    assert (made.status, made.rule, made.message, made.allocations) == (ending, rule, message, ())
    assert found.counts.steps == 3


def test_steps_are_added_up_and_unknown_ones_are_none():
    cluster = Cluster.of([node("n1"), device_class(), pool(device("a")), claim(want())])
    found, _ = engine(cluster, answer("unallocatable"), answer("unallocatable", steps=None), answer("unallocatable"))
    for _ in range(3):
        found.allocate_on(cluster.node("n1"), list(cluster.claims.values()), AllocatedState(cluster.usage(ALL)), None)
    assert found.counts.steps == 6


def test_random_share_ids_become_repeatable():
    """RES-2: the seed, the claim and the device decide."""
    first, second = (
        ask([pool(device("a")), claim(want())], answer(allocations=(allocation(result("a", share_id=given)),)))[0]
        for given in (SHARE, SHARE.replace("1", "9"))
    )
    assert first.allocations == second.allocations
    (made,) = first.allocations[0].devices.results
    assert made.share_id not in (None, SHARE)
    assert (made.device, made.request) == ("a", "r")


def test_devices_without_share_keep_none():
    made, _, _ = ask([pool(device("a")), claim(want())], answer(allocations=(allocation(result("a")),)))
    assert made.status is Status.ALLOCATED
    assert made.allocations == (allocation(result("a")),)


@pytest.mark.parametrize("allocations", [None, (), (allocation(), allocation())], ids=["null", "none", "two"])
def test_an_answer_about_other_claims_is_an_error_not_an_answer(allocations):
    with pytest.raises(PeerError, match=r"answered nonsense: . allocations for 1 claims"):
        ask([pool(device("a")), claim(want())], answer(allocations=allocations))


def test_no_claims_are_allocated_at_once():
    """Section 16."""
    made, _, _ = ask([pool(device("a"))], answer(allocations=()), claims=[])
    assert (made.status, made.allocations) == (Status.ALLOCATED, ())


def test_the_time_left_goes_with_the_question():
    _, request, _ = ask([pool(device("a")), claim(want())], answer("unallocatable"), limit=monotonic() + 100)
    assert 90 < request.time_limit_seconds <= 100
    _, request, _ = ask([pool(device("a")), claim(want())], answer("unallocatable"))
    assert request.time_limit_seconds == 0


def test_nothing_is_asked_when_time_is_over():
    made, request, _ = ask([pool(device("a")), claim(want())], limit=monotonic() - 1)
    assert (made.status, request) == (Status.UNKNOWN, None)


@pytest.mark.parametrize("policy", ["strict", "skip"])
def test_other_policies_for_errors_are_refused(policy):
    """CEL-6: to the scheduler every error of an expression is fatal."""
    cluster = Cluster.of([node("n1")])
    with pytest.raises(ValueError, match=f"^engine kube-scheduler cannot handle CEL errors as '{policy}', only as"):
        allocate(cluster, engine="kube-scheduler", cel_errors=policy)


def with_peer(register, *answers):
    peer = FakePeer(*answers)
    register(kube_scheduler.NAME, lambda session: KubeSchedulerEngine(session, peer))
    return peer


def test_allocate_goes_from_node_to_node_and_carries_the_state_on(register):
    pools = [pool(device("a"), name=name, node_name=name) for name in ("n1", "n2")]
    claims = [claim(want(), name=name) for name in ("c1", "c2")]
    in_n2 = NodeSelector(
        node_selector_terms=(
            NodeSelectorTerm(
                match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=("n2",)),)
            ),
        )
    )
    second = allocation(result("a", pool="n2"))
    made = type(second)(devices=second.devices, node_selector=in_n2)
    peer = with_peer(
        register, answer("unallocatable"), answer(allocations=(made,)), answer("unallocatable"), answer("unallocatable")
    )
    cluster = Cluster.of([node("n1"), node("n2"), device_class(), *pools, *claims])
    found = allocate(cluster, engine="kube-scheduler", cel_errors="kube")
    assert found.verified
    assert [(unit.outcome, unit.node) for unit in found.units] == [("Allocated", "n2"), ("Unallocatable", None)]
    assert found.units[1].reasons[0].message == "2 of 2 nodes: cannot allocate all claims"
    in_use = [named(request.allocated) for request in peer.requests]
    assert in_use[:2] == [[], []]
    assert in_use[-1] == ["c1"]


def test_what_breaks_a_rule_is_no_answer(register):
    """The verifier looks at the peer's answers as at any other."""
    with_peer(register, answer(allocations=(allocation(result("nowhere")),)))
    cluster = Cluster.of([node("n1"), device_class(), pool(device("a")), claim(want())])
    with pytest.raises(Exception, match="does not pass verification"):
        allocate(cluster, engine="kube-scheduler", cel_errors="kube")


def test_a_failing_peer_is_one_line(register):
    class Broken:
        def allocate(self, request):
            raise PeerError("peer kube-scheduler ended: killed")

    register("kube-scheduler", lambda session: KubeSchedulerEngine(session, Broken()))
    cluster = Cluster.of([node("n1"), device_class(), pool(device("a")), claim(want())])
    with pytest.raises(PeerError, match=r"^peer kube-scheduler ended: killed$"):
        allocate(cluster, engine="kube-scheduler", cel_errors="kube")


def test_selectors_decide_what_a_node_sees():
    """POOL-1."""
    cluster = Cluster.of(
        [
            node("n1", zone="a"),
            node("n2", zone="b"),
            pool(device("a"), name="za", slice_name="s1", node_selector=labels({"zone": ("a",)})),
            pool(device("b"), name="zb", slice_name="s2", node_selector=labels({"zone": ("b",)})),
        ]
    )
    supply = kube_scheduler.NodeSlices(cluster)
    assert [named(supply.slices(cluster.node(name))) for name in ("n1", "n2", "n3")] == [["s1"], ["s2"], []]
    assert supply.slices(cluster.node("n1")) is supply.slices(cluster.node("n1"))

"""Units, nodes and limits: what is explained, of whom, and when it ends early."""

import pytest
from msgspec.structs import replace
from support.explaining import explained, reasons, unit
from support.objects import NODE, after, allocated, claim, device, device_class, devices, node, pod, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    Taint,
)
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.explain import explainer
from drasat.solver.explain.explain import explain


def test_what_fits_has_its_node_and_nothing_else():
    (found,) = explained(pool(device("a")), claim(want()))
    assert (found.outcome, found.node, found.reasons, found.failures, found.relaxations) == (
        "Allocated",
        NODE,
        (),
        (),
        (),
    )


def test_nothing_asked_is_all_allocated():
    assert explain(Cluster.of([device_class()])).outcome == "Allocated"


def test_nodes_that_meet_the_same_are_one_kind_the_largest_first():
    nodes = [node(f"n{number}") for number in range(5)]
    pools = [pool(device("a"), name=f"n{number}", node_name=f"n{number}") for number in range(5)]
    extra = pool(device("b"), name="more", node_name="n3")
    found = unit(*nodes, *pools, extra, claim(want(count=3)))
    assert [kind.names for kind in found.failures] == [("n0", "n1", "n2", "n4"), ("n3",)]


def test_kinds_that_read_alike_are_one_kind():
    nodes = [node(f"n{number}") for number in range(2)]
    pools = [pool(*devices(*"ab"[: number + 1]), name=f"n{number}", node_name=f"n{number}") for number in range(2)]
    asked = claim(want(select="false", cls="none"))
    found = unit(device_class("none"), *nodes, *pools, asked)
    assert [kind.nodes for kind in found.failures] == [1, 1]
    (kind,) = unit(*nodes, claim(want())).failures
    assert kind.names == ("n0", "n1")


def test_more_kinds_of_nodes_than_are_explained():
    numbers = range(explainer.MAX_NODE_CLASSES + 1)
    members = [devices(*(f"d{size}" for size in range(number))) for number in numbers]
    pools = [pool(*own, name=f"n{number}", node_name=f"n{number}") for number, own in enumerate(members)]
    found = unit(*(node(f"n{number}") for number in numbers), *pools, claim(want(count=40)))
    assert sum(kind.nodes for kind in found.failures) == explainer.MAX_NODE_CLASSES
    assert not found.complete


def test_a_claim_or_class_that_is_missing_is_told_as_allocate_tells_it():
    found = unit(pool(device("a")), device_class(), claim(want(cls="gone")))
    assert [reason.id for reason in found.reasons] == ["deviceClass"]
    assert found.failures == found.relaxations == ()
    missing = unit(pool(device("a")), pod("gone"))
    assert [reason.message for reason in missing.reasons] == ["ResourceClaim ns/gone not found"]


@pytest.mark.parametrize(
    ("spec", "labels", "unschedulable", "taints", "id_", "change"),
    [
        ({"node_selector": {"zone": "a"}}, {}, False, (), "nodeSelector", "drop the pod's node selector"),
        ({}, {}, True, (), "nodeUnschedulable", "make the node schedulable"),
        ({}, {}, False, (Taint(key="k", effect="NoSchedule"),), "nodeTaint", "tolerate the node's taints"),
    ],
)
def test_nodes_that_do_not_suit_the_pod(spec, labels, unschedulable, taints, id_, change):
    there = replace(node(NODE, **labels), spec=NodeSpec(unschedulable=unschedulable, taints=taints or None))
    found = unit(there, pool(device("a")), claim(want()), pod("c", **spec))
    (kind,) = found.failures
    assert [reason.id for reason in kind.reasons] == [id_]
    (relaxation,) = found.relaxations
    assert relaxation.changes[0].message.startswith(change)
    assert relaxation.node == NODE


def test_a_pod_whose_affinity_suits_no_node():
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="Exists"),))
    required = NodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
    found = unit(pool(device("a")), claim(want()), pod("c", affinity=Affinity(node_affinity=required)))
    assert [change.id for one in found.relaxations for change in one.changes] == ["nodeAffinity"]


def test_what_would_suit_the_pod_must_have_devices_too():
    found = unit(pool(device("a")), claim(want(count=2)), pod("c", node_selector={"zone": "a"}))
    assert found.relaxations == ()


def test_a_pod_with_a_claim_that_is_allocated_elsewhere():
    there = (pool(device("a"), all_nodes=False, node_name=NODE),)
    (made,) = after(*there, claim(want(), name="held"))
    nodes = (node(NODE), node("n2"))
    found = unit(*there, *nodes, allocated(made, made.status.allocation), claim(want()), pod("held", "c"))
    assert {reason.id: kind.names for kind in found.failures for reason in kind.reasons[-1:]} == {
        "inUse": (NODE,),
        "allocatedClaim": ("n2",),
    }
    # What the pod itself has is not offered.
    assert found.relaxations == ()


def test_only_the_node_that_was_asked_about():
    pools = (pool(device("a")), pool(*devices("b", "c"), name="q", node_name="n2"))
    asked = (node(NODE), node("n2"), claim(want(count=2)))
    assert explained(*pools, *asked)[0].outcome == "Allocated"
    (kind,) = unit(*pools, *asked, node=NODE).failures
    assert kind.names == (NODE,)


def test_an_expression_that_fails_is_an_error_with_reasons_by_node():
    found = unit(pool(device("a")), claim(want(select='device.attributes["d.x"].none == 1')))
    assert found.outcome == "Error"
    assert [reason.id for reason in found.reasons] == ["expression"]
    assert [reason.id for reason in found.failures[0].reasons] == ["exactCount", "requestSelector"]
    assert [change.id for one in found.relaxations for change in one.changes] == ["requestSelector"]


def test_a_request_that_ends_everything_is_the_reason():
    found = unit(pool(device("a")), claim(want(), want("s", admin=True)), feature_gates={"DRAAdminAccess": False})
    assert found.outcome == "Error"
    assert [reason.id for reason in found.failures[0].reasons] == ["request"]


def test_without_time_nothing_is_claimed():
    (found,) = explained(pool(device("a", numa=1)), claim(want(select="true")), time_limit=1e-9)
    assert found.outcome == "Unknown"
    assert not found.complete


def test_time_that_runs_out_while_explaining(monkeypatch):
    def late(*_args):
        raise explainer.DeadlineExceededError

    monkeypatch.setattr(explainer.ExplanationCompiler, "key", late)
    (found,) = explained(pool(device("a")), claim(want(count=2)))
    assert found.outcome == "Unallocatable"
    assert found.reasons
    assert not found.complete


def test_an_interrupt_keeps_what_was_explained():
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as raised:
        explained(pool(device("a")), *(claim(want(count=2), name=name) for name in "ab"), progress=interrupt)
    first, second = raised.value.answer.units
    assert (first.outcome, len(first.failures)) == ("Unallocatable", 1)
    assert (second.outcome, [reason.id for reason in second.reasons]) == ("Unknown", ["interrupted"])


def test_progress_counts_units():
    told = []
    explained(pool(device("a")), claim(want(), name="a"), claim(want(), name="b"), progress=lambda *at: told.append(at))
    assert told == [(1, 2), (2, 2)]


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="unknown policy 'never' for CEL errors"):
        explain(Cluster.of([]), cel_errors="never")


def test_reasons_do_not_depend_on_what_else_a_node_has():
    gpu = device_class("gpu", 'device.driver == "d.x"')
    others = pool(*(device(f"nic-{number}") for number in range(9)), name="nics", driver="e.x")
    alone = reasons(gpu, pool(*devices("a", "b")), claim(want(count=3, cls="gpu")))
    assert reasons(gpu, pool(*devices("a", "b")), others, claim(want(count=3, cls="gpu"))) == [
        *alone,
        ("classSelector", 'selector 0 of class gpu rules out 9 devices: device.driver == "d.x"'),
    ]

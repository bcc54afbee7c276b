"""Pods that nodes do not suit, pods of several claims, and what earlier units took: exact reasons and changes."""

import pytest
from msgspec.structs import replace
from support.explaining import explained, unit
from support.objects import NODE, after, claim, device, device_class, devices, node, pod, pool, template, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import NodeSpec, Taint, Toleration
from drasat.solver.explain.explain import explain


def own(name, *members):
    return pool(*members, name=name, node_name=name, slice_name=name)


def guarded(name=NODE, *taints, unschedulable=False):
    return replace(node(name), spec=NodeSpec(unschedulable=unschedulable, taints=taints or None))


def told(found):
    """Id and message of the reasons, by the nodes they are about."""
    return {kind.names: [(reason.id, reason.message) for reason in kind.reasons] for kind in found.failures}


def changes(found):
    return [([change.message for change in one.changes], one.cost, one.node) for one in found.relaxations]


OTHER_NAME = "node(s) didn't match the requested node name"
OTHER_LABELS = "node(s) didn't match Pod's node affinity/selector"
NO_EXECUTE = Taint(key="gone", value="v", effect="NoExecute")


def test_a_pod_on_a_node_that_is_full_may_go_to_another():
    nodes = [node("n1"), node("n2")]
    found = unit(*nodes, own("n2", device("a")), claim(want()), pod("c", node_name="n1"))
    assert told(found) == {
        ("n1",): [("exactCount", "request r of claim ns/c needs 1 device")],
        ("n2",): [("nodeName", f"{OTHER_NAME} n1")],
    }
    assert changes(found) == [([f"let the pod go to another node ({OTHER_NAME} n1)"], 3, "n2")]


def test_a_pod_on_a_node_that_is_not_there():
    found = unit(own("n1", device("a")), claim(want()), pod("c", node_name="n9"))
    assert told(found) == {("n1",): [("nodeName", f"{OTHER_NAME} n9")]}
    assert changes(found) == [([f"let the pod go to another node ({OTHER_NAME} n9)"], 3, "n1")]


def test_all_that_does_not_suit_is_changed_together():
    there = guarded("n1", Taint(key="k", effect="NoSchedule"), unschedulable=True)
    found = unit(there, own("n1", device("a")), claim(want()), pod("c", node_selector={"zone": "x"}))
    assert told(found) == {("n1",): [("nodeSelector", f"{OTHER_LABELS}: no label zone=x")]}
    assert changes(found) == [
        (
            [
                f"drop the pod's node selector ({OTHER_LABELS}: no label zone=x)",
                "make the node schedulable (node(s) were unschedulable)",
                "tolerate the node's taints (node(s) had untolerated taint {k: })",
            ],
            4,
            "n1",
        )
    ]


@pytest.mark.parametrize(
    ("taint", "operator", "value", "fits"),
    [
        (Taint(key="k", value="v", effect="NoSchedule"), "Equal", "v", True),
        (Taint(key="k", value="v", effect="NoSchedule"), "Equal", "w", False),
        (Taint(key="k", value="v", effect="NoSchedule"), "Exists", "", True),
        (Taint(key="k", value="v", effect="PreferNoSchedule"), "Equal", "w", True),
        (NO_EXECUTE, "Exists", "", False),
    ],
)
def test_taints_of_nodes_are_those_of_kubernetes(taint, operator, value, fits):
    tolerations = (Toleration(key="k", operator=operator, value=value),)
    asked = pod("c", tolerations=tolerations)
    (found,) = explained(guarded("n1", taint), own("n1", device("a")), claim(want()), asked)
    assert (found.outcome == "Allocated") == fits
    if not fits:
        assert [kind.reasons[0].id for kind in found.failures] == ["nodeTaint"]
        assert [one.cost for one in found.relaxations] == [1]


def test_nodes_with_the_same_misfit_are_one_kind_and_others_are_not():
    nodes = [node("n1"), node("n2"), node("n3", zone="x"), guarded("n4", NO_EXECUTE)]
    found = unit(*nodes, claim(want()), pod("c", node_selector={"zone": "x"}))
    assert told(found) == {
        ("n1", "n2", "n4"): [("nodeSelector", f"{OTHER_LABELS}: no label zone=x")],
        ("n3",): [("exactCount", "request r of claim ns/c needs 1 device")],
    }


def test_claims_from_templates_are_named_as_they_would_be():
    found = unit(own("n1", device("a")), template(want(count=2)), pod("@t"))
    assert told(found) == {("n1",): [("exactCount", "request r of claim ns/p-e0 needs 2 devices")]}
    assert changes(found) == [(["count 1 instead of 2 in request r of claim ns/p-e0"], 1, "n1")]


def test_equal_claims_of_a_pod_are_one_reason_and_one_of_them_is_changed():
    found = unit(own("n1", *devices("a", "b", "c")), template(want(count=2)), pod("@t", "@t"))
    assert told(found) == {("n1",): [("exactCount", "request r of claim ns/p-e0 (and 1 equal) needs 2 devices each")]}
    assert changes(found)[0] == (["count 1 instead of 2 in request r of claim ns/p-e1"], 1, "n1")


def test_claims_of_a_pod_that_fit_alone_but_not_on_one_node():
    slices = [own("n1", device("a", kind="gpu")), own("n2", device("a", kind="nic"))]
    kind = "device.attributes['d.x'].kind == '{}'"
    asked = [claim(want(select=kind.format(one)), name=one) for one in ("gpu", "nic")]
    found = unit(node("n1"), node("n2"), *slices, *asked, pod("gpu", "nic"))
    lacking = {nodes: reasons[0][1] for nodes, reasons in told(found).items()}
    assert lacking == {
        ("n1",): "request r of claim ns/nic needs 1 device",
        ("n2",): "request r of claim ns/gpu needs 1 device",
    }
    assert changes(found) == [
        (["drop request r of claim ns/nic"], 4, "n1"),
        (["drop request r of claim ns/gpu"], 4, "n2"),
    ]


def test_what_an_earlier_pod_got_may_be_freed():
    there = own("n1", *devices("a", "b"))
    first = [template(want(count=2)), pod("@t", name="early")]
    found = explained(there, *first, claim(want(), name="late"))
    assert [one.outcome for one in found] == ["Allocated", "Unallocatable"]
    assert told(found[1]) == {
        ("n1",): [
            ("exactCount", "request r of claim ns/late needs 1 device"),
            ("inUse", "devices in use by claim ns/early-e0: a, b"),
        ]
    }
    assert changes(found[1]) == [(["free one device of claim ns/early-e0: a"], 2, "n1")]


def test_a_claim_of_two_pods_is_allocated_once_and_then_binds_the_second():
    slices = [own("n1", device("a")), own("n2", device("a"))]
    pods = [pod("c", name="p"), pod("c", name="q", node_name="n2")]
    first, second = explained(node("n1"), node("n2"), *slices, claim(want()), *pods)
    assert (first.outcome, first.node) == ("Allocated", "n1")
    assert second.outcome == "Unallocatable"
    assert told(second) == {
        ("n1",): [("nodeName", f"{OTHER_NAME} n2")],
        ("n2",): [("allocatedClaim", "claim ns/c is allocated for other nodes")],
    }
    assert changes(second) == [([f"let the pod go to another node ({OTHER_NAME} n2)"], 3, "n1")]


def test_a_pod_beside_an_allocated_claim_of_its_own_is_explained_for_the_rest():
    there = own("n1", *devices("a", "b"))
    (held,) = after(there, claim(want(), name="held"))
    found = unit(there, held, claim(want(count=2)), pod("held", "c"))
    assert told(found) == {
        ("n1",): [
            ("exactCount", "request r of claim ns/c needs 2 devices"),
            ("inUse", "devices in use by claim ns/held: a"),
        ]
    }
    # What the pod has itself is not to be freed.
    assert changes(found) == [(["count 1 instead of 2 in request r of claim ns/c"], 1, "n1")]


def test_where_there_are_no_nodes_devices_for_all_nodes_count():
    found = explain(Cluster.of([device_class(), pool(device("a"), all_nodes=True), claim(want(count=2))]))
    (kind,) = found.units[0].failures
    assert kind.names == ("",)
    assert [(view.needed, view.devices) for view in kind.requests] == [(2, 1)]
    assert [one.node for one in found.units[0].relaxations] == [""]

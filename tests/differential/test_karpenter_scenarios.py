"""The scenarios of karpenter-dra 6 by the real Karpenter, and those that only it has."""

from __future__ import annotations

import pytest
from msgspec import structs
from support.karpenter import (
    allocated,
    claim_spec,
    device_class,
    exactly,
    gpus,
    instance_type,
    node,
    node_claim,
    node_pool,
    pod,
    published_by,
    running,
    template,
)
from support.karpenter_scenarios import SCENARIOS

import drasat
from drasat.integrations.karpenter.simulation import provision_request, simulate_round
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.figures import scheduling_input


def asked(objects):
    cluster = drasat.load(list(objects), skip_validation=True)
    options = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
    inputs = scheduling_input(cluster, gates=FeatureGates.all_on(), **options)
    return inputs.cluster, [one.unit for one in inputs.units]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(karpenter, name):
    one = SCENARIOS[name]
    found = simulate_round(*asked(one.objects), karpenter, 30)
    assert sorted(node.instance_type for node in found.nodes) == list(one.launched)
    assert sorted(found.unplaced) == list(one.left)


ONE_GPU = (node_pool(), device_class(), template("one", claim_spec(exactly())), instance_type("small", 1.0, gpus(1)))


def test_claims_are_refused_where_karpenter_ignores_them(karpenter):
    """Its default refuses pods with claims, and leaves others as they are (karpenter-dra 0)."""
    request = provision_request(*asked([*ONE_GPU, pod("a", "one"), pod("b")]))
    answer = karpenter.provision(structs.replace(request, ignore_claims=True))
    assert [one.pod for one in answer.errors or ()] == ["default/a"]
    assert [node.pods for node in answer.nodes or ()] == [("default/b",)]


def test_new_nodes_are_annotated_with_the_drivers_that_their_pods_ask_for(karpenter):
    """3.9, as NodeClaims of plans are."""
    answer = karpenter.provision(provision_request(*asked([*ONE_GPU, pod("a", "one")])))
    assert (answer.nodes or ())[0].annotations["karpenter.sh/requested-dra-drivers"] == "gpu.example.com"


def placed(karpenter, *objects):
    """Types of new nodes, pods by the node that is there, and pods without a place."""
    found = simulate_round(*asked([*ONE_GPU, *objects]), karpenter, 30)
    return sorted(one.instance_type for one in found.nodes), dict(found.existing), sorted(found.unplaced)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([node("n1"), node_claim("n1")], ([], {"n1": ("default/a",)}, [])),
        (
            [node("n1"), node_claim("n1", "gpu.example.com"), published_by("n1", 3), pod("b", "one")],
            (["small"], {"n1": ("default/a",)}, []),
        ),
        ([node("n1", initialized="true"), node_claim("n1")], (["small"], {}, [])),
        ([node("n1")], (["small"], {}, [])),
        (
            [node("n1", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]), node_claim("n1")],
            ([], {"n1": ("default/a",)}, []),
        ),
    ],
    ids=["uninitialized", "what it published is passed over", "initialized", "not Karpenter's", "not ready"],
)
def test_uninitialized_nodes_use_templates(karpenter, more, expected):
    """3.2; the round in Python sees them so, too."""
    objects = [pod("a", "one"), *more]
    assert placed(karpenter, *objects) == expected
    (greedy,) = drasat.compare_purchases(drasat.load([*ONE_GPU, *objects]), ["karpenter-like"]).planners
    assert sorted(one.instance_type for one in greedy.nodes) == expected[0]


def test_a_node_of_karpenter_takes_pods_that_fit(karpenter):
    """Node and NodeClaim are joined, and the node is not passed over."""
    assert placed(karpenter, node("n1", initialized="true"), node_claim("n1"), pod("a")) == (
        [],
        {"n1": ("default/a",)},
        [],
    )


def going(karpenter, *objects):
    """Ask with a node on its way out, and the pod "r" on it, which Karpenter moves."""
    leaving = node("gone", initialized="true")
    leaving["metadata"].update(deletionTimestamp="2025-01-01T00:00:00Z", finalizers=["example.com/kept"])
    leaving["spec"]["providerID"] = "drasat://gone"
    there = running("r", "gone", shared="held")
    request = provision_request(*asked([*ONE_GPU, node("n2", initialized="true"), *objects]))
    answer = karpenter.provision(structs.replace(request, nodes=[*request.nodes, leaving], pods=[*request.pods, there]))
    return [list(one.pods) for one in answer.nodes or ()], [one.pod for one in answer.errors or ()]


ON_GONE = {
    "nodeSelector": {
        "nodeSelectorTerms": [
            {
                "matchFields": [],
                "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["gone"]}],
            }
        ]
    }
}


def test_the_claim_of_a_deleting_pod_is_freed(karpenter):
    """3.2: it is allocated anew, with the device of another node."""
    claimed = allocated("held", "gone", "real-0", "r", **ON_GONE)
    assert going(karpenter, published_by("gone", 1), claimed) == ([["default/r"]], [])


def test_a_claim_that_is_shared_with_a_live_pod_is_not_freed(karpenter):
    claimed = allocated("held", "gone", "real-0", "r", "live", **ON_GONE)
    live = running("live", "n2", shared="held")
    assert going(karpenter, published_by("gone", 1), live, claimed) == ([], ["default/r"])


def test_nodes_on_their_way_out_are_no_part_of_the_question(karpenter):
    """Nor are their pods; the program takes objects that are being deleted only with a finalizer."""
    leaving = node("n1", initialized="true")
    leaving["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    claimed = node_claim("n1")
    claimed["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    assert placed(karpenter, leaving, claimed, running("r", "n1"), pod("a")) == (["small"], {}, [])

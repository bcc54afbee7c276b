"""Nodes of plans, asked of the real Karpenter one by one, and its defects where it is compared with a plan."""

from __future__ import annotations

import pytest
from support.karpenter import claim, claim_spec, device_class, exactly, gpus, instance_type, node_pool, pod, template
from support.karpenter_families import FAMILIES, question

import drasat
from drasat.integrations.karpenter.comparison import KARPENTER, PLAN, replay_nodes
from drasat.integrations.karpenter.simulation import LaunchedNode
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.figures import scheduling_input

PLANS = 5


def compared(objects):
    return drasat.compare_purchases(drasat.load(objects, skip_validation=True), [KARPENTER, PLAN], time_limit=None)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_karpenter_takes_nearly_all_nodes_of_plans(karpenter, family):
    """A plan may need an arrangement that first fit does not find; then the pods are named, and nothing else is."""
    nodes = refused = 0
    for seed in range(PLANS):
        found = {one.planner: one for one in compared(question(family, seed)).planners}
        nodes += len(found[PLAN].nodes)
        refused += len(found[PLAN].refused)
        placed = {one for node in found[PLAN].nodes for one in node.pods}
        assert placed.issuperset(found[PLAN].refused), seed
    assert nodes > PLANS // 2
    assert refused <= nodes / 5


def replayed(karpenter, objects, node):
    cluster = drasat.load(objects)
    options = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
    inputs = scheduling_input(cluster, gates=FeatureGates.all_on(), **options)
    return replay_nodes(cluster, inputs.units, [node], karpenter)


SMALL = instance_type("small", 1.0, gpus(1))
QUEUE = [device_class(), template("one", claim_spec(exactly())), pod("a", "one"), pod("b", "one")]


@pytest.mark.parametrize("pods", [("default/a",), ("default/a", "default/b")])
def test_pods_for_which_a_node_has_no_devices_are_refused(karpenter, pods):
    node = LaunchedNode("general-small-1", "general", "small", "z1", "on-demand", 1.0, pods, ("small",))
    replay = replayed(karpenter, [node_pool(), SMALL, *QUEUE], node)
    assert (list(replay.refused), replay.tried) == (list(pods[1:]), 1)


def test_min_values_do_not_count_for_a_node_of_one_type(karpenter):
    """R18."""
    several = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2}
    node = LaunchedNode("n", "general", "small", "z1", "on-demand", 1.0, ("default/a",), ("small",))
    assert replayed(karpenter, [node_pool("general", several), SMALL, *QUEUE], node).refused == {}


def test_a_limit_of_nodes_that_a_round_does_not_count_is_named(karpenter):
    objects = [node_pool(limits={"nodes": "1"}), SMALL, *QUEUE]
    (theirs,) = (one for one in compared(objects).planners if one.planner == KARPENTER)
    assert len(theirs.nodes) == 2
    assert any("NodePool general: a limit of nodes is not counted down" in said for said in theirs.notices)


def named(objects):
    (theirs,) = (one for one in compared(objects).planners if one.planner == KARPENTER)
    return [said for said in theirs.notices if "known defect" in said]


def test_a_claim_that_is_named_twice_is_searched_twice(karpenter):
    """Correction 7."""
    twice = pod("a", "both", shared=True)
    twice["spec"]["resourceClaims"].append({"name": "again", "resourceClaimName": "both"})
    objects = [node_pool(), SMALL, device_class(), claim("both", claim_spec(exactly())), twice]
    assert any("default/a: a claim that a pod names twice" in said for said in named(objects))


def test_min_values_are_looked_at_again_after_the_device_search(karpenter):
    """Correction 10: the second type has no device."""
    several = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 2}
    objects = [node_pool("general", several), SMALL, instance_type("bare", 0.5), *QUEUE[:3]]
    assert any("default/a: minValues are looked at again" in said for said in named(objects))


def test_devices_of_overlays_are_not_known_to_karpenter(karpenter):
    """What the proposal adds to overlays is not in its API."""
    selected = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["bare"]}]
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "o"},
        "spec": {"requirements": selected, "dynamicResources": {"resourceSliceTemplates": [gpus(1)]}},
    }
    objects = [node_pool(), instance_type("bare", 0.5), overlay, *QUEUE[:3]]
    assert any("default/a: devices of NodeOverlays are not known" in said for said in named(objects))


def test_a_new_price_loses_the_capacity_of_an_offering(karpenter):
    """Correction 12: a pod that needs it gets no place."""
    roomy = instance_type("roomy", 1.0, cpu="4")
    roomy["spec"]["offerings"][0]["capacity"] = {"cpu": "16"}
    selected = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["roomy"]}]
    overlay = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "o"},
        "spec": {"requirements": selected, "price": "0.5"},
    }
    large = next(one for one in compared([node_pool(), roomy, pod("a", cpu="10")]).planners if one.planner == KARPENTER)
    assert [one.instance_type for one in large.nodes] == ["roomy"]
    (theirs, least) = compared([node_pool(), roomy, overlay, pod("a", cpu="10")]).planners
    assert (len(theirs.nodes), len(least.nodes)) == (0, 1)
    assert any("default/a: offerings with another price lose" in said for said in theirs.notices)

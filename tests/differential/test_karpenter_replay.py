"""Nodes of plans, asked of the real Karpenter one by one, and its defects where it is compared with a plan."""

from __future__ import annotations

import pytest
from support.karpenter import claim_spec, device_class, exactly, gpus, instance_type, node_pool, pod, template
from support.karpenter_families import FAMILIES, question

import drasat
from drasat.integrations.karpenter.comparison import KARPENTER, PLAN
from drasat.integrations.karpenter.replay import replay_nodes
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

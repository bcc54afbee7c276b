"""Every scenario of karpenter-dra 6 by its name: Karpenter's round in Python, and the plan that buys."""

from __future__ import annotations

import pytest
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
from drasat.integrations.karpenter.starting_nodes import waiting_drivers


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    one = SCENARIOS[name]
    loaded = drasat.load(list(one.objects), skip_validation=True)
    greedy, plan = drasat.compare_purchases(loaded, ["karpenter-like", "plan"]).planners
    assert sorted(node.instance_type for node in greedy.nodes) == list(one.launched)
    assert [pod.pod for pod in greedy.unplaced] == list(one.left)
    assert greedy.refused == ()
    pods = sum(made["kind"] == "Pod" for made in one.objects)
    planned = {pod for node in plan.nodes for pod in node.pods if pod.partition("/")[2] in "abc"}
    assert len(planned) == (pods - len(one.left) if one.planned is None else one.planned)


GPU, ONE = device_class(), template("one", claim_spec(exactly()))
SMALL, LARGE = instance_type("small", 1.0, gpus(1)), instance_type("large", 3.0, gpus(4))
STARTING = (node_pool(), GPU, ONE, SMALL, node("n1"), pod("a", "one"))
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("more", "bought"),
    [([node_claim("n1")], 0), ([node_claim("n1", "gpu.example.com"), published_by("n1", 1, slices=2)], 0), ([], 1)],
    ids=["nothing is published", "its pool is incomplete", "not a node of Karpenter"],
)
def test_an_uninitialized_node_uses_the_templates_of_its_type(more, bought):
    """3.2: without a NodeClaim it counts as it is."""
    result = drasat.plan(drasat.load([*STARTING, *more]), buy=True)
    assert (result.placed, sum(one.count for one in result.document.bought)) == (1, bought)
    assert ("Node n1 is starting: devices of gpu.example.com" in " ".join(result.document.notices)) is not bought


def test_a_starting_node_of_an_unknown_type_has_what_is_published():
    objects = [node_pool(), GPU, ONE, LARGE, node("n1"), node_claim("n1", "gpu.example.com"), pod("a", "one")]
    result = drasat.plan(drasat.load(objects), buy=True)
    assert [one.instance_type for one in result.document.bought] == ["large"]
    assert "devices of gpu.example.com count as they are published" in " ".join(result.document.notices)


@pytest.mark.parametrize("deleted", [0, 1], ids=["node", "NodeClaim"])
def test_no_pods_go_to_nodes_that_are_being_deleted(deleted):
    """4.3: Karpenter's round has pods to place elsewhere."""
    both = node("n1", initialized="true"), node_claim("n1")
    both[deleted]["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    loaded = drasat.load([*STARTING[:-2], *both, published_by("n1", 1), pod("a", "one")])
    (greedy,) = drasat.compare_purchases(loaded, ["karpenter-like"]).planners
    assert [one.instance_type for one in greedy.nodes] == ["small"]


def test_an_initialized_node_has_what_is_published():
    objects = [*STARTING[:-2], node("n1", initialized="true"), node_claim("n1"), pod("a", "one")]
    assert [one.count for one in drasat.plan(drasat.load(objects), buy=True).document.bought] == [1]


def test_a_complete_pool_of_an_uninitialized_node_is_what_it_is():
    """The type has one device and the node three; Karpenter passes over what is published."""
    objects = [*STARTING, node_claim("n1"), published_by("n1", 3), pod("b", "one"), pod("c", "one")]
    greedy, plan = drasat.compare_purchases(drasat.load(objects), ["karpenter-like", "plan"]).planners
    assert (len(plan.nodes), plan.placed) == (0, 3)
    assert [one.instance_type for one in greedy.nodes] == ["small", "small"]


def test_taints_of_starting_and_amounts_that_are_not_shown_yet_do_not_hinder():
    claimed = node_claim("n1", startupTaints=[{"key": "warming", "effect": "NoExecute"}])
    claimed["status"]["allocatable"] = {"example.com/fuse": "1", "cpu": "4"}
    tainted = node("n1", taints=[NOT_READY, {"key": "warming", "effect": "NoExecute"}])
    asking = pod("a", "one")
    asking["spec"]["containers"][0]["resources"]["requests"]["example.com/fuse"] = "1"
    result = drasat.plan(drasat.load([*STARTING[:-2], tainted, claimed, asking]), buy=True)
    assert (result.placed, result.document.bought) == (1, ())
    other = node("n1", taints=[{"key": "kept", "effect": "NoSchedule"}])
    assert drasat.plan(drasat.load([*STARTING[:-2], other, claimed, pod("a", "one")]), buy=True).document.bought


@pytest.mark.parametrize(
    ("published", "waiting"),
    [
        ([], ["gpu.example.com", "nic.example.com"]),
        ([published_by("n1", 1, slices=2)], ["gpu.example.com", "nic.example.com"]),
        ([published_by("n1", 1)], ["nic.example.com"]),
        ([published_by("n1", 1), published_by("n1", 1, driver="nic.example.com")], []),
    ],
    ids=["initialization waits", "pool incomplete", "one of two complete", "complete"],
)
def test_initialization_waits_for_a_complete_pool_of_each_driver(published, waiting):
    """3.9."""
    loaded = drasat.load([node("n1"), node_claim("n1", "gpu.example.com", "nic.example.com"), *published])
    (claimed,) = (one.object for one in loaded.read if type(one.object).__name__ == "NodeClaim")
    assert waiting_drivers(claimed, loaded.slices) == waiting


def test_claims_of_pods_without_a_driver_do_not_wait():
    loaded = drasat.load([node_claim("n1")])
    (claimed,) = (one.object for one in loaded.read)
    assert waiting_drivers(claimed, ()) == []


def consolidated(*objects):
    return drasat.plan(drasat.load([node_pool(), GPU, SMALL, LARGE, *objects]), consolidate=True)


def occupied(name, devices, *used, instance="small"):
    """A node with so many devices, and a pod on it for each of those that are used."""
    made = [node(name, instance, initialized="true"), published_by(name, devices)]
    for one in used:
        made += [running(f"{name}-{one}", name, one), allocated(f"{name}-{one}", name, one, f"{name}-{one}")]
    return made


def removed(result):
    return [one.name for one in result.document.removed or ()]


def test_consolidation_moves_a_pod_to_a_free_device_elsewhere():
    """4.3: a node goes, and nothing is bought."""
    result = consolidated(*occupied("n1", 2, "real-0"), *occupied("n2", 1, "real-0"))
    assert (removed(result), result.document.bought, result.outcome) == (["n2"], (), "Optimal")


def test_consolidation_without_a_device_elsewhere_keeps_the_node():
    result = consolidated(*occupied("n1", 1, "real-0"), *occupied("n2", 1, "real-0"))
    assert (removed(result), result.document.bought, result.outcome) == ([], (), "Optimal")


def test_consolidation_makes_one_cheaper_node_of_two():
    """Both devices must be on the new one."""
    dear = instance_type("dear", 2.0, gpus(1))
    pair = instance_type("pair", 3.0, gpus(2))
    nodes = [*occupied("n1", 1, "real-0", instance="dear"), *occupied("n2", 1, "real-0", instance="dear")]
    result = drasat.plan(drasat.load([node_pool(), GPU, dear, pair, *nodes]), consolidate=True)
    assert (removed(result), [one.instance_type for one in result.document.bought]) == (["n1", "n2"], ["pair"])


def test_consolidation_is_blocked_by_a_claim_that_a_pod_that_stays_shares():
    """The claim keeps its device, so that the pod that could move cannot."""
    bare = running("stays", "n1", shared="both")
    bare["metadata"].pop("ownerReferences")
    movable = running("moves", "n1", shared="both")
    shared = allocated("both", "n1", "real-0", "stays", "moves")
    dear = node("n1", "large", initialized="true")
    result = consolidated(dear, published_by("n1", 4), bare, movable, shared)
    assert (removed(result), result.document.bought) == ([], ())
    alone = consolidated(dear, published_by("n1", 4), movable, allocated("both", "n1", "real-0", "moves"))
    assert (removed(alone), [one.instance_type for one in alone.document.bought]) == (["n1"], ["small"])


def test_consolidation_does_not_use_devices_of_nodes_that_go():
    """Claims of moved pods get devices elsewhere."""
    result = consolidated(*occupied("n1", 4, "real-0", instance="large"))
    assert removed(result) == ["n1"]
    (step,) = (one for one in result.document.steps if one.action == "move")
    assert [made.pool for one in step.claims for made in one.allocation.devices.results] == [step.node]
    assert step.node != "n1"

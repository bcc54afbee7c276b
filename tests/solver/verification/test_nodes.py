"""Whether pods may be on their nodes, read anew: rules for nodes, rooms, and devices for extended resources."""

import pytest
from support.fit_scenes import FitScene
from support.gates import ALL
from support.manifests import asking, cluster, device_class, node, pod

from drasat.models.workload.requests import effective_requests
from drasat.solver.verification.pod_amounts import pod_takes
from drasat.solver.verification.verify import Placement, verify

GPU = "example.com/gpu"


def rules(built, *placed):
    """The rules broken by pods, by name, on nodes."""
    placements = [Placement(built.nodes[where], (), built.pods["default", name]) for name, where in placed]
    return [found.rule for found in verify(built, placements, ALL)]


def test_pods_must_have_room_beside_those_that_run_and_those_before():
    objects = [node("n", cpu="4", pods="3"), pod("runs", spec={"nodeName": "n"}, cpu="1")]
    built = cluster(*objects, *(pod(name, cpu="2") for name in "ab"))
    assert rules(built, ("a", "n")) == []
    assert rules(built, ("a", "n"), ("b", "n")) == ["POD-ROOM"]


@pytest.mark.parametrize("amounts", [{"cpu": "5"}, {"memory": "1"}, {GPU: 1}, {"ephemeral-storage": "1"}], ids=str)
def test_each_resource_counts(amounts):
    built = cluster(node("n", cpu="4"), node("bare"), asking("a", **amounts))
    assert rules(built, ("a", "n")) == ["POD-ROOM"]
    assert rules(built, ("a", "bare")) == []


def test_the_number_of_pods_counts_where_it_is_told():
    built = cluster(node("n", pods="1"), node("m", cpu="1"), pod("a"), pod("b"))
    assert rules(built, ("a", "n"), ("b", "n")) == ["POD-ROOM"]
    assert rules(built, ("a", "m"), ("b", "m")) == []


def test_extended_resources_are_the_nodes_or_devices_of_a_claim():
    built = cluster(device_class("gpu", GPU), node("n", **{GPU: 2}), node("m", cpu="1"), asking("a", **{GPU: 2}))
    assert rules(built, ("a", "n")) == []
    assert rules(built, ("a", "m")) == ["POD-DEVICES"]


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_both_readings_of_what_pods_take_agree(first):
    for seed in range(first, first + 100):
        for one in FitScene.by_chance(seed).cluster().pods.values():
            assert dict(pod_takes(one.spec)) == effective_requests(one.spec)

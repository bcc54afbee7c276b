"""What runs, and what it leaves of the nodes."""

from support.manifests import allocated, claim, cluster, entry, node, obj, pod, template

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import Pod, PodSpec
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.workload.node_room import (
    allocatable_warnings,
    missing_resources,
    remaining_allocatable,
    running_pods,
)


def on(name, node_name="n", *entries, **options):
    spec = {"nodeName": node_name, **options.pop("spec", {})}
    return pod(name, *entries, spec=spec, **options)


def test_running_pods_take_of_their_nodes():
    objects = [
        node("n", cpu="4", memory="1Gi", pods="110"),
        node("m", cpu="4", pods="110"),
        on("a", cpu="500m"),
        on("b", cpu="500m"),
        on("c", "m", cpu="1"),
        pod("waits", cpu="4"),
    ]
    assert remaining_allocatable(cluster(*objects)) == {
        "n": {"cpu": 3000, "memory": 2**30, "pods": 108},
        "m": {"cpu": 3000, "pods": 109},
    }


def test_pods_that_have_finished_take_nothing_those_being_deleted_do():
    deleting = on("b", cpu="1")
    deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    built = cluster(node("n", cpu="4"), on("a", cpu="1", status={"phase": "Failed"}), deleting)
    assert list(running_pods(built)) == [("default", "b")]
    assert remaining_allocatable(built) == {"n": {"cpu": 3000}}


def test_a_pod_that_waits_for_a_claim_is_planned_and_takes_nothing_yet():
    waiting = [on("a", "n", entry("x", claim="open"), cpu="1"), on("b", "n", entry("x", template="t"), cpu="1")]
    has = on("c", "n", entry("x", claim="had"), cpu="1")
    built = cluster(node("n", cpu="4"), *waiting, has, claim("open"), allocated("had"), template())
    assert list(running_pods(built)) == [("default", "c")]
    assert remaining_allocatable(built) == {"n": {"cpu": 3000}}


def test_a_node_may_have_less_than_nothing():
    built = cluster(node("n", cpu="1"), on("a", cpu="2"), on("b", spec={"containers": [
        {"resources": {"requests": {"example.com/gpu": 1}}}]}))  # fmt: skip
    assert remaining_allocatable(built) == {"n": {"cpu": -1000, "example.com/gpu": -1}}


def test_capacity_counts_where_allocatable_is_not_known():
    bare = obj("Node", "n", status={"capacity": {"cpu": "2"}})
    assert remaining_allocatable(cluster(bare)) == {"n": {"cpu": 2000}}


def test_nodes_of_which_nothing_is_known_take_anything():
    built = cluster(node("b"), node("a"), node("n", cpu="1"), on("p", "a"), on("q", "gone"))
    assert remaining_allocatable(built) == {"a": None, "b": None, "n": {"cpu": 1000}}
    assert allocatable_warnings(built) == (
        "2 nodes have neither status.allocatable nor status.capacity, such as a: they are taken to have room for any "
        "pods",
        "1 pod is on a node that is not in the input, such as default/q",
    )
    assert allocatable_warnings(cluster(node("n", cpu="1"))) == ()


def test_input_without_nodes_is_told_in_one_line():
    lines = allocatable_warnings(Cluster.of([Pod(metadata=ObjectMeta(name="p"), spec=PodSpec())]))
    assert lines == (
        "there are no Nodes in the input: their labels, taints and room (cpu, memory, pods, extended resources) are "
        "not looked at",
    )


def test_what_is_lacking():
    room = {"cpu": 1000, "memory": -5, "pods": 0}
    assert missing_resources({"cpu": 1000}, room) == {}
    assert missing_resources({"cpu": 1500, "memory": 1, "pods": 1}, room) == {"cpu": 500, "memory": 6, "pods": 1}
    assert missing_resources({"example.com/gpu": 2}, room) == {"example.com/gpu": 2}
    assert missing_resources({"pods": 1}, {}) == {}
    assert missing_resources({"cpu": 10**9}, None) == {}

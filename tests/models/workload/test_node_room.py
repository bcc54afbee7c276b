"""The room on nodes while pods are placed, and what they lack, in kube-scheduler's words."""

import pytest
from support.gates import ALL, without
from support.manifests import asking, cluster, device_class, node

from drasat.models.workload.node_room import NodeRooms, device_resources, plugin_classes, plugin_resources

GPU = "example.com/gpu"


def rooms(*objects, gates=ALL):
    return NodeRooms(cluster(*objects), gates)


def demand(there, **amounts):
    made = cluster(asking("p", **amounts)).pods["default", "p"]
    return there.demand(made.spec)


@pytest.mark.parametrize(
    ("amounts", "told"),
    [
        ({"cpu": "3200"}, "Insufficient cpu (3200 requested, 4 left)"),
        (
            {"cpu": "4500m", "memory": "2Gi"},
            "Insufficient cpu (4500m requested, 4 left), Insufficient memory (2Gi requested, 1Gi left)",
        ),
        ({GPU: "7"}, f"Insufficient {GPU} (7 requested, 0 left)"),
        ({"ephemeral-storage": "1Gi"}, "Insufficient ephemeral-storage (1Gi requested, 0 left)"),
        ({"hugepages-2Mi": "4Mi"}, "Insufficient hugepages-2Mi (4Mi requested, 0 left)"),
        ({"cpu": "4"}, None),
    ],
)
def test_what_is_lacking_is_told_with_amounts(amounts, told):
    there = rooms(node("n", cpu="4", memory="1Gi", pods="2"))
    misfit = there.misfit(demand(there, **amounts), "n")
    assert (misfit and misfit.message) == told


def test_pods_that_are_placed_leave_less():
    there = rooms(node("n", cpu="4", pods="2"), node("bare"))
    half = demand(there, cpu="1500m")
    assert (there.copies(half, "n"), there.copies(half, "bare"), there.copies(None, "n")) == (2, None, None)
    there.take(half, "n")
    there.take(None, "n")
    assert (there.changes, there.copies(half, "n")) == (1, 1)
    there.take(half, "n")
    assert there.misfit(half, "n").message == "Insufficient cpu (1500m requested, 1 left), Too many pods"
    assert there.misfit(half, "bare") is None
    assert there.misfit(demand(there), "n").kind == "pods"


def test_several_pods_fit_together_or_not():
    there = rooms(node("n", cpu="4"), node("m", cpu="8"))
    two, three = demand(there, cpu="2"), demand(there, cpu="3")
    assert there.fit_together([two, None, two], "n", "m")
    assert not there.fit_together([two, three], "n", "m")
    assert there.fit_together([two, three], "m")


def test_requests_are_lowered_to_what_is_left():
    there = rooms(node("n", cpu="4", pods="1"), node("full", cpu="4", pods="0"))
    assert there.lowered_requests(demand(there, cpu="9", **{GPU: "1"}), "n") == {"cpu": 4000, GPU: 0}
    assert there.lowered_requests(demand(there, cpu="1"), "full") is None


def test_a_device_plugin_goes_before_a_class():
    """The node that lists the resource counts it (KEP-5004); elsewhere pods get devices, and any number fits."""
    objects = [device_class("gpu", GPU), node("n", cpu="1", **{GPU: 2}), node("m", cpu="1"), node("zero", **{GPU: 0})]
    built = cluster(*objects)
    assert plugin_resources(built) == {"n": {GPU}}
    assert plugin_classes(built) == {"n": {"gpu"}}
    assert GPU not in device_resources(built)
    there = NodeRooms(built, ALL)
    three = demand(there, **{GPU: 3})
    assert there.misfit(three, "n").message == f"Insufficient {GPU} (3 requested, 2 left)"
    assert there.misfit(three, "m") is None
    there.take(three, "m")
    assert there.misfit(three, "m") is None


def test_without_the_gate_no_class_provides():
    off = without("DRAExtendedResource")
    there = rooms(device_class("gpu", GPU), node("m", cpu="1"), gates=off)
    assert there.misfit(demand(there, **{GPU: 1}), "m").kind == GPU
    assert rooms(device_class("gpu", GPU), node("m", cpu="1")).misfit(demand(there, cpu="1"), "m") is None

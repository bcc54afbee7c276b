"""What scheduler_perf measures: valid, of its sizes, and answered as told."""

from collections import Counter

import kubernetes_validate
import pytest

from drasat.scenarios.queues import WORKLOADS, list_attributes
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load_all

EVERY = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)


def cluster_of(objects):
    loaded = load_all([objects])
    assert not loaded.warnings
    assert not loaded.ignored
    return loaded.cluster


@EVERY
@pytest.mark.parametrize("told", [False, True])
def test_everything_fits(workload, told):
    cluster = cluster_of(workload.objects(3, told=told))
    found = allocate(cluster, engine="backtracking", time_limit=10)
    assert found.outcome == "Allocated"
    assert len(found.units) == 3 * workload.pods_a_node


@EVERY
def test_objects_have_the_shape_of_the_published_schema(workload):
    for item in workload.objects(1, told=True):
        kubernetes_validate.validate(item, "1.37", strict=True)


@EVERY
def test_a_node_is_full_with_the_pods_that_are_told_to_go_there(workload):
    cluster = cluster_of(workload.objects(3, told=True))
    found = allocate(cluster, engine="backtracking", time_limit=10)
    counts = Counter(unit.node for unit in found.units)
    assert counts == dict.fromkeys(cluster.nodes, workload.pods_a_node)
    hosts = [pod.spec.node_selector["kubernetes.io/hostname"] for pod in cluster.pods.values()]
    assert hosts == [unit.node for unit in found.units]


@pytest.mark.parametrize(
    ("name", "devices", "pods"),
    [
        ("pods", 5000, 5000),
        ("pods, a selector", 5000, 5000),
        ("two requests, matchAttribute", 5000, 2500),
        ("32 requests, lists", 32_000, 500),
    ],
)
def test_sizes(name, devices, pods):
    objects = WORKLOADS[name].objects()
    counts = Counter(item["kind"] for item in objects)
    assert (counts["Node"], counts["Pod"]) == (500, pods)
    slices = [item["spec"] for item in objects if item["kind"] == "ResourceSlice"]
    assert sum(len(spec["devices"]) for spec in slices) == devices


def test_half_of_the_devices_share_no_value_with_any_other():
    (node,) = [item for item in list_attributes(1) if item["kind"] == "ResourceSlice"]
    lists = [set(device["attributes"]["links"]["strings"]) for device in node["spec"]["devices"]]
    assert {len(links) for links in lists} == {47}
    useless, useful = lists[:32], lists[32:]
    assert len(set.union(*useless)) == 32 * 47
    assert not set.union(*useless) & set.union(*useful)
    assert len(set.intersection(*useful)) == 47


def test_a_pod_gets_the_devices_that_share_values():
    cluster = cluster_of(list_attributes(2, devices=8, useless=4, requests=4, values=3))
    found = allocate(cluster)
    for unit in found.units:
        ((_, allocation),) = unit.allocations
        assert [result.device for result in allocation.devices.results] == [f"gpu-{n:03d}" for n in range(4, 8)]


def test_one_request_more_than_devices_that_share_values_fits_nowhere():
    cluster = cluster_of(list_attributes(2, devices=8, useless=4, requests=5, values=3))
    assert allocate(cluster).counts() == {"Unallocatable": 2}

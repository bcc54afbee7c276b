"""The cluster: what it holds, and what derives from it."""

import pickle

import pytest
from support.gates import ALL
from support.model_objects import claim, devices, label_selector, node, resource_slice, result

from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import Source
from drasat.models.kubernetes.claims import (
    DeviceClass,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
)
from drasat.models.kubernetes.core import Namespace, Pod
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.kubernetes.slices import Device
from drasat.models.manifests.reader import Manifest

D = ("gpu.example.com", "p", "d")


def of(*objects):
    return Cluster.of(objects)


def slice_on(name, **fields):
    return resource_slice(f"slice-{name}", node_name=name, pool=name, devices=devices("d"), **fields)


def test_objects_are_sorted_by_name():
    cluster = of(
        slice_on("n2"),
        slice_on("n1"),
        DeviceClass(metadata=ObjectMeta(name="b")),
        DeviceClass(metadata=ObjectMeta(name="a")),
        claim("x", namespace="b"),
        claim("y", namespace="a"),
        node("n2"),
        node("n1"),
        Namespace(metadata=ObjectMeta(name="ns")),
    )
    assert [slice_.metadata.name for slice_ in cluster.slices] == ["slice-n1", "slice-n2"]
    assert list(cluster.classes) == ["a", "b"]
    assert list(cluster.claims) == [("a", "y"), ("b", "x")]
    assert list(cluster.nodes) == ["n1", "n2"]
    assert list(cluster.namespaces) == ["ns"]


def test_what_others_derive_is_made_once():
    cluster = of(slice_on("n1"), claim("a"))
    made = []
    for _ in range(2):
        assert cluster.memo("key", lambda: made.append("own")) is None
        assert cluster.slice_memo("key", lambda: made.append("index")) is None
    assert made == ["own", "index"]
    for other in (cluster.with_claims([claim("b")]), cluster.without(claims=[("default", "a")])):
        assert other.slice_memo("key", lambda: "new") is None
        assert other.memo("key", lambda: "new") == "new"
    for other in (cluster.with_nodes([], [slice_on("n2")]), pickle.loads(pickle.dumps(cluster))):
        assert other.slice_memo("key", lambda: "new") == "new"


def test_devices_are_counted():
    cluster = of(slice_on("n1"), slice_on("n2"))
    assert cluster.device_count == cluster.summary()["devices"] == 2
    assert cluster.with_nodes([], [slice_on("n3")]).device_count == 3


def test_objects_without_namespace_are_in_the_default_one():
    assert list(of(claim("a", namespace="")).claims) == [("default", "a")]


def test_the_later_of_two_objects_of_one_name_counts():
    cluster = of(slice_on("n1"), slice_on("n1", generation=5), claim("a"), claim("a", labels={"x": "y"}))
    assert [slice_.spec.pool.generation for slice_ in cluster.slices] == [5]
    assert cluster.claims["default", "a"].metadata.labels == {"x": "y"}
    assert [manifest.object for manifest in cluster.manifests] == [cluster.slices[0], cluster.claims["default", "a"]]


def test_nodes_are_the_node_objects_if_there_are_any():
    assert list(of(slice_on("n2"), node("n1")).nodes) == ["n1"]


def test_nodes_are_inferred_from_slices_and_devices():
    own = resource_slice("s", per_device_node_selection=True, devices=[Device(name="d", node_name="n3")])
    cluster = of(slice_on("n2"), own, resource_slice("t", all_nodes=True))
    assert list(cluster.nodes) == ["n2", "n3"]
    assert cluster.nodes["n2"].metadata.labels == {"kubernetes.io/hostname": "n2"}


def test_without_any_node_one_nameless_node_sees_devices_for_all():
    cluster = of(
        resource_slice("s", all_nodes=True), resource_slice("t", pool="q", node_selector=label_selector("a", "b"))
    )
    assert list(cluster.nodes) == [""]
    (pool,) = cluster.pools(ALL).pools_for(cluster.node(""))
    assert pool.name == "p"


def test_an_unknown_node_is_inferred():
    cluster = of(slice_on("n1"), node("n2", {"zone": "a"}))
    assert cluster.node("n2") is cluster.nodes["n2"]
    assert cluster.node("n1").metadata.labels == {"kubernetes.io/hostname": "n1"}
    assert len(cluster.pools(ALL).pools_for(cluster.node("n1"))) == 1


def test_pools_are_built_once_for_the_gates_that_matter():
    cluster = of(slice_on("n1"))
    assert cluster.pools(ALL) is cluster.pools(ALL.with_({"DRAAdminAccess": False, "DRADeviceTaints": False}))
    assert cluster.pools(ALL) is not cluster.pools(ALL.with_({"DRAPartitionableDevices": False}))


def test_taint_rules_reach_the_pools():
    """TNT-5."""
    everything = DeviceTaintSelector()
    taint = DeviceTaint(key="k", effect="NoSchedule")
    rule = DeviceTaintRule(spec=DeviceTaintRuleSpec(device_selector=everything, taint=taint))
    cluster = of(slice_on("n1"), rule)

    def taints(gates):
        return cluster.pools(gates).pools_for(cluster.node("n1"))[0].devices[0].device.taints

    assert [taint.key for taint in taints(ALL)] == ["k"]
    assert taints(FeatureGates.for_version("1.36")) is None


def test_usage_is_built_once_for_the_gates_that_matter():
    cluster = of(claim("a", result("d", share_id="s")))
    assert cluster.usage(ALL) is cluster.usage(ALL.with_({"DRAAdminAccess": False}))
    assert D not in cluster.usage(ALL).dedicated
    assert D in cluster.usage(ALL.with_({"DRAConsumableCapacity": False})).dedicated


def test_with_nodes_shares_the_index():
    cluster = of(slice_on("n1"), node("n1"))
    index = cluster.pools(ALL)
    grown = cluster.with_nodes([node("n0"), node("n1", {"zone": "a"})])
    assert list(grown.nodes) == ["n0", "n1"]
    assert grown.nodes["n1"].metadata.labels == {"zone": "a"}
    assert grown.pools(ALL) is index
    assert list(cluster.nodes) == ["n1"]


def test_new_nodes_may_bring_slices():
    cluster = of(slice_on("n1"), node("n1"))
    cluster.pools(ALL)
    grown = cluster.with_nodes([node("n2")], [slice_on("n2")])
    assert len(grown.pools(ALL).pools_for(grown.node("n2"))) == 1
    assert cluster.pools(ALL).pools_for(cluster.node("n2")) == ()


def test_a_real_node_replaces_the_nameless_one():
    assert list(of(resource_slice("s", all_nodes=True)).with_nodes([node("n1")]).nodes) == ["n1"]


@pytest.mark.parametrize("asked_before", [True, False])
def test_with_claims_derives_the_usage(asked_before):
    cluster = of(claim("a", result("d")), claim("b"))
    if asked_before:
        assert cluster.usage(ALL).holds(D)[0].claim == ("default", "a")
    changed = cluster.with_claims([claim("a"), claim("b", result("d")), claim("c", result("e"))])
    assert changed.usage(ALL).holds(D)[0].claim == ("default", "b")
    assert changed.usage(ALL).dedicated == {D, ("gpu.example.com", "p", "e")}
    assert cluster.usage(ALL).holds(D)[0].claim == ("default", "a")


def test_without_nodes_claims_and_pods():
    cluster = of(node("n1"), node("n2"), claim("a", result("d")), claim("b"), Pod(metadata=ObjectMeta(name="p")))
    cluster.usage(ALL)
    less = cluster.without(nodes=["n1", "n9"], claims=[("default", "a")], pods=[("default", "p")])
    assert list(less.nodes) == ["n2"]
    assert list(less.claims) == [("default", "b")]
    assert not less.pods
    assert not less.usage(ALL).in_use(D)
    assert [manifest.object.metadata.name for manifest in less.manifests] == ["n2", "b"]


SOURCE = Source("f", 1)


def read(raw, item):
    return Manifest(raw["kind"], raw["apiVersion"], item, raw, SOURCE)


RAW = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceClaim",
    "metadata": {"name": "a", "unknown": 1},
    "status": {"reservedFor": [{"name": "p"}]},
}


def test_manifests_keep_what_was_read():
    cluster = Cluster.build(
        [
            Manifest("ConfigMap", "v1", None, {}, SOURCE),
            read(RAW, claim("a")),
            Manifest("ConfigMap", "v1", None, {}, SOURCE),
        ]
    )
    assert [manifest.kind for manifest in cluster.manifests] == ["ConfigMap", "ResourceClaim", "ConfigMap"]
    assert cluster.manifest(ResourceClaim, ("default", "a")).raw is RAW
    assert cluster.manifest(ResourceClaim, ("default", "b")) is None


def test_an_allocation_is_added_to_the_manifest_as_read():
    cluster = Cluster.build([read(RAW, claim("a"))])
    (manifest,) = cluster.with_claims([claim("a", result("d"))]).manifests
    assert manifest.api_version == "resource.k8s.io/v1beta1"
    assert manifest.raw["metadata"] == RAW["metadata"]
    assert manifest.raw["status"] == {
        "reservedFor": [{"name": "p"}],
        "allocation": {
            "devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}]}
        },
    }
    assert "allocation" not in RAW["status"]


def test_an_unpinned_claim_loses_its_allocation():
    raw = {**RAW, "status": {"allocation": {}, "reservedFor": []}}
    (manifest,) = Cluster.build([read(raw, claim("a", result("d")))]).with_claims([claim("a")]).manifests
    assert manifest.raw["status"] == {"reservedFor": []}


def test_added_claims_are_rendered_and_come_last():
    cluster = Cluster.build([read(RAW, claim("a"))]).with_claims([claim("b", result("d")), claim("0")])
    assert [manifest.raw["metadata"]["name"] for manifest in cluster.manifests] == ["a", "0", "b"]
    assert cluster.manifests[1].raw == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "0", "namespace": "default"},
        "spec": {},
    }
    assert [key for _, key in cluster.in_read_order({ResourceClaim: cluster.claims})] == [
        ("default", "a"),
        ("default", "0"),
        ("default", "b"),
    ]


def test_the_order_read_is_kept():
    cluster = of(claim("z"), Pod(metadata=ObjectMeta(name="p")), node("n"), claim("a"))
    assert cluster.in_read_order({Pod: cluster.pods, ResourceClaim: cluster.claims}) == [
        (ResourceClaim, ("default", "z")),
        (Pod, ("default", "p")),
        (ResourceClaim, ("default", "a")),
    ]


def test_clusters_are_picklable_without_their_indexes():
    cluster = of(slice_on("n1"), claim("a", result("d")), node("n1"))
    small = len(pickle.dumps(cluster))
    cluster.pools(ALL).pools_for(cluster.node("n1"))
    cluster.usage(ALL)
    dumped = pickle.dumps(cluster)
    copy = pickle.loads(dumped)
    assert len(dumped) == small
    assert copy.slices == cluster.slices
    assert copy.usage(ALL).in_use(D)
    assert len(copy.pools(ALL).pools_for(copy.node("n1"))) == 1


def test_clusters_cannot_be_changed():
    with pytest.raises(AttributeError):
        of(node("n1")).slices = ()


def test_what_a_cluster_shows():
    cluster = of(slice_on("n1"), slice_on("n2"), claim("a", result("d")), claim("b"))
    assert repr(cluster) == "Cluster(2 nodes, 2 slices, 2 devices, 2 claims, 1 allocated claims)"
    assert "<th>devices</th><td>2</td>" in cluster._repr_html_()

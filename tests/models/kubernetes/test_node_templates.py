"""Nodes that could be bought, as they would be."""

from support.manifests import cluster, obj

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.pools import COMPLETE
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.node_templates import node_from_template, slices_from_template

COUNTERS = [{"name": "set", "counters": {"slices": {"value": "7"}}}]
CONSUMED = [{"counterSet": "set", "counters": {"slices": {"value": "1"}}}]


def bought(*slices, **spec):
    made = obj("NodeTemplate", "h100-8", {"price": "12.5", "slices": list(slices), **spec})
    return cluster(made).node_templates["h100-8"]


def test_a_node_has_what_its_template_says_and_its_own_name():
    template = bought(labels={"zone": "a"}, allocatable={"cpu": 64}, taints=[{"key": "k", "effect": "NoSchedule"}])
    node = node_from_template(template, "new-1")
    assert node.metadata.labels == {"zone": "a", "kubernetes.io/hostname": "new-1"}
    assert node.status.allocatable == {"cpu": 64}
    assert [taint.key for taint in node.spec.taints] == ["k"]
    assert slices_from_template(template, "new-1") == ()


def test_the_devices_of_a_bought_node_make_complete_pools():
    gpus = {
        "driver": "gpu.example.com",
        "sharedCounters": COUNTERS,
        "devices": [{"name": "gpu", "consumesCounters": CONSUMED}],
    }
    more = {"driver": "gpu.example.com", "devices": [{"name": "more"}]}
    nics = {"driver": "nic.example.com", "devices": [{"name": "nic"}]}
    template = bought(gpus, more, nics)
    node = node_from_template(template, "new-1")
    other = node_from_template(template, "new-2")
    slices = (*slices_from_template(template, "new-1"), *slices_from_template(template, "new-2"))
    built = Cluster().with_nodes([node, other], slices)
    pools = built.pools(FeatureGates.all_on()).pools_for(node)
    assert [(pool.driver, pool.name, pool.status) for pool in pools] == [
        ("gpu.example.com", "new-1", COMPLETE),
        ("nic.example.com", "new-1", COMPLETE),
    ]
    assert [device.device.name for pool in pools for device in pool.devices] == ["gpu", "more", "nic"]
    assert [one.name for one in pools[0].counter_sets] == ["set"]
    assert len({one.metadata.name for one in slices}) == len(slices) == 8


def test_templates_are_in_the_cluster_by_name():
    made = [obj("NodeTemplate", name, {"price": 1}) for name in ("b", "a")]
    assert list(cluster(*made).node_templates) == ["a", "b"]

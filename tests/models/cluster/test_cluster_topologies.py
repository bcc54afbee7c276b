"""Among which devices coordinates are unique: a node's, a pool's, or all (TOPO-3)."""

from support.gates import ALL
from support.model_objects import devices, label_selector, node, resource_slice
from support.topology_objects import DRIVER, topology

from drasat.models.cluster.cluster import Cluster, driver_membership, topology_instances
from drasat.models.kubernetes.slices import Device


def chips(name, *names, **fields):
    return resource_slice(name, driver=DRIVER, pool=name, devices=devices(*names), **fields)


CLUSTER = Cluster.of(
    [
        *(node(name, labels={"rack": "r1"} if name == "n1" else None) for name in ("n2", "n1", "n3")),
        chips("a", "a0", "a1", node_name="n1"),
        chips("b", "b0", node_name="n2"),
        chips("shared", "s0", all_nodes=True),
        chips("rack", "r0", node_selector=label_selector("rack", "r1")),
        resource_slice("other", driver="other.example.com", devices=devices("o"), node_name="n1"),
    ]
)


def told(scope, node=None, cluster=CLUSTER):
    one = topology("Line", 1, scope=scope)
    found = topology_instances(one, cluster, ALL, driver_membership(one), node)
    return {instance.label: [device.id[2] for device in instance.devices] for instance in found}


def test_a_node_has_what_it_reaches():
    assert told("Node") == {"node n1": ["a0", "a1", "r0", "s0"], "node n2": ["b0", "s0"], "node n3": ["s0"]}
    assert told("Node", "n2") == {"node n2": ["b0", "s0"]}


def test_nodes_come_by_name():
    assert list(told("Node")) == ["node n1", "node n2", "node n3"]


def test_a_pool_has_its_devices_once_whoever_reaches_them():
    pools = {f"pool {DRIVER}/{name}": found for name, found in CHIPS.items()}
    assert told("Pool") == pools
    assert list(told("Pool", "n3")) == [f"pool {DRIVER}/shared"]


CHIPS = {"a": ["a0", "a1"], "b": ["b0"], "rack": ["r0"], "shared": ["s0"]}


def test_the_cluster_is_one_and_whole_for_every_node():
    everything = ["a0", "a1", "b0", "r0", "s0"]
    assert {where: sorted(found) for where, found in told("Cluster").items()} == {"cluster": everything}
    assert sorted(told("Cluster", "n3")["cluster"]) == everything


def test_a_node_without_such_devices_is_no_instance():
    empty = Cluster.of([node("n1"), node("n2"), chips("b", "b0", node_name="n2")])
    assert told("Node", cluster=empty) == {"node n2": ["b0"]}
    assert told("Node", "n1", cluster=empty) == told("Cluster", "n1", cluster=empty) == {}


def test_devices_for_other_nodes_are_not_the_nodes():
    """DEV-4: with per-device selection each node has its own devices of a pool."""
    own = [Device(name="d1", node_name="n1"), Device(name="d2", node_name="n2"), Device(name="d3", all_nodes=True)]
    pool = resource_slice("p", driver=DRIVER, pool="p", devices=own, per_device_node_selection=True)
    cluster = Cluster.of([node("n1"), node("n2"), pool])
    assert told("Node", cluster=cluster) == {"node n1": ["d1", "d3"], "node n2": ["d2", "d3"]}
    assert [sorted(found) for found in told("Pool", cluster=cluster).values()] == [["d1", "d2", "d3"]]


def test_an_incomplete_pool_has_no_devices():
    """POOL-6."""
    cluster = Cluster.of([node("n1"), chips("a", "a0", node_name="n1", count=2)])
    assert told("Node", cluster=cluster) == {}

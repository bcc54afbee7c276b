"""Shapes in topologies, judged on the devices that were chosen (TOPO-1 to TOPO-5)."""

from itertools import combinations
from random import Random

import pytest
from support.objects import DRIVER, device, device_class, node, pool
from support.topology import asking, line_of, shape, topology
from support.topology_settings import Setting

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.claims import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.verification.verify import Placement, verify

RING = topology("Ring", "at", size=(8,))


def rules(entry, *names, objects, pool_of=lambda name: "p"):
    """The broken rules of topologies where a claim with this entry got these devices on the node ``n1``."""
    results = tuple(
        DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=pool_of(name), device=name) for name in names
    )
    made = AllocationResult(devices=DeviceAllocationResult(results=results))
    cluster = Cluster.of([device_class(), node("n1"), node("n2"), *objects])
    placement = Placement(cluster.node("n1"), ((asking(len(names), entry), made),))
    found = verify(cluster, [placement], FeatureGates.all_on())
    return {one.rule for one in found if one.rule.startswith("TOPO")}


@pytest.mark.parametrize("seed", range(40))
def test_every_set_of_devices_is_judged_by_the_definition(seed):
    setting = Setting(Random(seed))
    objects = [setting.topology, setting.supply()]
    kind, fields = setting.ask()
    for size in range(1, 4):
        for names in combinations(setting.names, size):
            broken = rules(shape(kind, **fields), *names, objects=objects)
            assert (not broken) == setting.holds(kind, fields, names), (kind, fields, names)


def test_a_device_that_comes_twice_counts_once():
    assert not rules(shape("Segment"), "d7", "d7", "d0", objects=[RING, line_of(8)])


def test_devices_without_coordinates_or_of_others():
    members = [device("d0", at=0), device("loose"), device("text", at="one"), device("several", at=(1, 2))]
    for name in ("loose", "text", "several"):
        assert rules(shape("Segment"), "d0", name, objects=[RING, pool(*members)]) == {"TOPO-3"}
    other = topology("Ring", "at", size=(8,), driver="e.x")
    assert rules(shape("Segment"), "d0", "d1", objects=[other, line_of(8)]) == {"TOPO-1"}


def test_a_topology_that_is_not_there():
    assert rules(shape("Segment", name="moon"), "d0", objects=[RING, line_of(8)]) == {"TOPO-1"}


def test_devices_of_two_pools():
    objects = [line_of(2), pool(device("e2", at=2), name="q")]
    names = {"pool_of": lambda name: "q" if name == "e2" else "p"}
    one = topology("Line", "at", scope="Pool")
    assert rules(shape("Segment"), "d1", "e2", objects=[one, *objects], **names) == {"TOPO-1"}
    assert not rules(shape("Segment"), "d1", "e2", objects=[topology("Line", "at"), *objects], **names)


def test_a_ring_of_the_cluster_is_larger_than_what_a_node_sees():
    near, far = line_of(8, 1, 2, 4, 5, 6, 7), line_of(8, 0, 1, 2, 3, 4, 6, name="q", node_name="n2")
    cluster = topology("Ring", "at", scope="Cluster")
    assert rules(shape("Segment"), "d0", "d3", objects=[cluster, near, far]) == {"TOPO-2"}
    assert not rules(shape("Segment"), "d0", "d3", objects=[topology("Ring", "at"), near, far])

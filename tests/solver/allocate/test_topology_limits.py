"""Finding the devices of topologies by the selectors of classes ends in time, whatever asks for them (CEL-11)."""

import pytest
from support.topology_mappings import device, published, topology

import drasat
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.problem.messages import DeadlineExceededError
from drasat.solver.allocate.topology import topology as show_topology
from drasat.solver.allocate.validate import topology_problems
from drasat.solver.engines.engine import Session
from drasat.solver.engines.engines import NodeCompiler

NUMBERS = "[" + ",".join(map(str, range(40))) + "]"
CHIPS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "chip"},
    "spec": {"selectors": [{"cel": {"expression": f"{NUMBERS}.map(a, {NUMBERS}.map(b, a * b)).size() > 0"}}]},
}
GATES = FeatureGates.all_on()


def chips(scope):
    return [topology(deviceClassName="chip", scope=scope, size=None), CHIPS, published(device("d", u=0, v=0))]


def test_axes_of_the_whole_cluster_are_looked_for_until_the_deadline():
    given = drasat.load(chips("Cluster"))
    (one,) = given.topologies.values()
    compiler = NodeCompiler(Session(given, GATES, "strict", 0))
    with pytest.raises(DeadlineExceededError):
        compiler.topologies.axes(one, 0.0)
    (axis, _) = compiler.topologies.axes(one, None)
    assert axis.size == 1


def test_showing_a_topology_ends_at_the_deadline():
    with pytest.raises(ValueError, match=r"finding the devices of DeviceTopology .* takes too long"):
        show_topology(drasat.load(chips("Node")), seconds=-1.0)


def test_validation_says_which_topologies_it_did_not_look_at():
    manifests, _, _ = read_manifests([chips("Node")])
    (told,) = topology_problems(manifests, GATES, seconds=-1.0)
    assert (told.severity, told.field) == ("warning", "spec.deviceClassName")
    assert list(topology_problems(manifests, GATES)) == []

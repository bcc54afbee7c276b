"""The scenarios of karpenter-dra 6 by the real Karpenter, and those that only it has."""

from __future__ import annotations

import pytest
from msgspec import structs
from support.karpenter import claim_spec, device_class, exactly, gpus, instance_type, node_pool, pod, template
from support.karpenter_scenarios import SCENARIOS

import drasat
from drasat.integrations.karpenter.simulation import provision_request, simulate_round
from drasat.models.kubernetes.gates import FeatureGates
from drasat.solver.compare.figures import scheduling_input


def asked(objects):
    cluster = drasat.load(list(objects), skip_validation=True)
    options = {"cel_errors": "kube", "seed": 0, "namespace": None, "selector": ""}
    inputs = scheduling_input(cluster, gates=FeatureGates.all_on(), **options)
    return inputs.cluster, [one.unit for one in inputs.units]


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(karpenter, name):
    one = SCENARIOS[name]
    found = simulate_round(*asked(one.objects), karpenter, 30)
    assert sorted(node.instance_type for node in found.nodes) == list(one.launched)
    assert sorted(found.unplaced) == list(one.left)


ONE_GPU = (node_pool(), device_class(), template("one", claim_spec(exactly())), instance_type("small", 1.0, gpus(1)))


def test_claims_are_refused_where_karpenter_ignores_them(karpenter):
    """Its default refuses pods with claims, and leaves others as they are (karpenter-dra 0)."""
    request = provision_request(*asked([*ONE_GPU, pod("a", "one"), pod("b")]))
    answer = karpenter.provision(structs.replace(request, ignore_claims=True))
    assert [one.pod for one in answer.errors or ()] == ["default/a"]
    assert [node.pods for node in answer.nodes or ()] == [("default/b",)]


def test_new_nodes_are_annotated_with_the_drivers_that_their_pods_ask_for(karpenter):
    """3.9, as NodeClaims of plans are."""
    answer = karpenter.provision(provision_request(*asked([*ONE_GPU, pod("a", "one")])))
    assert (answer.nodes or ())[0].annotations["karpenter.sh/requested-dra-drivers"] == "gpu.example.com"

"""What the kinds of requests ask for can be had on the nodes they are made for."""

from random import Random

import pytest
from support.gates import ALL

from drasat import scenarios
from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.scenarios.clusters import CLAIM_KINDS
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine

OFFERS = {
    "gpu": scenarios.gpu_nodes,
    "near-gpus": scenarios.gpu_nodes,
    "either-gpu": scenarios.gpu_nodes,
    "mig": scenarios.mig_nodes,
    "gpu-with-nic": scenarios.nic_nodes,
    "cpus": scenarios.cpu_nodes,
    "channel": scenarios.channel_nodes,
    "monitor": scenarios.channel_nodes,
    "tpu": scenarios.multi_host_nodes,
}


def test_every_kind_is_offered_somewhere():
    assert set(OFFERS) == set(CLAIM_KINDS)


def attempts(kind, *, fullness=0.0, count=8):
    """Each request of a kind alone, on the first node it is made for."""
    namespace = "monitoring" if kind == "monitor" else "default"
    asked = scenarios.requests(count, {kind: 1}, seed=3, form="claims", namespace=namespace)
    return [attempt(unit, *state) for unit, *state in prepared(kind, asked, fullness)]


def prepared(kind, asked, fullness):
    offered = OFFERS[kind](1, fullness=fullness)
    cluster = Cluster.build(read_manifests([scenarios.combine(offered, asked)])[0])
    for unit in requested_units(cluster):
        yield unit, backtracking_engine(Session(cluster, ALL, "kube", 0)), cluster


def attempt(unit, engine, cluster):
    node = next(iter(cluster.nodes.values()))
    return engine.allocate_on(
        node, [ref.claim for ref in unit.requested_claims], AllocatedState(cluster.usage(ALL)), None
    )


@pytest.mark.parametrize("kind", CLAIM_KINDS)
def test_an_empty_node_has_what_is_asked_for(kind):
    assert {found.status for found in attempts(kind)} == {Status.ALLOCATED}


@pytest.mark.parametrize("kind", [kind for kind in CLAIM_KINDS if kind != "monitor"])
def test_a_full_node_has_nothing(kind):
    assert {found.status for found in attempts(kind, fullness=1.0)} == {Status.UNALLOCATABLE}


def test_monitoring_a_full_node_is_possible():
    (found,) = attempts("monitor", fullness=1.0, count=1)
    results = found.allocations[0].devices.results
    assert len(results) == 16
    assert all(result.admin_access for result in results)


@pytest.mark.parametrize("kind", CLAIM_KINDS)
def test_equal_names_mean_equal_requests(kind):
    specs = {}
    for seed in range(50):
        ask = CLAIM_KINDS[kind](Random(seed))
        assert specs.setdefault(ask.name, ask.spec) == ask.spec

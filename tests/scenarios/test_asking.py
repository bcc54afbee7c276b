"""What the kinds of requests ask for can be had on the nodes they are made for."""

from random import Random

import pytest
from support.gates import ALL

from drasat import scenarios
from drasat.models.cluster import Cluster
from drasat.models.manifests import read_manifests
from drasat.models.units import units
from drasat.problem.in_use import Ledger
from drasat.scenarios.asking import KINDS
from drasat.solver.attempts import Ending, Session
from drasat.solver.backtracking import Backtracking

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
    assert set(OFFERS) == set(KINDS)


def attempts(kind, *, fullness=0.0, count=8):
    """Each request of a kind alone, on the first node it is made for."""
    namespace = "monitoring" if kind == "monitor" else "default"
    asked = scenarios.requests(count, {kind: 1}, seed=3, form="claims", namespace=namespace)
    return [attempt(unit, *state) for unit, *state in prepared(kind, asked, fullness)]


def prepared(kind, asked, fullness):
    offered = OFFERS[kind](1, fullness=fullness)
    cluster = Cluster.build(read_manifests([scenarios.combine(offered, asked)])[0])
    for unit in units(cluster):
        yield unit, Backtracking(Session(cluster, ALL, "kube", 0)), cluster


def attempt(unit, engine, cluster):
    node = next(iter(cluster.nodes.values()))
    return engine.attempt(node, [ref.claim for ref in unit.asked], Ledger(cluster.usage(ALL)), None)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_node_has_what_is_asked_for(kind):
    assert {found.ending for found in attempts(kind)} == {Ending.ALLOCATED}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "monitor"])
def test_a_full_node_has_nothing(kind):
    assert {found.ending for found in attempts(kind, fullness=1.0)} == {Ending.NONE}


def test_monitoring_a_full_node_is_possible():
    (found,) = attempts("monitor", fullness=1.0, count=1)
    results = found.allocations[0].devices.results
    assert len(results) == 16
    assert all(result.admin_access for result in results)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_names_mean_equal_requests(kind):
    specs = {}
    for seed in range(50):
        ask = KINDS[kind](Random(seed))
        assert specs.setdefault(ask.name, ask.spec) == ask.spec

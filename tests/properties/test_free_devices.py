"""``show`` calls a device free if and only if ``allocate`` gives it to a claim that asks for nothing else."""

from collections import Counter
from dataclasses import replace

import pytest
from support.families import FAMILIES
from support.objects import claim, device_class, want
from support.random_clusters import load, pinned, with_pins

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.meta import key_of
from drasat.models.manifests.writer import is_allocated
from drasat.scenarios.clusters import mixed_nodes, with_taints
from drasat.scenarios.mig import mig_shape
from drasat.scenarios.node_shapes import nodes_of
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load as build
from drasat.verbs.show import show

ANY = "any-device-at-all"


def only_held(cluster):
    """The cluster with pins and a class for everything, without pods and without claims that hold nothing."""
    open_claims = [key for key, one in cluster.claims.items() if not is_allocated(one)]
    kept = with_pins(cluster.without(pods=cluster.pods, claims=open_claims))
    return replace(kept, classes={**kept.classes, ANY: device_class(ANY)})


def asking_for(cluster, device):
    """The cluster with one more claim, which asks for this device alone; and the claim's name."""
    one = pinned(claim(want("r", cls=ANY), name="only-one"), {"r": [device]}, cluster)
    return cluster.with_claims([one]), "/".join(key_of(one.metadata))


def states_that_differ(cluster, feature_gates):
    """Devices of which the two verbs say different things, and how many there are in each state."""
    cluster = only_held(cluster)
    different, states = [], Counter()
    for found in show(cluster, feature_gates=feature_gates).devices:
        asked, name = asking_for(cluster, (found.driver, found.pool, found.device))
        made = allocate(asked, claims=[name], feature_gates=feature_gates, cel_errors="skip", engine="backtracking")
        states[found.state] += 1
        if (found.state == "free") != (made.outcome == "Allocated"):
            different.append((found, made.outcome, [reason.message for unit in made.units for reason in unit.reasons]))
    return different, states


@pytest.mark.parametrize("family", FAMILIES)
def test_free_devices_are_those_that_can_be_allocated(family):
    total = Counter()
    for seed in range(6):
        different, states = states_that_differ(load(family, seed), FeatureGates.all_on())
        assert different == [], (family, seed)
        total += states
    assert total["free"]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_so_it_is_with_the_gates_of_releases(version):
    for seed in range(12):
        family = sorted(FAMILIES)[seed % len(FAMILIES)]
        assert states_that_differ(load(family, seed), FeatureGates.for_version(version))[0] == [], (family, seed)


SCENARIOS = {
    "mixed nodes": lambda: mixed_nodes(6, seed=3, fullness=0.5),
    "tainted nodes": lambda: with_taints(mixed_nodes(6, seed=4, fullness=0.3), 0.2, 2, seed=5),
    "partitions": lambda: nodes_of([(mig_shape(2), 1)], 3, "mig", 1, 0.4),
}
EXPECTED = {
    "mixed nodes": {"free", "inUse"},
    "tainted nodes": {"free", "inUse", "tainted"},
    "partitions": {"free", "inUse", "blocked"},
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_so_it_is_on_clusters_of_realistic_nodes(scenario):
    different, states = states_that_differ(build(SCENARIOS[scenario]()), FeatureGates.all_on())
    assert different == []
    assert states.keys() >= EXPECTED[scenario]

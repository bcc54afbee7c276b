"""Clusters of growing size."""

import pytest

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests
from drasat.scenarios.one_node import SWEEP_SIZES, SWEEPS
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load


def devices(objects):
    return sum(len(one["spec"].get("devices", ())) for one in objects if one["kind"] == "ResourceSlice")


@pytest.mark.parametrize("name", SWEEPS)
def test_they_are_valid_and_the_same_each_time(name):
    objects = SWEEPS[name](12)
    manifests, found, _ = read_manifests([objects])
    assert found + validate_manifests(manifests, FeatureGates.all_on(), False) == []
    assert objects == SWEEPS[name](12)


@pytest.mark.parametrize(
    ("name", "outcome", "admitted"),
    [
        ("easy", "Allocated", 1),
        ("too-many", "Unallocatable", 0),
        ("hopeless", "Unallocatable", 0),
        ("pods", "Allocated", 8),
        ("selecting-pods", "Allocated", 8),
        ("matching-pods", "Allocated", 4),
    ],
)
def test_what_becomes_of_them(name, outcome, admitted):
    found = allocate(load(SWEEPS[name](8)))
    assert (found.outcome, found.counts()["Allocated"]) == (outcome, admitted)


def steps(name, size):
    return allocate(load(SWEEPS[name](size)), engine="backtracking").statistics.steps


def test_the_steps_of_a_search_are_the_known_ones():
    """SRCH-11: 2^n calls for one device too many; 16 choose 8 and then something impossible takes 52,073."""
    assert [steps("too-many", size) for size in (4, 6, 8)] == [16, 64, 256]
    assert steps("hopeless", 16) == 52_073


@pytest.mark.parametrize(("name", "size", "nodes"), [("pods", 25, 3), ("easy", 25, 1), ("matching-pods", 40, 4)])
def test_nodes_grow_with_the_pods(name, size, nodes):
    objects = SWEEPS[name](size)
    assert sum(one["kind"] == "Node" for one in objects) == nodes
    assert devices(objects) == (nodes * 10 if "pods" in name else size)


def test_every_sweep_has_growing_sizes():
    assert SWEEP_SIZES.keys() == SWEEPS.keys()
    assert all(list(sizes) == sorted(set(sizes)) for sizes in SWEEP_SIZES.values())

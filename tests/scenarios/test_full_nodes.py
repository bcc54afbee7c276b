"""Full nodes: valid, the same each time, of the stated sizes, and what was planted can be allocated."""

import json
from collections import Counter

import pytest
from full_nodes import full_node

from drasat.models.workload.requested import requested_units
from drasat.solver.allocate.allocate import allocate

SEEDS = range(100)
# Small enough for a search.
SHRUNK = 8


@pytest.mark.parametrize("seed", range(12))
def test_members_are_valid_and_the_same_each_time(seed, load):
    member = full_node(seed)
    assert member == full_node(seed)
    cluster = load(member.objects)
    assert len(cluster.nodes) == 1
    assert len(requested_units(cluster)) == 1


def test_members_differ():
    assert len({json.dumps(full_node(seed).objects) for seed in SEEDS}) == len(SEEDS)


def test_sizes_by_kind(load):
    kinds = [[load(full_node(seed).objects) for seed in range(kind, 30, 3)] for kind in range(3)]
    partitions, whole, both = ([cluster.summary()["devices"] for cluster in clusters] for clusters in kinds)
    assert set(partitions) == {4 * 26, 8 * 26}
    assert all(64 <= devices <= 128 for devices in whole)
    assert all(52 + 32 <= devices <= 52 + 64 for devices in both)
    for clusters in kinds:
        assert min(len(requested_units(cluster)[0].claims) for cluster in clusters) >= 5
        assert sum(cluster.summary()["allocated claims"] for cluster in clusters) > 30


@pytest.mark.parametrize(
    "mark",
    [
        "matchAttribute",
        "distinctAttribute",
        "firstAvailable",
        "consumesCounters",
        "allowMultipleAllocations",
        "strings",
        "selectors",
        "allocation",
    ],
)
def test_all_that_makes_claims_depend_on_each_other_occurs(mark):
    assert mark in json.dumps([full_node(seed).objects for seed in range(6)])


def test_what_was_planted_can_be_allocated(load):
    planted = [member for member in (full_node(seed, SHRUNK) for seed in range(150)) if member.planted]
    found = Counter(allocate(load(member.objects), engine="backtracking", time_limit=5).outcome for member in planted)
    assert found["Allocated"] > len(planted) / 2 > 5
    assert set(found) <= {"Allocated", "Unknown"}


def test_one_claim_more_is_often_too_many(load):
    more = [member for member in (full_node(seed, SHRUNK) for seed in range(60)) if not member.planted]
    found = Counter(allocate(load(member.objects), engine="backtracking", time_limit=0.2).outcome for member in more)
    assert min(found["Allocated"], found["Unallocatable"]) > 3


def test_some_are_all_planted():
    assert 0.1 < sum(full_node(seed).planted for seed in SEEDS) / len(SEEDS) < 0.3

"""``explain`` and ``capacity`` say what ``allocate`` says: on members of every family, with gates on and off."""

from collections import Counter
from random import Random

import pytest
from support.families import FAMILIES, member
from support.gates import without
from support.random_clusters import load

from drasat.models.kubernetes.gates import GATES, FeatureGates
from drasat.models.manifests.writer import is_allocated
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load as build
from drasat.solver.capacity.capacity import capacity
from drasat.solver.explain.explain import explain

LIMIT = 4
# Far beyond what audits here take; one that finds an allocation for a no, or more copies than a bound, raises an error.
SECONDS = 600.0


def gates_for(family, seed):
    rng = Random(f"{family}/{seed}")
    if seed % 2:
        return FeatureGates.all_on()
    return without(*rng.sample(sorted(GATES)[1:], 2))


def alone(objects, key):
    """The cluster without pods, and without open claims but this one."""

    def stays(item):
        if item["kind"] != "ResourceClaim":
            return item["kind"] != "Pod"
        named = item["metadata"]
        return "allocation" in item.get("status", {}) or (named["namespace"], named["name"]) == key

    return build(list(filter(stays, objects)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_unit_is_explained_if_and_only_if_it_gets_nothing(family):
    for seed in range(4):
        cluster, gates = load(family, seed), gates_for(family, seed)
        told = explain(cluster, feature_gates=gates, audit=SECONDS, time_limit=None)
        made = allocate(cluster, feature_gates=gates, audit=SECONDS, time_limit=None)
        assert [(one.outcome, one.node) for one in told.units] == [(one.outcome, one.node) for one in made.units]
        for unit in told.units:
            fits = unit.outcome == "Allocated"
            assert fits == (not unit.reasons and not unit.failures)
            assert not (fits and unit.relaxations)
            assert all(
                reason.message and reason.id != "combination" for kind in unit.failures for reason in kind.reasons
            )
            assert all(kind.reasons and kind.minimal for kind in unit.failures)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_fits_on_a_node_if_and_only_if_it_is_allocated_there(family):
    ends = Counter()
    for seed in range(3):
        cluster, gates = load(family, seed), gates_for(family, seed)
        for key, claim in cluster.claims.items():
            if is_allocated(claim):
                continue
            name = "/".join(key)
            single = alone(member(family, seed), key)
            found = capacity(cluster, claim=name, limit=LIMIT, feature_gates=gates, time_limit=None, audit=SECONDS)
            assert found.verified
            for kind in found.nodes:
                room = kind.room
                one = allocate(single, node=kind.nodes[0], claims=[name], feature_gates=gates)
                fits = one.units[0].outcome == "Allocated"
                assert fits == (room.unbounded or room.fits > 0)
                assert room.unbounded or room.bound is None or room.fits <= room.bound
                assert room.unbounded or fits or (room.bound, bool(kind.reasons)) == (0, True)
                assert room.first_fit is None or room.first_fit <= room.fits
                ends[fits] += 1
            assert found.total.unbounded == any(kind.room.unbounded for kind in found.nodes)
    assert ends


def test_some_fit_and_some_do_not():
    """Otherwise the tests above say little."""
    outcomes = Counter(
        unit.outcome for family in list(FAMILIES)[:8] for seed in range(2) for unit in explain(load(family, seed)).units
    )
    assert min(outcomes["Allocated"], outcomes["Unallocatable"]) > 5

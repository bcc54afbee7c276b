"""Backtracking and the real allocator answer alike: outcome, devices, configuration, node selector, error, steps."""

import pytest
from support.differential.coverage import BLOCK, TABLE, coverage_of
from support.differential.members import Comparison, compare
from support.differential.shrinking import story
from support.differential.sources import OTHERS, TURN, gates_of, named, objects_of
from support.families import FAMILIES

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.engines.kube_scheduler import KubeSchedulerEngine

CASES = 60 * TURN
CHUNK = 2 * TURN
CHUNKS = range(0, CASES, CHUNK)


@pytest.mark.parametrize("first", CHUNKS)
def test_answers_are_equal(real, first):
    for number in range(first, first + CHUNK):
        found = compare(objects_of(*named(number)), gates_of(*named(number)), real)
        if found.differences:
            pytest.fail(story(number, real))


def test_the_cases_are_worth_comparing(real):
    """Every ending and variant often enough; half of the families' members can be allocated."""
    total = Comparison()
    for number in range(0, CASES, 7):
        found = compare(objects_of(*named(number)), gates_of(*named(number)), real)
        total.endings += found.endings
        total.variants += found.variants
    asked = total.endings.total()
    assert asked > 400
    for ending in (Status.ALLOCATED, Status.UNALLOCATABLE, Status.ERROR):
        assert total.endings[ending] > asked / 20
    assert min(total.variants[name] for name in ("stable", "incubating", "experimental")) > asked / 40


def test_all_families_and_gates_take_part():
    names = [named(number) for number in range(CASES)]
    assert {family for family, _ in names} == {*FAMILIES, *OTHERS}
    assert len(set(names)) == CASES
    gates = [gates_of(*name) for name in names]
    assert all(any(gate not in some.enabled for some in gates) for gate in gates[0].to_dict() if gate[:3] == "DRA")


def test_every_pair_of_features_meets(record_property):
    """In the first block of the long run. The table is printed at the end of the tests."""
    found = coverage_of(range(BLOCK))
    record_property(TABLE, "\n".join(found.table()))
    assert found.never_met() == []


def test_a_pair_that_never_met_is_told():
    found = coverage_of(range(TURN))
    missing = found.never_met()
    assert missing
    assert f"never met: {missing[0][0]} and {missing[0][1]}" in found.table()
    found.add(missing[0])
    assert missing[0] not in found.never_met()


@pytest.mark.parametrize("family", [*FAMILIES, *OTHERS])
def test_documents_are_equal(real, family, register):
    """Through the whole of ``allocate``: several units and nodes, remembered failures, the verifier, share ids."""
    register("kube-scheduler", lambda session: KubeSchedulerEngine(session, real))
    for seed in range(8):
        manifests, _, _ = read_manifests([objects_of(family, seed)])
        cluster = Cluster.build(manifests)
        ours, theirs = (
            allocate(cluster, engine=engine, cel_errors="kube") for engine in ("backtracking", "kube-scheduler")
        )
        assert [_told(unit) for unit in ours.units] == [_told(unit) for unit in theirs.units]
        assert ours.verified
        assert theirs.verified


def _told(answer):
    made = [(ref.key, allocation) for ref, allocation in answer.allocations]
    return answer.unit.name, answer.outcome, answer.node, made

"""Engines side by side on claims with entries that are judged on complete sets."""

from random import Random

import pytest
from msgspec.structs import replace
from support.objects import claim, device, device_class, node, pool, want
from support.peers import SchedulingPeer
from support.related import Related
from support.soft import cel, near, wishing

from drasat.models.cluster.cluster import Cluster
from drasat.solver.compare.engines import compare

ENGINES = ("backtracking", "auto", "cp-sat")


def cluster(*objects):
    there = pool(*(device(f"d{number}", kind=kind) for number, kind in enumerate("abab")))
    return Cluster.of([device_class(), node(), there, *objects])


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_engines_agree_on_who_gets_devices(start):
    outcomes = set()
    for seed in range(start, start + 20):
        objects = Related(Random(seed)).objects()
        found = compare(Cluster.of([device_class(), node(), *objects]), ENGINES, cel_errors="strict")
        assert found.all_decided, seed
        assert found.same_verdict, (seed, [run.verdict for run in found.runs])
        outcomes.add(found.runs[0].answer.outcome)
    assert {"Allocated", "Unallocatable"} <= outcomes


def test_an_engine_that_does_not_know_what_must_hold_is_skipped():
    peer = SchedulingPeer()
    asked = wishing(claim(want()), cel("devices.size() == 1", weight=None, name="one"))
    found = compare(cluster(asked), ("auto", "kube-scheduler"), peer=lambda: peer)
    assert found.skipped == {"kube-scheduler": "engine kube-scheduler cannot honour entry one of claim ns/c"}
    assert [run.engine for run in found.runs] == ["auto"]
    assert not found.all_decided
    assert not peer.requests


@pytest.mark.parametrize("engine", ["backtracking", "kube-scheduler"])
def test_engines_that_do_not_mind_soft_entries_say_so(engine):
    asked = wishing(claim(want(count=2)), near(attribute="d.x/kind", weight=3))
    found = compare(cluster(asked), (engine, "cp-sat"), peer=SchedulingPeer)
    assert found.same_verdict
    assert found.runs[0].answer.notices == (f"engine {engine} does not mind soft entries: those of claim ns/c",)
    assert found.runs[1].answer.notices == ()


def test_answers_may_differ_in_devices_for_a_soft_entry():
    asked = wishing(claim(want(count=2)), near(attribute="d.x/kind", weight=3))
    found = compare(cluster(asked), ("backtracking", "auto"))
    assert found.same_verdict
    assert found.units[0].relation == "different"
    assert [[entry.kept for entry in run.answer.units[0].soft_entries] for run in found.runs] == [[False], [True]]


def test_claims_with_and_without_entries_are_compared():
    asked = wishing(claim(want(count=2)), near(attribute="d.x/kind", weight=None))
    plain = replace(asked, metadata=replace(asked.metadata, name="plain", annotations=None))
    found = compare(cluster(asked, plain), ("backtracking", "cp-sat"))
    assert [run.verdict for run in found.runs] == [("Allocated", 2)] * 2

"""What documents say is derived again from the manifests: every witness of every family, and none that was changed."""

from collections import Counter

import pytest
from support.families import FAMILIES
from support.random_clusters import load
from support.random_plans import CHAINS, plan_manifests
from support.random_plans import FAMILIES as PLAN_FAMILIES

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.scenarios import one_node

SEEDS = range(8)
# Far beyond what audits here take.
SECONDS = 600.0


def witnesses(document):
    """All witnesses of a document, nested ones included."""
    open_ = [one.witness for unit in document.units for one in unit.failures if one.witness is not None]
    while open_:
        yield open_[-1]
        open_ += open_.pop().cases


def failing(document, cluster):
    """What a check says to be wrong, with an audit of refusals or without."""
    asked = [drasat.check(document, cluster, audit=audit, time_limit=None) for audit in (False, True)]
    lines = [line for one in asked for line in one.lines]
    return [(one.about, one.said, one.reason) for one in lines if one.verdict == "fails"]


@pytest.mark.parametrize("verb", [drasat.allocate, drasat.explain])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_documents_of_a_family_say_holds(family, verb):
    for seed in SEEDS:
        cluster = load(family, seed)
        assert failing(verb(cluster), cluster) == [], seed


@pytest.mark.parametrize("family", [*PLAN_FAMILIES, *CHAINS])
def test_all_that_documents_about_a_queue_say_holds(family):
    """Pods of a queue share claims, which documents tell with the first of them."""
    for seed in range(3):
        documents = plan_manifests(family, seed)
        cluster = Cluster.build(read_manifests([documents])[0])
        buys = any(one["kind"] == "NodeTemplate" for one in documents)
        assert failing(drasat.allocate(cluster, time_limit=None), cluster) == [], seed
        for audit in (None, SECONDS):
            found = drasat.plan(cluster, buy=buys, duals=True, audit=audit, time_limit=None)
            assert failing(found, cluster) == [], (seed, audit)


def test_every_kind_of_sum_is_met():
    found = Counter()
    for family, seed in ((family, seed) for family in FAMILIES for seed in range(3)):
        found.update(one.kind for one in witnesses(drasat.allocate(load(family, seed)).document))
    assert {"devices", "matchAttribute", "firstAvailable", "counters", "values"} <= found.keys()


@pytest.mark.parametrize("name", one_node.QUESTIONS)
def test_hard_questions_hold(name):
    cluster = drasat.load(one_node.QUESTIONS[name].objects())
    assert failing(drasat.allocate(cluster, time_limit=None), cluster) == []

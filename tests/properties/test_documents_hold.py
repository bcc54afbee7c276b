"""What documents say is derived again from the manifests: every witness of every family, and none that was changed."""

from collections import Counter

import pytest
from support.families import FAMILIES
from support.random_clusters import load

import drasat
from drasat.scenarios import one_node

SEEDS = range(8)


def witnesses(document):
    """All witnesses of a document, nested ones included."""
    open_ = [one.witness for unit in document.units for one in unit.failures if one.witness is not None]
    while open_:
        yield open_[-1]
        open_ += open_.pop().cases


def failing(document, cluster):
    return [
        (one.about, one.said, one.reason) for one in drasat.check(document, cluster).lines if one.verdict == "fails"
    ]


@pytest.mark.parametrize("verb", [drasat.allocate, drasat.explain])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_documents_of_a_family_say_holds(family, verb):
    for seed in SEEDS:
        cluster = load(family, seed)
        assert failing(verb(cluster), cluster) == [], seed


def test_every_kind_of_sum_is_met():
    found = Counter()
    for family, seed in ((family, seed) for family in FAMILIES for seed in range(3)):
        found.update(one.kind for one in witnesses(drasat.allocate(load(family, seed)).document))
    assert {"devices", "matchAttribute", "firstAvailable", "counters", "values"} <= found.keys()


@pytest.mark.parametrize("name", one_node.QUESTIONS)
def test_hard_questions_hold(name):
    cluster = drasat.load(one_node.QUESTIONS[name].objects())
    assert failing(drasat.allocate(cluster, time_limit=None), cluster) == []

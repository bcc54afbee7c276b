"""Families of random clusters: valid, reproducible, and with what their names promise."""

import json

import kubernetes_validate
import pytest
from support.data import cases
from support.families import FAMILIES, member

from drasat.models.workload.requested import requested_units

SEEDS = range(25)
EVERY = pytest.mark.parametrize("family", FAMILIES)


@EVERY
def test_members_are_valid(family, problems):
    assert [found for seed in SEEDS for found in problems(member(family, seed))] == []


@EVERY
def test_members_have_the_shape_of_the_published_schema(family):
    for item in member(family, 7):
        kubernetes_validate.validate(item, "1.37", strict=True)


@EVERY
def test_a_seed_always_gives_the_same_member(family):
    assert json.dumps(member(family, 11)) == json.dumps(member(family, 11))
    assert len({json.dumps(member(family, seed)) for seed in SEEDS}) == len(SEEDS)


@EVERY
def test_members_ask_for_something(family, load):
    for seed in SEEDS:
        asked = requested_units(load(member(family, seed)))
        assert asked
        assert not [unit.problems for unit in asked if unit.problems]


@EVERY
def test_members_are_small(family, load):
    for seed in SEEDS:
        cluster = load(member(family, seed))
        assert len(cluster.nodes) <= 3
        assert cluster.summary()["devices"] <= 60
        assert sum(len(unit.claims) for unit in requested_units(cluster)) <= 3


@pytest.mark.parametrize(("family", "marks"), cases("scenarios/families", "families_have_what_they_are_about"))
def test_families_have_what_they_are_about(family, marks):
    text = "\n".join(json.dumps(item) for seed in range(60) for item in member(family, seed))
    assert [mark for mark in marks if mark not in text] == []


def test_every_family_is_described_here():
    described = test_families_have_what_they_are_about.pytestmark[0].args[1]
    assert [family for family, _ in described] == list(FAMILIES)


@EVERY
def test_all_forms_of_asking_occur(family, load):
    forms = set()
    for seed in range(40):
        for unit in requested_units(load(member(family, seed))):
            forms.add("loose" if unit.pod is None else "template" if unit.claims[0].generated else "pod")
    assert "pod" in forms
    assert family == "nodes" or forms == {"loose", "template", "pod"}

"""Leaving out what a question cannot see changes no answer: random clusters, asked with and without."""

import random

import pytest
from support.families import FAMILIES, member

from drasat.models.cluster.cluster import Cluster
from drasat.models.manifests.reader import read_manifests
from drasat.problem import compiler as compiling
from drasat.problem.requests import ALL_VISIBLE
from drasat.solver.allocate.allocate import allocate

SEEDS = range(12)
# Families whose devices differ in what everybody sees.
ALL_DIFFERENT = {"shares-in-use"}


def objects_with_unique_values(family, seed):
    """A member of a family, its devices with serial numbers, some of which cannot be read (CEL-3)."""
    rng = random.Random(f"{family}/{seed}")
    made = member(family, seed)
    for item in made:
        if item["kind"] == "ResourceSlice":
            for device in item["spec"].get("devices") or ():
                attributes = device.setdefault("attributes", {})
                attributes["serial.example.com/number"] = {"int": rng.randrange(10**9)}
                text = "unreadable" if rng.random() < 0.02 else f"1.0.{rng.randrange(100)}"
                attributes["serial.example.com/firmware"] = {"version": text}
    return made


def answers(objects, policy):
    manifests, _, _ = read_manifests([objects])
    found = allocate(Cluster.build(manifests), cel_errors=policy)
    units = [(unit.outcome, unit.node, unit.reasons, unit.failures) for unit in found.units]
    return units, [allocation for unit in found.units for _, allocation in unit.allocations], found.statistics


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("policy", ["kube", "strict", "skip"])
def test_answers_do_not_depend_on_what_is_hidden(family, policy, monkeypatch):
    fewer = 0
    for seed in SEEDS:
        objects = objects_with_unique_values(family, seed)
        hidden = answers(objects, policy)
        with monkeypatch.context() as patch:
            patch.setattr(compiling, "visible_attributes", lambda *_: ALL_VISIBLE)
            shown = answers(objects, policy)
        assert hidden[:2] == shown[:2]
        assert hidden[2].classes <= shown[2].classes
        fewer += shown[2].classes - hidden[2].classes
    assert fewer > 0 or family in ALL_DIFFERENT

"""The comparison itself: it sees planted differences, and makes them small."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from differential import long_run
from support.differential import answers
from support.differential.members import compare
from support.differential.shrinking import is_valid, shrink, story
from support.differential.sources import OTHERS, WILD, gates_of, named, objects_of
from support.families import FAMILIES
from support.gates import ALL

from drasat.models.results.common import Status
from drasat.solver.engines.engine import Counts, NodeResult
from drasat.solver.engines.registry import backtracking_engine


class Refusing:
    """An engine of ours that refuses what takes more than one device."""

    def __init__(self, session):
        self._real = backtracking_engine(session)

    @property
    def counts(self):
        return self._real.counts

    def allocate_on(self, node, claims, allocated_state, deadline):
        found = self._real.allocate_on(node, claims, allocated_state, deadline)
        devices = [result for made in found.allocations for result in made.devices.results or ()]
        return NodeResult(Status.UNALLOCATABLE, message="cannot allocate all claims") if len(devices) > 1 else found


class Miscounting(Refusing):
    @property
    def counts(self):
        return Counts(steps=self._real.counts.steps + 1)

    def allocate_on(self, node, claims, allocated_state, deadline):
        return self._real.allocate_on(node, claims, allocated_state, deadline)


class Forgetful(Miscounting):
    """Drops the configuration."""

    @property
    def counts(self):
        return self._real.counts

    def allocate_on(self, node, claims, allocated_state, deadline):
        found = super().allocate_on(node, claims, allocated_state, deadline)
        bare = (answers.replace(made, devices=answers.replace(made.devices, config=None)) for made in found.allocations)
        return replace(found, allocations=tuple(bare))


def first_difference(real, family):
    for seed in range(40):
        found = compare(objects_of(family, seed), ALL, real).differences
        if found:
            return found
    return []


@pytest.mark.parametrize(
    ("engine", "family", "fields"),
    [
        (Refusing, "match", ["status", "message", "allocations"]),
        (Miscounting, "taints", ["steps"]),
        (Forgetful, "configs", ["allocations"]),
    ],
)
def test_a_planted_difference_is_seen(real, register, engine, family, fields):
    assert first_difference(real, family) == []
    register("backtracking", engine)
    assert [difference.field for difference in first_difference(real, family)][: len(fields)] == fields


def test_a_difference_is_told_as_minimal_manifests(real, register):
    register("backtracking", Refusing)
    number = next(n for n in range(40) if compare(objects_of(*named(n)), gates_of(*named(n)), real).differences)
    text = story(number, real)
    assert text.startswith(f"# case {number}: ")
    assert text.count("kind: ResourceClaim\n") + text.count("kind: ResourceClaimTemplate\n") == 1
    assert text.count("\nkind: ResourceSlice\n") <= 2
    assert "theirs: Allocated" in text
    assert "constraints:" not in text


def test_a_long_run_stops_at_the_first_difference(real, register, capsys):
    assert long_run.run(range(20), real) == 0
    assert "no difference: 20 clusters" in capsys.readouterr().out
    register("backtracking", Miscounting)
    assert long_run.run(range(20), real) == 1
    assert "# steps on node" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["many"], ["1", "2", "3"], ["-1"]], ids=["none", "word", "three", "negative"]
)
def test_a_long_run_says_how_it_is_used(arguments):
    script = Path(long_run.__file__)
    paths = {**os.environ, "PYTHONPATH": str(script.parents[1])}
    done = subprocess.run([sys.executable, script, *arguments], env=paths, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: long_run.py N [FIRST]\n")


def test_shrinking_keeps_what_the_test_needs_and_no_more():
    objects = [{"a": [1, 2, {"b": 3, "c": [4, 5]}], "d": 6}, {"e": 7}, {"a": 8}]
    kept = shrink(objects, lambda some: any(5 in part.get("c", ()) for one in some for part in _mappings(one.get("a"))))
    assert kept == [{"a": [{"c": [5]}]}]
    assert objects[0]["a"][2] == {"b": 3, "c": [4, 5]}


def _mappings(value):
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def test_shrinking_never_leaves_what_the_api_accepts():
    objects = objects_of("match", 1)
    assert is_valid(objects, ALL)
    assert not is_valid([{**objects[-1], "metadata": {}}], ALL)


@pytest.mark.parametrize("family", [*FAMILIES, *OTHERS])
def test_members_are_valid(family):
    assert all(is_valid(objects_of(family, seed), ALL) for seed in range(15))


def test_cases_are_the_same_in_every_run():
    assert objects_of(WILD, 5) == objects_of(WILD, 5)
    assert gates_of(WILD, 5) == gates_of(WILD, 5)
    assert objects_of(WILD, 5) != objects_of(WILD, 6)

"""Families of random clusters, whole and with something broken in them: an answer or an input error, never a defect."""

import random
from collections import Counter

import pytest
from support.families import FAMILIES, member
from support.whole_objects import places, with_value

import drasat
from drasat.models.kubernetes.gates import GATES
from drasat.reports import allocation as report
from drasat.reports import inventory as inventory_report
from drasat.reports.tables import format_tree

POLICIES = ("kube", "strict", "skip")
JUNK = [
    *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, 1e300),
    *("", " ", "x", "X_", "a/b", "1", "-1", "1e30", "9" * 400, "\x1b[31m", "a\nb", "None", "NoExecute", "All", "*"),
    *([], {}, [None], [{}], [[]], {"": None}, {"a": "b"}, {"x": {}}, ["a", "a"], {"key": "a"}),
    *("device.driver == 'x'", "1/0 == 1", "x" * 300),
]


def seen(found):
    """Look at every view of an answer, and give its outcome."""
    assert found.to_json()
    assert found.document.verified
    assert list(report.rows(found.document)) or not found.units
    assert all(map(str, [*report.wide_rows(found.document), *report.reasons(found.document)]))
    return found.outcome


@pytest.mark.parametrize("family", FAMILIES)
def test_every_policy_and_any_gate_off_gives_verified_answers(family):
    rng = random.Random(family)
    outcomes = Counter()
    for seed in range(6):
        cluster = drasat.load(member(family, seed))
        for policy in POLICIES:
            outcomes[seen(drasat.allocate(cluster, cel_errors=policy))] += 1
        for gate in rng.sample([*GATES], 3):
            outcomes[seen(drasat.allocate(cluster, feature_gates={gate: False}))] += 1
    assert len(outcomes) > 1


def broken(rng, objects):
    """Put junk in one to three places."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        path, _ = rng.choice(list(places(objects)))
        objects = with_value(objects, path, rng.choice(JUNK))
    return objects


@pytest.mark.parametrize("family", FAMILIES)
def test_broken_clusters_are_refused_or_answered(family):
    rng = random.Random(f"broken {family}")
    outcomes, problems = Counter(), []
    for seed in range(25):
        objects = broken(rng, [dict(one) for one in member(family, seed)])
        for lifted in (True, False):
            try:
                cluster = drasat.load(objects, skip_validation=lifted)
            except drasat.InputError as error:
                outcomes["refused"] += 1
                problems += error.problems
            else:
                outcomes[seen(drasat.allocate(cluster, cel_errors=rng.choice(POLICIES), time_limit=5))] += 1
    assert all(str(problem).isprintable() for problem in problems)
    assert len(outcomes) > 1


def shown(cluster):
    """Look at every view of an inventory; of broken selectors of nodes it may say so."""
    try:
        document = drasat.show(cluster, time_limit=5).document
    except ValueError as error:
        if not str(error).startswith("node selector"):
            raise
        return "refused"
    for wide in (False, True):
        headers, rows = inventory_report.claim_table(document, wide=wide)
        assert all(len(row) == len(headers) for row in rows)
        assert all(map(str, inventory_report.class_rows(document, wide=wide)))
        assert all(map(str, inventory_report.node_rows(document, wide=wide)))
        assert all(map(str, inventory_report.pool_rows(document, wide=wide)))
    assert all(list(rows(document)) is not None for _, rows in inventory_report.FRAMES.values())
    assert len(format_tree(inventory_report.inventory_tree(document)).splitlines()) > len(document.devices)
    return "shown"


@pytest.mark.parametrize("family", FAMILIES)
def test_inventories_of_broken_clusters_are_refused_or_shown(family):
    rng = random.Random(f"inventory {family}")
    outcomes = Counter()
    for seed in range(40):
        objects = broken(rng, [dict(one) for one in member(family, seed)])
        for lifted in (True, False):
            try:
                cluster = drasat.load(objects, skip_validation=lifted)
            except drasat.InputError:
                outcomes["refused"] += 1
            else:
                outcomes[shown(cluster)] += 1
    assert outcomes["shown"]

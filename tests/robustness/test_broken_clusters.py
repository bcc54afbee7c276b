"""Random clusters and examples with something broken in them: an answer or an input error, never a defect."""

import json
import random
from collections import Counter

import pytest
import yaml
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


COMMANDS = [
    ("allocate --objective soft,compact", "mig-partitions"),
    ("plan --audit 1s", "plan-controllers"),
    ("plan --buy", "plan-buy"),
    ("plan --buy -o json", "plan-pools"),
    ("plan --moves any -o commands", "make-room"),
    ("plan --preempt", "preempt"),
    ("plan --consolidate", "consolidate"),
    ("plan --objective coverage,fewest-nodes", "coverage"),
    ("plan --quota joint", "kueue/d-flavors"),
    ("explain", "same-island"),
    ("compare --engines auto,backtracking", "nic-and-gpu"),
    ("compare --plan --preempt", "compute-domain"),
    ("topology --allocate -o dot", "torus-topology"),
    ("show -o wide", "inventory"),
    ("quota --limits", "kueue/g-reclaim"),
    ("provision --answers", "kueue/story-2-quota-and-preemption"),
    ("overlay -o manifests", "overlays"),
    ("tune --trials 5", "tune"),
]


def changed_twice(rng, objects):
    """Take two parts away, or give them the value of another part of the same name, or junk."""
    for _ in range(2):
        known = list(places(objects))
        path, _ = rng.choice(known)
        same = [value for other, value in known if other[-1] == path[-1] and other != path]
        value = rng.choice([None, rng.choice(JUNK), *([rng.choice(same)] * 4 if same else [])])
        objects = with_value(objects, path, value)
    return objects


@pytest.mark.parametrize(("command", "example"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_answer_or_refuse_broken_examples(drasat, examples, tmp_path, command, example):
    rng = random.Random(command)
    files = sorted((examples / example).glob("*.yaml"))
    whole = [one for file in files for one in yaml.safe_load_all(file.read_text()) if one]
    path = tmp_path / "broken.json"
    for number in range(5):
        items = changed_twice(rng, whole)
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        lifted = ["--skip-validation"] if number % 2 else []
        limit = [] if command.startswith("overlay") else ["--time-limit", "1s"]
        done = drasat(*command.split(), "-f", path, *limit, *lifted)
        assert done.code in (0, 1, 2, 3), items
        assert "defect" not in done.err, items
        assert all(line.isprintable() for line in done.err.splitlines()), items
        assert done.code != 2 or (done.err and not done.out), items

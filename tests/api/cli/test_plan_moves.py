"""``drasat plan`` where running pods may move: tables, commands, documents and usage, on the example."""

import json
import shlex
import subprocess

import jsonschema
import pytest
from support.evicting_kubectl import run_script
from support.rules import ROOT

import drasat as package
from drasat.reports.views import drawn_views


@pytest.fixture
def ask(drasat, examples):
    return lambda *options: drasat("plan", "-f", str(examples / "consolidate"), *options)


def test_the_table_has_nodes_that_go_and_steps(ask):
    done = ask("--consolidate", "--replacement", "none")
    assert done.code == 0
    assert "2 running pods moved; 2 nodes can go, which saves 7.2" in done.out.splitlines()[-1]
    steps = [line.split()[:2] for line in done.out.split("STEP")[1].splitlines() if line[:1].isdigit()]
    assert steps == [["1", "move"], ["2", "move"], ["3", "remove"], ["4", "remove"]]


def test_karpenter_has_one_new_node_at_most_and_any_number_is_cheaper(ask):
    """Section 4.3 of karpenter-dra: three nodes replaced by three cheaper ones are out of its reach."""
    costs = {}
    for replacement in ("none", "one", "any"):
        document = json.loads(ask("--consolidate", "--replacement", replacement, "-o", "json").out)
        costs[replacement] = next(one["value"] for one in document["objective"] if one["stage"] == "cost")
        schema = json.loads((ROOT / "docs/reference/results.schema.json").read_text())
        jsonschema.validate(document, schema)
    assert costs == {"none": 4.6, "one": 4.6, "any": 4}


def test_commands_are_lines_for_a_shell(ask):
    done = ask("--consolidate", "-o", "commands")
    subprocess.run(["bash", "-n"], input=done.out, text=True, check=True)
    lines = [shlex.split(line) for line in done.out.splitlines() if not line.startswith("#")]
    evicted = [line[-3].split("/")[-2] for line in lines if line[0] == "echo"]
    assert len(evicted) == 3
    joined = [line[-2] for line in lines if "--for=create" in line]
    assert joined == [f"node/accelerated-g1.xlarge-zone-a-on-demand-{number}" for number in (1, 2, 3)]
    removed = [line[-1] for line in lines if line[1:2] == ["delete"]]
    assert removed == ["node/large-1", "node/large-2", "node/large-3"]


@pytest.fixture
def commands(drasat, examples):
    return drasat("plan", "-f", str(examples / "make-room"), "--moves", "any", "-o", "commands").out


def test_commands_wait_until_the_next_pods_run(commands, tmp_path):
    """Their names are not known: a Deployment and a Job make them."""
    there = [["serve-a", "gpu-2"], ["serve-b", "gpu-1"]]
    done = run_script(commands, tmp_path, there, [[["serve-x", "gpu-2"]], [["train-y", "gpu-1"]]])
    assert (done.returncode, done.stderr) == (0, "")
    log = (tmp_path / "log").read_text().splitlines()
    kinds = [
        next(word for word in line.split() if word in ("cordon", "uncordon", "create", "wait"))
        for line in log
        if " get " not in line
    ]
    assert kinds == ["cordon", "create", "wait", "wait", "uncordon", "wait"]


def test_commands_end_where_a_pod_does_not_arrive(commands, tmp_path):
    done = run_script(commands, tmp_path, [["serve-a", "gpu-2"], ["serve-b", "gpu-1"]], [[["serve-x", "gpu-3"]]])
    assert (done.returncode, done.stderr) == (1, "2 pods of namespace team do not run on node gpu-2\n")
    assert "uncordon" not in (tmp_path / "log").read_text()


def test_manifests_have_new_nodes_and_claims(ask):
    done = ask("--consolidate", "-o", "manifests")
    assert [done.out.count(f"kind: {kind}\n") for kind in ("NodeClaim", "ResourceClaim")] == [3, 3]


def test_where_no_pod_may_move_there_are_no_steps(ask):
    assert ask("--moves", "0").out.splitlines()[-1].endswith("0 running pods moved")


@pytest.mark.parametrize(
    "options",
    [
        ("--moves", "few"),
        ("--moves", "-1"),
        ("--move-bare",),
        ("--replacement", "one"),
        ("-o", "commands"),
        ("--objective", "moves"),
    ],
)
def test_bad_usage_ends_with_2(ask, options):
    done = ask(*options)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) <= 3


def test_a_report_shows_nodes_before_and_after_and_the_steps(examples):
    """Of three nodes with four devices two change: a pod goes from the one to the other, and one arrives."""
    cluster = package.load(examples / "make-room")
    result = package.plan(cluster, moves="any")
    views = {one.view.title: one.table for one in drawn_views(result._plot_source())}
    changes = {row[0]: tuple(row[1:]) for row in views["Before and after"].rows}
    ((source, left), (target, reached)) = sorted(changes.items(), key=lambda one: one[1][4] != ["train-0"])
    assert (left[:1], left[2:], reached[0], reached[3]) == ((4,), (4, reached[4], ["train-0"]), 4, [])
    assert (source != target, reached[2] - reached[1]) == (True, 1)
    assert [row[1] for row in views["Steps"].rows] == ["move", "place"]
    plain = drawn_views(package.plan(cluster)._plot_source())
    assert "Before and after" not in {one.view.title for one in plain}

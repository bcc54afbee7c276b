"""``drasat plan --preempt``: tables, commands, documents and usage, on the example."""

import json
import shlex
import subprocess

import jsonschema
import pytest
from support.rules import ROOT


@pytest.fixture
def ask(drasat, examples):
    return lambda *options: drasat("plan", "-f", str(examples / "preempt"), *options)


def test_the_table_has_who_goes_and_steps(ask):
    done = ask("--preempt")
    assert done.code == 0
    assert done.out.splitlines()[-1].endswith("1 of 1 unit placed on 1 node; 1 running pod evicted")
    steps = [line.split()[:4] for line in done.out.split("STEP")[1].splitlines() if line[:1].isdigit()]
    assert steps == [["1", "evict", "Pod", "default/train-0"], ["2", "place", "Pod", "default/serve"]]


def test_the_document_says_what_is_lost_and_for_what(ask):
    document = json.loads(ask("--preempt", "-o", "json").out)
    jsonschema.validate(document, json.loads((ROOT / "docs/reference/results.schema.json").read_text()))
    (victim,) = document["victims"]
    assert (victim["name"], victim["claims"], victim["devices"]) == ("train-0", ["default/train-0"], 2)
    assert (victim["priority"], victim["budgets"], victim["returns"]) == (100, [], True)
    assert victim["reason"] == "makes room for default/serve of priority 1000"
    stages = {one["stage"]: (one["value"], one["bound"]) for one in document["objective"]}
    assert stages["victims=100"] == stages["victims"] == (1, 1)
    assert stages["budgets"] == (0, 0)


def test_the_table_and_the_document_have_what_the_scheduler_would_do(ask):
    """EVT-20: alone it does nothing for a device, and once the victim is gone it does as planned."""
    (told,) = json.loads(ask("--preempt", "-o", "json").out)["schedulerWould"]
    assert (told["unit"], told["action"], told["victims"], told["afterEvictions"]) == ("serve", "nothing", [], "rack-2")
    (row,) = [line for line in ask("--preempt").out.splitlines() if line.startswith("nothing")]
    assert "places 1, 1 as planned" in row


def test_with_moves_a_pod_goes_elsewhere_instead(ask):
    """EVT-19: nobody of priority 100 goes where two of priority 10 suffice, and these are a group that goes whole."""
    document = json.loads(ask("--preempt", "--moves", "any", "-o", "json").out)
    assert {one["name"] for one in document["victims"]} == {"sweep-0", "sweep-1"}
    assert [one["name"] for one in document["steps"] if one["action"] == "move"] == ["train-0"]


def test_commands_evict_before_they_wait_for_what_is_placed(ask):
    done = ask("--preempt", "-o", "commands")
    subprocess.run(["bash", "-n"], input=done.out, text=True, check=True)
    lines = [shlex.split(line) for line in done.out.splitlines() if not line.startswith("#")]
    evicted = [number for number, line in enumerate(lines) if line[0] == "echo"]
    waited = [number for number, line in enumerate(lines) if line[-2] == "pod/serve"]
    assert len(evicted) == len(waited) == 1
    assert evicted < waited


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--preempt", "--consolidate"), "make no sense together"),
        (("--preempt", "--move-bare"), "needs --moves"),
        (("--objective", "victims"), "may lose their places"),
        (("--preempt", "--objective", "moves"), "may move"),
    ],
)
def test_bad_usage_ends_with_2(ask, options, said):
    done = ask(*options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) <= 3


def test_quota_of_kueue_is_refused_in_one_line(drasat, examples):
    """What runs holds quota, and a plan that evicts or moves does not know whose."""
    for option in (("--preempt",), ("--moves", "any")):
        done = drasat("plan", "-f", str(examples / "kueue/story-1-batch-jobs"), *option)
        assert (done.code, done.out) == (2, "")
        assert "say --quota ignore" in done.err

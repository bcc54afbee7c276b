"""``drasat plan --audit`` and ``--duals``."""

import json
from fractions import Fraction

import pytest

AUDITED_EXAMPLES = {
    "plan-queue": [],
    "plan-controllers": [],
    "plan-buy": ["--buy"],
    "mig-partitions": ["--objective", "priority,admitted"],
    "tainted-devices": [],
}


def plan(drasat, folder, *options):
    return json.loads(drasat("plan", "-f", folder, "-o", "json", *options).out)


@pytest.mark.parametrize("name", AUDITED_EXAMPLES)
def test_every_stage_of_an_example_is_audited(drasat, examples, name):
    document = plan(drasat, examples / name, *AUDITED_EXAMPLES[name], "--audit", "200s")
    assert (document["outcome"], document["certified"]) == ("Optimal", True)
    assert {stage["proof"] for stage in document["objective"]} <= {"witness", "audited"}
    assert "duals" not in document
    left = [unit for unit in document["units"] if unit["node"] is None]
    assert {unit["proof"] for unit in left} <= {"audited"}


def test_a_stage_that_audits_do_not_read_is_not_proven(drasat, examples):
    """Neither for a reader of the document nor for one of the table."""
    asked = ("--objective", "admitted,compact")
    plain = plan(drasat, examples / "plan-queue", *asked)
    document = plan(drasat, examples / "plan-queue", *asked, "--audit", "200s")
    admitted, compact = document["objective"]
    assert (admitted["proven"], admitted["proof"]) == (True, "audited")
    assert (compact["proven"], compact["proof"], compact["bound"]) == (False, None, None)
    # The claim of the solver is there by its name.
    assert compact["solverBound"] == plain["objective"][1]["bound"]
    assert (plain["outcome"], document["outcome"], document["certified"]) == ("Optimal", "Feasible", False)
    done = drasat("plan", "-f", examples / "plan-queue", *asked, "--audit", "200s")
    # Units are left, and it is not proven that there has to be one.
    assert (done.code, "Optimal" in done.out + done.err) == (3, False)
    assert f"compact: {compact['value']}, no bound known; the solver says at least" in done.err


@pytest.mark.parametrize(("name", "asked"), [("make-room", ("--moves", "any")), ("plan-queue", ("--preempt",))])
def test_plans_in_which_running_pods_leave_are_certified(drasat, examples, tmp_path, name, asked):
    """And a reader of the document derives each bound anew from its duals."""
    document = plan(drasat, examples / name, *asked, "--audit", "200s", "--duals")
    assert (document["outcome"], document["certified"]) == ("Optimal", True)
    assert {stage["proof"] for stage in document["objective"]} == {"witness", "audited"}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    checked = json.loads(drasat("check", tmp_path / "plan.json", "-f", examples / name, "-o", "json").out)
    bounds = [one["verdict"] for one in checked["lines"] if " is at " in one["said"] and one["about"] == "objective"]
    assert set(bounds) == {"holds"}
    assert len(bounds) == len(document["objective"])


def test_an_audit_without_time_leaves_what_stages_rest_on(drasat, examples):
    document = plan(drasat, examples / "plan-queue", "--audit", "0.000001")
    assert [stage["proof"] for stage in document["objective"]] == ["witness", None, None]
    assert document["outcome"] == "Feasible"
    assert not any(unit["proof"] for unit in document["units"])


def test_duals_are_exact_fractions_with_names(drasat, examples):
    document = plan(drasat, examples / "plan-buy", "--buy", "--duals")
    [cost] = document["duals"]
    rows = {(row["kind"], *row["names"]): Fraction(row["value"]) for row in cost["rows"]}
    assert cost["stage"] == "cost"
    # A node for 11 takes eight units of simulate, or two of model; nine units cost 23.
    assert rows["unit", "lab/simulate-0"] * 8 == rows["unit", "lab/model-0"] * 2 == 11
    assert rows["stage", "priority=0"] > 0


def test_duals_are_there_where_they_are_asked_for_alone(drasat, examples):
    assert "duals" not in plan(drasat, examples / "plan-buy", "--buy")


@pytest.mark.parametrize("text", ["soon", "0s"])
def test_a_bad_duration_is_one_line(drasat, examples, text):
    done = drasat("plan", "-f", examples / "plan-queue", "--audit", text)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "--audit" in done.err

"""``drasat compare --plan`` and ``compare_plans``: figures side by side, outputs, exit codes."""

import json
import re

import jsonschema
import pytest
import yaml
from msgspec.structs import replace
from support.moving import holder
from support.plan_building import classes, nodes, of, template, user
from support.rules import ROOT

import drasat as package
from drasat.models.results.plan import plan_stage
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue
from drasat.peers.programs import KUBE_SCHEDULER, find_program
from drasat.reports.comparison import (
    MOVES_COMPARISON_HEADERS,
    PLAN_COMPARISON_COLUMNS,
    PLAN_COMPARISON_HEADERS,
    PREEMPTION_COMPARISON_HEADERS,
)
from drasat.solver.allocate.load import load
from drasat.solver.compare import plans as module
from drasat.solver.compare.plans import compare_plans as solve
from drasat.solver.compare.schedulers import schedule
from drasat.solver.plan.outcome import FEASIBLE, OPTIMAL, UNKNOWN, PlanOutcome
from drasat.verbs.compare import PlanComparisonResult, compare_plans

NODE = """---
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status: {{allocatable: {{cpu: "8", pods: "10"}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {name}}}
spec:
  driver: gpu.example.com
  nodeName: {name}
  pool: {{name: {name}, generation: 1, resourceSliceCount: 1}}
  devices: [{devices}]
"""
POD = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: {name}}}
spec: {{spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: {count}}}}}]}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {marks}}}
spec:
  containers: [{{name: main, image: x}}]
  resourceClaims: [{{name: g, resourceClaimTemplateName: {name}}}]
"""
CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
GROUP = """---
apiVersion: drasat.dev/v1alpha1
kind: ConstraintGroup
metadata: {name: near}
spec: {pods: [{name: p0}, {name: p1}], sameNodeLabel: kubernetes.io/hostname}
"""
CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: tied
  annotations: {drasat.dev/constraints: "[{cel: {expression: devices.size() == 1}}]"}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""
OURS = ["first-fit", "best-fit", "fgd"]


@pytest.fixture
def written(tmp_path):
    """Writes nodes with so many devices, and pods that ask for so many."""
    path = tmp_path / "input.yaml"

    def write(nodes, pods, marks="{}", more=""):
        made = [
            NODE.format(name=f"n{number}", devices=", ".join(f"{{name: gpu-{one}}}" for one in range(count)))
            for number, count in enumerate(nodes)
        ]
        asked = [POD.format(name=f"p{number}", count=count, marks=marks) for number, count in enumerate(pods)]
        path.write_text(CLASS + "".join(made + asked) + more)
        return path

    return write


@pytest.fixture
def planned(monkeypatch):
    """Replaces ``plan`` by one that places as a sequential scheduler does, and then as ``change`` says."""

    def fake(planner="fgd", change=lambda units: units, outcome=OPTIMAL):
        def plan(cluster, *, objective, gap, namespace, selector, feature_gates, cel_errors, time_limit, seed):
            fake.asked = {"objective": objective, "gap": gap, "time_limit": time_limit, "seed": seed}
            if objective == "nonsense":
                raise ValueError("unknown stage 'nonsense'")
            what = module.SchedulingInput(
                cluster, tuple(expand_units(cluster, read_queue(cluster))), feature_gates, cel_errors
            )
            units = change(schedule(what, planner, "given", None).units)
            placed = sum(one.node is not None for one in units)
            stages = (plan_stage("admitted", placed, placed, True, True),)
            return PlanOutcome(outcome, units, (), stages, feature_gates, cel_errors, gap, notices=("left aside",))

        monkeypatch.setattr("drasat.solver.plan.plan.plan", plan)

    return fake


def nobody(units):
    return tuple(replace(one, node=None, allocations=()) for one in units)


# Pairs fit twice if the single one goes to the node with three devices.
PAIRS = ([2, 3], [1, 2, 2])


def test_each_planner_is_asked_in_each_order(written, planned):
    planned()
    found = compare_plans(load(written(*PAIRS)), [*OURS, "plan"])
    orders = ("given", "random", "priority")
    assert [one.label for one in found.planners] == [f"{name}/{order}" for name in OURS for order in orders] + ["plan"]
    assert {one.verified for one in found.planners} == {True}
    assert {one.decided for one in found.planners} == {True}


def test_figures_are_those_of_the_final_state(written, planned):
    planned()
    found = compare_plans(load(written(*PAIRS)), ["first-fit", "plan"], orders=["given"])
    first, plan = found.planners
    assert (first.admitted, first.used, first.devices, first.order) == (2, 3, 5, "given")
    assert (plan.admitted, plan.used, plan.order, plan.outcome) == (3, 5, None, "Optimal")
    # n0 has one and n1 has one left, which are of no use to two pairs of three units.
    assert (first.fragmentation.free, first.fragmentation.of_free) == (2, round(2 / 3, 6))
    assert first.fragmentation.of_all == round(2 / 3 * 2 / 5, 6)
    assert (plan.fragmentation.free, plan.fragmentation.of_free) == (0, 0)
    assert plan.objective[0].bound == 3
    assert plan.notices == ("left aside",)
    assert not found.beaten


def test_gangs_are_counted(written, planned):
    planned("first-fit")
    found = compare_plans(load(written([3, 1], [2, 2], "{drasat.dev/gang: all}")), ["best-fit", "plan"])
    assert found.document.gangs == 1
    assert [(one.admitted, one.gangs) for one in found.planners] == [(0, 0)] * 4


@pytest.mark.parametrize(
    ("planner", "outcome", "change", "code"),
    [
        ("fgd", OPTIMAL, lambda units: units, 0),
        ("first-fit", FEASIBLE, lambda units: units, 1),
        ("fgd", UNKNOWN, lambda units: units, 3),
        ("fgd", UNKNOWN, nobody, 1),
    ],
)
def test_exit_codes(drasat, written, planned, planner, outcome, change, code):
    planned(planner, change, outcome)
    done = drasat("compare", "--plan", "--planners", "fgd,plan", "--orders", "given", "-f", written(*PAIRS))
    assert (done.code, json_of(drasat, written)["beaten"]) == (code, code == 1)


def json_of(drasat, written, *more):
    done = drasat(
        "compare", "--plan", "--planners", "fgd,plan", "--orders", "given", "-f", written(*PAIRS), "-o", "json", *more
    )
    return json.loads(done.out)


def test_a_rival_without_time_leaves_it_open(drasat, written, planned):
    planned()
    done = drasat(
        "compare",
        "--plan",
        "--planners",
        "fgd,plan",
        "--orders",
        "given",
        "-f",
        written(*PAIRS),
        "--time-limit",
        "1e-9",
    )
    assert done.code == 2
    done = drasat("compare", "--plan", "--planners", "fgd", "-f", written(*PAIRS), "--time-limit", "0.000001ms")
    assert done.code == 3
    assert "out of time" in done.out
    assert "?" in done.out
    assert "fgd/random could not answer: the time limit left no time" in done.err
    assert "fgd/priority could not answer: the time limit left no time" in done.err


def test_without_plan_nobody_is_beaten(drasat, written):
    done = drasat("compare", "--plan", "--planners", "first-fit,fgd", "--orders", "given", "-f", written(*PAIRS))
    assert done.code == 0
    assert done.out.splitlines()[-1] == "the best is fgd/given with 3"


def test_the_table(drasat, written, planned):
    planned()
    path = written(*PAIRS)
    done = drasat("compare", "--plan", "--planners", "first-fit,plan", "--orders", "given", "-f", path)
    head, first, plan, last = done.out.splitlines()
    assert re.split("  +", head.strip()) == [name.upper() for name in PLAN_COMPARISON_HEADERS]
    assert first.split()[:2] == ["first-fit", "given"]
    assert "2 of 3" in first
    assert "3 of 5" in first
    assert "66.7%" in first
    assert plan.split()[:2] == ["plan", "Optimal"]
    assert last == "plan admits 3 of 3 units, the best of the others is first-fit/given with 2"
    assert "drasat: warning: left aside" in done.err.splitlines()


def test_only_plan_is_told_alone(drasat, written, planned):
    planned()
    done = drasat("compare", "--plan", "--planners", "plan", "-f", written(*PAIRS))
    assert done.out.splitlines()[-1] == "plan admits 3 of 3 units"


def test_the_document_is_as_published(drasat, written, planned, examples):
    planned()
    document = json_of(drasat, written)
    published = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    jsonschema.validate(document, published)
    assert document["kind"] == "PlanComparison"
    assert "timings" not in document
    timed = json_of(drasat, written, "--timings")
    jsonschema.validate(timed, published)
    assert set(timed["timings"]) == {"fgd/given", "plan"}


def test_equal_questions_have_equal_documents(written, planned):
    planned()
    cluster = load(written([2, 3, 1, 4], [1, 2, 2, 3, 1, 1]))
    first, second = (compare_plans(cluster, [*OURS, "plan"], seed=3).to_json() for _ in range(2))
    assert first == second
    assert compare_plans(cluster, OURS, seed=4).document.seed == 4


def test_yaml_and_json_say_the_same(drasat, written, planned):
    planned()
    argv = ("compare", "--plan", "--planners", "fgd,plan", "--orders", "given", "-f", written(*PAIRS))
    assert yaml.safe_load(drasat(*argv, "-o", "yaml").out) == json.loads(drasat(*argv, "-o", "json").out)


def test_options_reach_plan(drasat, written, planned):
    planned()
    options = ("--objective", "admitted", "--gap", "1%", "--time-limit", "9s", "--seed", "5")
    json_of(drasat, written, *options)
    # The limit is for all runs together.
    assert 0 < planned.asked.pop("time_limit") < 9.0
    assert planned.asked == {"objective": "admitted", "gap": 0.01, "seed": 5}


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("--plan", "--planners", "none"), "unknown planner 'none', known are: first-fit, best-fit, fgd, "),
        (("--plan", "--planners", "fgd,fgd"), "at least one planner is needed, and none twice"),
        (("--plan", "--orders", "backwards"), "unknown order 'backwards', known are: given, random, priority"),
        (("--plan", "--planners", "fgd,plan", "--objective", "nonsense"), "unknown stage 'nonsense'"),
        (("--plan", "--gap", "200%"), "--gap: '200%' is not a part"),
        (("--plan", "--planners", "kube-scheduler", "--cel-errors", "strict"), "cannot handle CEL errors as 'strict'"),
        (("--plan", "--node", "n0"), "--plan asks each planner once about all nodes"),
        (("--plan", "--exact"), "--plan asks each planner once about all nodes"),
        (("--plan", "--repeat", "2"), "--plan asks each planner once about all nodes"),
        (("--planners", "fgd"), "need --plan"),
        (("--orders", "given"), "need --plan"),
        (("--objective", "admitted"), "need --plan"),
        (("--gap", "1%"), "need --plan"),
        (("--plan", "-l", "a in"), ""),
    ],
)
def test_bad_usage_is_one_line(drasat, written, planned, argv, told):
    planned()
    done = drasat("compare", *argv, "-f", written(*PAIRS))
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert told in done.err


def test_files_are_needed_and_sweeps_make_their_own(drasat):
    assert "compare needs -f PATH" in drasat("compare", "--plan").err
    assert "--sweep makes its own input" in drasat("compare", "--plan", "--sweep", "easy").err


def test_groups_are_beyond_what_schedulers_know(drasat, written, planned):
    planned()
    done = drasat("compare", "--plan", "--planners", "fgd", "-f", written([2], [1, 1], more=GROUP))
    assert done.code == 2
    assert "planner fgd cannot honour ConstraintGroup default/near" in done.err


@pytest.mark.parametrize(
    ("pods", "asks", "refused"),
    [
        ("[{name: p0}, {name: p1}]", "sameNodeLabel: zone", True),
        ("[{name: p0}, {name: p1}]", "constraints: [{matchAttribute: gpu.example.com/a}]", True),
        ("[{name: p0}, {name: p1}]", "constraints: [{matchAttribute: gpu.example.com/a, weight: 2}]", False),
        ("[{name: done}]", "sameNodeLabel: zone", False),
    ],
)
def test_only_groups_that_demand_something_of_the_queue_are_refused(written, pods, asks, refused):
    done = POD.format(name="done", count=1, marks="{}") + "status: {phase: Succeeded}\n"
    group = GROUP.replace("[{name: p0}, {name: p1}]", pods).replace("sameNodeLabel: kubernetes.io/hostname", asks)
    cluster = load(written([2], [1, 1], more=done + group))
    if refused:
        with pytest.raises(ValueError, match="planner fgd cannot honour"):
            solve(cluster, ["fgd"])
    else:
        assert solve(cluster, ["fgd"], orders=["given"]).runs[0].figures.admitted == 2


def test_planners_that_cannot_answer_are_named_with_the_reason(drasat, written, planned, monkeypatch, tmp_path):
    planned()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = compare_plans(load(written(*PAIRS)), orders=["given"])
    assert [one.planner for one in found.planners] == [*OURS, "plan"]
    (skipped,) = found.document.skipped
    assert (skipped.name, "drasat peers build" in skipped.reason or "needs Go" in skipped.reason) == (
        *("kube-scheduler", True),
    )
    strict = compare_plans(load(written(*PAIRS)), orders=["given"], cel_errors="strict")
    assert [one.planner for one in strict.planners] == [*OURS, "plan"]
    assert "only as 'kube'" in strict.document.skipped[0].reason


def test_what_the_real_scheduler_does_not_know_it_is_not_asked(drasat, written, planned):
    planned()
    path = written([1, 1], [1], more=CLAIM)
    found = compare_plans(load(path), orders=["given"])
    assert [one.planner for one in found.planners] == [*OURS, "plan"]
    assert [one.name for one in found.document.skipped] == ["kube-scheduler"]
    done = drasat("compare", "--plan", "--planners", "kube-scheduler", "-f", path)
    assert done.code == 2
    assert "engine kube-scheduler cannot honour entry #0 of claim default/tied" in done.err


@pytest.mark.skipif(find_program(KUBE_SCHEDULER) is None, reason="the peer is not built")
def test_the_real_scheduler_has_its_version(drasat, written, planned):
    planned()
    done = drasat("compare", "--plan", "--orders", "given", "-f", written(*PAIRS))
    assert done.code == 0
    row = next(line for line in done.out.splitlines() if line.startswith("kube-scheduler"))
    assert row.startswith("kube-scheduler v")
    assert "2 of 3" in row


def test_a_frame_has_numbers(written, planned):
    pytest.importorskip("pandas")
    planned()
    frame = compare_plans(load(written(*PAIRS)), ["fgd", "plan"], orders=["given"]).to_frame()
    assert list(frame.columns) == list(PLAN_COMPARISON_COLUMNS)
    assert list(frame["admitted"]) == [3, 3]
    assert list(frame["wasted of free"]) == [0, 0]


def test_without_fragmentation_the_frame_has_gaps(written):
    pytest.importorskip("pandas")
    frame = compare_plans(load(written(*PAIRS)), ["fgd"], orders=["given"], time_limit=1e-9).to_frame()
    assert frame["wasted"].isna().all()


def test_it_is_public(written, planned):
    planned()
    found = package.compare_plans(load(written(*PAIRS)), ["fgd", "plan"], orders=["given"])
    assert isinstance(found, PlanComparisonResult)
    assert isinstance(found, package.PlanComparisonResult)
    assert repr(found).startswith("PlanComparisonResult(plan admits 3 of 3 units")


def test_an_empty_queue_is_hardly_meant(drasat, written, planned):
    planned()
    done = drasat("compare", "--plan", "--planners", "fgd,plan", "-f", written([1], []))
    assert done.code == 0
    assert "nothing to plan" in done.err


def test_namespaces_narrow_the_queue(written):
    cluster = load(written(*PAIRS))
    assert solve(cluster, ["fgd"], namespace="other").asked == 0
    assert solve(cluster, ["fgd"], namespace="default").asked == 3


def test_the_real_plan_admits_what_the_best_rival_does(written):
    found = solve(load(written(*PAIRS)), ["fgd", "plan"], objective="admitted", time_limit=None)
    assert found.plan.figures.admitted == 3
    assert not found.beaten


def test_pods_without_claims_are_compared_where_no_node_is_known(drasat, tmp_path):
    """The node without a name has room for any of them."""
    (tmp_path / "queue.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    document = json.loads(drasat("compare", "--plan", "-f", str(tmp_path), "-o", "json").out)
    assert {one["admitted"] for one in document["planners"]} == {1}


@pytest.fixture
def moving(tmp_path):
    """A file with two nodes, a pod on each that may move, and a pod that needs a whole node."""
    path = tmp_path / "moving.json"
    given = [*nodes("n1", "n2"), *holder("a", "n1", 0), *holder("b", "n1", 1), *holder("c", "n2", 0)]
    made = [*classes(), *given, template("t4", of(4)), user("big", spec="t4")]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    return path


def test_planners_that_move_pods_stand_beside_one_another(drasat, moving):
    done = drasat("compare", "--plan", "--moves", "1", "--orders", "given", "-f", moving)
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert re.split(r"  +", head.strip()) == [one.upper() for one in MOVES_COMPARISON_HEADERS]
    cells = {row[0]: row for row in (re.split(r"  +", row.strip()) for row in rows[:3])}
    assert cells.keys() == {"first-fit", "descheduler-like", "plan"}
    assert cells["first-fit"][1:5] == ["given", "0 of 1", "0", "0"]
    assert cells["descheduler-like"][1:5] == ["given", "1 of 1", "1", "1"]
    assert cells["plan"][1:4] == ["Optimal", "1 of 1", "1"]


def test_moves_are_in_the_document_and_in_the_frame(drasat, moving):
    done = drasat("compare", "--plan", "--moves", "any", "--orders", "given", "-f", moving, "-o", "json")
    document = json.loads(done.out)
    found = {
        one["planner"]: (one["admitted"], one["moves"], one["moveCost"], one["whole"]) for one in document["planners"]
    }
    assert found == {"first-fit": (0, 0, 0, 0), "descheduler-like": (1, 1, 1, 0), "plan": (1, 1, 1, 0)}
    frame = compare_plans(load(moving), ["descheduler-like"], orders=["given"], moves=1).to_frame()
    assert [*frame.columns] == [*PLAN_COMPARISON_COLUMNS, "moves", "move cost", "whole"]
    assert frame[["admitted", "moves", "move cost"]].to_numpy().tolist() == [[1, 1, 1]]


def test_planners_that_take_places_stand_beside_one_another(drasat, examples):
    done = drasat("compare", "--plan", "--preempt", "--orders", "given", "-f", str(examples / "preempt"))
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert re.split(r"  +", head.strip()) == [one.upper() for one in PREEMPTION_COMPARISON_HEADERS]
    cells = {row[0]: row for row in (re.split(r"  +", row.strip()) for row in rows[:3])}
    assert cells["first-fit"][2:7] == ["0 of 1", "none", "none", "0", "0"]
    assert cells["preempt-like-kube-scheduler"][1:6] == ["0 of 1", "none", "none", "0", "0"]
    assert cells["plan"][1:7] == ["Optimal", "1 of 1", "1 of 1000", "1 of 100", "0", "2"]


def test_what_running_pods_lose_is_in_the_document_and_in_the_frame(drasat, examples):
    arguments = "compare", "--plan", "--preempt", "-f", str(examples / "preempt"), "-o", "json"
    document = json.loads(drasat(*arguments).out)
    jsonschema.validate(document, json.loads((ROOT / "docs/reference/results.schema.json").read_text()))
    plan = next(one for one in document["planners"] if one["planner"] == "plan")["preemption"]
    assert (plan["placed"], plan["lost"]) == ([{"priority": 1000, "count": 1}], [{"priority": 100, "count": 1}])
    assert (plan["beyondBudgets"], plan["devicesLost"], plan["victims"][0]["name"]) == (0, 2, "train-0")
    frame = compare_plans(load(examples / "preempt"), ["plan"], preempt=True).to_frame()
    assert [*frame.columns] == [*PLAN_COMPARISON_COLUMNS, "victims", "beyond budgets", "devices lost"]
    assert frame[["victims", "beyond budgets", "devices lost"]].to_numpy().tolist() == [[1, 0, 2]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--moves", "1"], "--moves, --move-bare and --preempt need --plan"),
        (["--preempt"], "--moves, --move-bare and --preempt need --plan"),
        (["--plan", "--preempt", "--moves", "1"], "moves and preemption are compared one at a time"),
        (["--plan", "--planners", "preempt-like-kube-scheduler"], "takes places of running pods: say preempt"),
        (["--plan", "--preempt", "--planners", "descheduler-like"], "say by moves how many may"),
        (["--plan", "--planners", "karpenter-like", "--preempt"], "--quota, --moves or --preempt"),
        (["--plan", "--moves", "some"], "moves 'some' is neither a number of at least 0 nor any"),
        (["--plan", "--move-bare"], "only where moves says how many pods may"),
        (
            ["--plan", "--planners", "descheduler-like"],
            "descheduler-like moves running pods: say by moves how many may",
        ),
        (
            ["--plan", "--planners", "karpenter", "--moves", "1"],
            "no --orders, --objective, --quota, --moves or --preempt",
        ),
    ],
)
def test_moves_that_make_no_sense_are_refused(drasat, moving, arguments, said):
    done = drasat("compare", *arguments, "-f", moving)
    assert (done.code, done.out) == (2, "")
    assert said in done.err

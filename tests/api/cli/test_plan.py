"""``drasat plan`` and ``drasat.plan``: options, outputs, exit codes, and the examples."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
import yaml
from support.plan_outcomes import Solver, has, left, nodes_of, outcome, placed, stage
from support.texts import claim, rows, spec

import drasat as package
from drasat.solver.engines.outcome import SearchInterrupted

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "10"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {sick: {bool: true}}}, {name: gpu-1}, {name: gpu-2}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
"""


def job(name, parallelism, count=1, cpu=1, more="", annotations="{}"):
    return f"""---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: {name}, namespace: default}}
spec: {{spec: {spec(count)}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, annotations: {annotations}}}
spec:
  parallelism: {parallelism}
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: i, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
      resourceClaims: [{{name: gpus, resourceClaimTemplateName: {name}}}]
{more}
"""


TEMPLATE = """---
apiVersion: drasat.dev/v1alpha1
kind: NodeTemplate
metadata: {name: pair}
spec:
  price: "2.5"
  allocatable: {cpu: "8", pods: "10"}
  slices: [{driver: gpu.example.com, devices: [{name: gpu-0}, {name: gpu-1}]}]
"""


@pytest.fixture
def manifests(tmp_path):
    def write(*parts):
        path = tmp_path / "input.yaml"
        path.write_text(CLUSTER + "".join(parts))
        return path

    return write


@pytest.fixture
def solver(monkeypatch):
    """A solver that is only asked; its answer is set by the test."""
    made = Solver(outcome(placed("train"), nodes=[has()]))
    monkeypatch.setattr("drasat.solver.plan.plan.plan", made.plan)
    return made


def asked(drasat, *argv, code=0):
    done = drasat("plan", *argv, "-o", "json")
    assert done.code == code
    return json.loads(done.out)


def test_the_table_tells_owners_and_ends_with_a_summary(drasat, manifests):
    done = drasat("plan", "-f", manifests(job("train", 2), claim("c")))
    assert done.code == 0
    assert rows(done.out) == [
        "KIND NAMESPACE NAME ASKED PLACED NODES",
        "Job default train 2 2 n1",
        "ResourceClaim default c 1 1 n1",
        "",
        "Optimal: 3 of 3 units placed on 1 node",
    ]


def test_a_queue_for_which_the_time_limit_was_too_short_is_not_called_empty(drasat, manifests, monkeypatch):
    monkeypatch.setattr("drasat.solver.plan.time_budget.PlanTimeBudget.has_time_to_reread", lambda _: False)
    path = manifests(job("train", 2), claim("c"))
    done = drasat("plan", "-f", path)
    assert done.code == 3
    assert rows(done.out)[-1] == "Unknown: the time limit ended before the queue was read"
    assert "no unit of 2 pods, claims and controllers" in done.err
    assert "nothing to plan" not in done.err
    document = asked(drasat, "-f", path, code=3)
    assert (document["outcome"], document["asked"], document["unread"]) == ("Unknown", 0, 2)


def test_stages_go_to_stderr(drasat, manifests):
    done = drasat("plan", "-f", manifests(job("train", 4)), "--objective", "admitted,fewest-nodes")
    assert done.code == 1
    assert done.err.splitlines()[:2] == ["admitted: 3, proven", "fewest-nodes: 1, proven"]


def test_what_is_not_placed_is_said_on_one_line(drasat, manifests):
    done = drasat("plan", "-f", manifests(job("train", 40)))
    assert done.code == 1
    (line,) = [line for line in done.err.splitlines() if line.startswith("not placed")]
    assert "and 36 more" in line
    assert "not placed" not in done.out


def test_wide_has_a_row_a_unit_and_a_row_a_node(drasat, manifests):
    done = drasat("plan", "-f", manifests(job("train", 2)), "-o", "wide")
    units, nodes, _ = done.out.split("\n\n")
    assert [row.split()[3:5] for row in units.splitlines()] == [
        ["UNIT", "GANG"],
        ["train-0", "<none>"],
        ["train-1", "<none>"],
    ]
    assert rows(nodes) == ["NODE NEW DEVICES USED UNITS", "n1 <none> 3 2 2"]


def test_json_and_yaml_are_the_document_equal_in_every_run(drasat, manifests, examples):
    path = manifests(job("train", 4))
    printed = drasat("plan", "-f", path, "-o", "json")
    document = json.loads(printed.out)
    assert (document["kind"], document["asked"], document["placed"]) == ("PlanResult", 4, 3)
    assert document["verified"] is True
    assert yaml.safe_load(drasat("plan", "-f", path, "-o", "yaml").out) == document
    assert drasat("plan", "-f", path, "-o", "json").out == printed.out
    jsonschema.validate(document, json.loads((examples.parent / "docs/reference/results.schema.json").read_text()))


def test_the_seed_decides_no_places(drasat, manifests):
    path = manifests(job("train", 4))
    assert asked(drasat, "-f", path, "--seed", 9, code=1) == asked(drasat, "-f", path, code=1)


def test_timings_are_added_only_on_request(drasat, manifests):
    path = manifests(job("train", 1))
    timed = asked(drasat, "-f", path, "--timings")
    assert all(seconds >= 0 for seconds in timed.pop("timings").values())
    assert timed == asked(drasat, "-f", path)
    last = drasat("plan", "-f", path, "--timings").err.splitlines()[-1]
    assert re.search(r"solve [0-9]+\.[0-9]{3} s", last)


def test_manifests_are_ready_for_kubectl_and_can_be_read_again(drasat, manifests, tmp_path):
    path = manifests(claim("loose", labels="{team: x}"), job("train", 1))
    written = drasat("plan", "-f", path, "-o", "manifests").out
    claims = list(yaml.safe_load_all(written))
    assert [one["metadata"]["name"] for one in claims] == ["loose", "train-0-gpus"]
    assert claims[0]["metadata"]["labels"] == {"team": "x"}
    assert all(len(one["status"]["allocation"]["devices"]["results"]) == 1 for one in claims)
    done = tmp_path / "done.yaml"
    done.write_text(written)
    rest = tmp_path / "rest.yaml"
    rest.write_text(CLUSTER + claim("more", count=2))
    again = asked(drasat, "-f", rest, "-f", done, code=1)
    assert [unit["name"] for unit in again["units"]] == ["more"]
    assert again["placed"] == 0


def test_manifests_hold_no_nodes(drasat, manifests):
    path = manifests(TEMPLATE, job("train", 5))
    done = drasat("plan", "-f", path, "--buy", "-o", "manifests")
    assert {one["kind"] for one in yaml.safe_load_all(done.out)} == {"ResourceClaim"}


def test_names_are_those_of_allocated_claims(drasat, manifests):
    done = drasat("plan", "-f", manifests(claim("a"), claim("b", count=30)), "-o", "name", "--objective", "admitted")
    assert done.out == "resourceclaim.resource.k8s.io/a\n"


@pytest.mark.parametrize(
    ("options", "names"),
    [(["-n", "other"], ["b"]), (["-l", "team=x"], ["a"]), ([], ["a", "b"])],
    ids=["namespace", "label", "all"],
)
def test_namespace_and_labels_choose_what_is_planned(drasat, manifests, options, names):
    path = manifests(claim("a", labels="{team: x}"), claim("b", namespace="other"))
    assert [unit["name"] for unit in asked(drasat, "-f", path, *options)["units"]] == names


def test_nothing_to_plan_is_said(drasat, manifests):
    done = drasat("plan", "-f", manifests(), "-o", "json")
    assert (done.code, json.loads(done.out)["asked"]) == (0, 0)
    assert "nothing to plan" in done.err


@pytest.mark.parametrize(
    ("verdict", "units", "code"),
    [
        ("Optimal", [placed("a")], 0),
        ("Feasible", [placed("a")], 0),
        ("Optimal", [placed("a"), left("b")], 1),
        ("Infeasible", [left("b")], 1),
        ("Feasible", [placed("a"), left("b")], 3),
        ("Unknown", [left("b")], 3),
    ],
)
def test_exit_codes_say_whether_all_is_placed_and_whether_that_is_proven(
    drasat, manifests, solver, verdict, units, code
):
    solver.answer = outcome(*units, verdict=verdict)
    assert drasat("plan", "-f", manifests()).code == code


def test_an_interrupt_prints_the_best_plan_and_exits_with_130(drasat, manifests, solver):
    solver.answer = SearchInterrupted(outcome(placed("a"), left("b"), verdict="Feasible", stages=[stage(value=1)]))
    done = drasat("plan", "-f", manifests())
    assert done.code == 130
    assert "Feasible: 1 of 2 units placed" in done.out
    assert "admitted: 1, at most 2" in done.err


@pytest.mark.parametrize(
    ("text", "part"), [("0.1%", 0.001), ("0.001", 0.001), ("5%", 0.05), ("0", 0.0), (".5%", 0.005), ("0%", 0.0)]
)
def test_a_gap_is_a_part_or_a_percentage(drasat, manifests, solver, text, part):
    drasat("plan", "-f", manifests(), "--gap", text)
    assert solver.asked["gap"] == part


def test_without_options_the_defaults_reach_the_solver(drasat, manifests, solver):
    drasat("plan", "-f", manifests())
    given = solver.asked
    assert (given["gap"], given["seed"], given["cel_errors"]) == (0.001, 0, "strict")
    # Loading the solver counts.
    assert 240.0 < given["time_limit"] <= 300.0
    assert (given["buy"], given["only_new"], given["budget"]) == (False, False, None)
    assert (given["executor"], given["objective"]) == (None, "")


def test_workers_are_threads(drasat, manifests, solver):
    drasat("plan", "-f", manifests(), "--workers", 3)
    assert isinstance(solver.asked["executor"], ThreadPoolExecutor)


def test_the_plan_is_the_same_with_any_number_of_workers(drasat, examples):
    outs = {drasat("plan", "-f", examples / "plan-queue", "-o", "json", "--workers", n).out for n in (1, 2, 5)}
    assert len(outs) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--gap", "much"], "--gap"),
        (["--gap", "-1%"], "--gap"),
        (["--gap", "100%"], "--gap"),
        (["--gap", "1"], "--gap"),
        (["--gap", ""], "--gap"),
        (["--gap", "\u0663%"], "--gap"),
        (["--only-new"], "need --buy"),
        (["--budget", "10"], "need --buy"),
        (["--buy", "--budget", "much"], "budget"),
        (["--buy", "--budget", "-1"], "budget"),
        (["--buy"], "NodeTemplate"),
        (["--objective", "beauty"], "beauty"),
        (["--objective", "admitted=weight"], "admitted"),
        (["-l", "a=b=c"], "selector"),
        (["--time-limit", "soon"], "--time-limit"),
        (["--feature-gates", "Magic=true"], "Magic"),
        (["--kubernetes-version", "1.2"], "1.2"),
    ],
    ids=str,
)
def test_bad_usage_is_one_line_and_exits_with_2(drasat, manifests, options, problem):
    done = drasat("plan", "-f", manifests(claim("a")), *options)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert len(done.err.splitlines()) == 1


def test_at_least_one_worker_is_needed(drasat, manifests):
    assert drasat("plan", "-f", manifests(), "--workers", 0).code == 2


def test_a_directory_of_nothing_to_read_is_bad_input(drasat, tmp_path):
    assert drasat("plan", "-f", tmp_path / "missing.yaml").code == 2


def test_fields_without_effect_are_warned_about(drasat, manifests):
    done = drasat("plan", "-f", manifests(job("train", 1, more="      schedulingGates: [{name: later}]")))
    assert done.code == 0
    assert "drasat: warning: schedulingGates of 1 Job is not honoured" in done.err


def test_rules_of_pods_about_others_are_kept_without_a_warning(drasat, manifests):
    """The node has no label zone, so that the pod can be nowhere."""
    spread = "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"
    done = drasat("plan", "-f", manifests(job("train", 1, more=spread)))
    assert done.code == 1
    assert "topologySpreadConstraints" not in done.err
    assert "node(s) didn't match pod topology spread constraints: 1 of 1 node beside the plan" in done.err


def test_a_bad_label_selector_of_a_pod_is_one_line(drasat, manifests):
    spread = (
        "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,"
        " labelSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}]"
    )
    done = drasat("plan", "-f", manifests(job("train", 1, more=spread)))
    assert done.code == 2
    where = "spec.template.spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator"
    assert f'{where}: Unsupported value: "Gt"' in done.err
    assert len(done.err.strip().splitlines()) == 1


BARE = """---
apiVersion: v1
kind: Node
metadata: {name: bare}
"""


def test_nodes_of_unknown_room_are_warned_about_if_they_count(drasat, manifests):
    path = manifests(TEMPLATE, BARE, job("train", 1))
    assert "1 node has neither" in drasat("plan", "-f", path).err
    assert "neither" not in drasat("plan", "-f", path, "--buy", "--only-new").err


def test_notices_are_warnings_and_said_once(drasat, manifests, solver):
    told = "1 node has neither status.allocatable nor status.capacity, such as bare"
    solver.answer = outcome(placed("a"), notices=("left aside", f"{told}: they are taken to have room for any pods"))
    done = drasat("plan", "-f", manifests(BARE))
    assert done.err.count("has neither") == 1
    assert "drasat: warning: left aside" in done.err


def test_errors_in_expressions_cannot_be_met_in_order(drasat, manifests):
    path = manifests(claim("a", expression="device.attributes['gpu.example.com'].sick"))
    done = drasat("plan", "-f", path, "--cel-errors", "kube", "-o", "json")
    assert (done.code, json.loads(done.out)["celErrors"]) == (0, "strict")
    assert "warning: a plan visits devices in no order: --cel-errors kube means strict" in done.err
    assert "no order" not in drasat("plan", "-f", path).err


def test_a_gang_is_placed_whole_or_not_at_all(drasat, manifests):
    path = manifests(job("train", 4, annotations="{drasat.dev/gang: train}"), claim("c"))
    document = asked(drasat, "-f", path, code=1)
    assert [unit["outcome"] for unit in document["units"]] == ["NotPlaced"] * 4 + ["Placed"]
    assert {unit["gang"] for unit in document["units"]} == {"train", ""}


def test_what_does_not_fit_is_bought(drasat, manifests):
    path = manifests(TEMPLATE, job("train", 6))
    document = asked(drasat, "-f", path, "--buy")
    assert document["bought"] == [{"template": "pair", "count": 2, "price": 2.5, "cost": 5}]
    assert [node["name"] for node in document["nodes"] if node["new"]] == ["pair-1", "pair-2"]
    assert document["objective"][-1]["stage"] == "cost"
    shown = drasat("plan", "-f", path, "--buy")
    assert "pair 2 2.5 5" in rows(shown.out)
    assert "total 2 5" in rows(shown.out)


def test_without_buying_templates_do_not_count(drasat, manifests):
    assert asked(drasat, "-f", manifests(TEMPLATE, job("train", 6)), code=1)["placed"] == 3


def test_only_new_nodes(drasat, manifests):
    document = asked(drasat, "-f", manifests(TEMPLATE, job("train", 3)), "--buy", "--only-new")
    assert document["bought"][0]["count"] == 2
    assert all(node["new"] for node in document["nodes"] if node["units"])


def test_a_budget_is_not_exceeded(drasat, manifests):
    document = asked(drasat, "-f", manifests(TEMPLATE, job("train", 9)), "--buy", "--budget", "7.4", code=1)
    assert document["bought"][0]["cost"] == 5
    assert document["placed"] == 7


@pytest.fixture
def mix(tmp_path):
    """Writes what fragmentation leaves room for, into a file of its own."""

    def write(*parts, name="mix.yaml"):
        path = tmp_path / name
        path.write_text("".join(parts))
        return path

    return write


def room_for(drasat, path, *options, code=0):
    """The value of the last stage, fragmentation."""
    document = asked(drasat, "-f", path, "--objective", "admitted,fragmentation", *options, code=code)
    assert document["objective"][-1]["stage"] == "fragmentation"
    return document["objective"][-1]["value"]


def test_fragmentation_leaves_room_for_the_queue_or_for_another_mix(drasat, manifests, mix):
    path = manifests(claim("c"))
    assert room_for(drasat, path) == 2
    assert room_for(drasat, path, "--mix", mix(claim("pair", count=2))) == 2
    assert room_for(drasat, path, "--mix", mix(claim("three", count=3))) == 0
    # A mix may be any manifests; classes are those of the input.
    assert room_for(drasat, path, "--mix", mix(job("pairs", 4, count=2))) == 2


def test_a_mix_is_not_placed(drasat, manifests, mix):
    document = asked(
        drasat, "-f", manifests(claim("c")), "--objective", "admitted,fragmentation", "--mix", mix(job("pairs", 4))
    )
    assert [unit["name"] for unit in document["units"]] == ["c"]
    assert (document["asked"], document["placed"]) == (1, 1)


def test_several_mixes_are_one(drasat, manifests, mix):
    """Processors are enough for one pair, for two single ones, or for one of each."""
    path = manifests(job("train", 0, cpu=1))
    pair, single = mix(job("pair", 1, count=2, cpu=5)), mix(job("single", 1, cpu=3), name="single.yaml")
    assert room_for(drasat, path, "--mix", pair) == 2
    assert room_for(drasat, path, "--mix", single) == 2
    assert room_for(drasat, path, "--mix", pair, "--mix", single) == 3


def test_a_mix_needs_its_stage(drasat, manifests, mix):
    done = drasat("plan", "-f", manifests(claim("c")), "--mix", mix(claim("pair", count=2)))
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == ["drasat: a mix makes sense with the stage fragmentation alone"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (CLUSTER, "the mix has no unit that could be placed"),
        ("", "mix.yaml: is empty"),
        (claim("c").replace("gpu,", "missing,"), "missing"),
        ("kind: [", "mix.yaml"),
        (claim("c").replace("ResourceClaim", "ResourceClaim\nkind: x"), "mix.yaml"),
        (claim("Not a name"), "mix.yaml"),
    ],
    ids=["no units", "empty", "class", "no yaml", "twice", "invalid"],
)
def test_a_mix_of_nothing_placeable_is_bad_input(drasat, manifests, mix, given, said):
    done = drasat("plan", "-f", manifests(claim("c")), "--objective", "fragmentation", "--mix", mix(given))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_mix_that_is_not_there_is_bad_input(drasat, manifests, tmp_path):
    done = drasat("plan", "-f", manifests(), "--objective", "fragmentation", "--mix", tmp_path / "missing.yaml")
    assert (done.code, done.out) == (2, "")
    assert "missing.yaml" in done.err


def test_without_a_mix_the_solver_is_given_none(drasat, manifests, solver, mix):
    drasat("plan", "-f", manifests())
    assert solver.asked["mix"] is None
    drasat("plan", "-f", manifests(), "--mix", mix(claim("pair")))
    assert [one.metadata.name for one in solver.asked["mix"].claims.values()] == ["pair"]


@pytest.fixture
def queue(drasat, examples):
    return asked(drasat, "-f", examples / "plan-queue", code=1)


def test_the_queue_of_the_example_is_planned_at_its_optimum(queue):
    assert (queue["outcome"], queue["asked"], queue["placed"]) == ("Optimal", 10, 9)
    assert [(one["stage"], one["value"], one["bound"]) for one in queue["objective"]] == [
        ("priority=1000", 2, 2),
        ("priority=0", 7, 7),
        ("admitted", 9, 9),
    ]


def test_the_gang_of_the_example_is_in_one_rack(queue):
    nodes = {unit["node"] for unit in queue["units"] if unit["gang"] == "train"}
    assert nodes == {"gpu-3", "gpu-4"}
    chat = [unit["outcome"] for unit in queue["units"] if unit["name"] == "chat"]
    assert chat == ["Placed", "Placed"]


def test_devices_of_what_runs_are_in_use(queue):
    first = next(node for node in queue["nodes"] if node["name"] == "gpu-1")
    devices = [
        result["device"]
        for unit in queue["units"]
        if unit["node"] == "gpu-1"
        for one in unit["claims"]
        for result in one["allocation"]["devices"]["results"]
    ]
    assert "gpu-0" not in devices
    assert first["used"] == len(devices) + 1


@pytest.mark.parametrize(
    ("options", "placed_", "cost", "code"),
    [([], 9, 23, 0), (["--budget", "20"], 8, 18.5, 1), (["--budget", "23"], 9, 23, 0), (["--budget", "0"], 0, 0, 1)],
    ids=str,
)
def test_what_the_example_buys_is_the_cheapest(drasat, examples, options, placed_, cost, code):
    """Eight GPUs cost least for each, but only two such nodes are to be had."""
    document = asked(drasat, "-f", examples / "plan-buy", "--buy", "--only-new", *options, code=code)
    assert (document["outcome"], document["placed"]) == ("Optimal", placed_)
    assert sum(one["cost"] for one in document["bought"]) == cost
    assert next(one for one in document["objective"] if one["stage"] == "cost")["value"] == cost
    assert all(one["count"] <= 2 for one in document["bought"] if one["template"] == "eight-gpus")


def test_ctrl_c_while_planning_gives_a_verified_plan(examples):
    def interrupt(*_news):
        raise KeyboardInterrupt

    with pytest.raises(package.PlanInterrupted) as raised:
        package.plan(package.load(examples / "plan-queue"), watch=interrupt)
    result = raised.value.result
    assert result.document.verified
    assert result.document.asked == 10
    assert len(result.manifests()) == result.placed


def test_the_result_in_python(examples):
    pytest.importorskip("pandas")
    news = []
    cluster = package.load(examples / "plan-buy")
    result = package.plan(cluster, buy=True, only_new=True, watch=lambda *one: news.append(one))
    assert (result.outcome, result.placed, result.bought) == ("Optimal", 9, {"eight-gpus": 2, "two-gpus": 1})
    assert len(result.to_frame()) == 9
    assert list(result.to_frame("nodes")["new"]) == ["eight-gpus", "eight-gpus", "two-gpus"]
    assert len(result.manifests()) == 9
    assert {name for name, _, _ in news} <= {one.stage for one in result.document.objective}
    assert ("cost", 23) in {(name, value) for name, value, _ in news}


def test_all_that_is_bought_is_printed_even_if_no_node_was_there(drasat, manifests, solver):
    solver.answer = outcome(
        placed("a", "big-1"), nodes=[has("big-1", template="pair")], bought={"pair": nodes_of("pair", 1)}
    )
    done = drasat("plan", "-f", manifests(TEMPLATE), "--buy")
    assert "Optimal: 1 of 1 unit placed on 1 node, 1 of them to be bought" in done.out


def test_pods_of_daemon_sets_come_first_and_natural_gangs_are_an_option(drasat, examples):
    """KND-8: without the option as many pods as fit, with it whole groups only."""
    folder = examples / "plan-controllers"
    plain = asked(drasat, "-f", folder, code=1)
    gangs = asked(drasat, "-f", folder, "--natural-gangs", code=1)
    assert (plain["asked"], plain["placed"], gangs["placed"]) == (15, 13, 12)
    for document in (plain, gangs):
        agents = [unit for unit in document["units"] if unit["kind"] == "DaemonSet"]
        assert [(unit["unit"], unit["node"]) for unit in agents] == [
            (f"agent-gpu-{number}", f"gpu-{number}") for number in range(1, 5)
        ]
    groups = {unit["gang"]: unit["outcome"] for unit in gangs["units"] if unit["kind"] == "LeaderWorkerSet"}
    assert sorted(groups.values()) == ["NotPlaced", "Placed"]


@pytest.mark.parametrize(("cpu", "nodes"), [("1", 2), ("33", 4)])
def test_nodes_that_are_bought_have_what_daemon_sets_leave(drasat, tmp_path, cpu, nodes):
    """Four pods of 31 cpu: two a node of 64 beside an agent of one cpu, and one beside an agent of 33."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    agent["spec"] = {"selector": {"matchLabels": {"a": "b"}}}
    agent["spec"]["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    worker = {**container, "resources": {"requests": {"cpu": "31"}}}
    jobs = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    jobs["spec"] = {"parallelism": 4, "template": {"spec": {"restartPolicy": "Never", "containers": [worker]}}}
    shop = {"apiVersion": "drasat.dev/v1alpha1", "kind": "NodeTemplate", "metadata": {"name": "big"}}
    shop["spec"] = {"price": 1, "allocatable": {"cpu": "64", "pods": "110"}}
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [agent, jobs, shop]}))
    document = asked(drasat, "-f", path, "--buy", "--only-new")
    assert (document["placed"], document["bought"][0]["count"]) == (4, nodes)

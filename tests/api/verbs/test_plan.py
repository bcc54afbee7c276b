"""The result of ``plan`` in Python: its document, frames, manifests and arguments."""

import json
from decimal import Decimal
from time import monotonic

import jsonschema
import pytest
from support.plan_outcomes import (
    Solver,
    document,
    got,
    has,
    left,
    nodes_of,
    outcome,
    placed,
    pod_unit,
    priced,
    queued,
    ref,
    stage,
)

import drasat as package
from drasat.models.kubernetes.gates import gates_of
from drasat.models.results.plan import relative_gap
from drasat.models.workload.running import read_running_pods
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.plan import outcome as outcome_module
from drasat.solver.plan.time_budget import PlanTimeBudget
from drasat.verbs.plan import PlanResult


def result(*units, **fields):
    return PlanResult(document(*units, **fields))


@pytest.fixture
def published(examples):
    return json.loads((examples.parent / "docs/reference/results.schema.json").read_text())


@pytest.fixture
def solver(monkeypatch):
    made = Solver(outcome(placed("train", "n1", "gpu-0"), nodes=[has()], stages=[stage(value=1, bound=1)]))
    monkeypatch.setattr("drasat.solver.plan.plan.plan", made.plan)
    return made


def test_a_unit_is_told_with_its_owner_its_own_name_and_its_claims():
    (unit,) = result(placed("train", "n1", "gpu-0", "gpu-1", replica=3, gang="both")).to_dict()["units"]
    claims = unit.pop("claims")
    assert unit == {
        "kind": "Job",
        "namespace": "ns",
        "name": "train",
        "replica": 3,
        "unit": "train-3",
        "gang": "both",
        "node": "n1",
        "outcome": "Placed",
        "order": None,
        "reasons": [],
        "proof": None,
    }
    assert [(one["namespace"], one["name"]) for one in claims] == [("ns", "train-3-gpus")]
    assert [one["device"] for one in claims[0]["allocation"]["devices"]["results"]] == ["gpu-0", "gpu-1"]


@pytest.mark.parametrize("number", [1, 1000, 1001, 2003])
def test_long_documents_are_the_same_text_in_parts(number):
    """Names may look like the text around them."""
    units = [placed('e\n  "units": []', "n1", "gpu-0", replica=place) for place in range(number)]
    found = result(*units)
    whole = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    parts = list(found.json_parts())
    assert ("".join(parts), found.to_json()) == (whole, whole)
    assert len(parts) == (1 if number <= 1000 else 2 + -(-number // 1000))


def test_a_unit_without_a_node_says_why_and_its_claims_got_nothing():
    (unit,) = result(left("train", "too few devices")).to_dict()["units"]
    assert (unit["node"], unit["outcome"]) == (None, "NotPlaced")
    assert unit["reasons"] == [{"id": "devices", "claim": "ns/train-0-gpus-0", "message": "too few devices"}]
    assert [one["allocation"] for one in unit["claims"]] == [None]


def test_a_shared_claim_is_told_with_every_placed_unit_that_has_it():
    shared = ref("shared")
    first = outcome_module.PlannedUnitOutcome(
        queued("Pod", "a", pod_unit("a", shared)), "n1", allocations=((shared, got("gpu-7")),)
    )
    second = outcome_module.PlannedUnitOutcome(queued("Pod", "b", pod_unit("b", shared)), "n1")
    third = outcome_module.PlannedUnitOutcome(queued("Pod", "c", pod_unit("c", shared)))
    units = result(first, second, third).document.units
    told = [unit.claims[0].allocation and unit.claims[0].allocation.devices.results[0].device for unit in units]
    assert told == ["gpu-7", "gpu-7", None]


def test_claims_that_were_allocated_before_are_left_out():
    (unit,) = result(placed("train", "n1", "gpu-0", more=(ref("old", allocated=True),))).document.units
    assert [claim.name for claim in unit.claims] == ["train-0-gpus"]


def test_numbers_of_units_are_counted():
    found = result(placed("a", replica=0), placed("a", replica=1), left("b"), verdict="Feasible")
    assert (found.document.asked, found.placed, found.outcome) == (3, 2, "Feasible")
    assert [unit.outcome for unit in found.units] == ["Placed", "Placed", "NotPlaced"]


@pytest.mark.parametrize(
    ("value", "bound", "gap"),
    [(9, 10, 0.1), (10, 10, 0.0), (0, 0, 0.0), (12, 10, 0.2), (3, None, None), (3, 0, None), (37.5, 30, 0.25)],
)
def test_the_gap_is_relative_to_the_bound(value, bound, gap):
    assert relative_gap(value, bound) == gap


def test_stages_have_value_bound_gap_and_direction():
    found = result(stages=[stage(value=9, bound=10, proven=False), stage("cost", 37.5, None, False, maximised=False)])
    assert found.to_dict()["objective"] == [
        {"stage": "admitted", "value": 9, "bound": 10, "proven": False, "gap": 0.1, "sense": "max", "proof": None},
        {"stage": "cost", "value": 37.5, "bound": None, "proven": False, "gap": None, "sense": "min", "proof": None},
    ]


def test_what_is_bought_has_price_and_cost_by_name():
    bought = {"small": nodes_of("small", 3), "large": nodes_of("large", 2), "none": ()}
    found = result(bought=bought, prices={"small": "0.1", "large": "12.50", "none": "7"})
    assert found.bought == {"large": 2, "small": 3}
    assert found.to_dict()["bought"] == [
        {"template": "large", "count": 2, "price": 12.5, "cost": 25},
        {"template": "small", "count": 3, "price": 0.1, "cost": 0.3},
    ]


def test_nodes_say_whether_they_must_be_bought():
    nodes = result(nodes=[has("n1", 4, 3, 2), has("large-0", 8, 8, 1, "large")]).to_dict()["nodes"]
    assert nodes == [
        {"name": "n1", "new": False, "template": "", "devices": 4, "used": 3, "units": 2},
        {"name": "large-0", "new": True, "template": "large", "devices": 8, "used": 8, "units": 1},
    ]


def test_timings_are_there_only_if_they_are_wanted():
    seconds = {"search": 0.5}
    assert "timings" not in result(seconds=seconds).to_dict()
    assert result(seconds=seconds, timings=True).to_dict()["timings"] == seconds


def test_the_rest_of_the_question_is_in_the_document():
    told = result(notices=("left aside",), gap=0.01, cel_errors="skip").to_dict()
    assert (told["apiVersion"], told["kind"]) == ("drasat.dev/v1alpha1", "PlanResult")
    assert (told["notices"], told["gap"], told["celErrors"], told["verified"]) == (["left aside"], 0.01, "skip", True)
    assert told["featureGates"]["DRAConsumableCapacity"] is True
    assert told["statistics"]["unitClasses"] == 1


def test_documents_follow_the_published_schema(published):
    full = result(
        placed("a", "n1", "gpu-0", gang="g"),
        left("b", "no room", kind="ResourceClaim"),
        nodes=[has(), has("large-0", template="large")],
        stages=[stage(), stage("cost", 1.5, None, False, maximised=False)],
        bought={"large": nodes_of("large", 1)},
        prices={"large": "2"},
        seconds={"search": 1.0},
        timings=True,
    )
    jsonschema.validate(full.to_dict(), published)
    jsonschema.validate(result(verdict="Unknown").to_dict(), published)


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "Allocated"},
        {"placed": "all"},
        {"bought": {"large": 1}},
        {"objective": [{"stage": "cost"}]},
        {"units": [{"name": "a"}]},
    ],
    ids=str,
)
def test_the_schema_refuses_other_shapes(published, change):
    broken = result(placed("a")).to_dict() | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, published)


def test_an_outcome_that_no_document_knows_is_not_written():
    with pytest.raises(ValueError, match="Perfect"):
        result(verdict="Perfect")


def test_json_and_yaml_are_equal_between_runs():
    found = [result(placed("a", "n1", "gpu-0"), left("b", "no"), nodes=[has()]) for _ in range(2)]
    assert found[0].to_json() == found[1].to_json()
    assert found[0].to_yaml() == found[1].to_yaml()
    assert json.loads(found[0].to_json()) == found[0].to_dict()


@pytest.mark.parametrize(
    ("table", "columns", "rows"),
    [
        ("units", ["kind", "namespace", "name", "unit", "gang", "node", "devices", "outcome", "reasons"], 3),
        ("nodes", ["node", "new", "devices", "used", "units"], 2),
        ("owners", ["kind", "namespace", "name", "asked", "placed", "nodes"], 2),
        ("objective", ["stage", "value", "bound", "gap", "proven", "sense"], 1),
    ],
)
def test_each_table_is_a_frame(table, columns, rows):
    pytest.importorskip("pandas")
    units = placed("a", "n1", "gpu-0", "gpu-1"), placed("a", "n2", replica=1), left("b", "no")
    frame = result(*units, nodes=[has(), has("n2")], stages=[stage()]).to_frame(table)
    assert (list(frame.columns), len(frame)) == (columns, rows)


def test_the_frame_of_units_has_types():
    pytest.importorskip("pandas")
    frame = result(placed("a", "n1", "gpu-0", "gpu-1"), left("b", "no")).to_frame()
    assert list(frame["node"].isna()) == [False, True]
    assert list(frame["devices"]) == [["gpu-0", "gpu-1"], []]
    assert list(frame["reasons"]) == [[], ["no"]]
    assert frame["gang"].isna().all()


def test_notebooks_show_owners_and_stages_but_not_every_unit():
    pytest.importorskip("pandas")
    found = result(*(placed("a<b", replica=number) for number in range(500)), stages=[stage("admitted", 500, 500)])
    shown = found._repr_html_()
    assert shown.count("<tr") == 4
    assert "Optimal: 500 of 500 units placed" in shown
    assert "a<b" not in shown


def test_notebooks_show_why_units_are_not_placed():
    pytest.importorskip("pandas")
    shown = result(placed("a", "n1"), left("b", "needs a <big> GPU"))._repr_html_()
    assert "<pre>not placed: pod ns/b-0: needs a &lt;big&gt; GPU</pre>" in shown


def test_the_representation_is_the_summary():
    assert repr(result(placed("a"), nodes=[has()])) == "PlanResult(Optimal: 1 of 1 unit placed on 1 node)"


def test_manifests_are_the_claims_that_the_plan_allocates(solver):
    shared = ref("shared")
    first = outcome_module.PlannedUnitOutcome(
        queued("Pod", "a", pod_unit("a", shared)), "n1", allocations=((shared, got("gpu-7")),)
    )
    second = outcome_module.PlannedUnitOutcome(queued("Pod", "b", pod_unit("b", shared)), "n1")
    solver.answer = outcome(first, second, left("c"), bought={"large": nodes_of("large", 1)})
    (claim,) = package.plan(priced(large="2"), buy=True).manifests()
    assert (claim["kind"], claim["metadata"]["name"]) == ("ResourceClaim", "shared")
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-7"


def test_options_reach_the_solver(solver):
    given = {
        "objective": ["admitted", "cost"],
        "gap": 0.01,
        "namespace": "ns",
        "selector": "a=b",
        "feature_gates": {"DRADeviceTaints": False},
        "cel_errors": "skip",
        "time_limit": None,
        "seed": 7,
        "buy": True,
        "only_new": True,
        "mix": object(),
        "natural_gangs": True,
        "executor": object(),
        "constraints": [{"matchAttribute": "d.x/numa"}],
    }
    news = []
    package.plan(priced(), budget="12.5", watch=lambda *progress: news.append(progress), **given)
    solver.asked.pop("watch")("cost", 3.0, None)
    assert news == [("cost", 3.0, None)]
    assert solver.asked == given | {"budget": Decimal("12.5"), "may_be_unread": True}


def test_defaults_are_those_of_the_command_line(solver):
    package.plan(priced())
    asked = solver.asked
    assert (asked["gap"], asked["seed"], asked["cel_errors"]) == (0.001, 0, "strict")
    # Loading the solver counts.
    assert 240.0 < asked["time_limit"] <= 300.0
    assert (asked["objective"], asked["buy"], asked["budget"], asked["executor"]) == ((), False, None, None)


@pytest.mark.parametrize(("budget", "amount"), [(12, "12"), (0.1, "0.1"), ("0", "0"), (Decimal("1.25"), "1.25")])
def test_a_budget_is_a_decimal_number(solver, budget, amount):
    package.plan(priced(), buy=True, budget=budget)
    assert solver.asked["budget"] == Decimal(amount)


@pytest.mark.parametrize("budget", ["much", "nan", "inf", ""])
def test_other_budgets_are_refused(solver, budget):
    with pytest.raises(ValueError, match="is no decimal number") as raised:
        package.plan(priced(), buy=True, budget=budget)
    assert len(str(raised.value).splitlines()) == 1
    assert solver.asked is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"only_new": True}, "buy"),
        ({"budget": 1}, "buy"),
        ({"buy": True, "budget": -1}, "budget"),
        ({"gap": 1.5}, "gap"),
        ({"gap": -0.1}, "gap"),
        ({"objective": "beauty"}, "beauty"),
        ({"cel_errors": "ignore"}, "ignore"),
        ({"selector": "a=b=c"}, "selector"),
        ({"feature_gates": {"Magic": True}}, "Magic"),
        ({"buy": True}, "NodeTemplate"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_in_one_line(options, problem):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    with pytest.raises(ValueError, match=problem) as raised:
        package.plan(package.load(node), **options)
    assert len(str(raised.value).splitlines()) == 1


def gpus(count):
    """A node with so many GPUs, and their class."""
    driver = "gpu.example.com"
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{number}"} for number in range(count)]
    spec = {"driver": driver, "nodeName": "n1", "pool": pool, "devices": devices}
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n1"}, "spec": spec}
    yield {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}


def asking(name, count, cls="gpu"):
    """A claim for so many of them."""
    requests = [{"name": "r", "exactly": {"deviceClassName": cls, "count": count}}]
    metadata = {"name": name, "namespace": "default"}
    spec = {"devices": {"requests": requests}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("size", "room"), [(None, 6), (2, 6), (3, 6), (4, 4), (5, 5), (7, 0)])
def test_a_mix_is_a_cluster_whose_queue_is_not_placed(size, room):
    cluster = package.load([*gpus(7), asking("one", 1)])
    mix = None if size is None else package.load(asking("mixed", size))
    found = package.plan(cluster, objective="admitted,fragmentation", mix=mix)
    assert (found.outcome, found.placed) == ("Optimal", 1)
    assert [(one.stage, one.value) for one in found.document.objective] == [("admitted", 1), ("fragmentation", room)]
    assert [unit["name"] for unit in found.to_dict()["units"]] == ["one"]


@pytest.mark.parametrize(
    ("objective", "mix", "problem"),
    [
        ("admitted", [asking("mixed", 1)], "a mix makes sense with the stage fragmentation alone"),
        ((), [asking("mixed", 1)], "a mix makes sense with the stage fragmentation alone"),
        ("fragmentation", [], "the mix has no unit that could be placed"),
        ("fragmentation", [asking("mixed", 1, "none")], "the mix has no unit that could be placed: .*none"),
    ],
)
def test_a_mix_that_makes_no_sense_is_refused_in_one_line(objective, mix, problem):
    with pytest.raises(ValueError, match=f"^{problem}") as raised:
        package.plan(package.load([*gpus(2)]), objective=objective, mix=package.load(mix))
    assert len(str(raised.value).splitlines()) == 1


def test_arguments_are_named():
    with pytest.raises(TypeError):
        package.plan(priced(), "admitted")


def test_an_interrupt_carries_the_best_plan_by_then(solver):
    solver.answer = SearchInterrupted(outcome(placed("a"), left("b"), verdict="Feasible"))
    with pytest.raises(package.PlanInterrupted) as raised:
        package.plan(priced())
    assert isinstance(raised.value, KeyboardInterrupt)
    assert (raised.value.result.placed, raised.value.result.outcome) == (1, "Feasible")
    assert str(raised.value).startswith("interrupted; result holds the best by then: PlanResult(Feasible: 1 of 2 units")


def test_public_names_are_there():
    assert {"plan", "PlanResult", "PlanInterrupted"} <= {*package.__all__} & {*dir(package)}


LATE = {
    "before the plan": ("queue_ends", lambda _: monotonic() - 1),
    "for the second reading": ("has_time_to_reread", lambda _: False),
}
MOVING = {"make-room": {"moves": "any"}, "preempt": {"preempt": True}, "consolidate": {"consolidate": True}}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("name", MOVING)
def test_a_plan_says_that_there_was_no_time_to_read_what_runs_and_moves_nothing(name, late, examples, monkeypatch):
    """SRCH-10: a limit holds where running pods may move, too."""
    given = package.load(examples / name)
    monkeypatch.setattr(PlanTimeBudget, *LATE[late])
    found = package.plan(given, time_limit=1000.0, **MOVING[name])
    told = found.document
    assert (told.outcome, told.asked, told.steps, told.victims or ()) == ("Unknown", 0, (), ())
    assert told.unread >= len(given.pods) + len(given.claims)
    checked = package.check(found, given).document
    assert (checked.holding, checked.failing, checked.unchecked) == (0, 0, 1)


def test_what_may_not_take_places_is_not_told_from_a_plan_that_did_not_read_it(examples, monkeypatch):
    """A pod that never preempts is planned before, beside the others: nothing is known where that had no time."""
    given = package.load(examples / "preempt")
    read, limits = PlanTimeBudget.queue_ends, []
    monkeypatch.setattr("drasat.solver.plan.moves.preempts", lambda *_: False)
    monkeypatch.setattr(PlanTimeBudget, "has_time_to_reread", lambda own: limits.append(read(own)) or len(limits) > 1)
    found = package.plan(given, time_limit=1000.0, preempt=True)
    assert (found.document.outcome, found.document.asked, len(limits)) == ("Unknown", 0, 1)


def test_a_look_at_the_clock_ends_reading_running_pods(examples, monkeypatch):
    monkeypatch.setattr("drasat.models.workload.pod_sets._OBJECTS_BETWEEN_LOOKS", 1)
    given, looks = package.load(examples / "preempt"), []
    found = read_running_pods(given, gates_of(None), look=lambda: looks.append(1))
    # Claims of all pods come first.
    assert len(looks) == len(given.pods) + len(found)

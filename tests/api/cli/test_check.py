"""``drasat check``: exit codes, formats, and a process that knows nothing of what made the document."""

import json
import subprocess
import sys

import pytest

import drasat as library

EXAMPLE = "examples/tainted-devices"
MAKERS = ("drasat.problem", "drasat.encoders", "drasat.solver.engines", "drasat.solver.proofs", "ortools")
MAKERS += ("drasat.solver.plan", "drasat.solver.compare", "drasat.integrations")


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "result.json"

    def write(change=lambda _: None):
        made = library.allocate(library.load(EXAMPLE)).to_dict()
        change(made)
        path.write_text(json.dumps(made))
        return str(path)

    return write


def test_a_true_document_holds(drasat, document):
    done = drasat("check", document(), "-f", EXAMPLE)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "AllocationResult: 8 lines: 8 hold, 0 fail, 0 cannot be checked"


def test_a_forged_document_fails(drasat, document):
    path = document(lambda made: made["units"][0].update(node="lab-2"))
    done = drasat("check", path, "-f", EXAMPLE, "-o", "json")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["kind"], found["checked"], found["holds"]) == ("CheckResult", "AllocationResult", False)
    assert found["failing"] == len([one for one in found["lines"] if one["verdict"] == "fails"]) > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.json", "-f", EXAMPLE], "nowhere.json"),
        ([f"{EXAMPLE}/cluster.yaml", "-f", EXAMPLE], "documents"),
        (["RESULT", "-f", "nowhere"], "nowhere"),
        (["RESULT", "-f", EXAMPLE, "--node", "x"], 'node "x" is not in the input'),
        (["RESULT", "-f", EXAMPLE, "--time-limit", "soon"], "--time-limit"),
        (["RESULT", "-f", EXAMPLE, "-l", "a in"], "selector"),
    ],
)
def test_bad_input_is_one_line(drasat, document, arguments, said):
    done = drasat("check", *(document() if one == "RESULT" else one for one in arguments))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


VERBS = {
    "allocate": (library.allocate, EXAMPLE),
    "explain": (library.explain, EXAMPLE),
    "capacity": (lambda cluster: library.capacity(cluster, pod="ml/training"), "examples/whole-gpus"),
    "compare": (lambda cluster: library.compare(cluster, engines=["backtracking", "auto"]), "examples/whole-gpus"),
    "compare --plan": (
        lambda cluster: library.compare_plans(cluster, planners=["first-fit", "plan"], orders=["given"]),
        "examples/plan-queue",
    ),
    "show": (library.show, EXAMPLE),
    "topology": (library.topology, "examples/nvlink-links"),
    "quota": (library.quota, "examples/kueue/e-fungibility"),
    "overlay": (library.overlay, "examples/overlays"),
    "provision": (library.provision, "examples/provisioning/merged"),
    "plan": (lambda cluster: library.plan(cluster, buy=True), "examples/plan-pools"),
    "tune": (library.tune, "examples/tune"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_loaded_of_what_makes_documents(tmp_path, verb):
    """A process of its own reads the manifests and the document, and neither compiles nor solves anything."""
    ask, example = VERBS[verb]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(ask(library.load(example)).to_dict()))
    code = (
        "import sys\n"
        "from drasat.cli.main import app\n"
        f"sys.argv = ['drasat', 'check', {str(path)!r}, '-f', {example!r}]\n"
        "try:\n    app()\nexcept SystemExit as end:\n    print(end.code)\n"
        f"print(sorted(name for name in sys.modules if name.startswith({MAKERS!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-2:] == ["0", "[]"]


KINDS = ["QuotaResult", "ProvisionResult", "OverlayResult", "ComparisonResult", "PlanComparison", "TuneResult"]
KINDS += ["InventoryResult", "TopologyResult", "QueueCapacityResult", "SweepResult", "StudyResult", "CheckResult"]
DEEP = "[" * 2000 + "]" * 2000


@pytest.mark.parametrize("kind", [*KINDS, "PlanResult", "PurchaseComparison", "None"])
@pytest.mark.parametrize(
    "rest", ["", ', "workloads": 7', ', "notices": ' + DEEP, ', "seed": 1e400', ', "asked": "many"']
)
def test_documents_with_wrong_or_missing_fields_are_one_line(drasat, tmp_path, kind, rest):
    path = tmp_path / "result.json"
    path.write_text(f'{{"apiVersion": "drasat.dev/v1alpha1", "kind": "{kind}"{rest}}}')
    done = drasat("check", str(path), "-f", EXAMPLE)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1


def test_what_is_not_checked_stands_below_the_table(drasat, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(library.tune(library.load("examples/tune")).to_dict()))
    done = drasat("check", str(path), "-f", "examples/tune")
    assert done.code == 0
    assert "not checked: first fit is not run again" in done.out.splitlines()
    assert json.loads(drasat("check", str(path), "-f", "examples/tune", "-o", "json").out)["notChecked"] == [
        "first fit is not run again"
    ]

"""``drasat compare``: options, outputs, exit codes. The real allocator is replaced; no Go is needed."""

import json
import subprocess
import sys

import pytest
import yaml
from support.engines import changed

from drasat.models.formats.errors import PeerError
from drasat.models.results.common import Status
from drasat.peers.programs import KUBE_SCHEDULER, require_program
from drasat.reports.comparison import display_duration
from drasat.solver.allocate.load import load
from drasat.solver.engines.engine import NodeResult
from drasat.verbs.compare import compare, sweep

CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: {count}}}}}]}}}}
"""
SUPPLY = """
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2, attributes: {new: {bool: true}}}]
"""
PAIR = ("--engines", "backtracking,other")


@pytest.fixture
def manifests(tmp_path):
    path = tmp_path / "input.yaml"

    def write(*counts):
        path.write_text(SUPPLY + "".join(CLAIM.format(name=f"c{n}", count=count) for n, count in enumerate(counts)))
        return path

    return write


@pytest.fixture
def other(register):
    """Makes the engine ``other``."""
    return lambda change=lambda attempt: attempt: register("other", changed(lambda ask: change(ask()), "backtracking"))


def swap(names):
    """Other devices instead."""
    from msgspec.structs import replace

    def changed(allocation):
        results = allocation.devices.results
        moved = tuple(replace(one, device=names.get(one.device, one.device)) for one in results)
        return replace(allocation, devices=replace(allocation.devices, results=moved))

    def change(attempt):
        import dataclasses

        return dataclasses.replace(attempt, allocations=tuple(map(changed, attempt.allocations)))

    return change


def refuse(attempt):
    return NodeResult(Status.UNALLOCATABLE, message="not today")


def give_up(attempt):
    return NodeResult(Status.UNKNOWN, rule="timeLimit", message="too long")


def test_equal_answers_are_a_table_and_exit_0(drasat, manifests, other):
    other()
    done = drasat("compare", "-f", manifests(1, 2), *PAIR)
    lines = [line.split() for line in done.out.splitlines()]
    assert done.code == 0
    assert lines[0][:5] == ["ENGINE", "OUTCOME", "ADMITTED", "DEVICES", "STEPS"]
    assert lines[1][:5] == ["backtracking", "Allocated", "2", "of", "2"]
    assert lines[2][:7] == ["other", "Allocated", "2", "of", "2", "2", "equal"]
    assert done.out.splitlines()[-1] == "same answers"


@pytest.mark.parametrize(
    ("names", "relation", "exact"),
    [({"gpu-0": "gpu-1"}, "equivalent", 1), ({"gpu-0": "gpu-2"}, "different", 1), ({}, "equal", 0)],
    ids=["equivalent", "different", "equal"],
)
def test_other_devices_count_with_exact_only(drasat, manifests, other, names, relation, exact):
    """DESIGN section 5: other devices with the same verdict count as equal unless ``--exact``."""
    other(swap(names))
    path = manifests(1)
    assert drasat("compare", "-f", path, *PAIR).code == 0
    done = drasat("compare", "-f", path, *PAIR, "--exact")
    assert done.code == exact
    assert f"1 {relation}" in done.out


def test_where_answers_part_both_are_shown(drasat, manifests, other):
    other(refuse)
    done = drasat("compare", "-f", manifests(1, 1), *PAIR)
    assert done.code == 1
    assert done.out.splitlines()[-4:] == [
        "different verdicts",
        "they part at claim default/c0, request r:",
        "  backtracking  Allocated on n1, r: gpu.example.com/n1/gpu-0",
        "  other         Unallocatable: 1 of 1 node: not today",
    ]


def test_an_engine_out_of_time_is_undecided(drasat, manifests, other):
    other(give_up)
    done = drasat("compare", "-f", manifests(1), *PAIR)
    assert done.code == 3
    assert "not all engines were done in time" in done.out


def test_the_document(drasat, manifests, other):
    other(swap({"gpu-0": "gpu-1"}))
    path = manifests(1)
    done = drasat("compare", "-f", path, *PAIR, "-o", "json")
    document = json.loads(done.out)
    assert (document["apiVersion"], document["kind"]) == ("drasat.dev/v1alpha1", "ComparisonResult")
    assert [document[key] for key in ("sameVerdict", "identical", "decided", "asked")] == [True, False, True, 1]
    assert [one["engine"] for one in document["engines"]] == ["backtracking", "other"]
    assert document["engines"][0]["left"] == {"devices": 3, "free": 2, "wholeNodes": 0}
    (unit,) = document["units"]
    assert (unit["claims"], unit["relation"], unit["claim"], unit["request"]) == (
        ["default/c0"],
        "equivalent",
        "default/c0",
        "r",
    )
    assert [side["relation"] for side in unit["sides"]] == ["equal", "equivalent"]
    assert unit["sides"][1]["requests"][0]["devices"] == ["gpu.example.com/n1/gpu-1"]
    assert document["parting"] == unit
    assert (document["celErrors"], document["featureGates"]["DRADeviceTaints"]) == ("kube", True)
    assert "timings" not in document
    assert drasat("compare", "-f", path, *PAIR, "-o", "json").out == done.out
    assert yaml.safe_load(drasat("compare", "-f", path, *PAIR, "-o", "yaml").out) == document


def test_times_are_in_the_document_when_asked_for(drasat, manifests, other):
    other()
    done = drasat("compare", "-f", manifests(1), *PAIR, "--repeat", "3", "--timings", "-o", "json")
    timings = json.loads(done.out)["timings"]
    assert {engine: len(times) for engine, times in timings.items()} == {"backtracking": 3, "other": 3}


def test_wide_shows_every_unit(drasat, manifests, other):
    other(refuse)
    done = drasat("compare", "-f", manifests(1), *PAIR, "-o", "wide")
    rows = [line.split() for line in done.out.splitlines()[-3:]]
    assert rows[0] == ["POD", "CLAIMS", "ENGINE", "OUTCOME", "NODE", "DEVICES", "RELATION"]
    allocated = ["Allocated", "n1", "r:", "gpu.example.com/n1/gpu-0", "equal"]
    assert rows[1] == ["<none>", "default/c0", "backtracking", *allocated]
    assert rows[2] == ["<none>", "default/c0", "other", "Unallocatable", "<none>", "<none>", "different"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "compare needs -f PATH, or --sweep NAME"),
        (("--sweep", "easy", "--node", "n1"), "--sweep makes its own input"),
        (("--sweep", "magic"), "unknown sweep 'magic', known are: easy, too-many"),
        (("--sweep", "easy=0"), "sizes of a sweep must be numbers above zero, not '0'"),
        (("--sweep", "easy=4,x"), "sizes of a sweep must be numbers above zero"),
        (("--sweep", "easy", "--engines", "backtracking"), "at least two different engines"),
        (("--sweep", "easy", "--repeat", "0"), "repeat must be at least 1"),
        (("--sweep", "easy", "--cel-errors", "strict"), "cannot handle CEL errors as 'strict'"),
    ],
    ids=["nothing", "both", "unknown", "zero", "word", "one-engine", "never", "CEL-6"],
)
def test_bad_usage_is_one_line(drasat, arguments, problem):
    done = drasat("compare", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("drasat: ")
    assert problem in done.err
    assert len(done.err.splitlines()) == 1


def test_without_the_peer_one_line_says_what_to_do(drasat, manifests, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(PeerError, match="drasat peers build") as missing:
        require_program(KUBE_SCHEDULER)
    reason = str(missing.value)
    done = drasat("compare", "-f", manifests(1))
    # One answer is no comparison.
    assert (done.code, done.err) == (3, f"drasat: warning: kube-scheduler could not answer: {reason}\n")
    assert "backtracking" in done.out
    both = drasat("compare", "-f", manifests(1), "--engines", "kube-scheduler,backtracking,cp-sat", "-o", "json")
    document = json.loads(both.out)
    assert (both.code, document["skipped"]) == (0, [{"name": "kube-scheduler", "reason": reason}])
    assert [one["engine"] for one in document["engines"]] == ["backtracking", "cp-sat"]


def test_a_sweep_shows_how_steps_grow(drasat, other):
    """SRCH-11: one device more than there are takes 2^n steps."""
    other()
    done = drasat("compare", "--sweep", "too-many=3,4,5", *PAIR)
    lines = [line.split() for line in done.out.splitlines()]
    assert done.code == 0
    assert lines[0][:4] == ["SIZE", "OUTCOME", "BACKTRACKING", "STEPS"]
    assert [(line[0], line[1], line[2]) for line in lines[1:]] == [
        ("3", "Unallocatable", "8"),
        ("4", "Unallocatable", "16"),
        ("5", "Unallocatable", "32"),
    ]


def test_a_sweep_as_a_document(drasat, other):
    other()
    document = json.loads(drasat("compare", "--sweep", "pods=5,10", *PAIR, "-o", "json").out)
    assert (document["kind"], document["sweep"], document["sameVerdict"]) == ("SweepResult", "pods", True)
    assert [(point["size"], point["asked"]) for point in document["points"]] == [(5, 5), (10, 10)]
    admitted = [(one["engine"], one["admitted"]) for one in document["points"][1]["engines"]]
    assert admitted == [("backtracking", 10), ("other", 10)]


def test_an_engine_out_of_time_leaves_a_sweep(drasat, other):
    other(give_up)
    done = drasat("compare", "--sweep", "easy=2,4,8", *PAIR)
    assert done.code == 3
    assert len(done.out.splitlines()) == 2
    assert "(out of time)" in done.out


def test_python(manifests, other):
    other(refuse)
    found = compare(load(str(manifests(1))), ["backtracking", "other"])
    assert (found.same_verdict, found.identical) == (False, False)
    assert repr(found) == "ComparisonResult(backtracking: Allocated, 1 admitted, other: Unallocatable, 0 admitted)"


def test_frames(manifests, other):
    pytest.importorskip("pandas")
    other()
    found = compare(load(str(manifests(1))), ["backtracking", "other"])
    assert list(found.to_frame()["engine"]) == ["backtracking", "other"]
    assert "<table" in found._repr_html_()
    swept = sweep("easy", [2, 3], ["backtracking", "other"])
    assert list(swept.to_frame()["size"]) == [2, 2, 3, 3]


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (0.0000456, "45.6 us"), (0.0, "0 us")]
)
def test_durations_read_well(seconds, text):
    assert display_duration(seconds) == text


def test_nothing_heavy_is_imported_for_help():
    code = "import sys, drasat.cli.compare, drasat.cli.peers; print({'pandas', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"

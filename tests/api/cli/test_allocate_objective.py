"""``--objective`` on the command line and from Python: documents, tables, exit codes, progress."""

import io
import json
import sys

import jsonschema
import pytest
from support.engines import Interrupting, solved_by
from support.texts import Terminal, claim

import drasat
from drasat.cli.output import ProgressLine, print_stderr, progress_line

SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, capacity: {memory: {value: 40Gi}}}
  - {name: gpu-1, capacity: {memory: {value: 5Gi}}}
  - {name: gpu-2, capacity: {memory: {value: 10Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
"""


@pytest.fixture
def manifests(tmp_path):
    path = tmp_path / "input.yaml"
    path.write_text(SLICE + claim("a") + claim("b"))
    return path


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
def test_a_table_is_followed_by_the_stages(drasat, manifests, engine):
    done = drasat("allocate", "-f", manifests, "--objective", "fragmentation,compact", "--engine", engine)
    assert done.code == 0
    assert [line.split()[-1] for line in done.out.splitlines()[1:]] == ["gpu-1", "gpu-2"]
    # (5/40)², (10/40)², in squares of thousandths.
    assert done.err.splitlines() == [
        "claim default/a: fragmentation 15625, compact 2",
        "claim default/b: fragmentation 62500, compact 2",
    ]


def test_the_document_has_value_and_bound_of_each_stage(drasat, manifests):
    done = drasat("allocate", "-f", manifests, "--objective", "compact,soft", "-o", "json")
    told = [unit["objective"] for unit in json.loads(done.out)["units"]]
    expected = [
        {"stage": "compact", "value": 2, "bound": 2, "proven": True},
        {"stage": "soft", "value": 0, "bound": 0, "proven": True},
    ]
    assert told == [expected, expected]
    assert done.err == ""


def test_without_an_objective_the_list_is_empty(drasat, manifests):
    done = drasat("allocate", "-f", manifests, "-o", "json")
    assert [unit["objective"] for unit in json.loads(done.out)["units"]] == [[], []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--objective", "best"], "unknown stage 'best' of an objective, known are: preference, soft"),
        (["--objective", "compact,,soft"], "unknown stage ''"),
        (["--objective", "soft,soft"], "stage 'soft' comes twice"),
        (["--objective", "soft", "--engine", "backtracking"], "engine 'backtracking' knows no objective"),
        (["--objective", "soft", "--engine", "kube-scheduler"], "engine 'kube-scheduler' knows no objective"),
    ],
    ids=["unknown", "empty", "twice", "backtracking", "kube-scheduler"],
)
def test_bad_usage_is_one_line_and_exits_with_2(drasat, manifests, options, message):
    done = drasat("allocate", "-f", manifests, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_an_interrupt_prints_the_best_so_far_with_its_bound(drasat, manifests, register):
    register("auto", solved_by(Interrupting()))
    done = drasat("allocate", "-f", manifests, "--objective", "fragmentation,compact", "-o", "json")
    first, second = json.loads(done.out)["units"]
    assert done.code == 130
    assert (first["outcome"], second["outcome"]) == ("Allocated", "Unknown")
    assert first["objective"][0] == {"stage": "fragmentation", "value": 15625, "bound": 15625, "proven": True}
    assert first["objective"][1] == {"stage": "compact", "value": 2, "bound": 0, "proven": False}


def test_a_stage_that_is_not_proven_says_so_in_words(drasat, manifests, register):
    register("auto", solved_by(Interrupting()))
    done = drasat("allocate", "-f", manifests, "--objective", "fragmentation,compact")
    assert done.err.splitlines()[0] == "claim default/a: fragmentation 15625, compact 2 (at least 0)"


@pytest.mark.parametrize("objective", ["fragmentation,soft", ["fragmentation", "soft"]], ids=["text", "list"])
def test_from_python(manifests, examples, objective):
    result = drasat.allocate(drasat.load(str(manifests)), objective=objective)
    assert [one.stage for one in result.units[0].objective] == ["fragmentation", "soft"]
    schema = (examples.parent / "docs" / "reference" / "results.schema.json").read_text()
    jsonschema.validate(result.to_dict(), json.loads(schema))


def test_an_interrupt_in_python_carries_the_best_so_far(manifests, register):
    register("auto", solved_by(Interrupting()))
    with pytest.raises(drasat.AllocationInterrupted) as interrupt:
        drasat.allocate(drasat.load(str(manifests)), objective="fragmentation")
    result = interrupt.value.result
    assert [unit.outcome for unit in result.units] == ["Allocated", "Unknown"]
    assert len(result.manifests()) == 1


def test_progress_is_one_line_that_is_rewritten_and_removed(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    seconds = iter((0.0, 0.1, 0.5, 0.6, 12.4))
    watch = ProgressLine(lambda: next(seconds)).report_search
    for news in ((None, None), (None, 3), (7, 3), (9, 3)):
        watch("compact", *news)
    print_stderr("done")
    line = "\r{}\x1b[K"
    assert sys.stderr.getvalue() == "".join(
        (
            line.format("searching 0 s: compact, at least 3"),
            line.format("searching 12 s: compact, best so far 9, at least 3"),
            "\r\x1b[Kdone\n",
        )
    )


def test_without_a_terminal_nothing_is_told(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert progress_line() is None

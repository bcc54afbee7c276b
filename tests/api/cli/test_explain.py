"""``drasat explain``: what is printed, exit codes, the document, and the function for notebooks."""

import json
import subprocess
import sys

import jsonschema
import pytest
import yaml
from support.engines import failing

import drasat as package
from drasat.models.results.schema import results_schema

SUPPLY = """
apiVersion: v1
kind: Node
metadata: {name: node-1}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {numa: {int: 0}}}
  - {name: gpu-1, attributes: {numa: {int: 0}}}
  - {name: gpu-2, attributes: {numa: {int: 1}}}
  - {name: gpu-3, attributes: {numa: {int: 1}}, taints: [{key: dedicated, value: ml, effect: NoSchedule}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: x}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]}}
status: {allocation: {devices: {results: [{request: g, driver: gpu.example.com, pool: node-1, device: gpu-0}]}}}
"""
CLAIM = """---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}}}
spec:
  devices:
    requests: [{{name: gpus, exactly: {{deviceClassName: gpu.example.com, count: {count}}}}}]
    constraints: [{{matchAttribute: gpu.example.com/numa}}]
"""
TOLD = """\
claim default/fits: fits on node-1
claim default/a: Unallocatable
  on node-1:
    request gpus of claim default/a needs 2: 4 of 5 devices match class gpu.example.com: \
2 in use by claim default/fits, default/x, 1 taint dedicated=ml:NoSchedule, 1 free
    impossible together:
      request gpus of claim default/a needs 2 devices
      selector 0 of class gpu.example.com rules out 1 device: device.driver == "gpu.example.com"
      devices in use by claim default/x: gpu-0
      devices in use by claim default/fits: gpu-1
      taint dedicated=ml:NoSchedule: gpu-3
  it would fit with any of these:
    count 1 instead of 2 in request gpus of claim default/a (cost 1, on node-1)
    tolerate dedicated=ml:NoSchedule in request gpus of claim default/a (cost 1, on node-1)
    free claim default/x, and drop constraint 0 (matchAttribute gpu.example.com/numa) of claim default/a \
(cost 5, on node-1)
"""


@pytest.fixture
def manifests(tmp_path):
    path = tmp_path / "input.yaml"

    def write(**counts):
        path.write_text(SUPPLY + "".join(CLAIM.format(name=name, count=count) for name, count in counts.items()))
        return path

    return write


def test_text_goes_to_stdout_and_the_code_says_that_something_does_not_fit(drasat, manifests):
    done = drasat("explain", "-f", manifests(fits=1, a=2))
    assert (done.code, done.err) == (1, "")
    assert done.out == TOLD


def test_everything_fits(drasat, manifests):
    assert drasat("explain", "-f", manifests(a=1)) == (0, "claim default/a: fits on node-1\n", "")


def test_nothing_is_asked(drasat, manifests):
    done = drasat("explain", "-f", manifests())
    assert (done.code, done.out) == (0, "")
    assert "nothing to explain" in done.err


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_document_follows_the_schema(drasat, manifests, form, parse):
    done = drasat("explain", "-f", manifests(fits=1, a=2), "-o", form)
    assert done.code == 1
    document = parse(done.out)
    jsonschema.validate(document, results_schema())
    assert document["kind"] == "ExplanationResult"
    fits, unit = document["units"]
    assert (fits["node"], fits["failures"], fits["relaxations"]) == ("node-1", [], [])
    (nodes,) = unit["failures"]
    assert (nodes["nodes"], nodes["names"], nodes["minimal"], nodes["certified"]) == (1, ["node-1"], True, True)
    assert nodes["requests"][0]["deviceClass"] == "gpu.example.com"
    assert [change["id"] for change in unit["relaxations"][1]["changes"]] == ["toleration"]
    assert unit["complete"]


def test_the_same_bytes_each_time(drasat, manifests):
    path = manifests(a=2, b=3)
    assert drasat("explain", "-f", path, "-o", "json").out == drasat("explain", "-f", path, "-o", "json").out


def test_timings_only_where_they_are_asked_for(drasat, manifests):
    path = manifests(a=2)
    assert "timings" not in json.loads(drasat("explain", "-f", path, "-o", "json").out)
    assert "timings" in json.loads(drasat("explain", "-f", path, "-o", "json", "--timings").out)
    assert drasat("explain", "-f", path, "--timings").err.startswith("explain ")


@pytest.mark.parametrize(
    "options",
    [("--time-limit", "soon"), ("-l", "a=b=c"), ("--feature-gates", "Nope=true"), ("--node", "a\nb"), ("-o", "name")],
)
def test_bad_usage(drasat, manifests, options):
    assert drasat("explain", "-f", manifests(a=2), *options).code == 2


def test_undecided(drasat, manifests):
    assert drasat("explain", "-f", manifests(a=2), "--time-limit", "0.000000001s").code == 3


def test_only_what_was_asked_about(drasat, manifests):
    assert drasat("explain", "-f", manifests(a=2), "-n", "other").code == 0
    assert drasat("explain", "-f", manifests(a=1), "--node", "node-9").code == 2


def test_an_interrupt_prints_what_was_explained(drasat, manifests, register):
    register("auto", failing(KeyboardInterrupt, at=2))
    done = drasat("explain", "-f", manifests(a=3, b=1))
    assert done.code == 130
    assert "claim default/a: Unallocatable" in done.out
    assert "interrupted before this was explained" in done.out


def test_in_python(manifests):
    result = package.explain(package.load(manifests(fits=1, a=2)))
    assert repr(result) == "ExplanationResult(Unallocatable, 1 of 2 units not allocated)"
    assert result.to_dict()["outcome"] == result.outcome == "Unallocatable"
    frame = result.to_frame()
    assert list(frame["what"]).count("reason") == 5
    assert set(frame["relaxation"].dropna()) >= {1, 2}
    assert "<table" in result._repr_html_()
    assert result.units[1].claims == ("default/a",)


def test_an_interrupt_in_python(manifests, register):
    register("auto", failing(KeyboardInterrupt))
    with pytest.raises(package.ExplanationInterrupted) as raised:
        package.explain(package.load(manifests(a=2)))
    assert raised.value.result.outcome == "Unknown"


def test_what_fits_needs_no_solver(manifests):
    program = (
        "import sys, drasat; drasat.explain(drasat.load(sys.argv[1])); "
        "sys.exit(any(name.startswith('ortools') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program, str(manifests(a=1))], check=False).returncode == 0


def test_the_members_that_stop_a_gang_are_named(drasat, examples):
    done = drasat("explain", "-f", examples / "plan-controllers", "--natural-gangs")
    assert done.code == 1
    line = "JobSet ml/train is a gang of all: 2 of 4 members find a place beside the others"
    assert f"{line}; it is stopped by ml/train-worker-0-2, ml/train-worker-0-3" in done.err


def test_a_group_is_explained_and_checked(drasat, examples, tmp_path):
    """The document follows its schema, and what it places holds."""
    folder = examples / "group-questions"
    done = drasat("explain", "--group", "train", "-f", folder, "-o", "json")
    document = json.loads(done.out)
    jsonschema.validate(document, results_schema())
    told = [one["answer"] for one in document["group"]["trials"]]
    assert (done.code, document["outcome"], told) == (1, "Unallocatable", ["yes", "no", "yes", "yes"])
    (tmp_path / "r.json").write_text(done.out)
    checked = json.loads(drasat("check", tmp_path / "r.json", "-f", folder, "-o", "json").out)
    assert {one["verdict"] for one in checked["lines"]} == {"holds", "unchecked"}
    document["group"]["trials"][0]["units"].pop()
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert drasat("check", tmp_path / "r.json", "-f", folder).code == 1


def test_a_group_goes_with_no_node(drasat, examples):
    done = drasat("explain", "--group", "train", "--node", "gpu-1", "-f", examples / "group-questions")
    assert (done.code, done.out) == (2, "")
    assert "--group makes no sense with --node or -l" in done.err


def test_a_group_without_time_is_undecided(drasat, examples):
    done = drasat("explain", "--group", "train", "--time-limit", "1ms", "-f", examples / "group-questions")
    assert (done.code, "undecided" in done.out) == (3, True)


def test_what_evictions_and_moves_do_are_rows(drasat, examples):
    done = drasat("explain", "--group", "train", "-o", "wide", "-f", examples / "group-questions")
    assert (done.code, "move pod team/web from gpu-2 to gpu-3" in done.out) == (1, True)


@pytest.mark.parametrize("name", ["mig-partitions", "tainted-devices"])
def test_every_set_of_reasons_is_audited(drasat, examples, name):
    done = drasat("explain", "-f", examples / name, "--audit", "50s", "-o", "json")
    document = json.loads(done.out)
    failures = [one for unit in document["units"] for one in unit["failures"]]
    assert {(one["proof"], one["certified"]) for one in failures} == {("audited", True)}
    assert (document["proof"], document["certified"]) == ("audited", True)
    told = drasat("explain", "-f", examples / name, "--audit", "50s").out
    assert told.count("audited:") == len(failures)


def test_an_audit_without_time_changes_nothing(drasat, examples):
    plain, late = (
        json.loads(drasat("explain", "-f", examples / "mig-partitions", *options, "-o", "json").out)
        for options in ((), ("--audit", "0.000001"))
    )
    assert plain == late


def test_a_bad_duration_of_an_audit_is_one_line(drasat, examples):
    done = drasat("explain", "-f", examples / "mig-partitions", "--audit", "soon")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "--audit: 'soon' is not a duration" in done.err

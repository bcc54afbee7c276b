"""``drasat allocate``: options, outputs, exit codes."""

import gzip
import io
import json

import pytest
import yaml
from support.engines import failing
from support.texts import claim

SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1, attributes: {sick: {bool: true}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
"""


@pytest.fixture
def manifests(tmp_path):
    def write(*claims):
        path = tmp_path / "input.yaml"
        path.write_text(SLICE + "".join(claims))
        return path

    return write


def devices(document):
    return [
        result["device"]
        for unit in document["units"]
        for one in unit["claims"]
        for result in (one["allocation"] or {"devices": {"results": []}})["devices"]["results"]
    ]


def test_everything_allocated_exits_with_0(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a"), claim("b")))
    assert done.code == 0
    assert done.err == ""
    assert [line.split() for line in done.out.splitlines()] == [
        ["NAMESPACE", "POD", "CLAIM", "NODE", "REQUEST", "DEVICES"],
        ["default", "<none>", "a", "n1", "r", "gpu-0"],
        ["default", "<none>", "b", "n1", "r", "gpu-1"],
    ]


def test_one_claim_without_devices_exits_with_1_and_says_where_they_fell(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a"), claim("b", count=2)))
    assert done.code == 1
    assert "Unallocatable" in done.out
    assert "claim default/b: Unallocatable" in done.err
    assert "request r needs 2, 1 fit of 2 devices: 1 in use" in done.err


def test_the_document_says_what_a_no_rests_on(drasat, manifests):
    folder = manifests(claim("a"), claim("b", count=2))
    plain, audited = (
        json.loads(drasat("allocate", "-f", folder, "-o", "json", *options).out) for options in ([], ["--audit", "60s"])
    )
    assert (plain["proof"], audited["proof"]) == ("witness", "audited")
    assert [kind["proofKind"] for unit in audited["units"] for kind in unit["failures"]] == ["audited"]
    assert plain["certified"]
    assert audited["certified"]
    everything = json.loads(drasat("allocate", "-f", manifests(claim("a")), "-o", "json", "--audit", "60s").out)
    assert everything["proof"] is None


def test_an_audit_without_time_leaves_what_the_no_rested_on(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a", count=3)), "--audit", "0.000001", "-o", "json")
    assert json.loads(done.out)["proof"] == "witness"


def test_the_time_limit_leaves_units_undecided_with_3(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a")), "--time-limit", "0.000001", "-o", "json")
    assert (done.code, json.loads(done.out)["outcome"]) == (3, "Unknown")


def test_an_error_of_an_expression_exits_with_1_and_outcome_error(drasat, manifests):
    path = manifests(claim("a", expression="device.attributes['gpu.example.com'].gone"))
    done = drasat("allocate", "-f", path, "-o", "json")
    document = json.loads(done.out)
    assert (done.code, document["outcome"]) == (1, "Error")
    assert "no such key: gone" in document["units"][0]["reasons"][0]["message"]


@pytest.mark.parametrize(
    ("policy", "outcome"), [("kube", "Error"), ("strict", "Allocated"), ("skip", "Allocated")], ids=str
)
def test_cel_errors_decide_what_an_error_does(drasat, manifests, policy, outcome):
    path = manifests(claim("a", expression="device.attributes['gpu.example.com'].sick"))
    done = drasat("allocate", "-f", path, "--engine", "backtracking", "--cel-errors", policy, "-o", "json")
    assert json.loads(done.out)["outcome"] == outcome


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
def test_engines_without_a_search_order_say_that_they_are_strict(drasat, manifests, engine):
    """CEL-7: whether an error is met depends on the order."""
    path = manifests(claim("a", expression="device.attributes['gpu.example.com'].sick"))
    done = drasat("allocate", "-f", path, "--engine", engine, "--cel-errors", "kube", "-o", "json")
    assert json.loads(done.out)["outcome"] == "Allocated"
    assert f"engine {engine} visits devices in no order: --cel-errors kube means strict" in done.err


def test_with_a_node_loose_claims_are_one_pods(drasat, manifests):
    path = manifests(claim("a"), claim("b", count=2))
    document = json.loads(drasat("allocate", "-f", path, "--node", "n1", "-o", "json").out)
    assert [unit["outcome"] for unit in document["units"]] == ["Unallocatable"]
    assert [one["name"] for one in document["units"][0]["claims"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "names"),
    [(["-n", "other"], ["b"]), (["-l", "team=x"], ["a"]), (["-l", "team!=x"], ["b", "c"]), ([], ["a", "b", "c"])],
    ids=["namespace", "label", "label-not", "all"],
)
def test_namespace_and_labels_choose_what_is_asked(drasat, manifests, options, names):
    path = manifests(claim("a", labels="{team: x}"), claim("b", namespace="other"), claim("c"))
    document = json.loads(drasat("allocate", "-f", path, *options, "-o", "json").out)
    assert [one["name"] for unit in document["units"] for one in unit["claims"]] == names


def test_json_and_yaml_are_the_same_document(drasat, manifests):
    path = manifests(claim("a"))
    assert json.loads(drasat("allocate", "-f", path, "-o", "json").out) == yaml.safe_load(
        drasat("allocate", "-f", path, "-o", "yaml").out
    )


def test_documents_are_equal_byte_for_byte_between_runs(drasat, examples):
    outs = {drasat("allocate", "-f", examples / "shared-cpus", "-o", "json").out for _ in range(3)}
    assert len(outs) == 1


def test_the_seed_decides_share_ids(drasat, examples):
    first, second = (
        json.loads(drasat("allocate", "-f", examples / "shared-cpus", "-o", "json", "--seed", seed).out)
        for seed in (0, 1)
    )
    ids = [
        [
            result["shareID"]
            for unit in document["units"]
            for result in unit["claims"][0]["allocation"]["devices"]["results"]
        ]
        for document in (first, second)
    ]
    assert len({*ids[0], *ids[1]}) == len(ids[0]) + len(ids[1])


def test_timings_are_added_only_on_request(drasat, manifests):
    path = manifests(claim("a"))
    plain, timed = (json.loads(drasat("allocate", "-f", path, "-o", "json", *more).out) for more in ([], ["--timings"]))
    assert "timings" not in plain
    assert timed.pop("timings").keys() == {"search", "verify"}
    assert plain == timed


def test_names_are_those_of_allocated_claims(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a"), claim("b", count=2)), "-o", "name")
    assert done.out == "resourceclaim.resource.k8s.io/a\n"


def test_wide_shows_driver_pool_and_share(drasat, examples):
    done = drasat("allocate", "-f", examples / "shared-cpus", "-o", "wide")
    row = next(line for line in done.out.splitlines() if "database" in line)
    assert "cpu.example.com" in row
    assert "cpus=16" in row


def test_manifests_give_back_the_claim_with_its_status(drasat, manifests, tmp_path):
    path = manifests(claim("a", labels="{team: x}").replace("spec:", "unknown: {kept: [1, yes]}\nspec:", 1))
    (written,) = yaml.safe_load_all(drasat("allocate", "-f", path, "-o", "manifests").out)
    assert written["unknown"] == {"kept": [1, True]}
    assert written["metadata"]["labels"] == {"team": "x"}
    assert written["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert "allocationTimestamp" not in written["status"]["allocation"]


def test_allocated_manifests_can_be_read_again_and_are_in_use(drasat, manifests, tmp_path):
    path = manifests(claim("a"))
    allocated = tmp_path / "allocated.yaml"
    allocated.write_text(drasat("allocate", "-f", path, "-o", "manifests").out)
    rest = tmp_path / "rest.yaml"
    rest.write_text(SLICE + claim("b"))
    document = json.loads(drasat("allocate", "-f", rest, "-f", allocated, "-o", "json").out)
    assert devices(document) == ["gpu-1"]


def test_stdin_and_gzip_are_read(drasat, manifests, monkeypatch):
    packed = gzip.compress(manifests(claim("a")).read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert drasat("allocate", "-f", "-", "-o", "name").out == "resourceclaim.resource.k8s.io/a\n"


def test_objects_of_other_kinds_are_ignored_with_one_line(drasat, manifests):
    other = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    done = drasat("allocate", "-f", manifests(claim("a"), other, other))
    assert done.err.splitlines() == ["drasat: ignored 2 objects of other kinds: 2 Secret"]


def test_feature_gates_in_use_are_in_the_result(drasat, manifests):
    document = json.loads(
        drasat("allocate", "-f", manifests(claim("a")), "--kubernetes-version", "1.36", "-o", "json").out
    )
    assert document["featureGates"]["DRAListTypeAttributes"] is False
    assert document["featureGates"]["DRAPartitionableDevices"] is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "magic"], "unknown engine 'magic'"),
        (["--feature-gates", "Nonsense=true"], "Nonsense"),
        (["--kubernetes-version", "1.2"], "1.2"),
        (["--time-limit", "soon"], "'soon' is not a duration"),
        (["--time-limit", "0s"], "above zero"),
        (["-l", "a in"], "a in"),
        (["--audit", "soon"], "--audit: 'soon' is not a duration"),
        (["--audit", "9s", "--engine", "backtracking"], "engine 'backtracking' knows no audit"),
    ],
    ids=["engine", "gate", "version", "duration", "zero", "selector", "audit", "audit-of-search"],
)
def test_bad_usage_is_one_line_and_2(drasat, manifests, options, message):
    done = drasat("allocate", "-f", manifests(claim("a")), *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("options", [["--nonsense"], ["-o", "xml"], []], ids=["option", "output", "no-file"])
def test_unknown_options_are_refused_with_2(drasat, options):
    done = drasat("allocate", *options)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_bad_input_is_a_line_a_problem_with_file_document_and_field(drasat, manifests):
    done = drasat("allocate", "-f", manifests(claim("a", count=-1), claim("b_", count=-2)))
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert len(lines) == 3
    assert (
        "input.yaml document 3: ResourceClaim default/a: spec.devices.requests[0].exactly.count: Invalid value: -1"
        in lines[0]
    )
    assert "metadata.name" in done.err


def test_skip_validation_lifts_names(drasat, manifests):
    path = manifests(claim("under_score"))
    assert drasat("allocate", "-f", path).code == 2
    assert drasat("allocate", "-f", path, "--skip-validation").code == 0


def test_an_interrupt_exits_with_130(drasat, manifests, register):
    register("auto", failing(KeyboardInterrupt))
    assert drasat("allocate", "-f", manifests(claim("a"))).code == 130


def test_a_defect_of_ours_is_one_line_and_no_traceback(drasat, manifests, register):
    register("auto", failing(RuntimeError("two\nlines")))
    done = drasat("allocate", "-f", manifests(claim("a")))
    assert done.code == 2
    assert done.err == "drasat: this is a defect of drasat, please report it: RuntimeError: two\\nlines\n"

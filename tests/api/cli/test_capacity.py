"""``drasat capacity`` and ``drasat.capacity``: options, outputs, exit codes."""

import json

import jsonschema
import pytest
import yaml
from support.texts import claim, rows, spec

import drasat as package

CLUSTER = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2, attributes: {size: {int: 2}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n2}
spec:
  driver: gpu.example.com
  nodeName: n2
  pool: {name: n2, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
"""


POD = f"""---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: t, namespace: team}}
spec: {{spec: {spec(count=2)}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: team}}
spec: {{resourceClaims: [{{name: gpus, resourceClaimTemplateName: t}}], containers: [{{name: c, image: i}}]}}
"""

ADMIN = """---
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {resource.kubernetes.io/admin-access: "true"}}
"""


@pytest.fixture
def manifests(tmp_path):
    def write(*parts):
        path = tmp_path / "input.yaml"
        path.write_text(CLUSTER + "".join(parts))
        return path

    return write


def test_the_table_tells_kinds_of_nodes_and_the_sum(drasat, manifests):
    done = drasat("capacity", "-f", manifests(claim()))
    assert (done.code, done.err) == (0, "")
    assert rows(done.out) == [
        "NODES NAMES FITS AT MOST FIRST FIT WHAT STOPS THE NEXT",
        "1 n1 3 3 3 request r needs 1, 0 fit of 3 devices: 3 in use",
        "1 n2 1 1 1 request r needs 1, 0 fit of 1 device: 1 in use",
        "2 all together 4 4 4",
        "ResourceClaim default/c: 4 more fit, proven",
    ]


def test_wide_adds_the_proofs(drasat, manifests):
    done = drasat("capacity", "-f", manifests(claim(count=2)), "-o", "wide")
    assert done.code == 0
    assert rows(done.out)[-2:] == [
        "n1: 2 requests of 2 claims need 4 devices, 3 can be used",
        "n2: request r needs 2 devices, 1 can be used",
    ]


def test_json_and_yaml_are_the_document(drasat, manifests):
    path = manifests(claim())
    printed = drasat("capacity", "-f", path, "-o", "json")
    document = json.loads(printed.out)
    assert document["kind"] == "CapacityResult"
    assert document["total"] == {"fits": 4, "bound": 4, "proven": True, "unbounded": False, "firstFit": 4}
    assert document["verified"] is True
    assert yaml.safe_load(drasat("capacity", "-f", path, "-o", "yaml").out) == document
    assert drasat("capacity", "-f", path, "-o", "json").out == printed.out


def test_the_document_matches_the_published_schema(examples, drasat, manifests):
    published = json.loads((examples.parent / "docs/reference/results.schema.json").read_text())
    for options in (["-f", manifests(claim())], ["-f", examples / "multi-host", "--template", "research/small-slice"]):
        document = json.loads(drasat("capacity", *options, "-o", "json", "--timings").out)
        jsonschema.validate(document, published)
        assert set(document["timings"]) == {"search", "verify"}


def test_templates_pods_and_single_nodes_can_be_asked_about(drasat, manifests):
    path = manifests(claim(), POD)
    assert "Pod team/p: 1 more fit" in drasat("capacity", "-f", path, "--pod", "team/p").out
    assert "ResourceClaimTemplate team/t: 1 more fit" in drasat("capacity", "-f", path, "--template", "team/t").out
    assert "ResourceClaim default/c: 1 more fit" in drasat("capacity", "-f", path, "--claim", "c", "--node", "n2").out


def test_none_fits_exits_with_1(drasat, manifests):
    done = drasat("capacity", "-f", manifests(claim(count=4)))
    assert done.code == 1
    assert "0 more fit, proven" in done.out


def test_nothing_found_and_nothing_proven_exits_with_3(drasat, manifests):
    done = drasat("capacity", "-f", manifests(claim()), "--time-limit", "0.000001")
    assert done.code == 3
    assert "0 more fit, not proven" in done.out


def test_any_number_exits_with_0(drasat, manifests):
    done = drasat("capacity", "-f", manifests(ADMIN, claim(admin=True)))
    assert done.code == 0
    assert "any number of copies fits" in done.out
    assert "any number" in rows(done.out)[1]


def test_the_limit_ends_counting(drasat, manifests):
    done = drasat("capacity", "-f", manifests(claim()), "--limit", "2")
    assert done.code == 0
    assert "3 more fit, not proven" in done.out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--claim", "x"], "ResourceClaim default/x not found"),
        (["--claim", "c", "--pod", "p"], "give only one of them"),
        ([], "say which: Pod team/p, ResourceClaim default/c"),
        (["--claim", "c", "--limit", "0"], "above zero"),
        (["--claim", "c", "--time-limit", "soon"], "--time-limit"),
        (["--claim", "c", "--feature-gates", "X=true"], "X"),
        (["--claim", "c", "--kubernetes-version", "1.1"], "1.1"),
    ],
)
def test_bad_usage_exits_with_2(drasat, manifests, options, problem):
    done = drasat("capacity", "-f", manifests(claim(), POD), *options)
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert len(done.err.splitlines()) == 1


def test_an_interrupt_prints_what_is_known(drasat, manifests, monkeypatch):
    from drasat.solver.capacity import capacity

    measure = capacity.count_on_node

    def once(*arguments):
        monkeypatch.setattr(capacity, "count_on_node", interrupted)
        return measure(*arguments)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(capacity, "count_on_node", once)
    done = drasat("capacity", "-f", manifests(claim()))
    assert done.code == 130
    assert "3 more fit, not proven" in done.out
    assert "interrupted before this was decided" in done.out


def test_first_fit_is_told_where_it_reaches_less(drasat, examples):
    done = drasat("capacity", "-f", examples / "mig-partitions", "--claim", "inference/flexible")
    assert "7 more fit, proven; the scheduler's first fit reaches 4" in done.out


def test_nodes_that_share_devices_have_a_row_together(drasat, examples):
    done = drasat("capacity", "-f", examples / "multi-host", "--template", "research/small-slice")
    assert "2 host-a0, host-a1 together 2 2 2 they reach the same devices or counters" in rows(done.out)


def test_the_result_in_python(manifests):
    cluster = package.load(str(manifests(claim())))
    result = package.capacity(cluster, feature_gates={"DRAConsumableCapacity": False})
    assert (result.fits, result.bound, result.proven, result.unbounded) == (4, 4, True, False)
    assert result.to_dict()["featureGates"]["DRAConsumableCapacity"] is False
    assert repr(result) == "CapacityResult(ResourceClaim default/c: 4 more fit, proven)"


def test_the_frame_has_a_row_a_node(manifests):
    pytest.importorskip("pandas")
    frame = package.capacity(package.load(str(manifests(claim())))).to_frame()
    assert list(frame["node"]) == ["n1", "n2"]
    assert list(frame["fits"]) == [3, 1]
    assert "n2" in package.capacity(package.load(str(manifests(claim()))))._repr_html_()


def test_queues_of_kueue_are_counted_where_nothing_is_named(drasat, examples):
    done = drasat("capacity", "-f", examples / "kueue" / "c-borrowing")
    assert done.code == 0
    assert [line.split()[:6] for line in done.out.splitlines()[1:3]] == [
        ["team/a-5", "a", "1", "2", "1", "quota"],
        ["team/d-5", "d", "0", "2", "0", "quota"],
    ]
    assert "4 of 5 left by borrowingLimit of ClusterQueue d" in done.out


@pytest.mark.parametrize(("name", "code"), [("team/halves", 0), ("team/whole", 1), ("team/nobody", 2)])
def test_a_workload_of_kueue_is_counted_by_quota_placement_and_both(drasat, examples, name, code):
    done = drasat("capacity", "-f", examples / "kueue" / "j-stranded", "--workload", name, "-o", "json")
    assert done.code == code
    if code < 2:
        (row,) = json.loads(done.out)["queues"]
        assert (row["both"]["fits"] > 0, row["both"]["proven"]) == (code == 0, True)
    else:
        assert done.err == "drasat: Workload team/nobody not found, nor a job or pod of this name with a LocalQueue\n"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--template", "team/gpus-4", "--queues"), 0),
        (("--template", "team/gpus-8", "--queues"), 1),
        (("--queues",), 2),
        (("--template", "team/gpus-4", "--workload", "team/halves", "--queues"), 2),
        (("--template", "team/none", "--queues"), 2),
    ],
)
def test_copies_of_a_template_are_counted_in_queues(drasat, examples, options, code):
    done = drasat("capacity", "-f", examples / "kueue" / "j-stranded", *options)
    assert done.code == code
    assert done.err.count("\n") == (code == 2)
    assert (" a " in done.out) == (code < 2)


def test_a_workload_is_named_alone(drasat, examples):
    done = drasat("capacity", "-f", examples / "kueue" / "j-stranded", "--workload", "a", "--node", "gpu-1")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_wide_tables_have_the_pods_that_nodes_have_room_for(drasat, examples):
    done = drasat("capacity", "-f", examples / "kueue" / "j-stranded", "-o", "wide")
    assert "POD SET" in done.out
    assert "gpus" in done.out.splitlines()[-1]

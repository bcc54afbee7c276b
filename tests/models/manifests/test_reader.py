"""From sources to manifests: kinds, versions, lists, numbering of documents."""

import gc
import json
from collections import Counter

import msgspec
import pytest

from drasat.models.kubernetes.claims import DeviceTaintRule, ResourceClaim
from drasat.models.kubernetes.core import Pod
from drasat.models.kubernetes.kinds import KINDS, GroupKind, kind_of
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.models.manifests.reader import read_manifests

CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}


def read_text(tmp_path, text: str, name: str = "f.yaml"):
    path = tmp_path / name
    path.write_text(text)
    manifests, problems, ignored = read_manifests([path])
    shown = [str(problem).removeprefix(f"{path}").strip() for problem in problems]
    return manifests, shown, ignored


def obj(kind: str, api_version: str, name: str = "x", **fields) -> dict:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def accepted() -> list[tuple[GroupKind, str]]:
    return [(kind, version) for kind, known in KINDS.items() for version in known.api_versions()]


@pytest.mark.parametrize(("kind", "api_version"), accepted())
def test_kinds_and_versions(kind, api_version):
    (manifest,), problems, ignored = read_manifests([obj(kind.kind, api_version)])
    assert (problems, ignored) == ([], Counter())
    assert (manifest.kind, manifest.api_version) == (kind.kind, api_version)
    assert type(manifest.object) is KINDS[kind].model
    assert manifest.object.metadata.name == "x"


def test_versions_by_kind():
    """VER-1, VER-2, VER-4: what each kind was ever served as."""
    assert kind_of(ResourceClaim).versions == ("v1", "v1beta2", "v1beta1", "v1alpha3")
    assert kind_of(DeviceTaintRule).versions == ("v1", "v1beta2", "v1alpha3")
    assert kind_of(Pod).api_versions() == ("v1",)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [
        ("ResourceSlice", "resource.k8s.io/v2"),
        ("ResourceClaim", "resource.k8s.io/v1alpha2"),
        ("DeviceTaintRule", "resource.k8s.io/v1beta1"),
        ("ResourceClaim", "resource.k8s.io/"),
        ("Node", "v1beta3"),
    ],
)
def test_unknown_versions_of_known_kinds_are_refused(kind, api_version):
    manifests, (problem,), _ = read_manifests([obj(kind, api_version)])
    assert manifests == []
    supported = ", ".join(
        f'"{version}"' for version in KINDS[GroupKind(api_version.rpartition("/")[0], kind)].api_versions()
    )
    assert str(problem) == (
        f'<object> document 1: {kind} x: apiVersion: Unsupported value: "{api_version}": supported values: {supported}'
    )


@pytest.mark.parametrize(
    ("kind", "api_version", "told"),
    [
        ("Widget", "batch/v1", "Widget"),
        ("ResourceClaim", "example.com/v1", "ResourceClaim of example.com/v1"),
        ("Node", "longhorn.io/v1beta2", "Node of longhorn.io/v1beta2"),
        ("Service", "v1", "Service"),
        ("Workload", "workload.example.dev/v1", "Workload of workload.example.dev/v1"),
        ("AllowList", "example.com/v1", "AllowList"),
    ],
)
def test_other_kinds_are_kept_and_counted(kind, api_version, told):
    """A kind of ours in another API is told with that, as it may be misspelt."""
    given = obj(kind, api_version, spec={"anything": [None]})
    (manifest,), problems, ignored = read_manifests([given])
    assert problems == []
    assert (manifest.object, manifest.raw, ignored) == (None, given, Counter({told: 1}))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        pytest.param({"apiVersion": "v1"}, "kind: Required value", id="no-kind"),
        pytest.param({"kind": "Pod"}, "apiVersion: Required value", id="no-version"),
        pytest.param({"apiVersion": "v1", "kind": ""}, "kind: Required value", id="empty-kind"),
        pytest.param({"apiVersion": "v1", "kind": None}, "kind: Required value", id="null-kind"),
        pytest.param({"apiVersion": "v1", "kind": 5}, "kind: Invalid value: must be a string", id="number-as-kind"),
        pytest.param({"apiVersion": ["v1"], "kind": "Pod"}, "apiVersion: Invalid value: must be a string", id="list"),
        pytest.param({}, "kind: Required value", id="nothing"),
    ],
)
def test_kind_and_version_are_required(mapping, message):
    manifests, (problem,), _ = read_manifests([mapping])
    assert (manifests, str(problem)) == ([], f"<object> document 1: {message}")


@pytest.mark.parametrize(("document", "found"), [("[1]", "a list"), ("text", "a string"), ("5", "a single value")])
def test_documents_must_be_objects(tmp_path, document, found):
    _, problems, _ = read_text(tmp_path, f"---\n{document}\n")
    assert problems == [f"document 1: must be an object, not {found}"]


def test_documents_are_numbered_from_one_and_empty_ones_count(tmp_path):
    text = "apiVersion: v1\nkind: Pod\n---\n---\napiVersion: v1\nkind: Node\n---\nkind: x\n"
    manifests, problems, _ = read_text(tmp_path, text)
    assert [manifest.source.document for manifest in manifests] == [1, 3]
    assert problems == ["document 4: apiVersion: Required value"]


@pytest.mark.parametrize("name", ["f.json", "f.yaml", "f"])
def test_a_list_as_kubectl_prints_it(tmp_path, name):
    given = {
        "apiVersion": "v1",
        "items": [CLAIM, obj("Node", "v1")],
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    manifests, problems, _ = read_text(tmp_path, json.dumps(given, indent=4), name)
    assert problems == []
    assert [manifest.kind for manifest in manifests] == ["ResourceClaim", "Node"]
    assert [str(manifest.source)[-17:] for manifest in manifests] == ["document 1 item 1", "document 1 item 2"]


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_items_of_typed_lists_may_lack_kind_and_version(tmp_path, suffix):
    items = [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "kind": "ResourceSlice"}]
    given = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSliceList", "items": items}
    manifests, problems, _ = read_text(tmp_path, json.dumps(given), "f" + suffix)
    assert problems == []
    assert {(manifest.kind, manifest.api_version) for manifest in manifests} == {
        ("ResourceSlice", "resource.k8s.io/v1beta1")
    }
    assert [manifest.object.metadata.name for manifest in manifests] == ["a", "b"]


def test_items_of_a_plain_list_may_not():
    _, problems, _ = read_manifests([{"apiVersion": "v1", "kind": "List", "items": [{"metadata": {}}]}])
    assert [str(problem) for problem in problems] == ["<object> document 1 item 1: kind: Required value"]


def test_ignored_lists_count_their_items():
    given = {"apiVersion": "apps/v1", "kind": "WidgetList", "items": [{}, {}]}
    assert read_manifests([given])[2] == Counter({"Widget": 2})


def test_lists_in_lists(tmp_path):
    inner = {"apiVersion": "v1", "kind": "List", "items": [CLAIM, {"kind": "x"}]}
    manifests, problems, _ = read_text(tmp_path, json.dumps({**inner, "items": [inner]}), "f.json")
    assert manifests[0].source.items == (1, 1)
    assert problems == ["document 1 item 1 item 2: apiVersion: Required value"]


def test_too_many_lists_in_lists_are_refused():
    given = CLAIM
    for _ in range(20):
        given = {"apiVersion": "v1", "kind": "List", "items": [given]}
    manifests, (problem,), _ = read_manifests([given])
    assert manifests == []
    assert "lists within lists" in problem.message


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, None),
        ([], None),
        ({}, "List: items: Invalid value: must be a list"),
        ("x", "List: items: Invalid value: must be a list"),
        (5, "List: items: Invalid value: must be a list"),
        ([5], "must be an object, not a single value"),
        ([None], "must be an object, not null"),
        ([[]], "must be an object, not a list"),
    ],
)
@pytest.mark.parametrize("name", ["f.json", "f.yaml"])
def test_malformed_lists(tmp_path, items, message, name):
    _, problems, _ = read_text(tmp_path, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), name)
    assert len(problems) == 1
    assert (message or "holds no objects") in problems[0]


def test_problems_name_file_document_object_and_field(tmp_path):
    text = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: ml}
spec:
  devices:
    requests:
    - name: r
      exactly: {deviceClassName: gpu, count: "2"}
"""
    manifests, problems, _ = read_text(tmp_path, f"---\n{text}")
    assert manifests == []
    assert problems == [
        "document 1: ResourceClaim ml/c: spec.devices.requests[0].exactly.count: "
        'Invalid value: "2": must be an integer, not a string'
    ]


@pytest.mark.parametrize("metadata", [None, 5, [], {"name": 5}, {"name": ["x"], "namespace": {}}])
def test_objects_with_malformed_metadata_have_no_name(metadata):
    _, problems, _ = read_manifests([{**CLAIM, "metadata": metadata, "spec": 5}])
    assert {problem.name for problem in problems} == {""}


def test_all_problems_of_all_sources_are_told_in_reading_order(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "kind: Pod\n---\napiVersion: v1\nkind: Node\nspec: {taints: 5, unschedulable: 1}\n"
    )
    (tmp_path / "b.json").write_text('{"a":1,"a":2,"b":{"c":1,"c":2}}')
    _, problems, _ = read_manifests([tmp_path, tmp_path / "c.yaml", {"kind": "x"}])
    assert [
        (problem.source.file.rpartition("/")[2], problem.source.document, problem.field) for problem in problems
    ] == [
        ("a.yaml", 1, "apiVersion"),
        ("a.yaml", 2, "spec.taints"),
        ("a.yaml", 2, "spec.unschedulable"),
        ("b.json", 1, ""),
        ("b.json", 1, "b"),
        ("c.yaml", 0, ""),
        ("<object>", 1, "apiVersion"),
    ]


def test_raw_is_what_was_read_and_slices_have_none():
    beta = obj("ResourceClaim", "resource.k8s.io/v1beta1", extra=[1])
    beta["spec"] = {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    manifests, problems, _ = read_manifests([beta, obj("ResourceSlice", "resource.k8s.io/v1")])
    assert [problem.message for problem in problems] == ['unknown field "extra"']
    assert manifests[0].raw == beta
    assert manifests[0].object.spec.devices.requests[0].exactly.count == 1, "CLM-1"
    assert manifests[1].raw is None


def test_equal_values_of_slices_are_shared(tmp_path):
    half = [{"counterSet": "c", "counters": {"memory": {"value": "40Gi"}}}]
    sizes = {"memory": {"value": "80Gi"}, "slots": {"value": "7"}}
    devices = [
        {"name": f"d{n}", "attributes": {"model": {"string": "x"}, "index": {"int": n}}, "capacity": sizes}
        for n in range(3)
    ]
    devices += [
        {"name": f"p{n}", "consumesCounters": half, "capacity": {"memory": {"value": f"{n + 1}Gi"}}} for n in range(2)
    ]
    sets = [{"name": "c", "counters": {"memory": {"value": "80Gi"}}}]
    spec = {"driver": "d", "pool": {"name": "p"}, "devices": devices, "sharedCounters": sets}
    slices = [obj("ResourceSlice", "resource.k8s.io/v1", f"s{n}", spec=spec) for n in range(2)]
    manifests, _, _ = read_text(tmp_path, "\n".join(map(json.dumps, slices)), "f.json")
    read = [manifest.object for manifest in manifests]
    assert all(isinstance(slice_, ResourceSlice) for slice_ in read)
    found = [device for slice_ in read for device in slice_.spec.devices]
    assert len({id(device.attributes["model"]) for device in found if device.attributes}) == 1
    assert [device.attributes["index"].int_value for device in read[1].spec.devices[:3]] == [0, 1, 2]
    assert len({id(device.name) for device in found}) == 5
    assert len({id(device.capacity) for device in found}) == 3
    assert [device.capacity["memory"].value for device in found] == ["80Gi", "80Gi", "80Gi", "1Gi", "2Gi"] * 2
    assert len({id(device.consumes_counters) for device in found}) == 2
    assert len({id(slice_.spec.shared_counters) for slice_ in read}) == 1
    assert read[0].spec == read[1].spec == msgspec.convert(spec, type(read[0].spec))


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        read_manifests([CLAIM])
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        pytest.param("f.yaml", '{"apiVersion": "v1", "kind": "Pod"}', ["Pod"], id="json-in-yaml-file"),
        pytest.param("f.yaml", "{apiVersion: v1, kind: Pod}", ["Pod"], id="flow-style"),
        pytest.param(
            "f.yaml",
            '{"apiVersion": "v1", "kind": "Pod"}\n---\nkind: Node\napiVersion: v1',
            ["Pod", "Node"],
            id="mixed",
        ),
        pytest.param("f", "apiVersion: v1\nkind: Pod", ["Pod"], id="no-extension"),
        pytest.param(
            "f",
            '{"apiVersion": "v1", "kind": "Pod"}\n---\n{"apiVersion": "v1", "kind": "Node"}',
            ["Pod", "Node"],
            id="separated",
        ),
        pytest.param("f.yaml", "\ufeffapiVersion: v1\nkind: Pod", ["Pod"], id="bom-yaml"),
        pytest.param("f.json", '\ufeff{"apiVersion": "v1", "kind": "Pod"}', ["Pod"], id="bom-json"),
        pytest.param(
            "f.json", "\n\n \t" + " " * 5000 + '{"apiVersion": "v1", "kind": "Pod"}', ["Pod"], id="spaces-first"
        ),
        pytest.param(
            "f.json",
            '{"apiVersion":"v1","kind":"Pod"}\n{"apiVersion":"v1","kind":"Node"}\n',
            ["Pod", "Node"],
            id="lines",
        ),
        pytest.param(
            "f.yaml",
            "apiVersion: v1\r\nkind: Pod\r\n---\r\napiVersion: v1\r\nkind: Node\r\n",
            ["Pod", "Node"],
            id="crlf",
        ),
    ],
)
def test_formats(tmp_path, name, text, kinds):
    manifests, problems, _ = read_text(tmp_path, text, name)
    assert problems == []
    assert [manifest.kind for manifest in manifests] == kinds


def test_utf_16(tmp_path):
    (tmp_path / "f.yaml").write_bytes("apiVersion: v1\nkind: Pod\nmetadata: {name: ä}".encode("utf-16"))
    (manifest,), problems, _ = read_manifests([tmp_path / "f.yaml"])
    assert problems == []
    assert manifest.object.metadata.name == "ä"


def test_a_json_file_is_never_read_as_yaml(tmp_path):
    manifests, problems, _ = read_text(tmp_path, "{apiVersion: v1, kind: Pod}", "f.json")
    assert manifests == []
    assert "invalid JSON" in problems[0]

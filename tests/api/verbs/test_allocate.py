"""The functions people call from Python and notebooks."""

import copy
import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import jsonschema
import pytest
from support import manifests

import drasat
from drasat import scenarios
from drasat.models.results.schema import results_schema

SCHEMA = "docs/reference/results.schema.json"


@pytest.fixture(scope="module")
def cluster():
    return drasat.load(scenarios.gpu_nodes(2, 4, seed=3), scenarios.requests(3, {"gpu": 1}, seed=3))


def test_load_takes_paths_mappings_and_iterables(examples):
    from_path = drasat.load(examples / "whole-gpus")
    assert len(from_path.slices) == 2
    objects = scenarios.gpu_nodes(2, 4)
    assert len(drasat.load(objects).nodes) == len(drasat.load(*objects).nodes) == 2


def test_load_does_not_change_the_mappings():
    objects = scenarios.gpu_nodes(1, 2)
    before = copy.deepcopy(objects)
    drasat.allocate(drasat.load(objects))
    assert objects == before


def test_bad_input_raises_with_every_problem():
    bad = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "A_"}, "spec": {}}
    with pytest.raises(drasat.InputError) as raised:
        drasat.load(bad, {**bad, "spec": 1})
    assert len(raised.value.problems) >= 2
    assert {problem.field for problem in raised.value.problems} >= {"metadata.name", "spec"}


def test_allocate_answers_with_a_document(cluster):
    result = drasat.allocate(cluster)
    document = result.to_dict()
    assert document["kind"] == "AllocationResult"
    assert document["outcome"] == result.outcome == "Allocated"
    assert document["verified"] is True
    assert len(document["units"]) == 3


def test_documents_match_the_published_schema(cluster, examples):
    published = json.loads((examples.parent / SCHEMA).read_text())
    jsonschema.validate(drasat.allocate(cluster).to_dict(), published)
    jsonschema.validate(drasat.allocate(drasat.load(examples / "tainted-devices")).to_dict(), published)
    jsonschema.validate(drasat.validate({"kind": 1}).to_dict(), published)


def test_the_published_schema_is_current(examples):
    """Renew with ``python -m drasat.models.results.schema results > docs/reference/results.schema.json``."""
    assert json.loads((examples.parent / SCHEMA).read_text()) == json.loads(json.dumps(results_schema()))


def test_schema_refuses_another_outcome(cluster):
    document = drasat.allocate(cluster).to_dict() | {"outcome": "Perhaps"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, results_schema())


@pytest.mark.parametrize("gates", [{"DRAPartitionableDevices": False}, drasat.FeatureGates.for_version("1.37")])
def test_feature_gates_are_a_mapping_or_a_set(cluster, gates):
    assert drasat.allocate(cluster, feature_gates=gates).outcome == "Allocated"


def test_an_unknown_gate_is_a_value_error(cluster):
    with pytest.raises(ValueError, match="Nonsense"):
        drasat.allocate(cluster, feature_gates={"Nonsense": True})


def test_progress_is_called_once_a_unit(cluster):
    calls = []
    drasat.allocate(cluster, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_no_is_certified_where_a_request_finds_too_few_devices(examples):
    document = drasat.allocate(drasat.load(examples / "tainted-devices")).to_dict()
    assert (document["outcome"], document["certified"]) == ("Unallocatable", True)
    (failed,) = [unit for unit in document["units"] if unit["outcome"] != "Allocated"]
    assert [kind["names"] for kind in failed["failures"]] == [["lab-1"], ["lab-2"]]
    assert failed["failures"][1]["requests"][0]["fallen"] == [
        {"filter": "taint", "detail": "example.com/maintenance=planned:NoSchedule", "devices": 4}
    ]


def test_results_show_themselves(cluster):
    result = drasat.allocate(cluster)
    assert repr(result) == "AllocationResult(Allocated, 3 of 3 units allocated)"
    pandas = pytest.importorskip("pandas")
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert set(frame["driver"]) == {"gpu.example.com"}
    assert "<table" in result._repr_html_()


def test_frames_hold_data_and_notebooks_show_reasons():
    pytest.importorskip("pandas")
    one = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    made = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        | {"metadata": {"name": f"c{number}", "namespace": "ns"}, "spec": {"devices": {"requests": [one]}}}
        for number in range(2)
    ]
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.x", "nodeName": "n1", "pool": pool, "devices": [{"name": "a"}]}
    supply = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    result = drasat.allocate(drasat.load([device_class, supply, *made]))
    frame = result.to_frame().set_index("claim")
    assert frame.loc["c0", ["outcome", "node", "device", "admin"]].tolist() == ["Allocated", "n1", "a", False]
    assert frame.loc["c1", "outcome"] == "Unallocatable"
    assert frame.loc["c1", ["node", "driver", "device", "admin"]].isna().all()
    assert frame[["share", "consumed"]].isna().all(axis=None)
    assert "<pre>claim ns/c1: Unallocatable" in result._repr_html_()


def test_validation_results_show_themselves():
    result = drasat.validate({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "A_"}})
    assert not result.valid
    assert result.count("error") == len(result.document.problems)
    pytest.importorskip("pandas")
    assert list(result.to_frame()["kind"].unique()) == ["DeviceClass"]
    assert "A_" in result._repr_html_()


@pytest.mark.parametrize("kind", ["AllocationResult", "ValidationResult", "ComparisonResult", "SweepResult"])
def test_every_document_is_in_the_schema(kind):
    kinds = [
        definition["properties"]["kind"]["enum"]
        for definition in results_schema()["$defs"].values()
        if "enum" in definition.get("properties", {}).get("apiVersion", {})
    ]
    assert [kind] in kinds


@pytest.mark.parametrize(("old", "new"), [("tabulate", "table"), ("lower", "lower")])
def test_the_last_releases_name_of_the_encoding_works_with_a_warning(cluster, old, new):
    with pytest.warns(DeprecationWarning, match="cel_road is now cel_encoding"):
        found = drasat.allocate(cluster, cel_road=old)
    assert found.to_json() == drasat.allocate(cluster, cel_encoding=new).to_json()


def test_an_unknown_encoding_is_refused(cluster):
    with pytest.raises(ValueError, match="unknown encoding 'tabulate' of CEL constraints, known are: auto, lower"):
        drasat.allocate(cluster, cel_encoding="tabulate")


def test_no_claim_is_made_for_what_a_device_plugin_provides():
    """KEP-5004: the node that lists an extended resource counts it, and devices of the class serve it elsewhere."""
    resource, driver = "example.com/gpu", "d.x"
    pools = {"name": "m", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pools, "nodeName": "m", "devices": [{"name": "a"}, {"name": "b"}]}
    objects = [
        manifests.device_class("gpu", resource),
        manifests.node("m", cpu="1"),
        manifests.obj("ResourceSlice", "s", spec),
        manifests.asking("p", **{resource: 2}),
    ]
    here = drasat.allocate(drasat.load(*objects))
    assert [one["spec"]["devices"]["requests"][0]["exactly"]["count"] for one in here.manifests()] == [2]
    there = drasat.allocate(drasat.load(*objects, manifests.node("a", **{resource: 2})))
    assert [(unit.node, unit.outcome) for unit in there.units] == [("a", "Allocated")]
    assert there.manifests() == []


@pytest.mark.parametrize("make", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_many_clusters_are_allocated_on_any_executor(examples, make):
    clusters = [drasat.load(examples / name) for name in ("whole-gpus", "mig-partitions", "tainted-devices")]
    alone = [drasat.allocate(one, objective="preference") for one in clusters]
    with make(2) as executor:
        found = list(drasat.allocate_each(clusters, executor=executor, objective="preference"))
    assert [one.to_json() for one in found] == [one.to_json() for one in alone]
    assert [one.manifests() for one in found] == [one.manifests() for one in alone]
    assert [one.cluster for one in found] == clusters
    assert [one.to_json() for one in drasat.allocate_each(clusters, objective="preference")] == [
        one.to_json() for one in alone
    ]


def test_an_error_in_one_of_many_clusters_is_raised_for_it(examples):
    with ThreadPoolExecutor(1) as executor:
        results = drasat.allocate_each([drasat.load(examples / "whole-gpus")] * 2, executor=executor, engine="none")
        with pytest.raises(ValueError, match="unknown engine"):
            next(results)

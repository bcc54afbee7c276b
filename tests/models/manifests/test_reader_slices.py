"""Slices in JSON, which are decoded from their text at once: the same objects and problems as by way of plain data."""

import copy
import json
from typing import Any

import msgspec
import pytest
import yaml
from msgspec import inspect

from drasat.models.kubernetes.published_fields import unknown_fields_of
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.models.manifests.reader import read_manifests

API = "resource.k8s.io/v1"
SLICE: dict[str, Any] = {
    "apiVersion": API,
    "kind": "ResourceSlice",
    "metadata": {"name": "s", "resourceVersion": "7", "uid": "u", "labels": {"a": "b:c"}},
    "spec": {
        "driver": "d.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node",
        "devices": [
            {
                "name": "x",
                "attributes": {"id": {"string": "a:1"}, "num": {"int": 3}},
                "capacity": {"m": {"value": "1Gi"}},
            },
            {"name": "x1", "attributes": {"id": {"string": "a:1"}}, "capacity": {"m": {"value": 2}}},
        ],
    },
}


def changed(*path: str | int, **fields: Any) -> dict[str, Any]:
    made = copy.deepcopy(SLICE)
    part: Any = made
    for step in path:
        part = part[step]
    part.update(fields)
    return made


def read(tmp_path, name: str, text: str) -> tuple[list[Any], list[tuple[str, str, str]]]:
    path = tmp_path / name
    path.write_text(text)
    manifests, problems, _ = read_manifests([path])
    kept = [(one.kind, one.api_version, one.object, one.raw) for one in manifests]
    return kept, [(one.field, one.message, one.name) for one in problems]


DEVICE = ("spec", "devices", 1)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(SLICE, None, id="good"),
        pytest.param(changed(apiVersion="resource.k8s.io/v1beta2"), None, id="v1beta2"),
        pytest.param(changed("metadata", generation=0, annotations=None), None, id="defaults-and-null"),
        pytest.param(changed("metadata", managedFields=[{"fieldsV1": {"f:x": {}}}]), None, id="managed-fields"),
        pytest.param(changed("metadata", resourceVersion=7), None, id="resource-version-of-another-type"),
        pytest.param(changed("metadata", name="", generateName="g-"), None, id="generated-name"),
        pytest.param(changed("metadata", lables={}), 'unknown field "metadata.lables"', id="unknown-metadata"),
        pytest.param(changed("spec", drivr="d"), 'unknown field "spec.drivr"', id="unknown-spec"),
        pytest.param(changed(*DEVICE, naem="x"), 'unknown field "spec.devices[1].naem"', id="unknown-device"),
        pytest.param(changed(sepc={}), 'unknown field "sepc"', id="unknown-top"),
        pytest.param(changed(*DEVICE, capacity={"m": {"value": 2**64}}), None, id="beyond-64-bits"),
        pytest.param(changed(*DEVICE, capacity={"m": {"value": -(2**63) - 1}}), None, id="below-64-bits"),
        pytest.param(changed(*DEVICE, capacity={"m": {"value": 1.5}}), None, id="fraction"),
        pytest.param(changed(*DEVICE, capacity={"m": {"value": True}}), "must be a quantity", id="no-quantity"),
        pytest.param(
            changed(*DEVICE, attributes={"num": {"int": 2**63}}), "must fit into 64 bits", id="large-attribute"
        ),
        pytest.param(changed(*DEVICE, attributes={"num": None}), None, id="null-attribute"),
        pytest.param(changed(*DEVICE, attributes={"l": {"list": {"string": ["a"]}}}), None, id="nested-list"),
        pytest.param(changed("spec", pool={"name": "p", "generation": "1"}), "must be an integer", id="wrong-type"),
        pytest.param(changed(apiVersion="resource.k8s.io/v1beta1"), "", id="older-version"),
        pytest.param(changed(metadata=[]), "must be an object", id="metadata-is-a-list"),
    ],
)
def test_json_is_read_as_yaml_is(tmp_path, made, message):
    listed = {"apiVersion": "v1", "kind": "List", "items": [changed("metadata", name="first"), made]}
    found = read(tmp_path, "f.json", json.dumps(listed))
    expected = read(tmp_path, "f.yaml", yaml.safe_dump(listed))
    assert repr(found) == repr(expected)
    assert read(tmp_path, "g.json", json.dumps(made, indent=4))[0] == read(tmp_path, "g.yaml", yaml.safe_dump(made))[0]
    assert message == "" or [message in said for _, said, _ in found[1]] == ([] if message is None else [True])


TEXT = json.dumps(SLICE)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param('"kind"', '"kind": "Pod", "kind"', ("", 'duplicate key "kind"'), id="kind"),
        pytest.param('"uid"', '"uid": "v", "uid"', ("metadata", 'duplicate key "uid"'), id="metadata"),
        pytest.param('"driver"', '"driver": "e", "driver"', ("spec", 'duplicate key "driver"'), id="spec"),
        pytest.param('"num"', '"num": {}, "num"', ("spec.devices[0].attributes", 'duplicate key "num"'), id="map"),
        pytest.param(
            '"uid": "u"', '"uid": "\\u003a", "uid": "u"', ("metadata", 'duplicate key "uid"'), id="hidden-by-an-escape"
        ),
    ],
)
def test_a_key_that_is_repeated_is_found(tmp_path, old, new, problem):
    text = TEXT.replace(old, new, 1)
    assert text != TEXT
    manifests, problems = read(tmp_path, "f.json", text)
    assert manifests == []
    assert [one[:2] for one in problems] == [problem]


def test_deep_metadata_is_refused(tmp_path):
    deep = '{"a":' * 252 + "1" + "}" * 252
    manifests, problems = read(tmp_path, "f.json", TEXT.replace('"uid": "u"', f'"managedFields": [{deep}]'))
    assert manifests == []
    assert [message for _, message, _ in problems] == ["nested deeper than 250 levels"]


def test_values_of_all_slices_are_shared_whichever_way_they_are_read(tmp_path):
    nested = changed("metadata", name="t", lables={})
    (first, second), _ = read(tmp_path, "f.json", TEXT + json.dumps(nested))
    devices = [*first[2].spec.devices, *second[2].spec.devices]
    assert len({id(device.attributes["id"]) for device in devices}) == 1


def sample(declared: Any) -> Any:
    """Plain data with every field of a type."""
    if isinstance(declared, inspect.UnionType):
        return sample(declared.types[0])
    if isinstance(declared, inspect.StructType):
        return {field.encode_name: sample(field.type) for field in declared.fields}
    if isinstance(declared, inspect.VarTupleType):
        return [sample(declared.item_type)]
    return {"k": sample(declared.value_type)} if isinstance(declared, inspect.DictType) else 1


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_every_field_that_is_read_without_a_look_at_the_table_is_published(version):
    whole = sample(msgspec.inspect.type_info(ResourceSlice))
    whole["metadata"]["resourceVersion"] = "1"
    assert len(json.dumps(whole)) > 1000
    assert unknown_fields_of("ResourceSlice", f"resource.k8s.io/{version}", whole) == []

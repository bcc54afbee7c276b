"""List attributes in the first spelling of KEP-5491 (SEM-8)."""

import pytest

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.kubernetes.slices import DeviceAttribute
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests


def slice_of(attributes, version="v1"):
    device = {"name": "a", "attributes": attributes}
    if version == "v1beta1":
        device = {"name": "a", "basic": {"attributes": attributes}}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d.x", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n", "devices": [device]},
    }


def read(*slices):
    manifests, problems, _ = read_manifests([list(slices)])
    assert not problems
    return [manifest.object.spec.devices[0].attributes for manifest in manifests]


def told(attributes):
    manifests, problems, _ = read_manifests([slice_of(attributes)])
    return [f"{one.field}: {one.message}" for one in [*problems, *validate_manifests(manifests, FeatureGates.all_on())]]


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
@pytest.mark.parametrize(
    ("kind", "values"),
    [("string", ["pci0000:00", "b"]), ("int", [0, 1]), ("bool", [True, False]), ("version", ["1.0.0"])],
)
def test_nested_lists_are_read(version, kind, values):
    (attributes,) = read(slice_of({"l": {"list": {kind: values}}, "n": {"int": 1}}, version))
    assert attributes == {"l": DeviceAttribute(**{f"{kind}s": tuple(values)}), "n": DeviceAttribute(int_value=1)}


def test_slices_before_and_after_are_read_too():
    plain, nested = slice_of({"l": {"strings": ["a"]}}), slice_of({"l": {"list": {"string": ["a"]}}})
    named = [{**one, "metadata": {"name": f"s{number}"}} for number, one in enumerate((plain, nested, plain, nested))]
    assert read(*named) == [{"l": DeviceAttribute(strings=("a",))}] * 4


def test_a_value_in_a_field_of_v1_counts():
    assert read(slice_of({"l": {"list": {"string": ["b"]}, "strings": ["a"]}, "m": {"list": {"int": [1]}}})) == [
        {"l": DeviceAttribute(strings=("a",)), "m": DeviceAttribute(ints=(1,))}
    ]


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"list": 3}, "[l].list: Invalid value: must be an object with one of int, bool, string, version"),
        ({"list": ["a"]}, "[l].list: Invalid value: must be an object with one of int, bool, string, version"),
        ({"list": {"string": "a"}}, '[l].strings: Invalid value: "a": must be a list, not a string'),
        ({"list": {"int": [1, "a"]}}, '[l].ints[1]: Invalid value: "a": must be an integer, not a string'),
        ({"list": {}}, "[l]: Required value: exactly one value must be specified"),
        ({"list": None}, "[l]: Required value: exactly one value must be specified"),
        ({"list": {"string": []}}, "[l].strings: Required value: must not be empty"),
    ],
)
def test_bad_shapes_are_told(attribute, message):
    assert told({"l": attribute}) == [f"spec.devices[0].attributes{message}"]


def test_a_list_of_another_type_is_no_value():
    assert told({"l": {"list": {"double": [1.5]}}}) == [
        'spec.devices[0].attributes.l.list.double: unknown field "spec.devices[0].attributes.l.list.double"',
        "spec.devices[0].attributes[l]: Required value: exactly one value must be specified",
    ]


def test_two_lists_are_one_too_many():
    (message,) = told({"l": {"list": {"int": [1], "bool": [True]}}})
    assert "exactly one value must be specified" in message


def test_other_mistakes_stay_where_they_are():
    assert told({"l": 3, "m": {"list": {"int": [1]}}}) == [
        "spec.devices[0].attributes[l]: Invalid value: 3: must be an object, not an integer"
    ]

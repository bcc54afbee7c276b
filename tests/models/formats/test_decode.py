"""Typed objects from mappings: types, nulls, and every problem with its path."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drasat.models.formats.decode import INT64_MAX, INT64_MIN, Model, to_object
from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.core import Node, Pod
from drasat.models.kubernetes.kinds import KINDS
from drasat.models.kubernetes.slices import ResourceSlice


def slice_with(device: dict) -> dict:
    return {"spec": {"devices": [{"name": "a", **device}]}}


def told(mapping, model=ResourceSlice) -> list[str]:
    found, problems = to_object(mapping, model)
    assert (found is None) == bool(problems)
    return [f"{problem.field}: {problem.message}" for problem in problems]


def test_a_good_mapping():
    found, problems = to_object(slice_with({"attributes": {"model": {"string": "x"}}}), ResourceSlice)
    assert not problems
    assert found.spec.devices[0].attributes["model"].string == "x"


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        pytest.param({"int": "7"}, 'int: Invalid value: "7": must be an integer, not a string', id="string-as-int"),
        pytest.param({"int": True}, "int: Invalid value: true: must be an integer, not a boolean", id="bool-as-int"),
        pytest.param({"int": 1.0}, "int: Invalid value: 1.0: must be an integer, not a number", id="1.0-as-int"),
        pytest.param({"int": [1]}, "int: Invalid value: [...]: must be an integer, not a list", id="list-as-int"),
        pytest.param({"int": 2**63}, f"int: Invalid value: {2**63}: must fit into 64 bits", id="too-large"),
        pytest.param(
            {"int": INT64_MIN - 1}, f"int: Invalid value: {INT64_MIN - 1}: must fit into 64 bits", id="too-small"
        ),
        pytest.param({"bool": 1}, "bool: Invalid value: 1: must be a boolean, not an integer", id="int-as-bool"),
        pytest.param(
            {"bool": "true"}, 'bool: Invalid value: "true": must be a boolean, not a string', id="string-as-bool"
        ),
        pytest.param({"string": 1}, "string: Invalid value: 1: must be a string, not an integer", id="int-as-string"),
        pytest.param(
            {"string": {"a": 1}}, "string: Invalid value: {...}: must be a string, not an object", id="object-as-string"
        ),
        pytest.param(
            {"version": 1.5}, "version: Invalid value: 1.5: must be a string, not a number", id="number-as-version"
        ),
        pytest.param({"ints": [1, "2"]}, 'ints[1]: Invalid value: "2": must be an integer, not a string', id="item"),
        pytest.param(
            {"ints": {"a": 1}}, "ints: Invalid value: {...}: must be a list, not an object", id="object-as-list"
        ),
    ],
)
def test_wrong_types(attribute, message):
    assert told(slice_with({"attributes": {"model": attribute}})) == [f"spec.devices[0].attributes[model].{message}"]


@pytest.mark.parametrize("value", [INT64_MIN, INT64_MAX, 0])
def test_the_whole_range_of_64_bits_is_accepted(value):
    assert told(slice_with({"attributes": {"x": {"int": value}}})) == []


@pytest.mark.parametrize("value", ["1Gi", 1, 1.5])
def test_quantities_may_be_text_or_numbers(value):
    assert told(slice_with({"capacity": {"m": {"value": value}}})) == []


@pytest.mark.parametrize(("value", "found"), [(True, "a boolean"), ([], "a list"), ({}, "an object")])
def test_other_quantities_are_refused(value, found):
    (message,) = told(slice_with({"capacity": {"m": {"value": value}}}))
    assert message.startswith("spec.devices[0].capacity[m].value: Invalid value")
    assert message.endswith(f"must be a quantity, not {found}")


def test_all_problems_are_told_in_reading_order():
    mapping = {
        "metadata": {"name": 5, "labels": {"a": 1, "b": "x", "c": []}},
        "spec": {"driver": [], "pool": "p", "devices": [{"name": 1}, "x", {"taints": {"a": 1}}]},
    }
    assert [message.partition(": ")[0] for message in told(mapping)] == [
        "metadata.name",
        "metadata.labels[a]",
        "metadata.labels[c]",
        "spec.driver",
        "spec.pool",
        "spec.devices[0].name",
        "spec.devices[1]",
        "spec.devices[2].taints",
    ]


@pytest.mark.parametrize("junk", [None, 5, "x", [], True])
def test_a_document_that_is_no_object(junk):
    found, problems = to_object(junk, Pod)
    assert found is None
    assert [problem.field for problem in problems] == [""]


def test_long_values_are_shortened():
    (message,) = told(slice_with({"attributes": {"x": {"int": "y" * 5000}}}))
    assert len(message) < 200


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        pytest.param({"metadata": None, "spec": None}, {}, id="structs"),
        pytest.param({"metadata": {"name": None, "labels": None}}, {}, id="fields"),
        pytest.param(slice_with({"attributes": {"x": None}}), slice_with({"attributes": {"x": {}}}), id="map-value"),
        pytest.param({"spec": {"devices": [None]}}, {"spec": {"devices": [{}]}}, id="list-item"),
        pytest.param(
            slice_with({"bindingConditions": [None]}), slice_with({"bindingConditions": [""]}), id="string-item"
        ),
        pytest.param(
            slice_with({"attributes": {"x": {"ints": [None]}}}),
            slice_with({"attributes": {"x": {"ints": [0]}}}),
            id="int-item",
        ),
        pytest.param(
            slice_with({"capacity": {"m": {"value": None}}}), slice_with({"capacity": {"m": {}}}), id="quantity"
        ),
        pytest.param(slice_with({"name": None, "taints": None}), slice_with({"name": ""}), id="name"),
    ],
)
def test_null_is_absent_or_a_zero_value(written, plain):
    found, problems = to_object(written, ResourceSlice)
    assert not problems
    assert found == msgspec.convert(plain, ResourceSlice)


class Containers(Model):
    """Lists and maps inside of others, as in studies."""

    maps: tuple[dict[str, int], ...] = ()
    lists: dict[str, tuple[int, ...]] | None = None


def test_null_in_a_list_or_a_map_of_others_is_an_empty_one():
    found, problems = to_object({"maps": [None, {"a": 1}], "lists": {"a": None}}, Containers)
    assert not problems
    assert found == Containers(maps=({}, {"a": 1}), lists={"a": ()})


def test_nulls_do_not_hide_problems():
    assert told({"metadata": None, "spec": {"driver": 1}}) == [
        "spec.driver: Invalid value: 1: must be a string, not an integer"
    ]


def test_unknown_fields_are_ignored_on_both_roads():
    assert told({"spec": {"unknown": [1], "driver": "d"}}) == []
    assert told({"spec": {"unknown": [1], "driver": None}}) == []


def test_fields_have_the_names_of_the_api():
    pod = {"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": 1}}}}
    (message,) = told(pod, Pod)
    assert message.startswith("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: ")
    (message,) = told({"status": {"allocatable": {"cpu": []}}}, Node)
    assert message.startswith("status.allocatable[cpu]: ")


def test_opaque_parameters_may_be_anything():
    config = [{"opaque": {"driver": "d", "parameters": {"a": [None, 1.5, {"b": True}]}}}]
    claim = {"metadata": None, "spec": {"devices": {"config": config}}}
    found, problems = to_object(claim, ResourceClaim)
    assert not problems
    assert found.spec.devices.config[0].opaque.parameters == config[0]["opaque"]["parameters"]


FIELDS = st.sampled_from(
    [
        "metadata",
        "name",
        "spec",
        "devices",
        "pool",
        "labels",
        "requests",
        "exactly",
        "count",
        "status",
        "taints",
        "attributes",
        "int",
        "value",
        "x",
    ]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(FIELDS, JUNK, max_size=4), st.sampled_from([kind.model for kind in KINDS.values()]))
def test_any_mapping_gives_an_object_or_problems(mapping, model):
    found, problems = to_object(mapping, model)
    assert isinstance(found, model) != bool(problems)

"""Rules of DeviceTopologies: whose devices, and what each shape needs and may not have."""

import pytest
from support.validation import CLASS, DROP, TOPOLOGY, assert_problems, problems, rows, typed

from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_object

from .test_references import found as cross_found

ROW, COL = TOPOLOGY["spec"]["coordinates"]


SUBJECTS = rows("validation/topologies", "subjects")
SHAPES = rows("validation/topologies", "shapes")


@pytest.mark.parametrize(("edits", "expected"), SUBJECTS + SHAPES)
def test_topologies(edits, expected):
    assert_problems(problems("DeviceTopology", edits), expected)


def test_the_scope_is_a_node_by_default():
    assert typed("DeviceTopology", {"metadata": {"name": "x"}, "spec": {}}).spec.scope == "Node"


def test_a_class_that_is_not_there_is_warned_of():
    edits = {"spec driver": DROP, "spec deviceClassName": "gpu"}
    (problem,) = cross_found(("DeviceTopology", TOPOLOGY, edits))
    assert 'warning: spec.deviceClassName: device class "gpu" is not in the input' in problem
    assert cross_found(("DeviceTopology", TOPOLOGY, edits), ("DeviceClass", CLASS)) == []


def manifest(**spec):
    api = {"apiVersion": "drasat.dev/v1alpha1", "kind": "DeviceTopology", "metadata": {"name": "x"}}
    return {**api, "spec": {**TOPOLOGY["spec"], **spec}}


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("coordinates", "row", 'spec.coordinates: Invalid value: "row": must be a list, not a string'),
        ("size", [True, 2], "spec.size[0]: Invalid value: true: must be an integer, not a boolean"),
        ("size", [2**63, 2], "spec.size[0]: Invalid value: 9223372036854775808: must fit into 64 bits"),
        ("periodic", [1, 0], "spec.periodic[0]: Invalid value: 1: must be a boolean, not an integer"),
        ("links", [], "spec.links: Invalid value: [...]: must be an object, not a list"),
    ],
)
def test_wrong_types_are_refused_with_their_path(field, value, told):
    _, found, _ = read_manifests([manifest(**{field: value})])
    assert any(told in str(problem) for problem in found)
    assert all("DeviceTopology x" in str(problem) for problem in found)


def test_a_misspelt_field_is_refused():
    _, found, _ = read_manifests([manifest(perodic=[True, True])])
    assert [problem.field for problem in found] == ["spec.perodic"]


def test_another_group_or_version_is_no_topology_of_ours():
    manifests, found, ignored = read_manifests([manifest() | {"apiVersion": "example.com/v1"}])
    assert (manifests[0].object, found) == (None, [])
    assert dict(ignored) == {"DeviceTopology of example.com/v1": 1}
    _, found, _ = read_manifests([manifest() | {"apiVersion": "drasat.dev/v2"}])
    assert 'Unsupported value: "drasat.dev/v2": supported values: "drasat.dev/v1alpha1"' in str(found[0])


def test_structure_is_checked_even_without_names():
    assert validate_object(typed("DeviceTopology", {}))

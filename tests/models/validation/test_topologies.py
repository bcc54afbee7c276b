"""Rules of DeviceTopologies: whose devices, and what each shape needs and may not have."""

import pytest
from support.validation import CLASS, DROP, TOPOLOGY, assert_problems, problems, row, typed

from drasat.models.manifests import read_manifests
from drasat.models.validation import validate_object

from .test_references import found as cross_found

ROW, COL = TOPOLOGY["spec"]["coordinates"]
LINKS = {"id": "gpu.example.com/id", "peers": "gpu.example.com/peers"}
ONE = "must specify exactly one of: `driver`, `deviceClassName`"


def shape(name, **fields):
    """The spec as another shape: nothing but what is named."""
    spec = {"driver": "gpu.example.com", "shape": name, **fields}
    return {"spec": spec}


SUBJECTS = [
    row("topology of a class", {"spec driver": DROP, "spec deviceClassName": "gpu"}),
    row("topology of nobody", {"spec driver": DROP}, f'structure spec: Invalid value: "": {ONE}'),
    row("topology of two", {"spec deviceClassName": "gpu"}, f"structure spec: Invalid value: ...{ONE}"),
    row("topology driver", {"spec driver": "gpu_x"}, 'spec.driver: Invalid value: "gpu_x": a lowercase RFC 1123'),
    row(
        "topology class",
        {"spec driver": DROP, "spec deviceClassName": "A"},
        'spec.deviceClassName: Invalid value: "A": a lowercase RFC 1123',
    ),
    row("topology of each pool", {"spec scope": "Pool"}),
    row("topology of the cluster", {"spec scope": "Cluster"}),
    row(
        "topology scope",
        {"spec scope": "Rack"},
        'structure spec.scope: Unsupported value: "Rack": supported values: "Cluster", "Node", "Pool"',
    ),
    row("topology name", {"metadata name": "A"}, 'metadata.name: Invalid value: "A"'),
    row("topology namespace", {"metadata namespace": "x"}, "warning metadata.namespace: the kind has no namespace"),
]
SHAPES = [
    row("TOPO-1 grid without size", {"spec size": DROP, "spec periodic": DROP}),
    row("TOPO-1 ring", shape("Ring", coordinates=[ROW], size=[8])),
    row("TOPO-1 line", shape("Line", coordinates=[ROW])),
    row("TOPO-1 torus", shape("Torus", coordinates=[ROW, COL, "a/z"], size=[4, 4, 4])),
    row("TOPO-1 tree", shape("Tree", coordinates=[ROW, COL])),
    row("TOPO-1 links", shape("Links", links=LINKS)),
    row("shape missing", {"spec shape": DROP}, "structure spec.shape: Required value"),
    row(
        "shape unknown",
        {"spec shape": "Mesh"},
        'structure spec.shape: Unsupported value: "Mesh": supported values: "Grid", "Line", "Links", "Ring", "Torus"',
    ),
    row("no coordinates", shape("Grid"), "structure spec.coordinates: Required value"),
    row("no level", shape("Tree", coordinates=[]), "structure spec.coordinates: Required value"),
    row(
        "ring of two",
        shape("Ring", coordinates=[ROW, COL]),
        "structure spec.coordinates: Invalid value: ...: shape `Ring` has exactly one",
    ),
    row(
        "line of two",
        shape("Line", coordinates=[ROW, COL]),
        "structure spec.coordinates: Invalid value: ...: shape `Line` has exactly one",
    ),
    row(
        "seven axes",
        shape("Torus", coordinates=[f"a/b{axis}" for axis in range(7)]),
        "structure spec.coordinates: Too many: 7: must have at most 6 items",
    ),
    row("coordinate twice", {"spec coordinates 1": ROW}, "structure spec.coordinates[1]: Duplicate value"),
    row("coordinate empty", {"spec coordinates 1": ""}, "structure spec.coordinates[1]: Required value"),
    row(
        "coordinate without domain",
        {"spec coordinates 0": "row"},
        'spec.coordinates[0]: Invalid value: "row": must include a domain',
    ),
    row(
        "size of one axis",
        {"spec size": [4]},
        "structure spec.size: Invalid value: 1: must have one item for each of the 2 coordinates",
    ),
    row("size 0", {"spec size": [4, 0]}, "structure spec.size[1]: Invalid value: 0: must be greater than zero"),
    row(
        "size beyond all bounds",
        {"spec size": [1001, 1000]},
        "structure spec.size: Invalid value: [1001,1000]: must not make more than 1000000 cells",
    ),
    row(
        "size of a tree",
        shape("Tree", coordinates=[ROW], size=[4]),
        "structure spec.size: Forbidden: is for shapes `Ring`, `Line`, `Grid` and `Torus` only",
    ),
    row(
        "periodic of one axis",
        {"spec periodic": [True]},
        "structure spec.periodic: Invalid value: 1: must have one item for each of the 2 coordinates",
    ),
    row(
        "periodic ring",
        shape("Ring", coordinates=[ROW], periodic=[True]),
        "structure spec.periodic: Forbidden: is for shape `Grid` only",
    ),
    row(
        "periodic torus",
        shape("Torus", coordinates=[ROW], periodic=[True]),
        "structure spec.periodic: Forbidden: is for shape `Grid` only",
    ),
    row("links missing", shape("Links"), "structure spec.links: Required value"),
    row("link id missing", shape("Links", links={"peers": "a/b"}), "structure spec.links.id: Required value"),
    row("link peers missing", shape("Links", links={"id": "a/b"}), "structure spec.links.peers: Required value"),
    row("links of a grid", {"spec links": LINKS}, "structure spec.links: Forbidden: is for shape `Links` only"),
    row(
        "links with coordinates",
        shape("Links", links=LINKS, coordinates=[ROW], size=[1], periodic=[False]),
        "structure spec.coordinates: Forbidden: is not for shape `Links`",
        "structure spec.size: Forbidden",
        "structure spec.periodic: Forbidden",
    ),
]


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
    assert validate_object("DeviceTopology", typed("DeviceTopology", {}))

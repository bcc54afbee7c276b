"""The schema of our own kinds: current, and as strict as reading is."""

import json

import jsonschema
import pytest
import yaml
from support.manifests import obj
from support.topology_mappings import topology

from drasat.models.results.schema import objects_schema


def refused(made):
    return not jsonschema.Draft202012Validator(objects_schema()).is_valid(made)


def test_the_published_schema_is_current(examples):
    """Renew with ``python -m drasat.models.results.schema > docs/reference/objects.schema.json``."""
    published = json.loads((examples.parent / "docs/reference/objects.schema.json").read_text())
    assert published == json.loads(json.dumps(objects_schema()))


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(objects_schema())


@pytest.mark.parametrize("shape", ["Ring", "Line", "Grid", "Torus", "Tree", "Links"])
def test_every_shape_is_accepted(shape):
    """TOPO-1."""
    axes = 1 if shape in ("Ring", "Line") else 2
    size = {} if shape in ("Tree", "Links") else {"size": [4] * axes}
    assert not refused(topology(shape, axes, **size))


def test_own_objects_of_the_examples_are_accepted(examples):
    found = [
        made
        for path in examples.glob("*/*.yaml")
        for made in yaml.safe_load_all(path.read_text())
        if made["apiVersion"].startswith("drasat.dev/")
    ]
    assert {made["kind"] for made in found} >= {"DeviceTopology"}
    assert [made for made in found if refused(made)] == []


@pytest.mark.parametrize(
    "change",
    [
        {"shape": "Mesh"},
        {"shape": None},
        {"scope": "Rack"},
        {"deviceClassName": "gpu"},
        {"coordinates": []},
        {"coordinates": "x"},
        {"perodic": [True]},
        {"links": {"id": "a/b", "peers": "a/c"}},
        {"shape": "Torus", "periodic": [True, True]},
        {"shape": "Ring"},
        {"shape": "Tree", "size": [1, 1]},
        {"shape": "Links"},
    ],
    ids=str,
)
def test_what_reading_refuses_is_refused(change):
    made = topology()
    made["spec"] |= change
    assert refused(made)


def test_another_kind_is_no_object_of_ours():
    assert refused(topology() | {"kind": "Topology"})
    assert refused(topology() | {"apiVersion": "drasat.dev/v2"})


def template(**changes):
    spec = {
        "price": "12.5",
        "limit": 40,
        "labels": {"zone": "a"},
        "allocatable": {"cpu": 64, "memory": "512Gi"},
        "slices": [{"driver": "gpu.example.com", "devices": [{"name": "gpu-0"}]}],
        **changes,
    }
    return obj("NodeTemplate", "h100-8", {key: value for key, value in spec.items() if value is not ...})


@pytest.mark.parametrize("changes", [{}, {"price": 12.5}, {"limit": ...}, {"slices": ...}], ids=str)
def test_node_templates_are_accepted(changes):
    assert not refused(template(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"price": ...},
        {"price": True},
        {"limit": "many"},
        {"prize": "1"},
        {"slices": [{"driver": "d", "pool": {"name": "p"}}]},
        {"slices": [{"driver": "d", "nodeName": "n"}]},
        {"slices": [{"driver": "d", "devices": [{"nam": "gpu-0"}]}]},
    ],
    ids=str,
)
def test_node_templates_that_reading_refuses_are_refused(changes):
    assert refused(template(**changes))

"""The schema of our own kinds: current, and as strict as reading is."""

import json

import jsonschema
import pytest
import yaml
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

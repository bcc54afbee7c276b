"""The schema of NodeTemplates is as strict as reading is."""

import jsonschema
import pytest

from drasat.models.results.schema import objects_schema


def template(**changes):
    spec = {
        "price": "12.5",
        "limit": 40,
        "labels": {"zone": "a"},
        "allocatable": {"cpu": 64, "memory": "512Gi"},
        "slices": [{"driver": "gpu.example.com", "devices": [{"name": "gpu-0"}]}],
        **changes,
    }
    made = {"apiVersion": "drasat.dev/v1alpha1", "kind": "NodeTemplate", "metadata": {"name": "h100-8"}}
    return made | {"spec": {key: value for key, value in spec.items() if value is not ...}}


def accepted(made):
    return jsonschema.Draft202012Validator(objects_schema()).is_valid(made)


@pytest.mark.parametrize("changes", [{}, {"price": 12.5}, {"limit": ...}, {"slices": ...}], ids=str)
def test_node_templates_are_accepted(changes):
    assert accepted(template(**changes))


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
def test_what_reading_refuses_is_refused(changes):
    assert not accepted(template(**changes))

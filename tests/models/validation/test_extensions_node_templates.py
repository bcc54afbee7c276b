"""Rules of NodeTemplates: prices, numbers, and devices that come with the node."""

import pytest
from support.validation import COUNTERS, DROP, NODE_TEMPLATE, assert_problems, devices, edited, problems, row, typed

from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_object

DECIMAL = "must be a decimal number, at least 0, of at most 12 digits before the point and 6 behind it"

TEMPLATES = [
    row("price as a number", {"spec price": 12.5}),
    row("price of nothing", {"spec price": "0"}),
    row("price missing", {"spec price": DROP}, "structure spec.price: Required value"),
    row("price negative", {"spec price": "-1"}, f'structure spec.price: Invalid value: "-1": {DECIMAL}'),
    row("price as a quantity", {"spec price": "1k"}, f'structure spec.price: Invalid value: "1k": {DECIMAL}'),
    row("price with 7 places", {"spec price": "0.0000001"}, "structure spec.price: Invalid value"),
    row("price as a big float", {"spec price": 1e300}, "structure spec.price: Invalid value"),
    row("no limit", {"spec limit": DROP}),
    row("limit of none", {"spec limit": 0}),
    row("limit negative", {"spec limit": -1}, "structure spec.limit: Invalid value: -1: must be greater than or equal"),
    row("node without devices", {"spec slices": DROP}),
    row("counters and devices in one", {"spec slices 0 sharedCounters": COUNTERS["spec"]["sharedCounters"]}),
    row("label", {"spec labels": {"a b": "x"}}, 'spec.labels: Invalid value: "a b"'),
    row("taint effect", {"spec taints 0 effect": "x"}, "spec.taints[0].effect: Unsupported value"),
    row("amount", {"spec allocatable cpu": "x"}, "structure spec.allocatable[cpu]: Invalid value"),
    row("amount negative", {"spec allocatable cpu": "-1"}, "structure spec.allocatable[cpu]: Invalid value"),
    row("driver", {"spec slices 0 driver": ""}, "spec.slices[0].driver: Required value"),
    row("same device", {"spec slices 0 devices 1 name": "gpu-0"}, "spec.slices[0].devices[1].name: Duplicate value"),
    row("129 devices", {"spec slices 0 devices": devices(129)}, "spec.slices[0].devices: Too many: 129"),
    row("device on a node", {"spec slices 0 devices 0 nodeName": "n"}, "spec.slices[0].devices[0].nodeName: Forbidden"),
    row(
        "partition without type",
        {
            "spec slices 0 partitionTypeAttribute": "gpu.example.com/type",
            "spec slices 0 devices 0 consumesCounters": [{"counterSet": "a", "counters": {"b": {"value": "1"}}}],
        },
        "spec.slices[0].devices[0].attributes: Required value",
    ),
    row("namespace", {"metadata namespace": "x"}, "warning metadata.namespace: the kind has no namespace"),
]


@pytest.mark.parametrize(("edits", "expected"), TEMPLATES)
def test_node_templates(edits, expected):
    assert_problems(problems("NodeTemplate", edits), expected)


def test_the_usual_template_is_fine():
    assert validate_object("NodeTemplate", typed("NodeTemplate", NODE_TEMPLATE)) == []


@pytest.mark.parametrize(
    ("edits", "field"),
    [
        ({"spec prize": "1"}, "spec.prize"),
        ({"spec slices 0 pool": {"name": "p"}}, "spec.slices[0].pool"),
        ({"spec slices 0 nodeName": "n"}, "spec.slices[0].nodeName"),
        ({"spec slices 0 devices 0 attribute": {}}, "spec.slices[0].devices[0].attribute"),
        ({"spec slices 0 devices 0 capacity": {"mem": {"valu": "1"}}}, "spec.slices[0].devices[0].capacity[mem].valu"),
    ],
)
def test_unknown_fields_are_refused_at_any_depth(edits, field):
    """A node and a pool are what a bought node does not have yet."""
    given = {"apiVersion": "drasat.dev/v1alpha1", "kind": "NodeTemplate", **edited(NODE_TEMPLATE, edits)}
    manifests, (problem,), _ = read_manifests([given])
    assert manifests == []
    assert problem.field == field
    assert problem.message.startswith("Forbidden: unknown field")

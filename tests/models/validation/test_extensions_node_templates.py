"""Rules of NodeTemplates: prices, numbers, and devices that come with the node."""

import pytest
from support.validation import NODE_TEMPLATE, assert_problems, edited, problems, rows, typed

from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_object

TEMPLATES = rows("validation/node-templates", "templates")


@pytest.mark.parametrize(("edits", "expected"), TEMPLATES)
def test_node_templates(edits, expected):
    assert_problems(problems("NodeTemplate", edits), expected)


def test_the_usual_template_is_fine():
    assert validate_object(typed("NodeTemplate", NODE_TEMPLATE)) == []


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

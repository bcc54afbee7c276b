"""Short forms of objects."""

import msgspec
import pytest

from drasat.models.kubernetes.claims import ResourceClaim
from drasat.models.kubernetes.slices import ResourceSlice
from drasat.scenarios import objects


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, {"bool": True}),
        (3, {"int": 3}),
        ("x", {"string": "x"}),
        ([1, 2], {"ints": [1, 2]}),
        (("x",), {"strings": ["x"]}),
        ([False], {"bools": [False]}),
        (objects.version("1.0.0"), {"version": "1.0.0"}),
    ],
)
def test_attributes_by_type(value, expected):
    assert objects.attribute(value) == expected


def test_a_slice_has_only_what_is_given():
    made = objects.resource_slice("s", "d.example.com", "p", objects.on_node("n"))
    assert made["spec"] == {
        "driver": "d.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
    }


def test_slices_are_v1_objects():
    device = objects.device("d", {"index": 1}, {"memory": "1Gi"}, allNodes=True)
    made = objects.resource_slice(
        "s", "d.example.com", "p", {"perDeviceNodeSelection": True}, [device], generation=3, count=2
    )
    typed = msgspec.convert(made, ResourceSlice)
    assert typed.spec.pool.generation == 3
    assert typed.spec.devices[0].attributes["index"].int_value == 1
    assert typed.spec.devices[0].capacity["memory"].value == "1Gi"
    assert typed.spec.devices[0].all_nodes


def test_claims_are_v1_objects():
    alternatives = objects.first_available(
        "r", [("a", objects.wanted("c", "true", count=2)), ("b", objects.wanted("d"))]
    )
    made = objects.claim("x", objects.claim_spec([alternatives], [{"matchAttribute": "d.example.com/a"}]), "ns")
    typed = msgspec.convert(made, ResourceClaim)
    assert [option.name for option in typed.spec.devices.requests[0].first_available] == ["a", "b"]
    assert typed.spec.devices.requests[0].first_available[0].selectors[0].cel.expression == "true"
    assert typed.spec.devices.constraints[0].match_attribute == "d.example.com/a"


def test_an_allocated_claim_leaves_the_other_alone():
    asked = objects.claim("x", objects.claim_spec([]))
    made = objects.allocated(asked, [objects.result("r", "d", "p", "x")], "n1")
    assert "status" not in asked
    typed = msgspec.convert(made, ResourceClaim)
    assert typed.status.allocation.node_selector.node_selector_terms[0].match_fields[0].values == ("n1",)
    everywhere = objects.allocated(asked, [objects.result("r", "d", "p", "x")])
    assert "nodeSelector" not in everywhere["status"]["allocation"]


@pytest.mark.parametrize("selector", [{}, {"pool": "p"}, {"driver": "d", "device": "x"}])
def test_taint_rules(selector):
    rule = objects.taint_rule("r", objects.taint("k", effect="NoExecute"), **selector)
    assert rule["spec"]["taint"] == {"key": "k", "effect": "NoExecute"}
    assert rule["spec"].get("deviceSelector", {}) == selector

"""The CEL expressions of objects, with their paths."""

from support.validation import BASES, EXACTLY, edited, typed

from drasat.models.validation.expressions import expressions


def of(kind, edits):
    return list(expressions(typed(kind, edited(BASES[kind], edits))))


def selectors(*texts):
    return [{"cel": {"expression": text}} for text in texts]


def test_selectors_of_a_class_come_in_order():
    assert of("DeviceClass", {"spec selectors": selectors("a", "b")}) == [
        ("spec.selectors[0].cel.expression", "a", "selector"),
        ("spec.selectors[1].cel.expression", "b", "selector"),
    ]


def test_selectors_of_exact_requests_and_alternatives_are_found():
    edits = {
        "spec devices requests 0 exactly selectors": selectors("a"),
        "spec devices requests 1 firstAvailable 1 selectors": selectors("b"),
    }
    assert of("ResourceClaim", edits) == [
        ("spec.devices.requests[0].exactly.selectors[0].cel.expression", "a", "selector"),
        ("spec.devices.requests[1].firstAvailable[1].selectors[0].cel.expression", "b", "selector"),
    ]


def test_derived_attributes_are_told_from_selectors():
    """CON-12: their result is a value, not a boolean."""
    wish = {"selectors": selectors("a"), "derivedAttributes": [{"name": "x/y", "expression": "b"}]}
    assert of("ResourceClaim", {"spec devices requests 0 exactly": {**EXACTLY, **wish}}) == [
        ("spec.devices.requests[0].exactly.selectors[0].cel.expression", "a", "selector"),
        ("spec.devices.requests[0].exactly.derivedAttributes[0].expression", "b", "derivedAttribute"),
    ]


def test_paths_of_templates_lead_into_their_claim():
    edits = {"spec spec devices requests 0 exactly selectors": selectors("a")}
    assert of("ResourceClaimTemplate", edits) == [
        ("spec.spec.devices.requests[0].exactly.selectors[0].cel.expression", "a", "selector")
    ]


def test_selector_without_cel_has_no_expression():
    assert of("DeviceClass", {"spec selectors": [{}, *selectors("a")]}) == [
        ("spec.selectors[1].cel.expression", "a", "selector")
    ]


def test_kinds_without_cel_have_no_expressions():
    assert of("ResourceSlice", {}) == []
    assert list(expressions(None)) == []

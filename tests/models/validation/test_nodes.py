"""Rules of DeviceClass, DeviceTaintRule, Node, Pod and Namespace, of metadata, and of node selectors."""

import pytest
from support.validation import assert_problems, problems, row, rows

CLASSES = rows("validation/other-kinds", "classes")
RULES = rows("validation/other-kinds", "rules")
NODES = rows("validation/other-kinds", "nodes")
PODS = rows("validation/other-kinds", "pods")
META = rows("validation/other-kinds", "meta")
TERM = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def affinity(**term):
    required = {"nodeSelectorTerms": [term]}
    return {"spec affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def expression(operator, *values, key="zone"):
    return affinity(matchExpressions=[{"key": key, "operator": operator, "values": list(values)}])


def field(operator, *values, key="metadata.name"):
    return affinity(matchFields=[{"key": key, "operator": operator, "values": list(values)}])


LABEL, FIELD = f"{TERM}[0].matchExpressions[0]", f"{TERM}[0].matchFields[0]"
SELECTORS = [
    *(
        row(f"NODE-2 {operator}", expression(operator, *values))
        for operator, *values in (
            ("In", "a", "b"),
            ("NotIn", "a"),
            ("Exists",),
            ("DoesNotExist",),
            ("Gt", "1"),
            ("Lt", "-1"),
        )
    ),
    *(
        row(
            f"NODE-2 {operator} without values",
            expression(operator),
            f"{LABEL}.values: Required value: must be specified when",
        )
        for operator in ("In", "NotIn")
    ),
    *(
        row(
            f"NODE-2 {operator} with values",
            expression(operator, "a"),
            f"{LABEL}.values: Forbidden: may not be specified when",
        )
        for operator in ("Exists", "DoesNotExist")
    ),
    *(
        row(
            f"NODE-2 {operator} with two values",
            expression(operator, "1", "2"),
            f"{LABEL}.values: Required value: must be specified single value",
        )
        for operator in ("Gt", "Lt")
    ),
    row("NODE-2 Gt of a word", expression("Gt", "many"), f"warning {LABEL}.values[0]: not an integer"),
    row(
        "NODE-2 operator",
        expression("Like", "a"),
        f'{LABEL}.operator: Invalid value: "Like": not a valid selector operator',
    ),
    row("NODE-2 key", expression("Exists", key="a b"), f'{LABEL}.key: Invalid value: "a b": name part must consist of'),
    row("NODE-2 value", expression("In", "a", "b c"), f'{LABEL}.values[1]: Invalid value: "b c": a valid label must'),
    row("NODE-2 field", field("In", "node-1")),
    row(
        "NODE-2 field key",
        field("In", "a", key="metadata.uid"),
        f'{FIELD}.key: Invalid value: "metadata.uid": not a valid field selector key',
    ),
    row(
        "NODE-2 field operator",
        field("Exists"),
        f'{FIELD}.operator: Invalid value: "Exists": not a valid selector operator',
    ),
    row(
        "NODE-2 field with two values",
        field("In", "a", "b"),
        f"{FIELD}.values: Required value: must be only one value when",
    ),
    row(
        "NODE-2 field value", field("In", "A"), f'{FIELD}.values[0]: Invalid value: "A": a lowercase RFC 1123 subdomain'
    ),
    row("NODE-2 empty term", affinity()),
    row(
        "NODE-2 no terms",
        {"spec affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
        f"{TERM}: Required value: must have at least one",
    ),
]
NAMESPACES = [
    row("namespace name", {"metadata name": "a.b"}, 'metadata.name: Invalid value: "a.b": must not contain dots'),
    row(
        "namespace in a namespace", {"metadata namespace": "x"}, "warning metadata.namespace: the kind has no namespace"
    ),
]


@pytest.mark.parametrize(("edits", "expected"), CLASSES)
def test_device_classes(edits, expected):
    assert_problems(problems("DeviceClass", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), RULES)
def test_device_taint_rules(edits, expected):
    assert_problems(problems("DeviceTaintRule", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), NODES)
def test_nodes(edits, expected):
    assert_problems(problems("Node", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), PODS)
def test_pods(edits, expected):
    assert_problems(problems("Pod", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), META)
def test_metadata(edits, expected):
    assert_problems(problems("ResourceClaim", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), SELECTORS)
def test_node_selectors(edits, expected):
    assert_problems(problems("Pod", edits), expected)


@pytest.mark.parametrize(("edits", "expected"), NAMESPACES)
def test_namespaces(edits, expected):
    assert_problems(problems("Namespace", edits), expected)

"""Rules of DeviceClass, DeviceTaintRule, Node, Pod and Namespace, of metadata, and of node selectors."""

import pytest
from support.validation import assert_problems, problems, rows

CLASSES = rows("validation/other-kinds", "classes")
RULES = rows("validation/other-kinds", "rules")
NODES = rows("validation/other-kinds", "nodes")
PODS = rows("validation/other-kinds", "pods")
META = rows("validation/other-kinds", "meta")
TERM = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def affinity(**term):
    required = {"nodeSelectorTerms": [term]}
    return {"spec affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def field(operator, *values, key="metadata.name"):
    return affinity(matchFields=[{"key": key, "operator": operator, "values": list(values)}])


LABEL, FIELD = f"{TERM}[0].matchExpressions[0]", f"{TERM}[0].matchFields[0]"
SELECTORS = rows("validation/other-kinds", "selectors")
NAMESPACES = rows("validation/other-kinds", "namespaces")


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


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"max": {"cpu": "2"}, "min": {"cpu": "1"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, []),
        ({"max": {"cpu": "1"}, "min": {"cpu": "2"}}, ["min[cpu]: Invalid value: ...min value 2 is greater than max"]),
        (
            {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "1500m"}},
            ["defaultRequest[cpu]: Invalid value: ...value 1500m is greater than default limit value 1"],
        ),
        ({"max": {"cpu": "many"}}, ["structure max[cpu]: Invalid value: ...quantities must match"]),
        ({"type": "<drop>"}, ["structure type: Required value"]),
    ],
)
def test_limit_ranges(item, expected):
    where = [one.replace("structure ", "structure spec.limits[0].") for one in expected]
    where = [one if one.startswith("structure") else f"spec.limits[0].{one}" for one in where]
    limits = {key: one for key, one in {"type": "Container", **item}.items() if one != "<drop>"}
    assert_problems(problems("LimitRange", {"spec": {"limits": [limits]}}), where)


def test_the_overhead_of_a_runtime_class_is_not_negative():
    expected = ["structure overhead.podFixed[memory]: Invalid value: ...must be greater than or equal to 0"]
    assert_problems(problems("RuntimeClass", {"overhead": {"podFixed": {"memory": "-1"}}}), expected)

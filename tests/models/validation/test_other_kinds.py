"""Rules of DeviceClass, DeviceTaintRule, Node, Pod and Namespace, of metadata, and of node selectors."""

import pytest
from support.validation import DROP, assert_problems, problems, row

CLASSES = [
    row("32 class selectors", {"spec selectors": [{"cel": {"expression": "true"}}] * 32}),
    row(
        "33 class selectors",
        {"spec selectors": [{"cel": {"expression": "true"}}] * 33},
        "spec.selectors: Too many: 33: must have at most 32 items",
    ),
    row("PRE-4 class selector", {"spec selectors 0": {}}, "spec.selectors[0].cel: Required value"),
    row(
        "CLM-6 class expression",
        {"spec selectors 0 cel expression": "x" * 10241},
        "spec.selectors[0].cel.expression: Too long: may not be more than 10240",
    ),
    row(
        "class parameters",
        {"spec config 0 opaque parameters": "x"},
        'spec.config[0].opaque.parameters: Invalid value: "x": must be a valid JSON object',
    ),
    row(
        "33 class configs",
        {"spec config": [{"opaque": {"driver": "d", "parameters": {}}}] * 33},
        "spec.config: Too many: 33",
    ),
    row(
        "extended resource without domain",
        {"spec extendedResourceName": "gpu"},
        'spec.extendedResourceName: Invalid value: "gpu": must be an extended resource name',
    ),
    row(
        "extended resource of Kubernetes",
        {"spec extendedResourceName": "x.kubernetes.io/gpu"},
        "spec.extendedResourceName: Invalid value: ...must be an extended resource name",
    ),
    row(
        "extended resource of a quota",
        {"spec extendedResourceName": "requests.example.com/gpu"},
        "spec.extendedResourceName: Invalid value: ...must be an extended",
    ),
    row(
        "extended resource shape",
        {"spec extendedResourceName": "example.com/g p"},
        "spec.extendedResourceName: Invalid value: ...name part must consist of",
    ),
    row(
        "extended resource of three parts",
        {"spec extendedResourceName": "example.com/a/b"},
        "spec.extendedResourceName: Invalid value: ...a valid label key must",
    ),
]
RULES = [
    row(
        "TNT-6 no selector",
        {"spec deviceSelector": DROP},
        "warning spec.deviceSelector: without a selector the rule taints nothing",
    ),
    row("TNT-6 empty selector", {"spec deviceSelector": {}}, "warning spec.deviceSelector: without criteria"),
    row(
        "TNT-5 driver",
        {"spec deviceSelector driver": "a_b"},
        'spec.deviceSelector.driver: Invalid value: "a_b": a lowercase RFC 1123 subdomain',
    ),
    row("TNT-5 pool", {"spec deviceSelector pool": ""}, "spec.deviceSelector.pool: Required value"),
    row(
        "TNT-5 device",
        {"spec deviceSelector device": "A"},
        'spec.deviceSelector.device: Invalid value: "A": a lowercase RFC 1123 label',
    ),
    row("TNT-5 driver only", {"spec deviceSelector": {"driver": "d"}}),
    row("rule effect", {"spec taint effect": ""}, "spec.taint.effect: Required value"),
    row("rule key of 63", {"spec taint key": "k" * 63}),
    row(
        "rule key of 64",
        {"spec taint key": "k" * 64},
        "spec.taint.key: Invalid value: ...name part must be no more than 63 bytes",
    ),
    row(
        "rule key prefix",
        {"spec taint key": "A/b"},
        'spec.taint.key: Invalid value: "A/b": prefix part a lowercase RFC 1123 subdomain',
    ),
    row("rule value of 63", {"spec taint value": "v" * 63}),
    row(
        "rule value of 64",
        {"spec taint value": "v" * 64},
        "spec.taint.value: Invalid value: ...must be no more than 63 bytes",
    ),
]
NODES = [
    row(
        "node taint effect",
        {"spec taints 0 effect": "None"},
        'spec.taints[0].effect: Unsupported value: "None": supported values: "NoExecute", '
        '"NoSchedule", "PreferNoSchedule"',
    ),
    row(
        "node taint key",
        {"spec taints 0 key": ""},
        "spec.taints[0].key: Invalid value: ...name part must be non-empty",
        "spec.taints[0].key: Invalid value: ...name part must consist",
    ),
    row(
        "node allocatable",
        {"status allocatable cpu": "4 "},
        'structure status.allocatable[cpu]: Invalid value: "4 ": quantities must match',
    ),
    row(
        "node capacity",
        {"status capacity": {"cpu": ""}},
        'structure status.capacity[cpu]: Invalid value: "": quantities must match',
    ),
]
CLAIMS = "spec resourceClaims"
PODS = [
    row(
        "pod claim neither",
        {f"{CLAIMS} 0 resourceClaimName": DROP},
        'structure spec.resourceClaims[0]: Invalid value: "one": must specify exactly one of',
    ),
    row(
        "pod claim both",
        {f"{CLAIMS} 0 resourceClaimTemplateName": "x"},
        'structure spec.resourceClaims[0]: Invalid value: "one": must specify exactly one of',
    ),
    row(
        "pod claim names", {f"{CLAIMS} 1 name": "one"}, 'structure spec.resourceClaims[1].name: Duplicate value: "one"'
    ),
    row("pod claim name missing", {f"{CLAIMS} 1 name": ""}, "spec.resourceClaims[1].name: Required value"),
    row(
        "pod claim name",
        {f"{CLAIMS} 1 name": "A"},
        'spec.resourceClaims[1].name: Invalid value: "A": a lowercase RFC 1123 label',
    ),
    row(
        "pod names a claim",
        {f"{CLAIMS} 0 resourceClaimName": "A"},
        'spec.resourceClaims[0].resourceClaimName: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ),
    row(
        "pod names a template",
        {f"{CLAIMS} 1 resourceClaimTemplateName": ""},
        "spec.resourceClaims[1].resourceClaimTemplateName: Required value",
    ),
    row(
        "pod node selector",
        {"spec nodeSelector": {"a b": "x"}},
        'spec.nodeSelector: Invalid value: "a b": name part must consist of',
    ),
]
META = [
    row("no name", {"metadata name": ""}, "structure metadata.name: Required value: name or generateName is required"),
    row("name of 253", {"metadata name": "n" * 253}),
    row(
        "name of 254",
        {"metadata name": "n" * 254},
        "metadata.name: Invalid value: ...must be no more than 253 characters",
    ),
    row("name shape", {"metadata name": "a_b"}, 'metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain'),
    row(
        "generated name",
        {"metadata generateName": "A-"},
        'metadata.generateName: Invalid value: "A-": a lowercase RFC 1123 subdomain',
    ),
    row("namespace", {"metadata namespace": "A"}, 'metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label'),
    row("no namespace", {"metadata namespace": ""}),
    row(
        "label key",
        {"metadata labels": {"a/b/c": "x"}},
        'metadata.labels: Invalid value: "a/b/c": a valid label key must consist of',
    ),
    row(
        "label key without name",
        {"metadata labels": {"a/": "x"}},
        'metadata.labels: Invalid value: "a/": name part must be non-empty',
        "metadata.labels: Invalid value: ...name part must consist",
    ),
    row(
        "label value",
        {"metadata labels": {"a": "-x"}},
        'metadata.labels: Invalid value: "-x": a valid label must be an empty string or',
    ),
    row("annotation key in upper case", {"metadata annotations": {"Example.com/A": "x"}}),
    row(
        "annotation key",
        {"metadata annotations": {"a b": "x"}},
        'metadata.annotations: Invalid value: "a b": name part',
    ),
    row("annotations of 256 KiB", {"metadata annotations": {"a": "x" * 262143}}),
    row(
        "annotations above 256 KiB",
        {"metadata annotations": {"a": "x" * 262144}},
        "metadata.annotations: Too long: may not be more than 262144 bytes",
    ),
]
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

"""Limits of checks, requests and their configuration: messages, and verdicts equal to those of the CRDs' schemas."""

import copy

import jsonschema
import pytest
from support.crd_text import schema_of
from support.kueue_cases import read_objects

from drasat.models.validation.validate import validate_manifests

KUEUE, AUTOSCALING = "kueue.x-k8s.io/v1beta2", "autoscaling.x-k8s.io/v1"
WHOLE = {
    "AdmissionCheck": {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"},
    },
    "ProvisioningRequestConfig": {
        "provisioningClassName": "check-capacity.autoscaling.x-k8s.io",
        "parameters": {"p": "v"},
        "managedResources": ["cpu"],
        "retryStrategy": {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        "podSetUpdates": {"nodeSelector": [{"key": "a.b/c", "valueFromProvisioningClassDetail": "d"}]},
        "podSetMergePolicy": "IdenticalPodTemplates",
    },
    "ProvisioningRequest": {
        "provisioningClassName": "class",
        "parameters": {"p": "v"},
        "podSets": [{"podTemplateRef": {"name": "ppt-a"}, "count": 1}],
    },
    "ClusterQueue": {
        "namespaceSelector": {},
        "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["f"]}]},
    },
}
SUBDOMAIN = r"'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
LABEL_KEY = (
    r"'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$'"
)
CHECK, CONFIG, REQUEST, QUEUE = "AdmissionCheck", "ProvisioningRequestConfig", "ProvisioningRequest", "ClusterQueue"
SELECTORS = ("podSetUpdates", "nodeSelector")
CHECKS = ("admissionChecksStrategy", "admissionChecks")


def selector(key):
    return {"key": key, "valueFromProvisioningClassDetail": "d"}


def pods(count=1, name="t"):
    return {"podTemplateRef": {"name": name}, "count": count}


def many(count):
    return {f"p{number}": "v" for number in range(count)}


# Kind, path below spec, value, and the message; None for values that are taken.
ROWS = [
    (
        CHECK,
        ("controllerName",),
        "",
        'spec.controllerName: Invalid value: "": spec.controllerName in body should be at least 1 chars long',
    ),
    (CHECK, ("controllerName",), "x" * 254, "spec.controllerName: Too long: may not be more than 253 bytes"),
    (
        CHECK,
        ("parameters", "apiGroup"),
        "kueue.x-k8s.io/v1beta1",
        'spec.parameters.apiGroup: Invalid value: "kueue.x-k8s.io/v1beta1": '
        f"spec.parameters.apiGroup in body should match {SUBDOMAIN}",
    ),
    (CHECK, ("parameters", "kind"), "CONFIG", None),
    (
        CHECK,
        ("parameters", "kind"),
        "A B",
        'spec.parameters.kind: Invalid value: "A B": '
        "spec.parameters.kind in body should match '^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$'",
    ),
    (
        CHECK,
        ("parameters", "name"),
        "",
        'spec.parameters.name: Invalid value: "": spec.parameters.name in body should be at least 1 chars',
    ),
    (CHECK, ("parameters", "name"), "n" * 64, "spec.parameters.name: Too long: may not be more than 63 bytes"),
    (CHECK, ("parameters", "name"), "n" * 63, None),
    (
        CONFIG,
        ("provisioningClassName",),
        "",
        'spec.provisioningClassName: Invalid value: "": spec.provisioningClassName in body should be at least 1',
    ),
    (
        CONFIG,
        ("provisioningClassName",),
        "SuperSpot",
        'spec.provisioningClassName: Invalid value: "SuperSpot": '
        f"spec.provisioningClassName in body should match {SUBDOMAIN}",
    ),
    (CONFIG, ("provisioningClassName",), "c" * 254, "spec.provisioningClassName: Too long: may not be more"),
    (CONFIG, ("parameters",), many(101), "spec.parameters: Too many: 101: must have at most 100 items"),
    (CONFIG, ("parameters",), many(100), None),
    (CONFIG, ("parameters", "p"), "v" * 256, "spec.parameters.p: Too long: may not be more than 255 bytes"),
    (CONFIG, ("parameters", "p"), "v" * 255, None),
    (CONFIG, ("managedResources",), [f"r{n}" for n in range(101)], "spec.managedResources: Too many: 101"),
    (CONFIG, ("managedResources",), ["a", "b", "a"], 'spec.managedResources[2]: Duplicate value: "a"'),
    (CONFIG, ("retryStrategy", "backoffLimitCount"), -5, None),
    (CONFIG, ("retryStrategy", "backoffBaseSeconds"), 0, None),
    (CONFIG, ("retryStrategy", "backoffMaxSeconds"), 2**31, "spec.retryStrategy.backoffMaxSeconds: Invalid value"),
    (
        CONFIG,
        ("podSetMergePolicy",),
        "All",
        'spec.podSetMergePolicy: Unsupported value: "All": supported values: '
        '"IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"',
    ),
    (CONFIG, SELECTORS, [selector(f"k{n}") for n in range(9)], "spec.podSetUpdates.nodeSelector: Too many: 9"),
    (
        CONFIG,
        SELECTORS,
        [selector("a"), selector("a")],
        'spec.podSetUpdates.nodeSelector[1]: Duplicate value: {"key":"a"}',
    ),
    (
        CONFIG,
        SELECTORS,
        [selector("a b")],
        'spec.podSetUpdates.nodeSelector[0].key: Invalid value: "a b": '
        f"spec.podSetUpdates.nodeSelector[0].key in body should match {LABEL_KEY}",
    ),
    (CONFIG, SELECTORS, [selector("k" * 318)], "spec.podSetUpdates.nodeSelector[0].key: Too long"),
    (
        CONFIG,
        SELECTORS,
        [{"key": "a", "valueFromProvisioningClassDetail": ""}],
        'spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail: Invalid value: ""',
    ),
    (
        CONFIG,
        SELECTORS,
        [{"key": "a", "valueFromProvisioningClassDetail": "d" * 32769}],
        "spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail: Too long",
    ),
    (REQUEST, ("podSets",), [], "spec.podSets: Invalid value: 0: spec.podSets in body should have at least 1 items"),
    (REQUEST, ("podSets",), [pods()] * 33, "spec.podSets: Too many: 33: must have at most 32 items"),
    (
        REQUEST,
        ("podSets",),
        [pods(count=0)],
        "spec.podSets[0].count: Invalid value: 0: spec.podSets[0].count in body should be greater than or equal to 1",
    ),
    (REQUEST, ("podSets",), [pods(name="A")], 'spec.podSets[0].podTemplateRef.name: Invalid value: "A"'),
    (REQUEST, ("provisioningClassName",), "c.d", None),
    (REQUEST, ("parameters",), many(101), "spec.parameters: Too many: 101"),
    (QUEUE, CHECKS, [], "spec.admissionChecksStrategy.admissionChecks: Invalid value: 0"),
    (QUEUE, CHECKS, [{"name": f"c{n}"} for n in range(65)], "spec.admissionChecksStrategy.admissionChecks: Too many"),
    (QUEUE, CHECKS, [{"name": "c" * 317}], "spec.admissionChecksStrategy.admissionChecks[0].name: Too long"),
    (
        QUEUE,
        CHECKS,
        [{"name": "c"}, {"name": "c"}],
        'spec.admissionChecksStrategy.admissionChecks[1]: Duplicate value: {"name":"c"}',
    ),
    (
        QUEUE,
        CHECKS,
        [{"name": "c", "onFlavors": [f"f{n}" for n in range(65)]}],
        "spec.admissionChecksStrategy.admissionChecks[0].onFlavors: Too many: 65",
    ),
    (
        QUEUE,
        CHECKS,
        [{"name": "c", "onFlavors": ["a", "a"]}],
        'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: Duplicate value: "a"',
    ),
    (
        QUEUE,
        CHECKS,
        [{"name": "c", "onFlavors": ["A"]}],
        'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Invalid value: "A"',
    ),
]


def made(kind, path=(), value=None):
    api = AUTOSCALING if kind == REQUEST else KUEUE
    spec = copy.deepcopy(WHOLE[kind])
    place = spec
    for name in path[:-1]:
        place = place[name]
    if path:
        place[path[-1]] = value
    metadata = {"name": "x"} | ({"namespace": "n"} if kind == REQUEST else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def complaints(mapping):
    return [f"{one.field}: {one.message}" for one in validate_manifests(read_objects([mapping]))]


@pytest.mark.parametrize("kind", WHOLE)
def test_objects_within_all_limits_are_taken(kind):
    assert complaints(made(kind)) == []


@pytest.mark.parametrize(("kind", "path", "value", "message"), ROWS)
def test_limits_are_worded_as_the_api_server_words_them(kind, path, value, message):
    """Section 1 of provisioning-request."""
    found = complaints(made(kind, path, value))
    assert len(found) == (0 if message is None else 1), found
    if message is not None:
        assert found[0].startswith(message)


# The text of the schemas has no word for these: duplicates of sets and maps, and the range of a format.
BEYOND_TEXT = ("Duplicate value", "backoffMaxSeconds")


@pytest.mark.parametrize(("kind", "path", "value", "message"), ROWS)
def test_the_schemas_of_the_crds_agree(kind, path, value, message):
    """The fields and limits of the CRDs as data, read by another program."""
    mapping = made(kind, path, value)
    accepted = jsonschema.Draft202012Validator(schema_of(mapping["apiVersion"], kind)).is_valid(mapping)
    beyond = message is not None and any(word in message for word in BEYOND_TEXT)
    assert accepted == (message is None or beyond)


def test_details_of_the_status_have_limits():
    status = {"provisioningClassDetails": {f"d{number}": "v" for number in range(65)}}
    assert complaints(made(REQUEST) | {"status": status}) == [
        "status.provisioningClassDetails: Too many: 65: must have at most 64 items"
    ]


def test_pod_templates_are_checked_as_those_of_controllers():
    """The pods of a PodTemplate have the rules of pods."""
    container = {"name": "c", "resources": {"requests": {"cpu": "-1"}}}
    template = {"spec": {"containers": [container]}}
    mapping = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": template}
    [complaint] = complaints(mapping)
    assert complaint.startswith("template.spec.containers[0].resources.requests[cpu]: Invalid value")

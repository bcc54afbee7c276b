"""What Kueue's webhooks refuse (kueue-dra 4.1): every recorded refusal to the letter, and what no case shows."""

import pytest
from support.kueue_cases import kueue_cases, read_objects

from drasat.models.validation.kueue import webhook_errors
from drasat.models.validation.validate import validate_manifests


@pytest.mark.parametrize("family", sorted({case.family for case in kueue_cases()}))
def test_the_recorded_refusals_are_found_and_no_others(family):
    for case in kueue_cases():
        if case.family != family or "configurationErrors" in case.verdict:
            continue
        expected = {(one["kind"], one["name"]): one["errors"] for one in case.verdict.get("rejected") or ()}
        found = {(one.kind, one.object.metadata.name): webhook_errors(one.object) for one in case.manifests}
        assert {key: errors for key, errors in found.items() if errors} == expected, case


def read(kind, spec, **fields):
    mapping = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    (manifest,) = read_objects([{**mapping, **fields}])
    return manifest


def group(resources, flavors):
    names = [f"r{index}" for index in range(resources)]
    quotas = [{"name": name, "nominalQuota": "1"} for name in names]
    return {"coveredResources": names, "flavors": [{"name": f"f{index}", "resources": quotas} for index in flavors]}


def pod_set(name="main", requests=None, **fields):
    containers = [{"name": "c", "resources": {"requests": requests or {}}}]
    return {"name": name, "template": {"spec": {"containers": containers}}, **fields}


def admitted(*assignments, **fields):
    return {"admission": {"clusterQueue": "q", "podSetAssignments": list(assignments)}, **fields}


REFUSED = [
    (
        "ClusterQueue",
        {"resourceGroups": [group(9, range(60))]},
        {},
        ["spec.resourceGroups[0]: Too many: 540: must have at most 512 items"],
    ),
    (
        "ClusterQueue",
        {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 3}}},
        {},
        [
            'spec.preemption: Invalid value: {"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":'
            '"LowerPriority","maxPriorityThreshold":3},"withinClusterQueue":"Never"}: '
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
        ],
    ),
    (
        "ClusterQueue",
        {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
        {},
        [
            "spec.namespaceSelector.matchExpressions[0].values: Forbidden: "
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        ],
    ),
    ("ClusterQueue", {"fairSharing": {"weight": "11n"}}, {}, []),
    ("ClusterQueue", {"fairSharing": {"weight": 0}}, {}, []),
    (
        "ResourceFlavor",
        {"nodeTaints": [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]},
        {},
        [
            'spec.nodeTaints[1]: Duplicate value: {"key":"a","effect":"NoSchedule"}: '
            "taints must be unique by key and effect pair"
        ],
    ),
    (
        "Workload",
        {"podSets": [pod_set(requests={"pods": "1"})]},
        {},
        [
            'spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "pods": '
            "the key is reserved for internal kueue use"
        ],
    ),
    (
        "Workload",
        {"podSets": [pod_set(count=3)]},
        {"status": {"reclaimablePods": [{"name": "main", "count": 4}]}},
        ["status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3"],
    ),
    (
        "Workload",
        {"podSets": [pod_set(count=3)]},
        {"status": admitted({"name": "main", "count": 3, "resourceUsage": {"cpu": "1", "memory": "3Mi"}})},
        ['status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: "1": is not a multiple of 3'],
    ),
    (
        "Workload",
        {"podSets": [pod_set()]},
        {"status": admitted({"name": "other"}, {"name": "main"})},
        [
            "status.admission.podSetAssignments: Invalid value: must have the same number of podSets as the spec",
            'status.admission.podSetAssignments[0].name: Not found: "other"',
        ],
    ),
    (
        "Workload",
        {"podSets": [pod_set("a"), pod_set("b")]},
        {"status": {"admissionChecks": [{"name": "c", "podSetUpdates": [{"name": "z"}]}]}},
        [
            "status.admissionChecks[0].podSetUpdates: Invalid value: "
            "must have the same number of podSetUpdates as the podSets",
            'status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: "z": supported values: "a", "b"',
        ],
    ),
]


@pytest.mark.parametrize(("kind", "spec", "fields", "errors"), REFUSED)
def test_what_no_case_shows(kind, spec, fields, errors):
    """The texts of the other rules of the webhooks."""
    assert webhook_errors(read(kind, spec, **fields).object) == errors


def test_validation_says_what_the_webhooks_say():
    """Metadata comes first; the errors are limits, which loading can leave out."""
    queue = read("ClusterQueue", {"fairSharing": {"weight": "-1"}})
    (problem,) = validate_manifests([queue])
    assert str(problem) == (
        '<objects> document 1: ClusterQueue x: spec.fairSharing: Invalid value: "-1": '
        "must be greater than or equal to 0"
    )
    assert validate_manifests([queue], skip_validation=True) == []


def test_validation_says_why_kueue_does_not_start():
    """On one line, whatever the text has (kueue-dra 2.1)."""
    source = {"counter": {"name": "m", "driver": "d", "deviceSelector": {"cel": {"expression": "1 +"}}}}
    mapping = {"name": "", "deviceClassNames": ["a", "a"], "sources": [source]}
    configuration = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    problems = validate_manifests(read_objects([{**configuration, "resources": {"deviceClassMappings": [mapping]}}]))
    assert [one.field for one in problems] == [
        "resources.deviceClassMappings[0].name",
        "resources.deviceClassMappings[0].deviceClassNames[1]",
    ]
    assert all(str(one).isprintable() for one in problems)


def test_gates_that_decide_nothing_are_named():
    """Kueue does not start with a gate that it does not know (kueue-dra 1); the list of its gates is not read here."""
    gates = {"KueueDRAIntegrationPartitionableDevice": True, "KueueDRAIntegrationPrioritizedList": True, "Other": False}
    configuration = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "featureGates": gates}
    found = validate_manifests(read_objects([configuration]))
    assert [(one.severity, one.field) for one in found] == [
        ("warning", "featureGates[KueueDRAIntegrationPartitionableDevice]"),
        ("warning", "featureGates[Other]"),
    ]
    assert "did you mean KueueDRAIntegrationPartitionableDevices?" in found[0].message
    assert "did you mean" not in found[1].message

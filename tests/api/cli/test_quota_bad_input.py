"""Kueue manifests that nobody should write: one clear line with file, document, field and reason, and exit code 2.

Where Kueue's webhooks or its start refuse them, the words are Kueue's (kueue-dra 2.1 and 4.1).
"""

import json
from itertools import pairwise

import pytest

API = "kueue.x-k8s.io/v1beta2"
DROP = object()
GROUPS = ("spec", "resourceGroups")
QUOTA = (*GROUPS, 0, "flavors", 0, "resources", 0)
PODS = ("spec", "podSets", 0)
POD = (*PODS, "template", "spec")
MAPPING = ("resources", "deviceClassMappings", 0)


def setting():
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    group = {"coveredResources": ["cpu"], "flavors": [quota]}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    mapping = {"name": "gpus", "deviceClassNames": ["gpu.example.com"]}
    configuration = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    return {
        "Configuration": {**configuration, "resources": {"deviceClassMappings": [mapping]}},
        "Namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        "ResourceFlavor": made("ResourceFlavor", "f", {}),
        "Cohort": made("Cohort", "co", {}),
        "ClusterQueue": made("ClusterQueue", "q", {"namespaceSelector": {}, "resourceGroups": [group]}),
        "LocalQueue": made("LocalQueue", "lq", {"clusterQueue": "q"}, namespace="team"),
        "Workload": made("Workload", "w", {"queueName": "lq", "podSets": [pod_set]}, namespace="team"),
    }


def made(kind, name, spec, **metadata):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def edited(kind, path, value):
    objects = setting()
    at = objects[kind]
    for step, following in pairwise(path):
        at = at.setdefault(step, [] if isinstance(following, int) else {}) if isinstance(at, dict) else at[step]
    if value is DROP:
        del at[path[-1]]
    elif isinstance(at, list) and path[-1] == len(at):
        at.append(value)
    else:
        at[path[-1]] = value
    return objects


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def expression(text):
    return {"counter": {"name": "m", "driver": "d", "deviceSelector": {"cel": {"expression": text}}}}


FLAVOR_AGAIN = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
BORROWING = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
HOSTILE = [
    ("ClusterQueue", (*QUOTA, "nominalQuota"), "-1", 'nominalQuota: Invalid value: "-1": must be greater than or'),
    ("ClusterQueue", (*QUOTA, "nominalQuota"), "many", "nominalQuota: Invalid value"),
    ("ClusterQueue", (*QUOTA, "nominalQuota"), "1e999999999", "nominalQuota: Invalid value"),
    ("ClusterQueue", (*QUOTA, "nominalQuota"), [], "nominalQuota: "),
    ("ClusterQueue", (*QUOTA, "nominalQuota"), True, "nominalQuota: "),
    ("ClusterQueue", (*QUOTA, "name"), "memory", "must match the name in coveredResources"),
    ("ClusterQueue", (*QUOTA, "borrowingLimit"), "1", 'borrowingLimit: Invalid value: "1": must be nil when cohort'),
    ("ClusterQueue", (*QUOTA, "lendingLimit"), "5", 'lendingLimit: Invalid value: "5": must be'),
    ("ClusterQueue", (*GROUPS, 0, "flavors", 1), FLAVOR_AGAIN, 'flavors[1].name: Duplicate value: "f"'),
    ("ClusterQueue", (*GROUPS, 0, "flavors"), [], "flavors in body should have at least 1 items"),
    ("ClusterQueue", (*GROUPS, 0, "coveredResources"), [], "coveredResources in body should have at least 1 items"),
    ("ClusterQueue", (*GROUPS, 0, "coveredResources"), "cpu", "coveredResources: Invalid value"),
    ("ClusterQueue", GROUPS, {"a": 1}, "spec.resourceGroups: Invalid value"),
    ("ClusterQueue", ("spec", "queueingStrategy"), "LIFO", 'queueingStrategy: Unsupported value: "LIFO"'),
    ("ClusterQueue", ("spec", "stopPolicy"), "Pause", 'stopPolicy: Unsupported value: "Pause"'),
    ("ClusterQueue", ("spec", "preemption"), BORROWING, "reclaimWithinCohort=Never and borrow"),
    ("ClusterQueue", ("spec", "fairSharing"), {"weight": "-2"}, 'spec.fairSharing: Invalid value: "-2"'),
    ("ClusterQueue", ("spec", "flavorFungibility"), {"preference": "PreemptionOverBorrowing"}, "requires both whenCan"),
    (
        "ClusterQueue", ("spec", "namespaceSelector"), {"matchExpressions": [{"key": "a", "operator": "Nope"}]},
        'matchExpressions[0].operator: Invalid value: "Nope": not a valid selector operator',
    ),
    ("ClusterQueue", ("spec",), nested(400), "nested"),
    ("ClusterQueue", ("metadata", "name"), "Up er", "metadata.name: Invalid value"),
    ("Cohort", ("spec", "parentName"), 7, "spec.parentName: Invalid value"),
    ("Cohort", ("spec", "fairSharing"), {"weight": "0.000000001"}, "When not 0, weight must be > 10e-9"),
    ("ResourceFlavor", ("spec", "nodeLabels"), {"a b": "x"}, 'spec.nodeLabels: Invalid value: "a b"'),
    ("ResourceFlavor", ("spec", "nodeLabels"), {str(n): "x" for n in range(9)}, "Too many: 9: must have at most 8"),
    ("ResourceFlavor", ("spec", "nodeTaints"), [{"key": "a", "effect": "Never"}], "supported taint effect values"),
    ("ResourceFlavor", ("spec", "topologyName"), "t", "spec: Invalid value"),
    ("LocalQueue", ("spec", "clusterQueue"), {}, "spec.clusterQueue: Invalid value"),
    ("Workload", ("spec", "podSets"), [], "podSets in body should have at least 1 items"),
    ("Workload", (*PODS, "count"), -1, "count"),
    ("Workload", (*PODS, "count"), 2**40, "count"),
    ("Workload", (*PODS, "count"), "1", "count: Invalid value"),
    ("Workload", (*PODS, "minCount"), 2, "minCount should be positive and less or equal to count"),
    ("Workload", (*POD, "containers", 0, "resources", "requests", "cpu"), "-1", "must be greater than or equal to 0"),
    ("Workload", (*POD, "containers", 0, "resources", "requests", "pods"), "1", "reserved for internal kueue use"),
    ("Workload", (*POD, "containers", 0, "resources", "limits"), {"cpu": "nan"}, 'limits[cpu]: Invalid value: "nan"'),
    ("Workload", (*POD, "overhead"), {"cpu": "x"}, 'overhead[cpu]: Invalid value: "x"'),
    ("Workload", (*POD, "resourceClaims"), [{"name": "a"}] * 2, 'resourceClaims[1].name: Duplicate value: "a"'),
    ("Workload", (*POD, "containers"), {}, "containers: Invalid value"),
    ("Workload", ("spec", "priority"), 2**63, "spec.priority: Invalid value"),
    (
        "Workload", ("status",), {"admission": {"clusterQueue": "q", "podSetAssignments": []}},
        "podSetAssignments: Invalid value: must have the same number of podSets as the spec",
    ),
    ("Configuration", (*MAPPING, "name"), "a b", "deviceClassMappings[0].name: Invalid value"),
    ("Configuration", (*MAPPING, "deviceClassNames"), [], "at least one device class name is required"),
    ("Configuration", (*MAPPING, "deviceClassNames"), ["a"] * 9, "Too many: 9: must have at most 8 items"),
    ("Configuration", (*MAPPING, "sources"), [expression("device.")], "CEL compilation failed"),
    ("Configuration", ("fairSharing",), {}, "fairSharing.preemptionStrategies: Required value: must be specified"),
    ("Configuration", ("featureGates",), {"KueueDRAIntegration": False}, "depends on features that are disabled"),
    ("Configuration", ("featureGates",), {"KueueDRAIntegration": "no"}, "featureGates[KueueDRAIntegration]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "value", "reason"), HOSTILE)
def test_a_hostile_manifest_is_one_line_and_exit_code_2(drasat, tmp_path, kind, path, value, reason):
    file = tmp_path / "hostile.json"
    objects = edited(kind, path, value)
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    done = drasat("quota", "-f", file)
    assert done.code == 2
    assert done.out == ""
    lines = [one for one in done.err.splitlines() if "warning: " not in one]
    named = [one for one in lines if reason in one and "hostile.json" in one]
    assert named, done.err
    assert all(len(one) < 2000 and "Traceback" not in one and "defect" not in one for one in lines)


def test_cohorts_in_a_cycle_make_queues_inactive(drasat, tmp_path):
    """Kueue-dra 4.1: a cycle disables all members; Kueue takes the objects."""
    objects = setting()
    objects["Cohort"]["spec"] = {"parentName": "up"}
    objects["Up"] = made("Cohort", "up", {"parentName": "co"})
    objects["ClusterQueue"]["spec"]["cohortName"] = "co"
    file = tmp_path / "cycle.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    done = drasat("quota", "-f", file, "-o", "json")
    document = json.loads(done.out)
    assert done.code == 1
    assert "form a cycle" in document["inactive"]["q"]
    assert document["workloads"][0]["message"] == "ClusterQueue q is inactive"


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ClusterQueue", (*GROUPS, 0, "flavors"), []),
        ("ClusterQueue", (*QUOTA, "nominalQuota"), "1e30"),
        ("ClusterQueue", ("spec", "queueingStrategy"), "LIFO"),
        ("Workload", ("spec", "podSets"), []),
        ("Workload", (*PODS, "count"), -1),
        (
            "Workload",
            ("status",),
            {
                "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "other", "count": 1}]},
                "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "r", "message": ""}],
            },
        ),
    ],
)
def test_without_validation_there_is_an_answer(drasat, tmp_path, kind, path, value):
    """What only the API server would refuse is answered, and is no defect."""
    objects = edited(kind, path, value)
    objects["Node"] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {}}
    objects["Node"]["status"]["allocatable"] = {"cpu": "4", "pods": "10"}
    file = tmp_path / "lenient.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects.values())}))
    done = drasat("quota", "-f", file, "--skip-validation")
    assert done.code in (0, 1), done.err
    assert "defect" not in done.err

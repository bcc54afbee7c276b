"""What a plan takes no notice of is said once for each field and kind."""

import re

import pytest
from support.manifests import cluster, container, maker, obj, pod

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import Pod
from drasat.models.kubernetes.meta import ObjectMeta
from drasat.models.workload.unsupported import PLANNED_FIELDS, PREFERRED_FIELDS, UNSUPPORTED_FIELDS, unsupported_fields

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PORTS = [container(ports=[{"containerPort": 80, "hostPort": 80}])]
ANYWAY = {"whenUnsatisfiable": "ScheduleAnyway"}
SPECS = [
    (f"affinity.nodeAffinity.{PREFERRED}", {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1}]}}}),
    ("affinity.podAffinity", {"affinity": {"podAffinity": {"x": []}}}),
    ("affinity.podAntiAffinity", {"affinity": {"podAntiAffinity": {"x": []}}}),
    (f"affinity.podAffinity.{PREFERRED}", {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1}]}}}),
    (f"affinity.podAntiAffinity.{PREFERRED}", {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1}]}}}),
    ("topologySpreadConstraints", {"topologySpreadConstraints": [{"maxSkew": 1}]}),
    (
        "topologySpreadConstraints.ScheduleAnyway",
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
    ),
    ("volumes", {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
    ("containers.ports.hostPort", {"containers": PORTS}),
    ("containers.ports.hostPort", {"hostNetwork": True, "containers": [container(ports=[{"containerPort": 80}])]}),
    ("runtimeClassName", {"runtimeClassName": "kata"}),
    ("schedulingGates", {"schedulingGates": [{"name": "x"}]}),
]
FINE = [
    {"affinity": {"nodeAffinity": {PREFERRED: []}, "podAffinity": None}},
    {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]},
    {"containers": [container(ports=[{"containerPort": 80}])]},
    {"hostNetwork": True},
    {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
    {"schedulerName": "mine", "nodeSelector": {"a": "b"}, "tolerations": []},
    {"hostAliases": "none", "affinity": []} | {"affinity": None},
]


def told(*objects):
    return [line.partition(" is not honoured: ")[0] for line in unsupported_fields(cluster(*objects))]


@pytest.mark.parametrize(("field", "spec"), SPECS)
def test_fields_of_pods(field, spec):
    assert told(pod("p", spec=spec)) == [f"{field} of 1 Pod"]


@pytest.mark.parametrize(("field", "spec"), SPECS)
def test_plans_keep_rules_of_pods(field, spec):
    lines = unsupported_fields(cluster(pod("p", spec=spec)), planned=True)
    assert [line.partition(" of ")[0] for line in lines] == ([] if field in PLANNED_FIELDS else [field])


@pytest.mark.parametrize(("field", "spec"), SPECS)
def test_the_stage_preferences_counts_what_pods_prefer(field, spec):
    lines = unsupported_fields(cluster(pod("p", spec=spec)), planned=True, prefers=True)
    assert bool(lines) is (field not in (*PLANNED_FIELDS, *PREFERRED_FIELDS))


@pytest.mark.parametrize(
    "item",
    [
        pod("p", spec={"preemptionPolicy": "PreemptLowerPriority"}),
        obj("PriorityClass", "x", value=1, preemptionPolicy="PreemptLowerPriority"),
        pod("p", spec={"nodeName": "n", "containers": PORTS, "runtimeClassName": "kata"}),
        pod("p", spec={"runtimeClassName": "kata"}, status={"phase": "Succeeded"}),
    ],
    ids=["default of the API server", "default for a class", "on a node", "finished"],
)
def test_what_every_cluster_has_is_not_warned_of(item):
    """What ``kubectl get`` writes for every object, and pods that nobody plans."""
    assert told(item) == []


@pytest.mark.parametrize("spec", FINE, ids=str)
def test_fields_that_are_honoured_or_say_nothing(spec):
    assert told(pod("p", spec=spec)) == []


@pytest.mark.parametrize("kind", ["Job", "Deployment", "StatefulSet", "ReplicaSet"])
def test_fields_of_pod_templates(kind):
    assert told(maker(kind, "x", pod_spec={"schedulingGates": [{"name": "x"}]})) == [f"schedulingGates of 1 {kind}"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (pod("p", status={"conditions": [{"type": "PodResizePending"}]}), "status.conditions of 1 Pod"),
        (obj("PodGroup", "x", {"preemptionPolicy": "Never"}), "spec.preemptionPolicy of 1 PodGroup"),
        (
            maker("Job", "x", spec={"scheduling": {"resourceClaims": [{"name": "c"}]}}),
            "spec.scheduling.resourceClaims of 1 Job",
        ),
        (obj("Workload", "x", {"podGroupTemplates": [{"name": "t"}]}), "spec.podGroupTemplates of 1 Workload"),
    ],
)
def test_fields_of_other_objects(item, expected):
    assert told(item) == [expected]


def test_many_objects_are_one_line_with_a_count_and_an_example():
    gated = {"schedulingGates": [{"name": "x"}]}
    lines = unsupported_fields(
        cluster(pod("a", spec=gated), pod("b", spec=gated), pod("c", spec={"runtimeClassName": "k"}))
    )
    assert lines == (
        "runtimeClassName of 1 Pod is not honoured: nodes and overhead of a RuntimeClass count only if the pod has them"
        " (such as default/c)",
        "schedulingGates of 2 Pods is not honoured: pods are planned as if they had none (such as default/a)",
    )


def test_objects_made_in_python_have_no_other_fields():
    assert unsupported_fields(Cluster.of([Pod(metadata=ObjectMeta(name="p"))])) == ()


def test_the_page_lists_every_field(request):
    page = (request.config.rootpath / "docs/guides/plan-input.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([A-Za-z.]+)` \| ([^|]+) \|$", page, re.MULTILINE))
    assert {field: rows.get(field) for field in UNSUPPORTED_FIELDS} == UNSUPPORTED_FIELDS

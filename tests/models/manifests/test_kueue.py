"""Kueue's kinds as they are read: versions, defaults of the API server, and the configuration inside a ConfigMap."""

import pytest
from support.kueue_cases import kueue_cases, read_objects

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.kueue import AdmissionCheckRule, ClusterQueue, KueueWorkload
from drasat.models.kubernetes.kueue_configuration import CONFIGURATION_KEY, Configuration
from drasat.models.kubernetes.meta import KindReference
from drasat.models.manifests.conversion import to_v1beta2
from drasat.models.manifests.reader import read_manifests


def kueue(kind, spec, version="v1beta1", **fields):
    metadata = {"name": "x"}
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec, **fields}


def read(mapping):
    (manifest,) = read_objects([mapping])
    assert manifest.raw == mapping
    return manifest.object


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("ClusterQueue", {"cohort": "c"}, {"cohortName": "c"}),
        (
            "ClusterQueue",
            {"admissionChecks": ["a", "b"]},
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        ),
        (
            "ClusterQueue",
            {"admissionChecks": ["b"], "admissionChecksStrategy": {"admissionChecks": [{"name": "a"}]}},
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        ),
        (
            "ClusterQueue",
            {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
            {"flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}},
        ),
        ("ClusterQueue", {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}, None),
        (
            "Workload",
            {"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
            {"priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}},
        ),
        (
            "Workload",
            {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass", "priority": 3},
            {
                "priorityClassRef": {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"},
                "priority": 3,
            },
        ),
        ("Workload", {"priorityClassName": "high"}, None),
        ("LocalQueue", {"clusterQueue": "q"}, None),
        ("ClusterQueue", {"admissionChecks": "a", "flavorFungibility": ["Borrow"]}, None),
        ("Workload", "text", None),
    ],
)
def test_v1beta1_is_converted(kind, old, new):
    """What is None stays as it is, values of a wrong type as well."""
    before = kueue(kind, old)
    assert to_v1beta2(kind, "v1beta1", before) == (before if new is None else {**before, "spec": new})
    assert to_v1beta2(kind, "v1beta2", before) is before


def test_objects_of_v1beta1_are_kept_as_written():
    queue = read(kueue("ClusterQueue", {"cohort": "c", "admissionChecks": ["a"]}))
    assert (queue.spec.cohort_name, queue.spec.admission_checks_strategy.admission_checks) == (
        "c",
        (AdmissionCheckRule(name="a"),),
    )
    workload = read(
        kueue(
            "Workload",
            {"priorityClassName": "p", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass", "podSets": []},
            status={"accumulatedPastExexcutionTimeSeconds": 7},
        )
    )
    assert workload.spec.priority_class_ref == KindReference(
        group="kueue.x-k8s.io", kind="WorkloadPriorityClass", name="p"
    )
    assert workload.status.accumulated_past_execution_time_seconds == 7


def test_absent_fields_have_the_defaults_of_the_api_server():
    spec = read(kueue("ClusterQueue", {}, "v1beta2")).spec
    assert (spec.queueing_strategy, spec.stop_policy) == ("BestEffortFIFO", "None")
    assert (spec.preemption.within_cluster_queue, spec.preemption.reclaim_within_cohort) == ("Never", "Never")
    assert spec.preemption.borrow_within_cohort.policy == "Never"
    assert spec.flavor_fungibility.when_can_borrow == "MayStopSearch"
    assert spec.flavor_fungibility.when_can_preempt == "TryNextFlavor"
    workload = read(kueue("Workload", {"podSets": [{}]}, "v1beta2"))
    assert workload.metadata.namespace == "default"
    assert (workload.spec.active, workload.spec.pod_sets[0].name, workload.spec.pod_sets[0].count) == (True, "main", 1)
    request = read(kueue("ProvisioningRequestConfig", {"provisioningClassName": "check-capacity"}, "v1beta2"))
    retry = request.spec.retry_strategy
    assert (retry.backoff_limit_count, retry.backoff_base_seconds, retry.backoff_max_seconds) == (3, 60, 1800)


def config_map(text, key=CONFIGURATION_KEY):
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}}


TEXT = """
apiVersion: config.kueue.x-k8s.io/{version}
kind: Configuration
fairSharing: {{{fair}}}
resources:
  deviceClassMappings:
  - name: gpus
    deviceClassNames: [gpu.example.com]
featureGates:
  KueueDRAIntegration: true
"""


def test_the_configuration_inside_a_config_map_is_read():
    """Kueue mounts it as a file (kueue-dra 2)."""
    mapping = config_map(TEXT.format(version="v1beta2", fair="preemptionStrategies: [LessThanInitialShare]"))
    configuration = read(mapping)
    assert configuration.feature_gates == {"KueueDRAIntegration": True}
    assert [one.name for one in configuration.resources.device_class_mappings] == ["gpus"]
    assert configuration.fair_sharing.preemption_strategies == ("LessThanInitialShare",)


@pytest.mark.parametrize(
    ("fair", "strategies"),
    [
        ("enable: true", ("LessThanOrEqualToFinalShare", "LessThanInitialShare")),
        ("enable: true, preemptionStrategies: [LessThanInitialShare]", ("LessThanInitialShare",)),
        ("enable: false, preemptionStrategies: [LessThanInitialShare]", None),
        ("", None),
    ],
)
def test_fair_sharing_of_v1beta1_counts_if_enabled(fair, strategies):
    found = read(config_map(TEXT.format(version="v1beta1", fair=fair))).fair_sharing
    assert (found and found.preemption_strategies) == strategies


@pytest.mark.parametrize(
    "text",
    ["", "kind: Configuration\napiVersion: config.jobset.x-k8s.io/v1alpha1\n", "# config.kueue.x-k8s.io\na: 1\n"],
)
def test_other_config_maps_are_not_read(text):
    manifests, problems, ignored = read_manifests([config_map(text), config_map(TEXT, "other.yaml")])
    assert [one.object for one in manifests] == [None, None]
    assert (problems, ignored) == ([], {"ConfigMap": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.format(version="v1beta2", fair="preemptionStrategies: 5"), "fairSharing.preemptionStrategies: Invalid"),
        ("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: [", f"data[{CONFIGURATION_KEY}]: "),
    ],
)
def test_a_configuration_that_cannot_be_read_is_refused(text, message):
    manifests, (problem,), _ = read_manifests([config_map(text)])
    assert manifests == []
    assert f"ConfigMap kueue-system/kueue-manager-config: {message}" in str(problem)


def test_a_configuration_is_a_manifest_too():
    (manifest,) = read_objects([{"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}])
    assert Cluster.build([manifest]).objects(Configuration) == {"": Configuration()}


@pytest.mark.parametrize("file", ["kueue-cases", "provisioning-cases"])
def test_every_case_is_read_without_loss(file):
    """Each object as written, of whatever version, and each typed object under its key."""
    for case in kueue_cases(file):
        read = [case.manifests[1:], *(read_objects(step.get("apply", [])) for step in case.steps)]
        written = [case.objects, *(step.get("apply", []) for step in case.steps)]
        for found, given in zip(read, written, strict=True):
            kept = [one for one in given if one["kind"] != "ResourceSlice"]
            assert [one.raw for one in found if one.kind != "ResourceSlice"] == kept, case
        refused = case.rejected
        for model, kind in ((KueueWorkload, "Workload"), (ClusterQueue, "ClusterQueue")):
            named = {one["metadata"]["name"] for one in case.objects if one["kind"] == kind}
            found = {one.metadata.name for one in case.cluster.objects(model).values()}
            assert found == {name for name in named if (kind, name) not in refused}, case


@pytest.mark.parametrize(
    ("kind", "spec", "version", "expected"),
    [
        ("ClusterQueue", {"cohortNam": "c"}, "v1beta2", ["spec.cohortNam: did you mean cohortName?"]),
        ("ClusterQueue", {"admissionChecks": ["c"]}, "v1beta2", ["spec.admissionChecks: did you mean"]),
        ("ClusterQueue", {"admissionChecks": ["c"], "cohort": "c"}, "v1beta1", []),
        (
            "ClusterQueue",
            {"namespaceSelector": {"matchLabel": {"a": "b"}}},
            "v1beta2",
            ["spec.namespaceSelector.matchLabel: did you mean matchLabels?"],
        ),
        (
            "Workload",
            {"podSets": [{"template": {"spec": {"container": []}}}]},
            "v1beta2",
            ["spec.podSets[0].template.spec.container: did you mean containers?"],
        ),
        ("ResourceFlavor", {"nodeLabels": {"anything": "x"}}, "v1beta2", []),
        ("ProvisioningRequestConfig", {"retries": 3}, "v1beta2", ["spec.retries"]),
    ],
)
def test_fields_that_kueue_does_not_have_are_found(kind, spec, version, expected):
    _, problems, _ = read_manifests([kueue(kind, spec, version)], strict=True)
    told = [f"{one.field}:{one.message.partition(':')[2]}" for one in problems]
    assert len(told) == len(expected)
    assert all(text.startswith(start) for text, start in zip(told, expected, strict=True))

"""From jobs to workloads: pod sets by Kueue's names, what waits and what holds quota, and what is there already."""

import pytest
from support.kueue_cases import kueue_cases, read_objects

from drasat.integrations.kueue.workloads import kueue_workloads, workload_name
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.kinds import GroupKind

QUEUED = {"kueue.x-k8s.io/queue-name": "lq"}
API = {
    "Job": "batch/v1",
    "StatefulSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Pod": "v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "MPIJob": "kubeflow.org/v2beta1",
    "PyTorchJob": "kubeflow.org/v1",
    "TFJob": "kubeflow.org/v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "RayService": "ray.io/v1",
    "Node": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}


def made(kind, spec=None, name="x", labels=QUEUED, **metadata):
    api = API.get(kind, "kueue.x-k8s.io/v1beta2")
    place = {} if kind in ("Node", "PriorityClass", "WorkloadPriorityClass") else {"namespace": "team"}
    meta = {"name": name, **place, "labels": labels, **metadata}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **({"spec": spec} if spec is not None else {})}


def template(cpu="1", **spec):
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec}}


def job(name="x", labels=QUEUED, status=None, spec=None, **metadata):
    written = made("Job", {"template": template(), **(spec or {})}, name, labels, **metadata)
    return {**written, **({"status": status} if status else {})}


def found(*objects):
    return kueue_workloads(Cluster.build(read_objects(list(objects))))


def sets(workload):
    return [(one.name, one.count) for one in workload.spec.pod_sets]


RUNTIME = made(
    "ClusterTrainingRuntime",
    {
        "mlPolicy": {"numNodes": 4},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": template()},
                        },
                    }
                ]
            }
        },
    },
    "torch",
    {},
)
RAY = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [{"groupName": "GPU", "replicas": 2, "numOfHosts": 3, "template": template()}],
}
ROLE = {"template": template()}
KINDS = [
    ("Job", {"parallelism": 5, "completions": 3, "template": template()}, [("main", 3)]),
    ("Job", {"parallelism": 2, "template": template()}, [("main", 2)]),
    (
        "JobSet",
        {
            "replicatedJobs": [
                {"name": "driver", "template": {"spec": {"template": template()}}},
                {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 4, "template": template()}}},
            ]
        },
        [("driver", 1), ("workers", 8)],
    ),
    (
        "MPIJob",
        {"mpiReplicaSpecs": {"Worker": {**ROLE, "replicas": 3}, "Launcher": ROLE}},
        [("launcher", 1), ("worker", 3)],
    ),
    (
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Worker": {**ROLE, "replicas": 3}, "Master": ROLE}},
        [("master", 1), ("worker", 3)],
    ),
    (
        "TFJob",
        {"tfReplicaSpecs": {"Worker": ROLE, "PS": ROLE, "Chief": ROLE}},
        [("chief", 1), ("ps", 1), ("worker", 1)],
    ),
    ("TrainJob", {"runtimeRef": {"name": "torch"}}, [("node", 4)]),
    ("RayCluster", RAY, [("head", 1), ("gpu", 6)]),
    ("RayService", {"rayClusterConfig": RAY}, [("head", 1), ("gpu", 6)]),
    ("RayJob", {"rayClusterSpec": RAY}, [("head", 1), ("gpu", 6), ("submitter", 1)]),
    ("RayJob", {"rayClusterSpec": RAY, "submissionMode": "HTTPMode"}, [("head", 1), ("gpu", 6)]),
    ("StatefulSet", {"replicas": 3, "template": template()}, [("main", 3)]),
]


@pytest.mark.parametrize(("kind", "spec", "expected"), KINDS)
def test_each_kind_has_the_pod_sets_of_kueue(kind, spec, expected):
    (workload,) = found(made(kind, spec), RUNTIME)
    assert sets(workload) == expected
    assert workload.metadata.name.startswith(f"{kind.lower()}-x-")
    assert (workload.metadata.namespace, workload.spec.queue_name) == ("team", "lq")
    (owner,) = workload.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == (kind, "x", True)
    assert workload.status.admission is None


def test_each_group_of_a_leader_worker_set_is_a_workload():
    group = {"size": 4, "leaderTemplate": template(), "workerTemplate": template()}
    workloads = found(made("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": group}))
    assert [sets(one) for one in workloads] == [[("leader", 1), ("worker", 3)]] * 2
    assert len({one.metadata.name for one in workloads}) == 2
    del group["leaderTemplate"]
    assert [sets(one) for one in found(made("LeaderWorkerSet", {"leaderWorkerTemplate": group}))] == [[("main", 4)]]


def test_names_differ_by_kind_group_and_uid():
    """Five digits of a hash; long names are cut."""
    names = {
        workload_name(GroupKind(group, kind), "x", uid)
        for group, kind, uid in (
            ("batch", "Job", ""),
            ("other", "Job", ""),
            ("batch", "Job", "u"),
            ("batch", "Cron", ""),
        )
    }
    assert len(names) == 4
    long = workload_name(GroupKind("batch", "Job"), "n" * 253)
    assert (len(long), long[:5]) == (253, "job-n")


@pytest.mark.parametrize(
    "other",
    [
        job(labels={}),
        job(status={"conditions": [{"type": "Complete", "status": "True"}]}),
        made("Pod", {**template()["spec"]}, labels={}),
        {**made("Pod", {**template()["spec"]}), "status": {"phase": "Succeeded"}},
    ],
)
def test_what_names_no_queue_or_has_ended_is_no_workload(other):
    assert found(other) == []


def test_workloads_of_the_input_are_not_made_twice():
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "u", "controller": True}
    given = made("Workload", {"podSets": [{"template": template()}]}, "job-x-12345", {}, ownerReferences=[owner])
    first, second = found(given, job(uid="u"), job("y"))
    assert (first.metadata.name, second.metadata.owner_references[0].name) == ("job-x-12345", "y")


def test_a_job_of_a_managed_job_is_a_part_of_it():
    spec = {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": template()}}}]}
    owner = {"apiVersion": API["JobSet"], "kind": "JobSet", "name": "set", "uid": "u", "controller": True}
    workloads = found(made("JobSet", spec, "set"), job("set-w-0", ownerReferences=[owner]))
    assert [sets(one) for one in workloads] == [[("w", 1)]]


def test_partial_admission_priority_and_time():
    marks = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    labels = {**QUEUED, "kueue.x-k8s.io/priority-class": "high", "kueue.x-k8s.io/max-exec-time-seconds": "60"}
    classes = [
        {**made("WorkloadPriorityClass", name="high", labels={}), "value": 7},
        {**made("PriorityClass", name="pods", labels={}), "value": 3},
    ]
    first, second, third = found(
        *classes,
        job("a", labels, spec={"parallelism": 4}, annotations=marks),
        job("b", spec={"template": template(priorityClassName="pods")}),
        job("c"),
    )
    assert (first.spec.pod_sets[0].min_count, first.spec.pod_sets[0].count) == (2, 4)
    assert (first.spec.priority, first.spec.priority_class_ref.kind) == (7, "WorkloadPriorityClass")
    assert first.spec.maximum_execution_time_seconds == 60
    assert (second.spec.priority, second.spec.priority_class_ref.name) == (3, "pods")
    assert (third.spec.priority, third.spec.priority_class_ref) == (0, None)


def test_topology_requests_of_templates():
    marks = {"kueue.x-k8s.io/podset-required-topology": "rack", "kueue.x-k8s.io/podset-group-name": "g"}
    (workload,) = found(job(spec={"template": {**template(), "metadata": {"annotations": marks}}}))
    request = workload.spec.pod_sets[0].topology_request
    assert (request.required, request.pod_set_group_name, request.unconstrained) == ("rack", "g", None)


def flavor(name, **labels):
    return made("ResourceFlavor", {"nodeLabels": labels}, name, {}) | {"metadata": {"name": name}}


QUEUES = [
    flavor("a100", gpu="a100"),
    flavor("h100", gpu="h100"),
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cq"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "pods"],
                    "flavors": [
                        {
                            "name": name,
                            "resources": [{"name": "cpu", "nominalQuota": 9}, {"name": "pods", "nominalQuota": 9}],
                        }
                        for name in ("a100", "h100")
                    ],
                }
            ],
        },
    },
    made("LocalQueue", {"clusterQueue": "cq"}, "lq", {}),
    made("Node", {}, "n1", {"gpu": "h100"}),
]


def running_pod(owner="x", node="n1", kind="Job", name="p", labels=None):
    reference = {"apiVersion": API[kind], "kind": kind, "name": owner, "uid": "u", "controller": True}
    spec = {**template()["spec"], "nodeName": node}
    return made("Pod", spec, name, labels or {}, ownerReferences=[reference])


def test_a_running_job_holds_quota_in_the_flavor_of_its_nodes():
    """It has the charge of its pods, and reclaimable ones are free (kueue-dra 3.1)."""
    status = {"succeeded": 2}
    started = job(
        spec={"parallelism": 3, "completions": 4}, status=status, uid="u", creationTimestamp="2026-01-01T00:00:00Z"
    )
    (workload,) = found(*QUEUES, started, running_pod())
    admission = workload.status.admission
    (assignment,) = admission.pod_set_assignments
    assert (admission.cluster_queue, assignment.name, assignment.count) == ("cq", "main", 2)
    assert assignment.flavors == {"cpu": "h100", "pods": "h100"}
    assert assignment.resource_usage == {"cpu": "2", "pods": "2"}
    assert workload.condition("QuotaReserved").status == workload.condition("Admitted").status == "True"
    assert workload.status.reclaimable_pods[0].count == 1


@pytest.mark.parametrize(
    ("objects", "flavors"),
    [
        # What no server has seen is suspended as it is made, and so is what says so.
        ([job()], None),
        ([job(uid="u", spec={"suspend": True})], None),
        # Without a node the selector decides, then the order.
        ([job(uid="u")], {"cpu": "a100", "pods": "a100"}),
        ([job(uid="u", spec={"template": template(nodeSelector={"gpu": "h100"})})], {"cpu": "h100", "pods": "h100"}),
        ([job(uid="u", labels={"kueue.x-k8s.io/queue-name": "missing"})], None),
        ([job(uid="u", spec={"template": template(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])})], None),
    ],
)
def test_what_holds_quota(objects, flavors):
    (workload,) = found(*QUEUES, *objects)
    admission = workload.status.admission
    assert (admission and admission.pod_set_assignments[0].flavors) == flavors


def test_a_stateful_set_holds_quota_once_a_pod_of_it_has_a_node():
    sets_ = made("StatefulSet", {"replicas": 2, "template": template()}, uid="u")
    (waiting,) = found(*QUEUES, sets_)
    (holding,) = found(*QUEUES, sets_, running_pod(kind="StatefulSet", name="x-0"))
    assert waiting.status.admission is None
    assert holding.status.admission.pod_set_assignments[0].flavors == {"cpu": "h100", "pods": "h100"}


def test_pods_are_workloads_of_their_own():
    waiting = made("Pod", template()["spec"], "a")
    holding = made("Pod", {**template()["spec"], "nodeName": "n1"}, "b", uid="u")
    first, second = found(*QUEUES, waiting, holding)
    assert [sets(one) for one in (first, second)] == [[("main", 1)]] * 2
    assert first.status.admission is None
    assert second.status.admission.cluster_queue == "cq"
    assert second.spec.pod_sets[0].template.spec.node_name is None


def test_pods_of_a_deployment_are_workloads_one_by_one():
    labelled = {**template(), "metadata": {"labels": QUEUED}}
    assert len(found(made("Deployment", {"replicas": 3, "template": template()}))) == 3
    # Kueue has no integration for a ReplicaSet: the label of its template counts, not its own.
    assert len(found(made("ReplicaSet", {"replicas": 2, "template": labelled}, labels={}))) == 2
    assert found(made("ReplicaSet", {"replicas": 2, "template": template()})) == []


def grouped(name, total, cpu="1", **marks):
    annotations = {"kueue.x-k8s.io/pod-group-total-count": str(total), **marks}
    labels = {**QUEUED, "kueue.x-k8s.io/pod-group-name": "group"}
    return made("Pod", template(cpu)["spec"], name, labels, annotations=annotations)


def test_a_group_of_pods_is_one_workload_with_a_set_for_each_shape():
    (workload,) = found(grouped("a", 3), grouped("b", 3, "2"), grouped("c", 3))
    assert workload.metadata.name == "group"
    assert sorted(one.count for one in workload.spec.pod_sets) == [1, 2]
    assert [one.name for one in workload.metadata.owner_references] == ["a", "b", "c"]


def test_a_group_waits_for_its_pods_unless_it_is_fast():
    fast = {"kueue.x-k8s.io/pod-group-fast-admission": "true"}
    assert found(grouped("a", 3)) == []
    (workload,) = found(grouped("a", 3, **fast))
    assert [count for _, count in sets(workload)] == [3]


def test_the_same_input_gives_the_same_workloads():
    objects = [*QUEUES, job(uid="u"), grouped("a", 1), made("Deployment", {"replicas": 2, "template": template()})]
    assert found(*objects) == found(*objects)


def test_workloads_of_every_case_stay_as_they_are():
    """The cases have no jobs."""
    for case in kueue_cases()[::7]:
        given = [one["metadata"]["name"] for one in case.objects if one["kind"] == "Workload"]
        names = [one.metadata.name for one in kueue_workloads(case.cluster)]
        assert names == [name for name in given if ("Workload", name) not in case.rejected]

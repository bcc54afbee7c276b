"""What each kind of controller makes (groups 7), and what is not made twice."""

import pytest
from support.controllers import POD_TEMPLATE, SPECS, job_spec, replicated_job, templated, trainer_job
from support.kinds import BY_MODEL

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.kinds import kind_of
from drasat.models.manifests.reader import read_manifests
from drasat.models.validation.validate import validate_manifests
from drasat.models.workload.controllers import read_controllers
from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue
from drasat.models.workload.requested import all_units


def made(model, spec, name="x", **fields):
    kind = BY_MODEL[model]
    metadata = {"name": name, **({"namespace": "ns"} if kind.namespaced else {}), **fields.pop("metadata", {})}
    return {"apiVersion": kind.api_versions()[0], "kind": kind.name, "metadata": metadata, "spec": spec, **fields}


def pod(name, owner, node=None, **metadata):
    """A pod of an object: its model and name."""
    return {
        "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [], **({"nodeName": node} if node else {})},
        "metadata": {"name": name, "namespace": "ns", "ownerReferences": [reference(*owner)], **metadata},
    }  # fmt: skip


def reference(model, name):
    kind = BY_MODEL[model]
    return {"apiVersion": kind.api_versions()[0], "kind": kind.name, "name": name, "uid": name, "controller": True}


NODES = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in ("n1", "n2")]
RUNTIME = made("ClusterTrainingRuntime", SPECS["ClusterTrainingRuntime"][0], "runtime")


def cluster_of(objects):
    return Cluster.build(read_manifests([objects])[0])


def cluster(*objects):
    manifests, problems, _ = read_manifests([[*NODES, *objects]])
    assert [str(one) for one in problems] == []
    return Cluster.build(manifests)


def queued(*objects, natural_gangs=False):
    built = cluster(*objects)
    return list(expand_units(built, read_queue(built, natural_gangs=natural_gangs)))


def names(*objects, **options):
    return [one.unit.name for one in queued(*objects, **options)]


def gangs(*objects, natural_gangs=True):
    """The members of each gang, by its name; the others under an empty one."""
    found = {}
    for one in queued(*objects, natural_gangs=natural_gangs):
        found.setdefault(one.unit_set.gang.name if one.unit_set.gang else "", []).append(one.unit.name)
    return found


def notices(*objects):
    return list(read_controllers(cluster(*objects)).notices)


@pytest.mark.parametrize("model", SPECS)
def test_every_kind_makes_its_pods(model):
    """Groups 7.1 and 7.2: numbers and names; claims come from the template; the same for all verbs."""
    spec, count, some = SPECS[model]
    objects = [made(model, spec), RUNTIME]
    found = queued(*objects)
    assert len(found) == count
    assert {one.unit.name for one in found} >= set(some)
    assert len({(one.unit_set.kind, one.unit_set.name, one.number) for one in found}) == count
    assert all(one.unit_set.kind == BY_MODEL[model].name for one in found)
    # The submitter of a RayJob has no claim.
    with_claims = [one for one in found if one.unit.claims]
    assert len(with_claims) == count - (model == "RayJob")
    assert [unit.name for unit in all_units(cluster(*objects))] == [one.unit.name for one in found]


def suspended(spec, *path):
    return {**spec, "suspend": True} if not path else {**spec, path[0]: suspended(spec.get(path[0], {}), *path[1:])}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("Job", ()), ("CronJob", ()), ("JobSet", ()), ("MPIJob", ("runPolicy",)), ("PyTorchJob", ("runPolicy",)),
        ("TrainJob", ()), ("RayCluster", ()), ("RayJob", ()), ("RayService", ()),
    ],
)  # fmt: skip
def test_what_is_suspended_is_not_planned_and_named(model, path):
    objects = [made(model, suspended(SPECS[model][0], *path)), RUNTIME]
    assert names(*objects) == []
    assert notices(*objects) == [f"{model} ns/x: suspended, so that its pods are not planned"]


@pytest.mark.parametrize("model", ["Job", "JobSet", "TrainJob", "RayCluster"])
def test_what_another_controller_manages_is_not_planned_and_named(model):
    objects = [made(model, {**SPECS[model][0], "managedBy": "kueue.x-k8s.io/multikueue"}), RUNTIME]
    assert names(*objects) == []
    assert f"{model} ns/x" in notices(*objects)[0]


JOBS = {"replicatedJobs": [replicated_job("driver"), replicated_job("worker", 2, 4)]}
LATER_JOBS = {
    "replicatedJobs": [JOBS["replicatedJobs"][0], {**JOBS["replicatedJobs"][1], "dependsOn": [{"name": "driver"}]}]
}
GROUPS = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": POD_TEMPLATE}}
RAY_GROUP = templated(groupName="g", replicas=5, maxReplicas=2, numOfHosts=4)
RAY = {"headGroupSpec": templated(), "workerGroupSpecs": [RAY_GROUP]}
CLIQUES = [
    {"name": name, "spec": {"replicas": replicas, "podSpec": POD_TEMPLATE["spec"]}}
    for name, replicas in (("a", 2), ("b", 3))
]
GROVE = {
    "template": {
        "cliques": CLIQUES,
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"], "replicas": 3, "minAvailable": 1}],
    }
}
TRAINING = {
    "podGroupPolicy": {"coscheduling": {}},
    "template": {"spec": {"replicatedJobs": [
        trainer_job("data", "dataset-initializer"), trainer_job("node", "trainer", dependsOn=[{"name": "data"}])]}},
}  # fmt: skip
SERVING = {
    "replicas": 2,
    "parallelism": {"data": 8, "dataLocal": 4},
    "template": POD_TEMPLATE["spec"],
    "worker": POD_TEMPLATE["spec"],
}


def test_a_job_set_makes_jobs():
    """G1."""
    assert sorted(names(made("JobSet", JOBS, "S"))) == [
        "S-driver-0-0", *(f"S-worker-{job}-{index}" for job in range(2) for index in range(4))
    ]  # fmt: skip
    assert len(gangs(made("JobSet", JOBS, "S"))["S"]) == 9


def test_a_later_stage_is_planned_and_noted():
    """G2."""
    assert len(names(made("JobSet", LATER_JOBS, "S"))) == 9
    assert gangs(made("JobSet", LATER_JOBS, "S"))["S"] == ["S-driver-0-0"]
    assert notices(made("JobSet", LATER_JOBS)) == [
        "JobSet ns/x: has parts that start after others, and all are planned at once"
    ]


def test_groups_of_a_leader_worker_set_are_gangs_with_the_option_only():
    """G3, KND-8."""
    found = gangs(made("LeaderWorkerSet", GROUPS, "S"))
    assert found == {"S-0": ["S-0", "S-0-1", "S-0-2"], "S-1": ["S-1", "S-1-1", "S-1-2"]}
    assert list(gangs(made("LeaderWorkerSet", GROUPS), natural_gangs=False)) == [""]
    assert len({one.unit_set.shape for one in queued(made("LeaderWorkerSet", GROUPS))}) == 1


def test_workers_of_ray_are_bounded_and_multiplied_by_hosts():
    """G4."""
    assert len(names(made("RayCluster", RAY))) == 9
    label = {"labels": {"ray.io/gang-scheduling-enabled": "true"}}
    assert list(gangs(made("RayCluster", RAY, metadata=label), natural_gangs=False)) == ["x"]
    assert list(gangs(made("RayCluster", RAY), natural_gangs=False)) == [""]


def test_grove_has_a_base_gang_and_one_for_each_further_replica():
    """G5, KND-4."""
    found = gangs(made("PodCliqueSet", GROVE, "S"), natural_gangs=False)
    assert {name: len(members) for name, members in found.items()} == {"S-0": 5, "S-0-g-1": 3, "S-0-g-2": 3}


def test_a_train_job_takes_its_runtime():
    """G6, KND-3."""
    runtime = made("ClusterTrainingRuntime", TRAINING, "r")
    job = made("TrainJob", {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 4}}, "T")
    assert gangs(job, runtime, natural_gangs=False) == {
        "T": ["T-data-0-0", "T-node-0-0", "T-node-0-1", "T-node-0-2", "T-node-0-3"]
    }
    assert notices(job)[0] == "TrainJob ns/T: not planned, for ClusterTrainingRuntime r is not in the input"


def test_an_indexed_job_lacks_indexes():
    """G7."""
    spec = templated(completionMode="Indexed", completions=10, parallelism=4)
    job = made("Job", spec, status={"completedIndexes": "0-7", "succeeded": 8})
    assert names(job) == ["x-8", "x-9"]
    there = pod("x-8-abcde", ("Job", "x"), labels={"batch.kubernetes.io/job-completion-index": "8"})
    assert names(job, there) == ["x-9", "x-8-abcde"]


def test_an_inference_service_with_workers_is_a_leader_worker_set():
    """G8, KND-5."""
    assert names(made("LLMInferenceService", SERVING)) == [
        "x-kserve-mn-0", "x-kserve-mn-1", "x-kserve-mn-0-1", "x-kserve-mn-1-1"
    ]  # fmt: skip


def test_base_configurations_are_merged_below_the_service():
    """KND-5: of two the last counts; one that is away means that nothing is planned."""
    first = made("LLMInferenceServiceConfig", {"replicas": 5, "template": POD_TEMPLATE["spec"]}, "a")
    last = made("LLMInferenceServiceConfig", {"replicas": 3}, "b")
    service = made("LLMInferenceService", {"baseRefs": [{"name": "a"}, {"name": "b"}]})
    assert len(names(service, first, last)) == 3
    assert names(service, first) == []
    assert "LLMInferenceServiceConfig b is not in the input" in notices(service, first)[0]


@pytest.mark.parametrize(
    ("objects", "left"),
    [
        pytest.param([pod("S-worker-1-2-abcde", ("Job", "S-worker-1"))], 8, id="pod of a job that is away"),
        pytest.param([made("Job", job_spec(1), "S-worker-1", metadata={"ownerReferences": [reference("JobSet", "S")]})],
                     6, id="the job that is there counts"),
        pytest.param([made("Job", job_spec(1), "other")], 10, id="another job is another"),
    ],
)  # fmt: skip
def test_the_lowest_objects_that_exist_count(objects, left):
    """KND-7."""
    found = queued(made("JobSet", JOBS, "S"), *objects)
    assert sum(one.unit_set.kind != "Pod" for one in found) == left


def test_pods_are_found_through_objects_of_other_kinds():
    """KND-7: intermediate owners of the input, whatever their kind."""
    between = {"apiVersion": "example.com/v1", "kind": "Middle", "metadata": {
        "name": "m", "namespace": "ns", "ownerReferences": [reference("Deployment", "x")]}}  # fmt: skip
    owned = pod("p", ("Deployment", "x"))
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "example.com/v1", "kind": "Middle", "name": "m", "uid": "m"}]
    assert names(made("Deployment", templated(replicas=2)), between, owned) == ["x-1", "p"]


def test_a_pod_of_a_daemon_set_is_on_each_node_that_admits_it():
    """One a node, before all others; a node that has one needs none."""
    nodes = [{**NODES[0], "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}]
    daemons = made("DaemonSet", templated())
    assert names(made("Deployment", templated()), daemons) == ["x-n1", "x-n2", "x-0"]
    assert names(daemons, *nodes) == ["x-n2"]
    assert names(daemons, pod("x-abcde", ("DaemonSet", "x"), "n2")) == ["x-n1"]


def test_a_cordoned_node_has_daemons():
    nodes = [{**NODES[0], "spec": {"unschedulable": True}}]
    assert names(made("DaemonSet", templated()), *nodes) == ["x-n1", "x-n2"]


def test_pods_of_a_group_are_told_by_labels():
    """Ray names pods with random letters; their labels say the group."""
    worker = pod(
        "x-gpu-worker-abcde", ("RayCluster", "x"), labels={"ray.io/group": "gpu", "ray.io/node-type": "worker"}
    )
    found = queued(made("RayCluster", SPECS["RayCluster"][0]), worker)
    assert [one.unit.name for one in found if one.unit_set.kind != "Pod"] == ["x-head", "x-gpu-worker-1"]


@pytest.mark.parametrize(("mark", "value"), [("labels", "scheduling.x-k8s.io/pod-group"),
                                             ("annotations", "scheduling.k8s.io/group-name")])  # fmt: skip
def test_pod_groups_of_other_schedulers_are_gangs(mark, value):
    """KND-8: before the kind's natural gang."""
    model = "CoschedulingPodGroup" if mark == "labels" else "VolcanoPodGroup"
    template = {**POD_TEMPLATE, "metadata": {mark: {value: "g"}}}
    job = made("JobSet", {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template}}}]})
    (one,) = queued(job, made(model, {"minMember": 3}, "g"), natural_gangs=True)
    assert (one.unit_set.gang.name, one.unit_set.gang.minimum) == ("g", 3)
    assert list(gangs(job)) == ["x"]


def test_a_job_may_ask_for_a_gang():
    """Groups 7.1: ``spec.scheduling`` of Kubernetes 1.37; ``minCount`` is ``parallelism`` by default."""
    policy = {"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}
    (first, *_) = queued(made("Job", job_spec(3, scheduling=policy)))
    assert (first.unit_set.gang.minimum, first.unit_set.gang.domain) == (3, "rack")


@pytest.mark.parametrize(
    ("model", "spec"),
    [
        ("Deployment", templated(replicas=10**9)),
        ("JobSet", {"replicatedJobs": [replicated_job("a", 10**9)]}),
        ("JobSet", {"replicatedJobs": [replicated_job("a", 10**9, 0)]}),
        ("Job", templated(completionMode="Indexed", completions=10**18, parallelism=10**18)),
        ("LeaderWorkerSet", {**GROUPS, "replicas": 10**9}),
        ("LeaderWorkerSet", {"leaderWorkerTemplate": {**GROUPS["leaderWorkerTemplate"], "size": 10**9}}),
        ("RayCluster", {**RAY, "workerGroupSpecs": [templated(replicas=10**9, numOfHosts=10**9)]}),
        ("PodCliqueSet", {**GROVE, "replicas": 10**9}),
        ("DisaggregatedSet", {"slices": 10**9, "roles": []}),
    ],
)
def test_too_many_pods_are_refused_in_one_line(model, spec):
    built = cluster(made(model, spec))
    for ask in (read_queue, all_units):
        with pytest.raises(ValueError, match=r"no more than 1,000,000 are planned") as refused:
            ask(built)
        assert len(str(refused.value).splitlines()) == 1


def test_an_unknown_kind_with_a_pod_template_is_named():
    """What looks like a pod template makes no pods if its kind is not known."""
    odd = {"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "o"},
           "spec": {"parts": [{"template": POD_TEMPLATE}]}}  # fmt: skip
    _, problems, _ = read_manifests([[odd, {**odd, "kind": "Plain", "spec": {"containers": "x"}}]])
    assert [str(one) for one in problems] == [
        "<objects> document 1: Odd o: warning: spec.parts[0].template.spec: looks like the spec of a pod, but Odd of "
        "example.com/v1 is not read: no pods are planned"
    ]


def test_a_compute_domain_makes_the_claim_template_of_its_channel():
    """KND-9: unless the template is in the input."""
    domain = made("ComputeDomain", {"channel": {"resourceClaimTemplate": {"name": "c"}}}, "d")
    spec = {**POD_TEMPLATE["spec"], "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "c"}]}
    (one,) = queued(domain, made("Job", {"template": {"spec": spec}}))
    (request,) = one.unit.claims[0].claim.spec.devices.requests
    assert (request.name, request.exactly.device_class_name) == ("channel", "compute-domain-default-channel.nvidia.com")


def test_the_patches_of_a_train_job_count():
    """KND-3: node selectors and tolerations of all three spellings; resources of the trainer."""
    patch = {"nodeSelector": {"a": "b"}}
    target = [{"name": "node"}]
    runtime_patch = {"template": {"spec": {"replicatedJobs": [
        {"name": "node", "template": {"spec": {"template": {"spec": patch}}}}]}}}  # fmt: skip
    for field, value in (
        ("podSpecOverrides", {"targetJobs": target, **patch}),
        ("podTemplateOverrides", {"targetJobs": target, "spec": patch}),
        ("runtimePatches", {"manager": "m", "trainingRuntimeSpec": runtime_patch}),
    ):
        trainer = {"resourcesPerNode": {"requests": {"cpu": "7"}}}
        job = made("TrainJob", {"runtimeRef": {"name": "runtime"}, "trainer": trainer, field: [value]})
        (one,) = queued(job, RUNTIME)
        assert (one.unit.pod.spec.node_selector, one.unit_set.shape.requests["cpu"]) == ({"a": "b"}, 7000)


def test_a_level_of_a_topology_is_a_node_label():
    """KND-4."""
    template = {**GROVE["template"], "topologyConstraint": {"pack": {"required": "rack"}}}
    binding = made("ClusterTopologyBinding", SPECS["ClusterTopologyBinding"][0], "t")
    domains = {one.unit_set.gang.domain for one in queued(made("PodCliqueSet", {"template": template}), binding)}
    assert domains == {"example.com/rack"}
    assert "topology level rack" in notices(made("PodCliqueSet", {"template": template}))[0]
    softer = {**GROVE["template"], "topologyConstraint": {"pack": {"preferred": "rack"}}}
    (said,) = notices(made("PodCliqueSet", {"template": softer}))
    assert said.endswith("prefers a topology domain, which is not planned")


@pytest.mark.parametrize(
    ("model", "spec"),
    [
        ("JobSet", {"replicatedJobs": [replicated_job("a", -1)]}),
        ("LeaderWorkerSet", {**GROUPS, "replicas": -1}),
        ("RayCluster", {**RAY, "workerGroupSpecs": [templated(numOfHosts=-1)]}),
        ("TrainJob", {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": -1}}),
    ],
)
def test_negative_numbers_are_refused(model, spec):
    manifests, _, _ = read_manifests([[made(model, spec)]])
    (problem,) = validate_manifests(manifests)[:1]
    assert problem.severity == "error"
    assert "must be greater than or equal to 0" in problem.message


@pytest.mark.parametrize("model", SPECS)
def test_objects_are_written_as_they_were_read(model):
    """Nothing is lost, whatever is not read here."""
    given = made(model, {**SPECS[model][0], "unread": {"a": [1]}})
    built = cluster_of([given])
    (manifest,) = (one for one in built.manifests if one.kind == BY_MODEL[model].name)
    assert manifest.raw == given
    assert kind_of(type(manifest.object)) is BY_MODEL[model]

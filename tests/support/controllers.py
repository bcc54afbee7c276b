"""Manifests of controllers: specs of each kind that is read, and what they make."""

from typing import Any

POD_SPEC: dict[str, Any] = {
    "containers": [{"name": "node", "resources": {"requests": {"cpu": "1"}}}],
    "resourceClaims": [{"name": "one", "resourceClaimTemplateName": "template"}],
}
POD_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}


def templated(**fields: Any) -> dict[str, Any]:
    """A spec with a pod template."""
    return {**fields, "template": POD_TEMPLATE}


def job_spec(parallelism: int = 1, **fields: Any) -> dict[str, Any]:
    return templated(parallelism=parallelism, completions=parallelism, **fields)


def replicated_job(name: str, replicas: int = 1, parallelism: int = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": {"spec": job_spec(parallelism)}, **fields}


def trainer_job(name: str, step: str, **fields: Any) -> dict[str, Any]:
    """A replicated job of a training runtime; the label says what it is for."""
    job = replicated_job(name, **fields)
    job["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}}
    return job


RAY_CLUSTER = {"headGroupSpec": templated(), "workerGroupSpecs": [templated(groupName="gpu", replicas=2)]}
# A spec of each kind by its model, how many pods an object with it makes, and the names of some of them.
SPECS: dict[str, tuple[dict[str, Any], int, tuple[str, ...]]] = {
    "Job": (job_spec(2), 2, ("x-0", "x-1")),
    "CronJob": ({"jobTemplate": {"spec": job_spec(2)}}, 0, ()),
    "Deployment": (templated(replicas=2), 2, ("x-0", "x-1")),
    "StatefulSet": (templated(replicas=2, ordinals={"start": 3}), 2, ("x-3", "x-4")),
    "ReplicaSet": (templated(replicas=2), 2, ("x-0",)),
    "ReplicationController": (templated(replicas=2), 2, ("x-0",)),
    "DaemonSet": (templated(), 2, ("x-n1", "x-n2")),
    "JobSet": ({"replicatedJobs": [replicated_job("a", 2, 2)]}, 4, ("x-a-0-0", "x-a-1-1")),
    "LeaderWorkerSet": (
        {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": POD_TEMPLATE}},
        4,
        ("x-0", "x-0-1", "x-1", "x-1-1"),
    ),
    "DisaggregatedSet": (
        {
            "slices": 2,
            "roles": [{"name": "a", "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": POD_TEMPLATE}}}],
        },
        4,
        ("x-0-a-0", "x-1-a-0-1"),
    ),
    "MPIJob": (
        {"mpiReplicaSpecs": {"Launcher": templated(), "Worker": templated(replicas=2)}},
        3,
        ("x-launcher", "x-worker-0", "x-worker-1"),
    ),
    "PyTorchJob": (
        {"pytorchReplicaSpecs": {"Master": templated(), "Worker": templated(replicas=2)}},
        3,
        ("x-master-0", "x-worker-1"),
    ),
    "TFJob": ({"tfReplicaSpecs": {"PS": templated(), "Chief": templated()}}, 2, ("x-ps-0", "x-chief-0")),
    "XGBoostJob": ({"xgbReplicaSpecs": {"Master": templated()}}, 1, ("x-master-0",)),
    "PaddleJob": ({"paddleReplicaSpecs": {"Worker": templated(replicas=2)}}, 2, ("x-worker-1",)),
    "JAXJob": ({"jaxReplicaSpecs": {"Worker": templated(replicas=2)}}, 2, ("x-worker-0",)),
    "TrainJob": ({"runtimeRef": {"name": "runtime"}, "trainer": {"numNodes": 2}}, 2, ("x-node-0-0", "x-node-0-1")),
    "TrainingRuntime": ({"template": {"spec": {"replicatedJobs": [trainer_job("node", "trainer")]}}}, 0, ()),
    "ClusterTrainingRuntime": ({"template": {"spec": {"replicatedJobs": [trainer_job("node", "trainer")]}}}, 0, ()),
    "RayCluster": (RAY_CLUSTER, 3, ("x-head", "x-gpu-worker-0")),
    "RayJob": ({"rayClusterSpec": RAY_CLUSTER}, 4, ("x-head", "x-gpu-worker-1", "x-0")),
    "RayService": ({"rayClusterConfig": RAY_CLUSTER}, 3, ("x-head",)),
    "RayCronJob": ({"jobTemplate": {"rayClusterSpec": RAY_CLUSTER}}, 0, ()),
    "PodCliqueSet": (
        {"replicas": 2, "template": {"cliques": [{"name": "a", "spec": {"replicas": 2, "podSpec": POD_SPEC}}]}},
        4,
        ("x-0-a-0", "x-1-a-1"),
    ),
    "ClusterTopologyBinding": ({"levels": [{"domain": "rack", "key": "example.com/rack"}]}, 0, ()),
    "LLMInferenceService": ({"replicas": 2, "template": POD_SPEC}, 2, ("x-kserve-0", "x-kserve-1")),
    "LLMInferenceServiceConfig": ({"template": POD_SPEC}, 0, ()),
    "ComputeDomain": ({"channel": {"resourceClaimTemplate": {"name": "channel"}}}, 0, ()),
    "CoschedulingPodGroup": ({"minMember": 2}, 0, ()),
    "VolcanoPodGroup": ({"minMember": 2}, 0, ()),
}

"""The pod sets that Kueue makes of a job of each kind, with its names for them, and whether the job is suspended.

``JOBS`` is the table. Kinds that are not in it have no integration in Kueue: their pods are managed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...models.kubernetes import operators, workloads
from ...models.kubernetes.kueue import KueuePodSet, PodSetTopologyRequest
from ...models.kubernetes.meta import KubernetesObject, parse_int64
from ...models.kubernetes.workloads import PodTemplateSpec
from ...models.workload.controllers import ControllerReader
from ...models.workload.pod_sets import Child, count_or

LEAST_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_TOPOLOGY = "kueue.x-k8s.io/podset-"
PodSets = Iterator[KueuePodSet]


@dataclass(frozen=True, slots=True)
class KueueJobRow:
    """How Kueue reads a kind.

    ``pod_sets`` gives those of one workload. ``suspended`` is the path of the field by which Kueue holds a job; a kind
    without one is held by gates of its pods. ``copies`` are the workloads of one object, each with these pod sets;
    None: one, with the name of the object.
    """

    pod_sets: Callable[[Any, ControllerReader], PodSets]
    suspended: str = "spec.suspend"
    copies: Callable[[Any], int] | None = None
    ended: Callable[[Any], bool] = lambda _: False

    def is_suspended(self, made: KubernetesObject) -> bool:
        """Whether the job has not been started."""
        found: Any = made
        for step in self.suspended.split("."):
            found = getattr(found, step, None)
        return bool(found)


def pod_set(name: str, count: int, template: PodTemplateSpec, least: int | None = None) -> KueuePodSet:
    """A pod set in Kueue's spelling, with what the template's annotations ask of a topology."""
    return KueuePodSet(
        name=name.lower(), count=count, min_count=least, template=template, topology_request=_topology(template)
    )


def _topology(template: PodTemplateSpec) -> PodSetTopologyRequest | None:
    marks = template.metadata.annotations or {}
    asked = PodSetTopologyRequest(
        required=marks.get(f"{_TOPOLOGY}required-topology"),
        preferred=marks.get(f"{_TOPOLOGY}preferred-topology"),
        unconstrained=True if marks.get(f"{_TOPOLOGY}unconstrained-topology") == "true" else None,
        pod_set_group_name=marks.get(f"{_TOPOLOGY}group-name"),
    )
    return None if asked == PodSetTopologyRequest() else asked


def _pods_of_job(spec: workloads.JobSpec) -> int:
    """So many pods run at once: the parallelism, but no more than completions."""
    parallelism = count_or(spec.parallelism, 1)
    return parallelism if spec.completions is None else min(parallelism, max(0, spec.completions))


def _job(made: workloads.Job, _reader: ControllerReader) -> PodSets:
    """One set, which may be admitted in part if the annotation says so."""
    least = parse_int64((made.metadata.annotations or {}).get(LEAST_PARALLELISM) or "")
    yield pod_set("main", _pods_of_job(made.spec), made.spec.template, least if least and least > 0 else None)


def job_has_ended(made: workloads.Job) -> bool:
    """The Job is complete or has failed."""
    conditions = (made.status.conditions if made.status is not None else None) or ()
    return any(one.type in ("Complete", "Failed") and one.status == "True" for one in conditions)


def _job_set(made: operators.JobSet, _reader: ControllerReader) -> PodSets:
    for one in made.spec.replicated_jobs or ():
        count = count_or(one.replicas, 1) * _pods_of_job(one.template.spec)
        yield pod_set(one.name, count, one.template.spec.template)


# Kueue's order of the sets; what is not named here comes after, by name.
_ROLES = ("launcher", "master", "chief", "ps", "worker", "evaluator")


def _training_job(made: Any, _reader: ControllerReader, replicas: str) -> PodSets:
    def place(role: str) -> tuple[int, str]:
        role = role.lower()
        return (_ROLES.index(role) if role in _ROLES else len(_ROLES)), role

    given: dict[str, workloads.ReplicasSpec] = getattr(made.spec, replicas) or {}
    for role in sorted(given, key=place):
        yield pod_set(role, count_or(given[role].replicas, 1), given[role].template)


def _ray(spec: operators.RayClusterSpec) -> PodSets:
    yield pod_set("head", 1, spec.head_group_spec.template)
    for group in spec.worker_group_specs or ():
        count = count_or(group.replicas, count_or(group.min_replicas, 0)) * count_or(group.num_of_hosts, 1)
        yield pod_set(group.group_name, count, group.template)


def _ray_cluster(made: operators.RayCluster, _reader: ControllerReader) -> PodSets:
    yield from _ray(made.spec)


def _ray_service(made: operators.RayService, _reader: ControllerReader) -> PodSets:
    yield from _ray(made.spec.ray_cluster_config)


def _ray_job(made: operators.RayJob, reader: ControllerReader) -> PodSets:
    """Its cluster, and the pod that submits the job; a job for a cluster that is there needs nothing."""
    from ...models.workload.controller_kinds import CONTROLLERS

    if made.spec.ray_cluster_spec is None or made.spec.cluster_selector:
        return
    yield from _ray(made.spec.ray_cluster_spec)
    for part in CONTROLLERS[operators.RayJob].make(made, reader):
        if isinstance(part, Child) and isinstance(part.made, workloads.Job):
            yield pod_set("submitter", 1, part.made.spec.template)


def _train_job(made: operators.TrainJob, reader: ControllerReader) -> PodSets:
    """The replicated jobs of the JobSet that its runtime makes."""
    from ...models.workload.controller_kinds import CONTROLLERS

    for part in CONTROLLERS[operators.TrainJob].make(made, reader):
        if isinstance(part, Child) and isinstance(part.made, operators.JobSet):
            yield from _job_set(part.made, reader)


def _leader_worker_set(made: operators.LeaderWorkerSet, _reader: ControllerReader) -> PodSets:
    """One group: a workload each."""
    group = made.spec.leader_worker_template
    size = count_or(group.size, 1)
    if group.leader_template is None:
        yield pod_set("main", size, group.worker_template)
        return
    yield pod_set("leader", 1, group.leader_template)
    if size > 1:
        yield pod_set("worker", size - 1, group.worker_template)


def _stateful_set(made: workloads.StatefulSet, _reader: ControllerReader) -> PodSets:
    yield pod_set("main", count_or(made.spec.replicas, 1), made.spec.template)


_training = partial(KueueJobRow, suspended="spec.run_policy.suspend")
JOBS: dict[type[KubernetesObject], KueueJobRow] = {
    workloads.Job: KueueJobRow(_job, ended=job_has_ended),
    workloads.StatefulSet: KueueJobRow(_stateful_set, suspended=""),
    operators.JobSet: KueueJobRow(_job_set),
    operators.LeaderWorkerSet: KueueJobRow(
        _leader_worker_set, suspended="", copies=lambda made: count_or(made.spec.replicas, 1)
    ),
    operators.MPIJob: _training(partial(_training_job, replicas="mpi_replica_specs")),
    operators.PyTorchJob: _training(partial(_training_job, replicas="pytorch_replica_specs")),
    operators.TFJob: _training(partial(_training_job, replicas="tf_replica_specs")),
    operators.XGBoostJob: _training(partial(_training_job, replicas="xgb_replica_specs")),
    operators.PaddleJob: _training(partial(_training_job, replicas="paddle_replica_specs")),
    operators.JAXJob: _training(partial(_training_job, replicas="jax_replica_specs")),
    operators.TrainJob: KueueJobRow(_train_job),
    operators.RayCluster: KueueJobRow(_ray_cluster),
    operators.RayJob: KueueJobRow(_ray_job),
    operators.RayService: KueueJobRow(_ray_service),
}

"""The kinds that make pods: for each the templates, the numbers of pods, their names, and what is a gang (groups 7).

``CONTROLLERS`` is the table. A row's ``make`` gives the pods that an object makes itself, and the objects between.
Kinds that need other objects of the input, such as a TrainJob its runtime, are in ``controller_runtimes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..cluster.node_fit import pod_fits
from ..kubernetes import operators, serving, workloads
from ..kubernetes.core import Container, Node, PodSpec, ResourceRequirements, Toleration
from ..kubernetes.kinds import kind_of
from ..kubernetes.kueue import KueueWorkload
from ..kubernetes.meta import KubernetesObject, ObjectMeta, key_of
from ..kubernetes.node_templates import NODE_TEMPLATE_ANNOTATION
from ..kubernetes.workloads import PodTemplateSpec
from . import controller_runtimes as runtimes
from .pod_sets import (
    MOST_UNITS,
    SUSPENDED,
    Child,
    ControllerContext,
    KindGang,
    Maker,
    PodSet,
    child_metadata,
    count_or,
    maker_of,
)

Parts = Iterator[PodSet | Child]
FOREIGN = "left to what spec.managedBy names, so that its pods are not planned"
BY_TIME = "makes pods at certain times only, so that they are not planned"


def always(_made: Any) -> str:
    """Everything is planned."""
    return ""


def unless_suspended(made: Any, part: str = "spec", manager: str = "") -> str:
    """Why nothing is planned: ``part`` of the object is suspended, or managed by another than ``manager``."""
    found = made
    for step in part.split("."):
        found = getattr(found, step, None)
    if getattr(found, "suspend", None):
        return SUSPENDED
    manages = getattr(found, "managed_by", None)
    return FOREIGN if manages and manages != manager else ""


@dataclass(frozen=True, slots=True)
class ControllerRow:
    """A row of the table.

    ``why_not`` says why nothing of an object is planned. ``adopts`` are kinds below that are planned by it, not on
    their own.
    """

    make: Callable[[Any, ControllerContext], Parts]
    why_not: Callable[[Any], str] = always
    adopts: tuple[type[KubernetesObject], ...] = ()


def _replicas(made: Any, _reader: ControllerContext) -> Parts:
    """Deployment, ReplicaSet, ReplicationController; ``maxSurge`` is not planned."""
    numbers = range(count_or(made.spec.replicas, 1))
    yield PodSet(maker_of(made), made.spec.template, numbers, made.metadata.name)


def _stateful_set(made: workloads.StatefulSet, _reader: ControllerContext) -> Parts:
    start = count_or(made.spec.ordinals.start if made.spec.ordinals else None, 0)
    numbers = range(start, start + count_or(made.spec.replicas, 1))
    yield PodSet(maker_of(made), made.spec.template, numbers, made.metadata.name, is_named=True)


_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_ENDED = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


def _job(made: workloads.Job, reader: ControllerContext) -> Parts:
    """``parallelism`` pods at once, no more than completions are missing, none when it has ended."""
    spec, status = made.spec, made.status or workloads.JobStatus()
    if any(one.type in _ENDED and one.status == "True" for one in status.conditions or ()):
        return
    wanted, succeeded = count_or(spec.parallelism, 1), status.succeeded or 0
    one = PodSet(maker_of(made), spec.template, (), made.metadata.name, gang=_job_gang(made, wanted))
    if spec.completions is None:
        # Without completions no more pods are made after the first success.
        yield one._replace(numbers=range(wanted if not succeeded else 0))
        return
    wanted = min(wanted, max(0, spec.completions - succeeded))
    if spec.completion_mode != "Indexed":
        yield one._replace(numbers=range(wanted))
        return
    ended = (*_intervals(status.completed_indexes), *_intervals(status.failed_indexes or ""))
    open_indexes = _indexes_outside(sorted(ended), spec.completions)
    numbers = tuple(islice(open_indexes, min(wanted, MOST_UNITS + 1) + len(reader.pods_of(made))))
    yield one._replace(numbers=numbers, at_once=wanted, index_label=_INDEX_LABEL)


def _job_gang(made: workloads.Job, parallelism: int) -> KindGang | None:
    """``spec.scheduling`` (Kubernetes 1.37)."""
    scheduling = made.spec.scheduling
    if scheduling is None:
        return None
    policy, constraints = scheduling.scheduling_policy, scheduling.scheduling_constraints
    domain = next((one.key for one in (constraints.topology if constraints else None) or ()), None)
    if policy is None or policy.gang is None:
        return KindGang("Job", made.metadata.name, 0, domain) if domain else None
    minimum = policy.gang.min_count
    return KindGang("Job", made.metadata.name, max(1, parallelism) if minimum is None else minimum, domain)


def _intervals(text: str) -> Iterator[tuple[int, int]]:
    """The first and last number of each part of ``1,3-5``; what cannot be read is left out."""
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal() and max(len(first), len(last)) < 19:
            yield int(first), int(last or first)


def _indexes_outside(ended: Sequence[tuple[int, int]], completions: int) -> Iterator[int]:
    here = 0
    for first, last in ended:
        yield from range(here, min(first, completions))
        here = max(here, last + 1)
    yield from range(here, completions)


def _nothing_now(made: Any, reader: ControllerContext) -> Parts:
    """CronJob, RayCronJob: what was made by now is in the input."""
    reader.note(BY_TIME, made)
    return
    yield


# The controller adds these to every pod.
_DAEMON_TOLERATIONS = tuple(
    Toleration(key=f"node.kubernetes.io/{condition}", operator="Exists", effect=effect)
    for condition, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)


def _daemon_template(made: workloads.DaemonSet) -> PodTemplateSpec:
    """The template of a DaemonSet with the tolerations that the controller adds."""
    template = made.spec.template
    tolerations = (*(template.spec.tolerations or ()), *_DAEMON_TOLERATIONS)
    return replace(template, spec=replace(template.spec, tolerations=tolerations))


def daemon_specs(cluster: Cluster, node: Node) -> Iterator[PodSpec]:
    """The specs of the pods that DaemonSets run on a node, whether they are there or not."""
    for made in cluster.objects(workloads.DaemonSet).values():
        spec = _daemon_template(made).spec
        if not pod_fits(spec, node):
            yield spec


def _daemon_set(made: workloads.DaemonSet, reader: ControllerContext) -> Parts:
    """One pod on each node that admits it and has none; what they take of new nodes is counted there."""
    template = _daemon_template(made)
    there = {name for pod in reader.pods_of(made) for name in runtimes.pinned_nodes(pod.spec)}
    for number, (name, node) in enumerate(reader.cluster.nodes.items()):
        is_new = NODE_TEMPLATE_ANNOTATION in (node.metadata.annotations or ())
        if name and not is_new and name not in there and not pod_fits(template.spec, node):
            pinned = runtimes.pinned_template(template, name)
            prefix = f"{made.metadata.name}-{name}"
            yield PodSet(maker_of(made), pinned, (number,), prefix, is_numbered=False, is_named=True, node=name)


JOB_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
LATER = "has parts that start after others, and all are planned at once"
NOT_EXCLUSIVE = "asks for a topology domain that nobody else uses; others may be in its domain in a plan"


def _job_set(made: operators.JobSet, reader: ControllerContext) -> Parts:
    in_order = made.spec.startup_policy is not None and made.spec.startup_policy.startup_policy_order == "InOrder"
    whole = KindGang("JobSet", made.metadata.name)
    for place, replicated in enumerate(made.spec.replicated_jobs or ()):
        is_later = bool(replicated.depends_on) or (in_order and place > 0)
        if is_later:
            reader.note(LATER, made)
        marks = {**(made.metadata.annotations or {}), **(replicated.template.metadata.annotations or {})}
        domain = marks.get(JOB_TOPOLOGY)
        if domain:
            reader.note(NOT_EXCLUSIVE, made)
        for number in reader.counted(made, count_or(replicated.replicas, 1)):
            name = f"{made.metadata.name}-{replicated.name}-{number}"
            gang = whole if reader.natural_gangs and not is_later else None
            if domain:
                gang = KindGang("Job", name, None if reader.natural_gangs else 0, domain)
            yield Child(_indexed_job(made, name, replicated.template), gang)


def _indexed_job(made: KubernetesObject, name: str, template: workloads.JobTemplateSpec) -> workloads.Job:
    spec = template.spec if template.spec.completion_mode else replace(template.spec, completion_mode="Indexed")
    return workloads.Job(metadata=child_metadata(made, name, template.metadata), spec=spec)


GROUP_TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_STATEFUL_SET = kind_of(workloads.StatefulSet).group_kind


def _leader_worker_set(made: operators.LeaderWorkerSet, reader: ControllerContext) -> Parts:
    """Leaders are pods of a StatefulSet, and workers of one StatefulSet for each leader."""
    name, namespace = made.metadata.name, key_of(made.metadata)[0]
    group = made.spec.leader_worker_template
    leader, size, replicas = group.leader_template or group.worker_template, group.size, count_or(made.spec.replicas, 1)
    workers = range(1, 1 if size is None else size)
    domain = (made.metadata.annotations or {}).get(GROUP_TOPOLOGY)
    if domain:
        reader.note(NOT_EXCLUSIVE, made)
    if made.spec.startup_policy == "LeaderReady" and workers:
        reader.note(LATER, made)
    leaders = PodSet(Maker(_STATEFUL_SET, namespace, name), leader, range(replicas), name, is_named=True)
    together = reader.natural_gangs or domain
    if not together:
        yield leaders
    for number in reader.counted(made, replicas if together or workers else 0):
        # Each group is an object of its own, also one with a leader only.
        prefix = f"{name}-{number}"
        minimum = None if reader.natural_gangs else 0
        gang = KindGang("LeaderWorkerSet", prefix, minimum, domain) if together else None
        if together:
            yield leaders._replace(numbers=(number,), gang=gang)
        if workers:
            owner = Maker(_STATEFUL_SET, namespace, prefix)
            yield PodSet(owner, group.worker_template, workers, prefix, is_named=True, gang=gang)


def _disaggregated_set(made: operators.DisaggregatedSet, reader: ControllerContext) -> Parts:
    for number in reader.counted(made, count_or(made.spec.slices, 1)):
        for role in made.spec.roles or ():
            metadata = child_metadata(made, f"{made.metadata.name}-{number}-{role.name}")
            yield Child(operators.LeaderWorkerSet(metadata=metadata, spec=role.spec), generated=True)


def _training_job(made: Any, reader: ControllerContext, replicas: str) -> Parts:
    """Jobs of kubeflow.org: pods ``JOB-TYPE-NUMBER``; the operator makes a gang only if it has a gang scheduler."""
    policy = made.spec.run_policy.scheduling_policy if made.spec.run_policy else None
    minimum = policy.min_available if policy else None
    gang = KindGang(type(made).__name__, made.metadata.name, minimum) if reader.natural_gangs else None
    if minimum is not None and not reader.natural_gangs:
        reader.note("has a minAvailable, which counts with natural gangs only", made)
    for name, one in (getattr(made.spec, replicas) or {}).items():
        kind = name.lower()
        prefix = f"{made.metadata.name}-{kind}"
        labels = {"training.kubeflow.org/replica-type": kind}
        numbers = range(count_or(one.replicas, 1))
        yield PodSet(maker_of(made), one.template, numbers, prefix, is_named=True, labels=labels, gang=gang)


def _mpi_job(made: operators.MPIJob, reader: ControllerContext) -> Parts:
    later = made.spec.launcher_creation_policy == "WaitForWorkersReady"
    types = made.spec.mpi_replica_specs or {}
    for one in _training_job(made, reader, "mpi_replica_specs"):
        if not isinstance(one, PodSet):
            continue
        if one.prefix.endswith("-launcher"):
            # One pod without a number, which a Job of this name makes in v2beta1.
            gang = None if later else one.gang
            yield one._replace(numbers=range(1), is_numbered=False, labels={}, gang=gang)
        elif one.prefix.endswith("-worker") and types["Worker"].replicas is not None:
            yield one
    if later and reader.natural_gangs:
        reader.note(LATER, made)


RAY_GANG = "ray.io/gang-scheduling-enabled"


def _ray_cluster(made: operators.RayCluster, reader: ControllerContext) -> Parts:
    name, spec = made.metadata.name, made.spec
    asked = (made.metadata.labels or {}).get(RAY_GANG) == "true" and not spec.enable_in_tree_autoscaling
    gang = KindGang("RayCluster", name) if asked or reader.natural_gangs else None
    head = PodSet(maker_of(made), spec.head_group_spec.template, range(1), f"{name}-head", gang=gang)
    yield head._replace(is_numbered=False, labels={"ray.io/node-type": "head"})
    for group in spec.worker_group_specs or ():
        if group.suspend:
            reader.note("has a suspended group of workers, which is not planned", made)
            continue
        least, most = count_or(group.min_replicas, 0), group.max_replicas
        replicas = max(least, count_or(group.replicas, least))
        numbers = range((replicas if most is None else min(replicas, max(most, 0))) * count_or(group.num_of_hosts, 1))
        labels = {"ray.io/group": group.group_name}
        yield PodSet(
            maker_of(made), group.template, numbers, f"{name}-{group.group_name}-worker", labels=labels, gang=gang
        )


# What KubeRay gives a submitter that has no template.
_SUBMITTER = PodTemplateSpec(
    spec=PodSpec(
        containers=(
            Container(
                name="ray-job-submitter", resources=ResourceRequirements(requests={"cpu": "500m", "memory": "200Mi"})
            ),
        )
    )
)


def _ray_job(made: operators.RayJob, reader: ControllerContext) -> Parts:
    spec = made.spec
    if spec.ray_cluster_spec is not None and not spec.cluster_selector:
        metadata = child_metadata(made, made.metadata.name, ObjectMeta(labels=made.metadata.labels))
        yield Child(operators.RayCluster(metadata=metadata, spec=spec.ray_cluster_spec), generated=True)
    if spec.submission_mode in ("", "K8sJobMode"):
        template = spec.submitter_pod_template or _SUBMITTER
        job = workloads.Job(
            metadata=child_metadata(made, made.metadata.name), spec=workloads.JobSpec(template=template)
        )
        reader.note(LATER, made)
        yield Child(job)


def _ray_service(made: operators.RayService, _reader: ControllerContext) -> Parts:
    metadata = child_metadata(made, made.metadata.name, ObjectMeta(labels=made.metadata.labels))
    yield Child(operators.RayCluster(metadata=metadata, spec=made.spec.ray_cluster_config), generated=True)


POD_SET_LABEL = "kueue.x-k8s.io/podset"


def _kueue_workload(made: KueueWorkload, reader: ControllerContext) -> Parts:
    """The pods of a workload of Kueue whose job is not in the input, and has no pods there."""
    namespace, name = key_of(made.metadata)
    if not made.spec.active or any(
        one.type == "Finished" and one.status == "True" for one in made.status.conditions or ()
    ):
        return
    for owner in made.metadata.owner_references or ():
        if owner.kind == "Pod" or reader.has_object(owner, namespace):
            return
    finished = {one.name: one.count for one in made.status.reclaimable_pods or ()}
    admitted = made.status.admission.pod_set_assignments if made.status.admission else None
    counts = {one.name: one.count for one in admitted or () if one.count is not None}
    maker = maker_of(made)
    for one in made.spec.pod_sets or ():
        count = counts.get(one.name, one.count) - finished.get(one.name, 0)
        numbers = reader.counted(made, max(0, count))
        yield PodSet(maker, one.template, numbers, f"{name}-{one.name}", labels={POD_SET_LABEL: one.name})


_JOB_CONTROLLER, _JOB_SET_CONTROLLER = "kubernetes.io/job-controller", "jobset.sigs.k8s.io/jobset-controller"
_TRAINER_CONTROLLER, _RAY_OPERATOR = "trainer.kubeflow.org/trainjob-controller", "ray.io/kuberay-operator"
_TRAINING_OPERATOR = "kubeflow.org/training-operator"
_kubeflow = partial(unless_suspended, part="spec.run_policy", manager=_TRAINING_OPERATOR)
_ray = partial(unless_suspended, manager=_RAY_OPERATOR)
CONTROLLERS: dict[type[KubernetesObject], ControllerRow] = {
    workloads.Job: ControllerRow(_job, partial(unless_suspended, manager=_JOB_CONTROLLER)),
    workloads.CronJob: ControllerRow(_nothing_now, unless_suspended),
    workloads.Deployment: ControllerRow(_replicas, adopts=(workloads.ReplicaSet,)),
    workloads.StatefulSet: ControllerRow(_stateful_set),
    workloads.ReplicaSet: ControllerRow(_replicas),
    workloads.ReplicationController: ControllerRow(_replicas),
    workloads.DaemonSet: ControllerRow(_daemon_set),
    operators.JobSet: ControllerRow(_job_set, partial(unless_suspended, manager=_JOB_SET_CONTROLLER)),
    operators.LeaderWorkerSet: ControllerRow(_leader_worker_set, adopts=(workloads.StatefulSet,)),
    operators.DisaggregatedSet: ControllerRow(_disaggregated_set),
    operators.MPIJob: ControllerRow(_mpi_job, _kubeflow, adopts=(workloads.Job,)),
    operators.PyTorchJob: ControllerRow(partial(_training_job, replicas="pytorch_replica_specs"), _kubeflow),
    operators.TFJob: ControllerRow(partial(_training_job, replicas="tf_replica_specs"), _kubeflow),
    operators.XGBoostJob: ControllerRow(partial(_training_job, replicas="xgb_replica_specs"), _kubeflow),
    operators.PaddleJob: ControllerRow(partial(_training_job, replicas="paddle_replica_specs"), _kubeflow),
    operators.JAXJob: ControllerRow(partial(_training_job, replicas="jax_replica_specs"), _kubeflow),
    operators.TrainJob: ControllerRow(
        runtimes.train_job, partial(unless_suspended, manager=_TRAINER_CONTROLLER), adopts=()
    ),
    operators.RayCluster: ControllerRow(_ray_cluster, _ray),
    operators.RayJob: ControllerRow(_ray_job, _ray),
    operators.RayService: ControllerRow(_ray_service, unless_suspended),
    operators.RayCronJob: ControllerRow(_nothing_now, unless_suspended),
    serving.PodCliqueSet: ControllerRow(runtimes.pod_clique_set),
    KueueWorkload: ControllerRow(_kueue_workload),
    serving.LLMInferenceService: ControllerRow(runtimes.inference_service),
}

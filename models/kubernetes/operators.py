"""Kinds of other projects that make pods, as far as pods, their numbers and gangs go (groups 7.2).

Versions are those of the table in ``docs/guides/controllers.md``.
"""

from __future__ import annotations

from typing import Any

from ..formats.decode import Int64, Model, QuantityText
from .core import Affinity, Toleration
from .meta import KubernetesObject, NameReference
from .workloads import JobTemplateSpec, PodTemplateSpec, ReplicasSpec


class JobDependency(Model):
    """A replicated job that must be ready, or complete, before this one starts."""

    name: str = ""
    status: str = ""


class ReplicatedJob(Model):
    """Equal Jobs of a JobSet."""

    name: str = ""
    replicas: Int64 | None = None
    template: JobTemplateSpec = JobTemplateSpec()
    depends_on: tuple[JobDependency, ...] | None = None


class JobSetStartupPolicy(Model):
    """Whether replicated jobs start one after the other (``InOrder``)."""

    startup_policy_order: str = ""


class JobSetSpec(Model):
    """``spec`` of a JobSet, and of the JobSet of a training runtime."""

    replicated_jobs: tuple[ReplicatedJob, ...] | None = None
    startup_policy: JobSetStartupPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


class JobSet(KubernetesObject):
    """Jobs that belong together."""

    spec: JobSetSpec = JobSetSpec()


class LeaderWorkerTemplate(Model):
    """A group: a leader and ``size`` - 1 workers."""

    leader_template: PodTemplateSpec | None = None
    worker_template: PodTemplateSpec = PodTemplateSpec()
    size: Int64 | None = None


class LeaderWorkerSetSpec(Model):
    """``spec`` of a LeaderWorkerSet: so many groups."""

    replicas: Int64 | None = None
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = ""


class LeaderWorkerSet(KubernetesObject):
    """Groups of pods, each with a leader."""

    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


class DisaggregatedRole(Model):
    """A role: each slice has a LeaderWorkerSet of it."""

    name: str = ""
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


class DisaggregatedSetSpec(Model):
    """``spec`` of a DisaggregatedSet."""

    slices: Int64 | None = None
    roles: tuple[DisaggregatedRole, ...] | None = None


class DisaggregatedSet(KubernetesObject):
    """LeaderWorkerSets of several roles."""

    spec: DisaggregatedSetSpec = DisaggregatedSetSpec()


TrainingReplicas = dict[str, ReplicasSpec]


class TrainingSchedulingPolicy(Model):
    """What the gang scheduler is told, if the operator uses one."""

    min_available: Int64 | None = None


class TrainingRunPolicy(Model):
    """How a job of kubeflow.org runs."""

    suspend: bool | None = None
    scheduling_policy: TrainingSchedulingPolicy | None = None
    managed_by: str | None = None


class TrainingJobSpec(Model):
    """What the specs of all jobs of kubeflow.org share."""

    run_policy: TrainingRunPolicy | None = None


class MPIJobSpec(TrainingJobSpec):
    """``spec`` of an MPIJob."""

    mpi_replica_specs: TrainingReplicas | None = None
    launcher_creation_policy: str = ""


class MPIJob(KubernetesObject):
    """A launcher and its workers."""

    spec: MPIJobSpec = MPIJobSpec()


class PyTorchJobSpec(TrainingJobSpec):
    """``spec`` of a PyTorchJob."""

    pytorch_replica_specs: TrainingReplicas | None = None


class PyTorchJob(KubernetesObject):
    """A job of PyTorch."""

    spec: PyTorchJobSpec = PyTorchJobSpec()


class TFJobSpec(TrainingJobSpec):
    """``spec`` of a TFJob."""

    tf_replica_specs: TrainingReplicas | None = None


class TFJob(KubernetesObject):
    """A job of TensorFlow."""

    spec: TFJobSpec = TFJobSpec()


class XGBoostJobSpec(TrainingJobSpec):
    """``spec`` of an XGBoostJob."""

    xgb_replica_specs: TrainingReplicas | None = None


class XGBoostJob(KubernetesObject):
    """A job of XGBoost."""

    spec: XGBoostJobSpec = XGBoostJobSpec()


class PaddleJobSpec(TrainingJobSpec):
    """``spec`` of a PaddleJob."""

    paddle_replica_specs: TrainingReplicas | None = None


class PaddleJob(KubernetesObject):
    """A job of PaddlePaddle."""

    spec: PaddleJobSpec = PaddleJobSpec()


class JAXJobSpec(TrainingJobSpec):
    """``spec`` of a JAXJob."""

    jax_replica_specs: TrainingReplicas | None = None


class JAXJob(KubernetesObject):
    """A job of JAX."""

    spec: JAXJobSpec = JAXJobSpec()


class RuntimeReference(Model):
    """The runtime of a TrainJob; its kind is ClusterTrainingRuntime by default."""

    name: str = ""
    kind: str = ""


class TrainResources(Model):
    """Amounts that stand in place of those of the trainer's container."""

    requests: dict[str, QuantityText] | None = None
    limits: dict[str, QuantityText] | None = None


class Trainer(Model):
    """What a TrainJob changes of the trainer."""

    num_nodes: Int64 | None = None
    resources_per_node: TrainResources | None = None


class PodSpecPatch(Model):
    """Fields of a pod's spec that a TrainJob adds; it cannot add claims (KND-3)."""

    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None


class PodTemplateOverride(Model):
    """A patch of the pods of some replicated jobs (trainer v2.1)."""

    target_jobs: tuple[NameReference, ...] | None = None
    spec: PodSpecPatch | None = None


class PodSpecOverride(PodSpecPatch):
    """A patch of the pods of some replicated jobs (trainer v2.0)."""

    target_jobs: tuple[NameReference, ...] | None = None


class PatchedPodTemplate(Model):
    """The pod template in a patch."""

    spec: PodSpecPatch | None = None


class PatchedJobSpec(Model):
    """The spec of a Job in a patch."""

    template: PatchedPodTemplate | None = None


class PatchedJobTemplate(Model):
    """The Job template in a patch."""

    spec: PatchedJobSpec | None = None


class PatchedReplicatedJob(Model):
    """The replicated job that a patch is about."""

    name: str = ""
    template: PatchedJobTemplate | None = None


class PatchedJobSetSpec(Model):
    """The spec of the JobSet in a patch."""

    replicated_jobs: tuple[PatchedReplicatedJob, ...] | None = None


class PatchedJobSet(Model):
    """The JobSet in a patch."""

    spec: PatchedJobSetSpec | None = None


class PatchedRuntimeSpec(Model):
    """The spec of the runtime in a patch."""

    template: PatchedJobSet | None = None


class RuntimePatch(Model):
    """A patch of the runtime (trainer v2.2)."""

    training_runtime_spec: PatchedRuntimeSpec | None = None


class TrainJobSpec(Model):
    """``spec`` of a TrainJob."""

    runtime_ref: RuntimeReference = RuntimeReference()
    trainer: Trainer | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    pod_spec_overrides: tuple[PodSpecOverride, ...] | None = None
    pod_template_overrides: tuple[PodTemplateOverride, ...] | None = None
    runtime_patches: tuple[RuntimePatch, ...] | None = None


class TrainJob(KubernetesObject):
    """A run of a training runtime."""

    spec: TrainJobSpec = TrainJobSpec()


class MPIPolicy(Model):
    """How a runtime uses MPI."""

    run_launcher_as_node: bool | None = None


class MLPolicy(Model):
    """How many nodes a runtime trains on."""

    num_nodes: Int64 | None = None
    mpi: MPIPolicy | None = None


class PodGroupPolicy(Model):
    """The gang scheduler of a runtime: with any of these all pods are a gang."""

    coscheduling: dict[str, Any] | None = None
    volcano: dict[str, Any] | None = None


class TrainingRuntimeSpec(Model):
    """``spec`` of a training runtime."""

    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: JobSet = JobSet()


class TrainingRuntime(KubernetesObject):
    """What TrainJobs of its namespace are made of."""

    spec: TrainingRuntimeSpec = TrainingRuntimeSpec()


class ClusterTrainingRuntime(KubernetesObject):
    """What TrainJobs are made of."""

    spec: TrainingRuntimeSpec = TrainingRuntimeSpec()


class HeadGroupSpec(Model):
    """The head of a RayCluster."""

    template: PodTemplateSpec = PodTemplateSpec()


class WorkerGroupSpec(Model):
    """Equal workers of a RayCluster; a replica is ``num_of_hosts`` pods."""

    group_name: str = ""
    replicas: Int64 | None = None
    min_replicas: Int64 | None = None
    max_replicas: Int64 | None = None
    num_of_hosts: Int64 | None = None
    suspend: bool | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class RayClusterSpec(Model):
    """``spec`` of a RayCluster."""

    suspend: bool | None = None
    managed_by: str | None = None
    enable_in_tree_autoscaling: bool | None = None
    head_group_spec: HeadGroupSpec = HeadGroupSpec()
    worker_group_specs: tuple[WorkerGroupSpec, ...] | None = None


class RayCluster(KubernetesObject):
    """A head and groups of workers."""

    spec: RayClusterSpec = RayClusterSpec()


class RayJobSpec(Model):
    """``spec`` of a RayJob."""

    suspend: bool | None = None
    managed_by: str | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: dict[str, str] | None = None
    submission_mode: str = ""
    submitter_pod_template: PodTemplateSpec | None = None


class RayJob(KubernetesObject):
    """A RayCluster for one job."""

    spec: RayJobSpec = RayJobSpec()


class RayServiceSpec(Model):
    """``spec`` of a RayService."""

    suspend: bool | None = None
    ray_cluster_config: RayClusterSpec = RayClusterSpec()


class RayService(KubernetesObject):
    """A RayCluster that serves."""

    spec: RayServiceSpec = RayServiceSpec()


class RayCronJobSpec(Model):
    """``spec`` of a RayCronJob."""

    suspend: bool | None = None
    job_template: RayJobSpec = RayJobSpec()


class RayCronJob(KubernetesObject):
    """RayJobs that are made at certain times."""

    spec: RayCronJobSpec = RayCronJobSpec()

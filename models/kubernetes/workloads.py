"""Controllers that make pods (Job, Deployment, StatefulSet, ReplicaSet), Workload, PodGroup and PriorityClass.

Kubernetes 1.35 (v1alpha1) has groups inside a Workload, which pods name in ``spec.workloadRef``. From 1.36 (v1alpha2)
on a PodGroup is an object of its own, which pods name in ``spec.schedulingGroup``; a Workload holds templates of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..formats.decode import Int64, Model
from .core import PodResourceClaim, PodSpec
from .meta import KubernetesObject


class PodTemplateSpec(KubernetesObject):
    """The pods to be made: all alike but for their names."""

    spec: PodSpec = PodSpec()


class JobSpec(Model):
    """``spec`` of a Job; without ``completions`` as many pods run as ``parallelism`` says (1 by default)."""

    parallelism: Int64 | None = None
    completions: Int64 | None = None
    suspend: bool | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobCondition(Model):
    """One thing that is so, or not."""

    type: str = ""
    status: str = ""


class JobStatus(Model):
    """``status`` of a Job."""

    succeeded: Int64 | None = None
    conditions: tuple[JobCondition, ...] | None = None


class Job(KubernetesObject):
    """Pods that run to their end."""

    spec: JobSpec = JobSpec()
    status: JobStatus | None = None


class ReplicasSpec(Model):
    """``spec`` of a Deployment or ReplicaSet; one replica by default."""

    replicas: Int64 | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(KubernetesObject):
    """Equal pods, made by ReplicaSets."""

    spec: ReplicasSpec = ReplicasSpec()


class ReplicaSet(KubernetesObject):
    """Equal pods; one that a Deployment made is a part of it."""

    spec: ReplicasSpec = ReplicasSpec()


class StatefulSetOrdinals(Model):
    """The number of the first pod."""

    start: Int64 = 0


class StatefulSetSpec(Model):
    """``spec`` of a StatefulSet."""

    replicas: Int64 | None = None
    ordinals: StatefulSetOrdinals | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class StatefulSet(KubernetesObject):
    """Pods with numbers for names."""

    spec: StatefulSetSpec = StatefulSetSpec()


PodController = Job | Deployment | StatefulSet | ReplicaSet


class GangPolicy(Model):
    """All or nothing: at least so many pods of the group."""

    min_count: Int64 = 0


class SchedulingPolicy(Model):
    """A gang; without one (``basic``) pods are placed one by one."""

    gang: GangPolicy | None = None


class TopologyConstraint(Model):
    """A node label: all pods of the group go to nodes with one value of it."""

    key: str = ""


class SchedulingConstraints(Model):
    """Where the pods of a group may be, together."""

    topology: tuple[TopologyConstraint, ...] | None = None


class WorkloadPodGroup(Model):
    """A group of pods in a Workload of v1alpha1."""

    name: str = ""
    policy: SchedulingPolicy = SchedulingPolicy()


class WorkloadSpec(Model):
    """``spec`` of a Workload; templates of PodGroups (v1alpha2) matter to those who make PodGroups of them."""

    pod_groups: tuple[WorkloadPodGroup, ...] | None = None


class Workload(KubernetesObject):
    """Groups of pods that belong together."""

    spec: WorkloadSpec = WorkloadSpec()

    def group(self, name: str) -> WorkloadPodGroup | None:
        """Find a group by its name."""
        return next((group for group in self.spec.pod_groups or () if group.name == name), None)


class PodGroupSpec(Model):
    """``spec`` of a PodGroup."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None


class PodGroup(KubernetesObject):
    """Pods that are scheduled together."""

    spec: PodGroupSpec = PodGroupSpec()

    @property
    def domain(self) -> str | None:
        """The node label of which the nodes of all its pods have one value."""
        constraints = self.spec.scheduling_constraints
        return next((one.key for one in (constraints.topology if constraints else None) or ()), None)


# Classes that every cluster has.
BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class PriorityClass(KubernetesObject):
    """A number with a name: the higher, the more important; the global default is for pods that name none."""

    value: Int64 = 0
    global_default: bool | None = None
    preemption_policy: str = ""


def default_priority(classes: Mapping[str, PriorityClass]) -> int:
    """Priority of pods that name no class: of several global defaults the lowest counts, without any it is 0."""
    return min((one.value for one in classes.values() if one.global_default), default=0)


def priority_of(spec: PodSpec, classes: Mapping[str, PriorityClass], default: int) -> int:
    """A pod's priority: the number in it, as admission wrote it, else its class's; a class that is not there is 0."""
    if spec.priority is not None:
        return spec.priority
    if not spec.priority_class_name:
        return default
    known = classes.get(spec.priority_class_name)
    return known.value if known else BUILT_IN_PRIORITIES.get(spec.priority_class_name, 0)

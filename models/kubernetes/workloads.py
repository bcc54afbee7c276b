"""Controllers of Kubernetes that make pods, Workload, PodGroup and PriorityClass; other projects' are in ``operators``.

Kubernetes 1.35 (v1alpha1) has groups inside a Workload, which pods name in ``spec.workloadRef``. From 1.36 (v1alpha2)
on a PodGroup is an object of its own, which pods name in ``spec.schedulingGroup``; a Workload holds templates of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.decode import Int64, Model, api_name
from .core import LabelSelector, PodResourceClaim, PodResourceClaimStatus, PodSpec
from .meta import KubernetesObject, StatedCondition


class PodTemplateSpec(KubernetesObject):
    """The pods to be made: all alike but for their names."""

    spec: PodSpec = PodSpec()


FieldPath = tuple[str | int, ...]
"""Fields, keys and indexes that lead to a part of an object."""


# Made once: this is asked about all fields of all objects.
_PARTS = Model, tuple, dict
_TEMPLATES = PodTemplateSpec, PodSpec


def parts_of(part: object, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Model]]:
    """Every model in an object with its path, from the outside in; what is in pod templates and pod specs is left out.

    So pod templates are found wherever a controller has them.
    """
    if isinstance(part, Model):
        yield path, part
        if not isinstance(part, _TEMPLATES):
            for field in part.__struct_fields__:
                inner = getattr(part, field)
                # Most fields are not set, or texts.
                if isinstance(inner, _PARTS):
                    yield from parts_of(inner, (*path, api_name(field)))
    elif isinstance(part, tuple):
        for index, inner in enumerate(part):
            yield from parts_of(inner, (*path, index))
    elif isinstance(part, dict):
        for key, inner in part.items():
            yield from parts_of(inner, (*path, key))


def pod_specs(made: KubernetesObject) -> Iterator[tuple[FieldPath, PodSpec]]:
    """The specs of the pods that an object makes, with their paths."""
    for path, part in parts_of(made):
        if isinstance(part, PodTemplateSpec):
            yield (*path, "spec"), part.spec
        elif isinstance(part, PodSpec):
            yield path, part


def raw_part(raw: object, path: FieldPath) -> Mapping[str, Any]:
    """The mapping at a path of an object as it was read, an empty one if there is none."""
    for step in path:
        if isinstance(raw, Mapping):
            raw = raw.get(step)
        else:
            raw = raw[step] if isinstance(raw, list) and isinstance(step, int) and step < len(raw) else None
    return raw if isinstance(raw, Mapping) else {}


# How deep, and through how many values, pod specs are looked for in objects of unknown kinds.
_DEEPEST_TEMPLATE, _MOST_VALUES = 16, 20_000


def find_raw_pod_spec(raw: Mapping[str, Any]) -> FieldPath | None:
    """The path of the first thing in ``spec`` of an object of any kind that looks like the spec of a pod."""
    waiting: list[tuple[FieldPath, Any]] = [(("spec",), raw.get("spec"))]
    for path, part in waiting:
        if isinstance(part, Mapping):
            containers = part.get("containers")
            if isinstance(containers, list) and any(isinstance(one, Mapping) and "name" in one for one in containers):
                return path
        inner = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
        if len(path) < _DEEPEST_TEMPLATE and len(waiting) < _MOST_VALUES:
            waiting += [((*path, key), one) for key, one in inner if isinstance(one, Mapping | list)]
    return None


class JobSpec(Model):
    """``spec`` of a Job; without ``completions`` as many pods run as ``parallelism`` says (1 by default)."""

    parallelism: Int64 | None = None
    completions: Int64 | None = None
    completion_mode: str = ""
    suspend: bool | None = None
    managed_by: str | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    scheduling: JobScheduling | None = None
    backoff_limit: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None


class PodFailurePolicy(Model):
    """Which failures of pods count; the first rule that is about one decides."""

    rules: tuple[PodFailurePolicyRule, ...] | None = None


class PodFailurePolicyRule(Model):
    """What becomes of pods that failed with one of these conditions: ``Ignore``, ``Count``, or the Job fails."""

    action: str = ""
    # ``status`` is ``True`` where nothing else is said.
    on_pod_conditions: tuple[StatedCondition, ...] | None = None


class JobScheduling(Model):
    """``spec.scheduling`` (Kubernetes 1.37): the PodGroup that the Job controller makes."""

    scheduling_policy: JobSchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None


class JobSchedulingPolicy(Model):
    """A gang, or ``basic``: pods are placed one by one."""

    gang: JobGangPolicy | None = None


class JobGangPolicy(Model):
    """All or nothing: at least so many pods, as many as ``parallelism`` by default."""

    min_count: Int64 | None = None


class JobStatus(Model):
    """``status`` of a Job; indexes are written as ``1,3-5``."""

    succeeded: Int64 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    conditions: tuple[StatedCondition, ...] | None = None


class Job(KubernetesObject):
    """Pods that run to their end."""

    spec: JobSpec = JobSpec()
    status: JobStatus | None = None


class JobTemplateSpec(KubernetesObject):
    """The Jobs to be made."""

    spec: JobSpec = JobSpec()


class CronJobSpec(Model):
    """``spec`` of a CronJob."""

    suspend: bool | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(KubernetesObject):
    """Jobs that are made at certain times."""

    spec: CronJobSpec = CronJobSpec()


class ReplicasSpec(Model):
    """``spec`` of a Deployment, ReplicaSet or ReplicationController; one replica by default.

    Jobs of kubeflow.org have one for the pods of each type.
    """

    replicas: Int64 | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(KubernetesObject):
    """Equal pods, made by ReplicaSets."""

    spec: ReplicasSpec = ReplicasSpec()


class ReplicaSet(KubernetesObject):
    """Equal pods; one that a Deployment made is a part of it."""

    spec: ReplicasSpec = ReplicasSpec()


class ReplicationController(KubernetesObject):
    """Equal pods, as ReplicaSets have them."""

    spec: ReplicasSpec = ReplicasSpec()


class DaemonSetSpec(Model):
    """``spec`` of a DaemonSet."""

    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(KubernetesObject):
    """A pod on each node that suits it."""

    spec: DaemonSetSpec = DaemonSetSpec()


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


class WorkloadTemplateReference(Model):
    """The template of a Workload that a group was made from."""

    workload_name: str = ""
    template_name: str = ""


def _topology_key(constraints: SchedulingConstraints | None) -> str | None:
    return next((one.key for one in (constraints.topology if constraints else None) or ()), None)


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
    priority_class_name: str = ""
    priority: Int64 | None = None
    preemption_policy: str | None = None
    # A word in Kubernetes 1.36, and an object with one of two keys from 1.37 on.
    disruption_mode: Any = None
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadTemplateReference | None = None


class PodGroupStatus(Model):
    """``status`` of a PodGroup: which claims were made for its entries."""

    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None


class PodGroup(KubernetesObject):
    """Pods that are scheduled together."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus | None = None

    @property
    def domain(self) -> str | None:
        """The node label of which the nodes of all its pods have one value."""
        return _topology_key(self.spec.scheduling_constraints)

    @property
    def is_disrupted_whole(self) -> bool:
        """Whether all its pods go or stay together (EVT-8)."""
        mode = self.spec.disruption_mode
        return mode == "PodGroup" or (isinstance(mode, Mapping) and mode.get("all") is not None)


class CompositeGangPolicy(Model):
    """All or nothing: at least so many groups of the group."""

    min_group_count: Int64 = 0


class CompositeSchedulingPolicy(Model):
    """A gang of groups; without one (``basic``) groups are placed one by one."""

    gang: CompositeGangPolicy | None = None


class CompositePodGroupSpec(Model):
    """``spec`` of a CompositePodGroup."""

    scheduling_policy: CompositeSchedulingPolicy = CompositeSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    priority_class_name: str = ""
    priority: Int64 | None = None
    preemption_policy: str | None = None
    disruption_mode: Any = None
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadTemplateReference | None = None


class CompositePodGroup(KubernetesObject):
    """PodGroups, or groups of them, that are scheduled together."""

    spec: CompositePodGroupSpec = CompositePodGroupSpec()

    @property
    def domain(self) -> str | None:
        """The node label of which the nodes of all pods below it have one value."""
        return _topology_key(self.spec.scheduling_constraints)


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


def may_preempt(spec: PodSpec | PodGroupSpec, classes: Mapping[str, PriorityClass]) -> bool:
    """Whether others may lose their places for a pod or PodGroup: its policy, else that of its class, says (EVT-1)."""
    known = classes.get(spec.priority_class_name)
    return (spec.preemption_policy or (known.preemption_policy if known else "")) != "Never"


def priority_of(
    spec: PodSpec | PodGroupSpec | CompositePodGroupSpec, classes: Mapping[str, PriorityClass], default: int
) -> int:
    """The priority in a pod or PodGroup, as admission wrote it, else that of its class; one that is not there is 0."""
    if spec.priority is not None:
        return spec.priority
    if not spec.priority_class_name:
        return default
    known = classes.get(spec.priority_class_name)
    return known.value if known else BUILT_IN_PRIORITIES.get(spec.priority_class_name, 0)


class PodDisruptionBudgetSpec(Model):
    """``spec`` of a PodDisruptionBudget: the pods that it is about.

    An empty selector means all of the namespace, none means no pod.
    """

    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Model):
    """``status`` of a PodDisruptionBudget: how many of its pods may be evicted now, and which are on their way out."""

    disruptions_allowed: Int64 = 0
    current_healthy: Int64 = 0
    desired_healthy: Int64 = 0
    disrupted_pods: dict[str, str | None] | None = None


class PodDisruptionBudget(KubernetesObject):
    """How many pods may be away at once when somebody moves them (MOV-3)."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None

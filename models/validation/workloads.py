"""What makes pods (Job, Deployment, StatefulSet, ReplicaSet), and what orders them (PriorityClass, Workload, PodGroup).

Light checks: what planning reads of them.
"""

from ..meta import ObjectMeta
from ..pod_groups import PodGroup, SchedulingPolicy, Workload
from ..priorities import PriorityClass
from ..workloads import Deployment, Job, PodTemplateSpec, ReplicaSet, StatefulSet
from . import names
from .checked_names import check_label
from .findings import STRUCTURE, Findings, Path
from .metadata import check_labels, check_metadata
from .plan_annotations import check_gang, check_plan_annotations, forbid_replicas
from .pod_specs import check_pod_spec

_SPEC: Path = ("spec",)


def check_job(found: Findings, job: Job) -> None:
    """Check a Job."""
    for field, number in (("parallelism", job.spec.parallelism), ("completions", job.spec.completions)):
        _check_number(found, (*_SPEC, field), number)
    _check_maker(found, job.metadata, job.spec.template, "`spec.parallelism`")


def check_replicas(found: Findings, made: Deployment | ReplicaSet) -> None:
    """Check a Deployment or a ReplicaSet."""
    _check_number(found, (*_SPEC, "replicas"), made.spec.replicas)
    _check_maker(found, made.metadata, made.spec.template, "`spec.replicas`")


def check_stateful_set(found: Findings, made: StatefulSet) -> None:
    """Check a StatefulSet."""
    _check_number(found, (*_SPEC, "replicas"), made.spec.replicas)
    if made.spec.ordinals is not None:
        _check_number(found, (*_SPEC, "ordinals", "start"), made.spec.ordinals.start)
    _check_maker(found, made.metadata, made.spec.template, "`spec.replicas`")


def check_priority_class(found: Findings, made: PriorityClass) -> None:
    """Check a PriorityClass."""
    check_metadata(found, made.metadata, namespaced=False)


def check_workload(found: Findings, workload: Workload) -> None:
    """Check a Workload: groups are told apart by their names."""
    check_metadata(found, workload.metadata, namespaced=True)
    groups, path = workload.spec.pod_groups or (), (*_SPEC, "podGroups")
    found.unique(path, (group.name for group in groups), ("name",), STRUCTURE)
    for index, group in enumerate(groups):
        check_label(found, (*path, index, "name"), group.name)
        _check_policy(found, (*path, index, "policy"), group.policy)


def check_pod_group(found: Findings, group: PodGroup) -> None:
    """Check a PodGroup."""
    check_metadata(found, group.metadata, namespaced=True)
    _check_policy(found, (*_SPEC, "schedulingPolicy"), group.spec.scheduling_policy)
    if group.domain is not None:
        where = (*_SPEC, "schedulingConstraints", "topology", 0, "key")
        found.each_invalid(where, group.domain, names.label_key(group.domain), STRUCTURE)


def _check_policy(found: Findings, path: Path, policy: SchedulingPolicy) -> None:
    if policy.gang is not None and policy.gang.min_count < 1:
        where = (*path, "gang", "minCount")
        found.invalid(where, policy.gang.min_count, "must be greater than zero", STRUCTURE)


def _check_number(found: Findings, path: Path, number: int | None) -> None:
    if number is not None and number < 0:
        found.invalid(path, number, "must be greater than or equal to 0", STRUCTURE)


def _check_maker(found: Findings, metadata: ObjectMeta, template: PodTemplateSpec, number: str) -> None:
    check_metadata(found, metadata, namespaced=True)
    check_plan_annotations(found, metadata)
    forbid_replicas(found, metadata, ("metadata",), number)
    path: Path = (*_SPEC, "template")
    check_labels(found, (*path, "metadata"), template.metadata)
    check_plan_annotations(found, template.metadata, (*path, "metadata"))
    forbid_replicas(found, template.metadata, (*path, "metadata"), number)
    check_gang(found, ("metadata",), template.spec.grouped, metadata, template.metadata)
    check_pod_spec(found, (*path, "spec"), template.spec)

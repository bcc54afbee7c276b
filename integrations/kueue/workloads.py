"""From jobs to workloads: what Kueue makes of objects that name a queue, beside the workloads of the input.

Kueue names a workload by the kind and name of its job and five digits of a hash over kind, group, name and UID. The
names here are made in the same way; that of an object without a UID is drasat's own, as the server gives it one later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1, sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from ...models.cluster.cluster import Cluster
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Pod
from ...models.kubernetes.kinds import WORKLOAD_MODELS, GroupKind, group_of, kind_of
from ...models.kubernetes.kueue import (
    Admission,
    ClusterQueue,
    KueuePodSet,
    KueueWorkload,
    KueueWorkloadSpec,
    KueueWorkloadStatus,
    LocalQueue,
    PodSetAssignment,
    ReclaimablePods,
    ResourceFlavor,
    WorkloadPriorityClass,
)
from ...models.kubernetes.meta import (
    Condition,
    KindReference,
    KubernetesObject,
    ObjectKey,
    ObjectMeta,
    OwnerReference,
    key_of,
    parse_int64,
)
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.workloads import Deployment, Job, PodTemplateSpec, default_priority, priority_of
from ...models.workload.controllers import ControllerReader, read_controllers
from ...models.workload.pod_sets import QUEUE_LABEL
from ...models.workload.units import is_finished_or_deleting
from .configuration import kueue_configuration
from .counting import PodSetCharge, WorkloadCharge, WorkloadCounter
from .jobs import JOBS, pod_set

PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
GROUP_COUNT = "kueue.x-k8s.io/pod-group-total-count"
FAST_ADMISSION = "kueue.x-k8s.io/pod-group-fast-admission"
ROLE_HASH = "kueue.x-k8s.io/role-hash"
_LONGEST_PREFIX, _HASH_DIGITS, _ROLE_DIGITS = 247, 5, 8
_DEEPEST_OWNER = 8
# Kind, namespace and name of an owner.
_Owner = tuple[GroupKind, str, str]


def kueue_workloads(cluster: Cluster) -> list[KueueWorkload]:
    """The workloads of the input, then those that Kueue makes of its jobs and pods, each in the order read.

    A job that is suspended, or that no server has seen (it has no UID), waits: Kueue suspends what is created. One
    that runs holds quota: it has the charge that Kueue counts, in the flavors of the nodes where its pods are.
    """
    known = cluster.objects(KueueWorkload)
    read = [key_of(one.object.metadata) for one in cluster.read if isinstance(one.object, KueueWorkload)]
    given = [known[key] for key in dict.fromkeys([*read, *known]) if key in known]
    return [*given, *_Maker(cluster, given).make()]


def without_pods_of(cluster: Cluster, workloads: Iterable[KueueWorkload]) -> Cluster:
    """Without the pods of these workloads, as after an eviction; what their claims hold is free again."""
    owners = {owner for one in workloads for owner in _owners(one)}
    if not owners:
        return cluster
    kind = kind_of(Pod).group_kind
    gone = {
        key
        for key, pod in cluster.pods.items()
        if (kind, *key) in owners or any(owner in owners for owner in _controllers_above(cluster, pod))
    }
    made, released = [], []
    for key, claim in cluster.claims.items():
        users = {(key[0], one.name) for one in (claim.status.reserved_for if claim.status else None) or ()}
        owner = _controller(claim.metadata)
        if owner is not None and _kind(owner) == kind and (key[0], owner.name) in gone:
            made.append(key)
        elif users and users <= gone:
            released.append(replace(claim, status=None))
    return cluster.without(claims=made, pods=gone).with_claims(released)


def _found_owner(cluster: Cluster, owner: OwnerReference, namespace: str) -> KubernetesObject | None:
    for model in WORKLOAD_MODELS:
        if kind_of(model).group_kind == _kind(owner):
            return cluster.objects(model).get((namespace, owner.name))
    return None


def _controllers_above(cluster: Cluster, pod: Pod) -> Iterator[_Owner]:
    """What controls a pod, what controls that, and so on, as far as the input has it."""
    metadata, namespace = pod.metadata, key_of(pod.metadata)[0]
    for _ in range(_DEEPEST_OWNER):
        owner = _controller(metadata)
        if owner is None:
            return
        yield _kind(owner), namespace, owner.name
        made = _found_owner(cluster, owner, namespace)
        if made is None:
            return
        metadata = made.metadata


def workload_name(kind: GroupKind, name: str, uid: str = "") -> str:
    """The name that Kueue gives the workload of a job."""
    prefix = f"{kind.kind.lower()}-{name}"[:_LONGEST_PREFIX]
    digest = sha1("\n".join((kind.kind, kind.group, name, uid)).encode(), usedforsecurity=False).hexdigest()
    return f"{prefix}-{digest[:_HASH_DIGITS]}"


def _label(metadata: ObjectMeta, label: str) -> str:
    return (metadata.labels or {}).get(label, "")


class _Maker:
    """Makes the workloads that the input lacks."""

    def __init__(self, cluster: Cluster, given: Iterable[KueueWorkload]) -> None:
        self._cluster = cluster
        self._names = {key_of(one.metadata) for one in given}
        self._owners = {owner for one in given for owner in _owners(one)}
        self._default_priority = default_priority(cluster.priority_classes)
        self._reader = ControllerReader(cluster, natural_gangs=False)
        self._nodes = self._nodes_by_owner()
        self._counter = WorkloadCounter(cluster, kueue_configuration(cluster))

    def make(self) -> Iterator[KueueWorkload]:
        """Jobs first, then pods and groups of pods, then pods that controllers still have to make."""
        models: dict[type[Any], Mapping[ObjectKey, Any]] = {model: self._cluster.objects(model) for model in JOBS}
        for model, key in self._cluster.in_read_order({**models, ResourceClaim: {}}):
            yield from self._of_job(models[model][key])
        yield from self._of_pods()
        yield from self._of_missing_pods()

    def _is_managed(self, metadata: ObjectMeta) -> bool:
        """Whether an owner is a job that names a queue, so that Kueue makes one workload of all."""
        namespace = key_of(metadata)[0]
        for _ in range(_DEEPEST_OWNER):
            owner = _controller(metadata)
            if owner is None:
                return False
            made = _found_owner(self._cluster, owner, namespace)
            if made is None:
                return any(kind_of(model).group_kind == _kind(owner) for model in JOBS)
            if type(made) in JOBS and _label(made.metadata, QUEUE_LABEL):
                return True
            metadata = made.metadata
        return False

    def _nodes_by_owner(self) -> Mapping[_Owner, set[str]]:
        """The nodes of the pods below each owner."""
        nodes: dict[_Owner, set[str]] = defaultdict(set)
        for pod in self._cluster.pods.values():
            if pod.spec.node_name and not is_finished_or_deleting(pod):
                for owner in _controllers_above(self._cluster, pod):
                    nodes[owner].add(pod.spec.node_name)
        return nodes

    def _of_job(self, made: KubernetesObject) -> Iterator[KueueWorkload]:
        row, kind, (namespace, name) = JOBS[type(made)], kind_of(type(made)).group_kind, key_of(made.metadata)
        owner = kind, namespace, name
        if not _label(made.metadata, QUEUE_LABEL) or owner in self._owners or row.ended(made):
            return
        sets = tuple(row.pod_sets(made, self._reader))
        if not sets or self._is_managed(made.metadata):
            return
        nodes = self._nodes.get(owner, set())
        if row.suspended:
            holds = bool(made.metadata.uid) and not row.is_suspended(made)
        elif nodes and self._has_group_below(owner):
            # Its pods are groups of their own.
            return
        else:
            holds = bool(nodes)
        suffixes = (
            [""] if row.copies is None else [f"-{number}" for number in self._reader.counted(made, row.copies(made))]
        )
        for suffix in suffixes:
            called = workload_name(kind, f"{name}{suffix}", made.metadata.uid)
            workload = self._workload(called, made, sets)
            yield self._with_quota(workload, nodes) if holds else workload

    def _has_group_below(self, owner: _Owner) -> bool:
        """Whether Kueue has put pods of the object into a group."""
        kind, namespace, name = owner
        return any(
            key[0] == namespace
            and _label(pod.metadata, GROUP_LABEL)
            and (above := _controller(pod.metadata)) is not None
            and (_kind(above), above.name) == (kind, name)
            for key, pod in self._cluster.pods.items()
        )

    def _of_pods(self) -> Iterator[KueueWorkload]:
        groups: dict[ObjectKey, list[Pod]] = defaultdict(list)
        for _, key in self._cluster.in_read_order({Pod: self._cluster.pods, ResourceClaim: {}}):
            pod = self._cluster.pods[key]
            if not _label(pod.metadata, QUEUE_LABEL) or is_finished_or_deleting(pod) or self._is_managed(pod.metadata):
                continue
            if group := _label(pod.metadata, GROUP_LABEL):
                groups[key[0], group].append(pod)
            else:
                yield from self._of_pod(pod)
        for (namespace, name), pods in groups.items():
            if (namespace, name) not in self._names:
                yield from self._of_group(name, pods)

    def _of_pod(self, pod: Pod) -> Iterator[KueueWorkload]:
        namespace, name = key_of(pod.metadata)
        kind = kind_of(Pod).group_kind
        called = workload_name(kind, name, pod.metadata.uid)
        if (kind, namespace, name) in self._owners or (namespace, called) in self._names:
            return
        workload = self._workload(called, pod, (pod_set("main", 1, _template(pod)),))
        yield self._with_quota(workload, {pod.spec.node_name}) if pod.spec.node_name else workload

    def _of_group(self, name: str, pods: list[Pod]) -> Iterator[KueueWorkload]:
        """A group waits until all of its pods are there; with fast admission the first stand for those to come."""
        first = pods[0]
        marks = first.metadata.annotations or {}
        total = parse_int64(marks.get(GROUP_COUNT, "")) or 0
        roles: dict[str, list[Pod]] = defaultdict(list)
        for pod in pods:
            roles[_role(pod)].append(pod)
        sets = [pod_set(role, len(members), _template(members[0])) for role, members in sorted(roles.items())]
        if total > len(pods):
            if marks.get(FAST_ADMISSION) != "true" or len(sets) > 1:
                return
            sets = [replace(sets[0], count=total)]
        workload = self._workload(name, first, tuple(sets))
        owners = tuple(_reference(pod, controller=None) for pod in pods)
        workload = replace(workload, metadata=replace(workload.metadata, owner_references=owners))
        nodes = {pod.spec.node_name for pod in pods if pod.spec.node_name}
        yield self._with_quota(workload, nodes) if nodes else workload

    def _of_missing_pods(self) -> Iterator[KueueWorkload]:
        """Pods of kinds that Kueue has no integration for, and of Deployments, are managed one by one."""
        if not self._cluster.workload_objects:
            return
        for (model, key), missing in read_controllers(self._cluster).missing.items():
            made = self._cluster.objects(model).get(key)
            if made is None or model in JOBS or model is KueueWorkload or self._is_managed(made.metadata):
                continue
            above = _label(made.metadata, QUEUE_LABEL) if model is Deployment else ""
            for one in missing.sets:
                pod = one.pod()
                queue = _label(pod.metadata, QUEUE_LABEL) or above
                if not queue or _label(pod.metadata, GROUP_LABEL):
                    continue
                labels = {**(pod.metadata.labels or {}), QUEUE_LABEL: queue}
                for number in one.numbers:
                    metadata = replace(pod.metadata, name=one.pod_name(number), labels=labels)
                    yield from self._of_pod(replace(pod, metadata=metadata))

    def _workload(self, name: str, made: KubernetesObject, sets: tuple[KueuePodSet, ...]) -> KueueWorkload:
        reference, priority = self._priority(made.metadata, sets)
        limit = parse_int64(_label(made.metadata, TIME_LABEL))
        return KueueWorkload(
            metadata=ObjectMeta(
                name=name,
                namespace=key_of(made.metadata)[0],
                creation_timestamp=made.metadata.creation_timestamp,
                owner_references=(_reference(made),),
            ),
            spec=KueueWorkloadSpec(
                pod_sets=sets,
                queue_name=_label(made.metadata, QUEUE_LABEL),
                priority_class_ref=reference,
                priority=priority,
                maximum_execution_time_seconds=limit if limit and limit > 0 else None,
            ),
            status=KueueWorkloadStatus(reclaimable_pods=_reclaimable(made, sets)),
        )

    def _priority(self, metadata: ObjectMeta, sets: tuple[KueuePodSet, ...]) -> tuple[KindReference | None, int]:
        """That of the class in the label, else of the first pod set that names a class."""
        if named := _label(metadata, PRIORITY_LABEL):
            kind = kind_of(WorkloadPriorityClass)
            found = self._cluster.objects(WorkloadPriorityClass).get(named)
            reference = KindReference(group=kind.group, kind=kind.name, name=named)
            return reference, found.value if found is not None else 0
        specs = [one.template.spec for one in sets]
        spec = next((one for one in specs if one.priority_class_name), specs[0])
        priority = priority_of(spec, self._cluster.priority_classes, self._default_priority)
        if not spec.priority_class_name:
            return None, priority
        group = "scheduling.k8s.io"
        return KindReference(group=group, kind="PriorityClass", name=spec.priority_class_name), priority

    def _with_quota(self, workload: KueueWorkload, nodes: set[str]) -> KueueWorkload:
        """As Kueue has admitted it; without its queue, or a charge, it stays as it is."""
        key = workload.metadata.namespace, workload.spec.queue_name
        local = self._cluster.objects(LocalQueue).get(key)
        queue = self._cluster.objects(ClusterQueue).get(local.spec.cluster_queue) if local is not None else None
        charge = self._counter.count(workload)
        if queue is None or not isinstance(charge, WorkloadCharge):
            return workload
        templates = {one.name: one.template for one in workload.spec.pod_sets or ()}
        assignments = tuple(
            self._assignment(one, queue, self._labels(nodes), templates[one.name]) for one in charge.pod_sets
        )
        time, name = workload.metadata.creation_timestamp, queue.metadata.name
        conditions = (
            Condition(
                type="QuotaReserved",
                status="True",
                reason="QuotaReserved",
                message=f"Quota reserved in ClusterQueue {name}",
                last_transition_time=time,
            ),
            Condition(
                type="Admitted",
                status="True",
                reason="Admitted",
                message="The workload is admitted",
                last_transition_time=time,
            ),
        )
        admission = Admission(cluster_queue=name, pod_set_assignments=assignments)
        return replace(workload, status=replace(workload.status, admission=admission, conditions=conditions))

    def _labels(self, nodes: set[str]) -> list[Mapping[str, str]]:
        return [
            self._cluster.nodes[name].metadata.labels or {} for name in sorted(nodes) if name in self._cluster.nodes
        ]

    def _assignment(
        self, charge: PodSetCharge, queue: ClusterQueue, nodes: list[Mapping[str, str]], template: PodTemplateSpec
    ) -> PodSetAssignment:
        """Of each group the first flavor whose labels the nodes have; without nodes, that the node selector allows."""
        selector = template.spec.node_selector or {}
        asked = {**charge.requests, "pods": charge.count}
        flavors: dict[str, str] = {}
        for group in queue.spec.resource_groups or ():
            names = [one.name for one in group.flavors or ()]
            fits = (name for name in names if self._is_of(name, nodes, selector))
            if flavor := next(fits, next(iter(names), "")):
                flavors.update((resource, flavor) for resource in group.covered_resources or () if resource in asked)
        usage: dict[str, QuantityText] = {name: _amount(name, asked[name]) for name in sorted(asked) if name in flavors}
        return PodSetAssignment(
            name=charge.name, flavors=dict(sorted(flavors.items())), resource_usage=usage, count=charge.count
        )

    def _is_of(self, flavor: str, nodes: list[Mapping[str, str]], selector: Mapping[str, str]) -> bool:
        found = self._cluster.objects(ResourceFlavor).get(flavor)
        labels = (found.spec.node_labels if found is not None else None) or {}
        if nodes:
            return all(labels.items() <= node.items() for node in nodes)
        return all(selector.get(key, value) == value for key, value in labels.items())


def _amount(resource: str, number: int) -> str:
    """An amount as a quantity: cpu is counted in thousandths."""
    return str(Quantity.from_nano(number * NANO // 1000)) if resource == "cpu" else str(number)


def _reclaimable(made: KubernetesObject, sets: tuple[KueuePodSet, ...]) -> tuple[ReclaimablePods, ...] | None:
    """Pods of a Job that has fewer completions left than it runs pods at once: the quota of these is free."""
    if not isinstance(made, Job) or made.status is None or made.spec.completions is None or sets[0].count < 2:
        return None
    free = sets[0].count - (made.spec.completions - (made.status.succeeded or 0))
    return (ReclaimablePods(name=sets[0].name, count=free),) if made.status.succeeded and free > 0 else None


def _template(pod: Pod) -> PodTemplateSpec:
    """The pod as a template, on no node yet."""
    metadata = ObjectMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    return PodTemplateSpec(metadata=metadata, spec=replace(pod.spec, node_name=None))


def _role(pod: Pod) -> str:
    """Pods of one role have one shape: the annotation says which, or a hash over the spec, which is drasat's own."""
    given = (pod.metadata.annotations or {}).get(ROLE_HASH) or _label(pod.metadata, ROLE_HASH)
    return given or sha256(msgspec.json.encode(_template(pod).spec)).hexdigest()[:_ROLE_DIGITS]


def _kind(owner: OwnerReference) -> GroupKind:
    return GroupKind(group_of(owner.api_version), owner.kind)


def _controller(metadata: ObjectMeta) -> OwnerReference | None:
    return next((one for one in metadata.owner_references or () if one.controller), None)


def _owners(workload: KueueWorkload) -> Iterator[_Owner]:
    namespace = key_of(workload.metadata)[0]
    return ((_kind(one), namespace, one.name) for one in workload.metadata.owner_references or ())


def _reference(made: KubernetesObject, controller: bool | None = True) -> OwnerReference:
    kind = kind_of(type(made))
    return OwnerReference(
        api_version=kind.api_versions()[0],
        kind=kind.name,
        name=made.metadata.name,
        uid=made.metadata.uid,
        controller=controller,
    )

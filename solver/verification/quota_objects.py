"""The objects of Kueue as checks of its documents read them: the tree of quota, and workloads with those of jobs.

A workload is an object of the input, or one that Kueue makes of a job, with the name that Kueue gives it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha1

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod
from ...models.kubernetes.kinds import WORKLOAD_MODELS, kind_of
from ...models.kubernetes.kueue import (
    ClusterQueue,
    Cohort,
    KueuePodSet,
    KueueWorkload,
    KueueWorkloadSpec,
    PodSetTopologyRequest,
    QuotaResourceGroup,
    WorkloadPriorityClass,
)
from ...models.kubernetes.meta import KubernetesObject, ObjectMeta, key_of
from ...models.kubernetes.operators import JobSet
from ...models.kubernetes.quantity import NANO, Quantity
from ...models.kubernetes.workloads import Job, JobSpec, PodTemplateSpec, StatefulSet, default_priority, priority_of
from ...models.workload.pod_sets import QUEUE_LABEL
from ...models.workload.quota import UNLIMITED, FlavorResource, QuotaHolder
from .quota import QuotaReplay
from .quota_charges import quota_amount

_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
_LEAST = "kueue.x-k8s.io/job-min-parallelism"
_TOPOLOGY = "kueue.x-k8s.io/podset-"
_LONGEST_PREFIX, _DIGITS = 247, 5


@dataclass(frozen=True, slots=True)
class FoundWorkload:
    """A workload, and whether the input has it as such: what a job holds from the start is not derived.

    ``owners`` are kind, namespace and name of what may own its pods; the last one is the workload or its job.
    """

    workload: KueueWorkload
    is_read: bool
    owners: tuple[tuple[str, str, str], ...]


class KueueObjects:
    """The workloads of a cluster by ``namespace/name``; ``complete`` unless there are jobs that are not read here."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.complete = True
        self.workloads: dict[str, FoundWorkload] = {}
        for one in cluster.objects(KueueWorkload).values():
            namespace, name = key_of(one.metadata)
            owners = [(owner.kind, namespace, owner.name) for owner in one.metadata.owner_references or ()]
            owners.append((kind_of(KueueWorkload).name, namespace, name))
            self.workloads[f"{namespace}/{name}"] = FoundWorkload(one, True, tuple(owners))
        for key, made, owner in self._of_jobs():
            self.workloads.setdefault(key, FoundWorkload(made, False, (owner,)))

    def workload(self, key: str) -> KueueWorkload | None:
        """The workload of this name, if it is known."""
        found = self.workloads.get(key)
        return found.workload if found is not None else None

    def _of_jobs(self) -> Iterator[tuple[str, KueueWorkload, tuple[str, str, str]]]:
        models = (one for one in WORKLOAD_MODELS if one is not KueueWorkload)
        owned = [one for model in models for one in self._cluster.objects(model).values()]
        for made in (owned, self._cluster.pods.values()):
            for one in made:
                labels = one.metadata.labels or {}
                if not labels.get(QUEUE_LABEL):
                    # Pods below it may name a queue in their template.
                    self.complete &= isinstance(one, Pod | Job | JobSet | StatefulSet)
                    continue
                sets = tuple(_pod_sets(one))
                if not sets or "kueue.x-k8s.io/pod-group-name" in labels:
                    self.complete = False
                    continue
                owner = kind_of(type(one)).name, *key_of(one.metadata)
                yield *self._workload(one, sets), owner

    def _workload(self, made: KubernetesObject, sets: tuple[KueuePodSet, ...]) -> tuple[str, KueueWorkload]:
        kind, (namespace, name) = kind_of(type(made)).group_kind, key_of(made.metadata)
        text = "\n".join((kind.kind, kind.group, name, made.metadata.uid))
        digest = sha1(text.encode(), usedforsecurity=False).hexdigest()[:_DIGITS]
        called = f"{kind.kind.lower()}-{name}"[:_LONGEST_PREFIX] + f"-{digest}"
        labels = made.metadata.labels or {}
        spec = KueueWorkloadSpec(pod_sets=sets, queue_name=labels[QUEUE_LABEL], priority=self._priority(labels, sets))
        return f"{namespace}/{called}", KueueWorkload(metadata=ObjectMeta(name=called, namespace=namespace), spec=spec)

    def _priority(self, labels: Mapping[str, str], sets: tuple[KueuePodSet, ...]) -> int:
        """That of the class in the label, else of the first pod set that names a class."""
        if named := labels.get(_PRIORITY_LABEL):
            found = self._cluster.objects(WorkloadPriorityClass).get(named)
            return found.value if found is not None else 0
        specs = [one.template.spec for one in sets]
        first = next((one for one in specs if one.priority_class_name), specs[0])
        classes = self._cluster.priority_classes
        return priority_of(first, classes, default_priority(classes))


def _pod_sets(made: KubernetesObject) -> Iterator[KueuePodSet]:
    """The pod sets of a job; none for a kind that is not read here."""
    if isinstance(made, Pod):
        metadata = ObjectMeta(labels=made.metadata.labels, annotations=made.metadata.annotations)
        yield _pod_set("main", 1, PodTemplateSpec(metadata=metadata, spec=made.spec))
    elif isinstance(made, Job):
        least = (made.metadata.annotations or {}).get(_LEAST, "")
        minimum = int(least) if least.isdecimal() and int(least) else None
        yield _pod_set("main", _at_once(made.spec), made.spec.template, minimum)
    elif isinstance(made, StatefulSet):
        replicas = made.spec.replicas
        yield _pod_set("main", 1 if replicas is None else max(0, replicas), made.spec.template)
    elif isinstance(made, JobSet):
        for one in made.spec.replicated_jobs or ():
            times = 1 if one.replicas is None else max(0, one.replicas)
            yield _pod_set(one.name, times * _at_once(one.template.spec), one.template.spec.template)


def _pod_set(name: str, count: int, template: PodTemplateSpec, least: int | None = None) -> KueuePodSet:
    marks = template.metadata.annotations or {}
    asked = any(key.startswith(_TOPOLOGY) for key in marks)
    group = marks.get(f"{_TOPOLOGY}group-name")
    request = PodSetTopologyRequest(pod_set_group_name=group) if asked else None
    return KueuePodSet(name=name.lower(), count=count, min_count=least, template=template, topology_request=request)


def _at_once(spec: JobSpec) -> int:
    """So many pods run at once: the parallelism, but no more than completions."""
    parallelism = 1 if spec.parallelism is None else max(0, spec.parallelism)
    return parallelism if spec.completions is None else min(parallelism, max(0, spec.completions))


@dataclass
class _Limits:
    """What is written of a queue or cohort, by flavor and resource."""

    nominal: dict[FlavorResource, int] = field(default_factory=dict)
    borrowing: dict[FlavorResource, int] = field(default_factory=dict)
    lending: dict[FlavorResource, int] = field(default_factory=dict)

    def read(self, groups: tuple[QuotaResourceGroup, ...]) -> None:
        """Add what resource groups say."""
        for group in groups:
            for flavor in group.flavors or ():
                for one in flavor.resources or ():
                    pair = flavor.name, one.name
                    self.nominal[pair] = quota_amount(one.name, one.nominal_quota)
                    if one.borrowing_limit is not None:
                        self.borrowing[pair] = quota_amount(one.name, one.borrowing_limit)
                    if one.lending_limit is not None:
                        self.lending[pair] = quota_amount(one.name, one.lending_limit)


class QuotaTreeReading:
    """Queues and cohorts as written (4.1): ``holders`` have a cohort before its children.

    ``places`` are their positions, by whether it is a queue and its name. ``cyclic`` are cohorts from which the way up
    has no end; what names them as its parent stands alone.
    """

    def __init__(self, cluster: Cluster) -> None:
        queues = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}
        cohorts = {one.metadata.name: one for one in cluster.objects(Cohort).values()}
        parents = {(False, name): one.spec.parent_name for name, one in cohorts.items()}
        parents.update({(True, name): one.spec.cohort_name for name, one in queues.items()})
        for name in [name for name in parents.values() if name]:
            parents.setdefault((False, name), "")
        self.cyclic = {name for is_queue, name in parents if not is_queue and not _ends(name, parents)}
        self._children: dict[str, list[tuple[bool, str]]] = defaultdict(list)
        for key, parent in parents.items():
            cut = parent in self.cyclic or (not key[0] and key[1] in self.cyclic)
            self._children["" if cut else parent].append(key)
        self.places: dict[tuple[bool, str], int] = {}
        holders: list[QuotaHolder] = []
        waiting: list[tuple[tuple[bool, str], int | None]] = [(key, None) for key in self._children[""]]
        while waiting:
            key, parent_place = waiting.pop(0)
            self.places[key] = len(holders)
            described = queues.get(key[1]) if key[0] else cohorts.get(key[1])
            limits, weight = _Limits(), Fraction(1)
            if described is not None:
                limits.read(described.spec.resource_groups or ())
                sharing = described.spec.fair_sharing
                if sharing is not None and sharing.weight is not None:
                    weight = Fraction(Quantity.parse(sharing.weight).nano, NANO)
            below = parent_place is not None
            holder = QuotaHolder(
                key[1],
                parent_place,
                not key[0],
                limits.nominal,
                limits.borrowing if below else {},
                limits.lending if below else {},
                weight=weight,
            )
            holders.append(holder)
            if not key[0]:
                waiting += [(child, self.places[key]) for child in self._children.get(key[1], ())]
        self.holders = tuple(holders)

    def queues_below(self, place: int) -> list[str]:
        """The names of the queues of a subtree."""
        holder = self.holders[place]
        if not holder.is_cohort:
            return [holder.name]
        return [name for child in self._children.get(holder.name, ()) for name in self.queues_below(self.places[child])]

    def queues_beside(self, queue: str) -> list[str]:
        """The names of all queues of the tree that a queue is in."""
        place = self.places[True, queue]
        while (parent := self.holders[place].parent) is not None:
            place = parent
        return self.queues_below(place)

    def share(self, replay: QuotaReplay, place: int) -> Fraction | None:
        """The weighted share of a node, in thousandths (4.8); None is infinite."""
        holder = self.holders[place]
        if holder.parent is None:
            return Fraction(0)
        borrowed: dict[str, int] = defaultdict(int)
        lendable: dict[str, int] = defaultdict(int)
        for pair in {pair for one in self.holders for pair in one.nominal}:
            quota, _, used = replay.amounts(place, pair)
            borrowed[pair[1]] += max(0, used - quota)
            lendable[pair[1]] += replay.potential(holder.parent, pair)
        ratios = [
            Fraction(amount * 1000, min(UNLIMITED, lendable[name]))
            for name, amount in borrowed.items()
            if amount and lendable[name]
        ]
        if not ratios:
            return Fraction(0)
        return max(ratios) / holder.weight if holder.weight else None


def _ends(name: str, parents: Mapping[tuple[bool, str], str]) -> bool:
    """Whether the way up from a cohort ends."""
    seen: set[str] = set()
    while name and name not in seen:
        seen.add(name)
        name = parents.get((False, name), "")
    return not name

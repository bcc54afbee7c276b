"""The queue: what is to be planned, as sets of equal units in the order read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ..cluster.cluster import Cluster
from ..formats.gc import gc_young_only
from ..kubernetes import extensions
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.core import Pod
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey, ObjectMeta, matches_labels, parse_label_selector
from ..kubernetes.workloads import Deployment, Job, PodController, ReplicaSet, StatefulSet
from ..manifests.writer import is_allocated
from . import unit_classes
from .expansion import missing_replicas
from .gangs import GangCollector, GangKey, split_by_groups
from .node_room import running_pods
from .requests import backed_resources
from .units import is_deleting, is_finished_or_deleting

MOST_UNITS = 1_000_000
"""More units than so many are not planned: each of them is an object, and a manifest may ask for any number."""
_SINGLE_REPLICA = range(1)
_CONTROLLERS: dict[unit_classes.ControllerKind, type[Any]] = {
    "Job": Job,
    "Deployment": Deployment,
    "StatefulSet": StatefulSet,
    "ReplicaSet": ReplicaSet,
}


def read_queue(
    cluster: Cluster,
    *,
    namespace: str | None = None,
    selector: str = "",
    gates: FeatureGates | None = None,
    value: str = extensions.VALUE_ANNOTATION,
) -> tuple[unit_classes.UnitSet, ...]:
    """Everything that waits: pods, pods that Jobs, Deployments, StatefulSets and ReplicaSets lack, and loose claims.

    Pods that run are given (``running_pods``). ``namespace`` and ``selector`` (kubectl's label syntax, on the pod, its
    template or the loose claim) narrow it. ``gates`` decides whether classes back extended resources. ``value`` names
    the annotation that holds the weight of a unit; without it a unit weighs 1.
    Raises ``ValueError``, one line, for a bad selector, an annotation that cannot be read (objects made in Python, or
    one of the caller's own), members of a gang that contradict each other, and more units than ``MOST_UNITS``.
    """
    with gc_young_only():
        found = _QueueReader(cluster, gates, value).sets()
        if namespace is not None or selector:
            requirements = parse_label_selector(selector)
            near = ((one, one.pod or one.claim) for one in found if namespace in (None, one.namespace))
            found = [one for one, read in near if matches_labels(requirements, read.metadata.labels if read else None)]
        total = sum(one.replicas for one in found)
        if total > MOST_UNITS:
            raise ValueError(f"the queue has {total:,} units, and no more than {MOST_UNITS:,} are planned")
        return tuple(split_by_groups(cluster, found) if cluster.constraint_groups else found)


class _QueueReader:
    """Reads the objects of a cluster into sets."""

    def __init__(self, cluster: Cluster, gates: FeatureGates | None, value: str) -> None:
        self._cluster = cluster
        self._value = value
        self._keys = (
            extensions.GANG_ANNOTATION,
            extensions.GANG_DOMAIN_ANNOTATION,
            extensions.REPLICAS_ANNOTATION,
            extensions.VALUE_ANNOTATION,
            value,
        )
        self._read: dict[tuple[str | None, ...], extensions.PlanAnnotations] = {}
        self._makers: dict[unit_classes.ControllerKind, Mapping[ObjectKey, PodController]] = {
            "Job": cluster.jobs,
            "Deployment": cluster.deployments,
            "StatefulSet": cluster.stateful_sets,
            "ReplicaSet": cluster.replica_sets,
        }
        self._replicas = missing_replicas(cluster)
        self._gangs = GangCollector(cluster)
        self._shapes = unit_classes.UnitShapes(cluster, backed_resources(cluster, gates))
        self._claims = unit_classes.ClaimShapeResolver(cluster, self._shapes.claims, self._copies())
        self._prefixes = set(cluster.stateful_sets)
        self._members: dict[tuple[unit_classes.OwnerKind, str, str], GangKey] = {}

    def sets(self) -> list[unit_classes.UnitSet]:
        """All sets, in the order read."""
        running = running_pods(self._cluster)
        for key, pod in running.items():
            if pod.metadata.annotations or pod.spec.grouped:
                gang = self._gangs.join(key[0], self._annotations_of("Pod", key, pod.metadata.annotations), pod.spec)
                if gang is not None and pod.spec.node_name:
                    self._gangs.record_running_member(gang, pod.spec.node_name)
        pods, claims = self._cluster.pods, self._cluster.claims
        objects: dict[type[Any], Mapping[ObjectKey, Any]] = {Pod: pods, ResourceClaim: claims}
        objects.update((_CONTROLLERS[kind], made) for kind, made in self._makers.items())
        kinds: dict[type[Any], unit_classes.OwnerKind] = {Pod: "Pod", ResourceClaim: "ResourceClaim"}
        kinds.update((model, kind) for kind, model in _CONTROLLERS.items())
        sets = (self._set(kinds[model], key, running) for model, key in self._cluster.in_read_order(objects))
        return self._with_gangs([one for one in sets if one is not None])

    def _copies(self) -> Iterator[unit_classes.TemplateCopies]:
        for (kind, key), numbers in self._replicas.items():
            yield key[0], self._makers[kind][key].spec.template, len(numbers)

    def _set(
        self, kind: unit_classes.OwnerKind, key: ObjectKey, running: Mapping[ObjectKey, Pod]
    ) -> unit_classes.UnitSet | None:
        if kind == "Pod":
            pod = self._cluster.pods[key]
            return None if is_finished_or_deleting(pod) or key in running else self._pod_set(key, pod)
        if kind == "ResourceClaim":
            claim = self._cluster.claims[key]
            waits = self._claims.is_loose(key) and not is_allocated(claim) and not is_deleting(claim.metadata)
            return self._claim_set(key, claim) if waits else None
        return self._maker_set(kind, key)

    def _pod_set(self, key: ObjectKey, pod: Pod) -> unit_classes.UnitSet:
        annotations = self._annotations_of("Pod", key, pod.metadata.annotations)
        shape = self._shapes.of_pod(pod, self._claims.of_pod(key, pod), _unit_weight(annotations))
        one = unit_classes.UnitSet("Pod", *key, _replica_numbers(annotations), shape, shape.signature, None, pod)
        plain = annotations is extensions.NO_PLAN_ANNOTATIONS and not pod.spec.grouped
        return one if plain else self._with_annotations(one, annotations)

    def _claim_set(self, key: ObjectKey, claim: ResourceClaim) -> unit_classes.UnitSet:
        annotations = self._annotations_of("ResourceClaim", key, claim.metadata.annotations)
        shape = self._shapes.of_claim(self._claims.of_loose(claim), _unit_weight(annotations))
        one = unit_classes.UnitSet(
            "ResourceClaim", *key, _replica_numbers(annotations), shape, shape.signature, None, None, claim
        )
        return one if annotations is extensions.NO_PLAN_ANNOTATIONS else self._with_annotations(one, annotations)

    def _maker_set(self, kind: unit_classes.ControllerKind, key: ObjectKey) -> unit_classes.UnitSet | None:
        numbers = self._replicas.get((kind, key))
        if not numbers:
            return None
        made = self._makers[kind][key]
        template = made.spec.template
        prefix = key[1] if kind == "StatefulSet" else self._name_prefix(kind, key, numbers)
        # The template's annotations count before those of its owner.
        texts = {**(made.metadata.annotations or {}), **(template.metadata.annotations or {})} or None
        metadata = ObjectMeta(name=prefix, namespace=key[0], labels=template.metadata.labels, annotations=texts)
        pod = Pod(metadata=metadata, spec=template.spec)
        annotations = self._annotations_of(kind, key, pod.metadata.annotations)
        shape = self._shapes.of_pod(pod, self._claims.of_template(key[0], template), _unit_weight(annotations))
        one = unit_classes.UnitSet(
            kind, *key, numbers, shape, shape.signature, None, pod, name_prefix=prefix, is_copied=True
        )
        return self._with_annotations(one, annotations)

    def _with_annotations(
        self, one: unit_classes.UnitSet, annotations: extensions.PlanAnnotations
    ) -> unit_classes.UnitSet:
        """The set with what its annotations say, and noted if it is in a gang."""
        gang = self._gangs.join(one.namespace, annotations, one.pod.spec if one.pod else None)
        if gang is not None:
            self._members[one.kind, one.namespace, one.name] = gang
        return one if annotations.replicas is None else one._replace(name_prefix=one.name, is_copied=True)

    def _with_gangs(self, sets: list[unit_classes.UnitSet]) -> list[unit_classes.UnitSet]:
        """The sets with their gangs, which are known when all members are; units are alike in one gang only."""
        if not self._members:
            return sets
        gangs = {key: self._gangs.gang(key) for key in self._members.values()}
        signatures: dict[tuple[bytes, GangKey], bytes] = {}
        found = []
        for one in sets:
            key = self._members.get((one.kind, one.namespace, one.name))
            gang = gangs[key] if key else None
            if key is None or gang is None:
                found.append(one)
                continue
            both = one.signature, key
            if both not in signatures:
                signatures[both] = unit_classes.signature_of(*both)
            found.append(one._replace(gang=gang, signature=signatures[both]))
        return found

    def _name_prefix(self, kind: str, key: ObjectKey, numbers: Sequence[int]) -> str:
        """What the names of made pods begin with: the owner's name, with its kind behind if other pods have them."""
        there = any((key[0], f"{key[1]}-{number}") in self._cluster.pods for number in numbers)
        prefix = f"{key[1]}-{kind.lower()}" if there or key in self._prefixes else key[1]
        self._prefixes.add((key[0], prefix))
        return prefix

    def _annotations_of(
        self, kind: str, key: ObjectKey, annotations: Mapping[str, str] | None
    ) -> extensions.PlanAnnotations:
        if not annotations:
            return extensions.NO_PLAN_ANNOTATIONS
        texts = tuple(map(annotations.get, self._keys))
        if texts not in self._read:
            try:
                self._read[texts] = extensions.read_annotations(annotations, self._value)
            except extensions.AnnotationError as error:
                raise extensions.AnnotationError(f"{kind} {key[0]}/{key[1]}: {error}") from None
        return self._read[texts]


def _replica_numbers(annotations: extensions.PlanAnnotations) -> Sequence[int]:
    return _SINGLE_REPLICA if annotations.replicas is None else range(annotations.replicas)


def _unit_weight(annotations: extensions.PlanAnnotations) -> Decimal:
    return extensions.DEFAULT_VALUE if annotations.value is None else annotations.value

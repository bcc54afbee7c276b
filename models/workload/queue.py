"""The queue: what is to be planned, as sets of equal units in the order read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, cast

from ..cluster.cluster import Cluster
from ..formats.runtime import gc_young_only
from ..kubernetes import extensions
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.core import Pod
from ..kubernetes.gates import FeatureGates
from ..kubernetes.kinds import kind_of
from ..kubernetes.meta import ObjectKey, matches_labels, parse_label_selector
from . import unit_classes
from .controllers import MissingPods, read_controllers
from .expansion import copy_of_pod
from .gangs import COVERAGE, GangCollector, GangKey, split_by_groups
from .node_room import device_resources, running_pods
from .pod_sets import KindGang, Look, check_number_of_units, looking
from .requests import backed_resources
from .units import is_finished_or_deleting, is_group_claim, is_open_claim

_SINGLE_REPLICA = range(1)


class GroupSelection(NamedTuple):
    """A part of the queue: the members of a group, and what is ``beside`` them by kind and key.

    Just so many members as ``exactly`` says are placed, or none; without it as many as the group asks for, or more.
    """

    key: GangKey
    beside: frozenset[tuple[str, ObjectKey]] = frozenset()
    exactly: int | None = None

    def has(self, one: unit_classes.UnitSet, gang: GangKey | None, keys: Container[GangKey]) -> bool:
        """Whether a set with this gang is in it, where the group consists of those with these keys."""
        return gang in keys or (one.kind, (one.namespace, one.name)) in self.beside

    def limited(self, key: GangKey, gang: unit_classes.Gang | None) -> unit_classes.Gang | None:
        """The gang with this key, as large as it has to be."""
        if self.exactly is None or key != self.key:
            return gang
        gang = gang or unit_classes.Gang(*key, 0)
        return replace(gang, minimum=self.exactly + len(gang.running_nodes), most=self.exactly)


def read_queue(
    cluster: Cluster,
    *,
    namespace: str | None = None,
    selector: str = "",
    gates: FeatureGates | None = None,
    value: str = extensions.VALUE_ANNOTATION,
    natural_gangs: bool = False,
    group: GroupSelection | None = None,
    prefers: bool = False,
    look: Look | None = None,
) -> tuple[unit_classes.UnitSet, ...]:
    """Everything that waits: pods of DaemonSets, then pods, pods that other controllers lack, and loose claims.

    Pods that run are given (``running_pods``). ``namespace`` and ``selector`` (kubectl's label syntax, on the pod, its
    template or the loose claim) narrow it. ``gates`` decides whether classes back extended resources. ``value`` names
    the annotation that holds the weight of a unit; without it a unit weighs 1. With ``natural_gangs`` pods that are of
    no use alone are a gang. With a ``group`` only what it names is there. With ``prefers`` units differ by what they
    prefer. ``look`` is called after every few objects, and what it raises ends the reading.
    Raises ``ValueError``, one line, for a bad selector, an annotation that cannot be read (objects made in Python, or
    one of the caller's own), members of a gang that contradict each other, and more units than ``MOST_UNITS``.
    """
    with gc_young_only():
        found = _QueueReader(cluster, gates, value, natural_gangs, prefers, look).sets(group)
        if namespace is not None or selector:
            requirements = parse_label_selector(selector)
            near = ((one, one.pod or one.claim) for one in found if namespace in (None, one.namespace))
            found = [one for one, read in near if matches_labels(requirements, read.metadata.labels if read else None)]
        check_number_of_units(sum(one.replicas for one in found))
        return tuple(split_by_groups(cluster, found) if cluster.constraint_groups else found)


@dataclass(slots=True)
class GroupMembers:
    """The members of a group: how many wait, and which pods run.

    ``gang`` is None for a group that asks for nothing, and for one of groups, which ``is_tree`` says. Of such a one
    ``is_satisfied`` says whether enough of its groups run.
    """

    waiting: int = 0
    running: list[ObjectKey] = field(default_factory=list)
    gang: unit_classes.Gang | None = None
    is_tree: bool = False
    is_satisfied: bool = False


def read_groups(cluster: Cluster, gates: FeatureGates | None, *, natural_gangs: bool) -> Mapping[GangKey, GroupMembers]:
    """All groups of pods that run or wait, and PodGroups without pods, by name. Raises as ``read_queue`` does."""
    with gc_young_only():
        return _QueueReader(cluster, gates, extensions.VALUE_ANNOTATION, natural_gangs, prefers=False).groups()


_JoinedSet = tuple[unit_classes.UnitSet, GangKey | None]
"""A set, and the key of its gang."""


class _QueueReader:
    """Reads the objects of a cluster into sets."""

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates | None,
        value: str,
        natural_gangs: bool,
        prefers: bool,
        look: Look | None = None,
    ) -> None:
        self._cluster = cluster
        self._look = look
        self._value = value
        self._keys = (
            extensions.GANG_ANNOTATION,
            extensions.GANG_DOMAIN_ANNOTATION,
            extensions.REPLICAS_ANNOTATION,
            extensions.VALUE_ANNOTATION,
            extensions.COVERAGE_ANNOTATION,
            value,
        )
        self._read: dict[tuple[str | None, ...], extensions.PlanAnnotations] = {}
        self._controllers = read_controllers(cluster, natural_gangs=natural_gangs, look=look)
        self._gangs = GangCollector(cluster, gates)
        self._shapes = unit_classes.UnitShapes(
            cluster, backed_resources(cluster, gates), device_resources(cluster, gates), prefers=prefers
        )
        self._claims = unit_classes.ClaimShapeResolver(cluster, self._shapes.claims, self._copies())

    def sets(self, group: GroupSelection | None = None) -> list[unit_classes.UnitSet]:
        """All sets: those of DaemonSets first, which are part of their nodes, and the others in the order read."""
        pairs = self._joined_sets()
        if group is not None:
            keys = self._gangs.groups_below(group.key)
            pairs = [pair for pair in pairs if group.has(*pair, keys)]
        return self._with_gangs(pairs, group)

    def groups(self) -> Mapping[GangKey, GroupMembers]:
        """All groups that are placed together by their keys, in the order of the keys."""
        found: dict[GangKey, GroupMembers] = defaultdict(GroupMembers)
        found.update((("PodGroup", *key), GroupMembers()) for key in self._cluster.pod_groups)
        for one, group in self._joined_sets():
            if group is not None and group[0] != COVERAGE:
                found[group].waiting += one.replicas
        for key, group, _ in self._running_members():
            if group[0] != COVERAGE:
                found[group].running.append(key)
        known = {key: replace(members, gang=self._gangs.gang(key)) for key, members in sorted(found.items())}
        trees: dict[GangKey, GroupMembers] = defaultdict(GroupMembers)
        for members in known.values():
            for parent in members.gang.parents if members.gang else ():
                trees[parent.key].is_tree = True
                trees[parent.key].is_satisfied = not parent.needed
                trees[parent.key].waiting += members.waiting
                trees[parent.key].running += members.running
        return {**known, **trees}

    def _running_members(self) -> Iterator[tuple[ObjectKey, GangKey, Decimal]]:
        """Yield running pods with their groups, and with what they add to a coverage group."""
        for key, pod in looking(running_pods(self._cluster).items(), self._look):
            if pod.spec.node_name and self._may_be_in_gang(key, pod, pod.metadata.annotations):
                annotations = self._annotations_of("Pod", key, pod.metadata.annotations)
                gang = self._gangs.join(key[0], annotations, pod, self._controllers.gangs.get(key))
                if gang is not None:
                    coverage = annotations.coverage
                    yield key, gang, Decimal(0) if coverage is None else coverage.value

    def _joined_sets(self) -> list[_JoinedSet]:
        running = running_pods(self._cluster)
        for key, gang, coverage in self._running_members():
            self._gangs.record_running_member(gang, running[key].spec.node_name or "", coverage)
        objects: dict[type[Any], dict[ObjectKey, Any]] = defaultdict(dict)
        objects.update({Pod: dict(self._cluster.pods), ResourceClaim: dict(self._cluster.claims)})
        for model, key in self._controllers.missing:
            objects[model][key] = None
        ordered = looking(self._cluster.in_read_order(objects), self._look)
        found = [pair for model, key in ordered for pair in self._sets_of(model, key, running)]
        if self._claims.owners:
            # A pod that is to be made may have a claim that was read before it.
            found = [
                pair
                for pair in found
                if pair[0].claim is None or self._claims.is_loose((pair[0].namespace, pair[0].name))
            ]
        found.sort(key=lambda pair: not pair[0].node)
        return found

    def _copies(self) -> Iterator[unit_classes.TemplateCopies]:
        for missing in self._controllers.missing.values():
            for one in missing.sets:
                yield missing.key[0], one.template, len(one.numbers)

    def _sets_of(self, model: type[Any], key: ObjectKey, running: Mapping[ObjectKey, Pod]) -> Iterator[_JoinedSet]:
        if model is Pod:
            pod = self._cluster.pods[key]
            if not is_finished_or_deleting(pod) and key not in running:
                yield self._pod_set(key, pod)
        elif model is ResourceClaim:
            claim = self._cluster.claims[key]
            if self._claims.is_loose(key) and is_open_claim(claim) and not is_group_claim(claim):
                yield self._claim_set(key, claim)
        else:
            yield from self._maker_sets(self._controllers.missing[model, key])

    def _may_be_in_gang(self, key: ObjectKey, pod: Pod, annotations: object) -> bool:
        """Whether it is worth looking; most pods have neither annotations nor groups."""
        others = self._gangs.has_foreign_groups or key in self._controllers.gangs
        return bool(annotations) or pod.spec.grouped or others

    def _pod_set(self, key: ObjectKey, pod: Pod) -> _JoinedSet:
        annotations = self._annotations_of("Pod", key, pod.metadata.annotations)
        claims, weight = self._claims.of_pod(key, pod), _unit_weight(annotations)
        shape = self._shapes.of_pod(pod, claims, weight, self._gangs.group_priority(key[0], pod.spec))
        one = unit_classes.UnitSet("Pod", *key, _replica_numbers(annotations), shape, shape.signature, None, pod)
        said = annotations is not extensions.NO_PLAN_ANNOTATIONS
        if not self._may_be_in_gang(key, pod, said):
            return one, None
        return self._with_annotations(one, annotations, self._controllers.gangs.get(key))

    def _claim_set(self, key: ObjectKey, claim: ResourceClaim) -> _JoinedSet:
        annotations = self._annotations_of("ResourceClaim", key, claim.metadata.annotations)
        shape = self._shapes.of_claim(self._claims.of_loose(claim), _unit_weight(annotations))
        one = unit_classes.UnitSet(
            "ResourceClaim", *key, _replica_numbers(annotations), shape, shape.signature, None, None, claim
        )
        plain = annotations is extensions.NO_PLAN_ANNOTATIONS
        return (one, None) if plain else self._with_annotations(one, annotations)

    def _maker_sets(self, missing: MissingPods) -> Iterator[_JoinedSet]:
        """The sets of a controller; with several of them replicas are counted through all."""
        kind, key, first = cast("unit_classes.ControllerKind", kind_of(missing.model).name), missing.key, 0
        for one in missing.sets:
            pod = one.pod()
            annotations = self._annotations_of(kind, key, pod.metadata.annotations)
            claims, weight = self._claims.of_template(key[0], one.template), _unit_weight(annotations)
            shape = self._shapes.of_pod(pod, claims, weight, self._gangs.group_priority(key[0], pod.spec))
            found = unit_classes.UnitSet(
                kind, *key, one.numbers, shape, shape.signature, None, pod, name_prefix=one.prefix, is_copied=True
            )
            if not missing.is_single:
                names = one.numbers if one.is_numbered else ()
                numbers = range(first, first + len(one.numbers))
                found = found._replace(numbers=numbers, first=first, name_numbers=names, node=one.node)
            first += len(one.numbers)
            for part in self._by_claims(found, pod, weight):
                yield self._with_annotations(part, annotations, one.gang)

    def _by_claims(self, made: unit_classes.UnitSet, pod: Pod, weight: Decimal) -> Iterator[unit_classes.UnitSet]:
        """The set, or its parts in order: pods that claims of the input were made for are not like the others."""
        owners, parts = self._claims.owners, list[tuple[unit_classes.UnitShape, list[int]]]()
        for number in made.numbers if owners else ():
            shape, name = made.shape, made.unit_name(number)
            if (made.namespace, name) in owners:
                copy = copy_of_pod(pod, name)
                priority = self._gangs.group_priority(made.namespace, pod.spec)
                shape = self._shapes.of_pod(copy, self._claims.of_made_pod(copy), weight, priority)
            if not parts or parts[-1][0] is not shape:
                parts.append((shape, []))
            parts[-1][1].append(number)
        if len(parts) < 2 and all(shape is made.shape for shape, _ in parts):
            yield made
            return
        yield from (made._replace(numbers=own, shape=one, signature=one.signature) for one, own in parts)

    def _with_annotations(
        self, one: unit_classes.UnitSet, annotations: extensions.PlanAnnotations, own: KindGang | None = None
    ) -> _JoinedSet:
        """The set with what its annotations say, and the key of its gang."""
        gang = self._gangs.join(one.namespace, annotations, one.pod, own)
        if annotations.coverage is not None:
            one = one._replace(coverage=annotations.coverage.value)
        return (one if annotations.replicas is None else one._replace(name_prefix=one.name, is_copied=True)), gang

    def _with_gangs(self, sets: list[_JoinedSet], group: GroupSelection | None) -> list[unit_classes.UnitSet]:
        """The sets with their gangs, which are known when all members are; units are alike in one gang only."""
        gangs = {key: self._gangs.gang(key) for _, key in sets if key is not None}
        gangs = {key: group.limited(key, gang) for key, gang in gangs.items()} if group else gangs
        signatures: dict[tuple[bytes, GangKey, Decimal], bytes] = {}
        found = []
        for one, key in sets:
            gang = gangs[key] if key else None
            if key is None or gang is None:
                found.append(one)
                continue
            parts = one.signature, key, one.coverage
            if parts not in signatures:
                signatures[parts] = unit_classes.signature_of(*parts)
            found.append(one._replace(gang=gang, signature=signatures[parts]))
        return found

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

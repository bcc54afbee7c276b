"""The pods that controllers make and that are not there yet: what each object asks for, less the pods of the input.

``controller_kinds`` has the table of kinds. Objects that another one of the input makes are a part of that: the lowest
objects that exist count, and what is missing between them and the top is made as the controller would (KND-7).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..cluster.cluster import Cluster
from ..kubernetes.claims import ResourceClaim
from ..kubernetes.core import Pod
from ..kubernetes.kinds import GroupKind, group_of, kind_of
from ..kubernetes.kueue import ClusterQueue, KueueWorkload
from ..kubernetes.meta import KubernetesObject, ObjectKey, OwnerReference, key_of
from ..kubernetes.serving import ComputeDomain
from .pod_defaults import PodDefaults
from .pod_sets import MOST_UNITS, QUEUE_LABEL, SUSPENDED, Child, KindGang, Look, Maker, PodSet, looking
from .units import is_finished_or_deleting

_LONGEST_CHAIN = 8
_NAMED_IN_NOTICE = 3


class MissingPods(NamedTuple):
    """The sets of pods that an object of the input still has to make; ``model`` and ``key`` say which object.

    ``is_single``: the object makes pods of one set only, and none with a node of its own.
    """

    model: type[Any]
    key: ObjectKey
    sets: tuple[PodSet, ...]
    is_single: bool = True


@dataclass(slots=True)
class ControllerReading:
    """What ``ControllerReader`` found.

    ``gangs`` are those of pods of the input that belong to a set with a gang. ``notices`` say what is not planned.
    """

    missing: dict[tuple[type[Any], ObjectKey], MissingPods] = field(default_factory=dict)
    gangs: dict[ObjectKey, KindGang] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def read_controllers(cluster: Cluster, *, natural_gangs: bool = False, look: Look | None = None) -> ControllerReading:
    """The pods that the controllers of the input lack. Raises ``ValueError`` for too many objects.

    With ``natural_gangs`` pods that are of no use alone, such as those of a LeaderWorkerSet's group, are a gang.
    ``look`` is called after every few objects.
    """
    if not cluster.workload_objects and not cluster.objects(KueueWorkload):
        return ControllerReading()
    key = "controllers", natural_gangs
    return cluster.memo(key, lambda: ControllerReader(cluster, natural_gangs).read(look))


class ControllerReader:
    """Walks from the top objects of the input to the pods."""

    def __init__(self, cluster: Cluster, natural_gangs: bool) -> None:
        # Many clusters have no controllers.
        from .controller_kinds import CONTROLLERS

        self._rows = CONTROLLERS
        self._has_queues = bool(cluster.objects(ClusterQueue))
        self.cluster = cluster
        self.natural_gangs = natural_gangs
        kinds = ((kind_of(model).group_kind, model) for model in CONTROLLERS)
        self._controllers: dict[Maker, KubernetesObject] = {
            Maker(kind, *key): made for kind, model in kinds for key, made in cluster.objects(model).items()
        }
        self._kind_names = {kind_of(model).name: kind_of(model).group_kind for model in CONTROLLERS}
        self._owned: dict[Maker, list[Maker]] = defaultdict(list)
        for maker, made in self._controllers.items():
            if not made.metadata.owner_references:
                continue
            for owner in self._owners(maker.namespace, made.metadata.owner_references):
                self._owned[owner].append(maker)
        self._adopted: set[Maker] = set()
        self._notices: dict[str, list[str]] = {}
        self._count = 0

    def read(self, look: Look | None = None) -> ControllerReading:
        """Read all controllers, those that nothing of the input owns first; ``look`` is called after every few."""
        roots: dict[Maker, list[PodSet]] = {}
        for maker in looking(sorted(self._controllers, key=self._depth), look):
            if maker not in self._adopted and not self._is_left_to_owner(maker):
                self._adopted.add(maker)
                roots[maker] = list(self._expand(maker, self._controllers[maker]))
        found = ControllerReading()
        there = self._pods_by_maker({one.maker for sets in roots.values() for one in sets})
        by_maker: dict[Maker, list[PodSet]] = defaultdict(list)
        for sets in roots.values():
            for one in sets:
                by_maker[one.maker].append(one)
        taken = {id(one): left for maker, sets in by_maker.items() for one, left in _less(sets, there.get(maker, {}))}
        for maker, pods in there.items():
            found.gangs.update(_gangs_of_pods(by_maker[maker], pods))
        prefixes = {(one.maker.namespace, one.prefix) for sets in roots.values() for one in sets if one.is_named}
        complete = PodDefaults.of(self.cluster).template
        for model, key in looking(self.cluster.in_read_order(self._keys_of(roots)), look):
            maker = Maker(kind_of(model).group_kind, *key)
            sets = roots[maker]
            left = []
            for one in sets:
                if numbers := taken[id(one)]:
                    template = complete(key[0], one.template, of_pods=True)
                    plain = numbers is one.numbers and template is one.template
                    left.append(one if plain else one._replace(numbers=numbers, template=template))
            named = tuple([self._with_own_prefix(one, kind_of(model).name, prefixes) for one in left])
            if named:
                found.missing[model, key] = MissingPods(model, key, named, len(sets) == 1 and sets[0].is_numbered)
        for domain in self.cluster.objects(ComputeDomain).values():
            self.note(_DOMAIN_NOTICE, domain)
        found.notices = tuple(_notice_line(text, names) for text, names in self._notices.items())
        return found

    def note(self, text: str, made: KubernetesObject) -> None:
        """Say something about an object; objects of which the same is said share a line."""
        self._notices.setdefault(text, []).append(f"{type(made).__name__} {'/'.join(key_of(made.metadata))}")

    def counted(self, made: KubernetesObject, count: int) -> range:
        """The numbers of objects that another one makes. Raises ``ValueError`` for too many in all; one line."""
        self._count += count
        if self._count > MOST_UNITS:
            name = f"{type(made).__name__} {'/'.join(key_of(made.metadata))}"
            raise ValueError(f"{name} makes too many objects: no more than {MOST_UNITS:,} are planned in all")
        return range(count)

    def pods_of(self, made: KubernetesObject) -> list[Pod]:
        """The pods that name this object as their controller."""
        keys = self._pods_by_owner().get((kind_of(type(made)).name, *key_of(made.metadata)), ())
        return [self.cluster.pods[key] for key in keys]

    def has_object(self, reference: OwnerReference, namespace: str) -> bool:
        """Whether an object that another one names as its owner is in the input, or has pods there."""
        if any(one in self._controllers for one in self._owners(namespace, (reference,))):
            return True
        return bool(self._pods_by_owner().get((reference.kind, namespace, reference.name)))

    def _expand(
        self, maker: Maker, made: KubernetesObject, gang: KindGang | None = None, *, is_queued: bool = False
    ) -> Iterator[PodSet]:
        row = self._rows[type(made)]
        reason = row.why_not(made)
        # Kueue suspends what waits for quota.
        is_queued |= self._has_queues and QUEUE_LABEL in (made.metadata.labels or ())
        if reason and not (reason == SUSPENDED and is_queued):
            self.note(reason, made)
            return
        marks = made.metadata.annotations or {}
        for part in row.make(made, self):
            if isinstance(part, PodSet):
                plain = not marks and gang is None
                yield (
                    part if plain else part._replace(annotations={**marks, **part.annotations}, gang=gang or part.gang)
                )
                continue
            below = self._adopt(maker, part)
            child = self._controllers.get(below, part.made)
            for one in self._expand(below, child, gang or part.gang, is_queued=is_queued):
                yield one._replace(annotations={**marks, **one.annotations}) if marks else one

    def _adopt(self, parent: Maker, child: Child) -> Maker:
        """The object of the input that the parent made for this child, or the child that is still to be made."""
        kind = kind_of(type(child.made)).group_kind
        made = Maker(kind, *key_of(child.made.metadata))
        own = [one for one in self._owned[parent] if one.kind == kind and one not in self._adopted]
        fitting = [one for one in own if child.generated or one == made]
        found = fitting[0] if fitting else made
        self._adopted.add(found)
        return found

    def _keys_of(self, roots: Iterable[Maker]) -> dict[type[Any], dict[ObjectKey, Any]]:
        found: dict[type[Any], dict[ObjectKey, Any]] = {ResourceClaim: {}}
        for maker in roots:
            found.setdefault(type(self._controllers[maker]), {})[maker.namespace, maker.name] = None
        return found

    def _with_own_prefix(self, one: PodSet, kind: str, prefixes: set[tuple[str, str]]) -> PodSet:
        """The set with names that no other pod has: with the kind behind the prefix if some have such names."""
        if one.is_named:
            return one
        namespace = one.maker.namespace
        known = self._numbers_in_names().get((namespace, one.prefix), ())
        there = (namespace, one.prefix) in prefixes or (known and any(number in one.numbers for number in known))
        prefix = f"{one.prefix}-{kind.lower()}" if there else one.prefix
        prefixes.add((namespace, prefix))
        return one if prefix == one.prefix else one._replace(prefix=prefix)

    def _numbers_in_names(self) -> Mapping[tuple[str, str], Sequence[int]]:
        """The numbers behind the names of pods, by namespace and the rest of the name."""
        return self.cluster.memo("numbers in names", lambda: _numbers_in_names(self.cluster))

    def _is_left_to_owner(self, maker: Maker) -> bool:
        """Whether some owner above plans the pods of such objects itself, as a Deployment does for ReplicaSets."""
        made = self._controllers[maker]
        if not made.metadata.owner_references:
            return False
        return any(
            type(made) in self._rows[type(self._controllers[above])].adopts
            for above in self._ancestors(maker.namespace, made)
            if above in self._controllers
        )

    def _depth(self, maker: Maker) -> int:
        made = self._controllers[maker]
        if not made.metadata.owner_references:
            return 0
        return sum(one in self._controllers for one in self._ancestors(maker.namespace, made))

    def _ancestors(self, namespace: str, made: KubernetesObject) -> Iterator[Maker]:
        """The owners of an object, their owners, and so on, those that are not in the input included."""
        seen: set[Maker] = set()
        waiting = list(self._owners(namespace, made.metadata.owner_references))
        for _ in range(_LONGEST_CHAIN):
            level = [one for one in waiting if one not in seen]
            seen.update(level)
            yield from level
            waiting = [above for one in level for above in self._owners(namespace, self._references_of(one))]

    def _owners(self, namespace: str, references: Iterable[OwnerReference] | None) -> Iterator[Maker]:
        for reference in references or ():
            group = group_of(reference.api_version)
            # Some manifests made by hand have no API version worth the name.
            known = self._kind_names.get(reference.kind) if not group else None
            yield Maker(known or GroupKind(group, reference.kind), namespace, reference.name)

    def _references_of(self, maker: Maker) -> Iterable[OwnerReference]:
        made = self._controllers.get(maker)
        if made is None and maker.kind == _POD:
            made = self.cluster.pods.get((maker.namespace, maker.name))
        if made is not None:
            return made.metadata.owner_references or ()
        return self._ignored_owners().get(maker, ())

    def _ignored_owners(self) -> Mapping[Maker, tuple[OwnerReference, ...]]:
        """Owners of the objects of other kinds, which may stand between a controller and its pods."""
        return self.cluster.memo("owners of other kinds", lambda: dict(_owners_of_ignored(self.cluster)))

    def _pods_by_owner(self) -> Mapping[tuple[str, str, str], Sequence[ObjectKey]]:
        return self.cluster.memo("pods by owner", lambda: _pods_by_owner(self.cluster))

    def _pods_by_maker(self, makers: set[Maker]) -> dict[Maker, dict[ObjectKey, Pod]]:
        """The pods that are there, waiting or running, by what makes them."""
        found: dict[Maker, dict[ObjectKey, Pod]] = defaultdict(dict)
        for keys in self._pods_by_owner().values():
            for key in keys:
                pod = self.cluster.pods[key]
                own = list(self._ancestors(key[0], pod))
                for guess in [one for one in own if one not in self._controllers]:
                    own += _without_hash(guess)
                maker = next((one for one in own if one in makers), None)
                if maker is not None:
                    found[maker][key] = pod
        return found


_POD = GroupKind("", "Pod")
# KND-9: the object itself keeps nobody in one NVLink domain.
_DOMAIN_NOTICE = (
    "keeps no pods in one NVLink domain by itself, for which a gang needs a domain or claims a constraint, "
    "and its daemons take no devices here"
)


def _pods_by_owner(cluster: Cluster) -> dict[tuple[str, str, str], list[ObjectKey]]:
    found: dict[tuple[str, str, str], list[ObjectKey]] = defaultdict(list)
    for key, pod in cluster.pods.items():
        owners = pod.metadata.owner_references
        if owners and not is_finished_or_deleting(pod):
            controller = next((one for one in owners if one.controller), owners[0])
            found[controller.kind, key[0], controller.name].append(key)
    return found


def _numbers_in_names(cluster: Cluster) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for namespace, name in cluster.pods:
        stem, _, text = name.rpartition("-")
        if text.isdecimal() and text.isascii() and len(text) < _INDEX_DIGITS and text == str(int(text)):
            found[namespace, stem].append(int(text))
    return found


# Objects with a hash or random letters behind the name of what makes them, and the kind of that.
_HASHED = {"ReplicaSet": GroupKind("apps", "Deployment"), "RayCluster": GroupKind("ray.io", "RayCluster")}


def _without_hash(maker: Maker) -> Iterator[Maker]:
    """Owners that are not in the input may be told by the beginning of the name."""
    kind = _HASHED.get(maker.kind.kind)
    if kind is not None:
        yield Maker(kind, maker.namespace, maker.name.rpartition("-")[0])


def _owners_of_ignored(cluster: Cluster) -> Iterator[tuple[Maker, tuple[OwnerReference, ...]]]:
    for manifest in cluster.read:
        metadata = manifest.raw.get("metadata") if manifest.object is None and manifest.raw else None
        listed = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
        if not isinstance(metadata, Mapping) or not isinstance(listed, list):
            continue
        owners = tuple(
            OwnerReference(api_version=str(one.get("apiVersion", "")), kind=str(one["kind"]), name=str(one["name"]))
            for one in listed
            if isinstance(one, Mapping) and "kind" in one and "name" in one
        )
        namespace, name = str(metadata.get("namespace") or "default"), str(metadata.get("name", ""))
        yield Maker(GroupKind(group_of(manifest.api_version), manifest.kind), namespace, name), owners


def _less(sets: Sequence[PodSet], pods: Mapping[ObjectKey, Pod]) -> Iterator[tuple[PodSet, Sequence[int]]]:
    """Each set of a maker with the numbers for which no pod is there."""
    members: dict[int, list[int | None]] = defaultdict(list)
    for key, pod in pods.items():
        place = _place_of(sets, key[1], pod)
        if place is not None:
            members[place[0]].append(place[1])
    for index, one in enumerate(sets):
        there = members.get(index, ())
        left = one.numbers
        if there:
            known = {number for number in there if number is not None}
            # Too many are refused by whoever counts the units.
            first = one.numbers[: MOST_UNITS + 1 + len(known)]
            left = tuple(number for number in first if number not in known) if known else left
            if not one.is_named:
                left = left[sum(number is None for number in there) :]
        if one.at_once is not None:
            left = left[: max(0, one.at_once - len(there))]
        yield one, left


def _place_of(sets: Sequence[PodSet], name: str, pod: Pod) -> tuple[int, int | None] | None:
    """The set of its maker that a pod is in, and its number there if names or labels tell it."""
    labels = {**(pod.metadata.labels or {}), **(pod.metadata.annotations or {})}
    for index, one in enumerate(sets):
        number = _number_of(one, name, labels)
        if number is not None and number in one.numbers:
            return index, number
    for index, one in enumerate(sets):
        if one.node or (one.is_named and one.is_numbered):
            continue
        told = all(labels.get(key) == value for key, value in one.labels.items()) if one.labels else len(sets) == 1
        if told or (not one.is_numbered and name.startswith(f"{one.prefix}-")):
            return index, None if one.is_numbered else one.numbers[0]
    return None


def _number_of(one: PodSet, name: str, labels: Mapping[str, str]) -> int | None:
    if one.index_label:
        text = labels.get(one.index_label) or name.removeprefix(f"{one.prefix}-").partition("-")[0]
        return int(text) if text.isdecimal() and len(text) < _INDEX_DIGITS else None
    if not one.is_named:
        return None
    if not one.is_numbered:
        return one.numbers[0] if name == one.prefix else None
    stem, _, text = name.rpartition("-")
    return int(text) if stem == one.prefix and text.isdecimal() and len(text) < _INDEX_DIGITS else None


_INDEX_DIGITS = 12


def _gangs_of_pods(sets: Sequence[PodSet], pods: Mapping[ObjectKey, Pod]) -> Iterator[tuple[ObjectKey, KindGang]]:
    if not any(one.gang for one in sets):
        return
    for key, pod in pods.items():
        place = _place_of(sets, key[1], pod)
        gang = sets[place[0]].gang if place else None
        if gang is not None:
            yield key, gang


def _notice_line(text: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED_IN_NOTICE])
    more = f" and {len(names) - _NAMED_IN_NOTICE} more" if len(names) > _NAMED_IN_NOTICE else ""
    return f"{shown}{more}: {text}"

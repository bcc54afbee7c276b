"""Units of planned sets, with pods and claims that have names of their own.

The units of a set are a range of numbers until somebody looks at one of them: its pod and its claims are made then.
That is so where no two claims could get one name; else all are made at once, in order.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Raw, structs

from ..cluster.cluster import Cluster
from ..kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimSpec
from ..kubernetes.core import Pod, PodSpec
from ..kubernetes.extensions import REPLICAS_ANNOTATION
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectMeta, key_of
from ..manifests.reader import Manifest
from .pod_sets import Look, looking
from .requests import EXTENDED_ENTRY, backed_resources, extended_claim, extended_claim_spec
from .unit_classes import UnitSet
from .units import Allocations, ClaimRef, PodClaims, Unit


class UnitMaker(Protocol):
    """Makes the units of sets."""

    def unit(self, planned: UnitSet, number: int) -> Unit:
        """The unit of one replica."""


class QueuedUnit:
    """A replica of a set, and what it is: with a maker, its pod and claims are made when they are first looked at."""

    __slots__ = ("_made", "number", "unit_set")

    def __init__(self, unit_set: UnitSet, number: int, made: Unit | UnitMaker) -> None:
        self.unit_set, self.number, self._made = unit_set, number, made

    @property
    def unit(self) -> Unit:
        """The pod or the loose claim, with all claims."""
        if not isinstance(self._made, Unit):
            self._made = self._made.unit(self.unit_set, self.number)
        return self._made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.unit_set!r}, {self.number!r}, {self.unit!r})"

    @property
    def expander(self) -> UnitExpander | None:
        """What makes the unit of its set and its number; None where it is made, or made in another way."""
        return self._made if isinstance(self._made, UnitExpander) else None


class OwnAllocations(Sequence[tuple[ClaimRef, AllocationResult]]):
    """What the claims of a unit get, none of which has an allocation; they are made when they are looked at."""

    __slots__ = ("planned", "results")

    def __init__(self, planned: QueuedUnit, results: tuple[AllocationResult, ...]) -> None:
        self.planned, self.results = planned, results

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | OwnAllocations) and tuple(self) == tuple(other)

    def __iter__(self) -> Iterator[tuple[ClaimRef, AllocationResult]]:
        return zip(self.planned.unit.requested_claims, self.results, strict=False)


def allocation_results(made: Allocations) -> Iterable[AllocationResult]:
    """What the claims of a unit get, without the claims."""
    return made.results if isinstance(made, OwnAllocations) else [allocation for _, allocation in made]


def unmade_unit(unit: object) -> QueuedUnit | None:
    """The unit of a queue that a plan's unit is to be made of; None where it is made, or is not of a queue."""
    queued = getattr(unit, "queued", None)
    return queued if isinstance(queued, QueuedUnit) and queued.expander else None


T = TypeVar("T")


class UnitRanges(Sequence[QueuedUnit]):
    """The units of sets, in order. A unit is made when its place is asked for, and kept."""

    def __init__(self, maker: UnitExpander, sets: Sequence[UnitSet]) -> None:
        self.maker, self._sets = maker, sets
        self._ends = list(accumulate(one.replicas for one in sets))
        self._kept: dict[int, QueuedUnit] = {}
        self._runs = list(_runs(sets, self._ends, range(len(self))))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        kept = self._kept.get(place)
        if kept is None:
            place = range(len(self))[place]
            index = bisect_right(self._ends, place)
            kept = self.unit(self._sets[index], self._sets[index].numbers[place - self._ends[index]])
            self._kept[place] = kept
        return kept

    def unit(self, planned: UnitSet, number: int) -> QueuedUnit:
        """The unit of a set under a number, made for this call."""
        return QueuedUnit(planned, number, self.maker)

    def runs(self, places: Sequence[int]) -> Iterator[tuple[UnitSet, Sequence[int]]]:
        """As ``unit_runs``."""
        if places == range(len(self)):
            return iter(self._runs)
        return _runs(self._sets, map(partial(bisect_left, places), self._ends), places)


def _runs(
    sets: Iterable[UnitSet], ends: Iterable[int], places: Sequence[int]
) -> Iterator[tuple[UnitSet, Sequence[int]]]:
    """Yield the sets that have some of these places, which end there for each set in turn."""
    first = 0
    for one, after in zip(sets, ends, strict=True):
        if first < after:
            yield one, places[first:after]
        first = after


def unit_runs(
    queue: Sequence[QueuedUnit], places: Sequence[int] | None = None
) -> Iterator[tuple[UnitSet, Sequence[int]]]:
    """Yield the sets of the units at some places of a queue, which are sorted, each with places of its units."""
    asked = range(len(queue)) if places is None else places
    if isinstance(queue, UnitRanges):
        return queue.runs(asked)
    return ((queue[place].unit_set, (place,)) for place in asked)


def expand_units(
    cluster: Cluster, sets: Iterable[UnitSet], gates: FeatureGates | None = None, look: Look | None = None
) -> Sequence[QueuedUnit]:
    """All units of the sets, in order; claims that are made get names of their own, the same in every run.

    ``look`` is called after every few units.
    """
    units, listed = UnitExpander(cluster, gates), list(sets)
    apart = units.claims.names_are_apart = _have_own_names(cluster, listed)
    if apart and sum(one.replicas for one in listed) > _UNITS_OF_RANGES * len(listed):
        return UnitRanges(units, listed)
    pairs = ((one, number) for one in listed for number in one.numbers)
    listed_units = looking(pairs, look)
    return [QueuedUnit(one, number, units if apart else units.unit(one, number)) for one, number in listed_units]


class UnplacedRun(Generic[T]):
    """Units of one set that follow one another in a plan and have no node; each is made of its number in the set.

    It is no ``Sequence``: whether something is one takes five times as long to tell. ``encoded`` is the JSON of each.
    """

    unit_set: UnitSet
    numbers: Sequence[int]
    encoded: Callable[[], Iterator[Raw]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> T:
        raise NotImplementedError

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, range(len(self)))


def unit_parts(units: Sequence[T]) -> Iterable[T | UnplacedRun[T]]:
    """The units of a plan, with runs as they are where it is made of some."""
    parts: Iterable[T | UnplacedRun[T]] = getattr(units, "parts", units)
    return parts


def encoded_units(units: Sequence[T]) -> Iterator[T | Raw]:
    """Yield the units of a document as they are to be encoded, those of runs as they are when they have been."""
    parts = unit_parts(units)
    return chain.from_iterable(one.encoded() if isinstance(one, UnplacedRun) else (one,) for one in parts)


def single_units(units: Sequence[T]) -> Iterator[tuple[int, T]]:
    """Yield the units of a plan that are in no run, with their positions: among them all that are placed."""
    place = 0
    for part in unit_parts(units):
        if isinstance(part, UnplacedRun):
            place += len(part)
        else:
            yield place, part
            place += 1


# Where sets have no more units on average, ranges of them would save nothing.
_UNITS_OF_RANGES = 2
# Of a set with more units the numbers are compared and not the names.
_FEW_UNITS = 8
_LONGEST_NAME = 253
_NUMBER = re.compile(r"-(?=[0-9])")


def _have_own_names(cluster: Cluster, sets: Iterable[UnitSet]) -> bool:
    """Whether surely no claim that is made for a unit has the name of another one."""
    names: dict[str, set[str]] = defaultdict(set)
    numbered: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for namespace, name in cluster.claims:
        names[namespace].add(name)
    total = len(cluster.claims)
    for one in sets:
        if one.pod is None:
            continue
        spec = one.pod.spec
        if spec.scheduling_group is not None:
            # Members share claims of their group.
            return False
        entries = [entry.name for entry in spec.resource_claims or () if entry.resource_claim_template_name]
        endings = [f"-{entry}" for entry in {*entries, EXTENDED_ENTRY}]
        if len(one.name_prefix or one.name) + max(map(len, endings)) > _LONGEST_NAME - 20:
            return False
        if one.replicas <= _FEW_UNITS or not one.is_copied or one.name_numbers == ():
            made = [f"{one.unit_name(number)}{ending}" for number in one.numbers for ending in endings]
            names[one.namespace].update(made)
            total += len(made)
        else:
            written = one.numbers if one.name_numbers is None else one.name_numbers
            numbered[one.namespace][one.name_prefix].append((min(written), max(written)))
    if sum(map(len, names.values())) < total:
        return False
    return all(_are_apart(own, names[namespace]) for namespace, own in numbered.items())


def _are_apart(numbered: Mapping[str, Sequence[tuple[int, int]]], names: Iterable[str]) -> bool:
    """Whether names that begin with a prefix and a number of these have one prefix only, and no other name has one."""
    for ranges in numbered.values():
        ordered = sorted(ranges)
        if any(after[0] <= before[1] for before, after in pairwise(ordered)):
            return False
    every = (*names, *numbered)
    return not any(name[: found.start()] in numbered for name in every for found in _NUMBER.finditer(name))


class UnitExpander:
    """Makes units one by one; names of claims depend on the order only where they would be the same otherwise."""

    def __init__(self, cluster: Cluster, gates: FeatureGates | None = None, claims: PodClaims | None = None) -> None:
        self._cluster = cluster
        self.claims = claims or PodClaims(cluster)
        self._backing = backed_resources(cluster, gates)
        # The latest spec and its claim: copies of a set have one spec and come one after another.
        self._latest: tuple[PodSpec | None, ResourceClaimSpec | None] = None, None
        # The latest template, and the annotations of its copies.
        self._copied: tuple[ObjectMeta | None, dict[str, str] | None] = None, None

    def unit(self, planned: UnitSet, number: int) -> Unit:
        """The unit of one replica; ask for each once."""
        name = planned.unit_name(number)
        if planned.pod is None:
            ref = self.claims.existing((planned.namespace, planned.name))
            return Unit(None, (_rename_claim_ref(ref, name) if planned.is_copied else ref,), planned.namespace, name)
        pod = planned.pod
        if planned.is_copied:
            # A copy is no pod of the cluster yet: it has neither uid nor status.
            metadata = pod.metadata
            if self._copied[0] is not metadata:
                self._copied = metadata, _copied_annotations(metadata)
            pod = Pod(metadata=_copy_metadata(metadata, name, self._copied[1]), spec=pod.spec)
        return Unit(pod, (*self.claims.claims_of(pod), *self.extended_claims(pod)), planned.namespace, name)

    def is_about(self, cluster: Cluster) -> bool:
        """Whether a cluster has the claims and the templates of which units are made."""
        return cluster.claims is self._cluster.claims and cluster.templates is self._cluster.templates

    def claim_kind(self, planned: UnitSet) -> Hashable:
        """Equal for sets whose units have claims with the very same specs, in order; None where that is not known."""
        if self.claims.owners:
            # A claim that is there already may have another spec than those that are made.
            return None
        makers = self.claims.makers_of(planned.pod) if planned.pod is not None else ()
        return (id(makers), id(planned.shape)) if makers else id(planned)

    def extended_claims(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claim for extended resources that classes back; it comes last (SCHED-2)."""
        key = key_of(pod.metadata)
        there = self.claims.extended_claim_of(pod)
        if there:
            return there
        if self._latest[0] is not pod.spec:
            self._latest = pod.spec, extended_claim_spec(pod.spec, self._backing)
        spec = self._latest[1]
        if spec is None:
            return ()
        name = self.claims.new_name(pod, EXTENDED_ENTRY)
        return (ClaimRef(key[0], name, extended_claim(key[0], name, spec), EXTENDED_ENTRY, generated=True),)


def copy_of_pod(pod: Pod, name: str) -> Pod:
    """A pod that is made of this one, or of this template."""
    metadata = pod.metadata
    return Pod(metadata=_copy_metadata(metadata, name, _copied_annotations(metadata)), spec=pod.spec)


def _copy_metadata(metadata: ObjectMeta, name: str, annotations: dict[str, str] | None) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=metadata.namespace, labels=metadata.labels, annotations=annotations)


def _copied_annotations(metadata: ObjectMeta) -> dict[str, str] | None:
    kept = {key: text for key, text in (metadata.annotations or {}).items() if key != REPLICAS_ANNOTATION}
    return kept or None


def _rename_claim_ref(ref: ClaimRef, name: str) -> ClaimRef:
    claim = ref.claim
    if claim is not None:
        metadata = _copy_metadata(claim.metadata, name, _copied_annotations(claim.metadata))
        claim = ResourceClaim(metadata=metadata, spec=claim.spec)
    manifest = ref.manifest and _copy_manifest(ref.manifest, claim, name)
    return structs.replace(ref, name=name, claim=claim, manifest=manifest)


def _copy_manifest(manifest: Manifest, claim: ResourceClaim | None, name: str) -> Manifest:
    """The manifest of a copy: what was written, under its own name and without the number of copies."""
    if manifest.raw is None:
        return structs.replace(manifest, object=claim)
    metadata: Mapping[str, Any] = manifest.raw.get("metadata") or {}
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != REPLICAS_ANNOTATION}
    kept = {key: value for key, value in metadata.items() if key not in ("annotations", "uid", "generateName")}
    written = {**kept, "name": name, **({"annotations": annotations} if annotations else {})}
    raw = {key: value for key, value in manifest.raw.items() if key != "status"}
    return structs.replace(manifest, object=claim, raw={**raw, "metadata": written})

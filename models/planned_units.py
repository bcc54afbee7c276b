"""Planned sets as units: pods with their claims, each with names of its own."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .claim_numbers import extended_refs
from .claims import ResourceClaim, ResourceClaimSpec
from .core import Pod, PodSpec
from .extended_resources import EXTENDED_ENTRY, extended_claim, extended_spec
from .gates import FeatureGates
from .identity import key_of
from .manifests import Manifest
from .meta import ObjectMeta
from .plan_annotations import REPLICAS
from .planned_sets import PlannedSet
from .pod_claims import ClaimRef, PodClaims
from .running_pods import backed_resources
from .units import Unit

if TYPE_CHECKING:
    from .cluster import Cluster


class PlannedUnit(NamedTuple):
    """A replica of a set, and what it is."""

    set: PlannedSet
    number: int
    unit: Unit


def expanded(
    cluster: "Cluster", sets: Iterable[PlannedSet], gates: FeatureGates | None = None
) -> Iterator[PlannedUnit]:
    """All units of the sets, in order; claims that are made get names of their own, the same in every run."""
    units = PlannedUnits(cluster, gates)
    return (PlannedUnit(one, number, units.unit(one, number)) for one in sets for number in one.numbers)


class PlannedUnits:
    """Makes units one by one; names of claims depend on the order only where they would be the same otherwise."""

    def __init__(self, cluster: "Cluster", gates: FeatureGates | None = None) -> None:
        self._cluster = cluster
        self._claims = PodClaims(cluster)
        self._backing = backed_resources(cluster, gates)
        # Copies have one spec, which is kept with what it backs, so that its id is no other's.
        self._backed: dict[int, tuple[PodSpec, ResourceClaimSpec | None]] = {}

    def unit(self, planned: PlannedSet, number: int) -> Unit:
        """The unit of one replica; ask for each once."""
        name = planned.unit_name(number)
        if planned.pod is None:
            ref = self._claims.existing((planned.namespace, planned.name))
            return Unit(None, (_renamed_ref(ref, name) if planned.copied else ref,), planned.namespace, name)
        pod = _renamed(planned.pod, name) if planned.copied else planned.pod
        return Unit(pod, (*self._claims.claims_of(pod), *self._extended(pod)), planned.namespace, name)

    def _extended(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claim for extended resources that classes back; it comes last (SCHED-2)."""
        key = key_of(pod.metadata)
        there = extended_refs(self._claims, key, pod)
        spec = None if there else self._extended_spec(pod.spec)
        if spec is None:
            return there
        name = self._claims.new_name(pod, EXTENDED_ENTRY)
        return (ClaimRef(key[0], name, extended_claim(key[0], name, spec), EXTENDED_ENTRY, generated=True),)

    def _extended_spec(self, spec: PodSpec) -> ResourceClaimSpec | None:
        known = self._backed.get(id(spec))
        if known is None:
            known = self._backed[id(spec)] = spec, extended_spec(spec, self._backing)
        return known[1]


def _renamed(pod: Pod, name: str) -> Pod:
    """A copy is no pod of the cluster yet: it has neither uid nor status."""
    return Pod(metadata=_metadata(pod.metadata, name), spec=pod.spec)


def _metadata(metadata: ObjectMeta, name: str) -> ObjectMeta:
    kept = {key: text for key, text in (metadata.annotations or {}).items() if key != REPLICAS}
    return ObjectMeta(name=name, namespace=metadata.namespace, labels=metadata.labels, annotations=kept or None)


def _renamed_ref(ref: ClaimRef, name: str) -> ClaimRef:
    claim = ref.claim and ResourceClaim(metadata=_metadata(ref.claim.metadata, name), spec=ref.claim.spec)
    return replace(ref, name=name, claim=claim, manifest=ref.manifest and _copied(ref.manifest, claim, name))


def _copied(manifest: Manifest, claim: ResourceClaim | None, name: str) -> Manifest:
    """The manifest of a copy: what was written, under its own name and without the number of copies."""
    if manifest.raw is None:
        return replace(manifest, object=claim)
    metadata: Mapping[str, Any] = manifest.raw.get("metadata") or {}
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != REPLICAS}
    kept = {key: value for key, value in metadata.items() if key not in ("annotations", "uid", "generateName")}
    written = {**kept, "name": name, **({"annotations": annotations} if annotations else {})}
    raw = {key: value for key, value in manifest.raw.items() if key != "status"}
    return replace(manifest, object=claim, raw={**raw, "metadata": written})

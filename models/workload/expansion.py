"""Units of planned sets, with pods and claims that have names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..cluster.cluster import Cluster
from ..kubernetes.claims import ResourceClaim, ResourceClaimSpec
from ..kubernetes.core import Pod, PodSpec
from ..kubernetes.extensions import REPLICAS_ANNOTATION
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectMeta, key_of
from ..manifests.reader import Manifest
from .requests import EXTENDED_ENTRY, backed_resources, extended_claim, extended_claim_spec
from .unit_classes import UnitSet
from .units import ClaimRef, PodClaims, Unit


class QueuedUnit(NamedTuple):
    """A replica of a set, and what it is."""

    unit_set: UnitSet
    number: int
    unit: Unit


def expand_units(cluster: Cluster, sets: Iterable[UnitSet], gates: FeatureGates | None = None) -> Iterator[QueuedUnit]:
    """All units of the sets, in order; claims that are made get names of their own, the same in every run."""
    units = UnitExpander(cluster, gates)
    return (QueuedUnit(one, number, units.unit(one, number)) for one in sets for number in one.numbers)


class UnitExpander:
    """Makes units one by one; names of claims depend on the order only where they would be the same otherwise."""

    def __init__(self, cluster: Cluster, gates: FeatureGates | None = None, claims: PodClaims | None = None) -> None:
        self._cluster = cluster
        self.claims = claims or PodClaims(cluster)
        self._backing = backed_resources(cluster, gates)
        # The latest spec and its claim: copies of a set have one spec and come one after another.
        self._latest: tuple[PodSpec | None, ResourceClaimSpec | None] = None, None

    def unit(self, planned: UnitSet, number: int) -> Unit:
        """The unit of one replica; ask for each once."""
        name = planned.unit_name(number)
        if planned.pod is None:
            ref = self.claims.existing((planned.namespace, planned.name))
            return Unit(None, (_rename_claim_ref(ref, name) if planned.is_copied else ref,), planned.namespace, name)
        pod = planned.pod
        if planned.is_copied:
            # A copy is no pod of the cluster yet: it has neither uid nor status.
            pod = copy_of_pod(pod, name)
        return Unit(pod, (*self.claims.claims_of(pod), *self.extended_claims(pod)), planned.namespace, name)

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
    return Pod(metadata=_copy_metadata(pod.metadata, name), spec=pod.spec)


def _copy_metadata(metadata: ObjectMeta, name: str) -> ObjectMeta:
    kept = {key: text for key, text in (metadata.annotations or {}).items() if key != REPLICAS_ANNOTATION}
    return ObjectMeta(name=name, namespace=metadata.namespace, labels=metadata.labels, annotations=kept or None)


def _rename_claim_ref(ref: ClaimRef, name: str) -> ClaimRef:
    claim = ref.claim and ResourceClaim(metadata=_copy_metadata(ref.claim.metadata, name), spec=ref.claim.spec)
    return replace(ref, name=name, claim=claim, manifest=ref.manifest and _copy_manifest(ref.manifest, claim, name))


def _copy_manifest(manifest: Manifest, claim: ResourceClaim | None, name: str) -> Manifest:
    """The manifest of a copy: what was written, under its own name and without the number of copies."""
    if manifest.raw is None:
        return replace(manifest, object=claim)
    metadata: Mapping[str, Any] = manifest.raw.get("metadata") or {}
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != REPLICAS_ANNOTATION}
    kept = {key: value for key, value in metadata.items() if key not in ("annotations", "uid", "generateName")}
    written = {**kept, "name": name, **({"annotations": annotations} if annotations else {})}
    raw = {key: value for key, value in manifest.raw.items() if key != "status"}
    return replace(manifest, object=claim, raw={**raw, "metadata": written})

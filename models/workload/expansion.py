"""Units of planned sets, with pods and claims that have names of their own, and the replicas that are still missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..cluster.cluster import Cluster
from ..kubernetes.claims import ResourceClaim, ResourceClaimSpec
from ..kubernetes.core import Pod, PodSpec
from ..kubernetes.extensions import REPLICAS_ANNOTATION
from ..kubernetes.gates import FeatureGates
from ..kubernetes.meta import ObjectKey, ObjectMeta, OwnerReference, key_of
from ..kubernetes.workloads import Job, ReplicaSet
from ..manifests.reader import Manifest
from .requests import EXTENDED_ENTRY, backed_resources, extended_claim, extended_claim_spec
from .unit_classes import ControllerKind, UnitSet, extended_claim_refs
from .units import ClaimRef, PodClaims, Unit, is_finished_or_deleting


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

    def __init__(self, cluster: Cluster, gates: FeatureGates | None = None) -> None:
        self._cluster = cluster
        self._claims = PodClaims(cluster)
        self._backing = backed_resources(cluster, gates)
        # The latest spec and its claim: copies of a set have one spec and come one after another.
        self._latest: tuple[PodSpec | None, ResourceClaimSpec | None] = None, None

    def unit(self, planned: UnitSet, number: int) -> Unit:
        """The unit of one replica; ask for each once."""
        name = planned.unit_name(number)
        if planned.pod is None:
            ref = self._claims.existing((planned.namespace, planned.name))
            return Unit(None, (_rename_claim_ref(ref, name) if planned.is_copied else ref,), planned.namespace, name)
        pod = planned.pod
        if planned.is_copied:
            # A copy is no pod of the cluster yet: it has neither uid nor status.
            pod = Pod(metadata=_copy_metadata(pod.metadata, name), spec=pod.spec)
        return Unit(pod, (*self._claims.claims_of(pod), *self._extended(pod)), planned.namespace, name)

    def _extended(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claim for extended resources that classes back; it comes last (SCHED-2)."""
        key = key_of(pod.metadata)
        there = extended_claim_refs(self._claims, key, pod)
        if there:
            return there
        if self._latest[0] is not pod.spec:
            self._latest = pod.spec, extended_claim_spec(pod.spec, self._backing)
        spec = self._latest[1]
        if spec is None:
            return ()
        name = self._claims.new_name(pod, EXTENDED_ENTRY)
        return (ClaimRef(key[0], name, extended_claim(key[0], name, spec), EXTENDED_ENTRY, generated=True),)


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


ControllerId = tuple[ControllerKind, ObjectKey]
_POD_CONTROLLERS: dict[str, ControllerKind] = {"Job": "Job", "StatefulSet": "StatefulSet"}
_JOB_ENDED = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


def missing_replicas(cluster: Cluster) -> dict[ControllerId, Sequence[int]]:
    """The numbers of the replicas that have no pod in the input, by kind and key of what makes them.

    Pods that are there, waiting or running, are among the replicas of their owner, also where only the ReplicaSet
    between a Deployment and its pods is missing. A ReplicaSet of a Deployment in the input is left to that. A Job makes
    ``parallelism`` pods at once, but no more than completions are missing; none while suspended, or when it has ended.
    """
    there = _existing_pods(cluster)
    found: dict[ControllerId, Sequence[int]] = {}
    for key, job in cluster.jobs.items():
        found["Job", key] = range(len(there["Job", key]), _job_replicas(job))
    for key, deployment in cluster.deployments.items():
        found["Deployment", key] = range(len(there["Deployment", key]), _replica_count(deployment.spec.replicas))
    for key, replica_set in cluster.replica_sets.items():
        if _deployment_of(cluster, key, replica_set) is None:
            found["ReplicaSet", key] = range(len(there["ReplicaSet", key]), _replica_count(replica_set.spec.replicas))
    for key, stateful_set in cluster.stateful_sets.items():
        start = stateful_set.spec.ordinals.start if stateful_set.spec.ordinals else 0
        every, pods = range(start, start + _replica_count(stateful_set.spec.replicas)), there["StatefulSet", key]
        numbers = tuple(number for number in every if f"{key[1]}-{number}" not in pods) if pods else every
        found["StatefulSet", key] = numbers
    return found


def _replica_count(given: int | None) -> int:
    return 1 if given is None else given


def _job_replicas(job: Job) -> int:
    status = job.status
    ended = any(
        one.type in _JOB_ENDED and one.status == "True" for one in (status.conditions if status else None) or ()
    )
    if job.spec.suspend or ended:
        return 0
    wanted = _replica_count(job.spec.parallelism)
    if job.spec.completions is None:
        return wanted
    return min(wanted, job.spec.completions - ((status.succeeded if status else None) or 0))


def _existing_pods(cluster: Cluster) -> dict[ControllerId, set[str]]:
    """The names of the pods that are there, by what makes them, as far as that is in the input."""
    found: dict[ControllerId, set[str]] = defaultdict(set)
    for (namespace, name), pod in cluster.pods.items():
        owners = pod.metadata.owner_references
        if not owners or is_finished_or_deleting(pod):
            continue
        for maker in (_controller_of(cluster, namespace, reference) for reference in owners):
            if maker is not None:
                found[maker].add(name)
    return found


def _controller_of(cluster: Cluster, namespace: str, reference: OwnerReference) -> ControllerId | None:
    key = namespace, reference.name
    if reference.kind != "ReplicaSet":
        kind = _POD_CONTROLLERS.get(reference.kind)
        return (kind, key) if kind else None
    replica_set = cluster.replica_sets.get(key)
    if replica_set is None:
        # A Deployment's ReplicaSet has the name of it and a hash behind.
        return "Deployment", (namespace, reference.name.rpartition("-")[0])
    above = _deployment_of(cluster, key, replica_set)
    return ("Deployment", above) if above else ("ReplicaSet", key)


def _deployment_of(cluster: Cluster, key: ObjectKey, replica_set: ReplicaSet) -> ObjectKey | None:
    """The Deployment that made a ReplicaSet, if it is in the input."""
    for reference in replica_set.metadata.owner_references or ():
        if reference.kind == "Deployment" and (key[0], reference.name) in cluster.deployments:
            return key[0], reference.name
    return None

"""The claims of planned pods as numbers of shapes: own ones by content, shared and allocated ones by name."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from .claims import ResourceClaim
from .core import Pod, PodResourceClaim, PodSpec
from .extended_resources import EXTENDED_ENTRY
from .generated_claims import POD_CLAIM_ANNOTATION
from .identity import ObjectKey
from .plan_annotations import REPLICAS
from .planned_sets import ClaimShape
from .pod_claims import ClaimRef, PodClaims, is_deleting
from .rendering import is_allocated
from .unit_shapes import ClaimShapes, constraints_of, template_constraints
from .units import is_over
from .workloads import PodTemplateSpec

if TYPE_CHECKING:
    from .cluster import Cluster

Copies = tuple[str, PodTemplateSpec, int]


class ClaimNumbers:
    """Looks up claims; ``made`` are namespaces and templates of pods that are to be made, and how many."""

    def __init__(self, cluster: "Cluster", shapes: ClaimShapes, made: Iterable[Copies]) -> None:
        self._cluster = cluster
        self._shapes = shapes
        self._refs: dict[ObjectKey, tuple[ClaimRef, ...]] = {}
        # How many pods that are to run use a claim; 0 if only others name it.
        self._users: dict[ObjectKey, int] = {}
        self._templates: dict[ObjectKey, int] = {}
        self._read_pods()
        for namespace, template, count in made:
            self._use(_by_name(namespace, template.spec), count)

    def is_loose(self, key: ObjectKey) -> bool:
        """No pod has the claim, not even one that has finished."""
        return key not in self._users

    def of_pod(self, key: ObjectKey, pod: Pod) -> tuple[int, ...]:
        """The claims of a pod that is there."""
        refs = self._refs.get(key)
        if refs is not None:
            return tuple(map(self._of_ref, refs))
        entries = pod.spec.resource_claims
        return tuple(self._of_entries(key[0], entries)) if entries else ()

    def of_template(self, namespace: str, template: PodTemplateSpec) -> tuple[int, ...]:
        """The claims of each pod that is made of a pod template."""
        return tuple(self._of_entries(namespace, template.spec.resource_claims or ()))

    def of_loose(self, claim: ResourceClaim) -> int:
        """A claim of nobody's."""
        return self._shapes.number(claim.spec, constraints_of(claim))

    def _read_pods(self) -> None:
        """Find the claims that pods have by name; those of pods that claims were made for take longer."""
        cluster = self._cluster
        some = any(
            claim.metadata.annotations and POD_CLAIM_ANNOTATION in claim.metadata.annotations
            for claim in cluster.claims.values()
        )
        resolver = cache(lambda: PodClaims(cluster))
        for key, pod in cluster.pods.items():
            if _has_made(pod, some):
                refs = self._refs[key] = (*resolver().claims_of(pod), *extended_refs(resolver(), key, pod))
                keys = [ref.key for ref in refs]
            else:
                keys = _by_name(key[0], pod.spec)
            if keys:
                self._use(keys, 0 if is_over(pod) else 2 if REPLICAS in (pod.metadata.annotations or ()) else 1)

    def _use(self, keys: Iterable[ObjectKey], count: int) -> None:
        for key in keys:
            self._users[key] = self._users.get(key, 0) + count

    def _of_entries(self, namespace: str, entries: Sequence[PodResourceClaim]) -> Iterator[int]:
        names: set[str] = set()
        for entry in entries:
            if entry.resource_claim_name:
                if entry.resource_claim_name not in names:
                    names.add(entry.resource_claim_name)
                    yield self._existing((namespace, entry.resource_claim_name))
            elif entry.resource_claim_template_name:
                yield self._template((namespace, entry.resource_claim_template_name))
            else:
                yield self._shapes.other(_problem(f"entry {entry.name} names no claim and no template"))

    def _template(self, key: ObjectKey) -> int:
        known = self._templates.get(key)
        if known is not None:
            return known
        template = self._cluster.templates.get(key)
        if template is None:
            number = self._shapes.other(_problem(f"ResourceClaimTemplate {key[0]}/{key[1]} not found"))
        else:
            number = self._shapes.number(template.spec.spec, template_constraints(template))
        self._templates[key] = number
        return number

    def _existing(self, key: ObjectKey) -> int:
        claim = self._cluster.claims.get(key)
        if claim is None:
            return self._shapes.other(_problem(f"ResourceClaim {key[0]}/{key[1]} not found"))
        if is_deleting(claim.metadata):
            return self._shapes.other(_problem(f"ResourceClaim {key[0]}/{key[1]} is being deleted"))
        return self._present(key, claim)

    def _of_ref(self, ref: ClaimRef) -> int:
        if ref.problem or ref.claim is None:
            return self._shapes.other(_problem(ref.problem))
        return self._present(ref.key, ref.claim)

    def _present(self, key: ObjectKey, claim: ResourceClaim) -> int:
        if is_allocated(claim):
            return self._shapes.other(ClaimShape(claim.spec, constraints_of(claim), key, allocated=True))
        return self._shapes.number(claim.spec, constraints_of(claim), key if self._users.get(key, 0) > 1 else None)


def _problem(text: str) -> ClaimShape:
    return ClaimShape(None, problem=text)


def _by_name(namespace: str, spec: PodSpec) -> list[ObjectKey]:
    """The claims that a pod's spec names, each once."""
    entries = spec.resource_claims
    if not entries:
        return []
    keys = [(namespace, entry.resource_claim_name) for entry in entries if entry.resource_claim_name]
    return keys if len(keys) < 2 else list(dict.fromkeys(keys))


def _has_made(pod: Pod, some: bool) -> bool:
    """Claims were made for the pod, as its status says, or may have been, if some claims of the input were made."""
    status = pod.status
    if some and pod.spec.resource_claims:
        return True
    return status is not None and bool(status.resource_claim_statuses or status.extended_resource_claim_status)


def extended_refs(resolver: PodClaims, key: ObjectKey, pod: Pod) -> tuple[ClaimRef, ...]:
    """The claim that was made for a pod's extended resources, if there is one (KEP-5004)."""
    status = pod.status.extended_resource_claim_status if pod.status else None
    return (resolver.existing((key[0], status.resource_claim_name), EXTENDED_ENTRY),) if status else ()

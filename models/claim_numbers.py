"""The claims of planned pods as numbers of shapes: own ones by content, shared and allocated ones by name."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .claims import ResourceClaim
from .core import Pod, PodResourceClaim
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
        self._refs = dict(_made_before(cluster))
        self._users = Counter(self._named(made))
        self._templates: dict[ObjectKey, int] = {}
        # Claims that some pod has, a finished one too: they are not loose.
        self.named = self._users.keys() | {ref.key for refs in self._refs.values() for ref in refs}
        self.named |= {key for pod_key, pod in cluster.pods.items() for key in _by_name(pod_key[0], pod)}

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

    def _named(self, made: Iterable[Copies]) -> Iterator[ObjectKey]:
        """Every use of a claim that has a name, once for each pod."""
        for key, pod in self._cluster.pods.items():
            if pod.spec.resource_claims and not is_over(pod):
                refs = self._refs.get(key)
                users = 2 if REPLICAS in (pod.metadata.annotations or ()) else 1
                yield from [*(_by_name(key[0], pod) if refs is None else (ref.key for ref in refs))] * users
        for namespace, template, count in made:
            for name in {entry.resource_claim_name for entry in template.spec.resource_claims or ()} - {None}:
                yield from [(namespace, name or "")] * min(count, 2)

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
        return self._shapes.number(claim.spec, constraints_of(claim), key if self._users[key] > 1 else None)


def _problem(text: str) -> ClaimShape:
    return ClaimShape(None, problem=text)


def _by_name(namespace: str, pod: Pod) -> Iterable[ObjectKey]:
    """The claims that a pod's spec names, each once."""
    entries = pod.spec.resource_claims or ()
    names = {entry.resource_claim_name for entry in entries if entry.resource_claim_name}
    return [(namespace, name) for name in names]


def _made_before(cluster: "Cluster") -> Iterator[tuple[ObjectKey, tuple[ClaimRef, ...]]]:
    """The claims of pods for which claims were made, as their status says, or the annotation of some claim."""
    resolver = PodClaims(cluster)
    some = any(POD_CLAIM_ANNOTATION in (claim.metadata.annotations or ()) for claim in cluster.claims.values())
    for key, pod in cluster.pods.items():
        refs = extended_refs(resolver, key, pod)
        status = pod.status
        if refs or (pod.spec.resource_claims and (some or (status and status.resource_claim_statuses))):
            yield key, (*resolver.claims_of(pod), *refs)


def extended_refs(resolver: PodClaims, key: ObjectKey, pod: Pod) -> tuple[ClaimRef, ...]:
    """The claim that was made for a pod's extended resources, if there is one (KEP-5004)."""
    status = pod.status.extended_resource_claim_status if pod.status else None
    return (resolver.existing((key[0], status.resource_claim_name), EXTENDED_ENTRY),) if status else ()

"""Which claims a pod has: named ones, ones made for it before, and ones to be made from templates (SCHED-1)."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import generated_claims
from .claims import ResourceClaim
from .core import Pod, PodResourceClaim
from .generated_claims import POD_CLAIM_ANNOTATION
from .identity import ObjectKey, key_of
from .manifests import Manifest
from .meta import ObjectMeta
from .rendering import RESOURCE_API, as_mapping, is_allocated

if TYPE_CHECKING:
    from .cluster import Cluster


@dataclass(frozen=True, slots=True, eq=False)
class ClaimRef:
    """A claim of a unit: one that exists, or one made from a template."""

    namespace: str
    name: str
    # None if it cannot be had; then ``problem`` says why (SCHED-1).
    claim: ResourceClaim | None
    # The entry of the pod's spec.resourceClaims; empty for a loose claim.
    entry: str = ""
    generated: bool = False
    # The claim's own as read, or that of the template it is made from.
    manifest: Manifest | None = None
    problem: str = ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def raw(self) -> Mapping[str, Any] | None:
        """The mapping to print: the input's, or a generated one. None: made in Python, print the object itself."""
        if not self.generated or self.claim is None:
            return self.manifest.raw if self.manifest else None
        if self.manifest is None or self.manifest.raw is None:
            return generated_claims.printable(self.claim, RESOURCE_API, as_mapping(self.claim.spec))
        spec = (self.manifest.raw.get("spec") or {}).get("spec") or {}
        return generated_claims.printable(self.claim, self.manifest.api_version, spec)

    @property
    def allocated(self) -> bool:
        """The claim has an allocation already: it is not allocated again but restricts the nodes (SCHED-2)."""
        return self.claim is not None and is_allocated(self.claim)


def is_deleting(metadata: ObjectMeta) -> bool:
    """The object is on its way out."""
    return metadata.deletion_timestamp is not None


class PodClaims:
    """Finds the claims of a cluster's pods and keeps generated names apart; ask for each pod once, in name order."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._by_owner = generated_claims.by_owner(cluster.claims)
        self._taken: dict[str, set[str]] = defaultdict(set)
        for namespace, name in cluster.claims:
            self._taken[namespace].add(name)

    def claims_of(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claims of the pod's entries in their order, one that several entries name only once.

        An entry for which none was needed is left out.
        """
        known = {status.name: status for status in (pod.status.resource_claim_statuses if pod.status else None) or ()}
        found = []
        for entry in pod.spec.resource_claims or ():
            status = known.get(entry.name)
            if status is None:
                found.append(self._by_spec(pod, entry))
            elif status.resource_claim_name:
                found.append(self._owned(pod, entry, status.resource_claim_name))
        if len(found) < 2:
            return tuple(found)
        once: dict[ObjectKey, ClaimRef] = {}
        for ref in found:
            once.setdefault(ref.key, ref)
        return tuple(once.values())

    def existing(self, key: ObjectKey, entry: str = "") -> ClaimRef:
        """A claim by its name."""
        claim = self._cluster.claims.get(key)
        if claim is None:
            return ClaimRef(*key, None, entry, problem=f"ResourceClaim {key[0]}/{key[1]} not found")
        problem = f"ResourceClaim {key[0]}/{key[1]} is being deleted" if is_deleting(claim.metadata) else ""
        return ClaimRef(*key, claim, entry, manifest=self._cluster.manifest("ResourceClaim", key), problem=problem)

    def new_name(self, pod: Pod, entry: str) -> str:
        """Take a name that no claim has, for one that is made for a pod, but for none of its entries."""
        taken = self._taken[key_of(pod.metadata)[0]]
        name = generated_claims.claim_name(pod.metadata.name, entry, taken)
        taken.add(name)
        return name

    def _by_spec(self, pod: Pod, entry: PodResourceClaim) -> ClaimRef:
        namespace = key_of(pod.metadata)[0]
        if entry.resource_claim_name:
            return self.existing((namespace, entry.resource_claim_name), entry.name)
        if entry.resource_claim_template_name:
            made = self._made_before(pod, entry)
            return self._owned(pod, entry, made) if made else self._from_template(pod, entry)
        return ClaimRef(namespace, "", None, entry.name, problem=f"entry {entry.name} names no claim and no template")

    def _owned(self, pod: Pod, entry: PodResourceClaim, name: str) -> ClaimRef:
        ref = self.existing((key_of(pod.metadata)[0], name), entry.name)
        if entry.resource_claim_template_name and ref.claim and not generated_claims.is_owner(ref.claim, pod):
            problem = f"ResourceClaim {ref.namespace}/{name} was not created for Pod {pod.metadata.name}"
            return dataclasses.replace(ref, problem=problem)
        return ref

    def _made_before(self, pod: Pod, entry: PodResourceClaim) -> str | None:
        """The name of the claim that was made for this entry: the pod owns it, or name and annotation agree."""
        if not self._cluster.claims:
            return None
        key = key_of(pod.metadata)
        owned = self._by_owner.get((key, entry.name))
        if owned is not None and generated_claims.is_owner(owned, pod):
            return owned.metadata.name
        name = generated_claims.claim_name(pod.metadata.name, entry.name)
        claim = self._cluster.claims.get((key[0], name))
        if claim is None or (claim.metadata.annotations or {}).get(POD_CLAIM_ANNOTATION) != entry.name:
            return None
        return name if generated_claims.is_owner(claim, pod) else None

    def _from_template(self, pod: Pod, entry: PodResourceClaim) -> ClaimRef:
        namespace = key_of(pod.metadata)[0]
        name = generated_claims.claim_name(pod.metadata.name, entry.name, self._taken[namespace])
        key = namespace, entry.resource_claim_template_name or ""
        template = self._cluster.templates.get(key)
        if template is None:
            problem = f"ResourceClaimTemplate {key[0]}/{key[1]} not found"
            return ClaimRef(namespace, name, None, entry.name, True, problem=problem)
        self._taken[namespace].add(name)
        claim = generated_claims.generate(template, pod, entry.name, name)
        manifest = self._cluster.manifest("ResourceClaimTemplate", key)
        return ClaimRef(namespace, name, claim, entry.name, True, manifest)

"""Units of allocation (SCHED-1, SCHED-2): pods with their claims, and loose claims.

A pod has claims that it names, claims that were made for it before, and claims made from templates as the claim
controller would make them. An entry that its PodGroup has, too, is that group's: all members share one claim (PGC-2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from ..cluster.cluster import Cluster
from ..kubernetes import meta
from ..kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimTemplate
from ..kubernetes.core import FINISHED_PHASES, Pod, PodResourceClaim, PodSpec
from ..kubernetes.extensions import constraints_annotation
from ..kubernetes.kinds import SCHEDULING_GROUP, kind_of
from ..kubernetes.workloads import PodGroup
from ..manifests.reader import Manifest
from ..manifests.writer import RESOURCE_API, is_allocated, model_mapping
from .requests import EXTENDED_ENTRY, ClaimMaker, is_extended_claim


class ClaimRef(msgspec.Struct, frozen=True, eq=False):
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
    # The PodGroup all of whose members share the claim.
    group: str = ""

    @property
    def key(self) -> meta.ObjectKey:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def raw(self) -> Mapping[str, Any] | None:
        """The mapping to print: the input's, or a generated one. None: made in Python, print the object itself."""
        if not self.generated or self.claim is None:
            return self.manifest.raw if self.manifest else None
        if self.manifest is None or self.manifest.raw is None:
            return generated_claim_manifest(self.claim, RESOURCE_API, model_mapping(self.claim.spec))
        spec = (self.manifest.raw.get("spec") or {}).get("spec") or {}
        return generated_claim_manifest(self.claim, self.manifest.api_version, spec)

    @property
    def allocated(self) -> bool:
        """The claim has an allocation already: it is not allocated again but restricts the nodes (SCHED-2)."""
        return self.claim is not None and is_allocated(self.claim)


Allocations: TypeAlias = Sequence[tuple[ClaimRef, AllocationResult]]
"""Claims of a unit with what they get, in their order."""


def is_deleting(metadata: meta.ObjectMeta) -> bool:
    """The object is on its way out."""
    return metadata.deletion_timestamp is not None


def claim_problem(key: meta.ObjectKey, claim: ResourceClaim | None) -> str:
    """Why a claim cannot be had (SCHED-1); empty if it can."""
    if claim is None:
        return f"ResourceClaim {key[0]}/{key[1]} not found"
    return f"ResourceClaim {key[0]}/{key[1]} is being deleted" if is_deleting(claim.metadata) else ""


def template_not_found(key: meta.ObjectKey) -> str:
    """Say that a claim template is not there."""
    return f"ResourceClaimTemplate {key[0]}/{key[1]} not found"


def no_claim_named(entry: PodResourceClaim) -> str:
    """Say that an entry of ``spec.resourceClaims`` leads to no claim."""
    return f"entry {entry.name} names no claim and no template"


class PodClaims:
    """Finds the claims of a cluster's pods and keeps generated names apart; ask for each pod once, in name order.

    With ``names_are_apart`` no two claims would have one name: then the order does not matter, nor how often is asked.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._templates = cluster.templates
        self.names_are_apart = False
        self._by_owner = claims_by_owner(cluster.claims)
        self._of_groups: dict[tuple[meta.ObjectKey, str], ClaimRef] = {}
        # What claims made from a template for entries of one name have in common.
        self._makers: dict[tuple[meta.ObjectKey, str], ClaimMaker] = {}
        self._makers_by_entries: dict[tuple[str, Sequence[PodResourceClaim]], Sequence[EntryMaker]] = {}
        self._latest: tuple[PodSpec | None, str, Sequence[EntryMaker]] = None, "", ()
        self._taken: dict[str, set[str]] = defaultdict(set)
        for namespace, name in cluster.claims:
            self._taken[namespace].add(name)

    def claims_of(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claims of the pod's entries in their order, one that several entries name only once.

        An entry for which none was needed is left out.
        """
        if not pod.spec.resource_claims:
            return ()
        makers = self.makers_of(pod)
        if makers:
            return tuple([self._made(pod, namespace, entry, maker) for namespace, entry, maker in makers])
        known = {status.name: status for status in (pod.status.resource_claim_statuses if pod.status else None) or ()}
        grouped = pod.spec.scheduling_group is not None
        found = []
        for entry in pod.spec.resource_claims:
            group = None
            if grouped:
                group = group_of_entry(self._cluster, meta.key_of(pod.metadata)[0], pod.spec, entry)
            status = known.get(entry.name)
            if status is None:
                found.append(self._by_spec(pod, entry, group))
            elif status.resource_claim_name:
                found.append(self._owned(pod, entry, status.resource_claim_name, group))
        if len(found) < 2:
            return tuple(found)
        once: dict[meta.ObjectKey, ClaimRef] = {}
        for ref in found:
            once.setdefault(ref.key, ref)
        return tuple(once.values())

    def makers_of(self, pod: Pod) -> Sequence[EntryMaker]:
        """What makes the claims of a pod all of whose entries name templates, where there are no claims yet."""
        spec, status = pod.spec, pod.status
        is_new = status is None or not status.resource_claim_statuses
        if self._cluster.claims or not is_new or spec.scheduling_group is not None:
            return ()
        # Copies of a pod have one spec, and most others have the entries of one.
        namespace = meta.key_of(pod.metadata)[0]
        if self._latest[0] is not spec or self._latest[1] != namespace:
            key = namespace, spec.resource_claims or ()
            if key not in self._makers_by_entries:
                self._makers_by_entries[key] = self._entry_makers(*key)
            self._latest = spec, namespace, self._makers_by_entries[key]
        return self._latest[2]

    def _entry_makers(self, namespace: str, entries: Sequence[PodResourceClaim]) -> Sequence[EntryMaker]:
        keys = [(namespace, entry.resource_claim_template_name or "") for entry in entries]
        if any(entry.resource_claim_name for entry in entries) or len({one.name for one in entries}) < len(entries):
            return ()
        if not all(key in self._templates for key in keys):
            return ()
        return [(namespace, entry, self._maker(key, entry)) for key, entry in zip(keys, entries, strict=True)]

    def existing(self, key: meta.ObjectKey, entry: str = "") -> ClaimRef:
        """A claim by its name."""
        claim = self._cluster.claims.get(key)
        manifest = self._cluster.manifest(ResourceClaim, key) if claim else None
        return ClaimRef(*key, claim, entry, manifest=manifest, problem=claim_problem(key, claim))

    def extended_claim_of(self, pod: Pod) -> tuple[ClaimRef, ...]:
        """The claim that was made for the pod's extended resources, if there is one."""
        if pod.status is None and not self._cluster.claims:
            return ()
        name = made_extended_claim(self._cluster, pod)
        return (self.existing((meta.key_of(pod.metadata)[0], name), EXTENDED_ENTRY),) if name else ()

    @cached_property
    def owners(self) -> frozenset[meta.ObjectKey]:
        """The pods that claims of the input were made for, as these claims say; they need not be in the input."""
        found = {key for kind, key, _ in self._by_owner if kind == Pod.__name__}
        for (namespace, name), claim in self._cluster.claims.items():
            entry = (claim.metadata.annotations or {}).get(POD_CLAIM_ANNOTATION)
            if entry and not claim.metadata.owner_references:
                found.add((namespace, name.removesuffix(f"-{entry}")))
        return frozenset((*found, *_extended_claims(self._cluster)))

    def new_name(self, pod: Pod, entry: str) -> str:
        """Take a name that no claim has, for one that is made for a pod, but for none of its entries."""
        return self._take_name(meta.key_of(pod.metadata)[0], pod.metadata.name, entry)

    def _take_name(self, namespace: str, owner: str, entry: str) -> str:
        if self.names_are_apart:
            return generated_claim_name(owner, entry)
        taken = self._taken[namespace]
        name = generated_claim_name(owner, entry, taken)
        taken.add(name)
        return name

    def _by_spec(self, pod: Pod, entry: PodResourceClaim, group: PodGroup | None) -> ClaimRef:
        namespace = meta.key_of(pod.metadata)[0]
        if entry.resource_claim_name:
            return self.existing((namespace, entry.resource_claim_name), entry.name)
        if not entry.resource_claim_template_name:
            return ClaimRef(namespace, "", None, entry.name, problem=no_claim_named(entry))
        if group is not None:
            return self._of_group(group, pod, entry)
        made = self._made_before(pod, entry)
        return self._owned(pod, entry, made) if made else self._from_template(pod, entry)

    def _owned(self, pod: Pod, entry: PodResourceClaim, name: str, group: PodGroup | None = None) -> ClaimRef:
        ref = self.existing((meta.key_of(pod.metadata)[0], name), entry.name)
        if not entry.resource_claim_template_name:
            return ref
        if ref.claim and not is_owner(ref.claim, pod) and not (group is not None and is_owner(ref.claim, group)):
            problem = f"ResourceClaim {ref.namespace}/{name} was not created for Pod {pod.metadata.name}"
            if group is not None:
                problem += f" (neither Pod nor PodGroup {group.metadata.name} is the owner)"
            return replace(ref, problem=problem)
        return ref if group is None else replace(ref, group=group.metadata.name)

    def group_claim_name(self, group: PodGroup, entry: PodResourceClaim) -> str:
        """The name of the claim of a group's entry: what its status says, what was made for it, or ``GROUP-ENTRY``."""
        ref = self._of_groups.get((meta.key_of(group.metadata), entry.name))
        made = claim_in_group_status(group, entry) or self._made_before(group, entry)
        return ref.name if ref else made or generated_claim_name(group.metadata.name, entry.name)

    def _of_group(self, group: PodGroup, pod: Pod, entry: PodResourceClaim) -> ClaimRef:
        """The one claim of an entry of a PodGroup: what its status names, what was made for it, or a new one."""
        key = meta.key_of(group.metadata), entry.name
        if key not in self._of_groups:
            name = claim_in_group_status(group, entry) or self._made_before(group, entry)
            if name:
                self._of_groups[key] = self._owned(pod, entry, name, group)
            else:
                ref = self._from_template(group, entry)
                self._of_groups[key] = replace(ref, group=group.metadata.name)
        return self._of_groups[key]

    def _made_before(self, owner: Pod | PodGroup, entry: PodResourceClaim) -> str | None:
        """The name of the claim that was made for this entry: the owner has it, or name and annotation agree."""
        if not self._cluster.claims:
            return None
        key = meta.key_of(owner.metadata)
        owned = self._by_owner.get((kind_of(type(owner)).name, key, entry.name))
        if owned is not None and is_owner(owned, owner):
            return owned.metadata.name
        name = generated_claim_name(owner.metadata.name, entry.name)
        claim = self._cluster.claims.get((key[0], name))
        if claim is None or (claim.metadata.annotations or {}).get(POD_CLAIM_ANNOTATION) != entry.name:
            return None
        return name if is_owner(claim, owner) else None

    def _from_template(self, owner: Pod | PodGroup, entry: PodResourceClaim) -> ClaimRef:
        namespace = meta.key_of(owner.metadata)[0]
        key = namespace, entry.resource_claim_template_name or ""
        template = self._templates.get(key)
        if template is None:
            name = generated_claim_name(owner.metadata.name, entry.name, self._taken[namespace])
            return ClaimRef(namespace, name, None, entry.name, True, problem=template_not_found(key))
        return self._made(owner, namespace, entry, self._maker(key, entry))

    def _maker(self, key: meta.ObjectKey, entry: PodResourceClaim) -> ClaimMaker:
        maker = self._makers.get((key, entry.name))
        if maker is None:
            template, manifest = self._templates[key], self._cluster.manifest(ResourceClaimTemplate, key)
            maker = self._makers[key, entry.name] = ClaimMaker.of(
                template, _generated_annotations(template, entry.name), manifest
            )
        return maker

    def _made(self, owner: Pod | PodGroup, namespace: str, entry: PodResourceClaim, maker: ClaimMaker) -> ClaimRef:
        name = self._take_name(namespace, owner.metadata.name, entry.name)
        return ClaimRef(namespace, name, maker.claim(owner, namespace, name), entry.name, True, maker.manifest)


def group_of_entry(cluster: Cluster, namespace: str, spec: PodSpec, entry: PodResourceClaim) -> PodGroup | None:
    """The PodGroup whose claim an entry of a member means; None: the entry is the pod's own.

    Name and both references must be equal to those of an entry of the group (PGC-2).
    """
    reference = spec.scheduling_group
    if reference is None or not reference.pod_group_name:
        return None
    group = cluster.pod_groups.get((namespace, reference.pod_group_name))
    return group if group is not None and entry in (group.spec.resource_claims or ()) else None


def claim_in_group_status(group: PodGroup, entry: PodResourceClaim) -> str | None:
    """The claim that the group's status names for an entry (PGC-4)."""
    statuses = (group.status.resource_claim_statuses if group.status else None) or ()
    return next((one.resource_claim_name for one in statuses if one.name == entry.name), None)


class Unit(msgspec.Struct, frozen=True, eq=False):
    """Claims that go to one node together: those of a pod in its order, or one loose claim.

    ``claims`` holds the allocated ones too; ``requested_claims`` those that still need devices. A claim may be in
    several units (pods that share it): the first one allocates it, the others must follow its node selector.
    """

    pod: Pod | None
    claims: tuple[ClaimRef, ...]
    namespace: str
    name: str

    def with_pod(self, pod: Pod | None) -> Unit:
        """The unit with another pod, and the same claims."""
        return Unit(pod, self.claims, self.namespace, self.name)

    @property
    def requested_claims(self) -> tuple[ClaimRef, ...]:
        """The claims without an allocation."""
        # Most claims have no status.
        return tuple([ref for ref in self.claims if ref.claim and (ref.claim.status is None or not ref.allocated)])

    @property
    def claims_to_allocate(self) -> tuple[ResourceClaim, ...]:
        """The claims of ``requested_claims``, numbered as in a Problem."""
        return tuple(ref.claim for ref in self.requested_claims if ref.claim is not None)

    def existing_allocations(
        self, new_allocations: Mapping[meta.ObjectKey, AllocationResult] = MappingProxyType({})
    ) -> Iterator[AllocationResult]:
        """What the claims hold already, which ties the unit to nodes (SCHED-2); new ones count before their status."""
        for ref in self.claims:
            status = ref.claim.status if ref.claim else None
            found = new_allocations.get(ref.key) or (status.allocation if status else None)
            if found is not None:
                yield found

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the unit cannot be placed anywhere: claims or templates that are missing or being deleted (SCHED-1)."""
        return tuple(ref.problem for ref in self.claims if ref.problem)

    @property
    def pod_label(self) -> str | None:
        """``namespace/name`` of the pod, as results have it; None for loose claims."""
        return f"{self.namespace}/{self.name}" if self.pod else None

    @property
    def node_name(self) -> str | None:
        """The node the pod is on already; its claims must be allocated there."""
        return (self.pod.spec.node_name or None) if self.pod else None

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels a selector sees: the pod's, or the loose claim's."""
        if self.pod:
            return self.pod.metadata.labels or {}
        return next((ref.claim.metadata.labels or {} for ref in self.claims if ref.claim), {})


def allocation_of(ref: ClaimRef) -> AllocationResult | None:
    """What a claim holds in the input."""
    return ref.claim.status.allocation if ref.claim and ref.claim.status else None


def is_reserved_for_others(ref: ClaimRef, unit: Unit) -> bool:
    """Whether the claim's status reserves it for another pod, or for the PodGroup."""
    consumers = (ref.claim.status.reserved_for if ref.claim and ref.claim.status else None) or ()
    return any(one.resource != "pods" or one.name != unit.name for one in consumers)


def unallocated_claims(unit: Unit, made: Mapping[meta.ObjectKey, AllocationResult]) -> list[ClaimRef]:
    """List the claims of a unit that have no allocation yet."""
    return [ref for ref in unit.requested_claims if ref.key not in made]


def is_open_claim(claim: ResourceClaim) -> bool:
    """The claim has no allocation and is to get one."""
    return not is_allocated(claim) and not is_deleting(claim.metadata)


def is_finished_or_deleting(pod: Pod) -> bool:
    """The pod has finished, or is being deleted."""
    return is_deleting(pod.metadata) or has_finished(pod)


def has_finished(pod: Pod) -> bool:
    """The pod's containers have ended; it holds nothing any more."""
    return pod.status is not None and pod.status.phase in FINISHED_PHASES


# Names the entry of the pod's spec.resourceClaims that a claim was made for.
POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
_NAME_MAX = 253


def generated_claim_name(pod: str, entry: str, taken: Collection[str] = ()) -> str:
    """``POD-ENTRY``, the same in every run; ``-2``, ``-3`` ... is added only if the name is taken."""
    stem, number = f"{pod}-{entry}"[:_NAME_MAX].rstrip("-."), 1
    name = stem
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = stem[: _NAME_MAX - len(suffix)].rstrip("-.") + suffix
    return name


def _generated_annotations(template: ResourceClaimTemplate, entry: str) -> dict[str, str]:
    """The annotations of claims of an entry.

    Of the template's own annotations only that of our entries counts for the claim: people put it there too.
    """
    copied = template.spec.metadata
    own = (copied.annotations if copied else None) or {}
    return {**constraints_annotation(template.metadata), **own, POD_CLAIM_ANNOTATION: entry}


EntryMaker = tuple[str, PodResourceClaim, ClaimMaker]
"""What makes the claim of an entry of pods in a namespace."""


def generated_claim_manifest(claim: ResourceClaim, api_version: str, spec: Any) -> dict[str, Any]:
    """The manifest of a generated claim, with the template's ``spec.spec`` as it was read."""
    return {"apiVersion": api_version, "kind": "ResourceClaim", "metadata": model_mapping(claim.metadata), "spec": spec}


def is_owner(claim: ResourceClaim, owner: Pod | PodGroup) -> bool:
    """The pod, or the members of the PodGroup, may use a generated claim: no other object controls it (SCHED-1, PGC-4).

    Manifests often lack uids, so a name is enough where one of the uids is missing.
    """
    controllers = [one for one in claim.metadata.owner_references or () if one.controller]
    return all(
        _names_kind(one, type(owner))
        and one.name == owner.metadata.name
        and (not one.uid or not owner.metadata.uid or one.uid == owner.metadata.uid)
        for one in controllers
    )


def _names_kind(reference: meta.OwnerReference, model: type[Pod | PodGroup]) -> bool:
    """Other schedulers have kinds named PodGroup, too."""
    if model is PodGroup and reference.api_version and not reference.api_version.startswith(f"{SCHEDULING_GROUP}/"):
        return False
    return reference.kind == model.__name__


def made_extended_claim(cluster: Cluster, pod: Pod) -> str | None:
    """The name of the claim that was made for a pod's extended resources (KEP-5004).

    The pod's status names it. Before it does, the scheduler knows it by its annotation and by its owner.
    """
    status = pod.status.extended_resource_claim_status if pod.status else None
    if status is not None:
        return status.resource_claim_name
    made = _extended_claims(cluster)
    claim = made.get(meta.key_of(pod.metadata)) if made else None
    return claim.metadata.name if claim is not None and is_owner(claim, pod) else None


def _extended_claims(cluster: Cluster) -> Mapping[meta.ObjectKey, ResourceClaim]:
    return cluster.memo("extended claims", lambda: dict(_find_extended_claims(cluster)))


def _find_extended_claims(cluster: Cluster) -> Iterator[tuple[meta.ObjectKey, ResourceClaim]]:
    """Claims for extended resources, by the pod that owns them, or whose name theirs has if nothing owns them."""
    for (namespace, name), claim in cluster.claims.items():
        if is_extended_claim(claim):
            owners = [one for one in claim.metadata.owner_references or () if one.controller]
            pods = [one.name for one in owners if _names_kind(one, Pod)]
            if not owners and (pod := name.removesuffix(f"-{EXTENDED_ENTRY}")) != name:
                pods = [pod]
            yield from (((namespace, pod), claim) for pod in pods)


def is_group_claim(claim: ResourceClaim) -> bool:
    """The claim was made for a PodGroup; only members allocate it (PGC-3)."""
    return any(one.controller and _names_kind(one, PodGroup) for one in claim.metadata.owner_references or ())


def claims_by_owner(
    claims: Mapping[meta.ObjectKey, ResourceClaim],
) -> dict[tuple[str, meta.ObjectKey, str], ResourceClaim]:
    """Claims that were generated before, by kind and key of the pod or PodGroup that controls them, and its entry."""
    return {
        (owner.kind, (namespace, owner.name), entry): claim
        for (namespace, _), claim in claims.items()
        if (entry := (claim.metadata.annotations or {}).get(POD_CLAIM_ANNOTATION))
        for owner in claim.metadata.owner_references or ()
        if owner.controller and owner.kind in ("Pod", "PodGroup")
    }

"""The claims that pods get from templates, as the claim controller would make them (SCHED-1)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .claims import ResourceClaim, ResourceClaimTemplate
from .core import Pod
from .entries import carried
from .identity import ObjectKey, key_of
from .meta import ObjectMeta, OwnerReference
from .rendering import as_mapping

# Names the entry of the pod's spec.resourceClaims that a claim was made for.
POD_CLAIM_ANNOTATION = "resource.kubernetes.io/pod-claim-name"

_NAME_MAX = 253


def claim_name(pod: str, entry: str, taken: Collection[str] = ()) -> str:
    """``POD-ENTRY``, the same in every run; ``-2``, ``-3`` ... is added only if the name is taken."""
    stem, number = f"{pod}-{entry}"[:_NAME_MAX].rstrip("-."), 1
    name = stem
    while name in taken:
        number += 1
        suffix = f"-{number}"
        name = stem[: _NAME_MAX - len(suffix)].rstrip("-.") + suffix
    return name


def generate(template: ResourceClaimTemplate, pod: Pod, entry: str, name: str) -> ResourceClaim:
    """The claim of a pod's entry: the template's spec, labels and annotations, owned by the pod.

    Of the template's own annotations only that of our entries counts for the claim: people put it there too.
    The owner reference needs the pod's uid; for a pod that is not in a cluster yet there is none.
    """
    copied = template.spec.metadata or ObjectMeta()
    metadata = ObjectMeta(
        name=name,
        namespace=key_of(pod.metadata)[0],
        labels=copied.labels,
        annotations={**carried(template.metadata), **(copied.annotations or {}), POD_CLAIM_ANNOTATION: entry},
        owner_references=_owner(pod),
    )
    return ResourceClaim(metadata=metadata, spec=template.spec.spec)


def _owner(pod: Pod) -> tuple[OwnerReference, ...] | None:
    if not pod.metadata.uid:
        return None
    return (
        OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True),
    )


def printable(claim: ResourceClaim, api_version: str, spec: Any) -> dict[str, Any]:
    """The manifest of a generated claim, with the template's ``spec.spec`` as it was read."""
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaim",
        "metadata": as_mapping(claim.metadata),
        "spec": spec,
    }


def is_owner(claim: ResourceClaim, pod: Pod) -> bool:
    """The pod may use a claim that was generated: no other object controls it (SCHED-1).

    Manifests often lack uids, so a name is enough where one of the uids is missing.
    """
    controllers = [owner for owner in claim.metadata.owner_references or () if owner.controller]
    return all(
        owner.kind == "Pod"
        and owner.name == pod.metadata.name
        and (not owner.uid or not pod.metadata.uid or owner.uid == pod.metadata.uid)
        for owner in controllers
    )


def by_owner(claims: Mapping[ObjectKey, ResourceClaim]) -> dict[tuple[ObjectKey, str], ResourceClaim]:
    """Claims that were generated before, by the pod that controls them and its entry."""
    return {
        ((namespace, owner.name), entry): claim
        for (namespace, _), claim in claims.items()
        if (entry := (claim.metadata.annotations or {}).get(POD_CLAIM_ANNOTATION))
        for owner in _pod_controllers(claim)
    }


def _pod_controllers(claim: ResourceClaim) -> Iterable[OwnerReference]:
    return (owner for owner in claim.metadata.owner_references or () if owner.controller and owner.kind == "Pod")

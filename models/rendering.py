"""Manifests of a cluster that was derived from what was read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from .base import Model
from .claims import ResourceClaim
from .identity import ObjectKey, key_of
from .manifests import Manifest
from .problems import Source

RESOURCE_API = "resource.k8s.io/v1"


def is_allocated(claim: ResourceClaim) -> bool:
    """The claim has an allocation."""
    return claim.status is not None and claim.status.allocation is not None


def current_manifests(read: Iterable[Manifest], current: Mapping[str, Mapping[ObjectKey, Any]]) -> Iterator[Manifest]:
    """The manifests read, of which those of the kinds in ``current`` follow the objects there; then added claims.

    Of two objects of one kind and name the later is kept. Kinds that are ignored are kept as they are.
    """
    manifests = tuple(read)
    latest = {_key(manifest): manifest for manifest in manifests}
    for manifest in manifests:
        kind, key = _key(manifest)
        if manifest.object is None:
            yield manifest
        elif latest[kind, key] is manifest and (now := current.get(kind, {key: manifest.object}).get(key)) is not None:
            yield manifest if now is manifest.object else _updated(manifest, now)
    for key, claim in current["ResourceClaim"].items():
        if ("ResourceClaim", key) not in latest:
            yield Manifest("ResourceClaim", RESOURCE_API, claim, _rendered(claim), Source("(objects)", 0))


def _key(manifest: Manifest) -> tuple[str, ObjectKey]:
    return manifest.kind, ("", "") if manifest.object is None else key_of(manifest.object.metadata)


def _updated(manifest: Manifest, now: Any) -> Manifest:
    """The manifest of an object that has changed; a claim that only got another status keeps the rest as written."""
    before = manifest.object
    if manifest.raw is None or not isinstance(before, ResourceClaim):
        return replace(manifest, object=now)
    if now.spec != before.spec:
        return replace(manifest, object=now, api_version=RESOURCE_API, raw=_rendered(now))
    status = {**(manifest.raw.get("status") or {}), **as_mapping(now.status)}
    if not is_allocated(now):
        status.pop("allocation", None)
    return replace(manifest, object=now, raw={**manifest.raw, "status": status})


def _rendered(claim: ResourceClaim) -> dict[str, Any]:
    return {"apiVersion": RESOURCE_API, "kind": "ResourceClaim", "metadata": {}, "spec": {}, **as_mapping(claim)}


def as_mapping(part: Model | None) -> dict[str, Any]:
    """The part of a manifest that an object stands for, in plain dictionaries and lists; empty for None."""
    return {} if part is None else msgspec.json.decode(msgspec.json.encode(part), type=dict[str, Any])

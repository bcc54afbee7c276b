"""Object metadata, as far as allocation reads it.

Names by which objects are told apart (dra-semantics section 1).
"""

from __future__ import annotations

from typing import TypeAlias

from ..formats.model import Int64, Model


class OwnerReference(Model):
    """The object that made this one, e.g. the pod of a generated claim (SCHED-1)."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class ObjectMeta(Model):
    """``metadata`` of any object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


# Driver and pool name; the name alone is not unique (CTR-5).
PoolId: TypeAlias = tuple[str, str]
# Driver, pool and device name.
DeviceId: TypeAlias = tuple[str, str, str]
# Namespace and name of a claim, pod or template.
ObjectKey: TypeAlias = tuple[str, str]
# What objects without a namespace belong to.
DEFAULT_NAMESPACE = "default"


def key_of(metadata: ObjectMeta) -> ObjectKey:
    """Namespace and name of a namespaced object."""
    return metadata.namespace or DEFAULT_NAMESPACE, metadata.name

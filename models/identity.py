"""Names by which objects are told apart (dra-semantics section 1)."""

from typing import TypeAlias

from .meta import ObjectMeta

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

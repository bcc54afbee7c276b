"""The immutable index of everything that was read."""

from collections.abc import Iterable, Mapping

from .claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from .core import Namespace, Node, Pod
from .gates import FeatureGates
from .identity import ObjectKey
from .manifests import Manifest
from .pools import PoolIndex
from .slices import ResourceSlice
from .taints import DeviceTaintRule
from .usage import Usage


class Cluster:
    """Objects by kind, sorted by name, and the indexes the engines read. Immutable and picklable.

    ``nodes`` are the Node objects. If the input has none, they are inferred from the node names of slices and
    devices; if there are none either, there is one nameless node, which sees devices for all nodes.
    """

    slices: tuple[ResourceSlice, ...]
    classes: Mapping[str, DeviceClass]
    claims: Mapping[ObjectKey, ResourceClaim]
    templates: Mapping[ObjectKey, ResourceClaimTemplate]
    pods: Mapping[ObjectKey, Pod]
    nodes: Mapping[str, Node]
    namespaces: Mapping[str, Namespace]
    taint_rules: tuple[DeviceTaintRule, ...]
    # In the order read, for output.
    manifests: tuple[Manifest, ...]

    @classmethod
    def build(cls, manifests: Iterable[Manifest]) -> "Cluster":
        """Index manifests; of two objects of one kind and name the later counts."""
        raise NotImplementedError

    def with_nodes(self, nodes: Iterable[Node]) -> "Cluster":
        """With these nodes added or replaced; the slices' index is shared."""
        raise NotImplementedError

    def with_claims(self, claims: Iterable[ResourceClaim]) -> "Cluster":
        """With these claims added or replaced, e.g. by allocated or unpinned ones; the usage is derived."""
        raise NotImplementedError

    def without(
        self, *, nodes: Iterable[str] = (), claims: Iterable[ObjectKey] = (), pods: Iterable[ObjectKey] = ()
    ) -> "Cluster":
        """Without these nodes, claims (what they hold is free again) and pods; unknown ones are no error."""
        raise NotImplementedError

    def node(self, name: str) -> Node:
        """The node of this name; an unknown name gives a node with nothing but its name and host name label."""
        raise NotImplementedError

    def pools(self, gates: FeatureGates) -> PoolIndex:
        """The pools under these gates, built at the first call and kept."""
        raise NotImplementedError

    def usage(self, gates: FeatureGates) -> Usage:
        """What the claims' allocations hold under these gates, built at the first call and kept."""
        raise NotImplementedError

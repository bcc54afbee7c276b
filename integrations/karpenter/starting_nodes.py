"""Nodes of Karpenter that are still starting: what their drivers will publish, and taints that will go (3.2, 3.9).

And nodes that are on their way out, which Karpenter takes no more pods for.

Karpenter sets the label ``karpenter.sh/initialized`` once each driver that the NodeClaim's annotation names has a
complete pool of the node's own. Until then the devices of the node are those of its instance type.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSpec, Taint
from ...models.kubernetes.meta import ObjectMeta
from ...models.kubernetes.node_templates import NodeTemplate, NodeTemplateSpec, slices_from_template
from ...models.kubernetes.quantity import Quantity
from ...models.kubernetes.slices import ResourceSlice
from ...models.workload.units import is_deleting
from .instance_types import is_reached, with_unknown_values
from .overlays import PooledType

INITIALIZED_LABEL = "karpenter.sh/initialized"
DRIVERS_ANNOTATION = "karpenter.sh/requested-dra-drivers"
# Taints of nodes that start, and the beginning of the keys of others; they go by themselves.
_EPHEMERAL = {
    ("node.kubernetes.io/not-ready", "NoSchedule"),
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoSchedule"),
    ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
    ("karpenter.sh/unregistered", "NoExecute"),
}
_EPHEMERAL_PREFIX = "readiness.k8s.io/"


def with_starting_nodes(
    cluster: Cluster, types: Iterable[PooledType], *, trusted: bool = True
) -> tuple[Cluster, tuple[str, ...]]:
    """The cluster as it is once nodes that start are ready, and a notice for each of them with devices.

    Nodes without a NodeClaim are not Karpenter's, and count as they are. ``trusted``: a complete pool that a driver has
    published already is what it is; Karpenter passes over it.
    """
    starting = starting_nodes(cluster)
    if not starting:
        return cluster, ()
    kinds = {(kind.pool.metadata.name, kind.type.name): kind for kind in types}
    own: defaultdict[str, list[ResourceSlice]] = defaultdict(list)
    for one in cluster.slices:
        if one.spec.node_name in starting:
            own[one.spec.node_name or ""].append(one)
    nodes: list[Node] = []
    slices = [one for one in cluster.slices if one.spec.node_name not in starting]
    notices = []
    for name, claim in sorted(starting.items()):
        node = _as_initialized(cluster.nodes[name], claim)
        labels = node.metadata.labels or {}
        kind = kinds.get((labels.get(karpenter.NODE_POOL_LABEL, ""), labels.get(karpenter.INSTANCE_TYPE_LABEL, "")))
        published = complete_pool_drivers(own[name]) if trusted else frozenset[str]()
        nodes.append(node)
        slices += [one for one in own[name] if _counts(one, published, trusted=trusted, known=kind is not None)]
        slices += (made := _expected(kind, node, published) if kind else [])
        drivers = sorted({*(one.spec.driver for one in made), *waiting_drivers(claim, own[name])})
        if drivers:
            said = "are those of its instance type until they are published"
            unknown = "count as they are published, for its instance type is not in the input"
            notices.append(f"Node {name} is starting: devices of {', '.join(drivers)} {said if kind else unknown}")
    return cluster.with_slices(slices).with_nodes(nodes), tuple(notices)


def starting_nodes(cluster: Cluster) -> dict[str, karpenter.NodeClaim]:
    """Names of nodes that start, with their NodeClaims."""
    return {
        name: claim
        for claim in cluster.objects(karpenter.NodeClaim).values()
        if (name := claimed_node(claim)) and _is_starting(cluster.nodes.get(name))
    }


def leaving_nodes(cluster: Cluster) -> frozenset[str]:
    """Names of nodes that are being deleted, or whose NodeClaims are; Karpenter puts no pods there."""
    claims = cluster.objects(karpenter.NodeClaim).values()
    deleted = {claimed_node(claim) for claim in claims if is_deleting(claim.metadata)}
    return frozenset(name for name, node in cluster.nodes.items() if name in deleted or is_deleting(node.metadata))


def claimed_node(claim: karpenter.NodeClaim) -> str:
    """The name of the node that was launched for a claim; empty as long as it has not joined."""
    return claim.status.node_name if claim.status is not None else ""


def _is_starting(node: Node | None) -> bool:
    return node is not None and (node.metadata.labels or {}).get(INITIALIZED_LABEL) != "true"


def _counts(one: ResourceSlice, published: Collection[str], *, trusted: bool, known: bool) -> bool:
    """Slices of a starting node: Karpenter passes over those that the node owns, be its type known or not."""
    if trusted:
        return not known or one.spec.driver in published
    return not any(owner.kind == "Node" for owner in one.metadata.owner_references or ())


def complete_pool_drivers(slices: Iterable[ResourceSlice]) -> frozenset[str]:
    """Drivers with a complete pool among these slices: all of the newest generation are there."""
    newest: dict[tuple[str, str], int] = {}
    counts: Counter[tuple[str, str, int]] = Counter()
    wanted: dict[tuple[str, str, int], int] = {}
    for one in slices:
        key, generation = (one.spec.driver, one.spec.pool.name), one.spec.pool.generation
        newest[key] = max(generation, newest.get(key, generation))
        counts[*key, generation] += 1
        wanted[*key, generation] = one.spec.pool.resource_slice_count
    return frozenset(
        driver
        for (driver, pool), generation in newest.items()
        if counts[driver, pool, generation] == wanted[driver, pool, generation]
    )


def waiting_drivers(claim: karpenter.NodeClaim, slices: Iterable[ResourceSlice]) -> list[str]:
    """Drivers that a NodeClaim expects, and that have no complete pool on its node; it is not initialized before."""
    expected = (claim.metadata.annotations or {}).get(DRIVERS_ANNOTATION, "")
    published = complete_pool_drivers(slices)
    return [driver for part in expected.split(",") if (driver := part.strip()) and driver not in published]


def _expected(kind: PooledType, node: Node, published: Collection[str]) -> list[ResourceSlice]:
    """What drivers without a complete pool will publish."""
    labels: Mapping[str, str] = node.metadata.labels or {}
    own = with_unknown_values([one for one in kind.slices if is_reached(one, labels)], kind.bindings)
    spec = NodeTemplateSpec(slices=tuple(one for one in own if one.driver not in published))
    name = node.metadata.name
    made = slices_from_template(NodeTemplate(metadata=ObjectMeta(name=name), spec=spec), name)
    # No object has such a name.
    return [structs.replace(one, metadata=ObjectMeta(name=f"{name}/{number}")) for number, one in enumerate(made)]


def _as_initialized(node: Node, claim: karpenter.NodeClaim) -> Node:
    """Resources that the node does not show yet are those of its claim; startup taints and those of starting go."""
    startup = claim.spec.startup_taints or ()
    spec = node.spec or NodeSpec()
    taints = tuple(one for one in spec.taints or () if not _goes(one, startup))
    status = node.status
    if status is not None and claim.status is not None:
        allocatable = {**(claim.status.allocatable or {}), **_present(status.allocatable)}
        capacity = {**(claim.status.capacity or {}), **_present(status.capacity)}
        status = structs.replace(status, allocatable=allocatable or None, capacity=capacity or None)
    return structs.replace(node, spec=structs.replace(spec, taints=taints or None), status=status)


def _goes(taint: Taint, startup: Sequence[Taint]) -> bool:
    return (
        (taint.key, taint.effect) in _EPHEMERAL
        or taint.key.startswith(_EPHEMERAL_PREFIX)
        or any((one.key, one.effect) == (taint.key, taint.effect) for one in startup)
    )


def _present(amounts: Mapping[str, str | float] | None) -> dict[str, str | float]:
    """Amounts that are not zero."""
    return {name: amount for name, amount in (amounts or {}).items() if Quantity.parse(amount).nano}

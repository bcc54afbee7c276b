"""Less cost in what runs: which nodes may go, what they cost, and what may replace them (karpenter-dra 4.3).

Karpenter tries prefixes of a list of nodes and at most one new node. Here every set of nodes counts, and any number of
new ones. What keeps Karpenter from touching a node keeps it here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.node_templates import NodeTemplate, PurchaseLimit
from ...models.workload.node_room import running_pods
from ...models.workload.running import DO_NOT_DISRUPT_ANNOTATION, goes_with_its_node
from ...models.workload.units import is_deleting
from .overlays import PooledType, evaluate

TEMPLATE_LABEL = "drasat.dev/node-template"
"""On nodes that are there: the NodeTemplate whose price they have."""
_DISRUPTED_TAINT = "karpenter.sh/disrupted"
_NAMED_IN_NOTICE = 3


@dataclass(frozen=True, slots=True)
class RemovableNodes:
    """Prices of nodes that may go, and of those ``kept`` for a reason that ``notices`` tell."""

    prices: Mapping[str, Fraction]
    kept: frozenset[str]
    notices: tuple[str, ...]


def removable_nodes(cluster: Cluster) -> RemovableNodes:
    """Find the nodes that may go, with what they cost. Raises ``ValueError`` if no price is known."""
    types = evaluate(cluster, FeatureGates.all_on()).types if cluster.objects(karpenter.NodePool) else ()
    kinds = {(kind.pool.metadata.name, kind.type.name): kind for kind in types}
    crowded = _nodes_with_pods(cluster)
    prices: dict[str, Fraction] = {}
    reasons: dict[str, list[str]] = {}
    for name, node in cluster.nodes.items():
        price = _price(node, kinds, cluster.node_templates)
        if price is None:
            reasons.setdefault("no price of them is known", []).append(name)
            continue
        prices[name] = price
        reason = _reason_to_stay(node, cluster.objects(karpenter.NodePool), name in crowded)
        if reason:
            reasons.setdefault(reason, []).append(name)
    if not prices:
        raise ValueError(
            "no node has a price that is known: its labels name no offering of a NodePool, and its label "
            f"{TEMPLATE_LABEL} no NodeTemplate"
        )
    kept = frozenset(name for names in reasons.values() for name in names)
    return RemovableNodes(prices, kept, tuple(_notices(reasons)))


def purchase_limits(limits: Sequence[PurchaseLimit], cluster: Cluster, replacement: str) -> Sequence[PurchaseLimit]:
    """The limits of what may be bought; with the replacement ``one`` a single node in all."""
    if replacement != "one":
        return limits
    return (*limits, PurchaseLimit("new nodes", dict.fromkeys(cluster.node_templates, 1), 1))


def _nodes_with_pods(cluster: Cluster) -> frozenset[str]:
    """Nodes with pods that are no part of them."""
    pods = running_pods(cluster).values()
    return frozenset(pod.spec.node_name or "" for pod in pods if not goes_with_its_node(pod))


def _price(
    node: Node, kinds: Mapping[tuple[str, str], PooledType], templates: Mapping[str, NodeTemplate]
) -> Fraction | None:
    """What a node costs: by the offering that its labels name, overlays applied, or by its template."""
    labels = node.metadata.labels or {}
    template = templates.get(labels.get(TEMPLATE_LABEL, ""))
    if template is not None and template.spec.price is not None:
        return Fraction(str(template.spec.price))
    kind = kinds.get((labels.get(karpenter.NODE_POOL_LABEL, ""), labels.get(karpenter.INSTANCE_TYPE_LABEL, "")))
    found = [
        Fraction(priced.price.nano, 10**9)
        for priced in (kind.offerings if kind else ())
        if all(labels.get(key) == value for key, value in priced.offering.requirements.single_values().items())
    ]
    # Of offerings that differ in nothing that the node tells, the cheapest is taken, so that no saving is made up.
    return min(found, default=None)


def _reason_to_stay(node: Node, pools: Mapping[str, karpenter.NodePool], has_pods: bool) -> str:
    """Why Karpenter would not touch a node; empty if it might."""
    labels, annotations = node.metadata.labels or {}, node.metadata.annotations or {}
    if annotations.get(DO_NOT_DISRUPT_ANNOTATION) == "true":
        return f"their annotation {DO_NOT_DISRUPT_ANNOTATION} is true"
    if is_deleting(node.metadata) or any(one.key == _DISRUPTED_TAINT for one in (node.spec and node.spec.taints) or ()):
        return "they are on their way out already"
    pool = pools.get(labels.get(karpenter.NODE_POOL_LABEL, ""))
    if pool is None:
        return ""
    name = f"NodePool {pool.metadata.name}"
    if pool.spec.replicas is not None:
        return f"{name} has a fixed number of nodes"
    disruption = pool.spec.disruption
    if disruption is None:
        return ""
    if disruption.consolidate_after == "Never":
        return f"{name} never consolidates"
    if disruption.consolidation_policy == "WhenEmpty" and has_pods:
        return f"{name} consolidates empty nodes only"
    reason = "Underutilized" if has_pods else "Empty"
    budgets = (one for one in disruption.budgets or () if not one.schedule and reason in (one.reasons or (reason,)))
    if any(one.nodes in ("0", "0%") for one in budgets):
        return f"a budget of {name} allows no disruption"
    return ""


def _notices(reasons: Mapping[str, list[str]]) -> Iterator[str]:
    for reason, names in reasons.items():
        named = ", ".join(names[:_NAMED_IN_NOTICE])
        such = f"{named} and {len(names) - _NAMED_IN_NOTICE} more" if len(names) > _NAMED_IN_NOTICE else named
        yield f"nodes stay for {reason}: {such}"

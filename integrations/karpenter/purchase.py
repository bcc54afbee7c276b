"""What a plan buys of NodePools: the market within the time limit, and bought nodes in Karpenter's words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.node_templates import is_pool_of_node
from ...models.results.plan import PlanDocument
from ...problem.messages import DeadlineExceededError
from ...solver.plan.outcome import PlanOutcome
from .candidates import NodeMarket, node_market
from .overlay import evaluate
from .overlays import NO_OTHER_TYPES, OtherTypes

_NO_TIME = "the time limit left no time to look at all offerings of the NodePools; none is bought"


def market_in_time(
    cluster: Cluster, gates: FeatureGates, others: Iterable[Cluster], deadline: float | None
) -> NodeMarket:
    """What can be launched, as ``node_market``; if the time passes, nothing but the cluster's own NodeTemplates."""
    try:
        return node_market(cluster, evaluate(cluster, gates, deadline), others, deadline=deadline)
    except DeadlineExceededError:
        return NodeMarket({}, cluster, (), (_NO_TIME,), complete=False)


def with_offerings(document: PlanDocument, market: NodeMarket, found: OtherTypes) -> PlanDocument:
    """Say of bought nodes what they are in Karpenter's words; where not all offerings were seen nothing is proven."""
    pairs = [(one, market.candidates.get(one.template)) for one in document.bought]
    bought = tuple(
        one
        if made is None
        else structs.replace(
            one,
            pool=made.pool,
            instance_type=made.kind.type.name,
            zone=made.zone,
            capacity_type=made.capacity_type,
            overlay=made.priced.overlay,
            other_types=found.by_template.get(one.template, ()),
        )
        for one, made in pairs
    )
    document = structs.replace(document, bought=bought, notices=(*market.notices, *found.notices, *document.notices))
    if market.complete:
        return document
    stages = tuple(structs.replace(one, bound=None, gap=None, proven=False) for one in document.objective)
    return structs.replace(document, outcome="Unknown" if not document.placed else "Feasible", objective=stages)


def types_beside(
    cluster: Cluster, market: NodeMarket, answer: PlanOutcome, gates: FeatureGates, deadline: float | None
) -> OtherTypes:
    """Other types for the nodes of a plan, where pools want several (R18); most do not."""
    if not market.is_flexible:
        return NO_OTHER_TYPES
    from .other_types import other_types

    pods: dict[str, list[str]] = defaultdict(list)
    for unit in answer.units:
        if unit.node is not None:
            pods[unit.node].append(f"{unit.unit.namespace}/{unit.unit.name}")
    return other_types(cluster, market, answer.bought, pods, gates, deadline)


def node_claims_of_plan(market: NodeMarket, answer: PlanOutcome) -> Iterator[dict[str, Any]]:
    """Yield a NodeClaim for each node that a plan buys of a pool."""
    from .node_claims import node_claim_manifests

    pods: dict[str, list[Pod]] = defaultdict(list)
    drivers: dict[str, set[str]] = defaultdict(set)
    for unit in answer.units:
        if unit.node is not None:
            pods[unit.node] += [unit.unit.pod] if unit.unit.pod is not None else []
            results = (result for _, allocation in unit.allocations for result in allocation.devices.results or ())
            drivers[unit.node] |= {result.driver for result in results if is_pool_of_node(result.pool, unit.node)}
    return node_claim_manifests(market, answer.bought, pods, drivers)

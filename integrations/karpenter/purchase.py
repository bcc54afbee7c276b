"""What a plan buys of NodePools: the market within the time limit, and bought nodes in Karpenter's words.

NodeClaims are what Karpenter would ask its provider for (karpenter-dra 3.9, 4.1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSelectorRequirement, Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.node_templates import is_pool_of_node
from ...models.results.plan import PlanDocument, PlanVerdict
from ...models.workload.controller_kinds import daemon_specs
from ...models.workload.requests import effective_requests, format_amount, sum_requests
from ...problem.messages import DeadlineExceededError
from ...solver.plan.outcome import PlanOutcome
from .candidates import NodeCandidate, NodeMarket, node_market
from .overlay import evaluate
from .overlays import NO_OTHER_TYPES, OtherTypes
from .starting_nodes import DRIVERS_ANNOTATION

PRICE_ANNOTATION = "karpenter.sh/price-overlay-applied"
CAPACITY_ANNOTATION = "karpenter.sh/capacity-overlay-applied"
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
            labels=dict(sorted(made.labels.items())),
        )
        for one, made in pairs
    )
    document = structs.replace(document, bought=bought, notices=(*market.notices, *found.notices, *document.notices))
    if market.complete:
        return document
    stages = tuple(structs.replace(one, bound=None, gap=None, proven=False, proof=None) for one in document.objective)
    outcome: PlanVerdict = "Feasible" if document.placed else "Unknown"
    return structs.replace(document, outcome=outcome, objective=stages, certified=False, proof=None)


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
    pods: dict[str, list[Pod]] = defaultdict(list)
    drivers: dict[str, set[str]] = defaultdict(set)
    for unit in answer.units:
        if unit.node is not None:
            pods[unit.node] += [unit.unit.pod] if unit.unit.pod is not None else []
            results = (result for _, allocation in unit.allocations for result in allocation.devices.results or ())
            drivers[unit.node] |= {result.driver for result in results if is_pool_of_node(result.pool, unit.node)}
    return node_claim_manifests(market, answer.bought, pods, drivers)


def node_claim_manifests(
    market: NodeMarket,
    bought: Mapping[str, Sequence[Node]],
    pods: Mapping[str, Sequence[Pod]],
    drivers: Mapping[str, Iterable[str]],
) -> Iterator[dict[str, Any]]:
    """Yield a NodeClaim for each node that is bought of a pool, by the name of its template.

    ``pods`` and ``drivers`` are by node: what goes there, and the drivers of the node's devices that are allocated.
    """
    for name, nodes in sorted(bought.items()):
        candidate = market.candidates.get(name)
        for node in nodes if candidate else ():
            key = node.metadata.name
            if candidate is not None:
                yield _manifest(market, candidate, node, pods.get(key, ()), sorted(set(drivers.get(key, ()))))


def _manifest(
    market: NodeMarket, candidate: NodeCandidate, node: Node, pods: Sequence[Pod], drivers: Sequence[str]
) -> dict[str, Any]:
    template = candidate.kind.pool.spec.template
    requests = sum_requests(map(effective_requests, (*daemon_specs(market.cluster, node), *(pod.spec for pod in pods))))
    annotations = {
        **(template.metadata.annotations or {}),
        **({DRIVERS_ANNOTATION: ",".join(drivers)} if drivers else {}),
        **({PRICE_ANNOTATION: "true"} if candidate.priced.overlay else {}),
        **({CAPACITY_ANNOTATION: "true"} if candidate.kind.capacity_sources else {}),
    }
    labels = {**(template.metadata.labels or {}), karpenter.NODE_POOL_LABEL: candidate.pool}
    spec = karpenter.NodeClaimSpec(
        requirements=tuple(_requirements(candidate)),
        taints=template.spec.taints,
        startup_taints=template.spec.startup_taints,
        node_class_ref=template.spec.node_class_ref,
        expire_after=template.spec.expire_after,
        termination_grace_period=template.spec.termination_grace_period,
        resources=karpenter.NodeClaimResources(
            requests={resource: format_amount(resource, amount) for resource, amount in sorted(requests.items())}
        ),
    )
    metadata = {"name": node.metadata.name, "labels": labels, **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": metadata,
        "spec": msgspec.json.decode(msgspec.json.encode(spec)),
    }


def _requirements(candidate: NodeCandidate) -> Iterator[karpenter.FlexibleRequirement]:
    """The labels of the node, and what the pool says of labels that are still open."""
    for label, value in sorted(candidate.labels.items()):
        yield karpenter.FlexibleRequirement(key=label, operator="In", values=(value,))
    for written in candidate.kind.pool.spec.template.spec.requirements or ():
        if written.key not in candidate.labels:
            yield _without_min_values(written)


def _without_min_values(written: NodeSelectorRequirement) -> karpenter.FlexibleRequirement:
    """A node of one type shows no choice of values (R18)."""
    return karpenter.FlexibleRequirement(key=written.key, operator=written.operator, values=written.values)

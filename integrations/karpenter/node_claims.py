"""NodeClaims for nodes that a plan buys: what Karpenter would ask its provider for (karpenter-dra 3.9, 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...models.kubernetes import karpenter
from ...models.kubernetes.core import Node, NodeSelectorRequirement, Pod
from ...models.workload.controller_kinds import daemon_specs
from ...models.workload.requests import effective_requests, format_amount, sum_requests
from .candidates import NodeCandidate, NodeMarket
from .starting_nodes import DRIVERS_ANNOTATION

PRICE_ANNOTATION = "karpenter.sh/price-overlay-applied"
CAPACITY_ANNOTATION = "karpenter.sh/capacity-overlay-applied"


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

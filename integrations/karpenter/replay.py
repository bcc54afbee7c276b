"""Nodes of a plan, asked of Karpenter one by one: whether its own simulation puts these pods on one such node.

A plan decides everything at once, and Karpenter one pod after the other. Its first fit may find no devices for pods
that fit together. What it refuses is told, so that nobody launches such a node unaware.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from msgspec import structs

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.karpenter import CAPACITY_TYPE_LABEL, ZONE_LABEL
from ...models.workload.expansion import QueuedUnit
from ...peers.answers import ProvisionAnswer
from ...peers.clients import Karpenter
from ...peers.requests import PeerInstanceType, PeerOffering, ProvisionRequest
from .simulation import LaunchedNode, provision_request, with_pending_units

_ELSEWHERE = "Karpenter launches another node for it"


@dataclass(frozen=True, slots=True)
class KarpenterReplay:
    """Pods that Karpenter refuses, with its reason, and how many of the nodes were tried; equal nodes count as one."""

    refused: Mapping[str, str]
    tried: int
    asked: int


def replay_nodes(
    cluster: Cluster,
    queue: Sequence[QueuedUnit],
    nodes: Sequence[LaunchedNode],
    peer: Karpenter,
    deadline: float | None = None,
) -> KarpenterReplay:
    """Ask Karpenter for each node of a pool alone: its pods, its type, and the offering that is bought.

    Nothing else runs, and nothing else waits. ``minValues`` do not count, for there is one type only (R18).
    ``deadline`` is a reading of ``time.monotonic``. Raises ``PeerError`` if the program fails.
    """
    # Karpenter has no claims without pods.
    units = {name: one for one in queue if (name := one.unit.pod_label) is not None}
    whole = provision_request(cluster, ())
    refused: dict[str, str] = {}
    sound: set[Hashable] = set()
    listed = [node for node in nodes if node.pool]
    for number, node in enumerate(listed):
        pods = [pod for pod in node.pods if pod in units]
        shapes = Counter(id(units[pod].unit_set.shape) for pod in pods)
        likeness = node.pool, node.instance_type, node.zone, node.capacity_type, frozenset(shapes.items())
        if likeness in sound:
            continue
        left = None if deadline is None else deadline - monotonic()
        if left is not None and left <= 0:
            return KarpenterReplay(refused, number, len(listed))
        own = [units[pod].unit for pod in pods]
        question = with_pending_units(_alone(whole, node), cluster, own, left)
        found = dict(_refused(pods, peer.provision(question)))
        refused.update(found)
        if not found:
            sound.add(likeness)
    return KarpenterReplay(refused, len(listed), len(listed))


def _alone(whole: ProvisionRequest, node: LaunchedNode) -> ProvisionRequest:
    """The pool and the type of a node, with its offering and no other, and no node that is there."""
    pools = [pool for pool in whole.node_pools if pool["metadata"]["name"] == node.pool]
    types = [_with_one_offering(one, node) for one in whole.instance_types if one.name == node.instance_type]
    return structs.replace(
        whole, nodes=(), node_claims=(), node_pools=list(map(_without_min_values, pools)), instance_types=types
    )


def _without_min_values(pool: Mapping[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(dict(pool))
    for requirement in made["spec"].get("template", {}).get("spec", {}).get("requirements") or ():
        requirement.pop("minValues", None)
    return made


def _with_one_offering(one: PeerInstanceType, node: LaunchedNode) -> PeerInstanceType:
    return structs.replace(one, offerings=[offering for offering in one.offerings if _is_bought(offering, node)])


def _is_bought(offering: PeerOffering, node: LaunchedNode) -> bool:
    known = {asked.key: asked.values or () for asked in offering.requirements}
    return all(
        not place or not known.get(label) or place in known[label]
        for label, place in ((ZONE_LABEL, node.zone), (CAPACITY_TYPE_LABEL, node.capacity_type))
    )


def _refused(pods: Sequence[str], answer: ProvisionAnswer) -> Iterator[tuple[str, str]]:
    """Pods without a place, and those that go to a further node."""
    reasons = {one.pod: one.error for one in answer.errors or ()}
    largest = max(answer.nodes or (), key=lambda one: len(one.pods), default=None)
    together = set(largest.pods) if largest else set()
    for pod in pods:
        if pod not in together:
            yield pod, reasons.get(pod, _ELSEWHERE)

"""Members of the families, unit by unit and node by node, through both engines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from support.differential.answers import Answer, Case, Difference, both, differences

from drasat.models.cluster.cluster import Cluster
from drasat.models.cluster.node_fit import node_matches, pod_fits
from drasat.models.kubernetes.claims import AllocationResult, ResourceClaim, ResourceClaimStatus
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.models.workload.units import Unit
from drasat.peers.clients import KubeScheduler
from drasat.scenarios.objects import Mapped


@dataclass
class Comparison:
    """What came of a member: endings of the attempts, and the differences."""

    endings: Counter[Status] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare(objects: Sequence[Mapped], gates: FeatureGates, peer: KubeScheduler) -> Comparison:
    """Schedule all units one after the other, asking both engines about each node; the real answers are kept."""
    manifests, _, _ = read_manifests([objects])
    found = Comparison()
    cluster = Cluster.build(manifests)
    for unit in requested_units(cluster):
        cluster = _compare_unit(cluster, unit, gates, peer, found)
    return found


def _compare_unit(cluster: Cluster, unit: Unit, gates: FeatureGates, peer: KubeScheduler, found: Comparison) -> Cluster:
    current = [cluster.claims.get(ref.key, ref.claim) for ref in unit.claims]
    claims = [claim for claim in current if claim is not None]
    asked = tuple(claim for claim in claims if _allocation(claim) is None)
    for node in _nodes(cluster, unit, claims):
        case = Case(cluster, node, asked, gates)
        ours, theirs = both(case, peer)
        found.endings[theirs.status] += 1
        found.variants[gates.variant] += 1
        found.differences += differences(case, ours, theirs)
        if theirs.decides:
            return cluster.with_claims(_allocated(asked, theirs))
    return cluster


def _allocation(claim: ResourceClaim) -> AllocationResult | None:
    return claim.status.allocation if claim.status else None


def _nodes(cluster: Cluster, unit: Unit, claims: Sequence[ResourceClaim]) -> Iterator[Node]:
    earlier = [found.node_selector for claim in claims if (found := _allocation(claim))]
    for node in cluster.nodes.values():
        suits = unit.pod is None or not pod_fits(unit.pod.spec, node)
        if suits and all(node_matches(selector, node) for selector in earlier):
            yield node


def _allocated(asked: Sequence[ResourceClaim], answer: Answer) -> list[ResourceClaim]:
    pairs = zip(asked, answer.allocations, strict=True) if answer.status is Status.ALLOCATED else ()
    return [replace(claim, status=ResourceClaimStatus(allocation=allocation)) for claim, allocation in pairs]

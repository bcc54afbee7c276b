"""Audits of a no: every refusal is decided anew, by a formulation of the verifier's own (``existence``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import key_of
from .claims import is_usable_on
from .existence import Audit, NodeAudit
from .nodes import node_findings
from .verify import Placement, Replay


@dataclass(frozen=True, slots=True)
class Refusal:
    """A unit that is said to fit none of the nodes: claims to allocate, and those that were allocated before."""

    nodes: tuple[Node, ...]
    claims: tuple[ResourceClaim, ...]
    pod: Pod | None = None
    earlier: tuple[ResourceClaim, ...] = ()


def audit(
    cluster: Cluster,
    steps: Iterable[Placement | Refusal],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    caller_constraints: Sequence[extensions.CallerConstraint] = (),
    deadline: float | None = None,
) -> list[list[Audit]]:
    """Decide anew, for every refusal and each of its nodes, whether the claims have no allocation there.

    The other arguments are as for ``verify``; what a refused unit sees is what the placements before it leave. Nodes
    for which there is no time are undecided. What devices take of nodes, and what couples units, is left aside: it
    could only refuse more.
    """
    replay = Replay(cluster, gates, cel_errors, caller_constraints, True, True, deadline)
    found: list[list[Audit]] = []
    for step in steps:
        if isinstance(step, Refusal):
            found.append([_audited(replay, step, node, caller_constraints, deadline) for node in step.nodes])
        else:
            replay.enter(step)
    return found


def _audited(
    replay: Replay,
    refusal: Refusal,
    node: Node,
    caller_constraints: Sequence[extensions.CallerConstraint],
    deadline: float | None,
) -> Audit:
    """Decide whether a unit, beside all that was placed so far, has no place on a node."""
    pod = refusal.pod
    if deadline is not None and monotonic() > deadline:
        return Audit.UNDECIDED
    if pod is not None and (next(node_findings(pod, node), None) or not replay.loads.has_room(pod, node)):
        return Audit.IMPOSSIBLE
    held = (replay.allocation(key_of(claim.metadata)) for claim in refusal.earlier)
    if any(allocation is not None and not is_usable_on(allocation, node) for allocation in held):
        return Audit.IMPOSSIBLE
    claims = [replay.loads.claim_on(claim, node) for claim in refusal.claims]
    try:
        return NodeAudit(replay.context, claims, node, caller_constraints, deadline).decide()
    except SelectorError:
        return Audit.UNDECIDED

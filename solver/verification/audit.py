"""Audits of a no: every refusal is decided anew, by a formulation of the verifier's own (``existence``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes import extensions
from ...models.kubernetes.claims import ResourceClaim
from ...models.kubernetes.core import Node, Pod
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import DeviceId, key_of
from .audit_rows import NodeFace, most_valuable
from .bundles import NodeBundles, UnitKind
from .existence import Audit, NodeAudit
from .payments import SharedPrices
from .reasons import ReasonAudit, ReasonSet, ReasonVerdict
from .state import ExpressionTimeoutError
from .verify import Placement, Replay


@dataclass(frozen=True, slots=True)
class Refusal:
    """A unit that is said to fit none of the nodes: claims to allocate, and those that were allocated before.

    ``reasons`` are what is said to be impossible on some of the nodes.
    """

    nodes: tuple[Node, ...]
    claims: tuple[ResourceClaim, ...]
    pod: Pod | None = None
    earlier: tuple[ResourceClaim, ...] = ()
    reasons: tuple[ReasonSet, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalVerdict:
    """What became of a refusal, in the order of its nodes, and of the sets of reasons, in theirs."""

    nodes: tuple[Audit, ...]
    reasons: tuple[ReasonVerdict, ...] = ()

    @property
    def is_impossible(self) -> bool:
        """Whether no node has a place."""
        return all(one is Audit.IMPOSSIBLE for one in self.nodes)


def audit(
    cluster: Cluster,
    steps: Iterable[Placement | Refusal],
    gates: FeatureGates,
    *,
    cel_errors: str = "strict",
    caller_constraints: Sequence[extensions.CallerConstraint] = (),
    deadline: float | None = None,
) -> list[RefusalVerdict]:
    """Decide anew, for every refusal and each of its nodes, whether the claims have no allocation there.

    Its sets of reasons are audited as well (``reasons``). The other arguments are as for ``verify``; a refused unit
    sees what placements before it leave. Nodes for which there is no time are undecided. What devices take of
    nodes, and what couples units, is left aside: it could only refuse more.
    """
    replay = Replay(cluster, gates, cel_errors, caller_constraints, True, True, deadline)
    found: list[RefusalVerdict] = []
    for step in steps:
        if isinstance(step, Refusal):
            found.append(_RefusalAudit(replay, step, caller_constraints, deadline).verdict())
        else:
            replay.enter(step)
    return found


class _RefusalAudit:
    """Whether a unit, beside all that was placed so far, has no place on each of its nodes.

    Most refusals follow from rows that are the same for many nodes: these are decided once.
    """

    def __init__(
        self,
        replay: Replay,
        refusal: Refusal,
        caller_constraints: Sequence[extensions.CallerConstraint],
        deadline: float | None,
    ) -> None:
        self._replay = replay
        self._refusal = refusal
        self._caller_constraints = caller_constraints
        self._deadline = deadline
        held = (replay.allocation(key_of(claim.metadata)) for claim in refusal.earlier)
        earlier = tuple(allocation for allocation in held if allocation is not None)
        self._kind = UnitKind(refusal.pod, refusal.claims, earlier)
        self._refuted: dict[NodeFace, bool] = {}

    def verdict(self) -> RefusalVerdict:
        """Audit the nodes, and then the sets of reasons."""
        nodes = tuple(map(self._on, self._refusal.nodes))
        holders = self._replay.holders() if self._refusal.reasons else {}
        return RefusalVerdict(nodes, tuple(self._of_reasons(one, holders) for one in self._refusal.reasons))

    def _of_reasons(self, asked: ReasonSet, holders: Mapping[DeviceId, Collection[str]]) -> ReasonVerdict:
        replay, given, deadline = self._replay, self._caller_constraints, self._deadline
        if deadline is not None and monotonic() > deadline:
            return ReasonVerdict()
        try:
            claims = [replay.loads.claim_on(claim, asked.node) for claim in self._refusal.claims]
            return ReasonAudit(replay.context, claims, asked.node, holders, given, deadline).verdict(asked)
        except SelectorError:
            return ReasonVerdict()

    def _on(self, node: Node) -> Audit:
        replay = self._replay
        if self._deadline is not None and monotonic() > self._deadline:
            return Audit.UNDECIDED
        try:
            bundles = NodeBundles(replay.context, replay.loads, node, self._caller_constraints, self._deadline)
            face, taken = bundles.face([(self._kind, 1)], SharedPrices())
            if not taken or self._is_refuted(face):
                return Audit.IMPOSSIBLE
            claims = [replay.loads.claim_on(claim, node) for claim in self._refusal.claims]
            return NodeAudit(replay.context, claims, node, self._caller_constraints, self._deadline).decide()
        except (ExpressionTimeoutError, SelectorError):
            return Audit.UNDECIDED

    def _is_refuted(self, face: NodeFace) -> bool:
        """Whether counting alone, by the rows of bundles, leaves no place."""
        if face not in self._refuted:
            bound = most_valuable(face, (Fraction(1),), self._deadline)
            self._refuted[face] = bound is not None and bound < 1
        return self._refuted[face]

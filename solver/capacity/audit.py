"""Audits of capacity: whether no more copies fit on a node is decided anew, by the verifier's own formulations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.node_fit import SelectorError
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint
from ...models.kubernetes.gates import FeatureGates
from ...models.results.common import ProofKind
from ...models.workload.node_resources import NodeResourcesOfDevices
from ...problem.messages import witness_of
from ..allocate.audit import AUDIT_RULE
from ..allocate.check import DOUBT_SECONDS, VerificationError
from ..verification.audit_rows import NodeFace, most_valuable
from ..verification.bundles import NodeBundles, UnitKind
from ..verification.existence import Audit, NodeAudit
from ..verification.payments import SharedPrices
from ..verification.refusals import CountedFailure, CountedRefusal, RefusedUnits, derived_refusals
from ..verification.requests import all_requested, is_admin
from ..verification.state import ExpressionTimeoutError
from ..verification.verify import Replay, Violation
from .records import CapacityOutcome, CopySource, NodeRoom

# Copies that are asked about at once, each with all its Booleans, where counting does not suffice.
_MOST_COPIES = 32


@dataclass(frozen=True, slots=True)
class CapacityAudit:
    """What was asked, when it began as ``time.monotonic`` reads, and how many seconds there are for it all."""

    cluster: Cluster
    gates: FeatureGates
    given: Sequence[CallerConstraint]
    began: float
    time_limit: float | None

    def derived(
        self, answer: CapacityOutcome, source: CopySource, deadline: float | None, seconds: float | None
    ) -> tuple[CapacityOutcome, float | None]:
        """Let the verifier derive the witnesses of bounds; a bound for which it does not rests on the solver.

        The second value is the ``seconds`` for an audit. There are some where a witness is wrong, which is left out.
        """
        asked = [one for one in answer.nodes if one.proof_kind is ProofKind.WITNESS]
        if not asked:
            return answer, seconds
        refusals = (_refusal(one, source) for one in asked)
        found = derived_refusals(self.cluster, refusals, self.gates, caller_constraints=self.given, deadline=deadline)
        left = {one.nodes: own for one, own in zip(asked, found, strict=True) if not all(own.derived)}
        nodes = (
            replace(one, proof_kind=ProofKind.SOLVER, counted=None if left[one.nodes].wrong else one.counted)
            if one.nodes in left
            else one
            for one in answer.nodes
        )
        if seconds is None and any(one.wrong for one in found):
            seconds = DOUBT_SECONDS
        return replace(answer, nodes=tuple(nodes)), seconds

    def audited(self, answer: CapacityOutcome, source: CopySource, seconds: float) -> tuple[CapacityOutcome, bool]:
        """Say of nodes whose bounds hold that they are audited; what has no time stays as it is.

        The second value says that Ctrl-C ended it.

        Raises
        ------
        VerificationError
            If more copies fit a node than its bound says: a defect of drasat.

        """
        ends = monotonic() + seconds
        ends = ends if self.time_limit is None else min(ends, self.began + self.time_limit)
        try:
            judge = _NodeAudits(self, source, ends)
            return replace(answer, nodes=tuple(map(judge.audited, answer.nodes))), False
        except KeyboardInterrupt:
            return answer, True


def _refusal(answer: NodeRoom, source: CopySource) -> CountedRefusal:
    """One copy more than the bound of equal nodes, which is said to fit none of them; too many are not made."""
    more = (answer.room.bound or 0) + 1
    copies = [source.copy(number) for number in range(more if more <= _MOST_DERIVED_COPIES else 0)]
    claims = tuple(ref.claim for one in copies for ref in one.requested_claims if ref.claim is not None)
    pods = tuple(one.pod for one in copies if one.pod is not None)
    held = [ref.claim for ref in source.copy(0).claims if ref.claim is not None and ref.allocated]
    units = RefusedUnits(claims, source.claims * len(copies), pods, tuple(held))
    witness = witness_of(answer.counted, source.claims) if answer.counted else None
    # Of no copies nothing is derived.
    return CountedRefusal(units, (CountedFailure(answer.nodes, witness if copies else None, "bound"),))


# The work of deriving a witness grows with their number.
_MOST_DERIVED_COPIES = 100


class _NodeAudits:
    """Audits of nodes; copies are made where they are few, and only counted otherwise."""

    def __init__(self, asked: CapacityAudit, source: CopySource, deadline: float) -> None:
        self._asked, self._source, self._deadline = asked, source, deadline
        self._replay = Replay(asked.cluster, asked.gates, "strict", asked.given, deadline=deadline)
        first = source.copy(0)
        claims = tuple(ref.claim for ref in first.requested_claims if ref.claim is not None)
        self._kind = UnitKind(first.pod, claims, tuple(first.existing_allocations()))
        self._known: dict[NodeFace, Fraction | None] = {}
        self._takes_of_nodes = bool(NodeResourcesOfDevices(asked.cluster, asked.gates).devices)

    def audited(self, answer: NodeRoom) -> NodeRoom:
        """Audit the bound of equal nodes. Raises ``VerificationError``."""
        bound = answer.room.bound
        if answer.room.unbounded or bound is None:
            return answer
        for name in answer.nodes:
            if monotonic() > self._deadline:
                return answer
            try:
                verdict = self._verdict(self._asked.cluster.node(name), bound + 1)
            except (ExpressionTimeoutError, SelectorError):
                return answer
            if verdict is Audit.POSSIBLE:
                said = f"{bound + 1} copies fit node {name}, and {bound} are said to be the most"
                raise VerificationError([Violation(AUDIT_RULE, "", said)])
            if verdict is not Audit.IMPOSSIBLE:
                return answer
        return replace(answer, proof_kind=ProofKind.AUDITED)

    def _verdict(self, node: Node, copies: int) -> Audit:
        """Whether so many copies fit a node, first by counting, and then with the devices of each of them."""
        replay, given = self._replay, self._asked.given
        bundles = NodeBundles(replay.context, replay.loads, node, given, self._deadline)
        face, taken = bundles.face([(self._kind, copies)], SharedPrices())
        if not taken:
            return Audit.IMPOSSIBLE
        if face not in self._known:
            self._known[face] = most_valuable(face, (Fraction(1),), self._deadline)
        most = self._known[face]
        if most is None:
            return Audit.UNDECIDED
        if most < copies:
            return Audit.IMPOSSIBLE
        # Each copy has all its Booleans, and what devices take of nodes is not read.
        if copies > _MOST_COPIES or self._takes_of_nodes:
            return Audit.UNDECIDED
        refs = [ref for number in range(copies) for ref in self._source.copy(number).requested_claims]
        claims = [replay.loads.claim_on(ref.claim, node) for ref in refs if ref.claim is not None]
        # Claims with admin access mean more to others of their own unit.
        if any(is_admin(one) for claim in claims for _, one in all_requested(claim)):
            return Audit.UNDECIDED
        return NodeAudit(replay.context, claims, node, given, self._deadline).decide()

"""Changed questions, really asked: the ordinary engine allocates, and the verifier checks what it found."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from ...models.cluster.node_fit import node_matches, pod_fits
from ...models.kubernetes.core import Node
from ...models.results.common import Status
from ..allocate.check import check_allocations
from ..engines.auto import CpSatEngine
from ..engines.engine import Session
from ..engines.outcome import UnitOutcome
from .changes import WhatIf

# Attempts for one unit.
MAX_TRIALS = 300


class TrialLimitError(Exception):
    """So many attempts were made, or so much time passed, that the search ends."""


class WhatIfTrials:
    """Asks about changed scenes, within limits; engines are kept while classes and gates are the same."""

    def __init__(self, session: Session, deadline: float | None) -> None:
        self._session = session
        self._deadline = deadline
        self._engine = CpSatEngine(session)
        self._left = MAX_TRIALS

    def renew(self) -> None:
        """Allow the usual number of attempts for the next unit."""
        self._left = MAX_TRIALS

    def fits(self, scene: WhatIf, node: Node) -> bool:
        """Tell whether the unit fits on the node. Raises ``TrialLimitError``, and ``VerificationError`` on a defect."""
        if not self._left or (self._deadline is not None and monotonic() >= self._deadline):
            raise TrialLimitError
        self._left -= 1
        if not _is_suitable_node(scene, node):
            return False
        attempt = self._engine_for(scene).allocate_on(node, scene.claims, scene.ledger(), self._deadline)
        if attempt.timed_out:
            raise TrialLimitError
        if attempt.status is not Status.ALLOCATED:
            return False
        pairs = tuple(zip(scene.unit.requested_claims, attempt.allocations, strict=True))
        answer = UnitOutcome(scene.unit, Status.ALLOCATED, node.metadata.name, allocations=pairs)
        check_allocations(scene.cluster, [answer], scene.gates, self._session.policy, scene.given)
        return True

    def _engine_for(self, scene: WhatIf) -> CpSatEngine:
        same = scene.cluster.classes is self._session.cluster.classes and scene.gates == self._session.gates
        if same and scene.given == self._session.caller_constraints:
            return self._engine
        return CpSatEngine(
            replace(self._session, cluster=scene.cluster, gates=scene.gates, caller_constraints=scene.given)
        )


def _is_suitable_node(scene: WhatIf, node: Node) -> bool:
    """SCHED-2: the pod fits, and claims that are allocated already are for this node too."""
    unit = scene.unit
    statuses = [ref.claim.status for ref in unit.claims if ref.claim is not None and ref.claim.status is not None]
    earlier = [status.allocation for status in statuses if status.allocation is not None]
    if not all(node_matches(allocation.node_selector, node) for allocation in earlier):
        return False
    return unit.pod is None or not pod_fits(unit.pod.spec, node)

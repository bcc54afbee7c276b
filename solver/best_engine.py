"""Engines that find the best allocation on a node, once for nodes that are alike."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from ..models.claims import ResourceClaim
from ..models.core import Node
from ..problem.in_use import Ledger
from ..problem.landscape import Surveyor
from ..problem.records import Landscape, Problem
from .attempts import Attempt, Session
from .decision import Answer, BestDecider, Decision
from .node_engine import Asked, NodeEngine


class BestEngine(NodeEngine):
    """Remembers the best answers: the same question on equal nodes with equal usage has the same one."""

    def __init__(self, session: Session, decider: BestDecider) -> None:
        super().__init__(session, decider)
        self._best_decider = decider
        self._surveyor = Surveyor(session.cluster) if session.stages else None
        self._best: dict[Hashable, Decision] = {}

    def best(
        self, node: Node, claims: Sequence[ResourceClaim], ledger: Ledger, deadline: float | None, work: float | None
    ) -> Attempt:
        """Find the best allocation on the node by the session's stages."""

        def decide(asked: Asked, problem: Problem) -> Decision:
            landscape = self._landscape(asked)
            # One question may be asked again with fewer devices.
            devices = tuple(demand.candidates for demand in problem.demands)
            errors_count = any(relation.tolerant for relation in problem.relations)
            key = asked.question.index, asked.view.shape.index, asked.in_use.key, landscape, devices, errors_count
            decision = self._best.get(key)
            if decision is None:
                seen = replace(problem, landscape=landscape)
                decision = self._best_decider.best(seen, asked.in_use, deadline, work)
                if decision.answer is Answer.YES and not decision.interrupted:
                    self._best[key] = decision
            return decision

        return self.answer(node, claims, ledger, deadline, decide)

    def _landscape(self, asked: Asked) -> Landscape:
        if self._surveyor is None:
            return Landscape()
        return self._surveyor.survey(asked.view, asked.question.visible)

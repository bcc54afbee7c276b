"""The engine ``auto``: cheap proofs, a bounded dive, and the solver for what is left."""

from __future__ import annotations

from ..problem.records import InUse, Problem
from ..problem.usable import usable
from .attempts import Counts, Session
from .backtracking import dive
from .decision import Answer, Decision
from .node_engine import NodeEngine
from .proofs import witness
from .search import StepBudgetError

# Steps that take about as long as building and solving a small model.
DIVE_STEPS = 2048


class Escalating:
    """Goes from the cheap to the dear; whether the claims fit never depends on how far it had to go."""

    in_order = False

    def __init__(self, seed: int) -> None:
        self.counts = Counts()
        self._seed = seed

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order if the dive finds one, else what the solver finds or proves."""
        candidates = usable(problem, in_use)
        found = witness(problem, in_use, candidates)
        if found is not None:
            return Decision(Answer.NO, certified=True, witness=found)
        try:
            return dive(problem, in_use, self.counts, deadline, DIVE_STEPS)
        except StepBudgetError:
            pass
        from .solving import solve

        decision = solve(problem, in_use, candidates, self.counts, self._seed, deadline)
        if decision.answer is Answer.UNKNOWN and decision.retry:
            return dive(problem, in_use, self.counts, deadline)
        return decision


class Auto(NodeEngine):
    """The engine for everybody who does not ask for another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Escalating(session.seed))

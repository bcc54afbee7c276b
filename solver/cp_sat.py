"""The engine ``cp-sat``: a proof by counting where there is one, else the model of counts by class (CP-SAT)."""

from __future__ import annotations

from ..encoders.stages.stage import Stage
from ..problem.records import InUse, Problem
from ..problem.usable import usable
from .attempts import Counts, Session, Watch
from .best_engine import BestEngine
from .decision import Answer, Decision
from .proofs import witness


class Counting:
    """Asks for a witness first, and the solver if there is none."""

    in_order = False

    def __init__(self, seed: int, stages: tuple[Stage, ...] = (), watch: Watch | None = None) -> None:
        self.counts = Counts()
        self._seed = seed
        self._stages = stages
        self._watch = watch

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the allocation that the scheduler's preference likes best (SRCH-4), or a proof that there is none."""
        from .solving import solve

        candidates = usable(problem, in_use)
        found = witness(problem, in_use, candidates)
        if found is not None:
            return Decision(Answer.NO, certified=True, witness=found)
        return solve(problem, in_use, candidates, self.counts, self._seed, deadline)

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the allocation that the session's stages like best, or a proof that there is none."""
        from .cp_sat_run import Limits
        from .solving import optimize

        candidates = usable(problem, in_use)
        found = witness(problem, in_use, candidates)
        if found is not None:
            return Decision(Answer.NO, certified=True, witness=found)
        limits = Limits(deadline, work, self._seed)
        return optimize(problem, in_use, candidates, self._stages, self.counts, limits, watch=self._watch)


class CpSat(BestEngine):
    """Decides every question with the solver, unless counting is enough."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Counting(session.seed, session.stages, session.watch))

"""The engine ``cp-sat``: a proof by counting where there is one, else the model of counts by class (CP-SAT)."""

from __future__ import annotations

from ..problem.records import InUse, Problem
from .attempts import Counts, Session
from .best_engine import BestEngine
from .counting import by_counting
from .decision import Decision


class Counting:
    """Asks for a witness first, and the solver if there is none."""

    in_order = False

    def __init__(self, session: Session) -> None:
        self.counts = Counts()
        self._session = session

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the allocation that the scheduler's preference likes best (SRCH-4), or a proof that there is none.

        What soft entries cost decides between those that it likes alike (SOFT-1).
        """
        from .cp_sat_run import Limits
        from .solving import solve

        candidates, counted = by_counting(problem, in_use, deadline)
        limits = Limits(deadline, self._session.work, self._session.seed)
        return counted or solve(problem, in_use, candidates, self.counts, limits)

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the allocation that the session's stages like best, or a proof that there is none."""
        from .cp_sat_run import Limits
        from .solving import optimize

        candidates, counted = by_counting(problem, in_use, deadline)
        session, limits = self._session, Limits(deadline, work, self._session.seed)
        return counted or optimize(
            problem, in_use, candidates, session.stages, self.counts, limits, watch=session.watch
        )


class CpSat(BestEngine):
    """Decides every question with the solver, unless counting is enough."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Counting(session))

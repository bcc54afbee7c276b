"""The engine ``auto``: cheap proofs, a bounded dive, and the solver for what is left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..problem.records import InUse, Problem
from .attempts import Counts, Session
from .backtracking import dive
from .best_engine import BestEngine
from .counting import by_counting
from .decision import Answer, Decision
from .search import BudgetError

# Devices that a dive may visit: about as long as building and solving a small model takes.
DIVE_VISITS = 4096


class Escalating:
    """Goes from the cheap to the dear; whether the claims fit never depends on how far it had to go."""

    in_order = False

    def __init__(self, session: Session) -> None:
        self.counts = Counts()
        self._session = session

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order if the dive finds one, else what the solver finds or proves."""
        candidates, counted = by_counting(problem, in_use, deadline)
        if counted is not None:
            return counted
        start = self._start(problem, in_use, deadline)
        if start.answer is not Answer.UNKNOWN:
            return start
        from .cp_sat_run import Limits
        from .solving import solve

        limits = Limits(deadline, self._session.work, self._session.seed)
        decision = solve(problem, in_use, candidates, self.counts, limits, thorough=False)
        return decision if self._settles(decision) else dive(problem, in_use, self.counts, deadline)

    def _settles(self, decision: Decision) -> bool:
        """Tell whether the solver has the last word: not if it could not even be asked."""
        return decision.answer is not Answer.UNKNOWN or not decision.retry

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the dive's answer if nothing can be better, else improve it."""
        candidates, counted = by_counting(problem, in_use, deadline)
        if counted is not None:
            return counted
        start = self._start(problem, in_use, deadline)
        if start.answer is Answer.NO:
            return start
        picked = [(pick.demand, pick.device) for pick in start.picks]
        if start.answer is Answer.YES and all(stage.is_free(problem, picked) for stage in self._session.stages):
            from .stage_values import costless

            return replace(start, objective=costless(self._session.stages))
        from .cp_sat_run import Limits
        from .solving import optimize

        ask = partial(optimize, problem, in_use, candidates, self._session.stages, self.counts)
        try:
            return ask(Limits(deadline, work, self._session.seed), start.picks, self._session.watch)
        except KeyboardInterrupt:
            if start.answer is not Answer.YES:
                raise
            # The dive's answer is the best so far; without any work the model only says what it is worth.
            return replace(ask(Limits(work=0.0, seed=self._session.seed), start.picks), interrupted=True)

    def _start(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        try:
            return dive(problem, in_use, self.counts, deadline, DIVE_VISITS)
        except BudgetError:
            return Decision(Answer.UNKNOWN)


class Auto(BestEngine):
    """The engine for everybody who does not ask for another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Escalating(session))

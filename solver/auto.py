"""The engine ``auto``: cheap proofs, a bounded dive, and the solver for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..problem.outcomes import DeadlineExceededError
from ..problem.records import InUse, Problem
from ..problem.relations import Member
from ..problem.soft import is_kept
from .attempts import Counts, Session
from .backtracking import dive
from .best_engine import BestEngine
from .counting import by_counting
from .decision import Answer, Decision
from .search import BudgetError, Pick

# Devices that a dive may visit: about as long as building and solving a small model takes.
DIVE_VISITS = 4096
# A device that draws counters takes several times as long, and where these run out a search seldom finds its way.
COUNTER_VISITS = 1024


class Escalating:
    """Goes from the cheap to the dear; whether the claims fit never depends on how far it had to go."""

    in_order = False

    def __init__(self, session: Session) -> None:
        self.counts = Counts()
        self._session = session

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order if the dive finds one, else what the solver finds or proves.

        A solution that violates soft entries is where the solver begins (SOFT-1).
        """
        candidates, counted = by_counting(problem, in_use, deadline)
        if counted is not None:
            return counted
        start = self._start(problem, in_use, deadline)
        if start.answer is Answer.YES:
            return self._improved(problem, in_use, candidates, start, deadline)
        if start.answer is Answer.NO:
            return start
        decision = self._solved(problem, in_use, candidates, (), deadline)
        return decision if self._settles(decision) else dive(problem, in_use, self.counts, deadline)

    def _improved(
        self,
        problem: Problem,
        in_use: InUse,
        candidates: Sequence[tuple[int, ...]],
        start: Decision,
        deadline: float | None,
    ) -> Decision:
        """Look for a solution that soft entries like better; whether there is one never depends on them (SOFT-1)."""
        if is_kept(problem, _picked(start)):
            return start
        try:
            better = self._solved(problem, in_use, candidates, start.picks, deadline)
        except DeadlineExceededError:
            return start
        return start if better.answer is Answer.UNKNOWN else better

    def _solved(
        self,
        problem: Problem,
        in_use: InUse,
        candidates: Sequence[tuple[int, ...]],
        start: Sequence[Pick],
        deadline: float | None,
    ) -> Decision:
        from .cp_sat_run import Limits
        from .solving import solve

        limits = Limits(deadline, self._session.work, self._session.seed)
        return solve(problem, in_use, candidates, self.counts, limits, start, thorough=False)

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
        picked = _picked(start)
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
        patience = COUNTER_VISITS if problem.counters.consumption else None
        try:
            return dive(problem, in_use, self.counts, deadline, DIVE_VISITS, patience)
        except BudgetError:
            return Decision(Answer.UNKNOWN)


def _picked(decision: Decision) -> list[Member]:
    return [(pick.demand, pick.device) for pick in decision.picks]


class Auto(BestEngine):
    """The engine for everybody who does not ask for another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Escalating(session))

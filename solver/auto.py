"""The engine ``auto``: cheap proofs, a bounded dive, and the solver for what is left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..problem.records import InUse, Problem
from ..problem.usable import usable
from .attempts import Counts, Session, Watch
from .backtracking import dive
from .best_engine import BestEngine
from .decision import Answer, Decision
from .proofs import witness
from .search import BudgetError

if TYPE_CHECKING:
    from ..encoders.stages.stage import Stage

# Devices that a dive may visit: about as long as building and solving a small model takes.
DIVE_VISITS = 4096


class Escalating:
    """Goes from the cheap to the dear; whether the claims fit never depends on how far it had to go."""

    in_order = False

    def __init__(self, seed: int, stages: tuple[Stage, ...] = (), watch: Watch | None = None) -> None:
        self.counts = Counts()
        self._seed = seed
        self._stages = stages
        self._watch = watch

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order if the dive finds one, else what the solver finds or proves."""
        candidates = usable(problem, in_use)
        found = witness(problem, in_use, candidates)
        if found is not None:
            return Decision(Answer.NO, certified=True, witness=found)
        try:
            return dive(problem, in_use, self.counts, deadline, DIVE_VISITS)
        except BudgetError:
            pass
        from .solving import solve

        decision = solve(problem, in_use, candidates, self.counts, self._seed, deadline, thorough=False)
        if decision.answer is Answer.UNKNOWN and decision.retry:
            return dive(problem, in_use, self.counts, deadline)
        return decision

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the dive's answer if nothing can be better, else improve it."""
        candidates = usable(problem, in_use)
        found = witness(problem, in_use, candidates)
        if found is not None:
            return Decision(Answer.NO, certified=True, witness=found)
        start = self._start(problem, in_use, deadline)
        if start.answer is Answer.NO:
            return start
        picked = [(pick.demand, pick.device) for pick in start.picks]
        if start.answer is Answer.YES and all(stage.is_free(problem, picked) for stage in self._stages):
            from .stage_values import costless

            return replace(start, objective=costless(self._stages))
        from .cp_sat_run import Limits
        from .solving import optimize

        ask = partial(optimize, problem, in_use, candidates, self._stages, self.counts)
        try:
            return ask(Limits(deadline, work, self._seed), start.picks, self._watch)
        except KeyboardInterrupt:
            if start.answer is not Answer.YES:
                raise
            # The dive's answer is the best so far; without any work the model only says what it is worth.
            return replace(ask(Limits(work=0.0, seed=self._seed), start.picks), interrupted=True)

    def _start(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        try:
            return dive(problem, in_use, self.counts, deadline, DIVE_VISITS)
        except BudgetError:
            return Decision(Answer.UNKNOWN)


class Auto(BestEngine):
    """The engine for everybody who does not ask for another one."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, Escalating(session.seed, session.stages, session.watch))

"""The deciders of the engines ``auto`` and ``cp-sat``: proofs by counting, a bounded search, and the solver.

Both ask first which devices each demand could take, and whether counting is enough for a no. ``auto`` then searches
for a bounded time before it asks the solver; ``cp-sat`` asks the solver at once. Whether the claims fit never depends
on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ...models.results.common import ProofKind, Status
from ...problem.conditions import has_no_penalty
from ...problem.filters import usable_devices
from ...problem.messages import DeadlineExceededError
from ...problem.problem import InUse, Member, Problem
from ..proofs import find_witness
from .engine import Counts, Decision, Pick, Session
from .outcome import zero_objective
from .search import BudgetError, bounded_search

# Devices that a dive may visit: about as long as building and solving a small model takes.
SEARCH_VISITS = 4096
# A device that draws counters takes several times as long, and where these run out a search seldom finds its way.
COUNTER_SEARCH_VISITS = 1024


class SearchThenSolve:
    """Goes from the cheap to the dear; whether the claims fit never depends on how far it had to go."""

    in_order = False

    def __init__(
        self, session: Session, visits: int = SEARCH_VISITS, counter_visits: int = COUNTER_SEARCH_VISITS
    ) -> None:
        self.counts = Counts()
        self._session = session
        self._visits = visits
        self._counter_visits = counter_visits

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order if the dive finds one, else what the solver finds or proves.

        A solution that violates soft entries is where the solver begins (SOFT-1).
        """
        candidates, counted = decide_by_counting(problem, in_use, deadline)
        if counted is not None:
            return counted
        start = self._start(problem, in_use, deadline)
        if start.status is Status.ALLOCATED:
            return self._improve(problem, in_use, candidates, start, deadline)
        if start.status is Status.UNALLOCATABLE:
            return start
        decision = self._solve(problem, in_use, candidates, (), deadline)
        return decision if self._is_final(problem, decision) else bounded_search(problem, in_use, self.counts, deadline)

    def _is_final(self, problem: Problem, decision: Decision) -> bool:
        """Whether the solver's decision counts: not if the model cannot be solved at all."""
        return decision.status is not Status.UNKNOWN or not decision.retry or bool(problem.node_limits)

    def _improve(
        self,
        problem: Problem,
        in_use: InUse,
        candidates: Sequence[tuple[int, ...]],
        start: Decision,
        deadline: float | None,
    ) -> Decision:
        """Look for a solution that violates fewer soft entries; a solution is required in any case (SOFT-1)."""
        if has_no_penalty(problem, _members_of_decision(start)):
            return start
        try:
            better = self._solve(problem, in_use, candidates, start.picks, deadline)
        except DeadlineExceededError:
            return start
        return start if better.status is Status.UNKNOWN else better

    def _solve(
        self,
        problem: Problem,
        in_use: InUse,
        candidates: Sequence[tuple[int, ...]],
        start: Sequence[Pick],
        deadline: float | None,
    ) -> Decision:
        from .cp_sat import Limits
        from .optimize import solve

        limits = Limits.of(self._session, deadline, self._session.work)
        return solve(problem, in_use, candidates, self.counts, limits, start, thorough=False)

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the dive's answer if nothing can be better, else improve it."""
        candidates, counted = decide_by_counting(problem, in_use, deadline)
        if counted is not None:
            return counted
        start = self._start(problem, in_use, deadline)
        if start.status is Status.UNALLOCATABLE:
            return start
        picked = _members_of_decision(start)
        if start.status is Status.ALLOCATED and all(stage.is_free(problem, picked) for stage in self._session.stages):
            return replace(start, objective=zero_objective(self._session.stages))
        from .cp_sat import Limits
        from .optimize import optimize

        ask = partial(optimize, problem, in_use, candidates, self._session.stages, self.counts)
        try:
            return ask(Limits.of(self._session, deadline, work), start.picks, self._session.watch)
        except KeyboardInterrupt:
            if start.status is not Status.ALLOCATED:
                raise
            # The dive's answer is the best so far; without any work the model only says what it is worth.
            return replace(ask(Limits.of(self._session, work=0.0), start.picks), interrupted=True)

    def _start(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        after_dead_end = self._counter_visits if problem.counters.consumption else None
        try:
            found = bounded_search(problem, in_use, self.counts, deadline, self._visits, after_dead_end)
        except BudgetError:
            return Decision(Status.UNKNOWN)
        # The search does not look at what devices take of the node.
        fits = problem.keeps_node_limits((pick.demand, pick.device) for pick in found.picks)
        return found if fits else Decision(Status.UNKNOWN)


def _members_of_decision(decision: Decision) -> list[Member]:
    return [(pick.demand, pick.device) for pick in decision.picks]


class ProofThenSolve:
    """Asks for a witness first, and the solver if there is none."""

    in_order = False

    def __init__(self, session: Session) -> None:
        self.counts = Counts()
        self._session = session

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the allocation that the scheduler's preference likes best (SRCH-4), or a proof that there is none.

        What soft entries cost decides between those that it likes alike (SOFT-1).
        """
        from .cp_sat import Limits
        from .optimize import solve

        candidates, counted = decide_by_counting(problem, in_use, deadline)
        limits = Limits.of(self._session, deadline, self._session.work)
        return counted or solve(problem, in_use, candidates, self.counts, limits)

    def best(self, problem: Problem, in_use: InUse, deadline: float | None, work: float | None) -> Decision:
        """Return the best allocation by the session's stages, or a proof that there is none."""
        from .cp_sat import Limits
        from .optimize import optimize

        candidates, counted = decide_by_counting(problem, in_use, deadline)
        session, limits = self._session, Limits.of(self._session, deadline, work)
        return counted or optimize(
            problem, in_use, candidates, session.stages, self.counts, limits, watch=session.watch
        )


def decide_by_counting(
    problem: Problem, in_use: InUse, deadline: float | None
) -> tuple[tuple[tuple[int, ...], ...], Decision | None]:
    """Return the usable devices of each demand, and the decision if there is a witness.

    ``deadline`` is a reading of ``time.monotonic``. Raises ``DeadlineExceededError``.
    """
    candidates = usable_devices(problem, in_use)
    found = find_witness(problem, in_use, candidates, deadline)
    return candidates, None if found is None else Decision(
        Status.UNALLOCATABLE, proof_kind=ProofKind.WITNESS, witness=found
    )

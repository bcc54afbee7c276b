"""The engine ``backtracking``: the scheduler's own search, rule by rule (section 14)."""

from __future__ import annotations

from ...models.results.common import Status
from ...problem.problem import InUse, Problem
from .engine import Counts, Decision, Session
from .engines import NodeEngine
from .search import Search


def bounded_search(
    problem: Problem,
    in_use: InUse,
    counts: Counts,
    deadline: float | None,
    budget: int | None = None,
    budget_after_dead_end: int | None = None,
) -> Decision:
    """Search for the first solution in order, or through all combinations; ``BudgetError`` beyond the budget.

    ``budget_after_dead_end`` is the budget from the first dead end on, if that is to be smaller.
    """
    search = Search(problem, in_use, deadline=deadline, budget=budget, budget_after_dead_end=budget_after_dead_end)
    try:
        picks = search.run()
    finally:
        counts.steps += search.steps
    if picks is None:
        return Decision(Status.UNALLOCATABLE, certified=True, has_relation_error=search.has_relation_error)
    return Decision(Status.ALLOCATED, picks)


class DepthFirstDecider:
    """Searches until it finds a solution or has tried every combination."""

    in_order = True

    def __init__(self) -> None:
        self.counts = Counts()

    def decide(self, problem: Problem, in_use: InUse, deadline: float | None) -> Decision:
        """Return the first solution in search order."""
        return bounded_search(problem, in_use, self.counts, deadline)


class BacktrackingEngine(NodeEngine):
    """Answers as kube-scheduler would, step by step."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, DepthFirstDecider())

"""The backtracking search: depth first, first complete solution wins (section 14).

A stack machine instead of recursion. Each turn of the loop is one *step*, the entry of what upstream does recursively:
choose the next device, start a request, start an alternative, start a claim, done. Steps are counted exactly alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from ..problem.outcomes import DeadlineExceededError
from ..problem.records import InUse, Problem
from .search_plan import SOLVED, Choice, Ending, Frame, MustTake, Node, Plan
from .search_program import program
from .search_state import State

# Steps between two looks at the clock (SRCH-10).
CHECK_INTERVAL = 256


class BudgetError(Exception):
    """The search has visited as many devices as it may, and a few more."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A device taken for a demand, both by their numbers in the Problem."""

    demand: int
    device: int


class Search:
    """One search. ``steps`` may be read at any time, ``troubled`` at the end: a relation failed for an error (CELC-4).

    The rest belongs to the points of the program.

    ``deadline`` is a reading of ``clock``, in seconds, and ``budget`` a number of devices visited; None: no limit.
    ``patience`` is the budget from the first dead end on, if that is to be smaller.
    """

    def __init__(
        self,
        problem: Problem,
        in_use: InUse,
        *,
        deadline: float | None = None,
        budget: int | None = None,
        patience: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.steps = 0
        self.visits = 0
        self.troubled = False
        self.frames: list[Frame] = []
        self.node: Node = program(problem, State(problem, in_use))
        self.plan: Plan | None = None
        self.k = 0
        self._deadline = deadline
        self._budget = budget
        self._patience = budget if patience is None else patience
        # A step may visit many devices.
        self._interval = CHECK_INTERVAL if budget is None else 1
        self._clock = clock
        self._next_check = 0

    def run(self) -> tuple[Pick, ...] | None:
        """Return the first solution in search order, or None if there is none.

        Raises ``FatalError`` (CEL-7, SRCH-7, CON-12), ``DeadlineExceededError`` and ``BudgetError``.
        """
        frames = self.frames
        while True:
            ending = self._step()
            while ending is not None:
                if ending is SOLVED:
                    return self.picks()
                self._budget = self._patience
                if not frames:
                    return None
                ending = frames[-1].resume(self, ending)

    def _step(self) -> Ending | None:
        self.steps += 1
        if self.steps > self._next_check:
            self._check_limits()
        plan = self.plan
        return self.node.start(self) if plan is None else plan.enter(self, self.k)

    def _check_limits(self) -> None:
        if self._budget is not None and self.visits > self._budget:
            raise BudgetError
        self._next_check = self.steps + self._interval
        if self._deadline is not None and self._clock() >= self._deadline:
            raise DeadlineExceededError("filter operation aborted: the time limit passed")

    def picks(self) -> tuple[Pick, ...]:
        """List what is taken now, in order."""
        choices = (frame for frame in self.frames if isinstance(frame, (Choice, MustTake)))
        return tuple(Pick(choice.plan.demand.index, choice.device) for choice in choices)

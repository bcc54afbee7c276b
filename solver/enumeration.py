"""All solutions of a small model, as far as some of its variables go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from ..encoders.library import cp_model
from ..encoders.rows import Rows

# Solutions that differ in other variables only, for each that is wanted.
_DOUBLES = 8


class _Collecting(cp_model.CpSolverSolutionCallback):
    """Keeps what a solution says of some variables, and stops when there are too many."""

    def __init__(self, variables: Sequence[int], most: int, holds: Callable[[Sequence[int]], bool]) -> None:
        super().__init__()
        self.found: set[tuple[int, ...]] = set()
        self.refused: set[tuple[int, ...]] = set()
        self.seen = 0
        self._variables = variables
        self._most = most
        self._holds = holds

    @property
    def overfull(self) -> bool:
        """Whether there are more than are wanted, or it takes too long to tell."""
        return max(len(self.found), len(self.refused)) > self._most or self.seen > self._most * _DOUBLES

    def on_solution_callback(self) -> None:
        values = tuple(self.response_proto.solution)
        own = tuple(values[variable] for variable in self._variables)
        self.seen += 1
        if own not in self.found and own not in self.refused:
            (self.found if self._holds(values) else self.refused).add(own)
        if self.overfull:
            self.stop_search()


def solutions(
    rows: Rows, variables: Sequence[int], most: int, holds: Callable[[Sequence[int]], bool], deadline: float | None
) -> list[tuple[int, ...]] | None:
    """List the values of these variables in all solutions that hold, in order; None if there are too many.

    ``holds`` judges the values of all variables, and must not change the model.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.catch_sigint_signal = False
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
    rows.minimize([])
    collecting = _Collecting(variables, most, holds)
    status = solver.solve(rows.model, collecting)
    if collecting.overfull or status not in (cp_model.OPTIMAL, cp_model.INFEASIBLE):
        return None
    return sorted(collecting.found)

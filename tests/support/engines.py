"""Engines that stand in for those of the table, and solvers that stand in for CP-SAT."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from drasat.solver.engines import registry
from drasat.solver.engines.auto import SearchThenSolve
from drasat.solver.engines.cp_sat import COMPLETING, SolveInterrupted, SolveResult, SolverStatus, run_solver
from drasat.solver.engines.engines import OptimizingEngine


@contextmanager
def registered(name, make):
    """Have ``make`` make the engine of this name from a session, as long as this lasts."""
    tables = [table for table in (registry.ENGINES, registry.OPTIMIZERS) if name in table] or [registry.ENGINES]
    with patch.dict(tables[0], {name: make}), patch.dict(tables[-1], {name: make}):
        yield


def dive(**visits):
    """Make ``auto`` with a dive of so many ``visits`` and ``counter_visits``."""
    return lambda session: OptimizingEngine(session, SearchThenSolve(session, **visits))


def solved_by(backend, name="auto"):
    """Make an engine whose solver is ``backend``."""
    made = registry.OPTIMIZERS[name]
    return lambda session: made(replace(session, backend=backend))


class Changed:
    """An engine whose answers are what ``change`` makes of them; it is given a function that asks."""

    def __init__(self, real, change):
        self.counts = real.counts
        self._real = real
        self._change = change

    def allocate_on(self, *question):
        return self._change(lambda: self._real.allocate_on(*question))

    def best(self, *question):
        return self._change(lambda: self._real.best(*question))


def changed(change, name="auto"):
    """Make an engine whose answers are changed."""
    made = registry.ENGINES[name]
    return lambda session: Changed(made(session), change)


def failing(error, at=1, name="auto"):
    """Make an engine that raises this at its question of this number, and at all later ones."""
    asked = []

    def change(ask):
        asked.append(ask)
        if len(asked) >= at:
            raise error
        return ask()

    return changed(change, name)


class Interrupting:
    """A solver that is interrupted at the search of this number.

    ``empty``: before it found anything. With an ``error`` it raises this instead, and does not run.
    """

    def __init__(self, at=1, *, empty=False, error=None):
        self.runs = 0
        self._at = at
        self._empty = empty
        self._error = error

    def __call__(self, rows, limits, configuration, watch):
        self.runs += configuration is not COMPLETING
        stops = configuration is not COMPLETING and self.runs == self._at
        if stops and self._error:
            raise self._error
        found = run_solver(rows, replace(limits, backend=None), configuration, watch)
        if stops:
            raise SolveInterrupted(SolveResult(SolverStatus.UNKNOWN) if self._empty else found)
        return found

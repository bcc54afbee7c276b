"""One run of CP-SAT: parameters, limits, interrupts, and what its statuses mean.

One worker, a fixed seed and a deterministic limit make an answer repeatable; the wall-clock limit is for safety. The
solver runs in a thread of its own, as it lets the interpreter go: Ctrl-C reaches the main thread at once and stops it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from tempfile import NamedTemporaryFile
from threading import Thread
from time import monotonic

from ortools.sat.python import cp_model

from ..encoders.rows import Rows

# How long the main thread waits before it looks around, in seconds.
_PATIENCE = 1.0


class Status(Enum):
    """What a run says about a model."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


class InvalidModelError(Exception):
    """The solver refuses a model: a defect of drasat. The model is kept in a file for the report."""

    def __init__(self, problem: str, model: str) -> None:
        with NamedTemporaryFile("w", prefix="drasat-model-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(model)
        super().__init__(f"the solver refuses the model, which is saved in {file.name}: {problem}")
        self.path = file.name


@dataclass(frozen=True, slots=True)
class Configuration:
    """How the solver works; two that have little in common confirm each other's proofs."""

    presolve: bool = True
    symmetry: int = 1
    linearization: int = 1
    seed: int = 0


# An infeasible model must be so with and without presolve and symmetry, where known wrong answers came from
# (or-tools #5274, #3483).
USUAL = Configuration()
CONFIRMING = Configuration(presolve=False, symmetry=0, linearization=0, seed=1)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: ``deadline`` is a reading of ``time.monotonic``, ``work`` a number of deterministic units."""

    deadline: float | None = None
    work: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a run found: the values of all variables if any, the best objective and its bound."""

    status: Status
    values: tuple[int, ...] = ()
    objective: int = 0
    bound: int = 0
    conflicts: int = 0


Watch = Callable[[float, float], None]
"""Called about every second with the best value and the bound so far."""

_STATUSES = {
    cp_model.OPTIMAL: Status.OPTIMAL,
    cp_model.FEASIBLE: Status.FEASIBLE,
    cp_model.INFEASIBLE: Status.INFEASIBLE,
    cp_model.UNKNOWN: Status.UNKNOWN,
}


def run(rows: Rows, limits: Limits, configuration: Configuration = USUAL, watch: Watch | None = None) -> Found:
    """Solve a model. Raises ``InvalidModelError``, and ``KeyboardInterrupt`` after the solver has stopped."""
    solver = _solver(limits, configuration)
    thread = Thread(target=solver.solve, args=(rows.model,), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_PATIENCE)
            if watch and thread.is_alive():
                watch(solver.objective_value, solver.best_objective_bound)
    except KeyboardInterrupt:
        solver.stop_search()
        thread.join()
        raise
    return _found(rows, solver)


def _solver(limits: Limits, configuration: Configuration) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = configuration.seed
    parameters.cp_model_presolve = configuration.presolve
    parameters.symmetry_level = configuration.symmetry
    parameters.linearization_level = configuration.linearization
    # The solver drops enforced rows that it believes to include each other (or-tools #5293).
    parameters.presolve_inclusion_work_limit = 0
    parameters.catch_sigint_signal = False
    if limits.work is not None:
        parameters.max_deterministic_time = limits.work
    if limits.deadline is not None:
        parameters.max_time_in_seconds = max(0.0, limits.deadline - monotonic())
    return solver


def _found(rows: Rows, solver: cp_model.CpSolver) -> Found:
    response = solver.response_proto
    status = _STATUSES.get(response.status)
    if status is None:
        raise InvalidModelError(rows.model.validate(), str(rows.model.proto))
    if status in (Status.INFEASIBLE, Status.UNKNOWN):
        return Found(status, conflicts=response.num_conflicts)
    objective, bound = round(response.objective_value), round(response.best_objective_bound)
    return Found(status, tuple(response.solution), objective, bound, response.num_conflicts)

"""One run of CP-SAT: parameters, limits, interrupts, and what its statuses mean.

One worker, a given seed and a deterministic limit make an answer repeatable; the wall-clock limit is for safety. The
solver runs in a thread of its own, as it lets the interpreter go: Ctrl-C reaches the main thread at once and stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from tempfile import NamedTemporaryFile
from threading import Event, Thread
from time import monotonic
from typing import TypeAlias

from ..encoders.library import cp_model
from ..encoders.rows import Rows, Term

# How long the main thread waits before it looks around, in seconds.
_PATIENCE = 1.0

# The solver takes seeds below this.
_SEEDS = 1 << 31


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
    """How the solver works; two that have little in common confirm each other's proofs.

    ``rounds`` are those of presolve, ``inprocessing`` is simplification between restarts; ``greedy`` tries the newest
    variables first, and to take what they stand for; ``seed`` is added to the one that is given; ``keeps_hint``: what
    is hinted at is fixed.
    """

    presolve: bool = True
    rounds: int = 3
    probing: int = 2
    symmetry: int = 1
    linearization: int = 2
    cuts: bool = True
    inprocessing: bool = True
    greedy: bool = False
    seed: int = 0
    keeps_hint: bool = False


# Most models need no more than propagation and learning; to look at every literal first, as presolve and
# inprocessing do, takes several times as long. Witnesses of values are the newest variables: they decide most.
QUICK = Configuration(presolve=False, probing=0, symmetry=0, linearization=0, inprocessing=False, greedy=True)
_QUICK_WORK = 1e-5
# So much of that for a run that also improves what it finds.
_WISHING = 0.4
# What is left needs the linear relaxation most of all, and seldom cuts.
RELAXED = Configuration(presolve=False, probing=0, symmetry=0, linearization=1, cuts=False, inprocessing=False)
_RELAXED_WORK = 30
USUAL = Configuration(presolve=False, symmetry=0)
# An infeasible model must be so with and without presolve and symmetry, where known wrong answers came from
# (or-tools #5274, #3483). Most need no more than one round of presolve.
CONFIRMING = Configuration(probing=0, linearization=1, seed=1)
CHECKING = replace(CONFIRMING, rounds=1, cuts=False, inprocessing=False)

Turn: TypeAlias = tuple[Configuration, float | None]
"""A way to solve, and the work after which it is the next one's turn, None for no limit."""

# To complete a solution.
SETTLING = Configuration(keeps_hint=True)


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, and where chance begins: equal limits make equal runs, as long as the clock ends none of them.

    ``deadline`` is a reading of ``time.monotonic``, ``work`` a number of deterministic units, ``seed`` any number.
    """

    deadline: float | None = None
    work: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What a run found: the values of all variables if any, the best objective and its bound.

    ``work`` is in deterministic units, of which a slow machine does about one in a second.
    """

    status: Status
    values: tuple[int, ...] = ()
    objective: int = 0
    bound: int = 0
    conflicts: int = 0
    work: float = 0.0


_NOTHING = Found(Status.UNKNOWN)


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run, after the solver has stopped; ``found`` is what it had by then."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


Watch = Callable[[int | None, int | None], None]
"""Called about every second with the best value and the bound so far, None for none yet."""


class _Progress(cp_model.CpSolverSolutionCallback):
    """Notes how far a run is; nothing but what is shown depends on it."""

    def __init__(self) -> None:
        super().__init__()
        self.best: int | None = None
        self.bound: int | None = None

    def on_solution_callback(self) -> None:
        self.best, self.bound = round(self.objective_value), round(self.best_objective_bound)

    def note_bound(self, bound: float) -> None:
        """Note a better bound."""
        self.bound = round(bound)


_STATUSES = {
    cp_model.OPTIMAL: Status.OPTIMAL,
    cp_model.FEASIBLE: Status.FEASIBLE,
    cp_model.INFEASIBLE: Status.INFEASIBLE,
    cp_model.UNKNOWN: Status.UNKNOWN,
}


def run(rows: Rows, limits: Limits, configuration: Configuration = USUAL, watch: Watch | None = None) -> Found:
    """Solve a model. Raises ``InvalidModelError`` and ``RunInterrupted``."""
    solver = _solver(limits, configuration)
    progress = _Progress() if watch else None
    if progress:
        solver.best_bound_callback = progress.note_bound
    done = Event()
    thread = Thread(target=_solve, args=(solver, rows, progress, done), daemon=True)
    try:
        thread.start()
        while not done.wait(_PATIENCE):
            if watch and progress:
                watch(progress.best, progress.bound)
    except KeyboardInterrupt:
        _stop(solver, done)
        raise RunInterrupted(_found(rows, solver)) from None
    return _found(rows, solver)


def _stop(solver: cp_model.CpSolver, done: Event) -> None:
    """Stop the solver; further interrupts meanwhile are the same one, as ``timeout`` sends it twice."""
    while not done.is_set():
        with suppress(KeyboardInterrupt):
            # A search that has not begun yet cannot be stopped.
            solver.stop_search()
            done.wait(_PATIENCE / 10)


def _solve(solver: cp_model.CpSolver, rows: Rows, progress: _Progress | None, done: Event) -> None:
    """Tell by an event that the solver has ended: a join that Ctrl-C ends takes the thread for dead (Python 3.11)."""
    try:
        solver.solve(rows.model, progress)
    finally:
        done.set()


def run_by_turns(rows: Rows, limits: Limits, watch: Watch | None = None, before: Found | None = None) -> Found:
    """Solve quickly if that is possible, else ever more thoroughly. Raises as ``run``.

    ``before`` is what ``run_with_wish`` came to; ``work`` of what is found is that of all runs.
    """
    quick = quick_work(rows)
    turns = [(QUICK, quick), (RELAXED, quick * _RELAXED_WORK), (USUAL, None)]
    return _in_turn(rows, limits, turns, watch, before or _NOTHING)


def run_with_wish(rows: Rows, limits: Limits, wish: Sequence[Term]) -> Found:
    """Solve if that is quick, and make the sum of these terms small by the way. Raises as ``run``.

    One run that finds something and improves it takes little longer than one of the two: most of it is to begin.
    """
    rows.minimize(wish)
    found = run(rows, replace(limits, work=_least(_WISHING * quick_work(rows), limits.work)), QUICK)
    rows.minimize([])
    return found


def confirm(rows: Rows, limits: Limits, watch: Watch | None = None) -> Found:
    """Ask in another way whether there is a solution. Raises as ``run``."""
    turns = [(CHECKING, _RELAXED_WORK * quick_work(rows)), (CONFIRMING, None)]
    return _in_turn(rows, limits, turns, watch, _NOTHING)


def _in_turn(rows: Rows, limits: Limits, turns: Iterable[Turn], watch: Watch | None, found: Found) -> Found:
    """Go on from what was found in these ways, each with so much work, until one of them has the last word."""
    for configuration, most in turns:
        if found.status in (Status.OPTIMAL, Status.INFEASIBLE):
            break
        if found.values:
            rows.hint(dict(enumerate(found.values)))
        left = None if limits.work is None else max(0.0, limits.work - found.work)
        try:
            more = run(rows, replace(limits, work=_least(left, most)), configuration, watch)
        except RunInterrupted as interrupted:
            raise RunInterrupted(_both(found, interrupted.found)) from None
        found = _both(found, more)
    return found


def quick_work(rows: Rows) -> float:
    """Work after which it is time to try another way: models that are easy at all need little for each variable.

    Where things are packed, what propagation does not decide soon only the linear relaxation does.
    """
    return max(0.002, _QUICK_WORK * rows.variables * (0.4 if rows.packs else 1.0))


def _both(quick: Found, thorough: Found) -> Found:
    """Put two runs after each other together; the second need not come to what the first found."""
    is_better = thorough.values and thorough.objective <= quick.objective
    found = thorough if is_better or not quick.values else quick
    return replace(found, work=thorough.work + quick.work, conflicts=thorough.conflicts + quick.conflicts)


def _least(*limits: float | None) -> float | None:
    """Return the lowest of limits, None for none."""
    return min((limit for limit in limits if limit is not None), default=None)


def _solver(limits: Limits, configuration: Configuration) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = (limits.seed + configuration.seed) % _SEEDS
    parameters.cp_model_presolve = configuration.presolve
    parameters.max_presolve_iterations = configuration.rounds
    parameters.cp_model_probing_level = configuration.probing
    parameters.symmetry_level = configuration.symmetry
    parameters.linearization_level = configuration.linearization
    parameters.cut_level = int(configuration.cuts)
    parameters.use_sat_inprocessing = configuration.inprocessing
    if configuration.greedy:
        parameters.initial_polarity = cp_model.SatParameters.Polarity.POLARITY_TRUE
        parameters.preferred_variable_order = cp_model.SatParameters.VariableOrder.IN_REVERSE_ORDER
    # The solver drops enforced rows that it believes to include each other (or-tools #5293).
    parameters.presolve_inclusion_work_limit = 0
    parameters.catch_sigint_signal = False
    parameters.fix_variables_to_their_hinted_value = configuration.keeps_hint
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
        return Found(status, conflicts=response.num_conflicts, work=response.deterministic_time)
    objective, bound = round(response.objective_value), round(response.best_objective_bound)
    return Found(
        status, tuple(response.solution), objective, bound, response.num_conflicts, response.deterministic_time
    )

"""Run CP-SAT: parameters, limits, interrupts, lazy constraints, and the meaning of its statuses.

One worker, a given seed and a deterministic limit make an answer repeatable; the wall-clock limit is for safety. The
solver runs in a thread of its own, because it releases the interpreter: Ctrl-C reaches the main thread at once and
stops the solver.

Some relations are no rows of the model: each solution is checked, and what fails is forbidden (CELC-9, CELC-10). The
solver has no lazy constraints, and a model that changes within its callbacks kills the process; so the solver runs
again after each failure. This is logic-based Benders decomposition (Hooker & Ottosson, 2003), where a cut excludes one
vector of counts.

``enumerate_solutions`` lists all solutions of a small model.
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

from ...encoders.expressions.posting import forbid, forbid_at_least
from ...encoders.model import AllocationModel, LazyConstraint
from ...encoders.rows import CpSatRows, Term
from ...encoders.solution import decode_solution
from ...encoders.solver_library import CpSatRun, cp_sat
from ...problem.problem import RelationError
from .engine import Counts, Session

# Between two calls of a watch, in seconds.
_WATCH_SECONDS = 1.0
# Between two attempts to stop the solver.
_STOP_SECONDS = 0.1
# The solver takes seeds below this.
_SEED_LIMIT = 1 << 31


class SolverStatus(Enum):
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
class SolverConfiguration:
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
QUICK = SolverConfiguration(presolve=False, probing=0, symmetry=0, linearization=0, inprocessing=False, greedy=True)
_QUICK_WORK = 1e-5
# So much of that for a run that also improves what it finds.
_IMPROVING_SHARE = 0.4
# What is left needs the linear relaxation most of all, and seldom cuts.
LINEARIZED = SolverConfiguration(presolve=False, probing=0, symmetry=0, linearization=1, cuts=False, inprocessing=False)
_LINEARIZED_WORK = 30
USUAL = SolverConfiguration(presolve=False, symmetry=0)
# An infeasible model must be so with and without presolve and symmetry, where known wrong answers came from
# (or-tools #5274, #3483). Most need no more than one round of presolve.
CONFIRMING = SolverConfiguration(probing=0, linearization=1, seed=1)
CHECKING = replace(CONFIRMING, rounds=1, cuts=False, inprocessing=False)
ConfigurationTurn: TypeAlias = tuple[SolverConfiguration, float | None]
"""A way to solve, and the work after which it is the next one's turn, None for no limit."""
# To complete a solution.
COMPLETING = SolverConfiguration(keeps_hint=True)


SolveWatch = Callable[[int | None, int | None], None]
"""Called about every second with the best value and the bound so far, None for none yet."""
SolverBackend = Callable[[CpSatRows, "Limits", SolverConfiguration, "SolveWatch | None"], "SolveResult"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, and where chance begins: equal limits make equal runs, as long as the clock ends none of them.

    ``deadline`` is a reading of ``time.monotonic``, ``work`` a number of deterministic units, ``seed`` any number.
    What is within the relative ``gap`` of its bound counts as optimal. ``backend`` runs in place of CP-SAT, with the
    arguments of ``run_solver``.
    """

    deadline: float | None = None
    work: float | None = None
    seed: int = 0
    backend: SolverBackend | None = None
    gap: float = 0.0

    @classmethod
    def of(cls, session: Session, deadline: float | None = None, work: float | None = None) -> Limits:
        """Limit a question of a session, which has the seed and the backend."""
        return cls(deadline, work, session.seed, session.backend)


@dataclass(frozen=True, slots=True)
class SolveResult:
    """What a run found: the values of all variables if any, the best objective and its bound.

    ``work`` is in deterministic units, of which a slow machine does about one in a second.
    """

    status: SolverStatus
    values: tuple[int, ...] = ()
    objective: int = 0
    bound: int = 0
    conflicts: int = 0
    work: float = 0.0


_NO_RESULT = SolveResult(SolverStatus.UNKNOWN)


class SolveInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run, after the solver has stopped; ``found`` is what it had by then."""

    def __init__(self, found: SolveResult) -> None:
        super().__init__()
        self.found = found


class _ProgressCallback(cp_sat.SolutionCallback):
    """Notes how far a run is; nothing but what is shown depends on it."""

    def __init__(self) -> None:
        super().__init__()
        self.best: int | None = None
        self.bound: int | None = None

    def OnSolutionCallback(self) -> None:
        """Note the value of a solution, and the bound."""
        self.best, self.bound = round(self.ObjectiveValue()), round(self.BestObjectiveBound())

    def note_bound(self, bound: float) -> None:
        """Note a better bound."""
        self.bound = round(bound)


_STATUS_OF_RESPONSE = {
    cp_sat.OPTIMAL: SolverStatus.OPTIMAL,
    cp_sat.FEASIBLE: SolverStatus.FEASIBLE,
    cp_sat.INFEASIBLE: SolverStatus.INFEASIBLE,
    cp_sat.UNKNOWN: SolverStatus.UNKNOWN,
}


def run_solver(
    rows: CpSatRows,
    limits: Limits,
    configuration: SolverConfiguration = USUAL,
    watch: SolveWatch | None = None,
    watch_seconds: float = _WATCH_SECONDS,
) -> SolveResult:
    """Solve a model. Raises ``InvalidModelError`` and ``SolveInterrupted``."""
    if limits.backend:
        return limits.backend(rows, limits, configuration, watch)
    solver = _configured_solver(limits, configuration)
    progress = _ProgressCallback() if watch else None
    if progress:
        solver.on_bound = progress.note_bound
    # By an event, as a join that Ctrl-C ends takes the thread for dead (Python 3.11).
    done = Event()

    def solve_and_signal() -> None:
        try:
            solver.solve(rows.proto, progress)
        finally:
            done.set()

    thread = Thread(target=solve_and_signal, daemon=True)
    try:
        thread.start()
        while not done.wait(watch_seconds):
            if watch and progress:
                watch(progress.best, progress.bound)
    except KeyboardInterrupt:
        stop_solver(solver, done)
        raise SolveInterrupted(_solve_result(rows, solver)) from None
    return _solve_result(rows, solver)


def stop_solver(solver: CpSatRun, done: Event) -> None:
    """Stop the solver; further interrupts meanwhile are the same one, as ``timeout`` sends it twice."""
    while not done.is_set():
        with suppress(KeyboardInterrupt):
            # A search that has not begun yet cannot be stopped.
            solver.stop()
            done.wait(_STOP_SECONDS)


def run_by_configurations(
    rows: CpSatRows, limits: Limits, watch: SolveWatch | None = None, before: SolveResult | None = None
) -> SolveResult:
    """Solve quickly if that is possible, else ever more thoroughly. Raises as ``run_solver``.

    ``before`` is what ``run_improving`` came to; ``work`` of what is found is that of all runs.
    """
    quick = quick_work(rows)
    turns = [(QUICK, quick), (LINEARIZED, quick * _LINEARIZED_WORK), (USUAL, None)]
    return _run_turns(rows, limits, turns, watch, before or _NO_RESULT)


def run_improving(rows: CpSatRows, limits: Limits, goal: Sequence[Term]) -> SolveResult:
    """Solve if that is quick, and make the sum of these terms small by the way. Raises as ``run_solver``.

    One run that finds something and improves it takes little longer than one of the two: most of it is to begin.
    """
    rows.minimize(goal)
    found = run_solver(
        rows, replace(limits, work=_lowest_limit(_IMPROVING_SHARE * quick_work(rows), limits.work)), QUICK
    )
    rows.minimize([])
    return found


def confirm_infeasibility(rows: CpSatRows, limits: Limits, watch: SolveWatch | None = None) -> SolveResult:
    """Ask in another way whether there is a solution. Raises as ``run_solver``."""
    turns = [(CHECKING, _LINEARIZED_WORK * quick_work(rows)), (CONFIRMING, None)]
    return _run_turns(rows, limits, turns, watch, _NO_RESULT)


def _run_turns(
    rows: CpSatRows, limits: Limits, turns: Iterable[ConfigurationTurn], watch: SolveWatch | None, found: SolveResult
) -> SolveResult:
    """Go on from what was found in these ways, each with so much work, until one of them has the last word."""
    for configuration, most in turns:
        if found.status in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE):
            break
        if found.values:
            rows.hint(dict(enumerate(found.values)))
        left = None if limits.work is None else max(0.0, limits.work - found.work)
        try:
            more = run_solver(rows, replace(limits, work=_lowest_limit(left, most)), configuration, watch)
        except SolveInterrupted as interrupted:
            raise SolveInterrupted(_combined_result(found, interrupted.found)) from None
        found = _combined_result(found, more)
    return found


def quick_work(rows: CpSatRows) -> float:
    """Work after which it is time to try another way: models that are easy at all need little for each variable.

    Where things are packed, what propagation does not decide soon only the linear relaxation does.
    """
    return max(0.002, _QUICK_WORK * rows.variables * (0.4 if rows.has_packing_rows else 1.0))


def _combined_result(quick: SolveResult, thorough: SolveResult) -> SolveResult:
    """Put two runs after each other together; the second need not come to what the first found."""
    is_better = thorough.values and thorough.objective <= quick.objective
    found = thorough if is_better or not quick.values else quick
    return replace(found, work=thorough.work + quick.work, conflicts=thorough.conflicts + quick.conflicts)


def _lowest_limit(*limits: float | None) -> float | None:
    """Return the lowest of limits, None for none."""
    return min((limit for limit in limits if limit is not None), default=None)


def _configured_solver(limits: Limits, configuration: SolverConfiguration) -> CpSatRun:
    solver = CpSatRun()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = (limits.seed + configuration.seed) % _SEED_LIMIT
    parameters.cp_model_presolve = configuration.presolve
    parameters.max_presolve_iterations = configuration.rounds
    parameters.cp_model_probing_level = configuration.probing
    parameters.symmetry_level = configuration.symmetry
    parameters.linearization_level = configuration.linearization
    parameters.cut_level = int(configuration.cuts)
    parameters.use_sat_inprocessing = configuration.inprocessing
    if configuration.greedy:
        parameters.initial_polarity = cp_sat.SatParameters.Polarity.POLARITY_TRUE
        parameters.preferred_variable_order = cp_sat.SatParameters.VariableOrder.IN_REVERSE_ORDER
    # The solver drops enforced rows that it believes to include each other (or-tools #5293).
    parameters.presolve_inclusion_work_limit = 0
    parameters.catch_sigint_signal = False
    parameters.fix_variables_to_their_hinted_value = configuration.keeps_hint
    parameters.relative_gap_limit = limits.gap
    if limits.work is not None:
        parameters.max_deterministic_time = limits.work
    if limits.deadline is not None:
        parameters.max_time_in_seconds = max(0.0, limits.deadline - monotonic())
    return solver


def _solve_result(rows: CpSatRows, solver: CpSatRun) -> SolveResult:
    response = solver.response
    status = _STATUS_OF_RESPONSE.get(response.status)
    if status is None:
        raise InvalidModelError(cp_sat.CpSatHelper.validate_model(rows.proto), str(rows.proto))
    if status in (SolverStatus.INFEASIBLE, SolverStatus.UNKNOWN):
        return SolveResult(status, conflicts=response.num_conflicts, work=response.deterministic_time)
    objective, bound = round(response.objective_value), round(response.best_objective_bound)
    return SolveResult(
        status, tuple(response.solution), objective, bound, response.num_conflicts, response.deterministic_time
    )


# Solutions that fail before all that fails is forbidden at once, where that is known, and before the search is given
# up: undecided, never "no".
ROUNDS_BEFORE_FORBIDDING_ALL = 100
MAX_ROUNDS = 5_000


def solve_with_lazy_constraints(
    model: AllocationModel,
    solve: Callable[[Limits], SolveResult],
    limits: Limits,
    counts: Counts,
    *,
    hints: bool = True,
) -> SolveResult:
    """Solve until all relations of the solution hold; ``hints``: begin where the last one ended.

    Raises ``SolveInterrupted`` with a solution that holds or none, and ``DeadlineExceededError``.
    """
    if not model.lazy_constraints:
        return solve(limits)
    work, conflicts = 0.0, 0
    for number in range(MAX_ROUNDS):
        try:
            left = None if limits.work is None else max(0.0, limits.work - work)
            found = solve(replace(limits, work=left))
        except SolveInterrupted as interrupted:
            found = interrupted.found
            if _violated_constraints(model, found.values):
                found = replace(found, status=SolverStatus.UNKNOWN, values=())
            raise SolveInterrupted(found) from None
        work, conflicts = work + found.work, conflicts + found.conflicts
        failing = _violated_constraints(model, found.values)
        if not failing:
            return replace(found, work=work, conflicts=conflicts)
        for lazy in failing:
            vector = [sum(factor * found.values[variable] for variable, factor in terms) for terms in lazy.order.counts]
            (forbid_at_least if lazy.antimonotone else forbid)(lazy.order, vector, lazy.guard)
        counts.no_goods += len(failing)
        if number == ROUNDS_BEFORE_FORBIDDING_ALL:
            counts.no_goods += sum(map(_forbid_all_failing, model.lazy_constraints))
        if hints:
            model.rows.hint(dict(enumerate(found.values[: model.rows.variables])))
    return SolveResult(SolverStatus.UNKNOWN, work=work, conflicts=conflicts)


def _violated_constraints(model: AllocationModel, values: Sequence[int]) -> list[LazyConstraint]:
    """Judge a solution by all relations that are in force."""
    if not values:
        return []
    taken = decode_solution(model, values)
    in_force = (lazy for lazy in model.lazy_constraints if lazy.guard is None or values[lazy.guard])
    found = [(lazy, lazy.relation.record.verdict(taken)) for lazy in in_force]
    model.excludes_errors |= any(isinstance(verdict, RelationError) for _, verdict in found)
    return [lazy for lazy, verdict in found if verdict is not True]


def _forbid_all_failing(lazy: LazyConstraint) -> int:
    """Forbid all that fails, if that is known, and return how many vectors of counts that are."""
    number = 0
    for vector in lazy.failing() if lazy.failing else ():
        forbid(lazy.order, vector, lazy.guard)
        number += 1
    return number


# Solutions that differ in other variables only, for each that is wanted.
_DUPLICATES_PER_SOLUTION = 8


class _SolutionCollector(cp_sat.SolutionCallback):
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
        return max(len(self.found), len(self.refused)) > self._most or self.seen > self._most * _DUPLICATES_PER_SOLUTION

    def OnSolutionCallback(self) -> None:
        """Keep a solution."""
        values = tuple(self.Response().solution)  # type: ignore[no-untyped-call]
        own = tuple(values[variable] for variable in self._variables)
        self.seen += 1
        if own not in self.found and own not in self.refused:
            (self.found if self._holds(values) else self.refused).add(own)
        if self.overfull:
            self.StopSearch()


def enumerate_solutions(
    rows: CpSatRows, variables: Sequence[int], most: int, holds: Callable[[Sequence[int]], bool], deadline: float | None
) -> list[tuple[int, ...]] | None:
    """List the values of these variables in all solutions that hold, in order; None if there are too many.

    ``holds`` judges the values of all variables, and must not change the model.
    """
    solver = CpSatRun()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.catch_sigint_signal = False
    if deadline is not None:
        solver.parameters.max_time_in_seconds = max(0.0, deadline - monotonic())
    rows.minimize([])
    collecting = _SolutionCollector(variables, most, holds)
    response = solver.solve(rows.proto, collecting)
    if collecting.overfull or response.status not in (cp_sat.OPTIMAL, cp_sat.INFEASIBLE):
        return None
    return sorted(collecting.found)

"""From a Problem to a decision by CP-SAT: collapse, encode, solve, confirm, improve, expand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ...encoders.constraints import ENCODERS
from ...encoders.model import AllocationModel, EncodingError, build_model
from ...encoders.objectives.stage import AllocationStage
from ...encoders.objectives.stages import default_stages
from ...encoders.rows import CoefficientError
from ...encoders.solution import decode_solution
from ...encoders.symmetry import build_symmetry_classes, merge_equal_requests
from ...models.results.common import Status
from ...problem.problem import BoundedValue, InUse, Problem
from .cp_sat import (
    Limits,
    SolveResult,
    SolverStatus,
    confirm_infeasibility,
    run_by_configurations,
    run_improving,
    solve_with_lazy_constraints,
)
from .engine import Counts, Decision, ObjectiveWatch, Pick
from .lexicographic import LexicographicOptimization, ObjectivePart, combine_parts, complete_solution
from .outcome import StageValue

_SOLVED_STATUSES = frozenset({SolverStatus.OPTIMAL, SolverStatus.FEASIBLE})


def solve(
    problem: Problem,
    in_use: InUse,
    candidates: Sequence[tuple[int, ...]],
    counts: Counts,
    limits: Limits,
    start: Sequence[Pick] = (),
    thorough: bool = True,
) -> Decision:
    """Decide whether the claims can be allocated; ``candidates`` are the usable devices of each demand.

    A yes is the allocation that the scheduler's preference likes best (SRCH-4), or the best that is found quickly
    unless this is to be ``thorough``; soft entries come next (SOFT-1). ``start`` is an allocation to begin with.
    """
    ask = partial(optimize, problem, in_use, candidates, counts=counts, limits=limits, start=start)
    stages = default_stages(problem)
    decision = ask(stages=stages, thorough=thorough or len(stages) > 1)
    if decision.retry and len(stages) > 1:
        # Weights that the solver cannot take make nothing unallocatable.
        decision = ask(stages=stages[:1], thorough=thorough)
    return replace(decision, objective=())


def optimize(
    problem: Problem,
    in_use: InUse,
    candidates: Sequence[tuple[int, ...]],
    stages: Sequence[AllocationStage],
    counts: Counts,
    limits: Limits,
    start: Sequence[Pick] = (),
    watch: ObjectiveWatch | None = None,
    thorough: bool = True,
) -> Decision:
    """Find the best allocation by these stages, the first stage first; ``start`` is an allocation to begin with."""
    merged = merge_equal_requests(problem, in_use, candidates)
    try:
        model = build_model(build_symmetry_classes(merged, [*ENCODERS, *stages]), ENCODERS, deadline=limits.deadline)
        # Distances of all pairs of devices are many rows.
        model.rows.deadline = limits.deadline
        parts = [stage.parts(model) for stage in stages]
        model.rows.deadline = None
        counts.classes = max(counts.classes, len(model.reduced.classes))
        counts.literals += model.rows.variables
        counts.count_encodings(model.cel_encodings)
        flat = [part for own in parts for part in own]
        early = None if thorough or start else _quick_solution(model, flat, limits)
        found = _first_solution(model, limits, counts, start, watch, early)
        if found.status is SolverStatus.INFEASIBLE:
            return Decision(Status.UNALLOCATABLE, has_relation_error=model.excludes_errors)
        if found.status is SolverStatus.UNKNOWN:
            return Decision(Status.UNKNOWN, message="not decided within the limit")
        staging = LexicographicOptimization(model, found, limits, counts, thorough, improved=found is early)
        staging.run(flat, _display_stage_watch(stages, parts, watch))
    except CoefficientError as error:
        return Decision(Status.UNKNOWN, message=f"the solver cannot be asked: {error}", retry=True)
    except EncodingError as error:
        return Decision(Status.UNKNOWN, message=str(error))
    picks = tuple(Pick(*taken) for taken in decode_solution(model, staging.found.values))
    objective = _stage_values(model, stages, parts, staging.reached)
    return Decision(Status.ALLOCATED, picks, objective=objective, interrupted=staging.interrupted)


def _stage_values(
    model: AllocationModel,
    stages: Sequence[AllocationStage],
    parts: Sequence[Sequence[object]],
    reached: Sequence[BoundedValue],
) -> tuple[StageValue, ...]:
    """Give each stage what its own parts came to."""
    left = iter(reached)
    own = [[next(left) for _ in mine] for mine in parts]
    return tuple(
        StageValue(stage.id, tuple(stage.comparable(model, mine))) for stage, mine in zip(stages, own, strict=True)
    )


def _display_stage_watch(
    stages: Sequence[AllocationStage], parts: Sequence[Sequence[object]], watch: ObjectiveWatch | None
) -> Callable[[int, int | None, int | None], None] | None:
    """Name the stage that a part belongs to."""
    if watch is None:
        return None
    names = [stage.id for stage, own in zip(stages, parts, strict=True) for _ in own]
    return lambda number, value, bound: watch(names[number], value, bound)


def _quick_solution(model: AllocationModel, parts: Sequence[ObjectivePart], limits: Limits) -> SolveResult | None:
    """Look for a solution that is good already, if that is likely to be quick; None: not tried.

    Where things are packed it is not, and where solutions are judged each of them would be improved first.
    """
    goal = combine_parts(parts, model.rows)
    return (
        run_improving(model.rows, limits, goal)
        if goal and not model.lazy_constraints and not model.rows.has_packing_rows
        else None
    )


def _first_solution(
    model: AllocationModel,
    limits: Limits,
    counts: Counts,
    start: Sequence[Pick],
    watch: ObjectiveWatch | None,
    early: SolveResult | None,
) -> SolveResult:
    """Find any solution: the one to begin with or found early if there is one, else by search; a no is confirmed."""
    if start:
        found = complete_solution(model, _start_values(model, start), (), counts)
        if found.status in _SOLVED_STATUSES:
            return found
    existence_watch = watch and partial(watch, "existence")
    ask = partial(run_by_configurations, model.rows, watch=existence_watch, before=early)
    found = (
        solve_with_lazy_constraints(model, ask, limits, counts)
        if early is None or early.status is SolverStatus.UNKNOWN
        else early
    )
    _count_work(found, counts)
    if found.status is SolverStatus.INFEASIBLE:
        # Asked again in another way: what is found then is true, what is not found stays unknown.
        found = _count_work(
            solve_with_lazy_constraints(
                model, partial(confirm_infeasibility, model.rows, watch=existence_watch), limits, counts
            ),
            counts,
        )
    return found


def _count_work(found: SolveResult, counts: Counts) -> SolveResult:
    counts.conflicts += found.conflicts
    counts.work += found.work
    return found


def _start_values(model: AllocationModel, picks: Sequence[Pick]) -> dict[int, int]:
    """Write picks as values of the variables that make an answer."""
    merged, taken = model.merged, {pick.demand for pick in picks}
    alternative_of = {
        demand: alternative.index for alternative in merged.alternatives for demand in alternative.demands
    }
    class_of = {device: class_.index for class_ in model.reduced.classes for device in class_.devices}
    counts = Counter((alternative_of[pick.demand], class_of[pick.device]) for pick in picks)
    values = {variable: counts[key] for key, variable in model.takes.items()}
    for alternative, choice in zip(merged.alternatives, model.choices, strict=True):
        if choice is not None:
            values[choice] = sum(demand in taken for demand in alternative.demands)
    return values

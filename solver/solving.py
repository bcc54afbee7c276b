"""From a Problem to a decision by CP-SAT: collapse, encode, solve, confirm, improve, expand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..encoders.collapsed import Collapsed
from ..encoders.composition import ENCODERS
from ..encoders.expansion import expand
from ..encoders.lots import collapse
from ..encoders.merging import merge
from ..encoders.model import AllocationModel, RoadError, build
from ..encoders.rows import CoefficientError
from ..encoders.stages.stage import Reached, Stage
from ..encoders.stages.table import usual_stages
from ..problem.records import InUse, Problem
from .attempts import Counts, Watch
from .cp_sat_run import Found, Limits, Status, confirm, run_by_turns, run_with_wish
from .decision import Answer, Decision
from .judging import judged
from .search import Pick
from .stage_values import StageValue
from .staging import Part, Staging, completed, together

_SOLVED = frozenset({Status.OPTIMAL, Status.FEASIBLE})


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
    stages = usual_stages(problem)
    decision = ask(stages=stages, thorough=thorough or len(stages) > 1)
    if decision.retry and len(stages) > 1:
        # Weights that the solver cannot take make nothing unallocatable.
        decision = ask(stages=stages[:1], thorough=thorough)
    return replace(decision, objective=())


def optimize(
    problem: Problem,
    in_use: InUse,
    candidates: Sequence[tuple[int, ...]],
    stages: Sequence[Stage],
    counts: Counts,
    limits: Limits,
    start: Sequence[Pick] = (),
    watch: Watch | None = None,
    thorough: bool = True,
) -> Decision:
    """Find the allocation that these stages like best, in their order; ``start`` is one to begin with."""
    merged = merge(problem, in_use, candidates)
    try:
        model = build(collapse(merged, [*ENCODERS, *stages]), ENCODERS, deadline=limits.deadline)
        parts = [stage.parts(model) for stage in stages]
        counts.classes = max(counts.classes, len(model.collapsed.lots))
        counts.literals += model.rows.variables
        counts.took(model.roads)
        flat = [part for own in parts for part in own]
        early = None if thorough or start else _at_once(model, flat, limits)
        found = _first(model, limits, counts, start, watch, early)
        if found.status is Status.INFEASIBLE:
            return Decision(Answer.NO, certified=True, troubled=model.troubled)
        if found.status is Status.UNKNOWN:
            return Decision(Answer.UNKNOWN, message="not decided within the limit")
        staging = Staging(model, found, limits, counts, thorough, improved=found is early)
        staging.run(flat, _told(stages, parts, watch))
    except CoefficientError as error:
        return Decision(Answer.UNKNOWN, message=f"the solver cannot be asked: {error}", retry=True)
    except RoadError as error:
        return Decision(Answer.UNKNOWN, message=str(error))
    picks = tuple(Pick(*taken) for taken in expand(model, staging.found.values))
    objective = _values(model, stages, parts, staging.reached)
    return Decision(Answer.YES, picks, objective=objective, interrupted=staging.interrupted)


def _values(
    model: AllocationModel, stages: Sequence[Stage], parts: Sequence[Sequence[object]], reached: Sequence[Reached]
) -> tuple[StageValue, ...]:
    """Give each stage what its own parts came to."""
    left = iter(reached)
    own = [[next(left) for _ in mine] for mine in parts]
    return tuple(
        StageValue(stage.id, tuple(stage.comparable(model, mine))) for stage, mine in zip(stages, own, strict=True)
    )


def _told(
    stages: Sequence[Stage], parts: Sequence[Sequence[object]], watch: Watch | None
) -> Callable[[int, int | None, int | None], None] | None:
    """Name the stage that a part belongs to."""
    if watch is None:
        return None
    names = [stage.id for stage, own in zip(stages, parts, strict=True) for _ in own]
    return lambda number, value, bound: watch(names[number], value, bound)


def collapsed(
    problem: Problem, in_use: InUse, candidates: Sequence[tuple[int, ...]], *, together: bool = True
) -> Collapsed:
    """Merge what is equal; without ``together`` every request and every device stays alone."""
    merged = merge(problem, in_use, candidates, together=together)
    return collapse(merged, ENCODERS, together=together)


def _at_once(model: AllocationModel, parts: Sequence[Part], limits: Limits) -> Found | None:
    """Look for a solution that is good already, if that is likely to be quick; None: not tried.

    Where things are packed it is not, and where solutions are judged each of them would be improved first.
    """
    wish = together(parts, model.rows)
    return run_with_wish(model.rows, limits, wish) if wish and not model.lazies and not model.rows.packs else None


def _first(
    model: AllocationModel,
    limits: Limits,
    counts: Counts,
    start: Sequence[Pick],
    watch: Watch | None,
    early: Found | None,
) -> Found:
    """Find any solution: the one to begin with or found early if there is one, else by search; a no is confirmed."""
    if start:
        found = completed(model, _begun(model, start), (), counts)
        if found.status in _SOLVED:
            return found
    told = watch and partial(watch, "existence")
    ask = partial(run_by_turns, model.rows, watch=told, before=early)
    found = judged(model, ask, limits, counts) if early is None or early.status is Status.UNKNOWN else early
    _counted(found, counts)
    if found.status is Status.INFEASIBLE:
        # Asked again in another way: what is found then is true, what is not found stays unknown.
        found = _counted(judged(model, partial(confirm, model.rows, watch=told), limits, counts), counts)
    return found


def _counted(found: Found, counts: Counts) -> Found:
    counts.conflicts += found.conflicts
    counts.work += found.work
    return found


def _begun(model: AllocationModel, picks: Sequence[Pick]) -> dict[int, int]:
    """Write picks as values of the variables that make an answer."""
    merged, taken = model.merged, {pick.demand for pick in picks}
    branch_of = {demand: branch.index for branch in merged.branches for demand in branch.demands}
    lot_of = {device: lot.index for lot in model.collapsed.lots for device in lot.devices}
    counts = Counter((branch_of[pick.demand], lot_of[pick.device]) for pick in picks)
    values = {variable: counts[key] for key, variable in model.takes.items()}
    for branch, choice in zip(merged.branches, model.choices, strict=True):
        if choice is not None:
            values[choice] = sum(demand in taken for demand in branch.demands)
    return values

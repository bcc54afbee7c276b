"""From a Problem to a decision by CP-SAT: collapse, encode, solve, confirm, prefer, expand."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from ..encoders.collapsed import Collapsed
from ..encoders.composition import ENCODERS
from ..encoders.expansion import expand
from ..encoders.lots import collapse
from ..encoders.merging import merge
from ..encoders.model import AllocationModel, build
from ..encoders.rows import CoefficientError
from ..problem.records import InUse, Problem
from .attempts import Counts
from .cp_sat_run import CONFIRMING, USUAL, Found, Limits, Status, run
from .decision import Answer, Decision
from .preference import prefer
from .search import Pick

# Deterministic units of work for a second of the time limit; a unit is about a second on slow machines.
_WORK_PER_SECOND = 1.0


def solve(
    problem: Problem,
    in_use: InUse,
    candidates: Sequence[tuple[int, ...]],
    counts: Counts,
    seed: int,
    deadline: float | None,
) -> Decision:
    """Decide whether the claims can be allocated; ``candidates`` are the usable devices of each demand."""
    try:
        model = build(collapsed(problem, in_use, candidates), ENCODERS, deadline=deadline)
    except CoefficientError as error:
        return Decision(Answer.UNKNOWN, message=f"the solver cannot be asked: {error}", retry=True)
    counts.literals += model.rows.variables
    limits = limits_until(deadline)
    found = run(model.rows, limits, USUAL)
    counts.conflicts += found.conflicts
    if found.status is Status.INFEASIBLE:
        found = _confirm(model, limits, counts)
        if found.status is Status.INFEASIBLE:
            return Decision(Answer.NO, certified=True)
    if found.status is Status.UNKNOWN:
        return Decision(Answer.UNKNOWN, message="not decided within the limit")
    preferred = prefer(model, found, limits, counts)
    return Decision(Answer.YES, tuple(Pick(*taken) for taken in expand(model, preferred.values)))


def collapsed(
    problem: Problem, in_use: InUse, candidates: Sequence[tuple[int, ...]], *, together: bool = True
) -> Collapsed:
    """Merge what is equal; without ``together`` every request and every device stays alone."""
    merged = merge(problem, in_use, candidates, together=together)
    return collapse(merged, ENCODERS, together=together)


def limits_until(deadline: float | None) -> Limits:
    """Limits for a run that may go on until then."""
    if deadline is None:
        return Limits()
    return Limits(deadline, max(0.0, deadline - monotonic()) * _WORK_PER_SECOND)


def _confirm(model: AllocationModel, limits: Limits, counts: Counts) -> Found:
    """Ask again in another way; what is found then is true, what is not found stays unknown."""
    found = run(model.rows, limits, CONFIRMING)
    counts.conflicts += found.conflicts
    return found

"""Relations that no rows say: every solution is judged, and what fails is forbidden (CELC-9, CELC-10).

The solver has no lazy constraints, and changing a model from within its callbacks kills the process, so that it is
asked again: logic-based Benders decomposition (Hooker & Ottosson, 2003), where a cut excludes one vector of counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..encoders.expansion import expand
from ..encoders.lowering.no_goods import forbid, forbid_at_least
from ..encoders.model import AllocationModel, Lazy
from ..problem.relations import Trouble
from .attempts import Counts
from .cp_sat_run import Found, Limits, RunInterrupted, Status

# Solutions that fail before all that fails is forbidden at once, where that is known, and before the search is given
# up: undecided, never "no".
PATIENCE = 100
MOST_ROUNDS = 5_000


def judged(
    model: AllocationModel, solve: Callable[[Limits], Found], limits: Limits, counts: Counts, *, hints: bool = True
) -> Found:
    """Solve until all relations of the solution hold; ``hints``: begin where the last one ended.

    Raises ``RunInterrupted`` with a solution that holds or none, and ``DeadlineExceededError``.
    """
    if not model.lazies:
        return solve(limits)
    work, conflicts = 0.0, 0
    for number in range(MOST_ROUNDS):
        try:
            found = solve(_left(limits, work))
        except RunInterrupted as interrupted:
            raise RunInterrupted(_checked(model, interrupted.found)) from None
        work, conflicts = work + found.work, conflicts + found.conflicts
        failing = _failing(model, found.values)
        if not failing:
            return replace(found, work=work, conflicts=conflicts)
        for lazy in failing:
            _forbid(lazy, found.values)
        counts.no_goods += len(failing)
        if number == PATIENCE:
            counts.no_goods += sum(map(_forbid_all, model.lazies))
        if hints:
            model.rows.hint(dict(enumerate(found.values[: model.rows.variables])))
    return Found(Status.UNKNOWN, work=work, conflicts=conflicts)


def _left(limits: Limits, work: float) -> Limits:
    return limits if limits.work is None else replace(limits, work=max(0.0, limits.work - work))


def _checked(model: AllocationModel, found: Found) -> Found:
    """Forget a solution that does not hold."""
    return replace(found, status=Status.UNKNOWN, values=()) if _failing(model, found.values) else found


def _failing(model: AllocationModel, values: Sequence[int]) -> list[Lazy]:
    """Judge a solution by all relations that are in force."""
    if not values:
        return []
    taken = expand(model, values)
    in_force = (lazy for lazy in model.lazies if lazy.guard is None or values[lazy.guard])
    found = [(lazy, lazy.relation.record.verdict(taken)) for lazy in in_force]
    model.troubled |= any(isinstance(verdict, Trouble) for _, verdict in found)
    return [lazy for lazy, verdict in found if verdict is not True]


def _forbid(lazy: Lazy, values: Sequence[int]) -> None:
    vector = [sum(coefficient * values[variable] for variable, coefficient in terms) for terms in lazy.order.counts]
    post = forbid_at_least if lazy.antimonotone else forbid
    post(lazy.order, vector, lazy.guard)


def _forbid_all(lazy: Lazy) -> int:
    """Forbid all that fails, if that is known, and return how many vectors of counts that are."""
    number = 0
    for vector in lazy.failing() if lazy.failing else ():
        forbid(lazy.order, vector, lazy.guard)
        number += 1
    return number

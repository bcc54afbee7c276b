"""From a Problem to a decision by CP-SAT: collapse, encode, solve, confirm, improve, expand.

An objective is lexicographic: a part is solved, its value is kept, and the next starts from where the last one ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import gcd, prod

from ...encoders.constraints import ENCODERS
from ...encoders.model import AllocationModel, EncodingError, build_model
from ...encoders.objectives.stage import AllocationStage
from ...encoders.objectives.stages import default_stages
from ...encoders.rows import COEFFICIENT_LIMIT, CoefficientError, CpSatRows, Term
from ...encoders.solution import decode_solution
from ...encoders.symmetry import build_symmetry_classes, merge_equal_requests
from ...models.results.common import Status
from ...problem.problem import BoundedValue, InUse, Problem
from .cp_sat import (
    COMPLETING,
    QUICK,
    Limits,
    SolveInterrupted,
    SolverConfiguration,
    SolveResult,
    SolverStatus,
    SolveWatch,
    confirm_infeasibility,
    quick_work,
    run_by_configurations,
    run_improving,
    run_solver,
    solve_with_lazy_constraints,
)
from .engine import Counts, Decision, ObjectiveWatch, Pick
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


PartWatch = Callable[[int, int | None, int | None], None]
"""Called about every second with the number of the part, its best value and its bound so far."""
ObjectivePart = Sequence[Term]
"""Terms whose sum is to be as small as possible; it is never negative."""
# A first solution is rarely far from the best, so that improving it may cost less than finding it did.
_QUICK_SHARE = 0.3
# Weights beyond this make a sum harder than its parts.
_MAX_WEIGHT = 1 << 20


@dataclass
class LexicographicOptimization:
    """An optimisation under way: the best solution so far, and what each part came to.

    ``limits`` hold for all parts together: each may do its share of the work that is left. ``interrupted``: Ctrl-C
    came, and all that was not done by then was left out. Without ``thorough`` only what is quick is done, and nothing
    if what was found is ``improved`` already.
    """

    model: AllocationModel
    found: SolveResult
    limits: Limits
    counts: Counts
    thorough: bool = True
    improved: bool = False
    reached: list[BoundedValue] = field(default_factory=list)
    interrupted: bool = False
    spent: float = 0.0

    def run(self, parts: Sequence[ObjectivePart], watch: PartWatch | None = None) -> None:
        """Minimise the parts, the first one first. Raises ``CoefficientError``."""
        quick = self.thorough or not self.improved
        for number, terms in enumerate(parts):
            if quick and number == len(self.reached):
                quick = self._together(_combinable_parts(parts[number:], self.model.rows))
            if number == len(self.reached):
                bound = self._minimize(terms, len(parts) - number, watch and partial(watch, number))
                self._keep(terms, bound)
        if self.thorough and not all(part.proven for part in self.reached):
            self._tighten(parts)
        self.model.rows.minimize([])

    def _keep(self, terms: ObjectivePart, bound: int | None = None) -> None:
        """Fix what a part came to; without a bound it is the best."""
        value = _value_of_part(terms, self.found)
        self.reached.append(BoundedValue(value, value if bound is None else bound))
        self.model.rows.at_most(terms, value)

    def _together(self, parts: Sequence[tuple[ObjectivePart, int]]) -> bool:
        """Minimise several small parts at once, each weighing more than all after it; return whether that was quick."""
        weighted = _weighted_terms(parts)
        if self.interrupted or (len(parts) < 2 and self.thorough):
            return True
        if _value_of_part(weighted, self.found):
            self.model.rows.minimize(weighted)
            self.model.rows.hint(dict(enumerate(self.found.values)))
            most = quick_work(self.model.rows) * (1.0 if self.thorough else _QUICK_SHARE)
            better = self._solve(self._share(1, most), None, QUICK)
            self._take(better, weighted)
            if better.status is not SolverStatus.OPTIMAL:
                return False
        for terms, _ in parts:
            self._keep(terms)
        return True

    def _minimize(self, terms: ObjectivePart, left: int, watch: SolveWatch | None) -> int:
        """Improve the solution as far as one part is concerned, and return a bound."""
        if self.interrupted or not self.thorough or not _value_of_part(terms, self.found):
            return 0
        scaled, divisor = _scaled_terms(terms)
        self.model.rows.minimize(scaled)
        self.model.rows.hint(dict(enumerate(self.found.values)))

        def unscaled(value: int | None, bound: int | None) -> None:
            if watch:
                watch(*(None if one is None else one * divisor for one in (value, bound)))

        better = self._solve(self._share(left), watch and unscaled)
        if better.status not in (SolverStatus.OPTIMAL, SolverStatus.FEASIBLE):
            return 0
        self._take(better, terms)
        return better.bound * divisor

    def _take(self, better: SolveResult, terms: ObjectivePart) -> None:
        """Go on from what a run found, unless it was stopped at something worse: a hint need not come first."""
        if better.values and _value_of_part(terms, better) <= _value_of_part(terms, self.found):
            self.found = better

    def _solve(self, limits: Limits, watch: SolveWatch | None, way: SolverConfiguration | None = None) -> SolveResult:
        try:
            return self._counted(
                solve_with_lazy_constraints(self.model, partial(self._run, way, watch), limits, self.counts)
            )
        except SolveInterrupted as interrupted:
            self.interrupted = True
            return self._counted(interrupted.found)

    def _run(self, way: SolverConfiguration | None, watch: SolveWatch | None, limits: Limits) -> SolveResult:
        rows = self.model.rows
        return run_by_configurations(rows, limits, watch) if way is None else run_solver(rows, limits, way, watch)

    def _counted(self, found: SolveResult) -> SolveResult:
        self.counts.conflicts += found.conflicts
        self.counts.work += found.work
        self.spent += found.work
        return found

    def _share(self, left: int, most: float | None = None) -> Limits:
        if self.limits.work is None:
            return replace(self.limits, work=most)
        share = max(0.0, self.limits.work - self.spent) / left
        return replace(self.limits, work=share if most is None else min(share, most))

    def _tighten(self, parts: Sequence[ObjectivePart]) -> None:
        """Find the true values where a run was stopped: literals that were not minimised may be true without need."""
        chosen = (choice for choice in self.model.choices if choice is not None)
        # What is taken is kept; what objectives see of it becomes as low as it can be.
        kept = {variable: self.found.values[variable] for variable in (*self.model.takes.values(), *chosen)}
        settled = complete_solution(self.model, kept, [term for part in parts for term in part], self.counts)
        if settled.status is SolverStatus.OPTIMAL:
            self.found = settled
            values = [_value_of_part(terms, settled) for terms in parts]
            self.reached = [BoundedValue(v, part.bound) for v, part in zip(values, self.reached, strict=True)]


def complete_solution(
    model: AllocationModel, kept: Mapping[int, int], terms: ObjectivePart, counts: Counts
) -> SolveResult:
    """Solve with some variables fixed to these values; that is no search, so that it has no limit."""
    model.rows.minimize(terms)
    model.rows.hint(kept)
    return solve_with_lazy_constraints(
        model, lambda limits: run_solver(model.rows, limits, COMPLETING), Limits(), counts, hints=False
    )


def combine_parts(parts: Sequence[ObjectivePart], rows: CpSatRows) -> ObjectivePart:
    """Put the first parts into one sum, as many as fit, each weighing more than all after it."""
    return _weighted_terms(_combinable_parts(parts, rows))


def _weighted_terms(parts: Sequence[tuple[ObjectivePart, int]]) -> ObjectivePart:
    return [(variable, weight * coefficient) for terms, weight in parts for variable, coefficient in terms]


def _combinable_parts(parts: Sequence[ObjectivePart], rows: CpSatRows) -> list[tuple[ObjectivePart, int]]:
    """Take the first parts that fit into one sum, with weights: one step of a part is more than all of those after."""
    found: list[tuple[ObjectivePart, int]] = []
    ranges: list[int] = []
    for terms in parts:
        most = rows.extent(terms)[1]
        if prod([*ranges, most + 1]) > _MAX_WEIGHT:
            break
        ranges.append(most + 1)
        found.append((terms, 1))
    return [(terms, prod(ranges[number + 1 :])) for number, (terms, _) in enumerate(found)]


def _value_of_part(terms: ObjectivePart, found: SolveResult) -> int:
    return sum(coefficient * found.values[variable] for variable, coefficient in terms)


def _scaled_terms(terms: ObjectivePart) -> tuple[ObjectivePart, int]:
    """Divide by what all coefficients have in common. Raises ``CoefficientError`` if they are too large even so."""
    divisor = gcd(*(coefficient for _, coefficient in terms)) or 1
    scaled = [(variable, coefficient // divisor) for variable, coefficient in terms]
    if any(abs(coefficient) >= COEFFICIENT_LIMIT for _, coefficient in scaled):
        raise CoefficientError("an objective is too large for the solver")
    return scaled, divisor

"""Lexicographic optimisation: solve a part, keep its value, solve the next from where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import gcd, prod

from ...encoders.model import AllocationModel
from ...encoders.rows import COEFFICIENT_LIMIT, CoefficientError, CpSatRows, Term
from ...problem.problem import BoundedValue
from .cp_sat import (
    COMPLETING,
    QUICK,
    Limits,
    SolveInterrupted,
    SolverConfiguration,
    SolveResult,
    SolverStatus,
    SolveWatch,
    quick_work,
    run_by_configurations,
    run_solver,
    solve_with_lazy_constraints,
)
from .engine import Counts

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

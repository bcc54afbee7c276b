"""Bundles with fewer copies: what a plan does not place is taken out again.

Admin access beside other units: it draws counters and capacity while its own unit is allocated, and never again.

The model lets it draw for good (DEV-15, CAP-11), so that every bundle can be allocated in any order. But more may fit:
bounds come from the same question without the requests with admin access.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....problem.constraints import pools_with_negative_draws
from ....problem.problem import Problem
from ...engines.copies import has_admin, without_admin
from .bundle import Bundle, BundleQuestion


def reduced_bundle(question: BundleQuestion, bundle: Bundle, counts: Sequence[int]) -> Bundle:
    """Leave at most so many copies of each unit, those that cost least by the first measure, then by the second.

    The rest is a bundle as well: nothing that a copy takes helps another one. Where devices give counters that is not
    so, and the bundle stays as it is.
    """
    if any(pools_with_negative_draws(unit.problem) for unit in question.units):
        return bundle
    return bundle.kept([_cheapest_copies(question, bundle, number, count) for number, count in enumerate(counts)])


def _cheapest_copies(question: BundleQuestion, bundle: Bundle, number: int, count: int) -> list[int]:
    """Find the copies of a unit that cost least when they are alone; of equal ones the first."""
    nothing: list[tuple[int, ...]] = [() for _ in bundle.copies]

    def costs(copy: int) -> list[int]:
        alone = bundle.kept([(copy,) if unit == number else own for unit, own in enumerate(nothing)])
        return [measure.value(question.units, alone) for measure in question.measures]

    copies = range(len(bundle.copies[number]))
    return sorted(sorted(copies, key=costs)[:count])


def without_admin_access(question: BundleQuestion) -> BundleQuestion | None:
    """Leave out what has admin access; None if it draws nothing, so that the model is exact."""
    if not any(_draws_with_admin(unit.problem) for unit in question.units):
        return None
    units = (
        replace(unit, problem=without_admin(unit.problem)) if has_admin(unit.problem) else unit
        for unit in question.units
    )
    return replace(question, units=tuple(units))


def _draws_with_admin(problem: Problem) -> bool:
    drawing = {
        *problem.counters.consumption,
        *problem.groups.membership,
        *(problem.capacities.rows.keys() & problem.shared),
    }
    return any(not drawing.isdisjoint(demand.candidates) for demand in problem.demands if demand.admin)

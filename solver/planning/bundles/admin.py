"""Admin access beside other units: it draws counters and capacity while its own unit is allocated, and never again.

The model lets it draw for good (DEV-15, CAP-11), so that every bundle can be allocated in any order. But more may fit:
bounds come from the same question without the requests with admin access.
"""

from __future__ import annotations

from dataclasses import replace

from ....problem.records import Problem
from ...capacity_copies import has_admin, without_admin
from .question import BundleQuestion


def without_admin_access(question: BundleQuestion) -> BundleQuestion | None:
    """Leave out what has admin access; None if it draws nothing, so that the model is exact."""
    if not any(_draws(unit.problem) for unit in question.units):
        return None
    units = (
        replace(unit, problem=without_admin(unit.problem)) if has_admin(unit.problem) else unit
        for unit in question.units
    )
    return replace(question, units=tuple(units))


def _draws(problem: Problem) -> bool:
    drawing = {
        *problem.counters.consumption,
        *problem.groups.membership,
        *(problem.capacities.rows.keys() & problem.shared),
    }
    return any(not drawing.isdisjoint(demand.candidates) for demand in problem.demands if demand.admin)

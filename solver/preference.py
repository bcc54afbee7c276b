"""The scheduler's preference: better alternatives for earlier list requests (SRCH-4), as lexicographic stages."""

from __future__ import annotations

from collections.abc import Iterator

from ..encoders.collapsed import MergedRequest
from ..encoders.model import AllocationModel
from ..encoders.rows import Term
from .attempts import Counts
from .cp_sat_run import USUAL, Found, Limits, Status, run


def prefer(model: AllocationModel, found: Found, limits: Limits, counts: Counts) -> Found:
    """Improve a solution stage by stage; each fixes what the ones before reached."""
    for terms in _stages(model):
        value = sum(coefficient * found.values[variable] for variable, coefficient in terms)
        if value:
            model.rows.minimize(terms)
            model.rows.hint(found.values)
            better = run(model.rows, limits, USUAL)
            counts.conflicts += better.conflicts
            if better.status in (Status.OPTIMAL, Status.FEASIBLE):
                found, value = better, better.objective
        model.rows.at_most(terms, value)
    model.rows.minimize([])
    return found


def _stages(model: AllocationModel) -> Iterator[list[Term]]:
    for request in model.merged.requests:
        if request.listed:
            yield from _of_request(model, request)


def _of_request(model: AllocationModel, request: MergedRequest) -> Iterator[list[Term]]:
    """Rank a single list; of several equal ones as few as possible without the first alternative, then the second."""
    choices = [choice for number in request.branches if (choice := model.choices[number]) is not None]
    if model.merged.branches[request.branches[0]].copies == 1:
        yield [(choice, rank) for rank, choice in enumerate(choices) if rank]
        return
    for best in range(len(choices) - 1):
        yield [(choice, 1) for choice in choices[best + 1 :]]

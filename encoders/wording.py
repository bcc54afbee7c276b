"""The sentences of justifications, one function for each kind of thing that can be in the way."""

from __future__ import annotations

from ..problem.justification import Justification
from ..problem.messages import Blank
from ..problem.records import Problem
from .collapsed import Branch, Merged, MergedConstraint


def about_request(merged: Merged, branch: Branch) -> Justification:
    """Justify that a request must be served at all."""
    request = merged.requests[branch.request]
    copies = len(branch.demands)
    first = merged.problem.demands[branch.demands[0]]
    kind = "firstAvailable" if request.listed else "all" if branch.all_devices else "exactCount"
    needs = "one of its alternatives" if request.listed else "all devices" if branch.all_devices else f"{branch.count}"
    equal = f" (and {copies - 1} equal)" if copies > 1 else ""
    return Justification(kind, (f"request {request.name}{equal} needs {needs}",), first.claim)


def about_constraint(constraint: MergedConstraint) -> Justification:
    """Justify an entry of ``constraints``, by its number in the claim."""
    record = constraint.record
    return Justification(
        record.kind, (f"constraint {constraint.position}, {record.kind} {record.attribute}",), record.claim
    )


def about_counter(problem: Problem, row: int) -> Justification:
    """Justify a counter of a pool."""
    counter_set, counter = problem.counters.names[row]
    text = f"counter {counter} of counter set {counter_set}, pool "
    return Justification("counters", (text, Blank.POOL), pool=problem.counters.pool_of_row[row])


def about_groups(problem: Problem, place: int) -> Justification:
    """Justify that devices of a counter set have a compatibility group in common."""
    pool, counter_set = problem.groups.sets[place]
    text = f"compatibility groups of counter set {counter_set}, pool "
    return Justification("compatibilityGroups", (text, Blank.POOL), pool=pool)


def about_capacity(problem: Problem, row: int, device: int) -> Justification:
    """Justify a capacity of a device."""
    text = f"capacity {problem.capacities.names[row]} of device "
    return Justification("capacity", (text, Blank.DEVICE), device=device)


def about_limit(claim: int, most: int) -> Justification:
    """Justify the limit of results."""
    return Justification("resultLimit", (f"a claim gets at most {most} devices",), claim)

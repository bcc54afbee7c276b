"""The sentences of justifications, one function for each kind of thing that can be in the way."""

from __future__ import annotations

from ..problem.justification import Justification
from ..problem.messages import Blank
from ..problem.obstacles import Obstacle
from ..problem.records import Constraint, Problem
from ..problem.relations import Relation
from .collapsed import Branch, Merged, MergedConstraint, MergedRelation


def about_request(merged: Merged, branch: Branch) -> Justification:
    """Justify that a request must be served at all."""
    request = merged.requests[branch.request]
    first = merged.problem.demands[branch.demands[0]]
    if request.listed:
        kind, needs = "firstAvailable", " needs one of its alternatives"
    elif branch.all_devices:
        kind, needs = "all", f" needs all {_devices(branch.count)} that it selects"
    else:
        kind, needs = "exactCount", f" needs {_devices(branch.count)}"
    each = " each" if branch.copies > 1 else ""
    message = (f"request {request.name} of claim ", Blank.CLAIM, f"{_equal(branch.copies)}{needs}{each}")
    return Justification(kind, message, first.claim, subject=request.index)


def about_constraint(constraint: MergedConstraint) -> Justification:
    """Justify an entry of ``constraints``, by its number in the claim."""
    record = constraint.record
    equal, entry = _equal(len(constraint.claims)), f"{record.kind} {record.attribute}"
    message = (f"{entry_label(record)} of claim ", Blank.CLAIM, f"{equal}, {entry}")
    return Justification(record.kind, message, record.claim, subject=constraint.position)


def entry_label(record: Constraint | Relation) -> str:
    """Name an entry of a claim: by its number in ``constraints`` or in the annotation, or by its own name."""
    return record.label.replace("constraint #", "constraint ") or f"constraint {record.position}"


def about_relation(relation: MergedRelation) -> Justification:
    """Justify an entry that is judged on complete sets, by its number among the entries of its claims."""
    record = relation.record
    message = (f"{entry_label(record)} of claim ", Blank.CLAIM, f"{_equal(relation.copies)}, {record.id}")
    return Justification(record.id, message, record.claims[0], subject=record.position)


def about_counter(problem: Problem, row: int) -> Justification:
    """Justify a counter of a pool."""
    counter_set, counter = problem.counters.names[row]
    text = f"counter {counter} of counter set {counter_set}, pool "
    return Justification("counters", (text, Blank.POOL), pool=problem.counters.pool_of_row[row], subject=row)


def about_groups(problem: Problem, place: int) -> Justification:
    """Justify that devices of a counter set have a compatibility group in common."""
    pool, counter_set = problem.groups.sets[place]
    text = f"compatibility groups of counter set {counter_set}, pool "
    return Justification("compatibilityGroups", (text, Blank.POOL), pool=pool, subject=place)


def about_capacity(problem: Problem, row: int) -> Justification:
    """Justify a capacity, of all devices that have it: one at a time they would be too many to read."""
    name = problem.capacities.names[row]
    return Justification("capacity", (f"capacity {name}",), subject=name)


def about_limit(claim: int, most: int) -> Justification:
    """Justify the limit of results."""
    return Justification("resultLimit", ("claim ", Blank.CLAIM, f" gets at most {most} devices"), claim)


def about_obstacle(merged: Merged, branch: Branch, obstacle: Obstacle) -> Justification:
    """Justify what keeps devices away from a request whatever else is chosen."""
    if not obstacle.own:
        return Justification(obstacle.filter, (obstacle.text,), subject=obstacle)
    first = merged.problem.demands[branch.demands[0]]
    message = (f"{obstacle.text} of request {first.label} of claim ", Blank.CLAIM, _equal(branch.copies))
    return Justification(obstacle.filter, message, first.claim, subject=(branch.index, obstacle))


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _equal(copies: int) -> str:
    return f" (and {copies - 1} equal)" if copies > 1 else ""

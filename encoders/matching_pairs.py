"""The pairs of devices without a value in common, as terms of a cost (SOFT-2).

Of all pairs those that match are taken off. Counts are written in steps, literals of which the first ``n`` are true:
``n`` devices of one value are ``0 + 1 + ... + (n - 1)`` matching pairs, one number a step. Every term is thus exact
whatever is chosen, or, for the pairs of two values that match, as soon as the cost is minimised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from ..problem.token_condition import compare
from .collapsed import MergedRelation
from .comparisons import compared_by, values_of
from .model import AllocationModel
from .rows import Term


@dataclass(frozen=True, slots=True)
class _Class:
    """What is taken of one value, and literals for 1, 2, ... devices of it."""

    counted: list[Term]
    steps: Sequence[int]


def pair_costs(model: AllocationModel, relation: MergedRelation) -> list[Term]:
    """Return terms whose sum, if it is minimised, is the number of unordered pairs that do not match.

    Raises ``TypeError`` for a relation that compares nothing.
    """
    comparison = compared_by(relation)
    if comparison is None:
        raise TypeError(f"no pairs are compared by {relation.record.id}")
    record, branches = comparison.record, [model.merged.branches[number] for number in comparison.branches]
    takers: dict[int, list[Term]] = defaultdict(list)
    for key, value in values_of(model, comparison).items():
        if value is not None:
            takers[value].append((model.takes[key], 1))
    most = sum(branch.copies * branch.count for branch in branches)
    classes = {value: _Class(terms, _steps(model, terms, most)) for value, terms in takers.items()}
    costs = [*_all_pairs(model, comparison.branches, most)]
    for value, one in classes.items():
        if compare(record, (value, value)):
            costs += _weighted(one.steps, -1)
    for (value, one), (other_value, other) in combinations(classes.items(), 2):
        if compare(record, (value, other_value)):
            costs += ((product, -1) for product in _products(model, one, other))
    return costs


def _all_pairs(model: AllocationModel, branches: Sequence[int], most: int) -> Iterator[Term]:
    """Count all pairs: a number, unless it depends on alternatives."""
    if all(map(model.certain, branches)):
        yield model.rows.integer(1, 1), most * (most - 1) // 2
    else:
        taken = [term for branch in branches for term in model.taken(branch)]
        yield from _weighted(_steps(model, taken, most), 1)


def _weighted(steps: Sequence[int], sign: int) -> Iterator[Term]:
    """With each device come as many pairs as there were devices before."""
    return ((step, sign * before) for before, step in enumerate(steps) if before)


def _steps(model: AllocationModel, terms: list[Term], most: int) -> Sequence[int]:
    """Return literals of which the first so many are true as these terms sum up to."""
    rows = model.rows
    most = min(most, sum(rows.range_of(variable)[1] for variable, _ in terms))
    if len(terms) == most == 1:
        return [terms[0][0]]
    steps = [rows.boolean() for _ in range(most)]
    rows.equal([*terms, *((step, -1) for step in steps)], 0)
    for step, following in pairwise(steps):
        rows.at_most([(following, 1), (step, -1)], 0)
    return steps


def _products(model: AllocationModel, one: _Class, other: _Class) -> Iterator[int]:
    """Yield variables that sum up to the product of two counts, if they are made as large as they can be."""
    few, many = sorted((one, other), key=lambda kind: len(kind.steps))
    for step in few.steps:
        product = model.rows.integer(0, len(many.steps))
        model.rows.at_most([(product, 1), *((variable, -factor) for variable, factor in many.counted)], 0)
        model.rows.at_most([(product, 1), (step, -len(many.steps))], 0)
        yield product

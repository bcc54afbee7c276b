"""Soft relations: what a choice of devices costs by them (SOFT-1, SOFT-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from .records import Problem
from .relations import Member, Relation


def soft_relations(problem: Problem) -> tuple[Relation, ...]:
    """List the relations that need not hold."""
    return tuple(relation for relation in problem.relations if not relation.hard)


def without_soft(problem: Problem) -> Problem:
    """Leave out the relations that need not hold: whether claims fit never depends on them (SOFT-1)."""
    if not soft_relations(problem):
        return problem
    return replace(problem, relations=tuple(relation for relation in problem.relations if relation.hard))


def penalty(relation: Relation, members: Sequence[Member]) -> int:
    """Return what a soft relation costs: its weight if it does not hold, or its weight for each pair that fails it.

    What cannot be judged for an error does not hold. ``members`` are all devices that were chosen.
    """
    weight = relation.weight or 0
    if not relation.per_pair:
        return 0 if relation.verdict(members) is True else weight
    covered = sorted(member for member in members if member[0] in relation.demands)
    return weight * sum(relation.condition.judge(pair) is not True for pair in combinations(covered, 2))


def is_kept(problem: Problem, members: Sequence[Member]) -> bool:
    """Tell whether nothing is to be paid at all."""
    return not any(penalty(relation, members) for relation in soft_relations(problem))

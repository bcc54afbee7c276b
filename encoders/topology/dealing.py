"""Whether equal claims can share one count of shapes, each of which goes to one of them as a whole."""

from __future__ import annotations

from ...problem.records import Problem
from ...problem.relations import Relation
from ...problem.topology import TopologyCondition


def is_dealt_out(problem: Problem, relation: Relation) -> bool:
    """Tell whether a relation is about shapes that are listed one by one and have no device in common."""
    condition = relation.condition
    if not isinstance(condition, TopologyCondition) or not relation.hard or len(relation.claims) > 1:
        return False
    return condition.enumerable and not problem.shared

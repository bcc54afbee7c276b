"""When the members of a gang that have a node may stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....models.core import Node
from ....models.planned_sets import Gang


def is_whole(gang: Gang, nodes: Sequence[str], members: int) -> bool:
    """Whether enough of the gang's members in the queue, so many in all, are on nodes."""
    if gang.minimum is None:
        return len(nodes) == members
    return len(nodes) + len(gang.placed) >= gang.minimum


def in_one_domain(gang: Gang, names: Iterable[str], nodes: Mapping[str, Node]) -> bool:
    """Whether all members are on nodes with one value of the gang's label, those that run included."""
    if gang.domain is None:
        return True
    there = [nodes.get(name) for name in (*names, *gang.placed)]
    values = {(node.metadata.labels or {}).get(gang.domain) if node else None for node in there}
    return None not in values and len(values) <= 1

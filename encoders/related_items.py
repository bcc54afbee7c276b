"""What a relation counts: devices that it cannot tell apart, over all the branches that it covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..problem.records import RESULT_LIMIT
from .collapsed import MergedRelation
from .rows import Term

if TYPE_CHECKING:
    from .model import AllocationModel


@dataclass(frozen=True, slots=True)
class RelatedItems:
    """The items of a relation: a device that stands for each, terms for how many are taken, and the bounds of that.

    Items are in result order, which is exact where the relation minds it (CELC-7); ``demands`` are those that take them
    then, else any one.
    """

    devices: tuple[int, ...]
    demands: tuple[int, ...]
    counts: tuple[tuple[Term, ...], ...]
    most: tuple[int, ...]
    least_total: int
    most_total: int

    def members(self, vector: tuple[int, ...]) -> list[tuple[int, int]]:
        """List as many devices of each item as the vector says, with their demands."""
        items = zip(self.demands, self.devices, vector, strict=True)
        return [(demand, device) for demand, device, count in items for _ in range(count)]


def items_of(model: AllocationModel, relation: MergedRelation) -> RelatedItems:
    """Put the lots that a relation can take from into items."""
    condition = relation.record.condition
    counts: dict[Hashable, list[Term]] = defaultdict(list)
    members: dict[Hashable, tuple[int, int]] = {}
    for branch in relation.branches:
        demand = model.merged.branches[branch].demands[0]
        for lot in model.collapsed.lots_of[branch]:
            device = model.collapsed.lots[lot].first
            item: Hashable = (branch, lot) if condition.ordered else condition.sight(device)
            members.setdefault(item, (demand, device))
            counts[item].append((model.takes[branch, lot], 1))
    most = tuple(sum(model.rows.range_of(variable)[1] for variable, _ in terms) for terms in counts.values())
    least_total = sum(map(model.certain, relation.branches))
    branches = (model.merged.branches[branch] for branch in relation.branches)
    # With guards no request is sure to be served, nor to take no more than it needs; but a claim has its limit.
    limit = RESULT_LIMIT * len(relation.record.claims)
    most_total = min(sum(most), limit) if model.guarded else sum(one.copies * one.count for one in branches)
    demands, devices = zip(*members.values(), strict=True) if members else ((), ())
    return RelatedItems(devices, demands, tuple(map(tuple, counts.values())), most, least_total, most_total)

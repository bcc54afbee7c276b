"""What a relation counts: devices that it cannot tell apart, over all the branches that it covers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .collapsed import MergedRelation
from .rows import Term

if TYPE_CHECKING:
    from .model import AllocationModel


@dataclass(frozen=True, slots=True)
class RelatedItems:
    """The items of a relation: a device that stands for each, terms for how many are taken, and the bounds of that.

    Items are in result order, which is exact where the relation minds it (CELC-7).
    """

    devices: tuple[int, ...]
    counts: tuple[tuple[Term, ...], ...]
    most: tuple[int, ...]
    least_total: int
    most_total: int

    def members(self, vector: tuple[int, ...], demand: int) -> list[tuple[int, int]]:
        """List as many devices of each item as the vector says, all for one demand."""
        return [(demand, device) for device, count in zip(self.devices, vector, strict=True) for _ in range(count)]


def items_of(model: AllocationModel, relation: MergedRelation) -> RelatedItems:
    """Put the lots that a relation can take from into items."""
    condition = relation.record.condition
    counts: dict[Hashable, list[Term]] = defaultdict(list)
    devices: dict[Hashable, int] = {}
    for branch in relation.branches:
        for lot in model.collapsed.lots_of[branch]:
            device = model.collapsed.lots[lot].first
            item: Hashable = (branch, lot) if condition.ordered else condition.sight(device)
            devices.setdefault(item, device)
            counts[item].append((model.takes[branch, lot], 1))
    needed = [_needed(model, branch) for branch in relation.branches]
    return RelatedItems(
        tuple(devices.values()),
        tuple(map(tuple, counts.values())),
        tuple(sum(model.rows.range_of(variable)[1] for variable, _ in terms) for terms in counts.values()),
        sum(least for least, _ in needed),
        sum(most for _, most in needed),
    )


def _needed(model: AllocationModel, branch: int) -> tuple[int, int]:
    """Return how many devices a branch takes at least and at most."""
    one = model.merged.branches[branch]
    most = one.copies * one.count
    return (most if model.choices[branch] is None else 0), most

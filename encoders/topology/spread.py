"""How far devices are from each other, over all pairs, for entries that ask for ``Compact`` without a distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...problem.topology import TopologyCondition
from ..collapsed import MergedRelation
from ..model import AllocationModel
from ..rows import Term
from .covered import Covered


def spread(model: AllocationModel, relations: Iterable[MergedRelation] | None = None) -> Iterator[Term]:
    """Yield terms whose sum is that of the distances, once they are as low as they can be; None: of all relations."""
    for relation in model.merged.relations if relations is None else relations:
        condition = relation.record.condition
        if isinstance(condition, TopologyCondition) and condition.spreads:
            yield from _pairs(Covered(model, relation, condition))


def _pairs(covered: Covered) -> Iterator[Term]:
    """Yield for each device its distances to those after it, which count if it is taken (Glover, 1975).

    Where it is not, as many others may be after it as are taken at all.
    """
    rows, most = covered.model.rows, max(covered.sizes)
    for device, terms in covered.taken.items():
        distances = covered.condition.distances(device)
        later = [(other, steps) for other in covered.taken if other > device and (steps := distances.get(other))]
        bound = sum(sorted((steps for _, steps in later), reverse=True)[:most])
        if bound:
            sum_ = rows.integer(0, bound)
            weighted = [(variable, steps) for other, steps in later for variable, _ in covered.taken[other]]
            rows.at_most([*weighted, (sum_, -1), *((variable, bound) for variable, _ in terms)], bound)
            yield sum_, 1

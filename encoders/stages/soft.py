"""``soft``: the sum of the weights of soft entries that are violated (SOFT-1).

An entry with ``per: Pair`` costs its weight for each pair of devices that violates it (SOFT-2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...problem.soft import is_kept
from .stage import Stage

if TYPE_CHECKING:
    from ..collapsed import MergedRelation
    from ..model import AllocationModel
    from ..rows import Term


def _parts(model: AllocationModel) -> list[list[Term]]:
    soft = (relation for relation in model.merged.relations if not relation.record.hard)
    return [[term for relation in soft for term in _cost(model, relation)]]


def _cost(model: AllocationModel, relation: MergedRelation) -> Iterator[Term]:
    weight = relation.record.weight or 0
    if relation.record.per_pair:
        # Loaded with a model only: it brings the solver's library.
        from ..matching_pairs import pair_costs

        yield from ((variable, weight * pairs) for variable, pairs in pair_costs(model, relation))
        return
    violated = model.rows.boolean()
    model.rows.clause([model.kept(relation), violated])
    yield violated, weight


SOFT = Stage("soft", "sum of the weights of violated soft entries (SOFT-1)", _parts, is_free=is_kept)

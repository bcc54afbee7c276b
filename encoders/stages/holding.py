"""Who really holds devices: admin access looks on, everybody else takes (IN-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..collapsed import Lot

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def held(model: AllocationModel, lot: Lot, coefficient: int = 1) -> list[Term]:
    """Terms for what is taken of a lot so that it is in use afterwards."""
    branches = model.merged.branches
    return [(model.takes[index, lot.index], coefficient) for index in lot.branches if not branches[index].admin]


def post_implied(model: AllocationModel, terms: Sequence[Term], literal: int) -> None:
    """Post that the literal is true if any of these terms, none of them negative, is above 0."""
    for variable, coefficient in terms:
        most = model.rows.range_of(variable)[1]
        model.rows.at_most([(variable, coefficient), (literal, -coefficient * most)], 0)

"""``compact``: chosen devices close together.

The value counts the places that the unit's devices are spread over: its pools, and for each attribute that says what
lies close together the distinct values, where lacking the attribute is a value of its own. Such attributes are
``resource.kubernetes.io/pcieRoot`` and those that the claims' constraints compare. For entries that ask for ``Compact``
in a topology without a greatest distance, the distances of all pairs of their devices are added (TOPO-2).

Among choices that are equally close together, the one is best that takes the least from the largest free segments and
boxes of the topologies that entries name (TOPO-6): what the claims gain comes first, then later ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..collapsed import Merged
from ..encoder import Signature
from ..topology.spread import spread
from .holding import post_implied
from .largest_free import losses, unknown_losses
from .stage import Reached, Stage

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


def _sign(merged: Merged) -> Signature:
    return lambda device: tuple(_places(merged, device))


def _places(merged: Merged, device: int) -> Iterator[Hashable]:
    landscape = merged.problem.landscape
    yield "pool", landscape.pools[device]
    for number, grouping in enumerate(landscape.groupings):
        yield number, grouping[device]


def _parts(model: AllocationModel) -> list[list[Term]]:
    literals: dict[Hashable, int] = {}
    for lot in model.collapsed.lots:
        for place in _places(model.merged, lot.first):
            if place not in literals:
                literals[place] = model.rows.boolean()
            post_implied(model, [(model.takes[branch, lot.index], 1) for branch in lot.branches], literals[place])
    return [[*((literal, 1) for literal in literals.values()), *spread(model)], losses(model)]


def _with_unknown(model: AllocationModel, parts: Sequence[Reached]) -> Sequence[Reached]:
    """Count what was not looked at as lost, and as not proven."""
    places, lost = parts
    return [places, Reached(lost.value + unknown_losses(model), lost.bound)]


COMPACT = Stage(
    "compact",
    "fewest pools, PCIe roots and values of compared attributes in all, and least distances in topologies, then least "
    "of the largest free segments and boxes",
    _parts,
    _sign,
    comparable=_with_unknown,
)

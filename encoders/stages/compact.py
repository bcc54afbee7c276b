"""``compact``: chosen devices close together.

The value counts the places that the unit's devices are spread over: its pools, and for each attribute that says what
lies close together the distinct values, where lacking the attribute is a value of its own. Such attributes are
``resource.kubernetes.io/pcieRoot`` and those that the claims' constraints compare. For entries that ask for ``Compact``
in a topology without a greatest distance, the distances of all pairs of their devices are added (TOPO-2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from ..collapsed import Merged
from ..encoder import Signature
from ..topology.spread import spread
from .holding import post_implied
from .stage import Stage

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
    return [[*((literal, 1) for literal in literals.values()), *spread(model)]]


COMPACT = Stage(
    "compact",
    "fewest pools, PCIe roots and values of compared attributes in all, and least distances in topologies",
    _parts,
    _sign,
)

"""Units whose entries no count can say: all that one copy could take is listed, and the model counts who takes what.

These are the patterns of a cutting-stock problem (Gilmore & Gomory, 1961): equal copies have no order among them, where
copies side by side have as many as there are permutations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .rows import Term

if TYPE_CHECKING:
    from .model import AllocationModel

Place: TypeAlias = tuple[int, int]
"""A branch and a lot: what takes, and from where."""

Configuration: TypeAlias = tuple[tuple[Place, int], ...]
"""All that one copy of a unit takes: how many devices for each branch from each lot."""


@dataclass(frozen=True, slots=True)
class ConfiguredUnit:
    """A unit with variables for how many copies take each configuration; ``copies`` is how many there could be."""

    branches: tuple[int, ...]
    copies: int
    choices: tuple[tuple[int, Configuration], ...]


def post_configurations(
    model: AllocationModel, number: int, configurations: Sequence[Configuration]
) -> tuple[int, ...]:
    """Let every served copy of a unit take one of its configurations, and nothing else; return who counts each."""
    rows, copies = model.rows, len(model.merged.units[number].claims)
    claims = {claim for own in model.merged.units[number].claims for claim in own}
    branches = tuple(one.index for one in model.merged.branches if model.merged.claim_of(one) in claims)
    choices = tuple((rows.integer(0, copies), configuration) for configuration in configurations)
    rows.equal([*((variable, 1) for variable, _ in choices), (model.units.placed[number], -1)], 0)
    takers: Mapping[Place, list[Term]] = defaultdict(list)
    for variable, configuration in choices:
        for place, count in configuration:
            takers[place].append((variable, -count))
    for branch in branches:
        for lot in model.collapsed.lots_of[branch]:
            rows.equal([(model.takes[branch, lot], 1), *takers[branch, lot]], 0)
    model.configured.append(ConfiguredUnit(branches, copies, choices))
    return tuple(variable for variable, _ in choices)

"""Families of random small clusters for tests that compare engines.

A member of a family is made by its name and an integer, the same in every run, and is API-valid. About half of the
members can be allocated; the devices that come first are often in the way of later requests, so that a search must
go back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from support.cluster_features import (
    administer,
    alternatives,
    bind,
    configure,
    derive,
    distinct,
    disturb,
    everything,
    fail_selectors,
    group,
    lists,
    match,
    network,
    occupy,
    partition,
    place,
    select,
    share,
    skip_operations,
    taint,
)
from support.drafts import ClusterDraft, DraftSize, plain_draft

from drasat.scenarios.objects import Mapped

Feature = Callable[[ClusterDraft], None]
# Sizes by which about half of a family's members can be allocated.
_USUAL = DraftSize()
_SMALL = DraftSize(requests=(1, 2))
_HUNGRY = DraftSize(requests=(2, 3), count=(1, 3))
_LONG = DraftSize(requests=(2, 3))
_SCATTERED = DraftSize(devices=(2, 4), requests=(1, 2))


@dataclass(frozen=True, slots=True)
class ClusterFamily:
    """What the members of a family have, and how large they are."""

    features: tuple[Feature, ...]
    size: DraftSize = _USUAL
    # With which probability a member has each feature.
    chance: float = 1.0


# Features that a mixed member may have, in the order they are applied: what shapes devices comes first.
_MIXTURE = (
    partition,
    network,
    share,
    select,
    alternatives,
    everything,
    match,
    distinct,
    lists,
    derive,
    taint,
    administer,
    configure,
    bind,
    skip_operations,
    disturb,
    place,
    occupy,
)
FAMILIES: dict[str, ClusterFamily] = {
    "selectors": ClusterFamily((select,)),
    "selector-errors": ClusterFamily((fail_selectors,)),
    "match": ClusterFamily((match,)),
    "distinct": ClusterFamily((distinct,)),
    "lists": ClusterFamily((lists,)),
    "counters": ClusterFamily((partition,)),
    "groups": ClusterFamily((partition, group), _SMALL),
    "capacity": ClusterFamily((share,), _HUNGRY),
    "alternatives": ClusterFamily((select, alternatives)),
    "all": ClusterFamily((everything,)),
    "taints": ClusterFamily((taint,)),
    "admin": ClusterFamily((select, administer, occupy)),
    "pools": ClusterFamily((disturb,)),
    "nodes": ClusterFamily((place,), _SCATTERED),
    "in-use": ClusterFamily((select, occupy), _SMALL),
    "shares-in-use": ClusterFamily((share, occupy), _LONG),
    "counters-in-use": ClusterFamily((partition, occupy), _SMALL),
    "configs": ClusterFamily((select, alternatives, configure)),
    "binding": ClusterFamily((network, bind), _LONG),
    "derived": ClusterFamily((derive,)),
    "operations": ClusterFamily((network, skip_operations)),
    "drivers": ClusterFamily((network, lists)),
    "mixed": ClusterFamily(_MIXTURE, _SMALL, chance=0.25),
}


def member(family: str, seed: int) -> list[Mapped]:
    """The cluster of a family (a key of FAMILIES) that belongs to the seed, as v1 objects."""
    kind = FAMILIES[family]
    rng = Random(f"{family}/{seed}")
    draft = plain_draft(rng, kind.size)
    for feature in kind.features:
        if draft.chance(kind.chance):
            feature(draft)
    return draft.objects()

"""Families of random small clusters for tests that compare engines.

A member of a family is made by its name and an integer, the same in every run, and is API-valid. About half of the
members can be allocated; the devices that come first are often in the way of later requests, so that a search must
go back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from .claim_features import administer, alternatives, configure, derive, distinct, everything, lists, match
from .cluster_features import disturb, occupy, place
from .device_features import bind, fail_selectors, group, network, partition, select, share, skip_operations, taint
from .drafts import Draft, Size, plain_draft
from .objects import Mapped

Feature = Callable[[Draft], None]

# Sizes by which about half of a family's members can be allocated.
_USUAL = Size()
_SMALL = Size(requests=(1, 2))
_HUNGRY = Size(requests=(2, 3), count=(1, 3))
_LONG = Size(requests=(2, 3))
_SCATTERED = Size(devices=(2, 4), requests=(1, 2))


@dataclass(frozen=True, slots=True)
class Family:
    """What the members of a family have, and how large they are."""

    features: tuple[Feature, ...]
    size: Size = _USUAL
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

FAMILIES: dict[str, Family] = {
    "selectors": Family((select,)),
    "selector-errors": Family((fail_selectors,)),
    "match": Family((match,)),
    "distinct": Family((distinct,)),
    "lists": Family((lists,)),
    "counters": Family((partition,)),
    "groups": Family((partition, group), _SMALL),
    "capacity": Family((share,), _HUNGRY),
    "alternatives": Family((select, alternatives)),
    "all": Family((everything,)),
    "taints": Family((taint,)),
    "admin": Family((select, administer, occupy)),
    "pools": Family((disturb,)),
    "nodes": Family((place,), _SCATTERED),
    "in-use": Family((select, occupy), _SMALL),
    "shares-in-use": Family((share, occupy), _LONG),
    "counters-in-use": Family((partition, occupy), _SMALL),
    "configs": Family((select, alternatives, configure)),
    "binding": Family((network, bind), _LONG),
    "derived": Family((derive,)),
    "operations": Family((network, skip_operations)),
    "drivers": Family((network, lists)),
    "mixed": Family(_MIXTURE, _SMALL, chance=0.25),
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

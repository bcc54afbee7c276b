"""Offers to free what other claims hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ...models.identity import DeviceId, ObjectKey
from ...problem.justification import Justification
from ...problem.messages import claim_text
from .holders import Hold, holders_of_capacity, holders_of_counters, holders_of_devices
from .offer import COSTS, Change, Offer
from .scene import Scene
from .sentences import Sentences, obstacle_of

# So many devices of a claim are offered to be freed one at a time, and so many claims together.
_DEVICES_OFFERED = 8
_CLAIMS_TOGETHER = 16


def devices_in_use(words: Sentences, reason: Justification) -> Iterator[Offer]:
    """Free the devices that a claim has for itself, or the whole claim."""
    yield from _freeing(_holds(words, reason))


def counters_in_use(words: Sentences, reason: Justification) -> Iterator[Offer]:
    """Free devices that draw from the counters of a pool."""
    if reason.pool is not None:
        yield from _freeing(holders_of_counters(words, reason.pool))


def capacity_in_use(words: Sentences, reason: Justification) -> Iterator[Offer]:
    """Free shares of devices with a capacity."""
    yield from _freeing(holders_of_capacity(words, str(reason.subject)))


def _freeing(holds: Sequence[Hold]) -> Iterator[Offer]:
    for hold in holds:
        if len(hold.devices) > 1 or hold.more:
            yield from (_free_device(hold.claim, device) for device in hold.devices[:_DEVICES_OFFERED])
        yield Offer(("free", hold.claim), (free_claims([hold.claim]),))


def holding_claims(words: Sentences) -> list[ObjectKey]:
    """List the claims that have devices which the requests among the reasons mean, those in the reasons first."""
    of_reasons = [hold for reason in words.reasons if reason.id == "inUse" for hold in _holds(words, reason)]
    met = dict.fromkeys(
        one
        for branch in words.branches
        for device in words.meant(branch)
        for one in words.case.obstacles.of[branch.demands[0]][device]
        if one.filter == "inUse"
    )
    others = (hold for one in met for hold in holders_of_devices(words, one))
    return list(dict.fromkeys(hold.claim for hold in (*of_reasons, *others)))[:_CLAIMS_TOGETHER]


def _holds(words: Sentences, reason: Justification) -> Sequence[Hold]:
    found = obstacle_of(reason)
    return holders_of_devices(words, found[1]) if found else ()


def _free_device(claim: ObjectKey, device: DeviceId) -> Offer:
    name = claim_text(claim)
    edit = partial(Scene.without_device, key=claim, device=device)
    text = f"free one device of claim {name}: {device[2]}"
    return Offer(("free", claim), (Change("freeDevice", name, text, COSTS["freeDevice"], edit),))


def free_claims(claims: Sequence[ObjectKey]) -> Change:
    """Free all that these claims hold."""
    names = ", ".join(map(claim_text, claims))
    text = f"free claim{'s' if len(claims) > 1 else ''} {names}"
    edit = partial(Scene.without_claims, keys=tuple(claims))
    return Change("freeClaim", names if len(claims) == 1 else "", text, COSTS["freeClaim"] * len(claims), edit)

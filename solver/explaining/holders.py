"""Which claims hold what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...models.identity import DeviceId, ObjectKey
from ...problem.messages import claim_text
from ...problem.obstacles import Obstacle
from .sentences import Sentences


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim with those of its devices that matter; ``more``: it has others too."""

    claim: ObjectKey
    devices: tuple[DeviceId, ...]
    more: bool


def holders_of_devices(words: Sentences, obstacle: Obstacle) -> tuple[Hold, ...]:
    """Find the claim that has these devices for itself."""
    stopped = words.stopped(None, obstacle)
    return _holds(words, (words.case.view.devices[number].id for number in stopped), obstacle.name)


def holders_of_counters(words: Sentences, pool: int) -> tuple[Hold, ...]:
    """Find the claims that have devices which draw from a pool's counters, on any node (CTR-1)."""
    there = words.case.view.pools[pool]
    drawing = (device.id for device in (*there.devices, *there.other_devices) if device.device.consumes_counters)
    return _holds(words, drawing)


def holders_of_capacity(words: Sentences, name: str) -> tuple[Hold, ...]:
    """Find the claims that share devices with this capacity."""
    capacities = words.case.problem.capacities
    having = (
        words.case.view.devices[device].id
        for branch in words.branches
        for device in words.meant(branch)
        if any(capacities.names[row] == name for row in capacities.rows.get(device, ()))
    )
    return _holds(words, dict.fromkeys(having))


def _holds(words: Sentences, devices: Iterable[DeviceId], only: str = "") -> tuple[Hold, ...]:
    usage = words.case.ledger.usage
    by_claim: dict[ObjectKey, dict[DeviceId, None]] = {}
    for device in devices:
        for hold in usage.holds(device):
            if only in ("", claim_text(hold.claim)):
                by_claim.setdefault(hold.claim, {})[device] = None
    return tuple(Hold(claim, tuple(found), len(found) < len(usage.held_by(claim))) for claim, found in by_claim.items())

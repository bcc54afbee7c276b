"""Devices of one counter set that cannot be in use together for want of a common group (GRP-3)."""

from __future__ import annotations

from ...problem.justification import Justification
from .hall import union
from .tally import Need, Tally, members
from .wording import justified, plural, verb, who


def incompatible_groups(tally: Tally) -> Justification | None:
    """The requests need more devices than the largest compatible sets of them have together."""
    if not tally.problem.groups.membership:
        return None
    taking = [need for need in tally.competing() if tally.least(need)]
    scopes = dict.fromkeys(tally.devices(need) for need in taking)
    if len(scopes) > 1:
        scopes[union(list(scopes))] = None
    for scope in scopes:
        inside = [need for need in taking if not tally.devices(need) & ~scope]
        needed, room = sum(map(tally.least, inside)), _room(tally, scope, inside)
        if needed > room:
            return _justification(tally, inside, needed, room)
    return None


def _room(tally: Tally, scope: int, needs: list[Need]) -> int:
    """Return how many devices these requests can take at most.

    What draws from a counter set first decides whether groups count there, and of which groups all others are (GRP-2).
    """
    places: dict[int, dict[int, int]] = {}
    room = sum((tally.devices(need) & tally.shared).bit_count() for need in needs)
    for device in members(scope & ~tally.shared):
        membership = tally.problem.groups.membership.get(device)
        if membership:
            place, groups = membership[0]
            # Bit 0 says that there are groups; none at all is a kind of its own.
            kinds = members(groups & ~1) if groups else (0,)
            counts = places.setdefault(place, {})
            for kind in kinds:
                counts[kind] = counts.get(kind, 0) + 1
        else:
            room += 1
    return room + sum(max(counts.values(), default=1) for counts in places.values())


def _justification(tally: Tally, needs: list[Need], needed: int, room: int) -> Justification:
    wanted = f"{who(tally, needs)} {verb(needs, 'needs', 'need')} {plural(needed, 'device')}"
    text = f"{wanted}, at most {room} are compatible on their counter sets"
    return justified("compatibilityGroups", text, tally, needs)

"""Bounds on what is drawn from rows of amounts: the counters of pools, or the capacities of shared devices.

Two bounds, neither of which implies the other: the amounts of all requests against what is left of all rows they may
draw from, and the number of devices against how many of the smallest fit into each place, rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ...problem.records import Amounts
from .hall import union
from .tally import Need, Tally, members


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of amounts, never negative, and what is left of them.

    Rows of one place are drawn from by the same devices: the counters of a counter set, the capacities of a device.
    """

    left: Mapping[int, int] | Sequence[int]
    name: Callable[[int], str]
    place: Callable[[int], Hashable]
    draws: Callable[[int, int], Amounts]
    """What a device draws for an option (a demand's number): empty if nothing."""
    same: Callable[[int], Hashable]
    """Equal for options that draw the same amounts on the same devices."""
    profiles: dict[Hashable, Profile] = field(default_factory=dict)
    """What requests draw that were looked at: in most cases of a question they draw the same."""


@dataclass(slots=True)
class Share:
    """What a place gives: to which devices, and the least amount of each row that all of them draw."""

    devices: int
    least: dict[int, int]

    def joined(self, other: Share) -> Share:
        """Return what both draw."""
        common = {row: min(amount, other.least[row]) for row, amount in self.least.items() if row in other.least}
        return Share(self.devices | other.devices, common)


@dataclass(frozen=True, slots=True)
class Profile:
    """What a request draws, whatever devices it takes."""

    count: int
    devices: int
    totals: dict[str, int]
    """Of every row name the least amount in total."""
    rows: dict[str, int]
    """Of every row name the rows that may be drawn from, as a bit set."""
    shares: dict[Hashable, Share]


@dataclass(frozen=True, slots=True)
class Overdraft:
    """Requests that need ``needed`` of the rows of this name, where ``left`` is left."""

    needs: list[Need]
    rows: int
    name: str
    needed: int
    left: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """Requests that need ``needed`` devices, where there is room for ``room``."""

    needs: list[Need]
    needed: int
    room: int


Profiles = list[tuple[Need, Profile]]


def profiles(tally: Tally, rows: Rows) -> Profiles:
    """Say of each request what it draws."""
    known = rows.profiles
    found = []
    for need in tally.needs:
        key = tuple((rows.same(option), tally.masks[option], tally.demand(option).count) for option in need.options)
        if key not in known:
            known[key] = _either([_profile(tally, rows, option) for option in need.options])
        found.append((need, known[key]))
    return found


def overdraft(rows: Rows, asked: Profiles) -> Overdraft | None:
    """Find rows of one name that together have less than the requests that draw from them alone."""
    for name in dict.fromkeys(name for _, profile in asked for name in profile.totals):
        drawing = [(need, profile) for need, profile in asked if profile.totals.get(name)]
        for scope in dict.fromkeys([*(profile.rows[name] for _, profile in drawing), _all(drawing, name)]):
            inside = [(need, profile) for need, profile in drawing if not profile.rows[name] & ~scope]
            needed = sum(profile.totals[name] for _, profile in inside)
            left = sum(max(0, rows.left[row]) for row in members(scope))
            if needed > left:
                return Overdraft([need for need, _ in inside], scope, name, needed, left)
    return None


def crowd(tally: Tally, rows: Rows, asked: Profiles) -> Crowd | None:
    """Find requests that need more devices than fit into the places of these devices."""
    competing = set(tally.competing())
    taking = [(need, profile) for need, profile in asked if profile.count and need in competing]
    scopes = dict.fromkeys(profile.devices for _, profile in taking)
    if len(scopes) > 1:
        scopes[union(list(scopes))] = None
    for scope in scopes:
        inside = [(need, profile) for need, profile in taking if not profile.devices & ~scope]
        needed = sum(profile.count for _, profile in inside)
        rooms = _rooms(tally, rows, inside)
        if needed > sum(rooms):
            return Crowd([need for need, _ in inside], needed, sum(rooms))
    return None


def _all(drawing: Profiles, name: str) -> int:
    return union([profile.rows[name] for _, profile in drawing])


def _profile(tally: Tally, rows: Rows, option: int) -> Profile:
    """Say what an option draws: at least the smallest amounts, as its devices are all different."""
    mask, count = tally.masks[option], tally.demand(option).count
    amounts: dict[str, list[int]] = {}
    touched: dict[str, int] = {}
    shares: dict[Hashable, Share] = {}
    bare = 0
    for device in members(mask):
        drawn = rows.draws(option, device)
        if not drawn:
            bare |= 1 << device
            continue
        own: dict[str, int] = {}
        for row, amount in drawn:
            name = rows.name(row)
            own[name] = own.get(name, 0) + amount
            touched[name] = touched.get(name, 0) | 1 << row
        for name, amount in own.items():
            amounts.setdefault(name, []).append(amount)
        place = rows.place(drawn[0][0])
        share = Share(1 << device, _of_place(rows, place, drawn))
        shares[place] = shares[place].joined(share) if place in shares else share
    if bare:
        shares[None] = Share(bare, {})
    totals = {name: _smallest(found, count - mask.bit_count() + len(found)) for name, found in amounts.items()}
    return Profile(count, mask, totals, touched, shares)


def _of_place(rows: Rows, place: Hashable, drawn: Amounts) -> dict[int, int]:
    found: dict[int, int] = {}
    for row, amount in drawn:
        if rows.place(row) == place:
            found[row] = found.get(row, 0) + amount
    return found


def _smallest(amounts: list[int], count: int) -> int:
    return sum(sorted(amounts)[: max(0, count)])


def _either(options: list[Profile]) -> Profile:
    """Say what a request draws that may choose between options."""
    if len(options) == 1:
        return options[0]
    names = dict.fromkeys(name for option in options for name in option.totals)
    return Profile(
        min(option.count for option in options),
        union([option.devices for option in options]),
        {name: min(option.totals.get(name, 0) for option in options) for name in names},
        {name: union([option.rows.get(name, 0) for option in options]) for name in names},
        _joined([option.shares for option in options]),
    )


def _joined(parts: Sequence[Mapping[Hashable, Share]]) -> dict[Hashable, Share]:
    found: dict[Hashable, Share] = {}
    for part in parts:
        for place, share in part.items():
            found[place] = found[place].joined(share) if place in found else share
    return found


def _rooms(tally: Tally, rows: Rows, inside: Profiles) -> list[int]:
    """Return how many devices each place has room for; a shared device may be taken once by each request."""
    shares = _joined([profile.shares for _, profile in inside])
    takers: dict[Hashable, int] = {}
    for _, profile in inside:
        for place, share in profile.shares.items():
            takers[place] = takers.get(place, 0) + (share.devices & tally.shared).bit_count()
    return [
        min([(share.devices & ~tally.shared).bit_count() + takers[place], *_fitting(rows, share)])
        for place, share in shares.items()
    ]


def _fitting(rows: Rows, share: Share) -> list[int]:
    return [max(0, rows.left[row]) // amount for row, amount in share.least.items() if amount > 0]

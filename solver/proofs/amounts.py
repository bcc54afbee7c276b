"""Proofs about amounts: counters (CTR-2), capacities of shared devices (CAP-6), compatibility groups (GRP-3).

Counters and capacities are rows of amounts, with two bounds. Neither implies the other. The first compares the amounts
of all requests with what is left of all rows that they may draw from. The second compares the number of devices with
the number that fits into each place, counted with the smallest amounts and rounded down.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from ...models.formats.errors import plural
from ...models.kubernetes.quantity import display_amount
from ...models.results.common import WitnessKind
from ...problem.constraints import pools_with_negative_draws
from ...problem.messages import Justification
from ...problem.problem import Amounts, members_of_mask
from .counting import Need, Tally, counted_sum, justification_for, requests_need, union_of_masks


@dataclass(frozen=True, slots=True)
class AmountRows:
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
    profiles: dict[Hashable, DrawProfile] = field(default_factory=dict)
    """What requests draw that were looked at: in most cases of a question they draw the same."""


@dataclass(slots=True)
class PlaceShare:
    """What a place gives: to which devices, and the least amount of each row that all of them draw."""

    devices: int
    least: dict[int, int]

    def joined(self, other: PlaceShare) -> PlaceShare:
        """Return what both draw."""
        common = {row: min(amount, other.least[row]) for row, amount in self.least.items() if row in other.least}
        return PlaceShare(self.devices | other.devices, common)


@dataclass(frozen=True, slots=True)
class DrawProfile:
    """What a request draws, whatever devices it takes."""

    count: int
    devices: int
    totals: dict[str, int]
    """Of every row name the least amount in total."""
    rows: dict[str, int]
    """Of every row name the rows that may be drawn from, as a bit set."""
    shares: dict[Hashable, PlaceShare]


@dataclass(frozen=True, slots=True)
class Overdraft:
    """Requests that need ``needed`` of the rows of this name, where ``left`` is left."""

    needs: list[Need]
    rows: int
    name: str
    needed: int
    left: int


DrawProfiles = list[tuple[Need, DrawProfile]]


def draw_profiles(tally: Tally, rows: AmountRows) -> DrawProfiles:
    """Say of each request what it draws."""
    known = rows.profiles
    found = []
    for need in tally.needs:
        key = tuple((rows.same(option), tally.masks[option], tally.demand(option).count) for option in need.options)
        if key not in known:
            known[key] = _least_profile([_draw_profile(tally, rows, option) for option in need.options])
        found.append((need, known[key]))
    return found


def find_overdraft(rows: AmountRows, profiles: DrawProfiles) -> Overdraft | None:
    """Find rows of one name that together have less than the requests that draw from them alone."""
    for name in dict.fromkeys(name for _, profile in profiles for name in profile.totals):
        drawing = [(need, profile) for need, profile in profiles if profile.totals.get(name)]
        own = [profile.rows[name] for _, profile in drawing]
        for scope in dict.fromkeys([*own, union_of_masks(own)]):
            inside = [(need, profile) for need, profile in drawing if not profile.rows[name] & ~scope]
            needed = sum(profile.totals[name] for _, profile in inside)
            left = sum(max(0, rows.left[row]) for row in members_of_mask(scope))
            if needed > left:
                return Overdraft([need for need, _ in inside], scope, name, needed, left)
    return None


def find_room_shortage(tally: Tally, rows: AmountRows, profiles: DrawProfiles) -> tuple[list[Need], int, int] | None:
    """Find requests that need more devices than fit into the places of these devices; say how many, and the room."""
    competing = set(tally.competing())
    taking = [(need, profile) for need, profile in profiles if profile.count and need in competing]
    scopes = dict.fromkeys(profile.devices for _, profile in taking)
    if len(scopes) > 1:
        scopes[union_of_masks(list(scopes))] = None
    for scope in scopes:
        inside = [(need, profile) for need, profile in taking if not profile.devices & ~scope]
        needed = sum(profile.count for _, profile in inside)
        room = sum(_room_by_place(tally, rows, inside))
        if needed > room:
            return [need for need, _ in inside], needed, room
    return None


def _draw_profile(tally: Tally, rows: AmountRows, option: int) -> DrawProfile:
    """Say what an option draws: at least the smallest amounts, as its devices are all different."""
    mask, count = tally.masks[option], tally.demand(option).count
    amounts: dict[str, list[int]] = {}
    touched: dict[str, int] = {}
    shares: dict[Hashable, PlaceShare] = {}
    bare = 0
    for device in members_of_mask(mask):
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
        there: dict[int, int] = {}
        for row, amount in drawn:
            if rows.place(row) == place:
                there[row] = there.get(row, 0) + amount
        share = PlaceShare(1 << device, there)
        shares[place] = shares[place].joined(share) if place in shares else share
    if bare:
        shares[None] = PlaceShare(bare, {})
    lacking = mask.bit_count() - count
    totals = {name: sum(sorted(found)[: max(0, len(found) - lacking)]) for name, found in amounts.items()}
    return DrawProfile(count, mask, totals, touched, shares)


def _least_profile(options: list[DrawProfile]) -> DrawProfile:
    """Say what a request draws that may choose between options."""
    if len(options) == 1:
        return options[0]
    names = dict.fromkeys(name for option in options for name in option.totals)
    return DrawProfile(
        min(option.count for option in options),
        union_of_masks([option.devices for option in options]),
        {name: min(option.totals.get(name, 0) for option in options) for name in names},
        {name: union_of_masks([option.rows.get(name, 0) for option in options]) for name in names},
        _joined_shares([option.shares for option in options]),
    )


def _joined_shares(parts: Sequence[Mapping[Hashable, PlaceShare]]) -> dict[Hashable, PlaceShare]:
    found: dict[Hashable, PlaceShare] = {}
    for part in parts:
        for place, share in part.items():
            found[place] = found[place].joined(share) if place in found else share
    return found


def _room_by_place(tally: Tally, rows: AmountRows, inside: DrawProfiles) -> list[int]:
    """Return how many devices each place has room for; a shared device may be taken once by each request."""
    shares = _joined_shares([profile.shares for _, profile in inside])
    takers: dict[Hashable, int] = {}
    for _, profile in inside:
        for place, share in profile.shares.items():
            takers[place] = takers.get(place, 0) + (share.devices & tally.shared).bit_count()
    rooms = []
    for place, share in shares.items():
        fitting = [max(0, rows.left[row]) // amount for row, amount in share.least.items() if amount > 0]
        rooms.append(min([(share.devices & ~tally.shared).bit_count() + takers[place], *fitting]))
    return rooms


def overdrawn_counters(tally: Tally) -> Justification | None:
    """The partitions that the requests take draw more from counter sets than is left of them."""
    if not tally.problem.counters.consumption:
        return None
    counters = tally.problem.counters

    def where(found: Overdraft) -> str:
        sets = {(counters.pool_of_row[row], counters.names[row][0]) for row in members_of_mask(found.rows)}
        place = f"counter set {next(iter(sets))[1]}" if len(sets) == 1 else f"{len(sets)} counter sets"
        return f"counter {found.name} of {place}"

    rows = tally.once("counters", _counter_rows)
    return exhausted_rows(tally, rows, "counters", ("counters", "counterRoom"), "counters", where)


def _counter_rows(tally: Tally) -> AmountRows:
    """Counters, but for pools where some device gives instead of taking: order decides there."""
    problem = tally.problem
    counters, giving = problem.counters, pools_with_negative_draws(problem)

    def draws(_option: int, device: int) -> Amounts:
        drawn = counters.consumption.get(device, ())
        # Further shares of a device draw nothing, and one share may have been taken by another request (CTR-3).
        idle = not drawn or device in problem.shared or counters.pool_of_row[drawn[0][0]] in giving
        return () if idle else drawn

    def place(row: int) -> Hashable:
        return counters.pool_of_row[row], counters.names[row][0]

    return AmountRows(tally.in_use.available, lambda row: counters.names[row][1], place, draws, lambda _option: None)


def consumed_capacity(tally: Tally) -> Justification | None:
    """The requests consume more of the shared devices' capacities than is left of them."""
    if not tally.shared or not tally.problem.capacities.rows:
        return None
    rows_of_device = tally.problem.capacities.rows.values()

    def where(found: Overdraft) -> str:
        devices = sum(any(found.rows >> row & 1 for row in rows) for rows in rows_of_device)
        return f"capacity {found.name} of {plural(devices, 'shared device')}"

    rows = tally.once("capacity", _capacity_rows)
    return exhausted_rows(tally, rows, "capacity", ("capacity", "capacityRoom"), "capacities", where)


def _capacity_rows(tally: Tally) -> AmountRows:
    """Capacities of shared devices; those of a dedicated one are tested, not consumed (CAP-7)."""
    problem = tally.problem
    capacities, consumed = problem.capacities, tally.in_use.consumed
    device_of = {row: device for device, rows in capacities.rows.items() for row in rows}
    left = [total - consumed.get(row, 0) for row, total in enumerate(capacities.totals)]

    def draws(option: int, device: int) -> Amounts:
        return problem.demands[option].amounts.get(device, ()) if device in problem.shared else ()

    def same(option: int) -> Hashable:
        return frozenset(problem.demands[option].amounts.items())

    return AmountRows(left, capacities.names.__getitem__, device_of.__getitem__, draws, same)


def exhausted_rows(
    tally: Tally,
    rows: AmountRows,
    id_: str,
    kinds: tuple[WitnessKind, WitnessKind],
    noun: str,
    where: Callable[[Overdraft], str],
) -> Justification | None:
    """Find requests that need more of the rows than is left, or more devices than they have room for.

    ``id_`` is the encoder's id; ``kinds`` are what the two sums count; ``noun`` and ``where`` are the words for the
    rows and for overdrawn ones.
    """
    profiles = draw_profiles(tally, rows)
    drawn = find_overdraft(rows, profiles)
    if drawn is not None:
        needed = f"{requests_need(tally, drawn.needs)} at least {display_amount(drawn.needed)}"
        text = f"{where(drawn)}: {needed}, {display_amount(drawn.left)} left"
        counted = counted_sum(kinds[0], drawn.needs, drawn.needed, drawn.left, drawn.name)
        return justification_for(id_, text, tally, drawn.needs, counted)
    found = find_room_shortage(tally, rows, profiles)
    if found is None:
        return None
    needs, wanted, room = found
    text = f"{requests_need(tally, needs)} {plural(wanted, 'device')}, what is left of the {noun} has room for {room}"
    return justification_for(id_, text, tally, needs, counted_sum(kinds[1], needs, wanted, room))


def incompatible_groups(tally: Tally) -> Justification | None:
    """The requests need more devices than the largest compatible sets of them have together."""
    if not tally.problem.groups.membership:
        return None
    taking = [need for need in tally.competing() if tally.least(need)]
    scopes = dict.fromkeys(tally.devices(need) for need in taking)
    if len(scopes) > 1:
        scopes[union_of_masks(list(scopes))] = None
    for scope in scopes:
        inside = [need for need in taking if not tally.devices(need) & ~scope]
        needed, room = sum(map(tally.least, inside)), _compatible_room(tally, scope, inside)
        if needed > room:
            wanted = f"{requests_need(tally, inside)} {plural(needed, 'device')}"
            text = f"{wanted}, at most {room} are compatible on their counter sets"
            counted = counted_sum("groups", inside, needed, room, ",".join(_counter_sets(tally, scope)))
            return justification_for("compatibilityGroups", text, tally, inside, counted)
    return None


def _counter_sets(tally: Tally, scope: int) -> list[str]:
    """The names of the counter sets on which devices are counted."""
    groups = tally.problem.groups
    own = (groups.membership.get(device) for device in members_of_mask(scope & ~tally.shared))
    return sorted({groups.sets[pairs[0][0]][1] for pairs in own if pairs})


def _compatible_room(tally: Tally, scope: int, needs: list[Need]) -> int:
    """Return how many devices these requests can take at most.

    What draws from a counter set first decides whether groups count there, and of which groups all others are (GRP-2).
    """
    places: dict[int, dict[int, int]] = {}
    room = sum((tally.devices(need) & tally.shared).bit_count() for need in needs)
    for device in members_of_mask(scope & ~tally.shared):
        membership = tally.problem.groups.membership.get(device)
        if membership:
            place, groups = membership[0]
            # Bit 0 says that there are groups; none at all is a kind of its own.
            kinds = members_of_mask(groups & ~1) if groups else (0,)
            counts = places.setdefault(place, {})
            for kind in kinds:
                counts[kind] = counts.get(kind, 0) + 1
        else:
            room += 1
    return room + sum(max(counts.values(), default=1) for counts in places.values())

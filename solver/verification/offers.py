"""What a node offers a claim's requests: the devices that each may get if nothing else of the unit is there.

Read from the manifests with the rules of finished allocations, one device after the other (PRE-7, PRE-8, SRCH-6, DEV-1
to DEV-10). Audits and witnesses start from it. Below are the sums over it that witnesses name: of counters, capacities,
compatibility groups and values (CTR-2, CAP-6, GRP-3, CON-7).

Amounts are billionths, as published. Counters of pools where a device gives some, instead of taking, count for nothing
in these sums: there the order decides. Shared devices draw no counters in them, for a share of them may be in use
(CTR-3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from ...models.kubernetes.claims import DeviceConstraint, DeviceRequest, RequestSpec, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint, Predicate, annotated_entries
from ...models.kubernetes.meta import DeviceId
from .constraints import ConstraintRules, covers
from .devices import CounterStock, DeviceRules, VerificationContext, groups_of
from .published import Finding, PoolView, PublishedDevice, nano
from .requests import ALL, ClaimReading, is_admin


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """An exact request, or an alternative, of a claim; ``devices`` are those it may get, ``whole``: all or nothing.

    ``selected`` is how many it selects, whether it may get them or not. ``erring``: it asks for all devices, and an
    expression fails on one.
    """

    claim: int
    request: str
    name: str
    requested: RequestSpec
    devices: tuple[tuple[PublishedDevice, PoolView], ...]
    selected: int
    whole: bool
    erring: bool = False

    @property
    def count(self) -> int:
        """How many devices it takes."""
        return self.selected if self.whole else self.requested.count or 0

    @property
    def is_short(self) -> bool:
        """Whether it lacks devices whatever else is taken, so that it cannot be chosen."""
        return self.erring or len(self.devices) < self.count or (self.whole and not self.count)


class NodeOffers:
    """The devices of one node, beside what the context says is held; ``rules`` may know them from other nodes."""

    def __init__(self, context: VerificationContext, node: Node, rules: DeviceRules | None = None) -> None:
        self._context = context
        self._node = node
        self._devices = context.devices if rules is None else rules
        self._stocks: dict[PoolView, CounterStock] = {}
        self._giving: dict[PoolView, bool] = {}
        self._views: list[PoolView] | None = None

    @property
    def views(self) -> Sequence[PoolView]:
        """The pools that the node sees."""
        if self._views is None:
            self._views = list(self._context.inventory.views(self._node))
        return self._views

    def refuses(self, claim: ResourceClaim) -> bool:
        """Whether no allocator takes the claim, or it asks for all devices, and a pool is in trouble (PRE-8)."""
        reading = ClaimReading(claim, self._context.classes, self._context.gates)
        return bool(reading.unsupported or (reading.for_all and any(view.stops_all for view in self.views)))

    def offered(self, claim: int, request: DeviceRequest) -> Iterator[DeviceOption]:
        """Read the exact request, or each alternative, of a claim's request."""
        if request.exactly is not None:
            yield self._option(claim, request.name, request.name, request.exactly)
        for one in request.first_available or ():
            yield self._option(claim, request.name, f"{request.name}/{one.name}", one)

    def _option(self, claim: int, request: str, name: str, requested: RequestSpec) -> DeviceOption:
        whole, selected, erring = requested.allocation_mode == ALL, 0, False
        found: list[tuple[PublishedDevice, PoolView]] = []
        for view in self.views:
            for entry in view.devices.values() if view.trouble is None else ():
                refusal = self._devices.unselected(entry, requested, self._node)
                if refusal is not None:
                    erring |= whole and refusal.fatal and not self._context.errors_left_out
                    continue
                selected += 1
                if self._is_usable(entry, view, requested):
                    found.append((entry, view))
        return DeviceOption(claim, request, name, requested, tuple(found), selected, whole, erring)

    def _is_usable(self, entry: PublishedDevice, view: PoolView, requested: RequestSpec) -> bool:
        """Whether a request may get the device if nothing else of the unit is there."""
        if not is_admin(requested) and self._context.held_devices.dedicates(entry.id):
            return False
        if next(self._devices.unusable(entry, requested, self._node), None) is not None:
            return False
        return self._has_capacity(entry, requested) and (not self.draws(entry) or self._has_counters(entry, view))

    def _has_capacity(self, entry: PublishedDevice, requested: RequestSpec) -> bool:
        """CAP-6 for one share beside those in use."""
        if not self.is_shared(entry) or not self._context.held_devices.shares(entry.id):
            return True
        left = dict(self.capacity_left(entry))
        return all(amount <= left[name] for name, amount in self.amounts(entry, requested))

    def amounts(self, entry: PublishedDevice, requested: RequestSpec) -> tuple[tuple[str, int], ...]:
        """What a request takes of each capacity of a device, in billionths, by name."""
        found = self._devices.amounts(entry, requested)
        return () if isinstance(found, Finding) else tuple(sorted(found.items()))

    def capacity_left(self, entry: PublishedDevice) -> tuple[tuple[str, int], ...]:
        """What is left of each capacity of a device, in billionths, by name."""
        held = self._context.held_devices
        offered = sorted((entry.device.capacity or {}).items())
        return tuple((name, nano(one.value) - held.consumed(entry.id, name)) for name, one in offered)

    def is_in_use(self, view: PoolView) -> bool:
        """Whether others hold a device of the pool."""
        return self._context.held_devices.held_number(view.id) > 0

    def held_part(self, entry: PublishedDevice) -> Hashable:
        """What others hold of a device: all of it or nothing, or what they leave of one that is shared."""
        held = self._context.held_devices
        shares = (held.shares(entry.id), self.capacity_left(entry)) if self.is_shared(entry) else ()
        return held.dedicates(entry.id), shares

    def _has_counters(self, entry: PublishedDevice, view: PoolView) -> bool:
        """CTR-2, GRP-3 for one device beside those in use; where devices give, others may make room for it."""
        stock = self.stock(view)
        left = stock.left()
        if left is None:
            return False
        if not self.gives(view) and any(amount > left[key] for key, amount in entry.consumption):
            return False
        common = [(stock.common_groups(one.counter_set), one) for one in entry.device.consumes_counters or ()]
        return all(groups is None or groups & groups_of(one) for groups, one in common)

    def gives(self, view: PoolView) -> bool:
        """Whether a device of the pool draws negative amounts, so that the order decides."""
        if view not in self._giving:
            amounts = (amount for one in view.generation.consumers for _, amount in one.consumption)
            self._giving[view] = any(amount < 0 for amount in amounts)
        return self._giving[view]

    def is_shared(self, entry: PublishedDevice) -> bool:
        """Whether several requests may have the device."""
        return self._context.gates.consumable_capacity and bool(entry.device.allow_multiple_allocations)

    def draws(self, entry: PublishedDevice) -> bool:
        """Whether taking the device draws counters (CTR-3)."""
        if not self._context.gates.partitionable_devices or not entry.device.consumes_counters:
            return False
        return not (self.is_shared(entry) and self._context.held_devices.shares(entry.id))

    def stock(self, view: PoolView) -> CounterStock:
        """The counters of a pool."""
        if view not in self._stocks:
            self._stocks[view] = CounterStock(view.id, view.generation, self._context.held_devices)
        return self._stocks[view]


@dataclass(frozen=True, slots=True)
class RequestOffer:
    """A request of a claim, and what may serve it: one option, or several alternatives."""

    claim: int
    request: str
    options: tuple[DeviceOption, ...]

    @property
    def least(self) -> int:
        """How many devices it takes at least."""
        return min(option.count for option in self.options)

    @property
    def is_short(self) -> bool:
        """Whether nothing can serve it."""
        return all(option.is_short for option in self.options)

    def of_claim(self, number: int) -> RequestOffer:
        """The same request of an equal claim."""
        return RequestOffer(number, self.request, tuple(replace(one, claim=number) for one in self.options))


class ClaimOffers:
    """What a node offers several claims; ``entries`` are constraints of every claim beside its own."""

    def __init__(
        self,
        offers: NodeOffers,
        claims: Sequence[ResourceClaim],
        values: ConstraintRules,
        entries: Sequence[CallerConstraint],
    ) -> None:
        self._offers = offers
        self._claims = claims
        self._values = values
        self._entries = entries

    @cached_property
    def needs(self) -> tuple[RequestOffer, ...]:
        """The requests of the claims, each with the devices that their entries do not refuse for their values alone."""
        return tuple(self._read())

    def _read(self) -> Iterator[RequestOffer]:
        # Copies share their spec.
        known: dict[tuple[int, int], list[RequestOffer]] = {}
        for number, claim in enumerate(self._claims):
            key = id(claim.spec), id(claim.metadata.annotations)
            if key not in known:
                known[key] = list(self._of(number))
            for one in known[key]:
                yield one if one.claim == number else one.of_claim(number)

    def _of(self, number: int) -> Iterator[RequestOffer]:
        entries = list(self.hard_entries(number))
        for request in self._claims[number].spec.devices.requests or ():
            options = tuple(self._valued(option, entries) for option in self._offers.offered(number, request))
            # Alternatives that lack devices whatever else is taken are never chosen.
            left = tuple(option for option in options if not option.is_short)
            yield RequestOffer(number, request.name, (left or options) if len(options) > 1 else options)

    def _valued(self, option: DeviceOption, entries: Sequence[DeviceConstraint]) -> DeviceOption:
        """The option without devices that an entry refuses for their values (CON-3, CON-8)."""
        for entry in entries:
            if covers(entry, option.name) and (entry.match_attribute or entry.distinct_attribute):
                kept = (pair for pair in option.devices if self._values.tokens(entry, pair[0], option.requested))
                option = replace(option, devices=tuple(kept))
        return option

    def hard_entries(self, claim: int) -> Iterator[DeviceConstraint]:
        """The entries of a claim that must hold, but for predicates."""
        one = self._claims[claim]
        soft = (*annotated_entries(one.metadata), *self._entries)
        for entry in (*(one.spec.devices.constraints or ()), *(each for each in soft if each.weight is None)):
            if not isinstance(entry, Predicate):
                yield entry


Row = tuple[Hashable, str]
"""A place that amounts are drawn from, such as a counter set or a device, and the name of the amount."""


class Amounts(Protocol):
    """What devices draw, and what is left."""

    def draws(self, option: DeviceOption, entry: PublishedDevice, view: PoolView) -> Mapping[Row, int]:
        """What a device draws if the option takes it."""

    def left(self, row: Row) -> int:
        """What is left of a row."""


class CounterAmounts:
    """Counters; a place is a counter set of a pool."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._left: dict[Row, int] = {}

    def draws(self, _: DeviceOption, entry: PublishedDevice, view: PoolView) -> Mapping[Row, int]:
        """What a partition takes of its counter sets."""
        if not self._offers.draws(entry) or self._offers.is_shared(entry) or self._offers.gives(view):
            return {}
        left = self._offers.stock(view).left() or {}
        found: Counter[Row] = Counter()
        for (counter_set, name), amount in entry.consumption:
            row = (view.id, counter_set), name
            found[row] += amount
            self._left[row] = left.get((counter_set, name), 0)
        return found

    def left(self, row: Row) -> int:
        """What what is in use leaves of a counter."""
        return self._left[row]


class CapacityAmounts:
    """Capacities of shared devices; a place is a device. Those of others are tested, not consumed (CAP-7)."""

    def __init__(self, offers: NodeOffers) -> None:
        self._offers = offers
        self._left: dict[Row, int] = {}

    def draws(self, option: DeviceOption, entry: PublishedDevice, _: PoolView) -> Mapping[Row, int]:
        """What a share takes of the capacities of its device."""
        if not self._offers.is_shared(entry):
            return {}
        self._left.update(((entry.id, name), amount) for name, amount in self._offers.capacity_left(entry))
        return {(entry.id, name): amount for name, amount in self._offers.amounts(entry, option.requested)}

    def left(self, row: Row) -> int:
        """What the shares in use leave of a capacity."""
        return self._left[row]


def least_draw(rows: Amounts, options: Sequence[DeviceOption], name: str) -> tuple[int, set[Row]]:
    """What a request draws of rows of a name at least, whatever devices it takes, and the rows that it may touch."""
    totals: list[int] = []
    touched: set[Row] = set()
    for option in options:
        amounts: list[int] = []
        for entry, view in option.devices:
            own = {row: amount for row, amount in rows.draws(option, entry, view).items() if row[1] == name}
            touched |= own.keys()
            amounts += [sum(own.values())] if own else []
        # Its devices are all different; those that draw nothing come first.
        lacking = len(option.devices) - option.count
        totals.append(sum(sorted(amounts)[: max(0, len(amounts) - lacking)]))
    return min(totals), touched


@dataclass(slots=True)
class _Place:
    """The devices of a place, and the least amounts of the rows that all of them draw; None: no device yet."""

    devices: set[DeviceId]
    least: dict[Row, int] | None = None
    takers: int = 0


def room_of_places(
    rows: Amounts, needs: Sequence[Sequence[DeviceOption]], is_shared: Callable[[PublishedDevice], bool]
) -> int:
    """How many devices all places have room for; each request may take a shared device once."""
    places: dict[Hashable, _Place] = defaultdict(lambda: _Place(set()))
    for options in needs:
        shared: dict[Hashable, set[DeviceId]] = defaultdict(set)
        for option in options:
            for entry, view in option.devices:
                drawn = rows.draws(option, entry, view)
                key = next(iter(drawn))[0] if drawn else None
                place = places[key]
                here = {row: amount for row, amount in drawn.items() if row[0] == key}
                if place.least is None:
                    place.least = here
                else:
                    place.least = {row: min(at, here[row]) for row, at in place.least.items() if row in here}
                if is_shared(entry):
                    shared[key].add(entry.id)
                else:
                    place.devices.add(entry.id)
        for key, own in shared.items():
            places[key].takers += len(own)
    total = 0
    for place in places.values():
        fitting = [max(0, rows.left(row)) // amount for row, amount in (place.least or {}).items() if amount > 0]
        total += min([len(place.devices) + place.takers, *fitting])
    return total


def compatible_room(offers: NodeOffers, needs: Sequence[Sequence[DeviceOption]], counter_sets: Collection[str]) -> int:
    """How many devices requests can take at most if those of a counter set must be compatible (GRP-2).

    What draws from a counter set first decides whether groups count there, and of which groups all others are. Each
    device counts on the first of its counter sets that are among these.
    """
    room = 0
    single: dict[DeviceId, tuple[PublishedDevice, PoolView]] = {}
    for options in needs:
        own = {entry.id: (entry, view) for option in options for entry, view in option.devices}
        room += sum(offers.is_shared(entry) for entry, _ in own.values())
        single.update({key: pair for key, pair in own.items() if not offers.is_shared(pair[0])})
    places: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for entry, view in single.values():
        drawn = (entry.device.consumes_counters or ()) if offers.draws(entry) else ()
        taken = next((one for one in drawn if one.counter_set in counter_sets), None)
        if taken is None:
            room += 1
        else:
            places[view.id, taken.counter_set].update(groups_of(taken))
    return room + sum(max(counts.values(), default=1) for counts in places.values())


def cluster_number(lists: Collection[frozenset[object]]) -> int:
    """How many lists can be taken of which no two have a value in common, at most: one of each cluster."""
    left, clusters = set(lists), 0
    while left:
        times = Counter(value for token in left for value in token)
        most = max(times.values(), default=0)
        common = next((value for value, number in times.items() if number == most), None)
        left = {token for token in left if common not in token} if times else set()
        clusters += 1
    return clusters


Bundle = dict[frozenset[DeviceId], int]
"""What a claim takes from one value: numbers of devices of its own, by those that they may be."""


def room_of_values(bundles: Sequence[Bundle], values: Mapping[DeviceId, frozenset[object]]) -> int:
    """How many claims the devices of all values suffice for, rounded down for each value (CON-4, CON-7)."""
    union = frozenset[DeviceId]().union(*(devices for bundle in bundles for devices in bundle))
    least, first = min(sum(bundle.values()) for bundle in bundles), bundles[0]
    alike = all(bundle == first for bundle in bundles)
    room = 0
    for value in frozenset[object]().union(*values.values()):
        there = {device for device in union if value in values.get(device, ())}
        fitting = [len(there) // least]
        fitting += [len(there & devices) // count for devices, count in first.items() if count] if alike else []
        room += min(fitting)
    return room

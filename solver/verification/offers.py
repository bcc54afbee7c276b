"""What a node offers a claim's requests: the devices that each may get if nothing else of the unit is there.

Read from the manifests with the rules of finished allocations, one device after the other (PRE-7, PRE-8, SRCH-6, DEV-1
to DEV-10). Audits and witnesses start from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...models.kubernetes.claims import DeviceConstraint, DeviceRequest, RequestSpec, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import CallerConstraint, Predicate, annotated_entries
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
        for number, claim in enumerate(self._claims):
            entries = list(self.hard_entries(number))
            for request in claim.spec.devices.requests or ():
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

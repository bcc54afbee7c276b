"""What a unit counts in stages that place as much weight as possible: units, devices, capacity, or a given value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, gcd, lcm

import msgspec

from ....cel.devices import DeviceShapes
from ....cel.errors import CelError
from ....cel.selector import Selector, compile_selector
from ....models.cluster.cluster import Cluster
from ....models.kubernetes.claims import DeviceRequest, RequestSpec
from ....models.kubernetes.extensions import VALUE_ANNOTATION
from ....models.kubernetes.gates import FeatureGates
from ....models.kubernetes.node_templates import slices_from_template
from ....models.kubernetes.quantity import Quantity
from ....models.kubernetes.slices import Device
from ....models.workload.expansion import QueuedUnit
from ....models.workload.unit_classes import ClaimShape, UnitShape

WeightFunction = Callable[[UnitShape], Fraction]
_NANO = 1_000_000_000


def planned_weight(queue: Sequence[QueuedUnit], assigned: Iterable[int], weigh: WeightFunction) -> Fraction:
    """What the units at some places of a queue count together."""
    shapes = Counter(queue[place].unit_set.shape for place in assigned)
    return sum((weigh(shape) * number for shape, number in shapes.items()), Fraction(0))


def parse_weight(kind: str, capacities: DeviceCapacities | None = None) -> tuple[WeightFunction, str]:
    """Return what weighs units for ``admitted=KIND``, and the annotation that it reads.

    ``count``: each unit 1. ``devices``: as many as its requests count, an alternative list as its smallest, ``All`` as
    one. ``capacity:NAME``: what its requests take of the capacity, for all their devices, see ``DeviceCapacities``;
    without them what they ask for. ``annotation:KEY``: the number in the annotation, 1 without it. Raises
    ``ValueError``.
    """
    name, _, rest = kind.partition(":")
    if kind == "count":
        return (lambda _: Fraction(1)), VALUE_ANNOTATION
    if kind == "devices":
        return (lambda shape: Fraction(sum(_least_amounts(shape.claims, _device_count)))), VALUE_ANNOTATION
    if name == "capacity" and rest:
        amount = partial(_requested_capacity, rest, capacities)
        return (lambda shape: Fraction(sum(_least_amounts(shape.claims, amount)), _NANO)), VALUE_ANNOTATION
    if name == "annotation" and rest:
        return (lambda shape: Fraction(shape.value)), rest
    raise ValueError(f"unknown weight {kind!r} of admitted: count, devices, capacity:NAME or annotation:KEY")


def requested_devices(shapes: Sequence[UnitShape]) -> int:
    """How many devices units ask for that are placed together; a claim that they share counts once."""
    claims = [claim for shape in shapes for claim in shape.claims]
    shared = {claim.key: claim for claim in claims if claim.key is not None}
    own = [claim for claim in claims if claim.key is None]
    return sum(_least_amounts([*own, *shared.values()], _device_count))


def _least_amounts(claims: Iterable[ClaimShape], amount: Callable[[RequestSpec], int]) -> Iterator[int]:
    for claim in claims:
        for request in (claim.spec.devices.requests if claim.spec and not claim.allocated else None) or ():
            yield min(map(amount, _alternatives(request)), default=0)


def _alternatives(request: DeviceRequest) -> Iterator[RequestSpec]:
    if request.exactly is not None:
        yield request.exactly
    yield from request.first_available or ()


def _device_count(requested: RequestSpec) -> int:
    return 1 if requested.count is None else requested.count


def _requested_capacity(name: str, capacities: DeviceCapacities | None, requested: RequestSpec) -> int:
    amounts = (requested.capacity.requests if requested.capacity else None) or {}
    amount = Quantity.parse(amounts[name]).nano if name in amounts else 0
    least = None if capacities is None else capacities.least_taken(name, requested, amount)
    return _device_count(requested) * (amount if least is None else least)


@dataclass
class DeviceCapacities:
    """What requests take of the capacities of devices, in billionths: of the smallest device that serves.

    All devices count that the newest generation of a pool has, or a NodeTemplate, on whatever nodes. A device that is
    not shared is taken whole. Of a shared one as much is taken as is asked for, else what its policy has for a
    default, else all. Names are compared as written (CAP-1).
    """

    cluster: Cluster
    gates: FeatureGates
    _known: dict[tuple[str, str, tuple[str | None, ...], int], int | None] = field(default_factory=dict)
    _shapes: DeviceShapes = field(default_factory=DeviceShapes)

    @cached_property
    def _devices(self) -> list[tuple[str, Device]]:
        newest: dict[tuple[str, str], int] = defaultdict(int)
        slices = self.cluster.slices
        for one in slices:
            pool = one.spec.driver, one.spec.pool.name
            newest[pool] = max(newest[pool], one.spec.pool.generation)
        kept = [one for one in slices if one.spec.pool.generation == newest[one.spec.driver, one.spec.pool.name]]
        for name, template in self.cluster.node_templates.items():
            kept += slices_from_template(template, name)
        return [(one.spec.driver, device) for one in kept for device in one.spec.devices or ()]

    def least_taken(self, name: str, requested: RequestSpec, amount: int) -> int | None:
        """The least that one device of a request takes of a capacity; None: no device that serves has it."""
        own = self.cluster.classes.get(requested.device_class_name)
        selectors = (*((own.spec.selectors if own else None) or ()), *(requested.selectors or ()))
        texts = tuple(None if one.cel is None else one.cel.expression for one in selectors)
        key = name, requested.device_class_name, texts, amount
        if key not in self._known:
            self._known[key] = self._smallest(name, amount, texts) if own is not None else None
        return self._known[key]

    def _smallest(self, name: str, amount: int, texts: Sequence[str | None]) -> int | None:
        try:
            selectors = [compile_selector(text) for text in texts if text is not None]
        except CelError:
            return None
        if None in texts:
            return None
        taken = [_taken_capacity(device, name, amount, self.gates.consumable_capacity) for _, device in self._devices]
        found = sorted([(one, place) for place, one in enumerate(taken) if one is not None])
        # The smallest first: of larger ones none is asked about.
        return next((one for one, place in found if self._serves(*self._devices[place], selectors)), None)

    def _serves(self, driver: str, device: Device, selectors: Sequence[Selector]) -> bool:
        if self.gates.variant == "stable" and device.allow_multiple_allocations:
            device = msgspec.structs.replace(device, allow_multiple_allocations=None)
        prepared = self._shapes.prepare(device, driver)
        return all(selector.result(prepared) is True for selector in selectors)


def _taken_capacity(device: Device, name: str, amount: int, sharing: bool) -> int | None:
    """What is taken of a device's capacity; None where it has none or too little."""
    capacity = (device.capacity or {}).get(name)
    if capacity is None or (whole := Quantity.parse(capacity.value).nano) < amount:
        return None
    if not (sharing and device.allow_multiple_allocations):
        return whole
    default = capacity.request_policy.default if capacity.request_policy else None
    return amount or (whole if default is None else Quantity.parse(default).nano)


# Larger coefficients are rounded, so that sums over a node or a plan fit into 64 bits: those of units are priced, with
# fractions and up to a largest dual, those of nodes are only added up.
LARGEST_UNIT_COEFFICIENT, LARGEST_NODE_COEFFICIENT = 1 << 30, 1 << 60


@dataclass(frozen=True, slots=True)
class Steps:
    """Amounts as whole numbers: ``scale`` of them make one of the user's unit.

    ``exact``: no amount is rounded. Else each is rounded by less than a step.
    """

    scale: Fraction
    exact: bool

    @classmethod
    def of(cls, amounts: Iterable[Fraction], largest: int) -> Steps:
        """The largest step that all amounts are multiples of, or one in which the largest amount is ``largest``."""
        positive = [amount for amount in amounts if amount]
        if not positive:
            return cls(Fraction(1), exact=True)
        denominator = lcm(*(amount.denominator for amount in positive))
        divisor = gcd(*(int(amount * denominator) for amount in positive))
        scale = Fraction(denominator, divisor)
        times = ceil(max(positive) * scale / largest)
        return cls(scale / max(1, times), exact=times <= 1)

    def number(self, amount: Fraction) -> int:
        """An amount in steps, rounded down."""
        return int(amount * self.scale)

    def ceiling(self, amount: Fraction) -> int:
        """An amount in steps, rounded up."""
        return ceil(amount * self.scale)


# Prices have at most 12 digits before the point and 6 behind it, and nodes are no more than units.
_BUDGET_DIGITS = 40


def spendable(budget: Decimal) -> Fraction:
    """A budget as a fraction; one that is beyond all prices, or below them, need not be written out."""
    if not budget or budget.adjusted() < -_BUDGET_DIGITS:
        return Fraction(0)
    return Fraction(10) ** _BUDGET_DIGITS if budget.adjusted() > _BUDGET_DIGITS else Fraction(budget)

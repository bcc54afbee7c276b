"""What devices consume, in the stage ``least-consumption``, and what units take in ``admitted=capacity:NAME``.

Both are read again from the slices, as the guide says. A kind is a driver with the name of a counter or of a capacity.
Its weight is the inverse of what slices publish of it. All kinds of a driver weigh alike, and an average card, or
device with capacities that count, is 1,000,000. Amounts are rounded up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.claims import RequestSpec
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import PoolId
from ...models.kubernetes.node_templates import slices_from_template
from ...models.kubernetes.quantity import NANO
from ...models.workload.unit_classes import UnitShape
from .published import PublishedDevice, nano, published_devices
from .state import VerifierExpressions

_FULL = 1_000_000
_Kind = tuple[str, str]
"""Driver and name."""


class ConsumptionWeights:
    """The weights of all kinds of a cluster, for one billionth each."""

    def __init__(self, cluster: Cluster) -> None:
        counters, capacities = Counter[_Kind](), Counter[_Kind]()
        cards, devices = Counter[str](), Counter[str]()
        for one in cluster.slices:
            driver = one.spec.driver
            for counter_set in one.spec.shared_counters or ():
                cards[driver] += 1
                for name, counter in (counter_set.counters or {}).items():
                    counters[driver, name] += max(0, nano(counter.value))
            for device in one.spec.devices or ():
                # Others that draw counters count with these alone.
                counts = bool(device.allow_multiple_allocations or not device.consumes_counters)
                devices[driver] += bool(device.capacity) and counts
                for name, capacity in (device.capacity or {}).items() if counts else ():
                    capacities[driver, name] += max(0, nano(capacity.value))
        self._counters = _weights(counters, cards)
        self._capacities = _weights(capacities, devices)

    def of_share(self, entry: PublishedDevice, amounts: Iterable[tuple[str, int]]) -> int:
        """What a share counts that takes so much of each capacity, without counters of the device."""
        return _weighed(self._capacities, entry, amounts)

    def of_device(self, entry: PublishedDevice, draws: bool) -> int:
        """What a device counts that is taken alone; ``draws``: what it consumes of counters is drawn."""
        if entry.device.consumes_counters:
            drawn = ((name, amount) for (_, name), amount in entry.consumption) if draws else ()
            return _weighed(self._counters, entry, drawn)
        offered = (entry.device.capacity or {}).items()
        return _weighed(self._capacities, entry, ((name, nano(one.value)) for name, one in offered))


def _weights(totals: Mapping[_Kind, int], holders: Mapping[str, int]) -> Mapping[_Kind, Fraction]:
    kinds = Counter(driver for (driver, _), total in totals.items() if total)
    return {kind: Fraction(_FULL * holders[kind[0]], total * kinds[kind[0]]) for kind, total in totals.items() if total}


def _weighed(weights: Mapping[_Kind, Fraction], entry: PublishedDevice, amounts: Iterable[tuple[str, int]]) -> int:
    driver = entry.id[0]
    return sum(ceil(amount * weights.get((driver, name), 0)) for name, amount in amounts if amount > 0)


def sum_of_requests(shape: UnitShape, amount: Callable[[RequestSpec], int]) -> Fraction:
    """The sum over requests of a unit, so much for each device; all devices are one, and the least choice counts."""
    total = 0
    for claim in shape.claims:
        for request in (claim.spec.devices.requests if claim.spec and not claim.allocated else None) or ():
            specs = (*([request.exactly] if request.exactly else ()), *(request.first_available or ()))
            total += min(((1 if one.count is None else one.count) * amount(one) for one in specs), default=0)
    return Fraction(total)


class RequestedCapacities:
    """What units take of capacities: for each request of the smallest device of the input that its selectors let serve.

    Devices are those of the newest generation of each pool, and of NodeTemplates. One that is not shared is taken
    whole. Of a shared one a request takes what it asks for, else what the policy has for a default, else all. A request
    that no device with this capacity serves takes what it asks for. Of alternatives the one counts that takes least.
    Raises ``ExpressionTimeoutError`` past ``deadline``.
    """

    def __init__(self, cluster: Cluster, gates: FeatureGates, deadline: float | None = None) -> None:
        self._cluster = cluster
        self._sharing = gates.consumable_capacity
        self._expressions = VerifierExpressions(gates, deadline)
        self._known: dict[tuple[str, int, tuple[str, ...]], int | None] = {}

    @cached_property
    def _devices(self) -> list[PublishedDevice]:
        generations: dict[PoolId, int] = {}
        for one in self._cluster.slices:
            pool = one.spec.driver, one.spec.pool.name
            generations[pool] = max(one.spec.pool.generation, generations.get(pool, 0))
        found = published_devices(self._cluster.slices)
        found_now = [one for one in found if one.slice.spec.pool.generation == generations[one.pool_id]]
        made = (slices_from_template(one, name) for name, one in self._cluster.node_templates.items())
        return found_now + [device for slices in made for device in published_devices(slices)]

    def of_unit(self, shape: UnitShape, name: str) -> Fraction:
        """What the requests of a unit take of the capacity of this name, in its own unit."""
        return sum_of_requests(shape, lambda one: self._of_request(one, name)) / NANO

    def _of_request(self, requested: RequestSpec, name: str) -> int:
        amounts = (requested.capacity.requests if requested.capacity else None) or {}
        asked = nano(amounts[name]) if name in amounts else 0
        known = self._cluster.classes.get(requested.device_class_name)
        selectors = (*((known.spec.selectors if known else None) or ()), *(requested.selectors or ()))
        texts = [one.cel.expression for one in selectors if one.cel is not None]
        least = None
        if known is not None and len(texts) == len(selectors):
            least = self._least(name, asked, tuple(texts))
        return asked if least is None else least

    def _least(self, name: str, asked: int, texts: tuple[str, ...]) -> int | None:
        """What is taken of the smallest device that selectors let serve; of larger ones none is asked about."""
        key = name, asked, texts
        if key not in self._known:
            amounts = [(self._taken(entry, name, asked), entry) for entry in self._devices]
            found = sorted([(taken, place) for place, (taken, _) in enumerate(amounts) if taken is not None])
            entries = ((taken, amounts[place][1]) for taken, place in found)
            refuses = self._expressions.refuses
            serving = (taken for taken, one in entries if all(refuses(text, one) is None for text in texts))
            self._known[key] = next(serving, None)
        return self._known[key]

    def _taken(self, entry: PublishedDevice, name: str, asked: int) -> int | None:
        offered = (entry.device.capacity or {}).get(name)
        if offered is None or nano(offered.value) < asked:
            return None
        if not (self._sharing and entry.device.allow_multiple_allocations):
            return nano(offered.value)
        default = offered.request_policy.default if offered.request_policy else None
        return asked or nano(offered.value if default is None else default)

"""The rules of one device that a request gets, alone and beside all that is in use.

What the device must be for the request, whatever else is taken (section 7, read anew); how much of each capacity an
allocation takes (section 10); counters of partitionable devices (section 11) and compatibility groups (section 12).
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...models.cluster.node_fit import untolerated_device_taints
from ...models.formats.decode import QuantityText
from ...models.kubernetes.claims import DeviceClass, DeviceRequestAllocationResult, RequestSpec
from ...models.kubernetes.core import Node
from ...models.kubernetes.extensions import DeviceTopology
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.meta import PoolId
from ...models.kubernetes.quantity import INT64_MAX, NANO, Quantity
from ...models.kubernetes.slices import (
    CapacityRange,
    CapacityRequestPolicy,
    Device,
    DeviceCapacity,
    DeviceCounterConsumption,
)
from .equal_devices import EqualDevices
from .published import CounterKey, Finding, Inventory, PoolView, PublishedDevice, PublishedGeneration, nano, reaches
from .requests import copied_field_findings, has_copied_fields, is_admin
from .state import HeldDevices, UnitUsage, VerifierExpressions

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


class _Judgement(NamedTuple):
    """Why selectors refuse a device, if they do, and what is taken of its capacities, or why it cannot."""

    refusal: Finding | None
    taken: Mapping[str, int] | Finding


class _JudgedDevices(NamedTuple):
    """A request with its selectors, those of the class first, and what is known of devices that it sees as equal."""

    requested: RequestSpec
    selectors: Sequence[str | None]
    equal: EqualDevices
    known: dict[Hashable, _Judgement]


class DeviceRules:
    """The unary rules, for one set of classes and gates."""

    def __init__(
        self, classes: Mapping[str, DeviceClass], gates: FeatureGates, expressions: VerifierExpressions
    ) -> None:
        self._classes = classes
        self._gates = gates
        self._expressions = expressions
        self._sizing, self._fractional = gates.consumable_capacity, gates.fractional_capacity_range
        self._tainting = gates.device_taints
        # By the identity of a request, which is kept with it; and the latest answer: each device is asked for twice.
        self._judged: dict[int, _JudgedDevices] = {}
        self._latest: tuple[PublishedDevice, RequestSpec, _Judgement] | None = None

    def unselected(self, entry: PublishedDevice, requested: RequestSpec, node: Node) -> Finding | None:
        """DEV-2 to DEV-6: why a request for all devices need not have this one (PRE-8, PRE-9)."""
        unmatched = self.unmatched(entry, requested, node)
        if unmatched is not None:
            return unmatched
        taken = self.amounts(entry, requested)
        return taken if isinstance(taken, Finding) else None

    def unmatched(self, entry: PublishedDevice, requested: RequestSpec, node: Node) -> Finding | None:
        """DEV-2 to DEV-5: as ``unselected``, but for the size."""
        if entry.device.binding_conditions and not self._gates.binding_conditions:
            return Finding("DEV-2", "the device has binding conditions, and that feature is off")
        refusal = self._judgement(entry, requested).refusal
        if refusal is not None:
            return refusal
        # Where the slice chooses the nodes, its pool is not seen from others.
        if not reaches(entry.place, node):
            return Finding("DEV-4", f"the device is not for node {node.metadata.name}")
        return None

    def _judgement(self, entry: PublishedDevice, requested: RequestSpec) -> _Judgement:
        """What the selectors and the size of a request say of a device, and of all that are equal to it."""
        latest = self._latest
        if latest is not None and latest[0] is entry and latest[1] is requested:
            return latest[2]
        judged = self._judged.get(id(requested))
        if judged is None:
            known = self._classes.get(requested.device_class_name)
            selectors = (*((known.spec.selectors if known else None) or ()), *(requested.selectors or ()))
            texts = [None if one.cel is None else one.cel.expression for one in selectors]
            equal = EqualDevices([text for text in texts if text is not None])
            judged = self._judged[id(requested)] = _JudgedDevices(requested, texts, equal, {})
        key = judged.equal.key(entry)
        found = judged.known.get(key)
        if found is None or key is None:
            found = _Judgement(self._refusal(entry, judged.selectors), self._amounts(entry, requested))
            if key is not None:
                judged.known[key] = found
        self._latest = entry, requested, found
        return found

    def _refusal(self, entry: PublishedDevice, selectors: Iterable[str | None]) -> Finding | None:
        """The first selector that does not hold, those of the class before the others."""
        for expression in selectors:
            if expression is None:
                return Finding("PRE-4", "a selector without expression", fatal=True)
            refusal = self._expressions.refuses(expression, entry)
            if refusal is not None:
                return refusal
        return None

    def amounts(self, entry: PublishedDevice, requested: RequestSpec) -> Mapping[str, int] | Finding:
        """What is taken of each capacity, in billionths, or why it cannot; nothing with the feature off."""
        return self._judgement(entry, requested).taken

    def _amounts(self, entry: PublishedDevice, requested: RequestSpec) -> Mapping[str, int] | Finding:
        if not self._sizing:
            return {}
        wanted = (requested.capacity.requests if requested.capacity else None) or {}
        if not wanted and not entry.device.capacity:
            return {}
        try:
            return capacity_amounts(entry.device, wanted, fractional=self._fractional)
        except CapacityRefusedError as refused:
            return refused.finding

    def unusable(self, entry: PublishedDevice, requested: RequestSpec, node: Node) -> Iterator[Finding]:
        """DEV-7, DEV-9, DEV-10: what fails a request for all devices instead of leaving the device out."""
        if entry.device.consumes_counters and not self._gates.partitionable_devices:
            yield Finding("DEV-7", "the device consumes counters, and that feature is off")
        if entry.slice.spec.skip_node_operations and not self._may_skip(node):
            yield Finding("DEV-9", "the slice skips node operations, and the node does not declare that it can")
        if self._tainting and entry.device.taints:
            for taint in untolerated_device_taints(entry.device.taints, requested.tolerations):
                yield Finding("DEV-10", f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated")

    def _may_skip(self, node: Node) -> bool:
        """DEV-9; the other variants of the allocator do not look at it."""
        if self._gates.variant != "experimental":
            return True
        declared = (node.status.declared_features if node.status else None) or ()
        return self._gates.optional_node_operations and OPTIONAL_NODE_OPERATIONS in declared


_SHARE_ID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")


class ResultDevice(NamedTuple):
    """A result with the device it names, the pool as the node sees it, and the spec of its request."""

    result: DeviceRequestAllocationResult
    entry: PublishedDevice
    view: PoolView
    requested: RequestSpec


class ResultDeviceRules:
    """The rules of one device, joint ones with earlier results included, but for constraints."""

    def __init__(self, context: VerificationContext) -> None:
        self._context = context
        self._devices = context.devices
        self._sharing, self._partitioning = context.gates.consumable_capacity, context.gates.partitionable_devices
        self._stocks: dict[PublishedGeneration, CounterStock] = {}
        self._share_ids: set[str] = set()

    def findings(self, device: ResultDevice, context: ClaimContext) -> Iterator[Finding]:
        """Yield how the device breaks DEV-1 to DEV-10 and DEV-12; it then counts as taken by the unit."""
        result, entry, _, requested = device
        taken = self._devices.amounts(entry, requested)
        unselected = self._devices.unmatched(entry, requested, context.node) or (
            taken if isinstance(taken, Finding) else None
        )
        yield from filter(None, (self._in_use(device, context), unselected))
        yield from self._devices.unusable(entry, requested, context.node)
        if self._partitioning and entry.device.consumes_counters:
            yield from self._counters(entry, device.view, context.usage)
        if not isinstance(taken, Finding):
            yield from self._capacity(device, taken, context.usage)
        if has_copied_fields(result, requested, entry):
            yield from copied_field_findings(result, requested, entry, self._context.gates)
        context.usage.take(entry, context.number, self._is_shared(entry))

    def _is_shared(self, entry: PublishedDevice) -> bool:
        return self._sharing and bool(entry.device.allow_multiple_allocations)

    def _in_use(self, device: ResultDevice, context: ClaimContext) -> Finding | None:
        """DEV-1, CAP-10."""
        takers = context.usage.picked.get(device.entry.id, ())
        if is_admin(device.requested):
            twice = context.number in takers
            return Finding("DEV-1", "admin access to a device that the claim has already") if twice else None
        if self._context.held_devices.dedicates(device.entry.id):
            return Finding("DEV-1", "the device is in use")
        return Finding("DEV-1", "the device is taken twice") if takers else None

    def _counters(self, entry: PublishedDevice, view: PoolView, usage: UnitUsage) -> Iterator[Finding]:
        """DEV-8; another share of a device is free (CTR-3, GRP-4)."""
        if self._is_shared(entry) and usage.shared_already(entry.id):
            return
        generation = view.generation
        stock = self._stocks.get(generation)
        if stock is None:
            stock = self._stocks[generation] = CounterStock(view.id, generation, self._context.held_devices)
        yield from stock.overdrawn(entry, usage)
        yield from stock.incompatible(entry, usage)

    def _capacity(self, device: ResultDevice, taken: Mapping[str, int], usage: UnitUsage) -> Iterator[Finding]:
        """CAP-6 to CAP-8: whether the amounts fit beside all others, and are recorded with a share id."""
        entry, result = device.entry, device.result
        if usage.shared_already(entry.id):
            # Alone it takes no more than there is: that is what amounts are.
            used = {name: usage.used(entry.id, name) for name in taken}
            yield from overfull_findings(entry.device, taken, used)
        if self._is_shared(entry):
            yield from self._share(result, taken)
            usage.consumed[entry.id].update(taken)
        elif result.share_id is not None or result.consumed_capacity is not None:
            yield Finding("CAP-7", "a device that is not shared has no share id and no consumed capacity")

    def _share(self, result: DeviceRequestAllocationResult, taken: Mapping[str, int]) -> Iterator[Finding]:
        """CAP-8."""
        share = result.share_id or ""
        if not _SHARE_ID.fullmatch(share):
            yield Finding("CAP-8", f"share id {share!r} is no lower-case UUID")
        elif share in self._share_ids or self._context.held_devices.knows_share(share):
            yield Finding("CAP-8", f"share id {share} is not fresh")
        self._share_ids.add(share)
        recorded = {name: nano(amount) for name, amount in (result.consumed_capacity or {}).items()}
        if recorded != taken:
            yield Finding("CAP-8", f"consumed capacity {recorded} is recorded, not {taken} (in billionths)")


_NANO_PER_MILLI = NANO // 1000
_NO_POLICY = CapacityRequestPolicy()


class CapacityRefusedError(Exception):
    """The device cannot serve the request; carries the finding."""

    def __init__(self, rule: str, message: str, *, fatal: bool = False) -> None:
        super().__init__(message)
        self.finding = Finding(rule, message, fatal)


def capacity_amounts(device: Device, requested: Mapping[str, QuantityText], *, fractional: bool) -> dict[str, int]:
    """Compute what one allocation takes of every capacity of the device, in billionths (CAP-3).

    ``fractional`` is the gate of fractional ranges. Raises ``CapacityRefusedError`` if the device lacks a capacity
    (CAP-2), a policy forbids the amount (CAP-5), it is more than the device has in all (CAP-6), or it is no amount the
    arithmetic can work with, which is fatal (CAP-4, CAP-6).
    """
    offered = device.capacity or {}
    for name in requested:
        if name not in offered:
            raise CapacityRefusedError("CAP-2", f"the device has no capacity {name}")
    return {
        name: _capacity_amount(name, entry, requested.get(name), fractional) for name, entry in sorted(offered.items())
    }


def _capacity_amount(name: str, capacity: DeviceCapacity, request: QuantityText | None, fractional: bool) -> int:
    policy, whole = capacity.request_policy or _NO_POLICY, nano(capacity.value)
    if request is None:
        taken = whole if policy.default is None else nano(policy.default)
    else:
        taken = _round_to_policy(nano(request), policy, fractional)
    shown = Quantity.from_nano(taken)
    if taken < 0:
        raise CapacityRefusedError("CAP-6", f"the amount {shown} of {name} is negative", fatal=True)
    if policy is not _NO_POLICY and not _is_allowed(taken, policy, fractional):
        raise CapacityRefusedError("CAP-5", f"the request policy of {name} does not allow {shown}")
    if taken > whole:
        raise CapacityRefusedError("CAP-6", f"{shown} of {name} is more than the device has, {capacity.value}")
    return taken


def _round_to_policy(request: int, policy: CapacityRequestPolicy, fractional: bool) -> int:
    """CAP-3: up to the next amount that the policy offers."""
    offered = policy.valid_range
    if offered is None:
        return min((value for value in map(nano, policy.valid_values or ()) if value >= request), default=request)
    least = nano(offered.min or 0)
    if request < least:
        return least
    if offered.step is None:
        return request
    grid = _StepGrid.of(offered, fractional)
    taken = grid.next(request)
    if not grid.holds(request) or taken is None:
        raise CapacityRefusedError("CAP-4", f"{Quantity.from_nano(request)} is beyond the arithmetic", fatal=True)
    return taken


@dataclass(frozen=True, slots=True)
class _StepGrid:
    """The amounts of a range with steps, counted in ``unit`` billionths (CAP-4)."""

    unit: int
    start: int
    step: int

    @classmethod
    def of(cls, offered: CapacityRange, fractional: bool) -> _StepGrid:
        """Thousandths where the gate is on and every bound is made of them, else whole units, rounded up."""
        start, step = nano(offered.min or 0), nano(offered.step or 0)
        bounds = (start, step, nano(offered.max or 0))
        exact = step >= _NANO_PER_MILLI and all(map(_is_milli, bounds))
        unit = _NANO_PER_MILLI if fractional and exact else NANO
        return cls(unit, _divide_up(start, unit), _divide_up(step, unit))

    def holds(self, request: int) -> bool:
        """Whether the arithmetic can work with the request."""
        return _is_milli(request) if self.unit == _NANO_PER_MILLI else request <= INT64_MAX * NANO

    def next(self, request: int) -> int | None:
        """Return the amount at or above the request, in billionths; None if there is none in 64 bits."""
        if self.step <= 0:
            return None
        place = self.start + _divide_up(_divide_up(request, self.unit) - self.start, self.step) * self.step
        return place * self.unit if place <= INT64_MAX else None

    def has(self, amount: int) -> bool:
        """Whether the amount is one of the grid's."""
        return self.step > 0 and (_divide_up(amount, self.unit) - self.start) % self.step == 0


def _divide_up(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _is_milli(amount: int) -> bool:
    return amount % _NANO_PER_MILLI == 0 and abs(amount) <= INT64_MAX * _NANO_PER_MILLI


def _is_allowed(taken: int, policy: CapacityRequestPolicy, fractional: bool) -> bool:
    """CAP-5."""
    if policy.default is not None and taken == nano(policy.default):
        return True
    offered = policy.valid_range
    if offered is not None:
        above = offered.max is not None and taken > nano(offered.max)
        return not above and (offered.step is None or _StepGrid.of(offered, fractional).has(taken))
    return not policy.valid_values or taken in map(nano, policy.valid_values)


def overfull_findings(device: Device, taken: Mapping[str, int], used: Mapping[str, int]) -> Iterator[Finding]:
    """CAP-6: the capacities that ``taken`` exceeds beside what is ``used``, in billionths."""
    for name, amount in taken.items():
        value = (device.capacity or {})[name].value
        if used[name] + amount > nano(value):
            yield Finding("CAP-6", f"{Quantity.from_nano(used[name] + amount)} of {name} are used of {value}")


class CounterStock:
    """The counters of one generation of a pool, less what is in use (CTR-1).

    Kept up to date with the held devices by what came into use since the last question, so that many units may ask.
    """

    def __init__(self, pool: PoolId, generation: PublishedGeneration, held_devices: HeldDevices) -> None:
        self._pool = pool
        self._generation = generation
        self._ledger = held_devices
        self._read = 0
        self._drawn: Tally[CounterKey] = Tally()
        self._overdrawn: set[CounterKey] = set()

    def overdrawn(self, entry: PublishedDevice, usage: UnitUsage) -> Iterator[Finding]:
        """CTR-2: the counters of the pool that are exceeded once the unit takes this device too."""
        self._catch_up()
        taken: dict[CounterKey, int] = {}
        for other in (*usage.drawing[self._pool], entry):
            for key, amount in other.consumption:
                taken[key] = taken.get(key, 0) + amount
        declared = self._generation.counters
        exceeded = {key for key, amount in taken.items() if self._drawn.get(key, 0) + amount > declared[key]}
        for name, counter in sorted(exceeded | self._overdrawn):
            yield Finding("CTR-2", f"counter {counter} of set {name} is overdrawn")

    def left(self) -> dict[CounterKey, int] | None:
        """What the held devices leave of every counter; None where one is overdrawn: no device may draw (CTR-2)."""
        left = self.balance()
        return None if self._overdrawn else left

    def balance(self) -> dict[CounterKey, int]:
        """Every counter less what the held devices draw: negative where it is overdrawn."""
        self._catch_up()
        return {key: amount - self._drawn.get(key, 0) for key, amount in self._generation.counters.items()}

    def _catch_up(self) -> None:
        new = self._ledger.held_since(self._pool, self._read)
        self._read += len(new)
        for device in new:
            for held in self._generation.consumers_by_name.get(device[2], ()):
                self._draw(held)

    def _draw(self, entry: PublishedDevice) -> None:
        drawn, declared = self._drawn, self._generation.counters
        for key, amount in entry.consumption:
            drawn[key] += amount
            if drawn[key] > declared[key]:
                self._overdrawn.add(key)

    def incompatible(self, entry: PublishedDevice, usage: UnitUsage) -> Iterator[Finding]:
        """GRP-2, GRP-3: the counter sets whose devices have no compatibility group in common with this one."""
        for taken in entry.device.consumes_counters or () if self._generation.is_grouped else ():
            name = taken.counter_set
            common = self.common_groups(name, usage.drawing[self._pool])
            if common is not None and not common & groups_of(taken):
                yield Finding("GRP-3", f"no compatibility group in common with the devices on counter set {name}")

    def common_groups(self, name: str, taken: Sequence[PublishedDevice] = ()) -> frozenset[str] | None:
        """The groups of which a further device on a counter set must have one; None: any device will do (GRP-2)."""
        held = [other for other in self._generation.consumers_by_set[name] if self._ledger.holds(other.id)]
        return _common_groups(_groups_on_counter_set(name, [*held, *taken]))


_UNGROUPED: frozenset[str] = frozenset({""})
"""Stands for devices without groups, which get along with each other only."""


def groups_of(taken: DeviceCounterConsumption) -> frozenset[str]:
    """The compatibility groups of a device on a counter set (GRP-2)."""
    return frozenset(taken.compatibility_groups or ()) or _UNGROUPED


def _groups_on_counter_set(name: str, entries: Iterable[PublishedDevice]) -> list[frozenset[str]]:
    return [
        frozenset(taken.compatibility_groups or ())
        for entry in entries
        for taken in entry.device.consumes_counters or ()
        if taken.counter_set == name
    ]


def _common_groups(members: Sequence[frozenset[str]]) -> frozenset[str] | None:
    """GRP-2: the running state over members in their order; None for no members.

    The first one decides whether groups count; where allocations have mixed both, the others are overlooked.
    """
    if not members:
        return None
    if not members[0]:
        return _UNGROUPED
    return members[0].intersection(*filter(None, members[1:]))


@dataclass(frozen=True, slots=True, eq=False)
class VerificationContext:
    """The cluster as the rules see it; the held devices move on from unit to unit.

    ``errors_left_out`` says that a request for all devices leaves out those on which an expression fails.
    """

    classes: Mapping[str, DeviceClass]
    nodes: Sequence[Node]
    topologies: Mapping[str, DeviceTopology]
    gates: FeatureGates
    inventory: Inventory
    held_devices: HeldDevices
    expressions: VerifierExpressions
    errors_left_out: bool = False

    @property
    def devices(self) -> DeviceRules:
        """The unary rules."""
        return DeviceRules(self.classes, self.gates, self.expressions)


class ClaimContext(NamedTuple):
    """The node of a claim, its number among the unit's claims, and what the unit has taken before."""

    node: Node
    usage: UnitUsage
    number: int

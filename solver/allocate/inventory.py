"""The question ``show``: what there is, how much of it is free, and who holds the rest, as a result document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.cluster.usage import Usage
from ...models.formats.errors import plural
from ...models.formats.runtime import gc_young_only
from ...models.kubernetes.claims import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from ...models.kubernetes.core import Node
from ...models.kubernetes.gates import FeatureGates, gates_of
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.kubernetes.quantity import Quantity, display_amount
from ...models.results import inventory as records
from ...models.results.common import NODES_NAMED
from ...models.workload.node_room import allocatable_of, remaining_allocatable
from ...models.workload.requested import all_units, taint_notices
from ...models.workload.requests import Requests, format_amount
from ...problem.availability import (
    ClassMatch,
    DeviceSurvey,
    SurveyedDevice,
    SurveyedPool,
    match_classes,
    survey_devices,
)
from ...problem.filters import taint_text

# The first columns of every table of resources.
_FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_FIELDS: Mapping[records.Availability, str] = {
    "free": "free",
    "inUse": "in_use",
    "tainted": "tainted",
    "blocked": "blocked",
    "unavailable": "unavailable",
    "unknown": "unknown",
}
_ERRORS_NAMED = 3
# Set aside of the time limit: what the document takes for each device, judged or not.
_LISTING_SECONDS = 25e-6


@dataclass(frozen=True, slots=True)
class InventorySelection:
    """What of the inventory is asked about; None: all of it."""

    node: str | None = None
    device_class: str | None = None
    driver: str | None = None
    namespace: str | None = None

    @property
    def restricts_devices(self) -> bool:
        """Only some devices are asked about."""
        return (self.node, self.device_class, self.driver) != (None, None, None)


@gc_young_only()
def take_inventory(
    cluster: Cluster,
    selection: InventorySelection,
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    time_limit: float | None = None,
) -> records.InventoryDocument:
    """Answer ``drasat.show``. Raises ``ValueError``, one line, for an unknown gate, node or class."""
    deadline = None if time_limit is None else monotonic() + time_limit - _LISTING_SECONDS * cluster.device_count
    gates = gates_of(feature_gates)
    cluster = cluster.with_gates(gates)
    if selection.node is not None and not cluster.knows_node(selection.node):
        raise ValueError(f'node "{selection.node}" is not in the input')
    if selection.device_class is not None and selection.device_class not in cluster.classes:
        raise ValueError(f"DeviceClass {selection.device_class} not found")
    return _InventoryTaker(cluster, gates, selection, survey_devices(cluster, gates, deadline), deadline).document()


class _InventoryTaker:
    """Makes the parts of the document from the survey of all devices."""

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates,
        selection: InventorySelection,
        survey: DeviceSurvey,
        deadline: float | None,
    ) -> None:
        self._cluster = cluster
        self._gates = gates
        self._selection = selection
        self._survey = survey
        self._usage = cluster.usage(gates)
        self._devices = list(survey.devices.values())
        entries = [device.entry for device in self._devices]
        self._matches = match_classes(cluster.classes, entries, gates, deadline)
        self._classes = _classes_by_device(self._matches, len(entries))
        # Devices of one pool share lists of names.
        lists = {id(names): names for device in self._devices for names in device.reached_by}
        self._with_node = {key for key, names in lists.items() if selection.node in names}
        self._selected = [number for number, device in enumerate(self._devices) if self._selects(number, device)]
        self._chosen = {self._devices[number].entry.id for number in self._selected}

    def _selects(self, number: int, device: SurveyedDevice) -> bool:
        wanted = self._selection
        if wanted.node is not None and not any(id(names) in self._with_node for names in device.reached_by):
            return False
        if wanted.driver is not None and wanted.driver != device.entry.driver:
            return False
        return wanted.device_class is None or wanted.device_class in self._classes[number]

    def document(self) -> records.InventoryDocument:
        """All parts together."""
        selected = [self._devices[number] for number in self._selected]
        classes = tuple(self._class_inventories())
        unclassified = (self._devices[number] for number in self._selected if not self._classes[number])
        return records.InventoryDocument(
            total=self._counts(selected),
            classes=classes,
            unclassified=self._counts(unclassified),
            nodes=tuple(self._node_inventories(selected)),
            pools=tuple(self._pool_inventories(selected)),
            devices=tuple(map(self._device_inventory, self._selected)),
            claims=tuple(self._claim_inventories()),
            feature_gates=self._gates.to_dict(),
            complete=self._survey.complete and not any(match.out_of_time for match in self._matches.values()),
            notices=tuple(self._notices(classes)),
        )

    def _counts(self, devices: Iterable[SurveyedDevice]) -> records.DeviceCounts:
        found = Counter[str]()
        for device in devices:
            found[_FIELDS[device.state]] += 1
            found["shared"] += device.state == "free" and self._usage.in_use(device.entry.id)
        return records.DeviceCounts(**found, total=found.total() - found["shared"])

    def _class_inventories(self) -> Iterator[records.ClassInventory]:
        wanted = self._selection
        kept = set(self._selected)
        for name, match in self._matches.items():
            devices = [self._devices[number] for number in match.matching if number in kept]
            if wanted.device_class == name or (
                wanted.device_class is None and (devices or match.undecided or not wanted.restricts_devices)
            ):
                yield records.ClassInventory(
                    name=name,
                    devices=self._counts(devices),
                    amounts=(*_capacity_counts(devices, self._usage), *_counter_counts(devices, self._survey.pools)),
                    undecided=match.undecided,
                    errors=tuple(match.errors)[:_ERRORS_NAMED],
                )

    def _node_inventories(self, selected: Iterable[SurveyedDevice]) -> Iterator[records.NodeInventory]:
        own: dict[str, list[SurveyedDevice]] = defaultdict(list)
        lists: dict[int, Sequence[str]] = {}
        for device in selected:
            if device.only_node is not None:
                own[device.only_node].append(device)
            lists.update((id(names), names) for names in device.reached_by)
        reaching = {name for names in lists.values() for name in names}
        left = remaining_allocatable(self._cluster, self._gates)
        wanted = self._selection
        for name, node in sorted(self._cluster.nodes.items()):
            if (wanted.node == name) if wanted.node is not None else (not wanted.restricts_devices or name in reaching):
                yield records.NodeInventory(
                    name=name,
                    unschedulable=bool(node.spec and node.spec.unschedulable),
                    taints=tuple(map(taint_text, (node.spec.taints if node.spec else None) or ())),
                    devices=self._counts(own[name]),
                    resources=tuple(_resource_use(node, left.get(name))),
                )

    def _pool_inventories(self, selected: Iterable[SurveyedDevice]) -> Iterator[records.PoolInventory]:
        devices = defaultdict(list)
        for device in selected:
            devices[device.entry.id[:2]].append(device)
        for (driver, name), pool in self._survey.pools.items():
            if (driver, name) in devices or self._selects_empty(driver, pool):
                yield records.PoolInventory(
                    driver=driver,
                    name=name,
                    generation=pool.generation,
                    state=pool.state,
                    reason=pool.reason,
                    nodes=len(pool.nodes),
                    node_names=tuple(sorted(pool.nodes)[:NODES_NAMED]),
                    devices=self._counts(devices[driver, name]),
                    counters=tuple(
                        _amount_use(counter, total - left, total, set_) for set_, counter, total, left in pool.counters
                    ),
                )

    def _selects_empty(self, driver: str, pool: SurveyedPool) -> bool:
        wanted = self._selection
        at_node = wanted.node is None or wanted.node in pool.nodes
        return wanted.device_class is None and wanted.driver in (None, driver) and at_node

    def _device_inventory(self, number: int) -> records.DeviceInventory:
        found = self._devices[number]
        device, (driver, pool, name) = found.entry.device, found.entry.id
        holds = self._usage.holds(found.entry.id)
        return records.DeviceInventory(
            driver=driver,
            pool=pool,
            device=name,
            node=found.only_node,
            nodes=found.nodes,
            state=found.state,
            reason=found.reason,
            shared=bool(device.allow_multiple_allocations) and self._gates.consumable_capacity,
            taints=tuple(map(taint_text, device.taints or ())),
            classes=self._classes[number],
            capacity=tuple(
                _amount_use(capacity, used, total) for capacity, used, total in _device_capacities(found, self._usage)
            ),
            claims=tuple(dict.fromkeys("/".join(hold.claim) for hold in holds)),
        )

    def _claim_inventories(self) -> Iterator[records.ClaimInventory]:
        pods, generated = self._pods_by_claim()
        open_claims = {key: claim for key, claim in generated.items() if key not in self._cluster.claims}
        for key, claim in sorted({**self._cluster.claims, **open_claims}.items()):
            allocation = claim.status.allocation if claim.status else None
            held = tuple(map(self._held_device, _results(allocation)))
            if self._selection.namespace in (None, key[0]) and self._selects_claim(claim, allocation):
                consumers = (claim.status.reserved_for if claim.status else None) or ()
                yield records.ClaimInventory(
                    namespace=key[0],
                    name=key[1],
                    state=_claim_state(allocation, held),
                    generated=key in open_claims,
                    pods=tuple(sorted(pods[key])),
                    reserved_for=tuple(sorted(f"{one.resource}/{one.name}" for one in consumers)),
                    devices=held,
                )

    def _pods_by_claim(self) -> tuple[Mapping[ObjectKey, list[str]], Mapping[ObjectKey, ResourceClaim]]:
        """The pods that refer to each claim, and the claims that are yet to be made for them."""
        pods: dict[ObjectKey, list[str]] = defaultdict(list)
        generated: dict[ObjectKey, ResourceClaim] = {}
        for unit in all_units(self._cluster):
            for ref in unit.claims if unit.pod else ():
                pods[ref.key].append(unit.name)
                if ref.generated and ref.claim is not None:
                    generated[ref.key] = ref.claim
        return pods, generated

    def _selects_claim(self, claim: ResourceClaim, allocation: AllocationResult | None) -> bool:
        """A claim that holds a selected device, or a pending one that asks for the selected class."""
        if not self._selection.restricts_devices:
            return True
        if allocation is None:
            requests = claim.spec.devices.requests or ()
            parts = (part for one in requests for part in (one.exactly, *(one.first_available or ())) if part)
            return any(part.device_class_name == self._selection.device_class for part in parts)
        return any(_device_id(one) in self._chosen or self._selects_missing(one) for one in _results(allocation))

    def _selects_missing(self, result: DeviceRequestAllocationResult) -> bool:
        """A device that exists no more is known by its driver only."""
        wanted = self._selection
        told_by_driver = wanted.driver == result.driver and wanted.node is None and wanted.device_class is None
        return told_by_driver and _device_id(result) not in self._survey.devices

    def _held_device(self, result: DeviceRequestAllocationResult) -> records.HeldDevice:
        return records.HeldDevice(
            driver=result.driver,
            pool=result.pool,
            device=result.device,
            request=result.request,
            admin_access=bool(result.admin_access),
            share_id=result.share_id or "",
            consumed={name: str(amount) for name, amount in sorted((result.consumed_capacity or {}).items())},
            exists=_device_id(result) in self._survey.devices,
        )

    def _notices(self, classes: Iterable[records.ClassInventory]) -> Iterator[str]:
        if not self._survey.complete:
            unknown = sum(device.state == "unknown" for device in self._devices)
            yield f"the time limit passed: {plural(unknown, 'device')} {'was' if unknown == 1 else 'were'} not judged"
        for one in classes:
            if one.undecided:
                errors = "; ".join(one.errors)
                yield f"class {one.name}: {plural(one.undecided, 'device')} could not be decided: {errors}"
        yield from taint_notices(self._cluster, self._gates)


def _classes_by_device(matches: Mapping[str, ClassMatch], devices: int) -> list[tuple[str, ...]]:
    """The names of the classes that match each device; equal ones are one object."""
    found: list[tuple[str, ...]] = [()] * devices
    longer: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}
    for name, match in matches.items():
        for number in match.matching:
            found[number] = longer.setdefault((found[number], name), (*found[number], name))
    return found


def _claim_state(allocation: AllocationResult | None, held: Sequence[records.HeldDevice]) -> records.ClaimState:
    if allocation is None:
        return "pending"
    return "allocated" if all(device.exists for device in held) else "orphaned"


def _results(allocation: AllocationResult | None) -> Sequence[DeviceRequestAllocationResult]:
    return (allocation.devices.results or ()) if allocation else ()


def _device_id(result: DeviceRequestAllocationResult) -> DeviceId:
    return result.driver, result.pool, result.device


def _amount_use(name: str, in_use: int, total: int, counter_set: str = "") -> records.AmountUse:
    return records.AmountUse(
        name=name, counter_set=counter_set, in_use=display_amount(in_use), total=display_amount(total)
    )


def _device_capacities(found: SurveyedDevice, usage: Usage) -> Iterator[tuple[str, int, int]]:
    """Name, amount in use and total of each capacity: all of a device that is held whole, what shares consumed else."""
    capacities = found.entry.device.capacity
    if not capacities:
        return
    holds = usage.holds(found.entry.id)
    whole = any(hold.share_id is None for hold in holds)
    consumed = usage.consumed_on(found.entry.id) if holds and not whole else {}
    for name, capacity in sorted(capacities.items()):
        total = Quantity.parse(capacity.value).nano
        yield name, total if whole else consumed.get(name, 0), total


def _capacity_counts(devices: Iterable[SurveyedDevice], usage: Usage) -> Iterator[records.AmountCounts]:
    """The capacities of devices that draw from no counters, by name."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for device in devices:
        if not device.entry.device.consumes_counters:
            # What claims left of a device that is shared is free, though not enough for one more that asks for nothing.
            rest = "free" if device.state == "inUse" else _FIELDS[device.state]
            for name, used, total in _device_capacities(device, usage):
                sums[name].update({"in_use": used, rest: total - used, "total": total})
    yield from (_amount_counts("capacity", name, found) for name, found in sorted(sums.items()))


def _counter_counts(
    devices: Iterable[SurveyedDevice], pools: Mapping[tuple[str, str], SurveyedPool]
) -> Iterator[records.AmountCounts]:
    """The counters of all counter sets that some of the devices draw from, by name."""
    drawn = {
        (device.entry.id[:2], consumption.counter_set)
        for device in devices
        for consumption in device.entry.device.consumes_counters or ()
    }
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for pool, counter_set in drawn:
        for set_, name, total, left in pools[pool].counters:
            if set_ == counter_set:
                sums[name].update({"free": left, "in_use": total - left, "total": total})
    yield from (_amount_counts("counter", name, found) for name, found in sorted(sums.items()))


def _amount_counts(kind: records.AmountKind, name: str, sums: Mapping[str, int]) -> records.AmountCounts:
    def amount(field: str) -> str:
        return display_amount(sums.get(field, 0))

    return records.AmountCounts(
        kind=kind,
        name=name,
        free=amount("free"),
        in_use=amount("in_use"),
        tainted=amount("tainted"),
        blocked=amount("blocked"),
        unavailable=amount("unavailable"),
        total=amount("total"),
    )


def _resource_use(node: Node, left: Requests | None) -> Iterator[records.AmountUse]:
    """Each resource of a node: requested by running pods, of what is allocatable."""
    allocatable = allocatable_of(node)
    if left is None or allocatable is None:
        return
    order = {name: number for number, name in enumerate(_FIRST_RESOURCES)}
    for name, rest in sorted(left.items(), key=lambda item: (order.get(item[0], len(order)), item[0])):
        total = allocatable.get(name, 0)
        yield records.AmountUse(name=name, in_use=format_amount(name, total - rest), total=format_amount(name, total))

"""The mosaic: one cell for each device, in blocks of nodes, coloured by who holds it.

A device that is cut into partitions is one cell, with the partitions that are held to scale in it. The same holds for
shares of a device that several claims share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ..models.kubernetes.quantity import Quantity

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster
    from ..models.kubernetes.claims import AllocationResult as ClaimAllocation
    from ..models.kubernetes.meta import DeviceId, ObjectMeta
    from ..models.kubernetes.slices import Device, DeviceAttribute
    from ..models.results.inventory import DeviceInventory, InventoryDocument

Row: TypeAlias = dict[str, Any]
# Cells of a node beside each other.
ACROSS = 16
# Attributes of so many devices that have more values than these are left out.
_MOST_VALUES, _MANY_DEVICES = 64, 500
_NO_NODE, _SEVERAL = "reached by no node", "reached by several nodes"
PLACED_NOW, HELD_BEFORE = "placed now", "held before"


@dataclass(frozen=True, slots=True)
class DeviceHold:
    """A claim on a device: who owns it, its request, and the capacity that it consumes; none: all of the device."""

    owner: str
    claim: str
    request: str
    consumed: Mapping[str, object] = field(default_factory=dict)
    new: bool = True


Holds: TypeAlias = Mapping["DeviceId", Sequence[DeviceHold]]


def owner_of(metadata: ObjectMeta, kind: str) -> str:
    """The controller of an object, or the object itself, as ``KIND NAMESPACE/NAME``."""
    for one in metadata.owner_references or ():
        if one.controller:
            return f"{one.kind} {metadata.namespace}/{one.name}"
    return f"{kind} {metadata.namespace}/{metadata.name}"


def held_before(inventory: InventoryDocument, cluster: Cluster) -> dict[DeviceId, list[DeviceHold]]:
    """What the claims of the input hold."""
    found: dict[DeviceId, list[DeviceHold]] = defaultdict(list)
    for claim in inventory.claims:
        owner = f"claim {claim.namespace}/{claim.name}"
        for name in claim.pods[:1]:
            namespace, _, pod = name.rpartition("/")
            known = cluster.pods.get((namespace or claim.namespace, pod))
            owner = owner_of(known.metadata, "Pod") if known else f"Pod {name}"
        for one in claim.devices:
            if not one.admin_access:
                hold = DeviceHold(owner, f"{claim.namespace}/{claim.name}", one.request, one.consumed, new=False)
                found[one.driver, one.pool, one.device].append(hold)
    return found


def newly_held(
    made: Iterable[tuple[str, str, ClaimAllocation]], before: Holds | None = None
) -> dict[DeviceId, list[DeviceHold]]:
    """What allocations take beside what is held; each is given with its owner and its claim, by any of its users."""
    found: dict[DeviceId, list[DeviceHold]] = defaultdict(list)
    for device, holds in (before or {}).items():
        found[device].extend(holds)
    seen: set[str] = set()
    for owner, claim, allocation in made:
        if claim not in seen:
            seen.add(claim)
            for one in allocation.devices.results or ():
                if not one.admin_access:
                    consumed = {name: str(amount) for name, amount in (one.consumed_capacity or {}).items()}
                    found[one.driver, one.pool, one.device].append(DeviceHold(owner, claim, one.request, consumed))
    return found


@dataclass(frozen=True, slots=True)
class DeviceCell:
    """A device, or what partitions are cut from, with the devices that it consists of."""

    name: str
    devices: tuple[DeviceInventory, ...]


class MosaicCells:
    """The cells of each node, ``blocks``, and their rows: what is published, and what is held of it."""

    def __init__(
        self, inventory: InventoryDocument, cluster: Cluster, holds: Holds, marked: frozenset[DeviceId]
    ) -> None:
        self._cluster, self._holds, self._marked = cluster, holds, marked
        # Not by a dictionary of all pools: attributes are read of slices as they were published.
        self._published = {
            (slice_.spec.driver, slice_.spec.pool.name, device.name): device
            for slice_ in cluster.slices
            for device in slice_.spec.devices or ()
        }
        self._counters = _counter_totals(cluster)
        self._unhelpful = self._varying_attributes()
        self.blocks = self._node_cells(inventory)
        self._words: dict[int, str] = {}

    def _varying_attributes(self) -> set[str]:
        """Attributes that differ from device to device, such as a UUID: of many devices they are left out."""
        if len(self._published) <= _MANY_DEVICES:
            return set()
        values: dict[str, set[Any]] = defaultdict(set)
        for device in self._published.values():
            for name, attribute in (device.attributes or {}).items():
                if len(values[name]) <= _MOST_VALUES:
                    values[name].add(_attribute_text(attribute))
        return {name for name, found in values.items() if len(found) > _MOST_VALUES}

    def _node_cells(self, inventory: InventoryDocument) -> dict[str, list[DeviceCell]]:
        blocks: dict[str, dict[tuple[str, str, str, str], list[DeviceInventory]]] = {
            node.name: {} for node in inventory.nodes
        }
        for device in inventory.devices:
            block = device.node
            if block is None:
                block = f"{device.driver}/{device.pool} ({_SEVERAL if device.nodes else _NO_NODE})"
            published = self._published.get((device.driver, device.pool, device.device))
            sets = (published.consumes_counters or ()) if published else ()
            key = ("counters", sets[0].counter_set) if sets else ("device", device.device)
            blocks.setdefault(block, {}).setdefault((device.driver, device.pool, *key), []).append(device)
        return {
            block: [
                DeviceCell(key[3] if key[2] == "counters" else devices[0].device, tuple(devices))
                for key, devices in sorted(cells.items(), key=lambda item: natural_order(item[0]))
            ]
            for block, cells in blocks.items()
            if cells
        }

    def parts(self, place: int, node: str, cells: Sequence[DeviceCell], side: int) -> Iterator[Row]:
        """The rows of a node: for each cell its ground, and above it what is held, to scale."""
        for number, cell in enumerate(cells):
            left, top = number % ACROSS * side, number // ACROSS * side
            size = side - 1 if side > 5 else side - 0.5
            row: Row = {"n": place, "node": node or "any node", "x": left, "y": top, "w": size, "h": size}
            yield self._ground(row, cell)
            at = 0.0
            for device, hold, part in self._held_parts(cell):
                part = min(part, 1 - at) if at < 1 else 0.0
                if part > 0:
                    yield {
                        **row,
                        "x": round(left + at * size, 2),
                        "w": round(part * size, 2),
                        "state": PLACED_NOW if hold.new else HELD_BEFORE,
                        "device": _device_path(device),
                        "owner": hold.owner,
                        "claim": hold.claim,
                        "request": hold.request,
                        "note": "" if part == 1 else f"{part:.0%} of the device",
                        "attributes": self._attributes(device),
                        "mark": int((device.driver, device.pool, device.device) in self._marked),
                    }
                at += part

    def _ground(self, row: Row, cell: DeviceCell) -> Row:
        states = {device.state for device in cell.devices}
        ids = [(device.driver, device.pool, device.device) for device in cell.devices]
        usable = states & {"free", "inUse"} or any(self._holds.get(one) for one in ids)
        first = next((one for one in cell.devices if one.state == "free"), cell.devices[0])
        state = "free" if usable else first.state
        path = _device_path(first) if len(cell.devices) == 1 else f"{first.driver}/{first.pool}/{cell.name}"
        cut = "" if len(cell.devices) == 1 else f"can be cut into {len(cell.devices)} devices; "
        lost = any(one in self._marked and not self._holds.get(one) for one in ids)
        return {
            **row,
            "state": state,
            "device": path,
            "owner": "",
            "claim": "",
            "request": "",
            "note": "" if usable else first.reason,
            "attributes": cut + self._attributes(first),
            "mark": int(lost),
        }

    def _held_parts(self, cell: DeviceCell) -> Iterator[tuple[DeviceInventory, DeviceHold, float]]:
        for device in cell.devices:
            holds = self._holds.get((device.driver, device.pool, device.device), ())
            published = self._published.get((device.driver, device.pool, device.device))
            for hold in holds:
                yield device, hold, self._part(device, published, hold) if published else 1.0

    def _part(self, inventory: DeviceInventory, device: Device, hold: DeviceHold) -> float:
        """The part of a cell: of the counters that a partition draws, or of the capacity that a share consumes."""
        whole = 1.0
        for sets in (device.consumes_counters or ())[:1]:
            totals = self._counters.get((inventory.driver, inventory.pool, sets.counter_set), {})
            drawn = {name: _nano(one.value) for name, one in (sets.counters or {}).items()}
            shares = [drawn.get(name, 0) / total for name, total in totals.items() if total > 0]
            # The average, since some drivers count each slice of a memory on its own.
            whole = sum(shares) / len(shares) if shares else 1.0
        if hold.consumed and device.allow_multiple_allocations:
            capacity = {name: _nano(one.value) for name, one in (device.capacity or {}).items()}
            consumed = ((_nano(amount), capacity.get(name, 0)) for name, amount in hold.consumed.items())
            whole *= max((amount / total for amount, total in consumed if total > 0), default=1.0)
        return min(1.0, whole)

    def _attributes(self, device: DeviceInventory) -> str:
        published = self._published.get((device.driver, device.pool, device.device))
        if published is None:
            return ""
        key = id(published)
        if key not in self._words:
            named = {
                **{name: _attribute_text(one) for name, one in (published.attributes or {}).items()},
                **{name: str(one.value) for name, one in (published.capacity or {}).items()},
            }
            shown = (f"{name}={value}" for name, value in sorted(named.items()) if name not in self._unhelpful)
            self._words[key] = ", ".join(shown)
        return self._words[key]


def _attribute_text(attribute: DeviceAttribute) -> str:
    values = (getattr(attribute, name) for name in attribute.__struct_fields__)
    value = next((one for one in values if one is not None), "")
    return (
        ", ".join(map(str, value))
        if isinstance(value, tuple)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _counter_totals(cluster: Cluster) -> dict[tuple[str, str, str], dict[str, int]]:
    """The counters of each set, in billionths, by driver, pool and set."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for slice_ in cluster.slices:
        for one in slice_.spec.shared_counters or ():
            totals = {name: _nano(counter.value) for name, counter in (one.counters or {}).items()}
            found[slice_.spec.driver, slice_.spec.pool.name, one.name] = totals
    return found


def _nano(amount: object) -> int:
    return Quantity.parse(str(amount)).nano


def _device_path(device: DeviceInventory) -> str:
    return f"{device.driver}/{device.pool}/{device.device}"


def natural_order(text: object) -> list[tuple[int, int, str]]:
    """A sorting key in which n2 comes before n10."""
    return [(1, int(one), "") if one.isdecimal() else (0, 0, one) for one in re.split(r"([0-9]+)", str(text))]

"""An inventory as rows of tables, as a tree, and as lines."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from ..models.formats.errors import one_line, plural
from ..models.kubernetes.quantity import NANO, Quantity, display_amount
from .tables import display_names

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from ..models.formats.decode import QuantityText
    from ..models.results.inventory import (
        AmountCounts,
        AmountUse,
        ClaimInventory,
        DeviceCounts,
        DeviceInventory,
        InventoryDocument,
        NodeInventory,
    )

Row: TypeAlias = tuple[object, ...]
_STATES = ("free", "shared", "in use", "tainted", "blocked", "unavailable")
CLASS_HEADERS = ("class", "of", *_STATES, "total", "use")
NODE_HEADERS = (
    "node",
    *("free", "in use", "tainted", "blocked", "unavailable", "total"),
    *("use", "cpu", "memory", "pods", "other resources", "taints"),
)
POOL_HEADERS = ("driver", "pool", "state", "generation", "nodes", *_STATES, "total", "counters in use", "reason")
CLAIM_HEADERS = ("namespace", "claim", "state", "node", "devices", "reserved for", "pods")
NAMESPACE_HEADERS = ("namespace", "claims", "allocated", "pending", "orphaned", "devices", "not reserved")
# More claims than these are counted by namespace.
_MOST_CLAIMS = 40
_NOTHING = "<none>"
_SEVERAL_NODES = "<several nodes>"
_NO_NODE = "<no node>"
_BAR = 10
_RESOURCE_COLUMNS = ("cpu", "memory", "pods")


def class_rows(document: InventoryDocument, *, wide: bool = False) -> Iterator[tuple[str, ...]]:
    """Rows of each class under ``CLASS_HEADERS``: its devices, their capacities, the counters they draw from.

    Counters whose names differ in a final number are one row with their sum, unless it is ``wide``.
    """
    for one in document.classes:
        yield (one.name, "devices", *_count_cells(one.devices), _bar(one.devices.in_use, one.devices.total))
        for amount in one.amounts if wide else _with_numbered_joined(one.amounts):
            free, used, *others = map(
                str if wide else _readable,
                (amount.free, amount.in_use, amount.tainted, amount.blocked, amount.unavailable, amount.total),
            )
            use = _bar(_nano(amount.in_use), _nano(amount.total))
            yield (one.name, f"{amount.kind} {amount.name}", free, "", used, *others, use)
    if document.unclassified.total:
        rest = document.unclassified
        yield ("<no class>", "devices", *_count_cells(rest), _bar(rest.in_use, rest.total))


def _with_numbered_joined(amounts: Iterable[AmountCounts]) -> Iterator[AmountCounts]:
    import msgspec

    groups: dict[tuple[str, str], list[AmountCounts]] = defaultdict(list)
    for one in amounts:
        groups[one.kind, one.name.rstrip("0123456789")].append(one)
    for (_, stem), members in groups.items():
        if len(members) == 1:
            yield members[0]
        else:
            fields = ("free", "in_use", "tainted", "blocked", "unavailable", "total")
            sums = {field: display_amount(sum(_nano(getattr(one, field)) for one in members)) for field in fields}
            yield msgspec.structs.replace(members[0], name=f"{stem}*", **sums)


def node_rows(document: InventoryDocument, *, wide: bool = False) -> Iterator[tuple[str, ...]]:
    """One row for all nodes that look the same under ``NODE_HEADERS``, or one a node where it is ``wide``.

    Devices that several nodes reach, or none, have rows of their own.
    """
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for number, node in enumerate(document.nodes):
        cells = tuple(_node_cells(node))
        groups[(str(number), *cells) if wide else ("", *cells)].append(node.name or "<any>")
    for key, names in groups.items():
        yield (names[0] if len(names) == 1 else f"{len(names)} nodes like {names[0]}", *key[1:])
    for title, wanted in ((_SEVERAL_NODES, True), (_NO_NODE, False)):
        devices = [one for one in document.devices if one.nodes != 1 and bool(one.nodes) is wanted]
        if devices:
            yield (title, *_row_of_devices(devices), *[""] * 5)


def _node_cells(node: NodeInventory) -> Iterator[str]:
    found, resources = node.devices, {one.name: one for one in node.resources}
    yield from _node_counts(found.free, found.in_use, found.tainted, found.blocked, found.unavailable, found.total)
    for name in _RESOURCE_COLUMNS:
        yield f"{resources[name].in_use}/{resources[name].total}" if name in resources else ""
    # Nodes list many resources, such as huge pages, of which they have none.
    others = (one for one in node.resources if one.name not in _RESOURCE_COLUMNS)
    yield ", ".join(
        f"{one.name} {one.in_use}/{one.total}" for one in others if (str(one.in_use), str(one.total)) != ("0", "0")
    )
    yield ", ".join((*["unschedulable"] * node.unschedulable, *node.taints))


def _row_of_devices(devices: Sequence[DeviceInventory]) -> tuple[str, ...]:
    states = [one.state for one in devices]
    names = ("free", "inUse", "tainted", "blocked", "unavailable")
    return _node_counts(*(sum(state == name for state in states) for name in names), len(devices))


def _node_counts(*counts: int) -> tuple[str, ...]:
    return (*map(str, counts), _bar(counts[1], counts[-1]))


def pool_rows(document: InventoryDocument, *, wide: bool = False) -> Iterator[tuple[str, ...]]:
    """One row for each pool that is not complete, or for all where it is ``wide``, under ``POOL_HEADERS``."""
    for pool in document.pools:
        if wide or pool.state != "complete":
            nodes = display_names(pool.node_names, pool.nodes) if pool.nodes else _NOTHING
            place = (pool.driver, pool.name, pool.state, str(pool.generation), nodes)
            counters = ", ".join(f"{one.counter_set}/{one.name} {one.in_use}/{one.total}" for one in pool.counters)
            yield (*place, *_count_cells(pool.devices), counters, pool.reason)


def claim_table(document: InventoryDocument, *, wide: bool = False) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Headers, and one row a claim: the orphaned first, then the pending. Many claims are counted by namespace."""
    if not wide and len(document.claims) > _MOST_CLAIMS:
        return NAMESPACE_HEADERS, list(_namespace_rows(document))
    nodes = {(one.driver, one.pool, one.device): _display_node(one) for one in document.devices}
    order = ("orphaned", "pending", "allocated")
    claims = sorted(document.claims, key=lambda claim: order.index(claim.state))
    return CLAIM_HEADERS, [_claim_cells(claim, nodes, wide) for claim in claims]


def _claim_cells(claim: ClaimInventory, nodes: Mapping[tuple[str, str, str], str], wide: bool) -> tuple[str, ...]:
    ids = [(one.driver, one.pool, one.device) for one in claim.devices]
    places = sorted({nodes[one] for one in ids if one in nodes})
    names = tuple(f"{one.device}{'' if one.exists else ' (gone)'}" for one in claim.devices)
    devices = ", ".join(names) if wide else display_names(names)
    return (
        claim.namespace,
        claim.name,
        claim.state,
        ", ".join(places) or _NOTHING,
        devices or _NOTHING,
        ", ".join(claim.reserved_for) or _NOTHING,
        ", ".join(claim.pods) or _NOTHING,
    )


def _namespace_rows(document: InventoryDocument) -> Iterator[tuple[str, ...]]:
    groups: dict[str, list[ClaimInventory]] = defaultdict(list)
    for claim in document.claims:
        groups[claim.namespace].append(claim)
    for namespace, claims in sorted(groups.items()):
        states = [claim.state for claim in claims]
        held = sum(len(claim.devices) for claim in claims)
        idle = sum(claim.state != "pending" and not claim.reserved_for for claim in claims)
        counts = (len(claims), *(states.count(name) for name in ("allocated", "pending", "orphaned")), held, idle)
        yield (namespace, *map(str, counts))


# Left out where they say nothing.
_RARE_COLUMNS = ("shared", "blocked", "unavailable")


def condense(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Leave out columns that are empty in every row, and those of rare states that are zero."""
    nothing = [("", "0") if header in _RARE_COLUMNS else ("",) for header in headers]
    kept = [number for number in range(len(headers)) if any(row[number] not in nothing[number] for row in rows)]
    return [headers[number] for number in kept], [[row[number] for number in kept] for row in rows]


def summary(document: InventoryDocument) -> str:
    """One line: devices by state, and how many nodes, pools and claims there are."""
    found, claims = document.total, [claim.state for claim in document.claims]
    counts = {
        "in use": found.in_use,
        "tainted": found.tainted,
        "blocked": found.blocked,
        "unavailable": found.unavailable,
        "unknown": found.unknown,
    }
    shared = f" ({found.shared} of them shared)" if found.shared else ""
    states = ", ".join((f"{found.free} free{shared}", *(f"{count} {name}" for name, count in counts.items() if count)))
    special = ", ".join(f"{claims.count(name)} {name}" for name in ("pending", "orphaned") if name in claims)
    named = len(document.nodes) - any(not node.name for node in document.nodes)
    there = f"{plural(named, 'node')}, {plural(len(document.pools), 'pool')}, {plural(len(claims), 'claim')}"
    return f"{plural(found.total, 'device')}: {states}; {there}" + (f" ({special})" if special else "")


def inventory_tree(document: InventoryDocument) -> Tree:
    """Nodes with their pools, these with devices, these with the claims that hold them, and the pods of these."""
    from rich.tree import Tree

    root = Tree("cluster")
    claims = {f"{claim.namespace}/{claim.name}": claim for claim in document.claims}
    by_node: dict[str, dict[str, list[DeviceInventory]]] = {node.name: {} for node in document.nodes}
    for device in document.devices:
        pools = by_node.setdefault(_display_node(device), {})
        pools.setdefault(f"{device.driver}/{device.pool}", []).append(device)
    for node, pools in by_node.items():
        branch = root.add(_plain(node or "<any>"))
        for pool, devices in sorted(pools.items()):
            twig = branch.add(_plain(pool))
            for device in devices:
                leaf = twig.add(_device_label(device))
                for name in device.claims:
                    holder = leaf.add(_plain(f"claim {name}"))
                    for pod in claims[name].pods if name in claims else ():
                        holder.add(_plain(f"pod {pod}"))
    return root


def _device_label(device: DeviceInventory) -> Text:
    state = {"inUse": "in use"}.get(device.state, device.state)
    state = "free, shared" if device.state == "free" and device.claims else state
    capacity = ", ".join(f"{one.name} {_display_use(one, device)}" for one in device.capacity)
    reason = f" ({device.reason})" if device.reason else ""
    return _plain(", ".join(filter(None, (f"{device.device}: {state}{reason}", capacity))))


def _display_use(one: AmountUse, device: DeviceInventory) -> str:
    return f"{one.in_use}/{one.total}" if device.shared else str(one.total)


def _plain(text: str) -> Text:
    """A label without markup, on one line."""
    from rich.text import Text

    return Text(one_line(text))


def _display_node(device: DeviceInventory) -> str:
    if device.node is not None:
        return device.node or "<any>"
    return _SEVERAL_NODES if device.nodes else _NO_NODE


def _count_cells(found: DeviceCounts) -> tuple[str, ...]:
    counts = (found.free, found.shared, found.in_use, found.tainted, found.blocked, found.unavailable, found.total)
    return tuple(map(str, counts))


def _nano(amount: QuantityText) -> int:
    return Quantity.parse(amount).nano


def _bar(in_use: int, total: int) -> str:
    """How much is in use, on a terminal with a bar."""
    if total <= 0:
        return ""
    part = max(0, min(in_use, total)) / total
    full = round(_BAR * part)
    bar = f"{'█' * full}{'░' * (_BAR - full)} " if sys.stdout.isatty() else ""
    return f"{bar}{part:.0%}"


# Longer amounts are rounded to four digits where they are in powers of 1024.
_LONGEST_AMOUNT = 6
_BINARY_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def _readable(amount: QuantityText) -> str:
    """An amount for people: ``4951214Mi`` is ``4.722Ti``."""
    text, nano = str(amount), _nano(amount)
    if len(text) <= _LONGEST_AMOUNT or text[-2:] not in _BINARY_UNITS:
        return text
    value, unit = nano / NANO, ""
    for larger in _BINARY_UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g}{unit}"


def _number(amount: QuantityText) -> int | float:
    nano = _nano(amount)
    return nano / NANO if nano % NANO else nano // NANO


_COUNT_COLUMNS = ("free", "shared", "inUse", "tainted", "blocked", "unavailable", "total")


def _counts(found: DeviceCounts) -> Row:
    return found.free, found.shared, found.in_use, found.tainted, found.blocked, found.unavailable, found.total


def _class_frame(document: InventoryDocument) -> Iterator[Row]:
    for one in document.classes:
        yield (one.name, "devices", "", *_counts(one.devices))
        for found in one.amounts:
            amounts = (found.in_use, found.tainted, found.blocked, found.unavailable, found.total)
            yield (one.name, found.kind, found.name, _number(found.free), None, *map(_number, amounts))


def _node_frame(document: InventoryDocument) -> Iterator[Row]:
    for node in document.nodes:
        resources = {one.name: (_number(one.in_use), _number(one.total)) for one in node.resources}
        known = chain.from_iterable(resources.get(name, (None, None)) for name in _RESOURCE_COLUMNS)
        yield (node.name, node.unschedulable, list(node.taints), *_counts(node.devices), *known)


def _pool_frame(document: InventoryDocument) -> Iterator[Row]:
    for pool in document.pools:
        place = pool.driver, pool.name, pool.state, pool.generation, pool.nodes
        yield (*place, *_counts(pool.devices), pool.reason or None)


def _device_frame(document: InventoryDocument) -> Iterator[Row]:
    for one in document.devices:
        place = one.driver, one.pool, one.device, one.node, one.nodes, one.state, one.reason or None, one.shared
        yield (*place, list(one.taints), list(one.classes), list(one.claims))


def _claim_frame(document: InventoryDocument) -> Iterator[Row]:
    for claim in document.claims:
        devices = [f"{one.driver}/{one.pool}/{one.device}" for one in claim.devices]
        consumers = list(claim.pods), list(claim.reserved_for)
        yield (claim.namespace, claim.name, claim.state, claim.generated, devices, *consumers)


FRAMES: Mapping[str, tuple[Sequence[str], Callable[[InventoryDocument], Iterator[Row]]]] = {
    "devices": (
        ("driver", "pool", "device", "node", "nodes", "state", "reason", "shared", "taints", "classes", "claims"),
        _device_frame,
    ),
    "classes": (("class", "kind", "name", *_COUNT_COLUMNS), _class_frame),
    "nodes": (
        (
            *("node", "unschedulable", "taints", *_COUNT_COLUMNS),
            *(f"{name}{what}" for name in _RESOURCE_COLUMNS for what in ("Requested", "Allocatable")),
        ),
        _node_frame,
    ),
    "pools": (("driver", "pool", "state", "generation", "nodes", *_COUNT_COLUMNS, "reason"), _pool_frame),
    "claims": (("namespace", "claim", "state", "generated", "devices", "pods", "reservedFor"), _claim_frame),
}
"""The columns and the rows of each table that a frame is made of."""

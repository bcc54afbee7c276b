"""An allocation as rows of a table, and the reasons as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from ..models.formats.errors import plural
from ..models.kubernetes.claims import DeviceRequestAllocationResult
from ..models.kubernetes.quantity import Quantity
from ..models.results.common import AllocationDocument, ClaimAnswer, RejectedNodes, UnitAnswer
from ..solver.engines.outcome import DEVICES_REASON
from .tables import display_names, display_unit

HEADERS = ("namespace", "pod", "claim", "node", "request", "devices")
WIDE_HEADERS = (*HEADERS[:-1], "driver", "pool", "device", "share", "consumed", "flags")
DEVICE_COLUMNS = (
    *("namespace", "pod", "claim", "outcome", "node", "request", "driver", "pool", "device", "share"),
    *("consumed", "admin", "binding"),
)
_NOTHING = "<none>"


def rows(document: AllocationDocument) -> Iterator[tuple[str, ...]]:
    """One row a request, under ``HEADERS``; a claim without devices has one row that says its outcome.

    A claim that an earlier unit has, too, has one row that names this one.
    """
    owners: dict[tuple[str, str], UnitAnswer] = {}
    for unit in document.units:
        for claim in unit.claims:
            place = _place_cells(unit, claim)
            requests: dict[str, list[str]] = {}
            for result in _results(claim):
                requests.setdefault(result.request, []).append(result.device)
            yield from ((*place, request, ", ".join(devices)) for request, devices in requests.items())
            if not requests:
                yield (*place, _NOTHING, _display_no_devices(unit, claim, owners))
            _note_owner(owners, unit, claim)


def wide_rows(document: AllocationDocument) -> Iterator[tuple[str, ...]]:
    """One row a device, under ``WIDE_HEADERS``."""
    owners: dict[tuple[str, str], UnitAnswer] = {}
    for unit in document.units:
        for claim in unit.claims:
            for result in _results(claim):
                yield (*_place_cells(unit, claim), result.request, *_device_cells(result))
            if not _results(claim):
                said = _display_no_devices(unit, claim, owners)
                yield (*_place_cells(unit, claim), _NOTHING, "", "", said, "", "", "")
            _note_owner(owners, unit, claim)


def device_rows(document: AllocationDocument) -> Iterator[tuple[object, ...]]:
    """One row a device as data, under ``DEVICE_COLUMNS``; None where a claim has no devices, or a unit no node."""
    for unit in document.units:
        for claim in unit.claims:
            head = (claim.namespace, unit.pod and unit.pod.split("/")[-1], claim.name, unit.outcome, unit.node)
            for one in _results(claim):
                consumed = {
                    name: Decimal(Quantity.parse(text).nano).scaleb(-9)
                    for name, text in (one.consumed_capacity or {}).items()
                }
                flags = (bool(one.admin_access), bool(one.binding_conditions))
                yield (*head, one.request, one.driver, one.pool, one.device, one.share_id, consumed or None, *flags)
            if not _results(claim):
                yield (*head, *(None,) * (len(DEVICE_COLUMNS) - len(head)))


def stages(document: AllocationDocument) -> Iterator[str]:
    """Yield a line for each unit with the values and bounds of its stages."""
    for unit in document.units:
        if unit.objective:
            bounds = ["" if one.proven else f" (at least {one.bound})" for one in unit.objective]
            pairs = zip(unit.objective, bounds, strict=True)
            yield f"{_unit_title(unit)}: " + ", ".join(f"{one.stage} {one.value}{bound}" for one, bound in pairs)


def soft_entries(document: AllocationDocument) -> Iterator[str]:
    """Which soft entries are kept and which violated, a line each."""
    for unit in document.units:
        for entry in unit.soft_entries:
            about = f"claim {entry.claim}: " if entry.claim else ""
            cost = f"violated, costs {entry.cost}" if entry.cost else "kept"
            yield f"{about}{entry.id} entry {entry.name}, weight {entry.weight}: {cost}"


def reasons(document: AllocationDocument) -> Iterator[str]:
    """Why units were not allocated: reasons, and by kind of node where the devices fell; once for equal reasons."""
    groups: dict[tuple[str, ...], list[UnitAnswer]] = {}
    for unit in document.units:
        if unit.outcome != "Allocated":
            groups.setdefault((unit.outcome, *_reason_lines(unit)), []).append(unit)
    for (outcome, *lines), units in groups.items():
        more = f" and {len(units) - 1} more" if len(units) > 1 else ""
        yield f"{_unit_title(units[0])}{more}: {outcome}"
        yield from lines


def _reason_lines(unit: UnitAnswer) -> Iterator[str]:
    yield from (f"  {_claim_prefix(reason.claim, unit)}{reason.message}" for reason in unit.reasons)
    # The reasons give the request tables of the largest class of nodes, unless they are about something else.
    tables = unit.failures[0].requests if unit.failures else ()
    covered = {DEVICES_REASON, *(row.filter for table in tables for row in table.fallen)}
    is_covered = bool(tables) and any(reason.id in covered for reason in unit.reasons)
    for kind in unit.failures[is_covered:]:
        yield from _failure_lines(kind, unit)


def _failure_lines(kind: RejectedNodes, unit: UnitAnswer) -> Iterator[str]:
    yield f"  on {display_names(kind.names, kind.nodes)}: {kind.message}"
    for table in kind.requests:
        fallen = ", ".join(map(str, table.fallen))
        summary = plural(table.devices, "device") + (f": {fallen}" if fallen else "")
        claim = _claim_prefix(table.claim, unit)
        yield f"    {claim}request {table.request} needs {table.needed}, {table.fitting} fit; {summary}"


def _unit_title(unit: UnitAnswer) -> str:
    return display_unit(unit.pod, [f"{claim.namespace}/{claim.name}" for claim in unit.claims])


def _claim_prefix(claim: str, unit: UnitAnswer) -> str:
    """Name the claim where the unit has several."""
    return f"claim {claim}: " if claim and len(unit.claims) > 1 else ""


def _place_cells(unit: UnitAnswer, claim: ClaimAnswer) -> tuple[str, str, str, str]:
    pod = unit.pod.split("/")[-1] if unit.pod else _NOTHING
    return claim.namespace, pod, claim.name, _NOTHING if unit.node is None else unit.node or "<any>"


def _results(claim: ClaimAnswer) -> tuple[DeviceRequestAllocationResult, ...]:
    return (claim.allocation.devices.results or ()) if claim.allocation else ()


def _note_owner(owners: dict[tuple[str, str], UnitAnswer], unit: UnitAnswer, claim: ClaimAnswer) -> None:
    if claim.allocation:
        owners.setdefault((claim.namespace, claim.name), unit)


def _display_no_devices(unit: UnitAnswer, claim: ClaimAnswer, owners: Mapping[tuple[str, str], UnitAnswer]) -> str:
    if claim.allocation:
        return "no devices asked for"
    owner = owners.get((claim.namespace, claim.name))
    shared = unit.outcome == "Allocated" and owner is not None and owner.pod
    return f"shared with {owner.pod.split('/')[-1]}" if shared and owner and owner.pod else unit.outcome


def _device_cells(result: DeviceRequestAllocationResult) -> tuple[str, ...]:
    consumed = ", ".join(f"{name}={amount}" for name, amount in (result.consumed_capacity or {}).items())
    flags = {"admin": result.admin_access, "binding": result.binding_conditions}
    marks = ",".join(name for name, present in flags.items() if present)
    return result.driver, result.pool, result.device, result.share_id or "", consumed, marks

"""Overlays and what they come to as rows of tables, and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..models.results.overlay import OverlayDocument

Row: TypeAlias = tuple[object, ...]
OVERLAY_HEADERS = ("overlay", "weight", "ready", "types", "offerings", "reason", "meets")
OFFERING_HEADERS = ("pool", "type", "zone", "capacity type", "available", "list price", "price", "overlay")
RESOURCE_HEADERS = ("pool", "type", "resource", "listed", "amount", "overlay")
DEVICE_HEADERS = ("pool", "type", "driver", "devices", "overlay")


def overlay_rows(document: OverlayDocument) -> Iterator[Row]:
    """One row an overlay in the order of evaluation, under ``OVERLAY_HEADERS``."""
    for one in document.overlays:
        yield one.name, one.weight, one.ready, one.types, one.offerings, one.reason, one.other


def offering_rows(document: OverlayDocument) -> Iterator[Row]:
    """One row an offering of a type in a pool, under ``OFFERING_HEADERS``."""
    for one in document.types:
        for made in one.offerings:
            place = one.pool, one.type, made.zone, made.capacity_type, made.available
            yield (*place, made.list_price, made.price, made.overlay)


def resource_rows(document: OverlayDocument) -> Iterator[Row]:
    """One row a resource that an overlay set, under ``RESOURCE_HEADERS``."""
    for one in document.types:
        for made in one.resources:
            yield one.pool, one.type, made.name, made.listed, made.amount, made.overlay


def device_rows(document: OverlayDocument) -> Iterator[Row]:
    """One row a driver of a type in a pool, under ``DEVICE_HEADERS``."""
    for one in document.types:
        for made in one.drivers:
            yield one.pool, one.type, made.driver, made.devices, made.overlay


FRAMES: Mapping[str, tuple[tuple[str, ...], Callable[[OverlayDocument], Iterable[Row]]]] = {
    "overlays": (OVERLAY_HEADERS, overlay_rows),
    "offerings": (OFFERING_HEADERS, offering_rows),
    "resources": (RESOURCE_HEADERS, resource_rows),
    "devices": (DEVICE_HEADERS, device_rows),
}


def tables(document: OverlayDocument, *, wide: bool) -> Iterator[tuple[tuple[str, ...], list[list[str]]]]:
    """Tables for printing that are not empty: rows with an overlay only, unless it is ``wide``."""
    for headers, rows in FRAMES.values():
        kept = [row for row in rows(document) if wide or headers is OVERLAY_HEADERS or row[-1]]
        if kept:
            yield headers, [[_cell(value) for value in row] for row in kept]


def _cell(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def summary(document: OverlayDocument) -> str:
    """One line: how many overlays count, and what they change."""
    ready = sum(one.ready for one in document.overlays)
    offerings = [made for one in document.types for made in one.offerings]
    changed = sum(made.price != made.list_price for made in offerings)
    types = sum(one.changed for one in document.types)
    return (
        f"{ready} of {len(document.overlays)} overlays count: {changed} of {len(offerings)} offerings have another "
        f"price, {types} of {len(document.types)} types of pools are changed"
    )


def reasons(document: OverlayDocument) -> Iterator[str]:
    """Why overlays do not count, and the notices."""
    for one in document.overlays:
        if not one.ready:
            met = f" ({one.other})" if one.other else ""
            yield f"NodeOverlay {one.name}: {one.reason}: {one.message}{met}"
    yield from document.notices

"""Engines side by side, as rows of a table and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..solver.compare_units import Relation

if TYPE_CHECKING:
    from ..comparison_documents import (
        ComparisonDocument,
        EngineAnswer,
        SweepDocument,
        SweepEngine,
        SweepPoint,
        UnitSide,
        UnitSides,
    )

HEADERS = ("engine", "outcome", "admitted", "devices", "steps", "time", "free devices", "whole nodes")
UNIT_HEADERS = ("pod", "claims", "engine", "outcome", "node", "devices", "relation")
_RELATIONS: tuple[Relation, ...] = ("equal", "equivalent", "different")


def rows(document: ComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row an engine, under ``HEADERS``; ``devices`` says how units relate to the first engine's."""
    for position, engine in enumerate(document.engines):
        relations = Counter(unit.sides[position].relation for unit in document.units)
        told = ", ".join(f"{relations[name]} {name}" for name in _RELATIONS if relations[name])
        yield (
            _named(engine),
            engine.outcome,
            f"{engine.admitted} of {document.asked}",
            told if position else "",
            str(engine.steps),
            duration(seconds[engine.engine]),
            f"{engine.left.free} of {engine.left.devices}",
            str(engine.left.whole_nodes),
        )


def _named(engine: EngineAnswer) -> str:
    return f"{engine.engine} {engine.version}".strip()


def unit_rows(document: ComparisonDocument) -> Iterator[tuple[str, ...]]:
    """One row a unit and engine, under ``UNIT_HEADERS``."""
    for unit in document.units:
        for side in unit.sides:
            place = "<none>" if side.node is None else side.node or "<any>"
            names = (unit.pod or "<none>", ", ".join(unit.claims))
            yield (*names, side.engine, side.outcome, place, _devices(side), side.relation)


def _devices(side: UnitSide) -> str:
    return "; ".join(f"{one.request}: {', '.join(one.devices)}" for one in side.requests) or "<none>"


def summary(document: ComparisonDocument) -> Iterator[str]:
    """Say whether the answers agree, and if not, where they part, both answers side by side."""
    yield _verdict(document)
    if document.parting is not None:
        yield f"they part at {_title(document.parting)}:"
        width = max(len(side.engine) for side in document.parting.sides)
        for side in document.parting.sides:
            yield f"  {side.engine:{width}}  {_told(side)}"


def _verdict(document: ComparisonDocument) -> str:
    if document.identical:
        return "same answers"
    undecided = "" if document.decided else "; not all engines were done in time"
    agreement = "same verdict, other answers" if document.same_verdict else "different verdicts"
    return agreement + undecided


def _title(unit: UnitSides) -> str:
    name = f"pod {unit.pod}" if unit.pod else f"claim {', '.join(unit.claims)}"
    if not unit.request:
        return name
    return f"{name}, request {unit.request}" + (f" of claim {unit.claim}" if unit.pod else "")


def _told(side: UnitSide) -> str:
    if side.outcome == "Allocated":
        return f"Allocated on {side.node or '<any>'}, {_devices(side)}"
    return f"{side.outcome}: " + "; ".join(reason.message for reason in side.reasons)


_UNITS = ((1.0, "s", 1), (1e-3, "ms", 1e3), (0.0, "us", 1e6))


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best, with three digits."""
    unit, factor = next((unit, factor) for least, unit, factor in _UNITS if seconds >= least)
    return f"{seconds * factor:.3g} {unit}"


def sweep_table(document: SweepDocument) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headers, and one row a size: steps and time of each engine, and the time as a multiple of the first's."""
    names = [one.engine for one in document.points[0].engines]
    columns = [f"{name} {what}" for name in names for what in ("steps", "time")]
    ratios = [f"{name} : {names[0]}" for name in names[1:]]
    return ("size", "outcome", *columns, *ratios), [_sweep_row(point, names) for point in document.points]


def _sweep_row(point: SweepPoint, names: list[str]) -> tuple[str, ...]:
    found = {one.engine: one for one in point.engines}
    cells = [cell for name in names for cell in _sweep_cells(found.get(name))]
    outcomes = ", ".join(dict.fromkeys(one.outcome for one in point.engines))
    ratios = [_ratio(found.get(name), found.get(names[0])) for name in names[1:]]
    return (str(point.size), outcomes, *cells, *ratios)


def _sweep_cells(one: SweepEngine | None) -> tuple[str, str]:
    if one is None:
        return "", ""
    return str(one.steps), duration(one.seconds) + (" (out of time)" if one.outcome == "Unknown" else "")


def _ratio(one: SweepEngine | None, first: SweepEngine | None) -> str:
    return f"{one.seconds / first.seconds:.3g}" if one and first and first.seconds else ""

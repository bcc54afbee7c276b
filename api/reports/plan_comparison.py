"""Planners side by side, as rows of a table and as a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..solver.planners import PLAN
from .comparison import duration

if TYPE_CHECKING:
    from ..plan_comparison_documents import PlanComparisonDocument, PlannerAnswer

HEADERS = ("planner", "order", "outcome", "admitted", "gangs", "devices", "wasted of free", "wasted of all", "time")
FRAME = (
    "planner",
    "order",
    "outcome",
    "admitted",
    "asked",
    "gangs",
    "used",
    "devices",
    "free",
    "wasted",
    "wasted of free",
    "wasted of all",
    "seconds",
)


def rows(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """One row a planner and order, under ``HEADERS``; what is not known is ``?``."""
    for one in document.planners:
        found = one.fragmentation
        yield (
            f"{one.planner} {one.version}".strip(),
            one.order or "",
            _outcome(one),
            f"{one.admitted} of {document.asked}",
            f"{one.gangs} of {document.gangs}",
            f"{one.used} of {one.devices}",
            "?" if found is None else f"{found.of_free:.1%}",
            "?" if found is None else f"{found.of_all:.1%}",
            duration(seconds[one.label]),
        )


def _outcome(one: PlannerAnswer) -> str:
    return one.outcome or ("" if one.decided else "out of time")


def figures(document: PlanComparisonDocument, seconds: Mapping[str, float]) -> list[tuple[object, ...]]:
    """The same as numbers, under ``FRAME``."""
    return [
        (
            one.planner,
            one.order,
            one.outcome,
            one.admitted,
            document.asked,
            one.gangs,
            one.used,
            one.devices,
            *_fragmentation(one),
            seconds[one.label],
        )
        for one in document.planners
    ]


def _fragmentation(one: PlannerAnswer) -> tuple[float | None, ...]:
    found = one.fragmentation
    return (None,) * 4 if found is None else (found.free, found.wasted, found.of_free, found.of_all)


def summary(document: PlanComparisonDocument) -> str:
    """One line: how many units ``plan`` admits, and how many the best of the others does."""
    plan = next((one for one in document.planners if one.planner == PLAN), None)
    best = max((one for one in document.planners if one is not plan), key=lambda one: one.admitted, default=None)
    told = [] if plan is None else [f"plan admits {plan.admitted} of {document.asked} units"]
    if best is not None:
        head = "the best of the others is" if told else "the best is"
        told.append(f"{head} {best.label} with {best.admitted}")
    return ", ".join(told)

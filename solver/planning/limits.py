"""What a search for a plan may spend, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from .plan import Plan


def is_past(deadline: float | None) -> bool:
    """Whether a reading of ``time.monotonic`` has been passed; None never is."""
    return deadline is not None and monotonic() > deadline


def is_close(value: float, bound: float | None, gap: float) -> bool:
    """Whether a value is no farther from its bound than the gap, which is relative to the bound; None is unknown."""
    return bound is not None and abs(bound - value) <= gap * abs(bound)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """When to stop: ``gap`` is relative and counts as proven; ``rounds`` of pricing for each stage; the clock."""

    gap: float = 0.001
    rounds: int = 400
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage reached, what no plan exceeds (None: unknown), and whether the gap between is small enough."""

    name: str
    value: int
    bound: int | None
    proven: bool
    rounds: int


@dataclass(frozen=True, slots=True)
class PlanCore:
    """A plan with the results of all stages that were begun; ``columns`` is how many were generated.

    ``interrupted``: Ctrl-C ended it, and the plan is the best so far.
    """

    plan: Plan
    stages: tuple[StageResult, ...]
    columns: int
    interrupted: bool = False

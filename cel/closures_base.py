"""What all closures have in common.

A closure computes one node of the syntax tree from a *frame*: a list whose first item is the meter of the
evaluation, or None where nothing is counted, and whose others hold the variables, each in a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .cost_meter import Meter
from .values import Value

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Value]

ABSENT: Final = object()
"""Stands in a frame for a variable that got no value."""


def charge(frame: Frame, units: int) -> None:
    """Spend cost units; ``CelCostError`` or ``CelDeadlineError`` when there are no more."""
    meter: Meter = frame[0]
    meter.cost += units
    if meter.cost > meter.checkpoint:
        meter.check()


def charged(run: Closure, units: int) -> Closure:
    """The closure, spending units also when it fails."""

    def charged_run(frame: Frame) -> Value:
        charge(frame, units)
        return run(frame)

    return charged_run

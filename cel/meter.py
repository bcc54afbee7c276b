"""The budget of one evaluation: cost units, and a deadline that long-running functions can ask for."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from .errors import CelCostError, CelDeadlineError

T = TypeVar("T")
COST_LIMIT = 1_000_000


class Meter:
    """What one evaluation has spent.

    The code of an expression adds to ``cost`` and calls ``check`` when that passes ``checkpoint``: neither the
    limit nor the clock costs anything between two checkpoints.
    """

    __slots__ = ("checkpoint", "cost", "deadline", "limit", "patterns", "steps")

    def __init__(self, limit: int = COST_LIMIT, deadline: float | None = None) -> None:
        self.limit = limit
        self.deadline = deadline
        self.restart()

    def restart(self) -> None:
        """Forget what was spent."""
        self.cost = self.steps = 0
        # Compiled patterns of this evaluation.
        self.patterns: dict[str, Any] = {}
        self.checkpoint = self.limit if self.deadline is None else min(self.limit, _STRIDE)

    def check(self) -> None:
        """Raise ``CelCostError`` or ``CelDeadlineError`` when the limit or the deadline is passed; else move on."""
        check_size(self.cost, self.limit)
        self.check_deadline()
        self.checkpoint = min(self.limit, self.cost + _STRIDE)

    def check_deadline(self) -> None:
        """Raise ``CelDeadlineError`` when the deadline has passed."""
        if self.deadline is not None and monotonic() > self.deadline:
            raise CelDeadlineError("operation interrupted")


# Cost units between two looks at the clock: 4 microseconds a unit at worst.
_STRIDE = 2_000


class _CurrentMeter(threading.local):
    meter: Meter | None = None


current_meter = _CurrentMeter()


def tick(steps: int) -> None:
    """Tell the running evaluation that a function has done so many steps of work its cost does not show.

    A step takes about a microsecond. To be called every thousand steps or so by functions whose work may grow faster
    than their cost. Raises ``CelDeadlineError`` when the deadline has passed, ``CelCostError`` when no deadline ends
    absurd work.
    """
    meter = current_meter.meter
    if meter is None:
        return
    meter.steps += steps
    check_size(meter.steps, MOST_STEPS)
    meter.check_deadline()


def check_size(size: int, most: int) -> None:
    """``CelCostError`` for work beyond the limit, or for a value so large that nothing could be done with it."""
    if size > most:
        raise CelCostError("operation cancelled: actual cost limit exceeded")


def ticking(values: Iterable[T], pace: int | None = None) -> Iterator[T]:
    """The values, with a tick at every ``pace``: a thousand or so."""
    pace = pace or PACE
    for number, value in enumerate(values, 1):
        if number % pace == 0:
            tick(pace)
        yield value


@contextmanager
def metered_work(deadline: float | None = None) -> Iterator[Meter]:
    """Count the work of all that ticks, and end it at a deadline, or at that of the work around, if that is earlier.

    Yields what counts it. Raises what ``tick`` raises.
    """
    outer = current_meter.meter
    if outer is not None and outer.deadline is not None:
        deadline = outer.deadline if deadline is None else min(deadline, outer.deadline)
    meter = current_meter.meter = Meter(deadline=deadline)
    try:
        yield meter
    finally:
        current_meter.meter = outer


MOST_STEPS = 1_500_000
"""About a second of work beyond what the cost shows."""
PACE = 1024
"""How many steps pass between two ticks."""

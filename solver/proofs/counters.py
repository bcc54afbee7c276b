"""Counters of partitioned devices that cannot suffice (CTR-2)."""

from __future__ import annotations

from collections.abc import Hashable

from ...problem.justification import Justification
from ...problem.order import giving_pools
from ...problem.records import Amounts
from .exhausted import Told, exhausted
from .rows import Overdraft, Rows
from .tally import Tally, members


def overdrawn_counters(tally: Tally) -> Justification | None:
    """The partitions that the requests take draw more from counter sets than is left of them."""
    if not tally.problem.counters.consumption:
        return None
    return exhausted(tally, tally.once("counters", _rows), Told("counters", "counters", _where))


def _rows(tally: Tally) -> Rows:
    """Counters, but for pools where some device gives instead of taking: order decides there."""
    problem = tally.problem
    counters, giving = problem.counters, giving_pools(problem)

    def draws(_option: int, device: int) -> Amounts:
        drawn = counters.consumption.get(device, ())
        # Further shares of a device draw nothing, and one share may have been taken by another request (CTR-3).
        idle = not drawn or device in problem.shared or counters.pool_of_row[drawn[0][0]] in giving
        return () if idle else drawn

    def place(row: int) -> Hashable:
        return counters.pool_of_row[row], counters.names[row][0]

    return Rows(tally.in_use.available, lambda row: counters.names[row][1], place, draws, lambda _option: None)


def _where(tally: Tally, found: Overdraft) -> str:
    counters = tally.problem.counters
    sets = {(counters.pool_of_row[row], counters.names[row][0]) for row in members(found.rows)}
    where = f"counter set {next(iter(sets))[1]}" if len(sets) == 1 else f"{len(sets)} counter sets"
    return f"counter {found.name} of {where}"

"""Capacities of shared devices that cannot suffice (CAP-6)."""

from __future__ import annotations

from collections.abc import Hashable

from ...problem.justification import Justification
from ...problem.records import Amounts
from .exhausted import Told, exhausted
from .rows import Overdraft, Rows
from .tally import Tally
from .wording import plural


def consumed_capacity(tally: Tally) -> Justification | None:
    """The requests consume more of the shared devices' capacities than is left of them."""
    if not tally.shared or not tally.problem.capacities.rows:
        return None
    return exhausted(tally, tally.once("capacity", _rows), Told("capacity", "capacities", _where))


def _rows(tally: Tally) -> Rows:
    """Capacities of shared devices; those of a dedicated one are tested, not consumed (CAP-7)."""
    problem = tally.problem
    capacities, consumed = problem.capacities, tally.in_use.consumed
    device_of = {row: device for device, rows in capacities.rows.items() for row in rows}
    left = [total - consumed.get(row, 0) for row, total in enumerate(capacities.totals)]

    def draws(option: int, device: int) -> Amounts:
        return problem.demands[option].amounts.get(device, ()) if device in problem.shared else ()

    def same(option: int) -> Hashable:
        return frozenset(problem.demands[option].amounts.items())

    return Rows(left, capacities.names.__getitem__, device_of.__getitem__, draws, same)


def _where(tally: Tally, found: Overdraft) -> str:
    capacities = tally.problem.capacities.rows
    devices = sum(1 for rows in capacities.values() if any(found.rows >> row & 1 for row in rows))
    return f"capacity {found.name} of {plural(devices, 'shared device')}"

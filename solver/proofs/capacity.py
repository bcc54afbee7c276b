"""Capacities of shared devices that cannot suffice (CAP-6)."""

from __future__ import annotations

from collections.abc import Hashable

from ...problem.justification import Justification
from ...problem.records import Amounts
from .rows import Crowd, Overdraft, Rows, crowd, overdraft, profiles
from .tally import Tally
from .wording import amount, justified, plural, verb, who


def consumed_capacity(tally: Tally) -> Justification | None:
    """The requests consume more of the shared devices' capacities than is left of them."""
    if not tally.shared or not tally.problem.capacities.rows:
        return None
    rows = _rows(tally)
    asked = profiles(tally, rows)
    drawn = overdraft(rows, asked)
    if drawn is not None:
        return justified("capacity", _overdrawn(tally, drawn), tally, drawn.needs)
    found = crowd(tally, rows, asked)
    return None if found is None else justified("capacity", _crowded(tally, found), tally, found.needs)


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


def _overdrawn(tally: Tally, found: Overdraft) -> str:
    capacities = tally.problem.capacities.rows
    devices = sum(1 for rows in capacities.values() if any(found.rows >> row & 1 for row in rows))
    needed = f"{who(tally, found.needs)} {verb(found.needs, 'needs', 'need')} at least {amount(found.needed)}"
    return f"capacity {found.name} of {plural(devices, 'shared device')}: {needed}, {amount(found.left)} left"


def _crowded(tally: Tally, found: Crowd) -> str:
    needed = f"{who(tally, found.needs)} {verb(found.needs, 'needs', 'need')} {plural(found.needed, 'device')}"
    return f"{needed}, what is left of the capacities has room for {found.room}"

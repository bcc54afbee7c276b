"""How many devices fall where: for each demand, the first test that each device of a node fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ..problem.order import draws_anew
from ..problem.records import Demand, InUse, Problem, compatible


@dataclass(frozen=True, slots=True)
class Fallen:
    """So many devices fail this filter first; ``detail`` says more, e.g. which taint."""

    filter: str
    detail: str
    devices: int


@dataclass(frozen=True, slots=True)
class DemandTable:
    """What becomes of the devices when one demand looks at them, each alone."""

    claim: int
    request: str
    subrequest: str
    needed: int
    devices: int
    fitting: int
    fallen: tuple[Fallen, ...]

    @property
    def label(self) -> str:
        """The name in results: ``request`` or ``request/subrequest``."""
        return f"{self.request}/{self.subrequest}" if self.subrequest else self.request

    @property
    def is_short(self) -> bool:
        """Fewer devices fit than are needed, so that no search is needed to say no."""
        return self.fitting < self.needed

    def __str__(self) -> str:
        """One line, as in "64 devices: 40 class selector, 20 in use, 4 taint dedicated=ml:NoSchedule"."""
        parts = [" ".join(filter(None, (str(row.devices), words(row.filter), row.detail))) for row in self.fallen]
        total = f"{self.devices} device{'' if self.devices == 1 else 's'}"
        return ": ".join(filter(None, (total, ", ".join(parts))))


def words(filter_id: str) -> str:
    """Write a filter's id as words: ``classSelector`` is "class selector"."""
    return re.sub("[A-Z]", lambda letter: " " + letter[0].lower(), filter_id)


# Filters that say which devices are meant; their details differ without telling more than the name.
SELECTING = frozenset({"classSelector", "requestSelector"})


def demand_tables(problem: Problem, in_use: InUse) -> tuple[DemandTable, ...]:
    """Tables of all demands, in order."""
    checks = _Checks(problem, in_use)
    known: dict[Hashable, tuple[int, tuple[Fallen, ...]]] = {}
    return tuple(_table(demand, problem, checks, known) for demand in problem.demands)


def _table(
    demand: Demand, problem: Problem, checks: _Checks, known: dict[Hashable, tuple[int, tuple[Fallen, ...]]]
) -> DemandTable:
    # Demands that are alike share these objects.
    alike = id(demand.failures), id(demand.amounts), demand.admin
    if alike not in known:
        known[alike] = _fallen(demand, problem, checks)
    fitting, fallen = known[alike]
    # All is never content with nothing (SRCH-6).
    needed = max(demand.count, 1) if demand.all_devices else demand.count
    return DemandTable(demand.claim, demand.request, demand.subrequest, needed, problem.size, fitting, fallen)


def _fallen(demand: Demand, problem: Problem, checks: _Checks) -> tuple[int, tuple[Fallen, ...]]:
    """Count the devices that pass all tests, and those that fall at each."""
    firsts = Counter(checks.first(demand, device) for device in range(problem.size))
    fitting = firsts.pop(None, 0)
    rows = sorted(((count, *key) for key, count in firsts.items() if key), key=lambda row: (-row[0], row[1:]))
    return fitting, tuple(Fallen(filter_, detail, count) for count, filter_, detail in rows)


class _Checks:
    """What is in use, asked about one device at a time."""

    def __init__(self, problem: Problem, in_use: InUse) -> None:
        self._problem = problem
        self._in_use = in_use
        self._short_pools = {
            pool
            for pool, available in zip(problem.counters.pool_of_row, in_use.available, strict=True)
            if available < 0
        }
        self._dynamic: tuple[tuple[str, Callable[[Demand, int], bool]], ...] = (
            ("inUse", self._is_held),
            ("capacityInUse", self._lacks_capacity),
            ("counters", self._lacks_counters),
            ("compatibilityGroups", self._is_incompatible),
        )

    def first(self, demand: Demand, device: int) -> tuple[str, str] | None:
        """Find the first test that the device fails: who may have it, who has it, and then the rest."""
        failed = demand.failures[device]
        selecting = [failure for failure in failed if failure.filter in SELECTING]
        if selecting:
            return selecting[0].filter, "error" if selecting[0].error else ""
        if self._is_held(demand, device):
            return "inUse", ""
        if failed:
            return failed[0].filter, failed[0].detail
        return next(((name, "") for name, check in self._dynamic if check(demand, device)), None)

    def _is_held(self, demand: Demand, device: int) -> bool:
        return not demand.admin and device in self._in_use.dedicated

    def _lacks_capacity(self, demand: Demand, device: int) -> bool:
        consumed, totals = self._in_use.consumed, self._problem.capacities.totals
        return any(consumed.get(row, 0) + amount > totals[row] for row, amount in demand.amounts.get(device, ()))

    def _lacks_counters(self, demand: Demand, device: int) -> bool:
        counters, available = self._problem.counters, self._in_use.available
        amounts = counters.consumption.get(device, ())
        if not amounts or not draws_anew(self._problem, self._in_use, device):
            return False
        if counters.pool_of_row[amounts[0][0]] in self._short_pools:
            return True
        return any(amount > available[row] for row, amount in amounts)

    def _is_incompatible(self, demand: Demand, device: int) -> bool:
        membership = self._problem.groups.membership.get(device, ())
        if not draws_anew(self._problem, self._in_use, device):
            return False
        return any(not compatible(self._in_use.groups[place], groups) for place, groups in membership)

"""A Problem for those who do not visit devices in the scheduler's order.

Whether a search runs into an error depends on what it tries before. An engine that does not try the same cannot run
into the same errors, so that its answer must not depend on any: a device whose test goes wrong is never used, and a
device that an All request cannot add makes only this choice impossible.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from .records import Demand, Problem


def lenient(problem: Problem) -> Problem:
    """Leave out the traps, and make a constraint that All breaks an ordinary failure."""
    if any(demand.traps for demand in problem.demands):
        problem = replace(problem, demands=tuple(map(_without_traps, problem.demands)))
    return replace(problem, fatal_constraints=False)


def without(problem: Problem, devices: Collection[int]) -> Problem:
    """Leave out devices; an All demand that lists one of them cannot be served."""
    return replace(problem, demands=tuple(_without(demand, devices) for demand in problem.demands))


def _without(demand: Demand, devices: Collection[int]) -> Demand:
    gone = frozenset(device for device in demand.candidates if device in devices)
    if demand.all_devices:
        return replace(demand, barred=demand.barred | gone)
    return replace(demand, candidates=tuple(device for device in demand.candidates if device not in gone))


def _without_traps(demand: Demand) -> Demand:
    kept = tuple(device for device in demand.candidates if device not in demand.traps)
    return replace(demand, candidates=kept, traps={})

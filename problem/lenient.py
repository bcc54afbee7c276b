"""A Problem for those who do not visit devices in the scheduler's order.

Whether a search runs into an error depends on what it tries before. An engine that does not try the same cannot run
into the same errors, so that its answer must not depend on any: a device whose test goes wrong is never used, and a
device that an All request cannot add makes only this choice impossible.
"""

from __future__ import annotations

from dataclasses import replace

from .records import Demand, Problem


def lenient(problem: Problem) -> Problem:
    """Leave out the traps, and make a constraint that All breaks an ordinary failure."""
    if any(demand.traps for demand in problem.demands):
        problem = replace(problem, demands=tuple(map(_without_traps, problem.demands)))
    return replace(problem, fatal_constraints=False)


def _without_traps(demand: Demand) -> Demand:
    kept = tuple(device for device in demand.candidates if device not in demand.traps)
    return replace(demand, candidates=kept, traps={})

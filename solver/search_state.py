"""What changes during a search: devices held, shares, and the trackers of every joint rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..problem.records import Demand, InUse, Problem
from ..problem.token_condition import pruning
from .state_capacity import CapacityState, CapacityTracker
from .state_constraints import ConstraintTracker, track_constraint
from .state_counters import CounterTracker
from .state_groups import GroupTracker


class Tracker(Protocol):
    """A joint rule while devices come and go; ``undo`` restores exactly the state before ``add`` (CON-10, CTR-6)."""

    # Under All a refusal is an error of the whole attempt, not of the (sub)request (SRCH-7).
    fatal_under_all: bool

    def add(self, device: int) -> bool:
        """Take the device if the rule allows it; else change nothing."""
        raise NotImplementedError

    def undo(self, device: int) -> None:
        """Give back the device taken last."""
        raise NotImplementedError


class State:
    """The state shared by all demands of a search.

    ``held`` has for each device the bits of the claims that picked it, and one more if it was in use before (DEV-1).
    """

    def __init__(self, problem: Problem, in_use: InUse) -> None:
        self.in_use_bit = 1 << len(problem.claims)
        self.held = [0] * problem.size
        for device in in_use.dedicated:
            self.held[device] = self.in_use_bit
        self.shares = [in_use.shares.get(device, 0) for device in range(problem.size)]
        self.shared = problem.shared
        self.permutations = problem.permutations
        self.fatal_constraints = problem.fatal_constraints
        self.taken = [0] * len(problem.claims)
        self._problem = problem
        self._capacity = CapacityState(problem.capacities, problem.shared, in_use)
        self._counters = CounterTracker(problem.counters, problem.shared, self.shares, in_use)
        self._groups = GroupTracker(problem.groups, problem.shared, self.shares, in_use)
        self._constraints = [track_constraint(constraint) for constraint in problem.constraints]
        # What spans claims and is monotonic need not wait until all is complete.
        self._spanning = [track_constraint(one) for relation in problem.relations if (one := pruning(relation))]

    def trackers(self, demand: Demand) -> tuple[Tracker, ...]:
        """Return the rules that can refuse a candidate of this demand, in the order asked (DEV-6, 8, 11, 12)."""
        capacity = self._capacity_trackers(demand)
        placed = [*self._placement_trackers(demand), *self._constraint_trackers(demand)]
        return (*placed, *capacity) if demand.all_devices else (*capacity, *placed)

    def _capacity_trackers(self, demand: Demand) -> list[Tracker]:
        return [CapacityTracker(self._capacity, demand.amounts)] if demand.amounts else []

    def _placement_trackers(self, demand: Demand) -> Iterator[Tracker]:
        if not self._problem.groups.membership.keys().isdisjoint(demand.candidates):
            yield self._groups
        if not self._problem.counters.consumption.keys().isdisjoint(demand.candidates):
            yield self._counters

    def _constraint_trackers(self, demand: Demand) -> list[ConstraintTracker]:
        spanning = (trackers[demand.index] for trackers in self._spanning if demand.index in trackers)
        return [*(self._constraints[index][demand.index] for index in demand.constraints), *spanning]

"""What changes during a search: the devices held, the shares, and one tracker for each joint rule.

A tracker follows a rule while devices come and go, and undoing restores exactly the state before (CON-10, CTR-6): the
claim's constraints (section 13), shared counters (CTR-2, CTR-3), consumed capacity of shared devices (CAP-6 to CAP-8),
and compatibility groups of the devices drawn from one counter set (section 12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...problem import problem as problem_records
from ...problem.conditions import pruning_constraint


class SearchState:
    """The state shared by all demands of a search.

    ``held`` has for each device the bits of the claims that picked it, and one more if it was in use before (DEV-1).
    """

    def __init__(self, problem: problem_records.Problem, in_use: problem_records.InUse) -> None:
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
        self._spanning = [
            track_constraint(one) for relation in problem.relations if (one := pruning_constraint(relation))
        ]

    def trackers(self, demand: problem_records.Demand) -> tuple[Tracker, ...]:
        """Return the rules that can refuse a candidate of this demand, in their order (DEV-6, 8, 11, 12)."""
        capacity = [CapacityTracker(self._capacity, demand.amounts)] if demand.amounts else []
        placed: list[Tracker] = []
        if not self._problem.groups.membership.keys().isdisjoint(demand.candidates):
            placed.append(self._groups)
        if not self._problem.counters.consumption.keys().isdisjoint(demand.candidates):
            placed.append(self._counters)
        placed += [self._constraints[index][demand.index] for index in demand.constraints]
        placed += [trackers[demand.index] for trackers in self._spanning if demand.index in trackers]
        return (*placed, *capacity) if demand.all_devices else (*capacity, *placed)


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


class ConstraintTracker:
    """One constraint as one demand sees it; demands that share a constraint share its stack.

    There is a tracker for each demand, because derived attributes give a device different values (CON-12).
    """

    __slots__ = ("claim", "errors", "min_size", "stack", "tokens")
    fatal_under_all = True

    def __init__(self, stack: list[int], constraint: problem_records.Constraint, demand: int) -> None:
        self.stack = stack
        self.tokens = constraint.tokens[demand]
        self.errors = constraint.errors.get(demand, {})
        self.claim = constraint.claim
        self.min_size = constraint.min_size

    def add(self, device: int) -> bool:
        """Take the device if the entry allows it beside those taken before; not without the attribute (CON-3)."""
        token = self.tokens.get(device)
        if token is not None:
            return self._admit(token)
        if device in self.errors:
            raise problem_records.trap_error(self.errors[device], self.claim, device)
        return False

    def undo(self, device: int) -> None:
        """Forget the device taken last."""
        self.stack.pop()

    def _admit(self, token: int) -> bool:
        raise NotImplementedError


class MatchScalar(ConstraintTracker):
    """All values equal the first one (CON-4)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if stack and (stack[0] != token or token < 0):
            return False
        stack.append(token)
        return True


class DistinctScalar(ConstraintTracker):
    """No value twice (CON-5, CON-6)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if token in stack or (stack and token < 0):
            return False
        stack.append(token)
        return True


class MatchSets(ConstraintTracker):
    """The intersection of all value sets stays non-empty (CON-7), or has the requested size (SEM-4)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        if stack:
            token &= stack[-1]
        if token.bit_count() < self.min_size:
            return False
        stack.append(token)
        return True


class DistinctSets(ConstraintTracker):
    """The value sets are pairwise disjoint, and none is empty (CON-7, CON-8)."""

    __slots__ = ()

    def _admit(self, token: int) -> bool:
        stack = self.stack
        taken = stack[-1] if stack else 0
        if not token or token & taken:
            return False
        stack.append(token | taken)
        return True


_TRACKERS: dict[tuple[str, bool], type[ConstraintTracker]] = {
    ("matchAttribute", False): MatchScalar,
    ("matchAttribute", True): MatchSets,
    ("distinctAttribute", False): DistinctScalar,
    ("distinctAttribute", True): DistinctSets,
}


def track_constraint(constraint: problem_records.Constraint) -> dict[int, ConstraintTracker]:
    """Trackers with a common stack, by demand."""
    tracker = _TRACKERS[constraint.kind, constraint.sets]
    stack: list[int] = []
    return {demand: tracker(stack, constraint, demand) for demand in constraint.tokens}


class CounterTracker:
    """What this attempt draws from every counter row, and in which pools a row is overdrawn."""

    __slots__ = ("available", "consumption", "overdrawn", "pool_of_row", "shared", "shares", "used")
    fatal_under_all = False

    def __init__(
        self,
        counters: problem_records.Counters,
        shared: frozenset[int],
        shares: Sequence[int],
        in_use: problem_records.InUse,
    ) -> None:
        self.consumption = counters.consumption
        self.pool_of_row = counters.pool_of_row
        self.available = in_use.available
        self.used = [0] * len(counters.names)
        self.shared = shared
        self.shares = shares
        self.overdrawn: dict[int, int] = dict.fromkeys(counters.pool_of_row, 0)
        for row, pool in enumerate(counters.pool_of_row):
            self.overdrawn[pool] += in_use.available[row] < 0

    def add(self, device: int) -> bool:
        """Draw the device's counters; one overdrawn row anywhere in its pool is a no (CTR-2)."""
        amounts = self.consumption.get(device)
        if amounts is None or (device in self.shared and self.shares[device]):
            return True
        self._draw(amounts, 1)
        if self.overdrawn[self.pool_of_row[amounts[0][0]]]:
            self._draw(amounts, -1)
            return False
        return True

    def undo(self, device: int) -> None:
        """Give the device's counters back, unless another share still holds them."""
        amounts = self.consumption.get(device)
        if amounts is not None and not (device in self.shared and self.shares[device]):
            self._draw(amounts, -1)

    def _draw(self, amounts: Sequence[tuple[int, int]], sign: int) -> None:
        used, available, overdrawn = self.used, self.available, self.overdrawn
        for row, amount in amounts:
            before = used[row]
            after = used[row] = before + sign * amount
            limit = available[row]
            if (before > limit) != (after > limit):
                overdrawn[self.pool_of_row[row]] += 1 if after > limit else -1


class CapacityState:
    """What is consumed of every capacity row, by the cluster and by this attempt."""

    __slots__ = ("consumed", "shared", "totals")

    def __init__(
        self, capacities: problem_records.Capacities, shared: frozenset[int], in_use: problem_records.InUse
    ) -> None:
        self.totals = capacities.totals
        self.shared = shared
        self.consumed = [in_use.consumed.get(row, 0) for row in range(len(capacities.totals))]


class CapacityTracker:
    """The capacities as one demand draws on them."""

    __slots__ = ("amounts", "state")
    fatal_under_all = False

    def __init__(self, state: CapacityState, amounts: Mapping[int, problem_records.Amounts]) -> None:
        self.state = state
        self.amounts = amounts

    def add(self, device: int) -> bool:
        """Consume the demand's amounts if they fit; a dedicated device is only tested (CAP-7)."""
        state = self.state
        amounts = self.amounts.get(device, ())
        consumed, totals = state.consumed, state.totals
        for row, amount in amounts:
            if consumed[row] + amount > totals[row]:
                return False
        if device in state.shared:
            for row, amount in amounts:
                consumed[row] += amount
        return True

    def undo(self, device: int) -> None:
        """Give back what ``add`` consumed."""
        if device in self.state.shared:
            consumed = self.state.consumed
            for row, amount in self.amounts.get(device, ()):
                consumed[row] -= amount


class GroupTracker:
    """The running intersection of the compatibility groups of every counter set.

    The state of a counter set is None while nothing draws from it, 0 if only devices without groups do, and else a bit
    set: bit 0 says "grouped", the others are the groups that all devices have in common.
    """

    __slots__ = ("history", "membership", "shared", "shares", "state")
    fatal_under_all = False

    def __init__(
        self,
        groups: problem_records.CompatibilityGroups,
        shared: frozenset[int],
        shares: Sequence[int],
        in_use: problem_records.InUse,
    ) -> None:
        self.membership = groups.membership
        self.state: list[int | None] = list(in_use.groups)
        self.shared = shared
        self.shares = shares
        self.history: list[tuple[int, int | None]] = []

    def add(self, device: int) -> bool:
        """Place the device on all its counter sets; a further share is not judged again (GRP-4)."""
        membership = self.membership.get(device, ())
        if device in self.shared and self.shares[device]:
            return True
        state = self.state
        for counter_set, groups in membership:
            if not problem_records.groups_compatible(state[counter_set], groups):
                return False
        for counter_set, groups in membership:
            self.history.append((counter_set, state[counter_set]))
            state[counter_set] = problem_records.groups_after_joining(state[counter_set], groups)
        return True

    def undo(self, device: int) -> None:
        """Restore the states before the device came."""
        if device in self.shared and self.shares[device]:
            return
        for _ in self.membership.get(device, ()):
            counter_set, before = self.history.pop()
            self.state[counter_set] = before

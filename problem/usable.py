"""Which devices each demand could take, looked at alone, beside what is in use.

Everything that holds of one device whatever else is chosen is decided here once, so that the proofs and the model
speak of joint rules only. A candidate that is a trap is not usable: who cannot replay the order of a search must not
depend on an error that only this order meets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from .order import draws_anew, giving_pools
from .records import Constraint, Demand, InUse, Problem, compatible

Test = Callable[[Demand, int], bool]


def usable(problem: Problem, in_use: InUse) -> tuple[tuple[int, ...], ...]:
    """List the devices that each demand could take, in visiting order.

    An All demand takes every device of its list or nothing: if one of them is not usable, none is.
    """
    tests = _tests(problem, in_use)
    known: dict[Hashable, tuple[int, ...]] = {}
    found: list[tuple[int, ...]] = []
    for demand in problem.demands:
        # Demands that are alike share these objects.
        values = (id(problem.constraints[number].tokens[demand.index]) for number in demand.constraints)
        alike = id(demand.candidates), demand.all_devices, id(demand.amounts), demand.admin, demand.barred, *values
        if alike not in known:
            known[alike] = _usable(demand, tests)
        found.append(known[alike])
    return tuple(found)


def _usable(demand: Demand, tests: tuple[Test, ...]) -> tuple[int, ...]:
    found = tuple(
        device
        for device in demand.candidates
        if device not in demand.traps and device not in demand.barred and all(test(demand, device) for test in tests)
    )
    return () if demand.all_devices and len(found) < demand.count else found


def _tests(problem: Problem, in_use: InUse) -> tuple[Test, ...]:
    """List the tests that can fail at all for this problem."""
    tests: list[Test] = []
    if in_use.dedicated:
        tests.append(lambda demand, device: demand.admin or device not in in_use.dedicated)
    if problem.capacities.rows:
        tests.append(_capacity_test(problem, in_use))
    if problem.counters.consumption:
        tests.append(_counter_test(problem, in_use))
    if any(state is not None for state in in_use.groups):
        tests.append(_group_test(problem, in_use))
    if problem.constraints:
        tests.append(lambda demand, device: _has_values(problem.constraints, demand, device))
    return tuple(tests)


def _capacity_test(problem: Problem, in_use: InUse) -> Test:
    """CAP-6 for one allocation alone."""
    consumed, totals = in_use.consumed, problem.capacities.totals
    return lambda demand, device: all(
        consumed.get(row, 0) + amount <= totals[row] for row, amount in demand.amounts.get(device, ())
    )


def _counter_test(problem: Problem, in_use: InUse) -> Test:
    """CTR-2 for one device alone: a row that is overdrawn already blocks its whole pool."""
    counters, available = problem.counters, in_use.available
    giving = giving_pools(problem)
    blocked = {pool for pool, left in zip(counters.pool_of_row, available, strict=True) if left < 0}

    def test(_demand: Demand, device: int) -> bool:
        amounts = counters.consumption.get(device, ())
        if not amounts or not draws_anew(problem, in_use, device):
            return True
        pool = counters.pool_of_row[amounts[0][0]]
        if pool in giving:
            # Devices before it may make room.
            return True
        return pool not in blocked and all(amount <= available[row] for row, amount in amounts)

    return test


def _group_test(problem: Problem, in_use: InUse) -> Test:
    """GRP-3 against the devices that are in use."""
    membership = problem.groups.membership

    def test(_demand: Demand, device: int) -> bool:
        if not draws_anew(problem, in_use, device):
            return True
        return all(compatible(in_use.groups[place], groups) for place, groups in membership.get(device, ()))

    return test


def _has_values(constraints: tuple[Constraint, ...], demand: Demand, device: int) -> bool:
    """CON-3, and CON-8: a set without members matches nothing and is distinct from nothing."""
    for number in demand.constraints:
        constraint = constraints[number]
        token = constraint.tokens[demand.index].get(device)
        if token is None or (constraint.sets and not token):
            return False
    return True

"""Trackers alone: every undo is exact (CON-10, CTR-6), whatever came between."""

from random import Random

import pytest

from drasat.problem.problem import (
    Capacities,
    CompatibilityGroups,
    Constraint,
    Counters,
    InUse,
    groups_after_joining,
    groups_compatible,
)
from drasat.solver.engines.trackers import (
    CapacityState,
    CapacityTracker,
    CounterTracker,
    GroupTracker,
    track_constraint,
)

DEVICES = range(6)
SHARED = frozenset({4, 5})


def counters(random, shares):
    consumption = {device: ((random.randrange(3), random.randrange(-1, 4)),) for device in DEVICES}
    limits = tuple(random.randrange(-1, 6) for _ in range(3))
    records = Counters((("s", "a"), ("s", "b"), ("t", "a")), (0, 0, 1), consumption)
    return CounterTracker(records, SHARED, shares, InUse(available=limits))


def groups(random, shares):
    membership = {device: ((random.randrange(2), random.choice((0, 3, 5, 7))),) for device in DEVICES}
    return GroupTracker(CompatibilityGroups(((0, "s"), (0, "t")), membership), SHARED, shares, InUse(groups=(None, 3)))


def capacity(random, _shares):
    records = Capacities(tuple("cccccc"), tuple(random.randrange(8) for _ in DEVICES), {d: (d,) for d in DEVICES})
    amounts = {device: ((device, random.randrange(5)),) for device in DEVICES}
    return CapacityTracker(CapacityState(records, SHARED, InUse(consumed={4: 1})), amounts)


def constraint(kind, sets, min_size=1):
    def build(random, _shares):
        tokens = {
            0: {device: random.randrange(-1 if not sets else 0, 8) for device in DEVICES if random.random() < 0.9}
        }
        return track_constraint(Constraint(0, kind, "d/a", sets, tokens, min_size=min_size))[0]

    return build


def state_of(tracker):
    parts = {
        CounterTracker: lambda: (tracker.used, tracker.overdrawn),
        GroupTracker: lambda: (tracker.state, tracker.history),
        CapacityTracker: lambda: tracker.state.consumed,
    }
    return repr(parts[type(tracker)]() if type(tracker) in parts else tracker.stack)


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(counters, id="counters-CTR-6"),
        pytest.param(groups, id="groups-GRP-2"),
        pytest.param(capacity, id="capacity-CAP-6"),
        pytest.param(constraint("matchAttribute", False), id="match-CON-10"),
        pytest.param(constraint("matchAttribute", True), id="match-sets-CON-10"),
        pytest.param(constraint("matchAttribute", True, 2), id="match-several-SEM-4"),
        pytest.param(constraint("distinctAttribute", False), id="distinct-CON-10"),
        pytest.param(constraint("distinctAttribute", True), id="distinct-sets-CON-10"),
    ],
)
def test_undo_restores_the_state_before(build):
    for seed in range(200):
        random = Random(seed)
        shares = [0, 0, 0, 0, 0, 1]
        tracker = build(random, shares)
        history = []
        for _ in range(40):
            before = state_of(tracker)
            if history and random.random() < 0.4:
                device, expected = history.pop()
                shares[device] -= device in SHARED
                tracker.undo(device)
                assert state_of(tracker) == expected
                continue
            device = random.choice(DEVICES)
            if tracker.add(device):
                history.append((device, before))
                shares[device] += device in SHARED
            else:
                assert state_of(tracker) == before


@pytest.mark.parametrize(
    ("state", "device", "fits", "after"),
    [
        pytest.param(None, 0, True, 0, id="GRP-2-first-without"),
        pytest.param(None, 0b11, True, 0b11, id="GRP-2-first-with"),
        pytest.param(0, 0, True, 0, id="GRP-3-none-and-none"),
        pytest.param(0, 0b11, False, None, id="GRP-3-none-and-some"),
        pytest.param(0b11, 0, False, None, id="GRP-3-some-and-none"),
        pytest.param(0b111, 0b011, True, 0b011, id="GRP-3-common"),
        pytest.param(0b101, 0b011, False, None, id="GRP-3-disjoint"),
    ],
)
def test_group_states(state, device, fits, after):
    assert groups_compatible(state, device) is fits
    if fits:
        assert groups_after_joining(state, device) == after


@pytest.mark.parametrize(("first", "second", "fitting"), [(0, 0b11, [0]), (0b11, 0, [0b11, 0b111]), (0b101, 0b011, [])])
def test_what_should_not_be_together_but_is(first, second, fitting):
    """GRP-2: where allocations have mixed devices with and without groups, the first decides, as upstream has it."""
    mixed = groups_after_joining(first, second)
    assert [groups for groups in (0, 0b11, 0b101, 0b111) if groups_compatible(mixed, groups)] == fitting


def test_an_overdrawn_row_blocks_its_pool_only():
    """CTR-2."""
    records = Counters((("s", "a"), ("s", "b"), ("t", "a")), (0, 0, 1), {0: ((1, 1),), 1: ((2, 1),)})
    tracker = CounterTracker(records, frozenset(), [0, 0], InUse(available=(-1, 5, 5)))
    assert not tracker.add(0)
    assert tracker.add(1)

"""Large problems made around a solution, with nothing to spare: no proof may speak against them."""

from random import Random

import pytest
from support.small_problems import DISTINCT, MATCH, UNIT, InUse, ask, either, problem, proven, tie

from drasat.problem.problem import Capacities, Counters

GROUPS, SIZE = 16, 8
DEVICES = GROUPS * SIZE
SHARED = range(DEVICES, DEVICES + 4)


class Planted:
    """Claims that each take some devices of one group, and shares of devices beside the groups."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.free = [list(range(group * SIZE, (group + 1) * SIZE)) for group in range(GROUPS)]
        self.taken, self.shares = [], dict.fromkeys(SHARED, 0)
        claims, claim = [], self.claim()
        while claim:
            claims.append(claim)
            claim = self.claim()
        self.claims = claims

    def claim(self):
        """Devices for each of its requests; None when all are taken."""
        groups = [group for group in self.free if group]
        if not groups:
            return None
        group = self.random.choice(groups)
        count = min(self.random.choice([1, 2, 4]), len(group))
        chosen = self.random.sample(group, count)
        group[:] = [device for device in group if device not in chosen]
        self.taken += chosen
        cut = self.random.randint(1, count)
        return [part for part in (chosen[:cut], chosen[cut:]) if part]

    def problem(self):
        values = [device // SIZE for device in range(DEVICES)]
        serial = [device % SIZE for device in range(DEVICES)]
        claims = [
            [*(self.request(number, devices) for number, devices in enumerate(claim)), self.share()]
            for claim in self.claims
        ]
        names = [[f"r{number}" for number in range(len(claim))] for claim in self.claims]
        ties = [tie(MATCH, values, *names[claim], claim=claim) for claim in range(len(claims))]
        ties += [tie(DISTINCT, serial, *names[claim], claim=claim) for claim in range(0, len(claims), 3)]
        return problem(
            DEVICES + len(SHARED),
            *claims,
            ties=ties,
            shared=frozenset(SHARED),
            counters=self.counters(),
            capacities=self.capacities(),
        )

    def request(self, number, devices):
        more = self.random.sample(range(DEVICES), self.random.choice([0, 3, DEVICES]))
        exact = ask(f"r{number}", len(devices), sorted({*devices, *more}))
        if self.random.random() < 0.8:
            return exact
        return either(f"r{number}", ask("first", len(devices) + 1, devices), exact)

    def share(self):
        """A share of a device, of a size that the same devices give everyone."""
        device, amount = self.random.choice(SHARED), self.random.randint(1, 5)
        self.shares[device] += amount
        return ask("share", 1, SHARED, amounts={one: ((one - DEVICES, amount * UNIT),) for one in SHARED})

    def counters(self):
        self.drawn = {device: (self.random.randint(0, 4), self.random.randint(1, 3)) for device in range(DEVICES)}
        names = tuple((f"set-{group}", name) for group in range(GROUPS) for name in ("a", "b"))
        rows = {
            device: ((device // SIZE * 2, first * UNIT), (device // SIZE * 2 + 1, second * UNIT))
            for device, (first, second) in self.drawn.items()
        }
        return Counters(names, (0,) * len(names), rows)

    def capacities(self):
        rows = {device: (device - DEVICES,) for device in SHARED}
        return Capacities(("memory",) * len(SHARED), tuple(self.shares[device] * UNIT for device in SHARED), rows)

    def left(self):
        """Exactly what the solution draws."""
        amounts = [[0, 0] for _ in range(GROUPS)]
        for device in self.taken:
            for place, amount in enumerate(self.drawn[device]):
                amounts[device // SIZE][place] += amount * UNIT
        return InUse(available=tuple(amount for pair in amounts for amount in pair))


@pytest.mark.parametrize("seed", range(12))
def test_a_problem_with_a_solution_is_never_proven_impossible(seed):
    planted = Planted(seed)
    asked = planted.problem()
    assert len(planted.taken) == DEVICES
    assert proven(asked, planted.left()) is None


@pytest.mark.parametrize("seed", range(4))
def test_one_device_less_is_proven_to_be_too_few(seed):
    planted = Planted(seed)
    asked = planted.problem()
    less = planted.left()
    in_use = InUse(frozenset({planted.taken[0]}), {}, {}, less.available)
    assert proven(asked, in_use) is not None

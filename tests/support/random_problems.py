"""Small random Problems with much that is equal: requests, claims, devices; and with every joint rule."""

from dataclasses import replace
from random import Random

from drasat.problem.problem import (
    Capacities,
    Claim,
    CompatibilityGroups,
    Constraint,
    Counters,
    Demand,
    InUse,
    Problem,
    Request,
)

# Amounts whose rows the solver takes as they are, and bytes that only go by digits.
UNITS = (10**9, 10**9, 10**9, (80 << 30) // 3 * 10**9 + 1)
NAMES = ("cores", "memory")


class Supply:
    """Devices with what they have, and what of it is in use."""

    def __init__(self, rng):
        self.rng, self.size = rng, rng.randint(1, 8)
        self.unit, self.scale = rng.choice(UNITS), rng.choice((1, 3, 3))
        self.devices = range(self.size)
        share = rng.choice((0, 0, 0.3, 0.7))
        self.shared = frozenset(device for device in self.devices if rng.random() < share)
        self.capacities = self._capacities() if rng.random() < 0.35 else Capacities()
        self.counters = self._counters() if rng.random() < 0.45 else Counters()
        self.groups = self._groups() if rng.random() < 0.4 else CompatibilityGroups()

    def amount(self):
        return self.rng.choice((1, 1, 2, 3)) * self.unit

    def _capacities(self):
        names, rows = [], {}
        for device in self.devices:
            own = self.rng.choice(((), NAMES[:1], NAMES))
            if own:
                rows[device] = tuple(range(len(names), len(names) + len(own)))
                names += own
        return Capacities(tuple(names), tuple(self.amount() * self.scale for _ in names), rows)

    def _counters(self):
        rng, pools = self.rng, self.rng.choice(((0,), (0, 0), (0, 0, 1)))
        gives = rng.random() < 0.15
        drawn = {}
        for device in self.devices:
            pool = rng.choice(pools)
            rows = [row for row, owner in enumerate(pools) if owner == pool and rng.random() < 0.7]
            signs = (1, 1, -1) if gives else (1,)
            if rows and rng.random() < 0.75:
                drawn[device] = tuple((row, self.amount() * rng.choice(signs)) for row in rows)
        return Counters(tuple((f"s{row}", "m") for row in range(len(pools))), pools, drawn)

    def _groups(self):
        kinds = (0, *(1 | self.rng.randrange(1, 8) << 1 for _ in range(3)))
        membership = {
            device: tuple((row, self.rng.choice(kinds)) for row, _ in amounts)
            for device, amounts in self.counters.consumption.items()
        }
        sets = tuple(
            (pool, name) for pool, (name, _) in zip(self.counters.pool_of_row, self.counters.names, strict=True)
        )
        return CompatibilityGroups(sets, membership)

    def in_use(self):
        rng = self.rng
        shares = {device: 1 for device in sorted(self.shared) if rng.random() < 0.2}
        rows = (row for device in shares for row in self.capacities.rows.get(device, ()))
        return InUse(
            frozenset(device for device in self.devices if device not in self.shared and rng.random() < 0.08),
            shares,
            {row: self.amount() for row in rows},
            tuple(self.amount() * self.scale - rng.choice((0, 0, 0, self.amount())) for _ in self.counters.names),
            tuple(rng.choice((None, None, None, 0, 1, 0b11)) for _ in self.groups.sets),
        )


def exact(supply, admin=False):
    """A demand without a place yet, now and then for all devices."""
    rng, odds = supply.rng, supply.rng.choice((0.5, 0.8, 1))
    candidates = tuple(device for device in supply.devices if rng.random() < odds)
    taken = {name: supply.amount() for name in NAMES}
    names, rows = supply.capacities.names, supply.capacities.rows
    amounts = {device: tuple((row, taken[names[row]]) for row in own) for device, own in rows.items()}
    everything = rng.random() < 0.1
    count = len(candidates) if everything else rng.choice((1, 1, 1, 1, 2, 3))
    return Demand(0, 0, "", "", "class", count, everything, admin, candidates, amounts=rng.choice((amounts, {})))


def template(supply, admins):
    """A claim's requests, each a list of demands, and entries: kind, sets, and tokens by request and alternative."""
    rng, requests = supply.rng, []
    for _ in range(rng.randint(1, 3)):
        listed = rng.random() < 0.3
        own = [exact(supply, admins and not listed and rng.random() < 0.3) for _ in range(2 if listed else 1)]
        requests += [own] * rng.choice((1, 1, 1, 2, 3))
    requests = requests[: rng.randint(1, 4)]
    return requests, [entry(supply, requests) for _ in range(rng.choice((0, 0, 1, 1, 1, 2)))]


def entry(supply, requests):
    rng, sets, values = supply.rng, supply.rng.random() < 0.5, supply.rng.randint(1, 4)
    # One value each, as lists of one; lists among scalars; lists.
    scalars = range(rng.choice((0, 0, 0, -1)), values)
    choice = rng.choice(([1 << value for value in range(values)], range(1 << values))) if sets else scalars
    tokens = {device: rng.choice(choice) for device in supply.devices if rng.random() < 0.92}
    odds = rng.choice((0, 0.5, 1, 1))
    places = [(number, rank) for number, own in enumerate(requests) for rank in range(len(own))]
    kind = rng.choice(("matchAttribute", "distinctAttribute"))
    return kind, sets, {place: tokens for place in places if rng.random() < odds}


def random_problem(seed):
    """A Problem and what is in use."""
    rng = Random(f"problem/{seed}")
    supply = Supply(rng)
    admins = rng.random() < 0.2
    templates = [template(supply, admins) for _ in range(rng.choice((1, 1, 2)))]
    return assembled(supply, rng.choices(templates, k=rng.choice((1, 1, 2, 3)))), supply.in_use()


def assembled(supply, templates):
    """The Problem of a claim of each of these templates."""
    claims, demands, constraints = [], [], []
    for requests, entries in templates:
        made, places = [], {}
        for number, own in enumerate(requests):
            numbers = tuple(range(len(demands), len(demands) + len(own)))
            places.update({(number, rank): index for rank, index in enumerate(numbers)})
            covering = [
                tuple(len(constraints) + k for k, (_, _, tokens) in enumerate(entries) if (number, rank) in tokens)
                for rank in range(len(own))
            ]
            demands += [
                replace(one, index=index, claim=len(claims), request=f"r{number}", constraints=covered)
                for one, index, covered in zip(own, numbers, covering, strict=True)
            ]
            made.append(Request(f"r{number}", len(own) > 1, numbers))
        constraints += [
            Constraint(len(claims), kind, "d/a", sets, {places[place]: values for place, values in tokens.items()})
            for kind, sets, tokens in entries
        ]
        claims.append(Claim(tuple(made)))
    return Problem(
        supply.size,
        tuple(claims),
        tuple(demands),
        tuple(constraints),
        supply.shared,
        supply.capacities,
        supply.counters,
        supply.groups,
        fatal_constraints=False,
    )

"""Soft entries cost as little as any choice of devices can, next to preference: against trying everything (SOFT-1)."""

from itertools import combinations, product
from random import Random

import pytest
from support.objects import claim, device, either, option, pool, want
from support.soft import apart, ask, cel, near, wishing

from drasat.models.results.common import Status

COLOURS = "xyz"


class Instance:
    """Few devices with two attributes each, and a claim with up to three requests; one may be a list."""

    def __init__(self, seed):
        rng = Random(seed)
        self.lists = rng.random() < 0.3
        self.values = {f"d{number}": self._values(rng) for number in range(rng.randint(3, 6))}
        self.requests = [self._request(rng, name) for name in "abc"[: rng.randint(1, 3)]]
        names = [name for name, _ in self.requests]
        self.hard = [self._entry(rng, names, None) for _ in range(rng.choice((0, 0, 1)))]
        self.soft = [self._entry(rng, names, rng.choice((1, 2, 3, 10))) for _ in range(rng.randint(1, 3))]

    def _values(self, rng):
        names = [name for name in ("root", "numa") if rng.random() < 0.85]
        return {name: self._value(rng) for name in names}

    def _value(self, rng):
        if self.lists and rng.random() < 0.6:
            return tuple(rng.sample(COLOURS, rng.randint(1, 2)))
        return rng.choice(COLOURS)

    def _request(self, rng, name):
        """Name and the numbers of devices that its alternatives take."""
        return name, ([rng.randint(1, 2)] if rng.random() < 0.75 else [rng.randint(1, 3), rng.randint(1, 2)])

    def _entry(self, rng, names, weight):
        """Kind, attribute, requests (none: all), weight, and whether pairs count."""
        chosen = tuple(name for name in names if rng.random() < 0.7)
        kind = rng.choice(("match", "match", "distinct", "none", "one"))
        return kind, rng.choice(("root", "numa")), chosen, weight, kind == "match" and rng.random() < 0.4

    def objects(self, soft=True):
        supply = pool(*(device(name, **values) for name, values in self.values.items()))
        requests = [
            want(name, counts[0])
            if len(counts) == 1
            else either(name, option("first", counts[0]), option("second", counts[1]))
            for name, counts in self.requests
        ]
        return supply, wishing(claim(*requests), *map(_written, self.hard + self.soft * soft))

    def choices(self):
        """All choices that keep what must hold: ranks of the alternatives, and the devices of each request."""
        for ranks in product(*(range(len(counts)) for _, counts in self.requests)):
            needed = [counts[rank] for (_, counts), rank in zip(self.requests, ranks, strict=True)]
            for taken in _dealt(sorted(self.values), needed):
                chosen = {name: own for (name, _), own in zip(self.requests, taken, strict=True)}
                if all(self.cost(entry, chosen) == 0 for entry in self.hard):
                    yield ranks, chosen

    def cost(self, entry, chosen):
        """What an entry costs; 1 for a hard one that is broken."""
        kind, attribute, names, weight, pairs = entry
        covered = [one for name, own in chosen.items() if not names or name in names for one in own]
        values = [self._set(self.values[one].get(attribute)) for one in covered]
        if pairs and weight:
            return weight * sum(not _matching(pair) for pair in combinations(values, 2))
        return 0 if not values or _RULES[kind](values) else weight or 1

    def _set(self, value):
        return None if value is None else frozenset((value,) if isinstance(value, str) else value)

    def vector(self, ranks, chosen):
        return ranks, sum(self.cost(entry, chosen) for entry in self.soft)


def _written(entry):
    kind, attribute, names, weight, pairs = entry
    if kind in _EXPRESSIONS:
        return cel(_EXPRESSIONS[kind].replace("X", f"d.attributes['d.x'].{attribute}"), *names, weight=weight)
    fields = {"per": "Pair"} if pairs else {}
    return _ATTRIBUTES[kind](*names, attribute=f"d.x/{attribute}", weight=weight, **fields)


_ATTRIBUTES = {"match": near, "distinct": apart}
_EXPRESSIONS = {
    "none": "devices.all(d, !has(X) || !X.includes('x'))",
    "one": "devices.exists_one(d, has(X) && X.includes('x'))",
}


def _matching(values):
    return None not in values and bool(frozenset.intersection(*values))


def _disjoint(values):
    return None not in values and all(not one & other for one, other in combinations(values, 2))


def _with_x(values):
    return sum(value is not None and "x" in value for value in values)


_RULES = {
    "match": _matching,
    "distinct": _disjoint,
    "none": lambda values: _with_x(values) == 0,
    "one": lambda values: _with_x(values) == 1,
}


def _dealt(names, needed):
    if not needed:
        yield ()
        return
    for own in combinations(names, needed[0]):
        for more in _dealt([name for name in names if name not in own], needed[1:]):
            yield own, *more


def chosen_by(unit, requests):
    """Ranks and devices of an answer, as the choices have them."""
    results = [result for _, made in unit.allocations for result in made.devices.results]
    chosen = {name: tuple(r.device for r in results if r.request.partition("/")[0] == name) for name, _ in requests}
    served = {result.request.partition("/")[0]: result.request.partition("/")[2] for result in results}
    return tuple(int(served[name] == "second") for name, _ in requests), chosen


def compare(seed, engine):
    """Compare an answer with the best there is; return whether there is one, and what it costs."""
    instance = Instance(seed)
    (unit,) = ask(*instance.objects(), engine=engine).units
    best = min((instance.vector(*choice) for choice in instance.choices()), default=None)
    assert (unit.outcome == Status.ALLOCATED) == (best is not None)
    if best is None:
        return False, 0
    ranks, chosen = chosen_by(unit, instance.requests)
    assert instance.vector(ranks, chosen) == best
    costs = [instance.cost(entry, chosen) for entry in instance.soft]
    assert [entry.cost for entry in unit.soft_entries] == costs
    assert [entry.kept for entry in unit.soft_entries] == [cost == 0 for cost in costs]
    return True, best[1]


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
def test_nothing_is_cheaper(engine):
    found = [compare(seed, engine) for seed in range(60)]
    assert sum(there for there, _ in found) > 20
    assert sum(cost > 0 for _, cost in found) > 10


@pytest.mark.parametrize("seed", range(60, 100))
def test_a_soft_entry_never_makes_a_claim_unallocatable(seed):
    instance = Instance(seed)
    for engine in ("auto", "backtracking"):
        with_, without = (ask(*instance.objects(soft), engine=engine).units[0].outcome for soft in (True, False))
        assert with_ == without

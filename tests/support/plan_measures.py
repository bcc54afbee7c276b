"""All bundles of small questions, by trying every choice of devices copy by copy, and what they cost by definition."""

from itertools import combinations, product

from support.bundles import Bench, after, exactly
from support.objects import DRIVER, claim, device, device_class, either, match, node, option, pool, want
from support.soft import apart, cel, near, wishing

from drasat.models.cluster.cluster import Cluster
from drasat.problem.filters import usable_devices
from drasat.solver.engines.engine import Pick
from drasat.solver.engines.search import Search
from drasat.solver.plan.pricing.bundle import SPREAD, Bundle
from drasat.solver.plan.pricing.measures import COMPACT, PREFERENCE, SOFT


def bundles(question, most=None):
    """All bundles, but for those where equal copies change places."""
    most = most or [unit.most for unit in question.units]
    choices = [list(_choices(unit.problem, question.in_use)) for unit in question.units]
    yield from _more(question, most, choices, [[] for _ in most], question.in_use, (0, 0))


def _more(question, most, choices, chosen, in_use, start):
    yield Bundle(tuple(map(tuple, chosen)))
    for number in range(start[0], len(most)):
        if len(chosen[number]) == most[number] or not _has_room(question, chosen, number):
            continue
        problem = question.units[number].problem.without_soft()
        for place in range(start[1] if number == start[0] else 0, len(choices[number])):
            picks = choices[number][place]
            if Search(exactly(problem, picks), in_use).run() is not None:
                chosen[number].append(picks)
                yield from _more(question, most, choices, chosen, after(problem, in_use, picks), (number, place))
                chosen[number].pop()


def _has_room(question, chosen, number):
    counts = [len(own) + (place == number) for place, own in enumerate(chosen)]
    return all(
        sum(unit.needs[resource] * count for unit, count in zip(question.units, counts, strict=True)) <= max(0, free)
        for resource, free in enumerate(question.left)
    )


def _choices(problem, in_use):
    """Everything that one copy could take if nothing else were there."""
    requests = [request for one in problem.claims for request in one.requests]
    candidates = usable_devices(problem, in_use)
    for served in product(*(request.demands for request in requests)):
        sets = (combinations(candidates[number], problem.demands[number].count) for number in served)
        for taken in product(*sets):
            yield tuple(
                Pick(number, one) for number, own in sorted(zip(served, taken, strict=True)) for one in sorted(own)
            )


def rank_of(problem, picks):
    """Sum of the places of the alternatives that serve."""
    served = {pick.demand for pick in picks}
    lists = [request.demands for one in problem.claims for request in one.requests if request.listed]
    return sum(next(rank for rank, number in enumerate(demands) if number in served) for demands in lists)


def places_of(problem, picks):
    """Pools, and values of attributes that say what lies close together."""
    node_context, own = problem.node_context, [pick.device for pick in picks]
    return len({node_context.pools[one] for one in own}) + sum(
        len({grouping[one] for one in own}) for grouping in node_context.groupings
    )


def weight_of(problem, picks):
    """Weights of soft entries, judged one by one: all devices of an entry, or each pair of them."""
    total = 0
    for relation in problem.relations:
        if relation.hard:
            continue
        members = sorted((pick.demand, pick.device) for pick in picks if pick.demand in relation.demands)
        groups = combinations(members, 2) if relation.per_pair else [members] if members else []
        total += sum(relation.weight for group in groups if relation.condition.evaluate(list(group)) is not True)
    return total


def copies_cost(cost):
    """A cost of copies as a cost of bundles."""
    return lambda question, bundle: sum(
        cost(unit.problem, picks)
        for unit, copies in zip(question.units, bundle.copies, strict=True)
        if unit.measured
        for picks in copies
    )


def squares(question, bundle):
    return sum(len(own) for unit, own in zip(question.units, bundle.copies, strict=True) if unit.measured) ** 2


COSTS = {
    PREFERENCE: copies_cost(rank_of),
    SOFT: copies_cost(weight_of),
    COMPACT: copies_cost(places_of),
    SPREAD: squares,
}
"""What a question's bundle costs by each measure."""

COLOURS = "xyz"
_EXPRESSIONS = (
    f"devices.all(d, has(d.attributes['{DRIVER}'].root) && d.attributes['{DRIVER}'].root != 'x')",
    f"devices.exists_one(d, has(d.attributes['{DRIVER}'].root) && d.attributes['{DRIVER}'].root == 'y')",
)


def random_bench(rng, most=3, size=5):
    """Few devices in two pools, units of one or two claims with lists, and entries that must hold or that cost."""
    members = [_device(rng, number) for number in range(rng.randint(3, size))]
    cut = rng.randint(1, len(members))
    pools = [pool(*members[:cut]), *([pool(*members[cut:], name="q")] if members[cut:] else [])]
    units = [
        [_claim(rng, f"c{number}") for number in range(rng.choice((1, 1, 1, 2)))] for _ in range(rng.choice((1, 2)))
    ]
    copies = [rng.randint(1, most) for _ in units]
    return Bench(Cluster.of([*pools, device_class(), node()]), units, copies)


def _device(rng, number):
    names = [name for name in ("root", "numa") if rng.random() < 0.9]
    return device(f"d{number}", kind=rng.choice("ab"), **{name: rng.choice(COLOURS) for name in names})


def _claim(rng, name):
    requests = [_request(rng, number) for number in range(rng.choice((1, 1, 2)))]
    entries = [_entry(rng, [f"r{number}" for number in range(len(requests))]) for _ in range(rng.choice((0, 1, 1, 2)))]
    hard = [match(f"{DRIVER}/numa")] if rng.random() < 0.15 else []
    return wishing(claim(*requests, name=name, constraints=hard), *entries)


def _request(rng, number):
    kind = f"device.attributes['{DRIVER}'].kind == '{{}}'".format
    if rng.random() < 0.4:
        first = option("first", rng.choice((1, 2)), kind(rng.choice("ab")))
        return either(f"r{number}", first, option("second", 1, *([kind("b")] if rng.random() < 0.5 else [])))
    return want(f"r{number}", rng.choice((1, 1, 2)), select=kind(rng.choice("ab")) if rng.random() < 0.3 else ())


def _entry(rng, names):
    chosen = [name for name in names if rng.random() < 0.7]
    weight, attribute = rng.choice((1, 2, 5)), f"{DRIVER}/{rng.choice(('root', 'numa'))}"
    kind = rng.choice(("near", "near", "apart", "cel"))
    if kind == "cel":
        return cel(rng.choice(_EXPRESSIONS), *chosen, weight=weight)
    fields = {"per": "Pair"} if kind == "near" and rng.random() < 0.4 else {}
    return {"near": near, "apart": apart}[kind](*chosen, attribute=attribute, weight=weight, **fields)


def totals(nodes, demand, costs):
    """Every (units placed, costs) that a plan can have; ``nodes`` are questions with their numbers of nodes.

    Of plans that place the same only those stay that cost least, by the only cost there is or none.
    """
    found = {(0,) * len(demand): 0}
    for question, number in nodes:
        options = {}
        for bundle in bundles(question, [min(unit.most, demand[unit.index]) for unit in question.units]):
            counts = [0] * len(demand)
            for unit, count in zip(question.units, bundle.counts, strict=True):
                counts[unit.index] += count
            cost = costs(question, bundle) if costs else 0
            options[tuple(counts)] = min(cost, options.get(tuple(counts), cost))
        for _ in range(number):
            found = _beside(found, options, demand)
    return found


def _beside(found, options, demand):
    made = {}
    for placed, paid in found.items():
        for counts, cost in options.items():
            both = tuple(map(int.__add__, placed, counts))
            if all(map(int.__le__, both, demand)):
                made[both] = min(paid + cost, made.get(both, paid + cost))
    return made

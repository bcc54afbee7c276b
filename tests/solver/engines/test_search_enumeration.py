"""The search against enumeration of everything, on small random problems (SRCH-1 to SRCH-6, SRCH-12)."""

from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from drasat.problem.problem import Capacities, Claim, Constraint, Counters, Demand, InUse, Problem, Request
from drasat.solver.engines.search import Search

SIZE = 5
KINDS = ("matchAttribute", "distinctAttribute")


@st.composite
def constraints(draw, claim, demands):
    sets = draw(st.booleans())
    tokens = draw(st.dictionaries(st.integers(0, SIZE - 1), st.integers(0 if sets else -1, 3), min_size=SIZE - 1))
    covered = draw(st.sets(st.sampled_from(demands), min_size=1))
    return Constraint(claim, draw(st.sampled_from(KINDS)), "d/a", sets, dict.fromkeys(covered, tokens))


@st.composite
def problems(draw):
    """Up to two claims with up to two requests of up to two alternatives, on five devices."""
    demands, claims, entries = [], [], []
    for claim in range(draw(st.integers(1, 2))):
        requests = []
        for request in range(draw(st.integers(1, 2))):
            own = range(len(demands), len(demands) + draw(st.integers(1, 2)))
            for index in own:
                candidates = tuple(sorted(draw(st.sets(st.integers(0, SIZE - 1)))))
                count, admin = draw(st.integers(1, 2)), draw(st.sampled_from((False, False, True)))
                amounts = {device: ((device, draw(st.integers(0, 3))),) for device in candidates}
                demands.append(
                    Demand(index, claim, f"r{request}", "", "c", count, False, admin, candidates, amounts=amounts)
                )
            requests.append(Request(f"r{request}", True, tuple(own)))
        claims.append(Claim(tuple(requests)))
        of_claim = [demand.index for demand in demands if demand.claim == claim]
        entries += draw(st.lists(constraints(claim, of_claim), max_size=1))
    shared = frozenset(draw(st.sets(st.integers(0, SIZE - 1), max_size=2)))
    drawn = draw(st.dictionaries(st.integers(0, SIZE - 1), st.integers(0, 3), max_size=SIZE))
    linked = tuple(_linked(demand, entries) for demand in demands)
    return Problem(
        SIZE,
        tuple(claims),
        linked,
        tuple(entries),
        shared,
        Capacities(("c",) * SIZE, (4,) * SIZE, {device: (device,) for device in range(SIZE)}),
        Counters((("s", "m"),), (0,), {device: ((0, amount),) for device, amount in drawn.items()}),
    )


def _linked(demand, entries):
    from dataclasses import replace

    own = tuple(number for number, entry in enumerate(entries) if demand.index in entry.tokens)
    return replace(demand, constraints=own)


def in_use(draw_dedicated, available):
    return InUse(dedicated=frozenset(draw_dedicated), available=(available,))


def choices(problem, request):
    """All ways to serve a request, in the order of the search."""
    for index in request.demands:
        demand = problem.demands[index]
        yield from ((index, chosen) for chosen in combinations(demand.candidates, demand.count))


def valid(problem, used, assignment):
    """Check a complete choice from scratch."""
    picked = [(problem.demands[index], device) for index, chosen in assignment for device in chosen]
    return (
        _free(problem, used, picked)
        and _capacities_last(problem, picked)
        and _counters_last(problem, used, picked)
        and all(_holds(constraint, picked) for constraint in problem.constraints)
    )


def _free(problem, used, picked):
    for position, (demand, device) in enumerate(picked):
        if device in used.dedicated and not demand.admin:
            return False
        if device in problem.shared:
            continue
        earlier = [other.claim for other, taken in picked[:position] if taken == device]
        if demand.claim in earlier if demand.admin else earlier:
            return False
    return True


def _capacities_last(problem, picked):
    for device in range(SIZE):
        amounts = [demand.amounts[device][0][1] for demand, taken in picked if taken == device]
        if (sum(amounts) if device in problem.shared else max(amounts, default=0)) > 4:
            return False
    return True


def _counters_last(problem, used, picked):
    taken = [device for _, device in picked]
    drawing = [device for device in taken if device not in problem.shared] + sorted(problem.shared & set(taken))
    total = sum(problem.counters.consumption.get(device, ((0, 0),))[0][1] for device in drawing)
    consumers = [device for device in taken if device in problem.counters.consumption]
    return not consumers or total <= used.available[0]


def _holds(constraint, picked):
    covered = [
        (constraint.tokens[demand.index].get(device)) for demand, device in picked if demand.index in constraint.tokens
    ]
    if None in covered:
        return False
    if constraint.kind == "matchAttribute":
        return _match_sets(covered) if constraint.sets else _match_scalars(covered)
    return _distinct_sets(covered) if constraint.sets else _distinct_scalars(covered)


def _match_scalars(tokens):
    return len(tokens) < 2 or (tokens[0] >= 0 and len(set(tokens)) == 1)


def _match_sets(tokens):
    common = -1
    for token in tokens:
        common &= token
    return not tokens or common > 0


def _distinct_scalars(tokens):
    return len(set(tokens)) == len(tokens) and -1 not in tokens[1:]


def _distinct_sets(tokens):
    return all(tokens) and sum(bin(token).count("1") for token in tokens) == bin(_union(tokens)).count("1")


def _union(tokens):
    whole = 0
    for token in tokens:
        whole |= token
    return whole


@settings(max_examples=400, deadline=None)
@given(problems(), st.sets(st.integers(0, SIZE - 1), max_size=2), st.integers(0, 8))
def test_the_first_solution_in_search_order_is_found(problem, dedicated, available):
    """SRCH-1 to SRCH-5, SRCH-12: it exists iff enumeration finds one, and it is the first one."""
    used = in_use(dedicated, available)
    requests = [request for claim in problem.claims for request in claim.requests]
    everything = product(*(list(choices(problem, request)) for request in requests))
    first = next((assignment for assignment in everything if valid(problem, used, assignment)), None)
    found = Search(problem, used).run()
    expected = None if first is None else [(index, device) for index, chosen in first for device in chosen]
    assert (None if found is None else [(pick.demand, pick.device) for pick in found]) == expected

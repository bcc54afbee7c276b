"""Small random Problems with one match or distinct entry over several claims, judged on complete sets."""

from itertools import combinations, product

from drasat.problem.conditions import TokenCondition
from drasat.problem.constraints import INCOMPARABLE
from drasat.problem.problem import Claim, Constraint, Demand, FilterFailure, Problem, Relation, Request

# Kind, sets, overlap.
RULES = (
    ("matchAttribute", False, False),
    ("matchAttribute", True, False),
    ("distinctAttribute", False, False),
    ("distinctAttribute", True, False),
    ("distinctAttribute", True, True),
)


def random_problem(rng, rules=RULES, **fields):
    """A Problem with a relation over some of its demands; ``fields`` are those of the relation."""
    size = rng.randint(1, 5)
    demands, claims = [], []
    for claim in range(rng.choice((1, 2))):
        requests = [_request(rng, claim, number, size, demands) for number in range(rng.choice((1, 1, 2)))]
        claims.append(Claim(tuple(requests)))
    covered = [index for index in range(len(demands)) if rng.random() < 0.85]
    shared = frozenset(device for device in range(size) if rng.random() < 0.15)
    condition = TokenCondition(_constraint(rng, rng.choice(rules), covered, size))
    spanned = tuple(range(len(claims)))
    relation = Relation("matchAttribute", spanned, 0, "entry", frozenset(covered), condition, **fields)
    return Problem(size, tuple(claims), tuple(demands), relations=(relation,), shared=shared)


def _request(rng, claim, number, size, demands):
    listed = rng.random() < 0.25
    first = len(demands)
    for _ in range(2 if listed else 1):
        index = len(demands)
        candidates = tuple(device for device in range(size) if rng.random() < 0.9)
        demands.append(
            Demand(index, claim, f"r{number}", "", "c", rng.choice((1, 1, 2, 2, 3)), False, False, candidates)
        )
    return Request(f"r{number}", listed, tuple(range(first, len(demands))))


def _constraint(rng, rule, covered, size):
    kind, sets, overlap = rule
    least = rng.choice((1, 1, 2)) if sets and kind == "matchAttribute" else 1
    choice = [bits for bits in range(1, 16) if bits.bit_count() >= least] if sets else [*range(3), 0, 1, INCOMPARABLE]
    tables = [{device: rng.choice(choice) for device in range(size) if rng.random() < 0.93} for _ in "ab"]
    tokens = {demand: tables[rng.random() < 0.1] for demand in covered}
    errors = {
        demand: {
            device: FilterFailure("derivedAttribute", "no", ("no",)) for device in range(size) if device not in table
        }
        for demand, table in tokens.items()
        if rng.random() < 0.3
    }
    return Constraint(0, kind, "d/a", sets, tokens, errors, min_size=least, overlap=overlap)


def choices(problem):
    """Yield everything that could be taken, as members, whatever the relation says of it."""
    requests = [request for claim in problem.claims for request in claim.requests]
    for chosen in product(*(request.demands for request in requests)):
        demands = [problem.demands[index] for index in chosen]
        for taken in product(*(combinations(demand.candidates, demand.count) for demand in demands)):
            dedicated = [device for devices in taken for device in devices if device not in problem.shared]
            if len(set(dedicated)) == len(dedicated):
                yield [(index, device) for index, devices in zip(chosen, taken, strict=True) for device in devices]

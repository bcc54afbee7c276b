"""What is proven impossible is never found: the proofs against the search, over all families and by chance."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from support.families import FAMILIES, member
from support.small_problems import DISTINCT, MATCH, Ask, Tie, either, problem, proven

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.manifests.reader import read_manifests
from drasat.models.workload.requested import requested_units
from drasat.problem.compiler import Compiler
from drasat.problem.messages import DeadlineExceededError, FatalError
from drasat.problem.node_state import AllocatedState
from drasat.problem.problem import Capacities, CompatibilityGroups, Counters, InUse
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews
from drasat.solver.engines.search import Search

MEMBERS = 8
# A search that takes longer is not asked: steps are counted, so that a slow machine asks the same.
MOST_STEPS = 20_000


def endless(search):
    """A clock that passes the deadline after so many steps."""
    return lambda: float(search[0].steps > MOST_STEPS)


def outcome(asked, in_use):
    """Whether the search finds something; None where it ends in an error or does not end soon."""
    searches = []
    # Past what upstream gives up at, too (SRCH-7).
    forgiving = replace(asked, fatal_constraints=False)
    searches.append(Search(forgiving, in_use, deadline=1.0, clock=endless(searches)))
    try:
        return searches[0].run() is not None
    except (FatalError, DeadlineExceededError):
        return None


def confirm(asked, in_use, counts):
    """Compare, and count how it ended."""
    proof, found = proven(asked, in_use), outcome(asked, in_use)
    assert not (proof and found), proof
    counts[found, proof is not None] += 1
    if proof is not None:
        counts[proof.id] += 1


def questions(family, seed):
    """Each unit's claims, all claims together, and a unit asked for thrice, on every node."""
    cluster = Cluster.build(read_manifests([member(family, seed)])[0])
    gates = FeatureGates.all_on()
    views, allocated_state = NodeViews(cluster.pools(gates), gates), AllocatedState(cluster.usage(gates))
    compiler = Compiler(cluster.classes, gates, ExpressionEvaluator(), "kube")
    asked = [
        [ref.claim for ref in unit.requested_claims]
        for unit in requested_units(cluster)
        if unit.requested_claims and not unit.problems
    ]
    for claims in (*asked, [claim for own in asked for claim in own], *[own * 3 for own in asked[:1]]):
        for node in cluster.nodes.values():
            question = compiler.question(claims)
            view = views.of(node, question.visible)
            try:
                yield compiler.problem(question, view.shape), allocated_state.in_use(view)
            except FatalError:
                continue


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_proven_impossible_is_never_found(family):
    counts = Counter()
    for seed in range(MEMBERS):
        for asked, in_use in questions(family, seed):
            confirm(asked, in_use, counts)
    # Nearly all that is impossible there can be proven by counting.
    assert counts[False, True] > 5 * counts[False, False]


def by_chance(random):
    """A problem of a few devices with anything that a Problem can have."""
    size = random.randint(2, 7)
    shared = frozenset(device for device in range(size) if random.random() < random.choice([0, 0.5]))
    claims = [
        [_request(random, size, number) for number in range(random.randint(1, 3))]
        for _ in range(random.choice([1, 1, 2, 3]))
    ]
    ties = [
        _tie(random, size, claim, entries)
        for claim, entries in enumerate(claims)
        for _ in range(random.choice([0, 0, 1, 2]))
    ]
    capacities = Capacities(
        ("memory",) * size,
        tuple(random.randint(0, 6) for _ in range(size)),
        {device: (device,) for device in range(size)},
    )
    counters = _counters(random, size)
    groups = CompatibilityGroups()
    if random.random() < 0.3:
        places = dict.fromkeys(zip(counters.pool_of_row, [name for name, _ in counters.names], strict=True))
        membership = {
            device: ((list(places).index((0, counters.names[amounts[0][0]][0])), random.choice((0, 3, 5, 7))),)
            for device, amounts in counters.consumption.items()
        }
        groups = CompatibilityGroups(tuple(places), membership)
    asked = problem(size, *claims, ties=ties, shared=shared, capacities=capacities, counters=counters, groups=groups)
    return asked, _in_use(random, asked)


def _request(random, size, number):
    options = [_ask(random, size, f"s{option}") for option in range(random.choice([1, 1, 2, 3]))]
    if len(options) > 1:
        return either(f"r{number}", *options)
    return _ask(random, size, f"r{number}", admin=random.random() < 0.15)


def _ask(random, size, name, admin=False):
    devices = tuple(device for device in range(size) if random.random() < random.choice([0.5, 1]))
    everything = random.random() < 0.1
    amounts = {device: ((device, random.randint(0, 4)),) for device in devices} if random.random() < 0.5 else {}
    traps = tuple(device for device in devices if random.random() < 0.02)
    count = len(devices) if everything else random.choice([1, 1, 1, 2, 3])
    return Ask(name, count, devices, everything, admin, amounts, traps)


def _tie(random, size, claim, entries):
    sets, values = random.random() < 0.5, random.randint(1, 3)
    tokens = {device: random.randrange(1 << values) if sets else random.randrange(-1, values) for device in range(size)}
    names = [entry.name for entry in entries]
    covers = tuple(random.sample(names, random.randint(1, len(names))))
    return Tie(random.choice((MATCH, MATCH, DISTINCT)), tokens, covers, claim, sets)


def _counters(random, size):
    names = (("s", "m"), ("s", "k"), ("t", "m"))
    least = random.choice([0, 0, 0, -1])
    drawn = {
        device: tuple((row, random.randint(least, 4)) for row in random.choice([(0, 1), (0,), (2,)]))
        for device in range(size)
        if random.random() < 0.6
    }
    return Counters(names, (0, 0, 0), drawn)


def _in_use(random, asked):
    shares = {device: 1 for device in asked.shared if random.random() < 0.2}
    return InUse(
        frozenset(device for device in range(asked.size) if random.random() < 0.1),
        shares,
        {device: random.randint(0, asked.capacities.totals[device]) for device in shares},
        tuple(random.randint(0, 9) for _ in asked.counters.names),
        tuple(random.choice([None, None, 0, 3, 7]) for _ in asked.groups.sets),
    )


def test_problems_by_chance_bear_every_proof_out():
    counts = Counter()
    for seed in range(4000):
        confirm(*by_chance(Random(seed)), counts)
    assert counts[True, False] > 500
    ids = {"devices", "matchAttribute", "distinctAttribute", "counters", "capacity", "firstAvailable"}
    assert ids <= counts.keys()

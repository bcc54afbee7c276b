"""How many copies fit: never more than trying everything finds, and what is proven is what it finds."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from support.brute_force import BruteForce, FatalError, TooLargeError
from support.families import FAMILIES
from support.gates import ALL
from support.random_clusters import clusters, examples, load

from drasat.models.manifests.writer import is_allocated
from drasat.problem.messages import FatalError as FatalProblemError
from drasat.problem.node_state import AllocatedState
from drasat.solver.capacity.capacity import capacity
from drasat.solver.capacity.node import CopyEngine
from drasat.solver.capacity.records import find_copy_source
from drasat.solver.engines.engine import Session

LIMIT = 6
# An audit that finds more copies than a bound raises an error.
SECONDS = 600.0


def tried(cluster, asked, node, copies):
    """Whether so many copies fit on a node; None if that takes too long, or is an error of the search."""
    claims = [ref.claim for number in range(copies) for ref in asked.copy(number).requested_claims]
    try:
        return BruteForce(cluster, ALL, limit=600).first(cluster.node(node), claims) is not None
    except (TooLargeError, FatalError):
        return None


def compare(cluster):
    """Compare for every open claim on every kind of node; how often it ended how."""
    ends = Counter()
    for key, claim in cluster.claims.items():
        if is_allocated(claim):
            continue
        name = "/".join(key)
        found, asked = (
            capacity(cluster, claim=name, limit=LIMIT, time_limit=None, audit=SECONDS),
            find_copy_source(cluster, claim=name),
        )
        total, rooms = found.total, [answer.room for answer in found.nodes for _ in answer.nodes]
        assert total.unbounded or max(room.fits for room in rooms) <= total.fits <= sum(room.fits for room in rooms)
        assert total.bound is None or total.fits <= total.bound
        for answer in found.nodes:
            room = answer.room
            ends["first fit falls short"] += room.first_fit is not None and room.first_fit < room.fits
            ends["first fit beyond"] += room.first_fit is not None and room.first_fit > room.fits
            if room.proven and not room.unbounded:
                ends[tried(cluster, asked, answer.nodes[0], room.fits + 1)] += 1
    return ends


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "admin"])
def test_one_copy_more_than_is_proven_fits_nowhere(family):
    ends = sum((compare(load(family, seed)) for seed in range(3)), Counter())
    assert ends[True] == ends["first fit beyond"] == 0
    assert ends[False]


@given(clusters("counters", "match", "mixed", "nodes", "capacity"))
@examples(12)
def test_random_clusters(member):
    ends = compare(load(*member))
    assert ends[True] == ends["first fit beyond"] == 0


def test_first_fit_falls_short_now_and_then():
    assert sum(compare(load("counters", seed))["first fit falls short"] for seed in range(8))


@pytest.mark.parametrize("seed", range(10))
def test_copies_with_admin_access_are_bounded_from_both_sides(seed):
    cluster = load("admin", seed)
    for key, claim in cluster.claims.items():
        if not is_allocated(claim):
            found = capacity(cluster, claim="/".join(key), limit=LIMIT, time_limit=None)
            assert found.verified
            for answer in found.nodes:
                assert answer.room.first_fit is None or answer.room.first_fit <= answer.room.fits


def placed_at_random(cluster, asked, rng):
    """How many copies a first fit places that goes from node to node as it likes."""
    engine, allocated_state = CopyEngine(Session(cluster, ALL, "strict", 0), asked), AllocatedState(cluster.usage(ALL))
    open_nodes, placed = list(cluster.nodes.values()), 0
    while open_nodes and placed < LIMIT * len(cluster.nodes):
        node = rng.choice(open_nodes)
        try:
            done = len(engine.fill(engine.query(node, None), allocated_state, 1, None).copies)
        except FatalProblemError:
            done = 0
        placed += done
        if not done:
            open_nodes.remove(node)
    return placed


@pytest.mark.parametrize("seed", range(12))
def test_no_way_to_go_from_node_to_node_passes_the_bound(seed):
    cluster, rng = load("nodes", seed), Random(seed)
    for key, claim in cluster.claims.items():
        if not is_allocated(claim):
            name = "/".join(key)
            bound = capacity(cluster, claim=name, limit=LIMIT, time_limit=None).total.bound
            for _ in range(3):
                assert bound is None or placed_at_random(cluster, find_copy_source(cluster, claim=name), rng) <= bound

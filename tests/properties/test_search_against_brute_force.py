"""The engine finds what trying everything finds: existence, validity, and the first solution (section 14)."""

from collections import Counter

import pytest
from hypothesis import given
from msgspec.structs import replace
from support.brute_force import BruteForce, FatalError, TooLargeError
from support.families import FAMILIES
from support.random_clusters import clusters, examples, gates, load

from drasat.models.kubernetes.claims import ResourceClaimStatus
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.engine import Session
from drasat.solver.engines.registry import backtracking_engine
from drasat.solver.verification.verify import Placement, verify

POLICY = "strict"


def asked_of(cluster):
    """The claims of each unit that are without an allocation and can be allocated."""
    return [[ref.claim for ref in unit.requested_claims] for unit in requested_units(cluster) if not unit.problems]


def picked(claims, allocations):
    """Claim, request and device of each result, in order."""
    return [
        (number, result.request, (result.driver, result.pool, result.device))
        for number, allocation in enumerate(allocations)
        for result in allocation.devices.results or ()
    ]


def tried(cluster, gates, node, claims):
    """What trying everything gives: the picks, or how it ends without."""
    try:
        picks = BruteForce(cluster, gates).first(node, claims)
    except FatalError:
        return Status.ERROR
    except TooLargeError:
        return None
    return Status.UNALLOCATABLE if picks is None else [(pick.claim, pick.request, pick.device) for pick in picks]


def searched(cluster, gates, node, claims):
    """The same from the engine, with the allocations."""
    engine = backtracking_engine(Session(cluster, gates, POLICY, 0))
    attempt = engine.allocate_on(node, claims, AllocatedState(cluster.usage(gates)), None)
    found = attempt.status
    return (picked(claims, attempt.allocations) if found is Status.ALLOCATED else found), attempt.allocations


def with_allocations(cluster, claims, allocations):
    """The cluster once the claims have what was allocated."""
    made = zip(claims, allocations, strict=True)
    return cluster.with_claims(
        replace(claim, status=ResourceClaimStatus(allocation=allocation)) for claim, allocation in made
    )


def compare(cluster, gates):
    """Compare on every node for every unit, each beside what earlier ones got; how often it ended how."""
    endings = Counter()
    for claims in asked_of(cluster):
        found = None
        for node in cluster.nodes.values():
            answer, allocations = searched(cluster, gates, node, claims)
            expected = tried(cluster, gates, node, claims)
            endings[expected if isinstance(expected, Status) else type(expected)] += 1
            if expected is None:
                continue
            assert answer == expected
            if allocations:
                placement = Placement(node, tuple(zip(claims, allocations, strict=True)))
                assert verify(cluster, [placement], gates) == []
                found = found or allocations
        if found:
            cluster = with_allocations(cluster, claims, found)
    return endings


@examples(120)
@given(clusters(), gates())
def test_the_first_solution_is_the_one_that_trying_everything_finds_first(name, gates):
    """SRCH-1, SRCH-2, SRCH-3, SRCH-4, SRCH-5, SRCH-6, SRCH-7, SRCH-12"""
    compare(load(*name), gates)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_compared(family):
    """SRCH-12: with and without solutions; trying everything is rarely too much."""
    from drasat.models.kubernetes.gates import FeatureGates

    endings = Counter()
    for seed in range(3):
        endings += compare(load(family, seed), FeatureGates.all_on())
    assert endings[type(None)] < endings.total()

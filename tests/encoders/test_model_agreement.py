"""The model, with everything merged and with nothing merged, finds what a search through all combinations finds."""

from random import Random

import pytest
from msgspec.structs import replace as changed
from support.families import FAMILIES, member
from support.modelling import asked, replayed, searched

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.messages import DeadlineExceededError, FatalError
from drasat.problem.node_state import AllocatedState
from drasat.solver.allocate.load import load

SEEDS = range(6)
LISTS = FeatureGates.all_on()
SCALARS = LISTS.with_({"DRAListTypeAttributes": False, "DRADeviceCompatibilityGroups": False})


def multiplied(claims, rng):
    """The claims, some several times, and with some of their requests several times: what merging is about."""
    return [
        changed(_widened(claim, rng), metadata=changed(claim.metadata, name=f"{claim.metadata.name}-{copy}"))
        for claim in claims
        for copy in range(rng.choice((1, 1, 2, 3)))
    ]


def _widened(claim, rng):
    devices = claim.spec.devices
    requests = [
        changed(request, name=f"{request.name}{'x' * copy}")
        for request in devices.requests or ()
        for copy in range(rng.choice((1, 1, 1, 2)))
    ]
    return changed(claim, spec=changed(claim.spec, devices=changed(devices, requests=tuple(requests[:8]))))


def questions(family, seed, gates):
    """A Problem for each unit and node of a member of the family."""
    cluster = load(member(family, seed))
    allocated_state, rng = AllocatedState(cluster.usage(gates)), Random(f"agreement/{family}/{seed}")
    for unit in requested_units(cluster):
        claims = [ref.claim for ref in unit.requested_claims if ref.claim is not None]
        many = multiplied(claims, rng)
        for node in [*cluster.nodes.values()][:2]:
            try:
                yield asked(cluster, gates, node.metadata.name, many, allocated_state)
            except FatalError:
                continue


@pytest.mark.parametrize("gates", [LISTS, SCALARS], ids=["lists", "scalars"])
@pytest.mark.parametrize("family", FAMILIES)
def test_merged_alone_and_searched_agree(family, gates):
    """DEV-1, DEV-13, CON-1 to CON-11, CTR-2, CAP-6, GRP-3, SRCH-4, SRCH-6, SRCH-8, SRCH-12."""
    for seed in SEEDS:
        for question in questions(family, seed, gates):
            merged, alone = question.taken(), question.taken(together=False)
            assert (merged is None) == (alone is None)
            assert all(replayed(question, taken) for taken in (merged, alone) if taken is not None)
            try:
                assert (searched(question) is None) == (merged is None)
            except (DeadlineExceededError, FatalError):
                continue


@pytest.mark.parametrize("family", ["alternatives", "mixed", "all"])
def test_preference_is_at_least_that_of_the_search(family):
    """SRCH-4: list requests in order, each by the rank of its alternative."""
    for seed in range(40, 80):
        for question in questions(family, seed, LISTS):
            decision = question.decision()
            try:
                first = searched(question)
            except (DeadlineExceededError, FatalError):
                continue
            assert decision.status is (Status.UNALLOCATABLE if first is None else Status.ALLOCATED)
            if first is not None:
                assert replayed(question, [(pick.demand, pick.device) for pick in decision.picks])
                assert _ranks(question.problem, decision.picks) <= _ranks(question.problem, first)


def _ranks(problem, picks):
    """Rank of the alternative of each list request that was given any device, in order."""
    chosen = {pick.demand for pick in picks}
    lists = [request.demands for claim in problem.claims for request in claim.requests if request.listed]
    return [next(rank for rank, demand in enumerate(demands) if demand in chosen) for demands in lists]

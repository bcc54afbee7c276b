"""The best answer is the best of all answers: every stage, and pairs of stages, against trying everything."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.brute_force import BruteForce, FatalError, TooLargeError
from support.gates import ALL
from support.measures import Chosen, Measures
from support.random_clusters import clusters, examples, load

from drasat.encoders.objectives.stages import STAGES
from drasat.models.cluster.node_fit import pod_fits
from drasat.models.kubernetes.claims import ResourceClaimStatus
from drasat.models.results.common import Status
from drasat.solver.allocate.allocate import allocate
from drasat.solver.verification.requests import all_requested

FAMILIES = (
    "match",
    "distinct",
    "lists",
    "counters-in-use",
    "groups",
    "capacity",
    "shares-in-use",
    "alternatives",
    "all",
    "admin",
    "nodes",
    "mixed",
)


# Far beyond what audits here take.
SECONDS = 600.0


class Everything(BruteForce):
    """Finds all solutions. A device that All cannot add makes only this choice impossible, as for the solver."""

    def solutions(self, node, claims):
        self._check(node, claims)
        asked = [
            (number, [(name, one) for name, one in all_requested(claim) if name.partition("/")[0] == request.name])
            for number, claim in enumerate(claims)
            for request in claim.spec.devices.requests or ()
        ]
        return self._continued(node, claims, asked, ())

    def _continued(self, node, claims, asked, picks):
        if not asked:
            yield picks
            return
        number, alternatives = asked[0]
        for name, one in alternatives:
            for more in self._choices(node, claims, picks, (number, name, one)):
                yield from self._continued(node, claims, asked[1:], more)

    def _all(self, *args):
        try:
            yield from super()._all(*args)
        except FatalError:
            return


def chosen(picks):
    looks_on = [bool(getattr(pick.asked, "admin_access", False)) for pick in picks]
    return [Chosen(one.claim, one.request, one.device, admin) for one, admin in zip(picks, looks_on, strict=True)]


def answered(allocations):
    return [
        Chosen(number, result.request, (result.driver, result.pool, result.device), bool(result.admin_access))
        for number, allocation in enumerate(allocations)
        for result in allocation.devices.results or ()
    ]


def cheapest(cluster, unit, claims, stages):
    """The least vector over all nodes and solutions; None if there is no solution."""
    vectors = []
    for node in cluster.nodes.values():
        if unit.pod is None or not pod_fits(unit.pod.spec, node):
            measure = Measures(cluster, ALL, node, claims)
            found = Everything(cluster, ALL, 1000).solutions(node, claims)
            vectors += [[measure(stage, chosen(picks)) for stage in stages] for picks in found]
    return min(vectors, default=None)


def compare(cluster, stages, engine="auto"):
    """Place all units and compare each, beside what those before it got, with the best there is; audit each no."""
    outcome = allocate(cluster, engine=engine, objective=stages, time_limit=None, audit=SECONDS)
    told = Counter()
    for unit in outcome.units:
        if unit.unit.problems or any(ref.allocated for ref in unit.unit.claims):
            continue
        claims = [ref.claim for ref in unit.unit.requested_claims]
        try:
            best = cheapest(cluster, unit.unit, claims, stages)
        except (FatalError, TooLargeError):
            best = "unknown"
        if unit.outcome == Status.ALLOCATED:
            allocations = [allocation for _, allocation in unit.allocations]
            if best != "unknown":
                reached = Measures(cluster, ALL, cluster.node(unit.node), claims)
                assert [reached(stage, answered(allocations)) for stage in stages] == best
                assert [stage.value for stage in unit.objective] == [sum(parts) for parts in best]
                assert all(stage.proven and stage.bound == stage.value for stage in unit.objective)
                told["compared"] += 1
                told["not free"] += any(map(any, best))
            made = zip(claims, allocations, strict=True)
            cluster = cluster.with_claims(
                replace(claim, status=ResourceClaimStatus(allocation=allocation)) for claim, allocation in made
            )
        elif unit.outcome == Status.UNALLOCATABLE and best != "unknown":
            assert best is None
            assert unit.proof_kind.is_checked
            told["impossible"] += 1
    return told


@examples(50)
@given(clusters(*FAMILIES), st.lists(st.sampled_from(tuple(STAGES)), min_size=1, max_size=2, unique=True))
def test_the_best_answer_is_the_best_of_all(name, stages):
    compare(load(*name), stages)


# Families whose members differ most in what a stage looks at.
TELLING = {
    "preference": ("alternatives", "configs"),
    "soft": ("match",),
    "fragmentation": ("counters", "counters-in-use", "shares-in-use", "match"),
    "compact": ("match", "nodes"),
    "fewest-devices-opened": ("counters-in-use", "shares-in-use"),
    "least-consumption": ("counters", "counters-in-use", "shares-in-use", "capacity"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_compared_often_enough(stage):
    told = Counter()
    for seed in range(8 if len(TELLING[stage]) > 2 else 12):
        for family in TELLING[stage]:
            told += compare(load(family, seed), [stage], engine="cp-sat")
    assert told["compared"] >= 5
    assert told["not free"] >= (0 if stage == "soft" else 2)

"""Every answer of ``allocate`` passes the verifier, whatever the cluster, the features and the policy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.families import FAMILIES
from support.random_clusters import clusters, examples, gates, load

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.results.common import Status
from drasat.solver.allocate import check
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.check import VerificationError
from drasat.solver.verification.verify import verify

POLICIES = ("kube", "strict", "skip")


def placements(cluster, outcome):
    """What was placed, as the verifier takes it."""
    return list(check.placements_of_outcomes(cluster, outcome.units))


@examples(250)
@given(clusters(), gates(), st.sampled_from(POLICIES), st.integers(0, 3))
def test_answers_pass_the_verifier(name, gates, policy, seed):
    """All units jointly, in the order in which they were placed."""
    cluster = load(*name)
    outcome = allocate(cluster, engine="backtracking", feature_gates=gates, cel_errors=policy, seed=seed)
    assert verify(cluster, placements(cluster, outcome), gates, cel_errors=policy) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_answers(family):
    found = [
        unit.outcome
        for seed in range(12)
        for unit in allocate(load(family, seed), engine="backtracking").units
        if unit.outcome == Status.ALLOCATED
    ]
    assert len(found) >= 3


@examples(60)
@given(clusters("in-use", "counters", "capacity", "match"), st.sampled_from(POLICIES))
def test_an_answer_is_not_valid_twice(name, policy):
    """SCHED-2: the same claims cannot be placed again."""
    cluster = load(*name)
    outcome = allocate(cluster, engine="backtracking", cel_errors=policy)
    made = placements(cluster, outcome)
    again = {found.rule for found in verify(cluster, made + made, outcome.gates, cel_errors=policy)}
    assert ("SCHED-2" in again) == any(placement.claims for placement in made)


def test_an_answer_that_breaks_a_rule_is_never_given(monkeypatch):
    """The facade asks the verifier, and raises what it finds."""
    cluster = load("match", 0)
    outcome = allocate(cluster, engine="backtracking", feature_gates=FeatureGates.all_on())
    assert any(unit.outcome == Status.ALLOCATED for unit in outcome.units)
    with pytest.raises(VerificationError, match="does not pass verification"):
        check.check_allocations(cluster.without(nodes=()), outcome.units * 2, outcome.gates, "strict")

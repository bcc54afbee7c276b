"""On clusters made by chance: reasons are impossible together, each is needed, and every relaxation helps.

The judge is the plain search, on a Problem in which only the reasons hold.
"""

from collections import Counter

import pytest

from drasat.models.gates import FeatureGates
from drasat.models.units import units
from drasat.problem.in_use import Ledger
from drasat.scenarios import families, hard
from drasat.solver.attempts import Ending, Session
from drasat.solver.backtracking import Backtracking
from drasat.solver.cp_sat_run import Limits
from drasat.solver.explain import explain
from drasat.solver.explaining.case import Workbench
from drasat.solver.explaining.conflict import minimal_conflict
from drasat.solver.explaining.restricted import restricted
from drasat.solver.explaining.sentences import Sentences
from drasat.solver.load import load
from drasat.solver.search import Search

GATES = FeatureGates.all_on()
SEEDS = range(6)


def cases(cluster):
    """The questions that the scheduler's search says no to, node by node."""
    session = Session(cluster, GATES, "strict", 0)
    engine, bench = Backtracking(session), Workbench(session)
    for unit in units(cluster):
        claims = [ref.claim for ref in unit.asked]
        for node in cluster.nodes.values():
            ledger = Ledger(cluster.usage(GATES))
            if engine.attempt(node, claims, ledger, None).ending is Ending.NONE:
                yield bench.case(node, claims, ledger)


def possible(case, reasons):
    return Search(*restricted(case, reasons)).run() is not None


@pytest.mark.parametrize("family", families.FAMILIES)
def test_reasons_are_impossible_together_and_each_is_needed(family):
    told = Counter()
    for seed in SEEDS:
        for case in cases(load(families.member(family, seed))):
            # No proof by counting, so that the second configuration has to agree.
            conflict = minimal_conflict(case.model, Limits(), lambda _reasons: False)
            assert conflict is not None
            assert conflict.minimal
            assert conflict.certified
            assert not possible(case, conflict.reasons), Sentences(case, conflict.reasons).all()
            for reason in conflict.reasons:
                rest = [one for one in conflict.reasons if one != reason]
                assert possible(case, rest), (reason, Sentences(case, rest).all())
            told[len(conflict.reasons)] += 1
    assert told


@pytest.mark.parametrize("family", families.FAMILIES)
def test_explanations_agree_with_allocate_and_are_the_same_each_time(family):
    for seed in SEEDS:
        cluster = load(families.member(family, seed))
        found = explain(cluster)
        # A relaxation is listed only after the verifier has passed an allocation with it; it would raise here.
        assert found.units == explain(load(families.member(family, seed))).units or _alike(found, cluster)
        for unit in found.units:
            assert (unit.outcome == "Allocated") == (not unit.classes and not unit.reasons)
            costs = [(len(one.changes), one.cost) for one in unit.relaxations]
            assert costs == sorted(costs)
            assert len({frozenset(one.changes) for one in unit.relaxations}) == len(costs)


def _alike(found, cluster):
    """Units are compared by identity, what is told of them by value."""
    again = explain(cluster)
    return all(
        (one.outcome, one.classes, one.relaxations) == (other.outcome, other.classes, other.relaxations)
        for one, other in zip(found.units, again.units, strict=True)
    )


@pytest.mark.parametrize(
    "name",
    [
        "32 of 31 devices",
        "8 of 64, then an impossible one",
        "33 claims of 4, each of one of 16 groups of 8",
        "4 times 4 of 8 groups of 15",
        "32 of 64 without such a value",
    ],
)
def test_what_a_search_cannot_answer_is_explained(name):
    (unit,) = explain(load(hard.QUESTIONS[name].objects())).units
    (kind,) = unit.classes
    assert kind.minimal
    assert kind.certified
    assert 1 <= len(kind.reasons) <= 2
    assert unit.relaxations

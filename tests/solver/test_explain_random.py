"""On clusters made by chance: reasons are impossible together, each is needed, and every relaxation helps.

The judge is the plain search, on a Problem in which only the reasons hold.
"""

from collections import Counter

import pytest
from support.gates import ALL

from drasat.models.units import units
from drasat.problem.in_use import Ledger
from drasat.scenarios import families, hard
from drasat.solver.attempts import Ending, Session
from drasat.solver.backtracking import Backtracking
from drasat.solver.checked import VerificationError
from drasat.solver.cp_sat_run import Limits
from drasat.solver.explain import explain
from drasat.solver.explaining import trials
from drasat.solver.explaining.case import Workbench
from drasat.solver.explaining.conflict import minimal_conflict
from drasat.solver.explaining.restricted import restricted
from drasat.solver.explaining.sentences import Sentences
from drasat.solver.explaining.trials import Trials
from drasat.solver.load import load
from drasat.solver.search import Search
from drasat.solver.verification.verifier import Placement, Violation, verify

SEEDS = range(6)


def cases(cluster):
    """The questions that the scheduler's search says no to, node by node."""
    session = Session(cluster, ALL, "strict", 0)
    engine, bench = Backtracking(session), Workbench(session)
    for unit in units(cluster):
        claims = [ref.claim for ref in unit.asked]
        for node in cluster.nodes.values():
            ledger = Ledger(cluster.usage(ALL))
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


def told(found):
    """What is said of each unit; units themselves are compared by identity."""
    return [(unit.outcome, unit.reasons, unit.classes, unit.relaxations) for unit in found.units]


@pytest.mark.parametrize("family", families.FAMILIES)
def test_explanations_agree_with_allocate_and_are_the_same_each_time(family):
    for seed in SEEDS:
        cluster = load(families.member(family, seed))
        found = explain(cluster)
        assert told(found) == told(explain(load(families.member(family, seed))))
        for unit in found.units:
            assert (unit.outcome == "Allocated") == (not unit.classes and not unit.reasons)
            costs = [(len(one.changes), one.cost) for one in unit.relaxations]
            assert costs == sorted(costs)
            assert len({frozenset(one.changes) for one in unit.relaxations}) == len(costs)


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


@pytest.mark.parametrize("family", ["match", "taints", "in-use", "counters-in-use", "alternatives", "shares-in-use"])
def test_every_change_that_helps_lets_the_search_find_an_allocation_too(family, monkeypatch):
    helped = []

    def fits(self, scene, node):
        found = ask(self, scene, node)
        if found:
            helped.append((scene, node))
        return found

    ask = Trials.fits
    monkeypatch.setattr(Trials, "fits", fits)
    told = sum(len(unit.relaxations) for seed in SEEDS for unit in explain(load(families.member(family, seed))).units)
    assert told
    assert len(helped) >= told
    for scene, node in helped:
        engine = Backtracking(Session(scene.cluster, scene.gates, "strict", 0))
        made = engine.attempt(node, scene.claims, scene.ledger(), None)
        assert made.ending is Ending.ALLOCATED
        claims = tuple(zip(scene.claims, made.allocations, strict=True))
        assert verify(scene.cluster, [Placement(node, claims, scene.unit.pod)], scene.gates) == []


def test_an_allocation_that_breaks_a_rule_is_no_relaxation(monkeypatch):
    def broken(*_args):
        raise VerificationError([Violation("DEV-1", "ns/c", "made up")])

    cluster = load(hard.QUESTIONS["32 of 31 devices"].objects())
    monkeypatch.setattr(trials, "check", broken)
    with pytest.raises(VerificationError):
        explain(cluster)

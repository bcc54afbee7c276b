"""On clusters made by chance: reasons are impossible together, each is needed, and every relaxation helps.

The judge is the plain search, on a Problem in which only the reasons hold.
"""

from collections import Counter

import pytest
from support import families
from support.engines import changed
from support.gates import ALL
from support.peers import allocation, result

from drasat.models.results.common import Status
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.scenarios import one_node
from drasat.solver.allocate.check import VerificationError
from drasat.solver.allocate.load import load
from drasat.solver.engines.cp_sat import Limits
from drasat.solver.engines.engine import NodeResult, Session
from drasat.solver.engines.registry import backtracking_engine
from drasat.solver.engines.search import Search
from drasat.solver.explain.conflict import ExplanationCompiler, minimal_unsatisfiable_subset, restrict_to_reasons
from drasat.solver.explain.explain import explain
from drasat.solver.explain.what_if import WhatIfTrials
from drasat.solver.explain.wording import ReasonWording
from drasat.solver.verification.verify import Placement, verify

SEEDS = range(6)


def cases(cluster):
    """The questions that the scheduler's search says no to, node by node."""
    session = Session(cluster, ALL, "strict", 0)
    engine, bench = backtracking_engine(session), ExplanationCompiler(session)
    for unit in requested_units(cluster):
        claims = [ref.claim for ref in unit.requested_claims]
        for node in cluster.nodes.values():
            allocated_state = AllocatedState(cluster.usage(ALL))
            if engine.allocate_on(node, claims, allocated_state, None).status is Status.UNALLOCATABLE:
                yield bench.compile(node, claims, allocated_state)


def possible(case, reasons):
    return Search(*restrict_to_reasons(case, reasons)).run() is not None


@pytest.mark.parametrize("family", families.FAMILIES)
def test_reasons_are_impossible_together_and_each_is_needed(family):
    told = Counter()
    for seed in SEEDS:
        for case in cases(load(families.member(family, seed))):
            # No proof by counting, so that the second configuration has to agree.
            conflict = minimal_unsatisfiable_subset(case.model, Limits(), lambda _reasons: False)
            assert conflict is not None
            assert conflict.minimal
            assert conflict.confirmed
            assert not possible(case, conflict.reasons), ReasonWording(case, conflict.reasons).all()
            for reason in conflict.reasons:
                rest = [one for one in conflict.reasons if one != reason]
                assert possible(case, rest), (reason, ReasonWording(case, rest).all())
            told[len(conflict.reasons)] += 1
    assert told


def told(found):
    """What is said of each unit; units themselves are compared by identity."""
    return [(unit.outcome, unit.reasons, unit.failures, unit.relaxations) for unit in found.units]


@pytest.mark.parametrize("family", families.FAMILIES)
def test_explanations_agree_with_allocate_and_are_the_same_each_time(family):
    for seed in SEEDS:
        cluster = load(families.member(family, seed))
        found = explain(cluster)
        assert told(found) == told(explain(load(families.member(family, seed))))
        for unit in found.units:
            assert (unit.outcome == "Allocated") == (not unit.failures and not unit.reasons)
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
    (unit,) = explain(load(one_node.QUESTIONS[name].objects())).units
    (kind,) = unit.failures
    assert kind.minimal
    assert "no second proof" not in " ".join(kind.notes)
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

    ask = WhatIfTrials.fits
    monkeypatch.setattr(WhatIfTrials, "fits", fits)
    told = sum(len(unit.relaxations) for seed in SEEDS for unit in explain(load(families.member(family, seed))).units)
    assert told
    assert len(helped) >= told
    for scene, node in helped:
        engine = backtracking_engine(Session(scene.cluster, scene.gates, "strict", 0))
        made = engine.allocate_on(node, scene.claims, scene.allocated_state(), None)
        assert made.status is Status.ALLOCATED
        claims = tuple(zip(scene.claims, made.allocations, strict=True))
        assert verify(scene.cluster, [Placement(node, claims, scene.unit.pod)], scene.gates) == []


def test_an_allocation_that_breaks_a_rule_is_no_relaxation(register):
    wrong = NodeResult(Status.ALLOCATED, allocations=(allocation(result("nowhere")),))
    register("cp-sat", changed(lambda _: wrong, "cp-sat"))
    cluster = load(one_node.QUESTIONS["32 of 31 devices"].objects())
    with pytest.raises(VerificationError):
        explain(cluster)

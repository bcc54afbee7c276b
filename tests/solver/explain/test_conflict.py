"""Deletion: which of several minimal sets is found, with how little work, and what is said where it is cut short."""

from random import Random

import pytest
from support.gates import ALL
from support.objects import after, claim, device, device_class, devices, match, node, pool, taint, want

from drasat.models.cluster.cluster import Cluster
from drasat.models.results.common import ProofKind
from drasat.problem.messages import Justification
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines.cp_sat import CONFIRMING, Limits, SolveResult, SolverStatus
from drasat.solver.engines.engine import Session
from drasat.solver.explain.conflict import ExplanationCompiler, minimal_unsatisfiable_subset, proof_by_counting


def case(*objects):
    cluster = Cluster.of([device_class(), node("n1"), *objects])
    asked = [one for one in cluster.claims.values() if not one.status]
    bench = ExplanationCompiler(Session(cluster, ALL, "strict", 0))
    return bench.compile(cluster.node("n1"), asked, AllocatedState(cluster.usage(ALL)))


def conflict(found, **options):
    return minimal_unsatisfiable_subset(found.model, Limits(), lambda _reasons: False, **options)


def ids(found):
    return [reason.id for reason in found.reasons]


def test_what_is_possible_has_no_conflict():
    assert conflict(case(pool(device("a")), claim(want()))) is None


def test_a_taint_goes_before_a_claim_that_holds_enough():
    there = (pool(*devices("a", "b"), device("c", taints=(taint("k"),))),)
    held = after(*there, claim(want(count=2), name="x"))
    assert ids(conflict(case(*there, *held, claim(want(count=3))))) == ["exactCount", "inUse"]


def test_without_a_reason_the_others_are_found():
    there = (pool(*devices("a", "b"), device("c", taints=(taint("k"),))),)
    held = after(*there, claim(want(count=2), name="x"))
    found = case(*there, *held, claim(want(count=3)))
    first = conflict(found)
    in_use = next(reason for reason in first.reasons if reason.id == "inUse")
    assert ids(conflict(found, without=in_use)) == ["exactCount", "taint"]


def test_without_the_only_reason_everything_is_possible():
    found = case(pool(device("a")), claim(want(count=2)))
    (request,) = conflict(found).reasons
    assert conflict(found, without=request) is None


class Oracle:
    """A run that only knows which sets of guards are impossible: those that hold all of ``core``."""

    def __init__(self, model, core, unknown=()):
        self.model = model
        self.core = frozenset(core)
        self.unknown = frozenset(unknown)
        self.runs = 0

    def __call__(self, rows, _limits, configuration, _watch):
        self.runs += 1
        on = {reason for reason, guard in self.model.guards.items() if rows.fixed[guard]}
        if configuration is not CONFIRMING and self.unknown and not self.unknown <= on:
            return SolveResult(SolverStatus.UNKNOWN)
        return SolveResult(SolverStatus.INFEASIBLE if self.core <= on else SolverStatus.OPTIMAL)


class Model:
    """Guards and nothing behind them."""

    def __init__(self, reasons):
        self.guards = {reason: number for number, reason in enumerate(reasons)}
        self.rows = self
        self.lazy_constraints = []
        self.fixed = {}

    def fix(self, guard, value):
        self.fixed[guard] = value


def reasons(count):
    kinds = ("inUse", "taint", "counters", "requestSelector")
    made = case(pool(device("a")), claim(want())).model.guards
    first = next(iter(made))
    return [Justification(kinds[number % len(kinds)], first.message, subject=number) for number in range(count)]


@pytest.mark.parametrize("seed", range(30))
def test_exactly_the_core_is_left(seed):
    rng = Random(seed)
    model = Model(reasons(rng.randint(1, 60)))
    core = rng.sample(sorted(model.guards, key=repr), rng.randint(1, min(5, len(model.guards))))
    oracle = Oracle(model, core)
    found = minimal_unsatisfiable_subset(model, Limits(backend=oracle), lambda _reasons: False)
    assert set(found.reasons) == set(core)
    assert found.minimal
    assert found.confirmed


def test_few_of_many_take_few_runs():
    model = Model(reasons(512))
    oracle = Oracle(model, [list(model.guards)[100]])
    assert len(minimal_unsatisfiable_subset(model, Limits(backend=oracle), lambda _reasons: False).reasons) == 1
    assert oracle.runs < 30


def test_where_the_solver_does_not_know_nothing_is_given_up():
    model = Model(reasons(4))
    oracle = Oracle(model, list(model.guards)[:1], unknown=list(model.guards)[:2])
    found = minimal_unsatisfiable_subset(model, Limits(backend=oracle), lambda _reasons: False)
    assert set(found.reasons) == set(list(model.guards)[:2])
    assert not found.minimal


def test_a_proof_by_counting_needs_no_second_run():
    model = Model(reasons(1))
    oracle = Oracle(model, model.guards)
    assert (
        minimal_unsatisfiable_subset(model, Limits(backend=oracle), lambda _reasons: True).proof_kind
        is ProofKind.WITNESS
    )
    counted = oracle.runs
    assert minimal_unsatisfiable_subset(model, Limits(backend=oracle), lambda _reasons: False).confirmed
    assert oracle.runs == 2 * counted + 1


def test_counting_sees_the_reasons_alone():
    there = pool(device("a", numa=0), device("b", numa=1))
    found = case(there, claim(want(count=2), constraints=[match("d.x/numa")]))
    both = conflict(found).reasons
    assert proof_by_counting(found, both)
    assert not any(proof_by_counting(found, [reason]) for reason in both)

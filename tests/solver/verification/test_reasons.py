"""Sets of reasons, decided by the verifier's own formulation and by the model of explanations."""

from collections import Counter
from random import Random

import pytest
from support.families import FAMILIES
from support.gates import ALL
from support.objects import after, claim, device, device_class, devices, match, node, pool, taint, want
from support.random_clusters import load
from support.related import Related

from drasat.models.cluster.cluster import Cluster
from drasat.models.workload.requested import requested_units
from drasat.problem.node_state import AllocatedState
from drasat.solver.engines import cp_sat
from drasat.solver.engines.engine import Counts, Session
from drasat.solver.explain.conflict import ExplanationCompiler, NotCompilableError
from drasat.solver.explain.wording import held_reason
from drasat.solver.verification.existence import Audit
from drasat.solver.verification.reasons import HeldReason, ReasonAudit, ReasonSet
from drasat.solver.verification.verify import Replay


class Question:
    """Claims on a node: the model of explanations, and the audit of their reasons."""

    def __init__(self, cluster, claims, place, deadline=None):
        self.place = place
        compiler = ExplanationCompiler(Session(cluster, ALL, "strict", 0))
        self.guarded = compiler.compile(place, claims, AllocatedState(cluster.usage(ALL)))
        replay = Replay(cluster, ALL, "strict", (), deadline=deadline)
        self.audit = ReasonAudit(replay.context, claims, place, replay.holders(), (), deadline)
        self.guards = tuple(self.guarded.model.guards)

    def held(self, reasons):
        return tuple(held_reason(self.guarded, one) for one in reasons)

    def modelled(self, reasons):
        model = self.guarded.model
        for reason, guard in model.guards.items():
            model.rows.fix(guard, int(reason in reasons))
        run = cp_sat.solve_with_lazy_constraints(
            model, lambda limits: cp_sat.run_solver(model.rows, limits, cp_sat.USUAL), cp_sat.Limits(), Counts()
        )
        return Audit.IMPOSSIBLE if run.status is cp_sat.SolverStatus.INFEASIBLE else Audit.POSSIBLE


def questions(cluster):
    for unit in requested_units(cluster):
        for place in cluster.nodes.values():
            try:
                yield Question(cluster, unit.claims_to_allocate, place)
            except NotCompilableError:
                continue


def compared(cluster, chance):
    """Compare some sets of reasons; return how many are impossible, and possible."""
    counts = Counter()
    for question in questions(cluster):
        for share in (1.0, 0.95, 0.9, 0.7, 0.4):
            reasons = [one for one in question.guards if chance.random() < share]
            found = question.audit.decide_reasons(question.held(reasons))
            assert found is question.modelled(frozenset(reasons)), question.held(reasons)
            counts[found] += 1
    return counts


@pytest.mark.parametrize("family", FAMILIES)
def test_sets_of_reasons_are_possible_where_the_model_of_explanations_says_so(family):
    chance = Random(17)
    counts = sum((compared(load(family, seed), chance) for seed in range(6)), Counter())
    assert min(counts[Audit.IMPOSSIBLE], counts[Audit.POSSIBLE]) >= 3


def test_the_same_holds_for_expressions_over_devices_and_topologies():
    chance = Random(18)
    clusters = (Cluster.of([device_class(), node(), *Related(Random(seed)).objects()]) for seed in range(25))
    counts = sum((compared(cluster, chance) for cluster in clusters), Counter())
    assert min(counts[Audit.IMPOSSIBLE], counts[Audit.POSSIBLE]) >= 15


TAINTED = (pool(*devices("a", "b"), device("c", taints=(taint("k"),))),)


def question(*objects, **options):
    cluster = Cluster.of([device_class(), node("n1"), *objects])
    asked = [one for one in cluster.claims.values() if not one.status]
    return Question(cluster, asked, cluster.node("n1"), **options)


REQUEST = HeldReason("exactCount", requests=((0, "r"),))
TAINT = HeldReason("taint", names=("k:NoSchedule",))


@pytest.mark.parametrize(
    ("reasons", "minimal", "wrong"),
    [
        pytest.param((REQUEST, TAINT), True, "", id="right"),
        pytest.param((REQUEST,), True, "its reasons are possible together", id="too few"),
        pytest.param((), True, "its reasons are possible together", id="none"),
        pytest.param(
            (REQUEST, TAINT, HeldReason("deviceNode")), True, "its reason 3, deviceNode, is not needed", id="too many"
        ),
        pytest.param((REQUEST, TAINT, HeldReason("deviceNode")), False, "", id="not said to be minimal"),
    ],
)
def test_a_set_is_impossible_and_each_of_its_reasons_needed(reasons, minimal, wrong):
    asked = question(*TAINTED, claim(want(count=3)))
    found = asked.audit.verdict(ReasonSet(asked.place, reasons, minimal))
    assert (found.wrong, found.holds) == (wrong, not wrong)


def test_a_device_is_free_once_the_claim_that_has_it_is_let_go():
    there = (pool(*devices("a", "b")),)
    asked = question(*there, *after(*there, claim(want(), name="x")), claim(want(count=2)))
    in_use = HeldReason("inUse", names=("ns/x",))
    assert asked.audit.decide_reasons((REQUEST, in_use)) is Audit.IMPOSSIBLE
    assert asked.audit.decide_reasons((REQUEST, HeldReason("inUse", names=("ns/y",)))) is Audit.POSSIBLE


def test_a_request_that_is_let_go_takes_any_number_of_devices():
    two = pool(device("a", model="x"), device("b", model="y"))
    asked = question(two, claim(want(count=2), constraints=(match("model"),)))
    entry = HeldReason("matchAttribute", claims=(0,))
    assert asked.audit.decide_reasons((REQUEST, entry)) is Audit.IMPOSSIBLE
    assert asked.audit.decide_reasons((entry,)) is Audit.POSSIBLE


def test_reasons_that_are_not_known_are_not_decided():
    asked = question(*TAINTED, claim(want(count=3)))
    found = asked.audit.verdict(ReasonSet(asked.place, (REQUEST, HeldReason("nodeResources", names=("cpu",))), True))
    assert (found.holds, found.wrong) == (False, "")


def test_without_time_nothing_is_decided():
    asked = question(*TAINTED, claim(want(count=3)), deadline=0.0)
    found = asked.audit.verdict(ReasonSet(asked.place, (REQUEST, TAINT), True))
    assert (found.holds, found.wrong) == (False, "")

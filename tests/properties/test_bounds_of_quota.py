"""Bounds that the verifier finds anew where workloads need quota: no plan exceeds them, whatever the duals are.

``PYTHONPATH=tests python tests/properties/test_bounds_of_quota.py 0 300`` searches longer.
"""

import sys
from collections import Counter
from dataclasses import replace as record
from fractions import Fraction
from random import Random

import pytest
from msgspec.structs import replace
from support.quota_scene import FLAVOR_A, FLAVOR_B, QuotaScene, pod_set, random_scene, read, varied_scene, workload

from drasat.models.kubernetes.gates import gates_of
from drasat.models.results.common import ProofKind
from drasat.models.results.plan import DualRow, StageDuals
from drasat.models.workload.quota import QuotaHolder, QuotaProblem
from drasat.solver.allocate.check import VerificationError
from drasat.solver.verification.bounds import BoundQuestion, audited_bounds
from drasat.solver.verification.quota import QuotaReplay

SEEDS = 25
STAGES = ("admitted", "admitted=devices", "priority", "admitted=annotation:drasat.dev/value")


def shaken(duals, random):
    for one in duals:
        rows = [
            DualRow(kind=row.kind, names=row.names, domain=row.domain, choice=row.choice, value=str(value))
            for row in one.rows
            if (value := Fraction(row.value) * random.choice((0, Fraction(1, 3), 1, 1, 2)))
        ]
        yield StageDuals(stage=one.stage, rows=tuple(rows))


def check(seed, scene_of):
    """No bound is beyond the value of the plan; count the stages, and how many of them a bound closes."""
    random, scene, counts = Random(f"bounds/quota/{seed}"), scene_of(seed), Counter()
    stages = list(dict.fromkeys([random.choice(STAGES), "admitted"]))
    found = scene.plan(objective=stages, gap=0.0, time_limit=None, duals=True)
    question = BoundQuestion(read(scene.documents), gates_of(None), quota=scene.problem)
    for duals in (found.duals, list(shaken(found.duals, random)), ()):
        bounds = list(audited_bounds(question, found.objective, duals))
        for stage, bound in zip(found.objective, bounds, strict=True):
            assert bound is not None, (seed, stage)
            assert bound >= Fraction(str(stage.value)), (seed, stage, bound)
            if duals is found.duals:
                counts["stages"] += 1
                counts["closed"] += bound == stage.value
    return counts


@pytest.mark.parametrize("scene_of", [random_scene, varied_scene])
def test_no_plan_with_quota_exceeds_a_bound_whatever_the_duals_are(scene_of):
    counts = sum((check(seed, scene_of) for seed in range(SEEDS)), Counter())
    assert 2 * counts["closed"] >= counts["stages"]


def scene(nominal, jobs=6, **queue):
    """Jobs of one pod with a device and a CPU each, on nodes with room for eight, four of them in each flavor's."""
    names = [f"w{number}" for number in range(jobs)]
    made = dict.fromkeys(names, (1, 1, 1, None))
    nodes = {"n1": ("a", 4, 8, False), "n2": ("b", 4, 8, True)}
    holder = QuotaHolder("queue", nominal=nominal, **queue)
    workloads = tuple(workload(name, 0, pod_set(made[name], [FLAVOR_A, FLAVOR_B], name)) for name in names)
    return QuotaScene(nodes, made, QuotaProblem((holder,), workloads))


CPU = {("a", "cpu"): 99, ("b", "cpu"): 99}


@pytest.mark.parametrize(
    ("nominal", "placed"),
    [
        ({("a", "gpu"): 2, ("b", "gpu"): 1, **CPU}, 3),
        # Only one flavor has quota, and its node has fewer devices than that.
        ({("a", "gpu"): 9, ("b", "gpu"): 0, **CPU}, 4),
        ({("a", "gpu"): 9, ("b", "gpu"): 1, **CPU}, 5),
    ],
)
def test_what_quota_or_nodes_leave_is_audited(nominal, placed):
    found = scene(nominal).plan(objective=["admitted"], gap=0.0, time_limit=None, audit=600.0)
    (stage,) = found.objective
    assert (stage.value, stage.bound, stage.proof) == (placed, placed, ProofKind.AUDITED)


def test_amounts_of_bytes_are_priced():
    """Charges of 2^30 and more are as good for a bound as those of single devices."""
    asked = scene({("a", "gpu"): 2 << 40, ("b", "gpu"): 1 << 40, **CPU})
    problem = asked.problem
    workloads = tuple(
        record(one, pod_sets=tuple(record(own, charge={"gpu": 1 << 40}) for own in one.pod_sets))
        for one in problem.workloads
    )
    asked.problem = record(problem, workloads=workloads)
    (stage,) = asked.plan(objective=["admitted"], gap=0.0, time_limit=None, audit=600.0).objective
    assert (stage.value, stage.proof) == (3, ProofKind.AUDITED)


@pytest.mark.parametrize("told", [-1, 1])
def test_a_bound_that_is_one_off_is_not_taken(told):
    """A stage that is beyond its bound is refused; one below it is not what the audit closes."""
    asked = scene({("a", "gpu"): 2, ("b", "gpu"): 1, **CPU})
    found = asked.plan(objective=["admitted"], gap=0.0, time_limit=None, duals=True)
    (stage,) = found.objective
    question = BoundQuestion(read(asked.documents), gates_of(None), quota=asked.problem)
    ((bound,),) = (list(audited_bounds(question, [replace(stage, value=stage.value + told)], found.duals)),)
    assert bound == stage.value


def test_quota_that_is_read_with_one_less_shows_a_plan_beyond_it(monkeypatch):
    """The planner is right and the audit reads too little: it says so, and gives no answer."""
    room = QuotaReplay.room
    monkeypatch.setattr(QuotaReplay, "room", lambda self, x, pair: max(0, room(self, x, pair) - 1))
    with pytest.raises(VerificationError, match="no plan is beyond 1"):
        scene({("a", "gpu"): 2, ("b", "gpu"): 1, **CPU}).plan(objective=["admitted"], gap=0.0, audit=600.0)


def test_what_cohorts_lend_counts():
    """Queues of a cohort may use what others leave, and what a queue keeps for itself only it may use."""
    pair = ("a", "gpu")
    nodes = (
        QuotaHolder("all", is_cohort=True, nominal={pair: 1}),
        QuotaHolder("one", 0, nominal={pair: 2, **CPU}, borrowing_limit={pair: 1}),
        QuotaHolder("other", 0, nominal={pair: 4, **CPU}, lending_limit={pair: 1}, held={pair: 1}),
    )
    replay = QuotaReplay(nodes)
    assert [replay.room(place, pair) for place in range(3)] == [6, 3, 6]


def main(first, count):
    """A long run."""
    for scene_of in (random_scene, varied_scene):
        total = sum((check(seed, scene_of) for seed in range(first, first + count)), Counter())
        print(scene_of.__name__, dict(total), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

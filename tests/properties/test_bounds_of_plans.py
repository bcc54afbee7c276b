"""Bounds that the verifier finds anew from duals: no plan exceeds them, whatever the duals are.

``PYTHONPATH=tests python tests/properties/test_bounds_of_plans.py 0 200 gangs`` searches longer.
"""

import sys
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from support.gates import ALL
from support.moving import random_scene
from support.plan_building import classes, cluster
from support.plan_by_force import by_force
from support.plan_devices import TooLargeError
from support.pod_rules_by_force import Case
from support.preempting import PreemptingScene, preempting_scene, varied_scene
from support.random_plans import CHAINS, FAMILIES, plan_manifests

from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.gates import gates_of
from drasat.models.manifests.reader import read_manifests
from drasat.models.results.plan import DualRow, PlanStage, StageDuals
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import plan_with_moves
from drasat.solver.plan.plan import plan
from drasat.solver.verification.bounds import BoundQuestion, audited_bounds

SEEDS = 5
# Families whose units may have other devices, or devices that consume more.
WITH_CHOICES = ("partitions", "shares", "alternatives", "network", "gangs", "priorities", "mixed")
# Families with devices that have capacities.
WITH_CAPACITIES = ("shares", "network", "mixed")
STAGES = ("priority", "admitted=devices", "admitted=annotation:team.example/worth", "admitted", "fewest-nodes")


OF_DEVICES = ("admitted", "preference", "least-consumption", "spread")


def asked(family, seed, of_devices=False):
    """A member of a family with what is asked about it."""
    documents = plan_manifests(family, seed)
    if of_devices:
        # What there is of each kind is not known where nodes are bought.
        cluster = Cluster.build(read_manifests([documents])[0])
        return cluster, {"objective": OF_DEVICES, "buy": False, "only_new": False}
    random = Random(f"bounds/{family}/{seed}")
    buys = any(one["kind"] == "NodeTemplate" for one in documents)
    first = [*STAGES[:3], *(["admitted=capacity:width"] * 3 if family in WITH_CAPACITIES else ())]
    stages = [random.choice(first), "admitted", random.choice(["cost", "fewest-nodes"]) if buys else STAGES[-1]]
    cluster = Cluster.build(read_manifests([documents])[0])
    return cluster, {"objective": stages, "buy": buys, "only_new": buys and random.random() < 0.3}


def shaken(found, random):
    """Other duals: each value as it is, without it, or times another number, and prices of some devices."""
    for one in found.duals:
        rows = [
            DualRow(kind=row.kind, names=row.names, domain=row.domain, value=str(Fraction(row.value) * factor))
            for row in one.rows
            if (factor := random.choice((0, Fraction(1, 3), 1, 1, 2)))
        ]
        held = [r for unit in found.units for _, made in unit.allocations for r in made.devices.results or ()]
        for result in random.sample(held, min(2, len(held))):
            name = f"{result.driver}/{result.pool}/{result.device}"
            rows.append(DualRow(kind="device", names=(name,), value=str(Fraction(random.randint(1, 3), 2))))
        yield StageDuals(stage=one.stage, rows=tuple(rows))


def told(family, seed, of_devices=False):
    """Each stage with the bound of its own duals, and the bounds that other duals give."""
    cluster, options = asked(family, seed, of_devices)
    found = plan(cluster, gap=0, time_limit=None, duals=True, **options)
    question = BoundQuestion(cluster, gates_of(None), buy=options["buy"], only_new=options["only_new"])
    bounds = [*audited_bounds(question, found.objective, found.duals)]
    random = Random(seed)
    others = [[*audited_bounds(question, found.objective, [*shaken(found, random)])] for _ in range(2)]
    return [*zip(found.objective, bounds, *others, strict=True)]


def check(family, seed, of_devices=False):
    """No bound is beyond the value of the plan; return how many stages there are, and how many of them it closes."""
    counts = Counter()
    for stage, own, *others in told(family, seed, of_devices):
        sign = 1 if stage.sense == "max" else -1
        for bound in (own, *others):
            assert bound is None or sign * bound >= sign * Fraction(str(stage.value)), (family, seed, stage, bound)
        counts["stages"] += 1
        counts["closed"] += own == stage.value
        counts[stage.stage] += own != stage.value
    return counts


@pytest.mark.parametrize("family", [*FAMILIES, *CHAINS])
def test_no_plan_exceeds_a_bound_whatever_the_duals_are(family):
    counts = sum((check(family, seed) for seed in range(SEEDS)), Counter())
    # Claims that several units name take nothing in these bounds.
    assert 2 * counts["closed"] >= counts["stages"] or family in ("shared-claims", *CHAINS)


def test_a_gang_may_have_members_that_count_nothing_in_a_stage():
    """One of its members asks for no device: the bound by kinds took it for one that fits nowhere."""
    check("gangs", 210)


@pytest.mark.parametrize("family", WITH_CHOICES)
def test_no_plan_costs_less_in_stages_about_devices(family):
    counts = sum((check(family, seed, of_devices=True) for seed in range(SEEDS)), Counter())
    # A weight that is too low leaves the stage open, and one that is too high cuts off plans.
    assert 2 * counts["closed"] >= counts["stages"]
    assert counts["least-consumption"] <= 1


@pytest.mark.parametrize("seed", range(12))
def test_no_bound_of_preference_is_beyond_what_brute_force_finds(seed):
    documents = plan_manifests("alternatives", seed)
    try:
        best = by_force(documents, ["admitted", "preference"])
    except TooLargeError:
        pytest.skip("too large")
    cluster = Cluster.build(read_manifests([documents])[0])
    stages = [
        PlanStage(stage=name, value=value, bound=None, proven=False, gap=None, sense=sense)
        for (name, value), sense in zip(best.items(), ("max", "min"), strict=True)
    ]
    random = Random(seed)
    found = plan(cluster, objective=["admitted", "preference"], gap=0, time_limit=None, duals=True)
    for duals in (found.duals, (), [*shaken(found, random)]):
        most, least = audited_bounds(BoundQuestion(cluster, gates_of(None)), stages, duals)
        assert most is None or most >= best["admitted"]
        assert least is None or least <= best["preference"]


def best_moves(scene):
    """The best that trying everything finds where something waits."""
    levels = sorted({one.priority for one in scene.pods if one.node is None}, reverse=True)

    def value(state, moved):
        pairs = zip(scene.pods, state, strict=True)
        placed = Counter(one.priority for one, at in pairs if one.node is None and at is not None)
        return *(placed[one] for one in levels), placed.total(), -sum(one.cost for one in moved), -len(moved)

    return {scene.best(value)} if levels else set()


def check_running(made, seed):
    """No bound is beyond what trying everything finds; return how many stages there are, and how many are closed."""
    scene, counts, random = made(seed), Counter(), Random(seed)
    given, preempts = cluster(*classes(), *scene.objects()), isinstance(scene, PreemptingScene)
    terms = {"preempts": preempts, "moves": not preempts or scene.moves}
    found = plan_with_moves(given, MoveOptions(**terms), gap=0.0, time_limit=None, duals=True)
    # No stage is about capacities, and trying everything does not count nodes.
    told = [one for one in found.objective if one.stage not in ("capacity-lost", "fewest-nodes")]
    best = scene.all_best() if preempts else best_moves(scene)
    assert not best or tuple(one.value if one.sense == "max" else -one.value for one in told) in best, seed
    question, many = BoundQuestion(given, gates_of(ALL), **terms), [found.duals, (), [*shaken(found, random)]]
    bounds = [[*audited_bounds(question, found.objective, duals)] for duals in many]
    for stage, own, *others in zip(found.objective, *bounds, strict=True):
        sign = 1 if stage.sense == "max" else -1
        for bound in (own, *others):
            assert bound is None or sign * bound >= sign * Fraction(str(stage.value)), (made, seed, stage, bound)
        counts["stages"] += stage.value != 0
        counts["closed"] += stage.value != 0 and own == stage.value
    return counts


@pytest.mark.parametrize("made", [preempting_scene, varied_scene, random_scene])
def test_no_plan_in_which_running_pods_leave_is_beyond_a_bound(made):
    counts = sum((check_running(made, seed) for seed in range(4 * SEEDS)), Counter())
    assert 2 * counts["closed"] >= counts["stages"]


def check_rules(seed):
    """No order of placements has more pods than a bound; return whether the bound of the planner's duals is met."""
    case = Case(seed)
    cluster, best = Cluster.build(read_manifests([case.documents])[0]), case.best()
    stage = PlanStage(stage="admitted", value=best, bound=None, proven=False, gap=None, sense="max")
    found = plan(cluster, objective=["admitted"], gap=0, time_limit=None, duals=True)
    question = BoundQuestion(cluster, gates_of(None))
    told = [found.duals, (), [*shaken(found, Random(seed))]]
    (own,), *others = ([*audited_bounds(question, [stage], duals)] for duals in told)
    assert all(bound >= best for (bound,) in [(own,), *others]), (seed, best, own, others)
    return own == best


def test_no_order_of_pods_with_rules_exceeds_a_bound():
    # Rules between kinds in larger domains, and affinity, are no rows.
    assert sum(map(check_rules, range(40))) >= 23


def main(first, count, *families):
    """A long run."""
    if families == ("rules",):
        print(sum(map(check_rules, range(first, first + count))), "met")
        return
    for made in (preempting_scene, varied_scene, random_scene):
        seeds = range(first, first + count)
        print(made.__name__, dict(sum((check_running(made, seed) for seed in seeds), Counter())), flush=True)
    for family in families or FAMILIES:
        for of_devices in (False, True) if family in WITH_CHOICES else (False,):
            seeds = range(first, first + count)
            print(family, dict(sum((check(family, seed, of_devices) for seed in seeds), Counter())), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])

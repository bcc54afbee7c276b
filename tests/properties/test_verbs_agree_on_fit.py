"""All verbs agree, with each other and with brute force, on which pods fit which nodes, and how many more."""

import os

import pytest
from support.fit_scenes import FitScene

from drasat.solver.allocate.allocate import allocate
from drasat.solver.capacity.capacity import capacity
from drasat.solver.compare.plans import compare_plans
from drasat.solver.explain.explain import explain
from drasat.solver.plan.plan import plan

FACTOR = int(os.environ.get("DRASAT_PROPERTY_FACTOR", "1"))
OFFSET = int(os.environ.get("DRASAT_PROPERTY_OFFSET", "0"))
# An audit that finds an allocation for a no, or more copies than a bound, raises an error.
SECONDS = 10.0
SEEDS = range(OFFSET, OFFSET + 24 * FACTOR)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_fits_in_order_is_the_same_for_all(seed):
    scene = FitScene.by_chance(seed)
    cluster, expected = scene.cluster(), scene.first_fit()
    for engine, audit in (("auto", SECONDS), ("backtracking", None), ("cp-sat", SECONDS)):
        assert [one.node for one in allocate(cluster, engine=engine, audit=audit).units] == expected, engine
    told = explain(cluster, audit=SECONDS)
    assert [one.node for one in told.units] == expected
    assert all(one.reasons or one.failures for one in told.units if one.node is None)
    (greedy,) = compare_plans(cluster, ("first-fit",), orders=("given",)).runs
    assert [one.node for one in greedy.units] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_places_as_many_as_can_be(seed):
    scene = FitScene.by_chance(seed)
    found = plan(scene.cluster())
    assert (found.outcome, sum(one.node is not None for one in found.units)) == ("Optimal", scene.most())
    audited = plan(scene.cluster(), audit=SECONDS).objective[0]
    assert audited.value == scene.most()
    assert audited.bound is None or audited.bound >= scene.most()
    assert not audited.proven or audited.proof.is_checked


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_more_fit_as_can_be_placed_one_by_one(seed):
    scene = FitScene.by_chance(seed)
    pod = scene.pods[0]
    found = capacity(scene.cluster([pod]), pod=pod.name, audit=SECONDS).total
    expected = scene.copies(pod)
    assert found.unbounded if expected is None else (found.fits, found.bound, found.first_fit) == (expected,) * 3

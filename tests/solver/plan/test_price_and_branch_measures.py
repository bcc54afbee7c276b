"""Whole plans whose stages look at what bundles cost, against all plans of small instances."""

from dataclasses import replace
from random import Random

import pytest
from support.plan_measures import COSTS, random_bench, totals

from drasat.solver.plan.master_problem import (
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.bundle import SPREAD
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.measures import COMPACT, PREFERENCE, SOFT

EXACT = PlanLimits(gap=0.0)


def scene(seed, measures):
    """One or two kinds of nodes, each with claims of its own for two unit classes."""
    rng = Random(f"measured plans/{seed}")
    asked = [(random_bench(rng, 2, 4).question, rng.randint(1, 2)) for _ in range(rng.choice((1, 2)))]
    nodes = [(replace(question, measures=measures), number) for question, number in asked]
    demand = [rng.randint(1, 4) for _ in range(2)]
    units = tuple(MasterUnitClass(index, asked, rng.choice((1, 1, 2, 5))) for index, asked in enumerate(demand))
    classes = tuple(MasterNodeClass(index, number) for index, (_, number) in enumerate(nodes))
    return MasterProblem(units, classes, meters=len(measures)), nodes, demand


def costing(name, meter=0):
    return ObjectiveStage(name, Terms(usage={meter: 1}), maximise=False)


@pytest.mark.parametrize("measure", [PREFERENCE, SOFT, COMPACT, SPREAD], ids=lambda one: one.id)
def test_plans_cost_as_little_as_any_that_place_as_much(measure):
    paid = 0
    for seed in range(25):
        instance, nodes, demand = scene(f"{measure.id}/{seed}", (measure,))
        stages = [instance.admitted(), costing(measure.id)]
        found = solve_stages(instance, stages, BundlePricer({n: q for n, (q, _) in enumerate(nodes)}), limits=EXACT)
        weights = [unit.weight for unit in instance.units]
        values = {
            placed: (sum(map(int.__mul__, weights, placed)), -cost)
            for placed, cost in totals(nodes, demand, COSTS[measure]).items()
        }
        best, cost = max(values.values())
        assert [result.value for result in found.stages] == [best, -cost]
        assert [result.bound for result in found.stages] == [best, -cost]
        paid += cost < 0
    assert paid > 2

"""Plans whose nodes reach devices of one pool: rows on meters let each of them be taken once."""

from dataclasses import replace
from random import Random

import pytest
from support.bundles import Bench
from support.objects import claim, device, device_class, node, pool, want
from support.plan_measures import COSTS, bundles

from drasat.models.cluster.cluster import Cluster
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.cp_sat import BundlePricer
from drasat.solver.plan.pricing.measures import COMPACT

EXACT = PlanLimits(gap=0.0)


def reaching(own, shared, asked, most):
    """What a node is asked that has devices of its own and reaches the shared ones, each with a meter."""
    members = [device(name, speed="slow") for name in own]
    outside = [device(name, speed="fast") for name in shared]
    pools = [pool(*own_, name=name) for own_, name in ((members, "own"), (outside, "shared")) if own_]
    made = Bench(Cluster.of([*pools, device_class(), node()]), asked, most)
    numbers = made.numbers()
    return replace(made.question, meters=tuple({numbers[name]: 1} for name in shared))


def instance_of(demand, weights, numbers, meters):
    units = tuple(MasterUnitClass(index, *one) for index, one in enumerate(zip(demand, weights, strict=True)))
    rows = tuple(CouplingRow(Terms(usage={meter: 1}), upper=1) for meter in range(meters))
    return MasterProblem(units, tuple(MasterNodeClass(*one) for one in enumerate(numbers)), rows=rows, meters=meters)


def planned(instance, questions, stages):
    found = solve_stages(instance, stages, BundlePricer(dict(enumerate(questions))), limits=EXACT)
    assert found.plan.is_feasible(instance, instance.rows)
    for column, _ in found.plan.columns:
        meters = questions[column.node_class].meters
        taken = [pick.device for copies in column.payload.copies for picks in copies for pick in picks]
        amounts = [sum(meter.get(one, 0) for one in taken) for meter in meters]
        used = dict(column.usage)
        assert [used.get(meter, 0) for meter in range(len(meters))] == amounts
    return found


def every_plan(instance, questions, costs):
    """All (units placed, meters used, cost) that keep to the rows."""
    found = {((0,) * len(instance.units), (0,) * len(questions[0].meters), 0)}
    for kind, question in zip(instance.nodes, questions, strict=True):
        options = {
            (bundle.counts, tuple(_used(meter, bundle) for meter in question.meters), costs(question, bundle))
            for bundle in bundles(question)
        }
        for _ in range(kind.count):
            found = {one for plan in found for option in options if _keeps(instance, one := _sum(plan, option))}
    return found


def _used(meter, bundle):
    return sum(meter.get(pick.device, 0) for copies in bundle.copies for picks in copies for pick in picks)


def _sum(plan, option):
    placed, used, cost = (plan[0], option[0]), (plan[1], option[1]), plan[2] + option[2]
    return tuple(map(sum, zip(*placed, strict=True))), tuple(map(sum, zip(*used, strict=True))), cost


def _keeps(instance, plan):
    demanded = all(number <= unit.demand for number, unit in zip(plan[0], instance.units, strict=True))
    return demanded and all(number <= 1 for number in plan[1])


def test_a_shared_device_goes_to_the_node_that_makes_more_of_it():
    """A pair needs the shared device beside the only own one; two own ones do without."""
    asked, most = [[claim(want(count=2))]], [2]
    questions = [reaching(["a"], ["s"], asked, most), reaching(["b", "c"], ["s"], asked, most)]
    instance = instance_of([2], [1], [1, 1], 1)
    found = planned(instance, questions, [instance.admitted()])
    assert [(result.value, result.bound) for result in found.stages] == [(2, 2)]


def test_nodes_of_one_kind_share_as_well():
    questions = [reaching(["a"], ["s", "t"], [[claim(want(count=2))]], [2])]
    instance = instance_of([9], [1], [3], 2)
    found = planned(instance, questions, [instance.admitted()])
    assert [(result.value, result.bound) for result in found.stages] == [(2, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_plans_with_shared_devices_are_as_good_as_any(seed):
    """Two kinds of nodes, three units of one or two devices, and devices that are close together next."""
    rng = Random(f"metered/{seed}")
    fast = "device.attributes['d.x'].speed == 'fast'"
    asked = [[claim(want(count=rng.choice((1, 2)), select=rng.choice(((), (), fast))))] for _ in range(2)]
    shared = ["s", "t"][: rng.choice((1, 2))]
    owned = [["a", "b", "c"][: rng.randint(0, 2)] for _ in range(2)]
    questions = [replace(reaching(own, shared, asked, [2, 2]), measures=(COMPACT,)) for own in owned]
    demand, weights = [rng.randint(1, 3) for _ in asked], [rng.randint(1, 4) for _ in asked]
    instance = instance_of(demand, weights, [rng.choice((1, 1, 2)) for _ in owned], len(shared))
    instance = replace(instance, meters=len(shared) + 1)
    close = ObjectiveStage("compact", Terms(usage={len(shared): 1}), maximise=False)
    found = planned(instance, questions, [instance.admitted(), close])
    plans = every_plan(instance, questions, COSTS[COMPACT])
    best, cost = max((sum(map(int.__mul__, weights, placed)), -cost) for placed, _, cost in plans)
    assert [result.value for result in found.stages] == [best, -cost]
    assert all(result.proven for result in found.stages)

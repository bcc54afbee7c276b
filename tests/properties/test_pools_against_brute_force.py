"""Nodes that plans buy of pools are the cheapest: against trying everything, on small random cases (R2 to R21)."""

from collections import defaultdict

import pytest
from support.pools import buying, cost
from support.pools_by_force import best_by_force, random_case, types_for

CASES, PART = 300, 25
# Every so many cases are planned with an audit as well, which has far more time than it needs.
AUDITED, SECONDS = 10, 600.0


@pytest.mark.parametrize("alternatives", ["any", "in-order"])
@pytest.mark.parametrize("first", range(0, CASES, PART))
def test_plans_are_as_good_as_any(first, alternatives):
    """Offerings, reservations, limits, zones, bound devices and alternatives (R9); minValues change nothing (R18)."""
    for seed in range(first, first + PART):
        case = random_case(seed)
        if alternatives != "any" and not any(pod.choices for pod in case.pods):
            continue
        placed, price, nodes = best_by_force(case, in_order=alternatives != "any")
        result = buying(case.objects(), alternatives=alternatives)
        found = result.placed, cost(result), sum(one.count for one in result.document.bought)
        assert found == (placed, float(price), nodes), seed
        assert result.document.verified
        assert result.outcome == ("Optimal" if placed == len(case.pods) else "Infeasible"), seed
        _check_other_types(case, result, seed)
        if seed % AUDITED == 0:
            _check_audit(buying(case.objects(), alternatives=alternatives, audit=SECONDS), found, seed)


def _check_audit(result, found, seed):
    """An audit gives the same plan, no bound that cuts off the best, and no proof that it has not checked."""
    placed, price, nodes = found
    assert (result.placed, cost(result)) == (placed, price), seed
    for stage in result.document.objective:
        best = {"admitted": placed, "cost": price, "fewest-nodes": nodes}.get(stage.stage)
        if best is not None and stage.bound is not None:
            assert stage.bound >= best if stage.sense == "max" else stage.bound <= best + 1e-9, (seed, stage.stage)
        assert stage.proof in ("witness", "audited") or not stage.proven, (seed, stage.stage)


def _check_other_types(case, result, seed):
    """Types that pools with minValues show are those that serve all such nodes, with the devices in the order asked."""
    flexible = {pool.name for pool in case.pools if pool.least_types}
    pods = defaultdict(list)
    for unit in result.units:
        if unit.node:
            pods[unit.node].append(case.pods[int(unit.name.partition("-")[2])])
    for one in result.document.bought:
        if one.pool in flexible:
            nodes = [node.name for node in result.document.nodes if node.template == one.template]
            serving = set.intersection(*(types_for(case, one.pool, tuple(pods[name])) for name in nodes))
            assert {one.instance_type, *one.other_types} <= serving | {one.instance_type}, seed
            if not any(pod.choices for name in nodes for pod in pods[name]):
                assert {one.instance_type, *one.other_types} == serving, seed
        else:
            assert one.other_types == (), seed

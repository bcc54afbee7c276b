"""Nodes that plans buy of pools are the cheapest: against trying everything, on small random cases (R2 to R21)."""

import pytest
from support.pools import buying, cost
from support.pools_by_force import best_by_force, random_case

CASES, PART = 200, 20


@pytest.mark.parametrize("first", range(0, CASES, PART))
def test_plans_are_as_good_as_any(first):
    for seed in range(first, first + PART):
        case = random_case(seed)
        placed, price, nodes = best_by_force(case)
        result = buying(case.objects())
        found = result.placed, cost(result), sum(one.count for one in result.document.bought)
        assert found == (placed, float(price), nodes), seed
        assert result.document.verified
        assert result.outcome == ("Optimal" if placed == len(case.pods) else "Infeasible"), seed

"""No plan admits fewer units than first fit in some order, and no bound is below what first fit admits.

The plan is verified in the order that it gives, by ``plan`` itself.
"""

import sys
from collections import Counter
from dataclasses import replace

import pytest
from support.random_plans import ADMIN, CHAINS, FAMILIES, plan_manifests
from support.sequential import given_of, read

from drasat.solver.compare.schedulers import schedule
from drasat.solver.plan.plan import plan

KINDS = [family for family in (*FAMILIES, *CHAINS, *ADMIN) if not family.startswith(("buy", "budget"))]
SEEDS = 5
ORDERS = [("given", 0), *(("random", seed) for seed in range(3))]


def troubles(family, seed):
    """What is wrong with a plan of a member, and whether it is proven."""
    cluster = read(plan_manifests(family, seed))
    found = plan(cluster, objective="admitted")
    what = given_of(cluster)
    most = 0
    for order, shuffled in ORDERS:
        units = schedule(replace(what, seed=shuffled), "first-fit", order, None).units
        most = max(most, sum(unit.node is not None for unit in units))
    (stage,) = found.objective
    # An audit has far more time than it needs.
    (audited,) = plan(cluster, objective="admitted", audit=600.0).objective
    wrong = []
    if found.placed < most:
        wrong.append(f"{family} {seed}: {found.placed} units are placed, by first fit {most}")
    for name, bound in (("bound", stage.bound), ("bound of the audit", audited.bound)):
        if bound is not None and bound < most:
            wrong.append(f"{family} {seed}: the {name} is {bound}, first fit places {most}")
    return wrong, found.outcome


@pytest.mark.parametrize("family", KINDS)
def test_no_plan_admits_fewer_units_than_first_fit(family):
    for seed in range(SEEDS):
        assert troubles(family, seed)[0] == []


def main(first, count, *families):
    """A long run; prints what is wrong."""
    for family in families or KINDS:
        outcomes = Counter()
        for seed in range(first, first + count):
            wrong, outcome = troubles(family, seed)
            outcomes[outcome] += 1
            print(*wrong, sep="\n", end="\n" if wrong else "")
        print(family, dict(outcomes), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])

"""Equal nodes are looked at once: that changes nothing, whatever the cluster."""

import pytest
from support.random_plans import FAMILIES, plan_manifests
from support.sequential import OURS, Walk, given_of, read, told

from drasat.solver.compare.schedulers import schedule

# Nothing is bought here: templates of nodes are no nodes.
TRIED = sorted(set(FAMILIES) - {"buy", "budget", "buy-gangs"})


@pytest.mark.parametrize("family", TRIED)
@pytest.mark.parametrize("planner", OURS)
def test_a_walk_over_all_nodes_places_the_same(family, planner):
    for seed in range(4):
        what = given_of(read(plan_manifests(family, seed)), seed=seed)
        for order in ("given", "random"):
            assert told(schedule(what, planner, order, None)) == Walk(what, planner).run(order), (seed, order)


@pytest.mark.parametrize("planner", OURS)
def test_the_same_question_has_the_same_answer(planner):
    cluster = read(plan_manifests("mixed", 7))
    first, second = (schedule(given_of(cluster), planner, "random", None).units for _ in range(2))
    assert [(one.node, one.reasons, [made for _, made in one.allocations]) for one in first] == [
        (one.node, one.reasons, [made for _, made in one.allocations]) for one in second
    ]

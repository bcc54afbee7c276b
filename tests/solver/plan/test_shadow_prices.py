"""Shadow prices of plans that buy nodes, against linear programs that can be solved by hand."""

from decimal import Decimal
from pathlib import Path

import pytest
from yaml import safe_load_all

import drasat
from drasat.solver.plan.plan import plan

EXAMPLES = Path(__file__).parents[3] / "examples"


def prices(cluster, **options):
    """The outcome, and its prices by stage, kind and name."""
    found = plan(cluster, **options)
    return found, {(one.stage, one.kind, one.name): one.change for one in found.shadow_prices}


def bought(**options):
    """Six units of one GPU and three of four; nodes of 2, 4 and 8 GPUs cost 3, 5.5 and 10, and there are two of 8."""
    return prices(drasat.load(EXAMPLES / "plan-buy"), buy=True, only_new=True, **options)


def test_a_unit_costs_its_part_of_the_cheapest_node_that_can_still_be_bought():
    """Both nodes of 8 are bought: more goes to nodes of 4, at 1.375 for a GPU. One more node of 8 would save 1."""
    _, found = bought()
    assert found == {
        ("cost", "unit", "Job lab/simulate"): 1.375,
        ("cost", "unit", "StatefulSet lab/model"): 5.5,
        ("cost", "node", "eight-gpus"): -1.0,
    }


def test_units_and_limits_at_their_prices_are_the_bound_of_the_cost():
    """Strong duality: 9 units at their prices, less what the limit of 2 nodes is worth."""
    answer, found = bought()
    (cost,) = [one for one in answer.objective if one.stage == "cost"]
    worth = 6 * found["cost", "unit", "Job lab/simulate"] + 3 * found["cost", "unit", "StatefulSet lab/model"]
    worth += 2 * found["cost", "node", "eight-gpus"]
    assert worth == pytest.approx(22.75)
    assert worth <= cost.bound


@pytest.mark.parametrize("budget", ["8.5", "12", "17"])
def test_a_budget_that_keeps_units_out_has_a_price_in_units(budget):
    """No plan places more than the linear program does with one more of money, to the next whole unit."""
    answer, found = bought(budget=Decimal(budget))
    more, _ = bought(budget=Decimal(budget) + 1)
    rate = found["priority=0", "budget", ""]
    assert rate > 0
    (stage,) = [one for one in answer.objective if one.stage == "priority=0"]
    assert more.placed <= stage.value + 1 + rate


def test_what_is_not_scarce_has_no_price():
    _, found = bought(budget=Decimal(1000))
    assert all(stage == "cost" for stage, _, _ in found)
    assert ("cost", "node", "two-gpus") not in found


def test_a_limit_that_keeps_units_out_has_a_price_in_units():
    """Of 18 GPUs that are asked for, two nodes of 8 have 16. One more would take up to 8 units of one GPU."""
    manifests = [
        one for path in sorted((EXAMPLES / "plan-buy").glob("*.yaml")) for one in safe_load_all(path.read_text())
    ]
    smaller = [("NodeTemplate", "two-gpus"), ("NodeTemplate", "four-gpus")]
    manifests = [one for one in manifests if (one["kind"], one["metadata"]["name"]) not in smaller]
    (answer, found), (more, _) = (
        prices(drasat.load(_with_limit(manifests, limit)), buy=True, only_new=True) for limit in (2, 3)
    )
    rate = found["priority=0", "node", "eight-gpus"]
    assert answer.placed < more.placed <= answer.placed + rate + 1


def _with_limit(manifests, limit):
    """The manifests, with so many nodes of 8 GPUs to be bought."""
    return [
        {**one, "spec": {**one["spec"], "limit": limit}} if one["metadata"]["name"] == "eight-gpus" else one
        for one in manifests
    ]


def test_plans_that_cannot_buy_have_no_prices():
    answer, found = prices(drasat.load(EXAMPLES / "plan-queue"))
    assert answer.placed
    assert not found


def test_equal_questions_have_equal_prices():
    assert bought()[0].shadow_prices == bought()[0].shadow_prices

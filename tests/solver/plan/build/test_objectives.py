"""Stages of an objective by name: what they are worth, and in which unit."""

import re
from decimal import Decimal

import pytest
from support.plan_building import (
    asking,
    claim,
    holding,
    nodes,
    obj,
    of,
    placed,
    planning,
    posed,
    sharing,
    template,
    to_buy,
    user,
    values,
)

from drasat.models.results.plan import plan_stage
from drasat.solver.plan.build.objectives import (
    STAGE_NAMES,
    parse_objective,
    parse_weight,
    requested_devices,
    value_annotation,
)

KNOWN = (
    "priority, admitted, coverage, fair, borrowed, cost, fewest-nodes, free-domains, spread, preferences, preference, "
    "soft, compact, least-consumption, fragmentation, budgets, victims, devices-lost, capacity-lost, move-cost, moves"
)


@pytest.mark.parametrize(
    ("asked", "buys", "names"),
    [
        ("", False, ("priority", "admitted")),
        ((), False, ("priority", "admitted")),
        (" , ", False, ("priority", "admitted")),
        ("", True, ("priority", "admitted", "cost")),
        ("cost,admitted", True, ("cost", "admitted")),
        ("admitted", True, ("admitted", "cost")),
        (" admitted=devices , spread ", False, ("admitted=devices", "spread")),
        (["admitted=capacity:memory", "admitted"], False, ("admitted=capacity:memory", "admitted")),
        (["cost"], False, ("cost",)),
    ],
)
def test_names_are_read_in_order(asked, buys, names):
    assert parse_objective(asked, buys) == names


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("best", f"unknown stage 'best' of an objective, known are: {KNOWN}"),
        ("cost=3", f"unknown stage 'cost=3' of an objective, known are: {KNOWN}"),
        ("priority=5", f"unknown stage 'priority=5' of an objective, known are: {KNOWN}"),
        (["admitted,cost"], f"unknown stage 'admitted,cost' of an objective, known are: {KNOWN}"),
        ("admitted=best", "unknown weight 'best' of admitted: count, devices, capacity:NAME or annotation:KEY"),
        ("admitted=", "unknown weight '' of admitted: count, devices, capacity:NAME or annotation:KEY"),
        (
            "admitted=capacity:",
            "unknown weight 'capacity:' of admitted: count, devices, capacity:NAME or annotation:KEY",
        ),
        (
            "admitted=annotation",
            "unknown weight 'annotation' of admitted: count, devices, capacity:NAME or annotation:KEY",
        ),
        ("spread,admitted,spread", "stage 'spread' comes twice in the objective"),
    ],
)
def test_what_is_no_objective_is_said_in_one_line(asked, said):
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        parse_objective(asked, buys=False)


def test_all_names_are_told():
    assert ", ".join(STAGE_NAMES) == KNOWN


def test_one_annotation_may_be_named():
    assert value_annotation(["admitted", "cost"]) is None
    assert value_annotation(["admitted=devices", "admitted=annotation:a/b"]) == "a/b"
    with pytest.raises(ValueError, match=r"^an objective may name one annotation, not x and y$"):
        value_annotation(["admitted=annotation:x", "admitted=annotation:y"])


def weight(kind, *given):
    weigh, _ = parse_weight(kind)
    return [weigh(one.unit_set.shape) for one in asking(*given).queue]


def test_a_unit_counts_one():
    assert weight("count", user("a"), user("b", spec="t2")) == [1, 1]


def test_devices_are_those_of_all_requests_the_smallest_of_a_list_and_one_for_all():
    options = [{"name": name, "deviceClassName": "gpu", "count": count} for name, count in (("x", 3), ("y", 2))]
    listed = {"devices": {"requests": [{"name": "r", "firstAvailable": options}]}}
    all_ = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}]}}
    two = of(3)
    two["devices"]["requests"] += [{**of(2)["devices"]["requests"][0], "name": "q"}]
    given = claim("a", listed), claim("b", all_), claim("c", two), obj("Pod", "d", {"containers": [{"name": "m"}]})
    assert weight("devices", *given) == [2, 1, 5, 0]


def test_what_a_unit_has_already_counts_nothing():
    given = *nodes("n1"), holding("h", "n1", "gpu-0"), sharing("a", "h")
    assert weight("devices", *given) == [0]


def test_capacity_is_what_requests_ask_of_it_for_all_their_devices():
    given = [claim("a", of(2, capacity={"requests": {"memory": "3Gi", "cores": "2"}})), claim("b", of(2))]
    assert weight("capacity:memory", *given) == [6 * 2**30, 0]
    assert weight("capacity:cores", *given) == [4, 0]
    assert weight("capacity:none", *given) == [0, 0]


def test_annotations_are_numbers_and_one_without():
    assert weight("annotation:drasat.dev/value", user("a", VALUE="2.5"), user("b")) == [Decimal("2.5"), 1]
    assert parse_weight("annotation:team/x")[1] == "team/x"


def test_a_claim_that_units_share_counts_once_for_all_of_them():
    ask = asking(claim("s", of(2)), sharing("a", "s"), sharing("b", "s"), user("c"))
    shapes = [one.unit_set.shape for one in ask.queue]
    assert requested_devices(shapes) == 3
    assert requested_devices(shapes[:1]) == 2


def test_values_with_a_point_are_told_as_they_are():
    given = [user("a", VALUE="2.5"), user("b", VALUE="0.25"), user("c", VALUE="1")]
    found = planning(*nodes("n1", devices=2), *given, objective="admitted=annotation:drasat.dev/value")
    assert found.objective == (plan_stage("admitted=annotation:drasat.dev/value", 3.5, 3.5, True, True),)
    (goal,) = posed(*nodes("n1"), *given, objective="admitted=annotation:drasat.dev/value").goals
    assert (goal.scale, goal.limit, goal.earlier, goal.weigh is None) == (4, 15, 0, False)


def test_units_of_no_value_are_worth_nothing():
    given = [user("a", VALUE="0"), user("b")]
    found = planning(*nodes("n1", devices=1), *given, objective="admitted=annotation:drasat.dev/value")
    assert placed(found) == ["b"]


def test_each_priority_is_a_stage_the_highest_first():
    ranks = [obj("PriorityClass", f"p{value}", value=value) for value in (5, 100)]
    given = [user(name, spec="t") for name in "abc"]
    given[0]["spec"]["priorityClassName"], given[1]["spec"]["priorityClassName"] = "p5", "p100"
    found = posed(*nodes("n1"), *ranks, *given, objective="priority")
    assert [goal.stage.name for goal in found.goals] == ["priority=100", "priority=5", "priority=0"]
    assert [goal.limit for goal in found.goals] == [1, 1, 1]


def test_one_unit_that_matters_more_counts_before_many():
    high = obj("PriorityClass", "high", value=10)
    many = [user(name) for name in "abc"]
    first = user("z", spec="t2")
    first["spec"]["priorityClassName"] = "high"
    found = planning(*nodes("n1", devices=3), high, *many, first)
    assert "z" in placed(found)
    assert values(found) == {"priority=10": 1, "priority=0": 1, "admitted": 2}


def test_two_classes_of_one_value_are_one_stage():
    ranks = [obj("PriorityClass", name, value=7) for name in ("x", "y")]
    given = [user("a"), user("b")]
    given[0]["spec"]["priorityClassName"], given[1]["spec"]["priorityClassName"] = "x", "y"
    assert values(planning(*nodes("n1"), *ranks, *given, objective="priority")) == {"priority=7": 2}


def test_a_class_that_is_not_there_is_no_priority():
    lost = user("a")
    lost["spec"]["priorityClassName"] = "gone"
    assert values(planning(*nodes("n1"), lost, objective="priority")) == {"priority=0": 1}


def test_an_empty_queue_has_no_priorities():
    found = planning(*nodes("n1"), objective="priority")
    assert (found.objective, found.outcome) == ((), "Optimal")


def test_nodes_in_use_anyway_count_nothing():
    given = [*nodes("n1", "n2", devices=1), holding("h", "n1", "gpu-0")]
    found = planning(*given, obj("Pod", "p", {"containers": [{"name": "m"}]}), objective="admitted,fewest-nodes")
    assert values(found) == {"admitted": 1, "fewest-nodes": 0}
    found = planning(*nodes("n1", "n2", devices=1), *(user(name) for name in "ab"), objective="admitted,fewest-nodes")
    assert values(found) == {"admitted": 2, "fewest-nodes": 2}


def test_units_are_spread_where_that_is_asked_for():
    given = [*nodes("n1", "n2", "n3"), *(user(name) for name in "abcd")]
    assert values(planning(*given, objective="admitted,spread")) == {"admitted": 4, "spread": 6}
    assert values(planning(*given, objective="admitted,fewest-nodes,spread"))["spread"] == 16


def test_a_stage_that_comes_first_may_leave_everything_out():
    found = planning(*nodes("n1"), user("a"), objective="fewest-nodes,admitted")
    assert values(found) == {"fewest-nodes": 0, "admitted": 0}


def test_cost_without_anything_to_buy_is_nothing():
    found = planning(*nodes("n1"), user("a"), objective="admitted,cost")
    assert values(found) == {"admitted": 1, "cost": 0}


def test_prices_with_a_point_are_told_as_they_are():
    given = to_buy("x", devices=1, price="2.5", limit=1), to_buy("y", devices=1, price="0.125")
    found = planning(*given, user("a"), user("b"), buy=True)
    assert values(found)["cost"] == 0.25
    (*_, goal) = posed(*given, user("a"), buy=True).goals
    assert (goal.scale, goal.weigh) == (8, None)


def test_a_budget_is_a_row():
    given = [to_buy("x", price="2.5"), *(user(name) for name in "abcd")]
    found = posed(*given, buy=True, budget=Decimal("7.3"))
    (row,) = found.problem.rows
    # In steps of the price.
    assert (row.terms.nodes, row.upper, row.lower) == ({0: 1}, 2, None)


def test_a_budget_that_nobody_can_spend_is_no_row():
    for budget in ("10", "1e30", "1e400"):
        given = [to_buy("x", price="2.5"), *(user(name) for name in "abcd")]
        assert posed(*given, buy=True, budget=Decimal(budget)).problem.rows == ()


def test_a_budget_beside_a_mix_counts_what_holds_planned_units():
    """Guests may be on nodes that nobody pays for, so that a measure says what is in use."""
    given = [*nodes("n1"), to_buy("x", price="2"), *(user(name) for name in "abcdefg")]
    found = posed(*given, objective="admitted,fragmentation", buy=True, budget=3)
    (row,) = found.problem.rows
    assert (row.terms.nodes, list(row.terms.usage.values()), row.upper) == ({}, [1], 1)
    assert found.problem.meters == 1
    plan = planning(*given, objective="admitted,fragmentation", buy=True, budget=Decimal(3))
    assert (values(plan)["admitted"], values(plan)["cost"]) == (7, 2)


def test_room_for_more_of_the_queue_counts_in_devices():
    found = planning(*nodes("n1"), user("a"), objective="admitted,fragmentation")
    assert values(found) == {"admitted": 1, "fragmentation": 3}
    found = planning(*nodes("n1"), user("a", spec="t2"), objective="admitted,fragmentation")
    assert values(found) == {"admitted": 1, "fragmentation": 2}


def test_room_that_is_left_is_limited_by_all_guests_there_are():
    found = posed(*nodes("n1"), claim("s"), sharing("a", "s"), user("b"), objective="admitted,fragmentation")
    goal = found.goals[-1]
    assert goal.limit == sum(
        goal.stage.terms.units[u.index] * u.demand for u in found.problem.units[len(found.roles) :]
    )
    assert goal.limit >= 4
    assert goal.weigh is None


def test_room_that_is_left_counts_other_resources_too():
    found = planning(*nodes("n1", cpu="2"), user("a"), objective="admitted,fragmentation")
    assert values(found) == {"admitted": 1, "fragmentation": 1}


def test_lists_are_served_from_the_front_where_that_is_asked_for():
    options = [{"name": name, "deviceClassName": "gpu", "count": count} for name, count in (("x", 2), ("y", 1))]
    listed = template("list", {"devices": {"requests": [{"name": "r", "firstAvailable": options}]}})
    given = [*nodes("n1", devices=4), listed, *(user(name, spec="list") for name in "ab")]
    assert values(planning(*given, objective="admitted,preference")) == {"admitted": 2, "preference": 0}
    given = [*nodes("n1", devices=3), *given[2:]]
    assert values(planning(*given, objective="admitted,preference")) == {"admitted": 2, "preference": 1}

"""Nodes that could be bought: how many, at which price, under which names."""

from decimal import Decimal
from fractions import Fraction

import pytest
from support.plan_building import (
    HOST,
    claim,
    classes,
    cluster,
    entry,
    fabric,
    gpus,
    holding,
    maker,
    node,
    nodes,
    of,
    placed,
    planning,
    pod,
    published,
    running,
    template,
    to_buy,
    user,
    values,
    where,
)

from drasat.solver.plan.build.nodes import build_node_catalogue, new_names, with_bought_nodes


def shop(*given, apart=0):
    return build_node_catalogue(cluster(*classes(), *given), apart)


def bought(found):
    return {name: [one.metadata.name for one in made] for name, made in found.bought.items()}


def test_one_node_stands_for_each_template():
    made = shop(*nodes("n1"), to_buy("big", devices=3), to_buy("small", devices=1))
    assert list(made.offers) == ["big-1", "small-1"]
    assert {"big-1", "small-1", "n1"} == set(made.cluster.nodes)
    assert made.cluster.device_count == 4 + 3 + 1


def test_without_templates_there_is_nothing_to_buy():
    with pytest.raises(ValueError, match=r"^there is no NodeTemplate to buy nodes from$"):
        shop(*nodes("n1"))


@pytest.mark.parametrize(("limit", "most", "expected"), [(None, 7, 7), (3, 7, 3), (9, 7, 7), (0, 7, 0), (3, 0, 0)])
def test_a_limit_is_kept_and_more_than_units_are_of_no_use(limit, most, expected):
    assert shop(to_buy("big", limit=limit)).limit("big-1", most) == expected


@pytest.mark.parametrize(
    ("limit", "counts"), [(None, [1, 1, 3]), (4, [1, 1, 2]), (2, [1, 1, 0]), (1, [1, 0]), (0, [0])]
)
def test_some_may_stand_for_themselves(limit, counts):
    made = shop(to_buy("big", limit=limit), apart=2)
    assert [made.limit(name, 5) for name in made.offers] == counts


def test_a_price_is_exact():
    assert shop(to_buy("big", price="2.1")).price("big-1") == Fraction(21, 10)
    assert shop(to_buy("big", price="0")).price("big-1") == 0


def test_bought_nodes_have_labels_taints_room_and_devices_of_their_template():
    taint = {"key": "new", "effect": "NoSchedule"}
    big = to_buy("big", devices=2, labels={"zone": "z"}, taints=[taint], allocatable={"cpu": "8"})
    found, made = with_bought_nodes(cluster(*classes(), big), {"big": 2})
    first, second = made["big"]
    assert first.metadata.labels == {"zone": "z", HOST: "big-1"}
    assert second.metadata.labels == {"zone": "z", HOST: "big-2"}
    assert [one.key for one in first.spec.taints] == ["new"]
    assert first.status.allocatable == {"cpu": "8"}
    assert sorted((s.spec.node_name, s.spec.pool.name, len(s.spec.devices)) for s in found.slices) == [
        ("big-1", "big-1", 2),
        ("big-2", "big-2", 2),
    ]


def test_buying_nothing_changes_nothing():
    made = cluster(*classes(), *nodes("n1"), to_buy("big"))
    assert with_bought_nodes(made, {}) == (made, {})


@pytest.mark.parametrize(
    "given",
    [
        [node("big-1")],
        [node("z"), gpus("big-1")],
        [node("z"), published("z", "gpu-0", pool="big-1")],
        [node("z"), running("r", "big-1")],
        [pod("w", spec={"nodeName": "big-1"})],
        [pod("w", spec={"nodeSelector": {HOST: "big-1"}})],
        [maker("Deployment", "d", pod_spec={"nodeSelector": {HOST: "big-1"}})],
        [holding("h", "big-1", "gpu-0")],
        [published("x", "d", slice_name="x", nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [
            {"key": HOST, "operator": "In", "values": ["big-1"]}]}]})],
    ],
    ids=["node", "slice", "pool", "runs", "pinned", "label", "template", "claim", "selector"],
)  # fmt: skip
def test_names_that_anything_speaks_of_are_left_out(given):
    made = cluster(*classes(), *given)
    assert new_names(made, "big", 3) == ["big-2", "big-3", "big-4"]
    assert new_names(made, "small", 2) == ["small-1", "small-2"]


def test_names_of_other_things_are_free():
    given = user("big-1"), claim("big-2"), published("n1", "big-3"), node("n1")
    assert new_names(cluster(*classes(), *given), "big", 1) == ["big-1"]


def test_a_new_node_is_not_the_one_that_slices_of_a_lost_node_are_for():
    found = planning(node("z"), gpus("big-1"), to_buy("big", devices=1), user("a"), user("b"), buy=True)
    assert placed(found) == ["a", "b"]
    assert bought(found) == {"big": ["big-2", "big-3"]}


def test_pods_on_a_lost_node_take_nothing_of_a_new_one():
    big = to_buy("big", allocatable={"cpu": "4", "pods": "9"})
    found = planning(node("z"), running("r", "big-1", cpu="3"), big, user("a", cpu="3"), buy=True)
    assert where(found) == {"a": "big-2"}


def test_no_new_node_is_the_one_that_a_pod_asks_for():
    asks = user("b")
    asks["spec"]["nodeSelector"] = {HOST: "big-1"}
    found = planning(to_buy("big", devices=1), user("a"), asks, buy=True)
    assert placed(found) == ["a"]
    assert found.outcome == "Infeasible"


def test_no_new_node_is_one_that_a_pod_must_not_have():
    one = {"key": HOST, "operator": "NotIn", "values": ["big-2"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [one]}]}
    rule = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    given = [user(name) for name in "abc"]
    for one_ in given:
        one_["spec"] |= rule
    found = planning(to_buy("big", devices=1), *given, buy=True)
    assert bought(found) == {"big": ["big-1", "big-3", "big-4"]}


def test_a_gang_may_ask_for_one_new_node():
    gang = {"GANG_DOMAIN": HOST}
    given = [user(f"{name}{number}", GANG=f"g{number}", **gang) for number in range(2) for name in "xy"]
    found = planning(to_buy("big", devices=2), *given, user("z"), buy=True)
    there = where(found)
    assert there["x0"] == there["y0"] != there["x1"] == there["y1"]
    assert values(found)["cost"] == 3
    assert found.outcome == "Optimal"


def test_a_gang_that_no_new_node_holds_is_left_out():
    given = [user(name, GANG="g", GANG_DOMAIN=HOST) for name in "abc"]
    found = planning(to_buy("big", devices=2), *given, buy=True)
    assert placed(found) == []
    assert found.outcome == "Infeasible"
    assert bought(found) == {}


def test_new_nodes_share_what_all_nodes_reach():
    given = [entry("f", template="f")], to_buy("big", devices=0, allocatable={"cpu": "4", "pods": "9"})
    units = [pod(name, *given[0], cpu="3") for name in "abc"]
    found = planning(*nodes("n1"), fabric(2), given[1], *units, buy=True)
    assert len(placed(found)) == 2
    assert values(found)["cost"] == 1
    assert found.outcome == "Infeasible"


# Cutting stock: demands of 5 and 3 devices.
DEMANDS = [
    *(user(f"five{number}", spec="t5") for number in range(3)),
    *(user(f"three{number}", spec="t3") for number in range(4)),
]


def of_sizes():
    return [template(f"t{count}", of(count)) for count in (3, 5)]


@pytest.mark.parametrize(
    ("large", "small", "cost"),
    [
        # Three of 5 and 3, and one of 3.
        ("8", "5", 29),
        # A small one costs half as much: nothing changes, for the fives need large ones.
        ("8", "4", 28),
        # Small ones are dear: four large ones.
        ("8", "9", 32),
        # Small ones are free: each three has one.
        ("8", "0", 24),
    ],
)
def test_stock_is_cut_at_the_least_cost(large, small, cost):
    given = to_buy("large", 8, large), to_buy("small", 4, small)
    found = planning(*of_sizes(), *given, *DEMANDS, buy=True)
    assert values(found)["cost"] == cost
    assert len(placed(found)) == 7
    assert found.outcome == "Optimal"


@pytest.mark.parametrize(
    ("budget", "count"), [(0, 0), (4, 0), (7, 1), (8, 2), (15, 3), (16, 4), (24, 6), (29, 7), (99, 7)]
)
def test_a_budget_buys_as_many_units_as_it_can(budget, count):
    """A large one for 8 holds a five and a three, or two threes; there is one small one, for 5, which holds a three."""
    given = to_buy("large", 8, "8"), to_buy("small", 4, "5", limit=1)
    found = planning(*of_sizes(), *given, *DEMANDS, buy=True, budget=Decimal(budget))
    assert len(placed(found)) == count
    assert values(found)["cost"] <= budget
    assert found.outcome == "Optimal"


def test_nodes_that_are_there_are_used_before_any_is_bought():
    given = [*nodes("n1", devices=2), to_buy("big", devices=2, price="3")]
    found = planning(*given, *(user(name) for name in "abc"), buy=True)
    assert values(found)["cost"] == 3
    assert [(one.name, one.template, one.new, one.units) for one in found.nodes][1][:3] == ("big-1", "big", True)


def test_only_new_nodes_may_be_asked_for():
    given = [*nodes("n1"), to_buy("big", devices=2)]
    found = planning(*given, user("a"), buy=True, only_new=True)
    assert where(found) == {"a": "big-1"}


def test_what_costs_nothing_is_bought():
    found = planning(to_buy("free", devices=1, price="0"), user("a"), user("b"), buy=True)
    assert (len(placed(found)), values(found)["cost"]) == (2, 0)


def test_a_template_of_which_there_are_none_is_not_bought():
    found = planning(to_buy("big", limit=0), user("a"), buy=True)
    assert (placed(found), bought(found), found.outcome) == ([], {}, "Infeasible")


def test_a_template_without_devices_takes_pods_without_claims():
    found = planning(to_buy("bare", devices=0), user("a"), pod("p"), buy=True)
    assert placed(found) == ["p"]


@pytest.mark.parametrize("objective", ["cost", "cost,admitted", "fewest-nodes,priority"])
def test_saving_first_proves_nothing_about_what_could_be_placed(objective):
    found = planning(to_buy("big"), user("a"), objective=objective, buy=True)
    assert (placed(found), found.outcome) == ([], "Optimal")


def test_units_of_no_worth_need_not_be_placed():
    given = user("a", VALUE="0"), user("b")
    found = planning(to_buy("big", devices=1), *given, objective="admitted=annotation:drasat.dev/value", buy=True)
    assert (placed(found), found.outcome) == (["b"], "Optimal")

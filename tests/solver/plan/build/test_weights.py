"""Weights of units: whole numbers that the solvers take, and capacities of the devices that serve."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from support.manifests import template
from support.plan_building import device, entry, node, of, placed, planning, pod, posed, published, to_buy, user, values

from drasat.solver.plan.build.weights import Steps

MEMORY = "admitted=capacity:memory"
LARGE = 1 << 30


@pytest.mark.parametrize(
    ("amounts", "scale"),
    [
        ([], 1),
        ([0, 0], 1),
        ([2**50, 3 * 2**50], Fraction(1, 2**50)),
        ([Fraction(5, 2), 10], Fraction(2, 5)),
        ([Fraction(1, 10**6), 1], 10**6),
    ],
)
def test_amounts_are_multiples_of_the_largest_step(amounts, scale):
    steps = Steps.of(map(Fraction, amounts), LARGE)
    assert (steps.scale, steps.exact) == (scale, True)
    assert all(Fraction(steps.number(Fraction(amount))) == amount * scale for amount in amounts)


@pytest.mark.parametrize("large", [LARGE + 1, 10**11 + Fraction(1, 10**6), 2**62 + 1, 10**400 + 1])
def test_amounts_that_are_too_large_are_rounded_by_less_than_a_step(large):
    steps = Steps.of([Fraction(large), Fraction(1)], LARGE)
    assert not steps.exact
    for amount in (Fraction(large), Fraction(1), Fraction(large) / 3):
        assert 0 <= amount * steps.scale - steps.number(amount) < 1
        assert steps.ceiling(amount) - steps.number(amount) in (0, 1)
    assert steps.number(Fraction(large)) <= LARGE


def memory(amount, shared=True):
    """Two devices of one node with so much memory."""
    more = {"allowMultipleAllocations": True} if shared else {}
    names = ("gpu-0", "gpu-1")
    return [node("n1"), published("n1", *(device(n, capacity={"memory": {"value": amount}}, **more) for n in names))]


def asking_for(amount):
    return template("m", of(1, capacity={"requests": {"memory": amount}}))


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "whole"])
@pytest.mark.parametrize(
    ("amount", "capacity"),
    [
        ("1Gi", "2Gi"),
        ("1Pi", "2Pi"),
        ("1Ei", "2Ei"),
        ("7Ei", "7Ei"),
        ("3n", "6n"),
        ("1000000000000001n", "4Ei"),
        ("4611686018427387903", "9223372036854775807"),
    ],
)
def test_capacities_of_any_size_are_weighed(amount, capacity, shared):
    given = [*memory(capacity, shared), asking_for(amount), *(user(name, spec="m") for name in "abc")]
    found = planning(*given, objective=MEMORY, gap=0.001)
    assert (found.outcome, len(placed(found))) == ("Optimal", 3 if shared and amount not in ("7Ei",) else 2)
    (stage,) = found.objective
    assert stage.bound >= stage.value > 0


@pytest.mark.parametrize(
    "texts",
    [
        ("100000000", "3", "2"),
        ("100000000.000001", "2.5", "1"),
        ("99999999999.999999", "0.000001", "0.5"),
        ("999999999999.999999", "999999999999.999998", "0.000001"),
    ],
)
def test_values_of_any_size_are_weighed(texts):
    given = [user(name, VALUE=text) for name, text in zip("abc", texts, strict=True)]
    only = published("n1", *(device(f"gpu-{number}") for number in range(2)))
    found = planning(node("n1"), only, *given, objective="admitted=annotation:drasat.dev/value", gap=0.001)
    assert placed(found)[0] == "a"
    assert found.outcome == "Optimal"
    (stage,) = found.objective
    best = sum(sorted(map(Fraction, texts))[1:])
    assert stage.value <= float(best) * (1 + 1e-12) <= stage.bound * (1 + 1e-12)
    assert stage.value >= float(best) * (1 - 1e-6)


@pytest.mark.parametrize("budget", [None, "1e30", "1e-30", "0.1", "1e400", "1e999999999", "1e-999999999", "1e11"])
@pytest.mark.parametrize("price", ["0.000001", "99999999999.999999", "999999999999.999999"])
def test_prices_and_budgets_of_any_size_are_added_up(price, budget):
    given = [to_buy("x", price=price), to_buy("y", price="0.333333"), *(user(name) for name in "abcde")]
    found = planning(*given, buy=True, budget=budget and Decimal(budget), gap=0.001)
    assert found.outcome == "Optimal"
    cheap = min(Fraction(price), Fraction("0.333333"))
    # Two nodes are enough; exponents of any size are not written out.
    sizes = {None: 2, "1e30": 2, "1e400": 2, "1e999999999": 2, "1e-30": 0, "1e-999999999": 0}
    affordable = sizes[budget] if budget in sizes else min(2, Fraction(budget) // cheap)
    assert len(placed(found)) == min(5, 4 * affordable)
    assert values(found)["cost"] == float(cheap * affordable)


@pytest.mark.parametrize("priorities", [(2**31 - 1, -(2**31)), (0, -(2**31)), (1, 0)])
def test_priorities_of_any_size_are_stages(priorities):
    pods = [
        pod(name, entry("g", template="t"), spec={"priority": number})
        for name, number in zip("ab", priorities, strict=True)
    ]
    assert placed(planning(node("n1"), published("n1", device("gpu-0")), *pods)) == ["a"]


def test_a_device_that_is_not_shared_counts_with_all_of_its_capacity():
    given = [*memory("80Gi", shared=False), user("a"), user("b", spec="m"), asking_for("1Gi")]
    found = planning(*given, objective=MEMORY)
    assert values(found) == {MEMORY: 160 * 2**30}
    assert found.outcome == "Optimal"


def test_a_shared_device_counts_with_what_is_asked_of_it_or_its_default():
    policy = {"requestPolicy": {"default": "5Gi", "validRange": {"min": "1Gi"}}}
    devices = device("gpu-0", capacity={"memory": {"value": "80Gi", **policy}}, allowMultipleAllocations=True)
    given = [node("n1"), published("n1", devices), user("a"), user("b", spec="m"), asking_for("2Gi")]
    assert values(planning(*given, objective=MEMORY)) == {MEMORY: 7 * 2**30}


def test_of_devices_of_several_sizes_the_smallest_that_serves_counts():
    sizes = [device(f"gpu-{size}", capacity={"memory": {"value": f"{size}Gi"}}) for size in (10, 40, 80)]
    given = [node("n1"), published("n1", *sizes), user("a"), user("b", spec="m"), asking_for("20Gi")]
    (goal,) = posed(*given, objective=MEMORY).goals
    assert goal.display_value(goal.limit) == (10 + 40) * 2**30


def test_units_that_weigh_nothing_are_placed_where_there_is_room():
    found = planning(*memory("1Gi"), asking_for("1Gi"), user("a", spec="m"), pod("p"), pod("q"), objective=MEMORY)
    assert placed(found) == ["a", "p", "q"]
    assert values(found) == {MEMORY: 2**30, "admitted": 3}
    assert found.outcome == "Optimal"


def test_what_weighs_nothing_does_not_take_the_place_of_what_weighs():
    found = planning(
        node("n1", cpu="1"),
        published("n1", device("gpu-0", capacity={"memory": {"value": "1Gi"}})),
        pod("p", cpu="1"),
        user("z", cpu="1"),
        objective=MEMORY,
    )
    assert placed(found) == ["z"]
    assert values(found) == {MEMORY: 2**30, "admitted": 1}


def test_no_stage_is_added_where_all_units_weigh_something_or_are_counted_anyway():
    assert list(values(planning(*memory("1Gi"), user("a"), objective=MEMORY))) == [MEMORY]
    for named in (f"admitted,{MEMORY}", f"{MEMORY},admitted=count"):
        assert list(values(planning(*memory("1Gi"), pod("p"), objective=named))) == named.split(",")

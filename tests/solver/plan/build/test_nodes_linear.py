"""Which kinds of nodes are priced by sums, and that what comes of it is what the models say."""

from random import Random

import pytest
from support.bundles import possible, replays, vectors
from support.linear import (
    CAPACITY,
    counted,
    held,
    linear,
    linear_of,
    part,
    random_capacities,
    random_partitions,
    random_shares,
    random_wholes,
    room,
    shareable,
    shares,
    wanting,
    wholes,
)
from support.plan_building import DRIVER, device, devices, fabric, holding, obj, of, placed, planning, posed, published

from drasat.solver.plan.column_generation import Effort, Prices, PricingLimits
from drasat.solver.plan.master_problem import PlanLimits
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.linear import linear_nodes

EXACT = PlanLimits(gap=0.0)
THOROUGH = PricingLimits(Effort.THOROUGH)


def several(*requests, **fields):
    """A claim's spec with these requests."""
    return {"devices": {"requests": list(requests), **fields}}


def exactly(name, **fields):
    return {"name": name, "exactly": {"deviceClassName": "gpu", **fields}}


def either():
    options = [{"name": f"o{count}", "deviceClassName": "gpu", "count": count} for count in (2, 1)]
    return {"name": "r", "firstAvailable": options}


@pytest.mark.parametrize(
    "spec",
    [of(1), of(3), part(4), part(CAPACITY), part(CAPACITY, 2), of(2, "gpu", f'device.driver == "{DRIVER}"')],
    ids=["one", "three", "share", "whole", "wholes", "selector"],
)
def test_one_request_for_wholes_or_a_share_is_linear(spec):
    assert linear(*shares("n1", 3), *wanting("a", 2, spec)) == ["n1"]


@pytest.mark.parametrize("spec", [of(1), of(3), of(2, "gpu", "true")], ids=["one", "three", "selector"])
def test_devices_that_one_claim_has_at_a_time_are_linear(spec):
    assert linear(*wholes("n1", 3), *wanting("a", 2, spec)) == ["n1"]


def test_pods_without_claims_and_nodes_without_devices_are_linear():
    given = [*room("n1"), *wholes("n2", 2), *wanting("a", 2), *wanting("b", 2, of(1))]
    assert linear(*given) == ["n1", "n2"]


@pytest.mark.parametrize(
    "spec",
    [
        several(exactly("r", count=2), constraints=[{"matchAttribute": f"{DRIVER}/model"}]),
        several(exactly("r", count=2), constraints=[{"distinctAttribute": f"{DRIVER}/model"}]),
        several(exactly("r", allocationMode="All")),
        several(either()),
    ],
    ids=["match", "distinct", "all", "alternatives"],
)
def test_claims_that_say_more_than_a_number_are_not_linear(spec):
    members = [device(f"gpu-{number}", model="m") for number in range(3)]
    assert linear(*room("n1", *members), *wanting("a", 2, spec)) == []
    assert linear(*room("n1", *members), *wanting("a", 2, of(1))) == ["n1"]


def test_one_claim_that_is_not_linear_is_enough():
    given = [*wholes("n1", 2), *wanting("a", 1, of(1))]
    assert linear(*given) == ["n1"]
    assert linear(*given, *wanting("b", 1, several(either()))) == []


def test_several_requests_for_numbers_of_devices_are_linear():
    assert linear(*wholes("n1", 3), *wanting("a", 2, several(exactly("a"), exactly("b", count=2)))) == ["n1"]


def test_two_claims_of_a_pod_are_linear():
    templates, (pods,) = wanting("a", 2, of(1))[:-1], wanting("a", 2, of(1))[-1:]
    pods["spec"]["template"]["spec"]["resourceClaims"].append({"name": "h", "resourceClaimTemplateName": "a"})
    given = [*wholes("n1", 3), *templates, pods]
    assert linear(*given) == ["n1"]
    assert (planning(*given).placed, planning(*given).outcome) == (1, "Optimal")


def test_a_unit_with_nothing_but_admin_access_takes_nothing_of_a_linear_node():
    """DEV-15: what it looks at is found beforehand. Beside other requests, admin access is in their way (DEV-1)."""
    space = obj("Namespace", "default", labels={"resource.kubernetes.io/admin-access": "true"}) | {"apiVersion": "v1"}
    assert linear(space, *wholes("n1", 2), *wanting("a", 1, of(1, adminAccess=True))) == ["n1"]
    both = several(exactly("x", adminAccess=True), exactly("y"))
    assert linear(space, *wholes("n1", 2), *wanting("b", 1, both)) == []


def test_devices_that_draw_on_counters_alike_are_linear():
    """CTR-1: the counter has enough for one of the two."""
    counters = {"c": {"value": "1"}}
    draws = [{"counterSet": "s", "counters": counters}]
    members = [device(f"gpu-{number}", consumesCounters=draws) for number in range(2)]
    sets = published(
        "n1", count=2, slice_name="sets", sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}]
    )
    given = room("n1", *members)
    given[1]["spec"]["pool"]["resourceSliceCount"] = 2
    given += [sets, *wanting("a", 2, of(1))]
    assert linear(*given) == ["n1"]
    assert (planning(*given).placed, planning(*given).outcome) == (1, "Optimal")


def test_devices_that_draw_on_counters_in_different_ways_are_not_linear():
    members = [("large", "a", {"c": 2}), ("small", "a", {"c": 1})]
    assert linear(*counted("n1", {"c": 3}, *members), *wanting("a", 2, of(1))) == []


def test_two_kinds_of_devices_are_not_linear():
    members = [device(f"gpu-{number}", model=model) for number, model in enumerate("aab")]
    picky = of(1, "gpu", f'device.attributes["{DRIVER}"].model == "a"')
    assert linear(*room("n1", *members), *wanting("a", 1, picky), *wanting("b", 1, of(1))) == []
    # With one way to see the devices the others do not count.
    assert linear(*room("n1", *members), *wanting("a", 1, picky)) == ["n1"]


def test_claims_that_suit_no_device_of_a_node_do_not_count():
    members = [device(f"gpu-{number}", model="a") for number in range(2)]
    chosen = {name: of(1, "gpu", f'device.attributes["{DRIVER}"].model == "{name}"') for name in "ab"}
    found = posed(*room("n1", *members), *(one for name in "ab" for one in wanting(name, 1, chosen[name])))
    assert linear_of(found) == ["n1"]
    assert [len(node.takes) for node in found.pricer.linear.pricer.nodes] == [1]


@pytest.mark.parametrize("spec", [of(1), part(5)], ids=["whole", "share"])
@pytest.mark.parametrize(
    "members",
    [[shareable("a"), shareable("b", capacity=20)], [shareable("a"), device("b", capacity={"mem": {"value": "10"}})]],
    ids=["sizes", "kinds"],
)
def test_devices_that_do_not_have_one_equal_capacity_are_not_linear(members, spec):
    assert linear(*room("n1", *members), *wanting("a", 2, spec)) == []


@pytest.mark.parametrize("spec", [of(1), part(5)], ids=["whole", "share"])
def test_one_device_with_two_capacities_is_linear(spec):
    capacity = {name: {"value": "10"} for name in ("mem", "bw")}
    given = [*room("n1", device("a", allowMultipleAllocations=True, capacity=capacity)), *wanting("a", 2, spec)]
    assert linear(*given) == ["n1"]
    # What a claim does not ask for it has as a whole.
    assert (planning(*given).placed, planning(*given).outcome) == (1, "Optimal")


@pytest.mark.parametrize("fields", [{}, {"capacity": {"mem": {"value": "0"}}}], ids=["none", "nothing"])
def test_one_shared_device_without_a_capacity_is_linear(fields):
    """Any number of claims may have it."""
    given = [*room("n1", device("a", allowMultipleAllocations=True, **fields)), *wanting("a", 4, of(1))]
    assert linear(*given) == ["n1"]
    assert planning(*given).placed == 4


def test_a_share_of_each_of_two_devices_is_not_linear():
    assert linear(*shares("n1", 3), *wanting("a", 2, part(4, 2))) == []


def test_a_share_of_nothing_is_not_linear():
    assert linear(*shares("n1", 3), *wanting("a", 2, part(0))) == []


def test_shares_that_are_far_too_small_are_not_linear():
    big = room("n1", *(shareable(name, capacity=2000) for name in "ab"))
    assert linear(*big, *wanting("a", 1, part(2))) == ["n1"]
    assert linear(*big, *wanting("a", 1, part(1))) == []


def test_shared_pools_are_not_linear():
    given = [*wholes("n1", 2), *wholes("n2", 2), *wanting("a", 1, of(1))]
    assert linear(*given) == ["n1", "n2"]
    assert linear(*given, fabric(2), *wanting("b", 1, of(1, "fab"))) == []
    # Though nothing else is asked for.
    assert linear(*room("n1"), *room("n2"), fabric(2), *wanting("b", 1, of(1, "fab"))) == []


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        ("admitted,fewest-nodes", ["n1"]),
        ("admitted,fragmentation", ["n1"]),
        ("admitted,fragmentation,fewest-nodes", []),
        ("admitted,spread", []),
        # Without alternatives all copies cost the same, wherever they are.
        ("admitted,preference", ["n1"]),
        ("admitted,least-consumption", ["n1"]),
    ],
)
def test_goals_that_measure_bundles_are_not_linear(objective, expected):
    assert linear(*wholes("n1", 2), *wanting("a", 1, of(1)), objective=objective) == expected


def test_pods_that_mean_different_things_on_two_nodes_leave_one_of_these_linear():
    """A device that is not shared is one of a number, one that is shared is all of an amount."""
    given = [*wholes("n1", 2), *shares("n2", 2), *wanting("a", 5, of(1))]
    assert len(linear(*given)) == 1
    assert planning(*given).placed == 4


@pytest.mark.parametrize(
    ("specs", "held_parts", "most"),
    [
        # Two thirds never share a device, one third and two thirds do.
        ([(part(6), 4)], {}, 2),
        ([(part(6), 2), (part(4), 2)], {}, 4),
        ([(part(6), 2), (part(4), 1), (part(1), 5)], {}, 7),
        # What is held is not given out again.
        ([(part(6), 4)], {"gpu-0": 5}, 1),
        ([(part(5), 4)], {"gpu-0": 5}, 3),
        ([(part(5), 4)], {"gpu-0": 5, "gpu-1": 6}, 1),
        ([(part(10), 2)], {"gpu-0": 1}, 1),
        ([(part(10, 2), 1)], {"gpu-0": 1}, 0),
        ([(of(2), 1)], {}, 1),
        # Wholes and shares beside each other; without a capacity asked for all of it is meant.
        ([(of(1), 1), (part(5), 3)], {}, 3),
        ([(of(1), 2), (part(5), 2)], {"gpu-1": 6}, 2),
        ([(of(1), 3), (part(1), 1)], {"gpu-1": 9}, 2),
        # More than a device has.
        ([(part(11), 2), (part(5), 1)], {}, 1),
        ([(of(3), 1), (part(5), 1)], {}, 1),
    ],
)
def test_two_devices_are_filled_as_far_as_they_go(specs, held_parts, most):
    given = [*shares("n1", 2), *(held(n, "n1", *one) for n, one in enumerate(held_parts.items()))]
    given += [one for number, (spec, count) in enumerate(specs) for one in wanting(f"d{number}", count, spec)]
    assert linear(*given) == ["n1"]
    found = planning(*given)
    assert (found.placed, found.outcome, found.verified) == (most, "Optimal", True)


def test_the_fullest_devices_are_those_with_most_left():
    """All of one, nearly all of the other: what is held leaves one way to do that."""
    given = [*shares("n1", 3), held(0, "n1", "gpu-0", 4), held(1, "n1", "gpu-2", 1)]
    given += [*wanting("whole", 1, part(10)), *wanting("most", 1, part(9)), *wanting("rest", 1, part(6))]
    assert linear(*given) == ["n1"]
    taken = devices(planning(*given))
    assert taken == {"whole-0": [("n1", "gpu-1")], "most-0": [("n1", "gpu-2")], "rest-0": [("n1", "gpu-0")]}


def test_a_device_that_is_held_is_not_given_out():
    given = [*wholes("n1", 3), holding("h", "n1", "gpu-1"), *wanting("a", 3, of(1))]
    found = posed(*given)
    assert linear_of(found) == ["n1"]
    assert [len(node.free) for node in found.pricer.linear.pricer.nodes] == [2]
    assert placed(planning(*given)) == ["a-0", "a-1"]


def test_a_step_is_what_all_amounts_are_multiples_of():
    given = [*shares("n1", 2), held(0, "n1", "gpu-0", 4), *wanting("a", 1, part(2)), *wanting("b", 1, part(10))]
    part_of = posed(*given).pricer.linear.pricer
    (node,) = part_of.nodes
    assert (node.capacity, sorted(node.free)) == (5, [3, 5])
    assert sorted(unit.share for unit in part_of.units) == [1, 5]


@pytest.mark.parametrize("amount", [1, 1_234_567])
def test_odd_amounts_that_are_held_make_no_large_tables(amount):
    gib = 1 << 30
    given = [*room("n1", shareable("a", capacity=80 * gib)), held(0, "n1", "a", amount)]
    given += wanting("d", 9, part(10 * gib))
    assert linear(*given) == ["n1"]
    assert (planning(*given).placed, planning(*given).outcome) == (7, "Optimal")


def test_without_questions_there_is_nothing_linear():
    found = linear_nodes({}, 3)
    assert found.devices == found.questions == {}
    assert found.pricer.nodes == ()


def check_node(posed_, node_class, rng):
    """Columns are valid with the devices they get, and none is missed."""
    question, part_of = posed_.questions[node_class], posed_.pricer.linear
    most = posed_.problem.demands()
    worth = [rng.randint(1, 9) for _ in most]
    found = part_of.pricer.price(node_class, Prices(tuple(worth)), most, THOROUGH)
    best = 0
    for column in found.columns:
        bundle = part_of.bundle(node_class, column.payload)
        own = dict(column.counts)
        assert bundle.counts == tuple(own.get(unit.index, 0) for unit in question.units)
        assert replays(question, bundle)
        best = max(best, sum(worth[index] * count for index, count in column.counts))
    reached = [
        sum(worth[unit.index] * count for unit, count in zip(question.units, counts, strict=True))
        for counts in vectors(question)
        if possible(question, counts)
    ]
    assert best == max(reached)
    assert found.bound >= best


@pytest.mark.parametrize("make", [random_shares, random_wholes, random_partitions, random_capacities])
@pytest.mark.parametrize("seed", range(12))
def test_columns_are_what_the_ordinary_engine_finds_possible(make, seed):
    rng = Random(seed)
    found = posed(*make(rng))
    assert len(found.pricer.linear.devices) == len(found.node_classes)
    for node_class in found.pricer.linear.devices:
        check_node(found, node_class, rng)


@pytest.mark.parametrize("make", [random_shares, random_wholes, random_partitions, random_capacities])
@pytest.mark.parametrize("seed", range(100, 115))
def test_plans_are_as_good_as_with_models_alone(make, seed):
    found = posed(*make(Random(seed)), objective="admitted=devices,admitted,fewest-nodes")
    assert len(found.pricer.linear.devices) == len(found.node_classes)
    stages = [goal.stage for goal in found.goals]
    quick, thorough = (
        solve_stages(found.problem, stages, pricer, limits=EXACT) for pricer in (found.pricer, found.pricer.models)
    )
    assert [(one.name, one.value, one.proven) for one in quick.stages] == [
        (one.name, one.value, one.proven) for one in thorough.stages
    ]
    assert all(one.proven for one in quick.stages)


@pytest.mark.parametrize("seed", range(200, 208))
def test_whole_plans_pass_the_verifier(seed):
    given = random_shares(Random(seed))
    found = planning(*given, objective="admitted=capacity:mem,fewest-nodes")
    assert found.verified
    assert found.outcome == "Optimal"


def test_what_is_asked_does_not_depend_on_the_order_of_nodes():
    supply, queue = [*shares("n1", 2), *wholes("n2", 3)], wanting("a", 2, of(1))
    one, other = (posed(*items, *queue) for items in (supply, supply[::-1]))
    assert linear_of(one) == linear_of(other)
    assert one.pricer.linear.pricer == other.pricer.linear.pricer

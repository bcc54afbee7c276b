"""Plans take the smallest device that serves, and of equal ones the first in the scheduler's order."""

import pytest
from support.objects import (
    allocated,
    claim,
    device,
    device_class,
    draws,
    either,
    match,
    node,
    option,
    partitions,
    pool,
    shared,
    want,
)

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.kubernetes.core import Node
from drasat.scenarios import objects
from drasat.scenarios.mig import mig_nodes
from drasat.solver.allocate.allocate import allocate
from drasat.solver.allocate.load import load
from drasat.solver.plan.plan import plan

ONE = "device.attributes['gpu.example.com'].profile == '1g.5gb'"
KIND = "device.attributes['d.x'].kind == '{}'".format


def mig(*documents):
    """A node with eight GPUs that are whole devices and all of their partitions, and pods."""
    return [*mig_nodes(1, 8), *documents]


def pods(name, count, *expressions):
    spec = objects.claim_spec([objects.exactly("mig", objects.wanted("mig", *expressions))])
    made = (objects.pod(f"{name}-{number}", [objects.by_template("gpu", name)]) for number in range(count))
    return [objects.template(name, spec), *made]


def taken(outcome):
    """Names of the devices, by unit."""
    made = {unit.unit.name: [one for _, one in unit.allocations] for unit in outcome.units}
    return {name: sorted(one.device for each in own for one in each.devices.results) for name, own in made.items()}


def value(found):
    return {stage.stage: stage.value for stage in found.objective}


def planned(*given, **options):
    nodes = [] if any(isinstance(one, Node) for one in given) else [node("n1")]
    return plan(Cluster.of([*given, *nodes, device_class()]), **options)


def test_after_eight_pods_for_any_partition_all_others_of_the_smallest_fit():
    """Each GPU has seven partitions of 1g: 56, less eight."""
    first = drasat.plan(drasat.load(mig(*pods("any", 8))))
    assert first.outcome == "Optimal"
    more = drasat.plan(drasat.load([*mig(*pods("one", 60, ONE)), *first.manifests()]))
    assert more.placed == 48


def at_least(memory):
    return f"device.capacity['gpu.example.com'].memory.compareTo(quantity('{memory}')) >= 0"


@pytest.mark.parametrize(("seed", "wanted"), [(3, {"0": 60, "9Gi": 60, "19Gi": 40}), (1, {"0": 140, "19Gi": 20})])
def test_on_unlike_nodes_in_use_the_smallest_devices_are_found_and_that_is_proven(seed, wanted):
    """CTR-2: what is in use leaves other partitions on each node; the bound is about the smallest of all nodes."""
    asked = [one for size, count in wanted.items() for one in pods(f"p{size.lower()}", count, at_least(size))]
    found = plan(load([*mig_nodes(24, 4, seed=seed, fullness=0.5), *asked]))
    last = found.objective[-1]
    assert (found.outcome, last.stage, last.proven) == ("Optimal", "least-consumption", True)
    assert last.value <= last.bound * 1.01


@pytest.mark.parametrize("there", [["7g", "3g", "1g"], ["7g", "3g"], ["7g"]])
def test_a_pod_for_any_partition_gets_no_larger_one_than_it_has_to(there):
    sizes, sets = {"7g": 7, "3g": 3, "1g": 1}, {"x": {"slices": 7}, "y": {"slices": 7}}
    members = [device(f"{card}-{name}", draws(card, slices=sizes[name])) for card in sets for name in there]
    assert taken(planned(*partitions(*members, sets=sets), claim(want()))) == {"c": [f"x-{there[-1]}"]}


def test_whole_devices_are_chosen_by_their_capacity():
    """On one node, and between nodes."""
    large, small = device("a", capacity={"memory": "80Gi"}), device("b", capacity={"memory": "40Gi"})
    assert taken(planned(pool(large, small), claim(want()))) == {"c": ["b"]}
    apart = [pool(large, name="p1", node_name="n1"), pool(small, name="p2", node_name="n2"), node("n1"), node("n2")]
    assert taken(planned(*apart, claim(want()))) == {"c": ["b"]}


def test_a_share_is_taken_where_least_is_rounded_up():
    """CAP-3."""
    coarse = device("a", capacity={"width": shared("10", default="5", values=("5", "10"))}, multi=True)
    fine = device("b", capacity={"width": shared("10", default="1", min="1", max="10")}, multi=True)
    asked = claim(want(capacity={"width": "2"}))
    found = planned(pool(coarse, fine), asked)
    assert (taken(found), value(found)["least-consumption"]) == ({"c": ["b"]}, 200_000)


def test_a_smaller_device_is_not_taken_for_being_less_preferred():
    """SRCH-4."""
    supply = pool(
        device("a", capacity={"memory": "80Gi"}, kind="a"), device("b", capacity={"memory": "40Gi"}, kind="b")
    )
    found = planned(supply, claim(either("r", *(option(kind, select=KIND(kind)) for kind in "ab"))))
    assert taken(found) == {"c": ["a"]}
    assert [stage.stage for stage in found.objective] == ["priority=0", "admitted", "preference", "least-consumption"]


@pytest.mark.parametrize(
    ("members", "options"),
    [
        # All devices consume the same.
        ([device(name, capacity={"memory": "40Gi"}) for name in "ab"], {}),
        ([device(name) for name in "ab"], {}),
        # Stages are named.
        ([device("a", capacity={"memory": "1"}), device("b", capacity={"memory": "2"})], {"objective": "admitted"}),
    ],
)
def test_the_stage_is_left_out_where_there_is_no_choice_or_stages_are_named(members, options):
    assert "least-consumption" not in value(planned(pool(*members), claim(want()), **options))


def test_admin_access_consumes_nothing():
    """IN-3."""
    supply = pool(device("a", capacity={"memory": "80Gi"}), device("b", capacity={"memory": "40Gi"}))
    found = planned(supply, claim(want(admin=True)), objective="admitted,least-consumption")
    assert value(found) == {"admitted": 1, "least-consumption": 0}


def test_counters_of_a_shareable_device_count_once():
    """CTR-3."""
    shareable = device("a", draws("x", slices=2), capacity={"width": shared("10", default="2")}, multi=True)
    supply = partitions(shareable, sets={"x": {"slices": 4}})
    first, second = (claim(want(), name=name) for name in "cd")
    stages = "admitted,least-consumption"
    both = planned(*supply, first, second, objective=stages)
    assert value(both) == {"admitted": 2, "least-consumption": 500_000 + 2 * 200_000}
    (unit,) = allocate(Cluster.of([*supply, first, node("n1"), device_class()])).units
    beside = planned(*supply, allocated(first, unit.allocations[0][1]), second, objective=stages)
    assert value(beside) == {"admitted": 1, "least-consumption": 200_000}


def test_one_pod_on_an_empty_node_gets_the_same_devices_from_both_verbs():
    """SRCH-2: those that consume the same are taken in search order."""
    cluster = load(mig(*pods("any", 1)))
    found, best = plan(cluster), allocate(cluster, objective="least-consumption")
    assert value(found)["least-consumption"] == best.units[0].objective[0].value
    assert taken(found) == taken(best)


@pytest.mark.parametrize("count", [1, 2])
def test_whole_devices_that_consume_the_same_are_those_of_plain_allocate(count):
    """SRCH-2."""
    members = [
        device(f"g{number}", capacity={"memory": "40Gi"}, root=str(number // 2), size=str(number % 3))
        for number in (3, 1, 4, 0, 2, 5)
    ]
    other = want("b", select="device.attributes['d.x'].size != '0'")
    asked = [claim(want("a"), other, name=f"c{number}", constraints=[match("d.x/root")]) for number in range(count)]
    given = Cluster.of([pool(*members), *asked, node("n1"), device_class()])
    assert taken(plan(given)) == taken(allocate(given))


@pytest.mark.parametrize("asked", [{"any": 20}, {"any": 20, "one": 10}, {"any": 90, "one": 30}])
def test_the_smallest_devices_of_all_units_are_a_plan_that_is_proven_without_a_gap(asked):
    """On three nodes with 84 partitions of 1g; of too many units those that are placed get one each."""
    queue = [*pods("any", asked["any"]), *pods("one", asked.get("one", 0), ONE)]
    found = plan(load([*mig_nodes(3, 4), *queue]))
    (last,) = (stage for stage in found.objective if stage.stage == "least-consumption")
    single = plan(load([*mig_nodes(3, 4), *pods("one", 1, ONE)]), objective="admitted,least-consumption")
    assert found.placed == min(84, sum(asked.values()))
    assert last.value == last.bound == found.placed * single.objective[-1].value

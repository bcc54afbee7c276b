"""Random plans: valid ones pass, and whatever is broken in them is found."""

from importlib import import_module
from random import Random

import pytest
from msgspec.structs import replace as changed
from support.plan_scene import Plan, allocation, first_fit, random_cluster

from drasat.models.workload.node_room import missing_resources, remaining_allocatable
from drasat.models.workload.requests import effective_requests
from drasat.solver.verification.equal_nodes import FaultlessSequences
from drasat.solver.verification.plan_replay import PlanReplay, QueueSelection, verifier_of_plans

SEEDS = range(30)


def placed(plan, having=lambda _: True):
    return [one.unit.name for one in plan.units if one.node is not None and having(one)]


def with_devices(plan):
    return placed(plan, lambda one: one.allocations)


def other_node(rng, plan, name):
    return rng.choice([node for node in plan.cluster.nodes if node != plan[name].node])


def moved(rng, plan):
    """The devices stay where they are."""
    for name in with_devices(plan)[:1]:
        yield plan.change(name, node=other_node(rng, plan, name))


def on_a_node_that_is_not_there(_rng, plan):
    for name in placed(plan)[:1]:
        yield plan.change(name, node="gone")


def without_devices(_rng, plan):
    for name in with_devices(plan)[:1]:
        yield plan.change(name, allocations=())


def with_one_device_less(_rng, plan):
    for name in with_devices(plan)[:1]:
        ref, made = plan[name].allocations[0]
        less = changed(made, devices=changed(made.devices, results=made.devices.results[:-1]))
        yield plan.change(name, allocations=((ref, less),))


def with_devices_of_another(_rng, plan):
    names = with_devices(plan)
    if len(names) > 1:
        (first, made), (second, _) = (plan[name].allocations[0] for name in names[:2])
        assert first.key != second.key
        yield plan.change(names[1], node=plan[names[0]].node, allocations=((second, made),))


def taken_back_but_for_its_devices(_rng, plan):
    for name in with_devices(plan)[:1]:
        yield plan.change(name, node=None)


def left_away(rng, plan):
    del plan.units[rng.randrange(len(plan.units))]
    yield plan


def told_twice(rng, plan):
    plan.units.append(rng.choice(plan.units))
    yield plan


def crowded(rng, plan):
    """All pods without devices on one node that has no room for them."""
    node = rng.choice([*plan.cluster.nodes])
    pods = [one.unit for one in plan.units if one.unit.pod and not one.unit.claims]
    total = sum(effective_requests(unit.pod.spec)["cpu"] for unit in pods)
    if missing_resources({"cpu": total}, remaining_allocatable(plan.cluster)[node]):
        for unit in pods:
            plan.change(unit.name, node=node)
        yield plan


def with_a_device_for_nobody(_rng, plan):
    for name in placed(plan, lambda one: not one.unit.claims)[:1]:
        other = next((one.unit.claims[0] for one in plan.units if one.unit.claims), None)
        if other is not None:
            yield plan.change(name, allocations=((other, allocation(plan[name].node, "gpu-0")),))


BROKEN = (
    moved,
    on_a_node_that_is_not_there,
    without_devices,
    with_one_device_less,
    with_devices_of_another,
    taken_back_but_for_its_devices,
    left_away,
    told_twice,
    crowded,
    with_a_device_for_nobody,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_that_are_made_step_by_step_pass_in_any_order_of_the_units(seed):
    rng = Random(seed)
    plan = first_fit(rng, random_cluster(rng))
    rng.shuffle(plan.units)
    assert plan.violations() == []
    order = [number for number, one in enumerate(plan.units) if one.node is not None]
    rng.shuffle(order)
    assert plan.violations(order=order) == []


@pytest.mark.parametrize("breaking", BROKEN, ids=lambda breaking: breaking.__name__)
def test_whatever_is_broken_is_found(breaking):
    met = 0
    for seed in SEEDS:
        rng = Random(seed)
        plan = first_fit(rng, random_cluster(rng))
        for broken in breaking(rng, plan):
            met += 1
            assert broken.violations(), seed
    assert met >= len(SEEDS) // 5


def found_in_all(seed, find=Plan.violations):
    """What is wrong with a plan, and with all that breaking it makes of it."""
    for breaking in (lambda _, plan: [plan], *BROKEN):
        rng = Random(seed)
        for broken in breaking(rng, first_fit(rng, random_cluster(rng))):
            yield find(broken)


def found_by_a_verifier(plan):
    """The same where a process reads the queue for itself and is sent the placed units."""
    given, about = tuple(one for one in plan.units if one.node is not None), (plan.cluster, plan.gates, "strict", ())
    with verifier_of_plans(about, QueueSelection()) as verifier:
        assert verifier.connection.poll(60)
        return plan.violations(begun=PlanReplay(given, about, None, None, verifier))


def test_classes_of_nodes_change_nothing(monkeypatch):
    one_by_one = [list(found_in_all(seed)) for seed in SEEDS[::3]]
    known, follows = [], FaultlessSequences.follows
    monkeypatch.setattr(import_module("drasat.solver.verification.verify"), "_FEW_PLACEMENTS", 0)
    monkeypatch.setattr(FaultlessSequences, "follows", lambda own, step: known.append(follows(own, step)) or known[-1])
    assert [list(found_in_all(seed)) for seed in SEEDS[::3]] == one_by_one
    assert {*known} == {True, False}


@pytest.mark.parametrize("seed", SEEDS[::6])
def test_a_verifier_that_reads_for_itself_finds_what_one_finds_here(seed, monkeypatch):
    monkeypatch.setattr("drasat.solver.verification.plan_replay._MANY_NODES", 0)
    assert list(found_in_all(seed, found_by_a_verifier)) == list(found_in_all(seed))

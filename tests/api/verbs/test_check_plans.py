"""``drasat.check`` of documents of ``plan`` and ``capacity``: true ones hold, and each forged one fails."""

import json
from collections import Counter
from functools import cache

import pytest
from support.moving import holder
from support.objects import claim, device_class, devices, node, pool, want
from support.plan_building import classes, cluster, nodes, pod
from support.random_plans import plan_manifests

import drasat
from drasat.models.cluster.cluster import Cluster
from drasat.models.formats.errors import InputError
from drasat.models.manifests.reader import read_manifests


@cache
def asked(example, verb, **options):
    cluster = drasat.load(f"examples/{example}")
    return cluster, getattr(drasat, verb)(cluster, **options).to_json()


def lines(example, verb, forge=lambda _: None, **options):

    cluster, text = asked(example, verb, **options)
    document = json.loads(text)
    forge(document)
    return drasat.check(document, cluster).lines


def of(found, verdict):
    return [one for one in found if one.verdict == verdict]


BUY = {"buy": True, "duals": True}
MOVES = {"moves": "any"}
PLANS = {
    "queue": ("plan-queue", {}),
    "controllers": ("plan-controllers", {}),
    "buy": ("plan-buy", BUY),
    "pools": ("plan-pools", {"buy": True}),
    "moves": ("consolidate", MOVES),
    "preempt": ("preempt", {"preempt": True}),
    "quota": ("kueue/d-flavors", {}),
    "coverage": ("coverage", {"objective": "coverage,fewest-nodes"}),
    "rules of pods": ("pod-rules", {}),
    "rules of pods, preemption": ("pod-rules", {"preempt": True}),
    "a brief stage": ("mig-partitions", {}),
    "steps in a row": ("plan-queue", {"preempt": True}),
}


@pytest.mark.parametrize("name", PLANS)
def test_true_plans_hold(name):
    example, options = PLANS[name]
    found = lines(example, "plan", **options)
    assert of(found, "fails") == []
    assert of(found, "holds")


def test_a_pod_that_leaves_before_it_arrives_counts_as_moved():
    """Two pods change places on nodes of one device each: one of them waits in between."""
    there = [*nodes("n1", devices=1, cpu="3"), *nodes("n2", devices=1, cpu="2"), pod("w", cpu="2")]
    running = [*holder("a", "n2", 0, cpu="1"), *holder("b", "n1", 0, cpu="2")]
    given = cluster(*classes(), *there, *running)
    found = drasat.check(drasat.plan(given, moves="any", gap=0.0), given)
    assert of(found.lines, "fails") == []
    assert any(one.said == "moves is 2" for one in of(found.lines, "holds"))


def unread(document):
    empty = {"units": [], "nodes": [], "objective": [], "notices": [], "asked": 0, "placed": 0}
    document.update(empty, outcome="Unknown", proof=None, certified=False, unread=7)


def test_of_a_plan_whose_queue_was_not_read_nothing_is_checked():
    (found,) = lines("plan-queue", "plan", unread)
    assert (found.verdict, found.said) == ("unchecked", "the queue was not read")


@pytest.mark.parametrize("told", [{"asked": 2}, {"outcome": "Optimal"}, {"proof": "witness"}])
def test_a_plan_whose_queue_was_not_read_tells_nothing_else(told):
    def forge(document):
        unread(document)
        document.update(told)

    (found,) = lines("plan-queue", "plan", forge)
    assert found.verdict == "fails"


def test_bounds_hold_by_the_duals():
    bounds = [one for one in lines("plan-buy", "plan", **BUY) if " is at " in one.said]
    assert {one.verdict for one in bounds} == {"holds"}
    assert any(one.said.startswith("cost is at least") for one in bounds)


def placed(document, number=0):
    return [one for one in document["units"] if one["node"] is not None][number]


def result(document, number=0):
    return placed(document, number)["claims"][0]["allocation"]["devices"]["results"][0]


def stage(document, name):
    return next(one for one in document["objective"] if one["stage"] == name)


# The example, what is changed, and what is said of it.
FORGERIES = {
    "a device that is not there": ("buy", lambda one: result(one).update(device="gpu-99"), "POOL-8"),
    "a device that another unit has": ("buy", lambda one: result(one).update(device=result(one, 1)["device"]), "DEV-1"),
    "a node that is not there": ("buy", lambda one: placed(one).update(node="none"), "no such node"),
    "a unit on another node": ("queue", lambda one: placed(one).update(node="gpu-4"), "POOL-1"),
    "a unit twice": ("buy", lambda one: one["units"].append(one["units"][0]), "in the plan twice"),
    "a unit less": ("buy", lambda one: one["units"].pop(), "not in the plan"),
    "an order twice": ("buy", lambda one: placed(one).update(order=2), "the order does not have"),
    "a node bought for less": ("buy", lambda one: one["bought"][0].update(price=1), "the price of one is"),
    "another sum of costs": ("buy", lambda one: one["bought"][0].update(cost=1), " cost "),
    "a node more": ("buy", lambda one: one["bought"][0].update(count=9), "of the nodes are of it"),
    "another template": ("buy", lambda one: one["nodes"][-1].update(template="free"), "free"),
    "another cost": ("buy", lambda one: stage(one, "cost").update(value=1, bound=1), "it is 23"),
    "more than is placed": ("queue", lambda one: stage(one, "admitted").update(value=10, bound=10), "it is 9"),
    "a value beyond its bound": ("queue", lambda one: stage(one, "admitted").update(bound=3), "beyond its bound"),
    "another gap": ("queue", lambda one: stage(one, "admitted").update(gap=0.5), "the gap is"),
    "another number placed": ("queue", lambda one: one.update(placed=10), "the document has 9 of 10"),
    "another number on a node": ("queue", lambda one: one["nodes"][0].update(units=9), "units, not 9"),
    "more covered": ("coverage", lambda one: one["coverage"][0].update(covered=5000), "it has 1020 of 900"),
    "a group less": ("coverage", lambda one: one["coverage"].pop(), "it has 300 of 300"),
    "fewer groups covered": ("coverage", lambda one: stage(one, "coverage").update(value=2, bound=2), "it is 3"),
    "a step twice": ("moves", lambda one: one["steps"].append(one["steps"][0]), "does not run on"),
    "a step less": ("moves", lambda one: one["steps"].pop(), "is not on node"),
    "a step from elsewhere": ("moves", lambda one: one["steps"][0].update(source="large-1"), "does not run on"),
    "a victim that stays": ("preempt", lambda one: one["victims"].clear(), "the device is in use"),
    "a victim from elsewhere": ("preempt", lambda one: one["victims"][0].update(node="rack-1"), "does not run on"),
    "a step with no devices": (
        "steps in a row",
        lambda one: one["steps"][2]["claims"][0]["allocation"]["devices"].update(results=[]),
        "step 1 to step 9",
    ),
    "a plan that is certified": ("queue", lambda one: one.update(certified=True), "certified is true"),
    "a plan with a better proof": ("queue", lambda one: one.update(proof="audited"), "proof is audited"),
    "a stage with a proof": ("queue", lambda one: stage(one, "admitted").update(proven=False), "is not proven"),
    "a witness of a value that may be better": (
        "queue",
        lambda one: stage(one, "admitted").update(proof="witness"),
        "its value is no witness",
    ),
    "a stage of no priority": (
        "queue",
        lambda one: one["objective"].append(stage(one, "admitted") | {"stage": "priority=x", "value": 0, "bound": 0}),
        "there is no such stage",
    ),
    "a pool's nodes for less": ("pools", lambda one: one["bought"][0].update(price=0.01, cost=0.03), "costs 1"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_plan_fails(name):
    plan, forge, said = FORGERIES[name]
    example, options = PLANS[plan]
    found = of(lines(example, "plan", forge, **options), "fails")
    assert any(said in one.reason for one in found), found


def test_a_bound_that_the_duals_do_not_show_is_not_taken_for_one():
    def forge(document):
        stage(document, "cost").update(value=23, bound=22.5, gap=(23 - 22.5) / 22.5, proven=False)
        document["duals"] = []

    found = lines("plan-buy", "plan", forge, **BUY)
    assert [one.verdict for one in found if one.said.startswith("cost is at least")] == ["unchecked"]


def planned(family, seed, **options):
    cluster = Cluster.build(read_manifests([plan_manifests(family, seed)])[0])
    return cluster, json.loads(drasat.plan(cluster, **options).to_json())


def test_values_of_an_annotation_of_ones_own_add_up():
    cluster, document = planned("values", 0, objective="admitted=annotation:team.example/worth", duals=True)
    assert stage(document, "admitted=annotation:team.example/worth")["value"] != document["placed"]
    assert of(drasat.check(document, cluster).lines, "fails") == []


def test_a_device_that_is_published_twice_is_one_device():
    """Its pool is invalid, and it is no less there (POOL-9)."""
    twice = [pool(*devices("d1", "d2"), node_name="n1", count=2), pool(*devices("d1"), node_name="n1", slice_name="s2")]
    given = Cluster.of([device_class(), node("n1"), *twice, claim(want())])
    found = drasat.plan(given)
    assert [one.devices for one in found.document.nodes] == [2]
    assert of(drasat.check(found, given).lines, "fails") == []


def test_a_claim_that_units_share_is_told_with_one_allocation():
    cluster, document = planned("shared-claims", 5)
    told = [claim for unit in document["units"] for claim in unit["claims"] if claim["allocation"]]
    times = Counter((one["namespace"], one["name"]) for one in told)
    *_, last = (one for one in told if times[one["namespace"], one["name"]] > 1)
    last["allocation"]["devices"]["results"][0]["device"] = "another"
    found = of(drasat.check(document, cluster).lines, "fails")
    assert [one.reason for one in found] == [f"claim {last['namespace']}/{last['name']} has two allocations"]


# What is changed at a field of the document, and what its line says.
ODD_VALUES = {
    "a price that is no number": (float("nan"), r"bought\[0\]\.price: must be a number up to 1e\+100"),
    "a price without end": (float("inf"), r"bought\[0\]\.price: must be a number up to 1e\+100"),
    "a price beyond all": (10**400, r"bought\[0\]\.price: must be a number up to 1e\+100"),
}


@pytest.mark.parametrize("name", ODD_VALUES)
def test_numbers_that_cannot_be_added_up_are_refused_with_their_field(name):
    value, said = ODD_VALUES[name]
    with pytest.raises(InputError, match=said):
        lines("plan-buy", "plan", lambda one: one["bought"][0].update(price=value), **BUY)


@pytest.mark.parametrize("value", ["1e999999999", "1/0", "nan", "9" * 101, ""])
def test_duals_that_are_no_fractions_are_refused_with_their_field(value):
    with pytest.raises(InputError, match=r"duals\[0\]\.rows\[0\]\.value"):
        lines("plan-buy", "plan", lambda one: one["duals"][0]["rows"][0].update(value=value), **BUY)


CAPACITY = {"claim": "inference/flexible"}
CAPACITY_FORGERIES = {
    "a device twice": (lambda kind: kind["example"][1][0]["devices"].update(kind["example"][0][0]["devices"]), "DEV-1"),
    "a copy more": (lambda kind: kind["each"].update(fits=8, bound=8), "8"),
    "a bound less": (lambda kind: kind["each"].update(bound=6), "the bound is 6"),
    "a witness that needs more": (lambda kind: kind["witness"].update(needed=10**12), "it says"),
    "a witness with less": (lambda kind: kind["witness"].update(available=0), "it says"),
    "a node that is not there": (lambda kind: kind.update(nodes=["none"]), "no node none"),
    "proven without it": (lambda kind: kind["each"].update(proven=False), "at most"),
}


@pytest.mark.parametrize("name", CAPACITY_FORGERIES)
def test_a_forged_count_of_copies_fails(name):
    forge, said = CAPACITY_FORGERIES[name]
    found = lines("mig-partitions", "capacity", lambda one: forge(one["nodes"][0]), **CAPACITY)
    assert any(said in one.reason for one in of(found, "fails")), found


@pytest.mark.parametrize(
    ("example", "options"),
    [
        ("mig-partitions", CAPACITY),
        ("tainted-devices", {"claim": "lab/plain"}),
        ("whole-gpus", {"pod": "ml/training"}),
        ("plan-queue", {"pod": "research/train-0"}),
    ],
)
def test_true_counts_of_copies_hold(example, options):
    found = lines(example, "capacity", **options)
    assert (of(found, "fails"), of(found, "unchecked")) == ([], [])


def test_any_number_of_copies_is_not_taken_for_granted():
    def forge(document):
        for told in (document["total"], document["nodes"][0]["each"]):
            told.update(fits=None, bound=None, unbounded=True, proven=True)

    found = lines("mig-partitions", "capacity", forge, **CAPACITY)
    assert [one.verdict for one in found if one.said.startswith("any number")] == ["unchecked", "unchecked"]


def test_the_sum_of_nodes_that_share_devices_is_not_taken_for_granted():
    """Even if the document does not say that they do."""
    cluster, document = networked()
    document["sharing"] = []
    fits = sum(one["each"]["fits"] * len(one["nodes"]) for one in document["nodes"])
    document["total"].update(fits=fits, bound=fits)
    found = drasat.check(document, cluster).lines
    assert (of(found, "fails"), found[-1].verdict) == ([], "unchecked")


def networked():
    """Two nodes that both reach the two devices of a network."""
    slice_ = pool(*devices("d1", "d2"), all_nodes=True)
    cluster = Cluster.of([device_class(), node("n1"), node("n2"), slice_, claim(want())])
    return cluster, json.loads(drasat.capacity(cluster, claim="ns/c").to_json())


def test_a_forged_sum_of_copies_fails():
    found = lines("whole-gpus", "capacity", lambda one: one["total"].update(fits=4), pod="ml/training")
    assert [one.reason for one in of(found, "fails")] == ["the nodes have 3 together"]


def test_purchases_that_are_compared_add_up():
    cluster = drasat.load("examples/plan-pools")
    document = drasat.compare_purchases(cluster, ["karpenter-like", "plan"]).to_dict()
    assert of(drasat.check(document, cluster).lines, "fails") == []
    document["planners"][0]["cost"] -= 1
    document["planners"][1]["nodes"][0]["pods"].append(document["planners"][1]["nodes"][-1]["pods"][0])
    reasons = [one.reason for one in of(drasat.check(document, cluster).lines, "fails")]
    assert any("the nodes cost" in reason for reason in reasons)
    assert any("is there twice" in reason for reason in reasons)

"""``check`` of nodes of NodePools in plans, and of documents of ``overlay``."""

import copy

import pytest
from support.karpenter_families import FAMILIES, question
from support.karpenter_scenarios import SCENARIOS

import drasat


def failing(document, cluster):
    return [one for one in drasat.check(document, cluster).lines if one.verdict == "fails"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_plans_and_overlays_of_scenarios_hold(name):
    cluster = drasat.load(list(SCENARIOS[name].objects), skip_validation=True)
    assert failing(drasat.plan(cluster, buy=True), cluster) == []
    assert failing(drasat.overlay(cluster), cluster) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.__name__)
def test_plans_and_overlays_of_random_questions_hold(family):
    for seed in range(2):
        cluster = drasat.load(question(family, seed), skip_validation=True)
        assert failing(drasat.plan(cluster, buy=True), cluster) == [], seed
        assert failing(drasat.overlay(cluster), cluster) == [], seed


@pytest.mark.parametrize("name", ["plan-pools", "consolidate"])
def test_nodes_of_pools_are_made_again(name):
    """Placements on nodes that Karpenter would launch hold by themselves."""
    cluster = drasat.load(f"examples/{name}")
    plan = drasat.plan(cluster, consolidate="any") if name == "consolidate" else drasat.plan(cluster, buy=True)
    assert any(one.pool for one in plan.document.bought)
    lines = drasat.check(plan, cluster).lines
    assert [one for one in lines if one.verdict == "fails"] == []
    about_nodes = [one for one in lines if one.said.startswith(("Placed", "1 bought", "place ", "move "))]
    assert {one.verdict for one in about_nodes} == {"holds"}


@pytest.fixture(scope="module")
def pools():
    cluster = drasat.load("examples/plan-pools")
    return cluster, drasat.plan(cluster, buy=True).to_dict()


def drop_a_label(made):
    made["bought"][0]["labels"].pop("topology.kubernetes.io/zone")


def invent_a_label(made):
    made["bought"][0]["labels"]["example.com/other"] = "yes"


def move_to_another_zone(made):
    made["bought"][0]["labels"]["topology.kubernetes.io/zone"] = "nowhere"
    made["bought"][0]["zone"] = "nowhere"


def lower_the_price(made):
    one = made["bought"][0]
    one["cost"] = one["cost"] - one["price"] * one["count"] + 0.01 * one["count"]
    one["price"] = 0.01


def add_up_wrong(made):
    made["bought"][0]["cost"] += 1


def count_one_more(made):
    one = made["bought"][0]
    one.update(count=one["count"] + 1, cost=one["price"] * (one["count"] + 1))


def take_another_type(made):
    made["bought"][0]["instanceType"] = "none-such"


def take_another_pool(made):
    made["bought"][0]["pool"] = "none-such"


def say_an_overlay(made):
    made["bought"][0]["overlay"] = "none-such"


def swap_nodes(made):
    placed = [one for one in made["units"] if one["node"] is not None and one["claims"]]
    nodes = {one["node"] for one in placed}
    placed[0]["node"] = next(node for node in nodes if node != placed[0]["node"])


NODE_MUTATIONS = [
    (drop_a_label, "which is not there"),
    (invent_a_label, "cannot have label example.com/other=yes"),
    (move_to_another_zone, "cannot have label topology.kubernetes.io/zone=nowhere"),
    (lower_the_price, "costs"),
    (add_up_wrong, "cost"),
    (count_one_more, "of the nodes are of it"),
    (take_another_type, "there is no InstanceType none-such"),
    (take_another_pool, "there is no NodePool none-such"),
    (say_an_overlay, "costs"),
    (swap_nodes, ""),
]


@pytest.mark.parametrize(("change", "said"), NODE_MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_changed_plan_fails(pools, change, said):
    cluster, document = pools
    changed = copy.deepcopy(document)
    change(changed)
    found = failing(changed, cluster)
    assert found
    assert any(said in one.reason for one in found), found


@pytest.fixture(scope="module")
def overlays():
    cluster = drasat.load("examples/overlays")
    return cluster, drasat.overlay(cluster).to_dict()


def _offering(made):
    return next(way for one in made["types"] for way in one["offerings"] if way["overlay"])


def change_a_price(made):
    _offering(made)["price"] = "0.01"


def change_a_list_price(made):
    _offering(made)["listPrice"] = "99"


def name_another_overlay(made):
    _offering(made)["overlay"] = "other"


def lose_an_offering(made):
    made["types"][0]["offerings"].pop()


def sell_out(made):
    made["types"][0]["offerings"][0]["available"] ^= True


def lose_a_type(made):
    made["types"].pop()


def say_a_type_is_changed(made):
    made["types"][0]["changed"] ^= True


def refuse_an_overlay(made):
    made["overlays"][0].update(ready=False, reason="Conflict", other="x")


def match_more_types(made):
    made["overlays"][0]["types"] += 1


def publish_more_devices(made):
    driver = next(driver for one in made["types"] for driver in one["drivers"])
    driver["devices"] += 1


def have_more_of_a_resource(made):
    made["types"][0]["resources"].append({"name": "x.com/y", "listed": "", "amount": "1", "overlay": "z"})


def turn_the_order(made):
    made["overlays"].reverse()


OVERLAY_MUTATIONS = [
    (change_a_price, "price of offering"),
    (change_a_list_price, "listPrice of offering"),
    (name_another_overlay, "overlay of offering"),
    (lose_an_offering, "it has"),
    (sell_out, "available of offering"),
    (lose_a_type, "is not there"),
    (say_a_type_is_changed, "changed"),
    (refuse_an_overlay, "reason is"),
    (match_more_types, "types is"),
    (publish_more_devices, "driver"),
    (have_more_of_a_resource, "set by no overlay"),
    (turn_the_order, "they are"),
]


@pytest.mark.parametrize(("change", "said"), OVERLAY_MUTATIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_changed_document_of_overlays_fails(overlays, change, said):
    cluster, document = overlays
    changed = copy.deepcopy(document)
    change(changed)
    found = failing(changed, cluster)
    assert any(said in one.reason for one in found), found

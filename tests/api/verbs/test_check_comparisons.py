"""``check`` of documents of ``compare``, ``tune`` and ``provision``: right ones hold, changed ones fail."""

import copy
import json

import pytest

import drasat
from drasat.models.formats.errors import InputError


def purchases(cluster):
    return drasat.compare_purchases(cluster, ["karpenter-like", "plan"])


def engines(cluster):
    return drasat.compare(cluster, ["backtracking", "auto"])


def planners(cluster):
    return drasat.compare_plans(cluster, ["first-fit", "plan"], orders=["given"])


def answers(cluster):
    return drasat.provision(cluster, answers=True)


VERBS = {
    "engines": (engines, "examples/tainted-devices"),
    "planners": (planners, "examples/plan-queue"),
    "purchases": (purchases, "examples/plan-pools"),
    "tune": (drasat.tune, "examples/tune"),
    "answers": (answers, "examples/provisioning/answers"),
    "provision": (drasat.provision, "examples/provisioning/cluster.yaml"),
    "merged": (drasat.provision, "examples/provisioning/merged"),
    "quota": (drasat.quota, "examples/kueue/j-stranded"),
    "overlay": (drasat.overlay, "examples/overlays"),
}


@pytest.fixture(scope="module")
def made():
    known = {}

    def make(name):
        if name not in known:
            ask, example = VERBS[name]
            cluster = drasat.load(example)
            known[name] = cluster, ask(cluster).to_dict()
        return known[name][0], copy.deepcopy(known[name][1])

    return make


def failing(document, cluster):
    return [one for one in drasat.check(document, cluster).lines if one.verdict == "fails"]


@pytest.mark.parametrize("name", VERBS)
def test_documents_of_examples_hold(made, name):
    cluster, document = made(name)
    assert failing(document, cluster) == []


@pytest.mark.parametrize("name", ["engines", "nic-and-gpu", "mig-partitions", "whole-or-halves", "shared-cpus"])
def test_answers_of_engines_hold(made, name):
    cluster = drasat.load("examples/tainted-devices" if name == "engines" else f"examples/{name}")
    assert failing(engines(cluster), cluster) == []


def side(made, placed=True):
    return next(one for unit in made["units"] for one in unit["sides"] if (one["outcome"] == "Allocated") is placed)


def use_a_device_twice(made):
    taken = [one for unit in made["units"] for one in unit["sides"] if one["engine"] == "auto" and one["requests"]]
    taken[0]["requests"][0]["devices"] = taken[1]["requests"][0]["devices"]


def use_no_device(made):
    side(made)["requests"][0]["devices"] = ["gpu.example.com/nowhere/gpu-0"]


def go_to_no_node(made):
    side(made)["node"] = "nowhere"


def admit_one_more(made):
    made["engines"][0]["admitted"] += 1


def ask_one_less(made):
    made["asked"] -= 1


def lose_a_unit(made):
    made["units"].pop()


def say_all_is_allocated(made):
    made["engines"][0]["outcome"] = "Allocated"


def plan_more_than_asked(made):
    made["planners"][0]["admitted"] = made["asked"] + 1


def be_beaten(made):
    made["beaten"] = not made["beaten"]


def certify_a_plan(made):
    made["planners"][-1]["certified"] = True
    made["planners"][-1]["proof"] = "solver"


def prove_a_planner(made):
    made["planners"][0]["proof"] = "witness"


def lower_a_bound(made):
    stage = next(one for one in made["planners"][-1]["objective"] if one["bound"])
    stage["bound"] = stage["value"] - 1


def sum_up_wrong(made):
    made["planners"][0]["cost"] += 1


def pay_another_price(made):
    one = made["planners"][-1]
    node = one["nodes"][0]
    one["cost"] = one["cost"] - node["price"] + 0.01
    node["price"] = 0.01


def name_another_cheapest(made):
    made["cheapest"] = ["karpenter-like"]


def place_a_pod_twice(made):
    nodes = made["planners"][-1]["nodes"]
    nodes[0]["pods"].append(nodes[-1]["pods"][0])


def certify_a_price(made):
    made["planners"][-1]["certified"] = True


def raise_a_bound(made):
    made["planners"][-1]["bound"] = made["planners"][-1]["cost"] + 1


def place_beyond_the_bound(made):
    made["bound"] = max(made["after"]) - 1


def place_beyond_the_queue(made):
    made["after"][0] = made["asked"] + 1


def list_another_device(made):
    made["orders"][0]["after"][0] = "none-such"


def order_no_slice(made):
    one = next(order for order in made["orders"] if order["order"] != "alternatives")
    one["objects"] = ["none-such"]


def certify_an_order(made):
    made.update(certified=not made["certified"])


def _provisioned(made):
    return next(one for one in made["answers"] if one["outcome"] == "Provisioned" and one["reservation"])


def reserve_no_node(made):
    _provisioned(made)["reservation"][0].update(node="nowhere", template=None)


def reserve_fewer_pods(made):
    _provisioned(made)["reservation"].pop()


def pay_less_for_a_node(made):
    one = next(one for one in made["answers"] if one["bought"])
    one["bought"][0].update(price=0.5, cost=0.5 * one["bought"][0]["count"])


def buy_no_template(made):
    next(one for one in made["answers"] if one["bought"])["bought"][0]["template"] = "none-such"


def fail_and_say_it_was_provided(made):
    _provisioned(made)["outcome"] = "Failed"


def provide_one_more(made):
    made["rounds"][0]["provisioned"] += 1


def certify_a_no(made):
    next(one for one in made["answers"] if one["outcome"] == "Failed")["certified"] = True


def reserve_what_is_not_there(made):
    one = next(held for held in _provisioned(made)["reservation"] if held["devices"])
    one["devices"] = ["gpu.example.com/nowhere/gpu-0"]


MUTATIONS = [
    ("engines", use_a_device_twice, ""),
    ("engines", use_no_device, "does not reach"),
    ("engines", go_to_no_node, "no node nowhere"),
    ("engines", admit_one_more, "its units are"),
    ("engines", ask_one_less, "units are there, not"),
    ("engines", lose_a_unit, "that wait are not there"),
    ("engines", say_all_is_allocated, "the gravest outcome"),
    ("planners", plan_more_than_asked, "units were asked about"),
    ("planners", be_beaten, "a planner admits"),
    ("planners", certify_a_plan, "certified is true"),
    ("planners", prove_a_planner, "proof is witness"),
    ("planners", lower_a_bound, "beyond its bound"),
    ("purchases", sum_up_wrong, "the nodes cost"),
    ("purchases", pay_another_price, "has no offering for 0.01"),
    ("purchases", name_another_cheapest, "they are"),
    ("purchases", place_a_pod_twice, "is there twice"),
    ("purchases", certify_a_price, "certified is true"),
    ("purchases", raise_a_bound, "the nodes cost"),
    ("tune", place_beyond_the_bound, "the bound is"),
    ("tune", place_beyond_the_queue, "units"),
    ("tune", list_another_device, "other names than before"),
    ("tune", order_no_slice, "no such ResourceSlice"),
    ("tune", certify_an_order, "certified is"),
    ("answers", reserve_no_node, "there is no node nowhere"),
    ("answers", reserve_fewer_pods, "it has room for"),
    ("answers", pay_less_for_a_node, "costs"),
    ("answers", buy_no_template, "there is no NodeTemplate none-such"),
    ("answers", fail_and_say_it_was_provided, "its conditions are of another outcome"),
    ("answers", provide_one_more, "are provisioned"),
    ("answers", certify_a_no, "certified is true"),
    ("answers", reserve_what_is_not_there, "does not reach"),
]


@pytest.mark.parametrize(("name", "change", "said"), MUTATIONS, ids=lambda one: getattr(one, "__name__", one))
def test_a_changed_document_fails(made, name, change, said):
    cluster, document = made(name)
    change(document)
    found = failing(document, cluster)
    assert any(said in one.reason for one in found), found


@pytest.mark.parametrize("name", VERBS)
def test_what_is_unchecked_is_named_once(made, name):
    cluster, document = made(name)
    found = drasat.check(document, cluster)
    reasons = [one.reason for one in found.lines if one.verdict == "unchecked"]
    assert found.document.not_checked == tuple(dict.fromkeys(reasons))
    assert all(reasons)


def paths(found, path=()):
    """Every place of a document."""
    yield path
    pairs = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for key, one in list(pairs)[:3]:
        yield from paths(one, (*path, key))


def put(document, path, value):
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


DEEP = json.loads("[" * 400 + "]" * 400)
HOSTILE = [None, True, -1, 2**63, 10**40, 1e99, float("nan"), "x" * 5000, "", [], {}, [[]], {"": {}}, DEEP]


@pytest.mark.parametrize("name", VERBS)
def test_hostile_documents_are_refused_in_one_line_or_judged(made, name):
    cluster, document = made(name)
    places = [path for path in paths(document) if path]
    for number, path in enumerate(places):
        value = HOSTILE[number % len(HOSTILE)]
        changed = copy.deepcopy(document)
        put(changed, path, value)
        assert len(_refusal(changed, cluster).splitlines()) <= 1, (path, value)


def _refusal(document, cluster):
    """What is said of a document that is refused; empty for one that is judged. A gate may have another name."""
    try:
        drasat.check(document, cluster)
    except (InputError, ValueError) as error:
        return str(error)
    return ""

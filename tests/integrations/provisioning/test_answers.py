"""Answers to ProvisioningRequests: whole or not at all, beside what is booked, cheapest first, jointly the most."""

import random

import pytest
from support.asked import CHECK, CLASS, SCALE, claim_template, condition, most_requests, node, offer, pod_set, request

import drasat

TEMPLATES = [CLASS, *(claim_template(count) for count in (1, 2, 4))]


def answered(*parts, **options):
    objects = [one for part in parts for one in ([part] if isinstance(part, dict) else part)]
    return drasat.provision(drasat.load([*TEMPLATES, *objects]), answers=True, **options)


def outcomes(result):
    return {one.name: one.outcome for one in result.answers}


def cost(answer):
    return sum(one.cost for one in answer.bought)


def test_claims_of_all_pods_are_counted():
    """Claims are made from their templates for each pod (provisioning-request 8)."""
    there = *node("a", 4), *node("b", 4)
    result = answered(there, request("r", pod_set(3, gpus=2), pod_set(2, gpus=1)))
    [answer] = result.answers
    devices = [device for held in answer.reservation for device in held.devices]
    assert (answer.outcome, len(devices), len(set(devices))) == ("Provisioned", 8, 8)
    assert sum(sum(held.pods.values()) for held in answer.reservation) == 5
    assert [one.type for one in answer.conditions] == ["Accepted", "Provisioned"]


def test_a_request_fails_whole_with_reasons():
    result = answered(node("a", 4), request("r", pod_set(3, gpus=2)))
    [answer] = result.answers
    assert (answer.outcome, answer.reservation) == ("Failed", ())
    [said] = answer.conditions
    assert (said.type, said.reason) == ("Failed", "CapacityIsNotFound")
    assert "2 of 3 find a place" in said.message
    assert "request-0" not in said.message


def test_a_check_for_capacity_buys_nothing():
    parts = node("a", 4), offer("big", 8, 10)
    result = answered(*parts, request("r", pod_set(3, gpus=2)), request("s", pod_set(3, gpus=2), of=SCALE))
    assert outcomes(result) == {"r": "Failed", "s": "Provisioned"}
    assert [cost(one) for one in result.answers] == [0, 10]


def test_the_cheapest_nodes_are_bought():
    offers = offer("small", 2, 3), offer("big", 8, 10)
    result = answered(*offers, request("r", pod_set(3, gpus=2), of=SCALE))
    [answer] = result.answers
    assert {one.template: one.count for one in answer.bought} == {"small": 3}
    assert answer.provisioning_class_details == {"cost": "9", "nodeTemplates": "small=3", "nodes": "3"}


def test_limits_count_over_all_requests():
    offers = offer("small", 2, 3, limit=1), offer("big", 8, 10)
    parts = [request(name, pod_set(1, gpus=2), of=SCALE) for name in ("r", "s")]
    assert sorted(cost(one) for one in answered(*offers, *parts).answers) == [3, 10]


def test_later_requests_use_what_earlier_ones_left():
    parts = [request(name, pod_set(1, gpus=2)) for name in ("r", "s", "t")]
    assert list(outcomes(answered(node("a", 4), *parts)).values()) == ["Provisioned", "Provisioned", "Failed"]


def test_together_more_requests_fit():
    """In their order the large request comes first and takes what two small ones could have."""
    parts = request("r", pod_set(4, gpus=1)), request("s", pod_set(1, gpus=2)), request("t", pod_set(2, gpus=1))
    in_order, joint = (answered(node("a", 4), *parts, joint=together) for together in (False, True))
    assert outcomes(in_order) == {"r": "Provisioned", "s": "Failed", "t": "Failed"}
    assert outcomes(joint) == {"r": "Failed", "s": "Provisioned", "t": "Provisioned"}
    [together] = joint.document.rounds
    assert (together.requests, together.provisioned, together.proven) == (3, 2, True)


def test_requests_with_many_pods_count_no_more_than_others():
    parts = request("r", pod_set(7, cpu=1)), request("s", pod_set(1, cpu=4)), request("t", pod_set(1, cpu=4))
    assert outcomes(answered(node("a", cpu=8), *parts, joint=True)) == {
        "r": "Failed",
        "s": "Provisioned",
        "t": "Provisioned",
    }


def test_counts_without_a_small_common_multiple_weigh_the_same():
    """The common multiple of the counts is above what the planner weighs exactly."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
    parts = [request(f"r{count}", pod_set(count, cpu="100m")) for count in primes]
    result = answered(node("a", cpu="1700m"), *parts, joint=True)
    assert {name for name, outcome in outcomes(result).items() if outcome == "Provisioned"} == {"r2", "r3", "r5", "r7"}
    assert result.document.rounds[0].proven


def test_nodes_that_requests_share_are_paid_for_once():
    parts = [request(name, pod_set(1, gpus=4), of=SCALE) for name in ("r", "s")]
    result = answered(offer("big", 8, 10), *parts, joint=True)
    assert [cost(one) for one in result.answers] == [10, 0]
    assert {held.template for one in result.answers for held in one.reservation} == {"big"}


def test_other_classes_are_answered_as_the_caller_says():
    parts = offer("big", 8, 10), request("r", pod_set(1, gpus=4), of="queued-provisioning.gke.io")
    result = answered(*parts)
    assert (result.answers, result.document.complete) == ((), True)
    [said] = result.document.notices
    assert "queued-provisioning.gke.io" in said
    assert outcomes(answered(*parts, classes=["queued-provisioning.gke.io=scale-up"])) == {"r": "Provisioned"}
    assert outcomes(answered(*parts, classes={"queued-provisioning.gke.io": "check-capacity"})) == {"r": "Failed"}


@pytest.mark.parametrize(("consumed", "expected"), [(False, "Failed"), (True, "Provisioned")])
def test_requests_that_were_provisioned_before_hold_their_room(consumed, expected):
    before = request("before", pod_set(1, gpus=4), conditions=[condition("Provisioned")])
    metadata = {"name": "p", "namespace": "team", "annotations": {}}
    if consumed:
        metadata["annotations"] = {"autoscaling.x-k8s.io/consume-provisioning-request": "before"}
    spec = {"nodeName": "a", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}
    runs = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    result = answered(node("a", 4), runs, before, request("r", pod_set(1, gpus=4)))
    assert outcomes(result) == {"r": expected}


@pytest.mark.parametrize("ended", ["Failed", "BookingExpired", "CapacityRevoked"])
def test_requests_that_are_over_hold_nothing_and_are_not_answered(ended):
    over = request("over", pod_set(1, gpus=4), conditions=[condition("Provisioned"), condition(ended)])
    assert outcomes(answered(node("a", 4), over, request("r", pod_set(1, gpus=4)))) == {"r": "Provisioned"}


def test_a_domain_holds_all_pods_of_a_request():
    zones = {"drasat.dev/gang": "g", "drasat.dev/gang-domain": "zone"}
    there = *node("a", 2, zone="x"), *node("b", 2, zone="y")
    assert outcomes(answered(there, request("r", pod_set(2, gpus=2)))) == {"r": "Provisioned"}
    assert outcomes(answered(there, request("r", pod_set(2, gpus=2, annotations=zones)))) == {"r": "Failed"}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (request("r", pod_set(1))[1:], "PodTemplate team/ppt-r-ps0 not found"),
        (request("r", pod_set(1, nodeName="a")), "nodeName passes the scheduler"),
        (
            request(
                "r",
                pod_set(1, annotations={"drasat.dev/gang": "g", "drasat.dev/gang-domain": "zone"}),
                pod_set(1, annotations={"drasat.dev/gang": "g", "drasat.dev/gang-domain": "rack"}),
            ),
            "two domains, rack and zone",
        ),
    ],
)
def test_requests_that_nothing_could_satisfy_fail_and_others_are_answered(asked, text):
    result = answered(node("a", 4), asked, request("s", pod_set(1, gpus=1)), joint=True)
    assert outcomes(result) == {"r": "Failed", "s": "Provisioned"}
    assert text in result.answers[0].conditions[0].message


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"classes": ["x"]}, "class 'x': must be NAME=check-capacity or NAME=scale-up"),
        ({"provisioning_time": "soon"}, "'soon' is not a duration"),
        ({"answers": False, "joint": True}, "nothing is answered"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text) as refused:
        drasat.provision(drasat.load(node("a")), **{"answers": True, **options})
    assert "\n" not in str(refused.value)


def test_a_bad_provisioning_time_is_refused_with_its_template():
    bad = offer("big", 8, 10, annotations={"drasat.dev/provisioning-time": "soon"})
    with pytest.raises(ValueError, match=r"NodeTemplate big: metadata.annotations\[drasat.dev/provisioning-time\]"):
        answered(bad)


def test_without_time_requests_are_undecided():
    result = answered(node("a", 4), request("r", pod_set(1, gpus=1)), time_limit=1e-9)
    assert not result.document.complete
    assert all(one.outcome == "Undecided" and not one.conditions for one in result.answers)


def test_the_same_question_has_the_same_answer():
    parts = [request(f"r{number}", pod_set(2, gpus=2), of=SCALE) for number in range(4)]
    first, second = (answered(node("a", 4), offer("big", 4, 3), *parts, joint=True) for _ in range(2))
    assert first.to_json() == second.to_json()


def _random_question(seed):
    """Nodes, offers and requests at random, as objects and as numbers."""
    rng = random.Random(seed)
    there = [(rng.randint(1, 6), rng.randint(0, 4)) for _ in range(rng.randint(1, 3))]
    offers = [
        (rng.randint(2, 6), rng.randint(1, 4), rng.randint(1, 9), rng.randint(0, 2)) for _ in range(rng.randint(0, 2))
    ]
    objects = [one for number, (cpu, gpus) in enumerate(there) for one in node(f"n{number}", gpus, cpu)]
    objects += [offer(f"o{number}", gpus, price, cpu, limit) for number, (cpu, gpus, price, limit) in enumerate(offers)]
    requests = []
    for number in range(rng.randint(1, 5)):
        sets = [(rng.randint(1, 3), rng.choice((0, 1, 1, 2, 4)), rng.randint(1, 3)) for _ in range(rng.randint(1, 2))]
        buys = rng.random() < 0.5
        requests.append((buys, [(cpu, gpus) for count, gpus, cpu in sets for _ in range(count)]))
        objects += request(f"r{number}", *(pod_set(*one) for one in sets), of=SCALE if buys else CHECK)
    return objects, there, offers, requests


@pytest.mark.parametrize("seed", range(25))
def test_joint_answers_are_the_best_of_all(seed):
    objects, there, offers, requests = _random_question(seed)
    result = answered(objects, joint=True)
    expected, least = most_requests(there, offers, requests)
    assert list(outcomes(result).values()).count("Provisioned") == expected
    assert sum(map(cost, result.answers)) == least
    assert result.document.rounds[0].proven


def test_nodes_of_pools_are_bought_at_the_cost_of_a_plan(examples):
    """NodePools of Karpenter become NodeTemplates, as in plans."""
    pools = examples / "overlays" / "karpenter.yaml"
    pods = pod_set(2, cpu=3)
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": pods[1]["spec"]}
    pod |= {"metadata": {"name": "p", "namespace": "team", "annotations": {"drasat.dev/replicas": "2"}}}
    planned = drasat.plan(drasat.load(pools, [pod]), buy=True)
    [answer] = drasat.provision(drasat.load(pools, request("r", pods, of=SCALE)), answers=True).answers
    assert cost(answer) == sum(one.cost for one in planned.document.bought) > 0

"""Where each policy does something else, provably."""

from dataclasses import replace

import pytest
from support.manifests import entry, obj, pod
from support.plan_scene import DRIVER, container, gpus, maker, node
from support.random_plans import plan_manifests
from support.sequential import OURS, given, given_of, needs, places, read, supply, taker, told

from drasat.peers.programs import KUBE_SCHEDULER, find_program
from drasat.scenarios import objects
from drasat.scenarios.objects import allocated
from drasat.solver.compare.figures import figures
from drasat.solver.compare.schedulers import schedule

LIMITS = {"operator": "Exists"}


def placed(found):
    return sum(node is not None for node in found.values())


def test_first_fit_takes_the_first_node_by_name_with_room_and_devices():
    what = given(*supply(n1=1, n2=2, n3=2), *(taker(f"p{number}", 1) for number in range(6)))
    assert list(places(what).values()) == ["n1", "n2", "n2", "n3", "n3", None]


def test_best_fit_leaves_the_large_node_whole():
    queue = [taker("small", 1), taker("large", 4)]
    what = given(*supply(n1=4, n2=1), *queue)
    assert places(what, "first-fit") == {"small": "n1", "large": None}
    assert places(what, "best-fit") == {"small": "n2", "large": "n1"}


def test_best_fit_weighs_room_too():
    # Both nodes have as many devices, and the second less room.
    busy = pod("busy", cpu="6", spec={"nodeName": "n2"})
    what = given(*supply(n1=2, n2=2), busy, taker("one", 1, cpu="1"), taker("wide", 1, cpu="2"))
    assert places(what, "first-fit") == {"one": "n1", "wide": "n1"}
    assert places(what, "best-fit") == {"one": "n2", "wide": "n1"}


def test_fragmentation_descends_where_the_others_spoil_pairs():
    # One device of n2 is of no use to pairs anyway; best fit and first fit take one of n1's.
    queue = [taker("single", 1), *(taker(f"pair-{number}", 2) for number in range(3))]
    what = given(*supply(n1=2, n2=3), *queue)
    assert places(what, "fgd")["single"] == "n2"
    assert [placed(places(what, name)) for name in ("first-fit", "best-fit", "fgd")] == [2, 2, 3]


def test_of_equal_scores_the_first_node_wins():
    what = given(*supply(n1=2, n2=2, n3=2), taker("a", 1))
    assert {places(what, name)["a"] for name in OURS} == {"n1"}


@pytest.mark.skipif(find_program(KUBE_SCHEDULER) is None, reason="the peer is not built")
@pytest.mark.parametrize("order", ["given", "random", "priority"])
def test_the_real_scheduler_is_told_the_nodes_in_order(order):
    queue = [taker(f"p{number}", 1 + number % 3, cpu="2") for number in range(9)]
    what = given(*supply(n1=2, n2=4, n3=3), *queue, cel_errors="kube")
    real, ours = (schedule(what, planner, order, None) for planner in ("kube-scheduler", "first-fit"))
    assert (bool(real.version), ours.version) == (True, "")
    assert told(real) == told(ours)


@pytest.mark.skipif(find_program(KUBE_SCHEDULER) is None, reason="the peer is not built")
@pytest.mark.parametrize("family", ["resources", "partitions", "shares", "alternatives", "shared-claims", "network"])
def test_the_real_scheduler_places_as_first_fit_does_on_random_clusters(family):
    for seed in range(2):
        what = given_of(read(plan_manifests(family, seed)), cel_errors="kube")
        assert told(schedule(what, "kube-scheduler", "random", None)) == told(
            schedule(what, "first-fit", "random", None)
        )


@pytest.mark.parametrize("planner", OURS)
def test_requests_count_beside_devices(planner):
    what = given(*supply(n1=4), *(taker(f"p{number}", 1, cpu="3") for number in range(4)))
    assert placed(places(what, planner)) == 2


@pytest.mark.parametrize("planner", OURS)
def test_pods_that_run_keep_their_room_and_devices(planner):
    running = pod("there", cpu="7", spec={"nodeName": "n1"})
    held = allocated(objects.claim("held", needs(1)), [objects.result("r", DRIVER, "n2", "gpu-0")], "n2")
    what = given(*supply(n1=2, n2=2), running, held, taker("wide", 1, cpu="2"), taker("other", 1, cpu="2"))
    assert places(what, planner) == {"wide": "n2", "other": None}


@pytest.mark.parametrize("planner", OURS)
def test_pods_go_where_they_may(planner):
    tainted = node("n1", cpu="8") | {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    others = [one for one in supply(n2=2) if one["kind"] != "Node"]
    wishes = {"spec": {"tolerations": [LIMITS], "nodeSelector": {"zone": "a"}}}
    zoned = node("n2", zone="a", cpu="8")
    queue = [taker("tolerates", 1, spec={"tolerations": [LIMITS], "nodeName": "n1"}), taker("plain", 1)]
    what = given(tainted, gpus("n1", 2), zoned, *others, *queue, taker("zoned", 1, **wishes))
    assert places(what, planner) == {"tolerates": "n1", "plain": "n2", "zoned": "n2"}


@pytest.mark.parametrize("planner", OURS)
def test_a_shared_claim_is_allocated_once_and_its_pods_follow(planner):
    shared = obj("ResourceClaim", "shared", needs(2))
    queue = [pod(f"p{number}", entry("s", claim="shared")) for number in range(3)]
    what = given(*supply(n1=1, n2=3), shared, *queue)
    found = schedule(what, planner, "random", None)
    assert {one.node for one in found.units} == {"n2"}
    assert sorted(len(one.allocations) for one in found.units) == [0, 0, 1]


def test_what_cannot_be_placed_anywhere_says_why():
    queue = [pod("lost", entry("g", template="missing")), taker("large", 4), taker("fits", 1)]
    found = schedule(given(*supply(n1=2), *queue), "first-fit", "given", None).units
    assert [[reason.id for reason in one.reasons] for one in found] == [["claim"], ["nodes"], []]


def test_an_error_ends_the_attempt_for_a_unit_as_it_does_in_the_scheduler():
    wrong = needs(1)
    wrong["devices"]["requests"][0]["exactly"]["selectors"] = [
        {"cel": {"expression": 'device.attributes["gpu.example.com"].nothing == 1'}}
    ]
    queue = [obj("ResourceClaim", "wrong", wrong), taker("after", 1)]
    found = schedule(given(*supply(n1=1, n2=1), *queue, cel_errors="kube"), "first-fit", "given", None).units
    assert [one.node for one in found] == [None, "n1"]
    assert found[0].reasons[0].id == "error"
    assert found[0].reasons[0].message.startswith("node n1: ")


def test_orders():
    last = taker("last", 1, spec={"priorityClassName": "high"})
    what = given(*supply(n1=1), obj("PriorityClass", "high", value=9), taker("first", 1), taker("second", 1), last)
    assert [name for name, there in places(what, order="given").items() if there] == ["first"]
    assert [name for name, there in places(what, order="priority").items() if there] == ["last"]
    found = [places(replace(what, seed=seed), order="random") for seed in range(9)]
    assert {name for one in found for name, there in one.items() if there} == {"first", "second", "last"}


def test_controllers_are_queues_of_equal_pods():
    what = given(*supply(n1=3, n2=3), maker("Job", "train", entry("g", template="t2"), spec={"parallelism": 4}))
    assert list(places(what).values()) == ["n1", "n2", None, None]


def test_without_time_nothing_is_placed_and_that_is_said():
    what = given(*supply(n1=3), *(taker(f"p{number}", 1) for number in range(3)))
    found = schedule(what, "best-fit", "given", 1e-9)
    assert not found.in_time
    assert [one.node for one in found.units] == [None] * 3
    assert {one.reasons[0].id for one in found.units} == {"timeLimit"}


def test_pods_without_claims_need_room_only():
    what = given(node("n1", cpu="2"), pod("a", cpu="1"), pod("b", cpu="1"), pod("c", cpu="1"))
    assert list(places(what, "fgd").values()) == ["n1", "n1", None]


def test_containers_that_ask_for_a_resource_get_devices():
    asking = [container(resources={"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "2"}})]
    backed = obj("DeviceClass", "gpu", {"extendedResourceName": "example.com/gpu"})
    what = given(node("n1", cpu="2"), gpus("n1", 3), backed, *(pod(name, spec={"containers": asking}) for name in "ab"))
    assert places(what, "best-fit") == {"a": "n1", "b": None}


def test_a_slice_that_cannot_be_read_ends_all_attempts_for_claims():
    """NODE-2."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}]}
    bad = objects.resource_slice("bad", DRIVER, "bad", {"nodeSelector": terms}, [objects.device("x", {})])
    what = given_of(read([*supply(n1=2), bad, taker("claims", 1), pod("plain", cpu="1")]))
    for planner in OURS:
        found = schedule(what, planner, "given", None).units
        assert [one.node for one in found] == [None, "n1"]
        assert found[0].reasons[0].id == "error"
    counted = figures(what, found)
    assert (counted.admitted, counted.devices, counted.fragmentation.of_all) == (1, 0, 0)


@pytest.mark.parametrize("planner", OURS)
def test_devices_that_several_nodes_reach_are_gone_for_all_of_them(planner):
    anywhere = objects.resource_slice("fabric", DRIVER, "fabric", {"allNodes": True}, [objects.device("f-0", {})])
    what = given(*supply(n1=0, n2=0, n3=0), anywhere, *(taker(f"p{number}", 1) for number in range(3)))
    found = schedule(what, planner, "given", None).units
    assert [one.node for one in found] == ["n1", None, None]
    assert [reason.id for one in found for reason in one.reasons] == ["nodes"] * 2

"""Gangs as a scheduler without gang knowledge has them: one by one, and gone again if they are not whole."""

import pytest
from support.manifests import entry, obj, pod
from support.plan_scene import gpus, maker, node
from support.sequential import OURS, given, needs, places, supply, taker

from drasat.models.results.common import Status
from drasat.models.workload.gangs import in_one_domain, is_whole
from drasat.models.workload.unit_classes import Gang
from drasat.solver.compare.figures import SchedulingContext
from drasat.solver.engines.engine import NodeResult
from drasat.solver.plan.first_fit import SequentialScheduler
from drasat.solver.plan.node_choice import FirstFitPolicy
from drasat.solver.plan.node_states import AllocationTrials
from drasat.solver.plan.outcome import check_plan


def group(name, count, **spec):
    return obj("PodGroup", name, {"schedulingPolicy": {"gang": {"minCount": count}}, **spec})


def member(name, count, of):
    return taker(name, count, spec={"schedulingGroup": {"podGroupName": of}})


@pytest.mark.parametrize("planner", OURS)
def test_a_gang_that_is_not_whole_leaves_its_devices_to_those_who_arrive_later(planner):
    gang = [taker(f"g{number}", 1, GANG="all") for number in range(3)]
    what = given(*supply(n1=1, n2=1), gang[0], taker("between", 1), *gang[1:], taker("after", 1))
    found = places(what, planner)
    assert [found[f"g{number}"] for number in range(3)] == [None] * 3
    # What arrived meanwhile has what was left then; what arrives later has what the gang gave back.
    assert {found["between"], found["after"]} == {"n1", "n2"}


@pytest.mark.parametrize("planner", OURS)
def test_a_whole_gang_stays(planner):
    what = given(*supply(n1=1, n2=1), *(taker(f"g{number}", 1, GANG="all") for number in range(2)), taker("after", 1))
    found = places(what, planner)
    assert {found["g0"], found["g1"]} == {"n1", "n2"}
    assert found["after"] is None


def test_room_is_given_back_with_the_devices():
    gang = [taker(f"g{number}", 1, cpu="5", GANG="all") for number in range(2)]
    what = given(*supply(n1=2), *gang, taker("after", 2, cpu="8"))
    assert places(what) == {"g0": None, "g1": None, "after": "n1"}


def test_so_many_members_as_the_group_says_are_enough():
    members = [member(f"m{number}", 1, "g") for number in range(3)]
    two, three = (given(*supply(n1=2), group("g", count), *members) for count in (2, 3))
    assert list(places(two).values()) == ["n1", "n1", None]
    assert list(places(three).values()) == [None] * 3


def test_members_that_run_count():
    there = member("there", 1, "g")
    del there["spec"]["resourceClaims"]
    there["spec"]["nodeName"] = "n1"
    what = given(*supply(n1=1), group("g", 2), there, member("m", 1, "g"), member("n", 1, "g"))
    assert places(what) == {"m": "n1", "n": None}


def test_a_gang_over_two_domains_is_removed():
    marks = {"GANG": "all", "GANG_DOMAIN": "zone"}
    nodes = [one for name, zone in (("n1", "a"), ("n2", "b")) for one in (node(name, zone), gpus(name, 1))]
    rest = [one for one in supply() if one["kind"] != "Node"]
    apart = given(*nodes, *rest, *(taker(f"g{number}", 1, **marks) for number in range(2)))
    assert list(places(apart).values()) == [None, None]
    alone = given(*nodes, *rest, taker("g0", 1, **marks))
    assert list(places(alone).values()) == ["n1"]


def test_members_of_a_group_that_is_not_there_are_not_placed():
    assert places(given(*supply(n1=2), member("m", 1, "nobody"), taker("p", 1))) == {"m": None, "p": "n1"}


def test_a_claim_that_others_share_stays_when_a_gang_goes():
    shared = obj("ResourceClaim", "shared", needs(2))
    gang = [pod("g0", entry("s", claim="shared"), GANG="all"), taker("g1", 4, GANG="all")]
    queue = [gang[0], pod("other", entry("s", claim="shared")), gang[1], taker("after", 2)]
    what = given(*supply(n1=2, n2=1), shared, *queue)
    assert places(what) == {"g0": None, "other": "n1", "g1": None, "after": None}


def test_a_claim_that_only_the_gang_has_goes_with_it():
    shared = obj("ResourceClaim", "shared", needs(2))
    gang = [pod("g0", entry("s", claim="shared"), GANG="all"), taker("g1", 4, GANG="all")]
    what = given(*supply(n1=2), shared, *gang, taker("after", 2))
    assert places(what) == {"g0": None, "g1": None, "after": "n1"}


def test_a_job_is_a_gang_by_its_annotation():
    job = maker("Job", "train", entry("g", template="t2"), spec={"parallelism": 3}, GANG="train")
    what = given(*supply(n1=3, n2=3), job, taker("after", 3))
    assert list(places(what).values()) == [None, None, None, "n1"]


@pytest.mark.parametrize(
    ("minimum", "running", "nodes", "members", "whole"),
    [(None, 0, 2, 2, True), (None, 1, 1, 2, False), (3, 1, 2, 4, True), (3, 0, 2, 4, False), (0, 0, 1, 4, True)],
)
def test_when_a_gang_is_whole(minimum, running, nodes, members, whole):
    gang = Gang("PodGroup", "ns", "g", minimum, running_nodes=("n0",) * running)
    assert is_whole(gang, ["n1"] * nodes, members) is whole


def test_nodes_without_the_label_are_in_no_domain():
    nodes = given(node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4")).cluster.nodes
    gang = Gang("Gang", "ns", "g", domain="zone")
    told = {
        names: in_one_domain(gang, names, nodes) for names in (("n1", "n2"), ("n1", "n3"), ("n1", "n4"), ("n9",), ())
    }
    assert list(told.values()) == [True, False, False, False, True]
    assert not in_one_domain(Gang("Gang", "ns", "g", domain="zone", running_nodes=("n3",)), ["n1"], nodes)
    assert in_one_domain(Gang("Gang", "ns", "g"), ["n1", "n3"], nodes)


class Slow:
    """Our search, until it has been asked so often; then time is up."""

    def __init__(self, engine, times):
        self._engine, self._left = engine, times
        self.counts = engine.counts

    def allocate_on(self, *question):
        self._left -= 1
        return self._engine.allocate_on(*question) if self._left >= 0 else NodeResult(Status.UNKNOWN, rule="timeLimit")


def test_when_time_is_up_what_is_placed_of_a_gang_goes():
    gang = [taker(f"g{number}", number + 1, GANG="all") for number in range(3)]
    what = given(*supply(n1=4, n2=4), taker("before", 1), *gang, taker("after", 1))
    context = SchedulingContext(what, None)
    scheduler = SequentialScheduler(context, FirstFitPolicy(), AllocationTrials(Slow(context.trials.engine, 4), None))
    scheduler.run(what.units)
    units = tuple(scheduler.outcomes(what.units))
    assert not scheduler.in_time
    assert [one.node for one in units] == ["n1", None, None, None, None]
    assert [one.reasons[0].id for one in units[1:]] == ["gang", "timeLimit", "timeLimit", "timeLimit"]
    check_plan(what.cluster, units, what.gates, what.cel_errors, order=scheduler.order(what.units))

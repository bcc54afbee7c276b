"""Reasons for all units that a plan leaves out."""

from time import monotonic

from support.gates import ALL
from support.manifests import claim
from support.plan_reasons import Left, of
from support.plan_scene import Plan, entry, obj, pod, scene, template, user

from drasat.models.workload.expansion import expand_units
from drasat.models.workload.queue import read_queue
from drasat.solver.plan.why_not import MOST_UNIT_CLASSES, UnplacedExplainer, unplaced_reasons

SMALL = {"n1": "a", "n2": "b"}


def asked(plan, deadline=None):
    """The queue, where its units went by place, and the reasons of the others by name."""
    assert Left(plan)
    queue = list(expand_units(plan.cluster, read_queue(plan.cluster, gates=ALL), ALL))
    pairs = enumerate(plan.units)
    where = {place: (plan.cluster.node(one.node), one.allocations) for place, one in pairs if one.node}
    reasons = unplaced_reasons(plan.cluster, queue, where, ALL, deadline=deadline)
    found = {one.unit.name: reasons.of(place, one) for place, one in enumerate(queue) if place not in where}
    assert all(found.values())
    return found


def test_reasons_are_those_of_each_unit_alone():
    cluster = scene(user("a", cpu="3"), user("b", cpu="2"), user("c", cpu="3"), claim("d", of(5)), nodes=SMALL)
    plan = Plan(cluster, a=("n1", "gpu-0"), b=("n2", "gpu-0"))
    found = asked(plan)
    assert list(found) == ["c", "d"]
    assert found["c"] == Left(plan).reasons("c")
    assert found["d"] == Left(plan).reasons("d")


def test_equal_units_are_looked_into_once(monkeypatch):
    calls = []
    original = UnplacedExplainer.reasons
    monkeypatch.setattr(
        UnplacedExplainer, "reasons", lambda self, *args, **named: calls.append(1) or original(self, *args, **named)
    )
    there = [pod(f"p{number}", entry("g", template="u"), cpu="1") for number in range(5)]
    found = asked(Plan(scene(template("u", of(9)), *there, nodes=SMALL)))
    assert len(calls) == 1
    assert [reasons[0].claim for reasons in found.values()] == [f"default/p{number}-g" for number in range(5)]
    assert len({reasons[0].message for reasons in found.values()}) == 1


def test_a_plan_that_places_everything_needs_no_reasons():
    assert asked(Plan(scene(user("a"), nodes=SMALL), a=("n1", "gpu-0"))) == {}


def test_of_very_many_kinds_of_units_the_largest_are_looked_into():
    others = [user(f"u{number}", cpu=f"{10 + number}") for number in range(MOST_UNIT_CLASSES)]
    found = asked(Plan(scene(*others, *(user(name, cpu="9") for name in "xy"), nodes=SMALL)))
    left_out = f"u{MOST_UNIT_CLASSES - 1}"
    assert {name: reasons[0].id for name, reasons in found.items() if reasons[0].id != "room"} == {
        left_out: "unexplained"
    }


def test_members_that_are_placed_say_where_the_others_may_go():
    """The two that are placed are enough, in zone a; there is no room for a third but elsewhere."""
    made = obj(
        "PodGroup",
        "pg",
        {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}},
    )
    there = [pod(name, cpu="2", spec={"schedulingGroup": {"podGroupName": "pg"}}) for name in "abc"]
    found = asked(Plan(scene(made, *there, nodes=SMALL), a=("n1",), b=("n1",)))
    assert [(one.id, one.message) for one in found["c"]] == [
        ("room", "1 of 1 node has no room: Insufficient cpu (2 requested, 0 left) on node n1"),
        ("outbid", "it fits 1 of 1 node before the plan: the queue took them"),
        ("relaxation", "it fits node n1 with 2 of cpu less"),
    ]


def test_all_members_of_a_gang_are_told_how_many_fit():
    there = [user(name, cpu="3", GANG="g") for name in "abc"]
    found = asked(Plan(scene(*there, nodes=SMALL)))
    told = "Gang default/g is placed whole or not at all: 2 of 3 find a place beside the plan"
    assert [reasons[0].message for reasons in found.values()] == [told] * 3


def test_pods_that_share_a_claim_which_is_given_away_follow_it():
    cluster = scene(claim("s"), *(pod(name, entry("g", claim="s"), cpu="3") for name in "ab"), nodes=SMALL)
    found = asked(Plan(cluster, a=("n1", "gpu-0")))
    assert [one.id for one in found["b"]] == ["room", "allocatedClaim", "outbid", "relaxation"]


def test_after_the_deadline_units_have_that_as_their_reason():
    """SRCH-10: the time limit of a plan holds for reasons, too."""
    plan = Plan(scene(user("a", cpu="3"), user("b", cpu="9"), claim("d", of(5)), nodes=SMALL), a=("n1", "gpu-0"))
    late = asked(plan, monotonic() - 1)
    assert {name: [one.id for one in reasons] for name, reasons in late.items()} == {
        "b": ["unexplained"],
        "d": ["unexplained"],
    }
    assert "unexplained" not in {one.id for reasons in asked(plan, monotonic() + 1000).values() for one in reasons}


def test_an_explainer_whose_time_is_over_says_so():
    left = Left(Plan(scene(user("a", cpu="9"), nodes=SMALL)))
    assert [one.id for one in left.reasons("a", deadline=monotonic() - 1)] == ["unexplained"]

"""Members of gangs and PodGroups that move one by one: where to, when, and in which order."""

from random import Random

import pytest
from msgspec import structs
from support.moving import holder, moving, random_scene
from support.plan_building import classes, cluster, nodes, obj, of, pod, template, user, values

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.workload.running import read_running_pods
from drasat.solver.verification.steps import step_violations

RACK = "rack"


def group(least=None, *, topology=None, whole=False, parent=None, priority=0):
    policy = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    spec = {"schedulingPolicy": policy, "priority": priority}
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if whole:
        spec["disruptionMode"] = {"all": {}}
    if parent:
        spec |= {"parentCompositePodGroupName": parent, "workloadRef": {"workloadName": "w", "templateName": "t"}}
    return obj("PodGroup", "g", spec) | {"apiVersion": "scheduling.k8s.io/v1alpha3"}


IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}}


def member(name, where, *held, **options):
    return holder(name, where, *held, spec_more={**IN_GROUP, **options.pop("spec_more", {})}, **options)


def racks(**names):
    """Nodes of four devices by rack."""
    found = nodes(*names)
    for one in found:
        if one["kind"] == "Node":
            one["metadata"].setdefault("labels", {})[RACK] = names[one["metadata"]["name"]]
    return found


def moved(found):
    return {move.running.key[1]: move.unit.node for move in found.moves}


def room_for_four(*given, **rack):
    """A pod that waits needs all four devices of a node, and one that stays has one of the second node."""
    return [
        *racks(**rack),
        *given,
        *holder("fixed", "n2", 0, owner=None),
        template("t4", of(4)),
        user("big", spec="t4"),
    ]


@pytest.mark.parametrize(
    ("topology", "rack", "placed"),
    [(None, "b", 1), (RACK, "b", 0), (RACK, "a", 1)],
    ids=["without a topology", "another rack", "its rack"],
)
def test_a_member_moves_within_the_domain_of_its_group(topology, rack, placed):
    """WLG-12, WLG-13: where members run, only their domain counts for the pod that is made again."""
    given = [group(2, topology=topology), *member("a", "n1", 0), *member("b", "n1", 1)]
    found = moving(*room_for_four(*given, n1="a", n2=rack))
    assert (values(found)["admitted"], found.outcome, found.verified) == (placed, "Optimal", True)
    assert moved(found) == ({"a": "n2", "b": "n2"} if placed else {})


def stays(*given):
    found = read_running_pods(cluster(*classes(), *nodes("n1"), *given), FeatureGates.all_on())
    return found["default", "a"].stays


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([group(whole=True)], "PodGroup default/g goes as a whole"),
        ([group(1, parent="up")], "PodGroup default/g is in a group of groups"),
        ([group(3), pod("c", spec=IN_GROUP)], "others of its PodGroup default/g wait"),
        ([group(3)], "has lost members: what is made in its place would wait for 3 of them"),
        ([group(1, topology=RACK)], "members run on a node without label rack"),
        ([], "not found"),
        ([group(2)], ""),
        ([group()], ""),
    ],
)
def test_what_keeps_a_member_where_it_is(given, said):
    """MOV-7, WLG-4, WLG-6, WLG-13."""
    there = stays(*given, *member("a", "n1", 0), *member("b", "n1", 1))
    assert (said in there) if said else there == ""


def exchange(least):
    """Two members on nodes of one device each change places, for a pod that waits."""
    there = [*nodes("n1", devices=1, cpu="3"), *nodes("n2", devices=1, cpu="2"), pod("w", cpu="2"), group(least)]
    return [*there, *member("a", "n2", 0, cpu="1"), *member("b", "n1", 0, cpu="2")]


@pytest.mark.parametrize(("least", "too_few"), [(2, True), (1, False)])
def test_a_step_says_where_too_few_members_are_there_for_the_next_pod(least, too_few):
    """WLG-6: of a gang of two, both are away at once."""
    given = exchange(least)
    found = moving(*given)
    together = ["evict", "evict", "place", "place", "place"]
    assert [step.action for step in found.steps] == (together if too_few else ["evict", "move", "place", "place"])
    assert any("too few of its PodGroup are there meanwhile" in step.note for step in found.steps) == too_few
    silent = [structs.replace(step, note="") for step in found.steps]
    check = silent, found.units, found.gates, found.cel_errors
    wrong = step_violations(cluster(*classes(), *given), *check)
    assert {one.rule for one in wrong} == ({"STEP-GROUP"} if too_few else set())


def test_the_verifier_finds_members_in_two_domains():
    there = room_for_four(*member("a", "n1", 0), *member("b", "n1", 1), n1="a", n2="b")
    found, whole = moving(*there, group(2)), cluster(*classes(), *there, group(2, topology=RACK))
    wrong = step_violations(whole, found.steps, found.units, found.gates, found.cel_errors)
    assert "STEP-GROUP" in {one.rule for one in wrong}


@pytest.mark.parametrize("seed", range(30))
def test_plans_that_move_members_are_as_good_as_trying_everything(seed):
    """Some pods are members of a group, whose topology is one rack for all that run."""
    random, scene = Random(seed), random_scene(seed)
    rack = {name: random.choice("ab") for name in scene.nodes}
    home = random.choice("ab")
    inside = {one.name for one in scene.pods if one.node and rack[one.node] == home and random.random() < 0.7}
    least = random.choice((None, max(1, len(inside)), 1))
    given = [group(least, topology=RACK)]
    for one in scene.objects():
        if one["kind"] == "Node":
            one["metadata"].setdefault("labels", {})[RACK] = rack[one["metadata"]["name"]]
        if one["kind"] == "Pod" and one["metadata"]["name"] in inside:
            one["spec"] |= IN_GROUP
        given.append(one)

    def value(state, gone):
        for one, at in zip(scene.pods, state, strict=True):
            if one.name in inside and rack[at[0]] != home:
                return (-1,)
        placed = sum(one.node is None and at is not None for one, at in zip(scene.pods, state, strict=True))
        return placed, -sum(one.cost for one in gone), -len(gone)

    found = moving(*given, objective="admitted,move-cost,moves")
    reached = values(found)
    got = reached["admitted"], -reached["move-cost"], -reached["moves"]
    assert (got, found.outcome, found.verified) == (scene.best(value), "Optimal", True)

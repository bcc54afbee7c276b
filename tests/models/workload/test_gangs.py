"""Gangs: by annotations, by Workloads, by PodGroups."""

import pytest
from support.manifests import by_signature, claim, cluster, entry, maker, node, obj, pod, template

from drasat.models.kubernetes.gates import FeatureGates
from drasat.models.workload.gangs import GangError
from drasat.models.workload.queue import read_queue

WORKLOAD = obj(
    "Workload",
    "w",
    {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 3}}}, {"name": "loose", "policy": {"basic": {}}}]},
)
GROUP = obj(
    "PodGroup",
    "g",
    {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}},
)


def in_workload(group="g", workload="w", **fields):
    return {"workloadRef": {"name": workload, "podGroup": group, **fields}}


def in_group(name="g"):
    return {"schedulingGroup": {"podGroupName": name}}


def gang_of(*objects):
    return read_queue(cluster(*objects))[0].gang


def told(gang):
    return gang and (gang.kind, gang.namespace, gang.name, gang.minimum, gang.domain, gang.problem)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (pod("p"), None),
        (pod("p", GANG="a"), ("Gang", "default", "a", None, None, "")),
        (claim("c", GANG="a", GANG_DOMAIN="zone"), ("Gang", "default", "a", None, "zone", "")),
        (maker("Job", "j", GANG="a", namespace="x"), ("Gang", "x", "a", None, None, "")),
        (maker("Job", "j", GANG="a", marks={"GANG": "b"}), ("Gang", "default", "b", None, None, "")),
        (maker("Job", "j", GANG_DOMAIN="zone", marks={"GANG": "b"}), ("Gang", "default", "b", None, "zone", "")),
        (pod("p", spec=in_workload()), ("Workload", "default", "w/g", 3, None, "")),
        (pod("p", spec=in_workload(podGroupReplicaKey="1")), ("Workload", "default", "w/g/1", 3, None, "")),
        (pod("p", spec=in_workload("loose")), None),
        (pod("p", spec=in_workload("loose"), GANG_DOMAIN="zone"), ("Workload", "default", "w/loose", 0, "zone", "")),
        (
            pod("p", spec=in_workload("no")),
            ("Workload", "default", "w/no", 0, None, "Workload default/w has no pod group no"),
        ),
        (
            pod("p", spec=in_workload(workload="v")),
            ("Workload", "default", "v/g", 0, None, "Workload default/v not found"),
        ),
        (pod("p", spec=in_group()), ("PodGroup", "default", "g", 2, "rack", "")),
        (pod("p", spec=in_group(), GANG_DOMAIN="zone"), ("PodGroup", "default", "g", 2, "zone", "")),
        (pod("p", spec=in_group("no")), ("PodGroup", "default", "no", 0, None, "PodGroup default/no not found")),
        (maker("Deployment", "d", pod_spec=in_group()), ("PodGroup", "default", "g", 2, "rack", "")),
        (pod("p", spec=in_group(), GANG="a"), ("Gang", "default", "a", None, None, "")),
        (pod("p", spec={"schedulingGroup": {}}), None),
    ],
)
def test_the_gang_of_a_unit(member, expected):
    """WLG-1, WLG-2, WLG-3, WLG-4, WLG-5: also in the words of 1.35, where a pod names an entry of a Workload."""
    assert told(gang_of(member, WORKLOAD, GROUP)) == expected


def test_members_agree_on_one_domain_wherever_it_is_said():
    sets = read_queue(cluster(pod("a", GANG="g"), pod("b", GANG="g", GANG_DOMAIN="zone")))
    assert sets[0].gang is sets[1].gang
    assert sets[0].gang.domain == "zone"
    with pytest.raises(GangError, match=r"^Gang default/g: its members name two domains, rack and zone$"):
        read_queue(cluster(pod("a", GANG="g", GANG_DOMAIN="zone"), pod("b", GANG="g", GANG_DOMAIN="rack")))


def test_running_members_are_placed():
    there = [pod(f"r{number}", GANG="g", spec={"nodeName": name}) for number, name in enumerate(["n2", "n1", "n2"])]
    assert gang_of(*there, pod("p", GANG="g"), node("n1"), node("n2")).running_nodes == ("n1", "n2", "n2")


def test_a_running_member_may_name_the_domain():
    there = pod("r", GANG="g", GANG_DOMAIN="zone", spec={"nodeName": "n"})
    assert gang_of(there, pod("p", GANG="g"), node("n")).domain == "zone"


def test_units_are_interchangeable_within_a_gang_only():
    sets = read_queue(
        cluster(*[pod(f"{gang}{number}", GANG=gang) for gang in "ab" for number in range(2)], pod("free"))
    )
    assert [len(same) for same in by_signature(sets).values()] == [2, 2, 1]
    assert len({one.shape.signature for one in sets}) == 1


def test_gangs_of_two_namespaces_are_two():
    one, two = read_queue(cluster(pod("a", GANG="g"), pod("a", GANG="g", namespace="other")))
    assert one.signature != two.signature


def test_members_may_differ():
    sets = read_queue(cluster(pod("a", entry("x", template="t"), GANG="g"), claim("c", GANG="g"), template()))
    assert sets[0].gang is sets[1].gang
    assert sets[0].signature != sets[1].signature


PRIORITIES = [obj("PriorityClass", "high", value=1000)]
UNEQUAL = "PodGroup default/g: all pods in a single pod group should have the same priority as the pod group's priority"


def ranked(name, of="g", **spec):
    return pod(name, spec=in_group(of) | spec)


@pytest.mark.parametrize(
    ("of_group", "members", "expected"),
    [
        ({}, [{}, {}], ""),
        ({"priority": 5}, [{"priority": 5}, {"priority": 5}], ""),
        ({"priorityClassName": "high"}, [{"priority": 1000}, {"priorityClassName": "high"}], ""),
        ({"priority": 7, "priorityClassName": "high"}, [{"priority": 7}], ""),
        ({}, [{"priority": 1000}, {"priority": 1000}], f"{UNEQUAL}, got 1000 and 0"),
        ({"priorityClassName": "high"}, [{"priorityClassName": "high"}, {}], f"{UNEQUAL}, got 0 and 1000"),
        ({"priority": 3}, [{"priority": 3}, {"priority": 4, "nodeName": "n"}], f"{UNEQUAL}, got 4 and 3"),
    ],
)
def test_members_have_the_priority_of_their_group(of_group, members, expected):
    """WLG-9, WLG-10, example A8; members that run count, too."""
    group = obj("PodGroup", "g", {"schedulingPolicy": {"gang": {"minCount": 1}}, **of_group})
    given = [*PRIORITIES, group, node("n"), *(ranked(f"p{n}", **spec) for n, spec in enumerate(members))]
    sets = read_queue(cluster(*given))
    assert {one.gang.problem for one in sets} == {expected}


def test_the_priority_of_the_group_orders_the_queue_where_members_may_differ():
    """WLG-9, WLG-10: Kubernetes 1.36 does not compare them."""
    group = obj("PodGroup", "g", {"schedulingPolicy": {"gang": {"minCount": 1}}, "priorityClassName": "high"})
    gates = FeatureGates.for_version("1.36").with_({"GenericWorkload": True, "GangScheduling": True})
    (one,) = read_queue(cluster(*PRIORITIES, group, ranked("a", priority=3)), gates=gates)
    assert (one.gang.problem, one.shape.priority) == ("", 1000)


@pytest.mark.parametrize(
    ("version", "switches", "expected"),
    [
        ("1.36", {"GenericWorkload": True, "GangScheduling": True}, (2, None)),
        ("1.36", {"GenericWorkload": True}, None),
        ("1.36", {"GangScheduling": True}, None),
        ("1.37", {"GenericWorkload": True}, (2, None)),
        ("1.37", {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}, (2, "rack")),
        ("1.37", {"TopologyAwareWorkloadScheduling": True}, None),
        ("1.37", {}, None),
    ],
)
def test_what_groups_ask_for_counts_while_its_gates_are_on(version, switches, expected):
    """GATE-1"""
    gates = FeatureGates.for_version(version).with_(switches)
    gang = read_queue(cluster(GROUP, pod("p", spec=in_group())), gates=gates)[0].gang
    assert (gang and (gang.minimum, gang.domain)) == expected


def test_members_of_a_composite_group_that_is_not_there_wait():
    """WLG-17; without the gate the group stands alone."""
    made = cluster(
        obj(
            "PodGroup",
            "g",
            {"schedulingPolicy": {"gang": {"minCount": 1}}, "parentCompositePodGroupName": "top", "workloadRef": {}},
        ),
        pod("p", spec=in_group()),
    )
    said = "PodGroup default/g: CompositePodGroup default/top not found"
    assert read_queue(made)[0].gang.problem == said
    off = FeatureGates.all_on().with_({"CompositePodGroup": False})
    assert read_queue(made, gates=off)[0].gang.problem == ""

"""PodGroups in plans: the examples of gangs that Kubernetes describes."""

import pytest
from support.plan_building import classes, cluster, entry, maker, node, obj, placed, planning, pod, published, where

import drasat


def group(minimum, domain=None):
    topology = {"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}
    return obj("PodGroup", "g", {"schedulingPolicy": {"gang": {"minCount": minimum}}, **topology})


def member(name, *entries, on=None, **spec):
    at = {"nodeName": on} if on else {}
    return pod(name, *entries, cpu="1", spec={"schedulingGroup": {"podGroupName": "g"}, **at, **spec})


def members(names, on=None):
    return [member(name, on=on) for name in names]


def told(found):
    return {reason.message for one in found.units for reason in one.reasons if reason.id == "gang"}


def test_members_beyond_the_minimum_are_optional():
    """WLG-6, example A1."""
    found = planning(node("n", cpu="5"), group(4), *members("abcdef"))
    assert (len(placed(found)), found.outcome) == (5, "Optimal")


def test_a_gang_waits_until_enough_members_exist():
    """WLG-6, example A2; pods that a controller would make exist."""
    found = planning(node("n", cpu="9"), group(4), *members("abc"))
    assert (placed(found), told(found)) == ([], {"PodGroup default/g needs 4 members, and has 3"})
    job = maker("Job", "j", cpu="1", pod_spec={"schedulingGroup": {"podGroupName": "g"}}, spec={"parallelism": 1})
    assert len(placed(planning(node("n", cpu="9"), group(4), *members("abc"), job))) == 4


def test_members_that_run_count():
    """WLG-6, WLG-7, example A3."""
    assert where(planning(node("n", cpu="4"), group(4), *members("abc", on="n"), member("d"))) == {"d": "n"}


def test_a_group_that_was_complete_once_is_counted_anew():
    """WLG-11"""
    known = group(4) | {"status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]}}
    found = planning(node("n", cpu="9"), known, *members("ab"))
    assert (placed(found), told(found)) == ([], {"PodGroup default/g needs 4 members, and has 2"})


RACKS = [node("a", "a", cpu="3"), node("b", "b", cpu="4"), node("bare", cpu="9")]


def test_all_members_are_in_one_domain():
    """WLG-12, WLG-14, example A4."""
    found = planning(*RACKS, group(4, "zone"), *members("pqrs"))
    assert set(where(found).values()) == {"b"}


def test_optional_members_stay_in_the_domain_of_those_that_run():
    """WLG-13, WLG-15, example A5."""
    found = planning(*RACKS, group(3, "zone"), *members("xy", on="a"), *members("pqrs"))
    assert sorted(map(str, where(found).values())) == ["None", "None", "None", "a"]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (("a", "b"), "PodGroup default/g: more than 1 domain found for pod group: a, b"),
        (("a", "bare"), "PodGroup default/g: members run on a node without label zone"),
    ],
    ids=str,
)
def test_nothing_is_placed_if_members_run_in_two_domains_or_in_none(nodes, expected):
    """WLG-13"""
    found = planning(*RACKS, group(1, "zone"), *(member(f"x{name}", on=name) for name in nodes), *members("pq"))
    assert (placed(found), told(found)) == ([], {expected})


def test_members_get_devices_in_any_order():
    """WLG-8, example A6: the scheduler fails if the first member takes the large device."""
    sizes = {"gpu-0": "80Gi", "gpu-1": "40Gi"}
    devices = [{"name": name, "capacity": {"memory": {"value": size}}} for name, size in sizes.items()]
    large = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": LARGE}}]}
    template = obj(
        "ResourceClaimTemplate", "large", {"spec": {"devices": {"requests": [{"name": "r", "exactly": large}]}}}
    )
    given = [member("p", entry("c", template="t")), member("q", entry("c", template="large"))]
    found = planning(node("n"), published("n", *devices), template, group(2), *given)
    assert placed(found) == ["p", "q"]


LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'


def test_priorities_that_differ_are_named():
    """WLG-9, example A8."""
    found = planning(node("n"), group(2), *(member(name, priority=1000) for name in "ab"))
    (text,) = told(found)
    assert (placed(found), text.rpartition("got ")[2]) == ([], "1000 and 0")


def test_allocate_says_that_members_are_in_several_domains():
    """WLG-12: allocate places pods one by one, and knows no domains."""
    given = [*RACKS, *(published(name, "x", "y") for name in "ab"), group(2, "zone")]
    two = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}
    own = [
        obj("ResourceClaimTemplate", "two", {"spec": two}),
        *(member(name, entry("c", template="two")) for name in "pq"),
    ]
    found = drasat.allocate(cluster(*classes(), *given, *own))
    said = "PodGroup default/g has members in several domains of zone (a, b): plan places it in one"
    assert (found.outcome, said in found.document.notices) == ("Allocated", True)
    assert not [one for one in drasat.allocate(cluster(*classes(), *given, *own[:2])).document.notices if "zone" in one]

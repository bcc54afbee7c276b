"""Units: pods on nodes, claims allocated before, and many of them (section 18)."""

import msgspec
import pytest
from support.gates import ALL, without
from support.verification import (
    GPU,
    Scene,
    allocation,
    claim,
    classes,
    everyday,
    gpu,
    held,
    nodes,
    piece,
    request,
    result,
    results,
    share_id,
)

from drasat.models.kubernetes.claims import AllocationResult, ResourceClaimStatus
from drasat.models.kubernetes.core import Node
from drasat.models.kubernetes.meta import key_of
from drasat.models.kubernetes.quantity import NANO
from drasat.models.kubernetes.slices import ResourceSliceSpec
from drasat.scenarios import objects
from drasat.solver.verification.published import ItemsByNode, PublishedGeneration
from drasat.solver.verification.state import HeldDevices
from drasat.solver.verification.verify import Violation, verify


def with_pod(**spec):
    """The everyday claim is that of a pod."""
    scene = everyday()
    scene.objects.append(objects.pod("p", [objects.by_claim("c", "a")], **spec))
    scene.units[0]["pod"] = "p"
    return scene


def tainted_node(scene):
    scene.find("Node", "n1")["spec"] = {"taints": [objects.taint("busy")]}


def cordoned(scene):
    scene.find("Node", "n1")["spec"] = {"unschedulable": True}


def selecting(scene):
    scene.find("Pod", "p")["spec"]["nodeSelector"] = {"zone": "x"}


def elsewhere(scene):
    scene.find("Pod", "p")["spec"]["nodeName"] = "n2"


@pytest.mark.parametrize("edit", [tainted_node, cordoned, selecting, elsewhere], ids=lambda edit: edit.__name__)
def test_a_pod_must_fit_its_node(edit):
    """NODE-2"""
    scene = with_pod()
    assert scene.rules() == set()
    edit(scene)
    assert [(found.rule, found.claim) for found in scene.violations()] == [("NODE-2", "")]


def test_a_tolerant_pod_may_be_on_a_tainted_node():
    """NODE-2"""
    scene = with_pod(tolerations=[{"key": "busy", "operator": "Exists"}])
    tainted_node(scene)
    assert scene.rules() == set()


@pytest.mark.parametrize(("node", "rules"), [("n1", set()), ("n2", {"SCHED-2"}), (None, set())], ids=str)
def test_claims_allocated_before_must_be_usable_on_the_node(node, rules):
    """SCHED-2"""
    scene = everyday()
    scene.objects.append(held("h", result("r", "gpu-3"), node=node))
    scene.units[0]["earlier"] = ["h"]
    assert scene.rules() == rules


def test_claims_allocated_by_earlier_units_must_be_usable_on_the_node():
    """SCHED-2"""
    scene = everyday().place({}, earlier=["a"])
    assert scene.rules() == set()
    scene.units[1]["node"] = "n2"
    assert scene.rules() == {"SCHED-2"}


def test_a_claim_that_nobody_allocated_is_not_earlier():
    """SCHED-2"""
    scene = Scene([*nodes("n1"), *classes(), piece([gpu(0)]), claim("a", request("r"))])
    assert scene.place({}, earlier=["a"]).rules() == {"SCHED-2"}


def test_a_claim_is_allocated_once():
    """SCHED-2"""
    scene = everyday().place({"a": allocation(results("r", "gpu-2", "gpu-3"))})
    assert scene.rules() == {"SCHED-2"}


def test_an_allocation_that_cannot_be_parsed_is_not_usable():
    """SCHED-2"""
    scene = everyday()
    scene.objects.append(held("h", result("r", "gpu-3"), node="n1"))
    term = scene.objects[-1]["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]
    term["matchFields"][0]["operator"] = "Like"
    scene.units[0]["earlier"] = ["h"]
    assert scene.rules() == {"SCHED-2"}


def test_violations_name_rule_and_claim():
    assert str(Violation("DEV-1", "ns/a", "the device is in use")) == "DEV-1: claim ns/a: the device is in use"
    assert str(Violation("NODE-2", "", "does not fit")) == "NODE-2: does not fit"


def test_a_broken_unit_does_not_hide_others():
    scene = everyday()
    scene.results()[1]["pool"] = "n2"
    scene.objects.append(claim("b", request("r")))
    scene.place({"b": allocation(results("r", "gpu-9"))})
    assert [(found.rule, found.claim) for found in scene.violations()] == [
        ("POOL-1", "default/a"),
        ("POOL-8", "default/b"),
    ]


def test_nothing_is_left_from_one_verification_to_the_next():
    scene = everyday()
    assert scene.violations() == scene.violations() == []


def test_a_node_is_told_only_what_may_be_for_it():
    """NODE-1: the work for a node does not grow with the number of nodes."""
    places = ItemsByNode()
    for number in range(1000):
        for where in (objects.on_node(f"n{number}"), objects.on_nodes_with("rack", str(number))):
            places.add((next(iter(where)), number), msgspec.convert(where, ResourceSliceSpec))
    places.add("everywhere", ResourceSliceSpec(all_nodes=True))
    node = msgspec.convert(objects.node("n5", {"rack": "9"}), Node)
    assert set(places.near(node)) == {("nodeName", 5), ("nodeSelector", 9), "everywhere"}


def test_a_pool_for_many_nodes_is_looked_at_once(monkeypatch):
    """Its counters are kept up to date from unit to unit, not counted anew."""
    looks = []
    original = PublishedGeneration.consumers.func
    monkeypatch.setattr(PublishedGeneration.consumers, "func", lambda self: looks.append(1) or original(self))
    assert many_units(50).violations() == []
    assert len(looks) == 1


def many_units(count):
    """As many nodes, each of which takes a partition of one pool for all."""
    sets = [objects.counter_set("chip", {"slices": count})]
    devices = [
        objects.device(f"d{number}", {}, consumesCounters=[objects.consumption("chip", {"slices": 1})])
        for number in range(count)
    ]
    everywhere = {"allNodes": True}
    published = [
        piece(devices, "net", where=everywhere, count=2),
        piece([], "net-counters", "net", where=everywhere, count=2, shared_counters=sets),
    ]
    names = [f"n{number}" for number in range(count)]
    scene = Scene([*nodes(*names), *classes(), *published, *(claim(name, request("r")) for name in names)])
    for number, name in enumerate(names):
        scene.place({name: allocation([result("r", f"d{number}", "net")], selector=None)}, node=name)
    return scene


def test_the_last_of_many_units_still_sees_what_all_others_took():
    """CTR-4"""
    scene = many_units(20)
    sets = scene.find("ResourceSlice", "net-counters")["spec"]["sharedCounters"]
    sets[0]["counters"]["slices"]["value"] = "19"
    assert [(found.rule, found.claim) for found in scene.violations()] == [("CTR-2", "default/n19")]


def test_placements_may_be_an_iterator():
    cluster, placements = everyday().question()
    assert verify(cluster, iter(placements), ALL) == []
    assert verify(cluster, iter(placements * 2), ALL) != []


def test_a_verification_leaves_nothing_behind():
    """What one verification takes is free for the next of the same cluster, unless a claim holds it by then."""
    cluster, placements = everyday().question()
    assert [verify(cluster, placements, ALL) for _ in range(2)] == [[], []]
    ((asked, made),) = placements[0].claims
    taken = msgspec.structs.replace(asked, status=ResourceClaimStatus(allocation=made))
    after = cluster.with_claims([taken])
    assert {found.rule for found in verify(after, placements, ALL)} == {"DEV-1", "SCHED-2"}
    assert verify(after.without(claims=[key_of(asked.metadata)]), placements, ALL) == []


def test_the_gates_of_one_verification_are_not_those_of_the_next():
    scene = everyday()
    scene.find("ResourceSlice", "n1")["spec"]["sharedCounters"] = [objects.counter_set("s", {"c": 1})]
    cluster, placements = scene.question()
    for gates, rules in ((ALL, set()), (without("DRAPartitionableDevices"), {"POOL-2"}), (ALL, set())):
        assert {found.rule for found in verify(cluster, placements, gates)} == rules


def test_ledgers_go_on_where_others_end():
    """IN-2, IN-4, CAP-6"""
    first = HeldDevices(ALL)
    one = result("r", "d", shareID=share_id(1), consumedCapacity={"memory": "1"})
    two = result("r", "d", shareID=share_id(2), consumedCapacity={"memory": "2"})
    enter(first, one, result("r", "e"))
    books = [HeldDevices(ALL, first) for _ in range(2)]
    enter(books[0], two, result("r", "f"))
    d, e, f = ((GPU, "n1", name) for name in "def")
    assert [book.consumed(d, "memory") // NANO for book in (first, *books)] == [1, 3, 1]
    assert [book.knows_share(share_id(2)) for book in (first, *books)] == [False, True, False]
    assert [books[0].dedicates(device) for device in (d, e, f)] == [False, True, True]
    assert [books[1].dedicates(device) for device in (d, e, f)] == [False, True, False]
    assert [book.shares(d) for book in books] == [True, True]
    held_in_order = [d, e, f]
    for known in range(4):
        assert books[0].held_since((GPU, "n1"), known) == held_in_order[known:]
        assert books[1].held_since((GPU, "n1"), known) == held_in_order[known:2]


def enter(held_devices, *given):
    held_devices.enter(msgspec.convert(allocation(given), AllocationResult))


def members(*claims, alone=False):
    """Pods of one PodGroup whose entry is the group's, or ``alone``, each with one of these claims."""
    scene = Scene([*nodes("n1"), *classes(), piece([gpu(number) for number in range(len(claims))])])
    entry_of_group = {"name": "c", "resourceClaimTemplateName": "other" if alone else "t"}
    scene.objects.append({"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"resourceClaims": [entry_of_group]}})
    for name in dict.fromkeys(claims):
        made = claim(name, request("r"))
        made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "c"}
        scene.objects.append(made)
    for number, name in enumerate(claims):
        grouped = {"schedulingGroup": {"podGroupName": "g"}}
        scene.objects.append(objects.pod(f"p{number}", [{"name": "c", "resourceClaimTemplateName": "t"}], **grouped))
        first = claims.index(name) == number
        given = {name: allocation(results("r", f"gpu-{number}"))} if first else {}
        scene.place(given, pod=f"p{number}", earlier=() if first else [name])
    return scene


@pytest.mark.parametrize(
    ("scene", "expected"),
    [(members("x", "x"), set()), (members("x", "y"), {"PGC-3"}), (members("x", "y", alone=True), set())],
    ids=["one claim", "two claims", "own entries"],
)
def test_members_of_a_pod_group_share_the_claim_of_an_entry(scene, expected):
    """PGC-2, PGC-3"""
    assert scene.rules() == expected


def test_a_pod_has_not_the_claim_of_another_ones_group():
    """PGC-2"""
    scene = members("x", "x")
    del scene.find("Pod", "p1")["spec"]["schedulingGroup"]
    assert scene.rules() == {"PGC-2"}

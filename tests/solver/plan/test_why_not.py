"""Why units are left out of plans, and that what is said to help does."""

import pytest
from support.gates import ALL
from support.manifests import allocated, claim, device_class
from support.plan_reasons import Left, of, tolerating, with_counts, with_cpu
from support.plan_scene import Plan, entry, gpus, node, obj, pod, scene, template, user

from drasat.problem.node_state import AllocatedState
from drasat.solver.plan import node_survey
from drasat.solver.plan.why_not import UnplacedExplainer

SMALL = {"n1": "a", "n2": "a"}
ONE = {"n1": "a"}

# Room


def room_is_short():
    """Two nodes of 4 cpu, 3 and 2 of which the plan takes; devices are plenty."""
    cluster = scene(user("a", cpu="3"), user("b", cpu="2"), user("c", cpu="2500m"), nodes=SMALL)
    return Left(Plan(cluster, a=("n1", "gpu-0"), b=("n2", "gpu-0")))


def test_room_is_what_ran_out():
    assert room_is_short().told("c") == [
        ("room", "2 of 2 nodes have the devices, but no room: Insufficient cpu (2500m requested, 2 left) on node n2"),
        ("outbid", "it fits 2 of 2 nodes before the plan: the queue took them"),
        ("relaxation", "it fits node n2 with 500m of cpu less"),
    ]


def test_so_much_less_room_is_enough_and_no_more():
    left = room_is_short()
    unit = left.plan["c"].unit
    assert not left.fits(unit, "n2")
    assert not left.fits(with_cpu(unit, "2001m"), "n2")
    assert left.fits(with_cpu(unit, "2"), "n2")


def test_several_resources_may_be_missing():
    big = pod("a", spec={"containers": [{"name": "m", "resources": {"requests": {"cpu": "6", "memory": "3Gi"}}}]})
    left = Left(Plan(scene(big, node("n1", memory="1Gi"), nodes={})))
    assert left.told("a") == [
        (
            "room",
            "1 of 1 node has no room: "
            "Insufficient cpu (6 requested, 4 left), Insufficient memory (3Gi requested, 1Gi left) on node n1",
        ),
        ("outbid", "it fits none of 1 node before the plan, either"),
        ("relaxation", "it fits node n1 with 2 of cpu and 2Gi of memory less"),
    ]


def test_a_number_of_pods_may_run_out():
    cluster = scene(pod("a"), pod("b"), node("n1", pods="1"), nodes={})
    left = Left(Plan(cluster, a=("n1",)))
    assert left.told("b")[0] == ("room", "1 of 1 node has no room: Too many pods on node n1")


def test_where_room_and_devices_are_on_different_nodes_both_are_told():
    """Node n1 has devices left but no room, n2 room but no devices."""
    held = [claim(f"loose-{number}") for number in range(4)]
    cluster = scene(user("a", cpu="4"), *held, user("b", cpu="2"), nodes=SMALL)
    places = {f"loose_{number}": ("n2", f"gpu-{number}") for number in range(4)}
    left = Left(Plan(cluster, a=("n1", "gpu-0"), **places))
    assert left.ids("b")[:3] == ["inUse", "room", "outbid"]
    assert left.told("b")[:2] == [
        ("inUse", "1 of 1 node: request r needs 1, 0 fit of 4 devices: 4 in use"),
        ("room", "1 of 2 nodes have the devices, but no room: Insufficient cpu (2 requested, 0 left) on node n1"),
    ]
    less, freed = left.relaxations("b")
    assert less == "it fits node n1 with 2 of cpu less"
    assert freed == "it fits node n2 with 1 device more free, such as those of claim default/loose-0"
    unit = left.plan["b"].unit
    assert not left.fits(unit, "n2")
    assert left.fits(unit, "n2", without=["loose-0"])


# Devices


def devices_are_short():
    """Three of four devices of each of two nodes are taken."""
    held = [claim(f"h{number}", of(3)) for number in (1, 2)]
    cluster = scene(*held, template("u", of(2)), pod("a", entry("g", template="u"), cpu="1"), nodes=SMALL)
    three = ("gpu-0", "gpu-1", "gpu-2")
    return Left(Plan(cluster, h1=("n1", three), h2=("n2", three)))


def test_devices_are_what_ran_out():
    assert devices_are_short().told("a") == [
        ("inUse", "2 of 2 nodes: request r needs 2, 1 fit of 4 devices: 3 in use"),
        ("outbid", "it fits 2 of 2 nodes before the plan: the queue took them"),
        ("relaxation", "it fits node n1 with count 1 instead of 2 in request r"),
        ("relaxation", "it fits node n1 with 3 devices more free, such as those of claim default/h1"),
    ]


def test_fewer_devices_or_freed_ones_are_enough():
    left = devices_are_short()
    unit = left.plan["a"].unit
    assert not left.fits(unit, "n1")
    assert left.fits(with_counts(unit, 1), "n1")
    assert left.fits(unit, "n1", without=["h1"])


def test_several_claims_are_freed_where_one_is_not_enough():
    held = [claim(f"h{number}") for number in range(3)]
    cluster = scene(*held, template("u", of(3)), pod("a", entry("g", template="u")), nodes=ONE)
    left = Left(Plan(cluster, **{f"h{number}": ("n1", f"gpu-{number}") for number in range(3)}))
    told = left.relaxations("a")
    assert told == [
        "it fits node n1 with count 1 instead of 3 in request r",
        "it fits node n1 with 2 devices more free, such as those of claims default/h0, default/h1",
    ]
    unit = left.plan["a"].unit
    assert not left.fits(unit, "n1", without=["h0"])
    assert left.fits(unit, "n1", without=["h0", "h1"])


def test_where_devices_do_not_go_together_one_less_may_do():
    """A claim for two of one model, where one of each is left."""
    alike = of(2)
    alike["devices"]["constraints"] = [{"requests": ["r"], "matchAttribute": "gpu.example.com/index"}]
    left = Left(Plan(scene(template("u", alike), pod("a", entry("g", template="u")), nodes=ONE)))
    assert left.ids("a") == ["matchAttribute", "outbid", "relaxation"]
    assert left.relaxations("a") == ["it fits node n1 with count 1 instead of 2 in request r"]
    assert left.fits(with_counts(left.plan["a"].unit, 1), "n1")


def test_of_several_requests_those_that_find_too_few_ask_for_less():
    """Two devices have an index below 2, and two others have not."""
    halves = [_selecting("r", "<"), _selecting("s", ">=")]
    left = Left(Plan(scene(template("u", _spec(halves)), pod("a", entry("g", template="u")), nodes=ONE)))
    assert left.ids("a") == ["requestSelector", "requestSelector", "outbid", "relaxation"]
    assert left.relaxations("a") == [
        "it fits node n1 with count 2 instead of 3 in request r and 2 instead of 3 in request s"
    ]
    for counts, fits in (((2, 2), True), ((3, 2), False), ((2, 3), False)):
        assert left.fits(with_counts(left.plan["a"].unit, *counts), "n1") == fits


def _selecting(name, comparison):
    expression = f'device.attributes["gpu.example.com"].index {comparison} 2'
    exactly = {"deviceClassName": "gpu", "count": 3, "selectors": [{"cel": {"expression": expression}}]}
    return {"name": name, "exactly": exactly}


def _spec(requests):
    return {"devices": {"requests": requests}}


def test_what_was_never_there_is_not_the_fault_of_the_queue():
    cluster = scene(template("u", of(5)), pod("a", entry("g", template="u")), user("b"), nodes=SMALL)
    left = Left(Plan(cluster, b=("n1", "gpu-0")))
    assert left.told("a") == [
        ("devices", "2 of 2 nodes: request r needs 5, 4 fit of 4 devices"),
        ("outbid", "it fits none of 2 nodes before the plan, either"),
        ("relaxation", "it fits node n2 with count 4 instead of 5 in request r"),
    ]
    assert left.fits(with_counts(left.plan["a"].unit, 4), "n2")


def test_claims_that_were_allocated_before_are_named_too():
    given = allocated("old")
    given["status"]["allocation"]["devices"]["results"] = [
        {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": f"gpu-{number}"} for number in range(4)
    ]
    left = Left(Plan(scene(given, user("a"), nodes=ONE)))
    assert left.ids("a") == ["inUse", "outbid", "relaxation"]
    assert left.relaxations("a") == ["it fits node n1 with 4 devices more free, such as those of claim default/old"]
    assert left.fits(left.plan["a"].unit, "n1", without=["old"])


# The pod and its claims


def test_a_taint_that_is_not_tolerated():
    tainted = obj("Node", "n1", {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}, status=_cpu("4"))
    cluster = scene(tainted, gpus("n1"), user("a"), user("b", spec={"nodeSelector": {"zone": "q"}}), nodes={})
    left = Left(Plan(cluster))
    assert left.told("a") == [
        ("nodeTaint", "1 of 1 node: node(s) had untolerated taint {team: x}"),
        ("relaxation", "it fits node n1: tolerate the node's taints (node(s) had untolerated taint {team: x})"),
    ]
    unit = left.plan["a"].unit
    assert not left.fits(unit, "n1")
    assert left.fits(tolerating(unit, key="team", operator="Exists"), "n1")
    selector = "drop the pod's node selector (node(s) didn't match Pod's node affinity/selector: no label zone=q)"
    both = f"{selector}; tolerate the node's taints"
    assert left.relaxations("b")[0].startswith(f"it fits node n1: {both}")


def _cpu(amount):
    return {"allocatable": {"cpu": amount, "pods": "10"}}


def test_a_taint_is_not_told_of_where_tolerating_it_is_not_enough():
    tainted = obj("Node", "n1", {"taints": [{"key": "team", "effect": "NoSchedule"}]}, status=_cpu("4"))
    for given in (user("a", cpu="8"), pod("a", entry("g", template="u"), cpu="1")):
        left = Left(Plan(scene(tainted, gpus("n1", 1), template("u", of(2)), given, nodes={})))
        assert left.ids("a") == ["nodeTaint"]


def test_a_pod_that_is_on_a_node_is_not_sent_elsewhere():
    left = Left(Plan(scene(user("a", cpu="9", spec={"nodeName": "n2"}), nodes=SMALL)))
    assert left.ids("a") == ["room", "nodeName", "outbid", "relaxation"]
    assert left.relaxations("a") == ["it fits node n2 with 5 of cpu less"]


def test_claims_and_classes_that_are_missing_come_first():
    other = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "none"}}]}}
    cluster = scene(pod("a", entry("g", claim="gone")), template("u", other), pod("b", entry("g", template="u")))
    left = Left(Plan(cluster))
    assert left.told("a") == [("claim", "ResourceClaim default/gone not found")]
    assert left.told("b") == [("deviceClass", "device class none does not exist")]


def test_a_claim_that_the_plan_gave_away_ties_its_other_pods_to_a_node():
    cluster = scene(claim("s"), pod("a", entry("g", claim="s"), cpu="3"), pod("b", entry("g", claim="s"), cpu="2"))
    left = Left(Plan(cluster, a=("n1", "gpu-0")))
    assert left.told("b") == [
        ("room", "1 of 1 node has no room: Insufficient cpu (2 requested, 1 left) on node n1"),
        ("allocatedClaim", "3 of 4 nodes: a claim of the pod is allocated for other nodes"),
        ("outbid", "it fits 1 of 1 node before the plan: the queue took them"),
        ("relaxation", "it fits node n1 with 1 of cpu less"),
    ]
    assert left.fits(with_cpu(left.plan["b"].unit, "1"), "n1")


def test_resources_that_a_class_backs_are_devices():
    asking = pod("a", spec={"containers": [{"name": "m", "resources": {"limits": {"example.com/gpu": "5"}}}]})
    left = Left(Plan(scene(asking, device_class("backed", "example.com/gpu"), nodes=SMALL)))
    assert left.told("a")[0] == ("devices", "2 of 2 nodes: request container-0-request-0 needs 5, 4 fit of 4 devices")


def test_a_unit_that_fits_says_so():
    left = Left(Plan(scene(user("a"), nodes=SMALL)))
    ((id_, message),) = left.told("a")
    assert id_ == "left"
    assert message.startswith("it fits 2 of 2 nodes, such as n1: ")
    assert left.fits(left.plan["a"].unit, "n1")


def test_there_may_be_no_nodes():
    cluster = scene(user("a"), nodes=SMALL).without(nodes=SMALL)
    assert Left(Plan(cluster)).told("a") == [("nodes", "there are no nodes")]


def test_a_loose_claim_takes_no_room():
    cluster = scene(claim("a", of(2)), user("b", cpu="4"), user("c", cpu="4"), nodes=SMALL)
    left = Left(Plan(cluster, b=("n1", "gpu-0"), c=("n2", "gpu-0")))
    assert left.ids("a") == ["left"]


def test_an_expression_that_goes_wrong_is_told():
    broken = {
        "devices": {
            "requests": [
                {
                    "name": "r",
                    "exactly": {
                        "deviceClassName": "gpu",
                        "selectors": [{"cel": {"expression": 'device.attributes["gpu.example.com"].none == 1'}}],
                    },
                }
            ]
        }
    }
    left = Left(Plan(scene(template("u", broken), pod("a", entry("g", template="u")), nodes=SMALL)))
    assert left.ids("a")[0] == "expression"
    assert "requestSelector" in [one.id for one in left.reasons("a", cel_errors="skip")]


def test_what_was_not_decided_is_not_claimed(monkeypatch):
    monkeypatch.setattr(node_survey, "TOTAL_SCREENING_WORK", -1.0)
    left = devices_are_short()
    told = "2 nodes: it was not decided in time whether devices are left"
    assert left.told("a") == [("undecided", told)]


def test_of_very_many_kinds_of_nodes_the_largest_are_asked():
    """Without the nodes that are not asked it cannot be said that the unit fitted nowhere."""
    names = [f"m{number}" for number in range(node_survey.MOST_NODE_CLASSES)]
    others = [obj for number, name in enumerate(names) for obj in (node(name), gpus(name, 5 + number))]
    cluster = scene(template("u", of(31)), pod("a", entry("g", template="u")), *others, nodes=SMALL)
    # Two of the nodes are alike, and one of the eighteen is not asked.
    assert Left(Plan(cluster)).told("a") == [
        ("devices", "2 of 17 nodes: request r needs 31, 4 fit of 4 devices"),
        ("relaxation", "it fits node m15 with count 20 instead of 31 in request r"),
    ]


# Gangs


def gang(*there, **marks):
    members = [user(name, cpu="2", GANG="g", **marks) for name in "abc"]
    return scene(*members, *there, nodes={"n1": "a", "n2": "b"})


def test_a_gang_is_placed_whole_or_not_at_all():
    left = Left(Plan(gang(user("x", cpu="4")), x=("n2", "gpu-0")))
    assert left.told("a") == [
        ("gang", "Gang default/g is placed whole or not at all: 2 of 3 find a place beside the plan"),
        ("room", "2 of 2 nodes have the devices, but no room: Insufficient cpu (2 requested, 0 left) on node n1"),
        ("outbid", "the gang fits before the plan: the queue took its places"),
        ("relaxation", "it fits node n1 with 2 of cpu less"),
    ]
    assert left.reasons("a") == left.reasons("b") == left.reasons("c")


def test_a_gang_in_one_domain_is_tried_in_each():
    left = Left(Plan(gang(GANG_DOMAIN="zone")))
    head = "Gang default/g is placed whole or not at all: 2 of 3 find a place beside the plan with zone=a"
    assert left.told("a")[0] == ("gang", head)
    assert left.told("a")[1:3] == [
        ("room", "1 of 1 node has the devices, but no room: Insufficient cpu (2 requested, 0 left) on node n1"),
        ("outbid", "2 of 3 find a place before the plan, no more"),
    ]


def test_members_that_run_say_which_domain():
    runs = pod("old", cpu="3", spec={"nodeName": "n2"}, GANG="g", GANG_DOMAIN="zone")
    left = Left(Plan(gang(runs, GANG_DOMAIN="zone")))
    assert left.told("a")[0][1].endswith("0 of 3 find a place beside the plan with zone=b")
    away = pod("older", spec={"nodeName": "n1"}, GANG="g", GANG_DOMAIN="zone")
    left = Left(Plan(gang(runs, away, GANG_DOMAIN="zone")))
    assert left.told("a") == [("gang", "Gang default/g: no value of the label zone is left for all members")]


def group(minimum, running=0):
    made = obj("PodGroup", "pg", {"schedulingPolicy": {"gang": {"minCount": minimum}}})
    said = {"schedulingGroup": {"podGroupName": "pg"}}
    there = [pod(f"r{number}", spec={**said, "nodeName": "n1"}) for number in range(running)]
    return scene(made, *there, *(pod(name, cpu="3", spec=said) for name in "abc"), nodes=SMALL)


@pytest.mark.parametrize(
    ("minimum", "running", "told"),
    [
        (3, 0, "PodGroup default/pg is placed with at least 3 more members or not at all: 2 of 3 find a place"),
        (4, 1, "PodGroup default/pg is placed with at least 3 more members or not at all: 2 of 3 find a place"),
        (4, 0, "PodGroup default/pg needs 4 members, and has 3"),
    ],
    ids=str,
)
def test_as_many_members_as_are_enough(minimum, running, told):
    first = Left(Plan(group(minimum, running))).told("a")[0]
    assert first[0] == "gang"
    assert first[1].startswith(told)


def test_a_gang_that_fits_says_so():
    assert Left(Plan(group(2))).ids("a") == ["gang", "left"]


def test_members_that_are_too_large_do_not_hide_others():
    made = obj("PodGroup", "pg", {"schedulingPolicy": {"gang": {"minCount": 3}}})
    said = {"schedulingGroup": {"podGroupName": "pg"}}
    members = [pod(name, cpu=cpu, spec=said) for name, cpu in (("a", "9"), ("b", "1"), ("c", "1"))]
    left = Left(Plan(scene(made, *members, nodes=SMALL)))
    assert left.told("b")[0][1].endswith("2 of 3 find a place beside the plan")
    assert left.relaxations("b") == ["it fits node n2 with 5 of cpu less"]


def test_a_gang_that_is_there_leaves_the_others_their_domain():
    """With one member running in zone b there are enough; another may only go there."""
    made = obj(
        "PodGroup",
        "pg",
        {"schedulingPolicy": {"gang": {"minCount": 1}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}},
    )
    said = {"schedulingGroup": {"podGroupName": "pg"}}
    runs = pod("old", cpu="2", spec={**said, "nodeName": "n2"})
    left = Left(Plan(scene(made, runs, pod("a", cpu="3", spec=said), nodes={"n1": "a", "n2": "b"})))
    assert left.told("a") == [
        ("room", "1 of 1 node has no room: Insufficient cpu (3 requested, 2 left) on node n2"),
        ("outbid", "it fits none of 1 node before the plan, either"),
        ("relaxation", "it fits node n2 with 1 of cpu less"),
    ]


def test_members_that_share_a_claim_go_where_it_is():
    members = [pod(name, entry("g", claim="s"), cpu="2", GANG="g") for name in "abc"]
    left = Left(Plan(scene(claim("s"), *members, nodes=SMALL)))
    head = "Gang default/g is placed whole or not at all: 2 of 3 find a place beside the plan"
    assert left.told("c") == [
        ("gang", head),
        ("room", "1 of 1 node has no room: Insufficient cpu (2 requested, 0 left) on node n1"),
        ("allocatedClaim", "1 of 2 nodes: a claim of the pod is allocated for other nodes"),
        ("outbid", "2 of 3 find a place before the plan, no more"),
        ("relaxation", "it fits node n1 with 2 of cpu less"),
    ]


def test_a_group_that_is_not_there():
    left = Left(Plan(scene(pod("a", spec={"schedulingGroup": {"podGroupName": "gone"}}), nodes=SMALL)))
    assert left.told("a") == [("gang", "PodGroup default/gone not found")]


# Cases in which the nearest answer would be wrong


def test_nodes_with_neither_room_nor_devices_lack_both():
    left = Left(Plan(scene(user("a"), user("x", cpu="4"), node("n1"), gpus("n1", 1), nodes={}), x=("n1", "gpu-0")))
    assert left.told("a") == [
        ("inUse", "1 of 1 node: request r needs 1, 0 fit of 1 device: 1 in use"),
        ("room", "1 of 1 node has no room: Insufficient cpu (1 requested, 0 left) on node n1"),
        ("outbid", "it fits 1 of 1 node before the plan: the queue took them"),
    ]


def test_of_equal_nodes_one_with_room_is_offered():
    tainted = [
        obj("Node", name, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, status=_cpu("4")) for name in SMALL
    ]
    full = pod("old", cpu="4", spec={"nodeName": "n1"})
    left = Left(Plan(scene(*tainted, *map(gpus, SMALL), full, user("a"), nodes={})))
    assert [text.partition(":")[0] for text in left.relaxations("a")] == ["it fits node n2"]


def test_a_unit_does_not_give_up_its_own_devices():
    given = allocated("own")
    given["status"]["allocation"]["devices"]["results"] = [
        {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": f"gpu-{number}"} for number in range(4)
    ]
    left = Left(Plan(scene(given, user("a", entry("o", claim="own")), nodes=ONE)))
    assert left.ids("a") == ["inUse", "outbid"]


def test_nodes_outside_the_domain_of_a_gang_are_not_offered():
    runs = pod("old", cpu="4", spec={"nodeName": "n2"}, GANG="g", GANG_DOMAIN="zone")
    other = node("n1", "a")
    other["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    left = Left(Plan(scene(other, gpus("n1"), runs, user("a", GANG="g", GANG_DOMAIN="zone"), nodes={"n2": "b"})))
    assert left.relaxations("a") == ["it fits node n2 with 1 of cpu less"]


def test_members_of_a_gang_do_not_have_devices_twice():
    members = [pod(name, entry("g", template="u"), GANG="g") for name in "abc"]
    left = Left(Plan(scene(template("u", of(2)), *members, nodes=ONE)))
    assert left.told("a")[0][1].endswith("2 of 3 find a place beside the plan")
    assert left.told("a")[1] == ("inUse", "1 of 1 node: request r needs 2, 0 fit of 4 devices: 4 in use")


def test_only_devices_that_the_unit_may_have_are_counted():
    """Claim h has the device that is asked for, and another one."""
    exactly = _selecting("r", "<")
    exactly["exactly"]["count"] = 2
    cluster = scene(claim("h", of(2)), template("u", _spec([exactly])), pod("a", entry("g", template="u")), nodes=ONE)
    left = Left(Plan(cluster, h=("n1", ("gpu-0", "gpu-3"))))
    assert left.relaxations("a") == [
        "it fits node n1 with count 1 instead of 2 in request r",
        "it fits node n1 with 1 device more free, such as those of claim default/h",
    ]


def test_what_is_taken_meanwhile_is_seen():
    cluster = scene(user("a"), claim("h", of(4)), nodes=SMALL)
    left = Left(Plan(cluster, h=("n1", tuple(f"gpu-{number}" for number in range(4)))))
    refusals, unit, rooms = UnplacedExplainer(cluster, ALL), left.plan["a"].unit, left.rooms
    allocated_state = AllocatedState(cluster.usage(ALL))
    assert refusals.reasons(unit, None, allocated_state, rooms)[0].message.startswith(
        "it fits 2 of 2 nodes, such as n1:"
    )
    allocated_state.commit(left.made.items())
    assert refusals.reasons(unit, None, allocated_state, rooms)[0].message.startswith(
        "it fits 1 of 2 nodes, such as n2:"
    )


def test_nodes_that_may_not_be_used_do_not_count():
    left = Left(Plan(scene(pod("a", cpu="9"), nodes=SMALL)))
    assert (
        left.reasons("a", usable=["n2"])[0].message
        == "1 of 1 node has no room: Insufficient cpu (9 requested, 4 left) on node n2"
    )
    assert left.reasons("a", usable=[])[0].message == "there are no nodes"


def test_equal_nodes_are_asked_once(monkeypatch):
    """However many there are, beside those that are tried for relaxations."""
    asked, original = [], node_survey.NodeScreening.attempt

    def counted(self, wish, state, position):
        asked.append(position)
        return original(self, wish, state, position)

    monkeypatch.setattr(node_survey.NodeScreening, "attempt", counted)
    numbers = []
    for count in (3, 60):
        asked.clear()
        nodes = {f"n{number}": "a" for number in range(count)}
        cluster = scene(pod("a", entry("g", template="u")), template("u", of(9)), nodes=nodes)
        assert Left(Plan(cluster)).told("a")[0][1].startswith(f"{count} of {count} nodes: request r needs 9")
        numbers.append(len(asked))
    assert numbers[0] == numbers[1] <= 4

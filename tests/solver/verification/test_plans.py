"""Whole plans: valid ones pass, and every way to break one is found."""

import os
from copy import copy
from time import sleep

import pytest
from msgspec.structs import replace as changed
from support.gates import ALL
from support.manifests import allocated, claim, device_class
from support.plan_scene import Plan, allocation, container, entry, maker, node, obj, pod, scene, template, user

from drasat.models.kubernetes.extensions import ConstraintGroup
from drasat.models.workload.expansion import UnplacedRun
from drasat.solver.allocate.check import VerificationError
from drasat.solver.plan.outcome import PlannedUnits, check_plan
from drasat.solver.plan.plan import plan as planned
from drasat.solver.verification.plan_replay import PlanReplay, QueueSelection, verifier_of_plans
from drasat.solver.verification.plans import QueueTimeoutError, _RequestedUnits, plan_violations
from drasat.solver.verification.verify import VerificationTimeoutError, Violation

SAME_ZONE = {"sameNodeLabel": "zone"}


def everyday():
    """Three pods with a device each on two nodes; half of n1 is taken by a pod that runs."""
    there = [user(name) for name in "abc"]
    running = pod("old", cpu="2", spec={"nodeName": "n1"})
    return Plan(scene(running, *there), a=("n1", "gpu-0"), b=("n1", "gpu-1"), c=("n2", "gpu-0"))


def test_a_plan_that_can_be_carried_out_passes():
    plan = everyday()
    assert plan.violations() == []
    check_plan(plan.cluster, plan.units, ALL, "strict")


def test_units_may_be_left_out_of_their_places():
    plan = everyday().change("b", node=None, allocations=())
    assert plan.violations() == []


def test_what_is_wrong_is_told_with_an_error():
    plan = everyday().change("b", node=None)
    with pytest.raises(VerificationError, match="PLAN-CLAIM: Pod default/b is not placed") as caught:
        check_plan(plan.cluster, plan.units, ALL, "strict")
    assert caught.value.violations == tuple(plan.violations())


# PLAN-ONCE


def test_every_unit_of_the_queue_is_in_the_plan():
    plan = everyday()
    del plan.units[1]
    told = "1 units of the queue are not in the plan, such as default/b"
    assert plan.violations() == [Violation("PLAN-ONCE", "", told)]


def test_no_unit_is_in_the_plan_twice():
    plan = everyday()
    plan.units.append(plan["c"])
    assert plan.rules() == ["PLAN-ONCE", "SCHED-2", "DEV-1"]
    assert plan.violations()[0].message == "Pod default/c is in the plan twice"


def test_nothing_but_the_queue_is_in_the_plan():
    plan = everyday().change("c", replica=7)
    assert [str(one) for one in plan.violations()] == [
        "PLAN-ONCE: Pod default/c is not in the queue",
        "PLAN-ONCE: 1 units of the queue are not in the plan, such as default/c",
    ]


def test_what_differs_from_the_queue_is_told_though_time_is_up():
    """SCHED-7."""
    plan = everyday()
    del plan.units[1]
    assert plan.rules(deadline=0.0) == ["PLAN-ONCE"]
    with pytest.raises(VerificationTimeoutError):
        everyday().rules(deadline=0.0)


def test_a_queue_that_is_not_read_again_in_time_says_nothing_of_the_plan(monkeypatch):
    """SRCH-10."""
    plan = everyday()
    # Few units are read in any case.
    assert plan.rules(queue_deadline=0.0) == []
    monkeypatch.setattr("drasat.models.workload.pod_sets._OBJECTS_BETWEEN_LOOKS", 2)
    for ask in (plan, everyday()):
        with pytest.raises(QueueTimeoutError):
            ask.rules(queue_deadline=0.0)


def test_units_that_are_not_placed_have_the_names_of_the_queue():
    plan = everyday().change("b", node=None, allocations=())
    other = changed(plan["b"].unit, name="c")
    assert plan.change("b", unit=other).rules() == ["PLAN-ONCE"]


def test_allocations_that_were_verified_before_are_not_replayed():
    """The rules of the whole plan count all the same."""
    plan = everyday()
    plan.units.append(plan["c"])
    assert plan.rules() == ["PLAN-ONCE", "SCHED-2", "DEV-1"]
    assert plan.rules(replay=False) == ["PLAN-ONCE"]


def begun(plan, *names, cluster=None, deadline=None):
    about = cluster or plan.cluster, ALL, "strict", ()
    return PlanReplay([plan[name] for name in names], about, None, deadline)


def test_a_replay_that_has_begun_counts_for_its_own_plan():
    plan = everyday()
    assert plan.violations(begun=begun(plan, *"abc")) == []
    with pytest.raises(VerificationTimeoutError):
        plan.violations(begun=begun(plan, *"abc", deadline=0.0))


@pytest.mark.parametrize("names", ["ab", "acb", "abc"])
def test_a_replay_of_other_units_does_not_count(names):
    """The units of a plan that is checked are others, or in another order, or the cluster is another."""
    right, plan = everyday(), everyday().change("b", node="n2")
    assert plan.rules() != []
    for other in (right, plan) if names != "abc" else (right,):
        assert plan.violations(begun=begun(other, *names, deadline=0.0)) == plan.violations()
    elsewhere = begun(plan, *"abc", cluster=right.cluster.with_claims([]), deadline=0.0)
    assert plan.violations(begun=elsewhere) == plan.violations()


@pytest.fixture
def verifier(monkeypatch):
    """A process that has read the everyday plan's cluster and queue, and the plan."""
    monkeypatch.setattr("drasat.solver.verification.plan_replay._MANY_NODES", 0)
    plan = everyday()
    with verifier_of_plans((plan.cluster, ALL, "strict", ()), QueueSelection()) as process:
        assert process.connection.poll(60)
        yield plan, process


def sent(plan, process, deadline=None):
    return PlanReplay(plan.units, process.about, None, deadline, process)


def test_another_process_says_what_is_wrong_with_a_plan(verifier):
    plan, process = verifier
    assert plan.violations(begun=sent(plan, process)) == []


def test_what_another_process_finds_is_told_as_if_it_was_found_here(verifier):
    plan, process = verifier
    plan.change("b", node="n2")
    assert plan.violations(begun=sent(plan, process)) == plan.violations() != []


def test_another_process_judges_what_it_has_read_itself(verifier):
    """It is told of owners and devices alone: what a claim asks for stands in its own queue."""
    plan, process = verifier
    free = changed(plan["b"].unit, claims=())
    broken = plan.change("b", unit=free)
    assert broken.rules(begun=sent(broken, process)) == broken.rules() != []


def test_time_is_over_in_another_process(verifier):
    """SCHED-7."""
    plan, process = verifier
    with pytest.raises(VerificationTimeoutError) as late:
        plan.violations(begun=sent(plan, process, deadline=0.0))
    assert late.value.verified == 0


def test_another_process_has_units_before_the_plan_is_whole(verifier):
    plan, process = verifier
    for one in plan.units[:2]:
        process.place([one], None)
    assert process.send(plan.units, None)
    assert process.verdict() == ([], None)


def test_units_that_the_plan_does_not_have_then_are_not_judged(verifier):
    plan, process = verifier
    process.place(plan.units[:2], None)
    plan.change("b", node=None, allocations=())
    replay = sent(plan, process)
    assert not replay.has_rooms
    assert plan.violations(begun=replay) == []


def test_a_fault_among_the_first_units_is_told_at_the_end(verifier):
    plan, process = verifier
    plan.change("a", allocations=plan["b"].allocations)
    process.place(plan.units[:1], None)
    process.place(plan.units[1:2], None)
    assert plan.violations(begun=sent(plan, process)) == plan.violations() != []


def test_nodes_have_room_for_the_units_of_all_parts(monkeypatch):
    monkeypatch.setattr("drasat.solver.verification.plan_replay._MANY_NODES", 0)
    monkeypatch.setattr("drasat.solver.verification.plan_replay.UNITS_AT_ONCE", 1)
    cluster = scene(*(pod(name, cpu="3") for name in "ab"))
    plan = Plan(cluster, a=("n1",), b=("n1",))
    with verifier_of_plans((cluster, ALL, "strict", ()), QueueSelection()) as process:
        assert process.connection.poll(60)
        assert process.send(plan.units, None)
        found, late = process.verdict()
    assert ([one.rule for one in found], late) == (["PLAN-ROOM"], None)
    assert plan.rules() == ["PLAN-ROOM"]


def test_time_may_be_over_before_the_plan_is_whole(verifier):
    plan, process = verifier
    process.place(plan.units[:1], None)
    process.place(plan.units[1:2], 0.0)
    sleep(0.5)
    with pytest.raises(VerificationTimeoutError) as late:
        plan.violations(begun=sent(plan, process))
    assert late.value.verified == 1


def test_units_of_earlier_parts_count_where_time_is_over(verifier):
    """SCHED-7."""
    plan, process = verifier
    process.place(plan.units[:2], None)
    with pytest.raises(VerificationTimeoutError) as late:
        plan.violations(begun=sent(plan, process, deadline=0.0))
    assert late.value.verified == 2


@pytest.mark.parametrize(
    "answer", [lambda *_: sleep(60), lambda *given: given[2].send_bytes(b"all is read") or os._exit(1)]
)
def test_a_plan_is_replayed_here_if_the_other_process_is_late_or_says_nothing(monkeypatch, answer):
    monkeypatch.setattr("drasat.solver.verification.plan_replay._MANY_NODES", 0)
    monkeypatch.setattr("drasat.solver.verification.plan_replay._verdict_on_sent_plan", answer)
    plan = everyday()
    with verifier_of_plans((plan.cluster, ALL, "strict", ()), QueueSelection()) as process:
        process.connection.poll(0.5)
        assert plan.violations(begun=sent(plan, process)) == []
        broken = plan.change("b", node="n2")
        assert broken.violations(begun=sent(broken, process)) == broken.violations() != []


def test_units_are_those_of_the_queue():
    plan = everyday()
    other = changed(plan["c"].unit.pod, spec=changed(plan["c"].unit.pod.spec, containers=None))
    assert plan.change_unit("c", pod=other).rules() == ["PLAN-ONCE"]


def test_a_narrower_queue_makes_a_narrower_plan():
    cluster = scene(user("a"), user("b", labels={"team": "x"}))
    plan = Plan(cluster, a=("n1", "gpu-0"), b=("n1", "gpu-1"))
    assert plan.rules(selector="team=x") == ["PLAN-ONCE"]
    del plan.units[0]
    assert plan.rules() == ["PLAN-ONCE"]
    assert plan.violations(selector="team=x") == []
    check_plan(cluster, plan.units, ALL, "strict", selector="team=x")


def test_units_are_replayed_in_the_order_given():
    cluster = scene(claim("s"), *(pod(name, entry("g", claim="s"), cpu="1") for name in "ab"))
    plan = Plan(cluster, a=("n1", "gpu-0"), b=("n1",))
    assert plan.violations() == []
    assert plan.violations(order=[0, 1]) == []
    assert plan.rules(order=[1, 0]) == ["SCHED-2"]


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 2, 2], [0, 1, 3], [0, 1, 2, 3]], ids=str)
def test_an_order_has_every_placed_unit_once(order):
    plan = everyday()
    assert plan.rules(order=order) == ["PLAN-ONCE"]


def test_units_that_an_order_leaves_out_are_checked_nevertheless():
    plan = everyday().change("c", node="n1")
    assert "POOL-1" in plan.rules(order=[0])


# Nodes


def test_units_go_to_nodes_that_are_there():
    plan = everyday()
    plan.change("c", node="n9", allocations=((plan["c"].unit.claims[0], allocation("n9", "gpu-0")),))
    assert plan.rules()[0] == "PLAN-NODE"
    assert plan.violations()[0].message == "Pod default/c is on node n9, which is not there"


def test_a_pod_that_is_on_a_node_stays_there():
    plan = Plan(scene(user("a", spec={"nodeName": "n2"})), a=("n2", "gpu-0"))
    assert plan.violations() == []
    plan.change("a", node="n1", allocations=((plan["a"].unit.claims[0], allocation("n1", "gpu-0")),))
    assert plan.rules() == ["NODE-2"]


def test_the_rules_of_allocation_hold_for_the_whole():
    plan = everyday()
    plan.change("b", allocations=plan["a"].allocations)
    assert set(plan.rules()) >= {"PLAN-CLAIM", "DEV-1"}
    plan.change("b", allocations=((plan["b"].unit.claims[0], allocation("n1", "gpu-0")),))
    assert plan.rules() == ["DEV-1"]


# PLAN-CLAIM and SCHED-2


def test_claims_of_placed_units_are_allocated():
    assert everyday().change("a", allocations=()).rules() == ["SCHED-2"]


def test_claims_of_other_units_are_not_allocated_for_a_unit():
    plan = everyday()
    plan.change("c", allocations=(*plan["c"].allocations, (plan["a"].unit.claims[0], allocation("n2", "gpu-1"))))
    assert plan.rules() == ["PLAN-CLAIM", "SCHED-2"]
    assert plan.violations()[0].message == "Pod default/c has no claim default/a-g, which is allocated for it"


def test_a_claim_has_one_allocation():
    plan = everyday()
    plan.change("c", allocations=(*plan["c"].allocations, (plan["c"].unit.claims[0], allocation("n2", "gpu-1"))))
    assert plan.rules() == ["PLAN-CLAIM"]
    assert plan.violations()[0].message == "Pod default/c: claim default/c-g is allocated twice"


def test_units_have_the_claims_that_the_queue_says():
    plan = everyday()
    (ref,) = plan["c"].unit.claims
    smaller = changed(ref.claim.spec, devices=changed(ref.claim.spec.devices, requests=()))
    for claims in ((), (ref, ref), (_with(ref, changed(ref.claim, spec=smaller)),)):
        plan = everyday().change_unit("c", claims=claims).change("c", allocations=())
        assert plan.rules()[0] == "PLAN-CLAIM"
        assert plan.violations()[0].message == "Pod default/c has other claims in the queue"


def test_made_claims_may_have_other_names():
    plan = everyday()
    (ref,) = plan["c"].unit.claims
    renamed = changed(ref.claim, metadata=changed(ref.claim.metadata, name="c-g-2"))
    other = _with(ref, renamed, name="c-g-2")
    plan.change_unit("c", claims=(other,)).change("c", allocations=((other, allocation("n2", "gpu-0")),))
    assert plan.violations() == []
    taken = _with(ref, changed(ref.claim, metadata=plan["a"].unit.claims[0].claim.metadata), name="a-g")
    plan.change_unit("c", claims=(taken,)).change("c", allocations=((taken, allocation("n2", "gpu-0")),))
    assert "SCHED-2" in plan.rules()


def _with(ref, made, **fields):
    return changed(ref, claim=made, **fields)


def test_a_unit_with_a_claim_that_cannot_be_had_is_not_placed():
    plan = Plan(scene(pod("a", entry("g", claim="gone"))), a=("n1",))
    assert [str(one) for one in plan.violations()] == [
        "PLAN-CLAIM: Pod default/a is placed, but ResourceClaim default/gone not found"
    ]
    assert plan.change("a", node=None).violations() == []


def test_a_shared_claim_is_usable_on_every_node_of_its_pods():
    cluster = scene(claim("s"), *(pod(name, entry("g", claim="s"), cpu="1") for name in "ab"))
    plan = Plan(cluster, a=("n1", "gpu-0"), b=("n1",))
    assert plan.violations() == []
    assert plan.change("b", node="n2").rules() == ["SCHED-2"]
    plan.change("b", node="n1", allocations=plan["a"].allocations)
    assert plan.rules() == ["SCHED-2", "DEV-1"]


def test_a_claim_that_is_allocated_already_needs_none():
    cluster = scene(allocated("s"), pod("a", entry("g", claim="s"), cpu="1"))
    plan = Plan(cluster, a=("n1",))
    assert plan.violations() == []
    ref = plan["a"].unit.claims[0]
    assert "SCHED-2" in plan.change("a", allocations=((ref, allocation("n1", "gpu-0")),)).rules()


# PLAN-ROOM


def test_pods_fit_what_running_pods_leave():
    plan = everyday()
    plan.change("c", node="n1", allocations=((plan["c"].unit.claims[0], allocation("n1", "gpu-2")),))
    told = "node n1: planned units take 1 of cpu more than is left"
    assert plan.violations() == [Violation("PLAN-ROOM", "", told)]


def test_a_number_of_pods_is_a_resource():
    cluster = scene(*(pod(name) for name in "abc"), node("small", pods="2"))
    plan = Plan(cluster, a=("small",), b=("small",), c=("n1",))
    assert plan.violations() == []
    told = "node small: planned units take 1 of pods more than is left"
    assert plan.change("c", node="small").violations() == [Violation("PLAN-ROOM", "", told)]


def test_a_resource_that_a_node_does_not_have_is_not_there():
    licensed = pod("a", spec={"containers": [container(None, resources={"limits": {"example.com/key": "1"}})]})
    cluster = scene(licensed, node("keys", **{"example.com/key": "1"}))
    assert Plan(cluster, a=("keys",)).violations() == []
    assert Plan(cluster, a=("n1",)).rules() == ["PLAN-ROOM"]


def test_a_node_of_which_nothing_is_known_takes_anything():
    cluster = scene(pod("a", cpu="1000"), obj("Node", "bare"))
    assert Plan(cluster, a=("bare",)).violations() == []
    assert Plan(cluster, a=("n1",)).rules() == ["PLAN-ROOM"]


def test_resources_that_a_class_backs_count_as_devices():
    asking = pod("a", spec={"containers": [container(None, resources={"limits": {"example.com/gpu": "1"}})]})
    cluster = scene(asking, device_class("backed", "example.com/gpu"))
    plan = Plan(cluster, a=("n1",))
    assert [str(one) for one in plan.violations()] == [
        "SCHED-2: claim default/a-extended-resources is not allocated yet"
    ]
    ref = plan["a"].unit.claims[0]
    made = allocation("n1", "gpu-0")
    result = changed(made.devices.results[0], request="container-0-request-0")
    made = changed(made, devices=changed(made.devices, results=(result,)))
    assert plan.change("a", allocations=((ref, made),)).violations() == []
    off = Plan(cluster, gates=ALL.with_({"DRAExtendedResource": False}), a=("n1",))
    assert off.rules() == ["PLAN-ROOM"]


# PLAN-GANG and PLAN-DOMAIN


def gang(**marks):
    """Three members of a gang on n1, n2 and n1."""
    there = [user(name, GANG="g", **marks) for name in "abc"]
    return Plan(scene(*there), a=("n1", "gpu-0"), b=("n2", "gpu-0"), c=("n1", "gpu-1"))


def test_a_gang_is_placed_whole_or_not_at_all():
    plan = gang()
    assert plan.violations() == []
    plan.change("b", node=None, allocations=())
    assert plan.violations() == [Violation("PLAN-GANG", "", "Gang default/g: 2 of 3 members are placed")]
    for name in "ac":
        plan.change(name, node=None, allocations=())
    assert plan.violations() == []


def test_a_gang_is_in_one_domain():
    plan = gang(GANG_DOMAIN="zone")
    assert plan.violations() == []
    plan.change("b", node="n3", allocations=((plan["b"].unit.claims[0], allocation("n3", "gpu-0")),))
    told = "Gang default/g is in several domains of zone: a, b"
    assert plan.violations() == [Violation("PLAN-DOMAIN", "", told)]


def test_a_node_without_the_label_is_in_no_domain():
    plan = gang(GANG_DOMAIN="zone")
    plan.change("b", node="n4", allocations=((plan["b"].unit.claims[0], allocation("n4", "gpu-0")),))
    assert plan.violations() == [Violation("PLAN-DOMAIN", "", "Gang default/g: node n4 has no label zone")]


def test_members_that_run_are_in_the_domain_too():
    runs = pod("old", cpu="1", spec={"nodeName": "n3"}, GANG="g", GANG_DOMAIN="zone")
    cluster = scene(runs, user("a", GANG="g", GANG_DOMAIN="zone"))
    assert Plan(cluster, a=("n3", "gpu-0")).violations() == []
    assert Plan(cluster, a=("n1", "gpu-0")).rules() == ["PLAN-DOMAIN"]
    assert Plan(cluster).violations() == []


def test_nothing_is_known_of_the_domain_of_a_node_that_is_not_there():
    runs = pod("old", cpu="1", spec={"nodeName": "away"}, GANG="g", GANG_DOMAIN="zone")
    cluster = scene(runs, user("a", GANG="g", GANG_DOMAIN="zone"))
    assert Plan(cluster, a=("n1", "gpu-0")).violations() == []


def group(minimum, running=0, domain=None):
    """A PodGroup with four pods to be placed, and some that run."""
    constraint = {"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}
    made = obj("PodGroup", "pg", {"schedulingPolicy": {"gang": {"minCount": minimum}}, **constraint})
    said = {"schedulingGroup": {"podGroupName": "pg"}}
    there = [pod(f"r{number}", spec={**said, "nodeName": "n1"}) for number in range(running)]
    return scene(made, *there, *(pod(name, spec=said) for name in "abcd"))


@pytest.mark.parametrize(
    ("minimum", "running", "placed", "rules"),
    [
        (2, 0, "", []),
        (2, 0, "a", ["PLAN-GANG"]),
        (2, 0, "ab", []),
        (2, 0, "abcd", []),
        (3, 2, "a", []),
        (4, 2, "a", ["PLAN-GANG"]),
        (9, 2, "abcd", ["PLAN-GANG"]),
    ],
    ids=str,
)
def test_as_many_members_as_are_enough_with_those_that_run(minimum, running, placed, rules):
    plan = Plan(group(minimum, running), **dict.fromkeys(placed, ("n1",)))
    assert plan.rules() == rules


def test_the_topology_of_a_group_is_its_domain():
    cluster = group(2, domain="zone")
    assert Plan(cluster, a=("n1",), b=("n2",)).violations() == []
    assert Plan(cluster, a=("n1",), b=("n3",)).rules() == ["PLAN-DOMAIN"]


def test_no_member_of_a_group_that_is_not_there_is_placed():
    cluster = scene(pod("a", spec={"schedulingGroup": {"podGroupName": "gone"}}))
    assert Plan(cluster).violations() == []
    told = "PodGroup default/gone has members placed, but PodGroup default/gone not found"
    assert Plan(cluster, a=("n1",)).violations() == [Violation("PLAN-GANG", "", told)]


# Copies, controllers and groups of claims


def test_copies_and_made_pods_are_checked_one_by_one():
    cluster = scene(
        maker("Deployment", "web", entry("g", template="t"), cpu="2", spec={"replicas": 3}),
        claim("loose", REPLICAS="2"),
    )
    places = {f"web_{number}": (f"n{number + 1}", "gpu-0") for number in range(3)}
    plan = Plan(cluster, **places, loose_0=("n1", "gpu-1"), loose_1=("n1", "gpu-2"))
    assert plan.violations() == []
    ref = plan["web-1"].unit.claims[0]
    assert plan.change("web-1", node="n1", allocations=((ref, allocation("n1", "gpu-3")),)).violations() == []
    ref = plan["web-2"].unit.claims[0]
    assert plan.change("web-2", node="n1", allocations=((ref, allocation("n1", "gpu-2")),)).rules() == [
        "PLAN-ROOM",
        "DEV-1",
    ]


def test_groups_see_the_claims_of_pods_that_are_still_to_be_made():
    together = obj("ConstraintGroup", "near", {"podSelector": {"matchLabels": {"app": "web"}}, **SAME_ZONE})
    made = maker("Job", "web", entry("g", template="t"), labels={"app": "web"}, spec={"parallelism": 2})
    cluster = scene(together, made)
    assert isinstance(next(iter(cluster.constraint_groups.values())), ConstraintGroup)
    assert Plan(cluster, web_0=("n1", "gpu-0"), web_1=("n2", "gpu-0")).violations() == []
    broken = Plan(cluster, web_0=("n1", "gpu-0"), web_1=("n3", "gpu-0")).violations()
    assert len(broken) == 1
    assert "ConstraintGroup default/near" in broken[0].message


def test_claims_whose_made_names_clash_are_told_apart():
    """Names of made claims clash where a pod and an entry together spell those of another."""
    cluster = scene(template("u"), pod("a", entry("b-c", template="t")), pod("a-b", entry("c", template="u")))
    plan = Plan(cluster, a=("n1", "gpu-0"), a_b=("n1", "gpu-1"))
    assert {ref.name for one in plan.units for ref in one.unit.claims} == {"a-b-c", "a-b-c-2"}
    assert plan.violations() == []
    plan.change("a-b", allocations=((plan["a-b"].unit.claims[0], allocation("n1", "gpu-0")),))
    assert plan.rules() == ["DEV-1"]


def test_nodes_that_are_bought_are_nodes_like_others():
    plan = everyday()
    bought = scene(nodes={"big-0": "a"}).node("big-0")
    plan.change("c", node="big-0", allocations=())
    plan.cluster = plan.cluster.with_nodes([bought])
    assert plan.rules() == ["SCHED-2"]


# Runs of units that have no node


def many(number=9, **annotations):
    """The units of a plan with replicas of which few have a node, and the cluster."""
    made = maker("Deployment", "web", entry("g", template="t"), spec={"replicas": number}, cpu="1", **annotations)
    other = maker("Deployment", "other", entry("g", template="t"), spec={"replicas": number}, cpu="1", **annotations)
    cluster = scene(made, other)
    return planned(cluster, gap=0.0, time_limit=None).units, cluster


def run_rules(parts, cluster):
    return [str(one) for one in plan_violations(cluster, PlannedUnits(parts), ALL)]


def changed_run(run, **fields):
    made = copy(run)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def test_units_without_a_node_are_compared_as_runs(monkeypatch):
    units, cluster = many(1000)
    placed = [unit.replica for unit in units if unit.node]
    assert len(units.parts) <= 2 * len(placed) + 2
    told = [(one.unit.name, one.node, one.reasons) for one in units]
    assert [(one.unit.name, one.node, one.reasons) for one in map(units.__getitem__, range(len(units)))] == told
    assert all(node is not None or reasons for _, node, reasons in told)
    compared = []
    take = _RequestedUnits.take
    monkeypatch.setattr(_RequestedUnits, "take", lambda self, unit: compared.append(unit) or take(self, unit))
    assert run_rules(units.parts, cluster) == []
    assert sorted(unit.replica for unit in compared) == sorted(placed)


def test_a_run_that_is_left_out_is_missed():
    units, cluster = many()
    *parts, last = units.parts
    (told,) = run_rules(parts, cluster)
    assert told.startswith(f"PLAN-ONCE: {len(last)} units of the queue are not in the plan, such as default/")
    shorter = changed_run(last, numbers=last.numbers[1:])
    first = last.unit_set.unit_name(last.numbers[0])
    (told,) = run_rules([*parts, shorter], cluster)
    assert told == f"PLAN-ONCE: 1 units of the queue are not in the plan, such as default/{first}"


def test_a_run_that_is_there_twice_is_found():
    units, cluster = many()
    told = run_rules([*units.parts, units.parts[-1]], cluster)
    assert len(told) == len(units.parts[-1])
    assert all(one.endswith("is in the plan twice") for one in told)


def test_a_run_with_a_unit_that_is_placed_is_found():
    units, cluster = many(30)
    placed = next(part for part in units.parts if not isinstance(part, UnplacedRun))
    run = next(part for part in units.parts if isinstance(part, UnplacedRun) and part.unit_set.name == placed.name)
    rest = [part for part in units.parts if part is not run]
    assert placed.replica not in run.numbers
    numbers = range(min(placed.replica, *run.numbers), max(placed.replica, *run.numbers) + 1)
    told = run_rules([*rest, changed_run(run, numbers=numbers, _first=numbers[0])], cluster)
    assert f"PLAN-ONCE: Deployment default/{placed.unit.name} is in the plan twice" in told


@pytest.mark.parametrize("fields", [{"name": "no"}, {"name_prefix": "no"}, {"is_copied": False}, {"namespace": "no"}])
def test_a_run_of_another_set_is_found(fields):
    """Nor is a run taken for one of the queue whose units have other names."""
    units, cluster = many()
    *parts, last = units.parts
    other = last.unit_set._replace(**fields)
    assert run_rules([*parts, changed_run(last, unit_set=other)], cluster) != []


def test_members_of_gangs_are_compared_one_by_one():
    units, cluster = many(GANG="g")
    assert all(unit.node is None for unit in units)
    assert run_rules(units.parts, cluster) == []

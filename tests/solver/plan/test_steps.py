"""The order of steps: each state is valid, budgets are kept, and pods that wait for each other's places are told."""

from collections import Counter
from random import Random

import pytest
from msgspec import structs
from support.moving import HOST, holder, moving, objects_with_rules
from support.plan_building import (
    ALL,
    DRIVER,
    classes,
    cluster,
    device,
    devices,
    entry,
    holding,
    node,
    nodes,
    obj,
    of,
    pod,
    published,
    template,
    user,
)
from support.plan_outcomes import queued

import drasat
from drasat.models.results.plan import PlanStep
from drasat.models.workload.running import read_running_pods
from drasat.models.workload.units import Unit
from drasat.reports.plan import command_lines
from drasat.solver.engines.outcome import SearchInterrupted
from drasat.solver.plan import steps as steps_of_plans
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import order_of_steps, plan_with_moves
from drasat.solver.plan.outcome import PlannedMove, PlannedUnitOutcome
from drasat.solver.plan.steps import StepOrder, TemporaryPlaces
from drasat.solver.verification import steps
from drasat.solver.verification.steps import step_violations

WEB = {"labels": {"app": "web"}}


def done(outcome):
    return [(step.action, step.name, step.overlap) for step in outcome.steps]


def budget(allowed):
    made = obj("PodDisruptionBudget", "b", {"selector": {"matchLabels": {"app": "web"}}})
    return made | {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": allowed}}


def room_for_a_big_one():
    """A pod that waits needs a whole node, and each of two nodes has a pod."""
    there = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4")]
    return [*there, *holder("a", "n1", 0, **WEB, MOVE_COST="1"), *holder("b", "n2", 0, **WEB, MOVE_COST="2")]


def exchange():
    """Nodes of one device each: a pod that waits has room only if the pods on them change places."""
    there = [*nodes("n1", devices=1, cpu="3"), *nodes("n2", devices=1, cpu="2"), pod("w", cpu="2")]
    return [*there, *holder("a", "n2", 0, cpu="1", **WEB), *holder("b", "n1", 0, cpu="2", **WEB)]


def test_moves_come_before_what_they_make_room_for():
    assert done(moving(*room_for_a_big_one())) == [("move", "a", True), ("place", "big", False)]


def test_without_nodes_in_the_input_pods_without_claims_come_to_any_node():
    found = moving(pod("a"), pod("b"))
    assert [(step.action, step.name, step.node) for step in found.steps] == [("place", "a", ""), ("place", "b", "")]


def test_pods_that_change_places_wait_for_each_other():
    """MOV-5: the first one has no place while the second one moves, and the step says so."""
    found = moving(*exchange())
    assert [action for action, *_ in done(found)] == ["evict", "move", "place", "place"]
    evicted, moved, back, last = found.steps
    assert (evicted.name, moved.name, last.name) == (back.name, {"a": "b", "b": "a"}[back.name], "w")
    assert "wait for each other's places" in evicted.note
    assert "a swap without that needs 1 free device of class gpu elsewhere, which is not there" in evicted.note


def test_a_circle_is_broken_by_a_temporary_place():
    """MOV-5: the third node is to be free in the end, and one of the two pods lives there meanwhile."""
    there = [*exchange(), *nodes("n3", devices=1, cpu="1")]
    found = moving(*there, objective="admitted,fewest-nodes,move-cost,moves")
    assert {move.running.key[1]: move.unit.node for move in found.moves} == {"a": "n1", "b": "n2"}
    first, second, last, placed = found.steps
    assert [(one.action, one.name, one.source, one.node) for one in found.steps] == [
        ("move", "a", "n2", "n3"),
        ("move", "b", "n1", "n2"),
        ("move", "a", "n3", "n1"),
        ("place", "w", "", "n1"),
    ]
    assert ("a temporary place" in first.note, second.note, last.note, placed.note) == (True, "", "", "")
    assert len(found.moves) == 2
    check = found.units, found.gates, found.cel_errors
    assert step_violations(cluster(*classes(), *there), found.steps, *check) == []
    crowded = cluster(*classes(), *exchange(), *nodes("n3", devices=0, cpu="1"))
    assert step_violations(crowded, found.steps, *check) != []


def test_ctrl_c_among_the_steps_keeps_the_plan_and_an_order_without_temporary_places(monkeypatch):
    """The plan is whole, every state is verified, and the note does not say that there was no place."""
    there = [*exchange(), *nodes("n3", devices=1, cpu="1")]
    real, calls = TemporaryPlaces.find, []

    def interrupted_once(self, *given):
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(self, *given)

    monkeypatch.setattr(TemporaryPlaces, "find", interrupted_once)
    with pytest.raises(SearchInterrupted) as interrupt:
        moving(*there, objective="admitted,fewest-nodes,move-cost,moves")
    found = interrupt.value.answer
    assert [step.action for step in found.steps] == ["evict", "move", "place", "place"]
    assert "no time was left to look for a temporary place" in found.steps[0].note
    assert "a swap without that needs" not in found.steps[0].note
    assert (found.verified, found.placed) == (True, 3)
    check = found.units, found.gates, found.cel_errors
    assert step_violations(cluster(*classes(), *there), found.steps, *check) == []


def changes_of_places(seed):
    """CPUs of nodes, and pods with what they take, where they are and where they go, which all have room."""
    random = Random(seed)
    cpus = {f"n{number}": random.randint(3, 6) for number in range(3)}
    before, after, pods = dict(cpus), dict(cpus), {}
    for number in range(random.randint(3, 7)):
        own, here, there = random.randint(1, 3), random.choice([*cpus]), random.choice([*cpus])
        if before[here] >= own and after[there] >= own:
            before[here] -= own
            after[there] -= own
            pods[f"p{number}"] = own, random.randint(1, 4), here, there
    return cpus, pods


def has_an_order(cpus, pods):
    """Whether the pods can move one by one, by trying all orders."""
    moving, tried = {name for name, (*_, here, there) in pods.items() if here != there}, set()

    def goes_on(gone):
        if gone in tried:
            return False
        tried.add(gone)
        left = dict(cpus)
        for name, (own, _, here, there) in pods.items():
            left[there if name in gone else here] -= own
        can = [name for name in sorted(moving - gone) if left[pods[name][3]] >= pods[name][0]]
        return gone == moving or any(goes_on(gone | {name}) for name in can)

    return goes_on(frozenset())


def test_a_pod_moves_without_waiting_wherever_some_order_lets_all():
    """Of 600 changes of places; in some of them the cheapest pod that has room must not go first."""
    counts = Counter()
    for seed in range(600):
        cpus, pods = changes_of_places(seed)
        given = [node(name, cpu=str(cpu)) for name, cpu in cpus.items()]
        given += [
            one
            for name, (own, cost, here, _) in pods.items()
            for one in holder(name, here, cpu=str(own), MOVE_COST=str(cost))
        ]
        there = cluster(*given)
        moves = []
        for key, one in read_running_pods(there, ALL).items():
            place = pods[key[1]][3]
            if place != one.node:
                unit = PlannedUnitOutcome(queued("Pod", key[1], Unit(one.pod, (), *key), namespace=key[0]), place)
                moves.append(PlannedMove(one, unit))
        # After the deadline no temporary place is looked for.
        alone = StepOrder(there, ALL, moves, TemporaryPlaces(there, ALL, "strict", 0.0))
        _, found = order_of_steps(there, ALL, "strict", moves, (), None)
        possible = has_an_order(cpus, pods)
        assert (len(found) == len(moves)) == possible
        counts[possible, len(list(alone.steps())) == len(moves)] += 1
    assert counts[True, False] >= 10
    assert counts[False, False] >= 20


def test_a_limit_that_ends_among_the_steps_leaves_them_whole_and_ends_the_search(monkeypatch):
    """The clock passes the limit once the steps begin: no place is looked for, and a step says what that means.

    All steps are there, and every state between two of them is verified, though they were ordered too late.
    """
    there, ends = [*exchange(), *nodes("n3", devices=1, cpu="1")], []
    monkeypatch.setattr(steps_of_plans, "is_past", lambda deadline: ends.append(deadline) or True)
    monkeypatch.setattr(steps_of_plans, "first_fit", None)
    found = moving(*there, objective="admitted,fewest-nodes,move-cost,moves", time_limit=600.0)
    assert [step.action for step in found.steps] == ["evict", "move", "place", "place"]
    assert "no time was left to look for a temporary place" in found.steps[0].note
    assert "a swap without that needs" not in found.steps[0].note
    assert (found.placed, found.verified, len(found.moves)) == (3, True, 2)
    assert None not in ends
    check = found.units, found.gates, found.cel_errors
    assert step_violations(cluster(*classes(), *there), found.steps, *check) == []


def test_commands_say_that_a_pod_that_moves_again_may_have_another_name():
    there = cluster(*classes(), *exchange(), *nodes("n3", devices=1, cpu="1"))
    found = drasat.plan(there, moves="any", objective="admitted,fewest-nodes,move-cost,moves")
    lines = list(command_lines(found.document))
    assert [line for line in lines if "moves again" in line] == [
        "# a moves again: unless a StatefulSet made it, the pod on n3 has another name"
    ]
    assert [line for line in lines if line.startswith("kubectl cordon")] == [
        f"kubectl cordon {name}" for name in ("n2", "n1", "n3")
    ]


def test_a_temporary_place_is_none_that_a_budget_forbids():
    """One pod of the budget may be away, so that they move one by one."""
    there = [*exchange(), *nodes("n3", devices=1, cpu="1"), budget(1)]
    found = moving(*there, objective="admitted,fewest-nodes,move-cost,moves")
    assert [step.action for step in found.steps] == ["move", "move", "move", "place"]
    assert not any("exceeded" in step.note for step in found.steps)


@pytest.mark.parametrize(("allowed", "exceeded"), [(1, True), (2, False)])
def test_a_step_says_where_a_budget_cannot_be_kept(allowed, exceeded):
    """MOV-4: two pods of one budget change places, so that both are away at once."""
    found = moving(*exchange(), budget(allowed))
    assert any("PodDisruptionBudget" in step.note for step in found.steps) == exceeded
    assert found.placed == 3


def test_budgets_are_used_one_after_the_other():
    """F3, MOV-4: several pods of a budget that allows one of them to be away move one by one."""
    there = [*nodes("n1", "n2", "n3"), template("t4", of(4)), budget(1), *(user(name, spec="t4") for name in "vw")]
    found = moving(*there, *(one for n in (1, 2, 3) for one in holder(f"r{n}", f"n{n}", 0, **WEB)))
    assert [action for action, *_ in done(found)] == ["move", "move", "place", "place"]
    assert {step.budget for step in found.steps if step.action == "move"} == {"default/b"}


def test_a_named_claim_is_free_only_when_its_pod_is_gone():
    """MOV-6: the next pod has the same claim, so that both cannot run at once."""
    there = [*nodes("n1", "n2"), template("t4", of(4)), user("big", spec="t4"), *holder("b", "n2", 0, owner=None)]
    alone = pod("a", entry("s", claim="s"), spec={"nodeName": "n1"}, owner=("ReplicaSet", "web"))
    found = moving(*there, holding("s", "n1", "gpu-0"), alone)
    assert done(found) == [("move", "a", False), ("place", "big", False)]


def parts_of_a_device():
    """A node whose device has four slices of memory, and parts of two slices each that begin with each of the first."""
    sets = [{"name": "memory", "counters": {f"m{one}": {"value": "1"} for one in range(4)}}]
    parts = [
        device(
            f"gpu-{first}",
            start=first,
            consumesCounters=[
                {"counterSet": "memory", "counters": {f"m{one}": {"value": "1"} for one in (first, first + 1)}}
            ],
        )
        for first in range(3)
    ]
    return [
        node("n1", cpu="4"),
        published("n1", count=2, slice_name="counters", sharedCounters=sets),
        published("n1", *parts, count=2),
    ]


def test_a_pod_is_not_beside_itself_on_what_both_are_made_of():
    """The first and the second part have a slice of memory in common: the pod has to leave before it comes back."""
    start = f"device.attributes['{DRIVER}'].start"
    there = [*parts_of_a_device(), template("last", of(1, "gpu", f"{start} == 2")), user("w", spec="last")]
    found = moving(*there, *holder("a", "n1", 1))
    assert done(found) == [("move", "a", False), ("place", "w", False)]
    assert devices(found) == {"a": [("n1", "gpu-0")], "w": [("n1", "gpu-2")]}


def step(action, name, source="", node="", kind="Pod"):
    more = {"namespace": "default", "overlap": False, "cost": 0, "budget": "", "claims": (), "note": ""}
    return PlanStep(action=action, kind=kind, name=name, source=source, node=node, **more)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda steps: steps[::-1], "DEV-1"),
        (lambda steps: steps[:-1], "STEP-END"),
        (lambda steps: [step("move", "nobody", "n1", "n2"), *steps], "STEP-POD"),
        (lambda steps: [step("evict", "a", "n9"), *steps], "STEP-POD"),
        (lambda steps: [*steps, step("place", "big", node="n1")], "STEP-POD"),
        (lambda steps: [*steps, step("remove", "n1", "n1", kind="Node")], "STEP-NODE"),
        (lambda steps: [step("add", "n1", node="n1", kind="Node"), *steps], "STEP-NODE"),
    ],
    ids=["reversed", "incomplete", "a stranger", "elsewhere", "twice", "in use", "there already"],
)
def test_the_verifier_finds_what_is_wrong(change, rule):
    given = [*room_for_a_big_one(), budget(1)]
    found, whole = moving(*given), cluster(*classes(), *given)
    check = found.units, found.gates, found.cel_errors
    assert step_violations(whole, found.steps, *check) == []
    assert rule in {one.rule for one in step_violations(whole, change(list(found.steps)), *check)}


def test_the_verifier_counts_who_is_away():
    given = [*exchange(), budget(1)]
    found, whole = moving(*given), cluster(*classes(), *given)
    silent = [structs.replace(one, note="") for one in found.steps]
    wrong = step_violations(whole, silent, found.units, found.gates, found.cel_errors)
    assert {one.rule for one in wrong} == {"STEP-BUDGET"}


def test_places_one_after_the_other_are_verified_beside_each_other():
    """Two pods are placed in a row where there is room for one of them alone, or on one device."""
    waits = [user(name, spec="t") for name in "vw"]
    given = cluster(*classes(), *nodes("n1", devices=2, cpu="4"), *waits)
    crowded = cluster(*classes(), *nodes("n1", devices=2, cpu="1"), *waits)
    found = moving(*nodes("n1", devices=2, cpu="4"), *waits)
    first, second = found.steps
    made = structs.replace(second.claims[0], allocation=first.claims[0].allocation)
    twice = [first, structs.replace(second, claims=(made,))]
    check = found.units, found.gates, found.cel_errors
    assert step_violations(given, found.steps, *check) == []
    assert "POD-ROOM" in {one.rule for one in step_violations(crowded, found.steps, *check)}
    assert "DEV-1" in {one.rule for one in step_violations(given, twice, *check)}


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ({"leaderworkerset.sigs.k8s.io/name": "s", "leaderworkerset.sigs.k8s.io/group-index": "0"}, "STEP-TOGETHER"),
        ({"jobset.sigs.k8s.io/jobset-name": "s"}, "STEP-TOGETHER"),
        ({}, None),
    ],
)
@pytest.mark.parametrize("preempt", [False, True])
def test_the_verifier_lets_pods_leave_only_with_those_that_restart_with_them(labels, rule, preempt):
    """MOV-7: a plan for single pods is wrong for a cluster in which they are of one group."""
    given = room_for_a_big_one()
    if preempt:
        next(one for one in given if one["metadata"]["name"] == "big")["spec"]["priority"] = 1
    found = plan_with_moves(
        cluster(*classes(), *given), MoveOptions(preempts=preempt, moves=not preempt), gap=0.0, time_limit=None
    )
    assert len(found.victims or found.moves) == 1
    for one in given:
        if one["kind"] == "Pod" and one["metadata"]["name"] != "big":
            one["metadata"]["labels"] = {**one["metadata"].get("labels", {}), **labels}
    there = cluster(*classes(), *given)
    wrong = step_violations(there, found.steps, found.units, found.gates, found.cel_errors, victims=found.victims)
    assert {one.rule for one in wrong} == ({rule} if rule else set())


def test_a_group_that_is_alone_with_itself_may_go():
    """MOV-7: the other group of the set stays."""
    given = room_for_a_big_one()
    names = {"leaderworkerset.sigs.k8s.io/name": "s"}
    for number, one in enumerate(one for one in given if one["kind"] == "Pod" and one["metadata"]["name"] != "big"):
        one["metadata"]["labels"] = {**names, "leaderworkerset.sigs.k8s.io/group-index": str(number)}
    assert "STEP-TOGETHER" not in rules_of_an_eviction(given)


def test_who_is_on_the_way_out_is_not_left():
    """MOV-7: of two pods of a set one is being deleted."""
    given = room_for_a_big_one()
    for one in given:
        if one["kind"] == "Pod" and one["metadata"]["name"] != "big":
            one["metadata"]["labels"] = {"jobset.sigs.k8s.io/jobset-name": "s"}
    assert "STEP-TOGETHER" in rules_of_an_eviction(given)
    next(one for one in given if one["kind"] == "Pod" and one["metadata"]["name"] == "b")["metadata"].update(
        deletionTimestamp="2026-01-01T00:00:00Z"
    )
    assert "STEP-TOGETHER" not in rules_of_an_eviction(given)


def rules_of_an_eviction(given):
    """What the verifier says of the eviction of pod a."""
    nothing = {"node": "", "overlap": False, "cost": 0, "budget": "", "claims": (), "note": ""}
    gone = PlanStep(action="evict", kind="Pod", namespace="default", name="a", source="n1", **nothing)
    return {one.rule for one in step_violations(cluster(*classes(), *given), [gone], (), ALL, "strict")}


def apart(app):
    """No pod with this label on the same node."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def host(name, cpu, devices):
    found = nodes(name, devices=devices, cpu=cpu)
    found[0]["metadata"]["labels"] = {HOST: name}
    return found


def test_a_pod_moves_once_its_rules_hold():
    """There is room for the cheaper pod at once, but the other one, as both must be alone, has to leave first."""
    given = [*host("n1", "4", 2), *host("n2", "3", 2), *host("n3", "1", 1), user("w", spec="t2", cpu="4")]
    own = {"labels": {"app": "x"}, "spec_more": apart("x")}
    given += [*holder("a", "n1", 0, cpu="2", MOVE_COST="1", **own), *holder("b", "n2", 0, MOVE_COST="9", **own)]
    found = moving(*given)
    assert [(action, name) for action, name, _ in done(found)] == [("move", "b"), ("move", "a"), ("place", "w")]
    assert not any("rules" in step.note for step in found.steps)
    second, first, last = found.steps
    check = found.units, found.gates, found.cel_errors
    wrong = step_violations(cluster(*classes(), *given), [first, second, last], *check)
    assert "STEP-RULES" in {one.rule for one in wrong}


@pytest.mark.parametrize("seed", [*range(12), 19, 447, 3056])
def test_steps_keep_the_rules_of_pods_or_say_where_they_do_not_hold(seed):
    """Every arrival is verified by the rules beside what runs by then (STEP-RULES)."""
    given = objects_with_rules(seed)
    found = moving(*given, objective="priority,admitted,fewest-nodes")
    assert found.verified
    silent = [structs.replace(step, note="") for step in found.steps]
    wrong = step_violations(cluster(*classes(), *given), silent, found.units, found.gates, found.cel_errors)
    told = any("rules about other pods do not hold" in step.note for step in found.steps)
    assert ("STEP-RULES" in {one.rule for one in wrong}) == told


def test_moves_that_have_room_together_are_verified_together(monkeypatch):
    """Six pods leave their nodes for a large one; where two would get one device, the step that does it is named."""
    names = [f"n{place}" for place in range(6)]
    there = [*nodes(*names, devices=1, cpu="4"), *nodes("large", devices=6, cpu="64")]
    there += [one for name in names for one in holder(f"p-{name}", name, 0, **WEB)]
    found = moving(*there, objective="admitted,fewest-nodes,move-cost,moves")
    assert [step.node for step in found.steps] == ["large"] * 6
    calls, real = [], steps.verify
    monkeypatch.setattr(steps, "verify", lambda *given, **options: calls.append(given[1]) or real(*given, **options))
    given, check = cluster(*classes(), *there), (found.units, found.gates, found.cel_errors)
    assert step_violations(given, found.steps, *check) == []
    assert [len(placements) for placements in calls] == [6]
    second = structs.replace(found.steps[1].claims[0], allocation=found.steps[0].claims[0].allocation)
    twice = [found.steps[0], structs.replace(found.steps[1], claims=(second,)), *found.steps[2:]]
    wrong = step_violations(given, twice, *check)
    assert {(one.rule, one.message.partition(":")[0]) for one in wrong} == {("DEV-1", "step 2")}

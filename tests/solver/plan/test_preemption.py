"""Plans in which running pods lose their places: equal to trying everything, and who may not."""

from collections import Counter
from dataclasses import replace

import pytest
from msgspec import structs
from support.moving import holder
from support.plan_building import classes, cluster, entry, holding, nodes, obj, of, pod, running, template
from support.preempting import after_steps, drawing_scene, exempt_scene, preempting_scene, varied_scene

import drasat
from drasat.solver.plan import question
from drasat.solver.plan.lifted import MoveOptions
from drasat.solver.plan.moves import plan_with_moves
from drasat.solver.verification.steps import step_violations
from drasat.solver.verification.verify import VerificationTimeoutError


def preempting(*given, **options):
    """The plan of these objects, in which running pods may lose their places; exact unless said otherwise."""
    return drasat.plan(cluster(*classes(), *given), preempt=True, **{"gap": 0.0, "time_limit": None, **options})


def reached(found):
    """What all stages but those of capacity come to, so that more is better."""
    stages = [one for one in found.document.objective if one.stage != "capacity-lost"]
    return tuple(one.value if one.sense == "max" else -one.value for one in stages)


def troubles(scene):
    """What is wrong with the plan of a scene."""
    found = preempting(*scene.objects(), **({"moves": "any"} if scene.moves else {}))
    best = scene.all_best()
    if reached(found) not in best or found.outcome != "Optimal":
        return f"{found.outcome}: {[(s.stage, s.value, s.bound) for s in found.document.objective]} and not {best}"
    lost = [step for step in found.steps if step.action == "evict"]
    return "" if len(lost) >= len(found.victims) and found.document.verified else "the steps are not whole"


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("made", [preempting_scene, varied_scene, drawing_scene, exempt_scene])
def test_plans_with_preemption_are_as_good_as_trying_everything(seed, made):
    """EVT-17 to EVT-19: what is placed, budgets, victims by priority and number, devices lost, then moves.

    Varied scenes have admin access, gangs that wait, and pods that take no places. Devices of drawing ones take CPU of
    their nodes (NAR-1, NAR-11). Some pods of exempt ones use nothing of their budgets (EVT-5, MOV-3). Every state
    between two steps is verified, too.
    """
    assert troubles(made(seed)) == ""


def resumed_troubles(scene):
    """What is wrong with plans that are asked for again after each step of the first one."""
    scene = replace(scene, moves=False, pods=tuple(replace(one, never=False) for one in scene.pods))
    first = preempting(*scene.objects())
    nodes = {one.unit: one.node for one in first.units if one.node}
    priorities = {one.name: one.priority for one in scene.pods}
    for number in range(1, len(first.steps) + 1):
        taken, left = first.steps[:number], first.steps[number:]
        found = preempting(*after_steps(scene, taken))
        there = [*(step.name for step in taken if step.action == "place"), *(u.unit for u in found.units if u.node)]
        reached = Counter(map(priorities.get, there))
        victims = Counter(priorities[one.name] for one in found.victims)
        wanted = Counter(priorities[step.name] for step in left if step.action == "evict")
        if (
            found.outcome != "Optimal"
            or reached != Counter(map(priorities.get, nodes))
            or sum((victims - wanted).values())
        ):
            return f"after {number} of {len(first.steps)} steps: {reached}, {victims} and not {wanted}"
    return ""


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("made", [preempting_scene, varied_scene])
def test_the_same_question_on_the_changed_cluster_goes_on(seed, made):
    """After each step the rest is planned anew: as much is placed of each priority, and nobody else goes."""
    assert resumed_troubles(made(seed)) == ""


def test_of_all_who_share_a_claim_the_last_one_frees_it():
    """EVT-18: its devices count as lost then, whether anything needs them."""
    assert troubles(preempting_scene(1077, running=8, waiting=4)) == ""


def test_what_no_row_prices_may_still_be_needed():
    """A bound by enumeration once left out units that only rows without a price name."""
    assert troubles(preempting_scene(648, running=8, waiting=4)) == ""


def waiting(name="big", spec="t4", priority=100, **options):
    """A pod that waits for all devices of a node."""
    return user(name, spec=spec, **options, spec_more={"priority": priority})


def user(name, spec="t4", spec_more=None, **options):
    return pod(name, entry("g", template=spec), spec=spec_more or {}, **options)


def lost(found):
    return sorted(one.name for one in found.victims)


def one_node(*more, devices=4):
    return [*nodes("n1", devices=devices), template("t4", of(4)), *more]


def low(name, where, *held, priority=0, **options):
    return holder(name, where, *held, spec_more={"priority": priority, **options.pop("spec_more", {})}, **options)


def test_the_pod_with_the_only_device_goes():
    """E1: a claim's device, of which kube-scheduler gains nothing by preemption."""
    found = preempting(*one_node(waiting(), *low("a", "n1", 0)))
    assert (lost(found), found.placed, [step.action for step in found.steps]) == (["a"], 1, ["evict", "place"])


@pytest.mark.parametrize(("allowed", "gone"), [(0, "a"), (1, "b")])
def test_a_budget_counts_more_than_the_priority_of_victims(allowed, gone):
    """E4, EVT-19: the pod of the budget stays though its priority is lower, unless the budget allows it to go."""
    budget = obj("PodDisruptionBudget", "b", {"selector": {"matchLabels": {"app": "b"}}})
    budget |= {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": allowed}}
    there = [
        *nodes("n1", devices=2),
        *low("a", "n1", 0, priority=10),
        *low("b", "n1", 1, labels={"app": "b"}, priority=5),
    ]
    found = preempting(*there, budget, waiting(spec="t"))
    assert lost(found) == [gone]


def test_an_exceeded_budget_is_named_and_its_step_says_so():
    budget = obj("PodDisruptionBudget", "b", {"selector": {"matchLabels": {"app": "web"}}})
    budget |= {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": 0}}
    found = preempting(*one_node(waiting(), budget, *low("a", "n1", 0, labels={"app": "web"})))
    assert found.victims[0].budgets == ("default/b",)
    assert "PodDisruptionBudget default/b allows 0 to go" in found.steps[0].note


@pytest.mark.parametrize(("spec", "named"), [({"selector": {}}, ("default/b",)), ({}, ())])
def test_a_budget_without_a_selector_counts_no_pod(spec, named):
    """EVT-5, policy/v1: an empty selector counts all of the namespace; the verifier reads it so, too."""
    budget = obj("PodDisruptionBudget", "b", spec, status={"disruptionsAllowed": 0}) | {"apiVersion": "policy/v1"}
    assert preempting(*one_node(waiting(), budget, *low("a", "n1", 0))).victims[0].budgets == named


def shared(*users):
    """A claim by name that pods of a node have."""
    made = holding("s", "n1", "gpu-0", "gpu-1")
    made["status"]["reservedFor"] = [{"resource": "pods", "name": user, "uid": user} for user in users]
    pods = [running(user, "n1", owner=("ReplicaSet", "web")) for user in users]
    for one in pods:
        one["spec"]["resourceClaims"] = [entry("s", claim="s")]
    return [made, *pods]


def test_a_claim_is_free_once_all_that_have_it_are_gone():
    """E5, EVT-18: both pods go for the devices of the claim that they share."""
    found = preempting(*one_node(waiting(), *shared("p", "q")))
    assert (lost(found), found.victims[0].claims) == (["p", "q"], ("default/s",))


def test_a_claim_shared_with_a_pod_that_stays_is_not_free():
    """EVT-18: one of its pods has the priority of what waits."""
    given = shared("p", "q")
    given[1]["spec"]["priority"] = 100
    found = preempting(*one_node(waiting(), *given))
    assert (lost(found), found.placed, found.outcome) == ([], 0, "Optimal")


def group(name="g", mode=None, least=None, priority=0, **more):
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    whole = {"disruptionMode": mode} if mode else {}
    made = obj("PodGroup", name, {"schedulingPolicy": policy, "priority": priority, **whole, **more})
    return made | {"apiVersion": "scheduling.k8s.io/v1beta1"}


GROUPED = {"spec_more": {"schedulingGroup": {"podGroupName": "g"}}}


def test_the_claim_of_a_group_is_free_once_the_group_is_deleted():
    """E6, PGC-8: four pods of the group have one claim, and all of them go."""
    given = shared("p", "q", "r", "s2")
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}
    given[0]["status"]["reservedFor"] = [consumer]
    for one in given[1:]:
        one["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    entries = [{"name": "s", "resourceClaimName": "s"}]
    found = preempting(*one_node(waiting(), *given, group(resourceClaims=entries)))
    assert lost(found) == ["p", "q", "r", "s2"]


@pytest.mark.parametrize(
    ("mode", "least", "gone"), [("PodGroup", None, 3), ({"all": {}}, 2, 3), (None, 2, 1), (None, None, 1)]
)
def test_groups_go_whole_or_down_to_their_minimum(mode, least, gone):
    """EVT-8, WLG-7: in the spellings of 1.36 and 1.37."""
    members = [one for n in range(3) for one in low(f"m{n}", "n1", n, **GROUPED)]
    there = [*nodes("n1", devices=3), *members, group(mode=mode, least=least)]
    assert len(lost(preempting(*there, waiting(spec="t")))) == gone


def test_single_pods_go_rather_than_a_group_that_goes_whole():
    """E7: a gang of two takes two nodes of single pods, and not those of a group of eight."""
    names = [f"n{number}" for number in range(1, 11)]
    members = [one for name in names[2:] for one in low(f"g-{name}", name, 0, priority=10, **GROUPED)]
    singles = [one for name in names[:2] for one in low(f"s-{name}", name, 0, priority=10)]
    gang = [waiting(f"w{n}", spec="t", priority=50, GANG="both") for n in range(2)]
    found = preempting(*nodes(*names, devices=1), *members, *singles, group(mode={"all": {}}, priority=10), *gang)
    assert (lost(found), found.placed) == (["s-n1", "s-n2"], 2)


@pytest.mark.parametrize("where", ["pod", "class"])
def test_who_never_preempts_takes_only_room_that_is_there(where):
    """E8, EVT-1: by the policy of the pod, or of its PriorityClass."""
    known = obj("PriorityClass", "shy", value=100, preemptionPolicy="Never")
    spec = {"priority": 100, "preemptionPolicy": "Never"} if where == "pod" else {"priorityClassName": "shy"}
    shy = [user(name, spec="t", spec_more=spec) for name in ("v", "w")]
    found = preempting(*nodes("n1", devices=2), known, *low("a", "n1", 0), *shy)
    assert (lost(found), found.placed) == ([], 1)
    assert "preemptionPolicy is Never" in next(one.reasons[0].message for one in found.units if not one.node)
    assert lost(preempting(*nodes("n1", devices=2), known, *low("a", "n1", 0), *shy, waiting("x", spec="t"))) == ["a"]


def test_nobody_goes_for_a_unit_of_the_same_or_a_lower_priority():
    """EVT-2: though a unit of a higher priority waits beside it."""
    there = [*nodes("n1", "n2", devices=2), *low("a", "n1", 0, priority=50), *low("b", "n2", 0, 1, priority=50)]
    waits = [waiting("x", spec="t"), waiting("y", spec="t2", priority=50), waiting("z", spec="t2", priority=10)]
    found = preempting(*there, *waits)
    assert (lost(found), found.placed, found.outcome) == ([], 1, "Optimal")


def test_pods_that_are_being_deleted_count_as_gone():
    """EVT-17: they are no victims, and what they hold is free without any."""
    going = low("a", "n1", 0, meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = preempting(*one_node(waiting(), *going))
    assert (lost(found), found.placed) == ([], 1)
    assert any("being deleted" in notice for notice in found.document.notices)


def test_admin_access_holds_nothing():
    """DEV-1: a pod that looks at all devices need not go."""
    look = holder("look", "n1", 0, 1, 2, 3, wanted=of(4, adminAccess=True))
    for result in look[1]["status"]["allocation"]["devices"]["results"]:
        result["adminAccess"] = True
    found = preempting(*one_node(waiting(), *look, *low("a", "n1", 0)))
    assert lost(found) == ["a"]


@pytest.mark.parametrize(
    "options",
    [
        {"owner": ("DaemonSet", "d")},
        {"meta": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}},
        {"meta": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "owner": ("Node", "n1")},
        {"priority": 100},
    ],
)
def test_who_stays_whatever_waits(options):
    """EVT-17 with section 6: what is a part of its node, what asks to be left alone, and what is as important."""
    assert lost(preempting(*one_node(waiting(), *low("a", "n1", 0, **options)))) == []


@pytest.mark.parametrize(
    "options",
    [
        {"owner": None},
        {"spec_more": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        {"spec_more": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}},
    ],
)
def test_who_may_go_though_it_may_not_move(options):
    """F7, EVT-2: what nobody makes again, and what has data on its node or elsewhere."""
    found = preempting(*one_node(waiting(), *low("a", "n1", 0, **options)))
    assert (lost(found), found.victims[0].returns) == (["a"], "owner" not in options)


def test_of_equal_pods_the_youngest_goes():
    """EVT-19: on one node, where nothing else tells them apart."""
    ages = {"a": "2026-01-03T00:00:00Z", "b": "2026-01-02T00:00:00Z", "c": "2026-01-04T00:00:00Z"}
    there = [
        one for n, (name, age) in enumerate(ages.items()) for one in low(name, "n1", n, meta={"creationTimestamp": age})
    ]
    assert lost(preempting(*nodes("n1", devices=3), *there, waiting(spec="t"))) == ["c"]


PREFERS = {"annotations": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}}


@pytest.mark.parametrize("preferring", ["a", "b", "c"])
def test_of_equal_pods_one_that_prefers_to_stay_is_the_last_choice(preferring):
    """MOV-1: whether it is the youngest, or else no other will do."""
    there = [
        one
        for n, name in enumerate("abc")
        for one in low(name, "n1", n, meta={"creationTimestamp": f"2026-01-0{3 - n}T00:00:00Z"})
    ]
    next(one for one in there if one["metadata"]["name"] == preferring)["metadata"] |= PREFERS
    for number in (2, 3):
        spec = template("all", of(number))
        found = preempting(*nodes("n1", devices=3), *there, spec, waiting(spec="all"))
        assert (preferring in lost(found), found.placed) == (number == 3, 1)


def test_with_moves_a_pod_goes_elsewhere_instead():
    there = [*nodes("n1", "n2"), template("t4", of(4)), waiting(), *low("a", "n1", 0), *low("b", "n2", 0, 1)]
    found = preempting(*there, moves="any")
    assert (lost(found), [step.action for step in found.steps]) == ([], ["move", "place"])
    assert lost(preempting(*there, moves=0)) == ["a"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda one: structs.replace(one, priority=7), "PREEMPT-PRIORITY"),
        (lambda one: structs.replace(one, budgets=("default/b",)), "PREEMPT-BUDGET"),
        (lambda one: structs.replace(one, node="n2"), "STEP-POD"),
        (lambda one: structs.replace(one, name="nobody"), "STEP-POD"),
    ],
)
def test_the_verifier_finds_what_is_wrong_of_victims(change, rule):
    """EVT-2, EVT-5: of a plan in which one pod goes for another one."""
    budget = obj("PodDisruptionBudget", "b", {"selector": {"matchLabels": {"app": "web"}}})
    budget |= {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": 1}}
    given = cluster(*classes(), *one_node(waiting(), budget, *low("a", "n1", 0, labels={"app": "web"})))
    found = plan_with_moves(given, MoveOptions(preempts=True, moves=False), gap=0.0, time_limit=None)
    check = given, found.steps, found.units, found.gates, found.cel_errors
    assert step_violations(*check, victims=found.victims) == []
    assert rule in {one.rule for one in step_violations(*check, victims=[change(one) for one in found.victims])}
    assert {one.rule for one in step_violations(*check)} & {"STEP-POD"}


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda made: made["spec"].update(priority=100), "PREEMPT-PRIORITY"),
        (lambda made: made["metadata"]["annotations"].update({"karpenter.sh/do-not-disrupt": "true"}), "PREEMPT-KEPT"),
    ],
)
def test_the_verifier_reads_the_manifests_itself(spoil, rule):
    """A plan for one cluster is wrong for another one, in which the pod has to stay."""
    given = one_node(waiting(), *low("a", "n1", 0, meta={"annotations": {"x": "y"}}))
    found = plan_with_moves(
        cluster(*classes(), *given), MoveOptions(preempts=True, moves=False), gap=0.0, time_limit=None
    )
    spoil(next(one for one in given if one["metadata"]["name"] == "a"))
    wrong = cluster(*classes(), *given)
    rules = step_violations(wrong, found.steps, found.units, found.gates, found.cel_errors, victims=found.victims)
    assert rule in {one.rule for one in rules}


def test_the_verifier_counts_who_of_a_group_is_left():
    """EVT-8: one of a group that goes whole."""
    there = [one for n in range(2) for one in low(f"m{n}", "n1", n, **GROUPED)]
    given = cluster(*classes(), *nodes("n1", devices=2), *there, group(), waiting(spec="t"))
    found = plan_with_moves(given, MoveOptions(preempts=True, moves=False), gap=0.0, time_limit=None)
    whole = cluster(*classes(), *nodes("n1", devices=2), *there, group(mode={"all": {}}), waiting(spec="t"))
    rules = step_violations(whole, found.steps, found.units, found.gates, found.cel_errors, victims=found.victims)
    assert "PREEMPT-GROUP" in {one.rule for one in rules}


def test_what_is_cut_short_takes_no_place_in_vain():
    """A plan whose time is over evicts nobody for whom there is room beside what it places."""
    names = [f"n{number}" for number in range(12)]
    there = [one for name in names for n in range(4) for one in low(f"{name}-{n}", name, n, cpu="0")]
    found = preempting(*nodes(*names), *there, *(waiting(f"w{n}", spec="t2") for n in range(4)), time_limit=0.0)
    assert len(found.victims) == 2 * found.placed
    assert found.document.verified


def test_a_claim_of_a_group_without_pods_stays():
    """PGC-8, EVT-18: nobody is known who would delete the group."""
    held = holder("x", "a", 0, spec_more={"priority": 0})
    held[1]["status"]["reservedFor"] = [
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "old", "uid": "u"}
    ]
    found = preempting(*nodes("a", devices=1), *held, waiting(spec="t"))
    assert (found.placed, found.victims) == (0, ())


def test_what_is_not_verified_in_time_evicts_nobody(monkeypatch):
    def late(*given, **options):
        if options.get("deadline") is not None:
            raise VerificationTimeoutError(0)

    monkeypatch.setattr(question, "check_plan", late)
    found = preempting(*one_node(waiting(), *low("a", "n1", 0)), time_limit=60.0)
    assert (lost(found), found.placed, found.steps) == ([], 0, ())


def test_nobody_loses_a_place_for_a_claim_of_no_pod():
    """EVT-1: pods preempt. A claim has a place in what is free, unless a pod of higher priority takes it."""
    held = holder("low", "n1", 0, spec_more={"priority": -5})
    loose = obj("ResourceClaim", "loose", of(1))
    found = preempting(*nodes("n1", devices=1), *held, loose)
    assert (found.placed, found.victims, found.outcome) == (0, (), "Optimal")
    assert "no pod asks for it" in found.document.units[0].reasons[0].message
    beside = preempting(*nodes("n1", devices=2), *held, loose)
    assert (beside.placed, beside.victims) == (1, ())
    above = pod("w", entry("g", template="t"), cpu="1", spec={"priority": 10})
    both = preempting(*nodes("n1", devices=2), *held, loose, above)
    assert [(one.name, one.node) for one in both.document.units] == [("loose", None), ("w", "n1")]
    assert both.victims == ()

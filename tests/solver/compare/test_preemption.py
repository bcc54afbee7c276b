"""Preemption as kube-scheduler does it: whom it displaces, on which node, and what it never gains."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from msgspec import structs
from support.moving import holder
from support.plan_building import classes, cluster, entry, node, nodes, obj, of, pod, template
from support.preempting import preempting_scene

import drasat
from drasat.models.kubernetes.gates import gates_of
from drasat.solver.compare.figures import figures, scheduling_input
from drasat.solver.compare.preemption import PREEMPTOR, preempt_like_scheduler
from drasat.solver.verification.preemption import preemption_violations


def posed(*given, seed=0, **gates):
    made = cluster(*classes(), *given)
    options = {"cel_errors": "kube", "seed": seed, "namespace": None, "selector": ""}
    return scheduling_input(made, gates=gates_of(gates), **options)


def preempted(*given, deadline=None, **options):
    """What kube-scheduler makes of these objects."""
    return preempt_like_scheduler(posed(*given, **options), deadline)


def where(found):
    """The node of each unit that has one."""
    return {one.unit.name: one.node for one in found.units if one.node}


def lost(found):
    return [one.name for one in found.victims]


def decided(found, name):
    return next(one for key, one in found.decisions.items() if key[2] == name)


def low(name, where, *held, priority=0, start=None, **options):
    made = holder(name, where, *held, spec_more={"priority": priority, **options.pop("spec_more", {})}, **options)
    made[0]["status"] |= {"startTime": start} if start else {}
    return made


def waiting(name="w", cpu="8", priority=100, **spec):
    return pod(name, cpu=cpu, spec={"priority": priority, **spec})


def budget(name="b", allowed=0, **status):
    made = obj("PodDisruptionBudget", name, {"selector": {"matchLabels": {name: "yes"}}})
    return made | {"apiVersion": "policy/v1", "status": {"disruptionsAllowed": allowed, **status}}


def group(name="g", least=None, priority=0, **more):
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    made = obj("PodGroup", name, {"schedulingPolicy": policy, "priority": priority, **more})
    return made | {"apiVersion": "scheduling.k8s.io/v1beta1"}


def of_group(name="g", **spec):
    return {"schedulingGroup": {"podGroupName": name}, **spec}


def test_no_device_is_gained():
    """E1, EVT-9: devices of pods that could be displaced count as in use."""
    w = pod("w", entry("g", template="t4"), cpu="1", spec={"priority": 100})
    found = preempted(*nodes("n1"), *low("a", "n1", 0, 1, 2, 3), w, template("t4", of(4)))
    assert (lost(found), where(found), decided(found, "w").action) == ([], {}, "nothing")
    assert "count as in use" in decided(found, "w").reason


def test_resources_of_device_plugins_are_gained():
    """E2, EVT-11: they are counted on the node."""
    asks = {"containers": [{"name": "c", "resources": {"limits": {"x.com/gpu": "1"}, "requests": {"x.com/gpu": "1"}}}]}
    there = [node("n1", **{"x.com/gpu": "1"}), pod("a", spec={"nodeName": "n1", **asks})]
    found = preempted(*there, pod("w", spec={"priority": 9, **asks}))
    assert (lost(found), where(found)) == (["a"], {"w": "n1"})


def crowded(*more, **of_b):
    """E3: a node with one free device and 4 of 12 CPUs free, and a pod that asks for a device and 8 CPUs."""
    there = [*nodes("n1", devices=2, cpu="12"), *low("a", "n1", cpu="4", priority=10)]
    w = pod("w", entry("g", template="t"), cpu="8", spec={"priority": 100})
    return [*there, *low("b", "n1", 0, cpu="4", priority=5, **of_b), w, *more]


def test_the_less_important_pod_goes():
    """E3, EVT-4: the more important one is put back first."""
    found = preempted(*crowded())
    assert (lost(found), where(found), found.victims[0].devices) == (["b"], {"w": "n1"}, 1)


@pytest.mark.parametrize(
    ("allowed", "gone"), [({"allowed": 0}, "a"), ({"allowed": 1}, "b"), ({"disruptedPods": {"b": None}}, "b")]
)
def test_pods_of_budgets_are_put_back_first(allowed, gone):
    """E4, EVT-5: unless the budget allows the loss, or the pod is on its way out."""
    assert lost(preempted(*crowded(budget(**allowed), labels={"b": "yes"}))) == [gone]


def test_nothing_but_the_priority_protects():
    """EVT-2: neither owners nor annotations nor storage."""
    kept = {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}
    disk = {"volumes": [{"name": "v", "emptyDir": {}}]}
    there = [*nodes("n1", cpu="4"), *low("a", "n1", cpu="4", owner=("DaemonSet", "d"), meta=kept, spec_more=disk)]
    assert lost(preempted(*there, waiting(cpu="4"))) == ["a"]
    assert lost(preempted(*there, waiting(cpu="4", priority=0))) == []


@pytest.mark.parametrize("where_it_is", ["pod", "class"])
def test_who_never_preempts_waits(where_it_is):
    """E8, EVT-1."""
    shy = obj("PriorityClass", "shy", value=100, preemptionPolicy="Never")
    spec = {"priority": 100, "preemptionPolicy": "Never"} if where_it_is == "pod" else {"priorityClassName": "shy"}
    found = preempted(*nodes("n1"), shy, *low("a", "n1", cpu="4"), pod("w", cpu="4", spec=spec))
    assert (lost(found), "Never" in decided(found, "w").reason) == ([], True)


def test_devices_of_who_is_gone_are_free_for_others():
    """EVT-18: the pod that is displaced for its CPUs leaves its device."""
    there = [*nodes("n1", devices=1, cpu="4"), *low("a", "n1", 0, cpu="3")]
    next_one = pod("v", entry("g", template="t"), cpu="1", spec={"priority": 50})
    found = preempted(*there, waiting(cpu="3"), next_one)
    assert (lost(found), where(found)) == (["a"], {"w": "n1", "v": "n1"})


def test_a_claim_that_a_waiting_pod_names_stays():
    """It keeps its devices, and its node."""
    held = low("a", "n1", 0, cpu="3")
    held[1]["metadata"].pop("ownerReferences")
    named = pod("v", entry("g", claim="a-g"), cpu="1", spec={"priority": 50})
    found = preempted(
        *nodes("n1", "n0", cpu="4"), *low("b", "n0", cpu="4", priority=100), *held, waiting(cpu="3"), named
    )
    assert (lost(found), where(found)) == (["a"], {"w": "n1", "v": "n1"})
    assert found.victims[0].claims == ()


def two(first, second, *more, cpu="4"):
    """Two nodes, each with pods that fill it, given by priority, start and labels, and one pod that wants a node."""
    there = []
    for name, pods in (("n1", first), ("n2", second)):
        each = str(int(cpu) // len(pods))
        for number, (priority, start, labels) in enumerate(pods):
            label = f"{name}-{number}"
            there += low(label, name, cpu=each, priority=priority, start=start, labels=labels)
    return [*nodes("n1", "n2", devices=0, cpu=cpu), *there, *more, waiting(cpu=cpu)]


OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([(0, OLD, {"b": "yes"})], [(50, OLD, None)]),
        ([(50, OLD, None), (0, OLD, None)], [(10, OLD, None), (10, OLD, None)]),
        ([(10, OLD, None), (10, OLD, None)], [(10, OLD, None), (0, OLD, None)]),
        ([(10, OLD, None), (-10, OLD, None)], [(10, OLD, None)]),
        ([(10, OLD, None), (0, NEW, None)], [(10, NEW, None), (0, OLD, None)]),
    ],
    ids=["breaches", "highest", "sum", "number", "start"],
)
def test_the_node_that_costs_least_is_taken(first, second):
    """EVT-6, in the order of what counts: the second node is better in each case."""
    found = preempted(*two(first, second, budget()))
    assert where(found) == {"w": "n2"}


def test_nodes_that_cost_the_same_are_told():
    found = preempted(*two([(0, OLD, None)], [(0, OLD, None)]))
    assert (lost(found), decided(found, "w").reason) == (["n1-0"], "as good as on 1 other node")


def test_nodes_that_no_loss_cures_are_not_tried():
    """EVT-3: neither labels nor devices change when pods go."""
    there = [*nodes("n1", "n2", devices=1, cpu="4"), *low("a", "n1", cpu="4"), *low("b", "n2", cpu="4")]
    w = pod("w", entry("g", template="t"), cpu="4", spec={"priority": 9, "nodeSelector": {"disk": "ssd"}})
    assert lost(preempted(*there, w)) == []


def test_pods_that_stay_apart_displace_one_another():
    """A pod with anti-affinity takes the place of one of lower priority, for which it has room."""
    apart = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]
    term = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}}
    host = obj("Node", "n1", labels={"kubernetes.io/hostname": "n1"}, status={"allocatable": {"cpu": "8", "pods": "9"}})
    there = [host, *low("a", "n1", labels={"app": "x"}), *low("b", "n1", labels={"app": "y"})]
    found = preempted(*there, waiting(cpu="1", **term))
    assert (lost(found), where(found)) == (["a"], {"w": "n1"})


def test_pods_being_deleted_count_as_gone():
    going = low("a", "n1", cpu="4", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = preempted(*nodes("n1", cpu="4"), *going, waiting(cpu="4"))
    assert (lost(found), where(found)) == ([], {"w": "n1"})


def members(number=2, cpu="4", **spec):
    return [pod(f"w{n}", cpu=cpu, spec=of_group("w", priority=50, **spec)) for n in range(number)]


def test_a_group_is_placed_on_the_cluster_without_others():
    """E7, EVT-13: where its pods go decides who goes, and a group that is disrupted whole goes from all nodes."""
    names = [f"n{number}" for number in range(4)]
    singles = [one for name in names[:2] for one in low(f"s-{name}", name, cpu="4", priority=10)]
    whole = [one for name in names[2:] for one in low(f"g-{name}", name, cpu="4", priority=10, spec_more=of_group())]
    groups = [group("w", least=2, priority=50), group(priority=10, disruptionMode={"all": {}})]
    found = preempted(*nodes(*names, devices=0), *singles, *whole, *groups, *members())
    assert (lost(found), where(found)) == (["s-n0", "s-n1"], {"w0": "n0", "w1": "n1"})
    found = preempted(
        *nodes(*names, devices=0), *singles[:2], *whole, *groups, *low("x", "n1", priority=60), *members()
    )
    assert (lost(found), where(found)) == (["g-n2", "g-n3", "s-n0"], {"w0": "n0", "w1": "n2"})


def test_a_group_takes_no_place_in_vain():
    """EVT-12, EVT-16: a group that is not whole on the emptied cluster displaces nobody."""
    there = [*nodes("n1", devices=0, cpu="4"), *low("a", "n1", cpu="4", priority=10)]
    found = preempted(*there, group("w", least=2, priority=50), *members())
    assert (lost(found), where(found)) == ([], {})


def test_a_group_without_a_minimum_displaces_only_where_nothing_of_it_fits():
    """EVT-12."""
    there = [*nodes("n1", "n2", devices=0, cpu="4"), *low("a", "n2", cpu="4", priority=10)]
    found = preempted(*there, group("w", priority=50), *members())
    assert (lost(found), where(found)) == ([], {"w0": "n1"})
    found = preempted(*there, *low("b", "n1", cpu="4", priority=10), group("w", priority=50), *members())
    assert (lost(found), len(where(found))) == (["a", "b"], 2)


def test_members_beyond_the_minimum_displace_later():
    """EVT-12: the minimum has room, and the others take places."""
    there = [*nodes("n1", "n2", devices=0, cpu="4"), *low("a", "n2", cpu="4", priority=10)]
    found = preempted(*there, group("w", least=1, priority=50), *members())
    assert (lost(found), where(found)) == (["a"], {"w0": "n1", "w1": "n2"})
    assert [decided(found, name).action for name in ("w0", "w1")] == ["place", "preempt"]


def test_a_group_with_a_topology_is_not_known():
    given = [*nodes("n1", devices=0, cpu="4"), *low("a", "n1", cpu="4", priority=10)]
    constraints = {"schedulingConstraints": {"topology": [{"key": "rack"}]}}
    found = preempted(*given, group("w", least=1, priority=50, **constraints), *members(1))
    assert (lost(found), decided(found, "w0").action) == ([], "unknown")


def test_a_tree_of_groups_that_is_torn_has_no_place():
    """WLG-16: one of two groups has room, and nobody is displaced for the other one."""
    policy = {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "priority": 50, "workloadRef": {}}
    root = obj("CompositePodGroup", "root", policy) | {"apiVersion": "scheduling.k8s.io/v1alpha3"}
    groups = [group(name, least=1, priority=50, parentCompositePodGroupName="root") for name in ("a", "b")]
    pods = [pod(f"p-{name}", cpu="4", spec=of_group(name, priority=50)) for name in ("a", "b")]
    there = [*nodes("n1", "n2", devices=0, cpu="4"), *low("x", "n2", cpu="4", priority=10)]
    found = preempted(*there, root, *groups, *pods)
    assert (lost(found), where(found), decided(found, "p-b").action) == ([], {}, "unknown")


def test_without_pod_groups_pods_displace_alone():
    """GATE-1: with the gate off nobody knows of the group."""
    there = [*nodes("n1", devices=0, cpu="4"), *low("a", "n1", cpu="4", priority=10)]
    given = *there, group("w", least=2, priority=50), *members()
    assert lost(preempted(*given, GenericWorkload=False)) == ["a"]


def test_members_of_a_gang_that_is_torn_are_placed_no_more():
    """WLG-6: the one that runs counts for the minimum, and is displaced for a more important pod."""
    there = [*nodes("n1", "n2", devices=0, cpu="4"), *low("r", "n1", cpu="4", spec_more=of_group(), priority=10)]
    more = pod("v", cpu="4", spec=of_group(priority=10))
    stays = low("z", "n2", cpu="1", priority=100)
    found = preempted(*there, *stays, group(least=2, priority=10), waiting(cpu="4"), more)
    assert (lost(found), where(found)) == (["r"], {"w": "n1"})


@pytest.mark.parametrize(("seed", "number"), [(0, 130), (1, 130), (0, 90)])
def test_of_many_nodes_some_are_tried_from_a_random_one_on(seed, number):
    """EVT-3: at most 100 with victims, so that what happens is not known."""
    names = [f"n{place:03}" for place in range(number)]
    there = [one for name in names for one in low(f"a-{name}", name, cpu="4")]
    found = preempted(*nodes(*names, devices=0, cpu="4"), *there, waiting(cpu="4"), seed=seed)
    assert (len(lost(found)), found.is_random, len(where(found))) == (1, number > 100, 1)
    assert decided(found, "w").action == ("unknown" if number > 100 else "preempt")


def test_time_that_is_over_leaves_everything_where_it_is():
    found = preempted(*nodes("n1", cpu="4"), *low("a", "n1", cpu="4"), waiting(cpu="4"), deadline=0.0)
    assert (found.in_time, lost(found), where(found), decided(found, "w").action) == (False, [], {}, "unknown")


def test_what_is_gained_counts_in_the_figures():
    found = preempted(*crowded())
    counted = figures(found.inputs, found.units)
    assert (counted.admitted, counted.used, counted.devices) == (1, 1, 2)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda one: structs.replace(one, priority=7), "PREEMPT-PRIORITY"),
        (lambda one: structs.replace(one, budgets=("default/b",)), "PREEMPT-BUDGET"),
        (lambda one: structs.replace(one, node="n2"), "STEP-POD"),
    ],
)
def test_the_verifier_finds_what_is_wrong(change, rule):
    given = crowded(budget(allowed=1), labels={"b": "yes"})
    found, before = preempted(*given), posed(*given).cluster
    check = [change(one) for one in found.victims]
    assert preemption_violations(before, found.units, found.victims, by_scheduler=True) == []
    assert rule in {one.rule for one in preemption_violations(before, found.units, check, by_scheduler=True)}


class Reference:
    """The rules of EVT-2 to EVT-6 for nodes with CPUs alone, written down a second time."""

    def __init__(self, seed):
        random = Random(f"scheduler/{seed}")
        self.nodes = {f"n{number}": random.choice((4, 6, 8)) for number in range(random.randint(1, 4))}
        self.allowed = {name: random.choice((0, 0, 1, 2)) for name in random.choice(((), ("b",), ("b", "c")))}
        self.running, self.waiting = {}, []
        for number in range(random.randint(1, 9)):
            name, cpu = random.choice([*self.nodes]), random.randint(1, 4)
            if self.free(name) >= cpu:
                budgets = [own for own in self.allowed if random.random() < 0.5]
                start = f"2026-01-{random.randint(1, 9):02}T00:00:00Z"
                self.running[f"r{number}"] = (name, cpu, random.choice((0, 0, 10, 50)), start, budgets)
        for number in range(random.randint(1, 4)):
            self.waiting.append((f"w{number}", random.randint(1, 8), random.choice((0, 10, 50, 100))))

    def free(self, node, placed=()):
        taken = [one[1] for one in self.running.values() if one[0] == node]
        return self.nodes[node] - sum(taken) - sum(cpu for name, cpu in placed if name == node)

    def objects(self):
        made = [node(name, cpu=str(cpu)) for name, cpu in self.nodes.items()]
        made += [budget(name, allowed) for name, allowed in self.allowed.items()]
        for name, (where_it_is, cpu, priority, start, budgets) in self.running.items():
            labels = dict.fromkeys(budgets, "yes")
            made += low(name, where_it_is, cpu=str(cpu), priority=priority, start=start, labels=labels)
        return [*made, *(waiting(name, str(cpu), priority) for name, cpu, priority in self.waiting)]

    def answer(self):
        """Who is displaced, and where each unit goes."""
        gone, places = set(), {}
        for name, cpu, priority in sorted(self.waiting, key=lambda one: -one[2]):
            placed = [(places[other], amount) for other, amount, _ in self.waiting if other in places]
            room = {own: self.free(own, placed) for own in self.nodes}
            options = []
            for place, own in enumerate(self.nodes if all(left < cpu for left in room.values()) else ()):
                victims, breaches = self.victims(own, cpu, priority, room[own])
                if victims:
                    levels = [self.running[one][2] for one in victims]
                    start = min(self.running[one][3] for one in victims if self.running[one][2] == max(levels))
                    cost = breaches, max(levels), sum(level + 2**31 for level in levels), len(levels)
                    options.append((cost, -int(start[8:10]), place, victims))
            for one in min(options)[3] if options else ():
                for own in self.running.pop(one)[4]:
                    self.allowed[own] -= 1
                gone.add(one)
            fits = [own for own in self.nodes if self.free(own, placed) >= cpu]
            if fits:
                places[name] = fits[0]
        return sorted(gone), places

    def victims(self, own, cpu, priority, room):
        lower = [name for name, one in self.running.items() if one[0] == own and one[2] < priority]
        lower.sort(key=lambda name: (-self.running[name][2], self.running[name][3], name))
        room += sum(self.running[name][1] for name in lower)
        if room < cpu:
            return [], 0
        used, breaking = Counter(), []
        for name in lower:
            used.update(self.running[name][4])
            if any(used[one] > self.allowed[one] for one in self.running[name][4]):
                breaking.append(name)
        victims = []
        for name in [*breaking, *(one for one in lower if one not in breaking)]:
            if room - self.running[name][1] >= cpu:
                room -= self.running[name][1]
            else:
                victims.append(name)
        return victims, sum(name in breaking for name in victims)


@pytest.mark.parametrize("seed", range(200))
def test_victims_and_places_are_those_of_the_rules(seed):
    """EVT-2 to EVT-6: compared with the rules written down a second time, on nodes with CPUs alone."""
    reference = Reference(seed)
    found = preempted(*reference.objects())
    assert (lost(found), where(found)) == reference.answer()


@pytest.mark.parametrize("seed", range(60))
def test_no_plan_is_worse(seed):
    """What kube-scheduler comes to is a plan, where nobody is spared: the best plan places no less by priority."""
    scene = preempting_scene(seed)
    pods = tuple(replace(one, fixed=False, group="") for one in scene.pods)
    given = replace(scene, pods=pods, groups={}, moves=False).objects()
    scheduler = preempted(*given)
    plan = drasat.plan(cluster(*classes(), *given), preempt=True, gap=0.0, time_limit=None)
    levels = [one.value for one in plan.document.objective if one.stage.startswith("priority=")]
    names = [one.stage.partition("=")[2] for one in plan.document.objective if one.stage.startswith("priority=")]
    reached = Counter(
        str(unit.unit_set.shape.priority)
        for unit, one in zip(scheduler.inputs.units, scheduler.units, strict=True)
        if one.node is not None
    )
    assert [reached[name] for name in names] <= levels


def test_the_document_of_a_plan_says_what_the_scheduler_would_do():
    """EVT-20: beside the plan, and once its victims are gone."""
    given = [
        *nodes("n1", "n2", devices=1, cpu="4"),
        *low("a", "n1", 0, cpu="1"),
        *low("b", "n2", 0, cpu="1", priority=5),
    ]
    first = pod("v", entry("g", template="t"), cpu="1", spec={"priority": 100})
    found = drasat.plan(
        cluster(*classes(), *given, first, waiting("x", "4", 50)), preempt=True, gap=0.0, time_limit=None
    )
    told = {one.unit: one for one in found.document.scheduler_would}
    assert [one.name for one in found.victims] == ["a", "b"]
    assert (told["v"].action, told["v"].victims, told["v"].after_evictions) == ("nothing", (), "n1")
    assert (told["x"].action, told["x"].victims) == ("preempt", ("default/a",))
    assert told["x"].after_evictions == "n2"
    frame = found.to_frame("scheduler")
    assert frame["once victims are gone"].tolist() == ["places 1, 1 as planned"] * 2


def test_where_nobody_may_lose_the_place_nothing_is_said_of_the_scheduler():
    found = drasat.plan(cluster(*classes(), *nodes("n1"), waiting(cpu="1")))
    assert "schedulerWould" not in found.to_dict()


def test_planners_are_compared_by_what_running_pods_lose():
    """The plan evicts for a device, which kube-scheduler does not."""
    given = [*crowded(), pod("x", entry("g", template="t2"), cpu="0", spec={"priority": 200}), template("t2", of(2))]
    document = drasat.compare_plans(cluster(*classes(), *given), preempt=True, orders=["given"]).document
    found = {one.planner: one.preemption for one in document.planners}
    assert found.keys() == {"first-fit", PREEMPTOR, "plan"}
    counts = {name: [(own.priority, own.count) for own in one.placed] for name, one in found.items()}
    assert counts == {"first-fit": [], PREEMPTOR: [(100, 1)], "plan": [(200, 1)]}
    assert [one.name for one in found["plan"].victims] == ["b"]
    assert (found["plan"].devices_lost, found[PREEMPTOR].devices_lost) == (1, 1)

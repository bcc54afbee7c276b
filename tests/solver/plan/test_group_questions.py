"""Groups on the empty cluster, on this one, and after evictions or moves: equal to trying everything."""

from itertools import chain, combinations, product
from random import Random

import pytest
from support.moving import holder
from support.plan_building import classes, cluster, entry, gpus, maker, node, nodes, obj, of, pod, published, sharing

import drasat

GROUP = "scheduling.k8s.io/v1beta1"


def group(minimum, domain=None, priority=50, **spec):
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    topology = {"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}
    return obj("PodGroup", "g", {"schedulingPolicy": policy, "priority": priority, **topology, **spec})


def member(name, *entries, priority=50):
    return pod(name, *entries, cpu="1", spec={"schedulingGroup": {"podGroupName": "g"}, "priority": priority})


def members(count, template="t"):
    return [member(f"m{number}", entry("g", template=template)) for number in range(count)]


def asked(*given, name="g", **options):
    """The answers by question."""
    found = drasat.explain(cluster(*classes(), *given), group=name, **{"time_limit": None, **options})
    return {one.question: one for one in found.document.group.trials}


def answers(*given, **options):
    return {question: one.answer for question, one in asked(*given, **options).items()}


def running(name, where, *devices, priority=0, **options):
    return holder(name, where, *devices, spec_more={"priority": priority}, **options)


def test_what_evictions_and_moves_make_room_for_is_said():
    """EVT-17: one of two notebooks, or one move to the third node."""
    there = [*running("x", "a", 0), *running("y", "b", 0), *nodes("c", devices=1)]
    found = asked(*nodes("a", "b", devices=2), *there, group(2), *members(2, "t2"))
    assert {question: one.answer for question, one in found.items()} == {
        "empty": "yes",
        "now": "no",
        "evictions": "yes",
        "moves": "no",
    }
    assert (len(found["evictions"].victims), found["evictions"].proof) == (2, None)
    assert {one.stage: (one.value, one.proven) for one in found["evictions"].stages}["victims"] == (2, True)
    assert (found["now"].most, str(found["now"].proof)) == (0, "solver")


def test_after_the_time_limit_nobody_is_evicted_or_moved(monkeypatch):
    there = [*running("x", "a", 0), *running("y", "b", 0), *nodes("c", devices=1)]
    monkeypatch.setattr("drasat.solver.plan.group_questions.is_past", lambda _: True)
    found = answers(*nodes("a", "b", devices=2), *there, group(2), *members(2, "t2"))
    assert found == {"empty": "yes", "now": "no", "evictions": "unknown", "moves": "unknown"}


def test_moves_are_named():
    there = [*running("x", "a", 0), *nodes("c", devices=1)]
    found = asked(*nodes("a", "b", devices=2), *there, group(2), *members(2, "t2"))
    assert found["moves"].answer == "yes"
    assert [(one.action, one.name, one.source, one.node) for one in found["moves"].steps[:1]] == [
        ("move", "x", "a", "c")
    ]
    assert sorted(one.pod for one in found["moves"].units) == ["default/m0", "default/m1"]


def test_what_no_cluster_state_has_is_refused_everywhere():
    """A no on the empty cluster is one after evictions and moves."""
    found = asked(*nodes("a", devices=2), *running("x", "a", 0), group(2), *members(2, "t2"))
    assert [one.answer for one in found.values()] == ["no"] * 4
    assert found["evictions"].reasons == ("not even on the empty cluster",)


def test_members_that_run_wait_on_the_empty_cluster():
    """WLG-6: three of at least two run in a domain; the fourth has no place there, and needs none."""
    zone = [node("a", "a", cpu="9"), gpus("a", 3), node("b", "b", cpu="9"), gpus("b", 4)]
    there = list(chain(*(holder(f"r{number}", "a", number, spec_more=IN_GROUP, owner=None) for number in range(3))))
    found = asked(*zone, *there, group(2, "zone"), *members(1))
    assert (found["now"].answer, found["now"].wait, found["now"].run) == ("yes", 1, 3)
    assert (found["empty"].answer, found["empty"].wait, found["empty"].run) == ("yes", 4, 0)
    more = asked(*zone, *there, group(4, "zone"), *members(1))
    assert [one.answer for one in more.values()] == ["yes", "no", "no", "no"]


def test_enough_members_that_run_in_two_domains_are_enough():
    """WLG-6, WLG-13: nobody else has a place, and nobody needs one."""
    there = [pod(f"r{at}", cpu="1", spec={**IN_GROUP, "nodeName": at}) for at in "ab"]
    found = asked(node("a", "a", cpu="9"), node("b", "b", cpu="9"), *there, group(2, "zone"), *members(1))
    assert [one.answer for one in found.values()] == ["yes", "yes", "notNeeded", "notNeeded"]
    assert asked(*nodes("a"), *there[:1], *members(1))["now"].reasons == ("PodGroup default/g not found",)


IN_GROUP = {"schedulingGroup": {"podGroupName": "g"}, "priority": 50}


def test_pods_of_daemon_sets_stay_on_the_empty_cluster():
    there = holder("d", "a", 0, owner=("DaemonSet", "agent"))
    assert answers(*nodes("a", devices=2), *there, group(1), *members(1, "t2"))["empty"] == "no"


def test_groups_of_other_priorities_evict_nobody():
    """EVT-2, EVT-8: Never."""
    there = [*nodes("a", devices=1), *running("x", "a", 0, priority=50), *members(1)]
    assert answers(*there, group(1))["evictions"] == "no"
    shy = [*nodes("a", devices=1), *running("x", "a", 0), *members(1), group(1, preemptionPolicy="Never")]
    assert answers(*shy)["evictions"] == "no"


def test_gangs_by_kind_need_no_option():
    """KND-8: by the name of the group of a LeaderWorkerSet, and of a Job with a gang policy."""
    template = {"spec": pod("x", entry("g", template="t"), cpu="1")["spec"]}
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}
    workers = obj("LeaderWorkerSet", "s", spec) | {"apiVersion": "leaderworkerset.x-k8s.io/v1"}
    found = asked(*nodes("a", devices=2), *running("x", "a", 0), workers, name="s-1")
    assert [(one.answer, one.wait) for one in found.values()] == [("yes", 2), ("no", 2), ("no", 2), ("no", 2)]
    policy = {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}, "parallelism": 3}
    job = maker("Job", "j", entry("g", template="t"), cpu="1", spec=policy)
    found = asked(*nodes("a", devices=2), job, name="Job/default/j")
    assert (found["now"].answer, found["now"].placed, found["now"].wait) == ("yes", 2, 3)


def test_a_group_that_cannot_be_is_refused_with_the_reason():
    """WLG-6, WLG-4."""
    assert asked(*nodes("a"), group(4), *members(3))["empty"].reasons == (
        "PodGroup default/g needs 4 members, and has 3",
    )
    assert asked(*nodes("a"), *members(1))["now"].reasons == ("PodGroup default/g not found",)
    assert asked(*nodes("a"), group(2))["now"].reasons == ("PodGroup default/g needs 2 members, and has 0",)


def test_what_else_waits_does_not_count():
    others = [pod(f"o{number}", entry("g", template="t"), cpu="1", spec={"priority": 99}) for number in range(4)]
    assert answers(*nodes("a", devices=1), *others, group(1), *members(1))["now"] == "yes"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": "h"}, "there is no group h: groups are PodGroup/default/g"),
        ({"name": "g", "namespace": "other"}, "there is no group g: no pod is in a group"),
        ({"name": "g", "node": "a"}, "a group makes no sense with a node, a selector or claims"),
    ],
)
def test_bad_names_are_told(options, text):
    with pytest.raises(ValueError, match=text):
        asked(*nodes("a"), group(1), *members(1), **options)


def test_a_name_that_two_groups_have_is_told():
    annotated = pod("p", cpu="1", GANG="g")
    with pytest.raises(ValueError, match="2 groups are named g: Gang/default/g, PodGroup/default/g"):
        asked(*nodes("a"), group(1), *members(1), annotated)
    assert asked(*nodes("a"), group(1), *members(1), annotated, name="Gang/default/g")["now"].wait == 1


def test_claims_that_nobody_has_are_free_on_the_empty_cluster():
    """EVT-18"""
    held = holder("x", "a", 0)[1]
    del held["metadata"]["ownerReferences"], held["metadata"]["annotations"]
    held["status"]["reservedFor"] = []
    assert answers(*nodes("a", devices=1), held, group(1), *members(1)) == {
        "empty": "yes",
        "now": "no",
        "evictions": "no",
        "moves": "no",
    }
    foreign = {**held, "status": {**held["status"], "reservedFor": [{"resource": "others", "name": "o", "uid": "o"}]}}
    assert answers(*nodes("a", devices=1), foreign, group(1), *members(1))["empty"] == "no"


def test_a_group_claim_is_free_on_the_empty_cluster():
    """PGC-8"""
    held = holder("x", "a", 0)
    spec = {"nodeName": "a", "schedulingGroup": {"podGroupName": "old"}}
    held[0] = sharing("x", "x-g", spec=spec) | {"status": {"phase": "Running"}}
    del held[1]["metadata"]["ownerReferences"], held[1]["metadata"]["annotations"]
    held[1]["status"]["reservedFor"] = [
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "old", "uid": "u"}
    ]
    assert answers(*nodes("a", devices=1), *held, group(1), *members(1))["empty"] == "yes"


@pytest.mark.parametrize(("cpu", "answer"), [("6", "yes"), ("5", "no")])
def test_what_devices_take_of_nodes_is_counted(cpu, answer):
    """NAR-1: two members, each with a device that takes two of cpu."""
    devices = [
        {"name": f"c{number}", "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "2"}}}}
        for number in range(2)
    ]
    given = [node("a", cpu=cpu), published("a", *devices), group(2), *members(2)]
    assert answers(*given)["empty"] == answer
    assert answers(*given)["now"] == answer


SIZES = {"t": 1, "t2": 2}


class Scene:
    """Nodes of some devices in zones, pods that run with some of them, and a gang."""

    def __init__(self, seed):
        random = Random(seed)
        self.nodes = {f"n{number}": (random.randint(1, 3), random.choice("xy")) for number in range(3)}
        self.running, free = [], {name: count for name, (count, _) in self.nodes.items()}
        for number in range(random.randint(1, 4)):
            name = random.choice(sorted(free))
            size = random.randint(1, 2)
            if free[name] >= size:
                first = self.nodes[name][0] - free[name]
                free[name] -= size
                spare, bare = random.choice((0, 10, 90)), random.random() < 0.3
                self.running.append((f"r{number}", name, tuple(range(first, first + size)), spare, bare))
        self.sizes = [random.choice(("t", "t2")) for _ in range(random.randint(1, 3))]
        self.minimum = random.randint(1, len(self.sizes))
        self.domain = random.choice((None, "zone"))

    def objects(self):
        for name, (count, zone) in self.nodes.items():
            yield from (node(name, zone, cpu="64"), gpus(name, count))
        for name, where, devices, priority, bare in self.running:
            owner = {"owner": None} if bare else {}
            yield from running(name, where, *devices, priority=priority, wanted=of(len(devices)), **owner)
        yield group(self.minimum, self.domain)
        yield from (member(f"m{n}", entry("g", template=size)) for n, size in enumerate(self.sizes))

    def fits(self, places):
        """Whether enough members fit beside pods of these sizes on these nodes."""
        free = {name: count for name, (count, _) in self.nodes.items()}
        for name, size in places:
            free[name] -= size
        if min(free.values()) < 0:
            return False
        zones = ("xy",) if self.domain is None else ("x", "y")
        needs = sorted(SIZES[size] for size in self.sizes)[: self.minimum]
        for zone in zones:
            near = [name for name, (_, own) in self.nodes.items() if own in zone]
            for chosen in product(near, repeat=len(needs)):
                taken = [sum(n for at, n in zip(chosen, needs, strict=True) if at == name) for name in near]
                if all(amount <= free[name] for amount, name in zip(taken, near, strict=True)):
                    return True
        return False

    def expected(self):
        there = [(where, len(devices)) for _, where, devices, _, _ in self.running]
        if self.fits(there):
            return ["yes", "yes", "notNeeded", "notNeeded"], None
        spots = [
            [(where, len(devices))] if bare else [(name, len(devices)) for name in self.nodes]
            for _, where, devices, _, bare in self.running
        ]
        moves = any(self.fits(places) for places in product(*spots))
        low = [number for number, one in enumerate(self.running) if one[3] < 50]
        losses = [
            (len([n for n in gone if self.running[n][3] == 10]), len(gone))
            for gone in chain(*(combinations(low, size) for size in range(len(low) + 1)))
            if self.fits([one for n, one in enumerate(there) if n not in gone])
        ]
        told = {True: "yes", False: "no"}
        return [told[self.fits([])], "no", told[bool(losses)], told[moves]], min(losses, default=None)


@pytest.mark.parametrize("seed", range(100))
def test_answers_are_those_of_trying_everything(seed):
    """EVT-17, EVT-19, WLG-6, WLG-14: every answer, and of evictions the fewest, by priority and number."""
    scene = Scene(seed)
    found = asked(*scene.objects())
    expected, loss = scene.expected()
    assert [one.answer for one in found.values()] == expected
    if loss is not None:
        stages = {one.stage: one.value for one in found["evictions"].stages}
        assert (stages.get("victims=10", 0), stages["victims"]) == loss
        assert all(one.proven for one in found["evictions"].stages)


def audited(*given, **options):
    found = drasat.explain(cluster(*classes(), *given), group="g", audit=60, time_limit=None, **options).document
    return found, {one.question: str(one.proof) if one.proof else None for one in found.group.trials}


def test_a_no_is_audited_by_a_bound_of_the_verifier():
    """The no after evictions and moves is that of the empty cluster."""
    found, proofs = audited(*nodes("a", devices=3), *running("x", "a", 0), group(2), *members(2, "t2"))
    assert proofs == dict.fromkeys(["empty", "now", "evictions", "moves"], "audited")
    assert (str(found.proof), found.certified) == ("audited", True)
    assert all(one.most < 2 for one in found.group.trials)


def test_what_depends_on_moves_is_not_audited():
    there = [*running("x", "a", 0), *running("y", "b", 0), *nodes("c", devices=1)]
    found, proofs = audited(*nodes("a", "b", devices=2), *there, group(2), *members(2, "t2"))
    assert proofs == {"empty": None, "now": "audited", "evictions": None, "moves": "solver"}
    assert (str(found.proof), found.certified) == ("solver", False)


def test_other_groups_that_wait_are_no_room_for_this_one():
    """The bound is about the group alone."""
    other = [pod(f"o{number}", entry("g", template="t")) for number in range(3)]
    _, proofs = audited(*nodes("a", devices=2), *running("x", "a", 0), *other, group(2), *members(2))
    assert proofs["now"] == "audited"


def test_gangs_that_lack_members_are_audited():
    _, proofs = audited(*nodes("a", devices=4), group(3), *members(2))
    assert proofs["now"] == "audited"


@pytest.mark.parametrize("seed", range(40))
def test_audited_answers_are_those_without(seed):
    """No audit finds a defect, and none changes an answer."""
    random = Random(f"audit/{seed}")
    count, wanted = random.randint(1, 3), random.choice(["t", "t2"])
    given = [*nodes("a", "b", devices=random.randint(1, 3)), group(random.randint(1, 3)), *members(count, wanted)]
    given += [one for name in ("a", "b") if random.random() < 0.6 for one in running(f"r-{name}", name, 0)]
    found, _ = audited(*given)
    assert {one.question: one.answer for one in found.group.trials} == answers(*given)
    checked = drasat.check(found, cluster(*classes(), *given))
    assert checked.holds, checked.lines


def test_an_audit_without_time_changes_nothing():
    given = [*nodes("a", devices=2), *running("x", "a", 0), group(2), *members(2, "t2")]
    found = drasat.explain(cluster(*classes(), *given), group="g", audit=1e-9, time_limit=None).document
    assert not found.certified
    assert [one.answer for one in found.group.trials] == ["no"] * 4

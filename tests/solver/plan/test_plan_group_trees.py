"""Groups of groups in plans: equal to trying everything, the examples of the rules, and what breaks a tree."""

from copy import copy
from itertools import product
from random import Random

import pytest
from support.moving import OWNER
from support.plan_building import ALL, cluster, node, obj, placed, planning, pod, where

import drasat
from drasat.solver.verification.gangs import tree_findings


def composite(name, least=None, parent=None, domain=None, **spec):
    policy = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
    return obj("CompositePodGroup", name, {"schedulingPolicy": policy, **_above(parent, domain), **spec}) | {
        "apiVersion": "scheduling.k8s.io/v1alpha3"
    }


def group(name, least=None, parent="root", domain=None, **spec):
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    return obj("PodGroup", name, {"schedulingPolicy": policy, **_above(parent, domain), **spec})


def _above(parent, domain):
    return {
        **({"parentCompositePodGroupName": parent} if parent else {}),
        **({"schedulingConstraints": {"topology": [{"key": domain}]}} if domain else {}),
    }


def members(name, count, on=None, cpu="1", **spec):
    at = {"nodeName": on} if on else {}
    return [
        pod(f"{name}-{on or 'w'}{number}", cpu=cpu, spec={"schedulingGroup": {"podGroupName": name}, **at, **spec})
        for number in range(count)
    ]


def told(found):
    return {reason.message for one in found.units for reason in one.reasons if reason.id == "gang"}


def test_each_needed_group_gets_its_minimum_first():
    """WLG-16, WLG-19, example A7: 2 + 2, and one optional."""
    groups = [one for name in "abc" for one in (group(name, 2), *members(name, 4))]
    found = planning(node("n", cpu="5"), composite("root", 2), *groups)
    names = [name[0] for name in placed(found)]
    assert (len(names), found.outcome) == (5, "Optimal")
    assert len({name for name in names if names.count(name) >= 2}) == 2


def test_nobody_is_placed_without_enough_groups():
    """WLG-16"""
    groups = [one for name in "ab" for one in (group(name, 2), *members(name, 2))]
    found = planning(node("n", cpu="3"), composite("root", 2), *groups)
    assert (placed(found), found.outcome) == ([], "Optimal")
    assert "CompositePodGroup default/root needs 2 groups at once" in told(found)


def test_groups_that_run_count():
    """WLG-16: one group runs, so that one more is enough."""
    groups = [group("a", 2), *members("a", 2, on="n"), group("b", 2), *members("b", 2), group("c", 2), *members("c", 2)]
    assert len(placed(planning(node("n", cpu="4"), composite("root", 2), *groups))) == 2


def test_a_domain_contains_those_below():
    """WLG-16: the zone is that of the root, and each group has a rack of it."""
    nodes = [
        obj("Node", name, labels={"zone": zone, "rack": rack}, status={"allocatable": {"cpu": cpu, "pods": "9"}})
        for name, zone, rack, cpu in (("n1", "x", "1", "3"), ("n2", "y", "2", "2"), ("n3", "y", "3", "2"))
    ]
    groups = [one for name in "ab" for one in (group(name, 2, domain="rack"), *members(name, 2))]
    found = planning(*nodes, composite("root", 2, domain="zone"), *groups)
    at = where(found)
    assert (len(placed(found)), {at[f"{name}-w{number}"] for name in "ab" for number in range(2)}) == (4, {"n2", "n3"})
    assert all(at[f"{name}-w0"] == at[f"{name}-w1"] for name in "ab")


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ([], "PodGroup default/a: CompositePodGroup default/root not found"),
        ([composite("root", 1, "root")], "PodGroup default/a: the CompositePodGroups above it are a circle"),
        (
            [composite("root", 1, "r2"), composite("r2", 1, "r3"), composite("r3", 1, "r4"), composite("r4", 1)],
            "PodGroup default/a: the tree of CompositePodGroup default/r4 has more than 4 levels",
        ),
        (
            [composite("root", 1, priority=7)],
            "PodGroup default/a should have the priority of the root of its tree, CompositePodGroup default/root, "
            "got 0 and 7",
        ),
        (
            [
                composite("root", 1, workloadRef={"workloadName": "v", "templateName": "t"}),
                group("b", 1, workloadRef={"workloadName": "w", "templateName": "t"}),
            ],
            "PodGroup default/a: the tree of CompositePodGroup default/root has groups of several Workloads",
        ),
    ],
)
def test_a_broken_tree_waits(groups, text):
    """WLG-17, WLG-18"""
    found = planning(node("n", cpu="9"), *groups, group("a", 1), *members("a", 1))
    assert (placed(found), told(found)) == ([], {text})


def test_with_the_gate_off_parents_do_not_count():
    given = cluster(node("n", cpu="9"), group("a", 1), *members("a", 1))
    assert drasat.plan(given, feature_gates={"CompositePodGroup": False}).placed == 1


def test_the_verifier_finds_torn_trees():
    """PLAN-TREE"""
    zones = [node("n", "x", cpu="9"), node("o", "y", cpu="9")]
    given = cluster(*zones, composite("root", 2, domain="zone"), *(group(name, 1) for name in "ab"))
    a, b = ("default", "a"), ("default", "b")

    def wrong(*at):
        return [one.message for one in tree_findings(given, ALL, at)]

    assert wrong((a, "n"), (b, "n")) == []
    assert wrong((a, "n")) == ["CompositePodGroup default/root has 1 of its groups, and needs 2 at once"]
    assert wrong((a, "n"), (b, "o")) == [
        "CompositePodGroup default/root is in several domains of zone, or in none: x, y"
    ]


def test_a_tree_is_explained_from_its_root():
    """EVT-17: --group names the root."""
    groups = [one for name in "ab" for one in (group(name, 2, priority=9), *members(name, 2, priority=9))]
    there = [node("n", cpu="4"), pod("x", cpu="1", spec={"nodeName": "n"}), composite("root", 2, priority=9), *groups]
    found = drasat.explain(cluster(*there), group="root", time_limit=None).document.group
    assert [one.answer for one in found.trials] == ["yes", "no", "yes", "no"]
    assert [one.name for one in found.trials[2].victims] == ["x"]
    with pytest.raises(ValueError, match="ask about CompositePodGroup default/root"):
        drasat.explain(cluster(*there), group="a")


@pytest.mark.parametrize(
    ("minimum", "least", "now", "after"), [(2, 1, "yes", "notNeeded"), (2, 2, "no", "no"), (3, 1, "no", "no")]
)
def test_of_a_tree_those_that_run_count(minimum, least, now, after):
    """WLG-16: two members of a run on a node that is full; a third one and both of b wait."""
    waiting = [*members("a", 1), *members("b", 2)]
    there = [composite("root", least), group("a", minimum), group("b", 2), *members("a", 2, on="n"), *waiting]
    found = drasat.explain(cluster(node("n", cpu="2"), *there), group="root", time_limit=None).document.group
    assert [one.answer for one in found.trials[1:]] == [now, after, after]
    assert found.trials[1].placed == 0


class Tree:
    """A random tree of three groups, some below a group of their own, on three nodes."""

    def __init__(self, seed):
        random = Random(seed)
        self.nodes = {f"n{number}": (random.randint(1, 3), random.choice("xy")) for number in range(3)}
        self.domains = {name: random.choice((None, None, "zone")) for name in ("root", "mid", "a", "b", "c")}
        self.least = {"root": random.randint(1, 2), "mid": random.randint(0, 2)}
        self.parents = {"a": "mid", "b": random.choice(("mid", "root")), "c": "root", "mid": "root"}
        self.minimum = {name: random.randint(0, 2) for name in "abc"}
        self.waiting = [name for name in "abc" for _ in range(random.randint(0, 2))]
        self.sizes = [random.randint(1, 2) for _ in self.waiting]
        self.running = [(random.choice("abc"), random.choice(sorted(self.nodes)))] if random.random() < 0.5 else []

    def objects(self):
        for name, (cpu, zone) in self.nodes.items():
            yield node(name, zone, cpu=str(cpu))
        level = {"priority": 50}
        yield composite("root", self.least["root"], None, self.domains["root"], **level)
        yield composite("mid", self.least["mid"], "root", self.domains["mid"], **level)
        for name in "abc":
            yield group(name, self.minimum[name], self.parents[name], self.domains[name], **level)
        for number, (name, size) in enumerate(zip(self.waiting, self.sizes, strict=True)):
            spec = {"schedulingGroup": {"podGroupName": name}, **level}
            yield pod(f"{name}-{number}", cpu=str(size), spec=spec)
        for number, (name, at) in enumerate(self.running):
            spec = {"schedulingGroup": {"podGroupName": name}, "nodeName": at, **level}
            yield pod(f"{name}-r{number}", cpu="1", spec=spec)

    def best(self):
        """The most members that a valid state places; None for a tree whose running members are in the way."""
        free = {name: cpu for name, (cpu, _) in self.nodes.items()}
        for _, at in self.running:
            free[at] -= 1
        return max(
            sum(at is not None for at in state)
            for state in product((None, *self.nodes), repeat=len(self.waiting))
            if self._fits(state, free) and self._holds(state)
        )

    def _fits(self, state, free):
        taken = dict.fromkeys(free, 0)
        for at, size in zip(state, self.sizes, strict=True):
            if at is not None:
                taken[at] += size
        return all(not amount or amount <= free[name] for name, amount in taken.items())

    def _holds(self, state):
        new = [(name, at) for name, at in zip(self.waiting, state, strict=True) if at is not None]
        below, enough = self._groups([*new, *self.running])
        for name, own in below.items():
            touched = any(one in own for one in new)
            if touched and not enough[name] and not (name in "abc" and not self.minimum[name]):
                return False
            zones = {self.nodes[at][1] for _, at in own}
            if touched and self.domains[name] and (len(zones) > 1 or None in zones):
                return False
        return True

    def _groups(self, there):
        """The members of each group, and whether they are enough."""
        below = {name: [own for own in there if own[0] == name] for name in "abc"}
        enough = {name: len(below[name]) >= max(1, self.minimum[name]) for name in "abc"}
        for whole in ("mid", "root"):
            parts = [name for name, parent in self.parents.items() if parent == whole]
            below[whole] = [own for name in parts for own in below[name]]
            enough[whole] = sum(enough[name] for name in parts) >= max(1, self.least[whole])
        return below, enough


@pytest.mark.parametrize("seed", range(150))
def test_plans_of_trees_are_as_good_as_trying_everything(seed):
    """WLG-16, WLG-19."""
    tree = Tree(seed)
    found = drasat.plan(cluster(*tree.objects()), gap=0.0, time_limit=None)
    assert (found.placed, found.outcome) == (tree.best(), "Optimal")


class RunningTree(Tree):
    """A tree some members of which run, beside other pods: their nodes, priorities, and whether they may move."""

    def __init__(self, seed):
        super().__init__(seed)
        random = Random(f"running/{seed}")
        zones = [random.choice((zone, zone, zone, None)) for _, zone in self.nodes.values()]
        self.nodes = {name: (random.randint(1, 4), zone) for name, zone in zip(self.nodes, zones, strict=True)}
        self.minimum = {name: random.choice((0, 1, 2, 2, 3)) for name in "abc"}
        room = [name for name, (cpu, _) in self.nodes.items() for _ in range(cpu)]
        random.shuffle(room)
        count = random.randint(0, 4)
        self.running = [(random.choice("abc"), at) for at in room[:count]]
        others = room[count : count + random.randint(0, 4)]
        self.others = [(at, random.choice((0, 0, 50)), random.random() < 0.6) for at in others]

    def objects(self):
        yield from super().objects()
        for number, (at, priority, owned) in enumerate(self.others):
            spec = {"nodeName": at, "priority": priority}
            yield pod(f"x{number}", cpu="1", spec=spec, owner=OWNER if owned else None)

    def can(self, others):
        """Whether enough run at once beside others on these nodes, once no, some or all waiting members are placed."""
        free = {name: cpu for name, (cpu, _) in self.nodes.items()}
        for at in (*others, *(at for _, at in self.running)):
            free[at] -= 1
        if min(free.values()) < 0:
            return False
        states = product((None, *self.nodes), repeat=len(self.waiting))
        runs = self._groups(self.running)[1]["root"]
        return runs or any(any(one) and self._fits(one, free) and self._holds(one) for one in states)

    def answers(self):
        """The answers to the four questions by trying everything."""
        empty = copy(self)
        empty.waiting, empty.running = [*self.waiting, *(name for name, _ in self.running)], []
        empty.sizes = [*self.sizes, *(1 for _ in self.running)]
        now = self.can([at for at, _, _ in self.others])
        moves = product(*(self.nodes if owned else [at] for at, _, owned in self.others))
        after = self.can([at for at, level, _ in self.others if level == 50]), any(map(self.can, moves))
        said = {True: "yes", False: "no"}
        return [said[empty.can([])], said[now], *("notNeeded" if now else said[one] for one in after)]


@pytest.mark.parametrize("seed", range(120))
def test_what_is_said_of_trees_is_what_trying_everything_says(seed):
    """WLG-13, WLG-16: on the empty cluster, on this one, and after which evictions or moves."""
    tree = RunningTree(seed)
    if tree.waiting or tree.running:
        found = drasat.explain(cluster(*tree.objects()), group="root", time_limit=None).document.group
        assert [one.answer for one in found.trials] == tree.answers()

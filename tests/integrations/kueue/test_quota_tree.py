"""Quota, usage and shares in trees of queues and cohorts, against their definitions (kueue-dra 4.2 and 4.8)."""

import random
from fractions import Fraction

import pytest
from support.quota_trees import CPU, GPU, OTHER, random_tree

from drasat.integrations.kueue.quota_tree import NodeQuota, QuotaLimits, QuotaTree
from drasat.models.kubernetes.quantity import INT64_MAX


def queue(name, parent="", nominal=0, borrowing=None, lending=None, weight=1, pair=GPU):
    return NodeQuota(name, parent, {pair: QuotaLimits(nominal, borrowing, lending)}, Fraction(weight))


def available(tree):
    return {name: node.available(GPU) for name, node in tree.queues.items()}


def usage(node):
    return {one.pair: one.usage for one in node.quotas if one.usage}


def test_example_a_of_a_flat_cohort():
    """kueue-dra 4.2, example A."""
    tree = QuotaTree([queue("a", "c", 10, lending=4), queue("b", "c", 6, borrowing=3)], [])
    assert tree.cohorts["c"].at(GPU).subtree == 10
    assert available(tree) == {"a": 16, "b": 9}
    tree.queues["b"].add({GPU: 8})
    assert (usage(tree.cohorts["c"]), available(tree)["a"]) == ({GPU: 8}, 8)
    tree.queues["a"].add({GPU: 8})
    assert (usage(tree.cohorts["c"]), available(tree)["b"]) == ({GPU: 10}, 0)


def test_example_b_of_a_tree():
    """kueue-dra 4.2, example B."""
    cohorts = [queue("r", nominal=2), queue("l", "r", borrowing=1)]
    tree = QuotaTree([queue("x", "l", 3), queue("y", "r", 5)], cohorts)
    assert {name: node.potential(GPU) for name, node in tree.queues.items()} == {"x": 4, "y": 10}
    assert available(tree) == {"x": 4, "y": 10}


def test_example_i_of_shares():
    """kueue-dra 4.8, example I."""
    tree = QuotaTree([queue("a", "c", 3), queue("b", "c", 3), queue("idle", "c", 6)], [])
    tree.queues["b"].add({GPU: 12})
    assert tree.queues["b"].share() == (False, 750)
    tree.queues["b"].remove({GPU: 2})
    assert tree.queues["b"].share() == (False, 1750.0 / 3)
    assert tree.queues["a"].share() == (False, 0)


def test_a_weight_of_zero_is_an_infinite_share_once_the_queue_borrows():
    tree = QuotaTree([queue("a", "c", 3, weight=0), queue("b", "c", 3)], [])
    assert tree.queues["a"].share() == (False, 0)
    tree.queues["a"].add({GPU: 4})
    assert tree.queues["a"].share() == (True, 1000.0 / 6)


def test_quota_saturates():
    tree = QuotaTree([queue("a", "c", INT64_MAX), queue("b", "c", INT64_MAX)], [])
    assert tree.cohorts["c"].at(GPU).subtree == INT64_MAX
    assert tree.queues["a"].potential(GPU) == INT64_MAX


@pytest.mark.parametrize("length", [1, 2, 5])
def test_cohorts_on_a_cycle_and_below_it_are_known(length):
    """kueue-dra 4.1: a cycle disables all members."""
    ring = [queue(f"c{index}", f"c{(index + 1) % length}") for index in range(length)]
    tree = QuotaTree([queue("a", "below", 1), queue("b", "free", 1)], [*ring, queue("below", "c0")])
    assert tree.cyclic == {"below", *(f"c{index}" for index in range(length))}
    assert available(tree) == {"a": 1, "b": 1}


def test_a_chain_of_thousands_of_cohorts_has_its_quota():
    chain = [queue(f"c{index}", f"c{index + 1}") for index in range(3000)]
    tree = QuotaTree([queue("a", "c0", 5)], chain)
    tree.queues["a"].add({GPU: 2})
    assert (tree.queues["a"].available(GPU), usage(tree.cohorts["c3000"])) == (3, {GPU: 2})


class Definition:
    """The formulas of kueue-dra 4.2 and 4.8, written down as they stand."""

    def __init__(self, queues, cohorts, used):
        self.nodes = {("q", one.name): one for one in queues} | {("c", one.name): one for one in cohorts}
        self.used = used

    def limits(self, x, f):
        return (self.nodes[x].limits or {}).get(f, QuotaLimits(0))

    def parent(self, x):
        return ("c", self.nodes[x].parent) if self.nodes[x].parent else None

    def children(self, x):
        return [y for y in self.nodes if self.parent(y) == x]

    def s(self, x, f):
        return self.limits(x, f).nominal + sum(self.s(c, f) - self.kept(c, f) for c in self.children(x))

    def kept(self, x, f):
        lending = self.limits(x, f).lending
        return 0 if lending is None else max(0, self.s(x, f) - lending)

    def u(self, x, f):
        if x[0] == "q":
            return self.used[x[1]].get(f, 0)
        return sum(max(0, self.u(c, f) - self.kept(c, f)) for c in self.children(x))

    def available(self, x, f):
        if self.parent(x) is None:
            return self.s(x, f) - self.u(x, f)
        most, b = self.available(self.parent(x), f), self.limits(x, f).borrowing
        if b is not None:
            most = min(most, self.s(x, f) - self.kept(x, f) - max(0, self.u(x, f) - self.kept(x, f)) + b)
        return max(0, self.kept(x, f) - self.u(x, f)) + most

    def potential(self, x, f):
        if self.parent(x) is None:
            return self.s(x, f)
        most, b = self.kept(x, f) + self.potential(self.parent(x), f), self.limits(x, f).borrowing
        return most if b is None else min(most, self.s(x, f) + b)

    def share(self, x):
        """By floats, in the order in which Kueue computes."""
        if self.parent(x) is None:
            return 0
        shares = [0]
        for resource in ("gpus", "cpu"):
            pairs = [f for f in (GPU, CPU, OTHER) if f[1] == resource]
            known = [f for f in pairs if self.known(x, f)]
            above = sum(max(0, self.u(x, f) - self.s(x, f)) for f in known)
            lendable = sum(self.potential(self.parent(x), f) for f in pairs)
            if lendable:
                shares.append(above * 1000.0 / lendable)
        return max(shares) / float(self.nodes[x].weight)

    def known(self, x, f):
        return f in (self.nodes[x].limits or {}) or any(self.known(c, f) for c in self.children(x))


@pytest.mark.parametrize("seed", range(200))
def test_random_trees_have_what_the_definitions_say(seed):
    """kueue-dra 4.2 and 4.8."""
    queues, cohorts, used = random_tree(seed)
    tree, definition = QuotaTree(queues, cohorts), Definition(queues, cohorts, used)
    for name, held in used.items():
        tree.queues[name].add(held)
    for node in tree.nodes():
        x = ("q" if node.is_queue else "c", node.name)
        for f in (GPU, CPU, OTHER):
            found = (node.at(f).subtree, node.at(f).usage, node.available(f), node.potential(f))
            assert found == (
                definition.s(x, f),
                definition.u(x, f),
                definition.available(x, f),
                definition.potential(x, f),
            )
        assert node.share() == (False, definition.share(x))


@pytest.mark.parametrize("seed", range(50))
def test_what_is_added_and_removed_leaves_nothing_behind(seed):
    queues, cohorts, used = random_tree(seed)
    tree = QuotaTree(queues, cohorts)
    for name, held in used.items():
        tree.queues[name].add(held)
    before = [usage(node) for node in tree.nodes()]
    shares = [node.share() for node in tree.nodes()]
    more = {GPU: 5, CPU: 3, OTHER: 8}
    for node in tree.queues.values():
        with node.with_added(more):
            assert node.at(GPU).usage == used[node.name].get(GPU, 0) + 5
    assert [usage(node) for node in tree.nodes()] == before
    assert [node.share() for node in tree.nodes()] == shares


@pytest.mark.parametrize("seed", range(50))
def test_shares_follow_every_change_of_usage(seed):
    """kueue-dra 4.8: a share that was asked for before a change is not the answer after it."""
    queues, cohorts, _ = random_tree(seed)
    tree, held = QuotaTree(queues, cohorts), {one.name: {GPU: 0, CPU: 0, OTHER: 0} for one in queues}
    chance = random.Random(seed)
    for _ in range(20):
        name, pair, amount = chance.choice(queues).name, chance.choice((GPU, CPU, OTHER)), chance.randint(1, 9)
        if held[name][pair] >= amount:
            tree.queues[name].remove({pair: amount})
            held[name][pair] -= amount
        else:
            tree.queues[name].add({pair: amount})
            held[name][pair] += amount
        definition = Definition(queues, cohorts, held)
        for node in tree.nodes():
            assert node.share() == (False, definition.share(("q" if node.is_queue else "c", node.name)))


def test_heights_are_those_of_the_lowest_subtree_that_holds_the_amount():
    """kueue-dra 4.3, borrow levels."""
    cohorts = [queue("root", nominal=10), queue("mid", "root", nominal=2)]
    tree = QuotaTree([queue("a", "mid", 3)], cohorts)
    found = [tree.queues["a"].height_that_holds(GPU, amount) for amount in (3, 4, 5, 6, 15, 99)]
    assert found == [(0, True), (1, True), (1, True), (2, False), (2, False), (2, False)]


@pytest.mark.parametrize("seed", range(50))
def test_shares_after_a_change_are_known_without_the_change(seed):
    """kueue-dra 4.2 and 4.8: what is kept for a queue, or a cohort on the way, does not arrive above it."""
    queues, cohorts, used = random_tree(seed)
    tree = QuotaTree(queues, cohorts)
    for name, held in used.items():
        tree.queues[name].add(held)
    for queue in tree.queues.values():
        more, less = {GPU: 5, CPU: 3, OTHER: 8}, {pair: amount for pair, amount in used[queue.name].items() if amount}
        for node in (queue, *queue.ancestors):
            after_more = node.share_after(node.arriving(queue, more))
            after_less = node.share_after(node.arriving(queue, less, removed=True))
            with queue.with_added(more):
                assert node.share() == after_more
            queue.remove(less)
            assert node.share() == after_less
            queue.add(less)

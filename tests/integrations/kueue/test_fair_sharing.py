"""The order of heads by shares, and whom a request may preempt, against their definitions (kueue-dra 4.7 and 4.8)."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from support.quota_trees import CPU, GPU, OTHER, random_tree

from drasat.integrations.kueue.fair_sharing import tournament_order
from drasat.integrations.kueue.preemption import PreemptionRequest, could_fit
from drasat.integrations.kueue.quota_tree import QuotaTree


@dataclass
class Head:
    queue: SimpleNamespace
    workload: SimpleNamespace
    usage: dict


def used_tree(seed):
    queues, cohorts, used = random_tree(seed)
    tree = QuotaTree(queues, cohorts)
    for name, usage in used.items():
        tree.queues[name].add(usage)
    return tree


def heads_of(tree, chance):
    return [
        Head(
            SimpleNamespace(node=node),
            SimpleNamespace(priority=chance.randint(0, 1), queued_since=number),
            {pair: chance.randint(0, 6) for pair in chance.sample((GPU, CPU, OTHER), chance.randint(1, 3))},
        )
        for number, node in enumerate(tree.queues.values())
        if chance.random() < 0.9
    ]


def rank(head, cohort):
    """The rank of a head at a cohort, as if its workload were in (kueue-dra 4.8)."""
    node = head.queue.node
    with node.with_added(head.usage):
        while node.parent is not cohort:
            node = node.parent
        borrows = any(node.borrows(pair) for pair in head.usage)
        return borrows, node.share(), -head.workload.priority, head.workload.queued_since


def winner(cohort, heads):
    """The head that wins at the cohort, all ranks taken anew."""
    through = [winner(child, heads) for child in cohort.cohorts]
    found = [one for one in (*through, *(heads.get(queue) for queue in cohort.queues)) if one is not None]
    return min(found, key=lambda one: rank(one, cohort), default=None)


@pytest.mark.parametrize("seed", range(300))
def test_the_order_of_heads_is_that_of_tournaments_held_anew_each_time(seed):
    """kueue-dra 4.8: usage that a head adds, or does not, counts for all that follow."""
    chance = random.Random(seed)
    tree = used_tree(seed)
    heads = heads_of(tree, chance)
    left = {head.queue.node: head for head in heads}
    for head in tournament_order(heads):
        root = head.queue.node.root
        assert head is (left[root] if root.is_queue else winner(root, left))
        del left[head.queue.node]
        if chance.random() < 0.6:
            head.queue.node.add(head.usage)
    assert not left


@pytest.mark.parametrize("seed", range(300))
def test_what_could_not_fit_without_all_candidates_does_not(seed):
    """kueue-dra 4.7: candidates are removed one by one, so all of them together are the most that can go."""
    chance = random.Random(seed)
    tree = used_tree(seed)
    queues = [SimpleNamespace(name=name, node=node) for name, node in tree.queues.items()]
    request = PreemptionRequest(None, chance.choice(queues), {GPU: chance.randint(1, 20), CPU: 1}, frozenset((GPU,)))
    removed, held = [], {True: 0, False: 0}
    for queue in queues:
        for _ in range(chance.randint(0, 2)):
            amount = chance.randint(0, 5)
            queue.node.add({GPU: amount})
            removed.append((queue, amount))
            held[queue is request.queue] += amount
    expected = could_fit(request, GPU, held[True], held[False])
    for queue, amount in removed:
        queue.node.remove({GPU: amount})
    assert expected or not request.queue.node.fits({GPU: request.usage[GPU]})

"""Whom a request preempts, against the plain definition that removes candidates one by one (kueue-dra 4.7)."""

import random
from dataclasses import dataclass, field
from itertools import pairwise

from support.quota_trees import CPU, GPU, OTHER, random_tree

from drasat.integrations.kueue.preemption import (
    IN_CLUSTER_QUEUE,
    IN_COHORT,
    WHILE_BORROWING,
    CandidateLists,
    ClassicalPreemption,
    PreemptionRequest,
)
from drasat.integrations.kueue.queues import ReservedWorkloads
from drasat.integrations.kueue.quota_tree import QuotaNode, QuotaTree
from drasat.models.kubernetes.kueue import BorrowWithinCohort, ClusterQueuePreemption, ClusterQueueSpec

PAIRS = (GPU, CPU, OTHER)
SEEDS = range(4000)


@dataclass(eq=False)
class Workload:
    key: str
    priority: int
    queued_since: int
    held: dict
    evicted: bool = False

    @property
    def preemption_rank(self):
        return not self.evicted, self.priority, -self.queued_since, self.key

    def holds(self, condition):
        assert condition == "Evicted"
        return self.evicted


@dataclass(eq=False)
class Queue:
    name: str
    node: QuotaNode
    spec: ClusterQueueSpec
    reserved: ReservedWorkloads = field(default_factory=ReservedWorkloads)


def random_policies(chance):
    reclaim = chance.choice(["Never", "LowerPriority", "Any", "Any"])
    borrow = "Never" if reclaim == "Never" else chance.choice(["Never", "LowerPriority"])
    within = chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
    threshold = chance.choice([None, 0, 1])
    return ClusterQueuePreemption(reclaim, BorrowWithinCohort(borrow, threshold), within)


def random_scene(seed):
    """Queues with workloads that hold all that is used, and a request that asks for one pair or two."""
    chance = random.Random(seed)
    described, cohorts, _ = random_tree(seed)
    tree = QuotaTree(described, cohorts)
    queues = {
        name: Queue(name, node, ClusterQueueSpec(preemption=random_policies(chance)))
        for name, node in tree.queues.items()
    }
    for name, queue in queues.items():
        for number in range(chance.randint(0, 3)):
            held = {pair: chance.randint(0, 6) for pair in chance.sample(PAIRS, chance.randint(1, 2))}
            one = Workload(f"{name}-{number}", chance.randint(0, 3), chance.randint(0, 4), held, chance.random() < 0.1)
            queue.reserved.add(one)
            queue.node.add(held)
    usage = {pair: chance.randint(1, 12) for pair in chance.sample(PAIRS, chance.randint(1, 2))}
    contested = frozenset(chance.sample(sorted(usage), chance.randint(1, len(usage))))
    by = Workload("preemptor", chance.randint(0, 3), chance.randint(0, 4), {})
    return queues, PreemptionRequest(by, chance.choice(list(queues.values())), usage, contested)


def path_up(node):
    path = [node]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    return path


def over_quota(node, contested):
    return any(node.at(pair).usage > node.at(pair).subtree for pair in contested)


def borrows_up_to(node, common, contested):
    """Whether a queue and all cohorts below a common one are above their quota."""
    path = path_up(node)
    return all(over_quota(one, contested) for one in path[: path.index(common)])


def allowed(policy, by, workload):
    newer = workload.queued_since > by.queued_since
    return {
        "Never": False,
        "Any": True,
        "LowerPriority": workload.priority < by.priority,
        "LowerOrNewerEqualPriority": (workload.priority, not newer) < (by.priority, True),
    }[policy]


def advantages(request):
    """By cohort above: whether the quota of a subtree below it on the way holds what of the request gets there."""
    found, holds, left = {}, False, dict(request.usage)
    path = path_up(request.queue.node)
    for node, above in pairwise(path):
        holds |= all(node.at(pair).usage + amount <= node.at(pair).subtree for pair, amount in left.items())
        left = {pair: amount - max(0, node.at(pair).kept - node.at(pair).usage) for pair, amount in left.items()}
        found[above] = holds
    return found


def candidates(queues, request):
    """All candidates by group, in order: workload, queue, and the lowest cohort above both queues."""
    rules, own = request.queue.spec.preemption, path_up(request.queue.node)
    hierarchical, by_priority, within = [], [], []
    advantage = advantages(request)
    for queue in queues.values():
        common = next((one for one in path_up(queue.node) if one in own), None)
        inside = queue is request.queue
        policy = rules.within_cluster_queue if inside else rules.reclaim_within_cohort
        if common is None or not (inside or borrows_up_to(queue.node, common, request.contested)):
            continue
        group = within if inside else hierarchical if advantage[common] else by_priority
        for workload in queue.reserved:
            if request.contested & workload.held.keys() and allowed(policy, request.workload, workload):
                group.append((workload, queue, common))
    groups = [sorted(one, key=lambda found: found[0].preemption_rank) for one in (hierarchical, by_priority, within)]
    return groups, advantage


def attempts(request, groups):
    hierarchical, by_priority, _ = groups
    node = request.queue.node
    no_borrowing = request.queue.spec.preemption.borrow_within_cohort.policy == "Never"
    below = all(node.at(pair).usage < node.nominal(pair) for pair in request.contested)
    if not (hierarchical or by_priority) or (no_borrowing and not below):
        return [True]
    return [False, True] if no_borrowing and not hierarchical else [True, False]


def fits(request, borrowing):
    node = request.queue.node
    return node.fits(request.usage) and (borrowing or not any(node.borrows(*one) for one in request.usage.items()))


def reason(request, workload, queue, has_advantage):
    """Why the candidate goes; and whether it only goes if the preemptor does not borrow."""
    borrow = request.queue.spec.preemption.borrow_within_cohort
    if queue is request.queue:
        return IN_CLUSTER_QUEUE, False
    if has_advantage:
        return IN_COHORT, False
    threshold = borrow.max_priority_threshold
    too_high = workload.priority >= request.workload.priority or (
        threshold is not None and workload.priority > threshold
    )
    passed_over = borrow.policy == "Never" or too_high
    return (IN_COHORT if passed_over else WHILE_BORROWING), passed_over


def attempt(request, groups, advantage, borrowing):
    order = [one for evicted in (True, False) for group in groups for one in group if one[0].evicted is evicted]
    gone = []
    for workload, queue, common in order:
        why, passed_over = reason(request, workload, queue, queue is not request.queue and advantage[common])
        within_quota = queue is not request.queue and not borrows_up_to(queue.node, common, request.contested)
        if (borrowing and passed_over) or within_quota:
            continue
        queue.node.remove(workload.held)
        gone.append((workload, queue, why))
        if fits(request, borrowing):
            break
    kept = gone if gone and fits(request, borrowing) else []
    for one in reversed(kept[:-1]):
        one[1].node.add(one[0].held)
        if fits(request, borrowing):
            kept = [other for other in kept if other is not one]
            gone = [other for other in gone if other is not one]
        else:
            one[1].node.remove(one[0].held)
    for workload, queue, _ in gone:
        queue.node.add(workload.held)
    return {workload.key: why for workload, _, why in kept}


def victims_by_definition(queues, request):
    """Every attempt is made, whether there is hope for it or not."""
    groups, advantage = candidates(queues, request)
    found = (attempt(request, groups, advantage, borrowing) for borrowing in attempts(request, groups))
    return next((one for one in found if one), {})


def test_requests_preempt_those_whom_attempts_without_any_screening_find():
    """A screening that rejects one attempt that would succeed loses its victims here."""
    with_victims = rejected = 0
    reasons = set()
    for seed in SEEDS:
        queues, request = random_scene(seed)
        expected = victims_by_definition(queues, request)
        found = ClassicalPreemption(CandidateLists(queues)).victims(request)
        assert {one.workload.key: one.reason for one in found} == expected, f"seed {seed}"
        with_victims += bool(expected)
        rejected += not expected and any(candidates(queues, request)[0])
        reasons.update(expected.values())
    assert reasons == {IN_CLUSTER_QUEUE, IN_COHORT, WHILE_BORROWING}
    assert min(with_victims, rejected) > len(SEEDS) // 20


def test_lists_that_are_kept_serve_all_requests_of_a_cycle():
    """What is added up for one request is read for others, of other priorities and pairs."""
    for seed in SEEDS[:400]:
        queues, _ = random_scene(seed)
        chance, kept = random.Random(seed), ClassicalPreemption(CandidateLists(queues))
        for number in range(6):
            queue = chance.choice(list(queues.values()))
            by = Workload(f"preemptor-{number}", chance.randint(0, 3), chance.randint(0, 4), {})
            pair = chance.choice(PAIRS)
            request = PreemptionRequest(by, queue, {pair: chance.randint(1, 12)}, frozenset((pair,)))
            expected = victims_by_definition(queues, request)
            assert {one.workload.key: one.reason for one in kept.victims(request)} == expected, f"seed {seed}"

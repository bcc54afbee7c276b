"""Whom a workload may preempt, without fair sharing: candidates, their order, and the attempts (kueue-dra 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from heapq import merge
from itertools import dropwhile, pairwise, repeat, takewhile
from math import inf
from typing import NamedTuple

from .queues import ClusterQueueState, held_below
from .quota_tree import FlavorResource, QuotaNode, Usage
from .workload_state import EVICTED, WorkloadState

IN_CLUSTER_QUEUE, IN_COHORT = "InClusterQueue", "InCohortReclamation"
WHILE_BORROWING, IN_FAIR_SHARING = "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
_REASON_TEXTS = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT: "reclamation within the cohort",
    WHILE_BORROWING: "reclamation within the cohort while borrowing",
    IN_FAIR_SHARING: "Fair Sharing within the cohort",
}


class Victim(NamedTuple):
    """A workload that has to go, and the reason of its condition Preempted."""

    workload: WorkloadState
    queue: ClusterQueueState
    reason: str


class PreemptionRequest(NamedTuple):
    """Who asks, for what, and for which pairs someone has to go."""

    workload: WorkloadState
    queue: ClusterQueueState
    usage: Usage
    contested: frozenset[FlavorResource]


class _CandidateKind(Enum):
    """How a candidate is related to the workload that preempts."""

    OWN_QUEUE = IN_CLUSTER_QUEUE
    HIERARCHICAL = "over which the preemptor has an advantage by its place in the tree"
    WHILE_BORROWING = "while the preemptor borrows"
    WITHOUT_BORROWING = "unless the preemptor borrows"

    @property
    def reason(self) -> str:
        if self is _CandidateKind.OWN_QUEUE:
            return IN_CLUSTER_QUEUE
        return WHILE_BORROWING if self is _CandidateKind.WHILE_BORROWING else IN_COHORT


class _Candidates(NamedTuple):
    """Candidates of one queue in order; the lowest cohort above both queues, None in the preemptor's queue."""

    workloads: Sequence[WorkloadState]
    queue: ClusterQueueState
    common: QuotaNode | None = None
    advantage: bool = False

    def kind(self, request: PreemptionRequest, workload: WorkloadState) -> _CandidateKind:
        return _CandidateKind.OWN_QUEUE if self.common is None else _kind(request, workload, self.advantage)


class _Level(NamedTuple):
    """A cohort above the preemptor's queue, but for the part from which the way leads up.

    With the advantage the quota of a subtree below holds the request.
    """

    cohort: QuotaNode
    skip: QuotaNode
    advantage: bool


def preemption_message(victim: Victim, by: PreemptionRequest) -> str:
    """The text of the conditions Evicted and Preempted."""
    paths = f"preemptor path: {by.queue.node.path}; preemptee path: {victim.queue.node.path}"
    cause = _REASON_TEXTS[victim.reason]
    return f"Preempted to accommodate a workload (UID: {by.workload.uid}, JobUID: UNKNOWN) due to {cause}; {paths}"


def may_preempt(policy: str, preemptor: WorkloadState, candidate: WorkloadState) -> bool:
    """Whether the policy of the preemptor's queue allows the candidate."""
    if policy == "Any":
        return True
    if policy == "LowerPriority":
        return preemptor.priority > candidate.priority
    if policy == "LowerOrNewerEqualPriority":
        newer = preemptor.queued_since < candidate.queued_since
        return preemptor.priority > candidate.priority or (preemptor.priority == candidate.priority and newer)
    return False


def priority_limit(policy: str, workload: WorkloadState) -> float:
    """No workload of this priority, or a higher one, is a candidate by the policy."""
    if policy == "Never":
        return -inf
    if policy == "Any":
        return inf
    return workload.priority + (policy != "LowerPriority")


class CandidateLists:
    """Finds candidates queue by queue, and keeps them: for as long as neither usage nor conditions change."""

    def __init__(self, queues: Mapping[str, ClusterQueueState], gone: AbstractSet[str] = frozenset()) -> None:
        self.queues = queues
        # Workloads that are being preempted already.
        self._gone = gone
        self._of_queue: dict[object, Sequence[WorkloadState]] = {}
        self._borrowers: dict[object, Mapping[QuotaNode, ClusterQueueState]] = {}
        self._held: dict[object, int] = {}
        self._under: dict[object, dict[int, int]] = {}
        self._around: dict[object, dict[int, int]] = {}

    def of_queue(self, request: PreemptionRequest, queue: ClusterQueueState, policy: str) -> Sequence[WorkloadState]:
        """The candidates of a queue that the policy allows, in the order in which they go."""
        if policy == "Never":
            return ()
        if policy == "Any" and not self._gone:
            return queue.reserved.holding(request.contested)
        key = queue.name, _allowed(request, policy)
        found = self._of_queue.get(key)
        if found is None:
            found = self._of_queue[key] = [
                one
                for one in queue.reserved.holding(request.contested)
                if one.key not in self._gone and may_preempt(policy, request.workload, one)
            ]
        return found

    def borrowers(
        self, cohort: QuotaNode, skip: QuotaNode, contested: AbstractSet[FlavorResource]
    ) -> Mapping[QuotaNode, ClusterQueueState]:
        """Queues above their quota, under cohorts that are above theirs; but for the part that is skipped."""
        key = cohort, skip, contested
        found = self._borrowers.get(key)
        if found is None:
            found = self._kept(key, _borrowing_queues(cohort, skip, contested))
        return found

    def borrowing_queues(
        self, part: QuotaNode, contested: AbstractSet[FlavorResource]
    ) -> Mapping[QuotaNode, ClusterQueueState]:
        """All queues of a part of the tree that borrow what is contested."""
        key = part, contested
        found = self._borrowers.get(key)
        if found is None:
            found = self._kept(key, (one for one in part.all_queues() if any(one.borrows(pair) for pair in contested)))
        return found

    def _kept(self, key: object, queues: Iterable[QuotaNode]) -> Mapping[QuotaNode, ClusterQueueState]:
        found = self._borrowers[key] = {one: self.queues[one.name] for one in queues}
        return found

    def held(self, queues: Mapping[QuotaNode, ClusterQueueState], pair: FlavorResource, below: float) -> int:
        """What workloads of a priority below a limit hold in these queues, which are kept here."""
        key = id(queues), pair, below
        found = self._held.get(key)
        if found is None:
            found = self._held[key] = sum(queue.reserved.held(pair, below) for queue in queues.values())
        return found

    def held_by_borrowers(
        self,
        cohort: QuotaNode,
        skip: QuotaNode,
        contested: AbstractSet[FlavorResource],
        pair: FlavorResource,
        below: float,
    ) -> int:
        """What ``held`` says of the ``borrowers`` of a cohort, added up part by part."""
        total = held_below(self._held_under(cohort, contested, pair), below)
        return total - held_below(self._held_in(skip, contested, pair), below) if total else 0

    def held_around(
        self, queue: QuotaNode, contested: AbstractSet[FlavorResource], pair: FlavorResource, below: float
    ) -> int:
        """What ``held_by_borrowers`` says of all cohorts above a queue together, each but for the way up."""
        parent = queue.parent
        if parent is None:
            return 0
        key = parent, contested, pair
        found = self._around.get(key)
        if found is None:
            found = self._around[key] = dict(self._held_under(parent, contested, pair))
            for above, part in pairwise(parent.from_root):
                _add_held(found, self._held_under(above, contested, pair), 1)
                _add_held(found, self._held_in(part, contested, pair), -1)
        total = held_below(found, below)
        return total - held_below(self._held_in(queue, contested, pair), below) if total else 0

    def _held_under(
        self, cohort: QuotaNode, contested: AbstractSet[FlavorResource], pair: FlavorResource
    ) -> Mapping[int, int]:
        """What borrowers below a cohort hold of a pair, by priority."""
        asked = contested, pair
        found = self._under.get((cohort, *asked))
        # Without recursion, for trees may be deep: a cohort is added up after all those below it.
        waiting = [cohort] if found is None else []
        while waiting:
            at = waiting[-1]
            lower = [one for one in at.cohorts if (one, *asked) not in self._under and not one.within_quota(contested)]
            if lower:
                waiting += lower
                continue
            found = self._under[waiting.pop(), *asked] = {}
            for part in (*at.queues, *at.cohorts):
                _add_held(found, self._held_in(part, *asked), 1)
        assert found is not None
        return found

    def _held_in(
        self, part: QuotaNode, contested: AbstractSet[FlavorResource], pair: FlavorResource
    ) -> Mapping[int, int]:
        if part.within_quota(contested):
            return _NOTHING
        if part.is_queue:
            return self.queues[part.name].reserved.held_by_priority(pair)
        return self._held_under(part, contested, pair)


_NOTHING: Mapping[int, int] = {}


def _add_held(total: dict[int, int], held: Mapping[int, int], sign: int) -> None:
    for priority, amount in held.items():
        total[priority] = total.get(priority, 0) + sign * amount


def _allowed(request: PreemptionRequest, policy: str) -> tuple[object, ...]:
    """What a policy looks at in the request."""
    workload = request.workload
    if policy == "LowerPriority":
        return policy, request.contested, workload.priority
    if policy == "LowerOrNewerEqualPriority":
        return policy, request.contested, workload.priority, workload.queued_since
    return policy, request.contested


def could_fit(request: PreemptionRequest, pair: FlavorResource, own: int, others: int) -> bool:
    """Whether the amount of a pair might fit after so much is gone from the own queue, and from others.

    False is certain: no node on the way to the root gets back more.
    """
    return request.usage.get(pair, 0) <= max(0, request.queue.node.by_pair[pair].available(own, own + others))


class ClassicalPreemption:
    """Victims by priority and by borrowing."""

    def __init__(self, candidates: CandidateLists) -> None:
        self._candidates = candidates

    def victims(self, request: PreemptionRequest) -> list[Victim]:
        """The workloads that have to go so that the request fits; none if that cannot be reached."""
        rules = request.queue.spec.preemption
        limit = priority_limit(rules.reclaim_within_cohort, request.workload)
        held = self._held_by_own(request)
        if not self._could_fit(request, held, limit):
            return []
        levels = list(_levels(request))
        hopeful = list(self._hopeful(request, levels, held, limit))
        if not hopeful:
            return []
        own = _Candidates(self._candidates.of_queue(request, request.queue, rules.within_cluster_queue), request.queue)
        hierarchical: list[_Candidates] = []
        by_priority: list[_Candidates] = []
        for level in levels:
            for queue in self._candidates.borrowers(level.cohort, level.skip, request.contested).values():
                workloads = self._candidates.of_queue(request, queue, rules.reclaim_within_cohort)
                if workloads:
                    found = _Candidates(workloads, queue, level.cohort, level.advantage)
                    (hierarchical if level.advantage else by_priority).append(found)
        for borrowing in _attempts(request, hierarchical, by_priority):
            if borrowing in hopeful and (victims := _attempt(request, (hierarchical, by_priority, [own]), borrowing)):
                return victims
        return []

    @staticmethod
    def _held_by_own(request: PreemptionRequest) -> Usage:
        """What candidates of the own queue hold at most, of each pair that is asked for."""
        queue = request.queue
        limit = priority_limit(queue.spec.preemption.within_cluster_queue, request.workload)
        return {pair: queue.reserved.held(pair, limit) for pair in request.usage}

    def _could_fit(self, request: PreemptionRequest, own: Usage, limit: float) -> bool:
        """Whether the request might fit after all workloads that policies allow are gone; False is certain."""
        node, contested, others = request.queue.node, request.contested, self._candidates.held_around
        for pair in contested:
            held = 0 if limit == -inf else others(node, contested, pair, limit)
            if not could_fit(request, pair, own[pair], held):
                return False
        return True

    def _hopeful(
        self, request: PreemptionRequest, levels: Sequence[_Level], own: Usage, limit: float
    ) -> Iterator[bool]:
        """The attempts, with borrowing or without, that might succeed; that others cannot is certain.

        Without borrowing nobody is passed over, so that ``_could_fit`` has said enough.
        """
        queue, counted = request.queue, [(one, limit) for one in levels if one.advantage]
        if _may_borrow(queue):
            lower = min(limit, request.workload.priority)
            counted += [(one, lower) for one in levels if not one.advantage]
        contested = request.contested
        if all(could_fit(request, pair, own[pair], self._held_by_others(request, pair, counted)) for pair in contested):
            yield True
        if not any(queue.node.borrows(pair, amount - own[pair]) for pair, amount in request.usage.items()):
            yield False

    def _held_by_others(
        self, request: PreemptionRequest, pair: FlavorResource, counted: Iterable[tuple[_Level, float]]
    ) -> int:
        held, contested = self._candidates.held_by_borrowers, request.contested
        return sum([held(level.cohort, level.skip, contested, pair, below) for level, below in counted])


def _attempt(request: PreemptionRequest, groups: Sequence[Sequence[_Candidates]], borrowing: bool) -> list[Victim]:
    removed: list[Victim] = []
    found: list[Victim] = []
    for workload, one in _in_order(groups):
        kind = one.kind(request, workload)
        if (borrowing and kind is _CandidateKind.WITHOUT_BORROWING) or not _still_valid(one, request):
            continue
        one.queue.node.remove(workload.held)
        removed.append(Victim(workload, one.queue, kind.reason))
        if fits_after(request, borrowing):
            found = put_back_unneeded(removed, lambda: fits_after(request, borrowing))
            removed = found
            break
    restore(removed)
    return found


def _levels(request: PreemptionRequest) -> Iterator[_Level]:
    """The cohorts above, each with whether a subtree below it holds the request."""
    below = request.queue.node
    if request.queue.spec.preemption.reclaim_within_cohort == "Never":
        return
    advantage, left = _held_by(below, request.usage)
    for cohort in below.ancestors:
        yield _Level(cohort, below, advantage)
        holds, left = _held_by(cohort, left)
        advantage = advantage or holds
        below = cohort


def _attempts(
    request: PreemptionRequest, hierarchical: Sequence[_Candidates], by_priority: Sequence[_Candidates]
) -> Sequence[bool]:
    """Whether the preemptor may borrow, attempt by attempt."""
    node = request.queue.node
    forbidden = not _may_borrow(request.queue)
    below = all(node.at(pair).usage < node.nominal(pair) for pair in request.contested)
    if not (hierarchical or by_priority) or (forbidden and not below):
        return (True,)
    return (False, True) if forbidden and not hierarchical else (True, False)


def _in_order(groups: Sequence[Sequence[_Candidates]]) -> Iterator[tuple[WorkloadState, _Candidates]]:
    """Candidates group by group, of each group by their ranks; those that are being evicted come before all others."""
    for group in groups:
        leaving = [one for one in group if one.workloads and one.workloads[0].holds(EVICTED)]
        yield from takewhile(_leaving, _merged(leaving))
    for group in groups:
        yield from dropwhile(_leaving, _merged(group))


def _leaving(one: tuple[WorkloadState, _Candidates]) -> bool:
    return one[0].holds(EVICTED)


def _merged(group: Iterable[_Candidates]) -> Iterator[tuple[WorkloadState, _Candidates]]:
    return merge(*(zip(one.workloads, repeat(one)) for one in group), key=lambda one: one[0].preemption_rank)


def _may_borrow(queue: ClusterQueueState) -> bool:
    return queue.spec.preemption.borrow_within_cohort.policy != "Never"


def _kind(request: PreemptionRequest, candidate: WorkloadState, advantage: bool) -> _CandidateKind:
    if advantage:
        return _CandidateKind.HIERARCHICAL
    threshold = request.queue.spec.preemption.borrow_within_cohort.max_priority_threshold
    above = candidate.priority >= request.workload.priority or (
        threshold is not None and candidate.priority > threshold
    )
    return (
        _CandidateKind.WITHOUT_BORROWING if above or not _may_borrow(request.queue) else _CandidateKind.WHILE_BORROWING
    )


def _held_by(node: QuotaNode, usage: Usage) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether the quota of the subtree holds the amounts, and what is left for the nodes above."""
    holds, left = True, {}
    for pair, amount in usage.items():
        quota = node.by_pair[pair]
        holds = holds and quota.usage + amount <= quota.subtree
        unused = quota.kept - quota.usage
        left[pair] = amount - unused if unused > 0 else amount
    return holds, left


def _borrowing_queues(cohort: QuotaNode, skip: QuotaNode, pairs: AbstractSet[FlavorResource]) -> Iterator[QuotaNode]:
    """Queues of the subtree that are above their quota, under cohorts that are; but for the part that is skipped."""
    waiting = [cohort]
    while waiting:
        at = waiting.pop()
        waiting.extend(one for one in at.cohorts if one is not skip and not one.within_quota(pairs))
        yield from (one for one in at.queues if one is not skip and not one.within_quota(pairs))


def _still_valid(one: _Candidates, request: PreemptionRequest) -> bool:
    """Whether the queue of the candidate, or a cohort on the way, is still above its quota after earlier removals."""
    if one.common is None:
        return True
    node: QuotaNode | None = one.queue.node
    while node is not None and node is not one.common:
        if node.within_quota(request.contested):
            return False
        node = node.parent
    return True


def fits_after(request: PreemptionRequest, borrowing: bool) -> bool:
    """Whether the request fits now, and without borrowing unless that is allowed."""
    node = request.queue.node
    if not borrowing and any(node.borrows(pair, amount) for pair, amount in request.usage.items()):
        return False
    return node.fits(request.usage)


def put_back_unneeded(removed: list[Victim], fits: Callable[[], bool]) -> list[Victim]:
    """Put back victims without which the request fits as well, from the last but one to the first."""
    kept = list(removed)
    for index in range(len(kept) - 2, -1, -1):
        one = kept[index]
        one.queue.node.add(one.workload.held)
        if fits():
            kept[index] = kept[-1]
            kept.pop()
        else:
            one.queue.node.remove(one.workload.held)
    return kept


def restore(removed: Iterable[Victim]) -> None:
    """Give those that were removed their quota again."""
    for one in removed:
        one.queue.node.add(one.workload.held)

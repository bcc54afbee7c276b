"""Whom a workload may preempt, without fair sharing: candidates, their order, and the attempts (kueue-dra 4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple

from .queues import ClusterQueueState
from .quota_tree import FlavorResource, QuotaNode, Usage
from .workload_state import EVICTED, WorkloadState

_first = itemgetter(0)
IN_CLUSTER_QUEUE, IN_COHORT = "InClusterQueue", "InCohortReclamation"
WHILE_BORROWING, IN_FAIR_SHARING = "InCohortReclaimWhileBorrowing", "InCohortFairSharing"
_REASON_TEXTS = {
    IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    IN_COHORT: "reclamation within the cohort",
    WHILE_BORROWING: "reclamation within the cohort while borrowing",
    IN_FAIR_SHARING: "Fair Sharing within the cohort",
}


@dataclass(frozen=True, slots=True)
class Victim:
    """A workload that has to go, and the reason of its condition Preempted."""

    workload: WorkloadState
    queue: ClusterQueueState
    reason: str


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
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


class _PreemptionCandidate(NamedTuple):
    """A candidate with its place in the order; the lowest cohort above both queues, None in the preemptor's queue."""

    rank: tuple[Any, ...]
    workload: WorkloadState
    queue: ClusterQueueState
    common: QuotaNode | None = None
    advantage: bool = False

    def kind(self, request: PreemptionRequest) -> _CandidateKind:
        return _CandidateKind.OWN_QUEUE if self.common is None else _kind(request, self.workload, self.advantage)


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


def candidate_rank(workload: WorkloadState, own: bool, now: float) -> tuple[Any, ...]:
    """Those being evicted first, then other queues than the preemptor's, lower priority, reserved later, UID."""
    since = workload.reserved_since
    return not workload.holds(EVICTED), own, workload.priority, -(now if since is None else since), workload.uid


@dataclass(frozen=True, slots=True)
class CandidateList:
    """Workloads of one queue that may be preempted, in the order in which they go, and what they hold together."""

    workloads: tuple[WorkloadState, ...]
    ranks: tuple[tuple[Any, ...], ...]
    held: Mapping[FlavorResource, int]


class CandidateLists:
    """Finds candidates queue by queue, and keeps them: for as long as neither usage nor conditions change."""

    def __init__(
        self, queues: Mapping[str, ClusterQueueState], now: float, gone: AbstractSet[str] = frozenset()
    ) -> None:
        self.queues = queues
        self.now = now
        # Workloads that are being preempted already.
        self._gone = gone
        self._ranks: dict[str, tuple[Any, ...]] = {}
        self._of_queue: dict[object, CandidateList] = {}
        self._borrowing: dict[object, Mapping[str, CandidateList]] = {}

    def of_queue(self, request: PreemptionRequest, queue: ClusterQueueState, policy: str) -> CandidateList:
        """The candidates of a queue that the policy allows."""
        key = queue.name, _allowed(request, policy)
        found = self._of_queue.get(key)
        if found is None:
            contested = request.contested
            workloads = [
                one
                for one in (() if policy == "Never" else queue.reserved.values())
                if not contested.isdisjoint(one.held)
                and one.key not in self._gone
                and may_preempt(policy, request.workload, one)
            ]
            held = {pair: sum(one.held.get(pair, 0) for one in workloads) for pair in contested}
            ranked = sorted(((self._rank(one), one) for one in workloads), key=_first)
            ranks, ordered = tuple(rank for rank, _ in ranked), tuple(one for _, one in ranked)
            found = self._of_queue[key] = CandidateList(ordered, ranks, held)
        return found

    def _rank(self, workload: WorkloadState) -> tuple[Any, ...]:
        """The place of a workload among those of queues that are all the preemptor's, or all others."""
        found = self._ranks.get(workload.key)
        if found is None:
            found = self._ranks[workload.key] = candidate_rank(workload, False, self.now)
        return found

    def of_borrowing_queues(self, request: PreemptionRequest, policy: str) -> Mapping[str, CandidateList]:
        """The candidates of each queue of the tree that borrows what is contested."""
        root = request.queue.node.root
        key = root.name, _allowed(request, policy)
        found = self._borrowing.get(key)
        if found is None:
            found = self._borrowing[key] = {}
            for node in () if policy == "Never" else root.all_queues():
                if any(node.borrows(pair) for pair in request.contested):
                    candidates = self.of_queue(request, self.queues[node.name], policy)
                    if candidates.workloads:
                        found[node.name] = candidates
        return found


def _allowed(request: PreemptionRequest, policy: str) -> tuple[object, ...]:
    """What a policy looks at in the request."""
    workload = request.workload
    if policy == "LowerPriority":
        return policy, request.contested, workload.priority
    if policy == "LowerOrNewerEqualPriority":
        return policy, request.contested, workload.priority, workload.queued_since
    return policy, request.contested


def could_fit(request: PreemptionRequest, own: CandidateList, others: Iterable[CandidateList]) -> bool:
    """Whether the request might fit if all candidates were gone; False is certain.

    No node on the way to the root gets back more than the candidates hold, and the queue only what its own hold.
    """
    lists = [own, *others]
    if not any(one.workloads for one in lists):
        return False
    return all(
        request.usage.get(pair, 0)
        <= max(0, request.queue.node.available(pair, own.held[pair], sum(one.held[pair] for one in lists)))
        for pair in request.contested
    )


class ClassicalPreemption:
    """Victims by priority and by borrowing."""

    def __init__(self, candidates: CandidateLists) -> None:
        self._candidates = candidates

    def victims(self, request: PreemptionRequest) -> list[Victim]:
        """The workloads that have to go so that the request fits; none if that cannot be reached."""
        queue = request.queue
        own_list = self._candidates.of_queue(request, queue, queue.spec.preemption.within_cluster_queue)
        lists = list(self._cohort_lists(request))
        if not could_fit(request, own_list, (one for one, *_ in lists)):
            return []
        own = [_PreemptionCandidate(*one, queue) for one in zip(own_list.ranks, own_list.workloads, strict=True)]
        hierarchical: list[_PreemptionCandidate] = []
        by_priority: list[_PreemptionCandidate] = []
        for found, other, cohort, advantage in lists:
            (hierarchical if advantage else by_priority).extend(
                _PreemptionCandidate(rank, one, other, cohort, advantage)
                for rank, one in zip(found.ranks, found.workloads, strict=True)
            )
        groups = [sorted(group, key=_first) for group in (hierarchical, by_priority, own)]
        # The first of a rank is whether the workload stays, that is, is not being evicted.
        candidates = [one for group in groups for one in group if not one.rank[0]]
        candidates += [one for group in groups for one in group if one.rank[0]]
        for borrowing in self._attempts(request, hierarchical, by_priority):
            victims = self._attempt(request, candidates, borrowing)
            if victims:
                return victims
        return []

    @staticmethod
    def _attempts(
        request: PreemptionRequest,
        hierarchical: Sequence[_PreemptionCandidate],
        by_priority: Sequence[_PreemptionCandidate],
    ) -> Sequence[bool]:
        """Whether the preemptor may borrow, attempt by attempt."""
        node = request.queue.node
        forbidden = not _may_borrow(request.queue)
        below = all(node.usage.get(pair, 0) < node.nominal(pair) for pair in request.contested)
        if not (hierarchical or by_priority) or (forbidden and not below):
            return (True,)
        return (False, True) if forbidden and not hierarchical else (True, False)

    @staticmethod
    def _attempt(
        request: PreemptionRequest, candidates: Iterable[_PreemptionCandidate], borrowing: bool
    ) -> list[Victim]:
        removed: list[Victim] = []
        found: list[Victim] = []
        for one in candidates:
            kind = one.kind(request)
            if (borrowing and kind is _CandidateKind.WITHOUT_BORROWING) or not _still_valid(one, request):
                continue
            one.queue.node.remove(one.workload.held)
            removed.append(Victim(one.workload, one.queue, kind.reason))
            if fits_after(request, borrowing):
                found = put_back_unneeded(removed, lambda: fits_after(request, borrowing))
                removed = found
                break
        restore(removed)
        return found

    def _cohort_lists(
        self, request: PreemptionRequest
    ) -> Iterator[tuple[CandidateList, ClusterQueueState, QuotaNode, bool]]:
        """Candidates of other queues, their common cohort, and whether the preemptor's subtree holds the request."""
        policy = request.queue.spec.preemption.reclaim_within_cohort
        node = request.queue.node
        if policy == "Never":
            return
        advantage, left = _held_by(node, request.usage)
        below = node
        for cohort in node.ancestors:
            for borrower in _borrowing_queues(cohort, below, request.contested):
                queue = self._candidates.queues[borrower.name]
                found = self._candidates.of_queue(request, queue, policy)
                if found.workloads:
                    yield found, queue, cohort, advantage
            holds, left = _held_by(cohort, left)
            advantage = advantage or holds
            below = cohort


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
    holds = all(node.usage.get(pair, 0) + amount <= node.subtree.get(pair, 0) for pair, amount in usage.items())
    return holds, {pair: amount - node.local_available(pair) for pair, amount in usage.items()}


def _borrowing_queues(cohort: QuotaNode, skip: QuotaNode, pairs: AbstractSet[FlavorResource]) -> Iterator[QuotaNode]:
    """Queues of the subtree that are above their quota, under cohorts that are; but for the part that is skipped."""
    waiting = [cohort]
    while waiting:
        at = waiting.pop()
        waiting.extend(one for one in at.cohorts if one is not skip and not one.within_quota(pairs))
        yield from (one for one in at.queues if one is not skip and not one.within_quota(pairs))


def _still_valid(one: _PreemptionCandidate, request: PreemptionRequest) -> bool:
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

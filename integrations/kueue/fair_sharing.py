"""Fair sharing: the order of heads by their shares, and whom a workload may preempt (kueue-dra 4.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heapreplace
from typing import Any, Generic, Protocol, TypeVar

from . import preemption
from .preemption import CandidateLists, PreemptionRequest, Victim
from .queues import ClusterQueueState
from .quota_tree import NO_SHARE, FlavorResource, QuotaNode, Share, Usage
from .workload_state import WorkloadState

_Strategy = Callable[[Share, Share, Share], bool]
# By the share of the preemptor with its workload, and that of the victim's queue before and after the removal.
STRATEGIES: Mapping[str, _Strategy] = {
    "LessThanOrEqualToFinalShare": lambda preemptor, _before, after: preemptor <= after,
    "LessThanInitialShare": lambda preemptor, before, _after: preemptor < before,
}


class Contender(Protocol):
    """A head in the tournament."""

    queue: ClusterQueueState
    workload: WorkloadState

    @property
    def usage(self) -> Usage:
        """What the head would use."""


Head = TypeVar("Head", bound=Contender)


def tournament_order(heads: Iterable[Head]) -> Iterator[Head]:
    """Heads in the order of their shares.

    Until the next head is asked for, the usage at the queue of the last one may change; that counts for those that
    follow.
    """
    left: dict[QuotaNode, Head] = {one.queue.node: one for one in heads}
    tournaments: dict[QuotaNode, _Tournament[Head]] = {}
    while left:
        first = next(iter(left))
        if first.parent is None:
            yield left.pop(first)
            continue
        if first.root not in tournaments:
            tournaments[first.root] = _Tournament(first.root, left)
        tournament = tournaments[first.root]
        winner = tournament.winner()
        before = dict(winner.usage)
        yield left.pop(winner)
        tournament.leave(winner, changed=winner.usage != before)


class _Tournament(Generic[Head]):
    """The heads of one tree; what a cohort decided holds until one of its heads leaves, or usage below it changes."""

    def __init__(self, root: QuotaNode, heads: Mapping[QuotaNode, Head]) -> None:
        self._root = root
        self._heads = heads
        # The rank of a head at a cohort, by the child of the cohort through which it comes.
        self._ranks: dict[QuotaNode, tuple[QuotaNode, tuple[Any, ...]]] = {}
        self._best: dict[QuotaNode, QuotaNode] = {}
        cohorts = [root]
        for cohort in cohorts:
            cohorts.extend(cohort.cohorts)
        for cohort in reversed(cohorts):
            self._decide(cohort)

    def winner(self) -> QuotaNode:
        """The queue of the head that wins at every cohort on the way to the root."""
        return self._best[self._root]

    def leave(self, queue: QuotaNode, *, changed: bool) -> None:
        """Go on without the head of a queue, after usage changed or not at the queue, and so on its way to the root."""
        for node in queue.from_root if changed else ():
            self._ranks.pop(node, None)
        for cohort in queue.ancestors:
            self._decide(cohort)

    def _decide(self, cohort: QuotaNode) -> None:
        best: tuple[Any, ...] | None = None
        self._best.pop(cohort, None)
        for child in (*cohort.cohorts, *cohort.queues):
            queue = self._best.get(child) if not child.is_queue else child if child in self._heads else None
            if queue is None:
                continue
            rank = self._rank(child, queue)
            if best is None or rank < best:
                best, self._best[cohort] = rank, queue

    def _rank(self, node: QuotaNode, queue: QuotaNode) -> tuple[Any, ...]:
        """The rank of a head among the children of a cohort: as if the workload were in."""
        known = self._ranks.get(node)
        if known is not None and known[0] is queue:
            return known[1]
        head = self._heads[queue]
        with queue.with_added(head.usage):
            borrows = any(node.borrows(pair) for pair in head.usage)
            rank = (borrows, node.share(), -head.workload.priority, head.workload.queued_since)
        self._ranks[node] = queue, rank
        return rank


class FairPreemption:
    """Victims by the shares of queues and cohorts."""

    def __init__(self, candidates: CandidateLists, strategies: Sequence[str]) -> None:
        self._candidates = candidates
        self._strategies = [STRATEGIES[name] for name in strategies]

    def victims(self, request: PreemptionRequest) -> list[Victim]:
        """The workloads that have to go so that the request fits; none if that cannot be reached."""
        borrowers = self._candidates.borrowing_queues(request.queue.node.root, request.contested)
        if not self._could_fit(request, borrowers):
            return []
        search = _FairSearch(request, self._candidates, {queue.node for queue in borrowers})
        # Shares are taken as if the workload were in.
        with request.queue.node.with_added(request.usage):
            enough = search.by_first(self._strategies[0])
            if not enough and len(self._strategies) > 1:
                enough = search.by_second(self._strategies[1])
        if not enough:
            preemption.restore(search.removed)
            return []
        kept = preemption.put_back_unneeded(search.removed, lambda: preemption.fits_after(request, True))
        preemption.restore(kept)
        return kept

    def _could_fit(self, request: PreemptionRequest, borrowers: Sequence[ClusterQueueState]) -> bool:
        """Whether the request might fit after all candidates are gone; False is certain."""
        rules, own = request.queue.spec.preemption, request.queue.reserved
        own_limit = preemption.priority_limit(rules.within_cluster_queue, request.workload)
        limit = preemption.priority_limit(rules.reclaim_within_cohort, request.workload)
        return all(
            preemption.could_fit(
                request, pair, own.held(pair, own_limit), self._candidates.held(borrowers, pair, limit)
            )
            for pair in request.contested
        )


class _TargetQueue:
    """A queue that may lose workloads: candidates in order, and how many of them are gone or were refused."""

    def __init__(self, queue: ClusterQueueState, workloads: Sequence[WorkloadState], *, own: bool) -> None:
        self.queue = queue
        self.workloads = workloads
        self.passed = 0
        self.own = own

    def __repr__(self) -> str:
        return f"_TargetQueue({self.queue.name!r})"

    @property
    def rank(self) -> tuple[Any, ...]:
        """The place among queues with one share: that of the next candidate, where the preemptor's queue comes later."""
        stays, *rest = self.workloads[self.passed].preemption_rank
        return stays, self.own, *rest


class _FairSearch:
    """Removes candidates until a request fits whose usage is added."""

    def __init__(
        self, request: PreemptionRequest, candidates: CandidateLists, borrowing: AbstractSet[QuotaNode]
    ) -> None:
        self.removed: list[Victim] = []
        self._request = request
        self._candidates = candidates
        # The queues that borrowed before.
        self._borrowing = borrowing
        # What the first strategy refused, by queue.
        self._again: dict[QuotaNode, list[WorkloadState]] = {}
        # A pair of which so much is missing still; nothing is known of the others.
        self._missing: tuple[FlavorResource, int] | None = None

    def by_first(self, strategy: _Strategy) -> bool:
        """Remove candidates by the first strategy; return whether the request fits."""
        request, node = self._request, self._request.queue.node
        # A queue that stays within its quota for what is contested may reclaim whatever the shares are.
        within = not any(node.borrows(pair) for pair in request.contested)
        reason = preemption.IN_COHORT if within else preemption.IN_FAIR_SHARING
        targets = _TargetQueues(request.queue, self._of_queue, self._candidates.queues)
        while (target := targets.next()) is not None:
            if target.own:
                if self._remove(target, preemption.IN_CLUSTER_QUEUE):
                    return True
                continue
            own, other = _below_common(node, target.queue.node)
            preemptor, before = own.share(), other.share()
            if not (within or strategy(preemptor, before, before)):
                # No removal makes the share larger than it was.
                self._refuse(target, len(target.workloads))
            refused: list[Usage] = []
            while target.passed < len(target.workloads):
                held = target.workloads[target.passed].held
                if not within:
                    if held in refused:
                        self._refuse(target)
                        continue
                    with target.queue.node.with_removed(held):
                        after = other.share()
                    if not strategy(preemptor, before, after):
                        refused.append(held)
                        self._refuse(target)
                        continue
                if self._remove(target, reason):
                    return True
                # Shares have changed; another queue may be first.
                break
        return False

    def by_second(self, strategy: _Strategy) -> bool:
        """Remove one of the refused candidates of each queue that the second strategy allows."""
        request = self._request
        targets = _TargetQueues(request.queue, lambda child: self._again.get(child, ()), self._candidates.queues)
        while (target := targets.next()) is not None:
            own, other = _below_common(request.queue.node, target.queue.node)
            if strategy(own.share(), other.share(), NO_SHARE) and self._remove(target, preemption.IN_FAIR_SHARING):
                return True
            targets.drop(target)
        return False

    def _of_queue(self, node: QuotaNode) -> Sequence[WorkloadState]:
        request, rules = self._request, self._request.queue.spec.preemption
        if node is request.queue.node:
            return self._candidates.of_queue(request, request.queue, rules.within_cluster_queue)
        if node not in self._borrowing:
            return ()
        queue = self._candidates.queues[node.name]
        return self._candidates.of_queue(request, queue, rules.reclaim_within_cohort)

    def _refuse(self, target: _TargetQueue, count: int = 1) -> None:
        passed = target.passed
        self._again.setdefault(target.queue.node, []).extend(target.workloads[passed : passed + count])
        target.passed += count

    def _remove(self, target: _TargetQueue, reason: str) -> bool:
        """Remove the next candidate of a queue; return whether the request fits."""
        workload = target.workloads[target.passed]
        target.passed += 1
        target.queue.node.remove(workload.held)
        self.removed.append(Victim(workload, target.queue, reason))
        if self._missing is not None:
            # A removal gives back no more than is removed.
            pair, missing = self._missing
            missing -= max(0, workload.held.get(pair, 0))
            if missing > 0:
                self._missing = pair, missing
                return False
        for pair, amount in self._request.usage.items():
            missing = -self._request.queue.node.available(pair)
            if amount > 0 and missing > 0:
                self._missing = pair, missing
                return False
        return True


def _below_common(one: QuotaNode, other: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
    """The nodes on the ways up from two queues of a tree whose parent is the lowest cohort above both."""
    return next(pair for pair in zip(one.from_root, other.from_root, strict=False) if pair[0] is not pair[1])


_Place = tuple[bool, float, tuple[Any, ...], int]


class _TargetQueues:
    """Queues in the order in which they lose a workload: at every cohort the child with the largest share.

    Shares and the numbers of candidates only fall. So the places of children are looked at again only where they are
    the first.
    """

    def __init__(
        self,
        preemptor: ClusterQueueState,
        candidates: Callable[[QuotaNode], Sequence[WorkloadState]],
        queues: Mapping[str, ClusterQueueState],
    ) -> None:
        self._candidates = candidates
        self._queues = queues
        self._preemptor = preemptor
        self._way = set(preemptor.node.from_root)
        self._targets: dict[QuotaNode, _TargetQueue] = {}
        # The children of a cohort that are left, by their places: cohorts and queues.
        self._left: dict[QuotaNode, tuple[list[tuple[_Place, QuotaNode]], list[tuple[_Place, QuotaNode]]]] = {}
        self._pruned: set[QuotaNode] = set()

    def next(self) -> _TargetQueue | None:
        """The next queue, or None if no queue is left that borrows."""
        node = self._preemptor.node
        if node.parent is None:
            own = self._target(node)
            return own if own.passed < len(own.workloads) else None
        while node.root not in self._pruned:
            found = self._highest(node.root)
            if found is not None:
                return self._targets[found]
        return None

    def drop(self, target: _TargetQueue) -> None:
        """Take no more workloads of the queue."""
        self._pruned.add(target.queue.node)

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        while True:
            if cohort not in self._left:
                self._left[cohort] = self._ranked(cohort.cohorts), self._ranked(cohort.queues)
            cohorts, queues = self._left[cohort]
            child, queue = self._first(cohorts), self._first(queues)
            if queue is None and child is None:
                self._pruned.add(cohort)
                return None
            if child is None or (queue is not None and queue.share() > child.share()):
                return queue
            cohort = child

    def _ranked(self, children: Sequence[QuotaNode]) -> list[tuple[_Place, QuotaNode]]:
        found = [(place, child) for number, child in enumerate(children) if (place := self._place(child, number))]
        heapify(found)
        return found

    def _first(self, heap: list[tuple[_Place, QuotaNode]]) -> QuotaNode | None:
        """The child with the largest share; of queues with one share that whose candidate goes first."""
        while heap:
            known, child = heap[0]
            place = self._place(child, known[-1])
            if place == known:
                return child
            if place is None:
                heappop(heap)
            else:
                heapreplace(heap, (place, child))
        return None

    def _place(self, child: QuotaNode, number: int) -> _Place | None:
        """The place of a child among its kind; None if nothing is to be had there."""
        share = child.known_share or child.share()
        if child in self._pruned or (share == NO_SHARE and child not in self._way):
            return None
        rank: tuple[Any, ...] = ()
        if child.is_queue:
            target = self._target(child)
            if target.passed >= len(target.workloads):
                return None
            rank = target.rank
        return not share[0], -share[1], rank, number

    def _target(self, child: QuotaNode) -> _TargetQueue:
        target = self._targets.get(child)
        if target is None:
            queue = self._queues[child.name]
            own = queue is self._preemptor
            target = self._targets[child] = _TargetQueue(queue, self._candidates(child), own=own)
        return target

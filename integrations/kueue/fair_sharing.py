"""Fair sharing: the order of heads by their shares, and whom a workload may preempt (kueue-dra 4.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from . import preemption
from .preemption import CandidateList, CandidateLists, PreemptionRequest, Victim
from .queues import ClusterQueueState
from .quota_tree import NO_SHARE, QuotaNode, Share, Usage
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
        rules = request.queue.spec.preemption
        own = self._candidates.of_queue(request, request.queue, rules.within_cluster_queue)
        others: Mapping[str, CandidateList] = {}
        if request.queue.node.parent is not None:
            others = self._candidates.of_borrowing_queues(request, rules.reclaim_within_cohort)
        if not preemption.could_fit(request, own, others.values()):
            return []
        candidates = {name: list(one.workloads) for name, one in others.items()}
        candidates[request.queue.name] = list(own.workloads)
        node = request.queue.node

        def fits() -> bool:
            with node.with_removed(request.usage):
                return preemption.fits_after(request, True)

        removed: list[Victim] = []
        # Shares are taken as if the workload were in.
        with node.with_added(request.usage):
            enough, again = self._first_strategy(request, candidates, removed, fits)
            if not enough and len(self._strategies) > 1:
                enough = self._second_strategy(request, again, removed, fits)
        if not enough:
            preemption.restore(removed)
            return []
        kept = preemption.put_back_unneeded(removed, lambda: preemption.fits_after(request, True))
        preemption.restore(kept)
        return kept

    def _first_strategy(
        self,
        request: PreemptionRequest,
        candidates: Mapping[str, list[WorkloadState]],
        removed: list[Victim],
        fits: Callable[[], bool],
    ) -> tuple[bool, dict[str, list[WorkloadState]]]:
        """Remove candidates by the first strategy; return whether the request fits, and those to try again."""
        strategy = self._strategies[0]
        again: dict[str, list[WorkloadState]] = {}
        # A queue that stays within its quota for what is contested may reclaim whatever the shares are.
        node = request.queue.node
        within = not any(node.borrows(pair) for pair in request.contested)
        targets = _TargetQueues(request.queue, candidates, self._candidates)
        while (queue := targets.next()) is not None:
            waiting = targets.candidates[queue.name]
            if queue is request.queue:
                removed.append(_remove(waiting.pop(0), queue, preemption.IN_CLUSTER_QUEUE))
                if fits():
                    return True, again
                continue
            own, other = _below_common(node, queue.node)
            preemptor, before = own.share(), other.share()
            if not (within or strategy(preemptor, before, before)):
                # No removal makes the share larger than it was.
                again.setdefault(queue.name, []).extend(waiting)
                waiting.clear()
            refused: list[Usage] = []
            while waiting:
                workload = waiting.pop(0)
                if workload.held in refused:
                    again.setdefault(queue.name, []).append(workload)
                    continue
                with queue.node.with_removed(workload.held):
                    after = other.share()
                if within or strategy(preemptor, before, after):
                    removed.append(
                        _remove(workload, queue, preemption.IN_COHORT if within else preemption.IN_FAIR_SHARING)
                    )
                    if fits():
                        return True, again
                    # Shares have changed; another queue may be first.
                    break
                refused.append(workload.held)
                again.setdefault(queue.name, []).append(workload)
        return False, again

    def _second_strategy(
        self,
        request: PreemptionRequest,
        candidates: Mapping[str, list[WorkloadState]],
        removed: list[Victim],
        fits: Callable[[], bool],
    ) -> bool:
        """Remove one candidate of each queue that the second strategy allows."""
        targets = _TargetQueues(request.queue, candidates, self._candidates)
        while (queue := targets.next()) is not None:
            own, other = _below_common(request.queue.node, queue.node)
            if self._strategies[1](own.share(), other.share(), NO_SHARE):
                removed.append(_remove(targets.candidates[queue.name][0], queue, preemption.IN_FAIR_SHARING))
                if fits():
                    return True
            targets.drop(queue)
        return False


def _remove(workload: WorkloadState, queue: ClusterQueueState, reason: str) -> Victim:
    queue.node.remove(workload.held)
    return Victim(workload, queue, reason)


def _below_common(one: QuotaNode, other: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
    """The nodes on the ways up from two queues whose parent is the lowest cohort above both."""
    above = set(one.ancestors)
    while other.parent is not None and other.parent not in above:
        other = other.parent
    while one.parent is not None and one.parent is not other.parent:
        one = one.parent
    return one, other


class _TargetQueues:
    """Queues in the order in which they lose a workload: at every cohort the child with the largest share."""

    def __init__(
        self, preemptor: ClusterQueueState, candidates: Mapping[str, list[WorkloadState]], known: CandidateLists
    ) -> None:
        self._now = known.now
        self.candidates = candidates
        self._queues = known.queues
        self._preemptor = preemptor
        self._way = set(preemptor.node.ancestors)
        self._pruned: set[QuotaNode] = set()

    def next(self) -> ClusterQueueState | None:
        """The next queue, or None if no queue is left that borrows."""
        node = self._preemptor.node
        if node.parent is None:
            return self._preemptor if self.candidates.get(self._preemptor.name) else None
        root = node.root
        while root not in self._pruned:
            found = self._highest(root)
            if found is not None:
                return self._queues[found.name]
        return None

    def drop(self, queue: ClusterQueueState) -> None:
        """Take no more workloads of the queue."""
        self._pruned.add(queue.node)

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        while True:
            queue, queue_share = self._best(cohort.queues)
            child, child_share = self._best(cohort.cohorts)
            if queue is None and child is None:
                self._pruned.add(cohort)
                return None
            if child is None or (queue is not None and queue_share > child_share):
                return queue
            cohort = child

    def _best(self, children: Iterable[QuotaNode]) -> tuple[QuotaNode | None, Share]:
        best: QuotaNode | None = None
        highest = NO_SHARE
        for child in children:
            if child in self._pruned:
                continue
            share = child.known_share or child.share()
            on_way = child is self._preemptor.node or child in self._way
            if (share == NO_SHARE and not on_way) or (child.is_queue and not self.candidates.get(child.name)):
                self._pruned.add(child)
            elif best is None or share > highest or (share == highest and self._before(child, best)):
                best, highest = child, share
        return best, highest

    def _before(self, one: QuotaNode, other: QuotaNode) -> bool:
        """Whether of two queues with one share the first loses its workload: by the order of candidates."""
        if not (one.is_queue and other.is_queue):
            return False
        return self._rank(one) < self._rank(other)

    def _rank(self, queue: QuotaNode) -> tuple[Any, ...]:
        own = queue is self._preemptor.node
        return preemption.candidate_rank(self.candidates[queue.name][0], own, self._now)

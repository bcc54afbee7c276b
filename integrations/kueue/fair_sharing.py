"""Fair sharing: the order of heads by their shares, and whom a workload may preempt (kueue-dra 4.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
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
        before = _usage_at(winner)
        yield left.pop(winner)
        tournament.leave(winner, changed=_usage_at(winner) != before)


def _usage_at(queue: QuotaNode) -> dict[FlavorResource, int]:
    return {one.pair: one.usage for one in queue.quotas}


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
        more = node.arriving(queue, head.usage)
        borrows = any(node.borrows(pair, more.get(pair, 0)) for pair in head.usage)
        rank = (borrows, node.share_after(more), -head.workload.priority, head.workload.queued_since)
        self._ranks[node] = queue, rank
        return rank


class FairPreemption:
    """Victims by the shares of queues and cohorts."""

    def __init__(self, candidates: CandidateLists, strategies: Sequence[str]) -> None:
        self._candidates = candidates
        self._strategies = [STRATEGIES[name] for name in strategies]

    def victims(self, request: PreemptionRequest) -> list[Victim]:
        """The workloads that have to go so that the request fits; none if that cannot be reached."""
        node = request.queue.node
        if not self._could_fit(request, [node.root]):
            return []
        # Shares are taken as if the workload were in.
        with node.with_added(request.usage):
            # A queue that stays within its quota for what is contested may reclaim whatever the shares are.
            within = not any(node.borrows(pair) for pair in request.contested)
            parts = [node.root] if within else list(self._allowed_parts(request))
        if not (within or self._could_fit(request, parts)):
            return []
        search = _FairSearch(request, self._candidates)
        with node.with_added(request.usage):
            enough = search.by_first(self._strategies[0], within=within)
            if not enough and len(self._strategies) > 1:
                enough = search.by_second(self._strategies[1])
        if not enough:
            preemption.restore(search.removed)
            return []
        kept = preemption.put_back_unneeded(search.removed, lambda: preemption.fits_after(request, True))
        preemption.restore(kept)
        return kept

    def _could_fit(self, request: PreemptionRequest, parts: Iterable[QuotaNode]) -> bool:
        """Whether the request might fit after all candidates of these parts of the tree are gone; False is certain."""
        rules, own = request.queue.spec.preemption, request.queue.reserved
        own_limit = preemption.priority_limit(rules.within_cluster_queue, request.workload)
        limit = preemption.priority_limit(rules.reclaim_within_cohort, request.workload)
        borrowers = [self._candidates.borrowing_queues(part, request.contested) for part in parts]
        return all(
            preemption.could_fit(
                request,
                pair,
                own.held(pair, own_limit),
                sum(self._candidates.held(queues, pair, limit) for queues in borrowers),
            )
            for pair in request.contested
        )

    def _allowed_parts(self, request: PreemptionRequest) -> Iterator[QuotaNode]:
        """The parts of the tree beside the way up in which strategies may allow candidates.

        Shares only fall, and those on the way up only by what goes below them.
        """
        rules, node = request.queue.spec.preemption, request.queue.node
        falls = bool(self._candidates.of_queue(request, request.queue, rules.within_cluster_queue))
        for own, cohort in pairwise((node, *node.ancestors)):
            preemptor, found = own.share(), False
            for part in (*cohort.queues, *cohort.cohorts):
                if part is own or not self._candidates.borrowing_queues(part, request.contested):
                    continue
                share = part.share()
                if falls or any(allows(preemptor, share, share) for allows in self._strategies):
                    found = True
                    yield part
            falls = falls or found


class _TargetQueue:
    """A queue that may lose workloads: candidates in order, and how many of them are gone or were refused."""

    def __init__(self, queue: ClusterQueueState, workloads: Sequence[WorkloadState], *, own: bool) -> None:
        self.queue = queue
        self.workloads = workloads
        self.passed = 0
        self.refused: list[WorkloadState] = []
        self.own = own

    def __repr__(self) -> str:
        return f"_TargetQueue({self.queue.name!r})"

    @property
    def next(self) -> WorkloadState | None:
        """The candidate that is next to go."""
        return self.workloads[self.passed] if self.passed < len(self.workloads) else None


class _FairSearch:
    """Removes candidates until a request fits whose usage is added."""

    def __init__(self, request: PreemptionRequest, candidates: CandidateLists) -> None:
        self.removed: list[Victim] = []
        self._request = request
        self._candidates = candidates
        # The queues that borrowed before anything was removed.
        self._borrowers = candidates.borrowing_queues(request.queue.node.root, request.contested)
        self._targets: _TargetQueues | None = None
        # A pair of which so much is missing still; nothing is known of the others.
        self._missing: tuple[FlavorResource, int] | None = None

    def by_first(self, strategy: _Strategy, *, within: bool) -> bool:
        """Remove candidates by the first strategy, or ``within`` quota any; return whether the request fits."""
        reason = preemption.IN_COHORT if within else preemption.IN_FAIR_SHARING
        targets = self._targets = _TargetQueues(
            self._request.queue,
            self._candidates.queues,
            self._of_queue,
            # No removal makes a share larger than it was.
            None if within else lambda preemptor, before: strategy(preemptor, before, before),
        )
        while (target := targets.next()) is not None:
            if target.own:
                if self._remove(target, preemption.IN_CLUSTER_QUEUE):
                    return True
            elif (within or self._allowed(target, strategy)) and self._remove(target, reason):
                return True
        return False

    def by_second(self, strategy: _Strategy) -> bool:
        """Remove one of the refused candidates of each queue that the second strategy allows."""
        targets = _TargetQueues(
            self._request.queue,
            self._candidates.queues,
            self._refused_of_queue,
            lambda preemptor, before: strategy(preemptor, before, NO_SHARE),
        )
        while (target := targets.next()) is not None:
            if self._remove(target, preemption.IN_FAIR_SHARING):
                return True
            targets.drop(target)
        return False

    def _allowed(self, target: _TargetQueue, strategy: _Strategy) -> bool:
        """Pass over candidates of a queue up to one that the strategy allows; False if it allows none."""
        own, other = _below_common(self._request.queue.node, target.queue.node)
        preemptor, before = own.share(), other.share()
        refused: list[Usage] = []
        while (workload := target.next) is not None:
            if workload.held not in refused:
                less = other.arriving(target.queue.node, workload.held, removed=True)
                if strategy(preemptor, before, other.share_after(less)):
                    return True
                refused.append(workload.held)
            target.refused.append(workload)
            target.passed += 1
        return False

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

    def _of_queue(self, node: QuotaNode) -> Sequence[WorkloadState]:
        """The candidates of a queue; those of other queues only if they borrow what is contested."""
        request, rules = self._request, self._request.queue.spec.preemption
        if node is request.queue.node:
            return self._candidates.of_queue(request, request.queue, rules.within_cluster_queue)
        queue = self._borrowers.get(node)
        return () if queue is None else self._candidates.of_queue(request, queue, rules.reclaim_within_cohort)

    def _refused_of_queue(self, node: QuotaNode) -> Sequence[WorkloadState]:
        """What the first strategy refused: candidates one by one, and all that was left in some parts of the tree."""
        first = self._targets
        if first is None:
            return ()
        known = first.known.get(node)
        if first.refused.isdisjoint(node.from_root):
            return known.refused if known is not None else ()
        return [*known.refused, *known.workloads[known.passed :]] if known is not None else self._of_queue(node)


def _below_common(one: QuotaNode, other: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
    """The nodes on the ways up from two queues of a tree whose parent is the lowest cohort above both."""
    return next(pair for pair in zip(one.from_root, other.from_root, strict=False) if pair[0] is not pair[1])


_Place = tuple[bool, float, tuple[Any, ...], int]


class _TargetQueues:
    """Queues in the order in which they lose a workload: at every cohort the child with the largest share.

    Shares only fall, and so do the candidates that are left. So places of children are looked at again only once they
    come first. A child beside the way up from the preemptor is passed over with all its queues, and is ``refused``, if
    its share is not allowed beside that of the child on the way.
    """

    def __init__(
        self,
        preemptor: ClusterQueueState,
        queues: Mapping[str, ClusterQueueState],
        candidates: Callable[[QuotaNode], Sequence[WorkloadState]],
        allows: Callable[[Share, Share], bool] | None,
    ) -> None:
        self._preemptor = preemptor
        self._queues = queues
        self._candidates = candidates
        self._allows = allows
        self._way = set(preemptor.node.from_root)
        # The child on the way, by its cohort.
        self._next = dict(pairwise(preemptor.node.from_root))
        self.known: dict[QuotaNode, _TargetQueue] = {}
        self.refused: set[QuotaNode] = set()
        self._pruned: set[QuotaNode] = set()
        # The children of a cohort that are left, by their places: cohorts and queues.
        self._left: dict[QuotaNode, tuple[list[tuple[_Place, QuotaNode]], list[tuple[_Place, QuotaNode]]]] = {}

    def next(self) -> _TargetQueue | None:
        """The next queue, or None if no queue is left that borrows."""
        node = self._preemptor.node
        if node.parent is None:
            own = self._target(node)
            return own if own.next is not None else None
        while node.root not in self._pruned:
            found = self._highest(node.root)
            if found is not None:
                return self.known[found]
        return None

    def drop(self, target: _TargetQueue) -> None:
        """Take no more workloads of the queue."""
        self._pruned.add(target.queue.node)

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        while True:
            if cohort not in self._left:
                self._left[cohort] = self._ranked(cohort.cohorts), self._ranked(cohort.queues)
            child, queue = map(self._first, self._left[cohort])
            if child is None or (queue is not None and queue.share() > child.share()):
                child = queue
            if child is None:
                self._pruned.add(cohort)
                return None
            if self._refuses(cohort, child):
                self.refused.add(child)
                self._pruned.add(child)
            elif child.is_queue:
                return child
            else:
                cohort = child

    def _refuses(self, cohort: QuotaNode, child: QuotaNode) -> bool:
        own = self._next.get(cohort)
        if self._allows is None or own is None or own is child:
            return False
        return not self._allows(own.share(), child.share())

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
        infinite, value = share = child.share()
        if child in self._pruned or (share == NO_SHARE and child not in self._way):
            return None
        rank: tuple[Any, ...] = ()
        if child.is_queue:
            target = self._target(child)
            workload = target.next
            if workload is None:
                return None
            stays, *rest = workload.preemption_rank
            # Of the preemptor's queue they go after those of others.
            rank = stays, target.own, *rest
        return not infinite, -value, rank, number

    def _target(self, child: QuotaNode) -> _TargetQueue:
        target = self.known.get(child)
        if target is None:
            queue = self._queues[child.name]
            own = queue is self._preemptor
            target = self.known[child] = _TargetQueue(queue, self._candidates(child), own=own)
        return target

"""One cycle of Kueue's scheduler: heads are judged, put in order, and admitted one by one (kueue-dra 4.5 and 4.6)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...models.kubernetes.kueue import ResourceFlavor
from . import workload_state as reasons
from .fair_sharing import FairPreemption, tournament_order
from .flavors import Assignment, AssignmentMode, FlavorAssigner, FlavorMode, tried_flavors
from .preemption import CandidateLists, ClassicalPreemption, PreemptionRequest, Victim, preemption_message
from .queues import ClusterQueueState, Requeue
from .quota_tree import FlavorResource, Usage
from .workload_state import PodSetGrant, QuotaGrant, WorkloadState

NAMESPACE_MISMATCH = "workload namespace doesn't match ClusterQueue selector"
_NO_LONGER_FITS = "Workload no longer fits after processing another workload"
_WILL_FIT = (
    "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete"
)


@dataclass(frozen=True, slots=True)
class SchedulingRules:
    """What of Kueue's configuration the scheduler needs; ``strategies`` is None without fair sharing."""

    strategies: Sequence[str] | None = None
    ignore_undeclared: bool = False


@dataclass(slots=True)
class QueueHead:
    """A head in its cycle, and what becomes of it."""

    workload: WorkloadState
    queue: ClusterQueueState
    assignment: Assignment = field(default_factory=Assignment)
    victims: list[Victim] = field(default_factory=list)
    requeue: Requeue = Requeue.NOT_ADMITTED
    reason: str = ""
    message: str = ""
    admitted: bool = False
    preempts: bool = False

    @property
    def usage(self) -> Usage:
        """What it would use."""
        return self.assignment.usage

    @property
    def is_quiet(self) -> bool:
        """Whether more quota, here or elsewhere, would have changed nothing for the head."""
        passed_over = any(one.attempts for one in self.assignment.pod_sets)
        return self.admitted and self.assignment.borrow_level == 0 and not passed_over

    @property
    def grant(self) -> QuotaGrant:
        """What it gets once it is admitted."""
        sets = []
        for one in self.assignment.pod_sets:
            flavors = {name: chosen.flavor for name, chosen in one.flavors.items()}
            sets.append(PodSetGrant(one.name, one.count, flavors, {name: one.requests[name] for name in flavors}))
        return QuotaGrant(self.queue.name, tuple(sets))

    def skip(self, reason: str, message: str) -> None:
        """Have the workload tried again."""
        self.reason, self.message = reason, message
        self.requeue = Requeue.FAILED_AFTER_NOMINATION


class CycleStoppedError(Exception):
    """A cycle was told to stop before its end; it left nothing behind."""


class SchedulingCycle:
    """Judges heads against the usage at the start of the cycle, and then handles them in order.

    ``stops`` says that there is no time left: the cycle then raises ``CycleStoppedError``, and changes nothing.
    """

    def __init__(
        self,
        queues: Mapping[str, ClusterQueueState],
        flavors: Mapping[str, ResourceFlavor],
        namespaces: Mapping[str, Mapping[str, str]],
        rules: SchedulingRules,
        now: float,
        number: int,
        stops: Callable[[], bool] = lambda: False,
    ) -> None:
        self._queues = queues
        self._namespaces = namespaces
        self._rules = rules
        self._now = now
        self._number = number
        self._stops = stops
        # Victims, and what their conditions will say, by their keys.
        self._preempted: dict[str, tuple[Victim, str]] = {}
        self._candidates = CandidateLists(queues)
        self._assigner = FlavorAssigner(
            flavors, self, fair_sharing=rules.strategies is not None, ignore_undeclared=rules.ignore_undeclared
        )

    def run(self, heads: Iterable[tuple[WorkloadState, ClusterQueueState]]) -> list[QueueHead]:
        """Handle the heads; usage of those that are admitted is added, that of victims stays."""
        judged = [QueueHead(workload, queue) for workload, queue in heads]
        tried = [head.workload.tried for head in judged]
        used: list[tuple[QueueHead, Usage]] = []
        try:
            for head in judged:
                self._nominate(head)
            for head in self._ordered([one for one in judged if one.assignment.pod_sets]):
                held = self._handle(head)
                if held is not None:
                    head.queue.node.add(held)
                    used.append((head, held))
        except CycleStoppedError:
            for head, before in zip(judged, tried, strict=True):
                head.workload.tried, head.admitted = before, False
            raise
        finally:
            for head, held in reversed(used):
                if not head.admitted:
                    head.queue.node.remove(held)
        for victim, message in self._preempted.values():
            if not victim.workload.holds(reasons.EVICTED):
                victim.workload.evict("Preempted", message, self._now, preempted=victim.reason)
        return judged

    def _nominate(self, head: QueueHead) -> None:
        if self._stops():
            raise CycleStoppedError
        workload, queue = head.workload, head.queue
        if queue.inactive is not None:
            head.reason, head.message = reasons.SUSPENDED, f"ClusterQueue {queue.name} is inactive"
        elif not queue.takes(self._namespaces.get(workload.namespace, {})):
            head.reason, head.message, head.requeue = (
                reasons.MISCONFIGURED,
                NAMESPACE_MISMATCH,
                Requeue.NAMESPACE_MISMATCH,
            )
        elif workload.refusal:
            head.reason, head.message = reasons.MISCONFIGURED, workload.refusal
        else:
            self._judge(head)

    def _judge(self, head: QueueHead) -> None:
        tried = head.workload.tried
        if tried is not None and head.queue.generation > tried.generation and tried.cycle < self._number - 1:
            head.workload.tried = None
        full = self._assigner.assign(head.workload, head.queue)
        head.assignment, head.victims = full, self._victims(head, full)
        if full.mode is not AssignmentMode.FIT and not head.victims:
            part = self._reduced(head)
            if part is not None:
                head.assignment, head.victims = part
        head.message, head.reason = head.assignment.message, head.assignment.blocker.reason
        head.workload.tried = tried_flavors(head.assignment, head.queue, self._number)

    def _reduced(self, head: QueueHead) -> tuple[Assignment, list[Victim]] | None:
        """The largest number of pods that fits, or that has victims, by a binary search over the pods left out."""
        sets = head.workload.pod_sets
        spare = [one.count - (one.count if one.min_count is None else one.min_count) for one in sets]
        total = sum(spare)
        found: dict[int, tuple[Assignment, list[Victim]]] = {}

        def fits(left_out: int) -> bool:
            counts = [one.count - most * left_out // total for one, most in zip(sets, spare, strict=True)]
            assignment = self._assigner.assign(head.workload, head.queue, counts)
            victims = self._victims(head, assignment)
            if assignment.mode is AssignmentMode.FIT or victims:
                found[left_out] = assignment, victims
                return True
            return False

        if total <= 0:
            return None
        best = bisect_left(range(total + 1), True, key=fits)
        return found.get(best)

    def _ordered(self, heads: Sequence[QueueHead]) -> Iterator[QueueHead]:
        if self._rules.strategies is not None:
            return tournament_order(heads)
        return iter(
            sorted(
                heads, key=lambda one: (one.assignment.borrow_level, -one.workload.priority, one.workload.queued_since)
            )
        )

    def _handle(self, head: QueueHead) -> Usage | None:
        """Admit the head, preempt for it, or leave it; return the usage that counts for the rest of the cycle."""
        if self._stops():
            raise CycleStoppedError
        mode = head.assignment.mode
        if mode is AssignmentMode.NO_FIT:
            return None
        if mode is AssignmentMode.PREEMPT and not head.victims:
            return _reserve(head)
        if any(victim.workload.key in self._preempted for victim in head.victims):
            return self._judge_again(head)
        if not self._fits(head):
            head.skip(reasons.WAITING_FOR_QUOTA, _NO_LONGER_FITS)
            return None
        if mode is AssignmentMode.PREEMPT:
            return self._preempt(head)
        head.admitted = True
        return head.usage

    def _judge_again(self, head: QueueHead) -> Usage | None:
        """Victims are gone already: look for others, in the flavors that the head was nominated for."""
        head.workload.tried = None
        self._candidates = CandidateLists(self._queues, self._preempted.keys())
        with self._without(self.preempted):
            assignment = self._assigner.assign(head.workload, head.queue, None, head.assignment.nominated)
            head.assignment, head.victims = assignment, self._victims(head, assignment)
        head.message, head.reason = assignment.message, assignment.blocker.reason
        head.workload.tried = tried_flavors(assignment, head.queue, self._number)
        if assignment.mode is AssignmentMode.FIT:
            head.skip(reasons.WAITING_FOR_PREEMPTED, _WILL_FIT)
            return head.usage
        if assignment.mode is AssignmentMode.PREEMPT and head.victims:
            return self._preempt(head)
        return _reserve(head) if assignment.mode is AssignmentMode.PREEMPT else None

    def _preempt(self, head: QueueHead) -> Usage:
        by = self._request(head, head.assignment)
        for victim in head.victims:
            self._preempted[victim.workload.key] = victim, preemption_message(victim, by)
        head.preempts = True
        head.reason = reasons.WAITING_FOR_PREEMPTED
        head.message += f". Pending the preemption of {len(head.victims)} workload(s)"
        head.requeue = Requeue.PENDING_PREEMPTION
        head.workload.tried = None
        return head.usage

    @property
    def preempted(self) -> list[Victim]:
        """The workloads that have to go because of this cycle."""
        return [victim for victim, _ in self._preempted.values()]

    def _fits(self, head: QueueHead) -> bool:
        node = head.queue.node
        every = [*self.preempted, *head.victims]
        # Trees do not touch each other.
        gone = {victim.workload.key: victim for victim in every if victim.queue.node.root is node.root}
        with self._without(gone.values()):
            return node.fits(head.usage)

    @contextmanager
    def _without(self, victims: Iterable[Victim]) -> Iterator[None]:
        gone = list(victims)
        for one in gone:
            one.queue.node.remove(one.workload.held)
        try:
            yield
        finally:
            for one in reversed(gone):
                one.queue.node.add(one.workload.held)

    def _victims(self, head: QueueHead, assignment: Assignment) -> list[Victim]:
        if assignment.mode is not AssignmentMode.PREEMPT:
            return []
        return self._find_victims(self._request(head, assignment))

    @staticmethod
    def _request(head: QueueHead, assignment: Assignment) -> PreemptionRequest:
        return PreemptionRequest(head.workload, head.queue, assignment.usage, frozenset(assignment.contested))

    def _find_victims(self, request: PreemptionRequest) -> list[Victim]:
        if self._stops():
            raise CycleStoppedError
        if self._rules.strategies is not None:
            return FairPreemption(self._candidates, self._rules.strategies).victims(request)
        return ClassicalPreemption(self._candidates).victims(request)

    def simulate(
        self, workload: WorkloadState, queue: ClusterQueueState, pair: FlavorResource, amount: int
    ) -> tuple[FlavorMode, int]:
        """Whether workloads could be preempted for an amount of one pair (kueue-dra 4.3, step 3)."""
        victims = self._find_victims(PreemptionRequest(workload, queue, {pair: amount}, frozenset((pair,))))
        if not victims:
            return FlavorMode.NO_CANDIDATES, queue.node.height_that_holds(pair, amount)[0]
        with self._without(victims):
            level, _ = queue.node.height_that_holds(pair, amount)
        own = any(victim.queue is queue for victim in victims)
        return FlavorMode.PREEMPT if own else FlavorMode.RECLAIM, level


def _reserve(head: QueueHead) -> Usage | None:
    """What a head without victims keeps from later heads, unless its queue can reclaim it (kueue-dra 4.6)."""
    if head.queue.spec.preemption.reclaim_within_cohort == "Any":
        return None
    node = head.queue.node
    held: dict[FlavorResource, int] = {}
    for pair, amount in head.usage.items():
        limits = node.limits.get(pair)
        unused = node.nominal(pair) - node.at(pair).usage
        if head.assignment.borrow_level == 0:
            held[pair] = max(0, min(amount, unused))
        elif limits is None or limits.borrowing is None:
            held[pair] = amount
        else:
            held[pair] = min(amount, unused + limits.borrowing)
    return held

"""Kueue over time: cycles run until nothing changes, and each of them is recorded (kueue-dra 4.6).

The clock starts after every time in the objects; a second passes with each cycle. Workloads that are evicted give their
quota back at once and queue up again.
"""

from __future__ import annotations

import copy
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.kueue import ClusterQueue, Cohort
from .controllers import EvictionRecord, KueueControllers
from .queues import ClusterQueueState, node_quota
from .quota_tree import QuotaNode, QuotaTree, Share
from .scheduling import CycleStoppedError, QueueHead, SchedulingCycle
from .workload_state import EVICTED, PREEMPTED, QUOTA_RESERVED, QuotaGrant, WorkloadCondition, WorkloadState

# A state that comes back so often will come back for ever; one with evictions in between, so often.
_REPEATED, REPEATED_WITH_EVICTIONS = 5, 20


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """Quota and usage of a pair at a node; what is available only for queues."""

    node: str
    is_queue: bool
    flavor: str
    resource: str
    subtree: int
    usage: int
    available: int | None = None
    potential: int | None = None


@dataclass(frozen=True, slots=True)
class CycleRecord:
    """What changed in a cycle; cycle 0 is before the scheduler ran. Workloads stand in the order of their names."""

    number: int
    admitted: tuple[tuple[str, QuotaGrant], ...] = ()
    evicted: tuple[EvictionRecord, ...] = ()
    waiting: tuple[tuple[str, WorkloadCondition], ...] = ()


@dataclass(slots=True)
class PhaseRecord:
    """What happened between a change of objects and the end of the cycles."""

    quota_before: list[QuotaRow]
    cycles: list[CycleRecord] = field(default_factory=list)
    # How many cycles ran, with those in which nothing changed.
    number: int = 0
    settled: bool = False
    repeating: bool = False
    interrupted: bool = False
    quota_after: list[QuotaRow] = field(default_factory=list)
    # By the name of a queue, or of a cohort; None without fair sharing.
    shares: dict[tuple[str, bool], Share] | None = None

    @property
    def evicted(self) -> set[str]:
        """The workloads that lost their quota, some of which may have got it back."""
        return {one.workload for cycle in self.cycles for one in cycle.evicted}


class KueueState(KueueControllers):
    """Queues, cohorts and workloads, and the scheduler that admits the workloads cycle by cycle.

    ``quiet``: in the last cycle every head was admitted within the nominal quota of its queue, in the first flavors.
    """

    quiet = False

    def run(
        self,
        max_cycles: int | None = None,
        *,
        deadline: float | None = None,
        on_cycle: Callable[[CycleRecord], None] | None = None,
        with_quota: bool = True,
    ) -> PhaseRecord:
        """Run cycles until nothing changes, or the same states come back, or so many have run.

        ``deadline`` is a reading of ``time.monotonic``. A cycle that it, or a KeyboardInterrupt, comes upon leaves
        nothing behind.
        """
        phase = PhaseRecord(self.quota_rows() if with_quota else [])
        if self._evicted:
            phase.cycles.append(CycleRecord(0, evicted=_by_name(self._evicted)))
            self._evicted = []
        watch = _RepetitionWatch()
        try:
            while max_cycles is None or phase.number < max_cycles:
                if _is_over(deadline):
                    break
                before = self._signatures()
                with _interrupts_held() as pressed:
                    heads = self._heads(watch.over)
                    tried = [workload.tried and workload.tried.indices for workload, _ in heads]
                    try:
                        record = self._cycle(phase.number + 1, heads, partial(_is_over, deadline, pressed))
                    except CycleStoppedError:
                        for workload, queue in heads:
                            queue.pending.put_back(workload)
                        break
                    if record is not None:
                        phase.number += 1
                        if record.admitted or record.evicted or record.waiting:
                            phase.cycles.append(record)
                if record is not None and on_cycle is not None:
                    on_cycle(record)
                after = self._signatures()
                phase.repeating = record is None and watch.circling
                phase.settled = not phase.repeating and (record is None or after == before)
                if phase.settled or phase.repeating:
                    break
                busy = {
                    queue.node.root.name
                    for (workload, queue), indices in zip(heads, tried, strict=True)
                    if (workload.tried and workload.tried.indices) != indices
                }
                phase.repeating = watch.repeats(before, after, busy, self._evictions)
                if phase.repeating:
                    break
        except KeyboardInterrupt:
            phase.interrupted = True
        if with_quota:
            phase.quota_after = self.quota_rows()
            phase.shares = self._shares()
        return phase

    def with_quota_of(self, cluster: Cluster) -> KueueState:
        """Return a copy in which queues and cohorts have the amounts of quota that they have in ``cluster``.

        Nothing else of them may differ. What amounts could have changed before is as it was.
        """
        made = copy.copy(self)
        made._separate(cluster)  # noqa: SLF001 - the class's own
        return made

    def _separate(self, cluster: Cluster) -> None:
        """Copy all that changes, and build the tree anew."""
        described = {one.metadata.name: one for one in cluster.objects(ClusterQueue).values()}
        cohorts = [node_quota(one) for one in cluster.objects(Cohort).values()]
        self._cluster, self.quiet = cluster, False
        self.tree = QuotaTree([node_quota(one) for one in described.values()], cohorts)
        own = self.workloads = {key: one.copied() for key, one in self.workloads.items()}
        nodes = self.tree.queues
        self.queues = {name: one.copied(described[name], nodes[name], own) for name, one in self.queues.items()}
        self._place = {key: self.queues[queue.name] for key, queue in self._place.items()}
        self._marks, self._tree_marks, self._evicted = dict(self._marks), self._tree_marks.copy(), list(self._evicted)
        for queue in self.queues.values():
            for workload in queue.reserved:
                queue.node.add(workload.held)

    def shown_nodes(self) -> list[QuotaNode]:
        """The queues that are active, and the cohorts above them: cohorts first, then by name."""
        active = [queue.node for queue in self.queues.values() if queue.inactive is None]
        nodes = {*active, *(cohort for queue in active for cohort in queue.ancestors)}
        return sorted(nodes, key=lambda node: (node.is_queue, node.name))

    def quota_rows(self) -> list[QuotaRow]:
        """Quota and usage of the nodes that are shown, by flavor and resource."""
        rows = []
        for node in self.shown_nodes():
            for pair in node.pairs:
                quota = node.at(pair)
                available = max(0, node.available(pair)) if node.is_queue else None
                potential = node.potential(pair) if node.is_queue else None
                rows.append(QuotaRow(node.name, node.is_queue, *pair, quota.subtree, quota.usage, available, potential))
        return rows

    def _shares(self) -> dict[tuple[str, bool], Share] | None:
        if self._rules.strategies is None:
            return None
        cohorts = [one.metadata.name for one in self._cluster.objects(Cohort).values()]
        nodes = [self.tree.queues[name] for name in self.queues if self.queues[name].inactive is None]
        nodes += [self.tree.cohorts[name] for name in cohorts]
        return {(node.name, node.is_queue): node.share() for node in nodes}

    def _heads(self, over: AbstractSet[str]) -> list[tuple[WorkloadState, ClusterQueueState]]:
        """The first workload of every queue that is active, but for trees in which nothing happens any more."""
        found = []
        for name in sorted(self.queues):
            queue = self.queues[name]
            idle = queue.inactive is not None or queue.node.root.name in over
            head = None if idle else queue.pending.pop()
            if head is not None:
                found.append((head, queue))
        return found

    def _cycle(
        self, number: int, heads: list[tuple[WorkloadState, ClusterQueueState]], stops: Callable[[], bool]
    ) -> CycleRecord | None:
        """Run a cycle; None if there is nothing to look at. Raises ``CycleStoppedError`` if it stops."""
        if not heads:
            return None
        cycle = SchedulingCycle(self.queues, self._flavors, self._namespaces, self._rules, self._now + 1, number, stops)
        told = {workload.key: workload.conditions.get(QUOTA_RESERVED) for workload, _ in heads}
        judged = cycle.run(heads)
        self.quiet = all(head.is_quiet for head in judged)
        self._now += 1
        admitted = [self._admit(head) for head in judged if head.admitted]
        for head in judged:
            if not head.admitted:
                head.workload.wait(head.reason, head.message, self._now)
                head.queue.pending.requeue(head.workload, head.requeue)
        evicted = []
        gone = sorted((victim.workload for victim in cycle.preempted), key=lambda one: one.key)
        for workload in gone:
            told.setdefault(workload.key, workload.conditions.get(QUOTA_RESERVED))
            evicted.append(
                EvictionRecord(workload.key, workload.conditions[EVICTED], workload.conditions.get(PREEMPTED))
            )
            workload.release(self._now)
            self._queue_up(workload)
        self._evictions += len(gone)
        # All of them queue up before parked workloads are woken.
        for workload in gone:
            self._give_back(workload)
        waiting = []
        for key, before in sorted(told.items()):
            workload = self.workloads[key]
            now = workload.conditions.get(QUOTA_RESERVED)
            if now is not None and not now.status and now != before:
                waiting.append((key, now))
            self._note(workload)
        return CycleRecord(number, tuple(sorted(admitted)), tuple(evicted), tuple(waiting))

    def _admit(self, head: QueueHead) -> tuple[str, QuotaGrant]:
        """Write the admission; the cycle has added the usage already."""
        workload, grant = head.workload, head.grant
        workload.reserve(grant, self._now, admitted=not head.queue.checks)
        workload.held = dict(head.usage)
        head.queue.reserved.add(workload)
        self._place.pop(workload.key, None)
        return workload.key, grant

    def _signatures(self) -> dict[str, int]:
        """Conditions, and places in queues, in one number for each tree, by the name of its root."""
        marks = dict(self._tree_marks)
        for queue in self.queues.values():
            root = queue.node.root.name
            marks[root] = marks.get(root, 0) ^ queue.pending.mark
        return marks


class _RepetitionWatch:
    """Notices trees that rest or go round in circles; they are left alone, since trees do not touch each other."""

    def __init__(self) -> None:
        # The names of roots of trees in which nothing new happens any more.
        self.over: set[str] = set()
        self.circling = False
        self._whole: Counter[tuple[int, frozenset[tuple[str, int]]]] = Counter()
        self._trees: Counter[tuple[str, int]] = Counter()

    def repeats(self, before: Mapping[str, int], after: Mapping[str, int], busy: set[str], evictions: int) -> bool:
        """Take the states of all trees before and after a cycle; say whether the whole came back too often.

        Heads of ``busy`` trees remember other flavors than before. ``evictions`` is their number so far.
        """
        for tree, mark in after.items():
            if before.get(tree) == mark and tree not in busy:
                self.over.add(tree)
            elif tree not in self.over:
                self._trees[tree, mark] += 1
                if self._trees[tree, mark] >= REPEATED_WITH_EVICTIONS:
                    self.over.add(tree)
                    self.circling = True
        whole = evictions, frozenset(after.items())
        self._whole[whole] += 1
        return self._whole[whole] >= _REPEATED


def _is_over(deadline: float | None, pressed: Sequence[int] = ()) -> bool:
    return bool(pressed) or (deadline is not None and time.monotonic() >= deadline)


@contextmanager
def _interrupts_held() -> Iterator[Sequence[int]]:
    """Keep a Ctrl-C until a cycle has ended or stopped; only the main thread gets them."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _by_name(records: Iterable[EvictionRecord]) -> tuple[EvictionRecord, ...]:
    return tuple(sorted(records, key=lambda one: one.workload))

"""Kueue's controllers: objects come, change and go, and workloads are queued up, evicted, held back or woken by it.

What is wrong with a workload is written to its conditions in Kueue's words (kueue-dra 3.7, 4.1 and 4.6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import LimitRange, RuntimeClass
from ...models.kubernetes.kueue import AdmissionCheck, ClusterQueue, Cohort, KueueWorkload, LocalQueue, ResourceFlavor
from ...models.kubernetes.kueue_configuration import OBSERVABILITY
from ...models.kubernetes.meta import key_of
from ...models.workload.pod_defaults import PodDefaults
from ...problem.messages import DeadlineExceededError
from . import workload_state as reasons
from .configuration import KueueConfiguration
from .counting import CountingFailure, WorkloadCharge, count_workload
from .queues import ClusterQueueState, node_quota
from .quota_tree import QuotaNode, QuotaTree
from .scheduling import NAMESPACE_MISMATCH, SchedulingRules
from .workload_state import WorkloadCondition, WorkloadState
from .workloads import kueue_workloads

DRAIN = "HoldAndDrain"
_PENDING = "Workload is pending evaluation in the scheduling queue"
_BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
_EVICTION_TEXTS = {
    reasons.DEACTIVATED: "The workload is deactivated",
    "LocalQueueStopped": "The LocalQueue is stopped",
    "ClusterQueueStopped": "The ClusterQueue is stopped",
}
Count: TypeAlias = Callable[[KueueWorkload], WorkloadCharge | CountingFailure]


@dataclass(frozen=True, slots=True)
class EvictionRecord:
    """A workload that was evicted, with the condition Preempted if another workload took its place."""

    workload: str
    evicted: WorkloadCondition
    preempted: WorkloadCondition | None


class KueueControllers:
    """Queues, cohorts and workloads as the objects of a cluster describe them.

    ``count`` gives the charge of a workload; by default it is counted from the objects of the cluster, up to a
    ``deadline``, a reading of ``time.monotonic``. What is not counted by then waits without a charge.
    """

    def __init__(
        self,
        cluster: Cluster,
        configuration: KueueConfiguration,
        count: Count | None = None,
        *,
        deadline: float | None = None,
    ) -> None:
        self._deadline = deadline
        self.configuration = configuration
        self.workloads: dict[str, WorkloadState] = {}
        self.queues: dict[str, ClusterQueueState] = {}
        self.tree = QuotaTree((), ())
        fair = configuration.fair_sharing
        self._rules = SchedulingRules(
            None if fair is None else fair.strategies, configuration.quota_check_strategy == "IgnoreUndeclared"
        )
        self._observable = configuration.gates.get(OBSERVABILITY, True)
        self._cluster = Cluster.of(())
        self._count = count
        self._now = 0.0
        # Keys of workloads that are counted again, even though they are charged (kueue-dra 3.8).
        self._recount: set[str] = set()
        self._evicted: list[EvictionRecord] = []
        # The queue in which a workload waits.
        self._place: dict[str, ClusterQueueState] = {}
        # What marks the state of all workloads, by the root of the tree that they wait in, and each one's part of it.
        self._tree_marks: Counter[str] = Counter()
        self._marks: dict[str, tuple[str, int]] = {}
        self._evictions = 0
        self.update(cluster)

    @property
    def inactive(self) -> dict[str, tuple[str, str]]:
        """Reason and message of queues that admit nothing, whatever waits in them."""
        return {name: queue.inactive for name, queue in self.queues.items() if queue.inactive is not None}

    def place(self, workload: WorkloadState) -> tuple[str, bool] | None:
        """The queue in which the workload waits, and whether it is still tried; None if it waits in none."""
        queue = self._place.get(workload.key)
        return None if queue is None else (queue.name, workload.key in queue.pending.active)

    def update(self, cluster: Cluster) -> None:
        """Take over objects that came, changed or went; workloads that are known keep their status."""
        before, self._cluster = self._cluster, cluster
        self._namespaces = {name: one.metadata.labels or {} for name, one in cluster.namespaces.items()}
        self._flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
        self._local = cluster.objects(LocalQueue)
        if any(
            before.objects(kind) != cluster.objects(kind)
            for kind in (ClusterQueue, Cohort, ResourceFlavor, AdmissionCheck)
        ):
            self._rebuild(before)
        if before.namespaces != cluster.namespaces:
            self._wake(self.queues.values())
        self._update_workloads(before)
        self._reconcile()
        self._recount.clear()

    def finish(self, key: str) -> None:
        """The workload is done; it gives its quota back. A workload that does not exist is ignored."""
        workload = self.workloads.get(key)
        if workload is None or workload.finished:
            return
        place = self._place.get(key)
        workload.set(reasons.FINISHED, True, reasons.FINISHED, "done", self._now)
        self._dequeue(workload)
        self._give_back(workload)
        if place is not None:
            self._wake(self._tree(place))
        self._reconcile()

    def _rebuild(self, before: Cluster) -> None:
        """Build the tree again, with the usage of workloads, and wake what may profit from the change."""
        described = {one.metadata.name: one for one in self._cluster.objects(ClusterQueue).values()}
        old = {one.metadata.name: one for one in before.objects(ClusterQueue).values()}
        changed = {name for name in described if described[name] != old.get(name)}
        changed |= {name for name, queue in self.queues.items() if self._changed_above(queue.node, before)}
        affected = self._trees_of(changed | (old.keys() - described.keys()))
        was_inactive = set(self.inactive)
        cohorts = [node_quota(one) for one in self._cluster.objects(Cohort).values()]
        self.tree = QuotaTree([node_quota(one) for one in described.values()], cohorts)
        for name in self.queues.keys() - described.keys():
            for key in [key for key, queue in self._place.items() if queue.name == name]:
                del self._place[key]
            del self.queues[name]
        for name, one in described.items():
            if name in self.queues:
                self.queues[name].describe(one, self.tree.queues[name])
            else:
                self.queues[name] = ClusterQueueState(one, self.tree.queues[name])
            queue = self.queues[name]
            queue.inactive = self._inactive_reason(queue)
            for workload in queue.reserved:
                queue.node.add(workload.held)
        for workload in self.workloads.values():
            workload.misfits.clear()
        changed |= {name for name, queue in self.queues.items() if self._changed_above(queue.node, before)}
        changed |= was_inactive - set(self.inactive)
        for name in changed & self.queues.keys():
            self.queues[name].generation += 1
        affected |= self._trees_of(changed)
        self._wake(self.queues[name] for name in affected & self.queues.keys())

    def _changed_above(self, node: QuotaNode, before: Cluster) -> bool:
        now, then = self._cluster.objects(Cohort), before.objects(Cohort)
        if now == then:
            return False
        return any(_named(now, cohort.name) != _named(then, cohort.name) for cohort in node.ancestors)

    def _trees_of(self, names: Iterable[str]) -> set[str]:
        """The queues that share a tree with one of these."""
        found: set[str] = set()
        for name in names:
            if name in self.queues:
                found.update(one.name for one in self.queues[name].node.root.all_queues())
        return found

    def _inactive_reason(self, queue: ClusterQueueState) -> tuple[str, str] | None:
        """Why the queue admits nothing (corrections 5), as its condition Active says it."""
        found: list[tuple[str, str]] = []
        if queue.stopped:
            found.append(("Stopped", "is stopped"))
        missing = [name for name in queue.flavors if name not in self._flavors]
        if missing:
            found.append(("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}"))
        known = {one.metadata.name for one in self._cluster.objects(AdmissionCheck).values()}
        unknown = [name for name in queue.checks if name not in known]
        if unknown:
            found.append(("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(unknown)}"))
        if queue.spec.cohort_name in self.tree.cyclic:
            found.append(("CohortCycle", "is below cohorts that form a cycle"))
        if not found:
            return None
        return found[0][0], f"Can't admit new workloads: {', '.join(text for _, text in found)}."

    def _has_other_devices(self, before: Cluster) -> bool:
        """Whether classes have changed, or slices of the drivers of sources, by which workloads are charged."""
        drivers = self.configuration.source_drivers
        then, now = ([one for one in each.slices if one.spec.driver in drivers] for each in (before, self._cluster))
        return before.classes != self._cluster.classes or then != now

    def _changed_queue(self, workload: WorkloadState, before: Cluster) -> bool:
        """Whether the LocalQueue or ClusterQueue that the workload waits in has changed."""
        key = workload.namespace, workload.object.spec.queue_name
        local = self._local.get(key)
        if local is None or local != before.objects(LocalQueue).get(key):
            return local is not None
        name = local.spec.cluster_queue
        return self._cluster.objects(ClusterQueue).get(name) != before.objects(ClusterQueue).get(name)

    def _update_workloads(self, before: Cluster) -> None:
        objects = {"/".join(key_of(one.metadata)): one for one in kueue_workloads(self._cluster)}
        for key in self.workloads.keys() - objects.keys():
            workload = self.workloads.pop(key)
            place = self._place.get(key)
            self._dequeue(workload)
            self._mark(key, "", 0)
            self._give_back(workload)
            if place is not None:
                self._wake(self._tree(place))
        for key, one in objects.items():
            known = self.workloads.get(key)
            if known is None:
                known = self.workloads[key] = WorkloadState(one, observable=self._observable)
                times = [known.created, *(condition.since for condition in known.conditions.values())]
                self._now = max(self._now, *(value + 1 for value in times))
            elif known.object != one:
                if known.object.spec != one.spec and not known.reserved:
                    self._dequeue(known)
                    known.charge = known.tried = None
                known.update(one)
                self._recount.add(key)
                if known.grant is not None and known.grant.cluster_queue in self.queues:
                    self.queues[known.grant.cluster_queue].reserved.changed()
        defaults = PodDefaults.of(self._cluster)
        limited = any(before.objects(kind) != self._cluster.objects(kind) for kind in (LimitRange, RuntimeClass))
        everything = limited or self._has_other_devices(before)
        for key, workload in self.workloads.items():
            if workload.complete(defaults) and limited:
                self._dequeue(workload)
            if everything or self._changed_queue(workload, before):
                self._recount.add(key)
            self._hold(workload)

    def _hold(self, workload: WorkloadState) -> None:
        """Charge a workload that has its quota to its queue, once."""
        grant = workload.grant
        queue = self.queues.get(grant.cluster_queue) if grant is not None else None
        if grant is None or queue is None or not workload.reserved:
            return
        held = grant.usage(workload.reclaimed)
        if workload.key in queue.reserved:
            if held == workload.held:
                return
            queue.node.remove(workload.held)
            self._wake(self._tree(queue))
        workload.held = held
        queue.reserved.add(workload)
        queue.node.add(held)

    def _give_back(self, workload: WorkloadState) -> None:
        """Take the usage of a workload away, and wake what may fit now."""
        grant, held = workload.grant, workload.held
        workload.held = {}
        if not workload.finished:
            workload.grant = None
        queue = self.queues.get(grant.cluster_queue) if grant is not None else None
        if queue is None or not queue.reserved.remove(workload.key):
            return
        queue.node.remove(held)
        queue.generation += 1
        self._wake(self._tree(queue))

    def _tree(self, queue: ClusterQueueState) -> list[ClusterQueueState]:
        return [self.queues[one.name] for one in queue.node.root.all_queues()]

    def _wake(self, queues: Iterable[ClusterQueueState]) -> None:
        for queue in queues:
            queue.pending.wake(lambda workload, queue=queue: self._may_wake(workload, queue))  # type: ignore[misc]

    def _may_wake(self, workload: WorkloadState, queue: ClusterQueueState) -> bool:
        return not _held_back(workload) and queue.takes(self._namespaces.get(workload.namespace, {}))

    def _reconcile(self) -> None:
        """Evict what must go, say what is wrong with workloads, and queue up those that can be tried."""
        for workload in self.workloads.values():
            if workload.finished:
                continue
            reason = self._eviction_reason(workload)
            if reason:
                workload.evict(reason, _EVICTION_TEXTS[reason], self._now)
                self._evicted.append(EvictionRecord(workload.key, workload.conditions[reasons.EVICTED], None))
                self._give_back(workload)
                workload.release(self._now)
            if not workload.reserved:
                self._queue_up(workload)
            self._note(workload)

    def _eviction_reason(self, workload: WorkloadState) -> str:
        if not workload.object.spec.active:
            evicted = workload.conditions.get(reasons.EVICTED)
            done = evicted is not None and evicted.status and evicted.reason == reasons.DEACTIVATED
            return "" if done and not workload.reserved else reasons.DEACTIVATED
        if not workload.reserved:
            return ""
        local = self._local.get((workload.namespace, workload.object.spec.queue_name))
        if local is not None and local.spec.stop_policy != "None":
            return "LocalQueueStopped" if local.spec.stop_policy == DRAIN else ""
        queue = self.queues.get(workload.grant.cluster_queue) if workload.grant else None
        return "ClusterQueueStopped" if queue is not None and queue.spec.stop_policy == DRAIN else ""

    def _queue_up(self, workload: WorkloadState) -> None:
        """Put a pending workload into its queue, or say why it cannot wait there."""
        if not workload.object.spec.active:
            self._dequeue(workload)
            return
        name = workload.object.spec.queue_name
        local = self._local.get((workload.namespace, name))
        queue = self.queues.get(local.spec.cluster_queue) if local is not None else None
        if local is None:
            trouble = reasons.MISCONFIGURED, f"LocalQueue {name} doesn't exist"
        elif local.spec.stop_policy != "None":
            trouble = reasons.SUSPENDED, f"LocalQueue {name} is inactive"
        elif queue is None:
            trouble = reasons.MISCONFIGURED, f"ClusterQueue {local.spec.cluster_queue} doesn't exist"
        else:
            self._enter(workload, queue)
            return
        self._dequeue(workload)
        workload.wait(*trouble, self._now)

    def _enter(self, workload: WorkloadState, queue: ClusterQueueState) -> None:
        try:
            self._count_and_queue(workload, queue)
        except DeadlineExceededError:
            # The workload stays outside its queue; no cycle runs after the deadline.
            self._dequeue(workload)

    def _count_and_queue(self, workload: WorkloadState, queue: ClusterQueueState) -> None:
        again = workload.key in self._recount and workload.charge is not None
        changed = again and self._counted(workload) != workload.charge
        if self._place.get(workload.key) is not queue or changed:
            self._dequeue(workload)
            workload.charge = None if changed else workload.charge
            if not isinstance(workload.charge, WorkloadCharge):
                workload.charge = self._counted(workload)
            if isinstance(workload.charge, CountingFailure):
                workload.misconfigure(workload.charge, self._now)
                return
        if queue.inactive is not None:
            workload.wait(reasons.SUSPENDED, f"ClusterQueue {queue.name} is inactive", self._now)
        elif not queue.takes(self._namespaces.get(workload.namespace, {})):
            workload.wait(reasons.MISCONFIGURED, NAMESPACE_MISMATCH, self._now)
        elif workload.refusal:
            workload.wait(reasons.MISCONFIGURED, workload.refusal, self._now)
        elif workload.suspended:
            workload.wait(reasons.PENDING_EVALUATION, _PENDING, self._now)
        restarted = self._restart(workload, queue)
        if self._place.get(workload.key) is not queue or restarted:
            self._place[workload.key] = queue
            self._push(workload, queue)

    def _restart(self, workload: WorkloadState, queue: ClusterQueueState) -> bool:
        """Let a workload be tried again that a stopped queue evicted."""
        requeued = workload.conditions.get(reasons.REQUEUED)
        if requeued is None or requeued.status or requeued.reason not in reasons.RESTARTED:
            return False
        if requeued.reason == "ClusterQueueStopped" and queue.stopped:
            return False
        workload.set(reasons.REQUEUED, True, *reasons.RESTARTED[requeued.reason], self._now)
        return True

    def _push(self, workload: WorkloadState, queue: ClusterQueueState) -> None:
        workload.shape = _shape(workload, queue)
        if _held_back(workload):
            queue.pending.park(workload)
        elif not queue.pending.push(workload) and workload.conditions.get(reasons.QUOTA_RESERVED) is not None:
            workload.wait(reasons.WAITING_FOR_QUOTA, _BYPASSED, self._now)

    def _dequeue(self, workload: WorkloadState) -> None:
        queue = self._place.pop(workload.key, None)
        if queue is not None:
            queue.pending.remove(workload.key)

    def _counted(self, workload: WorkloadState) -> WorkloadCharge | CountingFailure:
        if self._count is not None:
            return self._count(workload.object)
        return count_workload(workload.object, self._cluster, self.configuration, deadline=self._deadline)

    def _note(self, workload: WorkloadState) -> None:
        """Keep the mark of all workloads up to date, by which a state is recognised."""
        conditions = tuple(
            sorted((name, one.status, one.reason, one.message) for name, one in workload.conditions.items())
        )
        local = self._local.get((workload.namespace, workload.object.spec.queue_name))
        queue = self.queues.get(local.spec.cluster_queue) if local is not None else None
        self._mark(workload.key, queue.node.root.name if queue is not None else "", hash((workload.key, conditions)))

    def _mark(self, key: str, tree: str, mark: int) -> None:
        before, old = self._marks.get(key, ("", 0))
        self._tree_marks[before] ^= old
        self._tree_marks[tree] ^= mark
        self._marks[key] = tree, mark


def _named(objects: Mapping[object, Cohort], name: str) -> Cohort | None:
    return next((one for one in objects.values() if one.metadata.name == name), None)


def _held_back(workload: WorkloadState) -> bool:
    """Whether a queue that evicted the workload is still stopped."""
    requeued = workload.conditions.get(reasons.REQUEUED)
    return requeued is not None and not requeued.status and requeued.reason in reasons.RESTARTED


def _shape(workload: WorkloadState, queue: ClusterQueueState) -> object:
    """What workloads have in common that fail alike: queue, priority, and all that flavors depend on."""
    sets = []
    for one, charge in zip(workload.pod_sets, workload.charged, strict=True):
        spec = one.template.spec
        rules = repr((spec.node_selector, spec.affinity, spec.tolerations, one.topology_request))
        sets.append((one.count, one.min_count, tuple(sorted(charge.requests.items())), rules))
    return queue.name, workload.priority, tuple(sets)

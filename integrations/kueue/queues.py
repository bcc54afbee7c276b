"""Pending workloads of a ClusterQueue: their order, heads, and those that are parked (kueue-dra 4.6).

Workloads of one shape are parked together: what one of them failed at, the others would fail at as well.
"""

from __future__ import annotations

import copy
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from ...models.kubernetes.kueue import AdmissionCheckRule, ClusterQueue, Cohort, QuotaResourceGroup
from ...models.kubernetes.quantity import NANO, Quantity
from .amounts import amount_of
from .quota_tree import FlavorResource, NodeQuota, QuotaLimits, QuotaNode, Usage
from .workload_state import WorkloadState

STRICT_FIFO = "StrictFIFO"


class Requeue(Enum):
    """Why a head that was not admitted goes back to its queue."""

    NOT_ADMITTED = "no quota"
    FAILED_AFTER_NOMINATION = "another workload of the cycle took the quota"
    PENDING_PREEMPTION = "its victims have to go first"
    NAMESPACE_MISMATCH = "the queue does not take workloads of the namespace"


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that come from one flavor, and the flavors in the order they are tried."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


def node_quota(described: ClusterQueue | Cohort) -> NodeQuota:
    """The place of a queue or cohort in the tree, and its quota."""
    parent = described.spec.cohort_name if isinstance(described, ClusterQueue) else described.spec.parent_name
    spec = described.spec
    written = spec.fair_sharing.weight if spec.fair_sharing else None
    weight = Fraction(1) if written is None else Fraction(Quantity.parse(written).nano, NANO)
    return NodeQuota(described.metadata.name, parent, _limits(spec.resource_groups or ()), weight)


def _limits(groups: Iterable[QuotaResourceGroup]) -> Mapping[FlavorResource, QuotaLimits]:
    found: dict[FlavorResource, QuotaLimits] = {}
    for group in groups:
        for flavor in group.flavors or ():
            for one in flavor.resources or ():
                borrowing, lending = (
                    None if written is None else amount_of(one.name, written)
                    for written in (one.borrowing_limit, one.lending_limit)
                )
                nominal = amount_of(one.name, one.nominal_quota)
                found[flavor.name, one.name] = QuotaLimits(nominal, borrowing, lending)
    return found


class ClusterQueueState:
    """A ClusterQueue with the workloads that hold quota of it and those that wait for some."""

    def __init__(self, described: ClusterQueue, node: QuotaNode) -> None:
        self.name = described.metadata.name
        self.reserved = ReservedWorkloads()
        self.generation = 0
        self.pending = PendingQueue()
        self.describe(described, node)

    def __repr__(self) -> str:
        return f"ClusterQueueState({self.name!r})"

    def describe(self, described: ClusterQueue, node: QuotaNode) -> None:
        """Take over the object as it is now, and its place in the tree."""
        self.node = node
        self.spec = described.spec
        selector = described.spec.namespace_selector
        self._selector = None if selector is None else selector.requirements
        self.pending.strict = described.spec.queueing_strategy == STRICT_FIFO
        self.groups = [
            ResourceGroup(frozenset(group.covered_resources or ()), tuple(one.name for one in group.flavors or ()))
            for group in described.spec.resource_groups or ()
        ]
        self.group_of = {resource: group for group in self.groups for resource in group.resources}
        self.inactive: tuple[str, str] | None = None
        self.checks = [one.name for one in _checks(described)]

    def copied(
        self, described: ClusterQueue, node: QuotaNode, workloads: Mapping[str, WorkloadState]
    ) -> ClusterQueueState:
        """Return the queue with other amounts of quota, and with copies of the workloads, by their keys."""
        made = copy.copy(self)
        made.spec, made.node = described.spec, node
        made.reserved, made.pending = self.reserved.copied(workloads), self.pending.copied(workloads)
        return made

    @property
    def flavors(self) -> list[str]:
        """Every flavor of the queue, in its order."""
        return list(dict.fromkeys(flavor for group in self.groups for flavor in group.flavors))

    @property
    def stopped(self) -> bool:
        """Whether an administrator stopped the queue."""
        return self.spec.stop_policy in ("Hold", "HoldAndDrain")

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether workloads of a namespace with these labels are taken."""
        return self._selector is not None and all(one.matches(labels) for one in self._selector)


class ReservedWorkloads:
    """The workloads that hold quota of a ClusterQueue, in the order in which they are preempted.

    ``changed`` is called after anything that the order depends on has changed, or what a workload holds.
    """

    def __init__(self, workloads: Mapping[str, WorkloadState] | None = None) -> None:
        self._workloads: dict[str, WorkloadState] = dict(workloads or {})
        self._holding: dict[AbstractSet[FlavorResource], tuple[WorkloadState, ...]] = {}
        # What is held of each pair, by priority, and as what each workload counts in it; None as long as nobody asked.
        self._held: dict[FlavorResource, Counter[int]] | None = None
        self._counted: dict[str, tuple[int, Usage]] = {}

    def copied(self, workloads: Mapping[str, WorkloadState]) -> ReservedWorkloads:
        """Return the same with copies of the workloads."""
        return ReservedWorkloads({key: workloads[key] for key in self._workloads})

    def __contains__(self, key: str) -> bool:
        return key in self._workloads

    def __iter__(self) -> Iterator[WorkloadState]:
        return iter(self._workloads.values())

    def add(self, workload: WorkloadState) -> None:
        """The workload got its quota."""
        self._holding.clear()
        self._discount(workload.key)
        self._workloads[workload.key] = workload
        self._count(workload)

    def remove(self, key: str) -> bool:
        """The workload gave its quota back; False if it held none here."""
        self._holding.clear()
        self._discount(key)
        return self._workloads.pop(key, None) is not None

    def changed(self) -> None:
        """Forget what was derived."""
        self._holding.clear()
        self._held = None
        self._counted.clear()

    def holding(self, pairs: AbstractSet[FlavorResource]) -> tuple[WorkloadState, ...]:
        """Those that hold something of one of the pairs, in order."""
        found = self._holding.get(pairs)
        if found is None:
            holders = [one for one in self._workloads.values() if not pairs.isdisjoint(one.held)]
            holders.sort(key=lambda one: one.preemption_rank)
            found = self._holding[pairs] = tuple(holders)
        return found

    def held(self, pair: FlavorResource, below: float) -> int:
        """What those of a priority below a limit hold of a pair."""
        return held_below(self.held_by_priority(pair), below)

    def held_by_priority(self, pair: FlavorResource) -> Mapping[int, int]:
        """What is held of a pair, by priority; read only, and as it is now."""
        if self._held is None:
            self._held = {}
            for workload in self._workloads.values():
                self._count(workload)
        return self._held.get(pair, _NOTHING)

    def _count(self, workload: WorkloadState) -> None:
        if self._held is None:
            return
        self._counted[workload.key] = workload.priority, workload.held
        for pair, amount in workload.held.items():
            if pair not in self._held:
                self._held[pair] = Counter()
            self._held[pair][workload.priority] += max(0, amount)

    def _discount(self, key: str) -> None:
        if self._held is None or key not in self._counted:
            return
        priority, held = self._counted.pop(key)
        for pair, amount in held.items():
            self._held[pair][priority] -= max(0, amount)


_NOTHING: Mapping[int, int] = {}


def held_below(held: Mapping[int, int], below: float) -> int:
    """Add up amounts by priority, up to a limit."""
    total = 0
    for priority, amount in held.items():
        if priority < below:
            total += amount
    return total


def _checks(described: ClusterQueue) -> Sequence[AdmissionCheckRule]:
    strategy = described.spec.admission_checks_strategy
    return strategy.admission_checks or () if strategy else ()


class PendingQueue:
    """The workloads that wait for quota of one ClusterQueue: those tried in turn, and those that are parked."""

    def __init__(self) -> None:
        self.strict = False
        self.active: dict[str, WorkloadState] = {}
        self.parked: dict[str, WorkloadState] = {}
        self._heap: list[tuple[int, float, str, str]] = []
        self._by_shape: dict[object, dict[str, None]] = {}
        # The first workload of each shape that failed, by its place in the queue.
        self._failed_shapes: dict[object, tuple[int, float, str, str]] = {}
        self._sticky = ""
        self._head = ""
        # Changes with every workload that comes, goes, is parked or woken.
        self.mark = 0

    def copied(self, workloads: Mapping[str, WorkloadState]) -> PendingQueue:
        """Return the same with copies of the workloads."""
        made = copy.copy(self)
        made._separate(workloads)  # noqa: SLF001 - the class's own
        return made

    def _separate(self, workloads: Mapping[str, WorkloadState]) -> None:
        self.active = {key: workloads[key] for key in self.active}
        self.parked = {key: workloads[key] for key in self.parked}
        self._heap, self._failed_shapes = list(self._heap), dict(self._failed_shapes)
        self._by_shape = {shape: dict(keys) for shape, keys in self._by_shape.items()}

    def __contains__(self, key: str) -> bool:
        return key in self.active or key in self.parked

    def pop(self) -> WorkloadState | None:
        """Take the head: the workload whose victims are going, or the first by priority, time and UID."""
        if self._sticky in self.active:
            return self._take(self._sticky)
        while self._heap:
            order = heapq.heappop(self._heap)
            workload = self.active.get(order[3])
            # Entries of workloads that have gone, or changed their place, are left over.
            if workload is not None and _order(workload) == order:
                return self._take(workload.key)
        return None

    def push(self, workload: WorkloadState) -> bool:
        """Queue a workload up, new or changed; False if one of its shape before it has failed, so that it is parked."""
        self._unpark(workload.key)
        failed = None if self.strict else self._failed_shapes.get(workload.shape)
        if failed is not None and failed < _order(workload):
            self.park(workload)
            return False
        self._enter(workload)
        return True

    def put_back(self, workload: WorkloadState) -> None:
        """Put back a head that was not looked at."""
        self._enter(workload)

    def park(self, workload: WorkloadState) -> None:
        """Set a workload aside that cannot be admitted as things are."""
        self._leave(workload.key)
        self._park(workload)

    def requeue(self, workload: WorkloadState, why: Requeue) -> None:
        """Put back a head that was not admitted: to be tried again, or parked until something changes."""
        if why is Requeue.PENDING_PREEMPTION and not self.strict:
            self._sticky = workload.key
        if self.strict:
            again = why is not Requeue.NAMESPACE_MISMATCH
        else:
            again = why in (Requeue.FAILED_AFTER_NOMINATION, Requeue.PENDING_PREEMPTION)
        untried = workload.tried is not None and workload.tried.pending
        if again or untried:
            self._enter(workload)
            return
        self._park(workload)
        if self._sticky == workload.key:
            self._sticky = ""
        if why is Requeue.NOT_ADMITTED and not self.strict:
            self._failed_shapes.setdefault(workload.shape, _order(workload))
            for key in list(self._by_shape.get(workload.shape, ())):
                self._park(self._take(key))

    def wake(self, may: Callable[[WorkloadState], bool]) -> bool:
        """Have parked workloads tried again; return whether there are any."""
        self._failed_shapes.clear()
        woken = [workload for workload in self.parked.values() if may(workload)]
        for workload in woken:
            self._unpark(workload.key)
            self._enter(workload)
        return bool(woken)

    def remove(self, key: str) -> None:
        """Forget a workload."""
        self._leave(key)
        self._unpark(key)
        if self._sticky == key:
            self._sticky = ""

    def _enter(self, workload: WorkloadState) -> None:
        self._leave(workload.key)
        self.active[workload.key] = workload
        self.mark ^= hash((workload.key, True))
        self._by_shape.setdefault(workload.shape, {})[workload.key] = None
        heapq.heappush(self._heap, _order(workload))

    def _park(self, workload: WorkloadState) -> None:
        if workload.key not in self.parked:
            self.mark ^= hash((workload.key, False))
        self.parked[workload.key] = workload

    def _unpark(self, key: str) -> None:
        if self.parked.pop(key, None) is not None:
            self.mark ^= hash((key, False))

    def _take(self, key: str) -> WorkloadState:
        workload = self.active[key]
        self._leave(key)
        return workload

    def _leave(self, key: str) -> None:
        workload = self.active.pop(key, None)
        if workload is not None:
            self.mark ^= hash((key, True))
            self._by_shape.get(workload.shape, {}).pop(key, None)


def _order(workload: WorkloadState) -> tuple[int, float, str, str]:
    return (-workload.priority, workload.queued_since, workload.uid, workload.key)

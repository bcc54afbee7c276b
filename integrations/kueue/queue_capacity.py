"""How many more copies of a workload fit: by quota, by placement, and by both.

By quota a copy after the other is given flavors as Kueue's scheduler chooses them, beside what workloads hold, until
the next one gets none (kueue-dra 4.2 and 4.3). Nobody is preempted. By placement all flavors of the queue may be used,
whatever their quota. By both the copies that Kueue admits are placed on nodes of the flavors that it chooses. Copies
are whole, and workloads that wait do not count.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec
from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import PodResourceClaim, PodSpec
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import (
    KueuePodSet,
    KueueWorkload,
    KueueWorkloadSpec,
    KueueWorkloadStatus,
    LocalQueue,
    ResourceFlavor,
)
from ...models.kubernetes.meta import ObjectMeta
from ...models.kubernetes.workloads import PodTemplateSpec
from ...models.workload.pod_defaults import PodDefaults
from ...models.workload.pod_sets import QUEUE_LABEL
from ...solver.capacity.records import Room, find_copy_source
from ...solver.engines.outcome import SearchInterrupted
from .configuration import kueue_configuration
from .copy_placement import MOST_COPIES, NO_COPIES, CopyPlacement, FlavorRun, PodSetRoom, QuotaRoom
from .counting import CountingFailure, count_workload
from .cycles import KueueState
from .flavors import Assignment, AssignmentMode, FlavorAssigner, FlavorMode, tried_flavors
from .joint import workload_copies
from .queues import ClusterQueueState
from .quota_changes import missing_quota, quota_ways
from .quota_tree import FlavorResource
from .scheduling import NAMESPACE_MISMATCH
from .workload_state import WorkloadState


@dataclass(frozen=True, slots=True)
class QueueRoom:
    """How many more copies of a workload fit in a LocalQueue; ``problem`` says why placement is not known."""

    namespace: str
    local_queue: str
    cluster_queue: str
    workload: str
    pod_sets: tuple[str, ...]
    quota: QuotaRoom
    placement: Room
    both: Room
    pods: tuple[PodSetRoom, ...] = ()
    problem: str = ""

    @property
    def limited_by(self) -> str:
        """What stops the next copy; empty if any number fits."""
        both = self.both
        if both.unbounded:
            return ""
        parts = {"quota": self.quota.room, "placement": self.placement}
        found = [name for name, room in parts.items() if not room.unbounded and room.fits <= both.fits]
        # Less may fit by both than by either: the flavors that Kueue chooses have too little room.
        return " and ".join(found) or "placement"


@dataclass(slots=True)
class QueueCapacity:
    """The rows that were found; ``interrupted``: by Ctrl-C before all of them."""

    rows: list[QueueRoom] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    interrupted: bool = False


def queue_capacity(
    cluster: Cluster,
    workload: str | None = None,
    *,
    template: str | None = None,
    pod: str | None = None,
    limit: int,
    gates: FeatureGates,
    time_limit: float | None = None,
    seed: int = 0,
) -> QueueCapacity:
    """Count copies of one workload, ``[namespace/]name`` of a Workload or of its job or pod, or of all sorts.

    The own LocalQueue of the workload comes first, then the others of its namespace. Without a name each LocalQueue
    has a row for each sort of workload in it. ``template`` and ``pod`` ask for copies of a pod with one claim of a
    ResourceClaimTemplate, or of any pod, in each LocalQueue of its namespace. Raises ``ValueError``, one line, for a
    name that is not there.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    cluster = cluster.with_gates(gates)
    state = KueueState(cluster, kueue_configuration(cluster), deadline=deadline)
    if template is not None or pod is not None:
        asked = list(_of_pod(cluster, template, pod, gates))
    else:
        asked = list(_every_sort(state)) if workload is None else list(_in_each_queue(cluster, state, workload))
    placement = CopyPlacement(cluster, state, gates, limit, deadline, seed)
    found = QueueCapacity()
    try:
        for number, (local_queue, one) in enumerate(asked):
            placement.parts_left = len(asked) - number
            found.rows.append(_row(cluster, state, placement, local_queue, one))
    except (KeyboardInterrupt, SearchInterrupted):
        found.interrupted = True
    found.notices += sorted(placement.notices)
    return found


def _every_sort(state: KueueState) -> Iterator[tuple[str, KueueWorkload]]:
    """The first workload of each sort in each LocalQueue, those that hold quota included."""
    seen: set[tuple[str, str, bytes]] = set()
    named = sorted(
        state.workloads.values(), key=lambda one: (one.namespace, one.object.spec.queue_name, one.created, one.name)
    )
    for one in named:
        sort = one.namespace, one.object.spec.queue_name, msgspec.json.encode(one.object.spec.pod_sets)
        if not one.finished and sort not in seen:
            seen.add(sort)
            yield one.object.spec.queue_name, one.object


def _in_each_queue(cluster: Cluster, state: KueueState, name: str) -> Iterator[tuple[str, KueueWorkload]]:
    """One workload, in its own LocalQueue and in the others of its namespace."""
    head, slash, tail = name.partition("/")
    namespace, own = (head, tail) if slash else ("default", head)
    near = [one for one in state.workloads.values() if one.namespace == namespace]
    owned = (one for one in near if own in {owner.name for owner in one.object.metadata.owner_references or ()})
    found = next((one for one in near if one.name == own), None) or next(owned, None)
    if found is None:
        raise ValueError(f"Workload {namespace}/{own} not found, nor a job or pod of this name with a LocalQueue")
    first = found.object.spec.queue_name
    others = sorted(local for where, local in cluster.objects(LocalQueue) if where == namespace and local != first)
    yield from ((local, found.object) for local in (first, *others))


def _of_pod(
    cluster: Cluster, template: str | None, pod: str | None, gates: FeatureGates
) -> Iterator[tuple[str, KueueWorkload]]:
    """A pod, or one with a claim of a template, as a workload of each LocalQueue of its namespace."""
    source = find_copy_source(cluster, template=template, pod=pod, gates=gates)
    namespace, name = source.namespace, source.name
    made = PodTemplateSpec(
        spec=PodSpec(resource_claims=(PodResourceClaim(name="claim", resource_claim_template_name=name),))
    )
    if (copied_pod := source.copy(0).pod) is not None:
        labels = ObjectMeta(labels=copied_pod.metadata.labels, annotations=copied_pod.metadata.annotations)
        made = PodTemplateSpec(metadata=labels, spec=replace_fields(copied_pod.spec, node_name=None))
    made = PodDefaults.of(cluster).template(namespace, made, of_pods=True)
    sets = (KueuePodSet(name="main", count=1, template=made),)
    copied = KueueWorkload(metadata=ObjectMeta(name=name, namespace=namespace), spec=KueueWorkloadSpec(pod_sets=sets))
    queues = sorted(local for where, local in cluster.objects(LocalQueue) if where == namespace)
    if not queues:
        raise ValueError(f"namespace {namespace} has no LocalQueue")
    own = (made.metadata.labels or {}).get(QUEUE_LABEL)
    yield from ((local, copied) for local in sorted(queues, key=lambda one: one != own))


def _row(
    cluster: Cluster, state: KueueState, placement: CopyPlacement, local_queue: str, given: KueueWorkload
) -> QueueRoom:
    copy = _fresh_copy(given, local_queue)
    described = cluster.objects(LocalQueue).get((copy.namespace, local_queue))
    queue = state.queues.get(described.spec.cluster_queue) if described is not None else None
    trouble = _trouble(cluster, state, copy, described, queue)
    quota = (
        QuotaRoom(NO_COPIES, message=trouble) if queue is None or trouble else _by_quota(cluster, state, copy, queue)
    )
    asked = workload_copies(cluster, state, copy, queue, 1).workloads[0] if queue is not None and copy.charged else None
    name = described.spec.cluster_queue if described is not None else ""
    place, both, pods, problem = placement.count(copy, queue, asked, quota)
    names = tuple(one.name for one in copy.pod_sets)
    return QueueRoom(copy.namespace, local_queue, name, copy.name, names, quota, place, both, pods, problem)


def _fresh_copy(given: KueueWorkload, local_queue: str) -> WorkloadState:
    """The workload as if it had just been made: whole, active, and without status."""
    sets = tuple(replace_fields(one, min_count=None) for one in given.spec.pod_sets or ())
    spec = replace_fields(given.spec, queue_name=local_queue, active=True, pod_sets=sets)
    return WorkloadState(replace_fields(given, spec=spec, status=KueueWorkloadStatus()), observable=True)


def _trouble(
    cluster: Cluster,
    state: KueueState,
    copy: WorkloadState,
    described: LocalQueue | None,
    queue: ClusterQueueState | None,
) -> str:
    """Why a copy would wait whatever quota there is; it is counted on the way."""
    name = copy.object.spec.queue_name
    copy.complete(PodDefaults.of(cluster))
    counted = count_workload(copy.object, cluster, state.configuration)
    copy.charge = counted
    if described is None:
        return f"LocalQueue {name} doesn't exist"
    if described.spec.stop_policy != "None":
        return f"LocalQueue {name} is inactive"
    if queue is None:
        return f"ClusterQueue {described.spec.cluster_queue} doesn't exist"
    if isinstance(counted, CountingFailure):
        return counted.error
    if queue.inactive is not None:
        return f"ClusterQueue {queue.name} is inactive"
    known = cluster.namespaces.get(copy.namespace)
    if not queue.takes((known.metadata.labels if known is not None else None) or {}):
        return NAMESPACE_MISMATCH
    return copy.refusal


class _NobodyGoes:
    """No workload is preempted."""

    def simulate(
        self, workload: WorkloadState, queue: ClusterQueueState, pair: FlavorResource, amount: int
    ) -> tuple[FlavorMode, int]:
        return FlavorMode.NO_CANDIDATES, queue.node.height_that_holds(pair, amount)[0]


def _by_quota(cluster: Cluster, state: KueueState, copy: WorkloadState, queue: ClusterQueueState) -> QuotaRoom:
    """Give flavors to a copy after the other, many at once where they are the same."""
    flavors = {one.metadata.name: one for one in cluster.objects(ResourceFlavor).values()}
    rules = state.configuration
    assigner = FlavorAssigner(
        flavors,
        _NobodyGoes(),
        fair_sharing=rules.fair_sharing is not None,
        ignore_undeclared=rules.quota_check_strategy == "IgnoreUndeclared",
    )
    runs: list[FlavorRun] = []
    used: dict[FlavorResource, int] = {}
    try:
        while True:
            made = _assigned(assigner, copy, queue)
            if made.mode is not AssignmentMode.FIT:
                total = sum(one.copies or 0 for one in runs)
                missing = missing_quota(queue.node, quota_ways(copy, queue, flavors))
                return QuotaRoom(Room(total, total), tuple(runs), made.message, missing)
            usage = {pair: amount for pair, amount in made.usage.items() if amount}
            copies = _alike(assigner, copy, queue, made, usage)
            if runs and runs[-1].flavors == made.nominated and copies is not None:
                runs[-1] = replace(runs[-1], copies=(runs[-1].copies or 0) + copies)
            else:
                runs.append(FlavorRun(made.nominated, copies))
            if copies is None:
                return QuotaRoom(Room(unbounded=True), tuple(runs))
            for pair, amount in usage.items():
                used[pair] = used.get(pair, 0) + amount * copies
            queue.node.add({pair: amount * copies for pair, amount in usage.items()})
    finally:
        queue.node.remove(used)


def _assigned(assigner: FlavorAssigner, copy: WorkloadState, queue: ClusterQueueState) -> Assignment:
    """The flavors of a copy, which is tried again with the flavors after those tried last (kueue-dra 4.4).

    Where the same flavors come back it would be tried for ever.
    """
    copy.tried, seen = None, list[object]()
    made = first = assigner.assign(copy, queue)
    while made.mode is not AssignmentMode.FIT and made.tried not in seen:
        seen.append(made.tried)
        copy.tried = tried_flavors(made, queue, 0)
        if not copy.tried.pending:
            break
        made = assigner.assign(copy, queue)
    copy.tried = None
    return made if made.mode is AssignmentMode.FIT else first


def _alike(
    assigner: FlavorAssigner,
    copy: WorkloadState,
    queue: ClusterQueueState,
    made: Assignment,
    usage: Mapping[FlavorResource, int],
) -> int | None:
    """How many copies in turn get these flavors; None: any number.

    While copies use one choice of flavors, it becomes worse and the others stay as they are. So the copies that get it
    are the first ones. With several pod sets two choices may become worse at once: then one copy is taken at a time.
    """
    if not usage:
        return None
    several = len(copy.pod_sets) > 1 and any(len(group.flavors) > 1 for group in queue.groups)

    def differs(copies: int) -> bool:
        before = {pair: amount * (copies - 1) for pair, amount in usage.items()}
        if not queue.node.fits({pair: amount * copies for pair, amount in usage.items()}):
            return True
        with queue.node.with_added(before):
            after = assigner.assign(copy, queue)
        return after.mode is not AssignmentMode.FIT or after.nominated != made.nominated

    if several:
        return 1
    most = 2
    while most < MOST_COPIES and not differs(most):
        most *= 2
    return bisect_left(range(most // 2, most), True, key=lambda copies: differs(copies + 1)) + most // 2

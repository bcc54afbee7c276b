"""How many copies of a workload find nodes: whatever their quota, and with the flavors that Kueue gives them.

The pods of a workload with one pod set stand for themselves, so that counting them is enough. Pods of several pod sets
compete for nodes: a plan places the copies, and its bound is that of their number.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from msgspec.structs import replace as replace_fields

from ...models.cluster.cluster import Cluster
from ...models.kubernetes.core import Pod
from ...models.kubernetes.extensions import GANG_DOMAIN_ANNOTATION
from ...models.kubernetes.gates import FeatureGates
from ...models.kubernetes.kueue import ClusterQueue, KueuePodSet, KueueWorkload
from ...models.kubernetes.meta import ObjectMeta, key_of
from ...models.manifests.writer import is_allocated
from ...models.results.quota import MissingQuota
from ...models.workload.node_room import running_pods
from ...models.workload.pod_defaults import PodDefaults
from ...models.workload.quota import FlavorOption, QuotaPodSet, QuotaProblem, QuotaWorkload, restricted_spec
from ...solver.capacity.capacity import capacity
from ...solver.capacity.records import CapacityOutcome, Room, total_room
from ...solver.plan.plan import plan
from .cycles import KueueState
from .joint import flavors_clash, name_of_copy, workload_copies
from .queues import ClusterQueueState
from .workload_state import WorkloadState

NO_COPIES, _UNKNOWN = Room(0, 0), Room()
# Amounts are 64-bit integers, so that no more copies than these fit.
MOST_COPIES = 1 << 62
# Of workloads with several pod sets more copies are not planned.
_MOST_PLANNED = 100


@dataclass(frozen=True, slots=True)
class FlavorRun:
    """So many copies in turn get the same flavors, by pod set and resource; None: any number."""

    flavors: Sequence[Mapping[str, str]]
    copies: int | None


@dataclass(frozen=True, slots=True)
class QuotaRoom:
    """The copies that Kueue admits, with their flavors, and what the next one lacks, in Kueue's words as well."""

    room: Room
    runs: tuple[FlavorRun, ...] = ()
    message: str = ""
    missing: tuple[MissingQuota, ...] = ()


@dataclass(frozen=True, slots=True)
class PodSetRoom:
    """The pods of a pod set that fit on nodes of some flavors, if nothing else is placed; ``count`` are in a copy."""

    pod_set: str
    count: int
    flavors: Mapping[str, str]
    found: CapacityOutcome


class CopyPlacement:
    """Counts copies on nodes, beside what runs; what is known of equal pods and flavors is kept."""

    def __init__(
        self, cluster: Cluster, state: KueueState, gates: FeatureGates, limit: int, deadline: float | None, seed: int
    ) -> None:
        self._cluster, self._state, self._gates = cluster, state, gates
        self._limit, self._deadline, self._seed = limit, deadline, seed
        self._bare = _without_queue(cluster)
        self._known: dict[bytes, CapacityOutcome] = {}
        self.notices: set[str] = set()
        self.parts_left = 1
        self._local = all(one.spec.node_name for one in cluster.slices)

    def count(
        self, copy: WorkloadState, queue: ClusterQueueState | None, asked: QuotaWorkload | None, quota: QuotaRoom
    ) -> tuple[Room, Room, tuple[PodSetRoom, ...], str]:
        """Return the room by placement and by both, the room for pods, and what is wrong with the question."""
        if asked is not None and asked.problem in {flavors_clash(one.name) for one in copy.pod_sets}:
            return NO_COPIES, NO_COPIES, (), asked.problem
        if asked is not None and asked.problem and quota.room.bound != 0:
            # Kueue would admit it, and a plan does not know what it asks for.
            return _UNKNOWN, Room(0, quota.room.bound), (), asked.problem
        if asked is None or asked.problem or queue is None:
            # No flavors restrict the nodes.
            sets = [QuotaPodSet(one.name, one.count, {}, (FlavorOption({}),)) for one in copy.pod_sets]
        else:
            sets = list(asked.pod_sets)
        try:
            pods = tuple(
                PodSetRoom(one.name, one.count, choice.flavors, self._room(copy, number, choice))
                for number, one in enumerate(sets)
                for choice in (one.choices if one.count else ())
            )
        except ValueError as error:
            return _UNKNOWN, NO_COPIES if quota.room.bound == 0 else _UNKNOWN, (), str(error)
        # Pods of which any number fits take nothing from others.
        limited = {one.pod_set for one in pods if not one.found.total.unbounded}
        filled = [(number, one) for number, one in enumerate(sets) if one.name in limited]
        if not filled:
            return Room(unbounded=True), quota.room, pods, ""
        if len(filled) == 1 and self._adds_up(copy, *filled[0]):
            own = [one for one in pods if one.pod_set in limited]
            return total_room([_copies_of(one) for one in own]), _in_turn(quota, filled[0][0], own), pods, ""
        if queue is None or not copy.charged:
            return _UNKNOWN, NO_COPIES, pods, "its pods are planned together, which needs a queue and a charge"
        place = self._planned(copy, queue, pods)
        return place, self._planned_with_quota(copy, queue, quota, place), pods, ""

    def _room(self, copy: WorkloadState, number: int, choice: FlavorOption) -> CapacityOutcome:
        """How many pods of a pod set fit with these flavors. Raises ``ValueError``, one line."""
        template = self._pod_sets(copy)[number].template
        spec = restricted_spec(template.spec, choice)
        name = copy.name
        while (copy.namespace, name) in self._bare.pods:
            name = f"{name}-copy"
        key = msgspec.json.encode((copy.namespace, template.metadata.labels, spec))
        if key not in self._known:
            pod = Pod(
                metadata=ObjectMeta(name=name, namespace=copy.namespace, labels=template.metadata.labels), spec=spec
            )
            cluster = replace(self._bare, pods={**self._bare.pods, (copy.namespace, name): pod})
            ask = partial(capacity, cluster, pod=f"{copy.namespace}/{name}", limit=self._limit, seed=self._seed)
            found = self._known[key] = ask(feature_gates=self._gates, time_limit=self._seconds())
            self.notices.update(found.notices)
        return self._known[key]

    def _pod_sets(self, copy: WorkloadState) -> tuple[KueuePodSet, ...]:
        """With what the API server adds to their pods, which may be more than Kueue charges."""
        complete = PodDefaults.of(self._cluster).template
        return tuple(
            replace_fields(one, template=complete(copy.namespace, one.template, of_pods=True))
            for one in copy.object.spec.pod_sets or ()
        )

    def _seconds(self) -> float | None:
        """The part of the time that is left for this row."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic()) / self.parts_left

    def _adds_up(self, copy: WorkloadState, number: int, pod_set: QuotaPodSet) -> bool:
        """Whether any pods that fit make copies: no rule is about several pods, and flavors have nodes of their own."""
        given = copy.pod_sets[number]
        in_domain = given.topology_request or GANG_DOMAIN_ANNOTATION in (given.template.metadata.annotations or {})
        if self._cluster.constraint_groups or in_domain:
            return False
        labels = [one.labels for one in pod_set.choices]
        apart = all(_exclude_each_other(one, other) for place, one in enumerate(labels) for other in labels[:place])
        return len(labels) == 1 or (apart and self._local)

    def _planned(self, copy: WorkloadState, queue: ClusterQueueState, pods: Sequence[PodSetRoom]) -> Room:
        """The most copies that a plan places, with all flavors that they may have."""
        upper = _most_by_pod_set(pods)
        if upper == 0:
            return NO_COPIES
        copies = min(self._limit, _MOST_PLANNED) if upper is None else min(self._limit, _MOST_PLANNED, upper)
        problem = workload_copies(self._cluster, self._state, copy, queue, copies)
        return self._placed(copy, problem, upper)

    def _planned_with_quota(self, copy: WorkloadState, queue: ClusterQueueState, quota: QuotaRoom, place: Room) -> Room:
        """The first copies that Kueue admits, as many as a plan places with the flavors that they have."""
        one = workload_copies(self._cluster, self._state, copy, queue, 1).workloads[0]
        if all(len(each.choices) == 1 for each in one.pod_sets):
            # Kueue has no choice either.
            return _smaller(quota.room, place)
        flavors: list[Sequence[Mapping[str, str]]] = []
        for run in quota.runs:
            most = min(self._limit, _MOST_PLANNED) - len(flavors)
            flavors += [run.flavors] * (most if run.copies is None else min(most, run.copies))
        problem = workload_copies(self._cluster, self._state, copy, queue, len(flavors))
        given = tuple(map(_with_flavors, problem.workloads, flavors))
        if len(quota.runs) == 1:
            return _smaller(quota.room, self._placed(copy, replace(problem, workloads=given, limited=False), None))
        known: dict[int, Room] = {}

        def is_stranded(copies: int) -> bool:
            first = replace(problem, workloads=given[:copies], limited=False)
            known[copies] = self._placed(copy, first, None)
            return known[copies].fits < copies

        fits = bisect_left(range(1, len(flavors) + 1), True, key=is_stranded)
        # Of the next number of copies it is known that one finds no place, unless the time was too short.
        bounds = [copies - 1 for copies, room in known.items() if room.bound is not None and room.bound < copies]
        return Room(fits, min([*bounds, quota.room.bound if quota.room.bound is not None else MOST_COPIES]))

    def _placed(self, copy: WorkloadState, problem: QuotaProblem, upper: int | None) -> Room:
        """Place as many copies as can be, of those in the problem; ``upper`` is a bound that is known."""
        copies = len(problem.workloads)
        if not copies:
            return NO_COPIES
        pods = sum(one.most for one in problem.workloads[0].pod_sets)
        cluster = self._with_copies(copy, copies)
        ask = partial(plan, cluster, objective="admitted", gap=0.0, quota=problem, seed=self._seed)
        found = ask(feature_gates=self._gates, time_limit=self._seconds())
        self.notices.update(found.notices)
        workloads = found.quota.workloads if found.quota is not None else ()
        fits = sum(one.outcome == "Admitted" for one in workloads)
        (stage,) = found.objective
        # As many as were asked for may be placed, and more.
        bound = upper if fits == copies or stage.bound is None else int(stage.bound) // pods
        return Room(fits, bound if upper is None or bound is None else min(bound, upper))

    def _with_copies(self, copy: WorkloadState, copies: int) -> Cluster:
        named = [name_of_copy(copy, number) for number in range(copies)]
        spec = replace_fields(copy.object.spec, pod_sets=self._pod_sets(copy))
        made = [
            replace_fields(copy.object, metadata=ObjectMeta(name=name, namespace=copy.namespace), spec=spec)
            for name in named
        ]
        known = {key_of(one.metadata): one for one in made}
        queues = {ClusterQueue: self._cluster.objects(ClusterQueue)}
        return replace(self._bare, integration_objects={KueueWorkload: known, **queues}, read=Cluster.of(made).read)


def _without_queue(cluster: Cluster) -> Cluster:
    """What is there, with what runs, and nothing that waits."""
    return replace(
        cluster,
        pods=dict(running_pods(cluster)),
        claims={key: one for key, one in cluster.claims.items() if is_allocated(one)},
        workload_objects={},
        integration_objects={},
        workloads={},
        pod_groups={},
        node_templates={},
    )


def _exclude_each_other(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether no node has both sets of labels."""
    return any(other.get(key, value) != value for key, value in one.items())


def _with_flavors(workload: QuotaWorkload, flavors: Sequence[Mapping[str, str]]) -> QuotaWorkload:
    """A copy that was given flavors."""
    pod_sets = tuple(
        replace(one, choices=tuple(choice for choice in one.choices if _is_choice(choice.flavors, own)))
        for one, own in zip(workload.pod_sets, flavors, strict=True)
    )
    return replace(workload, pod_sets=pod_sets, grant="given")


def _is_choice(choice: Mapping[str, str], flavors: Mapping[str, str]) -> bool:
    return all(flavors.get(resource, flavor) == flavor for resource, flavor in choice.items())


def _copies_of(pods: PodSetRoom) -> Room:
    """How many times the pods of a copy fit."""
    room, count = pods.found.total, pods.count
    if room.unbounded:
        return room
    first = None if room.first_fit is None else room.first_fit // count
    return Room(room.fits // count, None if room.bound is None else room.bound // count, first)


def _most_by_pod_set(pods: Sequence[PodSetRoom]) -> int | None:
    """No more copies fit than pods of one of their pod sets; None where no bound is known."""
    most: dict[str, int | None] = {}
    for one in pods:
        room, before = _copies_of(one), most.get(one.pod_set, 0)
        endless = room.unbounded or room.bound is None or before is None
        most[one.pod_set] = None if endless else (before or 0) + (room.bound or 0)
    return min((one for one in most.values() if one is not None), default=None)


def _in_turn(quota: QuotaRoom, pod_set: int, pods: Sequence[PodSetRoom]) -> Room:
    """The first copies that Kueue admits, as many as find nodes of their flavors."""
    rooms = [(one.flavors, _copies_of(one)) for one in pods]

    def first_copies(size: Callable[[Room], int | None]) -> int | None:
        """Add up the runs until one finds less room than it has copies; None: any number."""
        total, used = 0, [0] * len(rooms)
        for run in quota.runs:
            place = next(number for number, (own, _) in enumerate(rooms) if _is_choice(own, run.flavors[pod_set]))
            most = size(rooms[place][1])
            left = None if most is None else most - used[place]
            if run.copies is None or (left is not None and left < run.copies):
                return None if left is None else total + left
            total, used[place] = total + run.copies, used[place] + run.copies
        return total

    fits = first_copies(lambda room: None if room.unbounded else room.fits)
    if fits is None:
        return Room(unbounded=True)
    return Room(fits, first_copies(lambda room: None if room.unbounded else room.bound))


def _smaller(one: Room, other: Room) -> Room:
    """What is both."""
    if one.unbounded or other.unbounded:
        return replace(other if one.unbounded else one, first_fit=None)
    bounds = [room.bound for room in (one, other) if room.bound is not None]
    return Room(min(one.fits, other.fits), min(bounds, default=None))

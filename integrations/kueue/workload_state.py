"""A workload while Kueue schedules it: its conditions in Kueue's words, and its quota (kueue-dra 3.7 and 4.9).

Kueue completes templates of pods, as ``PodDefaults`` does, before it judges what containers and pods ask for by their
own limits and by LimitRanges (kueue-dra 3.6 and 3.8).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf

from msgspec.structs import replace

from ...models.formats.decode import QuantityText
from ...models.kubernetes.core import Container, LimitRangeItem, PodSpec
from ...models.kubernetes.kueue import Admission, KueuePodSet, KueueWorkload
from ...models.kubernetes.meta import Condition, key_of
from ...models.kubernetes.quantity import Quantity
from ...models.results.quota import QuotaState
from ...models.validation.findings import Path
from ...models.workload.pod_defaults import CONTAINER, PodDefaults
from ...models.workload.requests import Amounts, Requests, container_requests, pod_requests
from .amounts import amount_of
from .counting import CountingFailure, PodSetCharge, WorkloadCharge
from .devices import INVALID, CountingProblem, joined
from .quota_tree import FlavorResource

QUOTA_RESERVED, ADMITTED, EVICTED = "QuotaReserved", "Admitted", "Evicted"
PREEMPTED, REQUEUED, FINISHED = "Preempted", "Requeued", "Finished"
WAITING_FOR_PREEMPTED, WAITING_FOR_QUOTA = "WaitingForPreemptedWorkloads", "WaitingForQuota"
MISCONFIGURED, SUSPENDED, DEACTIVATED = "Misconfigured", "Suspended", "Deactivated"
PENDING_EVALUATION = "PendingEvaluation"
# Reasons that say less, with the gate UnadmittedWorkloadsObservability off.
_COLLAPSED_SCHEDULER, _COLLAPSED_CONTROLLER = "Pending", "Inadmissible"
_CONTROLLER_REASONS = (MISCONFIGURED, SUSPENDED)
# A stopped queue evicts for these reasons, and has the workload tried again for those once it goes on.
RESTARTED = {
    "LocalQueueStopped": ("LocalQueueRestarted", "The LocalQueue was restarted after being stopped"),
    "ClusterQueueStopped": ("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"),
}
# Evicted for these reasons, a workload queues up by the time of its eviction.
_REQUEUED_BY_EVICTION = ("PodsReadyTimeout", "AdmissionCheck")
_LONGEST_MESSAGE = 32 * 1024


def seconds_of(timestamp: str | None) -> float:
    """Seconds since 1970 of a time in an object; 0 without one, or where it cannot be read."""
    try:
        return datetime.fromisoformat(timestamp or "1970-01-01T00:00:00Z").timestamp()
    except (ValueError, OverflowError):
        return 0.0


def timestamp_of(seconds: float) -> str:
    """The time of so many seconds since 1970, as objects have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class WorkloadCondition:
    """A condition that holds, or does not, with Kueue's reason."""

    status: bool
    reason: str
    message: str
    since: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class PodSetGrant:
    """What a pod set has got: so many pods, a flavor for each resource, and the total amounts."""

    name: str
    count: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class QuotaGrant:
    """The queue whose quota a workload holds, and what each pod set has of it."""

    cluster_queue: str
    pod_sets: tuple[PodSetGrant, ...]

    def usage(self, reclaimed: Mapping[str, int]) -> dict[FlavorResource, int]:
        """What is used: without the pods that have finished."""
        found: dict[FlavorResource, int] = {}
        for one in self.pod_sets:
            kept = max(0, one.count - reclaimed.get(one.name, 0))
            for resource, amount in one.usage.items():
                flavor = one.flavors.get(resource)
                if flavor is not None:
                    charged = amount if kept == one.count else amount // one.count * kept
                    found[flavor, resource] = found.get((flavor, resource), 0) + charged
        return found


@dataclass(slots=True)
class TriedFlavors:
    """The index of the flavor tried last, for each pod set and resource, and when that was (kueue-dra 4.4)."""

    indices: Sequence[Mapping[str, int]]
    generation: int
    cycle: int

    @property
    def pending(self) -> bool:
        """Whether flavors are left to try."""
        return any(index != -1 for indices in self.indices for index in indices.values())

    def next_index(self, pod_set: int, resource: str) -> int:
        """The flavor to begin with."""
        return self.indices[pod_set].get(resource, -1) + 1 if pod_set < len(self.indices) else 0


class WorkloadState:
    """One workload with what Kueue keeps about it."""

    def __init__(self, workload: KueueWorkload, *, observable: bool) -> None:
        self.namespace, self.name = key_of(workload.metadata)
        self.key = f"{self.namespace}/{self.name}"
        self.uid = workload.metadata.uid
        self.observable = observable
        self.conditions: dict[str, WorkloadCondition] = {}
        self.grant: QuotaGrant | None = None
        self.held: dict[FlavorResource, int] = {}
        self.charge: WorkloadCharge | CountingFailure | None = None
        self.tried: TriedFlavors | None = None
        self.update(workload)
        for condition in workload.status.conditions or ():
            self.conditions[condition.type] = _read_condition(condition)
        if workload.status.admission is not None:
            self.grant = _read_grant(workload.status.admission)

    def __repr__(self) -> str:
        return f"WorkloadState({self.key!r})"

    def copied(self) -> WorkloadState:
        """Return the same state; changes of either do not touch the other."""
        made = copy.copy(self)
        made.conditions = dict(self.conditions)
        return made

    def update(self, workload: KueueWorkload) -> None:
        """Take over a new specification; the status stays."""
        self.object = workload
        self.pod_sets = workload.spec.pod_sets or ()
        # Why Kueue does not admit the pod sets, whatever quota there is.
        self.refusal = ""
        self.priority = workload.spec.priority or 0
        self.created = seconds_of(workload.metadata.creation_timestamp)
        # Why the nodes of a flavor do not do for a pod set, by its index and the flavor.
        self.misfits: dict[tuple[int, str], str | None] = {}
        self.shape: object = None
        self._rank: tuple[bool, int, float, str] | None = None

    def complete(self, defaults: PodDefaults) -> bool:
        """Add to the pod sets what a cluster adds, and judge them; return whether anything changed."""
        before = self.pod_sets, self.refusal
        given = self.object.spec.pod_sets or ()
        made = [defaults.template(self.namespace, one.template) for one in given]
        self.pod_sets = tuple(
            one if template is one.template else replace(one, template=template)
            for one, template in zip(given, made, strict=True)
        )
        self.refusal = limits_refusal(self.pod_sets, defaults.ranges(self.namespace))
        return (self.pod_sets, self.refusal) != before

    @property
    def reclaimed(self) -> dict[str, int]:
        """Pods that have finished, by pod set."""
        return {one.name: one.count for one in self.object.status.reclaimable_pods or ()}

    @property
    def charged(self) -> tuple[PodSetCharge, ...]:
        """The charge by pod set; nothing unless the workload was counted."""
        return self.charge.pod_sets if isinstance(self.charge, WorkloadCharge) else ()

    def holds(self, condition: str) -> bool:
        """Whether a condition is true."""
        found = self.conditions.get(condition)
        return found is not None and found.status

    @property
    def finished(self) -> bool:
        """Whether the workload is done."""
        return self.holds(FINISHED)

    @property
    def reserved(self) -> bool:
        """Whether the workload holds quota."""
        return self.grant is not None and self.holds(QUOTA_RESERVED) and not self.finished

    @property
    def suspended(self) -> bool:
        """Whether a queue that is missing, stopped or inactive is what was last said to be wrong."""
        told = self.conditions.get(QUOTA_RESERVED)
        return told is not None and not told.status and told.message.startswith(("LocalQueue ", "ClusterQueue "))

    @property
    def state(self) -> QuotaState:
        """In one word how far the workload is."""
        if self.finished:
            return "finished"
        if not self.reserved:
            return "pending"
        return "admitted" if self.holds(ADMITTED) else "quotaReserved"

    @property
    def queued_since(self) -> float:
        """The time by which the workload queues up: of its creation, or of some evictions (kueue-dra 4.6)."""
        evicted = self.conditions.get(EVICTED)
        if evicted is not None and evicted.status and evicted.reason in _REQUEUED_BY_EVICTION:
            return evicted.since
        return self.created

    @property
    def reserved_since(self) -> float | None:
        """When the workload got its quota."""
        found = self.conditions.get(QUOTA_RESERVED)
        return found.since if found is not None and found.status else None

    @property
    def preemption_rank(self) -> tuple[bool, int, float, str]:
        """The order in which those of a queue go: evicted already, lower priority, reserved later (kueue-dra 4.7)."""
        if self._rank is None:
            since = self.reserved_since
            self._rank = not self.holds(EVICTED), self.priority, -inf if since is None else -since, self.uid
        return self._rank

    def set(self, name: str, status: bool, reason: str, message: str, now: float) -> bool:
        """Set a condition; its time changes only with its status. Return whether anything changed."""
        self._rank = None
        if len(message) > _LONGEST_MESSAGE:
            message = message[: _LONGEST_MESSAGE - 3] + "..."
        before = self.conditions.get(name)
        since = before.since if before is not None and before.status == status else now
        self.conditions[name] = WorkloadCondition(status, reason, message, since)
        return self.conditions[name] != before

    def wait(self, reason: str, message: str, now: float) -> bool:
        """Say why there is no reservation; return whether that is new."""
        if not self.observable:
            reason = _COLLAPSED_CONTROLLER if reason in _CONTROLLER_REASONS else _COLLAPSED_SCHEDULER
        changed = self.set(QUOTA_RESERVED, False, reason, message, now)
        if self.observable or ADMITTED in self.conditions:
            changed |= self.set(ADMITTED, False, "NoReservation", "The workload has no reservation", now)
        return changed

    def misconfigure(self, failure: CountingFailure, now: float) -> None:
        """Say why the workload cannot be counted; Requeued changes only if QuotaReserved does (kueue-dra 3.7)."""
        by_type = {condition.type: condition for condition in failure.conditions}
        told = by_type[QUOTA_RESERVED]
        if self.set(QUOTA_RESERVED, False, told.reason, told.message, now):
            for name in set(by_type) - {QUOTA_RESERVED}:
                self.set(name, False, by_type[name].reason, by_type[name].message, now)

    def reserve(self, grant: QuotaGrant, now: float, *, admitted: bool) -> None:
        """Take quota, and be admitted unless checks are missing."""
        self.grant = grant
        self.held = grant.usage(self.reclaimed)
        self.set(QUOTA_RESERVED, True, QUOTA_RESERVED, f"Quota reserved in ClusterQueue {grant.cluster_queue}", now)
        if admitted:
            self.set(ADMITTED, True, ADMITTED, "The workload is admitted", now)
        requeued = self.conditions.get(REQUEUED)
        if requeued is not None and not requeued.status:
            del self.conditions[REQUEUED]
        for name in (EVICTED, PREEMPTED):
            if self.holds(name):
                message = f"Previously: {self.conditions[name].message}"
                self.set(name, False, QUOTA_RESERVED, message, now)

    def evict(self, reason: str, message: str, now: float, *, preempted: str = "") -> None:
        """Mark as evicted; ``release`` gives the quota back. ``preempted`` is the reason of a preemption."""
        self.set(EVICTED, True, reason, message, now)
        if preempted:
            self.set(PREEMPTED, True, preempted, message, now)

    def release(self, now: float) -> None:
        """Say that the reservation is gone after an eviction, and whether the workload is tried again."""
        evicted = self.conditions[EVICTED]
        self.tried = None
        reason = DEACTIVATED if evicted.reason == DEACTIVATED else PENDING_EVALUATION
        self.wait(reason, evicted.message, now)
        if evicted.reason != DEACTIVATED:
            self.set(REQUEUED, evicted.reason not in RESTARTED, evicted.reason, evicted.message, now)


def _read_condition(condition: Condition) -> WorkloadCondition:
    since = seconds_of(condition.last_transition_time)
    return WorkloadCondition(condition.status == "True", condition.reason, condition.message, since)


def _read_grant(admission: Admission) -> QuotaGrant:
    sets = []
    for one in admission.pod_set_assignments or ():
        usage = {name: amount_of(name, written) for name, written in (one.resource_usage or {}).items()}
        sets.append(PodSetGrant(one.name, one.count if one.count is not None else 0, one.flavors or {}, usage))
    return QuotaGrant(admission.cluster_queue, tuple(sets))


_POD = "Pod"
_ABOVE_LIMITS = "resources validation failed"
_ABOVE_OWN = "requests must not exceed its limits"
_OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints"
_ABOVE_MAX = "requests must not be above the limitRange max"
_BELOW_MIN = "requests must not be below the limitRange min"


def limits_refusal(pod_sets: Sequence[KueuePodSet], ranges: Mapping[str, LimitRangeItem]) -> str:
    """Why Kueue does not admit these pod sets, completed ones, in its words; empty if nothing is wrong.

    ``ranges`` are those of the namespace, by type.
    """
    above = [problem for place, spec in _placed(pod_sets) for problem in _above_limits(place, spec)]
    if above:
        return f"{_ABOVE_LIMITS}: {joined(above)}"
    outside = [problem for place, spec in _placed(pod_sets) for problem in _out_of_ranges(place, spec, ranges)]
    return f"{_OUT_OF_RANGE}: {joined(outside)}" if outside else ""


def _placed(pod_sets: Sequence[KueuePodSet]) -> Iterator[tuple[Path, PodSpec]]:
    return ((("spec", "podSets", index, "template", "spec"), one.template.spec) for index, one in enumerate(pod_sets))


def _containers(place: Path, spec: PodSpec) -> Iterator[tuple[Path, Container]]:
    for name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            yield (*place, name, index), container


def _above_limits(place: Path, spec: PodSpec) -> Iterator[CountingProblem]:
    for path, container in _containers(place, spec):
        resources = container.resources
        if resources is not None and resources.requests and resources.limits:
            yield from _greater(path, _nanos(resources.requests), _nanos(resources.limits), _ABOVE_OWN)


def _out_of_ranges(place: Path, spec: PodSpec, ranges: Mapping[str, LimitRangeItem]) -> Iterator[CountingProblem]:
    if (item := ranges.get(CONTAINER)) is not None:
        for path, container in _containers(place, spec):
            limits = _nanos(container.resources.limits) if container.resources is not None else {}
            requests = _nanos(container_requests(container))
            most, least = (
                {**requests, **{name: choose(amount, requests[name]) for name, amount in limits.items()}}
                for choose in (max, min)
            )
            yield from _greater(path, most, _nanos(item.max), _ABOVE_MAX)
            yield from _greater(path, _nanos(item.min), least, _BELOW_MIN)
    if (item := ranges.get(_POD)) is not None:
        total = pod_requests(spec, _nanos)
        yield from _greater(place, total, _nanos(item.max), _ABOVE_MAX)
        yield from _greater(place, _nanos(item.min), total, _BELOW_MIN)


def _greater(path: Path, amounts: Requests, limits: Requests, detail: str) -> Iterator[CountingProblem]:
    """One problem that names all resources of which an amount is above the limit."""
    names = sorted(name for name, amount in amounts.items() if name in limits and amount > limits[name])
    if names:
        yield CountingProblem(path, INVALID, detail, names)


def _nano(amount: QuantityText) -> int:
    return Quantity.parse(amount).nano


def _nanos(amounts: Amounts | None) -> Requests:
    return {name: _nano(amount) for name, amount in (amounts or {}).items()}

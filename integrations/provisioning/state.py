"""The state of the simulation: workloads, their checks and requests, and the objects that decide about them.

Records are immutable; so are the mappings in them, by convention. Times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ...models.kubernetes.kueue import (
    AdmissionCheck,
    ClusterQueue,
    KueueWorkload,
    LocalQueue,
    PodSetAssignment,
    ResourceFlavor,
)
from ...models.kubernetes.meta import Condition, ObjectKey
from ...models.kubernetes.provisioning import ProvisioningRequestConfig
from ...models.results.provision import WorkloadPhase
from .requests import PodSetEntry

# What the phases of a workload are told by, the furthest first.
_PHASES: tuple[tuple[WorkloadPhase, str], ...] = (
    ("finished", "Finished"),
    ("admitted", "Admitted"),
    ("quotaReserved", "QuotaReserved"),
)
CONTROLLER = "kueue.x-k8s.io/provisioning-request"


@dataclass(frozen=True, slots=True)
class PodSetChange:
    """What the pods of a set get when their request is provisioned."""

    name: str
    annotations: Mapping[str, str]
    node_selector: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """One check of a workload; ``since`` is the last transition, ``requeue_after`` the back-off from then."""

    name: str
    since: int
    state: str = "Pending"
    message: str = ""
    retry_count: int | None = None
    requeue_after: int | None = None
    updates: tuple[PodSetChange, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaReservation:
    """The queue whose quota a workload holds, and the flavors of its pod sets."""

    cluster_queue: str
    assignments: tuple[PodSetAssignment, ...]


@dataclass(frozen=True, slots=True)
class SimulatedWorkload:
    """A workload of Kueue; ``pod_templates`` are those of its pod sets as they were read."""

    key: ObjectKey
    spec: KueueWorkload
    pod_templates: tuple[Mapping[str, Any], ...]
    active: bool = True
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    checks: tuple[CheckProgress, ...] = ()
    requeue_at: int | None = None
    reservation: QuotaReservation | None = None

    def is_true(self, condition: str) -> bool:
        """Whether the workload has the condition, and it is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"

    @property
    def state(self) -> WorkloadPhase:
        """The furthest that the workload got."""
        return next((word for word, condition in _PHASES if self.is_true(condition)), "pending")

    def in_queue(self, now: int) -> bool:
        """Whether the workload waits in its queue for quota: it is active, and no back-off lasts."""
        requeued = self.conditions.get("Requeued")
        waits = self.requeue_at is not None and self.requeue_at > now
        out = waits or (requeued is not None and requeued.status == "False")
        return self.state == "pending" and self.active and not out

    def with_condition(self, type_: str, status: str, reason: str, message: str) -> SimulatedWorkload:
        """With a condition added or replaced."""
        made = Condition(type=type_, status=status, reason=reason, message=message)
        return replace(self, conditions={**self.conditions, type_: made})

    def with_check(self, check: CheckProgress) -> SimulatedWorkload:
        """With one of its checks replaced."""
        return replace(self, checks=tuple(check if one.name == check.name else one for one in self.checks))

    @property
    def pod_sets(self) -> list[tuple[str, int, Mapping[str, Any]]]:
        """Names, counts and templates of the pod sets."""
        sets = self.spec.spec.pod_sets or ()
        return [(one.name, one.count, template) for one, template in zip(sets, self.pod_templates, strict=True)]


@dataclass(frozen=True, slots=True)
class AutoscalerRequest:
    """A ProvisioningRequest: the name of its workload, what it asks for, and what the autoscaler said.

    ``serial`` tells a request from an earlier one of its name.
    """

    namespace: str
    name: str
    owner: str
    class_name: str
    parameters: Mapping[str, str]
    pod_sets: tuple[PodSetEntry, ...]
    conditions: tuple[Condition, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    serial: int = 0

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self.namespace, self.name

    def with_answer(self, conditions: tuple[Condition, ...], details: Mapping[str, str]) -> AutoscalerRequest:
        """With conditions added or replaced in their places, and details added."""
        merged = {one.type: one for one in (*self.conditions, *conditions)}
        return replace(self, conditions=tuple(merged.values()), details={**self.details, **details})


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """A PodTemplate of a request: its owner is the workload at first, and then the request."""

    namespace: str
    name: str
    owner: tuple[Literal["Workload", "ProvisioningRequest"], str]
    template: Mapping[str, Any]


Workloads: TypeAlias = Mapping[ObjectKey, SimulatedWorkload]


@dataclass(frozen=True, slots=True)
class ProvisioningState:
    """Everything that the controllers see at a time.

    ``refused`` are kinds whose creation fails, with the error. ``failures`` counts passes that ended with an error
    after the last event. ``cleanup`` is the feature gate CleanupProvisioningRequestsOnEviction. ``created`` counts the
    requests that were made. In a ``settled`` state the controllers have nothing left to do.
    ``epoch`` is what time 0 is in seconds since 1970.
    """

    now: int = 0
    workloads: Workloads = field(default_factory=dict)
    requests: Mapping[ObjectKey, AutoscalerRequest] = field(default_factory=dict)
    templates: Mapping[ObjectKey, RequestTemplate] = field(default_factory=dict)
    checks: Mapping[str, AdmissionCheck] = field(default_factory=dict)
    check_status: Mapping[str, Condition] = field(default_factory=dict)
    configs: Mapping[str, ProvisioningRequestConfig] = field(default_factory=dict)
    cluster_queues: Mapping[str, ClusterQueue] = field(default_factory=dict)
    local_queues: Mapping[ObjectKey, LocalQueue] = field(default_factory=dict)
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[ObjectKey, int] = field(default_factory=dict)
    cleanup: bool = True
    looping: bool = False
    created: int = 0
    settled: bool = False
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event of Kubernetes about a workload, as Kueue words it; an empty reason is an error of a reconcile."""

    time: int
    workload: str
    type: str
    reason: str
    message: str

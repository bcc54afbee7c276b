"""The document of ``provision``: what is asked of the autoscaler, and what its answers lead to."""

from __future__ import annotations

from typing import Literal

from ..formats.decode import Model
from .common import API_VERSION, ProofKind, Reason
from .plan import BoughtNodes, PlanStage

BackoffReading = Literal["as-coded", "intended"]
EventType = Literal["Normal", "Warning"]
AnswerKind = Literal["check-capacity", "scale-up"]
AnswerOutcome = Literal["Provisioned", "Failed", "Undecided"]
WorkloadPhase = Literal["pending", "quotaReserved", "admitted", "finished"]


class RequestedPodSet(Model, omit_defaults=False):
    """An entry of a request: so many pods of a PodTemplate, made for a pod set and for those that merged with it."""

    pod_template: str
    pod_set: str
    count: int


class RequestReport(Model, omit_defaults=False):
    """A ProvisioningRequest at the end; ``true_conditions`` are those that the autoscaler set to True."""

    namespace: str
    name: str
    workload: str
    check: str
    attempt: int | None
    provisioning_class_name: str
    parameters: dict[str, str]
    pod_sets: tuple[RequestedPodSet, ...]
    true_conditions: tuple[str, ...]


class CheckReport(Model, omit_defaults=False):
    """A check of a workload: its state since a time in seconds, and how often its request was made again."""

    name: str
    state: str
    message: str
    since: int
    retry_count: int
    requeue_after_seconds: int | None


class ProvisionedWorkload(Model, omit_defaults=False):
    """A workload at the end. ``requeue_at`` is the time until which it waits after a failure."""

    namespace: str
    name: str
    state: WorkloadPhase
    active: bool
    cluster_queue: str
    checks: tuple[CheckReport, ...]
    requeue_at: int | None


class KueueEvent(Model, omit_defaults=False):
    """An event of Kubernetes about a workload, as Kueue words it; ``reason`` is empty for the error of a reconcile."""

    workload: str
    type: EventType
    reason: str
    message: str


class CheckChange(Model, omit_defaults=False):
    """A check that changed, and the attempt whose request it waits for; the attempt is null without a request."""

    workload: str
    check: str
    state: str
    message: str
    attempt: int | None
    requeue_after_seconds: int | None


class TimelineEntry(Model, omit_defaults=False):
    """What one event led to; ``line`` is that of the event in its file, null for what happens by itself.

    ``created`` and ``deleted`` are requests and PodTemplates, with their kinds. ``quirks`` say where Kueue does what
    its users may not expect.
    """

    time: int
    event: str
    line: int | None
    events: tuple[KueueEvent, ...]
    checks: tuple[CheckChange, ...]
    created: tuple[str, ...]
    deleted: tuple[str, ...]
    quirks: tuple[str, ...]


class AnsweredCondition(Model, omit_defaults=False):
    """A condition that the autoscaler writes into the status of a request."""

    type: str
    status: str
    reason: str
    message: str


class ReservedNode(Model, omit_defaults=False):
    """What a request holds on a node: pods by pod set, and devices as driver/pool/device.

    ``template`` is the NodeTemplate of a node that is bought for this answer, null for one that is there.
    """

    node: str
    template: str | None
    pods: dict[str, int]
    devices: tuple[str, ...]


class RequestAnswer(Model, kw_only=True, omit_defaults=False):
    """The answer to a request: its pods have room all together, or it failed, with the reasons.

    ``provisioned_at`` is the time at which all nodes are there. ``bought`` are nodes for this request; of several
    requests that share one, the first pays for it. It is ``Undecided`` if the time limit ended before. ``proof`` is
    what it rests on that a request failed for want of room, null for others; ``certified``: anyone can check it.
    """

    time: int
    namespace: str
    name: str
    provisioning_class_name: str
    kind: AnswerKind
    outcome: AnswerOutcome
    provisioned_at: int | None
    conditions: tuple[AnsweredCondition, ...]
    provisioning_class_details: dict[str, str]
    reasons: tuple[Reason, ...]
    bought: tuple[BoughtNodes, ...]
    reservation: tuple[ReservedNode, ...]
    proof: ProofKind | None = None
    certified: bool = False


class AnswerRound(Model, kw_only=True, omit_defaults=False):
    """Requests that were answered together; ``proven``: no answer is better in a stage of the ``objective``."""

    time: int
    requests: int
    provisioned: int
    proven: bool
    objective: tuple[PlanStage, ...]


class ProvisionDocument(Model, kw_only=True, omit_defaults=False):
    """Requests and workloads at the end, and how it came to that; times are seconds since the beginning.

    It is ``complete`` unless the time limit ended before all events had happened and all requests were answered.
    ``answers`` and their ``rounds`` are those of ``--answers``, in order.
    """

    api_version: Literal["drasat.dev/v1alpha1"] = API_VERSION
    kind: Literal["ProvisionResult"] = "ProvisionResult"
    backoff: BackoffReading
    time: int
    complete: bool
    requests: tuple[RequestReport, ...]
    workloads: tuple[ProvisionedWorkload, ...]
    timeline: tuple[TimelineEntry, ...]
    answers: tuple[RequestAnswer, ...] = ()
    rounds: tuple[AnswerRound, ...] = ()
    notices: tuple[str, ...]

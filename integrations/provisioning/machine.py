"""The life of workloads with provisioning checks as a pure function: (state, event) -> state and what was noted.

The scheduler is outside: that a workload gets quota, or loses it to another one, is an event. All else that Kueue's
controllers do follows at once, and back-offs end while the clock moves (provisioning-request 3 to 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, get_args

from ...models.kubernetes.kueue import AdmissionCheck, ClusterQueue, KueueWorkload, LocalQueue, ResourceFlavor
from ...models.kubernetes.meta import Condition, ObjectKey, key_of
from ...models.kubernetes.provisioning import ProvisioningRequestConfig
from ...models.manifests.writer import model_mapping
from .checks import Backoff
from .controllers import ControllerRun, evicted
from .state import Occurrence, ProvisioningState, QuotaReservation, SimulatedWorkload

ProvisioningObject: TypeAlias = (
    KueueWorkload | AdmissionCheck | ProvisioningRequestConfig | ClusterQueue | LocalQueue | ResourceFlavor
)
PROVISIONING_MODELS = get_args(ProvisioningObject)


@dataclass(frozen=True, slots=True)
class AdvanceClock:
    """So many seconds pass."""

    seconds: int


@dataclass(frozen=True, slots=True)
class ReserveQuota:
    """A workload gets quota; ``note`` is what the scheduler adds to the event."""

    workload: ObjectKey
    reservation: QuotaReservation
    note: str = ""


@dataclass(frozen=True, slots=True)
class KeepWaiting:
    """A workload gets no quota, with the reason; the scheduler says it in an event unless it is ``silent``."""

    workload: ObjectKey
    reason: str
    message: str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class EvictWorkload:
    """A workload loses its quota; one that is preempted may return to its queue at once."""

    workload: ObjectKey
    reason: str
    message: str
    # The reason of the condition Preempted; empty if the workload was not preempted.
    preempted: str = ""
    # Who preempted it, and what events add about priorities.
    preemptor: ObjectKey | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """The autoscaler writes conditions and details of a request; one that does not exist is left alone."""

    request: ObjectKey
    conditions: tuple[Condition, ...]
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FinishWorkload:
    """All pods of a workload have finished."""

    workload: ObjectKey


@dataclass(frozen=True, slots=True)
class SetActive:
    """The user activates or deactivates a workload (``spec.active``)."""

    workload: ObjectKey
    active: bool


@dataclass(frozen=True, slots=True)
class ApplyObject:
    """The user creates or replaces an object; ``pod_templates`` of a workload are those of its pod sets as read."""

    object: ProvisioningObject
    pod_templates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """The user deletes an object; one that does not exist is left alone. The namespace may be empty."""

    kind: str
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class RefuseKind:
    """The API server refuses to create objects of a kind, with this error; an empty one ends that."""

    kind: str
    error: str


SchedulerEvent: TypeAlias = ReserveQuota | KeepWaiting | EvictWorkload
ProvisioningEvent: TypeAlias = (
    SchedulerEvent | AdvanceClock | AnswerRequest | FinishWorkload | SetActive | ApplyObject | DeleteObject | RefuseKind
)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The state after an event, and what was noted on the way."""

    state: ProvisioningState
    log: tuple[Occurrence, ...]


def step(state: ProvisioningState, *events: ProvisioningEvent, backoff: Backoff = "as-coded") -> StepResult:
    """Give the state after events that happen together, once the controllers have nothing left to do.

    ``backoff`` says how the wait before a retry counts: ``as-coded`` from when the check last became Pending, with the
    quota kept until then; ``intended`` from the failure, without quota. What an event names and does not exist, or is
    not in a state for it, changes nothing.
    """
    if not all(isinstance(event, SchedulerEvent) for event in events):
        state = replace(state, failures=dict.fromkeys(state.failures, 0), looping=False)
    run = ControllerRun(state, backoff)
    for event in events:
        _HANDLERS[type(event)](run, event)
    run.settle()
    result = StepResult(run.state, tuple(run.log))
    seconds = sum(event.seconds for event in events if isinstance(event, AdvanceClock))
    return _advance(result, seconds, backoff) if seconds else result


def with_objects(state: ProvisioningState, events: Iterable[ApplyObject]) -> ProvisioningState:
    """Give the state with objects added or replaced, before any controller has seen them."""
    run = ControllerRun(state, "as-coded")
    for event in events:
        _apply(run, event)
    return run.state


def next_wakeup(state: ProvisioningState) -> int | None:
    """The next time at which a back-off ends by itself; None if none is running."""
    times = (one.requeue_at for one in state.workloads.values() if not one.is_true("Finished"))
    return min((time for time in times if time is not None and time > state.now), default=None)


def _advance(result: StepResult, seconds: int, backoff: Backoff) -> StepResult:
    """Move the clock; what is due in between happens at its time."""
    state, log = result.state, list(result.log)
    end = state.now + seconds
    while state.now < end:
        due = next_wakeup(state)
        run = ControllerRun(replace(state, now=end if due is None else min(due, end)), backoff)
        run.settle()
        state = run.state
        log += run.log
    return StepResult(state, tuple(log))


def _nothing(_run: ControllerRun, _event: AdvanceClock) -> None:
    """The clock moves after everything else that happens with it."""


def _reserve(run: ControllerRun, event: ReserveQuota) -> None:
    workload = run.workloads.get(event.workload)
    if workload is None or workload.reservation is not None or workload.is_true("Finished") or not workload.active:
        return
    message = f"Quota reserved in ClusterQueue {event.reservation.cluster_queue}"
    run.record(workload.key, "QuotaReserved", message + event.note)
    held = replace(workload, reservation=event.reservation).with_condition(
        "QuotaReserved", "True", "QuotaReserved", message
    )
    for name in ("Evicted", "Preempted"):
        if held.is_true(name):
            earlier = held.conditions[name].message
            held = held.with_condition(name, "False", "QuotaReserved", f"Previously: {earlier}")
    run.write(held)


def _keep_waiting(run: ControllerRun, event: KeepWaiting) -> None:
    workload = run.workloads.get(event.workload)
    if workload is None or workload.reservation is not None:
        return
    changed = run.write(workload.with_condition("QuotaReserved", "False", event.reason, event.message))
    if changed and not event.silent:
        run.record(workload.key, event.reason, event.message, "Warning")


def _evict(run: ControllerRun, event: EvictWorkload) -> None:
    workload = run.workloads.get(event.workload)
    if workload is None or workload.reservation is None or workload.is_true("Finished"):
        return
    out = evicted(workload, event.reason, event.message, run.now)
    out = out.with_condition("Requeued", "True", event.reason, event.message)
    if event.preempted:
        out = out.with_condition("Preempted", "True", event.preempted, event.message)
    run.write(out)
    run.record(workload.key, f"EvictedDueTo{event.reason}", event.message)
    if event.preempted:
        run.record(workload.key, "Preempted", f"{event.message}{event.note}")
    if event.preemptor is not None:
        queue = workload.reservation.cluster_queue
        whom = f"{'/'.join(workload.key)} (UID: {workload.spec.metadata.uid}) in ClusterQueue {queue}"
        run.record(event.preemptor, "PreemptedWorkload", f"Preempted workload {whom}{event.note}")


def _answer(run: ControllerRun, event: AnswerRequest) -> None:
    request = run.requests.get(event.request)
    if request is not None:
        run.requests[event.request] = request.with_answer(event.conditions, event.details)
        run.look_at(request)


def _finish(run: ControllerRun, event: FinishWorkload) -> None:
    workload = run.workloads.get(event.workload)
    if workload is not None and not workload.is_true("Finished"):
        run.write(workload.with_condition("Finished", "True", "Succeeded", "done"))


def _set_active(run: ControllerRun, event: SetActive) -> None:
    workload = run.workloads.get(event.workload)
    if workload is not None:
        run.write(replace(workload, active=event.active))


def _refuse(run: ControllerRun, event: RefuseKind) -> None:
    refused = {kind: error for kind, error in run.objects.refused.items() if kind != event.kind}
    run.objects = replace(run.objects, refused=refused | ({event.kind: event.error} if event.error else {}))


# The part of the state that holds objects of a kind.
_PARTS: dict[type[Any], str] = {
    AdmissionCheck: "checks",
    ProvisioningRequestConfig: "configs",
    ClusterQueue: "cluster_queues",
    LocalQueue: "local_queues",
    ResourceFlavor: "flavors",
}
_OWN_PARTS = {"Workload": "workloads", "ProvisioningRequest": "requests", "PodTemplate": "templates"}
_KIND_PARTS = {**{model.__name__: part for model, part in _PARTS.items()}, **_OWN_PARTS}
KIND_NAMES = ("Workload", *(model.__name__ for model in _PARTS))
"""The kinds of objects that can be applied."""
DELETED_KINDS = tuple(_KIND_PARTS)
"""The kinds of objects that can be deleted."""
NAMESPACED_KINDS = ("LocalQueue", *_OWN_PARTS)


def kind_name(made: ProvisioningObject) -> str:
    """Name the kind of an object."""
    return "Workload" if isinstance(made, KueueWorkload) else type(made).__name__


def _with_part(state: ProvisioningState, part: str, objects: dict[Any, Any]) -> ProvisioningState:
    changes: dict[str, Any] = {part: objects}
    return replace(state, **changes)


def _apply(run: ControllerRun, event: ApplyObject) -> None:
    made = event.object
    if isinstance(made, KueueWorkload):
        run.write(_applied_workload(run.workloads.get(key_of(made.metadata)), made, event.pod_templates))
        return
    part = _PARTS[type(made)]
    name = key_of(made.metadata) if isinstance(made, LocalQueue) else made.metadata.name
    run.objects = _with_part(run.objects, part, {**getattr(run.objects, part), name: made})


def _applied_workload(
    earlier: SimulatedWorkload | None, made: KueueWorkload, templates: tuple[Mapping[str, Any], ...]
) -> SimulatedWorkload:
    """Give the workload as applied: one that exists keeps its status."""
    sets = made.spec.pod_sets or ()
    templates = templates or tuple(model_mapping(one.template) for one in sets)
    if earlier is not None:
        return replace(earlier, spec=made, pod_templates=templates, active=made.spec.active)
    return _with_status(SimulatedWorkload(key_of(made.metadata), made, templates, made.spec.active))


def _with_status(workload: SimulatedWorkload) -> SimulatedWorkload:
    """Give a new workload the quota and the conditions that its status has; checks begin anew."""
    status = workload.spec.status
    given = {one.type: one for one in status.conditions or ()}
    if status.admission is None:
        return replace(workload, conditions=given)
    queue = status.admission.cluster_queue
    held = replace(
        workload,
        conditions=given,
        reservation=QuotaReservation(queue, tuple(status.admission.pod_set_assignments or ())),
    )
    if held.is_true("QuotaReserved"):
        return held
    return held.with_condition("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}")


def exists(state: ProvisioningState, event: DeleteObject) -> bool:
    """Whether there is the object that an event deletes."""
    objects: Mapping[Any, Any] = getattr(state, _KIND_PARTS[event.kind])
    return _name_of(event) in objects


def _name_of(event: DeleteObject) -> ObjectKey | str:
    return event.key if event.kind in NAMESPACED_KINDS else event.key[1]


def _delete(run: ControllerRun, event: DeleteObject) -> None:
    if event.kind == "Workload":
        run.delete_workload(event.key)
    elif event.kind == "ProvisioningRequest":
        run.delete_request(event.key)
    elif event.kind == "PodTemplate":
        run.templates.pop(event.key, None)
    else:
        part = _KIND_PARTS[event.kind]
        name = _name_of(event)
        kept = {key: one for key, one in getattr(run.objects, part).items() if key != name}
        run.objects = _with_part(run.objects, part, kept)


_HANDLERS: dict[type[Any], Callable[[ControllerRun, Any], None]] = {
    AdvanceClock: _nothing,
    ReserveQuota: _reserve,
    KeepWaiting: _keep_waiting,
    EvictWorkload: _evict,
    AnswerRequest: _answer,
    FinishWorkload: _finish,
    SetActive: _set_active,
    ApplyObject: _apply,
    DeleteObject: _delete,
    RefuseKind: _refuse,
}

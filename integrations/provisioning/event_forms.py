"""The events that a file may have: what each may say, what it does in a state, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from ...models.formats.errors import has_errors
from ...models.kubernetes.meta import DEFAULT_NAMESPACE, Condition, ObjectKey
from ...models.manifests.reader import read_manifests
from ...models.validation.validate import validate_manifests
from . import machine
from .checks import CONDITION_TYPES
from .machine import PROVISIONING_MODELS, ProvisioningEvent
from .objects import apply_event
from .reservation import default_reservation, preemption_message
from .state import ProvisioningState

_STATUSES = ("True", "False", "Unknown")
EVICTION_REASONS = (
    "PodsReadyTimeout",
    "ClusterQueueStopped",
    "LocalQueueStopped",
    "NodeFailures",
    "MaximumExecutionTimeExceeded",
)
REFUSED_KINDS = ("PodTemplate", "ProvisioningRequest")


class EventError(ValueError):
    """An event says what it may not, or cannot happen; the text says why."""


class EventForm(NamedTuple):
    """One kind of event: how its value is read, what it does in a state, and how it is shown.

    The first two raise ``EventError``.
    """

    read: Callable[[Any], Any]
    resolve: Callable[[Any, ProvisioningState], list[ProvisioningEvent]]
    describe: Callable[[Any], str]


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise EventError(f"{what} must be a text")
    return value


def _key(value: Any, what: str = "the name") -> ObjectKey:
    """Read ``namespace/name``, or a name in the namespace default."""
    namespace, slash, name = _text(value, what).partition("/")
    if "/" in name or (slash and not (namespace and name)):
        raise EventError(f"{what} must be namespace/name, not {value!r}")
    return (namespace, name) if slash else (DEFAULT_NAMESPACE, namespace)


def _fields(value: Any, known: Iterable[str], short: str = "") -> dict[str, Any]:
    """Read an object with these fields; a text stands for the field ``short``."""
    if isinstance(value, str) and short:
        return {short: value}
    if not isinstance(value, Mapping):
        raise EventError(f"must be an object{f' or the text of {short}' if short else ''}")
    unknown = [name for name in value if name not in known]
    if unknown:
        raise EventError(f"unknown field {str(unknown[0])!r}: known are {', '.join(known)}")
    return dict(value)


def _names(value: Any, what: str) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in chain(value, value.values())):
        raise EventError(f"{what} must be an object of texts")
    return dict(value)


def _read_workload(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("workload",), "workload")
    return {"workload": _key(fields.get("workload"), "workload")}


def _read_reserve(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("workload", "flavors", "counts"), "workload")
    flavors, counts = fields.get("flavors") or {}, fields.get("counts") or {}
    if not isinstance(flavors, Mapping) or not isinstance(counts, Mapping):
        raise EventError("flavors and counts must be objects by pod set")
    for name, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**31:
            raise EventError(f"counts.{name} must be a whole number of pods")
    assigned = {name: _names(one, f"flavors.{name}") for name, one in flavors.items()}
    return {"workload": _key(fields.get("workload"), "workload"), "flavors": assigned, "counts": dict(counts)}


def _read_condition(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("request", "type", "status", "reason", "message", "details"))
    if fields.get("type") not in CONDITION_TYPES:
        raise EventError(f"type must be one of {', '.join(CONDITION_TYPES)}")
    status = fields.get("status", "True")
    if str(status) not in _STATUSES:
        raise EventError(f"status must be one of {', '.join(_STATUSES)}")
    texts = {name: fields.get(name, "") for name in ("reason", "message")}
    if not all(isinstance(one, str) for one in texts.values()):
        raise EventError("reason and message must be texts")
    condition = Condition(type=fields["type"], status=str(status), **texts)
    details = _names(fields.get("details") or {}, "details")
    return {"request": _key(fields.get("request"), "request"), "condition": condition, "details": details}


def _read_evict(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("workload", "reason", "message"))
    if fields.get("reason") not in EVICTION_REASONS:
        raise EventError(f"reason must be one of {', '.join(EVICTION_REASONS)}")
    message = fields.get("message", f"Evicted: {fields['reason']}")
    return {
        "workload": _key(fields.get("workload"), "workload"),
        "reason": fields["reason"],
        "message": _text(message, "message"),
    }


def _read_preempt(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("workload", "by"), "workload")
    by = fields.get("by")
    return {"workload": _key(fields.get("workload"), "workload"), "by": None if by is None else _key(by, "by")}


def _read_apply(value: Any) -> list[machine.ApplyObject]:
    objects = value if isinstance(value, list) else [value]
    if not all(isinstance(one, Mapping) for one in objects):
        raise EventError("must be an object, or a list of objects, as kubectl takes them")
    manifests, problems, ignored = read_manifests([objects])
    problems = [*problems, *validate_manifests(manifests)]
    if has_errors(problems):
        first = next(one for one in problems if one.severity == "error")
        raise EventError(f"{first.kind} {first.name}: {first.field}: {first.message}")
    if ignored or not all(isinstance(one.object, PROVISIONING_MODELS) for one in manifests):
        kinds = [one.kind for one in manifests if not isinstance(one.object, PROVISIONING_MODELS)]
        raise EventError(f"{', '.join(kinds)}: only {', '.join(machine.KIND_NAMES)} can be applied")
    return [apply_event(one) for one in manifests]


def _read_delete(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("kind", "name", "namespace"))
    if fields.get("kind") not in machine.DELETED_KINDS:
        raise EventError(f"kind must be one of {', '.join(machine.DELETED_KINDS)}")
    namespace, name = fields.get("namespace", ""), _text(fields.get("name"), "name")
    if fields["kind"] in machine.NAMESPACED_KINDS:
        return {"kind": fields["kind"], "key": _key(f"{namespace}/{name}" if namespace else name, "name")}
    return {"kind": fields["kind"], "key": ("", name)}


def _read_refuse(value: Any) -> dict[str, Any]:
    fields = _fields(value, ("kind", "error"), "kind")
    if fields.get("kind") not in REFUSED_KINDS:
        raise EventError(f"kind must be one of {', '.join(REFUSED_KINDS)}")
    return {"kind": fields["kind"], "error": _text(fields.get("error", "refused"), "error")}


def _read_tick(value: Any) -> None:
    if value is not None and value is not True:
        raise EventError("takes no value")


def _known_workload(key: ObjectKey, state: ProvisioningState) -> ObjectKey:
    if key not in state.workloads:
        raise EventError(f"there is no workload {'/'.join(key)} at {state.now} s")
    return key


def _resolve_reserve(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    key = _known_workload(value["workload"], state)
    workload = state.workloads[key]
    if workload.state != "pending":
        raise EventError(f"workload {'/'.join(key)} is {workload.state} already at {state.now} s")
    if not workload.in_queue(state.now):
        why = f"waits until {workload.requeue_at} s" if workload.requeue_at else "is not in its queue"
        raise EventError(f"workload {'/'.join(key)} {why} at {state.now} s")
    try:
        return [machine.ReserveQuota(key, default_reservation(state, workload, value["flavors"], value["counts"]))]
    except ValueError as error:
        raise EventError(str(error)) from None


def _resolve_condition(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    if value["request"] not in state.requests:
        raise EventError(f"there is no request {'/'.join(value['request'])} at {state.now} s")
    return [machine.AnswerRequest(value["request"], (value["condition"],), value["details"])]


def _with_quota(key: ObjectKey, state: ProvisioningState) -> ObjectKey:
    workload = state.workloads[_known_workload(key, state)]
    if workload.reservation is None or workload.is_true("Finished"):
        raise EventError(f"workload {'/'.join(key)} is {workload.state} at {state.now} s: it holds no quota")
    return key


def _resolve_evict(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    return [machine.EvictWorkload(_with_quota(value["workload"], state), value["reason"], value["message"])]


def _resolve_preempt(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    key = _with_quota(value["workload"], state)
    by = None if value["by"] is None else state.workloads[_known_workload(value["by"], state)]
    message, note = preemption_message(state.workloads[key], by)
    return [machine.EvictWorkload(key, "Preempted", message, "InClusterQueue", by.key if by else None, note)]


def _resolve_finish(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    key = _known_workload(value["workload"], state)
    if state.workloads[key].is_true("Finished"):
        raise EventError(f"workload {'/'.join(key)} is finished already at {state.now} s")
    return [machine.FinishWorkload(key)]


def _resolve_delete(value: Any, state: ProvisioningState) -> list[ProvisioningEvent]:
    event = machine.DeleteObject(value["kind"], value["key"])
    if not machine.exists(state, event):
        raise EventError(f"there is no {value['kind']} {'/'.join(filter(None, value['key']))} at {state.now} s")
    return [event]


def _set_active(active: bool) -> Callable[[Any, ProvisioningState], list[ProvisioningEvent]]:
    return lambda value, state: [machine.SetActive(_known_workload(value["workload"], state), active)]


def _named(verb: str) -> Callable[[Any], str]:
    return lambda value: f"{verb} {'/'.join(value['workload'])}"


def _describe_condition(value: Any) -> str:
    condition = value["condition"]
    message = f" ({condition.message})" if condition.message else ""
    return f"{'/'.join(value['request'])}: {condition.type}={condition.status}{message}"


def _describe_apply(value: list[machine.ApplyObject]) -> str:
    return ", ".join(f"apply {machine.kind_name(one.object)} {one.object.metadata.name}" for one in value)


EVENT_FORMS = {
    "reserve": EventForm(_read_reserve, _resolve_reserve, _named("reserve")),
    "condition": EventForm(_read_condition, _resolve_condition, _describe_condition),
    "tick": EventForm(_read_tick, lambda _value, _state: [], lambda _value: "tick"),
    "evict": EventForm(_read_evict, _resolve_evict, _named("evict")),
    "preempt": EventForm(_read_preempt, _resolve_preempt, _named("preempt")),
    "finish": EventForm(_read_workload, _resolve_finish, _named("finish")),
    "activate": EventForm(_read_workload, _set_active(True), _named("activate")),
    "deactivate": EventForm(_read_workload, _set_active(False), _named("deactivate")),
    "apply": EventForm(_read_apply, lambda value, _state: list(value), _describe_apply),
    "delete": EventForm(
        _read_delete, _resolve_delete, lambda value: f"delete {value['kind']} {'/'.join(filter(None, value['key']))}"
    ),
    "refuse": EventForm(
        _read_refuse,
        lambda value, _state: [machine.RefuseKind(value["kind"], value["error"])],
        lambda value: f"refuse {value['kind']}",
    ),
    "accept": EventForm(
        _read_refuse,
        lambda value, _state: [machine.RefuseKind(value["kind"], "")],
        lambda value: f"accept {value['kind']}",
    ),
}
"""The events by the field that an event of a file has beside its time."""

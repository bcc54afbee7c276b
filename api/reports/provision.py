"""Requests, workloads and the timeline of ``provision`` as rows of tables, and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ..models.results.provision import CheckChange, ProvisionDocument, RequestAnswer, TimelineEntry

Row: TypeAlias = tuple[object, ...]
REQUEST_HEADERS = ("namespace", "request", "workload", "check", "attempt", "class", "pod set", "pods", "true")
WORKLOAD_HEADERS = (
    "namespace",
    "workload",
    "state",
    "active",
    "check",
    "check state",
    "retries",
    "waits until",
    "message",
)
ANSWER_HEADERS = ("time", "request", "answer", "there at", "nodes", "bought", "cost", "reasons")
TIMELINE_HEADERS = ("time", "cause", "checks", "requests", "events")
EVENT_HEADERS = ("time", "workload", "event", "message")
_NOTHING = "<none>"


def summary(document: ProvisionDocument) -> str:
    """One line: requests, and workloads by state."""
    states = Counter(one.state if one.active else "inactive" for one in document.workloads)
    listed = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    workloads = f"{len(document.workloads)} workloads ({listed})" if listed else "no workloads"
    outcomes = Counter(one.outcome.lower() for one in document.answers)
    answered = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    answers = f", answers: {answered}" if answered else ""
    return f"{len(document.requests)} requests, {workloads} at {document.time} s{answers}"


def remarks(document: ProvisionDocument) -> Iterator[str]:
    """What keeps checks from working, then quirks with their times, each once."""
    yield from document.notices
    seen = set()
    for entry in document.timeline:
        for quirk in entry.quirks:
            if quirk not in seen:
                seen.add(quirk)
                yield f"at {entry.time} s {quirk}"


def request_rows(document: ProvisionDocument) -> Iterator[tuple[str, ...]]:
    """One row a pod set of a request, under ``REQUEST_HEADERS``; of later ones the request is not named again."""
    for one in document.requests:
        attempt = _NOTHING if one.attempt is None else str(one.attempt)
        head = (one.namespace, one.name, one.workload, one.check, attempt, one.provisioning_class_name)
        for number, pods in enumerate(one.pod_sets):
            shown = (pods.pod_set, str(pods.count), ", ".join(one.true_conditions) or _NOTHING)
            yield (*(head if number == 0 else ("",) * len(head)), *shown)


def answer_rows(document: ProvisionDocument) -> Iterator[tuple[str, ...]]:
    """One row an answer, under ``ANSWER_HEADERS``."""
    for one in document.answers:
        there = _NOTHING if one.provisioned_at is None else f"{one.provisioned_at} s"
        bought = ", ".join(f"{nodes.count} {nodes.template}" for nodes in one.bought) or _NOTHING
        reasons = one.conditions[-1].message if one.outcome == "Failed" else "; ".join(r.message for r in one.reasons)
        name, cost = f"{one.namespace}/{one.name}", f"{_cost(one):g}"
        yield f"{one.time} s", name, one.outcome, there, str(len(one.reservation)), bought, cost, reasons or _NOTHING


def _cost(answer: RequestAnswer) -> float:
    return sum(nodes.cost for nodes in answer.bought)


def workload_rows(document: ProvisionDocument) -> Iterator[tuple[str, ...]]:
    """One row a check of a workload, under ``WORKLOAD_HEADERS``."""
    for one in document.workloads:
        until = _NOTHING if one.requeue_at is None else f"{one.requeue_at} s"
        head = (one.namespace, one.name, one.state, str(one.active).lower())
        checks = [(check.name, check.state, str(check.retry_count), until, check.message) for check in one.checks]
        for check in checks or [(_NOTHING, _NOTHING, "0", until, "")]:
            yield (*head, *check)


def timeline_rows(document: ProvisionDocument) -> Iterator[tuple[str, ...]]:
    """One row an entry, under ``TIMELINE_HEADERS``: checks that changed, requests made and deleted, and events."""
    for entry in document.timeline:
        reasons = [event.reason or "Error" for event in entry.events]
        cells = (_check_cell(entry), _request_cell(entry), ", ".join(dict.fromkeys(reasons)))
        yield (f"{entry.time} s", _cause(entry), *(cell or _NOTHING for cell in cells))


def check_spans(document: ProvisionDocument) -> Iterator[dict[str, object]]:
    """Give how long each check was in each state, for a chart; a state that lasted no time is left out."""
    began: dict[tuple[str, str], tuple[int, CheckChange]] = {}
    for entry in document.timeline:
        for change in entry.checks:
            key = change.workload, change.check
            if key in began:
                yield from _span(*began[key], entry.time)
            began[key] = entry.time, change
    for since, change in began.values():
        yield from _span(since, change, document.time)


def _span(since: int, change: CheckChange, until: int) -> Iterator[dict[str, object]]:
    if until > since:
        name = f"{change.workload} · {change.check}"
        span = {"name": name, "state": change.state, "start": since, "end": until, "message": change.message}
        yield {**span, "attempt": change.attempt}


def event_rows(document: ProvisionDocument) -> Iterator[tuple[str, ...]]:
    """One row an event of Kubernetes, under ``EVENT_HEADERS``."""
    for entry in document.timeline:
        for event in entry.events:
            yield f"{entry.time} s", event.workload, event.reason or "Error", event.message


def _check_cell(entry: TimelineEntry) -> str:
    return "; ".join(map(_describe_check, entry.checks))


def _describe_check(change: CheckChange) -> str:
    attempt = "" if change.attempt is None else f" attempt {change.attempt}"
    wait = "" if change.requeue_after_seconds is None else f", back-off {change.requeue_after_seconds} s"
    message = f": {change.message}" if change.message and change.state == "Pending" else ""
    return f"{change.workload} {change.check} {change.state}{attempt}{wait}{message}"


def _request_cell(entry: TimelineEntry) -> str:
    """Requests made (``+``) and deleted (``-``), without their PodTemplates."""
    signed = (("-", entry.deleted), ("+", entry.created))
    kinds = ((sign, *one.split(" ", 1)) for sign, names in signed for one in names)
    return " ".join(f"{sign}{name}" for sign, kind, name in kinds if kind != "PodTemplate")


def _cause(entry: TimelineEntry) -> str:
    return entry.event if entry.line is None else f"{entry.event} (line {entry.line})"


def _event_frame(document: ProvisionDocument) -> Iterator[Row]:
    for entry in document.timeline:
        for event in entry.events:
            yield entry.time, entry.event, entry.line, event.workload, event.type, event.reason, event.message


def _request_frame(document: ProvisionDocument) -> Iterator[Row]:
    for one in document.requests:
        for pods in one.pod_sets:
            head = (one.namespace, one.name, one.workload, one.check, one.attempt, one.provisioning_class_name)
            yield (*head, pods.pod_set, pods.count, ", ".join(one.true_conditions))


def _workload_frame(document: ProvisionDocument) -> Iterator[Row]:
    for one in document.workloads:
        for check in one.checks:
            head = (one.namespace, one.name, one.state, one.active)
            yield (*head, check.name, check.state, check.retry_count, one.requeue_at, check.message)


def _answer_frame(document: ProvisionDocument) -> Iterator[Row]:
    for one in document.answers:
        head = (one.time, one.namespace, one.name, one.outcome, one.provisioned_at)
        reasons = "; ".join(reason.message for reason in one.reasons)
        for held in one.reservation:
            pods = ", ".join(f"{count} {pod_set}" for pod_set, count in held.pods.items())
            yield (*head, held.node, held.template, pods, ", ".join(held.devices), reasons)
        if not one.reservation:
            yield (*head, None, None, "", "", reasons)


FRAMES: dict[str, tuple[tuple[str, ...], Callable[[ProvisionDocument], Iterator[Row]]]] = {
    "timeline": (("time", "cause", "line", "workload", "type", "reason", "message"), _event_frame),
    "requests": (REQUEST_HEADERS, _request_frame),
    "workloads": (WORKLOAD_HEADERS, _workload_frame),
    "answers": (
        ("time", "namespace", "request", "answer", "provisioned at", "node", "template", "pods", "devices", "reasons"),
        _answer_frame,
    ),
}
"""Columns and rows of each frame by its name."""

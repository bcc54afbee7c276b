"""What a cluster's provisioning checks go through: the timeline of events, and everything at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import InputError
from ...models.kubernetes.meta import ObjectKey
from ...models.results import provision as records
from . import requests as asked
from .admission_checks import queue_of
from .checks import RETRY
from .event_file import FileEvent
from .event_forms import EventError
from .machine import AdvanceClock, ProvisioningEvent, next_wakeup
from .objects import initial_state
from .quirks import notices, quirks
from .simulation import ProvisioningSimulation, Scheduler
from .state import AutoscalerRequest, CheckProgress, Occurrence, ProvisioningState, SimulatedWorkload

_BEGIN = "the objects as read"
REQUEST_KIND = "ProvisioningRequest"


class ProvisioningTimeline:
    """Runs events through the simulation, and keeps what each led to; ``state`` is where it stands."""

    def __init__(
        self,
        state: ProvisioningState,
        scheduler: Scheduler,
        backoff: records.BackoffReading,
        deadline: float | None = None,
    ) -> None:
        self._simulation = ProvisioningSimulation(state, scheduler, backoff, deadline=deadline)
        self._backoff: records.BackoffReading = backoff
        self.entries: list[records.TimelineEntry] = []

    @property
    def state(self) -> ProvisioningState:
        """The state after everything so far."""
        return self._simulation.state

    def run(self, events: Sequence[FileEvent]) -> bool:
        """Let the controllers look at what there is, then events happen at their times; False if time was too short.

        Raises
        ------
        InputError
            For an event that cannot happen, with its line.

        """
        self._happen(_BEGIN, None)
        for event in events:
            self._advance(event.time)
            if self._simulation.expired:
                return False
            try:
                resolved = event.resolve(self.state)
            except EventError as error:
                raise InputError([event.problem(str(error))]) from None
            self._happen(str(event), event.line, *resolved)
        return not self._simulation.expired

    def document(self, complete: bool) -> records.ProvisionDocument:
        """Give the document of everything so far."""
        circles = ["the scheduler goes round in circles: the same decisions come back"]
        return records.ProvisionDocument(
            backoff=self._backoff,
            time=self.state.now,
            complete=complete,
            requests=tuple(_request_record(self.state, one) for one in self.state.requests.values()),
            workloads=tuple(_workload_record(self.state, one) for one in self.state.workloads.values()),
            timeline=tuple(self.entries),
            notices=(*notices(self.state), *(circles if self._simulation.repeating else ())),
        )

    def _advance(self, time: int) -> None:
        """Let the clock move to a time; back-offs that end before are entries of their own."""
        while self.state.now < time and not self._simulation.expired:
            due = next_wakeup(self.state)
            reached = time if due is None else min(due, time)
            waiting = [
                "/".join(one.key) for one in self.state.workloads.values() if one.requeue_at == due and due == reached
            ]
            over = f"the back-off of {', '.join(waiting)} is over" if waiting else ""
            self._happen(over, None, AdvanceClock(reached - self.state.now))

    def _happen(self, what: str, line: int | None, *events: ProvisioningEvent) -> None:
        before = self.state
        log = self._simulation.run(*events)
        after = self.state
        entry = records.TimelineEntry(
            time=after.now,
            event=what,
            line=line,
            events=tuple(map(_event_record, log)),
            checks=tuple(_changed_checks(before, after)),
            created=tuple(_made(before, after)),
            deleted=tuple(_made(after, before)),
            quirks=tuple(quirks(before, after, log, self._backoff)),
        )
        if what and (what != _BEGIN or entry.events or entry.checks or entry.quirks):
            self.entries.append(entry)


def run_timeline(
    cluster: Cluster,
    events: Sequence[FileEvent],
    scheduler: Scheduler,
    backoff: records.BackoffReading,
    time_limit: float | None = None,
) -> tuple[ProvisioningState, records.ProvisionDocument]:
    """Run events on the objects of a cluster; give the state at the end, and the document.

    Raises
    ------
    InputError
        For an event that cannot happen.

    """
    deadline = None if time_limit is None else monotonic() + time_limit
    timeline = ProvisioningTimeline(initial_state(cluster), scheduler, backoff, deadline)
    complete = timeline.run(events)
    return timeline.state, timeline.document(complete)


def _event_record(noted: Occurrence) -> records.KueueEvent:
    kind: records.EventType = "Warning" if noted.type == "Warning" else "Normal"
    return records.KueueEvent(workload=noted.workload, type=kind, reason=noted.reason, message=noted.message)


def _check_of(state: ProvisioningState, request: AutoscalerRequest) -> tuple[str, int | None]:
    """The check that a request was made for, and its attempt; None for a name that had to be cut."""
    workload = state.workloads.get((request.namespace, request.owner))
    for check in workload.checks if workload else ():
        attempt = asked.attempt_of(request.name, request.owner, check.name)
        if attempt is not None:
            return check.name, attempt
        if request.name == asked.request_name(request.owner, check.name, (check.retry_count or 0) + 1):
            return check.name, None
    return "", None


def _request_record(state: ProvisioningState, request: AutoscalerRequest) -> records.RequestReport:
    check, attempt = _check_of(state, request)
    return records.RequestReport(
        namespace=request.namespace,
        name=request.name,
        workload=request.owner,
        check=check,
        attempt=attempt,
        provisioning_class_name=request.class_name,
        parameters=dict(sorted(request.parameters.items())),
        pod_sets=tuple(
            records.RequestedPodSet(pod_template=one.template, pod_set=one.pod_set, count=one.count)
            for one in request.pod_sets
        ),
        true_conditions=tuple(one.type for one in request.conditions if one.status == "True"),
    )


def _workload_record(state: ProvisioningState, workload: SimulatedWorkload) -> records.ProvisionedWorkload:
    namespace, name = workload.key
    queue = queue_of(state, workload)
    held = workload.reservation.cluster_queue if workload.reservation else ""
    waits = workload.requeue_at is not None and workload.requeue_at > state.now and not workload.is_true("Finished")
    return records.ProvisionedWorkload(
        namespace=namespace,
        name=name,
        state=workload.state,
        active=workload.active,
        cluster_queue=held or (queue.metadata.name if queue else ""),
        checks=tuple(map(_check_record, workload.checks)),
        requeue_at=workload.requeue_at if waits else None,
    )


def _check_record(check: CheckProgress) -> records.CheckReport:
    return records.CheckReport(
        name=check.name,
        state=check.state,
        message=check.message,
        since=check.since,
        retry_count=check.retry_count or 0,
        requeue_after_seconds=check.requeue_after,
    )


def _changed_checks(before: ProvisioningState, after: ProvisioningState) -> Iterator[records.CheckChange]:
    """The checks whose state, message, attempt or back-off changed."""
    for key, workload in after.workloads.items():
        earlier = {one.name: one for one in before.workloads[key].checks} if key in before.workloads else {}
        for check in workload.checks:
            attempt, old_attempt = _attempt(after, key, check.name), _attempt(before, key, check.name)
            old = earlier.get(check.name)
            if old is None or replace(old, since=check.since) != check or attempt != old_attempt:
                yield records.CheckChange(
                    workload="/".join(key),
                    check=check.name,
                    state=check.state,
                    message=check.message,
                    attempt=attempt,
                    requeue_after_seconds=check.requeue_after if check.state == RETRY else None,
                )


def _attempt(state: ProvisioningState, key: ObjectKey, check: str) -> int | None:
    """The latest attempt that has a request."""
    namespace, name = key
    owned = (one for one in state.requests.values() if one.namespace == namespace and one.owner == name)
    attempts = (asked.attempt_of(one.name, name, check) for one in owned)
    return max((one for one in attempts if one is not None), default=None)


def _made(before: ProvisioningState, after: ProvisioningState) -> Iterator[str]:
    """Requests and PodTemplates of the later state that are not the same ones before, with their kinds."""
    fresh = set()
    for key, request in after.requests.items():
        old = before.requests.get(key)
        if old is None or old.serial != request.serial:
            fresh.add(request.name)
            yield f"{REQUEST_KIND} {'/'.join(key)}"
    for key, template in after.templates.items():
        if key not in before.templates or template.owner[1] in fresh:
            yield f"PodTemplate {'/'.join(key)}"

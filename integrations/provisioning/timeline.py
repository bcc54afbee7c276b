"""What a cluster's provisioning checks go through: the timeline of events, and everything at its end.

Each entry names what its users may not expect: the traps and quirks of provisioning-request. A simulation is
the machine together with a scheduler: events of the user, of the autoscaler, and what the scheduler decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from ...models.cluster.cluster import Cluster
from ...models.formats.errors import InputError
from ...models.kubernetes.meta import ObjectKey
from ...models.results import provision as records
from . import requests as asked
from .admission_checks import config_of, queue_of
from .checks import READY, RETRY, Backoff
from .event_file import FileEvent
from .event_forms import EventError
from .machine import AdvanceClock, AnswerRequest, ProvisioningEvent, SchedulerEvent, next_wakeup, step
from .objects import initial_state
from .state import AutoscalerRequest, CheckProgress, Occurrence, ProvisioningState, SimulatedWorkload

if TYPE_CHECKING:
    from .answers import AnswerOptions, RequestAnswerer


Scheduler: TypeAlias = Callable[[ProvisioningState], Sequence[SchedulerEvent]]
"""One scheduling cycle: what the scheduler decides in a state; nothing once it has no more to decide."""
# Decisions that come back so often will come back for ever.
_REPEATED = 5


def no_scheduler(_state: ProvisioningState) -> Sequence[SchedulerEvent]:
    """Decide nothing: quota is given by events alone."""
    return ()


class ProvisioningSimulation:
    """A state, the scheduler that gives quota in it, and everything that was noted.

    ``deadline`` is a reading of the clock after which no cycle of the scheduler begins. ``repeating`` says that the
    scheduler went round in circles, so that it was not asked further.
    """

    def __init__(
        self,
        state: ProvisioningState,
        scheduler: Scheduler = no_scheduler,
        backoff: Backoff = "as-coded",
        *,
        deadline: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.state = state
        self.log: list[Occurrence] = []
        self.repeating = False
        self._scheduler = scheduler
        self._backoff = backoff
        self._deadline = deadline
        self._clock = clock

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self._deadline is not None and self._clock() >= self._deadline

    def run(self, *events: ProvisioningEvent) -> list[Occurrence]:
        """Let events happen together, then the clock move; give what was noted."""
        began = len(self.log)
        self._happen(*(event for event in events if not isinstance(event, AdvanceClock)))
        end = self.state.now + sum(event.seconds for event in events if isinstance(event, AdvanceClock))
        while self.state.now < end:
            due = next_wakeup(self.state)
            self._happen(AdvanceClock((end if due is None else min(due, end)) - self.state.now))
        return self.log[began:]

    def _happen(self, *events: ProvisioningEvent) -> None:
        """Let events happen, and the scheduler decide until it has nothing more to decide."""
        self._take(*events)
        seen: Counter[str] = Counter()
        while not self.state.looping and not self.expired:
            decided = self._scheduler(self.state)
            if not decided:
                return
            self._take(*decided)
            made = repr(decided)
            seen[made] += 1
            if seen[made] == _REPEATED:
                self.repeating = True
                return

    def _take(self, *events: ProvisioningEvent) -> None:
        result = step(self.state, *events, backoff=self._backoff)
        self.state = result.state
        self.log += result.log


# Retries without a back-off could go on for ever.
_MOST_ENTRIES = 10_000
_NAMED_ANSWERS = 3
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
        autoscaler: RequestAnswerer | None = None,
    ) -> None:
        self._autoscaler = autoscaler
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
        self._let_answer()
        for event in events:
            self._advance(event.time)
            if self._simulation.expired:
                return False
            try:
                resolved = event.resolve(self.state)
            except EventError as error:
                raise InputError([event.problem(str(error))]) from None
            self._happen(str(event), event.line, *resolved)
            self._let_answer()
        if self._autoscaler is not None:
            self._run_out(self._autoscaler)
        return not self._simulation.expired and (self._autoscaler is None or self._autoscaler.complete)

    def document(self, complete: bool) -> records.ProvisionDocument:
        """Give the document of everything so far."""
        answered = self._autoscaler
        circles = ["the scheduler goes round in circles: the same decisions come back"]
        return records.ProvisionDocument(
            backoff=self._backoff,
            time=self.state.now,
            complete=complete,
            requests=tuple(_request_record(self.state, one) for one in self.state.requests.values()),
            workloads=tuple(_workload_record(self.state, one) for one in self.state.workloads.values()),
            timeline=tuple(self.entries),
            answers=tuple(answered.answers) if answered else (),
            rounds=tuple(answered.rounds) if answered else (),
            notices=(
                *notices(self.state),
                *(circles if self._simulation.repeating else ()),
                *(answered.notices if answered else ()),
            ),
        )

    def _advance(self, time: int) -> None:
        """Let the clock move to a time; back-offs that end before are entries of their own."""
        while self.state.now < time and not self._simulation.expired:
            reached = min((time, *self._next_times()))
            waiting = [
                "/".join(one.key) for one in self.state.workloads.values() if one.requeue_at == reached > self.state.now
            ]
            over = f"the back-off of {', '.join(waiting)} is over" if waiting else ""
            self._happen(over, None, AdvanceClock(reached - self.state.now))
            self._let_answer()

    def _next_times(self) -> list[int]:
        """When something happens by itself: back-offs end, and nodes that were bought are there."""
        given = (next_wakeup(self.state), self._autoscaler.next_time if self._autoscaler else None)
        return [one for one in given if one is not None]

    def _let_answer(self) -> None:
        """Let the autoscaler answer until no request is open; an answer may lead to the next request at once."""
        while self._autoscaler is not None and not self._simulation.expired and not self.state.looping:
            answers = self._autoscaler.answer(self.state)
            if not answers:
                return
            self._happen(_describe_answers(answers), None, *answers)

    def _run_out(self, autoscaler: RequestAnswerer) -> None:
        """Let the clock move until nothing happens by itself any more."""
        while not self._simulation.expired and not self.state.looping:
            times = self._next_times()
            if not times:
                return
            if len(self.entries) >= _MOST_ENTRIES:
                autoscaler.complete = False
                autoscaler.notices.append(f"the timeline ends after {_MOST_ENTRIES:,} entries")
                return
            self._advance(min(times))

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
    answers: AnswerOptions | None = None,
) -> tuple[ProvisioningState, records.ProvisionDocument]:
    """Run events on the objects of a cluster; give the state at the end, and the document.

    With ``answers`` requests are answered, and time goes on until nothing happens any more.

    Raises
    ------
    InputError
        For an event that cannot happen.

    """
    deadline = None if time_limit is None else monotonic() + time_limit
    autoscaler = None
    if answers is not None:
        from .answers import RequestAnswerer

        autoscaler = RequestAnswerer(cluster, answers, deadline)
    timeline = ProvisioningTimeline(initial_state(cluster), scheduler, backoff, deadline, autoscaler)
    complete = timeline.run(events)
    return timeline.state, timeline.document(complete)


def _describe_answers(answers: Sequence[AnswerRequest]) -> str:
    """Say what the autoscaler answers; of many requests the first ones are named."""
    texts = []
    for one in answers[:_NAMED_ANSWERS]:
        said = one.conditions[-1]
        message = "" if said.type == "Failed" else f" ({said.message})"
        texts.append(f"{'/'.join(one.request)}: {said.type}={said.status}{message}")
    more = len(answers) - len(texts)
    return "; ".join(texts) + (f"; and {more} more answers" if more else "")


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
    owned, owned_before = _requests_by_owner(after), _requests_by_owner(before)
    for key, workload in after.workloads.items():
        earlier = {one.name: one for one in before.workloads[key].checks} if key in before.workloads else {}
        for check in workload.checks:
            attempt = _attempt(owned.get(key, ()), key[1], check.name)
            old_attempt = _attempt(owned_before.get(key, ()), key[1], check.name)
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


def _requests_by_owner(state: ProvisioningState) -> Mapping[ObjectKey, Sequence[str]]:
    """The names of requests by their workloads."""
    found: dict[ObjectKey, list[str]] = defaultdict(list)
    for one in state.requests.values():
        found[one.namespace, one.owner].append(one.name)
    return found


def _attempt(requests: Iterable[str], workload: str, check: str) -> int | None:
    """The latest attempt of a check that has a request."""
    attempts = (asked.attempt_of(name, workload, check) for name in requests)
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


def quirks(
    before: ProvisioningState, after: ProvisioningState, log: Sequence[Occurrence], backoff: Backoff
) -> Iterator[str]:
    """Where Kueue does what its users may not expect (the traps and quirks of provisioning-request)."""
    noted: dict[str, list[Occurrence]] = defaultdict(list)
    for one in log:
        noted[one.workload].append(one)
    for key, workload in after.workloads.items():
        name, old = "/".join(key), before.workloads.get(key)
        reasons = {one.reason for one in noted[name]}
        retried = any(" to Retry" in one.message for one in noted[name])
        if backoff == "as-coded" and retried and "EvictedDueToAdmissionCheck" in reasons:
            yield f"{name} does not wait: a back-off counts from when the check last became Pending, and is over"
        if backoff == "as-coded" and retried and workload.requeue_at and workload.reservation:
            yield f"{name} keeps its quota until {workload.requeue_at} s: it is evicted when its back-off is over"
        for check in old.checks if old else ():
            dropped = (
                check.state == READY and check.retry_count and any(one.startswith("EvictedDueTo") for one in reasons)
            )
            if dropped:
                yield f"{name} begins with attempt 1 again: check {check.name} was Ready, and its retries are forgotten"
        requeued = workload.conditions.get("Requeued")
        stuck = (
            requeued is not None and requeued.status == "False" and requeued.reason == "DeactivatedDueToAdmissionCheck"
        )
        if stuck and workload.active and (old is None or not old.active):
            yield f"{name} is not requeued: Kueue forgets a workload that it deactivated for a rejected check"
    if after.looping and not before.looping:
        yield from _why_looping(after)


def _why_looping(state: ProvisioningState) -> Iterator[str]:
    """Why requests are deleted and made again for ever (1.3)."""
    for request in state.requests.values():
        workload = state.workloads.get((request.namespace, request.owner))
        for check in workload.checks if workload else ():
            made_for = asked.request_name(request.owner, check.name, (check.retry_count or 0) + 1)
            known = state.checks.get(check.name)
            config = config_of(known, state.configs) if known and request.name == made_for else None
            again = f"Kueue deletes {request.namespace}/{request.name} and makes it again, for ever"
            if config is None:
                continue
            if asked.attempt_of(request.name, request.owner, check.name) is None:
                yield f"{again}: it does not know the name, which had to be cut"
            for name, value in (config.spec.parameters or {}).items():
                if request.parameters.get(name) != value:
                    yield f"{again}: an annotation of the workload overrides parameter {name} of the configuration"


def notices(state: ProvisioningState) -> Iterator[str]:
    """What keeps checks from working, and pod sets whose devices are not seen."""
    for name, condition in state.check_status.items():
        if condition.status != "True":
            yield f"AdmissionCheck {name} is not active: {condition.message}"
    for key, workload in state.workloads.items():
        for check in workload.checks:
            known = state.checks.get(check.name)
            config = config_of(known, state.configs) if known else None
            if config is None or not config.spec.managed_resources:
                continue
            for name, count, template in workload.pod_sets:
                claims = (template.get("spec") or {}).get("resourceClaims")
                if count and claims and not asked.names_resource(template, config.spec.managed_resources):
                    yield (
                        f"check {check.name} asks for no room for pod set {name} of {'/'.join(key)}: managedResources "
                        "names none of its requests, and Kueue does not look at claims"
                    )

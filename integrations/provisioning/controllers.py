"""The controllers of Kueue that act on a workload with checks: each pass as the code orders it (3, 5, 6, 7).

Three controllers work on one working copy of the state until nothing changes: that of AdmissionChecks, that of
workloads, and that of ProvisioningRequests. Section numbers are those of provisioning-request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...models.kubernetes.meta import ObjectKey
from ...models.kubernetes.provisioning import ProvisioningRequestConfig
from . import checks as rules
from . import requests as asked
from .admission_checks import (
    STOPPED_QUEUES,
    check_status,
    checks_of_workload,
    config_of,
    draining_queue,
    why_out_of_queue,
)
from .state import (
    CONTROLLER,
    AutoscalerRequest,
    CheckProgress,
    Occurrence,
    ProvisioningState,
    RequestTemplate,
    SimulatedWorkload,
)

_DEACTIVATED = "Deactivated"
_DEACTIVATION_TARGET = "DeactivationTarget"
_BY_CHECK = "AdmissionCheck"
DEACTIVATED_BY_CHECK = f"{_DEACTIVATED}DueTo{_BY_CHECK}"
_PENDING_EVALUATION = "Workload is pending evaluation in the scheduling queue"
# A controller that still changes something after so many rounds never comes to rest.
_MOST_ROUNDS = 30
# A pass that ends with an error is tried once more.
_MOST_TRIES = 2


class ControllerRun:
    """A working copy of a state on which the controllers run; ``state`` is what they made of it."""

    def __init__(self, state: ProvisioningState, backoff: rules.Backoff) -> None:
        self.objects = state
        self._given = state
        self._backoff = backoff
        self.now = state.now
        self.workloads = dict(state.workloads)
        self.requests = dict(state.requests)
        self.templates = dict(state.templates)
        self.check_status = dict(state.check_status)
        self.failures = dict(state.failures)
        self.looping = state.looping
        self.log: list[Occurrence] = []
        self._created = state.created
        # The workloads that a controller has to look at.
        self._dirty: set[ObjectKey] = set(state.failures)
        self._owned: dict[ObjectKey, dict[ObjectKey, None]] = {}
        for key, request in state.requests.items():
            self._owned.setdefault((key[0], request.owner), {})[key] = None

    @property
    def state(self) -> ProvisioningState:
        """The state as it is now."""
        return replace(
            self.objects,
            workloads=dict(sorted(self.workloads.items())),
            requests=dict(sorted(self.requests.items())),
            templates=dict(sorted(self.templates.items())),
            check_status=dict(sorted(self.check_status.items())),
            failures=self.failures,
            looping=self.looping,
            created=self._created,
        )

    def settle(self) -> None:
        """Run all controllers, round by round, until a round writes nothing; one that goes on and on is looping."""
        self._sync_check_status()
        same = self.objects is self._given and self._given.settled
        self.objects = replace(self.objects, check_status=self.check_status, settled=True)
        if not same or self.check_status != self._given.check_status:
            self._dirty |= self.workloads.keys()
        # Others than these have nothing to do: nothing that they depend on has changed.
        self._dirty |= {key for key, one in self.workloads.items() if one.requeue_at == self.now}
        for _ in range(_MOST_ROUNDS):
            due, self._dirty = sorted(self._dirty & self.workloads.keys()), set()
            if not due:
                return
            for controller in (self._reconcile_workload, self._reconcile_requests):
                for key in due:
                    controller(key)
        self.looping = True
        self.objects = replace(self.objects, settled=False)

    def record(self, key: ObjectKey, reason: str, message: str, type_: str = "Normal") -> None:
        """Note an event about a workload; an empty reason is for an error."""
        self.log.append(Occurrence(self.now, "/".join(key), type_, reason, message))

    def write(self, workload: SimulatedWorkload) -> bool:
        """Store a workload; says whether it differs from what was stored."""
        if self.workloads.get(workload.key) == workload:
            return False
        self.workloads[workload.key] = workload
        self._dirty.add(workload.key)
        return True

    def look_at(self, request: AutoscalerRequest) -> None:
        """Have the controllers look at the workload of a request that changed."""
        self._dirty.add((request.namespace, request.owner))

    # --- AdmissionChecks -------------------------------------------------------------------------------------------

    def _sync_check_status(self) -> None:
        """Write the condition Active of each check that this controller handles (1.1)."""
        status = {}
        for name, check in self.objects.checks.items():
            if check.spec.controller_name == CONTROLLER:
                status[name] = check_status(check, self.objects.configs)
            elif given := next((one for one in check.status.conditions or () if one.type == "Active"), None):
                status[name] = given
        # The condition is written only when its status flips.
        self.check_status = {
            name: old if (old := self.check_status.get(name)) and old.status == new.status else new
            for name, new in status.items()
        }

    # --- workloads -------------------------------------------------------------------------------------------------

    def _reconcile_workload(self, key: ObjectKey) -> None:
        workload = self.workloads[key]
        if workload.is_true("Finished"):
            return
        if not workload.active:
            self._deactivate(workload)
            return
        waiting = self._requeued(workload)
        if waiting is None:
            return
        if waiting.is_true(_DEACTIVATION_TARGET):
            self.write(replace(waiting, active=False))
            return
        waiting = self._with_requeue_time(waiting)
        if self.write(waiting) or (waiting.requeue_at is not None and waiting.requeue_at > self.now):
            return
        if self._sync_checks(waiting) or self._sync_admitted(waiting):
            return
        if waiting.reservation is not None and (self._evict_by_checks(waiting) or self._drain(waiting)):
            return
        if waiting.reservation is None:
            self._say_why_pending(waiting)

    def _requeued(self, workload: SimulatedWorkload) -> SimulatedWorkload | None:
        """Put the workload back into its queue once what kept it out is over; None while its back-off lasts."""
        requeued = workload.conditions.get("Requeued")
        if requeued is None or requeued.status == "True":
            return workload
        if requeued.reason == _BY_CHECK:
            if workload.requeue_at is not None and workload.requeue_at > self.now:
                return None
            workload = replace(workload, requeue_at=None)
            return workload.with_condition("Requeued", "True", "BackoffFinished", "The workload backoff was finished")
        # As coded, the reason after a rejected check is another one, so that the workload stays out (12.2).
        by_check = requeued.reason == DEACTIVATED_BY_CHECK and self._backoff == "intended"
        if by_check or requeued.reason == _DEACTIVATED:
            return workload.with_condition("Requeued", "True", "Reactivated", "The workload was reactivated")
        kind = next((kind for kind in STOPPED_QUEUES if requeued.reason == f"{kind}Stopped"), "")
        if kind and why_out_of_queue(self.objects, workload) is None:
            message = f"The {kind} was restarted after being stopped"
            return workload.with_condition("Requeued", "True", f"{kind}Restarted", message)
        return workload

    def _with_requeue_time(self, workload: SimulatedWorkload) -> SimulatedWorkload:
        """Store until when checks in Retry wait, if that is to come and later than what is stored (5.2)."""
        until = rules.requeue_time(workload.checks)
        if until is None or until <= self.now or until <= (workload.requeue_at or 0):
            return workload
        if self._backoff == "intended":
            return self._without_quota_in_backoff(workload, until)
        return replace(workload, requeue_at=until)

    def _without_quota_in_backoff(self, workload: SimulatedWorkload, until: int) -> SimulatedWorkload:
        """As intended, the workload gives its quota back at once, and waits without it."""
        if workload.reservation is None:
            return replace(workload, requeue_at=until)
        evicted = self._evict(workload, _BY_CHECK, f"Evicted due to {rules.listing(workload.checks, rules.RETRY)}")
        return replace(evicted, requeue_at=until)

    def _sync_checks(self, workload: SimulatedWorkload) -> bool:
        """Give the workload the checks of its queue and flavors: those that it has keep their state (6)."""
        names = checks_of_workload(self.objects, workload)
        if names is None:
            return False
        known = {one.name: one for one in workload.checks}
        checks = [one for one in workload.checks if one.name in names]
        checks += (CheckProgress(name, self.now) for name in names if name not in known)
        return self.write(replace(workload, checks=tuple(checks)))

    def _sync_admitted(self, workload: SimulatedWorkload) -> bool:
        if workload.is_true("Admitted"):
            return False
        reserved = workload.is_true("QuotaReserved")
        if reserved and all(one.state == rules.READY for one in workload.checks):
            self.write(workload.with_condition("Admitted", "True", "Admitted", "The workload is admitted"))
            queue = workload.reservation.cluster_queue if workload.reservation else ""
            self.record(workload.key, "Admitted", f"Admitted by ClusterQueue {queue}")
            return True
        return self.write(_not_admitted(workload, reserved))

    def _evict_by_checks(self, workload: SimulatedWorkload) -> bool:
        """Deactivate a workload with a rejected check (5.3), and evict one with a check to be retried (5.2)."""
        states = {one.state for one in workload.checks}
        if rules.REJECTED in states:
            message = rules.listing(workload.checks, rules.REJECTED)
            self.write(workload.with_condition(_DEACTIVATION_TARGET, "True", _BY_CHECK, message))
            self.record(workload.key, "AdmissionCheckRejected", f"Deactivated due to {message}", "Warning")
            return True
        if rules.RETRY in states:
            message = f"Evicted due to {rules.listing(workload.checks, rules.RETRY)}"
            return self.write(self._evict(workload, _BY_CHECK, message))
        return False

    def _drain(self, workload: SimulatedWorkload) -> bool:
        """Take the quota back if the queue is to be drained; a workload that was not admitted is not evicted for it."""
        kind = draining_queue(self.objects, workload)
        if not kind:
            return False
        if workload.is_true("Admitted"):
            return self.write(self._evict(workload, f"{kind}Stopped", f"The {kind} is stopped"))
        reason, message = why_out_of_queue(self.objects, workload) or ("Suspended", f"The {kind} is stopped")
        return self.write(without_reservation(workload, reason, message))

    def _evict(self, workload: SimulatedWorkload, reason: str, message: str) -> SimulatedWorkload:
        """Give the workload as it is evicted: without quota, its checks reset, out of its queue."""
        self.record(workload.key, f"EvictedDueTo{reason}", message)
        return evicted(workload, reason, message, self.now).with_condition("Requeued", "False", reason, message)

    def _deactivate(self, workload: SimulatedWorkload) -> None:
        """Evict a workload that was deactivated, by the user or for a rejected check (5.3)."""
        target = workload.conditions.get(_DEACTIVATION_TARGET)
        reason, message = _DEACTIVATED, "The workload is deactivated"
        if target is not None and target.status == "True":
            reason, message = f"{reason}DueTo{target.reason}", f"{message} due to {target.message}"
        eviction = workload.conditions.get("Evicted")
        if eviction is None or eviction.status != "True" or not eviction.reason.startswith(_DEACTIVATED):
            workload = self._evict(workload, reason, message)
        conditions = {type_: one for type_, one in workload.conditions.items() if type_ != _DEACTIVATION_TARGET}
        workload = replace(workload, conditions=conditions, requeue_at=None)
        self.write(without_reservation(workload, _DEACTIVATED, "The workload is deactivated"))

    def _say_why_pending(self, workload: SimulatedWorkload) -> None:
        """Write why the workload has no quota, where the queue and not the scheduler decides it."""
        why = why_out_of_queue(self.objects, workload)
        if why is not None:
            self.write(workload.with_condition("QuotaReserved", "False", *why))
            return
        reserved = workload.conditions.get("QuotaReserved")
        queues = tuple(f"{kind} " for kind in STOPPED_QUEUES)
        if reserved is not None and (reserved.reason == _DEACTIVATED or reserved.message.startswith(queues)):
            self.write(workload.with_condition("QuotaReserved", "False", "PendingEvaluation", _PENDING_EVALUATION))

    # --- ProvisioningRequests --------------------------------------------------------------------------------------

    def _reconcile_requests(self, key: ObjectKey) -> None:
        workload = self.workloads[key]
        finished, gone = workload.is_true("Finished"), workload.is_true("Evicted")
        if finished or (gone and self.objects.cleanup):
            self._delete_requests(workload, ())
        elif not gone and workload.is_true("QuotaReserved") and self.failures.get(key, 0) < _MOST_TRIES:
            try:
                self._reconcile_reserved(workload)
                self.failures.pop(key, None)
            except asked.RequestError as error:
                self.failures[key] = self.failures.get(key, 0) + 1
                if self.failures[key] < _MOST_TRIES:
                    self._dirty.add(key)
                self.record(key, "", str(error), "Warning")

    def _reconcile_reserved(self, workload: SimulatedWorkload) -> None:
        configs = self._configs_of(workload)
        chosen = {name: self._chosen(workload, config) for name, config in configs.items()}
        active = {name: self._active_request(workload, name, configs[name]) for name, sets in chosen.items() if sets}
        workload = self._update_checks(workload, configs, active)
        self._delete_requests(workload, [request.key for request in active.values() if request is not None])
        for name, config in configs.items():
            if config is not None and chosen[name]:
                self._create(workload, name, config, active[name], chosen[name])

    def _configs_of(self, workload: SimulatedWorkload) -> dict[str, ProvisioningRequestConfig | None]:
        """The configuration of each check of the workload that this controller handles; None if it is missing."""
        known = self.objects.checks
        own = (one.name for one in workload.checks if one.name in known)
        return {
            name: config_of(known[name], self.objects.configs)
            for name in own
            if known[name].spec.controller_name == CONTROLLER
        }

    def _chosen(
        self, workload: SimulatedWorkload, config: ProvisioningRequestConfig | None
    ) -> list[asked.PodSetOfInterest]:
        if config is None or workload.reservation is None:
            return []
        return asked.pod_sets_of_interest(workload.pod_sets, workload.reservation.assignments, config.spec)

    def _requests_of(self, workload: SimulatedWorkload) -> list[AutoscalerRequest]:
        return [self.requests[key] for key in self._owned.get(workload.key, ())]

    def _active_request(
        self, workload: SimulatedWorkload, check: str, config: ProvisioningRequestConfig | None
    ) -> AutoscalerRequest | None:
        """The request of the latest attempt that fits the configuration (3.3)."""
        attempts = {
            attempt: one
            for one in self._requests_of(workload)
            if config is not None and _in_sync(one, config)
            for attempt in [asked.attempt_of(one.name, workload.key[1], check)]
            if attempt is not None
        }
        return attempts[max(attempts)] if attempts else None

    def _update_checks(
        self,
        workload: SimulatedWorkload,
        configs: Mapping[str, ProvisioningRequestConfig | None],
        active: Mapping[str, AutoscalerRequest | None],
    ) -> SimulatedWorkload:
        """Judge all checks; nothing is written for any while a check that needs a request has none (3.4)."""
        if None in active.values():
            return workload
        changed = workload
        for check in workload.checks:
            if check.name in configs:
                changed = changed.with_check(self._judged(workload, check, configs[check.name], active.get(check.name)))
        if self.write(changed):
            for old, new in zip(workload.checks, changed.checks, strict=True):
                if old.state != new.state:
                    with_message = f" with message: {new.message}" if new.message else ""
                    message = f"Admission check {new.name} updated state from {old.state} to {new.state}{with_message}"
                    self.record(workload.key, "AdmissionCheckUpdated", message)
        return changed

    def _judged(
        self,
        workload: SimulatedWorkload,
        check: CheckProgress,
        config: ProvisioningRequestConfig | None,
        request: AutoscalerRequest | None,
    ) -> CheckProgress:
        if config is None:
            return rules.inactive(check, self.now, self._backoff)
        if request is None:
            return rules.not_needed(check, self.now, self._backoff)
        spec = config.spec
        selectors = (spec.pod_set_updates.node_selector or ()) if spec.pod_set_updates else ()
        context = rules.CheckContext(
            now=self.now,
            retry=spec.retry_strategy,
            selectors=selectors,
            admitted=workload.is_true("Admitted"),
            active=workload.active,
            backoff=self._backoff,
        )
        return rules.judge(check, request, asked.attempt_of(request.name, workload.key[1], check.name) or 0, context)

    def _create(
        self,
        workload: SimulatedWorkload,
        check: str,
        config: ProvisioningRequestConfig,
        active: AutoscalerRequest | None,
        chosen: list[asked.PodSetOfInterest],
    ) -> None:
        """Make the request of the next attempt where there is none, or the last one failed (3.6)."""
        progress = next(one for one in workload.checks if one.name == check)
        namespace, name = workload.key
        if progress.state == rules.READY:
            return
        attempt = (progress.retry_count or 0) + 1
        if active is not None:
            if progress.state != rules.PENDING or not _is_over(active, workload):
                return
            attempt = (asked.attempt_of(active.name, name, check) or 0) + 1
        request = asked.request_name(name, check, attempt)
        merged = asked.merge_pod_sets(chosen, config.spec.pod_set_merge_policy)
        entries = asked.entries(request, merged)
        for entry, (pod_set, _) in zip(entries, merged, strict=True):
            key = (namespace, entry.template)
            if key not in self.templates:
                content = asked.pod_template(pod_set, self.objects.flavors)
                self._check_creation(workload, progress, "PodTemplate", entry.template)
                self.templates[key] = RequestTemplate(*key, ("Workload", name), content)
        self._check_creation(workload, progress, "ProvisioningRequest", request)
        other = self.requests.get((namespace, request))
        if other is not None and other.owner != name:
            # Not said in an event: Kueue takes it for a cache that lags behind, and tries again.
            raise asked.RequestError(f'provisioningrequests.autoscaling.x-k8s.io "{request}" already exists')
        self._created += 1
        self.requests[namespace, request] = AutoscalerRequest(
            namespace=namespace,
            name=request,
            owner=name,
            class_name=config.spec.provisioning_class_name,
            parameters=asked.parameters(config.spec, workload.spec.metadata.annotations),
            pod_sets=entries,
            serial=self._created,
        )
        self._owned.setdefault(workload.key, {})[namespace, request] = None
        self._dirty.add(workload.key)
        self.record(workload.key, "ProvisioningRequestCreated", f'Created ProvisioningRequest: "{request}"')
        for entry in entries:
            key = (namespace, entry.template)
            self.templates[key] = replace(self.templates[key], owner=("ProvisioningRequest", request))

    def _check_creation(self, workload: SimulatedWorkload, check: CheckProgress, kind: str, name: str) -> None:
        """Report the creation of an object that the API server refuses (3.6)."""
        refusal = self.objects.refused.get(kind)
        if refusal is None:
            return
        message = f'Error creating {kind} "{name}": {refusal}'
        self.record(workload.key, "FailedCreate", message, "Warning")
        self.write(self.workloads[workload.key].with_check(replace(check, message=message)))
        raise asked.RequestError(refusal)

    def _delete_requests(self, workload: SimulatedWorkload, kept: Iterable[ObjectKey]) -> None:
        """Delete the requests of a workload but for those that are kept, with their PodTemplates (3.5, 7)."""
        for request in self._requests_of(workload):
            if request.key not in kept:
                self.delete_request(request.key)

    def delete_request(self, key: ObjectKey) -> None:
        """Delete a request and the PodTemplates that it owns, if there is one of this name."""
        request = self.requests.pop(key, None)
        if request is not None:
            owner_key = (request.namespace, request.owner)
            self._owned.get(owner_key, {}).pop(key, None)
            self._dirty.add(owner_key)
            namespace, name = key
            owner = ("ProvisioningRequest", name)
            gone = [place for place, one in self.templates.items() if place[0] == namespace and one.owner == owner]
            for place in gone:
                del self.templates[place]

    def delete_workload(self, key: ObjectKey) -> None:
        """Delete a workload and what it owns (7)."""
        workload = self.workloads.pop(key, None)
        if workload is not None:
            self._delete_requests(workload, ())
            owner = ("Workload", key[1])
            gone = [place for place, one in self.templates.items() if place[0] == key[0] and one.owner == owner]
            for place in gone:
                del self.templates[place]


def without_reservation(workload: SimulatedWorkload, reason: str, message: str) -> SimulatedWorkload:
    """Give the workload without quota."""
    released = replace(workload, reservation=None).with_condition("QuotaReserved", "False", reason, message)
    return _not_admitted(released, reserved=False)


def evicted(workload: SimulatedWorkload, reason: str, message: str, now: int) -> SimulatedWorkload:
    """Give the workload after an eviction: without quota, its checks reset (5.2)."""
    checks = tuple(rules.reset_on_eviction(check, now) for check in workload.checks)
    out = replace(workload, checks=checks).with_condition("Evicted", "True", reason, message)
    return without_reservation(out, "PendingEvaluation", message)


def _not_admitted(workload: SimulatedWorkload, reserved: bool) -> SimulatedWorkload:
    if reserved:
        reason, message = "UnsatisfiedAdmissionChecks", "The workload has not all checks ready"
    else:
        reason, message = "NoReservation", "The workload has no reservation"
    return workload.with_condition("Admitted", "False", reason, message)


def _in_sync(request: AutoscalerRequest, config: ProvisioningRequestConfig) -> bool:
    """Whether the request has the class and all parameters of the configuration; it may have more (3.3)."""
    wanted = config.spec.parameters or {}
    return request.class_name == config.spec.provisioning_class_name and wanted.items() <= request.parameters.items()


def _is_over(request: AutoscalerRequest, workload: SimulatedWorkload) -> bool:
    true = {one.type for one in request.conditions if one.status == "True"}
    return rules.FAILED in true or (rules.BOOKING_EXPIRED in true and not workload.is_true("Admitted"))

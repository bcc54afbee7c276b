"""The state of one admission check: from the conditions of its request, with retries and their back-off (4, 5).

Section numbers are those of provisioning-request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...models.kubernetes.provisioning import ProvisioningNodeSelectorUpdate, ProvisioningRetryStrategy
from .state import AutoscalerRequest, CheckProgress, PodSetChange

PENDING, READY, RETRY, REJECTED = "Pending", "Ready", "Retry", "Rejected"
NOT_ACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
CONSUME_ANNOTATION = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_ANNOTATION = "autoscaling.x-k8s.io/provisioning-class-name"
ACCEPTED, PROVISIONED, FAILED = "Accepted", "Provisioned", "Failed"
BOOKING_EXPIRED, CAPACITY_REVOKED = "BookingExpired", "CapacityRevoked"
CONDITION_TYPES = (ACCEPTED, PROVISIONED, FAILED, BOOKING_EXPIRED, CAPACITY_REVOKED)
Backoff = Literal["as-coded", "intended"]
_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What beside the request decides about a check."""

    now: int
    retry: ProvisioningRetryStrategy
    selectors: Sequence[ProvisioningNodeSelectorUpdate]
    admitted: bool
    active: bool
    # The times from which a back-off counts; see ``changed``.
    backoff: Backoff


def wait_seconds(retry: ProvisioningRetryStrategy, number: int) -> int:
    """Seconds to wait before retry ``number``, counted from 1 (5.1): doubled each time, up to the maximum.

    The first wait is not cut to the maximum, and a maximum of 0 or less is none. The jitter of less than a second for
    waits below 10,000 s is left out.
    """
    seconds, most = retry.backoff_base_seconds, retry.backoff_max_seconds
    for _ in range(number - 1):
        seconds *= 2
        if 0 < most < seconds:
            return most
        if abs(seconds) > _INT32_MAX:
            break
    return max(-_INT32_MAX, min(seconds, _INT32_MAX))


def changed(check: CheckProgress, state: str, now: int, backoff: Backoff) -> CheckProgress:
    """Give the check in another state.

    As coded, the time of the last transition stays that of becoming Pending, so that a back-off counts from then (the
    quirk of 5.2). As intended, it is the time of the change.
    """
    if state == check.state:
        return check
    return replace(check, state=state, since=check.since if backoff == "as-coded" else now)


def inactive(check: CheckProgress, now: int, backoff: Backoff) -> CheckProgress:
    """Give a check whose configuration is missing."""
    return replace(changed(check, PENDING, now, backoff), message=NOT_ACTIVE)


def not_needed(check: CheckProgress, now: int, backoff: Backoff) -> CheckProgress:
    """Give a check of a workload without any pod set of interest."""
    if check.state == READY:
        return check
    return replace(changed(check, READY, now, backoff), message=NOT_NEEDED, updates=())


def judge(check: CheckProgress, request: AutoscalerRequest, attempt: int, context: CheckContext) -> CheckProgress:
    """Give the check after a look at the conditions of its request; the first that is True counts (4)."""
    true = {one.type: one for one in request.conditions if one.status == "True"}
    if failed := true.get(FAILED):
        return _failed(check, attempt, failed.message, "failure", context)
    if revoked := true.get(CAPACITY_REVOKED):
        return _reject(check, revoked.message, context) if context.active else check
    if expired := true.get(BOOKING_EXPIRED):
        return check if context.admitted else _failed(check, attempt, expired.message, "booking expired", context)
    if provisioned := true.get(PROVISIONED):
        if check.state == READY:
            return check
        ready = changed(check, READY, context.now, context.backoff)
        return replace(ready, message=provisioned.message, updates=pod_set_changes(request, context.selectors))
    pending = changed(check, PENDING, context.now, context.backoff)
    if ACCEPTED in true:
        waiting = next((one for one in request.conditions if one.type == PROVISIONED), None)
        return check if waiting is None else replace(pending, message=waiting.message)
    return replace(pending, message="")


def _failed(check: CheckProgress, attempt: int, text: str, what: str, context: CheckContext) -> CheckProgress:
    """Try again, or give up after the last attempt; an attempt that was already counted changes nothing."""
    if attempt > context.retry.backoff_limit_count:
        return _reject(check, text, context)
    count = check.retry_count or 0
    if attempt <= count:
        return check
    retried = changed(check, RETRY, context.now, context.backoff)
    return replace(
        retried, message=f"Retrying after {what}: {text}", requeue_after=wait_seconds(context.retry, count + 1)
    )


def _reject(check: CheckProgress, text: str, context: CheckContext) -> CheckProgress:
    return replace(changed(check, REJECTED, context.now, context.backoff), message=text)


def pod_set_changes(
    request: AutoscalerRequest, selectors: Iterable[ProvisioningNodeSelectorUpdate]
) -> tuple[PodSetChange, ...]:
    """Give what pods get once their request is provisioned: annotations, and node labels that its details name."""
    annotations = {CONSUME_ANNOTATION: request.name, CLASS_ANNOTATION: request.class_name}
    details = request.details
    labels = {
        one.key: details[one.value_from_provisioning_class_detail]
        for one in selectors
        if one.value_from_provisioning_class_detail in details
    }
    return tuple(PodSetChange(entry.pod_set, annotations, labels) for entry in request.pod_sets)


def reset_on_eviction(check: CheckProgress, now: int) -> CheckProgress:
    """Give the check after its workload was evicted: Pending, and one retry more only if it was Retry (5.2)."""
    if check.state == PENDING:
        return check
    return replace(
        check,
        state=PENDING,
        since=now,
        message=f"Reset to Pending after eviction. Previously: {check.state}",
        retry_count=(check.retry_count or 0) + 1 if check.state == RETRY else None,
        updates=(),
    )


def requeue_time(checks: Iterable[CheckProgress]) -> int | None:
    """The time until which the checks in Retry wait; None if there is none (5.2)."""
    return max((one.since + (one.requeue_after or 0) for one in checks if one.state == RETRY), default=None)


def listing(checks: Iterable[CheckProgress], state: str) -> str:
    """The checks in a state with their messages, as evictions name them: ``AdmissionCheck in Retry state: "a" (b)``."""
    found = [one for one in checks if one.state == state]
    named = "; ".join(f'"{one.name}" ({one.message})' for one in found)
    return f"AdmissionCheck{'s' if len(found) > 1 else ''} in {state} state: {named}"

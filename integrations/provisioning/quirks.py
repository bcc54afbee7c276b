"""Traps of provisioning-request: where Kueue does what its users may not expect, and what keeps checks from working."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import requests as asked
from .admission_checks import config_of
from .checks import READY, Backoff
from .state import Occurrence, ProvisioningState


def quirks(
    before: ProvisioningState, after: ProvisioningState, log: Sequence[Occurrence], backoff: Backoff
) -> Iterator[str]:
    """Where Kueue does what its users may not expect (the traps and quirks of provisioning-request)."""
    for key, workload in after.workloads.items():
        name, old = "/".join(key), before.workloads.get(key)
        reasons = {one.reason for one in log if one.workload == name}
        retried = any(one.workload == name and " to Retry" in one.message for one in log)
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

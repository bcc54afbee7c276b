"""What a plan admits and uses of quota, as the records of the result document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ...models.results.common import Reason
from ...models.results.plan import PlannedPodSet, PlannedWorkload, QueueUsage
from ...models.workload.expansion import QueuedUnit
from ...models.workload.quota import Admissions, AdmittedPodSet, QuotaPodSet, QuotaProblem, QuotaQueue
from ...models.workload.requests import format_amount
from .outcome import PlannedQuota
from .quota_ledger import QuotaLedger


def planned_quota(
    quota: QuotaQueue, queue: Sequence[QueuedUnit], admissions: Admissions, reasons: Mapping[int, tuple[Reason, ...]]
) -> PlannedQuota:
    """Write down what a plan admits; ``reasons`` are by place in the queue."""
    workloads = tuple(_planned_workloads(quota, queue, admissions, reasons))
    return PlannedQuota(admissions, workloads, tuple(_queue_usages(quota.problem, admissions)))


def _planned_workloads(
    quota: QuotaQueue, queue: Sequence[QueuedUnit], admissions: Admissions, reasons: Mapping[int, tuple[Reason, ...]]
) -> Iterator[PlannedWorkload]:
    """Yield the workloads that have units in the queue."""
    own: dict[int, tuple[Reason, ...]] = {}
    for place, planned in enumerate(queue):
        member = quota.member(planned)
        if member is not None:
            own.setdefault(member.workload, reasons.get(place, ()))
    for number, workload in enumerate(quota.problem.workloads):
        admitted = admissions.get(number)
        if number in own:
            got = admitted or workload.granted or (None,) * len(workload.pod_sets)
            missed: Literal["NotAdmitted", "Stranded"] = "Stranded" if workload.grant else "NotAdmitted"
            yield PlannedWorkload(
                namespace=workload.namespace,
                name=workload.name,
                queue="" if workload.queue is None else quota.problem.nodes[workload.queue].name,
                outcome=missed if admitted is None else "Admitted",
                pod_sets=tuple(_pod_set(*pair) for pair in zip(workload.pod_sets, got, strict=True)),
                reasons=own[number] if admitted is None else (),
            )


def _pod_set(one: QuotaPodSet, admitted: AdmittedPodSet | None) -> PlannedPodSet:
    flavors, usage = dict[str, str](), dict[str, str]()
    if admitted is not None:
        option = one.choices[admitted.choice]
        flavors = dict(option.flavors)
        charged = sorted(one.usage(option, admitted.count).items(), key=lambda item: item[0][1])
        usage = {resource: format_amount(resource, amount) for (_, resource), amount in charged}
    count = 0 if admitted is None else admitted.count
    return PlannedPodSet(name=one.name, count=one.count, admitted=count, flavors=flavors, usage=usage)


def _queue_usages(problem: QuotaProblem, admissions: Admissions) -> Iterator[QueueUsage]:
    """Yield what each ClusterQueue has and uses, by queue, flavor and resource."""
    if not problem.limited:
        # Quota is held by what cannot be placed, too.
        granted = ((place, one.granted) for place, one in enumerate(problem.workloads))
        admissions = {place: own for place, own in granted if own is not None}
    ledger = QuotaLedger(problem, admissions)
    held = {pair for node in problem.nodes for pair in node.held}
    pairs = sorted({*held, *ledger.usage, *(pair for node in problem.nodes for pair in node.nominal)})
    for place, node in enumerate(problem.nodes):
        for flavor, resource in pairs if not node.is_cohort else ():
            nominal, used = node.nominal.get((flavor, resource)), ledger.used((flavor, resource))[place]
            if nominal is not None or used:
                amounts = (nominal or 0, used, max(0, used - (nominal or 0)))
                own, taken, more = (format_amount(resource, amount) for amount in amounts)
                yield QueueUsage(
                    queue=node.name, flavor=flavor, resource=resource, nominal=own, used=taken, borrowed=more
                )

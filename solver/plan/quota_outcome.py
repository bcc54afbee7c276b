"""What a plan admits and uses of quota, as the records of the result document, and why workloads are not admitted.

Reasons name the quota that is missing: in which queue or cohort, of which flavor and resource.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import islice, product
from typing import Literal

from ...models.results.common import Reason
from ...models.results.plan import PlannedPodSet, PlannedWorkload, QueueUsage
from ...models.workload.expansion import QueuedUnit
from ...models.workload.quota import Admissions, AdmittedPodSet, QuotaPodSet, QuotaProblem, QuotaQueue, QuotaWorkload
from ...models.workload.requests import format_amount
from .outcome import PlannedQuota, ReasonsByUnit
from .quota_ledger import QuotaLedger, QuotaShortage


def planned_quota(
    quota: QuotaQueue, queue: Sequence[QueuedUnit], admissions: Admissions, reasons: ReasonsByUnit
) -> PlannedQuota:
    """Write down what a plan admits."""
    workloads = tuple(_planned_workloads(quota, queue, admissions, reasons))
    queues = tuple(_queue_usages(quota.problem, admissions))
    return PlannedQuota(admissions, workloads, queues, by_cycles=not quota.problem.limited)


def _planned_workloads(
    quota: QuotaQueue, queue: Sequence[QueuedUnit], admissions: Admissions, reasons: ReasonsByUnit
) -> Iterator[PlannedWorkload]:
    """Yield the workloads that have units in the queue."""
    own: dict[int, tuple[Reason, ...]] = {}
    for place, planned in enumerate(queue):
        member = quota.member(planned)
        # Reasons are written when they are looked at.
        if member is not None and member.workload not in own:
            own[member.workload] = reasons.of(place, planned)
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


QUOTA = "quota"
_MOST_WAYS = 16


def quota_reasons(
    quota: QuotaQueue,
    queue: Sequence[QueuedUnit],
    assigned: Container[int],
    admissions: Admissions,
    known: Container[int],
) -> tuple[dict[int, tuple[Reason, ...]], list[QueuedUnit]]:
    """Return the reasons for units of workloads that lack quota, and the queue in which to look for other reasons.

    In that queue a unit for which there is quota has the first flavors for which that is so.
    """
    ledger = QuotaLedger(quota.problem, admissions)
    places: dict[int, list[int]] = defaultdict(list)
    there = quota.admitted_queue(queue, admissions)
    found: dict[int, tuple[Reason, ...]] = {}
    for place, planned in enumerate(queue):
        member = quota.member(planned)
        if member is None or place in assigned or place in known:
            continue
        admitted = admissions.get(member.workload)
        if admitted is not None:
            pod_set, part = quota.problem.workloads[member.workload].pod_sets[member.pod_set], admitted[member.pod_set]
            said = f"{part.count} of {pod_set.count} pods of pod set {pod_set.name} are admitted"
            found[place] = (Reason(QUOTA, "", said),)
        else:
            places[member.workload].append(place)
    for number, own in places.items():
        workload = quota.problem.workloads[number]
        choices = _choices_with_quota(ledger, workload)
        if choices is None:
            reasons = tuple(Reason(QUOTA, "", said) for said in dict.fromkeys(_shortages(ledger, workload)))
            found.update(dict.fromkeys(own, reasons))
            continue
        for place in own:
            member = quota.member(queue[place])
            if member is not None:
                there[place] = quota.restricted(queue[place], choices[member.pod_set])
    return found, there


def _least_usage(workload: QuotaWorkload, number: int, choice: int) -> dict[tuple[str, str], int]:
    pod_set = workload.pod_sets[number]
    count = pod_set.count if pod_set.minimum is None else pod_set.minimum
    return pod_set.usage(pod_set.choices[choice], count)


def _choices_with_quota(ledger: QuotaLedger, workload: QuotaWorkload) -> dict[int, int] | None:
    """The choice of each pod set with which the workload finds quota beside the plan; None if there is none."""
    groups = workload.groups
    ranges = [range(len(workload.pod_sets[group[0]].choices)) for group in groups]
    for chosen in islice(product(*ranges), _MOST_WAYS):
        choice_of = {number: choice for group, choice in zip(groups, chosen, strict=True) for number in group}
        charged: list[dict[tuple[str, str], int]] = []
        for number, choice in choice_of.items():
            usage = _least_usage(workload, number, choice)
            if not ledger.most(workload, usage, 1):
                break
            ledger.add(workload, usage)
            charged.append(usage)
        fits = len(charged) == len(choice_of)
        for usage in charged:
            ledger.add(workload, usage, -1)
        if fits:
            return choice_of
    return None


def _shortages(ledger: QuotaLedger, workload: QuotaWorkload) -> Iterator[str]:
    """Say for each pod set and choice of flavors what is missing; together they may miss what each one finds."""
    single = False
    for number, pod_set in enumerate(workload.pod_sets):
        for choice in range(len(pod_set.choices)):
            for short in ledger.shortages(workload, _least_usage(workload, number, choice)):
                single = True
                yield _shortage_text(ledger, pod_set.name, short)
    if not single:
        name = ledger.problem.nodes[workload.queue or 0].label
        yield f"each pod set finds quota in {name}, and all of them together do not"


def _shortage_text(ledger: QuotaLedger, pod_set: str, short: QuotaShortage) -> str:
    flavor, resource = short.pair
    asked, left, most = (_amount(resource, number) for number in (short.asked, max(0, short.left), short.most))
    node = ledger.problem.nodes[short.queue]
    text = f"pod set {pod_set} asks for {asked} of {resource} in flavor {flavor}"
    if short.asked > short.most:
        return f"{text}: {node.label} can use {most} at most"
    text = f"{text}: {node.label} has {left} left beside the plan"
    if node.parent is None or ledger.available(node.parent, short.pair) > 0:
        return text
    return f"{text}, and {ledger.problem.nodes[node.parent].label} has nothing left"


def _amount(resource: str, amount: int) -> str:
    return format_amount(resource, amount)

"""Kueue beside a plan: what Kueue admits goes to nodes by first fit, and figures about quota for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

from ...models.cluster.cluster import Cluster
from ...models.results.common import Reason
from ...models.results.comparison import QuotaComparison
from ...models.results.plan import PlannedWorkload
from ...models.workload.expansion import QueuedUnit, expand_units
from ...models.workload.queue import read_queue
from ...models.workload.quota import Admissions, QuotaProblem, QuotaQueue
from ...problem.selectors import KUEUE_QUOTA, NodeResourceClaims
from ..allocate.check import LATE_VERIFICATION
from ..engines.engine import TIME_LIMIT_RULE
from ..engines.outcome import missing_reference_reasons
from ..engines.registry import effective_policy
from ..plan.first_fit import NO_NODE, TIME_OVER, FirstFit
from ..plan.outcome import PlannedUnitOutcome, ReasonsByUnit, check_plan
from ..plan.quota_first_fit import quota_first_fit
from ..plan.quota_ledger import QuotaLedger
from ..plan.quota_outcome import QUOTA, planned_quota
from ..verification.verify import VerificationTimeoutError
from .figures import SchedulingInput


@dataclass(frozen=True, slots=True)
class QuotaQuestion:
    """The quota of a cluster as a plan may use it, and as Kueue gives it, in the order in which it does.

    Each has the cluster without the pods that are evicted.
    """

    cluster: Cluster
    open: QuotaProblem
    admitted_cluster: Cluster
    admitted: QuotaProblem


@dataclass(frozen=True, slots=True)
class PlacedAdmissions:
    """What first fit makes of Kueue's admissions; ``seconds`` are without the verifier."""

    inputs: SchedulingInput
    units: tuple[PlannedUnitOutcome, ...]
    figures: QuotaComparison
    in_time: bool
    seconds: float
    notices: tuple[str, ...] = ()


def with_quota(inputs: SchedulingInput, quota: QuotaProblem) -> tuple[SchedulingInput, QuotaQueue]:
    """The queue with workloads as gangs."""
    sets = read_queue(inputs.cluster, namespace=inputs.namespace, selector=inputs.selector, gates=inputs.gates)
    queue = QuotaQueue(quota, sets)
    made = NodeResourceClaims(inputs.cluster, inputs.gates, KUEUE_QUOTA).planned(
        expand_units(inputs.cluster, queue.sets, inputs.gates)
    )
    return replace(inputs, units=tuple(made)), queue


def place_admissions(
    question: QuotaQuestion, given: SchedulingInput, deadline: float | None, latest: float | None = None
) -> PlacedAdmissions:
    """Place what Kueue admits in its order, each pod on the first node of its flavors that fits, workloads whole.

    ``deadline`` ends the placing, and what is not verified by ``latest`` is not kept. Raises ``VerificationError``.
    """
    started = monotonic()
    # The order of admission decides, not the priority.
    ordered = tuple(replace(one, priority=0) for one in question.admitted.workloads)
    problem = replace(question.admitted, workloads=ordered)
    policy = effective_policy("cp-sat", given.cel_errors)
    inputs, quota = with_quota(replace(given, cluster=question.admitted_cluster, cel_errors=policy), problem)
    queue = inputs.units
    refused = dict(_refused(inputs, quota))
    arriving = [place for place in range(len(queue)) if place not in refused]
    found, admissions = quota_first_fit(inputs.session, queue, quota, arriving, deadline)
    seconds = monotonic() - started
    reason = NO_NODE if found.in_time else TIME_OVER
    reasons = {place: refused.get(place, (reason,)) for place in range(len(queue)) if place not in found.assigned}
    inputs = replace(inputs, units=tuple(quota.admitted_queue(queue, admissions)))
    units = _outcomes(inputs.units, found, reasons)
    try:
        check_plan(
            inputs.cluster,
            units,
            inputs.gates,
            policy,
            order=list(found.assigned),
            namespace=inputs.namespace,
            selector=inputs.selector,
            quota=problem,
            admissions=admissions,
            deadline=latest,
        )
    except VerificationTimeoutError:
        late = (Reason(TIME_LIMIT_RULE, "", LATE_VERIFICATION),)
        units, admissions = _outcomes(inputs.units, FirstFit({}, False), dict.fromkeys(range(len(queue)), late)), {}
        found = FirstFit({}, False)
    planned = planned_quota(quota, queue, admissions, ReasonsByUnit(queue, reasons))
    figures = quota_figures(problem, planned.workloads, admissions)
    return PlacedAdmissions(inputs, units, figures, found.in_time, seconds, problem.notices)


def _refused(inputs: SchedulingInput, quota: QuotaQueue) -> Iterable[tuple[int, tuple[Reason, ...]]]:
    """Units that have no quota, or refer to what is not there."""
    for place, planned in enumerate(inputs.units):
        member = quota.member(planned)
        problem = quota.problems[member.workload] if member is not None else ""
        said = [Reason(QUOTA, "", problem)] if problem else []
        if reasons := (*missing_reference_reasons(planned.unit, inputs.cluster.classes), *said):
            yield place, reasons


def _outcomes(
    queue: Iterable[QueuedUnit], found: FirstFit, reasons: Mapping[int, tuple[Reason, ...]]
) -> tuple[PlannedUnitOutcome, ...]:
    order = {place: number for number, place in enumerate(found.assigned, 1)}
    made = []
    for place, planned in enumerate(queue):
        node, allocations = found.assigned.get(place, (None, ()))
        made.append(PlannedUnitOutcome(planned, node, reasons.get(place, ()), allocations, order.get(place)))
    return tuple(made)


def quota_figures(
    problem: QuotaProblem, workloads: Iterable[PlannedWorkload], admissions: Admissions
) -> QuotaComparison:
    """Count workloads by what became of them; ``workloads`` are those with pods that wait."""
    listed = list(workloads)
    found = Counter(one.outcome for one in listed)
    shares = _dominant_shares(problem, {one.queue for one in listed if one.queue}, admissions)
    squares = sum(share * share for share in shares)
    return QuotaComparison(
        workloads=len(listed),
        admitted=found["Admitted"] + found["Stranded"],
        placed=found["Admitted"],
        stranded=found["Stranded"],
        least_share=round(float(min(shares)), 6) if shares else None,
        fairness=round(float(sum(shares) ** 2 / (len(shares) * squares)), 6) if squares else None,
    )


def _dominant_shares(problem: QuotaProblem, queues: set[str], admissions: Admissions) -> list[Fraction]:
    """The weighted dominant share of each of these queues, over what is held and what is admitted."""
    ledger = QuotaLedger(problem, admissions)
    pairs = sorted({*ledger.usage, *(pair for node in problem.nodes for pair in (*node.nominal, *node.held))})
    roots = [problem.path(place)[-1] for place in range(len(problem.nodes))]
    shares = []
    for place, node in enumerate(problem.nodes):
        if node.is_cohort or node.name not in queues or not node.weight:
            continue
        used, whole = Counter[str](), Counter[str]()
        for pair in pairs:
            used[pair[1]] += ledger.used(pair)[place]
            whole[pair[1]] += ledger.quota(pair)[0][roots[place]]
        parts = (Fraction(amount, whole[name]) for name, amount in used.items() if amount and whole[name])
        shares.append(max(parts, default=Fraction(0)) / node.weight)
    return shares

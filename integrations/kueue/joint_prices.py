"""What one step more of an amount of quota is worth to a joint plan: each price is judged by planning again.

A step is one device, one core, or of amounts in bytes what every pod asks a multiple of. Only amounts that a workload
lacks beside the plan are raised, at the queue that it waits in and at the cohorts above, where they have an entry.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from ...models.cluster.cluster import Cluster
from ...models.results.quota import JointPriceReport, QuotaField, QuotaPrice
from ...models.workload.quota import FlavorResource, QuotaHolder, QuotaProblem, QuotaWorkload
from ...solver.engines.outcome import SearchInterrupted
from ...solver.plan.outcome import OPTIMAL, PlanOutcome
from ...solver.plan.plan import plan
from ...solver.plan.quota_ledger import QuotaLedger
from .amounts import step_of, written_amount
from .joint import quota_problem


@dataclass(frozen=True, slots=True)
class _RaisedAmount:
    """An amount of the holder at a place of the tree."""

    place: int
    field: QuotaField
    pair: FlavorResource


def joint_prices(
    cluster: Cluster, *, time_limit: float | None = None, seed: int = 0, gap: float = 0.001
) -> JointPriceReport:
    """Plan jointly, and again with one step more of each amount that workloads lack beside the plan.

    The plans share ``time_limit`` seconds. Raises ``SearchInterrupted`` for a KeyboardInterrupt.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    found = JointPriceReport(0, 0, (), proven=False, complete=False)
    has_time = time_limit is None or time_limit > 0
    if not has_time or (question := quota_problem(cluster)) is None:
        return found
    cluster, problem = question

    def planned(quota: QuotaProblem) -> PlanOutcome:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        return plan(cluster, quota=quota, gap=gap, time_limit=left, seed=seed, may_be_unread=True)

    try:
        first = planned(problem)
        if first.unread:
            return found
        before = _admitted(first)
        waiting = len(first.quota.workloads) - len(before) if first.quota is not None else 0
        found = JointPriceReport(len(before), waiting, (), proven=first.outcome == OPTIMAL, complete=False)
        for raised in _raised_amounts(problem, first):
            if deadline is not None and time.monotonic() >= deadline:
                return found
            step = _step(problem, raised.pair[1])
            changed = planned(_with_more(problem, raised, step))
            after, proven = _admitted(changed), found.proven and changed.outcome == OPTIMAL
            found = msgspec.structs.replace(found, proven=proven)
            if len(after) > len(before):
                price = _price(problem.nodes[raised.place], raised, step, before, after)
                found = msgspec.structs.replace(found, prices=(*found.prices, price))
        return msgspec.structs.replace(found, complete=True)
    except (KeyboardInterrupt, SearchInterrupted):
        raise SearchInterrupted(found) from None


def _admitted(found: PlanOutcome) -> frozenset[str]:
    workloads = found.quota.workloads if found.quota is not None else ()
    return frozenset(f"{one.namespace}/{one.name}" for one in workloads if one.outcome == "Admitted")


def _price(
    holder: QuotaHolder, raised: _RaisedAmount, step: int, before: frozenset[str], after: frozenset[str]
) -> QuotaPrice:
    flavor, resource = raised.pair
    return QuotaPrice(
        owner=holder.name,
        cohort=holder.is_cohort,
        field=raised.field,
        flavor=flavor,
        resource=resource,
        more=written_amount(resource, step),
        admitted=tuple(sorted(after - before)),
        lost=tuple(sorted(before - after)),
    )


def _raised_amounts(problem: QuotaProblem, found: PlanOutcome) -> Iterator[_RaisedAmount]:
    """Yield what may be raised, first what most workloads lack."""
    admissions = found.quota.admissions if found.quota is not None else {}
    ledger = QuotaLedger(problem, admissions)
    lacking: Counter[tuple[int, FlavorResource]] = Counter()
    for place, workload in enumerate(problem.workloads):
        if place not in admissions and workload.queue is not None and not workload.problem and not workload.grant:
            lacking.update((workload.queue, pair) for pair in _short_pairs(ledger, workload))
    seen: set[_RaisedAmount] = set()
    for (queue, pair), _ in sorted(lacking.items(), key=lambda item: (-item[1], item[0])):
        for place in problem.path(queue):
            holder = problem.nodes[place]
            fields: Sequence[tuple[QuotaField, Mapping[FlavorResource, int]]] = (
                ("nominalQuota", holder.nominal),
                ("borrowingLimit", holder.borrowing_limit),
            )
            for name, amounts in fields:
                raised = _RaisedAmount(place, name, pair)
                if pair in amounts and raised not in seen:
                    seen.add(raised)
                    yield raised


def _short_pairs(ledger: QuotaLedger, workload: QuotaWorkload) -> set[FlavorResource]:
    """What the workload lacks beside the plan, with any choice of flavors."""
    found = set[FlavorResource]()
    for one in workload.pod_sets:
        for choice in one.choices:
            count = one.count if one.minimum is None else one.minimum
            found.update(short.pair for short in ledger.shortages(workload, one.usage(choice, count)))
    return found


def _step(problem: QuotaProblem, resource: str) -> int:
    pod_sets = (one for workload in problem.workloads for one in workload.pod_sets)
    return step_of(resource, (one.charge.get(resource, 0) for one in pod_sets))


def _with_more(problem: QuotaProblem, raised: _RaisedAmount, step: int) -> QuotaProblem:
    holder = problem.nodes[raised.place]
    if raised.field == "nominalQuota":
        holder = replace(holder, nominal=_more(holder.nominal, raised.pair, step))
    else:
        holder = replace(holder, borrowing_limit=_more(holder.borrowing_limit, raised.pair, step))
    nodes = (*problem.nodes[: raised.place], holder, *problem.nodes[raised.place + 1 :])
    return replace(problem, nodes=nodes)


def _more(amounts: Mapping[FlavorResource, int], pair: FlavorResource, step: int) -> dict[FlavorResource, int]:
    return {**amounts, pair: amounts[pair] + step}

"""Workloads and quota as rows of tables, and as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..models.formats.errors import plural
from .tables import display_names

if TYPE_CHECKING:
    from ..models.results.quota import MissingQuota, QuotaDocument, QuotaPrice, WorkloadQuota

Row: TypeAlias = tuple[object, ...]
WORKLOAD_HEADERS = (
    "workload", "queue", "priority", "state", "cycle", "charge", "flavors", "placed", "nodes", "reason", "message",
)  # fmt: skip
STRANDED_HEADERS = ("admitted, cannot be placed", "pods", "why")
FLOW_HEADERS = ("queue", "flavor", "node", "pods")
NOWHERE = "cannot be placed"
_WIDE = ("charge", "nodes", "message")
QUOTA_HEADERS = ("node", "kind", "flavor", "resource", "nominal", "used", "borrowed", "available", "lendable")
EVICTION_HEADERS = ("workload", "cycle", "reason", "message")
LIMIT_HEADERS = ("waits", "alike", "lacks", "change of", "field", "amounts")
PRICE_HEADERS = ("more", "of", "field", "admits", "workloads", "loses")
JOINT_HEADERS = ("more for the joint plan", *PRICE_HEADERS[1:])


def workload_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row a workload, under ``WORKLOAD_HEADERS``."""
    placement = document.placement
    placed = {(one.namespace, one.name): one for one in placement.workloads} if placement else {}
    for one in document.workloads:
        place = one.cluster_queue or one.queue
        cycle = "" if one.cycle is None else one.cycle
        name = f"{one.namespace}/{one.name}"
        own = placed.get((one.namespace, one.name))
        part, nodes = (f"{own.placed}/{own.asked}", display_names(list(own.nodes))) if own else ("", "")
        quota = one.state, cycle, _charge(one), _flavors(one)
        yield name, place, one.priority, *quota, part, nodes, one.reason, one.message


def _charge(one: WorkloadQuota) -> str:
    parts = [(charged.pod_set, charged.count, charged.requests) for charged in one.charge]
    parts = [(made.pod_set, made.count, made.usage) for made in one.assignments] or parts
    return "; ".join(
        f"{name} x{count}: {', '.join(f'{resource} {amount}' for resource, amount in amounts.items())}"
        for name, count, amounts in parts
    )


def _flavors(one: WorkloadQuota) -> str:
    """Flavors once each, by pod set if they differ."""
    sets = [(made.pod_set, ", ".join(dict.fromkeys(made.flavors.values()))) for made in one.assignments]
    if len({flavors for _, flavors in sets}) <= 1:
        return sets[0][1] if sets else ""
    return "; ".join(f"{name}: {flavors}" for name, flavors in sets)


def quota_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row a flavor and resource of a cohort or queue, under ``QUOTA_HEADERS``."""
    for one in document.quota:
        kind = "cohort" if one.cohort else "queue"
        amounts = one.nominal, one.used, one.borrowed, one.available or "", one.lendable
        yield one.node, kind, one.flavor, one.resource, *amounts


def eviction_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row an eviction, in the order of cycles, under ``EVICTION_HEADERS``."""
    found = [(gone.cycle, f"{one.namespace}/{one.name}", gone) for one in document.workloads for gone in one.evictions]
    for cycle, name, gone in sorted(found, key=lambda row: row[:2]):
        yield name, cycle, gone.preempted or gone.reason, gone.message


def flows(document: QuotaDocument) -> Iterator[tuple[str, str, str, int]]:
    """Pods of workloads with quota that were planned: the queue, the flavor, the node or that there is none, pods."""
    known = {(one.namespace, one.name): one for one in document.workloads}
    for one in document.placement.workloads if document.placement else ():
        workload = known[one.namespace, one.name]
        place = workload.cluster_queue, _flavors(workload) or "no flavor"
        for node, pods in one.nodes.items():
            yield *place, node, pods
        if one.placed < one.asked:
            yield *place, NOWHERE, one.asked - one.placed


def stranded_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row a workload that has quota and no place, under ``STRANDED_HEADERS``."""
    for one in document.placement.workloads if document.placement else ():
        if one.placed < one.asked:
            why = "; ".join(dict.fromkeys(reason.message for reason in one.reasons)) or "no reason was found in time"
            yield f"{one.namespace}/{one.name}", one.asked, why


def limit_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row a change that admits a workload, or a row for one that none admits, under ``LIMIT_HEADERS``."""
    for one in document.limits.workloads if document.limits else ():
        name, alike = one.workloads[0], len(one.workloads)
        lacks = "; ".join(map(missing_text, one.missing))
        for change in one.changes:
            amounts = ", ".join(
                f"{made.resource} in {made.flavor} {made.before} -> {made.after}" for made in change.amounts
            )
            yield name, alike, lacks, _owner(change.owner, change.cohort), change.field, amounts
        if not one.changes:
            yield name, alike, lacks, "", "", "no more quota of one owner helps"


def price_rows(document: QuotaDocument) -> Iterator[Row]:
    """One row an amount of which more admits workloads, under ``PRICE_HEADERS``."""
    yield from _price_rows(document.limits.prices if document.limits else ())


def joint_rows(document: QuotaDocument) -> Iterator[Row]:
    """The same of joint plans, under ``JOINT_HEADERS``."""
    yield from _price_rows(document.joint.prices if document.joint else ())


def _price_rows(prices: Iterable[QuotaPrice]) -> Iterator[Row]:
    for one in prices:
        what = f"{one.more} {one.resource} in {one.flavor}"
        names, lost = ", ".join(one.admitted), ", ".join(one.lost)
        yield what, _owner(one.owner, one.cohort), one.field, len(one.admitted), names, lost


def _owner(name: str, cohort: bool) -> str:
    return f"{'Cohort' if cohort else 'ClusterQueue'} {name}"


def missing_text(short: MissingQuota) -> str:
    """Which amount is missing, and where there is no more."""
    left = f"{short.available} of {short.asked} left"
    return f"{short.resource} in {short.flavor}: {left} by {short.field} of {_owner(short.node, short.cohort)}"


FRAMES: Mapping[str, tuple[tuple[str, ...], Callable[[QuotaDocument], Iterable[Row]]]] = {
    "workloads": (WORKLOAD_HEADERS, workload_rows),
    "quota": (QUOTA_HEADERS, quota_rows),
    "evictions": (EVICTION_HEADERS, eviction_rows),
    "stranded": (STRANDED_HEADERS, stranded_rows),
    "limits": (LIMIT_HEADERS, limit_rows),
    "prices": (PRICE_HEADERS, price_rows),
    "joint": (JOINT_HEADERS, joint_rows),
}


def tables(document: QuotaDocument, *, wide: bool) -> Iterator[tuple[tuple[str, ...], list[list[str]]]]:
    """Tables for printing that are not empty; charges, nodes and messages only if it is ``wide``."""
    for headers, rows in FRAMES.values():
        kept = [index for index, name in enumerate(headers) if wide or name not in _WIDE]
        found = [[str(row[index]) for index in kept] for row in rows(document)]
        if found:
            yield tuple(headers[index] for index in kept), found


def summary(document: QuotaDocument) -> str:
    """One line: how many workloads have quota, and how the cycles ended."""
    states = Counter(one.state for one in document.workloads)
    has = states["admitted"] + states["quotaReserved"]
    gone = sum(len(one.evictions) for one in document.workloads)
    end = "the same states come back" if document.repeating else "nothing more happens"
    ended = end if document.settled or document.repeating else "not settled"
    workloads = plural(len(document.workloads) - states["finished"], "workload")
    waits = f"{states['pending']} {'waits' if states['pending'] == 1 else 'wait'}"
    counts = f"{has} of {workloads} {'has' if has == 1 else 'have'} quota, {waits}"
    stranded = sum(1 for _ in stranded_rows(document))
    told = f"; {stranded} admitted, cannot be placed" if stranded else ""
    return f"{counts}, {plural(gone, 'eviction')}; {plural(document.cycles_run, 'cycle')}, {ended}{told}"


def reasons(document: QuotaDocument) -> Iterator[str]:
    """Why workloads wait, queues that admit nothing, and the notices."""
    for one in document.workloads:
        if one.reason or one.message:
            yield f"{one.namespace}/{one.name}: {one.reason}: {one.message}"
    for name, text in document.inactive.items():
        yield f"ClusterQueue {name}: {text}"
    for workload, _, because in stranded_rows(document):
        yield f"{workload} is admitted and cannot be placed: {because}"
    yield from (*document.notices, *(document.placement.notices if document.placement else ()))
    if document.limits and not document.limits.complete:
        undecided = sum(not one.complete for one in document.limits.workloads)
        about = f"all changes for {undecided} of {plural(len(document.limits.workloads), 'kind')} of workloads"
        yield f"the time limit left no time to judge {about if undecided else 'all prices'}"
    yield from joint_lines(document)


def joint_lines(document: QuotaDocument) -> Iterator[str]:
    """What the joint plan admits, and how sure its prices are."""
    joint = document.joint
    if not joint:
        return
    plans = "plans are proven" if joint.proven else "not all plans are proven"
    waits = f"{joint.waiting} more {'waits' if joint.waiting == 1 else 'wait'}"
    yield f"the joint plan admits {plural(joint.admitted, 'workload')}, and {waits}; {plans}"
    if not joint.complete:
        yield "the time limit left no time for all prices of the joint plan"

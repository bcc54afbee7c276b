"""The head of a report: what came out in one sentence, and the facts by which it can be trusted and found again."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from ..models.formats.errors import plural
from . import capacity, comparison, inventory, plan, provision, quota, study

if TYPE_CHECKING:
    from ..models.cluster.cluster import Cluster

GOOD, OPEN, BAD = "good", "open", "bad"


class ReportVerdict(NamedTuple):
    """A sentence, how good the news is, and facts with their names."""

    sentence: str
    tone: str
    facts: list[tuple[str, str]]


def verdict_of(document: Any, cluster: Cluster | None, seconds: Any = None) -> ReportVerdict:
    """The verdict of any document."""
    made = _VERDICTS.get(document.__class__.__name__)
    sentence, tone = made(document) if made else (document.kind, OPEN)
    return ReportVerdict(sentence[:1].upper() + sentence[1:], tone, [*_facts(document), *_input_facts(cluster)])


def _allocated(document: Any) -> tuple[str, str]:
    done = sum(unit.outcome == "Allocated" for unit in document.units)
    tones = {"Allocated": GOOD, "Unknown": OPEN}
    return f"{done} of {plural(len(document.units), 'unit')} allocated", tones.get(document.outcome, BAD)


def _planned(document: Any) -> tuple[str, str]:
    placed = document.placed == document.asked and not document.unread
    tone = GOOD if placed else OPEN if document.outcome in ("Feasible", "Unknown") else BAD
    return plan.summary(document), tone


def _compared(document: Any) -> tuple[str, str]:
    return "; ".join(comparison.comparison_summary(document)), GOOD if document.same_verdict else BAD


def _plans_compared(document: Any) -> tuple[str, str]:
    return comparison.plan_comparison_summary(document), BAD if document.beaten else GOOD


def _room(document: Any) -> tuple[str, str]:
    return capacity.summary(document), GOOD if document.total.fits or document.total.unbounded else BAD


def _room_in_queues(document: Any) -> tuple[str, str]:
    fits = any(one.both.fits or one.both.unbounded for one in document.queues)
    return capacity.queue_summary(document), GOOD if fits else BAD


def _explained(document: Any) -> tuple[str, str]:
    if document.group is not UNSET:
        answers = (f"{one.question} {one.answer}" for one in document.group.trials)
        shade = {"Allocated": GOOD, "Unknown": OPEN}.get(document.outcome, BAD)
        return f"{document.group.kind} {document.group.name}: {', '.join(answers)}", shade
    failed = sum(unit.outcome != "Allocated" for unit in document.units)
    return f"{failed} of {plural(len(document.units), 'unit')} cannot be allocated", BAD if failed else GOOD


def _shown(document: Any) -> tuple[str, str]:
    return inventory.summary(document), GOOD if document.complete else OPEN


def _placed(document: Any) -> tuple[str, str]:
    return plural(sum(len(one.instances) for one in document.topologies), "topology instance"), GOOD


def _provisioned(document: Any) -> tuple[str, str]:
    return provision.summary(document), GOOD


def _with_quota(document: Any) -> tuple[str, str]:
    return quota.summary(document), GOOD if document.settled else OPEN


def _swept(document: Any) -> tuple[str, str]:
    return f"Sweep of {document.sweep}: {plural(len(document.points), 'size')}", GOOD if document.same_verdict else BAD


def _studied(document: Any) -> tuple[str, str]:
    return study.summary(document), BAD if any(one.error for one in document.variants) else GOOD


_VERDICTS = {
    "AllocationDocument": _allocated,
    "PlanDocument": _planned,
    "ComparisonDocument": _compared,
    "PlanComparisonDocument": _plans_compared,
    "CapacityDocument": _room,
    "QueueCapacityDocument": _room_in_queues,
    "ExplanationDocument": _explained,
    "InventoryDocument": _shown,
    "TopologyDocument": _placed,
    "SweepDocument": _swept,
    "ProvisionDocument": _provisioned,
    "QuotaDocument": _with_quota,
    "StudyDocument": _studied,
}


def _facts(document: Any) -> Iterator[tuple[str, str]]:
    """What the document says of itself, as far as its kind has it."""
    if hasattr(document, "placed"):
        yield "Placed", f"{document.placed} of {document.asked}"
    bought = getattr(document, "bought", ())
    if bought:
        cost = sum(Decimal(str(one.cost)) for one in bought)
        yield "Cost", f"{cost:f} for {plural(sum(one.count for one in bought), 'node')}"
    for one in getattr(document, "objective", ()):
        state = "proven" if one.proven else "not proven"
        bound = "" if one.bound == one.value else f", bound {_number(one.bound)}"
        gap = f", gap {one.gap:.2%}" if one.gap else ""
        yield f"Stage {one.stage}", f"{_number(one.value)}{bound}{gap}, {state}"
    for name, words in (("outcome", "Outcome"), ("engine", "Engine"), ("cel_errors", "CEL errors")):
        if getattr(document, name, ""):
            yield words, str(getattr(document, name))
    for name, words in (("verified", "Verified"), ("certified", "Certified"), ("complete", "Complete")):
        if hasattr(document, name):
            yield words, "yes" if getattr(document, name) else "no"
    gates = getattr(document, "feature_gates", {})
    off = [name for name, on in gates.items() if not on]
    if gates:
        yield "Feature gates", f"off: {', '.join(off)}" if off else "all on"


def _number(value: Any) -> str:
    return "none known" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _input_facts(cluster: Cluster | None) -> Iterator[tuple[str, str]]:
    if cluster is not None:
        counts = {name: count for name, count in cluster.summary().items() if count}
        yield "Input", ", ".join(f"{count} {_noun(name) if count == 1 else name}" for name, count in counts.items())
        yield "Input hash", cluster.input_hash()


def _noun(name: str) -> str:
    """One of what a summary counts."""
    return name.removesuffix("es" if name.endswith("classes") else "s")

"""Entries among the reasons: which one a reason is about, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...encoders.cel_devices import lowered
from ...encoders.collapsed import MergedConstraint, MergedRelation
from ...encoders.composition import ENCODERS
from ...encoders.lots import collapse
from ...encoders.lowering.lower import NotLoweredError
from ...encoders.lowering.sums import FALSE
from ...encoders.lowering.words import in_words
from ...encoders.merging import merge
from ...encoders.model import AllocationModel
from ...encoders.related_items import items_of
from ...encoders.wording import entry_label
from ...models.entries import TopologyAsk
from ...models.topology_asks import FIXED
from ...problem.cel_condition import CelCondition
from ...problem.justification import Justification
from ...problem.records import Constraint
from ...problem.token_condition import TokenCondition
from ...problem.topology import TopologyCondition
from ...problem.usable import usable
from ..proofs.wording import plural

if TYPE_CHECKING:
    from .case import Case
    from .sentences import Sentences

# Longer expressions are cut, and what they mean in words.
_MOST_LETTERS = 100
_MOST_MEANING = 400

Entry = MergedConstraint | MergedRelation


def entry_of(case: Case, reason: Justification) -> Entry:
    """Find the entry that a reason is about."""
    return next(one for one in _entries(case) if (one.claims[0], one.position) == (reason.claim, reason.subject))


def covered(case: Case, reason: Justification) -> tuple[int, ...]:
    """List the branches that the entry covers which a reason is about; none for other reasons."""
    return entry_of(case, reason).branches if reason.id in _TELLING else ()


def _entries(case: Case) -> tuple[Entry, ...]:
    merged = case.model.merged
    return (*merged.constraints, *merged.relations)


def claims_of(case: Case, entry: Entry) -> tuple[int, ...]:
    """List the equal claims that each have the entry, or those that it spans."""
    if isinstance(entry, MergedConstraint) or entry.copies == 1:
        return entry.claims
    merged = case.model.merged
    return merged.requests[merged.branches[entry.branches[0]].request].claims


def named(entry: Entry) -> str:
    """Name an entry, with what it compares or its kind."""
    compared = _compared(entry)
    attribute = f" {compared.attribute}" if compared else ""
    return f"{entry_label(entry.record)} ({_kind(entry)}{attribute})"


def _kind(entry: Entry) -> str:
    return entry.record.kind if isinstance(entry, MergedConstraint) else entry.record.id


def _compared(entry: Entry) -> Constraint | None:
    """Return what an entry compares, None if it is about something else."""
    if isinstance(entry, MergedConstraint):
        return entry.record
    condition = entry.record.condition
    return condition.constraint if isinstance(condition, TokenCondition) else None


def about_entry(words: Sentences, reason: Justification) -> str:
    """Say what the name of an entry does not: devices without a value, an expression and what it means, a shape."""
    return _TELLING[reason.id](words, entry_of(words.case, reason))


def _nothing(_words: Sentences, _entry: Entry) -> str:
    return ""


def _comparison(words: Sentences, entry: Entry) -> str:
    record = _compared(entry)
    assert record is not None
    # The name of a relation does not say what it compares.
    attribute = "" if isinstance(entry, MergedConstraint) else f" {record.attribute}"
    return f"{attribute}{_demand(record)}{_lacking(words, entry, record)}"


def _demand(record: Constraint) -> str:
    """Say what is asked of values beyond what the kind says (SEM-4, SEM-6)."""
    if record.overlap:
        return ": no value may be on all of them"
    return f": at least {record.min_size} values in common" if record.min_size > 1 else ""


def _lacking(words: Sentences, entry: Entry, record: Constraint) -> str:
    """Count the devices without a value."""
    merged = words.case.model.merged
    lacking: set[int] = set()
    errors: list[str] = []
    for branch in (merged.branches[number] for number in entry.branches):
        demand = branch.demands[0]
        missing = [device for device in words.meant(branch) if device not in record.tokens[demand]]
        failed = record.errors.get(demand, {})
        errors += [failed[device].detail for device in missing if device in failed]
        lacking.update(missing)
    if not lacking:
        return ""
    return f" ({plural(len(lacking), 'device')} without a value{': ' + errors[0] if errors else ''})"


def _shape(words: Sentences, entry: Entry) -> str:
    condition = _relation(entry).record.condition
    assert isinstance(condition, TopologyCondition)
    ask = condition.ask
    branches = (words.case.model.merged.branches[number] for number in entry.branches)
    lost = {device for branch in branches for device in words.meant(branch) if device not in condition.homes}
    without = f" ({plural(len(lost), 'device')} without a place in it)" if lost else ""
    return f": a {ask.shape}{_extent(ask)} in {ask.name}{without}"


def _extent(ask: TopologyAsk) -> str:
    """Say how large a shape may be."""
    if ask.size:
        turning = ", as it stands," if ask.orientation == FIXED else ""
        return f" of {'x'.join(map(str, ask.size))}{turning}"
    if ask.level:
        return f" under one {ask.level}"
    return "" if ask.max_distance is None else f" of devices at most {plural(ask.max_distance, 'step')} apart"


def _relation(entry: Entry) -> MergedRelation:
    assert isinstance(entry, MergedRelation)
    return entry


def _expression(words: Sentences, entry: Entry) -> str:
    relation = _relation(entry)
    condition = relation.record.condition
    assert isinstance(condition, CelCondition)
    text = _cut(" ".join(condition.expression.text.split()), _MOST_LETTERS)
    meaning = _meaning(words.case, relation)
    return f": {text}" + (f"; {_cut(meaning, _MOST_MEANING)}" if meaning else "")


def _meaning(case: Case, relation: MergedRelation) -> str:
    """Say the formula of an expression over the devices that could be had one by one; nothing if it has none."""
    candidates = usable(case.problem, case.in_use)
    merged = merge(case.problem, case.in_use, candidates)
    own = next((one for one in merged.relations if one.record.position == relation.position), None)
    if own is None or own.record.claims != relation.claims:
        return ""
    model = AllocationModel(collapse(merged, ENCODERS))
    items = items_of(model, own)
    try:
        formulas, true, _ = lowered(own, items)
    except NotLoweredError:
        return ""
    if true == FALSE:
        return "true of no devices that could be had"
    names = case.names.devices
    return f"that is: {in_words(formulas, true, lambda item: names[items.devices[item]][2])}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


_TELLING: dict[str, Callable[[Sentences, Entry], str]] = {
    "matchAttribute": _comparison,
    "distinctAttribute": _comparison,
    "topology": _shape,
    "cel": _expression,
    "predicate": _nothing,
}

"""Entries among the reasons: which one a reason is about, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...encoders.cel_devices import lowered
from ...encoders.collapsed import MergedConstraint, MergedRelation
from ...encoders.composition import ENCODERS
from ...encoders.lots import collapse
from ...encoders.lowering.lower import NotLoweredError
from ...encoders.lowering.words import in_words
from ...encoders.merging import merge
from ...encoders.model import AllocationModel
from ...encoders.related_items import items_of
from ...encoders.wording import entry_label
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
    merged = case.model.merged
    entries: tuple[Entry, ...] = (*merged.constraints, *merged.relations)
    return next(one for one in entries if one.claims[0] == reason.claim and one.position == reason.subject)


def claims_of(case: Case, entry: Entry) -> tuple[int, ...]:
    """List the equal claims that each have the entry, or those that it spans."""
    if isinstance(entry, MergedConstraint) or entry.copies == 1:
        return entry.claims
    merged = case.model.merged
    return merged.requests[merged.branches[entry.branches[0]].request].claims


def named(entry: Entry) -> str:
    """Name an entry, with what it compares or its kind."""
    label = entry_label(entry.record)
    if isinstance(entry, MergedConstraint):
        return f"{label} ({entry.record.kind} {entry.record.attribute})"
    return f"{label} ({entry.record.id})"


def about_entry(words: Sentences, reason: Justification) -> str:
    """Say what the name of an entry does not: devices without a value, an expression and what it means, a shape."""
    entry = entry_of(words.case, reason)
    if isinstance(entry, MergedConstraint):
        return _lacking(words, entry, entry.record)
    return _TELLING.get(entry.record.id, _nothing)(words, entry)


def _nothing(_words: Sentences, _relation: MergedRelation) -> str:
    return ""


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


def _compared(words: Sentences, relation: MergedRelation) -> str:
    condition = relation.record.condition
    assert isinstance(condition, TokenCondition)
    return f" {condition.constraint.attribute}{_lacking(words, relation, condition.constraint)}"


def _shape(_words: Sentences, relation: MergedRelation) -> str:
    condition = relation.record.condition
    assert isinstance(condition, TopologyCondition)
    size = "x".join(map(str, condition.ask.size or ()))
    return f": a {condition.ask.shape}{' of ' + size if size else ''} in {condition.ask.name}"


def _expression(words: Sentences, relation: MergedRelation) -> str:
    condition = relation.record.condition
    assert isinstance(condition, CelCondition)
    text = _cut(" ".join(condition.expression.text.split()), _MOST_LETTERS)
    meaning = _meaning(words.case, relation)
    return f": {text}" + (f"; that is: {_cut(meaning, _MOST_MEANING)}" if meaning else "")


def _meaning(case: Case, relation: MergedRelation) -> str:
    """Say the formula of an expression over the devices that could be taken at all; nothing if it has none."""
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
    names = case.names.devices
    return in_words(formulas, true, lambda item: names[items.devices[item]][2])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


_TELLING: dict[str, Callable[[Sentences, MergedRelation], str]] = {
    "matchAttribute": _compared,
    "distinctAttribute": _compared,
    "topology": _shape,
    "cel": _expression,
}

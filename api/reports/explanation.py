"""An explanation as lines for people, and as rows of a table."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from ..models.formats.errors import plural
from ..models.results.common import filter_words
from .tables import display_names, display_unit

if TYPE_CHECKING:
    from ..models.results.common import Reason, RejectedDevices
    from ..models.results.explanation import (
        DevicesForRequest,
        ExplainedGroup,
        ExplainedNodes,
        ExplainedUnit,
        ExplanationDocument,
        GroupTrial,
    )

_WORDS = {"inUse": "in use by claim", "deviceNode": "for other nodes"}
COLUMNS = ("pod", "claims", "outcome", "nodes", "what", "relaxation", "id", "claim", "message", "proof")


def lines(document: ExplanationDocument) -> Iterator[str]:
    """Tell of every unit: that it fits, or why it does not and what would help.

    Units that differ in their names alone, such as the pods of a Deployment, are told once, with their number.
    """
    if document.group is not msgspec.UNSET:
        yield from _group_lines(document.group)
    alike: dict[tuple[str, ...], list[ExplainedUnit]] = {}
    for number, unit in enumerate(document.units):
        said = () if unit.outcome == "Allocated" else tuple(_nameless_lines(unit))
        alike.setdefault(said or (str(number),), []).append(unit)
    for unit, *others in alike.values():
        if unit.outcome == "Allocated":
            yield f"{display_unit(unit.pod, unit.claims)}: fits on {unit.node or 'any node'}"
        else:
            more = f" and {len(others)} more" if others else ""
            yield f"{display_unit(unit.pod, unit.claims)}{more}: {unit.outcome}"
            yield from _failure_lines(unit)


_STATES = {
    "empty": "on the empty cluster",
    "now": "on this cluster",
    "evictions": "after evictions",
    "moves": "after moves",
}
_MOST_REASONS = 5


def _group_lines(group: ExplainedGroup) -> Iterator[str]:
    """Tell of each state of the cluster whether the group can be scheduled in it, and why or after what."""
    now = next(one for one in group.trials if one.question == "now")
    part = "" if group.kind != "CompositePodGroup" else f" of its group{'s' if group.minimum != 1 else ''}"
    need = "all of them at once" if group.minimum is None else f"at least {group.minimum}{part} at once"
    domain = f", in one domain of {group.domain}" if group.domain else ""
    there = f"{plural(now.wait, 'member')} wait{'s' if now.wait == 1 else ''}, {now.run} run"
    yield f"{group.kind} {group.namespace}/{group.name}: {there}; needs {need}{domain}"
    for one in group.trials:
        yield f"  {_STATES[one.question]}: {_display_answer(one)}"
        yield from (f"    {line}" for line in _trial_lines(one))


def _display_answer(trial: GroupTrial) -> str:
    if trial.answer == "notNeeded":
        return "not needed"
    places = f"{trial.placed} of {trial.wait} find a place"
    if trial.answer == "yes":
        return f"yes, {places}" if trial.wait else "yes, all members run"
    if trial.answer == "unknown":
        return "undecided" + (f", at most {trial.most} of {trial.wait} find a place" if trial.most is not None else "")
    return f"no, proven ({trial.proof})"


def _trial_lines(trial: GroupTrial) -> Iterator[str]:
    for one in trial.victims:
        yield f"evict pod {one.namespace}/{one.name} of priority {one.priority} from {one.node}"
    for step in trial.steps:
        if step.action == "move" or (step.action == "evict" and not trial.victims):
            target = f" to {step.node}" if step.action == "move" else ""
            yield f"{step.action} pod {step.namespace}/{step.name} from {step.source}{target}"
    if trial.stages:
        said = (f"{one.stage} {one.value}{', proven' if one.proven else ''}" for one in trial.stages)
        yield f"least: {'; '.join(said)}"
    yield from trial.reasons[:_MOST_REASONS]
    if len(trial.reasons) > _MOST_REASONS:
        yield f"{len(trial.reasons) - _MOST_REASONS} more reasons"


def _failure_lines(unit: ExplainedUnit) -> Iterator[str]:
    yield from (f"  {reason.message}" for reason in unit.reasons)
    for nodes in unit.failures:
        yield from _node_lines(nodes)
    yield from _relaxation_lines(unit)


def _nameless_lines(unit: ExplainedUnit) -> Iterator[str]:
    """What is told of a unit, with numbers in place of the names of its claims and its own."""
    yield unit.outcome
    names = [*unit.claims, *([unit.pod] if unit.pod else [])]
    numbers = {name: number for number, name in enumerate(names)}
    # The longest first: one name may begin as another does.
    pattern = re.compile("|".join(rf"{re.escape(name)}(?![\w.-])" for name in sorted(names, key=len, reverse=True)))
    for line in _failure_lines(unit):
        yield pattern.sub(lambda found: f"\0{numbers[found[0]]}", line) if names else line


def _node_lines(nodes: ExplainedNodes) -> Iterator[str]:
    yield f"  on {display_names(nodes.names, nodes.nodes)}:"
    yield from (f"    {_display_request(request)}" for request in nodes.requests)
    doubt = ", perhaps not all of them needed" if len(nodes.reasons) > 1 and not nodes.minimal else ""
    audited = ", audited" if nodes.proof == "audited" else ""
    yield f"    impossible{' together' if len(nodes.reasons) > 1 else ''}{audited}{doubt}:"
    yield from (f"      {reason.message}" for reason in nodes.reasons)
    yield from (f"    note: {note}" for note in nodes.notes)


def _display_request(request: DevicesForRequest) -> str:
    head = f"request {request.request} of claim {request.claim} needs {request.needed}"
    devices = plural(request.devices, "device")
    matching = f"{request.matching} of {devices} match class {request.device_class}"
    summary = [*_display_fallen(request.fallen), f"{request.free} free"] if request.matching else []
    return f"{head}: {matching}" + (f": {', '.join(summary)}" if summary else "")


def _display_fallen(rows: tuple[RejectedDevices, ...]) -> Iterator[str]:
    """Count devices by filter, with all details together."""
    groups: dict[str, list[RejectedDevices]] = defaultdict(list)
    for row in rows:
        groups[row.filter].append(row)
    for filter_, members in groups.items():
        details = ", ".join(row.detail for row in members if row.detail)
        summary = _WORDS.get(filter_, filter_words(filter_))
        yield " ".join(filter(None, (f"{sum(row.devices for row in members)} {summary}", details)))


def _relaxation_lines(unit: ExplainedUnit) -> Iterator[str]:
    if unit.relaxations:
        yield "  it would fit with any of these:"
    for relaxation in unit.relaxations:
        changes = ", and ".join(change.message for change in relaxation.changes)
        yield f"    {changes} (cost {relaxation.cost}, on {relaxation.node or 'any node'})"
    if not unit.relaxations and unit.failures:
        yield "  no change of one or two things was found that would help"
    if not unit.complete:
        yield "  the search stopped early: there may be more"


def rows(document: ExplanationDocument) -> Iterator[tuple[object, ...]]:
    """One row a reason and a change as data, under ``COLUMNS``; changes of one relaxation have its number.

    Of a group each reason, eviction and move is a row, with the state of the cluster as ``id``.
    """
    if document.group is not msgspec.UNSET:
        yield from _group_rows(document.group)
    for unit in document.units:
        head = (unit.pod, list(unit.claims), unit.outcome)
        if unit.outcome == "Allocated":
            yield (*head, [unit.node] if unit.node else [], None, None, None, None, None, None)
        blocks: list[tuple[Sequence[str], str, int | None, Sequence[Reason], str | None]] = [
            ((), "reason", None, unit.reasons, None),
            *((nodes.names, "reason", None, nodes.reasons, str(nodes.proof)) for nodes in unit.failures),
            *(
                ([one.node] if one.node else [], "relaxation", number, one.changes, None)
                for number, one in enumerate(unit.relaxations, 1)
            ),
        ]
        for names, what, number, entries, proof in blocks:
            for one in entries:
                yield (*head, list(names), what, number, one.id, one.claim or None, one.message, proof)


def _group_rows(group: ExplainedGroup) -> Iterator[tuple[object, ...]]:
    name = f"{group.kind} {group.namespace}/{group.name}"
    for trial in group.trials:
        for message in tuple(_trial_lines(trial)) or (_display_answer(trial),):
            yield (name, [], trial.answer, [], "group", None, trial.question, None, message, None)

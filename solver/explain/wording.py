"""Reasons in words: the sentence of each reason of a conflict, with the devices and amounts that it is about.

Which claims hold these devices is found here, too: a relaxation may free them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from ...encoders import symmetry
from ...encoders.constraints import ENCODERS
from ...encoders.constraints.relations import lower_relation, related_items
from ...encoders.expressions.formula_nodes import FALSE
from ...encoders.expressions.formulas import formula_text
from ...encoders.expressions.values import NotLoweredError
from ...encoders.model import AllocationModel, entry_label
from ...models.formats.errors import plural
from ...models.kubernetes.extensions import TopologyRequest
from ...models.kubernetes.meta import DeviceId, ObjectKey
from ...models.kubernetes.quantity import display_amount
from ...models.results.common import Reason
from ...models.topology.places import FIXED_ORIENTATION
from ...problem.conditions import CelCondition, TokenCondition
from ...problem.filters import usable_devices
from ...problem.messages import Justification, claim_text
from ...problem.obstacles import Obstacle
from ...problem.problem import Constraint
from ...problem.topology import TopologyCondition
from ..engines.outcome import SELECTOR_FILTERS
from ..verification.reasons import HeldReason
from .conflict import REQUEST_REASONS, GuardedProblem, obstacle_of

# More devices than these are only counted.
_MAX_DEVICE_NAMES = 4
# Longer expressions are cut, and longer meanings of them.
_MAX_EXPRESSION_LETTERS = 100
_MAX_MEANING_LETTERS = 400


class ReasonWording:
    """Words for the reasons of one conflict."""

    def __init__(self, guarded: GuardedProblem, reasons: Sequence[Justification]) -> None:
        self.guarded = guarded
        self._names = guarded.names
        self.reasons = tuple(reasons)

    def all(self) -> tuple[Reason, ...]:
        """Write every reason."""
        return tuple(map(self.of, self.reasons))

    def of(self, reason: Justification) -> Reason:
        """Write a reason."""
        head = self._names.fill(reason.message, claim=reason.claim, pool=reason.pool)
        claim = "" if reason.claim is None else claim_text(self._names.claims[reason.claim])
        found, details = obstacle_of(reason), ""
        if found is not None:
            details = _DETAILS_OF_OBSTACLE.get(reason.id, _stopped_device_names)(self, *found)
        elif reason.id in _DETAILS_OF_JOINT_REASON:
            details = _DETAILS_OF_JOINT_REASON[reason.id](self, reason)
        return Reason(reason.id, claim, head + details)

    @cached_property
    def requested_alternatives(self) -> tuple[symmetry.MergedAlternative, ...]:
        """The ways to serve the requests that are among the reasons."""
        merged = self.guarded.model.merged
        requested = {reason.subject for reason in self.reasons if reason.id in REQUEST_REASONS}
        return tuple(alternative for alternative in merged.alternatives if alternative.request in requested)

    @cached_property
    def alternatives(self) -> tuple[symmetry.MergedAlternative, ...]:
        """The ways to serve those requests, and those whose devices an entry among the reasons needs, however many."""
        merged = self.guarded.model.merged
        wanted = {alternative.index for alternative in self.requested_alternatives}
        wanted.update(number for reason in self.reasons for number in covered_alternatives(self.guarded, reason))
        return tuple(alternative for alternative in merged.alternatives if alternative.index in wanted)

    def stopped_devices(self, alternative: int | None, obstacle: Obstacle) -> list[int]:
        """List the devices that the obstacle stops, less those that are not meant: other selectors rule them out."""
        others = SELECTOR_FILTERS if obstacle.filter not in SELECTOR_FILTERS else frozenset()
        named = {
            found[1] for reason in self.reasons if (found := obstacle_of(reason)) and reason.id in SELECTOR_FILTERS
        }
        every: set[int] = set()
        meant: set[int] = set()
        for one in self.alternatives:
            if alternative is None or alternative == one.index:
                of_device = self.guarded.obstacles.of[one.demands[0]]
                stopped = [device for device in one.candidates if obstacle in of_device[device]]
                every.update(stopped)
                meant.update(
                    device
                    for device in stopped
                    if not any(
                        found != obstacle and (found.filter in others or found in named) for found in of_device[device]
                    )
                )
        return sorted(meant or every)

    def detail(self, alternative: int | None, obstacle: Obstacle) -> str:
        """Return details about the first device that the obstacle stops, such as the error of an expression."""
        details = self.guarded.obstacles.details
        firsts = (one.demands[0] for one in self.alternatives if alternative is None or alternative == one.index)
        return next((details[demand, obstacle] for demand in firsts if (demand, obstacle) in details), "")

    def selected_devices(self, alternative: symmetry.MergedAlternative) -> list[int]:
        """List the devices that pass all selectors."""
        of_device = self.guarded.obstacles.of[alternative.demands[0]]
        return [
            device
            for device in alternative.candidates
            if not any(one.filter in SELECTOR_FILTERS for one in of_device[device])
        ]

    def devices(self, numbers: Sequence[int]) -> str:
        """Name devices, or the first few of many."""
        names = [self._names.devices[number][2] for number in numbers]
        if len(names) <= _MAX_DEVICE_NAMES:
            return ", ".join(names)
        return f"{', '.join(names[:_MAX_DEVICE_NAMES])} and {len(names) - _MAX_DEVICE_NAMES} more"


def _stopped_device_names(words: ReasonWording, alternative: int | None, obstacle: Obstacle) -> str:
    return f": {words.devices(words.stopped_devices(alternative, obstacle))}"


def _selector_details(words: ReasonWording, alternative: int | None, obstacle: Obstacle) -> str:
    count = plural(len(words.stopped_devices(alternative, obstacle)), "device")
    error = words.detail(alternative, obstacle)
    expression = " ".join(obstacle.expression.split())
    return f" rules out {count}: {_truncate(expression, _MAX_EXPRESSION_LETTERS)}" + (f" ({error})" if error else "")


def _obstacle_details(words: ReasonWording, alternative: int | None, obstacle: Obstacle) -> str:
    return f" ({words.detail(alternative, obstacle)}): {words.devices(words.stopped_devices(alternative, obstacle))}"


def _counter_details(words: ReasonWording, reason: Justification) -> str:
    counters, row = words.guarded.problem.counters, cast("int", reason.subject)
    set_name, counter = counters.names[row]
    sets = {one.name: one.counters or {} for one in words.guarded.view.pools[counters.pool_of_row[row]].counter_sets}
    return f": {display_amount(words.guarded.in_use.available[row])} of {sets[set_name][counter].value} left"


def _capacity_details(words: ReasonWording, reason: Justification) -> str:
    capacities, consumed = words.guarded.problem.capacities, words.guarded.in_use.consumed
    left = {
        device: f"{display_amount(capacities.totals[row] - consumed.get(row, 0))} of "
        f"{display_amount(capacities.totals[row])}"
        for device in sorted(
            {device for alternative in words.alternatives for device in words.selected_devices(alternative)}
        )
        for row in capacities.rows.get(device, ())
        if capacities.names[row] == reason.subject
    }
    first = next(iter(left), None)
    return "" if first is None else f": {left[first]} left of device {words.devices([*left])}"


_DETAILS_OF_OBSTACLE: dict[str, Callable[[ReasonWording, int | None, Obstacle], str]] = {
    "classSelector": _selector_details,
    "requestSelector": _selector_details,
    "capacity": _obstacle_details,
    "bindingConditions": _obstacle_details,
}


@dataclass(frozen=True, slots=True)
class ClaimHolding:
    """A claim with those of its devices that matter; ``more``: it has others too."""

    claim: ObjectKey
    devices: tuple[DeviceId, ...]
    more: bool


def holders_of_devices(words: ReasonWording, obstacle: Obstacle) -> tuple[ClaimHolding, ...]:
    """Find the claim that has these devices for itself."""
    stopped = words.stopped_devices(None, obstacle)
    return _claim_holdings(words, (words.guarded.view.devices[number].id for number in stopped), obstacle.name)


def holders_of_counters(words: ReasonWording, pool: int) -> tuple[ClaimHolding, ...]:
    """Find the claims that have devices which draw from a pool's counters, on any node (CTR-1)."""
    there = words.guarded.view.pools[pool]
    drawing = (device.id for device in (*there.devices, *there.other_devices) if device.device.consumes_counters)
    return _claim_holdings(words, drawing)


def holders_of_capacity(words: ReasonWording, name: str) -> tuple[ClaimHolding, ...]:
    """Find the claims that share devices with this capacity."""
    capacities = words.guarded.problem.capacities
    having = (
        words.guarded.view.devices[device].id
        for alternative in words.alternatives
        for device in words.selected_devices(alternative)
        if any(capacities.names[row] == name for row in capacities.rows.get(device, ()))
    )
    return _claim_holdings(words, dict.fromkeys(having))


def _claim_holdings(words: ReasonWording, devices: Iterable[DeviceId], only: str = "") -> tuple[ClaimHolding, ...]:
    usage = words.guarded.allocated_state.usage
    by_claim: dict[ObjectKey, dict[DeviceId, None]] = {}
    for device in devices:
        for hold in usage.holds(device):
            if only in ("", claim_text(hold.claim)):
                by_claim.setdefault(hold.claim, {})[device] = None
    return tuple(
        ClaimHolding(claim, tuple(found), len(found) < len(usage.held_by(claim))) for claim, found in by_claim.items()
    )


MergedEntry = symmetry.MergedConstraint | symmetry.MergedRelation


def entry_of_reason(guarded: GuardedProblem, reason: Justification) -> MergedEntry:
    """Find the entry that a reason is about."""
    entries: tuple[MergedEntry, ...] = (*guarded.model.merged.constraints, *guarded.model.merged.relations)
    return next(one for one in entries if (one.claims[0], one.position) == (reason.claim, reason.subject))


def covered_alternatives(guarded: GuardedProblem, reason: Justification) -> tuple[int, ...]:
    """List the alternatives that the entry covers which a reason is about; none for other reasons."""
    return entry_of_reason(guarded, reason).alternatives if reason.id in _DETAILS_OF_ENTRY else ()


def claims_of_entry(guarded: GuardedProblem, entry: MergedEntry) -> tuple[int, ...]:
    """List the equal claims that each have the entry, or those that it spans."""
    if isinstance(entry, symmetry.MergedConstraint) or entry.copies == 1:
        return entry.claims
    merged = guarded.model.merged
    return merged.requests[merged.alternatives[entry.alternatives[0]].request].claims


def held_reason(guarded: GuardedProblem, reason: Justification) -> HeldReason:
    """Write a reason in the terms of the manifests, as audits take it."""
    merged, found = guarded.model.merged, obstacle_of(reason)
    demands = merged.problem.demands
    if found is not None:
        alternative, obstacle = found
        numbers = () if alternative is None else merged.alternatives[alternative].demands
        requests = tuple((demands[number].claim, demands[number].label) for number in numbers)
        names = (obstacle.name,) if obstacle.name else ()
        return HeldReason(reason.id, requests=requests, names=names, index=obstacle.index)
    if reason.id in REQUEST_REASONS:
        own = (one for one in merged.alternatives if one.request == reason.subject)
        pairs = ((demands[number].claim, demands[number].request) for one in own for number in one.demands)
        return HeldReason(reason.id, requests=tuple(dict.fromkeys(pairs)))
    if reason.id in _DETAILS_OF_ENTRY:
        entry = entry_of_reason(guarded, reason)
        return HeldReason(reason.id, claims=tuple(claims_of_entry(guarded, entry)), index=entry.position)
    if reason.id == "counters":
        row = cast("int", reason.subject)
        pool = guarded.names.pools[guarded.problem.counters.pool_of_row[row]]
        return HeldReason(reason.id, names=(*pool, *guarded.problem.counters.names[row]))
    if reason.id == "compatibilityGroups":
        number, counter_set = guarded.problem.groups.sets[cast("int", reason.subject)]
        return HeldReason(reason.id, names=(*guarded.names.pools[number], counter_set))
    if reason.id == "resultLimit":
        return HeldReason(reason.id, claims=() if reason.claim is None else (reason.claim,))
    return HeldReason(reason.id, names=(str(reason.subject),))


def entry_name(entry: MergedEntry) -> str:
    """Name an entry, with what it compares or its kind."""
    compared = _compared_constraint(entry)
    attribute = f" {compared.attribute}" if compared else ""
    kind = entry.record.kind if isinstance(entry, symmetry.MergedConstraint) else entry.record.id
    return f"{entry_label(entry.record)} ({kind}{attribute})"


def _compared_constraint(entry: MergedEntry) -> Constraint | None:
    """Return what an entry compares, None if it is about something else."""
    if isinstance(entry, symmetry.MergedConstraint):
        return entry.record
    condition = entry.record.condition
    return condition.constraint if isinstance(condition, TokenCondition) else None


def entry_details(words: ReasonWording, reason: Justification) -> str:
    """Return what the name of an entry leaves out: devices without a value, an expression with its meaning, a shape."""
    return _DETAILS_OF_ENTRY[reason.id](words, entry_of_reason(words.guarded, reason))


def _comparison_details(words: ReasonWording, entry: MergedEntry) -> str:
    record = _compared_constraint(entry)
    assert record is not None
    # The name of a relation does not say what it compares.
    attribute = "" if isinstance(entry, symmetry.MergedConstraint) else f" {record.attribute}"
    return f"{attribute}{_semantics_details(record)}{_missing_value_details(words, entry, record)}"


def _semantics_details(record: Constraint) -> str:
    """Say what semantics ask of values beyond the kind of the entry (SEM-4, SEM-6)."""
    if record.overlap:
        return ": no value may be on all of them"
    return f": at least {record.min_size} values in common" if record.min_size > 1 else ""


def _missing_value_details(words: ReasonWording, entry: MergedEntry, record: Constraint) -> str:
    """Count the devices without a value."""
    merged = words.guarded.model.merged
    lacking: set[int] = set()
    errors: list[str] = []
    for alternative in (merged.alternatives[number] for number in entry.alternatives):
        demand = alternative.demands[0]
        missing = [device for device in words.selected_devices(alternative) if device not in record.tokens[demand]]
        failed = record.errors.get(demand, {})
        errors += [failed[device].detail for device in missing if device in failed]
        lacking.update(missing)
    if not lacking:
        return ""
    return f" ({plural(len(lacking), 'device')} without a value{': ' + errors[0] if errors else ''})"


def _topology_details(words: ReasonWording, entry: MergedEntry) -> str:
    condition = entry.record.condition if isinstance(entry, symmetry.MergedRelation) else None
    assert isinstance(condition, TopologyCondition)
    ask = condition.ask
    alternatives = (words.guarded.model.merged.alternatives[number] for number in entry.alternatives)
    lost = {
        device
        for alternative in alternatives
        for device in words.selected_devices(alternative)
        if device not in condition.instance_of
    }
    without = f" ({plural(len(lost), 'device')} without a place in it)" if lost else ""
    return f": a {ask.shape}{_shape_extent(ask)} in {ask.name}{without}"


def _shape_extent(ask: TopologyRequest) -> str:
    """Say how large a shape may be."""
    if ask.size:
        turning = ", as it stands," if ask.orientation == FIXED_ORIENTATION else ""
        return f" of {'x'.join(map(str, ask.size))}{turning}"
    if ask.level:
        return f" under one {ask.level}"
    return "" if ask.max_distance is None else f" of devices at most {plural(ask.max_distance, 'step')} apart"


def _expression_details(words: ReasonWording, entry: MergedEntry) -> str:
    assert isinstance(entry, symmetry.MergedRelation)
    condition = entry.record.condition
    assert isinstance(condition, CelCondition)
    text = _truncate(" ".join(condition.expression.text.split()), _MAX_EXPRESSION_LETTERS)
    meaning = _expression_meaning(words.guarded, entry)
    return f": {text}" + (f"; {_truncate(meaning, _MAX_MEANING_LETTERS)}" if meaning else "")


def _expression_meaning(guarded: GuardedProblem, relation: symmetry.MergedRelation) -> str:
    """Write the formula of an expression over the devices that are usable one by one; nothing if it has none."""
    candidates = usable_devices(guarded.problem, guarded.in_use)
    merged = symmetry.merge_equal_requests(guarded.problem, guarded.in_use, candidates)
    own = next((one for one in merged.relations if one.record.position == relation.position), None)
    if own is None or own.record.claims != relation.claims:
        return ""
    model = AllocationModel(symmetry.build_symmetry_classes(merged, ENCODERS))
    items = related_items(model, own)
    try:
        formulas, true, _ = lower_relation(own, items)
    except NotLoweredError:
        return ""
    if true == FALSE:
        return "true of no devices that could be had"
    names = guarded.names.devices
    return f"that is: {formula_text(formulas, true, lambda item: names[items.devices[item]][2])}"


def _truncate(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


_DETAILS_OF_ENTRY: dict[str, Callable[[ReasonWording, MergedEntry], str]] = {
    "matchAttribute": _comparison_details,
    "distinctAttribute": _comparison_details,
    "topology": _topology_details,
    "cel": _expression_details,
    "predicate": lambda _words, _entry: "",
}


_DETAILS_OF_JOINT_REASON: dict[str, Callable[[ReasonWording, Justification], str]] = {
    **dict.fromkeys(("matchAttribute", "distinctAttribute", "cel", "topology"), entry_details),
    "counters": _counter_details,
    "capacity": _capacity_details,
}

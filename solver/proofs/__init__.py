"""Proofs that nothing fits which need no search: bounds that anyone can check by counting.

``find_witness`` tries all of them, the cheapest first. A proof may only ever say too little. It is about all ways to
choose alternatives and devices, and counts with more than there is wherever it simplifies: every proof returns None if
in doubt.

Plain proofs look at all requests at once. Two more divide the question into cases and refute each case by a plain
proof: the values of one matchAttribute (CON-4, CON-7), and all choices of alternatives and of values. Cases are tried
depth first, and the analysis gives up at the first case that is not refuted, so that it costs little where something
fits. Only so many cases are looked at: a problem whose proof needs more is left to others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...models.formats.errors import plural
from ...problem.constraints import INCOMPARABLE
from ...problem.messages import Justification, Message, check_deadline
from ...problem.problem import InUse, Problem
from .amounts import consumed_capacity, incompatible_groups, overdrawn_counters
from .counting import (
    Need,
    Tally,
    all_cases,
    competition,
    constraint_label,
    display_requests,
    result_limit,
    shortage,
    union_of_masks,
    verb,
)
from .values import devices_by_value, tied_needs, too_few_values, too_many_tied_claims

Proof = Callable[[Tally], Justification | None]
"""A way to show that nothing fits; None where it cannot."""
PLAIN_PROOFS: tuple[Proof, ...] = (
    shortage,
    result_limit,
    competition,
    too_few_values,
    too_many_tied_claims,
    overdrawn_counters,
    consumed_capacity,
    incompatible_groups,
)


def find_witness(
    problem: Problem, in_use: InUse, candidates: tuple[tuple[int, ...], ...], deadline: float | None = None
) -> Justification | None:
    """Return the first justification found that shows that no allocation exists; None leaves the question open.

    ``candidates`` are the usable devices of each demand (``problem.usable``), ``deadline`` is a reading of
    ``time.monotonic``. Raises ``DeadlineExceededError`` between two proofs once that has passed.
    """
    tally = Tally.of(problem, in_use, candidates)
    for proof in PROOFS:
        check_deadline(deadline)
        found = proof(tally)
        if found is not None:
            return found
    return None


def refute_plainly(tally: Tally) -> Justification | None:
    """Return what the first plain proof that succeeds says."""
    for proof in PLAIN_PROOFS:
        found = proof(tally)
        if found is not None:
            return found
    return None


# With more requests than these, each claim is looked at alone.
_MAX_JOINT_NEEDS = 16


def value_cases(tally: Tally, number: int) -> list[Tally] | None:
    """List what is left of the question for each value, the most frequent first: few need to be looked at if one fits.

    None if the constraint need not bind two devices. A value that no other equals cannot bind any (CON-8, CON-9).
    """
    needs = tied_needs(tally, number)
    if sum(map(tally.least, needs)) < 2:
        return None
    constraint = tally.problem.constraints[number]
    known: dict[Hashable, dict[int, int]] = {}
    found: dict[int, dict[int, int]] = {}
    for option in [option for need in tally.needs for option in need.options if option in constraint.tokens]:
        key = id(constraint.tokens[option]), tally.masks[option]
        if key not in known:
            known[key] = devices_by_value(constraint, option, tally.masks[option])
        found[option] = known[key]
    # Equal requests have one map.
    tied_maps = {tuple(id(found[option]) for option in need.options): need for need in needs}
    own = [set().union(*(found[option] for option in need.options)) for need in tied_maps.values()]
    common = set.intersection(*own) - {INCOMPARABLE}
    # Also of options that the constraint covers where it need not: equal values are equal for these, too.
    distinct_maps = {id(masks): masks for masks in found.values()}.values()
    return [
        tally.with_masks({option: masks.get(value, 0) for option, masks in found.items()})
        for value in _values_by_frequency(common, tuple(distinct_maps))
    ]


def _values_by_frequency(values: Iterable[int], maps: Collection[Mapping[int, int]]) -> list[int]:
    """List the values by how many devices have them, of values with the same devices only one."""
    found: dict[tuple[int, ...], int] = {}
    for value in sorted(values):
        found.setdefault(tuple([masks.get(value, 0) for masks in maps]), value)
    return [found[devices] for devices in sorted(found, key=lambda devices: -union_of_masks(devices).bit_count())]


def no_feasible_value(tally: Tally) -> Justification | None:
    """No value of a matchAttribute can serve all requests that it ties together."""
    seen: set[Hashable] = set()
    for number, constraint in enumerate(tally.problem.constraints):
        if constraint.kind != "matchAttribute":
            continue
        own = tuple(need for need in tally.needs if need.claim == constraint.claim)
        scope = tally if len(tally.needs) <= _MAX_JOINT_NEEDS else tally.with_needs(own)
        key = (
            constraint.attribute,
            tuple((scope.masks[option], scope.demand(option).count) for need in scope.needs for option in need.options),
        )
        # Equal claims are looked at once.
        if len(scope.needs) == len(tally.needs) or key not in seen:
            seen.add(key)
            found = _refute_match(scope, number)
            if found is not None:
                return found
    return None


def unmatched_justification(tally: Tally, number: int, reasons: Sequence[Justification], nested: bool) -> Justification:
    """Say that each value was refuted, for these reasons; shortly where it is a part of something else."""
    needs = tied_needs(tally, number)
    head = f"{constraint_label(tally, number)}: "
    claim, attribute = tally.one_claim(tally.needs), tally.problem.constraints[number].attribute
    counted = all_cases("matchAttribute", needs, [reason.counted for reason in reasons], attribute)
    message = (head, *_unmatched_text(tally, number, needs, reasons, nested))
    return Justification("matchAttribute", message, claim, counted=counted)


def _refute_match(tally: Tally, number: int) -> Justification | None:
    cases = value_cases(tally, number)
    if cases is None:
        return None
    reasons = []
    for case in cases:
        reason = refute_plainly(case)
        if reason is None:
            return None
        reasons.append(reason)
    return unmatched_justification(tally, number, reasons, nested=False)


def _unmatched_text(
    tally: Tally, number: int, needs: Sequence[Need], reasons: Sequence[Justification], nested: bool
) -> Message:
    name = display_requests(tally, needs)
    if not reasons:
        return (f"{name} {verb(needs, 'has', 'have')} no value in common",)
    if len(needs) == 1 and len(needs[0].options) == 1:
        option = needs[0].options[0]
        masks = devices_by_value(tally.problem.constraints[number], option, tally.masks[option])
        most = max(mask.bit_count() for value, mask in masks.items() if value != INCOMPARABLE)
        count = tally.demand(option).count
        if most < count:
            return (f"{name} needs {plural(count, 'device')} of one value, no value has more than {most}",)
    none = f"no value can serve {name}"
    return (none,) if nested else (none, "; of the most frequent one, ", *reasons[0].message)


# Most cases, and most pairs of a request and a device in all of them.
_MAX_CASES = 64
_MAX_CASE_PAIRS = 4096


class _CaseSplit(Protocol):
    """Something to be decided, one case for each way to decide it."""

    def cases(self, tally: Tally) -> list[Tally] | None:
        """List the cases; None if nothing is to be decided."""
        raise NotImplementedError

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        """Say that every case was refuted."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _AlternativeSplit:
    """Which alternative serves a request."""

    position: int

    def cases(self, tally: Tally) -> list[Tally]:
        return [tally.with_option(self.position, option) for option in tally.needs[self.position].options]

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        need = tally.needs[self.position]
        ids = {reason.id for reason in reasons}
        message: Message = (f"request {need.request}: no alternative is possible",)
        if not nested:
            for option, reason in zip(need.options, reasons, strict=True):
                message = (*message, f"; with {tally.demand(option).own_name}, ", *reason.message)
        counted = all_cases("firstAvailable", (need,), [reason.counted for reason in reasons])
        id_ = ids.pop() if len(ids) == 1 else "firstAvailable"
        return Justification(id_, message, tally.one_claim(tally.needs), counted=counted)


@dataclass(frozen=True, slots=True)
class _ValueSplit:
    """Which value serves a matchAttribute."""

    constraint: int

    def cases(self, tally: Tally) -> list[Tally] | None:
        return value_cases(tally, self.constraint)

    def justify(self, tally: Tally, reasons: Sequence[Justification], nested: bool) -> Justification:
        return unmatched_justification(tally, self.constraint, reasons, nested)


def no_feasible_case(tally: Tally) -> Justification | None:
    """No choice of alternatives and of values for each matchAttribute is possible."""
    alternatives = [_AlternativeSplit(position) for position, need in enumerate(tally.needs) if len(need.options) > 1]
    constraints = enumerate(tally.problem.constraints)
    values = [_ValueSplit(number) for number, constraint in constraints if constraint.kind == "matchAttribute"]
    # A single constraint is what another proof looks at.
    if not alternatives and len(values) < 2:
        return None
    pairs = sum(tally.masks[option].bit_count() for need in tally.needs for option in need.options)
    affordable = min(_MAX_CASES, _MAX_CASE_PAIRS // max(1, pairs))
    choices: list[_CaseSplit] = [*alternatives, *values]
    return _CaseAnalysis(affordable).refute(tally, choices) if affordable > len(choices) else None


class _CaseAnalysis:
    """The cases of a question, as many as may be looked at."""

    def __init__(self, left: int) -> None:
        self._left = left

    def refute(self, tally: Tally, choices: Sequence[_CaseSplit], nested: bool = False) -> Justification | None:
        """Refute every case of the first choice, by a plain proof or by the choices after it."""
        if not choices:
            return None
        cases = choices[0].cases(tally)
        if cases is None:
            return self.refute(tally, choices[1:], nested)
        reasons = []
        for case in cases:
            self._left -= 1
            if self._left < 0:
                return None
            reason = refute_plainly(case) or self.refute(case, choices[1:], nested=True)
            if reason is None:
                return None
            reasons.append(reason)
        return choices[0].justify(tally, reasons, nested)


PROOFS: tuple[Proof, ...] = (*PLAIN_PROOFS, no_feasible_value, no_feasible_case)
"""All proofs, the cheapest first."""

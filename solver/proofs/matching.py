"""Values that cannot serve all that a matchAttribute ties together (CON-4, CON-7), each looked at alone."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from ...problem.constraints import ODD
from ...problem.justification import Justification
from ...problem.messages import Message
from .hall import union
from .plain import refuted
from .tally import Need, Tally
from .values import devices_of_values, tied
from .wording import entry, plural, verb, who

# With more requests than these, each claim is looked at alone.
_FEW_NEEDS = 16


def value_cases(tally: Tally, number: int) -> list[Tally] | None:
    """List what is left of the question for each value, the most frequent first: few need to be looked at if one fits.

    None if the constraint need not bind two devices. A value that no other equals cannot bind any (CON-8, CON-9).
    """
    needs = tied(tally, number)
    if sum(map(tally.least, needs)) < 2:
        return None
    constraint = tally.problem.constraints[number]
    known: dict[Hashable, dict[int, int]] = {}
    found: dict[int, dict[int, int]] = {}
    for option in [option for need in tally.needs for option in need.options if option in constraint.tokens]:
        key = id(constraint.tokens[option]), tally.masks[option]
        if key not in known:
            known[key] = devices_of_values(constraint, option, tally.masks[option])
        found[option] = known[key]
    # Equal requests have one map.
    tied_maps = {tuple(id(found[option]) for option in need.options): need for need in needs}
    own = [set().union(*(found[option] for option in need.options)) for need in tied_maps.values()]
    common = set.intersection(*own) - {ODD}
    # Also of options that the constraint covers where it need not: equal values are equal for these, too.
    distinct_maps = {id(masks): masks for masks in found.values()}.values()
    return [
        tally.with_masks({option: masks.get(value, 0) for option, masks in found.items()})
        for value in _largest(common, tuple(distinct_maps))
    ]


def _largest(values: Iterable[int], maps: Collection[Mapping[int, int]]) -> list[int]:
    """List the values by how many devices have them, of values with the same devices only one."""
    found: dict[tuple[int, ...], int] = {}
    for value in sorted(values):
        found.setdefault(tuple([masks.get(value, 0) for masks in maps]), value)
    return [found[devices] for devices in sorted(found, key=lambda devices: -union(devices).bit_count())]


def no_value(tally: Tally) -> Justification | None:
    """No value of a matchAttribute can serve all requests that it ties together."""
    seen: set[Hashable] = set()
    for number, constraint in enumerate(tally.problem.constraints):
        if constraint.kind != "matchAttribute":
            continue
        scope = _scope(tally, constraint.claim)
        key = (
            constraint.attribute,
            tuple((scope.masks[option], scope.demand(option).count) for need in scope.needs for option in need.options),
        )
        # Equal claims are looked at once.
        if len(scope.needs) == len(tally.needs) or key not in seen:
            seen.add(key)
            found = _examine(scope, number)
            if found is not None:
                return found
    return None


def unmatched(tally: Tally, number: int, reasons: Sequence[Justification], nested: bool) -> Justification:
    """Say that each value was refuted, for these reasons; shortly where it is a part of something else."""
    needs = tied(tally, number)
    head = f"{entry(tally, number)}: "
    claim = tally.one_claim(tally.needs)
    return Justification("matchAttribute", (head, *_text(tally, number, needs, reasons, nested)), claim)


def _scope(tally: Tally, claim: int) -> Tally:
    if len(tally.needs) <= _FEW_NEEDS:
        return tally
    return tally.with_needs(tuple(need for need in tally.needs if need.claim == claim))


def _examine(tally: Tally, number: int) -> Justification | None:
    cases = value_cases(tally, number)
    if cases is None:
        return None
    reasons = []
    for case in cases:
        reason = refuted(case)
        if reason is None:
            return None
        reasons.append(reason)
    return unmatched(tally, number, reasons, nested=False)


def _text(tally: Tally, number: int, needs: Sequence[Need], reasons: Sequence[Justification], nested: bool) -> Message:
    name = who(tally, needs)
    if not reasons:
        return (f"{name} {verb(needs, 'has', 'have')} no value in common",)
    if len(needs) == 1 and len(needs[0].options) == 1:
        option = needs[0].options[0]
        masks = devices_of_values(tally.problem.constraints[number], option, tally.masks[option])
        most = max(mask.bit_count() for value, mask in masks.items() if value != ODD)
        count = tally.demand(option).count
        if most < count:
            return (f"{name} needs {plural(count, 'device')} of one value, no value has more than {most}",)
    none = f"no value can serve {name}"
    return (none,) if nested else (none, "; of the most frequent one, ", *reasons[0].message)

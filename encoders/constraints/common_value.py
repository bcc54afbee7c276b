"""The witness of a rule that asks for something in common: a value that every chosen device has, or several.

A literal a value; what lacks the value of a true one is not taken. The solver thus cannot
lean on different values for different devices, which pairwise overlap would allow (CON-7).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ...problem.problem import members_of_mask
from ..model import AllocationModel, TakeKey
from ..rows import CpSatRows


def post_common_value(
    model: AllocationModel,
    values: Mapping[TakeKey, int],
    guard: int | None,
    *,
    covers_all: bool = False,
    least: int = 1,
) -> None:
    """Demand common members of the sets of all that is taken, ``least`` of them.

    ``values`` are bit sets, 0 for "cannot be taken". ``covers_all``: all that these alternatives could take is among
    the keys, so that what they need must come from here.
    """
    worthless = [(model.takes[key], 1) for key, members in values.items() if not members]
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    kept = {key: members for key, members in values.items() if members}
    if len(set(kept.values())) <= 1:
        return
    needs = {
        alternative: model.certain_count(alternative) if covers_all else 0
        for alternative in sorted({alternative for alternative, _ in kept})
    }
    witnesses = _witnesses(model, kept, needs)
    if least > 1:
        # As many as are asked for, if anything is taken (SEM-0, SEM-4).
        taking = any_taken(model, list(needs))
        enough = [(one.literal, min(one.values, least)) for one in witnesses]
        model.rows.between([*enough, (taking, -least)], 0, None, guard)
        link = _forbid_lacking
    else:
        model.rows.at_most([(one.literal, 1) for one in witnesses], 1)
        link = _link_scalars if all(members & (members - 1) == 0 for members in kept.values()) else _link_sets
    own: dict[int, list[TakeKey]] = {alternative: [] for alternative in needs}
    for key in kept:
        own[key[0]].append(key)
    for alternative, need in needs.items():
        link(model, _AlternativeKeys(alternative, need, own[alternative]), witnesses, guard)


def any_taken(model: AllocationModel, alternatives: Sequence[int]) -> int:
    """Return a literal that is true if one of these alternatives takes a device."""
    literal = model.rows.boolean()
    if any(map(model.certain_count, alternatives)):
        model.rows.fix(literal, 1)
        return literal
    for alternative in alternatives:
        model.rows.at_most([*model.taken(alternative), (literal, -_most_taken(model, alternative))], 0)
    return literal


@dataclass(frozen=True, slots=True)
class _AlternativeKeys:
    """What concerns one alternative: how many devices it must take, if that is certain, and from where it can."""

    alternative: int
    need: int
    keys: Sequence[TakeKey]


class Witness(NamedTuple):
    """A literal for values that the same keys have, of which there are so many."""

    literal: int
    having: frozenset[TakeKey]
    values: int


Witnesses: TypeAlias = Sequence[Witness]


def _witnesses(model: AllocationModel, values: Mapping[TakeKey, int], needs: Mapping[int, int]) -> Witnesses:
    """Make a literal for each value that could serve; one for values that the same keys have."""
    holders: dict[int, set[TakeKey]] = defaultdict(set)
    for key, members in values.items():
        for member in members_of_mask(members):
            holders[member].add(key)
    equal = Counter(map(frozenset, holders.values()))
    needed = [(alternative, need) for alternative, need in needs.items() if need]
    most = {key: model.rows.range_of(model.takes[key])[1] for key in values} if needed else {}
    serving = ((keys, values) for keys, values in equal.items() if _suffices(keys, most, needed))
    return [Witness(model.rows.boolean(), keys, values) for keys, values in serving]


def _suffices(keys: Iterable[TakeKey], most: Mapping[TakeKey, int], needed: Sequence[tuple[int, int]]) -> bool:
    """Tell whether these could serve every alternative that has to be served."""
    if not needed:
        return True
    supply: Counter[int] = Counter()
    for key in keys:
        supply[key[0]] += most[key]
    return all(supply[alternative] >= need for alternative, need in needed)


def _link_scalars(model: AllocationModel, own: _AlternativeKeys, witnesses: Witnesses, guard: int | None) -> None:
    """Take of each value only what its witness allows: the form that propagates best."""
    most = _most_taken(model, own.alternative)
    served: set[TakeKey] = set()
    for witness in witnesses:
        mine = [key for key in own.keys if key in witness.having]
        served.update(mine)
        terms = [*((model.takes[key], 1) for key in mine), (witness.literal, -most)]
        model.rows.between(terms, 0 if own.need else None, 0, guard)
    useless = [(model.takes[key], 1) for key in own.keys if key not in served]
    if useless:
        model.rows.at_most(useless, 0, guard)


def _link_sets(model: AllocationModel, own: _AlternativeKeys, witnesses: Witnesses, guard: int | None) -> None:
    """Take nothing without a witness, and with one nothing that lacks it.

    At most one witness is true, so that it is the same to take each key only with a witness that it has. Whichever is
    shorter is posted: with few of many values each, that is several times less.
    """
    having: dict[TakeKey, list[int]] = {key: [] for key in own.keys}
    for witness in witnesses:
        for key in witness.having & having.keys():
            having[key].append(witness.literal)
    if 2 * sum(map(len, having.values())) <= len(having) * len(witnesses):
        for key, literals in having.items():
            _take_with_any(model.rows, model.takes[key], literals, guard)
        return
    most = _most_taken(model, own.alternative)
    chosen = [(witness.literal, -most) for witness in witnesses]
    model.rows.at_most([*((model.takes[key], 1) for key in own.keys), *chosen], 0, guard)
    _forbid_lacking(model, own, witnesses, guard)


def _take_with_any(rows: CpSatRows, taken: int, literals: Sequence[int], guard: int | None) -> None:
    """Take nothing unless one of the literals is true."""
    most = rows.range_of(taken)[1]
    if most == 1:
        rows.clause([~taken, *literals, *([] if guard is None else [~guard])])
    else:
        rows.at_most([(taken, 1), *((literal, -most) for literal in literals)], 0, guard)


def _forbid_lacking(model: AllocationModel, own: _AlternativeKeys, witnesses: Witnesses, guard: int | None) -> None:
    """Take nothing that lacks a value whose witness is true."""
    most = _most_taken(model, own.alternative)
    for witness in witnesses:
        lacking = [(model.takes[key], 1) for key in own.keys if key not in witness.having]
        if lacking:
            model.rows.at_most([*lacking, (witness.literal, most)], most, guard)


def _most_taken(model: AllocationModel, alternative: int) -> int:
    if model.guarded:
        # Requests that are let go may take more than they need.
        return sum(model.rows.range_of(variable)[1] for variable, _ in model.taken(alternative))
    one = model.merged.alternatives[alternative]
    return one.copies * one.count

"""The witness of a rule that asks for something in common: one value that every chosen device has.

A literal a value, one of which is true; what lacks the value of the true one is not taken. The solver thus cannot
lean on different values for different devices, which pairwise overlap would allow (CON-7).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .model import AllocationModel

Key = tuple[int, int]
"""A branch and a lot: what takes, and from where."""


def post_common_value(
    model: AllocationModel, values: Mapping[Key, int], guard: int | None, *, whole: bool = False
) -> None:
    """Demand a common member of the sets of all that is taken; ``values`` are bit sets, 0 for "cannot be taken".

    ``whole``: all that these branches could take is among the keys, so that what they need must come from here.
    """
    worthless = [(model.takes[key], 1) for key, members in values.items() if not members]
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    kept = {key: members for key, members in values.items() if members}
    if len(set(kept.values())) <= 1:
        return
    needs = {branch: model.certain(branch) if whole else 0 for branch in sorted({branch for branch, _ in kept})}
    witnesses = _witnesses(model, kept, needs)
    model.rows.at_most([(witness, 1) for witness, _ in witnesses], 1)
    link = _link_scalars if all(members & (members - 1) == 0 for members in kept.values()) else _link_sets
    for branch, need in needs.items():
        link(model, _Own(branch, need, [key for key in kept if key[0] == branch]), witnesses, guard)


@dataclass(frozen=True, slots=True)
class _Own:
    """What concerns one branch: how many devices it must take, if that is certain, and from where it can."""

    branch: int
    need: int
    keys: Sequence[Key]


def _witnesses(
    model: AllocationModel, values: Mapping[Key, int], needs: Mapping[int, int]
) -> list[tuple[int, frozenset[Key]]]:
    """Make a literal for each value that could serve, with who has it; one for values that the same ones have."""
    holders: dict[int, set[Key]] = defaultdict(set)
    for key, members in values.items():
        for member in _bits(members):
            holders[member].add(key)
    serving = (keys for keys in dict.fromkeys(map(frozenset, holders.values())) if _suffices(model, keys, needs))
    return [(model.rows.boolean(), keys) for keys in serving]


def _suffices(model: AllocationModel, keys: Iterable[Key], needs: Mapping[int, int]) -> bool:
    """Tell whether these could serve every branch that has to be served."""
    supply: Counter[int] = Counter()
    for key in keys:
        supply[key[0]] += model.rows.range_of(model.takes[key])[1]
    return all(supply[branch] >= need for branch, need in needs.items())


def _bits(members: int) -> Iterable[int]:
    while members:
        lowest = members & -members
        yield lowest.bit_length()
        members ^= lowest


Witnesses = Sequence[tuple[int, frozenset[Key]]]


def _link_scalars(model: AllocationModel, own: _Own, witnesses: Witnesses, guard: int | None) -> None:
    """Take of each value only what its witness allows: the form that propagates best."""
    most = _most(model, own.branch)
    served: set[Key] = set()
    for witness, having in witnesses:
        mine = [key for key in own.keys if key in having]
        served.update(mine)
        terms = [*((model.takes[key], 1) for key in mine), (witness, -most)]
        model.rows.between(terms, 0 if own.need else None, 0, guard)
    useless = [(model.takes[key], 1) for key in own.keys if key not in served]
    if useless:
        model.rows.at_most(useless, 0, guard)


def _link_sets(model: AllocationModel, own: _Own, witnesses: Witnesses, guard: int | None) -> None:
    """Take nothing without a witness, and with one nothing that lacks it."""
    most = _most(model, own.branch)
    chosen = [(witness, -most) for witness, _ in witnesses]
    model.rows.at_most([*((model.takes[key], 1) for key in own.keys), *chosen], 0, guard)
    for witness, having in witnesses:
        lacking = [(model.takes[key], 1) for key in own.keys if key not in having]
        if lacking:
            model.rows.at_most([*lacking, (witness, most)], most, guard)


def _most(model: AllocationModel, branch: int) -> int:
    one = model.merged.branches[branch]
    return one.copies * one.count

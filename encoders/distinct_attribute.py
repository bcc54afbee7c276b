"""``distinctAttribute``: no value twice, disjoint sets, or no value that all have (CON-5 to CON-7, SEM-5, SEM-6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeAlias

from ..problem.constraints import ODD
from ..problem.order import has_odd_firsts
from .collapsed import Merged
from .common_value import Key, any_taken
from .comparisons import Comparison, comparisons, signature, values_of
from .encoder import Encoder, Signature
from .model import AllocationModel
from .optional_units import Number
from .rows import Term

DISTINCT = "distinctAttribute"
_Found: TypeAlias = Mapping[Key, int | None]


def _sign(merged: Merged) -> Signature | None:
    if any(has_odd_firsts(one.record) for one in comparisons(merged, DISTINCT)):
        # Who comes first matters, so that every device is spoken of alone.
        return lambda device: device
    return signature(DISTINCT, merged)


def _post(model: AllocationModel) -> None:
    for comparison in comparisons(model.merged, DISTINCT):
        found, guard = values_of(model, comparison), comparison.guard(model)
        if comparison.record.overlap:
            _in_none(model, comparison, found, guard)
        else:
            _once_each(model, comparison, found, guard)
        if has_odd_firsts(comparison.record):
            _odd_first(model, found, guard)


def _once_each(model: AllocationModel, comparison: Comparison, found: _Found, guard: int | None) -> None:
    """Take each value at most once for each claim."""
    takers: dict[int, list[Term]] = defaultdict(list)
    worthless: list[Term] = []
    for key, value in found.items():
        term = (model.takes[key], 1)
        members = _members(value, comparison.record.sets)
        for member in members:
            takers[member].append(term)
        if not members:
            worthless.append(term)
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    claims = _each(model, comparison)
    for terms in takers.values():
        model.rows.at_most([*terms, *claims.times(-1)], claims.constant, guard)


def _each(model: AllocationModel, comparison: Comparison) -> Number:
    """Count the claims in each of which the entry holds alone."""
    if comparison.claims == 1:
        return Number(1)
    return model.claims_served(model.merged.branches[comparison.branches[0]])


def _in_none(model: AllocationModel, comparison: Comparison, found: _Found, guard: int | None) -> None:
    """For each value take a device that lacks it, if any is taken at all (SEM-0, SEM-6)."""
    worthless = [(model.takes[key], 1) for key, value in found.items() if not value]
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    kept = {key: value for key, value in found.items() if value}
    holders: dict[int, set[Key]] = defaultdict(set)
    for key, value in kept.items():
        for member in _members(value, sets=True):
            holders[member].add(key)
    taking = any_taken(model, comparison.branches)
    for having in dict.fromkeys(map(frozenset, holders.values())):
        lacking = [(model.takes[key], 1) for key in kept if key not in having]
        model.rows.between([*lacking, (taking, -1)], 0, None, guard)


def _members(value: int | None, sets: bool) -> list[int]:
    """List what may not come twice; nothing for a device that cannot be taken (CON-3, CON-8)."""
    if value is None:
        return []
    if not sets:
        return [value]
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


def _odd_first(model: AllocationModel, values: _Found, guard: int | None) -> None:
    """A list among scalars is accepted as the first device only (CON-9)."""
    # Branches are in the order in which the search reaches them, lots of one device in visiting order.
    ordered = sorted(values)
    for position, key in enumerate(ordered):
        before = ordered[:position]
        if values[key] == ODD and before:
            earlier = [(model.takes[one], 1) for one in before]
            model.rows.at_most([*earlier, (model.takes[key], len(before))], len(before), guard)


DISTINCT_ATTRIBUTE = Encoder(
    "distinctAttribute",
    "no value is chosen twice, or none is on all devices (CON-5, CON-7, SEM-5, SEM-6)",
    _post,
    _sign,
    sees="the values of compared attributes, as each request has them; the device itself where order decides (CON-9)",
)

"""``distinctAttribute``: no value twice, and sets without a common member (CON-5 to CON-7)."""

from __future__ import annotations

from collections import defaultdict

from ..problem.constraints import ODD
from ..problem.order import has_odd_firsts
from .collapsed import Merged, MergedConstraint
from .encoder import Encoder, Signature
from .match_attribute import signature, values_of
from .model import AllocationModel
from .rows import Term
from .wording import about_constraint

DISTINCT = "distinctAttribute"


def _sign(merged: Merged) -> Signature | None:
    if any(has_odd_firsts(one.record) for one in merged.constraints):
        # Who comes first matters, so that every device is spoken of alone.
        return lambda device: device
    return signature(DISTINCT, merged)


def _post(model: AllocationModel) -> None:
    for constraint in model.merged.constraints:
        if constraint.record.kind == DISTINCT:
            _once_each(model, constraint)
            if has_odd_firsts(constraint.record):
                _odd_first(model, constraint)


def _once_each(model: AllocationModel, constraint: MergedConstraint) -> None:
    """Take each value at most once for each claim."""
    guard = model.guard(about_constraint(constraint))
    takers: dict[int, list[Term]] = defaultdict(list)
    worthless: list[Term] = []
    for key, value in values_of(model, constraint).items():
        term = (model.takes[key], 1)
        members = _members(value, constraint.record.sets)
        for member in members:
            takers[member].append(term)
        if not members:
            worthless.append(term)
    if worthless:
        model.rows.at_most(worthless, 0, guard)
    for terms in takers.values():
        model.rows.at_most(terms, len(constraint.claims), guard)


def _members(value: int | None, sets: bool) -> list[int]:
    """List what may not come twice; nothing for a device that cannot be taken (CON-3, CON-8)."""
    if value is None:
        return []
    if not sets:
        return [value]
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


def _odd_first(model: AllocationModel, constraint: MergedConstraint) -> None:
    """A list among scalars is accepted as the first device only (CON-9)."""
    guard = model.guard(about_constraint(constraint))
    values = values_of(model, constraint)
    # Branches are in the order in which the search reaches them, lots of one device in visiting order.
    ordered = sorted(values)
    for position, key in enumerate(ordered):
        before = ordered[:position]
        if values[key] == ODD and before:
            earlier = [(model.takes[one], 1) for one in before]
            model.rows.at_most([*earlier, (model.takes[key], len(before))], len(before), guard)


DISTINCT_ATTRIBUTE = Encoder(
    "distinctAttribute",
    "no value is chosen twice (CON-5, CON-7)",
    _post,
    _sign,
    sees="the values of compared attributes, as each request has them; the device itself where order decides (CON-9)",
)

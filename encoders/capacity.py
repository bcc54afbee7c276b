"""Consumable capacity of shareable devices: what requests take of each is there (CAP-6 to CAP-8)."""

from __future__ import annotations

from collections import defaultdict

from .collapsed import Lot, Merged
from .encoder import Encoder, Signature
from .model import AllocationModel
from .rows import Term
from .wording import about_capacity


def _sign(merged: Merged) -> Signature | None:
    """Sign a dedicated device with the branches that it could never serve: nothing else is seen of it."""
    problem, consumed = merged.problem, merged.in_use.consumed
    totals = problem.capacities.totals
    if not problem.capacities.rows:
        return None

    def sign(device: int) -> tuple[int, ...]:
        demands = (problem.demands[branch.demands[0]] for branch in merged.branches)
        return tuple(
            demand.index
            for demand in demands
            if any(consumed.get(row, 0) + amount > totals[row] for row, amount in demand.amounts.get(device, ()))
        )

    return sign


def _post(model: AllocationModel) -> None:
    for lot in model.collapsed.lots:
        if lot.first in model.merged.problem.capacities.rows:
            _fit(model, lot)


def _fit(model: AllocationModel, lot: Lot) -> None:
    """The amount that a request takes is fixed by the device, so that every row is linear (CAP-3)."""
    problem, consumed = model.merged.problem, model.merged.in_use.consumed
    rows: dict[int, list[Term]] = defaultdict(list)
    for branch in lot.branches:
        demand = problem.demands[model.merged.branches[branch].demands[0]]
        for row, amount in demand.amounts.get(lot.first, ()):
            rows[row].append((model.takes[branch, lot.index], amount))
    for row, terms in rows.items():
        left = problem.capacities.totals[row] - consumed.get(row, 0)
        guard = model.guard(about_capacity(problem, row))
        if lot.first in problem.shared and left >= 0:
            model.rows.at_most(terms, left, guard)
        else:
            # Nothing accumulates on a dedicated device (CAP-7), and nothing fits one that is overfull.
            model.rows.at_most([(variable, 1) for variable, amount in terms if amount > left], 0, guard)


CAPACITY = Encoder(
    "capacity",
    "shared devices have the capacity that requests take (CAP-6)",
    _post,
    _sign,
    sees="of a dedicated device the requests that it is too small for",
)

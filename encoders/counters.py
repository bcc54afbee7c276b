"""Shared counters: what devices draw of a pool's counters is there (CTR-2, CTR-3)."""

from __future__ import annotations

from collections import defaultdict

from ..problem.order import draws_anew, giving_pools
from .collapsed import Lot, Merged
from .counter_order import post_in_order
from .encoder import Encoder, Signature
from .model import AllocationModel
from .rows import Term
from .wording import about_counter


def _sign(merged: Merged) -> Signature | None:
    problem = merged.problem
    if not problem.counters.consumption:
        return None
    giving, pools = giving_pools(problem), problem.counters.pool_of_row

    def sign(device: int) -> object:
        amounts = problem.counters.consumption.get(device, ())
        if not amounts or not draws_anew(problem, merged.in_use, device):
            return None
        return device if pools[amounts[0][0]] in giving else amounts

    return sign


def _post(model: AllocationModel) -> None:
    counters, in_use = model.merged.problem.counters, model.merged.in_use
    giving = giving_pools(model.merged.problem)
    blocked: dict[int, list[int]] = defaultdict(list)
    for row, left in enumerate(in_use.available):
        if left < 0:
            blocked[counters.pool_of_row[row]].append(row)
    rows: dict[int, list[Term]] = defaultdict(list)
    ordered: list[Lot] = []
    for lot in model.collapsed.lots:
        amounts = counters.consumption.get(lot.first, ())
        if not amounts or not draws_anew(model.merged.problem, in_use, lot.first):
            continue
        pool = counters.pool_of_row[amounts[0][0]]
        if pool in giving:
            ordered.append(lot)
        elif pool in blocked:
            _forbid(model, lot, blocked[pool][0])
        else:
            for row, amount in amounts:
                rows[row] += _draws(model, lot, amount)
    model.rows.packs = model.rows.packs or bool(rows)
    for row, terms in rows.items():
        model.rows.at_most(terms, in_use.available[row], model.guard(about_counter(model.merged.problem, row)))
    post_in_order(model, ordered)


def _forbid(model: AllocationModel, lot: Lot, row: int) -> None:
    """A counter that is overdrawn already blocks all devices of its pool that draw any (CTR-2)."""
    terms = [(model.takes[branch, lot.index], 1) for branch in lot.branches]
    model.rows.at_most(terms, 0, model.guard(about_counter(model.merged.problem, row)))


def _draws(model: AllocationModel, lot: Lot, amount: int) -> list[Term]:
    """Terms of what a lot draws: each time for a dedicated device, once for a shareable one."""
    takes = [(model.takes[branch, lot.index], amount) for branch in lot.branches]
    if lot.first not in model.merged.problem.shared:
        return takes
    return [(model.used(lot), amount)]


COUNTERS = Encoder(
    "counters",
    "counters of a pool suffice for what draws from them (CTR-2)",
    _post,
    _sign,
    sees="what is drawn of each counter, nothing of a shareable device in use (CTR-3); the device itself where one of "
    "the pool gives counters back",
)

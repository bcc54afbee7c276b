"""No-goods over counts: clauses of order literals that exclude one vector of counts, or all from one on (CELC-10)."""

from __future__ import annotations

from collections.abc import Sequence

from .order_literals import OrderLiterals


def forbid(order: OrderLiterals, vector: Sequence[int], guard: int | None = None) -> None:
    """Exclude that all counts are those of the vector, and nothing else; with a guard while that literal is true."""
    _forbid(order, vector, guard, both_ways=True)


def forbid_at_least(order: OrderLiterals, vector: Sequence[int], guard: int | None = None) -> None:
    """Exclude every vector whose counts are all at least these: for conditions that more devices never make true."""
    _forbid(order, vector, guard, both_ways=False)


def _forbid(order: OrderLiterals, vector: Sequence[int], guard: int | None, *, both_ways: bool) -> None:
    ranges = list(map(order.range_of, range(len(vector))))
    if any(count > most or (both_ways and count < least) for count, (least, most) in zip(vector, ranges, strict=True)):
        return
    clause = [] if guard is None else [~guard]
    for item, (count, (least, most)) in enumerate(zip(vector, ranges, strict=True)):
        if count > least:
            clause.append(~order.at_least(item, count))
        if both_ways and count < most:
            clause.append(order.at_least(item, count + 1))
    order.rows.clause(clause)

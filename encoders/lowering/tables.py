"""All vectors of counts, counted and made one by one, and the rows of those that are allowed (the road *tabulate*)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..rows import Rows, Term
from .no_goods import forbid
from .order_literals import OrderLiterals

# Measured with an objective: clauses of what is forbidden are solved faster than tables up to about this ratio, and
# a hundred times faster where little is forbidden.
_CLAUSES_PER_LINE = 4

Vector = Sequence[int]
"""How many devices of each item are chosen."""


def count_vectors(most: Sequence[int], least_total: int, most_total: int) -> int:
    """Return how many vectors there are up to ``most[item]``, with a total between the bounds, without making them."""
    ways = [1]
    for size in most:
        # ways[total] of one item more: the sum of those of the last ``size + 1`` totals.
        sums = list(accumulate([*ways, *([0] * size)]))[: most_total + 1]
        ways = [through - (sums[total - size - 1] if total > size else 0) for total, through in enumerate(sums)]
    return sum(ways[max(least_total, 0) : most_total + 1])


def vectors(most: Sequence[int], least_total: int, most_total: int) -> Iterator[tuple[int, ...]]:
    """Make these vectors in lexicographic order, each in time linear in its length."""
    rest = [*accumulate(reversed(most), initial=0)][::-1]

    def counts() -> Iterator[int]:
        place = len(vector)
        total = sum(vector)
        return iter(range(max(0, least_total - total - rest[place + 1]), min(most[place], most_total - total) + 1))

    vector: list[int] = []
    if not most:
        yield from [()] if least_total <= 0 <= most_total else []
        return
    choices = [counts()]
    while choices:
        count = next(choices[-1], None)
        if count is None:
            choices.pop()
            if vector:
                vector.pop()
            continue
        vector.append(count)
        if len(vector) < len(most):
            choices.append(counts())
        else:
            yield tuple(vector)
            vector.pop()


def post_table(
    rows: Rows,
    counts: Sequence[Sequence[Term]],
    allowed: Sequence[Vector],
    guard: int | None = None,
    forbidden: Sequence[Vector] | None = None,
) -> None:
    """Post that the counts are one of the allowed vectors; with a guard while that literal is true.

    ``forbidden``: all other vectors that the rest of the model allows, so that to exclude them is enough; that is
    faster unless they are many.
    """
    order = OrderLiterals(rows, counts)
    if forbidden is not None and len(forbidden) <= _CLAUSES_PER_LINE * len(allowed):
        for vector in forbidden:
            forbid(order, vector, guard)
    elif allowed:
        rows.table([order.variable(terms) for terms in counts], allowed, guard)
    else:
        rows.clause([] if guard is None else [~guard])

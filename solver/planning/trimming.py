"""Plans without what they do not place: columns may have room for more units than a plan counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .instance import Column, Instance
from .plan import Plan, asked, covered, joined
from .pricing import Pricer


def trimmed(instance: Instance, plan: Plan, pricer: Pricer) -> Plan:
    """Take surplus units out of columns, so that these have exactly the units of the plan, and cost what these do.

    No stage becomes worse that counts what is placed, or makes nodes or usage few. Equal plans are trimmed alike.
    """
    placed = asked(instance, plan)
    surplus = [there - needed for there, needed in zip(covered(instance, plan.columns), placed, strict=True)]
    if not any(surplus):
        return plan
    smaller = Plan(joined(_trimmed(plan.columns, surplus, pricer)), plan.units, plan.gangs)
    # A row could ask for usage, or a pricer could not do it.
    return smaller if smaller.is_feasible(instance, instance.rows) else plan


def _trimmed(columns: Sequence[tuple[Column, int]], surplus: list[int], pricer: Pricer) -> Counter[Column]:
    left, done = Counter(dict(columns)), Counter[Column]()
    while left:
        column = min(left, key=lambda one: _order(one, surplus))
        cut = _cut(column, surplus)
        if not cut:
            break
        times = min(left[column], *(surplus[unit] // number for unit, number in cut.items()))
        for unit, number in cut.items():
            surplus[unit] -= number * times
        left = +(left - Counter({column: times}))
        counts = {unit: amount - cut.get(unit, 0) for unit, amount in column.counts}
        if any(counts.values()):
            done[pricer.reduced(column, counts)] += times
    return left + done


def _cut(column: Column, surplus: Sequence[int]) -> dict[int, int]:
    """How many units of each class one node with this column need not have."""
    cuts = ((unit, min(amount, surplus[unit])) for unit, amount in column.counts)
    return {unit: number for unit, number in cuts if number}


def _order(column: Column, surplus: Sequence[int]) -> tuple[int, int, object]:
    """First nodes that become empty, then those that lose most of what they have."""
    number = sum(_cut(column, surplus).values())
    rest = sum(amount for _, amount in column.counts) - number
    return min(rest, 1) if number else 2, -number, (column.node_class, column.counts, column.usage)

"""All bundles that are worth a certain value, one after the other, but for those that others cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ....encoders.lowering.order_literals import OrderLiterals
from ...attempts import Counts
from ...cp_sat_run import Limits, Status
from ...judging import judged
from .model import BundleModel, Solver, Worth
from .question import Bundle, BundleQuestion


def listed(
    model: BundleModel,
    question: BundleQuestion,
    worth: Worth,
    most: Sequence[int],
    least: int,
    solve: Solver,
    limits: Limits,
    number: int,
) -> list[Bundle] | None:
    """List the bundles worth ``least`` or more, the most valuable first; None if there are more than ``number``.

    Each takes more of some unit than every one before it, or uses less of some meter or measure with a price, which
    must be below zero. ``question`` is the one whose measures have numbers in ``worth``. The model cannot be asked
    anything else afterwards. Raises ``CoefficientError``.
    """
    rows, further = model.allocation.rows, _Further(model, worth)
    rows.at_most(model.value(worth), -least)
    found: list[Bundle] = []
    while True:
        model.aim(worth, most)
        more = judged(model.allocation, lambda left: solve(rows, left), limits, Counts(), hints=False)
        if more.status is Status.INFEASIBLE:
            return found
        if more.status is not Status.OPTIMAL or len(found) == number:
            return None
        found.append(model.bundle(more.values))
        rows.clause([*further.than(found[-1].counts, dict(question.usage(found[-1])))])
        if limits.work is not None:
            limits = replace(limits, work=max(0.0, limits.work - more.work))


class _Further:
    """Literals for what a bundle has that another one has not."""

    def __init__(self, model: BundleModel, worth: Worth) -> None:
        self._most = model.most
        self._priced = worth.priced
        placed = [[(variable, 1)] for variable in model.allocation.units.placed]
        self._order = OrderLiterals(model.allocation.rows, [*placed, *map(model.usage, worth.priced)])

    def than(self, counts: Sequence[int], usage: Mapping[int, int]) -> Iterator[int]:
        """Yield those that say what a bundle has more of, or uses less of."""
        for item, (count, most) in enumerate(zip(counts, self._most, strict=True)):
            if count < most:
                yield self._order.at_least(item, count + 1)
        for item, number in enumerate(self._priced, start=len(counts)):
            if usage.get(number):
                yield ~self._order.at_least(item, usage[number])

"""All bundles that are worth a certain value, one after the other, but for those that others cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....encoders.lowering.order_literals import OrderLiterals
from ...attempts import Counts
from ...cp_sat_run import Limits, Status
from ...judging import judged
from .model import BundleModel, Solver, Worth
from .question import Bundle


def listed(
    model: BundleModel,
    worth: Worth,
    most: Sequence[int],
    least: int,
    solve: Solver,
    limits: Limits,
    number: int,
) -> list[Bundle] | None:
    """List the bundles worth ``least`` or more, the most valuable first; None if there are more than ``number``.

    Each takes more of some unit than every one before it. The model cannot be asked anything else afterwards. Raises
    ``CoefficientError``.
    """
    rows, placed = model.allocation.rows, model.allocation.units.placed
    order = OrderLiterals(rows, [[(variable, 1)] for variable in placed])
    rows.between(list(zip(placed, worth.units, strict=True)), least, None)
    found: list[Bundle] = []
    while True:
        model.aim(worth, most)
        more = judged(model.allocation, lambda left: solve(rows, left), limits, Counts(), hints=False)
        if more.status is Status.INFEASIBLE:
            return found
        if more.status is not Status.OPTIMAL or len(found) == number:
            return None
        found.append(model.bundle(more.values))
        further = [(item, count + 1) for item, count in enumerate(found[-1].counts) if count < model.most[item]]
        rows.clause([order.at_least(item, bound) for item, bound in further])
        if limits.work is not None:
            limits = replace(limits, work=max(0.0, limits.work - more.work))

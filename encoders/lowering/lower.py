"""Expressions over ``devices`` as formulas over how many devices are chosen of each item (CELC-9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...cel.program import Program
from ...cel.values import Value
from .formulas import Formulas
from .sums import Handle
from .symbolic_closures import limited_work
from .symbolic_costs import require_within_limit
from .symbolic_environment import DEVICES, Environment
from .symbolic_lowering import Lowering
from .symbolic_values import Bag, Budget, Cell, NotLoweredError, known, one

__all__ = ["MOST_STEPS", "Lowered", "NotLoweredError", "lower"]

MOST_STEPS = 500_000
"""A budget that ends within seconds."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """When an expression is true, and when it is an error or of another type than bool.

    ``ordered``: that is so only if the devices stand in the order of the items (CELC-7).
    """

    true: Handle
    error: Handle
    ordered: bool


def lower(expression: Program, items: Sequence[Value], formulas: Formulas, *, budget: int = MOST_STEPS) -> Lowered:
    """The formulas of an expression over the one variable ``devices``, a list of devices.

    For every vector of counts that ``formulas`` allows they say what evaluation gives for the list of ``counts[i]``
    copies of ``items[i]``, in the order of the items. Items that the expression compares with each other as a whole
    must be different values. Raises ``NotLoweredError``, also where more than ``budget`` steps would be needed, or
    where evaluating might exceed the limit of costs.
    """
    steps = Budget(budget)
    require_within_limit(expression, items, formulas)
    lowering = Lowering(expression, formulas, steps)
    devices = one(Bag([Cell(known(value), item) for item, value in enumerate(items)]))
    with limited_work():
        try:
            symbol = lowering.value(expression.checked.tree, Environment({DEVICES: devices}))
        except RecursionError:
            raise NotLoweredError("nested too deeply") from None
    verdict = lowering.cases.verdict(symbol)
    return Lowered(verdict.true, verdict.error, steps.ordered)

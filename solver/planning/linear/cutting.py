"""The lowest bound over the prices of all resources at once, by cutting planes (Kelley 1960).

Where several resources bind, no single price can be changed for the better long before the bound is the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..limits import is_past
from ..mathopt import mathopt
from .relaxed import Relaxed

# Rounds at most, and the distance from the lowest bound, relative to it, that does not matter.
_ROUNDS = 24
_CLOSE = 5e-4
# Each point lies so far from the best one towards the lowest of all cuts, for these lie far out at first.
_STEP = 0.5


def lowest(
    relax: Callable[[tuple[int, ...]], Relaxed],
    seen: Sequence[Relaxed],
    left: Sequence[int],
    least: Sequence[int],
    deadline: float | None = None,
) -> Relaxed:
    """Find prices at which the bound is nearly the lowest, from those that were seen already; none below ``least``."""
    best = min(seen, key=_bound)
    cuts = _Cuts(left, least, best.bound)
    cuts.add(seen)
    for _ in range(_ROUNDS):
        found = cuts.lowest()
        if is_past(deadline) or found is None or best.bound - found[0] <= _CLOSE * best.bound:
            break
        pairs = zip(best.resource_prices, found[1], least, strict=True)
        prices = tuple(max(limit, round(one + _STEP * (other - one))) for one, other, limit in pairs)
        if prices == best.resource_prices:
            break
        new = relax(prices)
        cuts.add([new])
        best = min(best, new, key=_bound)
    return best


def _bound(relaxed: Relaxed) -> int:
    return relaxed.bound


class _Cuts:
    """The linear program of what is known: the bound is convex, and what is left over says how it changes."""

    def __init__(self, left: Sequence[int], least: Sequence[int], bound: int) -> None:
        self._left = left
        # A resource of which all that is left costs the whole bound has price 1 here.
        self._units = [bound / amount if amount else 1.0 for amount in left]
        self._bound = bound
        self._model = mathopt.Model()
        self._prices = [
            self._model.add_variable(lb=price / unit, ub=2.0 if amount else price / unit)
            for price, unit, amount in zip(least, self._units, left, strict=True)
        ]
        self._value = self._model.add_variable(lb=0)
        self._model.minimize(self._value)
        self._solver = mathopt.IncrementalSolver(self._model, mathopt.SolverType.GLOP)

    def add(self, seen: Iterable[Relaxed]) -> None:
        for one in seen:
            spare = [amount - used for amount, used in zip(self._left, one.use, strict=True)]
            paid = sum(amount * price for amount, price in zip(spare, one.resource_prices, strict=True))
            cut = self._model.add_linear_constraint(lb=(one.bound - paid) / self._bound)
            cut.set_coefficient(self._value, 1)
            for price, amount, unit in zip(self._prices, spare, self._units, strict=True):
                cut.set_coefficient(price, -amount * unit / self._bound)

    def lowest(self) -> tuple[float, list[float]] | None:
        """The lowest value of all cuts, and the prices there; None if the solver fails."""
        found = self._solver.solve()
        if found.termination.reason != mathopt.TerminationReason.OPTIMAL:
            return None
        values = found.variable_values(self._prices)
        return found.objective_value() * self._bound, [v * unit for v, unit in zip(values, self._units, strict=True)]

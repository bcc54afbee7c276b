"""Consumable capacity of shareable devices: what requests take of each is there (CAP-6 to CAP-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..problem.records import Amounts
from .collapsed import Lot, Merged
from .encoder import Encoder, Signature
from .model import AllocationModel
from .rows import Term
from .wording import about_capacity


def _sign(merged: Merged) -> Signature | None:
    """Sign a dedicated device with the branches that it could never serve: nothing else is seen of it."""
    problem = merged.problem
    if not problem.capacities.rows:
        return None
    unable = _unable(merged, _left(merged))
    return lambda device: tuple([demand for demand, devices in unable if device in devices])


def _unable(merged: Merged, left: Sequence[int]) -> list[tuple[int, frozenset[int]]]:
    """List the demands that some devices are too small for, with these devices."""
    demands = [merged.problem.demands[branch.demands[0]] for branch in merged.branches]
    # Demands that are alike share one map of amounts.
    maps = {id(demand.amounts): demand.amounts for demand in demands}
    small = {key: _too_small(amounts, left) for key, amounts in maps.items()}
    return [(demand.index, devices) for demand in demands if (devices := small[id(demand.amounts)])]


def _too_small(amounts: Mapping[int, Amounts], left: Sequence[int]) -> frozenset[int]:
    return frozenset(device for device, drawn in amounts.items() if any(amount > left[row] for row, amount in drawn))


def _left(merged: Merged) -> list[int]:
    """Return what is left of each row."""
    consumed = merged.in_use.consumed
    return [total - consumed.get(row, 0) for row, total in enumerate(merged.problem.capacities.totals)]


def _post(model: AllocationModel) -> None:
    problem, left = model.merged.problem, _left(model.merged)
    # Of dedicated devices only those need a row that are too small for somebody.
    binding = problem.shared.union(*(devices for _, devices in _unable(model.merged, left)))
    for lot in model.collapsed.lots:
        if lot.first in problem.capacities.rows and lot.first in binding:
            _fit(model, lot, left)


def _fit(model: AllocationModel, lot: Lot, left: Sequence[int]) -> None:
    """The amount that a request takes is fixed by the device, so that every row is linear (CAP-3)."""
    problem = model.merged.problem
    rows: dict[int, list[Term]] = defaultdict(list)
    for branch in lot.branches:
        demand = problem.demands[model.merged.branches[branch].demands[0]]
        for row, amount in demand.amounts.get(lot.first, ()):
            rows[row].append((model.takes[branch, lot.index], amount))
    for row, terms in rows.items():
        guard = model.guard(about_capacity(problem, row))
        if lot.first in problem.shared and left[row] >= 0:
            model.rows.at_most(terms, left[row], guard)
        else:
            # Nothing accumulates on a dedicated device (CAP-7), and nothing fits one that is overfull.
            model.rows.at_most([(variable, 1) for variable, amount in terms if amount > left[row]], 0, guard)


CAPACITY = Encoder(
    "capacity",
    "shared devices have the capacity that requests take (CAP-6)",
    _post,
    _sign,
    sees="of a dedicated device the requests that it is too small for",
)

"""``least-consumption``: as little as possible is drawn of shared counters and of capacity, the scarcest counting most.

A device that draws counters counts with what it draws, a shareable one with what the request takes of its capacities,
after rounding by their policies (CAP-3), and once with its counters if nobody has a share of it yet (CTR-3). A device
that is not shared and draws no counters is taken whole, so that it counts with all of its capacities: of two devices
that serve, the smaller one is taken. What has neither counters nor capacities counts nothing, and neither has admin
access (IN-3).

An amount counts in proportion to what the cluster has of its kind, which is the driver and the name of the counter or
capacity (``problem.node_state``): all kinds of a driver weigh alike, and an average card or device of the driver counts
``FULL_CONSUMPTION`` if it is taken whole. Each amount is rounded up to a whole number, so that more never counts less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...problem.constraints import draws_counters
from ...problem.node_state import Scarcity
from ...problem.problem import Amounts, Demand, InUse, Problem
from ..symmetry import MergedProblem, Signature
from .stage import AllocationStage, ChosenDevices

if TYPE_CHECKING:
    from ..model import AllocationModel
    from ..rows import Term


@dataclass(frozen=True, slots=True)
class NodeConsumption:
    """What devices of a node count, by number.

    ``taken``: a device that is not shared; ``opened``: the counters of a shareable one of which nobody has a share;
    ``scarcity``: by row what one of a capacity counts.
    """

    taken: Mapping[int, int]
    opened: Mapping[int, int]
    shared: frozenset[int]
    scarcity: Sequence[Scarcity]

    def of_pick(self, demand: Demand, device: int) -> int:
        """What a device counts for a demand, without what it counts once for all that share it."""
        if demand.admin:
            return 0
        if device in self.shared:
            return weighted_amount(demand.amounts.get(device, ()), self.scarcity)
        return self.taken.get(device, 0)

    def signature(self, device: int) -> tuple[int, int]:
        """What is seen of a device; shareable ones are never merged."""
        return self.taken.get(device, 0), self.opened.get(device, 0)


def node_consumption(problem: Problem, in_use: InUse) -> NodeConsumption:
    """Weigh the devices of a Problem with its context."""
    context, counters, capacities = problem.node_context, problem.counters.consumption, problem.capacities
    taken: dict[int, int] = {}
    opened: dict[int, int] = {}
    for device, amounts in counters.items():
        if draws_counters(problem, in_use, device):
            weighed = opened if device in problem.shared else taken
            weighed[device] = weighted_amount(amounts, context.counter_scarcity)
    for device, rows in capacities.rows.items():
        if device not in problem.shared and device not in counters:
            whole = ((row, capacities.totals[row]) for row in rows)
            taken[device] = weighted_amount(whole, context.capacity_scarcity)
    return NodeConsumption(taken, opened, problem.shared, context.capacity_scarcity)


def weighted_amount(amounts: Amounts | Iterable[tuple[int, int]], scarcity: Sequence[Scarcity]) -> int:
    """Add up amounts by the scarcity of their rows; devices that give counters count nothing for it."""
    return sum(-(-amount * scarcity[row][0] // scarcity[row][1]) for row, amount in amounts if amount > 0)


def _sign_consumption(merged: MergedProblem) -> Signature:
    return node_consumption(merged.problem, merged.in_use).signature


def _consumption_parts(model: AllocationModel) -> list[list[Term]]:
    consumption = node_consumption(model.merged.problem, model.merged.in_use)
    return [consumption_terms(model, consumption, range(len(model.merged.alternatives)))]


def consumption_terms(model: AllocationModel, consumption: NodeConsumption, counted: Iterable[int]) -> list[Term]:
    """Terms for what these alternatives consume."""
    alternatives, demands, wanted = model.merged.alternatives, model.merged.problem.demands, frozenset(counted)
    terms: list[Term] = []
    for class_ in model.reduced.classes:
        device = class_.representative
        own = [index for index in class_.alternatives if index in wanted and not alternatives[index].admin]
        weighed = ((index, consumption.of_pick(demands[alternatives[index].demands[0]], device)) for index in own)
        terms += [(model.takes[index, class_.index], weight) for index, weight in weighed if weight]
        if own and consumption.opened.get(device):
            takes = [(model.takes[index, class_.index], 1) for index in own]
            terms.append((model.any_positive(takes), consumption.opened[device]))
    return terms


def _consumes_nothing(problem: Problem, picked: ChosenDevices) -> bool:
    """Tell whether no device has anything that counts."""
    counting = problem.counters.consumption.keys() | problem.capacities.rows.keys()
    return all(problem.demands[demand].admin or device not in counting for demand, device in picked)


LEAST_CONSUMPTION = AllocationStage(
    "least-consumption",
    "least of shared counters and capacity, the scarcest counting most",
    _consumption_parts,
    _sign_consumption,
    is_free=_consumes_nothing,
)

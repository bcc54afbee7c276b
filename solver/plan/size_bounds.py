"""Bounds on what nodes cost by the sizes of the units that have to be placed.

A node is a vector of what it has, and all that it takes keeps to that, whatever else it has to keep to. Sizes count in
one dimension after the other, changed by dual-feasible functions, or in all dimensions at once. Then each dimension has
a price, no node holds more than it costs, and what all units are worth is a bound. The best prices are the duals of a
linear program with a row for each dimension. They are whole numbers of a small part, so that the bound is exact
whatever the linear solver did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul

from ...encoders.solver_library import mathopt
from .column_generation import MANY_NODE_CLASSES, Pricer, value_step, vector_nodes
from .filling_graph import VectorNode, same_needs
from .master import SOLVER_ERRORS
from .master_problem import CouplingRow, Duals, MasterProblem, ObjectiveStage, Terms, forces_all, required_units

# So many parts of a node are tried in a bound.
_MOST_PARTS = 40
PRICE_PART = 1 << 100
"""Prices are whole numbers of this part of the unit of costs."""


def cost_bound(
    instance: MasterProblem, pricer: Pricer, stage: ObjectiveStage, rows: Sequence[CouplingRow]
) -> tuple[int | None, Duals | None]:
    """Bound the cost of nodes by the sizes of the units that have to be placed, with duals if they prove the bound.

    None where the stage has more terms.
    """
    terms = stage.terms
    is_other = stage.maximise or stage.brief or terms.usage or terms.units or terms.gangs
    if is_other or min(terms.nodes.values(), default=0) < 0 or any(unit.at_home for unit in instance.units):
        return None, None
    nodes = {node.index: pricer.sizes(node.index) for node in instance.nodes if node.count}
    units, step = required_units(instance, rows), value_step(instance, terms)
    found = SizePrices.of(instance, nodes, units, terms.nodes, rows)
    bound, duals = found.bound, found.duals(instance, units, rows)
    if len(nodes) <= MANY_NODE_CLASSES and vector_nodes(instance, pricer):
        bound = max(bound, volume_bound(nodes, units, terms.nodes))
    bound, priced = (-(-value // step) * step for value in (bound, found.bound))
    return bound, duals if bound == priced else None


@dataclass(frozen=True, slots=True)
class SizePrices:
    """Prices of the dimensions of nodes, in 1 / ``PRICE_PART`` of the unit of costs, with the bound that they prove.

    ``limits`` are the prices of rows by number. ``over`` is what a node of each class holds for more than it costs; it
    is not positive where the class is too dear. ``least`` is what a unit of each class takes at least.
    """

    prices: tuple[int, ...]
    limits: Mapping[int, int]
    over: Mapping[int, int]
    least: Mapping[int, tuple[int, ...]]
    bound: int

    @classmethod
    def of(
        cls,
        instance: MasterProblem,
        nodes: Mapping[int, VectorNode],
        units: Sequence[int],
        costs: Mapping[int, int],
        rows: Sequence[CouplingRow] = (),
    ) -> SizePrices:
        """The prices that prove most for so many units, with prices of rows that limit nodes from above.

        A unit counts the least that it takes anywhere. What a node holds for more than it costs counts for each node of
        its class, as in a Lagrangian bound.
        """
        dimensions = range(min((len(node.left) for node in nodes.values()), default=0))
        least = dict(same_needs(nodes) or {})
        for node in () if least else nodes.values():
            for unit, needs in node.needs.items():
                known = least.get(unit)
                least[unit] = needs if known is None else tuple(map(min, known, needs))
        worth = [sum(units[unit] * needs[d] for unit, needs in least.items()) for d in dimensions]
        held = {index: [node.left[d] for d in dimensions] for index, node in nodes.items()}
        limits = [
            (number, row.upper, row.terms.nodes)
            for number, row in enumerate(rows)
            if row.upper is not None and row.terms == Terms(nodes=row.terms.nodes)
        ]
        worth += [-upper for _, upper, _ in limits]
        for index, own in held.items():
            own += [-terms.get(index, 0) for _, _, terms in limits]
        numbers = {index: (costs.get(index, 0), instance.nodes[index].count) for index in nodes}
        prices = _best_prices(worth, held, numbers)
        over = {index: sum(map(mul, prices, own)) - numbers[index][0] * PRICE_PART for index, own in held.items()}
        excess = sum(max(0, over[index]) * number for index, (_, number) in numbers.items())
        bound = sum(map(mul, prices, worth)) - excess
        paid = {number: price for (number, _, _), price in zip(limits, prices[len(dimensions) :], strict=True)}
        return cls(tuple(prices[: len(dimensions)]), paid, over, least, max(0, -(-bound // PRICE_PART)))

    def duals(self, instance: MasterProblem, units: Sequence[int], rows: Sequence[CouplingRow]) -> Duals:
        """What they say of units that have to be placed, and of rows: those that force units pay for all of these."""
        worth = [
            sum(map(mul, self.prices, self.least[unit])) / PRICE_PART if number and unit in self.least else 0.0
            for unit, number in enumerate(units)
        ]
        whole = [sum(size * worth[unit] for unit, size in gang.members) for gang in instance.gangs]
        prices = [self.limits.get(number, 0) / PRICE_PART for number in range(len(rows))]
        for number, row in enumerate(rows):
            if forces_all(instance, row):
                parts = [worth[unit] / value for unit, value in row.terms.units.items()]
                parts += [whole[gang] / value for gang, value in row.terms.gangs.items()]
                prices[number] = -max(parts, default=0.0)
        return Duals(tuple(worth), tuple(prices))


def _best_prices(
    worth: Sequence[int], held: Mapping[int, Sequence[int]], nodes: Mapping[int, tuple[int, int]]
) -> list[int]:
    """The prices with the best bound; ``nodes`` have a cost and a number each. Nothing costs anything if it fails."""
    model = mathopt.Model()
    scales = [max([1, *(abs(own[place]) for own in held.values())]) for place in range(len(worth))]
    unit = max([1, *(cost for cost, _ in nodes.values())])
    prices = [model.add_variable(lb=0) for _ in worth]
    model.objective.is_maximize = True
    for price, amount, scale in zip(prices, worth, scales, strict=True):
        model.objective.set_linear_coefficient(price, amount / scale)
    for index, (cost, number) in nodes.items():
        over = model.add_variable(lb=0)
        model.objective.set_linear_coefficient(over, -number)
        row = model.add_linear_constraint(ub=cost / unit)
        row.set_coefficient(over, -1)
        for price, amount, scale in zip(prices, held[index], scales, strict=True):
            row.set_coefficient(price, amount / scale)
    try:
        values = mathopt.solve(model, mathopt.SolverType.GLOP).variable_values()
        found = [Fraction(max(0.0, values[price])) for price in prices]
    except SOLVER_ERRORS:
        return [0] * len(worth)
    return [int(value * unit * PRICE_PART / scale) for value, scale in zip(found, scales, strict=True)]


def volume_bound(nodes: Mapping[int, VectorNode], units: Sequence[int], costs: Mapping[int, int]) -> int:
    """Bound the cost of nodes for so many units by their sizes, in one dimension after the other.

    Sizes may be changed by a dual-feasible function, under which no filling exceeds a node (Fekete and Schepers, 2001):
    units above a part of the node count as all of it, those below the rest as nothing (Martello and Toth, 1990).
    """
    best = 0
    for dimension in range(min((len(node.left) for node in nodes.values()), default=0)):
        # Parts of a node are numbers up to ``whole``, which has a half.
        whole = 2 * lcm(*(node.left[dimension] or 1 for node in nodes.values()))
        sizes = [
            (number, [(_part(node, unit, dimension, whole), costs.get(index, 0)) for index, node in takers])
            for unit, number in enumerate(units)
            if number and (takers := [(index, node) for index, node in nodes.items() if unit in node.needs])
        ]
        halves = {part for _, own in sizes for part, _ in own if 0 < 2 * part <= whole}
        for least in (0, whole // 2, *sorted(halves)[:_MOST_PARTS]):
            most = whole - least
            total = sum(
                number * min((0 if part < least else whole if part > most else part) * cost for part, cost in own)
                for number, own in sizes
            )
            best = max(best, -(-total // whole))
    return best


def _part(node: VectorNode, unit: int, dimension: int, whole: int) -> int:
    left = node.left[dimension]
    return node.needs[unit][dimension] * (whole // left) if left else 0

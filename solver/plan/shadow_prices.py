"""Shadow prices of what is bought: what one more unit, node or unit of budget changes.

They are the duals of the linear relaxation over the columns of a plan, in which a part of a node can be bought. So they
hold at the margin: a price is the rate at which a stage changes, not an offer for a whole node. They are the same for
the same plan, whatever way led to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from ...models.results.plan import ShadowPrice
from .build import PlanInstance, PlanRequest
from .build.nodes import NodeCatalogue, PlanNodeClass
from .build.objectives import COST, Goal
from .build.units import UnitClass
from .master import LinearMaster, MasterRelaxation
from .master_problem import CouplingRow, PlanSolution, placed_units

# What the linear solver gives behind so many digits is noise.
_DIGITS = 6


@dataclass(frozen=True)
class ShadowPricing:
    """The prices of one plan that may buy nodes. After ``deadline``, a monotonic time, there are none."""

    request: PlanRequest
    catalogue: NodeCatalogue
    instance: PlanInstance
    solution: PlanSolution
    deadline: float | None

    def prices(self) -> tuple[ShadowPrice, ...]:
        """Those of the first stage that nodes or budget limit, and those of the cost."""
        return (*self._of_placing(), *self._of_cost())

    def _of_placing(self) -> Iterator[ShadowPrice]:
        """Of stages that count units: what one more limited node, or unit of budget, would place."""
        for number, (goal, result) in enumerate(zip(self.instance.goals, self.solution.stages, strict=False)):
            if goal.weigh is None or result.value + goal.earlier >= goal.limit:
                continue
            found = self._relaxation(number, self._budget_row)
            prices = [] if found is None else [*self._of_nodes(goal, found), *self._of_budget(goal, found)]
            if prices:
                # The rates of later stages are about plans that make up for what these keep.
                yield from prices
                return

    def _of_budget(self, goal: Goal, found: MasterRelaxation) -> Iterator[ShadowPrice]:
        if self._budget_row is None:
            return
        change = _displayed(found.duals.rows[len(self._rows)] * float(self._budget_scale / goal.scale))
        if change:
            yield ShadowPrice(goal.stage.name, "budget", "", change)

    def _of_cost(self) -> Iterator[ShadowPrice]:
        """What one more unit costs, and one more limited node saves."""
        for number, (goal, _) in enumerate(zip(self.instance.goals, self.solution.stages, strict=False)):
            # What is spent is below the budget: then it changes nothing.
            found = self._relaxation(number, None) if goal.stage.name == COST else None
            if found is not None:
                worth = found.duals.units
                for name, units in self._placed.items():
                    each = min(worth[unit] for unit in units)
                    yield ShadowPrice(COST, "unit", name, _displayed(each / float(goal.scale)))
                yield from self._of_nodes(goal, found)

    def _of_nodes(self, goal: Goal, found: MasterRelaxation) -> Iterator[ShadowPrice]:
        sign = 1 if goal.stage.maximise else -1
        for node in self.instance.node_classes:
            change = _displayed(sign * found.nodes[node.index] / float(goal.scale)) if self._is_limited(node) else 0.0
            if change:
                yield ShadowPrice(goal.stage.name, "node", self._template(node), change)

    def _template(self, node: PlanNodeClass) -> str:
        return self.catalogue.offers[node.template].template.metadata.name

    def _is_limited(self, node: PlanNodeClass) -> bool:
        """Whether there could be more nodes of a template, if its limit were higher."""
        return bool(node.template) and self.catalogue.offers[node.template].is_last and node.count < self._most

    @property
    def _most(self) -> int:
        """As many nodes as there are units: more are never of use, and are no limit."""
        return len(self.request.open_positions)

    @cached_property
    def _placed(self) -> Mapping[str, list[int]]:
        """The unit classes that are placed, by the first owner of each, with all numbers that the class has."""
        found: dict[int, tuple[UnitClass, list[int]]] = {}
        numbers = placed_units(self.instance.problem, self.solution.plan)
        for role in self.instance.roles:
            own = role.unit_class
            if numbers[role.index] and own.entries:
                found.setdefault(own.index, (own, []))[1].append(role.index)
        named: dict[str, list[int]] = {}
        for own, indices in found.values():
            sets = [planned.unit_set for planned in own.entries[0].units]
            title = " with ".join(dict.fromkeys(f"{one.kind} {one.namespace}/{one.name}" for one in sets))
            named.setdefault(title, indices)
        return named

    @cached_property
    def _rows(self) -> tuple[CouplingRow, ...]:
        """The rows but for that of the budget."""
        rows = self.instance.problem.rows
        return rows if self._budget_row is None else tuple(row for row in rows if row is not self._budget_row)

    @cached_property
    def _budget_row(self) -> CouplingRow | None:
        """The row of the budget; None where nobody could spend it, or meters count it."""
        rows = (row for row in self.instance.problem.rows if row.terms.nodes.keys() == self._prices.keys())
        return next((row for row in rows if self._is_budget(row)), None)

    def _is_budget(self, row: CouplingRow) -> bool:
        scales = {coefficient / self._prices[node] for node, coefficient in row.terms.nodes.items()}
        limit = self.request.budget
        return limit is not None and len(scales) == 1 and row.upper == int(limit * scales.pop())

    @cached_property
    def _prices(self) -> Mapping[int, Fraction]:
        nodes = (node for node in self.instance.node_classes if node.template)
        return {node.index: price for node in nodes if (price := self.catalogue.price(node.template))}

    @property
    def _budget_scale(self) -> Fraction:
        """How many units of the budget's row make one of money."""
        row, (node, price) = self._budget_row, next(iter(self._prices.items()))
        return Fraction(row.terms.nodes[node]) / price if row else Fraction(1)

    def _relaxation(self, number: int, budget: CouplingRow | None) -> MasterRelaxation | None:
        """Solve the relaxation of a stage, where earlier ones keep what the plan reached; the budget's row is last."""
        problem, plan = self.instance.problem, self.solution.plan
        rows = self._rows if budget is None else (*self._rows, budget)
        # A number that no plan needs is no limit, and must not have a price.
        open_classes = {
            node.index
            for node in self.instance.node_classes
            if node.template and self.catalogue.offers[node.template].is_last and not self._is_limited(node)
        }
        nodes = tuple(
            replace(one, count=2 * self._most + 1) if one.index in open_classes else one for one in problem.nodes
        )
        master = LinearMaster(replace(problem, rows=rows, nodes=nodes))
        for column in (*self.solution.columns, *(column for column, _ in plan.columns)):
            master.add(column)
        goals = self.instance.goals
        for goal in goals[:number]:
            master.add_row(goal.stage.kept_at(plan.value(goal.stage.terms)))
        master.set_objective(goals[number].stage)
        return master.solve(self.deadline)


def _displayed(rate: float) -> float:
    """A rate without the noise of floating point, and without a zero below zero."""
    return round(rate, _DIGITS) + 0.0

"""The duals of a plan's stages by name, as exact fractions: what an audit needs to find each bound anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...models.kubernetes.quantity import NANO
from ...models.results.plan import DualKind, DualRow, StageDuals
from .build import PlanInstance, PlanRequest
from .build.objectives import Goal
from .master_problem import CouplingRow, PlanSolution, StageResult

# Duals of linear programs are fractions of small numbers; floating point hides them behind noise.
_LARGEST_DENOMINATOR = 1_000_000


def named_duals(request: PlanRequest, instance: PlanInstance, solution: PlanSolution) -> tuple[StageDuals, ...]:
    """The duals of each stage of which a linear program was solved. Any of them give a bound; these give a good one."""
    pairs = zip(instance.goals, solution.stages, strict=False)
    return tuple(
        StageDuals(stage=result.name, rows=tuple(_StageDualNames(request, instance, goal, result).rows()))
        for goal, result in pairs
        if result.duals is not None
    )


@dataclass(frozen=True, slots=True)
class _StageDualNames:
    request: PlanRequest
    instance: PlanInstance
    goal: Goal
    result: StageResult

    def rows(self) -> Iterator[DualRow]:
        """Yield the rows that are worth something."""
        duals, problem = self.result.duals, self.instance.problem
        if duals is None:
            return
        # Units of a mix are behind those of the queue, and nobody asks for them.
        for role, dual in zip(self.instance.roles, duals.units, strict=False):
            entries = role.unit_class.entries
            names = [f"{one.unit.namespace}/{one.unit.name}" for one in entries[0].units] if entries else []
            domain = "=".join(role.domain) if role.domain else ""
            yield from self._row("unit" if entries else "claim", names, self._worth(dual), domain)
        first = len(problem.rows)
        for number, (kind, row) in enumerate(zip(self.instance.row_kinds, problem.rows, strict=True)):
            yield from self._named(kind, number, row, self._worth(duals.rows[number]))
        scales = {goal.stage.name: goal.scale for goal in self.instance.goals}
        for name, dual in zip(self.result.kept, duals.rows[first:], strict=True):
            yield from self._row("stage", [name], abs(self._worth(dual)) * scales[name])

    def _worth(self, dual: float) -> Fraction:
        """A dual in the stage's own unit."""
        return Fraction(dual).limit_denominator(_LARGEST_DENOMINATOR) / self.goal.scale

    def _row(self, kind: DualKind, names: Sequence[str], value: Fraction, domain: str = "") -> Iterator[DualRow]:
        if value:
            yield DualRow(kind=kind, names=tuple(names), domain=domain, value=str(value))

    def _named(self, kind: DualKind, number: int, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        if kind == "device":
            yield from self._of_shared(row, worth)
        elif kind == "budget":
            yield from self._row(kind, [], worth * self._budget_scale(row))
        elif kind == "limit":
            yield from self._of_limit(row, worth)
        else:
            yield from self._row(kind, [str(number)], worth)

    def _of_shared(self, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        """Devices, counters or capacity that several nodes reach; the last rows are about whole pools."""
        shared, number = self.instance.shared, next(iter(row.terms.usage))
        if number < len(shared.classes):
            yield from self._row("device", ["/".join(id_) for id_ in shared.classes[number]], worth)
            return
        number -= len(shared.classes)
        if number < len(shared.counters):
            (pool, counters, name), step = shared.counters[number]
            yield from self._row("counter", ["/".join(pool), counters, name], worth * NANO / step)
            return
        number -= len(shared.counters)
        if number < len(shared.capacities):
            (device, name), step = shared.capacities[number]
            yield from self._row("capacity", ["/".join(device), name], worth * NANO / step)
        else:
            yield from self._row("row", [], worth)

    def _budget_scale(self, row: CouplingRow) -> Fraction:
        """How many units of the budget's row make one of money."""
        catalogue, nodes = self.request.catalogue, self.instance.node_classes
        for index, amount in row.terms.nodes.items() if catalogue else ():
            price = catalogue.price(nodes[index].template) if catalogue else Fraction(0)
            if price:
                return Fraction(amount) / price
        return next((goal.scale for goal in self.instance.goals if goal.stage.name == "cost"), Fraction(1))

    def _of_limit(self, row: CouplingRow, worth: Fraction) -> Iterator[DualRow]:
        catalogue, nodes = self.request.catalogue, self.instance.node_classes
        if catalogue is None:
            return
        counted = {
            catalogue.offers[nodes[index].template].template.metadata.name: n for index, n in row.terms.nodes.items()
        }
        for limit in catalogue.limits:
            steps = {Fraction(limit.amounts.get(name, 0), amount) for name, amount in counted.items()}
            if len(steps) == 1 and (step := steps.pop()) and limit.most // step == row.upper:
                yield from self._row("limit", [limit.label], worth / step)
                return

"""A plan with what its pictures need beside the document: allocations, room that is left, and why units wait."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..models.cluster.cluster import Cluster
from ..models.kubernetes.extensions import Predicate
from .allocate import EXPLAIN_SECONDS

if TYPE_CHECKING:
    from ..models.results.explanation import ExplanationDocument
    from ..models.results.plan import PlanDocument, StageProgress
    from ..models.workload.expansion import QueuedUnit
    from ..models.workload.units import Unit
    from ..reports.plots import MadeAllocation, PlotSource
    from ..solver.compare.figures import FragmentationPoint, MoreUnits, SchedulingContext
    from ..solver.plan.outcome import PlannedUnitOutcome, PlanOutcome

# The longest time that a picture counts what a plan leaves.
CURVE_SECONDS = 5.0
# Sorts of units that are not placed, of which the first one is explained in a report.
EXPLAINED_SORTS = 5


@dataclasses.dataclass(frozen=True, slots=True)
class PicturedPlan:
    """A plan, and what was asked."""

    found: PlanOutcome
    cluster: Cluster
    namespace: str | None
    selector: str
    natural_gangs: bool
    seed: int
    only_new: bool = False
    constraints: Sequence[Mapping[str, Any] | Predicate] = ()

    def source(self, document: PlanDocument, progress: tuple[StageProgress, ...]) -> PlotSource:
        """Return what pictures of the document are drawn from."""
        from ..reports.plots import PlotSource

        whole = self._whole_cluster()
        return PlotSource(
            document,
            whole,
            progress=progress,
            made=lambda: {"": made_by_plan(self.found.units)},
            room=lambda: self._room(whole),
            curves=lambda: {"plan": self._curve(whole)},
            explanation=cache(partial(self._explanation, whole)),
            shadow_prices=self.found.shadow_prices,
        )

    def _explanation(self, whole: Cluster) -> ExplanationDocument | None:
        """What keeps the first unit of the most frequent sorts from being placed; None where all are placed."""
        alike: dict[tuple[str, ...], list[Unit]] = {}
        for one in self.found.units:
            if one.node is None:
                alike.setdefault(tuple(reason.message for reason in one.reasons), []).append(one.unit)
        if not alike:
            return None
        from ..models.results.common import Status
        from ..solver.engines.outcome import UnitOutcome
        from ..solver.explain.explain import explain_beside

        placed = [
            UnitOutcome(one.unit, Status.ALLOCATED, one.node, allocations=one.allocations)
            for one in self.found.units
            if one.node is not None
        ]
        frequent = sorted(alike.values(), key=lambda units: -len(units))[:EXPLAINED_SORTS]
        new = {node.metadata.name for nodes in self.found.bought.values() for node in nodes}
        nodes = {name: node for name, node in whole.nodes.items() if name in new or not self.only_new}
        ask = partial(explain_beside, whole, placed, [units[0] for units in frequent], nodes, gates=self.found.gates)
        ask = partial(ask, cel_errors=self.found.cel_errors, time_limit=EXPLAIN_SECONDS, seed=self.seed)
        return ask(constraints=self.constraints)

    def _whole_cluster(self) -> Cluster:
        """The input with the nodes that are bought."""
        from ..solver.plan.build.nodes import with_bought_nodes

        counts = {name: len(nodes) for name, nodes in self.found.bought.items() if nodes}
        return with_bought_nodes(self.cluster, counts)[0] if counts else self.cluster

    def _curve(self, whole: Cluster) -> list[FragmentationPoint]:
        from ..solver.compare.figures import fragmentation_curve

        context, units = self._context(whole)
        return fragmentation_curve(context, units, self.found.units, self.found.order)

    def _room(self, whole: Cluster) -> list[MoreUnits]:
        from ..solver.compare.figures import more_units

        context, units = self._context(whole)
        return more_units(context, units, self.found.units)

    def _context(self, whole: Cluster) -> tuple[SchedulingContext, tuple[QueuedUnit, ...]]:
        """The queue, and a place to put it, with nothing placed."""
        from ..solver.compare.figures import SchedulingContext, scheduling_input

        ask = partial(scheduling_input, whole, gates=self.found.gates, cel_errors=self.found.cel_errors, seed=self.seed)
        ask = partial(ask, namespace=self.namespace, selector=self.selector, natural_gangs=self.natural_gangs)
        inputs = ask()
        if [one.unit.name for one in inputs.units] != [one.unit.name for one in self.found.units]:
            raise ValueError("there is nothing to draw: quota changed the queue of the plan")
        return SchedulingContext(inputs, monotonic() + CURVE_SECONDS), inputs.units


def made_by_plan(units: Iterable[PlannedUnitOutcome]) -> list[MadeAllocation]:
    """The allocations of a plan with the owners of their units."""
    return [
        (f"{unit.kind} {unit.namespace}/{unit.name}", "/".join(ref.key), allocation)
        for unit in units
        if unit.node is not None
        for ref, allocation in unit.allocations
    ]

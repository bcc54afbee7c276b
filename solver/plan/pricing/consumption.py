"""What a plan's bundles draw of counters and capacity, and whether a plan has a choice in that.

The stage ``least-consumption`` of ``allocate`` says what devices count. The counters of a device that several may have
a share of count once for each node that takes a share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....encoders.objectives.consumption import LEAST_CONSUMPTION, NodeConsumption, consumption_terms, node_consumption
from ....encoders.rows import Term
from ....encoders.symmetry import MergedProblem, Signature
from ....problem.node_state import AllocatedState, NodeContextBuilder
from ....problem.problem import Demand, InUse, Problem
from ....problem.requests import VisibleAttributes
from ....problem.shapes import NodeView
from .bundle import AggregateMeasure, Bundle, BundleQuestion, BundleUnit, MeasureContext, Picks


@dataclass(frozen=True, slots=True)
class ConsumptionMeasure(AggregateMeasure):
    """What a bundle draws of counters and capacity; the counters of a device that several share count once."""

    consumption: NodeConsumption
    id: str = LEAST_CONSUMPTION.id

    def sign(self, _merged: MergedProblem) -> Signature | None:
        """Tell devices apart by what they count."""
        return self.consumption.signature

    def terms(self, measured: MeasureContext) -> list[Term]:
        """Count all that measured units take, whether they have configurations or not."""
        merged = measured.model.merged
        pairs = zip(measured.units, merged.units, strict=True)
        claims = {claim for unit, own in pairs if unit.measured for copy in own.claims for claim in copy}
        counted = (one.index for one in merged.alternatives if merged.claim_of(one) in claims)
        return consumption_terms(measured.model, self.consumption, counted)

    def value(self, units: Sequence[BundleUnit], bundle: Bundle) -> int:
        """Add up the picks, and the counters of shareable devices that are opened."""
        pairs = zip(units, bundle.copies, strict=True)
        taken = [(unit.problem, picks) for unit, copies in pairs if unit.measured for picks in copies]
        opened = set[int]().union(*(self.opened(problem, picks) for problem, picks in taken))
        return sum(self.cost(problem, picks) for problem, picks in taken) + sum(map(self.opening_cost, opened))

    def cost(self, problem: Problem, picks: Picks) -> int:
        """What one copy counts, without what counts once for all that share a device."""
        return sum(self.consumption.of_pick(problem.demands[pick.demand], pick.device) for pick in picks)

    def opened(self, problem: Problem, picks: Picks) -> set[int]:
        """The devices of a copy whose counters count once."""
        held = {pick.device for pick in picks if not problem.demands[pick.demand].admin}
        return held & self.consumption.opened.keys()

    def opening_cost(self, device: int) -> int:
        """What the counters of a shareable device count."""
        return self.consumption.opened[device]

    def uniform_cost(self, unit: BundleUnit, in_use: InUse) -> int | None:
        """Add up the requests, if all devices and alternatives of each count alike."""
        if not unit.measured or not unit.problem.demands:
            return 0
        if any(not self.consumption.opened.keys().isdisjoint(one.candidates) for one in unit.problem.demands):
            return None
        total, demands = 0, unit.problem.demands
        for request in (request for claim in unit.problem.claims for request in claim.requests):
            costs = {cost for number in request.demands for cost in self._demand_costs(demands[number], in_use)}
            if len(costs) > 1:
                return None
            total += sum(costs)
        return total

    def least_cost(self, unit: BundleUnit, in_use: InUse) -> int:
        """The least that a unit counts: the cheapest devices of the cheapest alternative of each request."""
        if not unit.measured or not unit.problem.demands:
            return 0
        demands = unit.problem.demands
        requests = (request for claim in unit.problem.claims for request in claim.requests)
        return sum(
            min((min(self._demand_costs(demands[number], in_use), default=0) for number in request.demands), default=0)
            for request in requests
        )

    def _demand_costs(self, demand: Demand, in_use: InUse) -> set[int]:
        """What a request may count, without counters of shareable devices."""
        if demand.admin:
            return {0}
        devices = [device for device in demand.candidates if device not in in_use.dedicated]
        each = [self.consumption.of_pick(demand, device) for device in devices]
        return {sum(each)} if demand.all_devices else {demand.count * cost for cost in each}


@dataclass(frozen=True, slots=True)
class ConsumptionSurvey:
    """Weighs the devices of nodes, beside what is in use before the plan."""

    contexts: NodeContextBuilder
    allocated_state: AllocatedState
    _known: dict[int, ConsumptionMeasure] = field(default_factory=dict)

    def measure(self, problem: Problem, view: NodeView) -> ConsumptionMeasure:
        """The measure of a node, given any Problem about it."""
        shape = view.shape.index
        # What is in use counts only where devices are shared (CTR-3).
        if problem.shared:
            return self._measured(problem, view)
        if shape not in self._known:
            self._known[shape] = self._measured(problem, view)
        return self._known[shape]

    def _measured(self, problem: Problem, view: NodeView) -> ConsumptionMeasure:
        context = self.contexts.survey(view, VisibleAttributes())
        seen = replace(problem, node_context=context)
        return ConsumptionMeasure(node_consumption(seen, self.allocated_state.in_use(view)))

    def of_question(self, question: BundleQuestion, view: NodeView) -> ConsumptionMeasure:
        """The measure of the question about a node; without units there is nothing to weigh."""
        if not question.units:
            return ConsumptionMeasure(NodeConsumption({}, {}, frozenset(), ()))
        return self.measure(question.units[0].problem, view)


def stages_with_choice(
    stages: Sequence[str], questions: Mapping[int, BundleQuestion], measures: Mapping[int, ConsumptionMeasure]
) -> tuple[str, ...]:
    """Keep stages if some unit may consume more or less; both mappings are by node class.

    Other stages stand before this one so that a smaller device is not taken for being less preferred (SRCH-4): they are
    kept if some unit has a request with alternatives.
    """
    if not stages or not _has_choice(questions, measures):
        return ()
    units = (unit for question in questions.values() for unit in question.units)
    has_lists = any(unit.problem.has_lists for unit in units)
    return tuple(name for name in stages if has_lists or name == LEAST_CONSUMPTION.id)


def _has_choice(questions: Mapping[int, BundleQuestion], measures: Mapping[int, ConsumptionMeasure]) -> bool:
    """Whether some unit may consume more or less, on one node or on different ones."""
    known: dict[int, int] = {}
    for index, question in questions.items():
        for unit in question.units:
            cost = measures[index].uniform_cost(unit, question.in_use)
            if cost is None or known.setdefault(unit.index, cost) != cost:
                return True
    return False


def least_consumption(
    questions: Mapping[int, BundleQuestion], measures: Mapping[int, ConsumptionMeasure]
) -> Mapping[int, int]:
    """What each unit counts at least, on whichever node; both mappings are by node class."""
    found: dict[int, int] = {}
    for index, question in questions.items():
        for unit in question.units:
            cost = measures[index].least_cost(unit, question.in_use)
            found[unit.index] = min(cost, found.get(unit.index, cost))
    return found

"""Plans in whole numbers by arc flow: which arcs of the filling graphs so many nodes take (Valério de Carvalho, 1999).

A flow of n units through the graph of a node class is what n of its nodes take. So one model over all graphs has every
plan, where columns are those that were generated only. Its relaxation has the same value. Only arcs matter that a
better plan could use: a path that loses more at the duals than bound and value are apart is in none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, floor, gcd, inf, isfinite
from time import monotonic
from typing import NamedTuple

from ...encoders.solver_library import mathopt, np
from . import master_problem
from .column_generation import ColumnGenerator, value_step
from .filling_graph import FillingGraph
from .heuristics import filling_deadline
from .master import INTEGRALITY_TOLERANCE, MasterRelaxation, run_mixed_integer

# A model with more arcs takes too long, and so does a search with more nodes.
_MOST_ARCS = 60_000
_MOST_NODES = 5_000
# What is quick.
_FEW_ARCS, _FEW_NODES = 1_000, 50
# The solver's numbers are floating-point: a bound is off by less than so many steps, while coefficients are small.
_BOUND_TOLERANCE = 1e-4
_LARGEST_COEFFICIENT = 1 << 20
_NO_ITEM = -1


class Arc(NamedTuple):
    """An arc between states by number: so many ``copies`` of a unit class, or a step without any."""

    tail: int
    head: int
    item: int
    copies: int


@dataclass(frozen=True, slots=True)
class FlowNetwork:
    """The arcs of a graph, where states that differ by steps without units alone are one; from 0 to ``sink``."""

    arcs: tuple[Arc, ...]
    states: int
    sink: int


def flow_network(graph: FillingGraph) -> FlowNetwork:
    """Write a graph as a network, with as few states and arcs as are easily found."""
    first = np.concatenate(([0], np.cumsum(graph.states)))
    tails = np.concatenate([layer.parent + start for layer, start in zip(graph.layers, first, strict=False)])
    heads = np.concatenate([layer.child + start for layer, start in zip(graph.layers, first[1:], strict=False)])
    copies = np.concatenate([layer.copies for layer in graph.layers])
    items = np.concatenate([np.full(len(layer.parent), layer.item.index) for layer in graph.layers])
    sink = int(first[-1]) - 1
    # A state that is left in one way only, which takes nothing, is the state behind it.
    leaving = np.bincount(tails, minlength=sink + 1)
    same = np.arange(sink + 1)
    only = (copies == 0) & (leaving[tails] == 1)
    for tail, head in sorted(zip(tails[only].tolist(), heads[only].tolist(), strict=True), reverse=True):
        same[tail] = same[head]
    tails, heads, kept = same[tails], same[heads], ~only
    tails, heads, copies, items = tails[kept], heads[kept], copies[kept], items[kept]
    # One that is entered in one way only, which takes nothing, is the state before it.
    entering = np.bincount(heads, minlength=sink + 1)
    before = np.arange(sink + 1)
    only = (copies == 0) & (entering[heads] == 1) & (heads != sink)
    for tail, head in sorted(zip(tails[only].tolist(), heads[only].tolist(), strict=True)):
        before[head] = before[tail]
    kept = ~only
    listed = zip(
        before[tails[kept]].tolist(),
        before[heads[kept]].tolist(),
        np.where(copies[kept] > 0, items[kept], _NO_ITEM).tolist(),
        copies[kept].tolist(),
        strict=True,
    )
    source = int(before[same[0]])
    numbers = {source: 0}
    arcs = []
    for tail, head, item, number in dict.fromkeys(listed):
        ends = [numbers.setdefault(state, len(numbers)) for state in (tail, head)]
        if tail != head:
            arcs.append(Arc(ends[0], ends[1], item, number))
    end = numbers.setdefault(int(before[same[sink]]), len(numbers))
    return FlowNetwork(tuple(arcs), len(numbers), end)


@dataclass(frozen=True, slots=True)
class ArcFlowResult:
    """A better plan, if any was found, a bound, and whether no plan is better than this one or the one at hand."""

    plan: master_problem.IntegerPlan | None
    bound: int | None
    proven: bool


@dataclass(frozen=True, slots=True)
class OpenStage:
    """A stage whose plan at hand may not be the best: its relaxation, its bound, and the gap that is enough."""

    generator: ColumnGenerator
    stage: master_problem.ObjectiveStage
    relaxation: MasterRelaxation
    plan: master_problem.IntegerPlan
    bound: int
    gap: float
    deadline: float | None

    @property
    def step(self) -> int:
        """By how much values differ at least, towards worse ones."""
        step = value_step(self.generator.instance, self.stage.terms)
        return step if self.stage.maximise else -step

    @property
    def slack(self) -> int:
        """How many steps below the bound are near enough."""
        return int(self.gap * abs(self.bound)) // abs(self.step)

    def steps_from(self, bound: int) -> int:
        """How many steps the plan is worse than a bound."""
        return (bound - self.plan.value(self.stage.terms)) // self.step


def solve_arc_flow(asked: OpenStage) -> ArcFlowResult:
    """Look for a plan within the relative gap of the bound, then for one that is worse, up to the plan at hand.

    The nearer to the bound, the fewer arcs matter. Where there is no such plan, the bound moves. Where many nodes take
    the same, what the relaxation takes whole is kept at first.
    """
    bound, deadline = asked.bound, asked.deadline
    graphs = filling_graphs(asked.generator, asked.stage, deadline)
    if graphs is None:
        return ArcFlowResult(None, bound, proven=False)
    search, step = FlowSearch(asked, graphs), asked.step
    left, slack = asked.steps_from(bound), asked.slack
    beside = search.run_beside_whole()
    if beside.plan is not None:
        return beside
    while left > 0 and not master_problem.is_past(deadline):
        target = bound - min(slack, left - 1) * step
        found = search.run(target, deadline)
        if found is None:
            break
        if found.plan is not None or not found.proven:
            # The model has no plans that are worse than the target: what it says about these is not their bound.
            worst = max if step > 0 else min
            own = None if found.bound is None else worst(found.bound, target - step)
            better = asked.stage.tightest(bound, own)
            return ArcFlowResult(found.plan, bound if better is None else better, found.proven)
        bound, slack = target - step, 2 * slack + 1
        left = asked.steps_from(bound)
    return ArcFlowResult(None, bound, proven=left <= 0)


def complete_whole_columns(asked: OpenStage) -> ArcFlowResult:
    """Keep what the relaxation takes whole, and look for a plan within the gap where few arcs are left."""
    graphs = filling_graphs(asked.generator, asked.stage, asked.deadline)
    if graphs is None:
        return ArcFlowResult(None, asked.bound, proven=False)
    return FlowSearch(asked, graphs, _FEW_ARCS, _FEW_NODES).run_beside_whole()


def _whole_columns(generator: ColumnGenerator, relaxation: MasterRelaxation) -> Counter[master_problem.Column]:
    """What a relaxation takes whole, rounded down."""
    pairs = zip(generator.master.columns, relaxation.columns, strict=False)
    return +Counter({column: floor(amount + INTEGRALITY_TOLERANCE) for column, amount in pairs})


@dataclass(frozen=True, slots=True)
class FlowSearch:
    """Looks for plans of a stage over the graphs of all node classes."""

    asked: OpenStage
    graphs: Mapping[int, FillingGraph]
    most_arcs: int = _MOST_ARCS
    most_nodes: int = _MOST_NODES
    # What part of the time that is left may go into what the relaxation takes whole.
    rounded_share: float = 0.3

    def run_beside_whole(self) -> ArcFlowResult:
        """Look for a plan within the gap of the bound that has what the relaxation takes whole, if anything."""
        asked, bound = self.asked, self.asked.bound
        left = asked.steps_from(bound)
        whole = _whole_columns(asked.generator, asked.relaxation) if left > 0 else None
        target = bound - min(asked.slack, left - 1) * asked.step
        found = self.run(target, filling_deadline(asked.deadline, self.rounded_share), whole) if whole else None
        better = found.plan if found else None
        return ArcFlowResult(better, bound, better is not None and better.value(asked.stage.terms) == bound)

    def run(
        self, target: int, deadline: float | None, kept: Mapping[master_problem.Column, int] | None = None
    ) -> ArcFlowResult | None:
        """Look for the best plan of this value or a better one that has what is kept; None where that is too large."""
        kept = kept or {}
        generator, stage = self.asked.generator, self.asked.stage
        covered = master_problem.covered_units(generator.instance, tuple(kept.items()))
        left = [max(0, number - there) for number, there in zip(generator.instance.demands(), covered, strict=True)]
        networks = self._networks(target, left)
        if networks is None:
            return None
        model = _ArcFlowModel(generator, stage, networks, left, kept)
        return model.solved(self.most_nodes, deadline) if model.post(target) else None

    def _networks(self, target: int, left: Sequence[int]) -> Mapping[int, FlowNetwork] | None:
        """The networks that a plan of this value or a better one could use, by node class; None where they are large.

        What is kept loses something, too, so that more is left out than need be; then nothing is proven.
        """
        generator, stage = self.asked.generator, self.asked.stage
        instance, most = generator.instance, generator.instance.demands()
        pricing = generator.stage_pricing(stage, self.asked.relaxation.duals)
        bounds = [0] * len(instance.nodes)
        for number, graph in self.graphs.items():
            bounds[number] = graph.values(pricing.prices.units, most).best
        total = pricing.bound(bounds)
        if total is None:
            return None
        losable = total - (target if stage.maximise else -target) * pricing.scale
        found: dict[int, FlowNetwork] = {}
        for number, graph in self.graphs.items():
            constant = pricing.constant(number)
            least = max(0, bounds[number] + constant) - losable - constant
            restricted = graph.restricted(pricing.prices.units, left, least)
            if restricted is not None and restricted.layers:
                found[number] = flow_network(restricted)
        return found if sum(len(one.arcs) for one in found.values()) <= self.most_arcs else None


def filling_graphs(
    generator: ColumnGenerator, stage: master_problem.ObjectiveStage, deadline: float | None
) -> Mapping[int, FillingGraph] | None:
    """The graphs of all node classes; None where some class has none, rows count usage, or time is over."""
    instance, most = generator.instance, generator.instance.demands()
    if stage.terms.usage or any(row.terms.usage for row in generator.master.rows):
        return None
    found: dict[int, FillingGraph] = {}
    for node in instance.nodes:
        if master_problem.is_past(deadline):
            return None
        graph = generator.pricer.fillings(node.index, most) if node.count else None
        if isinstance(graph, FillingGraph):
            found[node.index] = graph
        elif node.count:
            return None
    return found


def solve_whole_steps(
    model: mathopt.Model, most_nodes: int, deadline: float | None, *, is_plain: bool = False
) -> mathopt.SolveResult | None:
    """Run SCIP on a model of whole values; a plain one is neither presolved nor rounded. None where it refuses."""
    plain = mathopt.Emphasis.OFF if is_plain else None
    parameters = mathopt.SolveParameters(
        time_limit=None if deadline is None else timedelta(seconds=max(0.0, deadline - monotonic())),
        node_limit=most_nodes,
        relative_gap_tolerance=0.0,
        absolute_gap_tolerance=1 - _BOUND_TOLERANCE,
        presolve=plain,
        heuristics=plain,
    )
    parameters.gscip.bool_params["misc/catchctrlc"] = False
    return run_mixed_integer(model, mathopt.SolverType.GSCIP, parameters)


class _ArcFlowModel:
    """The model, with its objective in steps, so that a better plan is better by one or more."""

    def __init__(
        self,
        generator: ColumnGenerator,
        stage: master_problem.ObjectiveStage,
        networks: Mapping[int, FlowNetwork],
        demands: Sequence[int],
        kept: Mapping[master_problem.Column, int],
    ) -> None:
        self._generator, self._instance, self._stage = generator, generator.instance, stage
        self._step = value_step(generator.instance, stage.terms)
        self._networks = networks
        self._model = mathopt.Model()
        self._kept = kept
        self._units = [self._variable(unit.demand) for unit in self._instance.units]
        self._gangs = [self._variable(gang.demand) for gang in self._instance.gangs]
        self._nodes = {
            node.index: self._model.add_integer_variable(
                lb=self._kept_nodes(node.index),
                ub=node.count if node.index in networks else self._kept_nodes(node.index),
            )
            for node in self._instance.nodes
            if node.count
        }
        self._arcs = {
            number: [self._variable(self._most_flow(arc, number, demands)) for arc in network.arcs]
            for number, network in self._networks.items()
        }

    def _kept_nodes(self, node_class: int) -> int:
        return sum(number for column, number in self._kept.items() if column.node_class == node_class)

    def _variable(self, most: int) -> mathopt.Variable:
        return self._model.add_integer_variable(lb=0, ub=most)

    def _most_flow(self, arc: Arc, number: int, demands: Sequence[int]) -> int:
        nodes = self._instance.nodes[number].count
        return min(nodes, demands[arc.item] // arc.copies) if arc.copies else nodes

    def post(self, target: int) -> bool:
        """Post flows, coverage, rows and the objective, which is to be this value or a better one.

        False where coefficients are so large that the solver's tolerances matter.
        """
        covered = master_problem.covered_units(self._instance, tuple(self._kept.items()))
        pairs = zip(self._units, covered, strict=True)
        cover = [self._row([(variable, -1)], -there, None) for variable, there in pairs]
        for variable, gang in zip(self._gangs, self._instance.gangs, strict=True):
            for unit, size in gang.members:
                cover[unit].set_coefficient(variable, -size)
        for number, network in self._networks.items():
            there = self._kept_nodes(number)
            entering = [_entering(state, network) * there for state in range(network.states)]
            balance = [self._row([], nodes, nodes) for nodes in entering]
            balance[0].set_coefficient(self._nodes[number], 1)
            balance[network.sink].set_coefficient(self._nodes[number], -1)
            for variable, arc in zip(self._arcs[number], network.arcs, strict=True):
                balance[arc.tail].set_coefficient(variable, -1)
                balance[arc.head].set_coefficient(variable, 1)
                if arc.copies:
                    cover[arc.item].set_coefficient(variable, arc.copies)
        for row in self._generator.master.rows:
            terms = self._terms(row.terms)
            divisor = gcd(*(value for _, value in terms)) or 1
            if any(abs(value) > _LARGEST_COEFFICIENT * divisor for _, value in terms):
                return False
            lower = None if row.lower is None else -(-row.lower // divisor)
            self._row(
                [(variable, value // divisor) for variable, value in terms],
                lower,
                None if row.upper is None else row.upper // divisor,
            )
        objective = [(variable, value // self._step) for variable, value in self._terms(self._stage.terms) if value]
        for variable, value in objective:
            self._model.objective.set_linear_coefficient(variable, value)
        self._model.objective.is_maximize = self._stage.maximise
        value = target // self._step
        self._row(objective, *((value, None) if self._stage.maximise else (None, value)))
        return all(abs(value) <= _LARGEST_COEFFICIENT for _, value in objective)

    def _row(
        self, terms: Sequence[tuple[mathopt.Variable, int]], lower: int | None, upper: int | None
    ) -> mathopt.LinearConstraint:
        row = self._model.add_linear_constraint(lb=-inf if lower is None else lower, ub=inf if upper is None else upper)
        for variable, value in terms:
            row.set_coefficient(variable, value)
        return row

    def _terms(self, terms: master_problem.Terms) -> list[tuple[mathopt.Variable, int]]:
        found = [(self._units[index], value) for index, value in terms.units.items()]
        found += [(self._gangs[index], value) for index, value in terms.gangs.items()]
        return found + [(self._nodes[index], value) for index, value in terms.nodes.items() if index in self._nodes]

    def solved(self, most_nodes: int, deadline: float | None) -> ArcFlowResult:
        """Run SCIP for so many nodes of its tree, and read a plan from its flows; its bound is rounded outwards."""
        found = solve_whole_steps(self._model, most_nodes, deadline)
        if found is None:
            return ArcFlowResult(None, None, proven=False)
        if found.termination.reason == mathopt.TerminationReason.INFEASIBLE:
            return ArcFlowResult(None, None, proven=True)
        sign = -1 if self._stage.maximise else 1
        dual = sign * found.termination.objective_bounds.dual_bound
        bound = sign * ceil(dual - _BOUND_TOLERANCE) * self._step if isfinite(dual) else None
        if not found.has_primal_feasible_solution():
            return ArcFlowResult(None, bound, proven=False)
        plan = self._plan(found)
        return ArcFlowResult(plan, bound, plan.value(self._stage.terms) == bound)

    def _plan(self, found: mathopt.SolveResult) -> master_problem.IntegerPlan:
        columns = Counter[master_problem.Column](self._kept)
        for number, network in self._networks.items():
            flow = dict(zip(network.arcs, _whole(found, self._arcs[number]), strict=True))
            for counts, times in _paths(network, flow):
                columns[self._generator.pricer.filled(number, counts)] += times
        units, gangs = tuple(_whole(found, self._units)), tuple(_whole(found, self._gangs))
        return master_problem.IntegerPlan(master_problem.ordered_columns(columns), units, gangs)


def _entering(state: int, network: FlowNetwork) -> int:
    """What enters at a state from outside: nodes at the first, and they leave at the last."""
    return (state == 0) - (state == network.sink)


def _whole(found: mathopt.SolveResult, variables: Sequence[mathopt.Variable]) -> list[int]:
    return [round(value) for value in found.variable_values(variables)]


def _paths(network: FlowNetwork, flow: dict[Arc, int]) -> Iterator[tuple[tuple[tuple[int, int], ...], int]]:
    """Take a flow apart into paths: units by class, and how many nodes take them."""
    leaving: dict[int, list[Arc]] = defaultdict(list)
    for arc, amount in flow.items():
        if amount:
            leaving[arc.tail].append(arc)
    while any(flow[arc] for arc in leaving[0]):
        path: list[Arc] = []
        state = 0
        while state != network.sink:
            path.append(next(arc for arc in leaving[state] if flow[arc]))
            state = path[-1].head
        times = min(flow[arc] for arc in path)
        counts = Counter[int]()
        for arc in path:
            flow[arc] -= times
            if arc.copies:
                counts[arc.item] += arc.copies
        yield tuple(sorted(counts.items())), times

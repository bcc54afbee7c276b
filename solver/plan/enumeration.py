"""Proofs in whole numbers: by enumeration of columns, and by the numbers of nodes of each class.

All columns that a better plan could use are listed, and CP-SAT chooses among them, or SCIP, where they are many and
only have to cover units. A better plan has no column that loses more at the duals than bound and value are apart (as
Baldacci and others list routes). If the list is complete, the best plan over it, or the one at hand, is the optimum.

Where nodes of several classes cost something, a relaxation takes parts of nodes. The cheapest whole numbers are chosen
instead that keep some cuts. Where all units do not fit so many nodes, even in parts, duals are a cut that says why
(Benders, 1962).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...encoders.rows import CoefficientError, CpSatRows
from ...encoders.solver_library import mathopt
from ..engines.cp_sat import Limits, SolverStatus, run_solver
from . import column_generation, master_problem
from .arc_flow import ArcFlowResult, FlowSearch, OpenStage, complete_whole_columns, filling_graphs, solve_whole_steps
from .filling_graph import FillingGraph, VectorNode
from .heuristics import filling_deadline
from .master import LinearMaster, open_choices, solve_restricted_master
from .master_problem import is_past

# More columns than so many are not chosen from, and choosing may take so many deterministic units of work.
_MOST_ENUMERATED_COLUMNS = 3000
_ENUMERATION_WORK = 20.0
# The same where they only have to cover units, in nodes of a tree; larger costs are too much for floating point.
_MOST_COVERING_COLUMNS, _MOST_COVERING_NODES, _LARGEST_COST = 30_000, 5_000, 1 << 20


@dataclass(frozen=True, slots=True)
class EnumerationProof:
    """The best plan known, and whether it is proven to be the optimum."""

    plan: master_problem.IntegerPlan
    proven: bool


def prove_by_enumeration(
    generator: column_generation.ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    duals: master_problem.Duals,
    plan: master_problem.IntegerPlan,
    deadline: float | None,
) -> EnumerationProof:
    """Prove that a plan is the optimum of a stage, or find the optimum; where that takes too long, neither."""
    work = _MOST_COVERING_COLUMNS if _is_covering(generator, stage, plan) else None
    columns = _enumerate_columns(generator, stage, duals, plan, work, deadline)
    if columns is None and generator.instance.followers:
        columns = _all_columns(generator, stage, deadline)
    if columns is None:
        return EnumerationProof(plan, proven=False)
    instance = generator.instance
    if len(columns) > _MOST_ENUMERATED_COLUMNS:
        return _best_cover(generator, stage, plan, columns, deadline)
    for column in columns:
        generator.master.add(column)
    known = dict.fromkeys([*columns, *(column for column, _ in plan.columns)])
    choices = open_choices(instance, known)
    limits = Limits(deadline=deadline, work=_ENUMERATION_WORK)
    chosen = solve_restricted_master(instance, generator.master.rows, stage, choices, plan, limits)
    if chosen.plan and stage.gain(chosen.plan, plan) > 0:
        plan = chosen.plan
    return EnumerationProof(plan, chosen.status in (SolverStatus.OPTIMAL, SolverStatus.INFEASIBLE))


def _best_cover(
    generator: column_generation.ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    plan: master_problem.IntegerPlan,
    columns: Sequence[master_problem.Column],
    deadline: float | None,
) -> EnumerationProof:
    """Let SCIP choose the cheapest of these columns that cover the units of a plan, if they cost less than it."""
    instance, terms, model = generator.instance, stage.terms, mathopt.Model()
    step = column_generation.value_step(instance, terms)
    covered = [model.add_linear_constraint(lb=number) for number in master_problem.placed_units(instance, plan)]
    counted = [model.add_linear_constraint(ub=node.count) for node in instance.nodes]
    cost = model.add_linear_constraint(ub=plan.value(terms) // step - 1)
    taken = [model.add_integer_variable(lb=0, ub=instance.nodes[column.node_class].count) for column in columns]
    for variable, column in zip(taken, columns, strict=True):
        price = terms.of_column(column) // step
        model.objective.set_linear_coefficient(variable, price)
        cost.set_coefficient(variable, price)
        counted[column.node_class].set_coefficient(variable, 1)
        for unit, amount in column.counts:
            covered[unit].set_coefficient(variable, amount)
    found = solve_whole_steps(model, _MOST_COVERING_NODES, deadline, is_plain=True)
    if found is None or not found.has_primal_feasible_solution():
        is_none = found is not None and found.termination.reason == mathopt.TerminationReason.INFEASIBLE
        return EnumerationProof(plan, is_none)
    numbers = map(round, found.variable_values(taken))
    better = replace(plan, columns=master_problem.ordered_columns(dict(zip(columns, numbers, strict=True))))
    if not better.is_feasible(instance, generator.master.rows):
        return EnumerationProof(plan, proven=False)
    return EnumerationProof(better, found.termination.reason == mathopt.TerminationReason.OPTIMAL)


def _enumerate_columns(
    generator: column_generation.ColumnGenerator,
    stage: master_problem.ObjectiveStage,
    duals: master_problem.Duals,
    plan: master_problem.IntegerPlan,
    work: int | None,
    deadline: float | None,
) -> Sequence[master_problem.Column] | None:
    """List columns that a better plan could use; None if there are too many, or rows count meters without a price."""
    instance, most = generator.instance, generator.instance.demands()
    # Units that are worth nothing at the duals may still be needed, and rows matter that cost nothing.
    pricing = generator.stage_pricing(stage, duals, floor=1)
    forms = [stage.terms, *(row.terms for row in generator.master.rows)]
    if not all(pricing.prices.meters[meter] for terms in forms for meter in terms.usage):
        return None
    limits = column_generation.PricingLimits(column_generation.Effort.THOROUGH, deadline=deadline)
    classes = [node.index for node in instance.nodes]
    bounds = [priced.bound for priced in generator.price(pricing, classes, most, limits)]
    total = pricing.bound(bounds)
    if total is None:
        return None
    sign = 1 if stage.maximise else -1
    # The next better value is a step away.
    better = sign * plan.value(stage.terms) + column_generation.value_step(instance, stage.terms)
    losable = total - better * pricing.scale
    found: list[master_problem.Column] = []
    for node_class, bound in zip(classes, bounds, strict=True):
        if not instance.nodes[node_class].count:
            continue
        constant = pricing.constant(node_class)
        least = max(0, (bound or 0) + constant) - losable - constant
        columns = generator.pricer.enumerate(node_class, pricing.prices, most, least, replace(limits, work=work))
        if columns is None or len(found) + len(columns) > (work or _MOST_ENUMERATED_COLUMNS):
            return None
        found += columns
    return found


def _is_covering(
    generator: column_generation.ColumnGenerator, stage: master_problem.ObjectiveStage, plan: master_problem.IntegerPlan
) -> bool:
    """Whether nodes are vectors, they alone count, and every plan has to place what this one does."""
    instance, terms, rows = generator.instance, stage.terms, generator.master.rows
    if stage.maximise or terms.units or terms.gangs or terms.usage or instance.start or instance.completion:
        return False
    is_required = master_problem.placed_units(instance, plan) == master_problem.required_units(instance, rows)
    is_small = instance.largest_coefficient(terms) <= _LARGEST_COST * column_generation.value_step(instance, terms)
    return is_required and is_small and column_generation.vector_nodes(instance, generator.pricer) is not None


def _all_columns(
    generator: column_generation.ColumnGenerator, stage: master_problem.ObjectiveStage, deadline: float | None
) -> Sequence[master_problem.Column] | None:
    """List all columns but for those that use no less than one with more units; None if there are too many.

    Gangs that follow from what is placed make bounds weak, so that duals rule out little.
    """
    instance, most = generator.instance, generator.instance.demands()
    forms = [stage.terms, *(row.terms for row in generator.master.rows)]
    used = {meter for terms in forms for meter in terms.usage}
    # More than a unit costs: the most that it counts, and what it may count below zero.
    worth = 1 + sum(instance.sizes) + sum(abs(value) for terms in forms for value in terms.units.values())
    meters = tuple(-1 if meter in used else 0 for meter in range(instance.meters))
    prices = column_generation.Prices((worth,) * len(instance.units), meters)
    limits = column_generation.PricingLimits(column_generation.Effort.THOROUGH, deadline=deadline)
    found: list[master_problem.Column] = []
    for node in instance.nodes:
        columns = generator.pricer.enumerate(node.index, prices, most, 1, limits) if node.count else ()
        if columns is None or len(found) + len(columns) > _MOST_ENUMERATED_COLUMNS:
            return None
        found += columns
    return found


# Numbers of nodes that are tried, rounds of pricing for each, and deterministic work for choosing them.
_MOST_COUNTS, _COUNT_ROUNDS, _COUNT_WORK = 40, 100, 1.0
# Classes that cost something, the part of the time that all of it may take, and what arc flow may take on some numbers.
_MOST_KINDS, _COUNT_SHARE, _COUNT_ARCS, _COUNT_NODES = 16, 0.5, 2_000, 500
# Prices are whole numbers up to this, and so are the sizes of units.
_LARGEST_PRICE, _SIZE_PARTS = 1 << 24, 1000


def complete_whole_nodes(asked: OpenStage) -> ArcFlowResult:
    """Complete what the relaxation takes whole; where that is in vain, bound whole numbers of nodes and look there."""
    found = complete_whole_columns(asked)
    counting = None if found.plan is not None else NodeCounts.of(asked)
    return found if counting is None else counting.completed()


@dataclass(frozen=True, slots=True)
class _CountCut:
    """Units are worth ``least`` together, at some prices, and a node of each class has room for so much of it."""

    room: Mapping[int, int]
    least: int


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """How many nodes of each class the cheapest plan of ``units`` has; numbers up to ``excluded`` ones hold no plan."""

    asked: OpenStage
    graphs: Mapping[int, FillingGraph]
    nodes: Mapping[int, VectorNode]
    units: tuple[int, ...]
    cuts: list[_CountCut] = field(default_factory=list)
    excluded: list[Mapping[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, asked: OpenStage) -> NodeCounts | None:
        """None where one class alone costs something or very many do, without graphs, and where nothing is needed."""
        generator, stage = asked.generator, asked.stage
        instance, costs = generator.instance, stage.terms.nodes
        kinds = {index for index, cost in costs.items() if cost and instance.nodes[index].count}
        is_simple = not (instance.start or instance.completion or stage.terms.units or stage.terms.gangs)
        if stage.maximise or not 2 <= len(kinds) <= _MOST_KINDS or min(costs.values()) < 0 or not is_simple:
            return None
        units = tuple(master_problem.required_units(instance, generator.master.rows))
        graphs = filling_graphs(generator, stage, asked.deadline) if any(units) else None
        nodes = column_generation.vector_nodes(instance, generator.pricer)
        return None if graphs is None or nodes is None else cls(asked, graphs, nodes, units)

    def completed(self) -> ArcFlowResult:
        """Bound the cost, and look for a plan on the cheapest nodes that no cut excludes."""
        asked, bound, value = self.asked, self.asked.bound, self.asked.plan.value(self.asked.stage.terms)
        ends = filling_deadline(asked.deadline, _COUNT_SHARE)
        self._add_cut(asked.relaxation.duals.units)
        self._add_sizes(ends)
        master = self._placing()
        for cost, counts in self._choices(ends):
            bound = max(bound, cost)
            if bound >= value:
                return ArcFlowResult(None, value, proven=True)
            better = None if self._is_excluded(counts, master, ends) else self._plan_on(counts, master, bound, ends)
            if better is not None:
                return ArcFlowResult(better, bound, better.value(asked.stage.terms) == bound)
        return ArcFlowResult(None, bound, proven=False)

    def _choices(self, deadline: float | None) -> Iterator[tuple[int, Mapping[int, int]]]:
        """Yield the least cost that the cuts allow, with numbers of nodes, until no cut is new or time is over.

        Of numbers that cost the same those come first that are near those of the relaxation.
        """
        done, taken, asked = 0, dict.fromkeys(self.graphs, 0.0), self.asked
        for column, amount in zip(asked.generator.master.columns, asked.relaxation.columns, strict=False):
            taken[column.node_class] += amount
        wished = {index: round(amount) for index, amount in taken.items()}
        while done < (known := len(self.cuts) + len(self.excluded)) <= _MOST_COUNTS and not is_past(deadline):
            done = known
            try:
                rows, variables = self._model()
                goal = [(variables[index], cost) for index, cost in _known(asked.stage.terms.nodes, variables)]
                rows.minimize(goal)
                cheapest = run_solver(rows, Limits(deadline=deadline, work=_COUNT_WORK))
                if cheapest.status is not SolverStatus.OPTIMAL:
                    return
                # Both at once take CP-SAT far longer.
                rows.between(goal, None, cheapest.objective)
                apart = {rows.integer(0, max(rows.range_of(variables[i])[1], n)): (i, n) for i, n in wished.items()}
                for distance, (index, number) in apart.items():
                    rows.between([(variables[index], 1), (distance, -1)], None, number)
                    rows.between([(variables[index], 1), (distance, 1)], number, None)
                rows.minimize([(distance, 1) for distance in apart])
                nearest = run_solver(rows, Limits(deadline=deadline, work=_COUNT_WORK))
            except CoefficientError:
                return
            values = nearest.values or cheapest.values
            yield cheapest.objective, {index: values[variable] for index, variable in variables.items()}

    def _model(self) -> tuple[CpSatRows, Mapping[int, int]]:
        """The cuts and the rows about nodes alone. No better plan costs more than the one at hand."""
        generator, terms = self.asked.generator, self.asked.stage.terms
        rows, costs, needed, most = CpSatRows(), terms.nodes, sum(self.units), self.asked.plan.value(terms)
        variables = {
            node.index: rows.integer(
                0, min(node.count, needed, most // costs[node.index] if costs.get(node.index) else needed)
            )
            for node in generator.instance.nodes
            if node.index in self.graphs
        }
        for cut in self.cuts:
            rows.between([(variables[index], room) for index, room in cut.room.items()], cut.least, None)
        for counts in self.excluded:
            more = {index: rows.boolean() for index in variables}
            for index, literal in more.items():
                rows.between([(variables[index], 1)], counts[index] + 1, None, guard=literal)
            rows.between([(literal, 1) for literal in more.values()], 1, None)
        for row in generator.master.rows:
            if not (row.terms.units or row.terms.gangs or row.terms.usage):
                known = [(variables[index], value) for index, value in _known(row.terms.nodes, variables)]
                rows.between(known, None, row.upper)
        return rows, variables

    def _add_cut(self, duals: Sequence[float]) -> _CountCut:
        """At any prices that are not below zero the units need room for what they are worth."""
        largest = max((dual for dual, number in zip(duals, self.units, strict=True) if number), default=0.0)
        step = _LARGEST_PRICE / largest if largest > 0 else 0.0
        prices = [round(max(0.0, dual) * step) if number else 0 for dual, number in zip(duals, self.units, strict=True)]
        room = {index: graph.values(prices, self.units).best for index, graph in self.graphs.items()}
        cut = _CountCut(room, sum(price * number for price, number in zip(prices, self.units, strict=True)))
        self.cuts.append(cut)
        return cut

    def _add_sizes(self, deadline: float | None) -> None:
        """Add cuts by what units take of each dimension: all of them, and those that do not fit nodes of some class."""
        needs = {u: own for node in self.nodes.values() for u, own in node.needs.items() if self.units[u]}
        kinds = dict.fromkeys(frozenset(u for u in needs if not node.holds({u: 1})) for node in self.nodes.values())
        for dimension in range(min(len(node.left) for node in self.nodes.values())):
            for kind in (frozenset(needs), *kinds):
                sizes = [needs[u][dimension] if u in kind else 0 for u in range(len(self.units))]
                if any(sizes) and not is_past(deadline):
                    self._add_cut(sizes)

    def _placing(self) -> LinearMaster:
        """The relaxation that places as much as possible, by size, with columns to begin with."""
        units = (master_problem.MasterUnitClass(u, number, self._size(u)) for u, number in enumerate(self.units))
        generator, given = self.asked.generator, self.asked.generator.instance
        instance = master_problem.MasterProblem(tuple(units), given.nodes, meters=given.meters, sizes=given.sizes)
        master = LinearMaster(instance)
        master.set_objective(instance.admitted())
        support = generator.master.support(self.asked.relaxation)
        for column in generator.master.columns:
            if column in support:
                master.add(column)
        return master

    def _is_excluded(self, counts: Mapping[int, int], master: LinearMaster, deadline: float | None) -> bool:
        """Whether all units do not fit so many nodes, even in parts; then a cut says so."""
        nodes = tuple(replace(node, count=counts.get(node.index, 0)) for node in self.asked.generator.instance.nodes)
        for node in nodes:
            master.limit_nodes(node.index, node.count)
        instance = replace(master.instance, nodes=nodes)
        placing, total = instance.admitted(), sum(unit.weight * unit.demand for unit in instance.units)
        budget = column_generation.GenerationLimits(_COUNT_ROUNDS, 0.0, deadline, known_bound=total)
        found = replace(self.asked.generator, instance=instance, master=master).run(placing, budget, self.units)
        most = found.rounded(instance, placing)
        if found.duals is None or most is None or most >= total:
            return False
        cut = self._add_cut(found.duals.units)
        return sum(room * counts[index] for index, room in cut.room.items()) < cut.least

    def _size(self, unit: int) -> int:
        """The largest share of a node that a unit takes, where it is smallest; at least one part."""
        pairs = [zip(node.needs[unit], node.left, strict=True) for node in self.nodes.values() if unit in node.needs]
        sizes = [max((need / left for need, left in own if left), default=0.0) for own in pairs]
        return max(1, round(_SIZE_PARTS * min(sizes, default=0.0)))

    def _plan_on(
        self, counts: Mapping[int, int], placed: LinearMaster, cost: int, deadline: float | None
    ) -> master_problem.IntegerPlan | None:
        """A better plan on so many nodes of each class, which cost no more than this."""
        asked, stage = self.asked, self.asked.stage
        given, rows = asked.generator.instance, asked.generator.master.rows
        nodes = tuple(replace(node, count=counts.get(node.index, 0)) for node in given.nodes)
        master = LinearMaster(instance := replace(given, nodes=nodes))
        for row in rows[len(given.rows) :]:
            master.add_row(row)
        master.set_objective(stage)
        for column in placed.columns:
            master.add(column)
        generator = replace(asked.generator, instance=instance, master=master)
        budget = column_generation.GenerationLimits(_COUNT_ROUNDS, 0.0, deadline)
        relaxation = generator.run(stage, budget, instance.demands()).relaxation
        if relaxation is None:
            return None
        there = OpenStage(generator, stage, relaxation, asked.plan, cost, asked.gap, deadline)
        graphs = {index: graph for index, graph in self.graphs.items() if counts[index]}
        # Whole graphs are mostly too large for the search after it, which needs little time.
        search = FlowSearch(there, graphs, _COUNT_ARCS, _COUNT_NODES, rounded_share=0.8)
        found = search.run_beside_whole()
        full = None if found.plan else search.run(cost, deadline)
        if full and full.proven and full.plan is None:
            self.excluded.append(counts)
        return (full or found).plan


def _known(terms: Mapping[int, int], variables: Mapping[int, int]) -> list[tuple[int, int]]:
    return [(index, value) for index, value in terms.items() if index in variables]

"""The master over the columns that are known: how many nodes take which column, how many units and gangs are placed.

``LinearMaster`` is its linear relaxation. It is one model for all stages: columns, rows and objectives come and go, and
the solver continues from its basis. ``solve_restricted_master`` solves it in whole numbers, by CP-SAT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from math import ceil, floor, inf, log2
from threading import Event, Thread
from time import monotonic

from ...encoders.rows import CoefficientError, CpSatRows
from ...encoders.solver_library import mathopt
from ..engines.cp_sat import USUAL, Limits, SolverStatus, run_solver
from . import master_problem

# Floating-point values this close to a whole number are it.
INTEGRALITY_TOLERANCE = 1e-6
SOLVER_ERRORS = (ValueError, RuntimeError, AttributeError)
"""What MathOpt raises for states of solvers that it does not know, such as an abnormal end."""


@dataclass(frozen=True, slots=True)
class MasterRelaxation:
    """An optimum of the linear program: nodes for each column, gangs, and duals, all in floating point."""

    value: float
    columns: tuple[float, ...]
    gangs: tuple[float, ...]
    nodes: tuple[float, ...]
    duals: master_problem.Duals


class LinearMaster:
    """The linear program of an instance; columns and rows are known by the order in which they came.

    ``make_solver`` is called with the model and the type of the solver.
    """

    def __init__(
        self,
        instance: master_problem.MasterProblem,
        make_solver: Callable[..., mathopt.IncrementalSolver] | None = None,
    ) -> None:
        # GLOP is in MathOpt, and keeps its basis between solves.
        self._make_solver = make_solver or mathopt.IncrementalSolver
        self.columns: list[master_problem.Column] = []
        self.rows: list[master_problem.CouplingRow] = []
        self._known: set[master_problem.Column] = set()
        self._model = mathopt.Model()
        self._solver: mathopt.IncrementalSolver | None = None
        # A limit that columns keep anyway would leave open how much of a dual is the unit's, and how much the node's.
        self._singles = [
            self._model.add_variable(lb=0, ub=inf if unit.at_home else unit.demand) for unit in instance.units
        ]
        # What only counts usage may be huge: such variables, and rows and stages about them, are scaled.
        counts = instance.completion is not None
        self._steps = [1.0 if gang.members or not counts else _step(gang.demand) for gang in instance.gangs]
        self._goal_step, self._row_steps = 1.0, list[float]()
        self._gangs = [
            self._model.add_variable(lb=0, ub=gang.demand / step)
            for gang, step in zip(instance.gangs, self._steps, strict=True)
        ]
        self._amounts: list[mathopt.Variable] = []
        self.instance = instance
        self._restricted_gangs: set[int] = set()
        # Rows that columns have a part in: those of quota have none.
        self._column_rows: list[tuple[master_problem.CouplingRow, mathopt.LinearConstraint]] = []
        self._row_limits: list[mathopt.LinearConstraint] = []
        self._stage: master_problem.ObjectiveStage | None = None
        self._cover = [self._model.add_linear_constraint(lb=0) for _ in instance.units]
        self._limits = [self._model.add_linear_constraint(ub=node.count) for node in instance.nodes]
        for unit, single in zip(self._cover, self._singles, strict=True):
            unit.set_coefficient(single, -1)
        for gang, variable in zip(instance.gangs, self._gangs, strict=True):
            for index, size in gang.members:
                self._cover[index].set_coefficient(variable, -size)
        for row in instance.rows:
            self.add_row(row)
        for column, _ in instance.start.columns if instance.start else ():
            self.add(column)

    def add(self, column: master_problem.Column) -> bool:
        """Add a column; False if it is there already."""
        if column in self._known:
            return False
        self._known.add(column)
        self.columns.append(column)
        variable = self._model.add_variable(lb=0)
        self._amounts.append(variable)
        self._limits[column.node_class].set_coefficient(variable, 1)
        for unit, amount in column.counts:
            self._cover[unit].set_coefficient(variable, amount)
        for row, limit in self._column_rows:
            limit.set_coefficient(variable, row.terms.of_column(column))
        if self._stage:
            value = self._stage.terms.of_column(column) / self._goal_step
            self._model.objective.set_linear_coefficient(variable, value)
        return True

    def add_row(self, row: master_problem.CouplingRow) -> None:
        """Add a row over all that is there."""
        lower, upper = (-inf if row.lower is None else row.lower), (inf if row.upper is None else row.upper)
        found, step = self._coefficients(row.terms), 1.0
        if self.instance.completion and not row.terms.nodes and not row.terms.usage:
            step = _step(max((abs(value) for _, value in found), default=0))
        limit = self._model.add_linear_constraint(lb=lower / step, ub=upper / step)
        for variable, coefficient in found:
            limit.set_coefficient(variable, coefficient / step)
        self.rows.append(row)
        self._row_steps.append(step)
        self._row_limits.append(limit)
        if row.terms.nodes or row.terms.usage:
            self._column_rows.append((row, limit))

    def set_objective(self, stage: master_problem.ObjectiveStage) -> None:
        """Change the objective."""
        self._stage = stage
        objective = self._model.objective
        objective.clear()
        objective.is_maximize = stage.maximise
        found = self._coefficients(stage.terms)
        largest = max((abs(value) for _, value in found), default=0)
        self._goal_step = _step(largest) if self.instance.completion else 1.0
        for variable, coefficient in found:
            objective.set_linear_coefficient(variable, coefficient / self._goal_step)

    def _coefficients(self, terms: master_problem.Terms) -> list[tuple[mathopt.Variable, float]]:
        found: list[tuple[mathopt.Variable, float]]
        found = [(self._singles[index], coefficient) for index, coefficient in terms.units.items()]
        found += [(self._gangs[index], coefficient * self._steps[index]) for index, coefficient in terms.gangs.items()]
        if not terms.nodes and not terms.usage:
            return found
        amounts = zip(self._amounts, self.columns, strict=True)
        return found + [(amount, terms.of_column(column)) for amount, column in amounts]

    def restrict(self, column: int, lower: int, upper: float = inf) -> None:
        """Let at least and at most so many nodes take this column."""
        self._amounts[column].lower_bound = lower
        self._amounts[column].upper_bound = upper

    def limit_nodes(self, node_class: int, most: int) -> None:
        """Let there be so many nodes of a class."""
        self._limits[node_class].upper_bound = most

    def restrict_gang(self, gang: int, lower: int, upper: int) -> None:
        """Place at least and at most so many gangs of a class."""
        self._gangs[gang].lower_bound = lower / self._steps[gang]
        self._gangs[gang].upper_bound = upper / self._steps[gang]
        self._restricted_gangs.add(gang)

    def release(self) -> None:
        """Lift the restrictions of all columns and gangs."""
        for amount in self._amounts:
            amount.lower_bound, amount.upper_bound = 0, inf
        for gang in self._restricted_gangs:
            self._gangs[gang].lower_bound = 0
            self._gangs[gang].upper_bound = self.instance.gangs[gang].demand / self._steps[gang]
        self._restricted_gangs.clear()

    def _solved(self, deadline: float | None) -> mathopt.SolveResult | None:
        """Solve from the last basis, and from none where numbers go wrong; None where they do so again."""
        for _ in range(2):
            left = None if deadline is None else timedelta(seconds=max(0.0, deadline - monotonic()))
            try:
                if self._solver is None:
                    self._solver = self._make_solver(self._model, mathopt.SolverType.GLOP)
                parameters = mathopt.SolveParameters(time_limit=left)
                return self._solver.solve(params=parameters, model_params=_without_zeros())
            except SOLVER_ERRORS:
                self._solver = None
        return None

    def support(self, relaxation: MasterRelaxation | None) -> set[master_problem.Column]:
        """The columns that a relaxation takes; none if it was not solved."""
        amounts = relaxation.columns if relaxation else ()
        pairs = zip(self.columns, amounts, strict=False)
        return {column for column, amount in pairs if amount > INTEGRALITY_TOLERANCE}

    def solve(self, deadline: float | None = None) -> MasterRelaxation | None:
        """Solve; None where nothing is feasible, time is over, or the solver fails."""
        found = self._solved(deadline)
        if found is None or found.termination.reason != mathopt.TerminationReason.OPTIMAL:
            return None
        goal = self._goal_step
        sign = goal if self._model.objective.is_maximize else -goal
        # By number: variables and rows are slow to compare.
        values = {variable.id: value for variable, value in found.variable_values().items()}
        duals = {limit.id: dual for limit, dual in found.dual_values().items()}
        gangs, rows = zip(self._gangs, self._steps, strict=True), zip(self._row_limits, self._row_steps, strict=True)
        return MasterRelaxation(
            goal * found.objective_value(),
            tuple([values.get(one.id, 0.0) for one in self._amounts]),
            tuple([values.get(one.id, 0.0) * step for one, step in gangs]),
            tuple([sign * duals.get(one.id, 0.0) for one in self._limits]),
            master_problem.Duals(
                tuple([-sign * duals.get(one.id, 0.0) for one in self._cover]),
                tuple([sign * duals.get(one.id, 0.0) / step for one, step in rows]),
            ),
        )


@cache
def _without_zeros() -> mathopt.ModelSolveParameters:
    """Most numbers of an answer are zero, and reduced costs are not asked for."""
    return mathopt.ModelSolveParameters(
        variable_values_filter=mathopt.VariableFilter(skip_zero_values=True),
        dual_values_filter=mathopt.LinearConstraintFilter(skip_zero_values=True),
        reduced_costs_filter=mathopt.VariableFilter(filtered_items=()),
    )


# Numbers up to this are left as they are.
_LARGEST_UNSCALED = 1 << 10


def _step(largest: float) -> float:
    """The power of two by which numbers up to this are divided, so that the linear solver can tell them apart."""
    return 1.0 if largest <= _LARGEST_UNSCALED else 2.0 ** ceil(log2(largest / _LARGEST_UNSCALED))


_IntegerRow = tuple[Sequence[tuple[int, int]], int | None, int | None]
# Limits of a branch and bound that repeat: nodes of the tree. The clock is for safety.
_MOST_TREE_NODES = 500


def solve_integer_program(
    most: Sequence[int],
    rows: Sequence[_IntegerRow],
    objective: Sequence[tuple[int, int]],
    *,
    maximise: bool,
    gap: float,
    deadline: float | None = None,
    following: Container[int] = (),
) -> list[int] | None:
    """Return values from 0 to ``most`` of variables, by HiGHS; None where it finds none.

    Rows are terms with their least and their most. It counts in floating point: whether rows hold is to be looked at.
    Variables that are ``following`` are whole anyway, or near it, where the others are: their values are rounded.
    """
    if master_problem.is_past(deadline):
        return None
    model = mathopt.Model()
    steps = [_step(number) if index in following else 1.0 for index, number in enumerate(most)]
    variables = [
        model.add_variable(lb=0, ub=number / step, is_integer=index not in following)
        for index, (number, step) in enumerate(zip(most, steps, strict=True))
    ]
    for terms, lower, upper in rows:
        numbers = [(number, value * steps[number]) for number, value in terms]
        step = _step(max((abs(value) for _, value in numbers), default=0))
        row = model.add_linear_constraint(
            lb=-inf if lower is None else lower / step, ub=inf if upper is None else upper / step
        )
        for number, value in numbers:
            row.set_coefficient(variables[number], value / step)
    model.objective.is_maximize = maximise
    goals = [(number, value * steps[number]) for number, value in objective]
    step = _step(max((abs(value) for _, value in goals), default=0))
    for number, value in goals:
        model.objective.set_linear_coefficient(variables[number], value / step)
    left = None if deadline is None else timedelta(seconds=max(0.0, deadline - monotonic()))
    parameters = mathopt.SolveParameters(time_limit=left, node_limit=_MOST_TREE_NODES, relative_gap_tolerance=gap)
    found = run_mixed_integer(model, mathopt.SolverType.HIGHS, parameters)
    if found is None or not found.has_primal_feasible_solution():
        return None
    return [round(value * step) for value, step in zip(found.variable_values(variables), steps, strict=True)]


def run_mixed_integer(
    model: mathopt.Model, solver: mathopt.SolverType, parameters: mathopt.SolveParameters
) -> mathopt.SolveResult | None:
    """Solve in a thread of its own; None where the solver refuses the model.

    It cannot be stopped: Ctrl-C leaves it behind. An event is waited for, as in ``run_solver``.
    """
    found: list[mathopt.SolveResult] = []
    done = Event()

    def solve() -> None:
        try:
            # What the solver does not take is not worth an error: there is another one.
            with suppress(*SOLVER_ERRORS):
                found.append(mathopt.solve(model, solver, params=parameters))
        finally:
            done.set()

    Thread(target=solve, daemon=True).start()
    while not done.wait(1.0):
        pass
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """A column, and how many nodes may take it."""

    column: master_problem.Column
    lower: int
    upper: int


def open_choices(
    instance: master_problem.MasterProblem, columns: Iterable[master_problem.Column]
) -> list[ColumnBounds]:
    """Columns of which each may be taken by all nodes of its class."""
    counts = {node.index: node.count for node in instance.nodes}
    return [ColumnBounds(column, 0, counts[column.node_class]) for column in columns]


@dataclass(frozen=True, slots=True)
class RestrictedMasterResult:
    """A plan, if any was found, and what the solver says of it."""

    plan: master_problem.IntegerPlan | None
    status: SolverStatus


def solve_restricted_master(
    instance: master_problem.MasterProblem,
    rows: Sequence[master_problem.CouplingRow],
    stage: master_problem.ObjectiveStage,
    choices: Sequence[ColumnBounds],
    hint: master_problem.IntegerPlan,
    limits: Limits,
    kept: Container[int] = (),
) -> RestrictedMasterResult:
    """Find the best plan over columns. Numbers that are too large for the solver leave it unknown.

    Gang classes that are ``kept`` are placed as often as in the hint.
    """
    fixed = {index: number for index, number in enumerate(hint.gangs) if index in kept}
    model = _RestrictedMasterModel(instance, choices, fixed)
    try:
        model.post(rows)
        model.set_objective(stage)
    except CoefficientError:
        return RestrictedMasterResult(None, SolverStatus.UNKNOWN)
    model.hint(hint)
    found = run_solver(model.rows, limits, USUAL)
    return RestrictedMasterResult(model.plan(found.values) if found.values else None, found.status)


class _RestrictedMasterModel:
    def __init__(
        self, instance: master_problem.MasterProblem, choices: Sequence[ColumnBounds], fixed: Mapping[int, int]
    ) -> None:
        self.rows = CpSatRows()
        self.rows.has_packing_rows = True
        self._instance = instance
        self._choices = choices
        room = master_problem.covered_units(instance, [(choice.column, choice.upper) for choice in choices])
        self._amounts = [self.rows.integer(choice.lower, choice.upper) for choice in choices]
        pairs = zip(instance.units, room, strict=True)
        self._units = [self.rows.integer(0, min(unit.demand, most)) for unit, most in pairs]
        self._gangs = [
            self.rows.integer(fixed[index], fixed[index])
            if index in fixed
            else self.rows.integer(0, min([gang.demand, *(room[unit] // size for unit, size in gang.members)]))
            for index, gang in enumerate(instance.gangs)
        ]

    def post(self, rows: Sequence[master_problem.CouplingRow]) -> None:
        """Post nodes, coverage and rows."""
        cover: list[list[tuple[int, int]]] = [[(variable, -1)] for variable in self._units]
        nodes: dict[int, list[tuple[int, int]]] = {node.index: [] for node in self._instance.nodes}
        for variable, gang in zip(self._gangs, self._instance.gangs, strict=True):
            for unit, size in gang.members:
                cover[unit].append((variable, -size))
        for variable, choice in zip(self._amounts, self._choices, strict=True):
            nodes[choice.column.node_class].append((variable, 1))
            for unit, amount in choice.column.counts:
                cover[unit].append((variable, amount))
        for node in self._instance.nodes:
            self.rows.at_most(nodes[node.index], node.count)
        for terms in cover:
            self.rows.between(terms, 0, None)
        for row in rows:
            self.rows.between(self._terms(row.terms), row.lower, row.upper)

    def set_objective(self, stage: master_problem.ObjectiveStage) -> None:
        """Post the objective."""
        sign = -1 if stage.maximise else 1
        self.rows.minimize([(variable, sign * value) for variable, value in self._terms(stage.terms) if value])

    def _terms(self, terms: master_problem.Terms) -> list[tuple[int, int]]:
        found = [(self._units[index], value) for index, value in terms.units.items()]
        found += [(self._gangs[index], value) for index, value in terms.gangs.items()]
        if not terms.nodes and not terms.usage:
            return found
        amounts = zip(self._amounts, self._choices, strict=True)
        return found + [(variable, terms.of_column(choice.column)) for variable, choice in amounts]

    def hint(self, plan: master_problem.IntegerPlan) -> None:
        """Start from a plan."""
        taken = dict(plan.columns)
        columns = (taken.get(choice.column, 0) for choice in self._choices)
        variables = (*self._amounts, *self._units, *self._gangs)
        self.rows.hint(dict(zip(variables, (*columns, *plan.units, *plan.gangs), strict=True)))

    def plan(self, values: Sequence[int]) -> master_problem.IntegerPlan:
        """Read a plan from the solver's values."""
        taken = Counter[master_problem.Column]()
        for variable, choice in zip(self._amounts, self._choices, strict=True):
            taken[choice.column] += values[variable]
        units = tuple(values[variable] for variable in self._units)
        return master_problem.IntegerPlan(
            master_problem.ordered_columns(taken), units, tuple(values[variable] for variable in self._gangs)
        )


def plan_from_columns(
    instance: master_problem.MasterProblem,
    stages: Sequence[master_problem.ObjectiveStage],
    columns: Iterable[tuple[master_problem.Column, int]],
    wished: Sequence[float] = (),
) -> master_problem.IntegerPlan:
    """Take columns in order while nodes are free, then place whole gangs in them, and then single units.

    What the first of the stages gains most by comes first, and before it gangs that are ``wished`` for. Rows are not
    looked at, but by the completion of the instance.
    """
    free = {node.index: node.count for node in instance.nodes}
    counts = Counter[master_problem.Column]()
    for column, number in columns:
        fits = min(number, free[column.node_class])
        free[column.node_class] -= fits
        counts[column] += fits
    taken = master_problem.ordered_columns(counts)
    room = master_problem.covered_units(instance, taken)
    gangs = [0] * len(instance.gangs)
    chosen = instance.completion.choose(room, stages, wished) if instance.completion else {}
    for index, number in chosen.items():
        gangs[index] = number
    order = [one for one in _gain_order(stages, [stage.terms.gangs for stage in stages]) if one not in chosen]
    if wished:
        _place_gangs(instance, order, [floor(amount + INTEGRALITY_TOLERANCE) for amount in wished], gangs, room)
    _place_gangs(instance, order, [gang.demand for gang in instance.gangs], gangs, room)
    units = [0] * len(instance.units)
    for index in _gain_order(stages, [stage.terms.units for stage in stages]):
        units[index] = min(instance.units[index].demand, room[index])
    plan = master_problem.IntegerPlan(taken, tuple(units), tuple(gangs))
    return instance.followed(plan)


def _place_gangs(
    instance: master_problem.MasterProblem, order: Sequence[int], most: Sequence[int], gangs: list[int], room: list[int]
) -> None:
    """Place more gangs in this order, up to so many of each; they are counted, and take room."""
    for index in order:
        members = instance.gangs[index].members
        more = max(0, min([most[index] - gangs[index], *(room[unit] // size for unit, size in members)]))
        gangs[index] += more
        for unit, size in members:
            room[unit] -= size * more


def _gain_order(stages: Sequence[master_problem.ObjectiveStage], gains: Sequence[Mapping[int, int]]) -> list[int]:
    """Indices by which some stage gains and none before it loses, the best first."""
    signs = [-1 if stage.maximise else 1 for stage in stages]
    keys = {
        index: tuple(sign * gain.get(index, 0) for sign, gain in zip(signs, gains, strict=True))
        for gain in gains
        for index in gain
    }
    nothing = (0,) * len(stages)
    return sorted((index for index, key in keys.items() if key < nothing), key=lambda index: (keys[index], index))

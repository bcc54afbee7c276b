"""Gangs in whole numbers: bounds hold for all plans, wishes are as good as any, and capacity rows exclude no plan."""

from dataclasses import replace
from random import Random
from time import monotonic

import pytest
from ortools.math_opt.python.mathopt import IncrementalSolver
from support.planning import Scene, fits_column, optimum, random_scene

from drasat.solver.engines.cp_sat import Limits
from drasat.solver.plan.column_generation import ColumnGenerator, GenerationLimits
from drasat.solver.plan.master import LinearMaster, solve_integer_program
from drasat.solver.plan.master_problem import (
    CouplingRow,
    IntegerPlan,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    Terms,
    empty_plan,
)
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer
from drasat.solver.plan.whole_gangs import WholeGangSolver, whole_prices


def solver_of(scene: Scene) -> WholeGangSolver:
    generator = ColumnGenerator(scene.instance, LinearMaster(scene.instance), scene.pricer)
    return WholeGangSolver(generator, scene.instance.demands())


def eight_devices(nodes: int, gangs, rows=()) -> Scene:
    """Nodes of eight devices; units of 1, 2, 4 and 8 devices, which only gangs ask for."""
    units = tuple(LinearUnit(devices=size, needs=(1,)) for size in (1, 2, 4, 8))
    asked = tuple(MasterUnitClass(index, 0) for index in range(len(units)))
    made = MasterProblem(asked, (MasterNodeClass(0, nodes),), tuple(gangs), tuple(rows))
    return Scene(made, LinearPricer(units, (LinearNode((1,) * 8, 1, (20,)),)))


def gangs_counted(scene: Scene, maximise=True) -> ObjectiveStage:
    return ObjectiveStage("gangs", Terms(gangs=dict.fromkeys(range(len(scene.instance.gangs)), 1)), maximise)


def limited_scene(seed: int) -> Scene:
    """Any scene with gangs, of which rows such as those of quota leave only some."""
    random, scene = Random(f"whole gangs/{seed}"), random_scene(seed, gangs=True)
    charges = {index: random.randint(1, 9) for index in range(len(scene.instance.gangs))}
    rows = (CouplingRow(Terms(gangs=charges), upper=random.randint(0, 20)),)
    return replace(scene, instance=replace(scene.instance, rows=rows))


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_for_all_plans_and_are_met_by_wishes_at_prices_of_the_relaxation(seed):
    scene = limited_scene(seed)
    stage, solver = scene.instance.admitted(), solver_of(scene)
    (best,) = optimum(scene, [stage])
    master = solver.generator.master
    master.set_objective(stage)
    generated = solver.generator.run(stage, GenerationLimits(400, 0.0), scene.instance.demands())
    solver.add_prices(solver.generator.stage_pricing(stage, generated.relaxation.duals).prices.units, None)
    bound = solver.bound(stage, empty_plan(scene.instance), Limits())
    wished = solver.wish(stage, 0.0, None)
    assert best <= bound <= generated.rounded(scene.instance, stage)
    assert wished.value(stage.terms) == bound


@pytest.mark.parametrize("seed", range(40))
def test_wishes_that_nodes_do_not_hold_are_excluded_until_one_is_the_best_plan(seed):
    scene = limited_scene(seed)
    stage, solver = scene.instance.admitted(), solver_of(scene)
    (best,) = optimum(scene, [stage])
    for _ in range(60):
        wished = solver.wish(stage, 0.0, None)
        assert wished.value(stage.terms) >= best
        placed = solver.place(wished, None)
        assert all(fits_column(scene, column) for column, _ in placed.columns)
        if placed.plan is not None:
            assert placed.plan.is_feasible(scene.instance, scene.instance.rows)
            assert placed.plan.value(stage.terms) == best
            return
        if placed.row is None:
            # Nodes hold the wish in parts alone: no prices exclude it.
            assert placed.columns
            return
        assert not placed.row.holds(wished)
    pytest.fail("wishes do not end")


def test_parts_of_gangs_raise_the_linear_bound_and_not_this_one():
    """Three units of quota hold one gang that is charged two, where parts of two would be one and a half."""
    row = CouplingRow(Terms(gangs={0: 2, 1: 2}), upper=3)
    scene = eight_devices(9, [MasterGangClass(((3, 1),), 1), MasterGangClass(((3, 2),), 1)], [row])
    stage, solver = replace(gangs_counted(scene), terms=Terms(gangs={0: 10, 1: 11})), solver_of(scene)
    solver.generator.master.set_objective(stage)
    generated = solver.generator.run(stage, GenerationLimits(400, 0.0), scene.instance.demands())
    assert generated.rounded(scene.instance, stage) == 16
    assert solver.bound(stage, empty_plan(scene.instance), Limits()) == 11


def test_a_stage_that_minimises_is_bounded_from_below():
    row = CouplingRow(Terms(gangs={0: 2, 1: 2}), lower=3)
    scene = eight_devices(9, [MasterGangClass(((3, 1),), 1), MasterGangClass(((3, 1),), 1)], [row])
    stage, solver = gangs_counted(scene, maximise=False), solver_of(scene)
    wished = solver.wish(stage, 0.0, None)
    assert wished.gangs == (1, 1)
    assert solver.bound(stage, wished, Limits()) == 2


def test_stages_about_nodes_are_not_bounded_by_gangs():
    scene = eight_devices(2, [MasterGangClass(((3, 1),), 1)])
    stage, solver = ObjectiveStage("nodes", Terms(nodes={0: 1}), maximise=False), solver_of(scene)
    assert solver.wish(stage, 0.0, None) is None
    assert solver.bound(stage, empty_plan(scene.instance), Limits()) is None


def test_no_gangs_are_found_once_time_is_over():
    scene = eight_devices(2, [MasterGangClass(((3, 1),), 1)])
    assert solver_of(scene).wish(gangs_counted(scene), 0.0, monotonic() - 1) is None


def test_the_row_of_nodes_counts_the_devices_of_units_and_gangs():
    gangs = [MasterGangClass(((0, 1), (2, 1)), 3), MasterGangClass(((3, 2),), 3)]
    scene = eight_devices(2, gangs)
    row = solver_of(scene).add_prices([0.25, 0.5, 1.0, 2.0], None)
    assert row == CouplingRow(Terms(gangs={0: 5, 1: 16}), upper=16)
    assert solver_of(scene).add_prices([0.0] * 4, None) is None


@pytest.mark.parametrize(
    ("numbers", "is_held"),
    [((2, 0, 0, 0), True), ((2, 1, 1, 1), True), ((16, 0, 0, 0), True), ((1, 0, 0, 2), False), ((0, 1, 2, 1), False)],
)
def test_nodes_hold_units_of_gangs_or_a_row_says_that_they_do_not(numbers, is_held):
    scene = eight_devices(2, [MasterGangClass(((unit, 1),), 16) for unit in range(4)])
    wished = IntegerPlan((), (0,) * 4, numbers)
    found = solver_of(scene).place(wished, None)
    assert (found.plan is not None) == is_held
    if found.plan is not None:
        assert found.plan.is_feasible(scene.instance, ())
        assert found.plan.gangs == numbers
    else:
        assert found.row is not None
        assert not found.row.holds(wished)


@pytest.mark.parametrize(
    ("prices", "numbers"),
    [
        ((0.125, 0.25, 1.0), [1, 2, 8]),
        ((1 / 3, 0.5), [2, 3]),
        ((0.0, -0.2, 0.7), [0, 0, 1]),
        ((0.0, -0.2), [0, 0]),
        ((1.0, 2**0.5), [round(2**-0.5 * 65536), 65536]),
    ],
)
def test_prices_are_small_whole_numbers_where_their_ratios_are(prices, numbers):
    assert whole_prices(prices) == numbers


def test_integer_programs_keep_their_rows():
    rows = [([(0, 3), (1, 2)], None, 7), ([(1, 1)], 1, None)]
    assert solve_integer_program([5, 5], rows, [(0, 2), (1, 1)], maximise=True, gap=0.0) == [1, 2]
    assert solve_integer_program([5, 5], rows, [(0, -1), (1, 1)], maximise=False, gap=0.0) == [1, 1]
    assert solve_integer_program([1, 1], [([(0, 1)], 2, None)], [(0, 1)], maximise=True, gap=0.0) is None


def test_variables_that_follow_may_be_large():
    rows = [([(0, 1 << 26), (1, -1)], None, 0), ([(0, 3)], None, 7)]
    most = [5, 1 << 29]
    found = solve_integer_program(most, rows, [(0, 1 << 27), (1, -1)], maximise=True, gap=0.0, following=[1])
    assert found == [2, 1 << 27]


class AbnormalSolver:
    def solve(self, **_):
        # As ortools 9.15 says "Unexpected GLOP termination reason: ABNORMAL".
        raise AttributeError("'StatusNotOk' object has no attribute 'canonical_code'")


def test_a_linear_solver_that_ends_abnormally_begins_anew_once():
    scene = eight_devices(2, [MasterGangClass(((3, 1),), 1)])
    for abnormal, is_solved in ((1, True), (2, False)):
        solvers = [AbnormalSolver() for _ in range(abnormal)]
        master = LinearMaster(
            scene.instance, lambda *own, left=solvers: left.pop() if left else IncrementalSolver(*own)
        )
        master.set_objective(gangs_counted(scene))
        assert (master.solve() is not None) == is_solved


def test_no_gangs_are_wished_for_where_numbers_are_too_large_for_floating_point():
    """CP-SAT counts in whole numbers, and bounds them all the same."""
    row = CouplingRow(Terms(gangs={0: 1 << 40}), upper=1 << 40)
    scene = eight_devices(9, [MasterGangClass(((3, 1),), 5)], [row])
    stage, solver = gangs_counted(scene), solver_of(scene)
    assert solver.wish(stage, 0.0, None) is None
    assert solver.bound(stage, empty_plan(scene.instance), Limits()) == 1

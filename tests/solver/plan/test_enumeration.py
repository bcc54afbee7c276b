"""Bounds by whole numbers of nodes hold for every plan, close what the relaxation leaves, and never prove too much."""

from dataclasses import replace
from random import Random
from time import monotonic

import pytest
from support.planning import Scene, fits_column, optimum

from drasat.solver.plan import enumeration
from drasat.solver.plan.arc_flow import OpenStage
from drasat.solver.plan.column_generation import ColumnGenerator, GenerationLimits, vector_nodes
from drasat.solver.plan.enumeration import NodeCounts, complete_whole_nodes
from drasat.solver.plan.first_fit_decreasing import pack_decreasing
from drasat.solver.plan.master import LinearMaster
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
    empty_plan,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer


def priced_scene(seed):
    """Two to four kinds of nodes in one or two dimensions, some of them few or free, and few units of each class."""
    rng = Random(f"counts/{seed}")
    dimensions = rng.choice((1, 1, 2))
    units = tuple(
        LinearUnit(needs=tuple(rng.randint(1, 8) for _ in range(dimensions))) for _ in range(rng.randint(2, 4))
    )
    nodes = tuple(
        LinearNode((), 1, tuple(rng.randint(8, 14) for _ in range(dimensions))) for _ in range(rng.randint(2, 4))
    )
    asked = tuple(MasterUnitClass(index, rng.randint(1, 3)) for index in range(len(units)))
    total = sum(unit.demand for unit in asked)
    few = rng.choice((None, 1, 2))
    counts = [total, *(total if few is None else few for _ in nodes[1:])]
    costs = [rng.randint(5, 30) * rng.choice((1, 1, 10)) for _ in nodes]
    if rng.random() < 0.2 and few is not None:
        costs[1] = 0
    classes = tuple(MasterNodeClass(index, number) for index, number in enumerate(counts))
    cost = ObjectiveStage("cost", Terms(nodes=dict(enumerate(costs))), maximise=False)
    return Scene(MasterProblem(asked, classes), LinearPricer(units, nodes)), cost


def relaxed(scene, cost):
    """A generator that has to place all, its relaxation, and the worst of the plans by size."""
    demand = CouplingRow(scene.instance.admitted().terms, lower=sum(scene.instance.demands()))
    instance = replace(scene.instance, rows=(demand,))
    generator = ColumnGenerator(instance, LinearMaster(instance), scene.pricer)
    generator.master.set_objective(cost)
    plans = []
    for columns in pack_decreasing(
        instance, scene.pricer, vector_nodes(instance, scene.pricer), instance.demands(), cost.terms.nodes
    ):
        plans.append(replace(empty_plan(instance), columns=tuple(columns), units=instance.demands()))
        for column, _ in columns:
            generator.master.add(column)
    found = generator.run(cost, GenerationLimits(200, 0.0), instance.demands())
    feasible = [plan for plan in plans if plan.is_feasible(instance, instance.rows)]
    return generator, found, max(feasible, key=lambda plan: plan.value(cost.terms), default=None)


def check(scene, cost, deadline=None):
    """What is found is right; the bound of the relaxation, that of whole numbers of nodes, and the least cost."""
    generator, generated, plan = relaxed(scene, cost)
    if plan is None:
        return None
    best = optimum(scene, [scene.instance.admitted(), cost])[1]
    bound = generated.rounded(generator.instance, cost)
    found = complete_whole_nodes(OpenStage(generator, cost, generated.relaxation, plan, bound, 0.0, deadline))
    assert bound <= found.bound <= best
    if found.plan is not None:
        assert found.plan.is_feasible(generator.instance, generator.instance.rows)
        assert best <= found.plan.value(cost.terms) < plan.value(cost.terms)
        assert all(fits_column(scene, column) for column, _ in found.plan.columns)
    if found.proven:
        assert best == (plan if found.plan is None else found.plan).value(cost.terms)
    return bound, found.bound, best


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_bounds_by_numbers_of_nodes_hold_for_every_plan(first):
    assert sum(check(*priced_scene(seed)) is not None for seed in range(first, first + 60)) > 30


def test_what_parts_of_nodes_leave_open_is_closed_by_whole_numbers_of_them():
    """The counts alone, without plans that complete the relaxation."""
    raised = closed = 0
    for seed in range(300, 400):
        scene, cost = priced_scene(seed)
        generator, generated, plan = relaxed(scene, cost)
        bound = generated.rounded(generator.instance, cost)
        asked = plan and OpenStage(generator, cost, generated.relaxation, plan, bound, 0.0, None)
        counting = asked and NodeCounts.of(asked)
        if counting:
            best = optimum(scene, [scene.instance.admitted(), cost])[1]
            found = counting.completed()
            assert bound <= found.bound <= best
            raised += bound < found.bound
            closed += bound < found.bound == best
    assert raised > 15
    assert closed > 15


def pairs_scene(price):
    """Two threes of units; a node of the first kind holds two of the same three, one of the second kind one unit."""
    sides = [tuple((side, one) for one in range(3)) for side in range(2)]
    apart = [(one, other) for one in sides[0] for other in sides[1]]
    needs = [(*(6 if unit in pair else 0 for pair in apart), 4) for side in sides for unit in side]
    units = tuple(LinearUnit(needs=own) for own in needs)
    nodes = (LinearNode((), 1, (10,) * 10), LinearNode((), 1, (*(10,) * 9, 7)))
    asked = tuple(MasterUnitClass(index, 1) for index in range(len(units)))
    cost = ObjectiveStage("cost", Terms(nodes={0: 10, 1: price}), maximise=False)
    return Scene(MasterProblem(asked, (MasterNodeClass(0, 6), MasterNodeClass(1, 6))), LinearPricer(units, nodes)), cost


@pytest.mark.parametrize("price", [6, 8, 9])
def test_numbers_of_nodes_that_hold_all_in_parts_only_are_excluded(price):
    """Halves of three pairs are three units on one and a half nodes, so that three nodes hold all, and cost 30."""
    scene, cost = pairs_scene(price)
    generator, generated, _ = relaxed(scene, cost)
    assert generated.rounded(generator.instance, cost) == 30
    dear = replace(empty_plan(generator.instance), columns=((generator.master.columns[0], 6),))
    assert dear.value(cost.terms) == 60
    counting = NodeCounts.of(OpenStage(generator, cost, generated.relaxation, dear, 30, 0.0, None))
    found = counting.completed()
    best = optimum(scene, [scene.instance.admitted(), cost])[1]
    assert best == 20 + 2 * price
    assert {0: 3, 1: 0} in counting.excluded
    assert found.proven
    assert found.bound == found.plan.value(cost.terms) == best
    assert found.plan.is_feasible(generator.instance, generator.instance.rows)


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.002, 0.01])
def test_bounds_by_numbers_of_nodes_hold_at_any_time_limit(seconds):
    for seed in range(400, 440):
        check(*priced_scene(seed), deadline=monotonic() + seconds)


@pytest.mark.parametrize("seconds", [0.002, 0.01, 0.03, None])
def test_stages_are_bounded_rightly_at_any_time_limit(seconds):
    for seed in range(440, 470):
        scene, cost = priced_scene(seed)
        stages = [scene.instance.admitted(), cost]
        best = optimum(scene, stages)
        limits = PlanLimits(gap=0.0, deadline=None if seconds is None else monotonic() + seconds)
        placed, paid = solve_stages(scene.instance, stages, scene.pricer, limits=limits).stages
        assert placed.value <= best[0] <= placed.bound
        if placed.value == best[0]:
            assert paid.value >= best[1]
            assert paid.bound is None or paid.bound <= best[1]
            assert not paid.proven or paid.value == best[1]
            assert seconds is not None or paid.proven


def test_nodes_of_one_kind_are_not_counted():
    scene, cost = priced_scene(1)
    generator, generated, plan = relaxed(scene, cost)
    asked = OpenStage(generator, cost, generated.relaxation, plan, 0, 0.0, None)
    one = replace(cost, terms=Terms(nodes={0: 5}))
    assert NodeCounts.of(asked) is not None
    assert NodeCounts.of(replace(asked, stage=one)) is None
    assert NodeCounts.of(replace(asked, stage=replace(cost, maximise=True))) is None


def test_many_columns_that_cover_units_prove_what_few_ones_prove(monkeypatch):
    """SCIP takes the columns that are more than CP-SAT takes; the plan to start from has a node for each unit."""
    better = 0
    for seed in range(500, 560):
        scene, cost = priced_scene(seed)
        generator, generated, plan = relaxed(scene, cost)
        if plan is None:
            continue
        best, duals = optimum(scene, [scene.instance.admitted(), cost])[1], generated.relaxation.duals
        proofs = []
        for most in (3000, 0):
            monkeypatch.setattr(enumeration, "_MOST_ENUMERATED_COLUMNS", most)
            proofs.append(enumeration.prove_by_enumeration(generator, cost, duals, plan, None))
        for found in proofs:
            assert found.plan.is_feasible(generator.instance, generator.instance.rows)
            assert found.proven
            assert found.plan.value(cost.terms) == best
        better += best < plan.value(cost.terms)
    assert better > 15


def test_columns_that_cover_units_prove_nothing_after_the_time_limit(monkeypatch):
    monkeypatch.setattr(enumeration, "_MOST_ENUMERATED_COLUMNS", 0)
    scene, cost = priced_scene(500)
    generator, generated, plan = relaxed(scene, cost)
    over = monotonic() - 1
    found = enumeration.prove_by_enumeration(generator, cost, generated.relaxation.duals, plan, over)
    assert found == enumeration.EnumerationProof(plan, proven=False)


@pytest.mark.parametrize("changed", ["maximise", "units", "more"])
def test_columns_only_cover_units_where_nodes_alone_count_and_all_units_are_required(changed):
    scene, cost = priced_scene(500)
    generator, _, plan = relaxed(scene, cost)
    assert enumeration._is_covering(generator, cost, plan)
    others = {"maximise": replace(cost, maximise=True), "units": replace(cost, terms=Terms({0: 1}, nodes={0: 5}))}
    fewer = replace(plan, units=(0, *plan.units[1:]))
    assert not enumeration._is_covering(generator, others.get(changed, cost), fewer if changed == "more" else plan)

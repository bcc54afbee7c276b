"""What is known when Ctrl-C or the clock ends a plan is kept: the best plan, and the best bound."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import inf
from time import monotonic

import pytest
from support.planning import Scene, fewest_nodes, fits_column

from drasat.solver.plan import column_generation, master_problem, price_and_branch
from drasat.solver.plan.column_generation import ColumnGenerator, Effort, GenerationLimits, Prices, PricingLimits
from drasat.solver.plan.heuristics import DivingHeuristic, fill_greedily, needed_columns
from drasat.solver.plan.master import LinearMaster, plan_from_columns
from drasat.solver.plan.master_problem import (
    Column,
    CouplingRow,
    MasterGangClass,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer

EXACT = PlanLimits(gap=0.0)


class Interrupting:
    """A pricer that ends with Ctrl-C at its n-th call."""

    def __init__(self, pricer, calls=inf):
        self.pricer = pricer
        self.calls = 0
        self._last = calls

    def price(self, *asked):
        self.calls += 1
        if self.calls >= self._last:
            raise KeyboardInterrupt
        return self.pricer.price(*asked)

    def enumerate(self, *asked):
        return self.pricer.enumerate(*asked)

    def reduced(self, *asked):
        return self.pricer.reduced(*asked)

    def vector(self, node_class):
        return self.pricer.vector(node_class)

    def sizes(self, node_class):
        return self.pricer.sizes(node_class)

    def fillings(self, *asked):
        return self.pricer.fillings(*asked)

    def filled(self, *asked):
        return self.pricer.filled(*asked)


def crowded(gangs=()):
    units = tuple(LinearUnit(share=share, needs=(cpu,)) for share, cpu in ((7, 3), (5, 2), (4, 5), (3, 1), (2, 4)))
    asked = tuple(MasterUnitClass(index, 23 + 7 * index, unit.share) for index, unit in enumerate(units))
    nodes = tuple(LinearNode((10,) * devices, 10, (devices * 6,)) for devices in (1, 2, 4))
    classes = tuple(MasterNodeClass(index, 9 - 2 * index) for index in range(3))
    return Scene(MasterProblem(asked, classes, tuple(gangs)), LinearPricer(units, nodes))


GANGS = (MasterGangClass(((0, 2), (3, 1)), 2, 9), MasterGangClass(((1, 3),), 1, 40))


def interrupted_at(scene, stages, calls):
    seen = []
    pricer = Interrupting(scene.pricer, calls)
    found = solve_stages(scene.instance, stages, pricer, limits=EXACT, watch=lambda *told: seen.append(told))
    return found, seen


@pytest.mark.parametrize("gangs", [(), GANGS], ids=["units", "gangs"])
def test_wherever_ctrl_c_comes_the_best_plan_and_bound_that_were_seen_are_kept(gangs):
    scene = crowded(gangs)
    stages = [scene.instance.admitted(), fewest_nodes(scene.instance)]
    counting = Interrupting(scene.pricer)
    whole = solve_stages(scene.instance, stages, counting, limits=EXACT)
    assert not whole.interrupted
    places = 0
    for calls in range(1, counting.calls + 1, max(1, counting.calls // 40)):
        found, seen = interrupted_at(scene, stages, calls)
        assert found.interrupted
        assert found.plan.is_feasible(scene.instance, ())
        assert all(fits_column(scene, column) for column, _ in found.plan.columns)
        for stage, result, full in zip(stages, found.stages, whole.stages, strict=False):
            sign = 1 if stage.maximise else -1
            told = [(value, bound) for name, value, bound in seen if name == stage.name]
            bounds = [sign * bound for _, bound in told if bound is not None]
            assert all(sign * found.plan.value(stage.terms) >= sign * value for value, _ in told)
            if bounds:
                assert sign * result.bound <= min(bounds)
                assert sign * result.bound >= sign * full.value
                places += 1
    assert places > 5


def test_an_interrupt_in_the_first_filling_keeps_what_was_filled():
    scene = crowded()
    found, _ = interrupted_at(scene, [scene.instance.admitted()], 3)
    assert found.plan.value(scene.instance.admitted().terms) > 0


class PartOfTheTime(float):
    """When a part of the time is over: after so many looks, whatever the clock says."""


@pytest.mark.parametrize("looks", [1, 3, 10])
def test_a_dive_makes_a_plan_while_columns_are_still_being_generated(monkeypatch, looks):
    """Generation took all the time that there was, and the plan to start from was the answer."""
    several = crowded()
    instance = replace(several.instance, nodes=tuple(MasterNodeClass(index, 400) for index in range(3)))
    admitted = instance.admitted()
    cost = ObjectiveStage("cost", Terms(nodes={0: 10, 1: 19, 2: 35}), maximise=False)
    limits = PlanLimits(gap=0.0, deadline=monotonic() + 600)
    solved = [solve_stages(instance, [admitted, cost], several.pricer, limits=limits).stages[1]]

    def part(deadline, share=1.0):
        return PartOfTheTime(deadline) if share in price_and_branch._GENERATION_SHARES else deadline

    # What comes after the generation is left out, as if time ended there.
    monkeypatch.setattr(price_and_branch, "filling_deadline", part)
    monkeypatch.setattr(price_and_branch._StageSolver, "_integers", lambda _self, _stage, _generated, bound: bound)
    monkeypatch.setattr(price_and_branch._StageSolver, "_repack", lambda *_: None)
    for most in (looks, inf):
        left = count()
        for module in (column_generation, master_problem):
            monkeypatch.setattr(
                module, "is_past", lambda at, left=left, most=most: isinstance(at, PartOfTheTime) and next(left) >= most
            )
        solved.append(solve_stages(instance, [admitted, cost], several.pricer, limits=limits).stages[1])
    best, dived, begun = (one.value for one in solved)
    assert best <= dived < begun
    assert all(one.bound <= best for one in solved)


def test_columns_are_taken_on_no_more_nodes_than_what_is_asked_for_needs():
    instance = MasterProblem((MasterUnitClass(0, 5), MasterUnitClass(1, 3)), (MasterNodeClass(0, 9),))
    columns = [Column(0, ((0, 2),)), Column(0, ((0, 2), (1, 1))), Column(0, ((1, 1),)), Column(0, ((0, 1),))]
    taken = list(needed_columns(instance, [(columns[0], 1), (columns[1], 9), (columns[2], 9), (columns[3], 9)]))
    # The second is taken until nothing needs it: three nodes for three of the second unit.
    assert taken == [(columns[0], 1), (columns[1], 3)]


def generator_of(scene, pricer=None):
    stage, master = scene.instance.admitted(), LinearMaster(scene.instance)
    master.set_objective(stage)
    return ColumnGenerator(scene.instance, master, pricer or scene.pricer), stage


def test_an_interrupt_while_columns_are_generated_tells_the_bound():
    scene = crowded(GANGS)
    generator, stage = generator_of(scene, Interrupting(scene.pricer, 11))
    bounds, limits = [], GenerationLimits(400, 0.0)
    run = generator.begin(stage, limits, scene.instance.demands(), watch=lambda _, bound: bounds.append(bound))
    with pytest.raises(KeyboardInterrupt):
        run.to_the_end()
    known = run.known()
    assert known.relaxation is not None
    assert known.rounds == len(bounds) + 1 > 2
    assert known.bound / known.scale == bounds[-1] < bounds[0]
    assert known.rounded(scene.instance, stage) == int(bounds[-1])


def test_an_interrupted_dive_ends_behind_what_it_fixed():
    scene = crowded(GANGS)
    generator, stage = generator_of(scene)
    generated = generator.run(stage, GenerationLimits(400, 0.0), scene.instance.demands())
    interrupting = ColumnGenerator(scene.instance, generator.master, Interrupting(scene.pricer, 3))
    dive = DivingHeuristic(interrupting, stage, GenerationLimits(6, 0.0)).run(generated.relaxation)
    found = [next(dive)]
    with pytest.raises(KeyboardInterrupt):
        found.extend(dive)
    assert all(number > 0 for _, number in found)
    # Nothing is fixed any longer.
    assert generator.master.solve().value >= generated.relaxation.value - 1e-6


@pytest.mark.parametrize("gangs", [(), GANGS], ids=["units", "gangs"])
def test_a_plan_whose_time_is_over_is_empty_or_better_and_has_valid_bounds(gangs):
    scene = crowded(gangs)
    stages = [scene.instance.admitted(), fewest_nodes(scene.instance)]
    found = solve_stages(scene.instance, stages, scene.pricer, limits=PlanLimits(deadline=monotonic() - 1))
    assert found.plan.is_feasible(scene.instance, ())
    assert not found.interrupted
    assert all(result.bound is None or result.value <= result.bound for result in found.stages[:1])


def test_a_linear_pricer_whose_time_is_over_knows_nothing():
    scene = crowded()
    late, most = PricingLimits(Effort.THOROUGH, deadline=monotonic() - 1), scene.instance.demands()
    prices = Prices((7, 5, 4, 3, 2))
    priced = scene.pricer.price(2, prices, most, late)
    assert (priced.columns, priced.bound) == ((), None)
    assert scene.pricer.enumerate(2, prices, most, 1, late) is None


def test_a_master_whose_time_is_over_has_no_relaxation():
    scene = crowded()
    generator, stage = generator_of(scene)
    for column, _ in fill_greedily(generator, Prices((7, 5, 4, 3, 2))):
        generator.master.add(column)
    assert generator.master.solve(monotonic() - 1) is None
    assert generator.master.solve(monotonic() + 1000).value > 0
    assert (
        generator.run(stage, GenerationLimits(9, 0.0, deadline=monotonic() - 1), scene.instance.demands()).bound is None
    )


def test_columns_are_counted_up_in_order_while_nodes_are_free():
    instance = MasterProblem(
        (MasterUnitClass(0, 5), MasterUnitClass(1, 1)), (MasterNodeClass(0, 2), MasterNodeClass(1, 1))
    )
    columns = [(Column(0, ((0, 2),)), 1), (Column(1, ((0, 2), (1, 3))), 1), (Column(0, ((0, 9),)), 4)]
    plan = plan_from_columns(instance, [instance.admitted()], columns)
    assert plan.units == (5, 1)
    assert sum(number for _, number in plan.columns) == 3
    assert plan.is_feasible(instance, ())


def test_gangs_are_counted_whole_and_the_more_important_ones_first():
    gangs = (
        MasterGangClass(((0, 3),), 1, 5),
        MasterGangClass(((0, 2), (1, 1)), 2, 9),
        MasterGangClass(((1, 1),), 3, 0),
    )
    instance = MasterProblem((MasterUnitClass(0, 9), MasterUnitClass(1, 0)), (MasterNodeClass(0, 1),), gangs)
    stage = ObjectiveStage("weight", Terms(units={0: 1}, gangs={0: 5, 1: 9, 2: 0}))
    columns = [(Column(0, ((0, 6), (1, 4))), 1)]
    assert plan_from_columns(instance, [stage], columns).gangs == (0, 2, 0)
    assert plan_from_columns(instance, [stage], columns).units == (2, 0)
    first = ObjectiveStage("first", Terms(gangs={0: 1}))
    assert plan_from_columns(instance, [first, stage], columns).gangs == (1, 1, 0)
    fewest = ObjectiveStage("least", Terms(gangs={0: 1, 1: 1}), maximise=False)
    assert plan_from_columns(instance, [fewest, stage], columns).gangs == (0, 0, 0)


def test_a_plan_that_breaks_a_row_is_not_counted():
    scene = crowded()
    rows = (CouplingRow(Terms(units={0: 1, 1: 1}), upper=2),)
    instance = replace(scene.instance, rows=rows)
    found = solve_stages(instance, [instance.admitted()], scene.pricer, limits=EXACT)
    assert found.plan.is_feasible(instance, rows)

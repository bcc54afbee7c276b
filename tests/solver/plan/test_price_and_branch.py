from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from time import monotonic

import pytest
from support.planning import Scene, fewest_nodes, fits_column, optimum, random_scene

from drasat.solver.plan import price_and_branch
from drasat.solver.plan.column_generation import ColumnGenerator, Prices
from drasat.solver.plan.heuristics import fill_greedily, fill_up, filling_deadline
from drasat.solver.plan.master import LinearMaster, plan_from_columns
from drasat.solver.plan.master_problem import (
    CouplingRow,
    MasterNodeClass,
    MasterProblem,
    MasterUnitClass,
    ObjectiveStage,
    PlanLimits,
    Terms,
    empty_plan,
    implied_bound,
)
from drasat.solver.plan.price_and_branch import solve_stages
from drasat.solver.plan.pricing.lagrangian import LinearNode, LinearUnit
from drasat.solver.plan.pricing.linear import LinearPricer

EXACT = PlanLimits(gap=0.0)


def solved(scene, stages, **options):
    found = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT, **options)
    assert found.plan.is_feasible(scene.instance, scene.instance.rows)
    assert all(fits_column(scene, column) for column, _ in found.plan.columns)
    for stage, result in zip(stages, found.stages, strict=True):
        assert result.bound is not None
        assert result.value <= result.bound if stage.maximise else result.value >= result.bound
    return found


def check_optimal(scene, stages):
    found = solved(scene, stages)
    assert [result.value for result in found.stages] == optimum(scene, stages)
    assert all(result.proven and result.value == result.bound for result in found.stages)


@pytest.mark.parametrize("seed", range(40))
def test_most_weight_is_admitted_and_proven(seed):
    scene = random_scene(seed)
    check_optimal(scene, [scene.instance.admitted()])


@pytest.mark.parametrize("seed", range(100, 125))
def test_then_the_fewest_nodes_are_used(seed):
    scene = random_scene(seed)
    check_optimal(scene, [scene.instance.admitted(), fewest_nodes(scene.instance)])


@pytest.mark.parametrize("seed", range(200, 220))
def test_priorities_come_one_after_another(seed):
    scene = random_scene(seed)
    first = ObjectiveStage("high", Terms(units={0: 1}))
    second = ObjectiveStage("low", Terms(units={unit.index: 1 for unit in scene.instance.units[1:]}))
    check_optimal(scene, [first, second, fewest_nodes(scene.instance)])


@pytest.mark.parametrize("seed", range(300, 325))
def test_gangs_are_placed_whole(seed):
    scene = random_scene(seed, gangs=True)
    check_optimal(scene, [scene.instance.admitted(), fewest_nodes(scene.instance)])


@pytest.mark.parametrize("seed", range(400, 420))
def test_rows_over_units_and_nodes_are_kept(seed):
    scene = random_scene(seed)
    terms = Terms(units={0: 1, 1: 2}, nodes={0: -1})
    scene = Scene(replace(scene.instance, rows=(CouplingRow(terms, upper=3),)), scene.pricer)
    check_optimal(scene, [scene.instance.admitted()])


def test_a_stage_that_the_plan_at_hand_closes_asks_for_no_columns(monkeypatch):
    scene = random_scene(0)
    roomy = replace(scene.instance, nodes=tuple(replace(one, count=one.count * 50) for one in scene.instance.nodes))
    stage = ObjectiveStage("placed", Terms(units={unit.index: 1 for unit in roomy.units}))
    plan = solved(Scene(roomy, scene.pricer), [stage]).plan
    assert plan.value(stage.terms) == stage.trivial_bound(roomy)
    monkeypatch.setattr(type(scene.pricer), "price", lambda *_: pytest.fail("the bound is reached already"))
    again = solved(Scene(replace(roomy, start=plan), scene.pricer), [stage])
    assert again.stages[0].proven


@pytest.mark.parametrize("seed", range(20))
def test_what_counted_nothing_before_comes_into_the_room_that_is_left(seed):
    """Every unit of the plan at hand stays, and what comes fits beside it."""
    scene = random_scene(seed)
    first = ObjectiveStage("high", Terms(units={0: 1}))
    then = ObjectiveStage("low", Terms(units={unit.index: 1 for unit in scene.instance.units[1:]}))
    plan = solved(scene, [first]).plan
    generator = ColumnGenerator(scene.instance, LinearMaster(scene.instance), scene.pricer)
    filled = list(fill_up(generator, then, plan, None))
    assert all(fits_column(scene, column) for column, _ in filled)
    both = [plan_from_columns(scene.instance, [first, then], columns) for columns in (plan.columns, filled)]
    assert both[1].is_feasible(scene.instance, ())
    assert both[0].value(first.terms) == both[1].value(first.terms)
    assert both[0].value(then.terms) <= both[1].value(then.terms) <= optimum(scene, [first, then])[1]


def test_room_beside_a_plan_is_filled():
    scene = random_scene(200)
    scene = Scene(replace(scene.instance, gangs=()), scene.pricer)
    first = ObjectiveStage("high", Terms(units={0: 1}))
    then = ObjectiveStage("low", Terms(units={unit.index: 1 for unit in scene.instance.units[1:]}))
    generator = ColumnGenerator(scene.instance, LinearMaster(scene.instance), scene.pricer)
    columns = tuple(fill_up(generator, then, solved(scene, [first]).plan, None))
    assert plan_from_columns(scene.instance, [first, then], columns).value(then.terms) > 0


def cutting_stock(length, pieces, prices=(1,), lengths=None):
    """Stock of one device: pieces are shares of it; as many as are asked for must be cut at the lowest price."""
    lengths = lengths or (length,)
    units = tuple(LinearUnit(share=size) for size, _ in pieces)
    asked = tuple(MasterUnitClass(index, number) for index, (_, number) in enumerate(pieces))
    total = sum(number for _, number in pieces)
    classes = tuple(MasterNodeClass(index, total) for index in range(len(lengths)))
    nodes = tuple(LinearNode((one,), one, ()) for one in lengths)
    cost = ObjectiveStage("cost", Terms(nodes=dict(enumerate(prices))), maximise=False)
    instance = MasterProblem(asked, classes)
    return Scene(instance, LinearPricer(units, nodes)), [instance.admitted(), cost]


def test_stock_of_the_textbook_is_cut_at_the_known_optimum():
    # Gilmore and Gomory's kind of problem, as on Wikipedia: 5600 mm rolls, 73 of them are the optimum.
    pieces = (
        (1380, 22), (1520, 25), (1560, 12), (1710, 14), (1820, 18), (1880, 18), (1930, 20),
        (2000, 10), (2050, 12), (2100, 14), (2140, 16), (2150, 18), (2200, 20),
    )  # fmt: skip
    scene, stages = cutting_stock(5600, pieces)
    found = solved(scene, stages)
    assert [(result.value, result.bound) for result in found.stages] == [(219, 219), (73, 73)]


def test_the_cheaper_mix_of_stock_is_bought():
    scene, stages = cutting_stock(0, ((6, 3), (4, 3)), prices=(10, 7), lengths=(10, 6))
    found = solved(scene, stages)
    assert (found.stages[1].value, found.stages[1].bound) == (30, 30)


def test_nodes_that_are_open_already_cost_nothing():
    scene, stages = cutting_stock(0, ((5, 4),), prices=(0, 3), lengths=(10, 10))
    scene = Scene(replace(scene.instance, nodes=(MasterNodeClass(0, 1), MasterNodeClass(1, 9))), scene.pricer)
    found = solved(scene, stages)
    assert found.stages[1].value == 3
    assert {column.node_class: nodes for column, nodes in found.plan.columns} == {0: 1, 1: 1}


def crowded():
    """Large enough for a dive and rounds of improvement."""
    units = tuple(LinearUnit(share=share, needs=(cpu,)) for share, cpu in ((7, 3), (5, 2), (4, 5), (3, 1), (2, 4)))
    asked = tuple(MasterUnitClass(index, 23 + 7 * index, unit.share) for index, unit in enumerate(units))
    nodes = tuple(LinearNode((10,) * devices, 10, (devices * 6,)) for devices in (1, 2, 4))
    classes = tuple(MasterNodeClass(index, 9 - 2 * index) for index in range(3))
    return Scene(MasterProblem(asked, classes), LinearPricer(units, nodes))


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_number_of_workers_makes_the_same_plan(executor):
    scene = crowded()
    stages = [scene.instance.admitted(), fewest_nodes(scene.instance)]
    alone = solved(scene, stages)
    with executor(3) as workers:
        assert solved(scene, stages, executor=workers) == alone


def test_a_crowded_cluster_is_planned_within_a_small_gap():
    scene = crowded()
    found = solve_stages(scene.instance, [scene.instance.admitted()], scene.pricer, limits=PlanLimits(gap=0.01))
    result = found.stages[0]
    assert result.proven
    assert 0 <= result.bound - result.value <= 0.01 * result.bound


def test_columns_that_are_known_already_do_not_change_the_optimum():
    scene = random_scene(7)
    found = solved(scene, [scene.instance.admitted()])
    again = solved(scene, [scene.instance.admitted()], start=[column for column, _ in found.plan.columns])
    assert again.stages[0].value == found.stages[0].value


def test_without_units_or_nodes_the_plan_is_empty():
    empty = Scene(
        MasterProblem((MasterUnitClass(0, 3),), (MasterNodeClass(0, 0),)),
        LinearPricer((LinearUnit(),), (LinearNode((), 1, ()),)),
    )
    found = solved(empty, [empty.instance.admitted()])
    assert (found.plan.columns, found.stages[0].value, found.stages[0].bound) == ((), 0, 0)


def test_an_interrupt_before_the_first_stage_leaves_the_plan_to_start_from(monkeypatch):
    """The libraries of the solver are loaded then, which takes a while."""

    def interrupted(_instance):
        raise KeyboardInterrupt

    scene, stages = crowded(), [crowded().instance.admitted()]
    start = solved(scene, stages).plan
    monkeypatch.setattr(price_and_branch, "LinearMaster", interrupted)
    found = solve_stages(replace(scene.instance, start=start), stages, scene.pricer)
    assert (found.plan, found.stages, found.interrupted) == (start, (), True)
    assert solve_stages(scene.instance, stages, scene.pricer).plan == empty_plan(scene.instance)


def test_an_interrupt_leaves_the_best_plan_so_far():
    scene = crowded()

    def interrupt(_stage, value, _bound):
        if value:
            raise KeyboardInterrupt

    found = solve_stages(scene.instance, [scene.instance.admitted()], scene.pricer, watch=interrupt)
    assert found.interrupted
    assert found.plan.is_feasible(scene.instance, ())
    assert found.stages[0].value == found.plan.value(scene.instance.admitted().terms) > 0


def test_a_stage_that_others_add_up_to_is_known_without_pricing():
    scene = random_scene(200)
    units = scene.instance.units
    parts = [ObjectiveStage(f"unit-{unit.index}", Terms(units={unit.index: 1})) for unit in units]
    everything = ObjectiveStage("all", Terms(units={unit.index: 1 for unit in units}, nodes={0: 0}))
    found = solved(scene, [*parts, everything, everything])
    *own, total, again = found.stages
    assert total.value == sum(result.value for result in own) == total.bound == again.value
    assert (total.name, total.rounds, again.rounds) == ("all", 0, 0)
    assert total.proven
    assert again.proven


@pytest.mark.parametrize(
    "stage",
    [
        ObjectiveStage("heavier", Terms(units={0: 2})),
        ObjectiveStage("more", Terms(units={0: 1, 1: 1})),
        ObjectiveStage("fewest", Terms(units={0: 1}), maximise=False),
        ObjectiveStage("meter", Terms(usage={0: 1})),
    ],
    ids=lambda stage: stage.name,
)
def test_stages_that_look_at_something_else_are_not_implied(stage):
    assert implied_bound(stage, [(ObjectiveStage("one", Terms(units={0: 1})), 7)]) is None


def test_a_stage_of_which_a_part_has_no_bound_is_not_implied():
    one, both = ObjectiveStage("one", Terms(units={0: 1})), ObjectiveStage("both", Terms(units={0: 1, 1: 1}))
    other = ObjectiveStage("other", Terms(units={1: 1}))
    assert implied_bound(both, [(one, 7), (other, None)]) is None
    assert implied_bound(both, [(one, 7), (other, 2)]) == 9
    assert implied_bound(one, [(one, 7), (one, 7)]) == 7


def many_kinds(units: int, nodes: int) -> MasterProblem:
    """One unit of each kind, on equal nodes."""
    return MasterProblem(tuple(MasterUnitClass(index, 1) for index in range(units)), (MasterNodeClass(0, nodes),))


def one_device_each(units: int, devices: int) -> LinearPricer:
    node = LinearNode((1,) * devices, 1, (10 * units,))
    return LinearPricer(tuple(LinearUnit(1, needs=(index,)) for index in range(units)), (node,))


def test_nodes_are_filled_though_no_two_units_are_alike():
    """More nodes than are priced with all that is left: the rest is priced with a part of it."""
    instance, pricer = many_kinds(120, 30), one_device_each(120, 4)
    filled = list(fill_greedily(ColumnGenerator(instance, LinearMaster(instance), pricer), Prices((1,) * 120)))
    taken = [unit for column, times in filled for unit, amount in column.counts for _ in range(amount * times)]
    assert sorted(taken) == list(range(120))
    assert sum(times for _, times in filled) == 30
    found = solve_stages(instance, [instance.admitted()], pricer, limits=EXACT)
    assert found.stages[0].value == found.stages[0].bound == 120


def test_filling_ends_when_time_is_over():
    instance, pricer = many_kinds(12, 3), one_device_each(12, 4)
    generator = ColumnGenerator(instance, LinearMaster(instance), pricer)
    assert not list(fill_greedily(generator, Prices((1,) * 12), deadline=monotonic() - 1))
    assert filling_deadline(None) is None
    now = monotonic()
    assert now < filling_deadline(now + 30) < now + 15
    assert filling_deadline(now - 30) >= now

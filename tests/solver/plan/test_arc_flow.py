"""Arc flow, column generation and one model of all bundles come to the same optimum; bounds hold for every plan."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.planning import Scene, fewest_nodes, fits_column, optimum, vector_scene

from drasat.encoders.solver_library import mathopt
from drasat.solver.plan import arc_flow, node_repacking, price_and_branch
from drasat.solver.plan.arc_flow import ArcFlowResult, OpenStage, complete_whole_columns, flow_network, solve_arc_flow
from drasat.solver.plan.column_generation import ColumnGenerator, GenerationLimits, vector_nodes
from drasat.solver.plan.enumeration import EnumerationProof
from drasat.solver.plan.filling_graph import GraphItem, build_filling_graph
from drasat.solver.plan.first_fit_decreasing import pack_decreasing
from drasat.solver.plan.master import LinearMaster
from drasat.solver.plan.master_problem import Column, CouplingRow, PlanLimits, empty_plan, required_units
from drasat.solver.plan.price_and_branch import solve_stages

EXACT = PlanLimits(gap=0.0)


def relaxed(scene, stage):
    """A generator with the relaxation of a stage that places all, and its bound."""
    demand = CouplingRow(scene.instance.admitted().terms, lower=sum(scene.instance.demands()))
    instance = replace(scene.instance, rows=(demand,))
    master = LinearMaster(instance)
    master.set_objective(stage)
    generator = ColumnGenerator(instance, master, scene.pricer)
    packed = list(pack_decreasing(instance, scene.pricer, vector_nodes(instance, scene.pricer), instance.demands(), {}))
    for column, _ in packed[0]:
        master.add(column)
    found = generator.run(stage, GenerationLimits(200, 0.0), instance.demands())
    return generator, found, packed


@pytest.mark.parametrize("seed", range(30))
def test_the_least_cost_is_that_of_one_model_of_all_bundles(seed):
    scene, cost = vector_scene(seed)
    stages = [scene.instance.admitted(), cost]
    found = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT)
    assert [stage.value for stage in found.stages] == optimum(scene, stages)
    assert all(stage.proven and stage.value == stage.bound for stage in found.stages)
    assert all(fits_column(scene, column) for column, _ in found.plan.columns)


@pytest.mark.parametrize("seed", range(40, 60))
def test_as_many_as_possible_are_placed_on_few_nodes(seed):
    """Counts, where nodes are given and do not suffice for all."""
    scene, _ = vector_scene(seed)
    classes = tuple(replace(node, count=1) for node in scene.instance.nodes)
    scene = Scene(replace(scene.instance, nodes=classes), scene.pricer)
    stages = [scene.instance.admitted(), fewest_nodes(scene.instance)]
    found = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT)
    assert [(stage.value, stage.bound) for stage in found.stages] == [(one, one) for one in optimum(scene, stages)]


@pytest.mark.parametrize("seed", range(60, 75))
def test_arc_flow_from_any_plan_finds_the_optimum(seed):
    scene, cost = vector_scene(seed)
    generator, generated, packed = relaxed(scene, cost)
    best = optimum(scene, [scene.instance.admitted(), cost])[1]
    bound = generated.rounded(generator.instance, cost)
    assert bound <= best
    columns = tuple(packed[-1])
    plan = replace(empty_plan(generator.instance), columns=columns, units=generator.instance.demands())
    assert plan.is_feasible(generator.instance, generator.instance.rows)
    found = solve_arc_flow(OpenStage(generator, cost, generated.relaxation, plan, bound, 0.0, None))
    value = plan.value(cost.terms) if found.plan is None else found.plan.value(cost.terms)
    assert (value, found.proven) == (best, True)
    assert found.plan is None or found.plan.is_feasible(generator.instance, generator.instance.rows)


def test_what_the_relaxation_takes_whole_is_completed_to_a_plan_within_the_gap_and_proven_at_the_bound_alone():
    completed = 0
    for seed in range(140, 240):
        scene, cost = vector_scene(seed)
        units = tuple(replace(unit, demand=3 * unit.demand) for unit in scene.instance.units)
        classes = tuple(replace(node, count=3 * node.count) for node in scene.instance.nodes)
        scene = Scene(replace(scene.instance, units=units, nodes=classes), scene.pricer)
        generator, generated, _ = relaxed(scene, cost)
        bound, dear = generated.rounded(generator.instance, cost), {node.index: 100 for node in classes}
        # As bad as can be: each unit has a node of the dearest kind.
        plan = replace(empty_plan(generator.instance), columns=((Column(0, ()), sum(dear.values())),))
        found = complete_whole_columns(OpenStage(generator, cost, generated.relaxation, plan, bound, 0.05, None))
        assert found.bound == bound
        if found.plan is not None:
            completed += 1
            assert found.plan.is_feasible(generator.instance, generator.instance.rows)
            assert bound <= found.plan.value(cost.terms) <= 1.05 * bound
            assert found.proven == (found.plan.value(cost.terms) == bound)
            assert all(fits_column(scene, column) for column, _ in found.plan.columns)
    assert completed > 50


def test_a_plan_of_arc_flow_that_breaks_a_rule_proves_nothing(monkeypatch):
    """Its solver counts in floating point; other ways to find a plan have none."""

    def wrong(asked):
        return ArcFlowResult(replace(asked.plan, columns=()), asked.bound, proven=True)

    monkeypatch.setattr(price_and_branch, "complete_whole_nodes", wrong)
    monkeypatch.setattr(price_and_branch, "solve_arc_flow", wrong)
    monkeypatch.setattr(price_and_branch, "_FEW_COLUMNS", 0)
    monkeypatch.setattr(price_and_branch.DivingHeuristic, "run", lambda *_: iter(()))
    monkeypatch.setattr(price_and_branch.LargeNeighbourhoodSearch, "plans", lambda *_: iter(()))
    monkeypatch.setattr(node_repacking.NodeRepacking, "of", lambda *_: None)
    monkeypatch.setattr(price_and_branch, "pack_decreasing", lambda *_, **_options: iter(()))
    monkeypatch.setattr(price_and_branch, "prove_by_enumeration", lambda *given: EnumerationProof(given[3], False))
    is_worse = set()
    for seed in range(20):
        scene, cost = vector_scene(seed)
        stages = [scene.instance.admitted(), cost]
        best = optimum(scene, stages)
        found = solve_stages(scene.instance, stages, scene.pricer, limits=EXACT)
        assert found.stages[1].bound <= best[1] <= found.stages[1].value
        is_worse.add(best[1] < found.stages[1].value)
    assert True in is_worse


def test_a_search_that_is_interrupted_bounds_no_plans_that_it_leaves_out(monkeypatch):
    """No plan is at the bound, and the model of it has none that is worse: its own bound may be beyond the best."""

    def interrupted(_model, _solver, _parameters):
        bounds = SimpleNamespace(dual_bound=1000.0)
        termination = SimpleNamespace(reason=mathopt.TerminationReason.NO_SOLUTION_FOUND, objective_bounds=bounds)
        return SimpleNamespace(termination=termination, has_primal_feasible_solution=lambda: False)

    monkeypatch.setattr(arc_flow, "run_mixed_integer", interrupted)
    bounds = []
    for seed in range(60, 100):
        scene, cost = vector_scene(seed)
        generator, generated, _ = relaxed(scene, cost)
        best = optimum(scene, [scene.instance.admitted(), cost])[1]
        bound = generated.rounded(generator.instance, cost)
        if bound < best:
            much = replace(empty_plan(generator.instance), columns=((Column(0, ()), 100),))
            found = solve_arc_flow(OpenStage(generator, cost, generated.relaxation, much, bound, 0.0, None))
            assert not found.proven
            bounds.append((bound < found.bound, found.bound <= best))
    assert bounds
    assert set(bounds) == {(True, True)}


@pytest.mark.parametrize("seed", range(80, 100))
def test_packing_by_size_places_all_where_there_are_nodes_for_all(seed):
    scene, cost = vector_scene(seed)
    nodes = vector_nodes(scene.instance, scene.pricer)
    best = optimum(scene, [scene.instance.admitted(), cost])[1]
    for columns in pack_decreasing(scene.instance, scene.pricer, nodes, scene.instance.demands(), cost.terms.nodes):
        plan = replace(empty_plan(scene.instance), columns=tuple(columns), units=scene.instance.demands())
        assert plan.is_feasible(scene.instance, ())
        assert plan.value(cost.terms) >= best
        assert all(fits_column(scene, column) for column, _ in columns)


@pytest.mark.parametrize("seed", [49, 56, 69, 77])
def test_a_plan_of_arc_flow_that_is_not_proven_is_improved_further(seed, monkeypatch):
    """Other ways to find a plan have none; the bound is one too high, as where time is over."""

    def unproven(asked):
        found = solve_arc_flow(replace(asked, plan=empty_plan(asked.generator.instance)))
        values.append(found.plan.value(asked.stage.terms))
        return replace(found, bound=asked.bound + 1, proven=False)

    values = []
    monkeypatch.setattr(price_and_branch, "solve_arc_flow", unproven)
    monkeypatch.setattr(
        price_and_branch, "complete_whole_nodes", lambda asked: ArcFlowResult(None, asked.bound, proven=False)
    )
    monkeypatch.setattr(price_and_branch.DivingHeuristic, "run", lambda *_: iter(()))
    for name in ("pack_decreasing", "fill_greedily"):
        monkeypatch.setattr(price_and_branch, name, lambda *_, **_options: iter(()))
    monkeypatch.setattr(price_and_branch, "_FEW_COLUMNS", 0)
    search = price_and_branch.LargeNeighbourhoodSearch.plans
    later = lambda self, plan: search(self, plan) if values else iter(())  # noqa: E731
    monkeypatch.setattr(price_and_branch.LargeNeighbourhoodSearch, "plans", later)
    scene, _ = vector_scene(seed)
    units = tuple(replace(unit, demand=25 * unit.demand) for unit in scene.instance.units)
    classes = tuple(replace(node, count=14) for node in scene.instance.nodes)
    scene = Scene(replace(scene.instance, units=units, nodes=classes), scene.pricer)
    found = solve_stages(scene.instance, [scene.instance.admitted()], scene.pricer, limits=EXACT)
    assert values
    assert values[-1] <= found.stages[0].value <= found.stages[0].bound


def test_a_network_has_fewer_arcs_than_its_graph():
    graph = build_filling_graph([GraphItem(unit, (unit + 3,), 2) for unit in range(5)], (20,))
    network = flow_network(graph)
    assert 0 < len(network.arcs) < graph.arcs
    assert all(0 <= end < network.states for arc in network.arcs for end in (arc.tail, arc.head))


def test_rows_that_ask_for_all_that_they_count_force_units():
    scene, _ = vector_scene(1)
    every = scene.instance.admitted().terms
    total = sum(scene.instance.demands())
    assert required_units(scene.instance, [CouplingRow(every, lower=total)]) == list(scene.instance.demands())
    assert not any(required_units(scene.instance, [CouplingRow(every, lower=total - 1)]))

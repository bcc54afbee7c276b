"""Profiles, shapes and views: what equal devices and nodes share."""

import pickle

import pytest
from support.gates import ALL
from support.objects import claim, device, device_class, devices, draws, labels, match, node, partitions, pool, want

from drasat.models.cluster.cluster import Cluster
from drasat.problem.compiler import Compiler
from drasat.problem.selectors import ExpressionEvaluator
from drasat.problem.shapes import NodeViews


def views_of(*objects, gates=ALL):
    cluster = Cluster.of(objects)
    views = NodeViews(cluster.pools(gates), gates)
    return views, [views.of(item) for item in cluster.nodes.values()]


def on(name, *members, **fields):
    return pool(*members, name=name, node_name=name, **fields)


def test_equal_nodes_have_one_shape():
    views, (one, two) = views_of(on("n1", *devices("a", "b", x=1)), on("n2", *devices("c", "d", x=1)))
    assert one.shape is two.shape
    assert [entry.id[2] for entry in (*one.devices, *two.devices)] == ["a", "b", "c", "d"]
    assert views.classes == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(on("n2", device("a", x=2)), id="attribute"),
        pytest.param(on("n2", device("a", x=1), device("b", x=1)), id="number"),
        pytest.param(on("n2", device("a", x=1), driver="e.x"), id="driver"),
        pytest.param(on("n2", device("a", x=1), skip_node_operations=("*",)), id="node-operations"),
        pytest.param(on("n2", device("a", x=1), count=2), id="incomplete"),
        pytest.param(on("n2", device("a", x=1, multi=True)), id="sharing"),
        pytest.param(on("n2", device("a", x=1, capacity={"m": "1"})), id="capacity"),
    ],
)
def test_what_differs_in_anything_has_another_shape(other):
    _, (one, two) = views_of(on("n1", device("a", x=1)), other)
    assert one.shape is not two.shape


def test_counter_sets_are_part_of_the_shape():
    def slices(name, most):
        return partitions(device("a", draws("s", m=1)), sets={"s": {"m": most}}, name=name, node_name=name)

    _, (one, two, three) = views_of(*slices("n1", 4), *slices("n2", 4), *slices("n3", 5))
    assert one.shape is two.shape
    assert one.shape is not three.shape


def test_what_a_node_declares_is_part_of_the_shape():
    """DEV-9."""
    feature = ("DRAOptionalNodeOperations",)
    _, (one, two) = views_of(on("n1", device("a")), on("n2", device("a")), node("n1", feature), node("n2"))
    assert (one.shape.node_skips, two.shape.node_skips) == (True, False)


def test_reachability_is_part_of_the_shape():
    """DEV-4."""
    slices = pool(
        device("a", node_selector=labels({"zone": ("z",)})), device("b", all_nodes=True), per_device_node_selection=True
    )
    _, (one, two) = views_of(slices, node("n1", zone="z"), node("n2"))
    assert one.shape.reachable == (True, True)
    assert two.shape.reachable == (False, True)


def test_rows_of_counters_and_capacities_are_numbered_through():
    slices = partitions(
        device("a", draws("s", m=1, k=2), capacity={"z": "1", "c": "2"}),
        device("b", draws("t", m=3), capacity={"c": "3"}),
        sets={"s": {"m": 4, "k": 5}, "t": {"m": 6}},
    )
    _, (view,) = views_of(*slices)
    assert view.shape.counters.names == (("s", "m"), ("s", "k"), ("t", "m"))
    assert view.shape.counters.consumption == {0: ((0, 10**9), (1, 2 * 10**9)), 1: ((2, 3 * 10**9),)}
    assert view.shape.capacities.names == ("c", "z", "c")
    assert view.shape.capacities.totals == (2 * 10**9, 10**9, 3 * 10**9)


def test_pools_without_groups_have_no_group_states():
    """GRP-1."""
    _, (plain,) = views_of(*partitions(device("a", draws("s", m=1)), sets={"s": {"m": 4}}))
    assert (plain.shape.groups.sets, plain.shape.groups.membership) == ((), {})
    _, (grouped,) = views_of(*partitions(device("a", draws("s", ("x",), m=1)), sets={"s": {"m": 4}}))
    assert grouped.shape.groups.membership == {0: ((0, 0b11),)}


def test_views_are_made_once():
    cluster = Cluster.of([on("n1", device("a"))])
    views = NodeViews(cluster.pools(ALL), ALL)
    assert views.of(cluster.node("n1")) is views.of(cluster.node("n1"))


def compiled(*objects, asked):
    cluster = Cluster.of([*objects, device_class()])
    views = NodeViews(cluster.pools(ALL), ALL)
    compiler = Compiler(cluster.classes, ALL, ExpressionEvaluator(), "strict")
    view = views.of(cluster.node("n1"))
    return compiler, compiler.problem(compiler.question(asked), view.shape), view


def test_a_problem_is_plain_data():
    """Picklable, no Kubernetes object, no expression."""
    members = devices("a", "b", x=1, capacity={"m": "4"})
    _, problem, _ = compiled(on("n1", *members), asked=[claim(want(count=2), constraints=[match("d.x/x")])])
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert b"drasat.models" not in pickle.dumps(problem)


def test_equal_questions_are_compiled_once():
    compiler, problem, view = compiled(on("n1", device("a")), asked=[claim(want(), name="one")])
    again = compiler.problem(compiler.question([claim(want(), name="two")]), view.shape)
    assert again is problem
    other = compiler.problem(compiler.question([claim(want(count=2))]), view.shape)
    assert other is not problem


def test_values_are_tokens_and_candidates_numbers():
    members = [device("a", x=1), device("b", x=2), device("c"), device("d", x=1)]
    _, problem, _ = compiled(on("n1", *members), asked=[claim(want(count=2), constraints=[match("d.x/x")])])
    (constraint,), (demand,) = problem.constraints, problem.demands
    assert demand.candidates == (0, 1, 3)
    assert constraint.tokens[0] == {0: 1, 1: 2, 3: 1}
    assert [failure.filter for failure in demand.failures[2]] == ["constraintAttribute"]

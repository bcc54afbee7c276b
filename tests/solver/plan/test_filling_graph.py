"""Graphs and lists have every filling of a node, and no other; the best path is the best filling."""

from itertools import product
from random import Random

import pytest

from drasat.solver.plan.filling_graph import GraphItem, VectorNode, build_filling_graph
from drasat.solver.plan.pricing.vector_labeling import FillingList

MAKERS = pytest.mark.parametrize("make", [build_filling_graph, FillingList.of], ids=["graph", "list"])


def random_node(rng):
    dimensions = rng.choice((1, 1, 2, 3))
    left = tuple(rng.randint(5, 14) for _ in range(dimensions))
    needs = {unit: tuple(rng.randint(0, 5) for _ in left) for unit in range(rng.randint(1, 5))}
    return VectorNode(left, {unit: own if any(own) else (1,) * dimensions for unit, own in needs.items()}, {})


def fillings(node, limits):
    """All numbers of units that fit, by trying them."""
    for counts in product(*(range(limit + 1) for limit in limits)):
        used = [sum(node.needs[unit][d] * count for unit, count in enumerate(counts)) for d in range(len(node.left))]
        if all(amount <= left for amount, left in zip(used, node.left, strict=True)):
            yield counts


def fits(node, limits, path):
    counts = [dict(path).get(unit, 0) for unit in range(len(limits))]
    return tuple(counts) in set(fillings(node, limits))


@MAKERS
@pytest.mark.parametrize("seed", range(60))
def test_the_best_path_is_the_best_filling_and_all_paths_fit(make, seed):
    rng = Random(seed)
    node = random_node(rng)
    limits = [rng.randint(0, 4) for _ in node.needs]
    graph = make(node.items(limits), node.left)
    prices = [rng.randint(-2, 9) for _ in limits]
    worth = {
        counts: sum(max(0, p) * n for p, n in zip(prices, counts, strict=True)) for counts in fillings(node, limits)
    }
    best, paths = graph.best_paths(prices, limits)
    assert best == max(worth.values())
    assert all(fits(node, limits, path) for path in paths)
    assert not paths or sum(prices[unit] * number for unit, number in paths[0]) == best
    there = {unit for counts in worth for unit, number in enumerate(counts) if number and prices[unit] > 0}
    assert there == {unit for path in paths for unit, _ in path}


@MAKERS
@pytest.mark.parametrize("seed", range(100, 130))
def test_units_may_be_fewer_than_the_graph_was_made_for(make, seed):
    rng = Random(seed)
    node = random_node(rng)
    most = [4 for _ in node.needs]
    graph = make(node.items(most), node.left)
    prices = [rng.randint(1, 9) for _ in most]
    for _ in range(4):
        limits = [rng.randint(0, 4) for _ in most]
        best, paths = graph.best_paths(prices, limits)
        assert best == max(sum(p * n for p, n in zip(prices, own, strict=True)) for own in fillings(node, limits))
        assert all(fits(node, limits, path) for path in paths)


@pytest.mark.parametrize("seed", range(200, 230))
def test_listed_and_restricted_paths_are_those_of_some_worth(seed):
    rng = Random(seed)
    node = random_node(rng)
    limits = [rng.randint(1, 3) for _ in node.needs]
    graph = build_filling_graph(node.items(limits), node.left)
    prices = [rng.randint(1, 9) for _ in limits]
    worth = {counts: sum(p * n for p, n in zip(prices, counts, strict=True)) for counts in fillings(node, limits)}
    least = rng.randint(1, max(worth.values()))
    listed = graph.paths(prices, limits, least, most=10_000)
    expected = {
        tuple((unit, number) for unit, number in enumerate(own) if number) for own in worth if worth[own] >= least
    }
    assert set(listed) == expected
    kept = graph.restricted(prices, limits, least)
    assert set(kept.paths(prices, limits, least, most=10_000)) == expected
    assert kept.arcs <= graph.arcs
    assert graph.paths(prices, limits, least, most=len(expected) - 1) is None or len(expected) == 0
    assert graph.restricted(prices, limits, max(worth.values()) + 1) is None


@pytest.mark.parametrize("seed", range(300, 340))
def test_a_list_has_each_filling_of_some_worth_once(seed):
    rng = Random(seed)
    node = random_node(rng)
    most, limits = [3 for _ in node.needs], [rng.randint(0, 3) for _ in node.needs]
    prices = [rng.randint(-2, 9) for _ in limits]
    useful = [
        tuple((unit, number) for unit, number in enumerate(own) if number)
        for own in fillings(node, limits)
        if any(own) and all(prices[unit] > 0 for unit, number in enumerate(own) if number)
    ]
    worth = sorted(sum(prices[unit] * number for unit, number in one) for one in useful)
    least = worth[len(worth) // 2] if worth else 1
    expected = [one for one in useful if sum(prices[unit] * number for unit, number in one) >= least]
    listed = FillingList.of(node.items(most), node.left)
    assert sorted(listed.paths(prices, limits, least, most=len(expected))) == sorted(expected)
    assert not expected or listed.paths(prices, limits, least, most=len(expected) - 1) is None


@pytest.mark.parametrize(
    ("limit", "most"), [("_MOST_LISTED", 11), ("_MOST_LISTED_UNITS", 11), ("_MOST_LISTED_NUMBERS", 23)]
)
def test_a_list_that_would_be_too_long_is_none(monkeypatch, limit, most):
    items = [GraphItem(unit, (3, 4), 2) for unit in range(6)]
    assert len(FillingList.of(items, (9, 12)).rows.T) == 1 + 6 + 21 + 50
    monkeypatch.setattr(f"drasat.solver.plan.pricing.vector_labeling.{limit}", most)
    assert FillingList.of(items, (9, 12)) is None
    assert FillingList.of(items[:2], (5, 5)) is not None
    assert FillingList.of(items[:2], (5, 5), lists=100) is None or limit == "_MOST_LISTED_UNITS"


def test_more_arcs_than_there_may_be_make_no_graph():
    items = [GraphItem(unit, (unit + 50, 90 - unit), 3) for unit in range(20)]
    assert build_filling_graph(items, (1000, 1000), most_arcs=200) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_graph_is_given_up_only_where_it_would_have_more_arcs(seed):
    """Later layers are estimated: what is given up has nearly as many arcs as there may be."""
    rng = Random(seed)
    items = [GraphItem(unit, (rng.randint(100, 400), rng.randint(100, 400)), 1) for unit in range(25)]
    enough = next(most for most in range(200, 20_000, 200) if build_filling_graph(items, (1000, 1000), most))
    made = sum(len(layer.parent) for layer in unmerged(items, (1000, 1000)))
    assert made <= enough <= 1.2 * made + 200


def unmerged(items, left):
    """The layers before states from which the same follows are one."""
    layers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drasat.solver.plan.filling_graph._reduced_graph", layers.extend)
        build_filling_graph(items, left)
    return layers


def test_the_more_dimensions_a_node_has_the_fewer_arcs_there_may_be(monkeypatch):
    """Each arc has a number in each of them."""
    monkeypatch.setattr("drasat.solver.plan.filling_graph._MOST_NUMBERS", 1000)
    made = {}
    for dimensions in (1, 20):
        items = [GraphItem(unit, (unit + 50,) * dimensions, 3) for unit in range(12)]
        made[dimensions] = build_filling_graph(items, (300,) * dimensions)
    assert made[1].arcs > 0
    assert made[20] is None


def test_what_no_later_unit_can_use_makes_no_difference():
    """Units of 4 and 6: what is left of 10 is 0, 4, 6 or 10 at each step."""
    graph = build_filling_graph([GraphItem(0, (6,), 1), GraphItem(1, (4,), 2)], (11,))
    assert max(graph.states) <= 3

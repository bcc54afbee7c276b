"""Instances of packing keep to the published rules, and are valid input in each of their forms."""

from collections import Counter
from itertools import pairwise

import pytest
from packing_instances import (
    FIVE_SIZES,
    FORMS,
    PRICED_SIZES,
    PRICES,
    TRIPLET_CLASS,
    VECTOR_CLASSES,
    packing,
    priced,
    triplets,
    variable_sized,
    vectors,
)

from drasat.solver.plan.plan import plan
from drasat.solver.plan.pricing import linear
from drasat.solver.plan.pricing.vector_labeling import FillingList


@pytest.mark.parametrize("least", [1, 20, 50])
def test_sizes_are_in_their_range_and_bins_cost_what_they_have(least):
    made = variable_sized(300, least, FIVE_SIZES, seed=1)
    assert len(made.items) == 300
    assert all(least <= size <= 100 for (size,) in made.items)
    assert [(one.size, one.price) for one in made.bins] == [((size,), size) for size in FIVE_SIZES]
    assert made == variable_sized(300, least, FIVE_SIZES, seed=1) != variable_sized(300, least, FIVE_SIZES, seed=2)


@pytest.mark.parametrize(("shape", "sign"), [("linear", 0), ("convex", 1), ("concave", -1)])
def test_prices_have_their_shape(shape, sign):
    rates = [PRICES[shape](size) / size for size in PRICED_SIZES]
    assert all(sign * (later - earlier) > 0 or sign == later - earlier for earlier, later in pairwise(rates))
    assert len(priced(25, shape).bins) == 7


def test_three_items_fill_a_bin():
    made = triplets(60)
    assert len(made.items) == 60
    assert sum(size for (size,) in made.items) == 1000 * made.optimum == 20_000
    assert all(250 <= size <= 500 for (size,) in made.items)


@pytest.mark.parametrize("kind", [*VECTOR_CLASSES, TRIPLET_CLASS])
@pytest.mark.parametrize("dimensions", [2, 5])
def test_vectors_fit_an_empty_bin(kind, dimensions):
    made = vectors(24, kind, dimensions)
    assert Counter(map(len, made.items)) == {dimensions: 24}
    assert all(made.fits(item, one) for item in made.items for one in made.bins)


@pytest.mark.parametrize(
    ("instance", "cost"),
    [
        (variable_sized(12, 20, seed=3), None),
        (vectors(12, 7, 3), None),
        (vectors(12, TRIPLET_CLASS), 4),
        (triplets(12), 4),
        (priced(10, "concave"), None),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_all_forms_come_to_the_same_proven_cost(instance, cost, load):
    found = [plan(load(packing(instance, form)), buy=True, gap=0.0) for form in FORMS]
    stages = [{stage.stage: stage for stage in one.objective}["cost"] for one in found]
    assert [(one.outcome, one.placed, one.verified) for one in found] == [("Optimal", len(instance.items), True)] * 3
    assert len({stage.value for stage in stages}) == 1
    assert all(stage.value == stage.bound for stage in stages)
    assert cost in (None, stages[0].value)


@pytest.mark.parametrize(
    "instance",
    [*(vectors(20, kind, 4, seed=2) for kind in (1, 4, 7, 10)), priced(12, "convex", seed=1), triplets(15, seed=1)],
    ids=lambda one: one.name,
)
def test_graphs_lists_and_labels_come_to_the_same_proven_cost(instance, load, monkeypatch):
    cluster, found = load(packing(instance, FORMS[0])), []
    lists = []
    kept = FillingList.of

    def listed(*asked):
        lists.append(kept(*asked))
        return lists[-1]

    for has_graphs, make in ((True, listed), (False, listed), (False, lambda *_: None)):
        with monkeypatch.context() as patch:
            patch.setattr(FillingList, "of", make)
            if not has_graphs:
                patch.setattr(linear, "build_filling_graph", lambda *_: None)
            found.append(plan(cluster, buy=True, gap=0.0))
    costs = [{stage.stage: stage for stage in one.objective}["cost"] for one in found]
    assert [one.outcome for one in found] == ["Optimal"] * 3
    assert len({stage.value for stage in costs}) == 1
    assert all(stage.value == stage.bound for stage in costs)
    assert any(one is not None for one in lists)

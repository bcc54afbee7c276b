"""Labeling of vectors finds the best fillings, bounds all of them, and lists every one that is worth enough."""

from itertools import product
from random import Random

import pytest

from drasat.problem.messages import DeadlineExceededError
from drasat.solver.plan.column_generation import Effort
from drasat.solver.plan.filling_graph import GraphItem
from drasat.solver.plan.pricing import vector_labeling
from drasat.solver.plan.pricing.vector_labeling import all_fillings, best_fillings, knapsack_fillings


def question(seed):
    """Items, their values, and what a node has left."""
    rng = Random(seed)
    dimensions = rng.choice((1, 2, 2, 3))
    left = [rng.choice((0, 1, 7, 12, 20)) if rng.random() < 0.2 else rng.randint(8, 20) for _ in range(dimensions)]
    items = [
        GraphItem(2 * unit, tuple(rng.randint(0, 7) for _ in left), rng.randint(0, 3))
        for unit in range(rng.randint(1, 6))
    ]
    large = rng.choice((1, 1, 1 << 24))
    values = [large * rng.randint(-2, 9) for _ in range(2 * len(items))]
    return items, values, left


def fillings(items, left):
    """All numbers of units that fit, by trying them, with their units by class."""
    for counts in product(*(range(item.most + 1) for item in items)):
        used = [
            sum(item.needs[d] * number for item, number in zip(items, counts, strict=True)) for d in range(len(left))
        ]
        if all(amount <= most for amount, most in zip(used, left, strict=True)):
            yield tuple((item.index, number) for item, number in zip(items, counts, strict=True) if number)


def worth(filling, values):
    return sum(values[index] * number for index, number in filling)


@pytest.mark.parametrize("seed", range(60))
def test_the_first_filling_is_the_best_one_and_its_worth_is_the_bound(seed):
    items, values, left = question(seed)
    there = set(fillings(items, left))
    best = max(worth(one, [max(0, value) for value in values]) for one in there)
    for effort in Effort:
        found = best_fillings(items, values, left, effort, None)
        assert set(found.fillings) <= there
        assert best <= found.bound
        if effort is Effort.THOROUGH:
            assert best == found.bound == max((worth(one, values) for one in found.fillings), default=0)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_with_few_labels(seed, monkeypatch):
    monkeypatch.setattr(vector_labeling, "_BEAM_WIDTH", 1)
    monkeypatch.setattr(vector_labeling, "_PROOF_WIDTH", 2)
    items, values, left = question(seed)
    there = set(fillings(items, left))
    found = best_fillings(items, values, left, Effort.THOROUGH, None)
    assert set(found.fillings) <= there
    assert found.bound >= max(worth(one, [max(0, value) for value in values]) for one in there)


@pytest.mark.parametrize("seed", range(60))
def test_all_fillings_that_are_worth_enough_are_listed(seed):
    items, values, left = question(seed)
    useful = [one for one in fillings(items, left) if one and all(values[index] > 0 for index, _ in one)]
    values_found = sorted(worth(one, values) for one in useful)
    least = values_found[len(values_found) // 2] if values_found else 1
    wanted = [one for one in useful if worth(one, values) >= least]
    listed = all_fillings(items, values, left, least, len(wanted), None)
    assert sorted(listed) == sorted(wanted)
    if wanted:
        assert all_fillings(items, values, left, least, len(wanted) - 1, None) is None


@pytest.mark.parametrize("seed", range(120))
def test_a_knapsack_bounds_all_fillings_and_is_the_best_where_it_is_complete(seed):
    """Fillings keep the limits of items and of the question, and each is worth more than those behind it."""
    items, values, left = question(seed)
    rng = Random(f"limits/{seed}")
    limits = [rng.choice((0, 1, 2, 9)) for _ in values]
    own = [GraphItem(item.index, item.needs, min(item.most, limits[item.index])) for item in items]
    there = set(fillings(own, left))
    best = max(worth(one, [max(0, value) for value in values]) for one in there)
    found = knapsack_fillings(items, values, limits, left)
    worths = [worth(one, values) for one in found.fillings]
    assert set(found.fillings) <= there
    assert found.bound >= best
    assert worths == sorted(worths, reverse=True)
    if found.is_complete:
        assert max(worths, default=0) == found.bound == best
    if len(left) == 1:
        assert found.is_complete


def test_a_knapsack_that_would_take_long_is_none():
    items = [GraphItem(unit, (997 + unit,), 50) for unit in range(4)]
    assert knapsack_fillings(items, [5] * 4, [50] * 4, (9973,)) is None


def test_a_list_that_lost_labels_is_none(monkeypatch):
    monkeypatch.setattr(vector_labeling, "_ENUMERATION_WIDTH", 2)
    items = [GraphItem(unit, (1, 1), 1) for unit in range(4)]
    assert all_fillings(items, [1] * 4, (2, 2), 1, 100, None) is None


def test_the_time_limit_ends_labeling():
    items = [GraphItem(unit, (1, 1), 1) for unit in range(4)]
    with pytest.raises(DeadlineExceededError):
        best_fillings(items, [1] * 4, (2, 2), Effort.THOROUGH, 0.0)


def test_the_time_limit_ends_labeling_among_the_units_of_one_class(monkeypatch):
    looks = []

    def look(_deadline):
        looks.append(None)
        if len(looks) > 50:
            raise DeadlineExceededError

    monkeypatch.setattr(vector_labeling, "check_deadline", look)
    items = [GraphItem(0, (3, 1), 1_000), GraphItem(1, (1, 3), 1_000)]
    with pytest.raises(DeadlineExceededError):
        best_fillings(items, (5, 5), (3_333, 3_334), Effort.QUICK, None)


@pytest.mark.parametrize("values", [(3, 2), (0, 2)])
def test_units_that_take_nothing_are_taken_as_often_as_there_are_any(values):
    items = [GraphItem(0, (0,), 1_000_000), GraphItem(1, (2,), 5)]
    found = best_fillings(items, values, (7,), Effort.THOROUGH, None)
    wanted = tuple((index, number) for index, number in ((0, 1_000_000), (1, 3)) if values[index])
    assert found.fillings[0] == wanted
    assert found.bound == worth(wanted, values)

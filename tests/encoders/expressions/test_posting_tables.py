"""Vectors of counts are made once each; tables and no-goods exclude what they should and nothing else."""

from random import Random

import pytest
from support.random_formulas import Counted, vectors_by_hand

from drasat.encoders.expressions.posting import (
    OrderLiterals,
    count_vectors,
    forbid,
    forbid_at_least,
    post_table,
    vectors,
)
from drasat.solver.engines.cp_sat import CONFIRMING, QUICK

SPACES = [
    ([3, 0, 2], 0, 9),
    ([], 0, 0),
    ([], 1, 2),
    ([1] * 9, 3, 5),
    ([4] * 5, 7, 7),
    ([2, 3], 6, 9),
    ([2, 3], -3, -1),
    ([2, 3], -3, 1),
    ([0, 0], 0, 3),
]


@pytest.mark.parametrize("space", SPACES)
def test_vectors_are_those_within_the_bounds_in_order(space):
    assert list(vectors(*space)) == vectors_by_hand(*space)
    assert count_vectors(*space) == len(vectors_by_hand(*space))


def test_vectors_of_many_items_are_counted_without_making_them():
    assert count_vectors([1] * 300, 2, 3) == 300 * 299 // 2 + 300 * 299 * 298 // 6
    first = next(vectors([9] * 5_000, 100, 100))
    assert sum(first) == 100


@pytest.mark.parametrize("configuration", [QUICK, CONFIRMING])
@pytest.mark.parametrize("complement", [True, False])
@pytest.mark.parametrize("guarded", [True, False])
def test_a_table_allows_its_vectors_only(guarded, complement, configuration):
    for seed in range(12):
        rng = Random(f"table/{seed}/{guarded}/{complement}")
        most = [rng.randint(0, 3) for _ in range(rng.randint(1, 3))]
        every = vectors_by_hand(most, 0, 9)
        share = rng.choice([0, 0.05, 0.4, 0.95])
        allowed = [vector for vector in every if rng.random() < share]
        model = Counted(most, rng)
        guard = model.rows.boolean() if guarded else None
        others = [vector for vector in every if vector not in allowed] if complement else None
        post_table(model.rows, model.counts, allowed, guard, others)
        for vector in every:
            assert model.allows(vector, *on(guard), configuration=configuration) == (vector in allowed)
            assert guard is None or model.allows(vector, (guard, 0), configuration=configuration)


def on(guard):
    return [] if guard is None else [(guard, 1)]


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("post", [forbid, forbid_at_least])
def test_a_no_good_excludes_no_more_than_it_says(post, guarded):
    for seed in range(10):
        rng = Random(f"no-goods/{seed}/{guarded}")
        most = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        every = vectors_by_hand(most, 0, 9)
        bad = rng.sample(every, min(3, len(every)))
        model = Counted(most, rng)
        guard = model.rows.boolean() if guarded else None
        order = OrderLiterals(model.rows, model.counts)
        for vector in bad:
            post(order, vector, guard)
        for vector in every:
            excluded = vector in bad if post is forbid else any(is_at_least(vector, other) for other in bad)
            assert model.allows(vector, *on(guard)) != excluded
            assert guard is None or model.allows(vector, (guard, 0))


def is_at_least(vector, other):
    return all(count >= least for count, least in zip(vector, other, strict=True))


def test_no_goods_share_their_literals():
    model = Counted([3, 3, 3], Random(5))
    order = OrderLiterals(model.rows, model.counts)
    for vector in vectors_by_hand([3, 3, 3], 0, 9):
        forbid(order, vector)
    # A literal for each of three bounds of three counts; a count of two variables has one of its own.
    assert model.rows.variables <= sum(map(len, model.variables)) + 3 * 3 + 3
    assert not model.allows((1, 2, 3))


def test_counts_out_of_reach_need_no_exclusion():
    model = Counted([2, 2], Random(6))
    forbid(OrderLiterals(model.rows, model.counts), (3, 0))
    assert not model.rows.proto.constraints

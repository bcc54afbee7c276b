"""Rows of a formula allow the counts for which it holds, and no others."""

from random import Random

import pytest
from support.random_formulas import Counted, interesting, spaces, vectors_by_hand

from drasat.encoders.expressions.formula_nodes import FALSE, ONE, TRUE, GatedSum
from drasat.encoders.expressions.formulas import Formulas
from drasat.encoders.expressions.posting import FormulaPosting, OrderLiterals
from drasat.encoders.rows import CpSatRows
from drasat.solver.engines.cp_sat import CONFIRMING, QUICK

GIB = 1 << 30


def posed(seed, *arguments):
    """A random formula with its meaning, in a model."""
    rng = Random("/".join(map(str, (*arguments, seed))))
    space = spaces(rng)
    formulas = Formulas(*space)
    handle, holds = interesting(rng, formulas, len(space[0]))
    model = Counted(space[0], rng)
    return handle, holds, model, FormulaPosting(model.rows, formulas, model.counts), vectors_by_hand(*space)


@pytest.mark.parametrize("configuration", [QUICK, CONFIRMING])
@pytest.mark.parametrize("block", range(5))
def test_a_required_formula_allows_what_it_holds_for(block, configuration):
    for seed in range(block * 20, block * 20 + 20):
        handle, holds, model, posting, vectors = posed(seed, "require")
        posting.require(handle)
        for vector in vectors:
            assert model.allows(vector, configuration=configuration) == holds(vector)


@pytest.mark.parametrize("block", range(5))
def test_a_guarded_formula_holds_only_while_the_guard_is_true(block):
    for seed in range(block * 15, block * 15 + 15):
        handle, holds, model, posting, vectors = posed(seed, "guard")
        guard = model.rows.boolean()
        posting.require(handle, guard)
        for vector in vectors:
            assert model.allows(vector, (guard, 1)) == holds(vector)
            assert model.allows(vector, (guard, 0))


@pytest.mark.parametrize("block", range(5))
def test_a_literal_is_true_exactly_if_its_formula_holds(block):
    for seed in range(block * 15, block * 15 + 15):
        handle, holds, model, posting, vectors = posed(seed, "literal")
        switch = model.switch(posting.literal(handle))
        for vector in vectors:
            for value in (0, 1):
                assert model.allows(vector, (switch, value)) == (holds(vector) == bool(value))


@pytest.mark.parametrize("block", range(3))
def test_several_formulas_in_one_model_share_what_they_have_in_common(block):
    for seed in range(block * 10, block * 10 + 10):
        rng = Random(f"several/{seed}")
        space = spaces(rng)
        formulas, model = Formulas(*space), Counted(space[0], rng)
        posting = FormulaPosting(model.rows, formulas, model.counts)
        pairs = [interesting(rng, formulas, len(space[0])) for _ in range(3)]
        switch = model.switch(posting.literal(~pairs[0][0]))
        posting.require(pairs[1][0])
        posting.require(formulas.disj([pairs[0][0], pairs[2][0]]), switch)
        for vector in vectors_by_hand(*space):
            first, second, third = (holds(vector) for _, holds in pairs)
            assert model.allows(vector, (switch, 1)) == (not first and second and third)
            assert model.allows(vector, (switch, 0)) == (first and second)


def counted(most, rng_seed=0):
    formulas, model = Formulas(most, 0, sum(most)), Counted(most, Random(rng_seed))
    return formulas, model, FormulaPosting(model.rows, formulas, model.counts)


def test_constants_need_no_variables():
    formulas, model, posting = counted([2, 2])
    posting.require(TRUE)
    assert not model.rows.proto.constraints
    guard = model.rows.boolean()
    posting.require(FALSE, guard)
    assert model.allows((1, 1), (guard, 0))
    assert not model.allows((1, 1), (guard, 1))
    posting.require(formulas.equal(GatedSum.of_count(0), 5))
    assert not model.allows((1, 1), (guard, 0))


def test_a_sum_in_bounds_is_one_row():
    formulas, model, posting = counted([3, 3, 3])
    sum_ = GatedSum.of_terms(0, [(0, TRUE, 2), (1, TRUE, 3), (2, TRUE, -1)])
    posting.require(formulas.between(sum_, 2, 7))
    assert len(model.rows.proto.constraints) == 1
    assert len(model.rows.proto.variables) == sum(map(len, model.variables))


def test_values_of_one_sum_are_one_row_with_holes():
    formulas, model, posting = counted([4, 4, 4])
    sum_ = GatedSum.total(map(GatedSum.of_count, range(3)))
    posting.require(formulas.disj([formulas.equal(sum_, value) for value in (0, 5, 6, 11)]))
    allowed = {vector for vector in vectors_by_hand([4, 4, 4], 0, 12) if model.allows(vector)}
    assert allowed == {vector for vector in vectors_by_hand([4, 4, 4], 0, 12) if sum(vector) in (0, 5, 6, 11)}
    domains = [list(one.linear.domain) for one in model.rows.proto.constraints]
    assert [0, 0, 5, 6, 11, 11] in domains


def spread(formulas, items, values):
    """Greatest value less the least one of what is chosen, values ascending; 0 - the last if nothing is."""
    steps = list(zip(values, values[1:], items[1:], strict=False))
    at_least = [formulas.disj([formulas.present(i) for i in items[k + 1 :]]) for k in range(len(steps))]
    below = [formulas.disj([formulas.present(i) for i in items[: k + 1]]) for k in range(len(steps))]
    top = GatedSum.of_terms(values[0], [(ONE, up, b - a) for up, (a, b, _) in zip(at_least, steps, strict=True)])
    bottom = GatedSum.of_terms(values[0], [(ONE, ~down, b - a) for down, (a, b, _) in zip(below, steps, strict=True)])
    return top - bottom


@pytest.mark.parametrize("width", [0, 3, 5, 7])
def test_sets_inside_one_another_are_encoded_exactly(width):
    values = [0, 2, 3, 5, 7]
    formulas = Formulas([1] * 5, 1, 3)
    model = Counted([1] * 5, Random(1))
    FormulaPosting(model.rows, formulas, model.counts).require(
        formulas.equal(spread(formulas, list(range(5)), values), width)
    )
    for vector in vectors_by_hand([1] * 5, 1, 3):
        chosen = [value for value, count in zip(values, vector, strict=True) if count]
        assert model.allows(vector) == (max(chosen) - min(chosen) == width)


def test_bytes_of_memory_are_counted_exactly():
    sizes = [80 * GIB, 40 * GIB + 1, 24 * GIB + 3]
    formulas, model, posting = counted([2, 2, 2])
    sum_ = GatedSum.of_terms(0, [(item, TRUE, size) for item, size in enumerate(sizes)])
    low, high = (formulas.between(sum_, bound, None) for bound in (160 * GIB + 4, 200 * GIB + 1))
    posting.require(formulas.disj([formulas.conj([low, ~high]), formulas.present(2)]))
    for vector in vectors_by_hand([2, 2, 2], 0, 6):
        total = sum(size * count for size, count in zip(sizes, vector, strict=True))
        assert model.allows(vector) == (160 * GIB + 4 <= total <= 200 * GIB or vector[2] >= 1)


def test_formulas_with_many_parents_are_posted_once():
    """A ladder of long conjunctions, two a step, has a path for each of two to the thirtieth choices."""
    formulas, model, posting = counted([9] * 6)
    rng = Random(8)

    def part():
        terms = [(item, TRUE, rng.randint(1, 99)) for item in range(6)]
        return formulas.disj([formulas.between(GatedSum.of_terms(0, terms), 500, None), formulas.present(0)])

    step = [part(), part()]
    for _ in range(30):
        step = [formulas.conj([*step, *(part() for _ in range(20))]) for _ in range(2)]
    posting.require(formulas.disj(step), model.rows.boolean())
    assert len(model.rows.proto.constraints) < 10_000


def test_a_formula_that_is_required_twice_is_posted_once():
    for seed in range(10):
        handle, holds, model, posting, vectors = posed(seed, "twice")
        posting.require(handle)
        rows = len(model.rows.proto.constraints)
        posting.require(handle)
        assert len(model.rows.proto.constraints) == rows
        assert [model.allows(vector) for vector in vectors] == [holds(vector) for vector in vectors]


def test_bounds_outside_the_range_of_a_count_are_constants():
    rows = CpSatRows()
    count = rows.integer(1, 3)
    literals = OrderLiterals(rows, [[(count, 1)]])
    assert [rows.range_of(literals.at_least(0, bound)) for bound in (0, 1, 2, 3, 4)] == [
        (1, 1),
        (1, 1),
        (0, 1),
        (0, 1),
        (0, 0),
    ]

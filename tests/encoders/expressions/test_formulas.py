"""Formulas mean what they are built from, and are simple where that is cheap to see."""

from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from support.random_formulas import formula, spaces, vectors_by_hand

from drasat.encoders.expressions.formula_nodes import FALSE, ONE, TRUE, GatedSum
from drasat.encoders.expressions.formulas import Formulas


def of_literal(handle, coefficient=1):
    return GatedSum.of_terms(0, [(ONE, handle, coefficient)])


def counts_of(*items):
    return GatedSum.total(map(GatedSum.of_count, items))


@pytest.fixture
def four():
    """Four of six devices, of one kind each."""
    return Formulas([1] * 6, 4, 4)


@pytest.mark.parametrize("seed", range(40))
def test_formulas_hold_where_their_meaning_does(seed):
    rng = Random(f"formulas/{seed}")
    for _ in range(20):
        space = spaces(rng, items=4, size=3)
        formulas = Formulas(*space)
        handle, holds = formula(rng, formulas, len(space[0]), 4)
        for vector in vectors_by_hand(*space):
            assert formulas.holds(handle, vector) == holds(vector)
            assert formulas.holds(~handle, vector) != holds(vector)


@pytest.mark.parametrize("seed", range(30))
def test_values_of_a_sum_are_within_its_range_which_is_exact_without_gates(seed):
    rng = Random(f"ranges/{seed}")
    space = spaces(rng, items=4, size=3)
    formulas = Formulas(*space)
    items = range(len(space[0]))
    factors = [rng.choice([0, 1, 1, -2, Fraction(1, 2)]) for _ in items]
    gates = [rng.choice([TRUE, TRUE, formulas.present(rng.choice(items))]) for _ in items]
    sum_ = GatedSum.of_terms(1, zip(items, gates, factors, strict=True))
    values = [
        1
        + sum(f * count for f, gate, count in zip(factors, gates, vector, strict=True) if formulas.holds(gate, vector))
        for vector in vectors_by_hand(*space)
    ]
    least, most = formulas.range_of(sum_)
    assert least <= min(values)
    assert max(values) <= most
    if set(gates) == {TRUE}:
        assert (least, most) == (min(values), max(values))


def test_sums_have_one_form():
    assert GatedSum.of_count(1) + GatedSum.of_count(0) == GatedSum.of_count(0) + GatedSum.of_count(1)
    assert GatedSum.of_count(1) - GatedSum.of_count(1) == GatedSum.of_number(0)
    assert of_literal(5) + of_literal(~5) == GatedSum.of_number(1)
    assert of_literal(TRUE, 3) == GatedSum.of_number(3)
    assert of_literal(FALSE) == GatedSum.of_number(0)
    assert GatedSum.of_count(2).scaled(Fraction(1, 2)).scaled(2) == GatedSum.of_count(2)
    assert type((GatedSum.of_number(Fraction(1, 2)) + GatedSum.of_number(Fraction(1, 2))).constant) is int


def test_bounds_on_equal_sums_are_one_formula(four):
    weighted = GatedSum.of_terms(0, [(0, TRUE, 2), (1, TRUE, 4)])
    half = GatedSum.of_terms(0, [(0, TRUE, Fraction(1, 2)), (1, TRUE, 1)])
    assert four.between(weighted, 3, None) == four.between(half, Fraction(3, 4), None)
    assert four.between(-weighted, None, -3) == four.between(weighted, 3, None)
    assert four.between(weighted, None, 3) == ~four.between(weighted, 4, None)
    assert four.between(weighted, 3, 3) == FALSE


def test_bounds_on_the_total_decide(four):
    assert four.equal(counts_of(*range(6)), 4) == TRUE
    assert four.between(counts_of(*range(6)), 5, None) == FALSE
    # Four of six leave no more than two out.
    assert four.between(counts_of(0, 1, 2), 1, None) == TRUE
    assert four.conj([~four.present(0), ~four.present(1), ~four.present(2)]) == FALSE
    assert four.between(counts_of(0, 1), 1, None) not in (TRUE, FALSE)


def test_one_of_many_is_one_threshold_however_it_is_said(four):
    any_ = four.between(counts_of(0, 1), 1, None)
    assert four.disj([four.present(0), four.present(1)]) == any_
    assert four.conj([~four.present(0), ~four.present(1)]) == ~any_
    assert four.between(GatedSum.of_terms(0, [(0, TRUE, 3), (1, TRUE, 5)]), 2, None) == any_


def test_contradictions_and_repetitions_are_seen(four):
    a, b = four.present(0), four.present(1)
    either = four.disj([four.conj([a, b]), four.present(2)])
    assert four.conj([a, ~a]) == FALSE
    assert four.disj([either, ~either]) == TRUE
    assert four.conj([either, either, TRUE]) == either
    assert four.conj([either, FALSE]) == FALSE
    assert four.conj([~a, ~b, four.disj([a, b])]) == FALSE
    assert four.conj([a, ~a, b, ~b]) == FALSE
    assert four.conj([]) == TRUE
    assert four.choose(either, b, b) == b


def test_of_bounds_on_one_sum_the_sharpest_count():
    formulas = Formulas([9, 9], 0, 18)
    both = counts_of(0, 1)
    at_least = [formulas.between(both, bound, None) for bound in (3, 7, 5)]
    assert formulas.conj(at_least) == at_least[1]
    assert formulas.disj(at_least) == at_least[0]
    assert formulas.conj([at_least[1], ~at_least[2]]) == FALSE
    assert formulas.disj([at_least[0], ~at_least[1]]) == TRUE


def test_gates_that_say_that_the_device_is_there_are_left_out(four):
    present = four.present(0)
    rest = GatedSum.of_count(1, 2)
    plain = four.between(GatedSum.of_count(0) + rest, 2, None)
    assert four.between(GatedSum.of_terms(0, [(0, present, 1)]) + rest, 2, None) == plain
    assert four.between(of_literal(present) + rest, 2, None) == plain


def test_a_gated_sum_is_counted_only_behind_the_gate():
    formulas = Formulas([3, 1], 0, 4)
    gated = formulas.gated(GatedSum.of_count(0, 2) + GatedSum.of_number(5), formulas.present(1))
    assert formulas.holds(formulas.equal(gated, 9), [2, 1])
    assert formulas.holds(formulas.equal(gated, 0), [2, 0])


def test_numbers_of_literals_are_conditions(four):
    one, other = (four.disj([four.conj([four.present(i), four.present(i + 1)]), four.present(i + 2)]) for i in (0, 3))
    number = of_literal(one) + of_literal(other)
    assert four.between(number, 1, None) == four.disj([one, other])
    assert four.between(number, 2, None) == four.conj([one, other])
    assert four.equal(GatedSum.of_terms(0, [(ONE, one, 7)]), 7) == one


def test_two_of_three_literals_are_neither_any_nor_all():
    formulas = Formulas([2] * 3, 0, 6)
    both = [formulas.between(GatedSum.of_count(item), 2, None) for item in range(3)]
    two = formulas.between(GatedSum.total(map(of_literal, both)), 2, None)
    for vector in vectors_by_hand([2] * 3, 0, 6):
        assert formulas.holds(two, vector) == (vector.count(2) >= 2)


def test_deep_formulas_need_no_recursion():
    formulas = Formulas([1] * 40, 0, 40)
    rng = Random(7)
    handle, other = formulas.present(0), formulas.present(1)
    chain = [handle]
    for _ in range(20_000):
        handle = ~formulas.conj([handle, formulas.disj([formulas.present(rng.randrange(40)), ~other])])
        other = chain[rng.randrange(len(chain))]
        chain.append(handle)
    assert formulas.holds(handle, [1] * 40) != formulas.holds(~handle, [1] * 40)


def test_long_chains_of_conjunctions_stay_linear():
    formulas = Formulas([1] * 400, 0, 400)
    pairs = [formulas.implies(formulas.present(a), formulas.present(b)) for a, b in pairwise(range(400))]
    handle = TRUE
    for pair in pairs * 3:
        handle = formulas.conj([handle, pair])
    sizes = map(len, formulas.nodes.children)
    assert sum(sizes) < 20 * len(formulas)
    assert formulas.holds(handle, [0] * 400)
    assert not formulas.holds(handle, [1] + [0] * 399)

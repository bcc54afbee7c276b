"""Sentences about formulas say what they mean, and end."""

from random import Random

import pytest
from support.random_formulas import formula

from drasat.encoders.expressions.formula_nodes import FALSE, ONE, TRUE, GatedSum
from drasat.encoders.expressions.formulas import Formulas, formula_text


def name(item):
    return f"gpu-{item}"


@pytest.fixture
def formulas():
    return Formulas([2] * 30, 4, 8)


def some(*items):
    return GatedSum.total(map(GatedSum.of_count, items))


def test_a_condition_comes_after_what_it_demands(formulas):
    handle = formulas.implies(formulas.present(2), formulas.between(some(1, 3), 2, None))
    assert formula_text(formulas, handle, name) == "at least 2 of gpu-1, gpu-3 if gpu-2 is chosen"


def test_both_bounds_of_a_sum_are_said_together(formulas):
    assert formula_text(formulas, formulas.equal(some(1, 3), 2), name) == "exactly 2 of gpu-1, gpu-3"
    assert formula_text(formulas, formulas.between(some(1, 3), 2, 3), name) == "2 to 3 of gpu-1, gpu-3"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda _: TRUE, "always"),
        (lambda _: FALSE, "never"),
        (lambda f: f.present(4), "gpu-4 is chosen"),
        (lambda f: ~f.present(4), "gpu-4 is not chosen"),
        (lambda f: f.disj([f.present(4), f.present(5)]), "any of gpu-4, gpu-5 is chosen"),
        (lambda f: f.conj([~f.present(4), ~f.present(5)]), "none of gpu-4, gpu-5 is chosen"),
        (lambda f: f.conj([f.present(4), f.present(5)]), "gpu-4 is chosen and gpu-5 is chosen"),
        (
            lambda f: f.between(
                GatedSum.of_terms(0, [(1, TRUE, 3), (2, f.present(5), 2), (ONE, f.present(6), 4)]), None, 7
            ),
            "(4 if gpu-6 is chosen) + 3*gpu-1 + (2*gpu-2 if gpu-5 is chosen) is at most 7",
        ),
    ],
)
def test_what_is_said(formulas, build, words):
    assert formula_text(formulas, build(formulas), name) == words


def test_long_lists_are_shortened_with_their_number(formulas):
    words = formula_text(formulas, formulas.between(some(*range(20)), 3, None), name)
    assert words.startswith("at least 3 of gpu-0, gpu-1")
    assert words.endswith("... (20 in all)")
    assert "gpu-19" not in words


@pytest.mark.parametrize("seed", range(20))
def test_sentences_are_of_bounded_length(seed):
    formulas = Formulas([2] * 30, 4, 8)
    handle, _ = formula(Random(f"words/{seed}"), formulas, 30, 12)
    assert 0 < len(formula_text(formulas, handle, name)) <= 2_000


def test_what_is_cut_off_says_so(formulas):
    handle = formulas.disj(
        formulas.conj([formulas.equal(some(i, j, 20 + i), 2) for j in range(10, 18)]) for i in range(8)
    )
    words = formula_text(formulas, handle, lambda item: f"pool-with-a-very-long-name/device-{item}")
    assert len(words) == 2_000
    assert words.endswith("(shortened)")


@pytest.mark.parametrize("item", range(20))
def test_every_part_of_a_conjunction_is_said(item):
    """However their numbers fall."""
    formulas = Formulas([2] * 30, 4, 8)
    for other in range(item):
        formulas.between(some(other, 25), 2, None)
    limits = [formulas.implies(formulas.present(one), formulas.between(some(22, 23), 2, None)) for one in (20, 21)]
    words = formula_text(formulas, formulas.conj([~formulas.present(item), *limits]), name)
    assert sorted(words.split(" and ")) == [
        "(at least 2 of gpu-22, gpu-23 if gpu-20 is chosen)",
        "(at least 2 of gpu-22, gpu-23 if gpu-21 is chosen)",
        f"gpu-{item} is not chosen",
    ]

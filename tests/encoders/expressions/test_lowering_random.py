"""Formulas of random expressions agree with evaluations for all counts (CELC-9)."""

import random
from collections import Counter

import pytest
from support.random_expressions import Expressions, devices, program, verdicts

from drasat.cel.errors import CelCompileError
from drasat.encoders.expressions.values import NotLoweredError

# Why an expression of the grammar may have no formula; none is about what CELC-9 lists.
_REFUSED = (
    "lists compared",
    "cost",
    "several types",
    "order of a list",
    "rounded",
    "lists in a list",
    "too many ways",
    "used",
)


def _expression(rng):
    while True:
        text = Expressions(rng).any(rng.choice([1, 2, 2, 3]))
        try:
            program(text)
        except CelCompileError:
            continue
        if len(text) < 700:
            return text


def outcome(seed):
    """How many different results an expression has over all counts; 0: refused with good reason, else a text."""
    rng = random.Random(seed)
    text, items = _expression(rng), devices(rng)
    most = [rng.randint(1, 2) for _ in items]
    total = rng.choice([sum(most), sum(most), min(3, sum(most))])
    least = min(rng.choice([0, 0, 1]), total)
    try:
        return len(verdicts(text, items, most, least_total=least, most_total=total))
    except NotLoweredError as error:
        return next((0 for reason in _REFUSED if reason in str(error)), f"{seed}: {text}: {error}")


@pytest.mark.parametrize("first", range(0, 1000, 125))
def test_formulas_say_what_evaluation_gives(first):
    found = Counter(outcome(seed) for seed in range(first, first + 125))
    assert set(found) <= {0, 1, 2, 3}
    assert found[0] < 20
    assert found[2] + found[3] > 20

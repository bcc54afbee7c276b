"""Which expressions more devices never make true (CELC-10)."""

import random

import pytest
from support.random_expressions import Expressions, devices, evaluated, program, vectors

from drasat.cel.errors import CelCompileError
from drasat.encoders.lowering.symbolic_polarity import is_antimonotone


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "devices.all(d, d.@i > 1)",
        "devices.all(a, devices.all(b, a.@s == b.@s))",
        "!devices.exists(d, d.@i == 1 || d.@none)",
        "size(devices) <= 3",
        "3 > devices.filter(d, d.@b).size()",
        "devices.map(d, d.@s).distinct().size() < 3",
        "devices.all(d, devices.filter(o, o.@s == d.@s).size() <= 2)",
        "devices.all(d, d.@i > 1) && devices.size() < 4",
        "devices.all(d, d.@i > 1) || devices.size() < 2",
        "1 < 2 ? devices.all(d, d.@i > 1) : devices.size() < 2",
        "devices.all(d, d.@b ? d.@i > 1 : devices.size() < 3)",
        "devices.filter(d, d.@b).all(d, !devices.exists(o, o.@i == d.@i + 1))",
    ],
)
def test_limits_are_antimonotone(text):
    assert is_antimonotone(program(text))


@pytest.mark.parametrize(
    "text",
    [
        "devices.exists(d, d.@i > 1)",
        "devices.size() >= 2",
        "devices.size() == 2",
        "devices.size() != 2",
        "!(devices.size() < 2)",
        "devices.exists_one(d, d.@b)",
        "devices.map(d, d.@i).max() < 5",
        "devices.map(d, d.@i).sum() < 5",
        "devices.all(d, devices.exists(o, o.@i == d.@i + 1))",
        "devices.all(d, d.@i > 1) || devices.exists(d, d.@b)",
        "devices.filter(d, devices.size() < 2).size() < 1",
        "devices.size() < 2 ? devices.all(d, d.@b) : true",
        "devices.size() < devices.filter(d, d.@b).size()",
        "cel.bind(n, devices.size(), n < 3)",
        "devices[0].@b",
        "[1, 2].all(x, devices.exists(d, d.@i == x))",
        "devices.map(d, d.@l).flatten().size() < 3",
    ],
)
def test_what_may_become_true_is_not(text):
    assert not is_antimonotone(program(text))


_SHAPES = (
    "devices.all($d, <bool>)", "!devices.exists($d, <bool>)", "devices.all($d, devices.all($d, <bool>))",
    "<devices>.size() <= 1", "2 > <ints>.distinct().size()", "(<bool> && devices.all($d, <bool>))",
    "(devices.all($d, <bool>) || <devices>.size() < 2)", "<bool>",
)  # fmt: skip


def _found(rng):
    """An antimonotone expression at random."""
    while True:
        text = Expressions(rng).from_template(rng.choice(_SHAPES), rng.choice([1, 1, 2]))
        try:
            if is_antimonotone(program(text)):
                return text
        except CelCompileError:
            continue


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_adding_devices_to_random_antimonotone_expressions_never_makes_them_true(first):
    results = set()
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        text, items = _found(rng), devices(rng)
        expression = program(text)
        true = {counts for counts in vectors([1] * len(items)) if evaluated(expression, items, counts)[0]}
        for counts in true:
            for place, count in enumerate(counts):
                fewer = (*counts[:place], count - 1, *counts[place + 1 :])
                assert count == 0 or fewer in true, (text, counts, fewer)
        results.add(len(true))
    assert len(results) > 3


def test_a_name_with_a_dot_is_not_followed():
    assert not is_antimonotone(program(".devices.size() < 3"))

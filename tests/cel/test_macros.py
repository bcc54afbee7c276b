"""Macros: scopes, short circuits, errors, laziness; more of them in the vectors of ``test_program_evaluation``."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat import cel
from drasat.cel.errors import CelRuntimeError
from drasat.cel.values import UInt

VARIABLES = {"x": "int", "l": "list(int)", "m": "map(string, int)", "d": "dyn"}
INPUTS = {"x": 10, "l": [1, 2, 3], "m": {"a": 1, "b": 2}, "d": [1, "a", None]}


def evaluate(expression):
    return cel.compile(expression, VARIABLES).evaluate(INPUTS)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("l.map(x, x * 2)", [2, 4, 6]),
        ("l.map(x, x).size() + x", 13),
        ("l.map(x, l.map(x, x * x))", [[1, 4, 9]] * 3),
        ("l.map(y, l.filter(z, z > y).map(z, z * y))", [[2, 3], [6], []]),
        ("l.all(x, x < 5) && x == 10", True),
        ("cel.bind(x, x + 1, x + 1)", 12),
        ("cel.bind(y, x, cel.bind(x, y + 1, x + y))", 21),
        ("l.map(y, cel.bind(z, y * 10, z + y))", [11, 22, 33]),
        ("cel.bind(z, l.map(y, y + x), z.map(y, y + z.size()))", [14, 15, 16]),
        ("optional.of(x).optMap(x, x + 1).value() + x", 21),
        ("l.transformList(x, y, x * 10 + y)", [1, 12, 23]),
        ("m.transformMap(x, y, y * 2)", {"a": 2, "b": 4}),
        ("m.transformMapEntry(k, v, {v: k})", {1: "a", 2: "b"}),
        ("l.transformMapEntry(k, v, v > 1, {string(v): k, string(v * 10): k})", {"2": 1, "20": 1, "3": 2, "30": 2}),
        ("l.sortBy(y, -y)", [3, 2, 1]),
        ('["bb", "a", "ccc"].sortBy(y, y.size())', ["a", "bb", "ccc"]),
        ("m.map(k, m[k])", [1, 2]),
        ("m.exists_one(k, v, v == 2)", True),
        ("l.existsOne(i, y, y > 1)", False),
        ("l.filter(y, y != 2)", [1, 3]),
        ("m.filter(k, m[k] > 1)", ["b"]),
        ("[].all(y, 1 / 0 > 0) && ![].exists(y, 1 / 0 > 0)", True),
        ("l.map(y, y > 1, y * 10)", [20, 30]),
    ],
)  # fmt: skip
def test_results(expression, result):
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("l.exists(y, 1 / (y - 1) > 0)", True),
        ("l.all(y, 1 / (y - 1) > 5)", False),
        ('d.exists(y, y == "a")', True),
        ("d.exists(y, y > 1 || y == null)", True),
        ("l.map(y, 1 / 0).size() == 0 || true", True),
        ("l.exists_one(y, 1 / (y - 1) > 0) || true", True),
        ("cel.bind(y, 1 / 0, true || y == 1)", True),
        ("cel.bind(y, 1 / 0, y == 1 || true)", True),
        ("optional.none().optMap(y, 1 / 0).hasValue()", False),
    ],
)
def test_errors_that_do_not_matter(expression, result):
    assert evaluate(expression) is result


@pytest.mark.parametrize(("expression", "text"), cases("cel/macros", "errors"))
def test_errors(expression, text):
    with pytest.raises(CelRuntimeError) as raised:
        evaluate(expression)
    assert str(raised.value) == text


def test_bound_values_are_computed_once_at_most():
    program = cel.compile("cel.bind(a, l.map(y, y * 2), size(a) + size(a) + size(a))", VARIABLES)
    once = cel.compile("size(l.map(y, y * 2))", VARIABLES).measure(INPUTS).cost
    assert program.measure(INPUTS).cost == once + 7
    assert cel.compile("cel.bind(a, l.map(y, y * 2), true)", VARIABLES).measure(INPUTS).cost == 0


def test_iteration_stops_at_the_element_that_decides():
    cheap = cel.compile("lists.range(1000).exists(y, y == 0)").measure().cost
    dear = cel.compile("lists.range(1000).exists(y, y == 999)").measure().cost
    assert dear - cheap == 999 * 6 - 3


def test_keys_keep_their_types():
    program = cel.compile("m.map(k, k)", {"m": "dyn"})
    assert [type(key) for key in program.evaluate({"m": {True: 0, UInt(2): 0, 3: 0, "a": 0}})] == [bool, UInt, int, str]

"""Operators: their declarations, and arithmetic at the edges of its ranges."""

from __future__ import annotations

import math

import pytest

from drasat.cel import devices  # noqa: F401 - makes quantities values
from drasat.cel.errors import CelCostError, CelRuntimeError
from drasat.cel.operators import BY_NAME, NAMES, OPERATORS, UNARY_NAMES, Dispatcher
from drasat.cel.values import CelMap, Duration, Timestamp, UInt
from drasat.models.kubernetes.quantity import Quantity

ONE = Quantity.parse("1")
MIN, MAX, UMAX = -(2**63), 2**63 - 1, 2**64 - 1


def apply(operator, *args):
    """Apply an operator as an evaluation does, by the types of the values."""
    name = NAMES[operator] if len(args) == 2 else UNARY_NAMES[operator]
    function = BY_NAME[name]
    return Dispatcher(name, function.overloads, len(args), member=False, prepared=False).apply(args)


@pytest.mark.parametrize(
    ("a", "operator", "b", "result"),
    [
        (MAX, "+", MIN, -1), (2, "-", 5, -3), (MIN, "+", 0, MIN), (-7, "/", 2, -3), (7, "/", -2, -3), (-7, "/", -2, 3),
        (-7, "%", 2, -1), (7, "%", -2, 1), (MIN, "/", 1, MIN), (MIN, "*", 1, MIN), (0, "/", -5, 0),
        (UInt(UMAX), "-", UInt(1), UInt(UMAX - 1)), (UInt(7), "/", UInt(2), UInt(3)), (UInt(7), "%", UInt(4), UInt(3)),
        (1.5, "+", 2.0, 3.5), (1.0, "/", 0.0, math.inf), (-1.0, "/", 0.0, -math.inf), (1.0, "/", -0.0, -math.inf),
        (1e308, "*", 10.0, math.inf), ("a", "+", "b", "ab"), (b"a", "+", b"b", b"ab"), ([1], "+", (2,), [1, 2]),
        (Duration(1), "+", Duration(2), Duration(3)), (Duration(1), "-", Duration(2), Duration(-1)),
        (Timestamp(5), "+", Duration(2), Timestamp(7)), (Duration(2), "+", Timestamp(5), Timestamp(7)),
        (Timestamp(5), "-", Duration(2), Timestamp(3)), (Timestamp(5), "-", Timestamp(2), Duration(3)),
    ],
)  # fmt: skip
def test_arithmetic(a, operator, b, result):
    found = apply(operator, a, b)
    assert (found, type(found)) == (result, type(result))


def test_zero_by_zero_is_not_a_number():
    assert math.isnan(apply("/", 0.0, 0.0))
    assert math.isnan(apply("/", math.nan, 0.0))


@pytest.mark.parametrize(
    ("a", "operator", "b", "text"),
    [
        (MAX, "+", 1, "integer overflow"), (MIN, "-", 1, "integer overflow"), (MAX, "*", 2, "integer overflow"),
        (MIN, "/", -1, "integer overflow"), (MIN, "%", -1, "integer overflow"), (1, "/", 0, "division by zero"),
        (1, "%", 0, "modulus by zero"), (UInt(1), "/", UInt(0), "division by zero"),
        (UInt(0), "-", UInt(1), "unsigned integer overflow"), (UInt(UMAX), "+", UInt(1), "unsigned integer overflow"),
        (UInt(UMAX), "*", UInt(2), "unsigned integer overflow"), (1, "+", "a", "no such overload"),
        (1, "+", UInt(1), "no such overload"), (1.0, "%", 2.0, "no such overload: _%_"),
        (None, "+", 1, "no such overload: _+_"), (CelMap(), "+", CelMap(), "no such overload: _+_"),
        (Duration(1), "*", 2, "no such overload"), ([1], "<", [2], "no such overload: _<_"),
        (ONE, "<", 1, "no such overload: _<_"), (1, "<", "1", "no such overload"),
        (1, "in", "abc", "no such overload"), (Duration(MAX), "+", Duration(1), "integer overflow"),
        (Timestamp(253_402_300_799 * 10**9), "+", Duration(10**9), "timestamp overflow"),
        (Timestamp(253_402_300_799 * 10**9), "-", Timestamp(-62_135_596_800 * 10**9), "integer overflow"),
    ],
)  # fmt: skip
def test_arithmetic_errors_as_cel_go_words_them(a, operator, b, text):
    with pytest.raises(CelRuntimeError) as raised:
        apply(operator, a, b)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("operator", "a", "result"),
    [("-", 5, -5), ("-", MAX, MIN + 1), ("-", 0.0, -0.0), ("!", True, False), ("-", Duration(5), Duration(-5))],
)
def test_unary(operator, a, result):
    assert apply(operator, a) == result


@pytest.mark.parametrize(
    ("operator", "a", "text"),
    [
        ("-", MIN, "integer overflow"), ("-", UInt(5), "no such overload: -_"), ("-", "a", "no such overload"),
        ("-", True, "no such overload"), ("-", [], "no such overload: -_"), ("!", 1, "no such overload"),
    ],
)  # fmt: skip
def test_unary_errors(operator, a, text):
    with pytest.raises(CelRuntimeError) as raised:
        apply(operator, a)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("element", "container", "found"),
    [
        (1, [1.0], True), (True, [1], False), ("a", ["b"], False), (None, [None], True), (math.nan, [math.nan], False),
        ([1], [[1.0]], True), (ONE, [1, Quantity.parse("1000m")], True), (ONE, [1], False),
        ("a", CelMap([("a", 1)]), True), (1.0, CelMap([(1, 1)]), True), (True, CelMap([(1, 1)]), False),
        ([1], CelMap([(1, 1)]), False), (None, CelMap([(1, 1)]), False),
    ],
)  # fmt: skip
def test_membership(element, container, found):
    assert apply("in", element, container) is found


@pytest.mark.parametrize("text", ["a" * 6_000_000, b"a" * 6_000_000], ids=["string", "bytes"])
def test_concatenation_has_a_limit(text):
    with pytest.raises(CelCostError):
        apply("+", text, text)


def test_lists_have_a_limit():
    half = [0] * 600_000
    with pytest.raises(CelCostError):
        apply("+", half, half)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("_==_", {"equals"}),
        ("!_", {"logical_not"}),
        ("-_", {"negate_int64", "negate_double"}),
        ("_%_", {"modulo_int64", "modulo_uint64"}),
        ("@in", {"in_list", "in_map"}),
        ("_&&_", {"logical_and"}),
        ("_?_:_", {"conditional"}),
        ("_?._", {"select_optional_field"}),
    ],
)
def test_overloads_are_those_of_cel_go(name, ids):
    assert {overload.id for overload in BY_NAME[name].overloads} == ids


@pytest.mark.parametrize("name", ["_<_", "_<=_", "_>_", "_>=_"])
def test_orders_are_declared_within_types_and_across_numbers(name):
    arguments = [tuple(map(str, overload.args)) for overload in BY_NAME[name].overloads]
    assert len(arguments) == len(set(arguments)) == 14
    assert ("int", "double") in arguments
    assert ("string", "string") in arguments
    assert ("bool", "int") not in arguments


def test_every_operator_is_declared_once():
    assert len(BY_NAME) == len(OPERATORS) == 20
    assert {*NAMES.values(), *UNARY_NAMES.values()} <= BY_NAME.keys()


@pytest.mark.parametrize(
    ("name", "args", "cost"),
    [
        ("_==_", ("a" * 70, "b" * 100), 7), ("_==_", ("", "abc"), 0), ("_==_", (1, 2), 1), ("_==_", ([1] * 11, []), 0),
        ("_==_", (CelMap([(1, 1)]), CelMap([(1, 1)])), 1), ("_!=_", ("a" * 11, "b" * 11), 2),
        ("_<_", ("a" * 21, "b"), 1), ("_+_", ("a" * 25, "b" * 6), 4), ("@in", (1, [1, 2, 3]), 3),
    ],
)  # fmt: skip
def test_costs_grow_with_size(name, args, cost):
    overload = Dispatcher(name, BY_NAME[name].overloads, 2, member=False, prepared=False).overload(args)
    assert overload.cost is not None
    assert overload.cost(args, None) == cost

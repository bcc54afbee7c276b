"""The rules of the static cost estimate, one by one (cel.md 1.5)."""

from __future__ import annotations

import pytest
from support.data import cases

from drasat.cel.cost import child_path, device_sizes, range_union_if_known, size_at
from drasat.cel.declarations import (
    ONE_RANGE,
    UNBOUNDED,
    UNKNOWN_RANGE,
    ZERO_RANGE,
    Estimate,
    Function,
    Operand,
    Overload,
    Range,
)
from drasat.cel.environment import dra_environment, generic_environment
from drasat.cel.syntax import Literal
from drasat.cel.types import BOOL, DYN, INT, NULL, QUANTITY, STRING, TIMESTAMP, list_of

VARIABLES = {"b": "bool", "i": "int", "s": "string", "l": "list(int)", "m": "map(string, int)", "x": "dyn"}


def cost(expression: str, limit: int = 10) -> tuple[int, int]:
    """Least and most cost where every variable has at most ``limit`` parts."""
    environment = generic_environment(VARIABLES, sizes=lambda path: Range(0, limit) if len(path) == 1 else None)
    estimated = environment.estimate(environment.compile(expression))
    return estimated.min, estimated.max


@pytest.mark.parametrize(("expression", "least", "most"), cases("cel/estimate", "cost_of_simple_parts"))
def test_cost_of_simple_parts(expression: str, least: int, most: int) -> None:
    assert cost(expression) == (least, most)


@pytest.mark.parametrize(
    ("limit", "expression", "least", "most"), cases("cel/estimate", "cost_grows_with_the_size_of_operands")
)
def test_cost_grows_with_the_size_of_operands(limit: int, expression: str, least: int, most: int) -> None:
    assert cost(expression, limit) == (least, most)


@pytest.mark.parametrize(("expression", "each", "rest"), cases("cel/estimate", "loops_cost_as_often_as_they_may_run"))
def test_loops_cost_as_often_as_they_may_run(expression: str, each: int, rest: int) -> None:
    for limit in (0, 1, 7, 1000):
        assert cost(expression, limit)[1] == each * limit + rest


def test_loops_in_loops_multiply() -> None:
    assert cost("l.all(v, l.all(w, v == w))", 10) == (2, 2 + 10 * (3 + 2 + 10 * 6))


def test_loops_over_literals_run_at_least_once_for_each_element() -> None:
    assert cost("[1, 2, 3].map(v, v)") == (60, 60)
    assert cost("[1, 2, 3].all(v, v > 0)") == (20, 26)


def test_size_without_limit_makes_the_estimate_unlimited() -> None:
    environment = generic_environment(VARIABLES)
    assert environment.estimate(environment.compile("l.all(v, true)")).max == UNBOUNDED
    assert environment.estimate(environment.compile("l.all(v, l.all(w, true))")).max == UNBOUNDED


def test_functions_estimate_their_own_cost_and_result() -> None:
    seen: list[Operand] = []

    def estimate(operands: tuple[Operand, ...]) -> Estimate:
        seen.extend(operands)
        return Estimate(Range.of(100), Range.of(50))

    overload = Overload("f_id", (STRING, list_of(STRING), INT), STRING, lambda *values: values[0], estimate=estimate)
    sizes = {("s",): 5, ("l",): 6, ("l", "@items"): 7}
    environment = generic_environment(
        {"s": "string", "l": "list(string)"},
        functions=[Function("f", (overload,))],
        sizes=lambda path: Range(0, sizes[path]) if path in sizes else None,
    )
    checked = environment.compile("f(s, l, 3) + 'abcdefghij'")
    assert environment.estimate(checked) == Range.of(1 + 1 + 100 + 6)
    assert [operand.size for operand in seen] == [Range(0, 5), Range(0, 6), ONE_RANGE]
    assert [operand.element for operand in seen] == [None, Range(0, 7), None]
    assert [type(operand.node) for operand in seen] == [type(None), type(None), Literal]


def test_functions_that_may_be_several_overloads_cost_the_union() -> None:
    def overload(name: str, *, cheap: bool) -> Overload:
        type_ = STRING if cheap else INT
        return Overload(name, (type_,), BOOL, bool, estimate=lambda _: Estimate(Range.of(2 if cheap else 9)))

    both_kinds = Function("f", (overload("f_string", cheap=True), overload("f_int", cheap=False)))
    environment = generic_environment({"x": "dyn", "s": "string"}, functions=[both_kinds])
    assert environment.estimate(environment.compile("f(x)")) == Range(3, 10)
    assert environment.estimate(environment.compile("f(s)")) == Range.of(3)


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("device.attributes['a'].x == 'a'", 5),
        ("cel.bind(d, device.attributes['a'], d.x == 'a')", 16),
        ("device.attributes['a'].x.exists(v, v == 'a')", 5 + 6 * 64),
        ("device.attributes.exists_one(v, v == 'a')", 132),
        ("device.attributes['a'].exists_one(v, v == 'a')", 133),
        ("device.attributes['a'].x.split('a').size() > 1", 19),
        ("device.attributes['a'].x.includes('a')", 4 + 64),
        ("device.attributes['a'].x.lowerAscii().matches('^.*a100.*$')", 32),
    ],
)
def test_what_devices_may_hold_bounds_the_cost(expression: str, most: int) -> None:
    """CLM-6: published estimates of device selectors."""
    environment = dra_environment()
    assert environment.estimate(environment.compile(expression)).max == most


@pytest.mark.parametrize(("path", "size"), cases("cel/estimate", "declared_sizes_of_a_device"))
def test_declared_sizes_of_a_device(path: str, size: int | None) -> None:
    found = device_sizes(tuple(path.split(".")))
    assert found == (None if size is None else Range(0, size))


def test_ranges_add_and_multiply_up_to_64_bits() -> None:
    assert Range(1, 2) + Range(3, 5) + ONE_RANGE == Range(5, 8)
    assert Range(1, 2) * Range(3, 5) == Range(3, 10)
    assert Range(1, UNBOUNDED) == UNKNOWN_RANGE + ONE_RANGE
    assert UNKNOWN_RANGE * UNKNOWN_RANGE == UNKNOWN_RANGE
    assert UNKNOWN_RANGE * ZERO_RANGE == ZERO_RANGE


def test_ranges_scale_upwards_in_floating_point() -> None:
    assert Range(1, 11).scaled(0.1) == Range(1, 2)
    assert Range(0, 20).scaled(0.25) == Range(0, 5)
    assert UNKNOWN_RANGE.scaled(0.1) == Range(0, 1844674407370955264)


def test_ranges_unite() -> None:
    assert Range(1, 2) | Range(3, 5) == Range(1, 5)
    assert range_union_if_known(Range(1, 2), Range(3, 5)) == Range(1, 5)
    assert range_union_if_known(None, Range(3, 5)) is None


def test_size_follows_from_declaration_else_from_type() -> None:
    declared = {("a",): Range(0, 3)}
    assert size_at(("a",), INT, declared.get) == Range(0, 3)
    assert size_at(("b",), INT, declared.get) == ONE_RANGE
    assert size_at(None, NULL, declared.get) == ONE_RANGE
    assert size_at(None, TIMESTAMP, declared.get) == ONE_RANGE
    for type_ in (STRING, DYN, QUANTITY, list_of(INT)):
        assert size_at(None, type_, declared.get) == UNKNOWN_RANGE
    assert child_path(("a",), "b") == ("a", "b")
    assert child_path(None, "b") is None

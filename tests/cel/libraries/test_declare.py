"""The functions as declared."""

from collections import Counter

import pytest
from support.data import cases

from drasat.cel.declarations import UNBOUNDED, Operand, Range, by_name
from drasat.cel.libraries import LazyFunctions, all_functions
from drasat.cel.libraries.declare import scaled_cost, traversal_cost
from drasat.cel.types import INT, STRING
from drasat.cel.values import CelMap, Optional, size_of

OVERLOADS = [(function.name, one) for function in all_functions() for one in function.overloads]

# What the Kubernetes environment has (cel.md 1.4), and what it has not.


ABSENT = ["mul", "div", "divInt", "math.greatest", "base64.encode", "strings.reverse", "toLower", "cel.block"]


@pytest.mark.parametrize("name", cases("cel/declarations", "present"))
def test_function_is_offered(name):
    assert name in {name for name, _ in OVERLOADS}


@pytest.mark.parametrize("name", ABSENT)
def test_function_of_other_environments_is_not_offered(name):
    assert name not in {name for name, _ in OVERLOADS}


def test_strings_have_no_reverse():
    assert all(STRING not in one.args for name, one in OVERLOADS if name == "reverse")


def test_overload_ids_are_unique():
    counted = Counter(one.id for _, one in OVERLOADS)
    assert [id_ for id_, times in counted.items() if times > 1] == []


def test_methods_have_a_receiver():
    assert [one.id for _, one in OVERLOADS if one.member and not one.args] == []


def test_functions_are_loaded_once():
    assert all_functions() is all_functions()


@pytest.mark.parametrize(("name", "one"), OVERLOADS, ids=[one.id for _, one in OVERLOADS])
def test_estimates_grow_with_their_operands(name, one):
    """The least stays at or below the most, and more input never costs less."""
    if one.estimate is None:
        return
    small = one.estimate(tuple(Operand(arg, Range(1, 3)) for arg in one.args))
    large = one.estimate(tuple(Operand(arg, Range(1, 300)) for arg in one.args))
    endless = one.estimate(tuple(Operand(arg, Range(0, UNBOUNDED)) for arg in one.args))
    assert 0 <= small.cost.min <= small.cost.max <= large.cost.max <= endless.cost.max <= UNBOUNDED
    for estimate in (small, large, endless):
        assert estimate.result_size is None or estimate.result_size.max <= UNBOUNDED


def test_sizes_are_characters_elements_and_entries():
    assert size_of("\u00e9\u20ac") == 2
    assert size_of(b"abc") == 3
    assert size_of([1, 2]) == size_of(CelMap([(1, 2), (3, 4)])) == 2
    assert size_of(5) == size_of(None) == size_of(Optional(1)) == 1


@pytest.mark.parametrize(
    ("value", "cost"),
    [
        (5, 1),
        (None, 1),
        ("", 0),
        ("a" * 19, 1),
        ("\u00e9" * 5, 1),
        (b"a" * 25, 2),
        ([], 0),
        ([1, "a" * 10, [2, 3]], 4),
        (CelMap([("a" * 10, 1), ("b", "c" * 20)]), 4),
        (Optional("a" * 100), 1),
    ],
    ids=repr,
)
def test_traversal_counts_scalars_and_bytes(value, cost):
    assert traversal_cost(value) == cost


def test_parts_are_rounded_up():
    assert scaled_cost(0, 0.1) == 0
    assert scaled_cost(1, 0.1) == 1
    assert scaled_cost(10, 0.1) == 1
    assert scaled_cost(11, 0.1) == 2


def test_conversions_to_int_take_spans_and_points_in_time():
    assert {one.args[0] for name, one in OVERLOADS if name == "int"} >= {INT, STRING}


def test_functions_looked_up_one_by_one_are_those_of_all_modules():
    offered = LazyFunctions({})
    assert Counter((name, one.id) for name in offered for one in offered[name]) == Counter(
        (name, one.id) for name, one in OVERLOADS
    )
    assert len(offered) == len(set(offered)) == len({name for name, _ in OVERLOADS})


def test_overloads_come_in_the_order_of_all_functions():
    together = by_name(all_functions())
    assert all(LazyFunctions({})[name] == overloads for name, overloads in together.items())


def test_what_is_left_out_is_not_offered():
    offered = LazyFunctions({}, without=frozenset({"includes"}))
    assert "includes" not in offered
    with pytest.raises(KeyError):
        offered["includes"]
    assert set(LazyFunctions({})) - set(offered) == {"includes"}


def test_operators_are_offered_beside_functions():
    operators = {"_+_": ("plus",)}
    offered = LazyFunctions(operators)
    assert offered["_+_"] == ("plus",)
    assert len(offered) == len(LazyFunctions({})) + 1

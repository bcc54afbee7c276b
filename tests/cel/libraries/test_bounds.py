"""No function takes much time or memory, whatever it is given."""

import pytest

from drasat.cel.cost_meter import Meter, current
from drasat.cel.errors import CelCostError, CelDeadlineError, CelRuntimeError
from drasat.cel.libraries import all_functions, regex
from drasat.cel.libraries.costs import traversed
from drasat.cel.libraries.declare import MOST_CHARACTERS, MOST_ELEMENTS
from drasat.cel.values import runtime_type


def overload(name, args):
    """The first overload that takes the arguments."""
    names = [runtime_type(type(arg)).name for arg in args]
    for function in all_functions():
        for one in function.overloads if function.name == name else ():
            if len(one.args) == len(names) and all(map(fits, one.args, names)):
                return one
    raise LookupError(name)


def fits(wanted, name):
    return wanted.param or wanted.name in ("dyn", name)


def doubled(levels):
    """A small object that prints to 2 to the ``levels`` parts."""
    value = []
    for _ in range(levels):
        value = [value, value]
    return value


LONG = "a" * 100_000
NUMBERS = list(range(5000))
TOO_MUCH = {
    "replace empty": ("replace", LONG, "", "x" * 1000),
    "replace limited": ("replace", LONG, "", "x" * 1000, 50_000),
    "replace longer": ("replace", LONG, "a", "x" * 30),
    "join": ("join", ["x"] * 5000, "y" * 1000),
    "format many": ("format", "%s" * 100, [LONG] * 100),
    "format nested": ("format", "%s", [doubled(40)]),
    "format long list": ("format", "%s", [["x" * 100] * 30_000]),
    "distinct": ("distinct", NUMBERS),
    "sort": ("sort", NUMBERS),
    "sort by keys": ("@sortByAssociatedKeys", NUMBERS, NUMBERS),
    "sets.contains": ("sets.contains", NUMBERS, NUMBERS),
    "sets.intersects": ("sets.intersects", NUMBERS, NUMBERS),
    "sets.equivalent": ("sets.equivalent", NUMBERS, NUMBERS),
    "flatten": ("flatten", [[0] * 600_000] * 2),
    "flatten shared": ("flatten", doubled(40), 60),
}


@pytest.mark.parametrize("case", TOO_MUCH.values(), ids=TOO_MUCH)
def test_results_beyond_any_budget_are_not_made(case):
    name, *args = case
    with pytest.raises(CelCostError, match="actual cost limit exceeded"):
        overload(name, args).apply(*args)


ALLOWED = {
    "replace shorter": (("replace", LONG, "aa", "b"), 50_000),
    "replace few": (("replace", LONG, "", "x" * 1000, 10), 110_000),
    "join": (("join", ["x"] * 1000, "y" * 1000), 1_000_000),
    "split": (("split", LONG, "a"), 100_001),
    "split empty": (("split", LONG, ""), 100_000),
    "split limited": (("split", LONG, "a", 3), 3),
    "range": (("lists.range", MOST_ELEMENTS), MOST_ELEMENTS),
    "distinct": (("distinct", NUMBERS[:2000]), 2000),
    "sort": (("sort", NUMBERS[:2000]), 2000),
    "flatten": (("flatten", [[0] * 100_000] * 2), 200_000),
}


@pytest.mark.parametrize(("case", "length"), ALLOWED.values(), ids=ALLOWED)
def test_large_results_are_made(case, length):
    name, *args = case
    assert len(overload(name, args).apply(*args)) == length


def test_range_has_the_limit_of_upstream():
    with pytest.raises(CelRuntimeError, match=r"size 1000001 exceeds maximum allowed \(1000000\)"):
        overload("lists.range", [1]).apply(MOST_ELEMENTS + 1)


ABSURD = [
    ("int", "9" * 100_000),
    ("uint", "9" * 100_000),
    ("double", "1_" * 100_000),
    ("duration", "0h" * 100_000),
    ("timestamp", "9" * 100_000),
    ("quantity", "9" * 100_000),
    ("quantity", "1e999999999"),
    ("semver", "1.0." + "9" * 100_000),
    ("ip", "." * 100_000),
    ("ip", ":" * 100_000),
    ("cidr", "1." * 100_000 + "/8"),
    ("url", "a" * 100_000),
    ("url", "http://" + "%" * 100_000),
]


@pytest.mark.parametrize("case", ABSURD, ids=lambda case: f"{case[0]} {case[1][:8]}")
def test_absurd_texts_are_refused(case):
    name, text = case
    with pytest.raises(CelRuntimeError):
        overload(name, [text]).apply(text)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_make_backtracking_hang_do_not(pattern):
    assert not overload("matches", ["", ""]).apply("a" * 50_000, pattern)


def test_patterns_that_compile_to_much_are_refused():
    with pytest.raises(CelRuntimeError, match="error parsing regexp"):
        regex.compile_pattern("((a{100}){100}){100}")


def test_long_patterns_are_not_remembered():
    regex.compile_pattern("abc")
    remembered = regex._remembered.cache_info().currsize
    regex.compile_pattern("a" * 20_000)
    assert regex._remembered.cache_info().currsize == remembered


def test_counting_what_is_shared_many_times_comes_to_an_end():
    assert traversed(doubled(60)) > MOST_ELEMENTS


@pytest.mark.parametrize(
    "case",
    [
        ("findAll", "a" * 5000, "a"),
        ("distinct", [[number] for number in range(500)]),
        ("sets.contains", [1.5] * 999, [1]),
    ],
    ids=lambda case: case[0],
)
def test_the_deadline_holds_inside_a_call(case):
    name, *args = case
    current.meter = Meter(deadline=0.0)
    try:
        with pytest.raises(CelDeadlineError):
            overload(name, args).apply(*args)
    finally:
        current.meter = None


def test_limit_of_characters_is_that_of_the_result():
    text = "a" * (MOST_CHARACTERS // 2)
    assert len(overload("join", [[text, text]]).apply([text, text])) == MOST_CHARACTERS
    with pytest.raises(CelCostError):
        overload("join", [[text, text, "a"]]).apply([text, text, "a"])

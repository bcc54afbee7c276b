"""No function takes much time or memory, whatever it is given."""

import pytest

from drasat import cel
from drasat.cel.errors import CelCostError, CelDeadlineError, CelRuntimeError
from drasat.cel.libraries import all_functions, strings
from drasat.cel.libraries.declare import MOST_CHARACTERS, MOST_ELEMENTS, traversal_cost
from drasat.cel.meter import MOST_STEPS, Meter, current_meter
from drasat.cel.values import equal, runtime_type


@pytest.fixture
def meter():
    """The meter of an evaluation that seems to run."""
    current_meter.meter = Meter()
    yield current_meter.meter
    current_meter.meter = None


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
        strings.compile_pattern("((a{100}){100}){100}")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(a?){500}a{500}b", "a" * 2000), ("(a?){1000}" * 20, "a" * 64), ("a|b", "\u00e9" * 400_000)],
    ids=["many states", "large program", "long text"],
)
@pytest.mark.parametrize("name", ["matches", "find", "findAll"])
def test_searches_that_cannot_be_interrupted_are_refused_beforehand(name, pattern, text):
    """CEL-11: RE2 runs on whatever the deadline is."""
    with pytest.raises(CelCostError, match="actual cost limit exceeded"):
        overload(name, [text, pattern]).apply(text, pattern)


@pytest.mark.parametrize("pattern", ["(a|b)*c", "^[a-z]{1,63}$", "\\pL+", "(\\w+\\.)+\\w+"])
def test_what_attributes_hold_is_searched_with_any_pattern_of_their_kind(pattern):
    assert overload("matches", ["", ""]).apply("b" * 1024, pattern) in (True, False)


NESTED = 999


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(" * (NESTED + 1) + "a" + ")" * (NESTED + 1), "expression nests too deeply"),
        ("\\pL" * 201, "expression too large"),
        ("(a?){1000}" * 900, "pattern too large"),
    ],
    ids=["groups", "categories", "repetitions"],
)
def test_patterns_that_take_long_to_compile_are_refused(pattern, complaint):
    with pytest.raises(CelRuntimeError, match=complaint):
        strings.compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["(" * NESTED + "a" + ")" * NESTED, "(a)" * 1500, "\\(" * 1500, "[(]" * 1500], ids=lambda text: text[:4]
)
def test_groups_in_a_row_do_not_nest(pattern):
    assert strings.compile_pattern(pattern).size > 0


def test_a_search_counts_as_work(meter):
    overload("matches", ["", ""]).apply("a" * 4000, "(a|b)*c")
    assert 100 < meter.steps < 10_000


def test_every_match_counts_as_work(meter):
    overload("findAll", ["", ""]).apply("ab" * 200, "z")
    without = meter.steps
    overload("findAll", ["", ""]).apply("ab" * 200, "a")
    assert meter.steps > 2 * without


def test_long_patterns_are_not_remembered():
    strings.compile_pattern("abc")
    remembered = strings._compile_remembered.cache_info().currsize
    strings.compile_pattern("a" * 20_000)
    assert strings._compile_remembered.cache_info().currsize == remembered


def test_counting_what_is_shared_many_times_comes_to_an_end():
    assert traversal_cost(doubled(60)) > MOST_ELEMENTS


@pytest.mark.parametrize(
    "case",
    [
        ("findAll", "a" * 5000, "a"),
        ("distinct", [[number] for number in range(500)]),
        ("sets.contains", [1.5] * 999, [1]),
        ("format", "%s", [doubled(20)]),
        ("flatten", [[0]] * 5000),
        ("indexOf", [0] * 5000, 1),
        ("lastIndexOf", [0] * 5000, 1),
        ("includes", [0] * 5000, 1),
        ("isSorted", [0] * 5000),
        ("max", [0.5] * 5000),
        ("matches", "a" * 5000, "(b|a)*c"),
    ],
    ids=lambda case: case[0],
)
def test_the_deadline_holds_inside_a_call(case, meter):
    """CEL-11"""
    name, *args = case
    meter.deadline = 0.0
    with pytest.raises(CelDeadlineError):
        overload(name, args).apply(*args)


@pytest.mark.parametrize(
    "case",
    [
        ("indexOf", [doubled(40)], doubled(40)),
        ("includes", [doubled(40)], doubled(40)),
        ("sets.contains", [doubled(40)], [doubled(40)]),
        ("distinct", [doubled(40), doubled(40)]),
        ("format", "%s", [doubled(40)]),
    ],
    ids=lambda case: case[0],
)
def test_absurd_work_ends_without_a_deadline(case, meter):
    """CLM-6: comparisons that find nothing do not hide that the budget is spent."""
    name, *args = case
    meter.steps = MOST_STEPS - 5_000
    with pytest.raises(CelCostError):
        overload(name, args).apply(*args)


def test_counting_what_is_shared_ends_at_the_deadline(meter):
    """CEL-11"""
    meter.deadline = 0.0
    with pytest.raises(CelDeadlineError):
        traversal_cost(doubled(40))


def test_short_comparisons_add_up(meter):
    for _ in range(10):
        equal([[1], [2], [3]], [[1], [2], [3]])
    assert meter.steps == 60


def test_limit_of_characters_is_that_of_the_result():
    text = "a" * (MOST_CHARACTERS // 2)
    assert len(overload("join", [[text, text]]).apply([text, text])) == MOST_CHARACTERS
    with pytest.raises(CelCostError):
        overload("join", [[text, text, "a"]]).apply([text, text, "a"])


@pytest.mark.parametrize("text", ["a" * 60, "ab" * 30, "b" + "a" * 59, "aé" * 30])
@pytest.mark.parametrize("part", ["a" * 17, "ab" * 9, "b" + "a" * 20, "é" + "aé" * 9, "a" * 61])
def test_the_last_place_of_a_long_part_is_that_of_a_search_from_the_end(text, part):
    """Looked for from the front of the text turned around: linear, where ``str.rfind`` may be quadratic."""
    program = cel.compile("t.lastIndexOf(p)", {"t": "string", "p": "string"})
    assert program.evaluate({"t": text, "p": part}) == text.rfind(part)
    before = cel.compile("t.lastIndexOf(p, 30)", {"t": "string", "p": "string"})
    assert before.evaluate({"t": text, "p": part}) == text.rfind(part, 0, 30 + len(part))


@pytest.mark.parametrize("text", ["semver(t).major() > 0", "isSemver(t)", "isSemver(t, true)"])
def test_no_version_is_read_that_takes_long(text):
    outcome = cel.compile(text, {"t": "string"}).measure({"t": "1.0.0-" + "1." * 60_000 + "1"})
    assert isinstance(outcome.error, CelCostError)


def test_a_pattern_counts_once_in_an_evaluation_whatever_was_compiled_before(meter):
    """Equal evaluations take equal steps, in a new process and in an old one."""
    pattern = "a{3}(b|c)+[0-9]*never-seen-before"
    counted = []
    for _ in range(3):
        meter.restart()
        strings.compile_pattern(pattern)
        once = meter.steps
        strings.compile_pattern(pattern)
        counted.append((once, meter.steps - once))
    assert once > len(pattern)
    assert counted == [(once, 0)] * 3

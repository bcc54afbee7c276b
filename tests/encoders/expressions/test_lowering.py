"""Expressions that must be lowered (CELC-9), compared with evaluations for all counts."""

import random

import pytest
from support.random_expressions import (
    EITHER,
    ERROR,
    FALSE,
    TRUE,
    device,
    evaluated,
    lowered,
    program,
    vectors,
    verdicts,
)

from drasat.cel.values import UInt
from drasat.encoders.expressions.formulas import Formulas
from drasat.encoders.expressions.lowering import lower_expression
from drasat.encoders.expressions.values import NotLoweredError
from drasat.models.kubernetes.semver import Version
from drasat.problem.messages import DeadlineExceededError

RING = "size(devices) == {count} && devices.map(d, d.@index).max() - devices.map(d, d.@index).min() == {count} - 1"
GRID = """size(devices) == {count} && devices.all(d, devices.filter(other, d != other &&
    ((d.@row == other.@row && (d.@col == other.@col + 1 || d.@col == other.@col - 1)) ||
     (d.@col == other.@col && (d.@row == other.@row + 1 || d.@row == other.@row - 1)))).size() >= 2)"""

MUST_BE_LOWERED = """
    devices.all(a, devices.all(b, a.@s == b.@s))
    devices.all(a, devices.all(b, a == b || a.@i != b.@i))
    devices.map(d, d.@i).sum() >= 5
    devices.map(d, d.@i).sum() == devices.size()
    devices.map(d, d.@i).max() - devices.map(d, d.@i).min() < size(devices)
    devices.map(d, d.@i).max() > devices.map(d, d.@j).min()
    devices.map(d, d.@s).max() == 'b'
    devices.map(d, d.@i).min() * 2 <= devices.map(d, d.@i).max()
    devices.exists_one(d, d.@s == 'a')
    devices.filter(d, d.@b).size() >= 2 && devices.exists(d, !d.@b)
    devices.filter(d, d.@s == 'a').size() == devices.filter(d, d.@s == 'b').size()
    devices.map(d, d.@s).distinct().size() == 2
    devices.map(d, d.@i).distinct().size() == devices.size()
    2 in devices.map(d, d.@i)
    devices.all(d, d.@i in [1, 2, 3])
    devices.map(d, d.@i).max() in [1, 3]
    devices.all(d, d.@l.includes(2))
    devices.all(a, devices.exists(b, a.@l.includes(b.@i)))
    devices.map(d, d.@s).includes('a')
    devices.map(d, d.@s).include('a')
    sets.contains(devices.map(d, d.@s), ['a', 'b'])
    sets.intersects(devices.map(d, d.@i), [1, 3])
    sets.equivalent(devices.map(d, d.@i), devices.map(d, d.@j))
    devices.all(d, sets.contains(d.@l, [1]))
    devices.all(d, has(d.@i) ? d.@i > 0 : d.@j > 0)
    devices.filter(d, has(d.@i)).map(d, d.@i).sum() > 3
    size(devices) > 2 ? devices.exists(d, d.@b) : devices.all(d, d.@b)
    (size(devices) > 2 ? devices.map(d, d.@i).sum() : devices.map(d, d.@j).sum()) >= 2
    cel.bind(xs, devices.map(d, d.@i), xs.max() - xs.min() <= 1 && xs.sum() > 2)
    cel.bind(xs, devices.filter(d, d.@s == 'a'), xs.size() > 0 && xs.all(x, devices.exists(o, o.@i == x.@i + 1)))
    devices.map(d, d.@i * 2 - 1).sum() * 3 + 1 >= 10
    devices.map(d, uint(d.@j)).sum() <= 4u
    devices.map(d, double(d.@j) / 2.0).sum() >= 1.5
    double(devices.map(d, d.@j).sum()) / 4.0 < 1.0
    devices.map(d, d.#memory.asInteger()).sum() >= 3 * 1073741824
    devices.map(d, d.#memory.asApproximateFloat()).sum() > 2e9
    quantity('1').add(devices.map(d, d.#memory.asInteger()).sum()).isGreaterThan(quantity('2Gi'))
    quantity('4Gi').sub(devices.map(d, d.#memory.asInteger()).sum()).compareTo(quantity('1Gi')) < 0
    devices.all(d, d.#memory.isGreaterThan(quantity('2')) || d.#memory.compareTo(quantity('1')) == 0)
    devices.all(a, devices.all(b, a.#memory.add(b.#memory).isLessThan(quantity('3Gi'))))
    devices.all(d, d.@v.isGreaterThan(semver('1.1.9')))
    devices.all(a, devices.all(b, a.@v == b.@v))
    devices.all(a, devices.all(b, a.@v.major() == b.@v.major()))
    devices.exists(a, devices.exists(b, a.@v.compareTo(b.@v) > 0))
    devices.all(d, d.@?i.orValue(1) > 0)
    devices.map(d, d.@?i.orValue(0)).sum() > 2
    devices.all(d, d.@?b.orValue(false) || d.?attributes['x'].?j.orValue(0) > 0)
    devices.size() % 2 == 0
    devices.map(d, d.@i).sum() / devices.size() >= 1
    devices.map(d, d.#memory.asInteger()).sum() / 1073741824 >= 3
    devices.all(d, devices.filter(o, o.@s == d.@s).size() == 2)
    devices.map(d, d.@s).distinct().all(s, devices.filter(d, d.@s == s).size() <= 2)
    devices.map(d, d.@s).distinct().map(s, devices.filter(d, d.@s == s).size()).max() <= 2
    [0, 1, 2].all(i, devices.exists_one(d, d.@i == i))
    devices.map(d, d.@l).flatten().distinct().size() >= 3
    devices.exists(d, d.@i == devices.map(o, o.@i).max() && d.@s == 'a')
    devices.all(d, d.@i >= 0) || devices.size() == 1
    devices.all(d, d == d) && devices.exists(d, devices.filter(o, o != d).size() >= 1)
    devices.filter(d, d.@s == 'zz') == []
""".strip().splitlines()


def _plain(rng):
    return {
        "i": rng.randint(0, 3), "j": rng.randint(0, 2), "s": rng.choice("ab"), "b": rng.random() < 0.5,
        "l": [rng.randint(0, 3) for _ in range(rng.randint(1, 2))], "memory": rng.choice(["1Gi", "2Gi", "1"]),
        "v": Version.parse(rng.choice(["1.2.0", "1.10.0", "2.0.0-rc1"])),
    }  # fmt: skip


def _sets():
    """Sets of devices: all attributes there, some missing, two copies of each, one device."""
    for seed in range(3):
        rng = random.Random(seed)
        yield [device(n=number, **_plain(rng)) for number in range(4)], [1, 1, 1, 2]
    for seed in range(3):
        rng = random.Random(100 + seed)
        kept = [{key: value for key, value in _plain(rng).items() if rng.random() < 0.8} for _ in range(3)]
        yield [device(n=number, **fields) for number, fields in enumerate(kept)], [2, 1, 2]
    yield [device(**_plain(random.Random(7)))], [3]


@pytest.mark.parametrize("text", [line.strip() for line in MUST_BE_LOWERED])
def test_expressions_of_the_list_are_lowered_and_right(text):
    seen = set()
    for items, most in _sets():
        seen |= verdicts(text, items, most)
    assert len(seen) > 1


@pytest.mark.parametrize("count", [2, 4])
def test_contiguous_devices_of_a_ring(count):
    items = [device(index=index) for index in (0, 1, 2, 3, 5, 6, 7)]
    assert verdicts(RING.format(count=count), items) >= EITHER


def test_contiguous_devices_when_some_have_no_index():
    assert verdicts(RING.format(count=2), [device(index=4), device(index=5), device()]) == {TRUE, FALSE, ERROR}


@pytest.mark.parametrize(("rows", "cols", "count"), [(2, 2, 4), (3, 3, 4), (2, 4, 6), (1, 3, 2)])
def test_boxes_of_a_grid(rows, cols, count):
    items = [device(row=row, col=col) for row in range(rows) for col in range(cols)]
    assert TRUE in verdicts(GRID.format(count=count), items) or rows == 1


def test_neighbours_of_equal_value_are_undercounted_as_in_an_evaluation():
    items = [device(row=0, col=0), device(row=0, col=1), device(row=1, col=0), device(row=1, col=1)]
    assert verdicts(GRID.format(count=5), items, [2, 1, 1, 1]) == EITHER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("devices.map(d, d.@i).max() > 0 || devices.size() == 0", {TRUE, FALSE}),
        ("devices.map(d, d.@i).sum() == 0 && devices.size() == 0", {TRUE, FALSE}),
        ("devices.map(d, d.@i).min() < 9", {TRUE, ERROR}),
        ("devices.exists(d, d.@none == 1) || devices.size() > 1", {TRUE, FALSE, ERROR}),
        ("devices.all(d, d.@none == 1) && devices.size() > 1", {FALSE, ERROR}),
        ("devices.exists(d, d.@i == 0 || d.@none)", {TRUE, FALSE, ERROR}),
        ("devices.exists_one(d, d.@i == 0 || d.@none)", {TRUE, FALSE, ERROR}),
        ("devices.filter(d, d.@none).size() >= 0", {TRUE, ERROR}),
        ("devices.map(d, d.@none).size() >= 0", {TRUE, ERROR}),
        ("devices.map(d, d.@i == 1, d.@none).size() == 0", {TRUE, ERROR}),
        ("devices.size() == 1 ? devices.map(d, d.@none)[0] : true", {TRUE, ERROR}),
        ("devices.exists(d, 1 / d.@i > 0)", {TRUE, FALSE, ERROR}),
        ("6 / devices.size() == 3", {TRUE, FALSE, ERROR}),
        ("devices.map(d, d.@i).sum() + 9223372036854775806 > 0", {TRUE, ERROR}),
        ("uint(devices.size()) - 1u < 2u", {TRUE, FALSE, ERROR}),
        ("-devices.size() < -1 && devices.size() * devices.size() < 9", EITHER),
        ("dyn(devices.size()) == 'a' || dyn(devices.size()) < 'a'", {ERROR}),
        ("dyn(devices.size())", {ERROR}),
        ("cel.bind(x, devices.map(d, d.@none), devices.size() < 2 || x.size() > 1)", {TRUE, ERROR}),
        ("cel.bind(x, devices.map(d, d.@i).isSorted(), devices.size() < 2)", EITHER),
    ],
)  # fmt: skip
def test_errors_are_where_an_evaluation_has_them(text, expected):
    items = [device(i=0), device(i=1), device(i=2)]
    assert verdicts(text, items) == expected


@pytest.mark.parametrize(
    "text",
    [
        "devices[0].@i < devices[devices.size() - 1].@i",
        "devices.map(d, d.@i).first().orValue(7) == 1",
        "devices.map(d, d.@i)[?1].orValue(9) == 3",
        "devices.filter(d, d.@i > 0).last().value().@i == 3",
        "devices.map(d, d.@i).reverse()[1] == 1",
    ],
)
def test_what_depends_on_the_order_goes_by_that_of_the_items_and_says_so(text):
    items = [device(i=value) for value in (1, 0, 3)]
    assert verdicts(text, items, [1, 2, 1]) >= EITHER
    assert lowered(text, items)[1].ordered


def test_what_does_not_depend_on_the_order_says_so():
    assert not lowered("devices.map(d, d.@i).max() > 1", [device(i=value) for value in range(3)])[1].ordered


@pytest.mark.parametrize(
    "text",
    [
        "devices.map(d, d.@i).isSorted()",
        "devices.all(i, d, d.@i > i)",
        "devices.map(d, d.@i) == [1, 2]",
        "devices.map(d, d.@i).distinct()[0] == 1",
        "devices.map(d, d.@mixed).max() == 1",
        "devices.map(d, d.@i).sortBy(x, x)[0] == 1",
        "devices.map(d, string(d.@i)).join(',') == '1'",
        "devices.transformMap(i, d, d.@i).size() == 1",
        "quantity('1').add(devices.size()).asInteger() == 3",
        "devices.map(d, double(d.@i) / 3.0).sum() > 1.0",
        "devices.all(a, devices.all(b, devices.all(c, devices.all(d, devices.all(e, a.@i + b.@i + c.@i < d.@i)))))",
    ],
)
def test_what_has_no_formula_is_refused(text):
    items = [device(i=value, mixed=value if value < 2 else "a") for value in range(24)]
    with pytest.raises(NotLoweredError):
        lowered(text, items)


def test_a_budget_ends_the_work():
    items = [device(i=value) for value in range(30)]
    text = "devices.all(a, devices.all(b, a.@i < b.@i))"
    assert lowered(text, items)[1].error == ~0
    with pytest.raises(NotLoweredError, match="steps"):
        lowered(text, items, budget=200)


@pytest.mark.parametrize(
    "text",
    [
        "devices.all(a, devices.all(b, a.@i < b.@i))",
        "lists.range(99).all(a, lists.range(99).all(b, a + b >= 0)) && devices.exists(d, d.@i > 1)",
        "devices.map(d, d.@i).sum() < 7",
    ],
)
def test_a_deadline_ends_the_work(text):
    """CEL-11: symbols, and what is computed beforehand."""
    items = [device(i=value) for value in range(30)]
    formulas = Formulas([1] * 30, 0, 30)
    assert lower_expression(program(text), items, formulas, deadline=float("inf")).error == ~0
    with pytest.raises(DeadlineExceededError):
        lower_expression(program(text), items, Formulas([1] * 30, 0, 30), deadline=0.0)


def test_an_expression_that_may_cost_too_much_is_refused():
    items = [device(i=value % 40, n=value) for value in range(260)]
    text = "devices.all(a, devices.filter(b, b.@i < a.@i).size() < 9)"
    assert lowered(text, items, most_total=32)[1].error == ~0
    with pytest.raises(NotLoweredError, match="cost"):
        lowered(text, items)


def test_deep_expressions_end_in_a_refusal():
    text = "devices.size() > 1"
    for _ in range(70):
        text = f"(true && !({text}))"
    with pytest.raises(NotLoweredError):
        lowered(text, [device()])


def test_lists_in_lists_count_every_copy():
    items = [device(l=[1, 2]), device(l=[2]), device(l=[3, 3])]
    assert verdicts("devices.map(d, d.@l).flatten().sum() == 8", items, [2, 2, 1]) == EITHER
    assert verdicts("devices.map(d, devices.map(o, o.@l)).flatten().size() == 4", items, [2, 1, 1]) == EITHER
    assert verdicts("devices.map(d, devices.filter(o, o.@l == d.@l).size()).sum() == 4", items, [3, 1, 1]) == EITHER


def test_numbers_of_all_types_add_up():
    items = [device(d=0.25, u=UInt(3)), device(d=0.5, u=UInt(1)), device(d=-1.75, u=UInt(2**63))]
    assert verdicts("devices.map(d, d.@d).sum() == -1.0", items, [2, 2, 1]) == EITHER
    assert verdicts("devices.map(d, d.@u).sum() > 5u", items, [2, 1, 2]) == {TRUE, FALSE, ERROR}
    assert verdicts("devices.map(d, d.@d).max() * 2.0 == 1.0 && devices.map(d, d.@d).min() < 0.3", items) == {
        *EITHER,
        ERROR,
    }
    assert verdicts("devices.map(d, duration('1h')).sum() > duration('90m')", items) == EITHER


@pytest.mark.parametrize("double", ["-0.0", "double('NaN')", "double('inf')", "double('-inf')"])
def test_doubles_that_are_no_fractions_are_compared(double):
    items = [device(d=0.0), device(d=1.0), device(d=-1.0)]
    for sign in ("==", "!=", "<", ">="):
        verdicts(f"devices.map(d, d.@d).sum() {sign} {double}", items, [1, 2, 2])
        verdicts(f"{double} {sign} devices.map(d, d.@d).max()", items)
    verdicts(f"[{double}].exists(x, x in devices.map(d, d.@d))", items)
    verdicts(f"dyn(devices.size()) == {double} || {double} == devices.map(d, d.@d).sum()", items)


@pytest.mark.parametrize("value", ["'a'", "null", "true", "[1]", "{1: 2}", "semver('1.0.0')"])
def test_large_numbers_and_values_of_other_types(value):
    items = [device(i=number << 40) for number in range(1, 5)]
    for operator in ("+", "-", "*", "<", ">="):
        assert verdicts(f"dyn(devices.map(d, d.@i).sum()) {operator} dyn({value}) == dyn(1)", items) == {ERROR}
    assert verdicts(f"dyn(devices.map(d, d.@i).sum()) == dyn({value})", items) == {FALSE}


def test_durations_and_points_in_time():
    items = [device(i=number) for number in range(3)]
    text = (
        "timestamp('2024-01-01T00:00:00Z') + devices.map(d, duration('1h')).sum() < timestamp('2024-01-01T01:30:00Z')"
    )
    with pytest.raises(NotLoweredError, match="too many ways"):
        lowered(text.replace("1h", "1ns"), items, [200, 200, 200])
    assert verdicts(text, items) == EITHER


def test_doubles_that_are_rounded_are_refused():
    items = [device(d=0.1), device(d=0.2), device(d=1e300)]
    with pytest.raises(NotLoweredError, match="rounded"):
        lowered("devices.map(d, d.@d).sum() < 1.0", items)


def test_elements_of_two_types_have_no_sum():
    items = [device(a=1), device(a=2), device(a="b"), device(a=0.5)]
    assert verdicts("devices.map(d, d.@a).sum() > 1", items) == {TRUE, FALSE, ERROR}


@pytest.mark.parametrize("text", ["devices.map(d, d.@a).distinct().size() == 1", "1 in devices.map(d, d.@a)"])
def test_strings_and_numbers_are_told_apart(text):
    assert verdicts(text, [device(a=1), device(a="1"), device(a=True)], [2, 2, 1]) == EITHER


def test_counts_within_bounds_are_all_that_matters():
    items = [device(i=value) for value in range(4)]
    assert verdicts("devices.size() == 2", items, least_total=2, most_total=2) == {TRUE}
    assert verdicts("devices.map(d, d.@i).max() >= 1", items, least_total=2, most_total=3) == {TRUE}


def test_vectors_and_evaluations_of_the_helpers():
    items = [device(i=1), device(i=2)]
    assert vectors([1, 2], 1, 2) == [(0, 1), (0, 2), (1, 0), (1, 1)]
    assert evaluated(program("devices.size() == 3"), items, (1, 2)) == TRUE
    assert evaluated(program("devices[0].@none"), items, (1, 2)) == ERROR


def test_a_name_with_a_leading_dot_is_left_to_other_encodings():
    with pytest.raises(NotLoweredError, match="leading dot"):
        lowered(".devices.size() > 0", [device(i=0)])

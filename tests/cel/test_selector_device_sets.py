"""Expressions over ``devices``: results, errors and costs (CELC-1 to CELC-6)."""

from __future__ import annotations

import pickle
import time

import pytest
from support.data import cases

from drasat.cel.devices import prepare_device
from drasat.cel.errors import CelCompileError, CelCostError, CelDeadlineError, CelRuntimeError
from drasat.cel.program import HINT
from drasat.cel.selector import DeviceSetExpression
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity

MLA = "attributes['mla.example.com']"
CONTIGUOUS = f"size(devices) == 4 && devices.map(d, d.{MLA}.index).max() - devices.map(d, d.{MLA}.index).min() == 3"
GRID = """size(devices) == 4 && devices.all(d, devices.filter(other, d != other &&
  ((d.AT.row == other.AT.row && (d.AT.col == other.AT.col + 1 || d.AT.col == other.AT.col - 1)) ||
   (d.AT.col == other.AT.col && (d.AT.row == other.AT.row + 1 || d.AT.row == other.AT.row - 1)))).size() >= 2)
""".replace("AT", MLA)
X = "attributes['x.com']"


def mla(**values):
    attributes = {name: DeviceAttribute(int_value=value) for name, value in values.items()}
    return prepare_device(Device(attributes=attributes), "mla.example.com")


def cell(row, col):
    return mla(row=row, col=col)


def numbered(*numbers):
    return [mla(index=number) for number in numbers]


def full(number):
    """A device with something of everything."""
    attributes = {
        "n": DeviceAttribute(int_value=number),
        "s": DeviceAttribute(string="ab"[number % 2]),
        "l": DeviceAttribute(strings=("p", "q")),
        "v": DeviceAttribute(version=f"{number}.0.0"),
    }
    return prepare_device(
        Device(attributes=attributes, capacity={"mem": DeviceCapacity(value=f"{number + 1}Gi")}), "x.com"
    )


FOUR = [full(number) for number in range(4)]


def result(text, devices):
    return DeviceSetExpression(text).result(devices)


@pytest.mark.parametrize(
    ("numbers", "holds"),
    [((0, 1, 2, 3), True), ((6, 3, 5, 4), True), ((0, 1, 2, 4), False), ((0, 1, 2), False), ((7, 0, 1, 2), False)],
    ids=["in order", "any order", "gap", "too few", "CELC-8 no ring"],
)
def test_contiguous_devices(numbers, holds):
    assert result(CONTIGUOUS, numbered(*numbers)) is holds


@pytest.mark.parametrize(
    ("cells", "holds"),
    [
        ([(0, 0), (0, 1), (1, 0), (1, 1)], True),
        ([(1, 1), (0, 0), (1, 0), (0, 1)], True),
        ([(0, 0), (0, 1), (0, 2), (0, 3)], False),
        ([(0, 0), (0, 1), (1, 1), (2, 1)], False),
    ],
    ids=["square", "any order", "row", "bent"],
)
def test_devices_in_a_grid(cells, holds):
    assert result(GRID, [cell(*one) for one in cells]) is holds


def test_the_same_values_are_the_same_device():
    """CELC-5: the fourth neighbour is not counted, as its twin is no other."""
    assert result("devices.all(d, devices.exists(e, d != e))", [cell(0, 0), cell(0, 1)]) is True
    assert result("devices.all(d, devices.exists(e, d != e))", [cell(0, 0), cell(0, 0)]) is False


def test_a_larger_set_may_hold_where_a_smaller_one_fails():
    """CELC-3."""
    text = f"devices.map(d, d.{MLA}.index).max() == size(devices) - 1"
    assert [result(text, numbered(*some)) for some in [(0, 2), (0, 1, 2)]] == [False, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("size(devices)", "must evaluate to bool or the unknown type, not int"),
        ("devices", r"must evaluate to bool or the unknown type, not list\(kubernetes.DRADevice\)"),
        ("device.driver == 'x'", r"^compilation failed: ERROR: <input>:1:1: undeclared reference to 'device'"),
        ("devices.all(d, d.name == 'x')", "^compilation failed: ERROR: <input>:1:17: undefined field 'name'"),
        ("devices ==", "^compilation failed: ERROR: <input>:1:11: Syntax error"),
        ("devices == [1, 'a']", "^compilation failed: "),
        ("true || " + " " * 10240 + "true", "^Too long: may not be more than 10240 bytes$"),
        (None, "^an expression must be a string, not NoneType$"),
    ],
    ids=["int", "list", "device", "field", "syntax", "mixed", "long", "no text"],
)
def test_what_does_not_compile(text, told):
    """CELC-1."""
    with pytest.raises(CelCompileError, match=told):
        DeviceSetExpression(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"devices[0].{X}.none == 1", f"no such key: none. {HINT}"),
        (f"devices[0].{X}.n", "CEL result of type int could not be converted to bool: unsupported type conversion"),
        ("devices[4].driver == 'x'", "index out of bounds: 4"),
        (f"devices.map(d, d.{X}.s).sum() == 1", "no such overload"),
    ],
    ids=["key", "CELC-4 type", "index", "overload"],
)
def test_errors_are_values(text, told):
    """CELC-4."""
    error = result(text, FOUR)
    assert type(error) is CelRuntimeError
    assert str(error).startswith(told)


def test_a_dyn_result_may_be_a_bool():
    flag = prepare_device(Device(attributes={"ok": DeviceAttribute(bool_value=True)}), "x.com")
    assert result(f"devices[0].{X}.ok", [flag]) is True


def test_a_device_that_cannot_be_read_is_the_error():
    """CEL-3."""
    bad = prepare_device(Device(attributes={"v": DeviceAttribute(version="1")}), "x.com")
    error = result("true", [FOUR[0], bad])
    assert str(error) == bad.error
    assert "parse semantic version" in str(error)


def test_no_devices_are_a_set_too():
    assert [result(text, []) for text in ("devices.all(d, false)", "size(devices) > 0")] == [True, False]


def test_include_is_includes():
    """SEM-8."""
    texts = [f"devices.all(d, d.{X}.l.{name}('{wanted}'))" for name in ("include", "includes") for wanted in "px"]
    assert [result(text, FOUR) for text in texts] == [True, False, True, False]


def test_pickled_it_is_its_text():
    expression = DeviceSetExpression(CONTIGUOUS)
    again = pickle.loads(pickle.dumps(expression))
    assert (again.text, again.result(numbered(1, 2, 3, 4))) == (CONTIGUOUS, True)
    program = pickle.loads(pickle.dumps(expression.program))
    assert program.estimate == expression.program.estimate


# --- costs


@pytest.mark.parametrize(("text", "most", "units"), cases("cel/device-sets", "vectors"))
def test_costs_are_those_of_cel_go(text, most, units):
    """CELC-6: what cel-go 0.29 estimates for a list of at most 32 devices of size 1, and counts for these four."""
    expression = DeviceSetExpression(text.replace("AT", X))
    outcome = expression.program.measure({"devices": FOUR})
    assert (expression.program.estimate.max, outcome.cost, outcome.value) == (most, units, True)


@pytest.mark.parametrize(
    ("text", "most", "units", "devices"),
    [
        (CONTIGUOUS, 1117, 145, numbered(0, 1, 2, 3)),
        (GRID, 88613, 485, [cell(row, col) for row in (0, 1) for col in (0, 1)]),
    ],
    ids=["contiguous", "grid"],
)
def test_costs_of_the_stories(text, most, units, devices):
    """CELC-6, CELC-8; a filter step that takes nothing costs nothing: with one unit for it the grid would cost 493."""
    program = DeviceSetExpression(text).program
    assert (program.estimate.max, program.measure({"devices": devices}).cost) == (most, units)


DEEP = "devices.all(a, devices.all(b, devices.all(c, devices.all(d, devices.all(e, a == b || c != d || e == e)))))"


def test_what_runs_beyond_the_limit_is_an_error():
    """CELC-6: at run time always, however many devices there are and whatever was estimated for 32."""
    text = "devices.all(a, devices.all(b, lists.range(900).size() == 900))"
    expression = DeviceSetExpression(text)
    assert expression.program.estimate.max < 1_000_000
    assert expression.result(numbered(*range(32))) is True
    assert type(expression.result(numbered(*range(40)))) is CelCostError


def test_the_deadline_is_raised():
    started = time.monotonic()
    with pytest.raises(CelDeadlineError):
        DeviceSetExpression(DEEP).result(numbered(*range(32)), deadline=started)


def test_a_few_devices_are_judged_whatever_many_would_cost():
    assert result(DEEP, numbered(0, 1)) is True

"""Work that no cost shows is bounded in selectors too, which count no cost where that is low (CEL-11)."""

from __future__ import annotations

import pytest

from drasat.cel.devices import prepare_device
from drasat.cel.errors import CelCostError, CelDeadlineError
from drasat.cel.parser import parse
from drasat.cel.program import cost_shows_work
from drasat.cel.selector import Selector
from drasat.models.kubernetes.slices import Device, DeviceAttribute

DEVICE = prepare_device(Device(attributes={"x": DeviceAttribute(int_value=1)}), "d")


def bound(name, times):
    """Bindings of lists that hold the one before twice."""
    return "".join(f"cel.bind({name}{n}, {f'[{name}{n - 1}, {name}{n - 1}]' if n else '[1]'}, " for n in range(times))


def mapped(times):
    """A list that holds the same list time and again."""
    return "[1]" + "".join(f".map(x{n}, [x{n}, x{n}])" for n in range(times))


HIDDEN = {
    "bindings": bound("a", 40) + bound("b", 40) + "a39 == b39" + ")" * 80,
    "maps": f"{mapped(40)} == {mapped(40)}",
    "texts": bound("a", 40) + "'%s'.format([a39]) == ''" + ")" * 40,
}
PATTERNS = {
    "matches": f'"{"a" * 2600}".matches("(a?){{300}}a{{300}}b")',
    "matches-global": f'matches("{"a" * 2600}", "(a?){{300}}a{{300}}b")',
    "find": f'"{"a" * 2600}".find("(a?){{300}}a{{300}}b") == ""',
    "findAll": f'"{"a" * 2600}".findAll("(a?){{300}}a{{300}}b").size() == 0',
}


@pytest.mark.parametrize("name", HIDDEN)
def test_work_that_costs_nothing_ends(name):
    selector = Selector(HIDDEN[name])
    assert selector.program.estimate.max < 10_000
    with pytest.raises(CelDeadlineError):
        selector.evaluate(DEVICE, deadline=0.0)


@pytest.mark.parametrize("text", [HIDDEN["bindings"], *PATTERNS.values()], ids=["bindings", *PATTERNS])
def test_it_ends_without_a_deadline(text):
    assert isinstance(Selector(text).evaluate(DEVICE), CelCostError)


@pytest.mark.parametrize("text", [*HIDDEN.values(), *PATTERNS.values(), "a.optMap(x, [x, x])"])
def test_such_expressions_are_known(text):
    assert not cost_shows_work(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "a" && device.attributes["a"].b == 1',
        'device.attributes["a"].b.exists(x, x == 1)',
        'device.attributes["a"].filter(x, x == "b").size() > 0',
        "[[1, 2], [3]].all(x, x.size() > 0) ? {1: 2}[1] == 2 : sets.contains([1], [2])",
    ],
)
def test_all_other_work_shows_in_the_cost(text):
    assert cost_shows_work(parse(text, frozenset({"sets.contains"})))


@pytest.mark.parametrize(
    "text",
    ["[cel.bind(x, 1, x)]", "1 + (true ? [2].map(x, x)[0] : 3)", '{1: "a".matches("b")}', '!has(a[?b.find("c")].d)'],
)
def test_it_is_found_wherever_it_stands(text):
    assert not cost_shows_work(parse(text))

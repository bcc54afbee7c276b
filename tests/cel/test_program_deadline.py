"""Deadlines end evaluations, whatever they are at (CEL-11); how soon is for benchmarks to say."""

from __future__ import annotations

import pytest

from drasat import cel
from drasat.cel.devices import prepare_device
from drasat.cel.errors import CelCompileError, CelDeadlineError
from drasat.cel.meter import metered_work, tick
from drasat.cel.program import Program
from drasat.cel.selector import Selector
from drasat.models.kubernetes.slices import Device, DeviceAttribute

DEVICE = prepare_device(Device(attributes={f"n{n}": DeviceAttribute(int_value=n) for n in range(30)}), "d")


def doubled(name, start, times):
    """Bindings of ``name`` to a list that holds the one before twice: small in memory, huge to walk."""
    return "".join(f"cel.bind({name}{n}, {f'[{name}{n - 1}, {name}{n - 1}]' if n else start}, " for n in range(times))


SLOW = {
    "loops": "lists.range(999).all(a, lists.range(999).all(b, a + b >= 0))",
    "maps": "lists.range(900).map(a, lists.range(900).map(b, a * b)).size() > 0",
    "searches": "lists.range(30000).exists(a, a + 1 in lists.range(30000).map(b, -b))",
    "distinct": "lists.range(30000).distinct().size() > 0",
    "sets": "sets.intersects(lists.range(20000), lists.range(20000).map(x, -x - 1))",
    "equality": doubled("a", "[1]", 40) + doubled("b", "[1]", 40) + "a39 == b39" + ")" * 80,
    "patterns": 'lists.range(20000).exists(a, string(a).matches("(a|b)*c"))',
}


FREE = {
    "deep &&": "(true && " * 200 + "true" + ")" * 200,
    "wide &&": " && ".join(["true"] * 900),
    "deep ?:": "(true ? " * 200 + "true" + " : false)" * 200,
    "bindings": "".join(f"cel.bind(b{n}, a + {n}, " for n in range(200)) + "true" + ")" * 200,
    "constants": " && ".join(["1 in [1]"] * 700),
}
"""What takes milliseconds and costs nothing."""


@pytest.mark.parametrize("name", FREE)
def test_steps_that_cost_little_and_take_long_are_few_between_two_looks_at_the_clock(name):
    """CEL-11: far fewer than the 2,000 units that may pass otherwise."""
    loop = cel.compile(f"lists.range(40).all(a, {FREE[name]})")
    assert loop.measure().error is None
    outcome = loop.measure(deadline=0.0)
    assert isinstance(outcome.error, CelDeadlineError)
    assert outcome.cost < 100


@pytest.mark.parametrize("name", ["deep &&", "wide &&", "deep ?:"])
def test_nested_loops_over_a_device_are_interrupted_too(name):
    """CEL-11: though estimated at little, a selector so long is not run without a look at the clock."""
    loop = Selector(f"device.attributes.all(a, device.attributes[a].all(n, {FREE[name]}))")
    assert loop.program.estimate.max < 10_000
    with pytest.raises(CelDeadlineError):
        loop.evaluate(DEVICE, deadline=0.0)


COMPILED_SLOWLY = {
    "wide": " && ".join(["true"] * 1000),
    "types": doubled("a", "[1]", 200) + "a199.size() > 0" + ")" * 200,
    "literals": "[" + ", ".join(["1"] * 3000) + "].size() > 0",
    "patterns": " && ".join(f"'a'.matches('(\\\\pL|\\\\pN){{1,50}}{n}')" for n in range(200)),
    "macros": "".join(f"[1].map(a{n}, " for n in range(200)) + "1" + ")" * 200 + ".size() > 0",
}


@pytest.mark.parametrize("name", COMPILED_SLOWLY)
def test_a_deadline_in_the_past_ends_compiling(name):
    """CEL-11: parsing, checking, estimating and making closures."""
    with metered_work(0.0), pytest.raises(CelDeadlineError):
        Program(COMPILED_SLOWLY[name])


def test_compiling_ends_without_a_deadline():
    """CEL-11: 200 large patterns are a megabyte of instructions each."""
    with pytest.raises(CelCompileError, match="takes too long to compile"):
        Program(COMPILED_SLOWLY["patterns"])


def test_a_deadline_is_that_of_the_work_around_if_it_is_earlier():
    with metered_work(0.0), metered_work(float("inf")), pytest.raises(CelDeadlineError):
        tick(1)


@pytest.mark.parametrize("name", SLOW)
def test_a_deadline_in_the_past_ends_the_evaluation(name):
    outcome = cel.compile(SLOW[name]).measure(deadline=0.0)
    assert isinstance(outcome.error, CelDeadlineError)
    assert str(outcome.error) == "operation interrupted"


@pytest.mark.parametrize("wrapped", ["{} || true", "[1].exists(x, {} || true)", "true && {}", "!({})"])
def test_nothing_absorbs_a_deadline(wrapped):
    with pytest.raises(CelDeadlineError):
        cel.compile(wrapped.replace("{}", SLOW["loops"])).evaluate(deadline=0.0)


def test_it_comes_through_from_fresh_stacks():
    deep = "(true && " * 200 + SLOW["loops"] + ")" * 200
    with pytest.raises(CelDeadlineError):
        cel.compile(deep).evaluate(deadline=0.0)


def test_what_is_done_in_time_is_not_ended():
    assert cel.compile("lists.range(100).all(a, a >= 0)").evaluate(deadline=float("inf")) is True


def test_short_evaluations_do_not_look_at_the_clock():
    assert cel.compile("1 + 1").evaluate(deadline=0.0) == 2

"""Deadlines end evaluations, whatever they are at (CEL-11); how soon is for benchmarks to say."""

from __future__ import annotations

import pytest

from drasat import cel
from drasat.cel.errors import CelDeadlineError


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

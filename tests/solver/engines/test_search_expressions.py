"""What errors of expressions do, and when they are met (section 8)."""

import pytest
from support.objects import (
    attempt,
    claim,
    device,
    device_class,
    either,
    fails,
    fatal,
    names,
    option,
    picks,
    pool,
    version,
    want,
)

from drasat.models.results.common import Status

X_IS_1 = 'device.attributes["d.x"].x == 1'
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
# ``bare`` has no x, so the selector goes wrong on it.
BARE_FIRST = pool(device("bare"), device("one", x=1))
BARE_LAST = pool(device("one", x=1), device("bare"))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("1", "claim ns/c: selector #0: CEL compile error: must evaluate to bool", id="CEL-5-static"),
        pytest.param(
            'device.attributes["d.x"].x',
            "claim ns/c: selector #0 on device d.x/p/a: CEL runtime error: CEL result of type int could not be",
            id="CEL-5-run-time",
        ),
        pytest.param(
            "device.nope == 1",
            "claim ns/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:7: undefined field",
            id="CEL-6-compile",
        ),
        pytest.param(
            'device.attributes["d.x"].y == 1',
            f"claim ns/c: selector #0 on device d.x/p/a: CEL runtime error: no such key: y{HINT}",
            id="CEL-6-no-such-key",
        ),
    ],
)
def test_an_expression_that_goes_wrong_aborts_everything(expression, text):
    assert fatal(pool(device("a", x=1)), claim(want(select=expression))).startswith(text)


def test_errors_of_classes_name_the_class():
    """CEL-6."""
    cls = device_class("picky", "true", 'device.attributes["d.x"].x == 1')
    text = fatal(BARE_FIRST, cls, claim(want(cls="picky")))
    assert text == f"class picky: selector #1 on device d.x/p/bare: CEL runtime error: no such key: x{HINT}"


def test_a_compile_error_is_harmless_without_devices():
    """CEL-6, CEL-7."""
    assert fails(claim(want(select="device.nope == 1")))


def test_a_device_behind_the_solution_is_never_looked_at():
    """CEL-7."""
    assert names(BARE_LAST, claim(want(select=X_IS_1))) == ["one"]
    assert "on device d.x/p/bare" in fatal(BARE_FIRST, claim(want(select=X_IS_1)))


def test_a_device_in_use_is_never_looked_at():
    """CEL-7, DEV-1: being picked comes before selectors."""
    asked = claim(want("q", 1, 'device.attributes["d.x"].?x.orValue(0) == 0'), want("r", 1, X_IS_1))
    assert picks(BARE_FIRST, asked) == [("q", "bare"), ("r", "one")]


def test_under_all_every_device_is_looked_at():
    """CEL-7: before the search, whatever it would have come to."""
    answer = attempt(BARE_LAST, claim(want(count="All", select=X_IS_1)))
    assert (answer.status, answer.steps) == (Status.ERROR, 0)


def test_a_false_class_selector_protects_the_request_selector():
    """CEL-8."""
    cls = device_class("has-x", 'has(device.attributes["d.x"].x)')
    assert names(BARE_FIRST, cls, claim(want(cls="has-x", select=X_IS_1))) == ["one"]


def test_a_false_selector_protects_the_next_one():
    """CEL-7, CEL-8."""
    asked = claim(want(select=('has(device.attributes["d.x"].x)', X_IS_1)))
    assert names(BARE_FIRST, asked) == ["one"]


def test_a_selector_after_an_error_does_not_help():
    """CEL-8: one by one, first trouble counts."""
    asked = claim(want(select=(X_IS_1, 'has(device.attributes["d.x"].x)')))
    assert "no such key: x" in fatal(BARE_FIRST, asked)


def test_every_evaluation_has_its_own_budget():
    """CEL-9: many devices, each with a costly selector, are no error."""
    members = [device(f"v{number}", x=number) for number in range(60)]
    loops = "[1,2,3,4,5,6,7,8,9,10]"
    costly = f'{loops}.all(a, {loops}.all(b, {loops}.all(c, a + b + c > 0))) && device.attributes["d.x"].x == 59'
    assert names(pool(*members), claim(want(select=costly))) == ["v59"]


def test_a_version_that_cannot_be_read_fails_every_evaluation():
    """CEL-3: also of an expression that does not look at it."""
    text = fatal(pool(device("a", x=1, v=version("1.x"))), claim(want(select=X_IS_1)))
    assert "on device d.x/p/a: CEL runtime error: attribute v: parse semantic version" in text


def test_strict_passes_over_a_device_that_goes_wrong():
    answer = attempt(BARE_FIRST, claim(want(select=X_IS_1)), policy="strict")
    assert answer.names == ["one"]


def test_strict_tells_of_the_error_if_nothing_fits_without():
    answer = attempt(BARE_FIRST, claim(want(count=2, select=X_IS_1)), policy="strict")
    assert answer.status is Status.UNALLOCATABLE
    assert answer.error == f"claim ns/c: selector #0 on device d.x/p/bare: CEL runtime error: no such key: x{HINT}"


def test_strict_does_not_blame_a_device_that_fails_otherwise_anyway():
    """The no is definite: tainted or with a false class, the device could not have helped."""
    from support.objects import taint

    tainted = pool(device("bare", taints=(taint(),)), device("one", x=1))
    answer = attempt(tainted, claim(want(count=2, select=X_IS_1)), policy="strict")
    assert (answer.status, answer.error) == (Status.UNALLOCATABLE, "")


def test_strict_fails_all_over_a_device_that_goes_wrong():
    """It may be one that All means; a further alternative is tried."""
    answer = attempt(BARE_LAST, claim(want(count="All", select=X_IS_1)), policy="strict")
    assert answer.status is Status.UNALLOCATABLE
    assert "no such key: x" in answer.error
    asked = claim(either("r", option("s", "All", X_IS_1), option("t", 1, X_IS_1)))
    assert attempt(BARE_LAST, asked, policy="strict").picked == [("r/t", "one")]


def test_skip_takes_an_error_for_false():
    assert attempt(BARE_FIRST, claim(want(select=X_IS_1)), policy="skip").names == ["one"]
    assert attempt(BARE_LAST, claim(want(count="All", select=X_IS_1)), policy="skip").names == ["one"]
    nothing = attempt(BARE_FIRST, claim(want(count=2, select=X_IS_1)), policy="skip")
    assert (nothing.status, nothing.error) == (Status.UNALLOCATABLE, "")


@pytest.mark.parametrize("policy", ["strict", "skip"])
def test_policies_are_about_expressions_only(policy):
    """CAP-6: a negative amount stays fatal."""
    answer = attempt(pool(device("a", capacity={"m": "10"})), claim(want(capacity={"m": "-1"})), policy=policy)
    assert answer.status is Status.ERROR


def test_every_filter_that_a_device_fails_is_kept():
    """The search needs the first, explanations need them all."""
    from support.objects import taint

    member = pool(device("a", taints=(taint("dedicated", "ml"),), capacity={"m": "1"}))
    cls = device_class("none", "false")
    answer = attempt(member, cls, claim(want(cls="none", select="1 == 2", capacity={"m": "5"})))
    assert [(row.filter, row.devices) for row in answer.tables[0].fallen] == [("classSelector", 1)]

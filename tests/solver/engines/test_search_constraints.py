"""Constraints while devices are added and taken back (section 13)."""

import pytest
from support.objects import (
    attempt,
    claim,
    device,
    distinct,
    either,
    fails,
    fatal,
    match,
    names,
    option,
    picks,
    pool,
    version,
    want,
)

from drasat.models.kubernetes.slices import DeviceAttribute
from drasat.models.results.common import Status

LISTS_OFF = {"DRAListTypeAttributes": False}


def valued(*values, key="k", **fields):
    """A pool of devices ``v0``, ``v1``, ... with these values; None: without the attribute."""
    members = (
        device(f"v{number}", attributes={} if value is None else {key: value}, **fields)
        for number, value in enumerate(values)
    )
    return pool(*members)


def found(values, constraint, count=2, gates=None):
    """Numbers of the devices chosen, or None."""
    answer = attempt(valued(*values), claim(want(count=count), constraints=[constraint]), gates=gates)
    assert answer.status in (Status.ALLOCATED, Status.UNALLOCATABLE), answer.message
    return [int(name[1:]) for name in answer.names] or None


MATCH, DISTINCT = match("d.x/k"), distinct("d.x/k")


@pytest.mark.parametrize(
    ("values", "constraint", "chosen"),
    [
        pytest.param([1, 2, 1], MATCH, [0, 2], id="CON-4-equal"),
        pytest.param([1, "1", True, 1], MATCH, [0, 3], id="CON-4-types-are-never-coerced"),
        pytest.param(
            [version("1.0.0"), version("1.0.0+b"), version("1.0.0")], MATCH, [0, 2], id="CON-4-build-metadata"
        ),
        pytest.param([version("1.0.0"), "1.0.0"], MATCH, None, id="CON-4-version-is-no-string"),
        pytest.param([True, False, True], MATCH, [0, 2], id="CON-4-bool"),
        pytest.param([1, 1, 2], DISTINCT, [0, 2], id="CON-5-other-value"),
        pytest.param([1, True], DISTINCT, [0, 1], id="CON-5-types-count-as-distinct"),
        pytest.param([None, 1, 1], MATCH, [1, 2], id="CON-3-missing-match"),
        pytest.param([None, 1, 2], DISTINCT, [1, 2], id="CON-3-missing-distinct"),
    ],
)
@pytest.mark.parametrize("gates", [{}, LISTS_OFF], ids=["sets", "scalars"])
def test_scalar_values(values, constraint, chosen, gates):
    """CON-4, CON-5; in set mode a scalar is a set of one, with the same outcome (CON-7)."""
    assert found(values, constraint, gates=gates) == chosen


@pytest.mark.parametrize("constraint", [MATCH, DISTINCT], ids=["match", "distinct"])
def test_a_device_without_the_attribute_cannot_be_used_even_alone(constraint):
    """CON-3."""
    assert found([None], constraint, count=1) is None


@pytest.mark.parametrize(
    ("values", "constraint", "count", "chosen"),
    [
        pytest.param([(1, 2), (2, 3), (3, 1)], MATCH, 3, None, id="CON-7-pairwise-overlap-is-not-enough"),
        pytest.param([(1, 2), (3,), (2, 4)], MATCH, 2, [0, 2], id="CON-7-common-element"),
        pytest.param([(1, 2), 2], MATCH, 2, [0, 1], id="CON-7-scalar-is-a-set-of-one"),
        pytest.param([(2, 1, 2), (1, 2)], MATCH, 2, [0, 1], id="CON-7-order-and-duplicates"),
        pytest.param([(1,), ("1",)], MATCH, 2, None, id="CON-7-other-type-match"),
        pytest.param([(1, 2), (2, 3), (3, 4)], DISTINCT, 2, [0, 2], id="CON-7-disjoint"),
        pytest.param([(1,), ("1",)], DISTINCT, 2, [0, 1], id="CON-7-other-type-distinct"),
        pytest.param([(1, 2), 2, 3], DISTINCT, 2, [0, 2], id="CON-7-scalar-distinct"),
    ],
)
def test_list_values_are_sets(values, constraint, count, chosen):
    assert found(values, constraint, count) == chosen


EMPTY = DeviceAttribute(ints=())


@pytest.mark.parametrize(
    ("values", "constraint", "count", "chosen"),
    [
        pytest.param([EMPTY], MATCH, 1, None, id="CON-8-match-first"),
        pytest.param([EMPTY, 1], DISTINCT, 1, [1], id="CON-8-distinct-first"),
        pytest.param([1, EMPTY, 2], DISTINCT, 2, [0, 2], id="CON-8-distinct-later"),
    ],
)
def test_an_empty_list_has_no_value(values, constraint, count, chosen):
    assert found(values, constraint, count) == chosen


@pytest.mark.parametrize("constraint", [MATCH, DISTINCT], ids=["match", "distinct"])
def test_without_the_feature_a_list_may_come_first_and_then_nothing_like_it(constraint):
    """CON-9."""
    assert found([(1,)], constraint, 1, LISTS_OFF) == [0]
    assert found([(1,), (1,), (2,)], constraint, 2, LISTS_OFF) is None


@pytest.mark.parametrize(
    ("attributes", "constraint", "usable"),
    [
        pytest.param({"d.x/k": 1}, "d.x/k", True, id="CON-2-qualified"),
        pytest.param({"k": 1}, "d.x/k", True, id="CON-2-bare-of-the-driver"),
        pytest.param({"k": 1}, "e.x/k", False, id="CON-2-other-domain"),
        pytest.param({"e.x/k": 1}, "e.x/k", True, id="CON-2-foreign-qualified"),
    ],
)
def test_how_an_attribute_is_looked_up(attributes, constraint, usable):
    member = pool(device("a", attributes=attributes))
    assert fails(member, claim(want(), constraints=[match(constraint)])) is not usable


def test_the_qualified_name_wins():
    """CON-2, CEL-10."""
    members = [device("a", attributes={"d.x/k": 1, "k": 2}), device("b", k=2), device("c", k=1)]
    assert names(pool(*members), claim(want(count=2), constraints=[match("d.x/k")])) == ["a", "c"]


@pytest.mark.parametrize(
    ("covered", "chosen"),
    [
        pytest.param((), ["r0/v2", "r1/s/v3"], id="CON-1-all"),
        pytest.param(("r0", "r1"), ["r0/v2", "r1/s/v3"], id="CON-1-main-name"),
        pytest.param(("r0", "r1/s"), ["r0/v0", "r1/t/v1"], id="CON-1-alternative"),
        pytest.param(("r0",), ["r0/v0", "r1/s/v1"], id="CON-1-one"),
        pytest.param(("r0", "r1/t"), ["r0/v0", "r1/s/v1"], id="CON-1-other-alternative"),
    ],
)
def test_a_constraint_covers_the_requests_it_names(covered, chosen):
    asked = claim(want("r0"), either("r1", option("s"), option("t")), constraints=[match("d.x/k", *covered)])
    assert ["/".join(pair) for pair in picks(valued(1, 2, 3, 3), asked)] == chosen


def test_devices_of_one_request_count_like_others():
    """CON-6, BUG-1: also those before the last one."""
    assert found([1, 2, 1, 3], DISTINCT, 3) == [0, 1, 3]
    assert found([1, 2, 1, 2], DISTINCT, 3) is None


def test_constraints_end_at_the_claim():
    """CON-1: section 13, they never look across claims."""
    asked = [claim(want(), name=name, constraints=[DISTINCT]) for name in ("c1", "c2")]
    assert names(valued(1, 1), *asked) == ["v0", "v1"]


@pytest.mark.parametrize(
    ("values", "constraint", "count", "chosen"),
    [
        pytest.param([(1, 2), (1,), (2,), (2,)], MATCH, 3, [0, 2, 3], id="CON-10-match-sets"),
        pytest.param([1, 2, 2, 2], MATCH, 3, [1, 2, 3], id="CON-10-match-scalars"),
        pytest.param([(1,), (1, 2), (2,), (3,)], DISTINCT, 3, [0, 2, 3], id="CON-10-distinct-sets"),
    ],
)
def test_undoing_restores_exactly_what_was(values, constraint, count, chosen):
    """CON-10, BUG-2."""
    assert found(values, constraint, count) == chosen


def test_a_constraint_may_mix_counts_all_and_drivers():
    """CON-11."""
    gpus = pool(device("g0", attributes={"o/root": 1}), device("g1", attributes={"o/root": 2}))
    nics = pool(device("n0", attributes={"o/root": 2}), driver="e.x")
    asked = claim(
        want("nics", "All", 'device.driver == "e.x"'),
        want("gpu", 1, 'device.driver == "d.x"'),
        constraints=[match("o/root")],
    )
    assert picks(gpus, nics, asked) == [("nics", "n0"), ("gpu", "g1")]


X = 'device.attributes["d.x"].k'


@pytest.mark.parametrize(
    ("derived", "constraint", "chosen"),
    [
        pytest.param({"d.x/k": "7"}, MATCH, [0, 1], id="CON-12-takes-precedence"),
        pytest.param({"n/k": f"{X} % 2"}, match("n/k"), [0, 2], id="CON-12-computed"),
        pytest.param({"n/k": f"[dyn({X}), dyn(9)]"}, match("n/k"), [0, 1], id="CON-12-list"),
        pytest.param({"k": "7"}, MATCH, None, id="CON-12-exact-name"),
        pytest.param({"n/k": f"{X} > 1"}, distinct("n/k"), [0, 1], id="CON-12-distinct"),
    ],
)
def test_derived_attributes_are_seen_by_constraints(derived, constraint, chosen):
    answer = attempt(valued(1, 2, 3), claim(want(count=2, derived=derived), constraints=[constraint]))
    assert [int(name[1:]) for name in answer.names] == (chosen or [])


def test_derived_attributes_differ_from_alternative_to_alternative():
    """CON-12: one constraint, two values of one device."""
    asked = claim(
        want("q", derived={"n/k": "1"}),
        either("r", option("s", derived={"n/k": "2"}), option("t", derived={"n/k": "1"})),
        constraints=[match("n/k")],
    )
    assert picks(valued(1, 2), asked) == [("q", "v0"), ("r/t", "v1")]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param(
            "device.nope", "compile derived attribute n/k failed: compilation failed: ERROR", id="CON-12-compile"
        ),
        pytest.param(
            'device.attributes["d.x"].nope',
            "evaluate derived attribute n/k on device d.x/p/v0 failed: no such key: nope",
            id="CON-12-run",
        ),
        pytest.param(
            "1.5", "compile derived attribute n/k failed: must evaluate to a primitive scalar", id="CON-12-type"
        ),
        pytest.param(
            "dyn(1.5)",
            "evaluate derived attribute n/k on device d.x/p/v0 failed: unsupported CEL return type: float64",
            id="CON-12-dynamic-type",
        ),
    ],
)
def test_errors_of_derived_attributes_are_fatal(expression, text):
    asked = claim(want(derived={"n/k": expression}), constraints=[match("n/k")])
    assert fatal(valued(1), asked).startswith(text)


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param([], id="nobody-asks"),
        pytest.param([match("d.x/k"), match("n/k")], id="an-earlier-constraint-rejects"),
    ],
)
def test_derived_attributes_are_computed_when_a_constraint_asks(constraints):
    """CON-12, CEL-7: not before."""
    asked = claim(want(derived={"n/k": "device.nope"}), constraints=constraints)
    assert fails(valued(None), asked) is bool(constraints)


@pytest.mark.parametrize("policy", ["strict", "skip"])
def test_other_policies_pass_over_a_device_whose_attribute_cannot_be_derived(policy):
    asked = claim(want(derived={"n/k": X}), constraints=[match("n/k")])
    assert attempt(valued(None, 1), asked, policy=policy).names == ["v1"]


def test_strict_tells_of_a_derived_attribute_if_nothing_fits():
    asked = claim(want(derived={"n/k": X}), constraints=[match("n/k")])
    answer = attempt(valued(None), asked, policy="strict")
    assert answer.error == "evaluate derived attribute n/k on device d.x/p/v0 failed: no such key: k"


def test_a_device_whose_attribute_cannot_be_derived_fails_all():
    """Under All such a device fails the request, without error."""
    asked = claim(want(count="All", derived={"n/k": X}), constraints=[match("n/k")])
    for policy in ("strict", "skip"):
        assert attempt(valued(None, 1), asked, policy=policy).status is Status.UNALLOCATABLE

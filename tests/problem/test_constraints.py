"""Values of attributes as numbers (CON-2, CON-4, CON-7), derived ones, and texts with blanks."""

import pytest
from support.objects import attribute, claim, device, version

from drasat.cel.errors import CelCompileError, CelRuntimeError
from drasat.cel.values import NONE, Duration, Optional, TypeValue, UInt
from drasat.models.kubernetes.claims import DeviceConstraint
from drasat.models.kubernetes.semver import Version
from drasat.models.kubernetes.slices import DeviceAttribute
from drasat.problem.constraints import INCOMPARABLE, ValueSemantics, ValueTokens, entry_applies
from drasat.problem.messages import Placeholder, ProblemNames, claim_text
from drasat.problem.selectors import compile_derivation, to_attribute


def test_scalars_are_numbered_by_type_and_value():
    """CON-4."""
    number = ValueTokens(ValueSemantics(sets=False)).of
    values = [attribute(value) for value in (1, True, "1", 1, "a")]
    assert [number(value) for value in [*values, version("1.0.0"), version("1.0.0+b")]] == [0, 1, 2, 0, 3, 4, 5]


@pytest.mark.parametrize("value", [attribute((1, 2)), DeviceAttribute()], ids=["CON-9-list", "CON-8-nothing"])
def test_what_is_no_scalar_is_odd(value):
    assert ValueTokens(ValueSemantics(sets=False)).of(value) == INCOMPARABLE


def test_sets_have_a_bit_for_each_element():
    """CON-7: duplicates and order do not matter, a scalar is a set of one."""
    bits = ValueTokens(ValueSemantics(sets=True)).of
    assert [bits(attribute(value)) for value in ((1, 2), (2, 1, 2), 2, ("2",), (3,))] == [3, 3, 2, 4, 8]
    assert bits(DeviceAttribute(ints=())) == bits(DeviceAttribute()) == 0


VALUES = {
    "scalar": attribute(1),
    "list": attribute((1,)),
    "two": attribute((1, 2)),
    "reversed": attribute((2, 1, 2)),
    "strings": attribute(("1", "2")),
    "empty": DeviceAttribute(ints=()),
}


@pytest.mark.parametrize(
    ("reading", "tokens"),
    [
        pytest.param(ValueSemantics(False, explicit=True, ordered=True), [0, 1, 2, 3, 4, None], id="SEM-2-List"),
        pytest.param(ValueSemantics(False, explicit=True), [0, 1, 2, 2, 3, None], id="SEM-3-Set"),
        pytest.param(
            ValueSemantics(False, explicit=True, coerce=True, ordered=True), [0, 0, 1, 2, 3, None], id="SEM-2-coerced"
        ),
        pytest.param(ValueSemantics(True, explicit=True), [None, 1, 3, 3, 12, None], id="SEM-2-sets"),
        pytest.param(ValueSemantics(True, explicit=True, coerce=True), [1, 1, 3, 3, 12, None], id="SEM-2-set-of-one"),
        pytest.param(
            ValueSemantics(True, explicit=True, coerce=True, min_size=2), [None, None, 3, 3, 12, None], id="SEM-4"
        ),
    ],
)
def test_values_as_semantics_read_them(reading, tokens):
    numbers = ValueTokens(reading)
    assert list(map(numbers.of, VALUES.values())) == tokens


@pytest.mark.parametrize(
    ("names", "request_", "subrequest", "covered"),
    [
        (None, "r", "", True),
        ((), "r", "s", True),
        (("r",), "r", "s", True),
        (("r/s",), "r", "s", True),
        (("r/t",), "r", "s", False),
        (("s",), "r", "s", False),
        (("q",), "r", "", False),
    ],
)
def test_what_an_entry_applies_to(names, request_, subrequest, covered):
    """CON-1."""
    assert entry_applies(DeviceConstraint(requests=names), request_, subrequest) is covered


@pytest.mark.parametrize("text", ["true", "1", "'a'", "semver('1.0.0')", "dyn(1.5)", "[1]", "[dyn(1)]", "[]", "['a']"])
def test_types_that_an_attribute_may_have(text):
    """CON-12."""
    compile_derivation(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1.0", "double"),
        ("b'a'", "bytes"),
        ("null", "null_type"),
        ("[[1]]", "list(list(int))"),
        ("timestamp('2026-01-01T00:00:00Z')", "google.protobuf.Timestamp"),
        ("device.attributes['x'].?y", "optional_type(dyn)"),
    ],
)
def test_types_that_it_may_not_have(text, name):
    """CON-12."""
    with pytest.raises(CelCompileError) as error:
        compile_derivation(text)
    assert str(error.value).endswith(f"(string, integer, boolean, semver) or a list of these scalars, not {name}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, DeviceAttribute(bool_value=True)),
        (7, DeviceAttribute(int_value=7)),
        ("a", DeviceAttribute(string="a")),
        (Version.parse("1.2.3+b"), DeviceAttribute(version="1.2.3+b")),
        ([1, 2], DeviceAttribute(ints=(1, 2))),
        (["a"], DeviceAttribute(strings=("a",))),
        ([True], DeviceAttribute(bools=(True,))),
        ([Version.parse("1.0.0")], DeviceAttribute(versions=("1.0.0",))),
        ([], DeviceAttribute()),
        (Optional(Optional(7)), DeviceAttribute(int_value=7)),
        (TypeValue("int"), DeviceAttribute(string="int")),
        ([Optional(1), 2], DeviceAttribute(ints=(1, 2))),
    ],
    ids=repr,
)
def test_results_become_attributes(value, expected):
    """CON-12."""
    assert to_attribute(value) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "unsupported CEL return type: float64"),
        (UInt(1), "unsupported CEL return type: uint64"),
        (None, "unsupported CEL return type: structpb.NullValue"),
        ([1.5], "unsupported list element type: float64"),
        ([1, "a"], "expected list element at index 1 to be int, got string"),
        ([True, 1], "expected list element at index 1 to be bool, got int64"),
        ([Version.parse("1.0.0"), 1], "expected list element at index 1 to be semver, got int64"),
        (["a", Version.parse("1.0.0")], "expected list element at index 1 to be string, got semver.Version"),
        (Duration(1), "unsupported CEL return type: time.Duration"),
        (NONE, "unsupported CEL return type: <nil>"),
        (Optional([1]), "unsupported CEL return type: []ref.Val"),
        ([[1]], "unsupported list element type: []ref.Val"),
    ],
    ids=repr,
)
def test_other_results_are_errors(value, text):
    """CON-12."""
    with pytest.raises(CelRuntimeError) as error:
        to_attribute(value)
    assert str(error.value) == text


NAMES = ProblemNames((("ns", "c"), ("", "lone")), (("d.x", "p/q", "a"),), (("d.x", "p/q"),))


@pytest.mark.parametrize(
    ("message", "numbers", "text"),
    [
        (("claim ", Placeholder.CLAIM, ": x"), {"claim": 0}, "claim ns/c: x"),
        ((Placeholder.CLAIM,), {"claim": 1}, "lone"),
        ((Placeholder.CLAIM_NAME,), {"claim": 0}, "c"),
        ((Placeholder.DEVICE, " ", Placeholder.DEVICE_NAME), {"device": 0}, "d.x/p/q/a a"),
        (("pool ", Placeholder.POOL), {"pool": 0}, "pool d.x/p/q"),
    ],
)
def test_blanks_are_filled_in(message, numbers, text):
    assert NAMES.fill(message, **numbers) == text


def test_a_claim_is_named_with_its_namespace_if_it_has_one():
    """PRE-1: ``claim NAME``, namespace/name if namespaced."""
    assert claim_text(("ns", "c")) == "ns/c"
    assert claim_text(("", "c")) == "c"
    assert claim().metadata.namespace == "ns"
    assert device("a").name == "a"
